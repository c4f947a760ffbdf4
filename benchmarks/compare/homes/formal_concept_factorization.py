"""Black pixels of digits, covered by rectangles of images times pixels without white pixels."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import FormalConceptFactorization


def make(seed, n=1000, n_clusters=20, threshold=7):
    """Digits drawn at random; pixels are black or white."""
    images = load_digits().data > threshold
    X = images[np.random.default_rng(seed).permutation(len(images))[:n]]
    return Case(
        inputs=SimpleNamespace(X=X, n_clusters=n_clusters),
        truth=X,
        about=f"{n} images of digits, 8 x 8 black or white pixels; {n_clusters} sets of pixels",
    )


def ours(inputs):
    return FormalConceptFactorization(inputs.n_clusters).fit(inputs.X).components_


def score(case, sets):
    """Fraction of the ones covered by sets, in rows that contain the whole set."""
    sets = np.asarray(sets, dtype=int)
    has = (~case.truth).astype(int) @ sets.T == 0
    return np.sum(has.astype(int) @ sets > 0) / np.sum(case.truth)


HOME = Home(
    when="you want to describe a Boolean table by statements without exceptions",
    title="digits from sets of black pixels",
    kind="Boolean tables",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the ones that the sets cover, without covering a zero",
    by_time=True,
    gain="Covers {ours:.0%} of the ones after {our_seconds:.2g} s; {name} covers {rival:.0%} "
    "after {rival_seconds:.2g} s.",
    lines="model = FormalConceptFactorization(n_clusters).fit(X)\nmodel.components_",
    levels={"n_clusters": (10, 40), "threshold": (4, 10)},
)
