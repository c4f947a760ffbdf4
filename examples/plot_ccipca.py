"""
How fast does a stream reveal its principal components?
=======================================================

Digits arrive one at a time. Covariance-free incremental PCA keeps eight vectors and no matrix;
scikit-learn's IncrementalPCA decomposes batches of rows. How much of the variance that eight
components can explain has each found after so many rows?
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
exact = PCA(k).fit(X)


def share_found(components):
    """Variance in the span, relative to that of the exact components."""
    Q = np.linalg.qr(components.T)[0]
    return ((X - X.mean(axis=0)) @ Q).var(axis=0).sum() / exact.explained_variance_.sum()


# %%
# Batches of 16 rows for both, so that both can be asked at the same moments.

online, batch = CCIPCA(k), IncrementalPCA(k)
rows, found = [], {"CCIPCA": [], "IncrementalPCA": []}
for start in range(0, len(X) - 16, 16):
    chunk = X[start : start + 16]
    online.partial_fit(chunk)
    batch.partial_fit(chunk)
    rows.append(start + 16)
    found["CCIPCA"].append(share_found(online.components_))
    found["IncrementalPCA"].append(share_found(batch.components_))

# %%
# On batches IncrementalPCA is ahead: it solves a small problem exactly. CCIPCA gets there too,
# with eight vectors in memory and one row at a time.

figure, (curve, *images) = plt.subplots(
    1, 4, figsize=(11, 3), width_ratios=[2.5, 1, 1, 1], layout="constrained"
)
for name, shares in found.items():
    curve.plot(rows, shares, label=name)
curve.set(xlabel="rows seen", ylabel="share of the variance found", ylim=(0.6, 1.01))
curve.legend()
for number, ax in enumerate(images):
    ax.imshow(online.components_[number].reshape(8, 8), cmap="RdBu")
    ax.set(title=f"component {number + 1}", xticks=[], yticks=[])
plt.show()
