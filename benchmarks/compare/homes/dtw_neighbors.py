"""Printed names in fonts that no example uses: the profile of a word is a series."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from benchmarks.compare.printed_names import FONTS, names, profile
from skmoderndata.neighbors import DTWNeighborsClassifier


def make(seed, n_fonts=2, n_names=25, size=14):
    """Randomly drawn names, and fonts drawn for the examples; the remaining fonts are new."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(names(), n_names, replace=False)
    fonts = rng.permutation(FONTS)
    series = [profile(name, font, size) for font in fonts for name in drawn]
    n = n_names * n_fonts
    inputs = SimpleNamespace(
        X=series[:n],
        y=np.tile(np.arange(n_names), n_fonts),
        X_new=series[n:],
    )
    about = (
        f"ink in each column of pixels of {n_names} names, printed in {n_fonts} fonts; "
        f"the same names in {len(fonts) - n_fonts} other fonts"
    )
    truth = np.tile(np.arange(n_names), len(fonts) - n_fonts)
    return Case(inputs=inputs, truth=truth, about=about)


def ours(inputs):
    return DTWNeighborsClassifier().fit(inputs.X, inputs.y).predict(inputs.X_new)


def score(case, answer):
    return np.mean(answer == case.truth)


HOME = Home(
    when="series of unequal length show the same course of events at varying speed",
    title="printed names in new fonts",
    kind="series",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of names recognised",
    by_time=True,
    gain="Recognises {ours:.0%} of the printed names in new fonts within {our_seconds:.2g} "
    "s; {name} recognises {rival:.0%} in {rival_seconds:.2g} s.",
    lines="model = DTWNeighborsClassifier().fit(X, y)\nmodel.predict(X_new)",
)
