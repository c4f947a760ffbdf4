"""Readings that arrive in batches, with gross errors: which cells of the new rows are wrong?"""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import OnlineRobustPCA


def make(seed, wrong=0.1, noise=0.2, rank=4, n=1000):
    """A few hidden causes of 40 sensors; wrong cells hold the value of another time."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 40))
    noisy = clean + noise * rng.normal(size=clean.shape)
    is_wrong = rng.uniform(size=clean.shape) < wrong
    X = np.where(is_wrong, rng.permuted(noisy, axis=0), noisy)
    return Case(
        given=SimpleNamespace(batches=list(X.reshape(-1, 50, 40))),
        truth=(clean, noise),
        about=f"{n} rows in batches of 50, 40 sensors, {rank} hidden causes, unknown to all; "
        f"{wrong:.0%} of the cells are those of another row",
    )


def ours(given):
    model = OnlineRobustPCA()
    for rows in given.batches:
        model.partial_fit(rows)
    return model.decompose(given.batches[-1])[0]


def score(case, table):
    clean, noise = case.truth
    return np.sqrt(np.mean((table - clean[-len(table) :]) ** 2)) / noise


HOME = Home(
    when="rows with wrong cells arrive one after the other",
    title="a stream with wrong cells",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the last 50 repaired rows, in units of the noise",
    smaller=True,
    n_rounds=8,
    gain="The error of the latest rows is {ours:.2f} of the noise after repair, {rival:.2f} with "
    "{name}.",
    lines=(
        "model = OnlineRobustPCA()\n"
        "for rows in batches:\n"
        "    model.partial_fit(rows)\n"
        "clean, errors = model.decompose(rows)"
    ),
    levels={"wrong": (0.02, 0.05, 0.2), "noise": (0.05, 1.0), "rank": (2, 8), "n": (500, 4000)},
)
