"""
How fast does a stream reveal its principal components?
=======================================================

Digits arrive a few at a time. Covariance-free incremental PCA follows each row with eight vectors
and no decomposition; scikit-learn's IncrementalPCA decomposes each batch together with what it
kept. How much of the variance that eight components can explain does each still miss after so
many rows?
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
    """Part of the variance of the best components that lies outside of these."""
    Q = np.linalg.qr(components.T)[0]
    return 1 - np.sum((U @ Q) ** 2) / exact


# %%
# Batches of 16 rows for all, so that all can be asked at the same moments. The amnesic mean gives
# later rows more weight, because the first ones met poor estimates of the components.

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
print(f"CCIPCA.fit, which repeats passes until the subspace settles: {100 * repeated:.3f} %")

# %%
# The three are close. Batches are a little ahead at first, since each is decomposed exactly; the
# amnesic mean pays for its shorter memory in the middle, and is ahead at the end.

figure, (left, *images) = plt.subplots(
    1, 4, figsize=(11.5, 3.2), width_ratios=[3, 1, 1, 1], layout="constrained"
)
for name, curve in curves.items():
    left.loglog(rows, curve, label=name)
left.axhline(repeated, color="0.5", ls="--", lw=1, label="CCIPCA.fit on all rows")
left.set(xlabel="rows seen", ylabel="part of the variance missed")
left.legend(fontsize=8)
for number, ax in enumerate(images):
    component = models["CCIPCA, amnesic mean"].components_[number].reshape(8, 8)
    limit = np.abs(component).max()
    ax.imshow(component, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set(title=f"component {number + 1}", xticks=[], yticks=[])
plt.show()
