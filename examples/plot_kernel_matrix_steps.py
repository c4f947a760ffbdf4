"""
What should I do with a similarity that is not a kernel?
========================================================

We compare handwritten digits by their best match over small shifts of the image. This similarity
is better than the inner product, but it has negative eigenvalues. Which correction helps a support
vector machine most?
"""

# %%
# The similarity of two images is the largest cosine between one image and the other one shifted by
# up to one pixel. The test images are moved by one pixel at random; the training images are not.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.preprocessing import SpectrumCorrector

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
chosen = rng.permutation(len(X))[:600]
images, y = X[chosen].reshape(-1, 8, 8), y[chosen]
train, test = slice(0, 300), slice(300, 600)
moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]


def shifted(A, move):
    padded = np.pad(A, ((0, 0), (1, 1), (1, 1)))
    i, j = move[0] + 1, move[1] + 1
    return padded[:, i : i + 8, j : j + 8]


for i in range(300, 600):
    images[i] = shifted(images[i : i + 1], moves[rng.integers(9)])[0]


def rows(A):
    flat = A.reshape(len(A), -1)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)


def similarity(A, B):
    best = np.max([rows(shifted(A, m)) @ rows(B).T for m in moves], axis=0)
    back = np.max([rows(A) @ rows(shifted(B, m)).T for m in moves], axis=0)
    return np.maximum(best, back) ** 2


S, S_new = similarity(images[train], images[train]), similarity(images[test], images[train])
plain = (rows(images[train]) @ rows(images[train]).T) ** 2
plain_new = (rows(images[test]) @ rows(images[train]).T) ** 2

# %%
# Each correction is a step before the support vector machine; it treats rows of new images in the
# same way as rows of the training images.

warnings.simplefilter("ignore", ConvergenceWarning)
scores = {"inner product^2, a kernel": SVC(kernel="precomputed", C=10).fit(plain, y[train])}
scores = {name: model.score(plain_new, y[test]) for name, model in scores.items()}
svc = SVC(kernel="precomputed", C=10, max_iter=100_000)
scores["best shift, uncorrected"] = svc.fit(S, y[train]).score(S_new, y[test])
for algorithm in ("shift", "square", "flip", "clip"):
    model = make_pipeline(SpectrumCorrector(algorithm), SVC(kernel="precomputed", C=10))
    scores[f"best shift, {algorithm}"] = model.fit(S, y[train]).score(S_new, y[test])
for name, score in scores.items():
    print(f"{name:26s} {score:.3f}")

# %%
# The left panel shows the spectrum: part of it is negative. The right panel shows the accuracy on
# moved images. Comparing images by their best shift matters far more than the choice of
# correction, and with a correction the support vector machine solves a convex problem.

corrector = SpectrumCorrector().fit(S)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
w = corrector.eigenvalues_
left.bar(np.arange(len(w)), w, width=1, color=np.where(w < 0, "C3", "0.5"))
left.set_yscale("symlog", linthresh=0.01)
left.set(
    xlabel="number",
    ylabel="eigenvalue",
    title=f"{corrector.n_negative_} of 300 eigenvalues are negative, "
    f"{corrector.negative_fraction_:.1%} of the total",
)
right.barh(list(scores), list(scores.values()), color=["0.7", "C0"] + ["C3"] * 4)
for i, score in enumerate(scores.values()):
    right.text(score + 0.01, i, f"{score:.2f}", va="center")
right.set(xlim=(0, 1.12), title="Accuracy on 300 moved images")
plt.show()
