"""Images that are sums of parts, with most of their pixels missing."""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import SparseNMF


def make(seed, missing=0.6, noise=0.2, n=200):
    """Ten overlapping oblongs of 12 x 12 pixels; every image contains about half of them."""
    rng = np.random.default_rng(seed)
    parts = np.zeros((10, 12, 12))
    for part in parts:
        height, width = rng.integers(3, 7, size=2)
        top = rng.integers(13 - height)
        left = rng.integers(13 - width)
        part[top : top + height, left : left + width] = 1
    parts = parts.reshape(10, -1)

    codes = rng.exponential(size=(n, 10)) * (rng.uniform(size=(n, 10)) < 0.5)
    clean = codes @ parts
    X = np.maximum(clean + noise * clean.std() * rng.normal(size=clean.shape), 0)
    X[rng.uniform(size=X.shape) < missing] = np.nan
    return Case(
        inputs=SimpleNamespace(X=X, n_components=10),
        truth=parts,
        about=f"{n} images of 12 x 12 pixels, sums of ten overlapping oblongs with noise of "
        f"{noise:.0%}; {missing:.0%} of the pixels are missing",
    )


def ours(inputs):
    return SparseNMF(inputs.n_components).fit(inputs.X).components_


def score(case, parts):
    """Fraction of the planted parts that are found, with a cosine above 0.9."""
    norms = [np.linalg.norm(side, axis=1, keepdims=True) for side in (case.truth, parts)]
    cosine = (case.truth / norms[0]) @ (parts / np.maximum(norms[1], 1e-12)).T
    rows, columns = linear_sum_assignment(-cosine)
    return np.sum(cosine[rows, columns] > 0.9) / len(case.truth)


HOME = Home(
    when="data are sums of parts, and many of their values are missing",
    title="parts of images with missing pixels",
    kind="signals and images",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the planted parts that are found, at a cosine above 0.9",
    by_time=True,
    n_rounds=6,
    gain="Finds {ours:.0%} of the planted parts in {our_seconds:.2g} s; {name} finds "
    "{rival:.0%} in {rival_seconds:.2g} s.",
    lines="SparseNMF(n_components).fit(X).components_",
    levels={"missing": (0.0, 0.8), "noise": (0.05, 1.0), "n": (100, 500)},
)
