"""Ordinal regression with a kernel: steps of two and four weights against a cone solver."""

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.peers import Case, Contender, Target

NU = 0.5


def work(size, rng):
    """Quantised values of a smooth function, with noise."""
    n, n_ranks, nu = size
    X, t = make_friedman1(n, noise=1.0, random_state=int(rng.integers(2**31)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.digitize(t, np.quantile(t, np.arange(1, n_ranks) / n_ranks)), nu


def ours(data):
    from skmoderndata.ranking import NuSVOR

    X, y, nu = data
    return NuSVOR(nu, tol=5e-5).fit(X, y)


def cone(data):
    from skmoderndata.ranking import NuSVOR

    X, y, nu = data
    return NuSVOR(nu, solver="cvxpy").fit(X, y)


def linear(data):
    from mord import LogisticAT

    X, y, _ = data
    return LogisticAT(alpha=1.0).fit(X, y)


def quality(data, model):
    X, y, _ = data
    found = {"ranks off": float(np.abs(model.predict(X) - y).mean())}
    if hasattr(model, "objective_"):
        found |= {"objective": model.objective_, "gap": model.dual_gap_}
    return found


def _fast(rows):
    seconds = [r for r in rows if r.contender == "NuSVOR" and r.size == MANY and r.seconds]
    if not seconds:
        return None, "not measured"
    median = float(np.median(seconds[0].seconds))
    return median < 0.5, f"{median:.2g} s"


def _ratio(rows):
    ratios = [r.ratio for r in rows if r.contender == "cvxpy" and r.size == FEW and r.ratio]
    return (ratios[0] >= 40, f"{ratios[0]:.3g} times") if ratios else (None, "not measured")


def _equal(rows):
    value = {r.contender: r.value("objective") for r in rows if r.size == FEW}
    if value.get("cvxpy") is None or value.get("NuSVOR") is None:
        return None, "not measured"
    off = abs(value["NuSVOR"] / value["cvxpy"] - 1)
    return off < 1e-6, f"relative difference {off:.1e}"


FEW = "400, 4 ranks"
MANY = "2 000, 5 ranks"
CASE = Case(
    title="Ordinal regression with a kernel",
    question=(
        "How long does it take to fit a kernel function and the thresholds between the ranks?"
    ),
    remarks=(
        'A fraction of nu = 0.5 of the constraints may have slack, unless the column "size" '
        "gives another nu. The kernel is Gaussian, with the default width. `mord` fits a "
        "different model, which is linear. Errors are measured on the training samples."
    ),
    ours="NuSVOR",
    sizes={
        "200, 4 ranks": (200, 4, NU),
        FEW: (400, 4, NU),
        MANY: (2000, 5, NU),
        "5 000, 5 ranks": (5000, 5, NU),
        "9 000, 5 ranks": (9000, 5, NU),
        "9 000, 5 ranks, nu = 0.2": (9000, 5, 0.2),
        "9 000, 5 ranks, nu = 0.05": (9000, 5, 0.05),
    },
    quick_sizes={"200, 4 ranks": (200, 4, NU)},
    warmup=(100, 3, NU),
    work=work,
    contenders={
        "NuSVOR": Contender(
            run=ours,
            peer=False,
            note="steps of two and four weights, and of all free weights at once, to a gap of "
            "5e-5; for up to 500 samples, an active set method continues to the optimum",
        ),
        "cvxpy": Contender(
            run=cone,
            peer=False,
            sizes=("200, 4 ranks", FEW),
            why_not="takes minutes",
            note="the same problem, solved by Clarabel",
        ),
        "mord": Contender(run=linear, requires="mord>=0.7", note="LogisticAT, linear"),
    },
    quality=quality,
    figures={
        "ranks off": "mean absolute error on the training samples",
        "objective": "objective reached; smaller is better",
        "gap": "relative duality gap",
    },
    targets=(
        Target(text="2000 samples in less than 0.5 s", check=_fast),
        Target(text="at least 40 times as fast as cvxpy for 400 samples", check=_ratio),
        Target(text="the same objective as cvxpy for 400 samples", check=_equal),
    ),
    repeat=3,
)
