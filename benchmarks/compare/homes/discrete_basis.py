"""Black pixels of digits as unions of a few sets of pixels."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import DiscreteBasis


def make(seed, n=200, n_clusters=10):
    """Digits drawn at random; pixels are black or white."""
    images = load_digits().data > 7
    X = images[np.random.default_rng(seed).permutation(len(images))[:n]]
    return Case(
        inputs=SimpleNamespace(X=X, n_clusters=n_clusters),
        truth=X,
        about=f"{n} images of digits, 8 x 8 black or white pixels; unions of {n_clusters} sets",
    )


def ours(inputs):
    return DiscreteBasis(inputs.n_clusters).fit(inputs.X).components_


def score(case, sets):
    """Fraction of wrong pixels, with the best union of the sets for every image."""
    sets = np.asarray(sets, dtype=bool)
    unions = np.zeros((1, sets.shape[1]), dtype=bool)
    for one in sets:
        unions = np.vstack([unions, unions | one])
    X = case.truth.astype(np.float32)
    U = unions.astype(np.float32)
    wrong = X.sum(axis=1)[:, None] + U.sum(axis=1)[None] - 2 * X @ U.T
    return np.mean(wrong.min(axis=1)) / X.shape[1]


HOME = Home(
    when="you want to describe Boolean rows as unions of a few sets",
    title="digits as unions of sets of pixels",
    kind="Boolean tables",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of wrong pixels",
    smaller=True,
    by_time=True,
    margin=0.001,
    n_rounds=8,
    gain="Gets {ours:.1%} of the pixels wrong after {our_seconds:.2g} s; {name} gets "
    "{rival:.1%} wrong after {rival_seconds:.2g} s.",
    lines="model = DiscreteBasis(n_clusters).fit(X)\nmodel.components_\nmodel.transform(X)",
    levels={"n_clusters": (5, 12), "n": (500, 1700)},
)
