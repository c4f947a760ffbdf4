"""
====================================
What does squaring the slack change?
====================================

The data are two kinds of wine with two measurements. The hinge loss ignores the samples on the
correct side of the margin, and many samples on the margin itself. Squared slack gives every
sample inside the margin a weight proportional to its slack. The boundary is about the same,
the support is larger, and the error on unseen samples varies less with C.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skmoderndata.svm import L2SVC

wine = load_wine()
keep = wine.target < 2
X = StandardScaler().fit_transform(wine.data[keep][:, [1, 6]])  # malic acid, flavanoids
y = wine.target[keep]

# %%
grid = np.stack(np.meshgrid(np.linspace(-2, 4, 120), np.linspace(-3, 3.5, 120)), axis=-1)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, cls) in zip(axes, {"SVC": SVC, "L2SVC": L2SVC}.items(), strict=True):
    model = cls(C=2.0, gamma=0.3).fit(X, y)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(120, 120)
    ax.contourf(
        grid[..., 0], grid[..., 1], values, 20, cmap="RdBu_r", vmin=-3, vmax=3, alpha=0.5
    )
    ax.contour(
        grid[..., 0],
        grid[..., 1],
        values,
        [-1, 0, 1],
        colors="k",
        linestyles=["dotted", "solid", "dotted"],
    )
    ax.scatter(*X.T, c=y, cmap="RdBu_r", s=12, edgecolor="k", linewidth=0.3)
    size = 60 * np.abs(model.dual_coef_[0]) / np.abs(model.dual_coef_).max()
    ax.scatter(*X[model.support_].T, s=20 + size, facecolor="none", edgecolor="k")
    ax.set(title=f"{name}: {len(model.support_)} support vectors of {len(X)}")
    ax.set(xlabel=wine.feature_names[1], ylabel=wine.feature_names[6])

# %%
# Cross-validate the errors on digits for many values of C.
images, digit = load_digits(return_X_y=True)
images, digit = images[:700] / 16, digit[:700]
costs = np.logspace(-2, 3, 8)
fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
for name, cls in {"SVC": SVC, "L2SVC": L2SVC}.items():
    errors = [
        1 - cross_val_score(cls(C=c, gamma=0.03), images, digit, cv=3).mean() for c in costs
    ]
    ax.semilogx(costs, 100 * np.array(errors), "o-", label=name)
ax.set(xlabel="C", ylabel="error in three folds, %", title="700 digits")
ax.legend()
plt.show()
