"""
How do I make the parts of digits more local?
=============================================

Non-negative factorisation is said to find parts. How local the parts are depends on the data,
unless sparseness is part of the problem. Here we write handwritten digits as sums of 16 parts,
without a condition and with an exact sparseness of 0.6, 0.75 and 0.9 for each part.
"""

# %%
# Sparseness is 0 for an image with equal pixels and 1 for a single pixel. The plain factorisation
# comes from scikit-learn.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF

from skmoderndata.decomposition import AtomsDisplay, SparseNMF

X = load_digits().data / 16
n_parts = 16


def sparseness(H):
    """Sparseness of each row."""
    n = H.shape[1]
    return (np.sqrt(n) - np.abs(H).sum(axis=1) / np.linalg.norm(H, axis=1)) / (np.sqrt(n) - 1)


levels = (0.6, 0.75, 0.9)
models = {"plain": NMF(n_parts, init="nndsvd", max_iter=2000).fit(X)}
for level in levels:
    models[f"sparseness {level}"] = SparseNMF(
        n_parts, penalty="hoyer", sparseness_components=level, max_iter=3000
    ).fit(X)

# %%
# The plain parts are as sparse as anything between a single stroke and a whole digit; with a
# condition on the sparseness, all parts have exactly the requested sparseness, at the price
# of a larger error.

size = np.linalg.norm(X)
fig, axes = plt.subplots(2, 2, figsize=(8, 8.6), layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    AtomsDisplay.from_estimator(model, image_shape=(8, 8), ax=ax)
    found = sparseness(model.components_)
    error = np.linalg.norm(X - model.inverse_transform(model.transform(X))) / size
    ax.set_title(
        f"{name}\nfound {found.min():.2f} to {found.max():.2f}, relative error {error:.2f}",
        fontsize=10,
    )
plt.show()

# %%
# Now make the codes sparse instead of the parts: with an l1 penalty every digit uses fewer parts,
# and the parts become more like whole digits. The fraction of zeros in the codes grows with the
# weight, and so does the error.

for alpha in (0.01, 0.3, 3.0):
    model = SparseNMF(n_parts, penalty="l1", alpha=alpha).fit(X)
    codes = model.transform(X)
    print(
        f"alpha {alpha:4}: {100 * (codes == 0).mean():.0f} % of the codes are zero, relative "
        f"error {model.reconstruction_err_ / size:.2f}, sparseness of the parts "
        f"{sparseness(model.components_).mean():.2f}, KKT residual {model.kkt_residual_:.0e}"
    )
