"""A noisy low-rank table in which single cells are wrong or missing."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import RobustPCA


def make(seed, wrong=0.1, noise=0.1, rank=5, n=200):
    """Factors in 40 columns with noise; wrong cells contain the value of another row."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 40))
    noisy = clean + noise * rng.normal(size=clean.shape)
    is_wrong = rng.uniform(size=clean.shape) < wrong
    X = np.where(is_wrong, rng.permuted(noisy, axis=0), noisy)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return Case(
        inputs=SimpleNamespace(X=X),
        truth=(clean, noise),
        about=f"{n} rows, 40 columns, rank {rank}, which nobody knows; {wrong:.0%} of the cells "
        "come from another row, 5% are missing",
    )


def ours(inputs):
    return RobustPCA().fit(inputs.X).low_rank_  # the rank is not given


def score(case, table):
    clean, noise = case.truth
    return np.sqrt(np.mean((table - clean) ** 2)) / noise


HOME = Home(
    when="some cells of a noisy table are wrong or missing",
    title="a low-rank table with wrong and missing cells",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the repaired table, in units of the noise",
    smaller=True,
    gain="Repairs the table to an error of {ours:.2f}, in units of the noise; {name} leaves "
    "an error of {rival:.2f}.",
    lines="model = RobustPCA().fit(X)\nmodel.low_rank_\nmodel.find_outliers()",
    levels={"wrong": (0.01, 0.2), "noise": (0.01, 1.0), "n": (100, 500)},
)
