"""Minimum l1 norm under linear equations, and under a bound on the noise."""

from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from benchmarks.peers import Case, Contender, at_least, at_most, none_faster
from skmoderndata.linear_model import BasisPursuit


class Measured(NamedTuple):
    """``|X w - y| <= bound`` holds for the planted w; `least` bounds the l1 norm from below."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    bound: float
    least: float


def work(size, rng):
    """Gaussian matrix, planted Gaussian coefficients, proportional noise."""
    n, k, n_nonzero, noise = size
    X = rng.normal(size=(n, k)) / np.sqrt(n)
    w = np.zeros(k)
    w[rng.choice(k, n_nonzero, replace=False)] = rng.normal(size=n_nonzero)
    clean = X @ w
    error = rng.normal(size=n)
    error *= noise * norm(clean) / norm(error)
    y = clean + error
    bound = float(norm(error))
    model = BasisPursuit(bound, fit_intercept=False).fit(X, y)
    # scale the dual variable to be feasible, so that it proves the bound
    v = model.dual_ / max(1.0, np.abs(X.T @ model.dual_).max())
    return Measured(X, y, w, bound, float(y @ v - bound * norm(v)))


def quality(data, coef):
    """Evaluate the l1 norm and the constraint."""
    coef = np.asarray(coef, dtype=float)
    return {
        "excess": np.abs(coef).sum() / data.least - 1,
        "violation": max(0.0, norm(data.y - data.X @ coef) - data.bound) / norm(data.y),
        "error": norm(coef - data.w) / norm(data.w),
    }


def ours(data):
    return BasisPursuit(data.bound, fit_intercept=False).fit(data.X, data.y).coef_


def statement(data):
    import cvxpy as cp

    a = cp.Variable(data.X.shape[1])
    if data.bound > 0:
        constraint = cp.norm(data.y - data.X @ a) <= data.bound
        solver = cp.CLARABEL
    else:
        constraint = data.X @ a == data.y
        solver = cp.HIGHS
    cp.Problem(cp.Minimize(cp.norm1(a)), [constraint]).solve(solver=solver)
    return a.value


def linear_program(data):
    from scipy.optimize import linprog

    k = data.X.shape[1]
    out = linprog(
        np.ones(2 * k), A_eq=np.hstack([data.X, -data.X]), b_eq=data.y, method="highs"
    )  # fmt: skip
    return out.x[:k] - out.x[k:]


def spectral_projection(data):
    from spgl1 import spgl1

    return spgl1(data.X, data.y, sigma=data.bound, opt_tol=1e-9, bp_tol=1e-9, iter_lim=20_000)[
        0
    ]


SMALL = "60 x 120, 6 non-zeros"
EXACT = "512 x 1024, 50 non-zeros"
DENSE = "512 x 1024, 150 non-zeros"
LARGE = "1600 x 3200, 150 non-zeros"
FULL = "400 x 800, no sparse representation"
LARGE_FULL = "800 x 1600, no sparse representation"
NOISY = "512 x 1024, 50 non-zeros, noise 5 %"
QUICK = {SMALL: (60, 120, 6, 0.0)}
EQUATIONS = {
    **QUICK,
    EXACT: (512, 1024, 50, 0.0),
    DENSE: (512, 1024, 150, 0.0),
    LARGE: (1600, 3200, 150, 0.0),
    FULL: (400, 800, 800, 0.0),
    LARGE_FULL: (800, 1600, 1600, 0.0),
}
SIZES = EQUATIONS | {
    "60 x 120, 6 non-zeros, noise 5 %": (60, 120, 6, 0.05),
    NOISY: (512, 1024, 50, 0.05),
    "512 x 1024, 150 non-zeros, noise 5 %": (512, 1024, 150, 0.05),
    "200 x 2000, 20 non-zeros, noise 5 %": (200, 2000, 20, 0.05),
    "2000 x 200, 20 non-zeros, noise 5 %": (2000, 200, 20, 0.05),
    "1600 x 3200, 150 non-zeros, noise 5 %": (1600, 3200, 150, 0.05),
}

CASE = Case(
    title="Basis pursuit",
    question=(

            "How fast does each contender find the representation of minimum l1 norm, and how "
            "close does it come to the optimum?"

    ),
    remarks=(
        "`excess` is measured relative to a lower bound that a dual variable proves. If the data "
        "have no noise and only a few planted coefficients are non-zero, these coefficients are "
        "the optimum, so `error` should be zero. With noise, or if all planted coefficients are "
        "non-zero, the optimum is different."
    ),
    ours="BasisPursuit",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(20, 40, 2, 0.0),
    work=work,
    contenders={
        "BasisPursuit": Contender(
            run=ours,
            peer=False,
            note="fitted without an intercept; its dual variable gives the lower bound",
        ),
        "cvxpy": Contender(
            run=statement,
            peer=False,
            note=(
                "solves the problem as stated, with HiGHS if there is no noise and with "
                "Clarabel otherwise"
            ),
            sizes=(SMALL, EXACT, NOISY),
            why_not="takes many seconds; shown at three sizes",
        ),
        "scipy": Contender(
            run=linear_program,
            note=(
                "`linprog(method='highs')` on the positive and negative parts of the "
                "coefficients"
            ),
            sizes=(SMALL, EXACT, DENSE, FULL),
            why_not="solves only linear programs; takes minutes at the large sizes",
        ),
        "spgl1": Contender(
            run=spectral_projection,
            requires="spgl1>=0.0.3",
            note=(
                "spectral projected gradient with tolerances of 1e-9 and at most 20,000 "
                "steps"
            ),
        ),
    },
    quality=quality,
    figures={
        "excess": "l1 norm divided by the proved lower bound, minus 1",
        "violation": "violation of the constraint, relative to the norm of y",
        "error": "relative distance to the planted coefficients",
    },
    targets=(
        at_most(
            "the relative excess over the optimum of the linear program is at most 1e-8",
            "BasisPursuit", "excess", 1e-8, sizes=list(EQUATIONS),
        ),
        at_most("the constraint is violated by at most 1e-8", "BasisPursuit", "violation", 1e-8),
        at_least("cvxpy takes at least 5 times as long", "cvxpy", "ratio", 5),
        none_faster(
            "no peer of similar accuracy (excess and violation at most 1e-6) is faster",
            qualifies=lambda row: (
                max(abs(row.quality.get("excess", 1)), row.quality.get("violation", 1)) <= 1e-6
            ),
        ),
    ),
    repeat=3,
)  # fmt: skip
