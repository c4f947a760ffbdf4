"""A table of low rank with noise, where single cells are wrong or missing."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import RobustPCA


def make(seed, wrong=0.05, noise=0.5, n=300):
    """Three factors in 40 columns; 5 % of the cells are wrong, 5 % are missing."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 40))
    X = clean + noise * rng.normal(size=clean.shape)
    is_wrong = rng.uniform(size=X.shape) < wrong
    X[is_wrong] += rng.choice([-1, 1], is_wrong.sum()) * rng.uniform(3, 8, is_wrong.sum())
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return Case(
        given=SimpleNamespace(X=X, n_components=3),
        truth=(clean, noise),
        about=f"{n} rows, 40 columns, rank 3; {wrong:.0%} of the cells are wrong, 5% missing",
    )


def ours(given):
    return RobustPCA().fit(given.X).low_rank_  # needs no rank


def score(case, table):
    clean, noise = case.truth
    return np.sqrt(np.mean((table - clean) ** 2)) / noise


HOME = Home(
    when="single cells of a table with noise are wrong or missing",
    title="low rank, wrong and missing cells",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the repaired table, in units of the noise",
    smaller=True,
    gain="The error of the repaired table is {ours:.2f} of the noise, {rival:.2f} with {name}.",
    lines="model = RobustPCA().fit(X)\nmodel.low_rank_\nmodel.find_outliers()",
    levels={"wrong": (0.0, 0.01, 0.1, 0.2), "noise": (0.1, 1.0), "n": (100, 1000)},
)
