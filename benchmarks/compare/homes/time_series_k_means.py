"""Printed names in many fonts, to be sorted by name: the profile of a word is a series."""

from types import SimpleNamespace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.compare.home import Case, Home
from benchmarks.compare.printed_names import FONTS, names, profile
from skmoderndata.cluster import TimeSeriesKMeans


def make(seed, n_names=5, n_fonts=12, size=14):
    """A few names, each in the same fonts."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(names(), n_names, replace=False)
    fonts = rng.permutation(FONTS)[:n_fonts]
    y = rng.permutation(np.arange(n_names * n_fonts) % n_names)
    X = [None] * len(y)
    for k, name in enumerate(drawn):
        for i, font in zip(np.flatnonzero(y == k), fonts, strict=True):
            X[i] = profile(name, font, size)
    about = f"ink in each column of pixels of {n_names} names, each printed in {n_fonts} fonts"
    return Case(inputs=SimpleNamespace(X=X, n_clusters=n_names), truth=y, about=about)


def ours(inputs):
    model = TimeSeriesKMeans(inputs.n_clusters, n_init=10, random_state=0)
    return model.fit_predict(inputs.X)


def score(case, answer):
    return adjusted_rand_score(case.truth, answer)


HOME = Home(
    when="series of unequal length form groups that share a shape at varying speed",
    title="printed names in groups",
    kind="series",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="adjusted Rand index of the groups",
    n_rounds=32,
    first_seed=200,
    full_only=True,
    gain="Groups the series with an adjusted Rand index of {ours:.0%}; {name} reaches "
    "{rival:.0%}.",
    lines="TimeSeriesKMeans(n_clusters, n_init=10, random_state=0).fit_predict(X)",
)
