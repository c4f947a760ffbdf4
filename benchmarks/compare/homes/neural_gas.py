"""A codebook of digits: the error of the nearest prototype."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin_min

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import NeuralGas


def make(seed, n_clusters=50, n=1000):
    """Handwritten digits, drawn at random."""
    X = load_digits().data
    X = X[np.random.default_rng(seed).permutation(len(X))[:n]]
    about = f"{n} digits of 64 pixels, {n_clusters} prototypes"
    return Case(given=SimpleNamespace(X=X, n_clusters=n_clusters), truth=X, about=about)


def ours(given):
    return NeuralGas(given.n_clusters, random_state=0).fit(given.X).cluster_centers_


def score(case, answer):
    nearest = pairwise_distances_argmin_min(case.truth, answer)[1]
    return 100 * np.sum(nearest**2) / np.sum((case.truth - case.truth.mean(axis=0)) ** 2)


HOME = Home(
    when="prototypes shall be as near to the samples as they can, from one start",
    title="codebook of digits",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="squared distance to the nearest prototype, percent of the variance",
    smaller=True,
    margin=0.02,
    overlap=0.5,
    gain="{ours:.2f} % of the variance is left by one start, {rival:.2f} % with {name}.",
    lines="model = NeuralGas(50, random_state=0).fit(X)\nmodel.cluster_centers_",
    levels={"n_clusters": (10, 200), "n": (500, 1797)},
)
