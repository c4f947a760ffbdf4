"""Ratings of which most are unknown."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.impute import NuclearNormImputer


def make(seed, observed=0.3, noise=1.0, n=200):
    """Many tastes of falling weight; no rank is right."""
    rng = np.random.default_rng(seed)
    weights = 0.8 ** np.arange(20)
    tastes = rng.normal(size=(n, 20)) * weights @ rng.normal(size=(20, 60))
    is_known = rng.uniform(size=tastes.shape) < observed
    X = tastes + noise * rng.normal(size=tastes.shape)
    return Case(
        given=SimpleNamespace(X=np.where(is_known, X, np.nan)),
        truth=(tastes, is_known),
        about=f"{n} users, 60 items, 20 tastes of falling weight; {observed:.0%} of the ratings "
        f"are known, with noise of {noise:g}",
    )


def ours(given):
    return NuclearNormImputer().fit_transform(given.X)


def score(case, table):
    tastes, is_known = case.truth
    return np.sqrt(np.mean((table - tastes)[~is_known] ** 2))


HOME = Home(
    when="most cells of a table are missing, as in ratings",
    title="ratings, mostly unknown",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the unknown ratings",
    smaller=True,
    by_time=True,
    margin=0.03,
    n_rounds=4,
    gain="Unknown ratings come out with an error of {ours:.2f} in {our_seconds:.2g} s, of "
    "{rival:.2f} in {rival_seconds:.2g} s with {name}.",
    lines="NuclearNormImputer().fit_transform(X)",
    levels={"observed": (0.15, 0.5, 0.8), "noise": (0.1, 0.5), "n": (100, 600)},
)
