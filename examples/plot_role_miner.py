"""
How many exceptions does role mining tolerate?
==============================================

An organisation of 300 people and 60 permissions has a policy of six disjoint roles; each person
has one or two of them. Then permissions are granted and forgotten by exception. Intersections of
rows find the policy exactly as long as there are no exceptions: what happens beyond that?
"""

# %%
# For each method we measure how many entries of the roles are wrong, and how often the
# permissions that a person's roles grant differ from the policy. The first method never gives
# people more permissions than they have; the other methods weigh false positives against false
# negatives.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import DiscreteBasis, MultiAssignmentClustering, RoleMiner
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import source_mismatch

n_roles = 6
organisation = {"n_samples": 300, "n_features": 60, "n_sources": n_roles, "overlap": 0.0}
shares = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
methods = {
    "RoleMiner": RoleMiner(n_roles),
    "DiscreteBasis": DiscreteBasis(n_roles),
    "MultiAssignmentClustering": MultiAssignmentClustering(
        n_roles, max_assignments=2, n_init=1, random_state=0
    ),
}
mismatch = {name: [] for name in methods}
wrong = {name: [] for name in methods}
for share in shares:
    # A noisy bit is a coin toss, so half of them differ from the policy
    access, policy, roles, has_role = make_boolean_sources(
        **organisation, max_assignments=2, noise=2 * share, random_state=0
    )
    for name, model in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # there are more than max_candidates intersections
            model.fit(access)
        mismatch[name].append(source_mismatch(roles, model.components_))
        wrong[name].append((model.inverse_transform(model.assignments_) != policy).mean())
    if share == 0.1:
        mined, found = methods["RoleMiner"].components_, methods["DiscreteBasis"].components_

# %%
# The roles themselves survive a few exceptions, because many people share each role. The
# memberships do not: a single missing bit removes a person from the support of a role, which at 2
# % exceptions happens to one membership in five. From 10 % on, the mined roles are fragments.

for name in methods:
    print(f"{name:26s} roles ", "  ".join(f"{value:.3f}" for value in mismatch[name]))
    print(f"{name:26s} access", "  ".join(f"{value:.3f}" for value in wrong[name]))

figure, axes = plt.subplots(1, 3, figsize=(13, 4.5), layout="constrained")
gap = np.zeros((1, 60), dtype=bool)
mined, found = (found[np.argsort(found.argmax(axis=1))] for found in (mined, found))
stack = np.vstack([roles, gap, mined, gap, found])
axes[0].imshow(stack, aspect="auto", cmap="Greys", interpolation="none")
axes[0].set_yticks([2.5, 9.5, 16.5], ["policy", "RoleMiner", "DiscreteBasis"])
axes[0].tick_params(length=0)
axes[0].set(title="roles at 10 % exceptions", xlabel="permission")
titles = ("wrong role entries", "permissions given that differ from policy")
for ax, values, title in zip(axes[1:], (mismatch, wrong), titles, strict=True):
    for name, style in zip(methods, ("o-", "s-", "^--"), strict=True):
        ax.plot(100 * np.array(shares), values[name], style, label=name)
    ax.set(xlabel="exceptions, % of bits", title=title)
    ax.set_xscale("symlog", linthresh=0.5)
    ax.set_xticks([0, 0.5, 1, 2, 5, 10, 20], ["0", "0.5", "1", "2", "5", "10", "20"])
    ax.minorticks_off()
axes[1].legend()
plt.show()
