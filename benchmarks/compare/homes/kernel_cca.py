"""Three hundred digits cut in two: what do the left and the right half have in common?"""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from benchmarks.compare.home import Case, Home
from skmoderndata.cross_decomposition import KernelCCA

N_PAIRS = 3


def make(seed, n=300):
    """Left and right halves of n digits, different in each round, and of 800 unseen digits."""
    images = load_digits().images
    rows = np.roll(np.random.default_rng(0).permutation(len(images)), -n * seed)
    images = images[rows[: n + 800]]
    left = images[:, :, :4].reshape(len(images), -1)
    right = images[:, :, 4:].reshape(len(images), -1)
    inputs = SimpleNamespace(X=left[:n], Y=right[:n], X_new=left[n:], Y_new=right[n:])
    return Case(
        inputs=inputs, truth=None, about=f"halves of {n} images of digits, 32 pixels each"
    )


def ours(inputs):
    grid = {"alpha": [3e-5, 1e-4, 3e-4, 1e-3, 3e-3]}
    search = GridSearchCV(KernelCCA(N_PAIRS), grid).fit(inputs.X, inputs.Y)
    return search.best_estimator_.transform(inputs.X_new, inputs.Y_new)


def score(case, answer):
    """Mean correlation of the pairs on unseen rows."""
    pairs = zip(answer[0].T, answer[1].T, strict=True)
    return np.mean([abs(np.corrcoef(a, b)[0, 1]) for a, b in pairs])


HOME = Home(
    when="two views with few rows share something that is not linear",
    title="halves of 300 digits",
    kind="two views",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="mean correlation of three pairs on unseen rows",
    gain="Finds three pairs of functions whose mean correlation on unseen rows is {ours:.2f}; "
    "with {name}, it is {rival:.2f}.",
    lines="cca = KernelCCA(3, alpha=0.0003).fit(X, Y)\ncca.transform(X_new, Y_new)",
    n_rounds=5,
    levels={"n": (50, 100, 600)},
)
