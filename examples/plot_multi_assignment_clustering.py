"""
Which roles explain who may do what?
====================================

An organisation has 300 people and 60 permissions, with six planted roles that overlap; 100 people
join later. People have one to three roles; some of the permissions were granted or forgotten by
exception. Can you find the roles from the matrix alone, and does it matter whether people can have
several roles?
"""

# %%
# Generate the policy and the access-control matrix, which shows the policy with errors.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import MultiAssignmentClustering, RolesDisplay
from skmoderndata.metrics import generalization_error, source_mismatch

rng = np.random.default_rng(3)
n_people, n_permissions, n_roles = 400, 60, 6
roles = np.zeros((n_roles, n_permissions), dtype=bool)
for k in range(n_roles):
    # four permissions are shared with the next role
    roles[k, np.arange(10 * k, 10 * k + 14) % n_permissions] = True
has_role = np.argsort(rng.uniform(size=(n_people, n_roles)), axis=1) < rng.integers(
    1, 4, size=(n_people, 1)
)
policy = (has_role.astype(int) @ roles) > 0
exceptional = rng.uniform(size=policy.shape) < 0.15
access = np.where(exceptional, rng.uniform(size=policy.shape) < 0.3, policy)
train, new = access[:300], access[300:]

# %%
# Compare several roles per person with one role per person, for the same number of roles. The
# generalisation error is computed by revealing half of the permissions of new people and
# predicting the other half.

models = {
    "several roles": MultiAssignmentClustering(n_roles, max_assignments=3, random_state=0),
    "one role": MultiAssignmentClustering(n_roles, max_assignments=1, random_state=0),
}
for name, model in models.items():
    model.fit(train)
    error = generalization_error(model, new, random_state=0)
    mismatch = source_mismatch(roles, model.components_)
    print(f"{name}: wrong role entries {mismatch:.1%}, wrong predictions {error:.1%}")
print(f"fraction of exceptions: {models['several roles'].epsilon_:.3f} (truth 0.15)")

# %%
# Plot the roles found, with people who have the same roles next to each other. Entries that the
# policy does not explain are red and yellow; the display also shows the fraction of exceptional
# entries.

RolesDisplay.from_estimator(models["several roles"], train)

# %%
# How many roles are there? The error on new people is smallest at the true number.

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
