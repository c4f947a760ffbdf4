"""
Does the size of a set hide its contents?
=========================================

Users of two departments hold sets of rights; some users have many rights, and some have few.
Which kernel on sets separates the departments?
"""

# %%
# Each department has ten rights that its people hold more often than other people do. The
# total number of rights per person varies by a factor of ten and is unrelated to the
# department.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from skmoderndata.kernels import Agreement, Intersection, Normalized, PowerSet

rng = np.random.default_rng(0)
department = np.repeat([0, 1], 80)
appetite = np.exp(rng.uniform(np.log(0.06), np.log(0.6), size=160))
share = np.full((160, 40), 1.0)
share[:80, :10], share[80:, 10:20] = 2.2, 2.2
held = rng.random((160, 40)) < np.minimum(appetite[:, None] * share, 1)
users = [frozenset(np.flatnonzero(row).tolist()) for row in held]

# %%
# ``SVC`` accepts a kernel object and a list of sets as they are.

kernels = {
    "Agreement": Agreement(40),
    "PowerSet": PowerSet(),
    "Intersection": Intersection(),
    "Normalized(PowerSet)": Normalized(PowerSet({e: 0.2 for e in range(40)})),
    "Normalized(Intersection)": Normalized(Intersection()),
}
scores = {
    name: cross_val_score(SVC(kernel=kernel, C=1.0), users, department, cv=5)
    for name, kernel in kernels.items()
}
for name, score in scores.items():
    print(f"{name:25s} accuracy {score.mean():.2f} +- {score.std() / np.sqrt(5):.2f}")

# %%
# The map of the plain intersection shows the size of the sets; the normalised kernel shows the
# departments.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, name in zip(axes, ("Intersection", "Normalized(Intersection)"), strict=False):
    Z = KernelPCA(2, kernel="precomputed").fit_transform(kernels[name](users))
    for d, marker in ((0, "o"), (1, "^")):
        here = department == d
        points = ax.scatter(
            *Z[here].T, c=held[here].sum(axis=1), marker=marker, s=18, vmin=0, vmax=30
        )
    ax.set_title(f"{name}, two components", fontsize=9)
    ax.set(xticks=[], yticks=[])
fig.colorbar(points, ax=axes[1], label="rights held")
axes[2].boxplot(list(scores.values()), tick_labels=list(scores), orientation="horizontal")
axes[2].set(title="Accuracy on held-out fifths")
axes[2].axvline(0.5, color="k", linestyle=":")
plt.show()
