"""Regression with a penalty on groups of coefficients, to a certified duality gap."""

from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from benchmarks.peers import Case, Contender, at_least, at_most, none_faster

# Number of features in a group.
SIZE = 10
TOL = 1e-8


class Regression(NamedTuple):
    """Consecutive groups of `SIZE` features; `alpha` refers to norms times ``sqrt(SIZE)``."""

    X: np.ndarray
    y: np.ndarray
    alpha: float


def work(size, rng):
    """Correlated Gaussian features, 10 groups with an effect, noise as strong as the signal."""
    n, p, share = size
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    w = np.zeros(p)
    w[: 10 * SIZE] = rng.normal(size=10 * SIZE)[: min(p, 10 * SIZE)]
    y = X @ w
    y += rng.normal(size=n) * y.std()
    centred = (X - X.mean(axis=0)).T @ (y - y.mean())
    top = norm(centred.reshape(-1, SIZE), axis=1).max() / np.sqrt(SIZE) / n
    return Regression(np.asfortranarray(X), y, share * top)


def quality(data, coef):
    """Duality gap from the definition, relative to half the variance of y."""
    coef = np.asarray(coef, dtype=float).ravel()
    n = len(data.y)
    X = data.X - data.X.mean(axis=0)
    y = data.y - data.y.mean()
    r = y - X @ coef
    lam = n * data.alpha * np.sqrt(SIZE)
    slope = norm((X.T @ r).reshape(-1, SIZE), axis=1).max()
    t = max(0.0, min(float(y @ r) / float(r @ r), lam / slope))
    groups = norm(coef.reshape(-1, SIZE), axis=1)
    primal = 0.5 * r @ r + lam * groups.sum()
    dual = t * (y @ r) - 0.5 * t**2 * (r @ r)
    return {
        "gap": max(0.0, primal - dual) / (0.5 * y @ y),
        "groups": np.count_nonzero(groups > 1e-9 * groups.max(initial=0.0)),
    }


def ours(data):
    from skmoderndata.linear_model import GroupLasso

    return GroupLasso(data.alpha, SIZE, tol=TOL).fit(data.X, data.y).coef_


def celer(data):
    from celer import GroupLasso

    # celer's tolerance refers to the gap relative to the mean square of y
    model = GroupLasso(SIZE, data.alpha * np.sqrt(SIZE), tol=TOL / 2, max_iter=1000)
    return model.fit(data.X, data.y).coef_


def skglm(data):
    from skglm import GroupLasso

    # skglm stops when the violation of the optimality conditions is small, so use a small limit to
    # reach this gap
    model = GroupLasso(
        SIZE, data.alpha * np.sqrt(SIZE), tol=1e-4 * data.alpha, max_iter=1000
    )  # fmt: skip
    return model.fit(data.X, data.y).coef_


def fista(data):
    from group_lasso import GroupLasso

    labels = np.repeat(np.arange(data.X.shape[1] // SIZE), SIZE)
    model = GroupLasso(
        labels, group_reg=data.alpha, l1_reg=0.0, n_iter=5000, tol=1e-8,
        supress_warning=True,
    )  # fmt: skip
    model.fit(data.X, data.y.reshape(-1, 1))
    return model.coef_


def statement(data):
    import cvxpy as cp

    n, p = data.X.shape
    w = cp.Variable((p // SIZE, SIZE))
    b = cp.Variable()
    loss = cp.sum_squares(data.y - data.X @ cp.vec(w, order="C") - b) / (2 * n)
    penalty = np.sqrt(SIZE) * cp.sum(cp.norm(w, axis=1))
    cp.Problem(cp.Minimize(loss + data.alpha * penalty)).solve(solver=cp.CLARABEL)
    return w.value


SMALL = "500 x 1,000, alpha 0.1 of the largest"
WIDE = "1,000 x 10,000, alpha 0.1 of the largest"
LOW = "1,000 x 10,000, alpha 0.03 of the largest"
TALL = "20,000 x 500, alpha 0.05 of the largest"
QUICK = {"100 x 200, alpha 0.1 of the largest": (100, 200, 0.1)}
SIZES = {
    **QUICK,
    SMALL: (500, 1000, 0.1),
    WIDE: (1000, 10_000, 0.1),
    LOW: (1000, 10_000, 0.03),
    TALL: (20_000, 500, 0.05),
}

CASE = Case(
    title="Group lasso",
    question="How fast is each solver of the group lasso, and what duality gap does it reach?",
    remarks=(
        "Each group has ten features, and its weight is the square root of its size. The "
        "model has an intercept. The gap is computed from the definition for all "
        "contenders, relative to half the variance of y."
    ),
    ours="GroupLasso",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(40, 100, 0.2),
    work=work,
    contenders={
        "GroupLasso": Contender(run=ours, peer=False, note="tol 1e-8, the default"),
        "cvxpy": Contender(
            run=statement,
            peer=False,
            note="the problem as stated, solved by Clarabel",
            sizes=(SMALL, *QUICK),
            why_not="takes minutes",
        ),
        "celer": Contender(
            run=celer,
            requires="celer>=0.7.4",
            note="working sets with dual extrapolation, to a gap of 1e-8",
        ),
        "skglm": Contender(
            run=skglm,
            requires="skglm>=0.5",
            note=(
                "working sets with Anderson acceleration; stops if the optimality "
                "conditions are violated by at most 1e-4 times alpha"
            ),
        ),
        "group-lasso": Contender(
            run=fista,
            requires="group-lasso>=1.5",
            note="FISTA; stops when the coefficients change by at most 1e-8, or after 5,000 steps",
            sizes=(SMALL, *QUICK),
            why_not="takes minutes",
        ),
    },
    quality=quality,
    figures={
        "gap": "duality gap relative to half the variance of y",
        "groups": "number of non-zero groups",
    },
    targets=(
        at_most("a duality gap of 1e-8 is reached", "GroupLasso", "gap", 1.01e-8),
        at_least("cvxpy takes at least 5 times as long", "cvxpy", "ratio", 5),
        none_faster(
            "no peer that reaches a gap of 1e-6 is faster",
            qualifies=lambda row: row.quality.get("gap", 1) <= 1e-6,
        ),
    ),
    repeat=3,
)
