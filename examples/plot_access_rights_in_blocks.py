"""
Which roles are hidden in the access rights of a million users?
===============================================================

The rights of a million users do not have to fit into memory: a Dask array describes how each
chunk is generated or read, and multi-assignment clustering processes one chunk after the
other. We plant five roles, and grant or forget one right in fifty by exception. Does the
clustering find the roles, and how much memory does it need?
"""

# %%
# Each chunk of 100,000 users is drawn when it is needed. If the rights are stored in files, read
# them with `da.from_zarr` or `dask.dataframe.read_parquet` instead.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import MultiAssignmentClustering, RolesDisplay
from skmoderndata.metrics import source_mismatch

N_USERS, N_RIGHTS, N_ROLES, BLOCK = 1_000_000, 40, 5, 100_000
roles = np.zeros((N_ROLES, N_RIGHTS), dtype=bool)
for k in range(N_ROLES):
    # three rights are shared with the next role
    roles[k, np.arange(8 * k, 8 * k + 11) % N_RIGHTS] = True


def rights_of_users(block_id):
    """Rights of the users of a chunk: each has one or two roles, plus exceptions."""
    rng = np.random.default_rng(block_id[0])
    has_role = np.zeros((BLOCK, N_ROLES), dtype=bool)
    for _ in range(2):
        has_role[np.arange(BLOCK), rng.integers(N_ROLES, size=BLOCK)] = True
    policy = has_role.astype(np.float32) @ roles.astype(np.float32) > 0
    return policy ^ (rng.random(policy.shape, dtype=np.float32) < 0.02)


rights = da.map_blocks(
    lambda block_id=None: rights_of_users(block_id),
    chunks=((BLOCK,) * (N_USERS // BLOCK), (N_RIGHTS,)),
    dtype=bool,
    meta=np.empty((0, 0), dtype=bool),
)
print(rights)

# %%
# `fit` reads each chunk once and keeps it as packed bits, eight rights in a byte: 5 MB for all
# users. After that, every iteration sends the model to the chunks and gets counts back.

model = MultiAssignmentClustering(
    N_ROLES, max_assignments=2, n_init=1, cooling=0.4, random_state=0
).fit(rights)
mismatch = source_mismatch(roles, model.components_)
print(f"wrong entries in the roles: {mismatch:.1%}")
print(f"rights drawn by chance: {model.epsilon_:.3f} (about half of them are right anyway)")

# %%
# The predicted roles have one row for each user, so they are a Dask array too: you can store them
# chunk by chunk, or count them. Each role belongs to 36 % of the users: those who drew it at least
# once.

memberships = model.predict(rights)
print(memberships)
print("users of each role:", memberships.sum(axis=0).compute())

# %%
# The display shows 300 users, every 3333rd one, sorted so that users with the same roles are
# together. Blue rights come from a role, red ones are granted without a role, and yellow ones are
# missing although a role grants them. The display needs a table in memory, so we compute its rows
# from the Dask array first.

some = rights[:: N_USERS // 300][:300].compute()
display = RolesDisplay.from_estimator(model, some)
display.figure_.suptitle(f"{N_ROLES} roles of {N_USERS:,} users")
plt.show()
