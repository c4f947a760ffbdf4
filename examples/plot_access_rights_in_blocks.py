"""
Which roles have a million users?
=================================

The rights of a million users do not have to be in memory: a Dask array says how each block of
them is made, or read, and multi-assignment clustering sees one block after the other. Five roles
are planted, and one right in fifty is granted or forgotten by exception. Are the roles found, and
what does the machine hold meanwhile?
"""

# %%
# A block of 100,000 users is drawn when it is asked for. With files it would be read instead:
# `da.from_zarr`, or `dask.dataframe.read_parquet`.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import MultiAssignmentClustering, RolesDisplay
from skmoderndata.metrics import source_mismatch

N_USERS, N_RIGHTS, N_ROLES, BLOCK = 1_000_000, 40, 5, 100_000
roles = np.zeros((N_ROLES, N_RIGHTS), dtype=bool)
for k in range(N_ROLES):
    roles[k, np.arange(8 * k, 8 * k + 11) % N_RIGHTS] = True  # three shared with the next


def rights_of_users(block_id):
    """Rights of the users of a block: of one role or two, with exceptions."""
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
# The fit reads each block once and keeps its bits packed, eight rights in a byte: 5 MB for all
# users. Then every round sends the model to the blocks and gets counts back.

model = MultiAssignmentClustering(
    N_ROLES, max_assignments=2, n_init=1, cooling=0.4, random_state=0
).fit(rights)
mismatch = source_mismatch(roles, model.components_)
print(f"wrong bits of roles: {mismatch:.1%}")
print(
    f"bits that do not come from roles: {model.epsilon_:.3f}, of which chance makes half right"
)

# %%
# Who has which role is an answer for each row, and as such a Dask array: it can be stored block
# by block, or counted. Each role has 36 % of the users, those who drew it at least once.

memberships = model.predict(rights)
print(memberships)
print("users of each role:", memberships.sum(axis=0).compute())

# %%
# Three hundred of the users, one of each 3333, those with the same roles together. Blue rights
# come from a role, red ones are there without a role, and yellow ones lack although a role grants
# them. The display wants a table in memory, so its rows are taken out of the Dask array first.

some = rights[:: N_USERS // 300][:300].compute()
display = RolesDisplay.from_estimator(model, some)
display.figure_.suptitle(f"{N_ROLES} roles of {N_USERS:,} users")
plt.show()
