"""Maps of digits that preserve distances, small ones in particular."""

from types import SimpleNamespace

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from benchmarks.compare.home import Case, Home
from skmoderndata.manifold import SammonMapping


def make(seed, n=500):
    """Handwritten digits, drawn at random."""
    X = load_digits().data
    X = X[np.random.default_rng(seed).permutation(len(X))[:n]]
    return Case(inputs=SimpleNamespace(X=X), truth=pdist(X), about=f"{n} digits of 64 pixels")


def ours(inputs):
    return SammonMapping().fit_transform(inputs.X)


def score(case, answer):
    d = case.truth
    return np.sum((d - pdist(answer)) ** 2 / d) / d.sum()


HOME = Home(
    when="a map in the plane has to preserve distances, above all the small ones",
    title="map of digits that preserves distances",
    kind="distances and kernels",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="Sammon's stress",
    smaller=True,
    by_time=True,
    margin=0.0005,
    overlap=0.4,
    gain="Reaches a Sammon's stress of {ours:.4f}; {name} is just as good but takes "
    "{times:.1f} times as long.",
    lines="SammonMapping().fit_transform(X)",
    levels={"n": (100, 300, 1000)},
)
