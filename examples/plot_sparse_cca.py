"""
Which few columns do two wide tables share?
===========================================

Eighty samples have 300 columns in one table and 200 in the other. Two hidden causes affect eight
columns of each table; everything else is noise. Which columns does each method find, and with
which bound?
"""

# %%
# In both tables, the first cause acts on columns 0 to 7 and the second, weaker cause on columns 8
# to 15.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cross_decomposition import RegularizedCCA, SparseCCA
from skmoderndata.model_selection import canonical_permutation_test

rng = np.random.default_rng(0)
causes = rng.normal(size=(160, 2)) * [1.0, 0.8]
X = rng.normal(size=(160, 300))
Y = rng.normal(size=(160, 200))
for j in (0, 1):
    X[:, 8 * j : 8 * j + 8] += causes[:, [j]]
    Y[:, 8 * j : 8 * j + 8] += causes[:, [j]]
train, test = slice(0, 80), slice(80, 160)

# %%
# Choose the bound by permutations of the rows: which covariance exceeds chance most?

sparse = SparseCCA(2, l1_bound="permutation", random_state=0).fit(X[train], Y[train])
shrunk = RegularizedCCA(2).fit(X[train], Y[train])
for name, model in (("SparseCCA", sparse), ("RegularizedCCA", shrunk)):
    held_out = model.score_components(X[test], Y[test])
    print(f"{name:15} correlations on new rows: {held_out.round(2)}")
print("columns with a weight:", sparse.n_nonzero_coefs_.tolist())

fig, axes = plt.subplots(2, 2, figsize=(7.5, 4.2), sharex=True, layout="constrained")
for row, (name, model) in zip(
    axes, (("SparseCCA", sparse), ("RegularizedCCA", shrunk)), strict=True
):
    weights = model.x_weights_ * model.scales_[0][:, None]
    weights /= np.linalg.norm(weights, axis=0)
    for j, ax in enumerate(row):
        used = np.flatnonzero(weights[:, j])
        ax.axvspan(8 * j - 0.5, 8 * j + 7.5, color="C1", alpha=0.4)
        ax.vlines(used, 0, weights[used, j], lw=1)
        ax.set(title=f"{name}, pair {j + 1}: {used.size} columns", xlim=(-2, 60))
for ax in axes[1]:
    ax.set_xlabel("column of the first table (first 60 of 300)")

# %%
# How many pairs are more than chance? The bound is chosen anew for every permutation.

result = canonical_permutation_test(
    SparseCCA(3, l1_bound="permutation"),
    X[train],
    Y[train],
    n_permutations=99,
    random_state=0,
)
print("p-values:", result.p_values)
print("pairs:", result.n_pairs)

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.semilogx(sparse.grid_l1_bounds_[:, 0], sparse.grid_z_scores_, "o-")
ax.axvline(sparse.l1_bound_[0], color="0.6", ls=":")
ax.set(
    xlabel="bound on the first table, fraction of its root",
    ylabel="standard deviations above chance",
    title="Bounds by permutation",
)
plt.show()
