"""
How fast do principal components emerge from a stream?
======================================================

Digits arrive a few at a time. Covariance-free incremental PCA updates eight vectors with each
row, without any decomposition; scikit-learn's IncrementalPCA decomposes each batch together
with the components that it has kept. After a given number of rows, how much of the variance
that eight components can explain does each method still miss?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA

from skmoderndata.decomposition import CCIPCA

X = load_digits().data
X = X[np.random.default_rng(0).permutation(len(X))]
k = 8
U = X - X.mean(axis=0)
exact = np.sum((U @ PCA(k).fit(X).components_.T) ** 2)


def missed(components):
    """Fraction of the variance of the best components that the given ones miss."""
    Q = np.linalg.qr(components.T)[0]
    return 1 - np.sum((U @ Q) ** 2) / exact


# %%
# All models get batches of 16 rows, so that they can be compared at the same moments. The amnesic
# mean gives later rows more weight, because the first rows met poor estimates of the components.

models = {
    "IncrementalPCA, batches of 16": IncrementalPCA(k),
    "CCIPCA, all rows alike": CCIPCA(k, amnesic=0),
    "CCIPCA, amnesic mean": CCIPCA(k),
}
rows, curves = [], {name: [] for name in models}
for start in range(0, len(X) - 16, 16):
    for name, model in models.items():
        model.partial_fit(X[start : start + 16])
        curves[name].append(missed(model.components_))
    rows.append(start + 16)
for name, curve in curves.items():
    print(f"{name}: misses {100 * curve[-1]:.2f} % after {rows[-1]} rows")
repeated = missed(CCIPCA(k, random_state=0).fit(X).components_)
print(f"CCIPCA.fit, which repeats passes until convergence: {100 * repeated:.3f} %")

# %%
# The three methods are close. IncrementalPCA is slightly ahead at first, because it decomposes
# each batch exactly; the amnesic mean pays for its shorter memory in the middle and is ahead at
# the end.

figure, (left, *images) = plt.subplots(
    1, 4, figsize=(11.5, 3.2), width_ratios=[3, 1, 1, 1], layout="constrained"
)
for name, curve in curves.items():
    left.loglog(rows, curve, label=name)
left.axhline(repeated, color="0.5", ls="--", lw=1, label="CCIPCA.fit on all rows")
left.set(xlabel="rows seen", ylabel="fraction of variance missed")
left.legend(fontsize=8)
for number, ax in enumerate(images):
    component = models["CCIPCA, amnesic mean"].components_[number].reshape(8, 8)
    limit = np.abs(component).max()
    ax.imshow(component, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set(title=f"component {number + 1}", xticks=[], yticks=[])
plt.show()
