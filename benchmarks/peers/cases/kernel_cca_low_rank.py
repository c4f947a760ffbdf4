"""Kernel canonical correlation analysis of many samples, with a low rank."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most

RANK = 300
# Number of held-out samples.
NEW = 4000


class Views(NamedTuple):
    """Two noisy views of an angle; the last `NEW` samples are held out."""

    X: np.ndarray
    Y: np.ndarray


def work(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n + NEW)
    X = np.c_[np.cos(angle), np.sin(angle), rng.normal(size=(n + NEW, 2))]
    Y = np.c_[np.cos(2 * angle), np.sin(3 * angle), rng.normal(size=(n + NEW, 2))]
    return Views(X + 0.2 * rng.normal(size=X.shape), Y + 0.2 * rng.normal(size=Y.shape))


def fit(**settings):
    """Return a contender function for KernelCCA with some settings."""

    def run(views):
        from skmoderndata.cross_decomposition import KernelCCA

        return KernelCCA(2, alpha=1e-3, **settings).fit(views.X[:-NEW], views.Y[:-NEW])

    return run


def quality(views, model):
    return {
        "held out": model.score(views.X[-NEW:], views.Y[-NEW:]),
        "left out": float(model.kernel_residual_.max()),
    }


def _seconds(rows, size):
    for row in rows:
        if row.contender == "KernelCCA" and row.size == size and row.seconds:
            return float(np.median(row.seconds))
    return None


def _within_a_minute(rows):
    seconds = _seconds(rows, "n = 50000")
    return (None, "not run") if seconds is None else (seconds < 60, f"{seconds:.3g} s")


def _linear(rows):
    few = _seconds(rows, "n = 10000")
    many = _seconds(rows, "n = 50000")
    if few is None or many is None:
        return None, "not run"
    return many <= 1.5 * 5 * few, f"{many / few:.2g} times as long for 5 times the samples"


def _as_exact(rows):
    figures = {
        row.contender: row.quality.get("held out") for row in rows if row.size == "n = 5000"
    }
    exact = figures.get("exact")
    others = [
        row.quality["held out"]
        for row in rows
        if row.contender == "KernelCCA" and row.quality and row.size != "n = 1000"
    ]
    if exact is None or not others:
        return None, "not run"
    worst = min(others) - exact
    return worst >= -0.01, f"smallest difference {worst:+.4f}"


CASE = Case(
    title="Kernel CCA: two views, low rank",
    question=(
        "How do time and memory grow with the number of samples at rank 300, and how much "
        "correlation on unseen samples does the low rank cost?"
    ),
    remarks=f"The kernels are Gaussian, and {NEW} samples are held out. Memory is the increase "
    "during the fit.",
    ours="KernelCCA",
    sizes={"n = 5000": 5000, "n = 10000": 10_000, "n = 50000": 50_000},
    quick_sizes={"n = 1000": 1000},
    warmup=400,
    work=work,
    contenders={
        "KernelCCA": Contender(
            run=fit(solver="low_rank", max_rank=RANK, rank_tol=0),
            peer=False,
            note=f"`solver='low_rank', max_rank={RANK}, rank_tol=0`",
        ),
        "nystroem": Contender(
            run=fit(solver="nystroem", max_rank=RANK, random_state=0),
            peer=False,
            note=f"`solver='nystroem', max_rank={RANK}`, which draws random landmarks",
        ),
        "exact": Contender(
            run=fit(solver="exact"),
            peer=False,
            note="`solver='exact'`",
            sizes=("n = 5000", "n = 1000"),
            why_not="needs matrices of size n x n",
        ),
    },
    quality=quality,
    figures={
        "held out": "mean correlation of the two leading pairs on held-out samples",
        "left out": "fraction of the trace of a kernel that the low rank omits",
    },
    memory_unit=("MiB", lambda views: 2**20),
    targets=(
        Target(text="takes less than a minute for n = 50000", check=_within_a_minute),
        at_most(
            "needs less than 1 GiB for n = 50000",
            "KernelCCA",
            "memory",
            1024,
            sizes=("n = 50000",),
        ),
        Target(
            text=(
                "held-out correlation at most 0.01 below the correlation of the exact "
                "solution for n = 5000"
            ),
            check=_as_exact,
        ),
        Target(text="the time grows linearly with n", check=_linear),
    ),
    repeat=3,
)
