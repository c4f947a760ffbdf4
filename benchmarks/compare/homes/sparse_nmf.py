"""Handwritten digits as sums of local parts: how good is it at parts of given sparseness?"""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import non_negative_factorization

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import SparseNMF


def make(seed, sparseness=0.8, n=400, n_components=16):
    """Digits drawn at random; the parts are judged by other digits."""
    images = load_digits().data / 16
    rows = np.random.default_rng(seed).permutation(len(images))[: n + 300]
    return Case(
        given=SimpleNamespace(
            X=images[rows[:n]], n_components=n_components, sparseness=sparseness
        ),
        truth=images[rows[n:]],
        about=f"{n} images of digits, 8 x 8 pixels; {n_components} parts of a mean sparseness of "
        f"{sparseness:g} at least; 300 others to be composed",
    )


def ours(given):
    model = SparseNMF(
        given.n_components, penalty="hoyer", sparseness_components=given.sparseness, tol=1e-3
    )
    return model.fit(given.X).components_


def score(case, parts):
    """Error of the best non-negative sums of the parts; 1 if they are not sparse enough."""
    root = np.sqrt(parts.shape[1])
    ratio = np.sum(np.abs(parts), axis=1) / np.maximum(np.linalg.norm(parts, axis=1), 1e-12)
    if np.mean((root - ratio) / (root - 1)) < case.given.sparseness - 1e-3 or parts.min() < 0:
        return 1.0
    parts = parts / np.maximum(np.linalg.norm(parts, axis=1, keepdims=True), 1e-12)
    X = case.truth
    codes, _, _ = non_negative_factorization(
        X, H=parts, n_components=len(parts), update_H=False, max_iter=2000, tol=1e-5
    )
    return np.sum((X - codes @ parts) ** 2) / np.sum(X**2)


HOME = Home(
    when="data are sums of parts, and the parts should be local",
    title="digits from local parts",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="squared error of other digits, in units of their squares",
    smaller=True,
    by_time=True,
    margin=0.002,
    gain="Local parts that miss {ours:.1%} of other digits take {our_seconds:.2g} s; {name} take "
    "{times:.0f} times as long and miss {rival:.1%}.",
    lines=(
        'model = SparseNMF(n_components, penalty="hoyer", sparseness_components=sparseness)\n'
        "model.fit(X).components_"
    ),
    levels={"sparseness": (0.6, 0.7, 0.9), "n_components": (8, 32)},
)
