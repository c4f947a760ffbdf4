"""
How much should I shrink if two views have few samples?
=======================================================

The left and the right half of a handwritten digit are two views of it, with 32 pixels each. With
few training samples, canonical correlation analysis fits noise. How strong must the shrinkage be,
and what does the left half reveal about the right half?
"""

# %%
# Cross-validate ``alpha`` for three sizes of the training set. Training correlations would always
# choose 0.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from skmoderndata.cross_decomposition import RegularizedCCA

digits = load_digits().images / 16
left, right = digits[:, :, :4].reshape(-1, 32), digits[:, :, 4:].reshape(-1, 32)

alphas = np.r_[0, np.logspace(-4, 0, 13)]
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for n, color in zip((100, 300, 1000), ("C0", "C1", "C3"), strict=True):
    folds = ShuffleSplit(5, train_size=n, test_size=500, random_state=0)
    search = GridSearchCV(
        RegularizedCCA(5), {"alpha": alphas}, cv=folds, return_train_score=True, error_score=0
    ).fit(left, right)
    held_out = search.cv_results_["mean_test_score"]
    ax.semilogx(alphas[1:], held_out[1:], "o-", ms=3, color=color, label=f"n = {n}")
    ax.axhline(held_out[0], color=color, ls=":")
    training = search.cv_results_["mean_train_score"][0]
    print(
        f"n = {n:4}: CCA {held_out[0]:.2f} (training {training:.2f}), "
        f"alpha = {search.best_params_['alpha']:.2g} {search.best_score_:.2f}"
    )
ax.set(
    xlabel="alpha",
    ylabel="held-out correlation",
    title="Mean of five pairs (dotted: no shrinkage)",
)
ax.legend()

# %%
# The first pairs of directions as images, with the left and the right half side by side. They
# agree where strokes cross the middle.

cca = RegularizedCCA(4, alpha=search.best_params_["alpha"]).fit(left, right)
pictures = [np.hstack([w[:, j].reshape(8, 4) for w in cca.weights_]) for j in range(4)]
picture = np.pad(np.hstack([np.pad(p, 1) for p in pictures]), 0)
top = np.abs(picture).max()
fig, ax = plt.subplots(figsize=(6.5, 2.4), layout="constrained")
ax.imshow(picture, cmap="RdBu_r", vmin=-top, vmax=top)
for j in range(4):
    ax.axvline(10 * j + 4.5, color="0.5", lw=1)
ax.set(xticks=[], yticks=[], title="First four pairs, left and right half")
plt.show()
