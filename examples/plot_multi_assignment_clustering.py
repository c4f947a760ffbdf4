"""
Role mining: which roles explain who may do what?
=================================================

An organisation of 300 people and 60 permissions, with six planted roles that overlap, and 100
people who join later. People have one to three roles; some of the permissions were granted or
forgotten by exception. Can the roles be found from the matrix alone, and does letting people have
several roles matter?
"""

# %%
# The policy, and what the access-control matrix shows of it.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import MultiAssignmentClustering, RolesDisplay
from skmoderndata.metrics import generalization_error, source_mismatch

rng = np.random.default_rng(3)
n_people, n_permissions, n_roles = 400, 60, 6
roles = np.zeros((n_roles, n_permissions), dtype=bool)
for k in range(n_roles):
    roles[k, np.arange(10 * k, 10 * k + 14) % n_permissions] = (
        True  # four shared with the next
    )
has_role = np.argsort(rng.uniform(size=(n_people, n_roles)), axis=1) < rng.integers(
    1, 4, size=(n_people, 1)
)
policy = (has_role.astype(int) @ roles) > 0
exceptional = rng.uniform(size=policy.shape) < 0.15
access = np.where(exceptional, rng.uniform(size=policy.shape) < 0.3, policy)
train, new = access[:300], access[300:]

# %%
# Several roles per person, against one role per person with the same number of roles. The error
# of generalisation reveals half of the permissions of new people and predicts the other half.

models = {
    "several roles": MultiAssignmentClustering(n_roles, max_assignments=3, random_state=0),
    "one role": MultiAssignmentClustering(n_roles, max_assignments=1, random_state=0),
}
for name, model in models.items():
    model.fit(train)
    error = generalization_error(model, new, random_state=0)
    mismatch = source_mismatch(roles, model.components_)
    print(f"{name}: wrong role bits {mismatch:.1%}, wrong predictions {error:.1%}")
print(f"share of exceptional bits: {models['several roles'].epsilon_:.3f} (truth 0.15)")

# %%
# The roles found, people with the same roles together, and in red and yellow what the policy does
# not say: the display shows it with the share of exceptional entries.

RolesDisplay.from_estimator(models["several roles"], train)

# %%
# How many roles? The error on new people is smallest at the true number.

grid = range(1, 10)
errors = [
    generalization_error(
        MultiAssignmentClustering(k, max_assignments=3, n_init=1, random_state=0).fit(train),
        new,
        n_repeats=3,
        random_state=0,
    )
    for k in grid
]
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(grid, errors, "o-")
ax.axvline(n_roles, color="0.7", ls="--", label="planted")
ax.set(xlabel="roles", ylabel="wrong predictions, new people")
ax.legend()
plt.show()
