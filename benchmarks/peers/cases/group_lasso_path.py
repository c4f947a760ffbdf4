"""A path of a hundred penalties of the group lasso in three folds."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks.peers import Case, Contender, Target, none_faster
from benchmarks.peers.cases.group_lasso import SIZE
from benchmarks.peers.cases.group_lasso import work as regression

N_PENALTIES = 100
# Tolerance of the duality gap, relative to half the variance of y.
TOL = 1e-6
# Largest relative difference of errors that counts as equal.
CLOSE = 1e-3


class Paths(NamedTuple):
    """Data, and penalties for norms times ``sqrt(SIZE)``, largest first."""

    X: np.ndarray
    y: np.ndarray
    alphas: np.ndarray


def work(size, rng):
    """Draw the regression of the case with one penalty, and a grid down to a hundredth."""
    n, p = size
    X, y, alpha = regression((n, p, 1.0), rng)
    return Paths(X, y, alpha * np.geomspace(1, 0.01, N_PENALTIES))


def quality(data, errors):
    """Smallest mean error on the left-out samples, relative to the variance of y."""
    return {"error": float(np.mean(errors, axis=1).min() / np.var(data.y))}


def ours(data):
    from skmoderndata.linear_model import GroupLassoCV

    model = GroupLassoCV(data.alphas, SIZE, cv=3, tol=TOL)
    return model.fit(data.X, data.y).mse_path_


def loop(data, model, unit):
    """Fit each penalty, starting from the previous coefficients."""
    errors = []
    for train, test in KFold(3).split(data.X):
        X = np.asfortranarray(data.X[train])
        model = clone(model)
        fold = []
        for alpha in data.alphas:
            model.set_params(alpha=alpha * unit).fit(X, data.y[train])
            fold.append(np.mean((model.predict(data.X[test]) - data.y[test]) ** 2))
        errors.append(fold)
    return np.transpose(errors)


def celer(data):
    from celer import GroupLasso

    # celer's own search over a path does not start with scikit-learn 1.9
    model = GroupLasso(SIZE, 1.0, tol=TOL / 2, max_iter=1000, warm_start=True)
    return loop(data, model, np.sqrt(SIZE))


def skglm(data):
    from skglm import GroupLasso

    tol = 1e-4 * data.alphas[-1]
    model = GroupLasso(SIZE, 1.0, tol=tol, max_iter=1000, warm_start=True)
    return loop(data, model, np.sqrt(SIZE))


def _no_worse(rows):
    errors = {(r.contender, r.size): r.value("error") for r in rows if r.ratio is not None}
    excess = [
        errors[CASE.ours, size] / error - 1
        for (name, size), error in errors.items()
        if name != CASE.ours
    ]
    if not excess:
        return None, "no peer measured"
    return max(excess) <= CLOSE, f"largest excess {max(excess):.1e}"


SIZES = {
    "60 x 100": (60, 100),
    "300 x 1,000": (300, 1000),
    "500 x 2,000": (500, 2000),
    "5,000 x 300": (5000, 300),
}

CASE = Case(
    title="Path of the group lasso",
    question="How long does a search over a hundred penalties take?",
    remarks=(
        "The search uses three folds and groups of ten features. The penalties decrease from "
        "the largest one to a hundredth of it, and each fit starts from the coefficients of "
        "the previous fit."
    ),
    ours="GroupLassoCV",
    sizes=SIZES,
    quick_sizes={"60 x 100": (60, 100)},
    warmup=(40, 50),
    work=work,
    contenders={
        "GroupLassoCV": Contender(run=ours, peer=False, note="the default gap of 1e-6"),
        "celer": Contender(
            run=celer,
            requires="celer>=0.7.4",
            note="a loop over the penalties with `warm_start` and a gap of 1e-6",
        ),
        "skglm": Contender(
            run=skglm,
            requires="skglm>=0.5",
            note=(
                "a loop over the penalties with `warm_start`, which stops if the optimality "
                "conditions are violated by at most 1e-4 times the smallest penalty"
            ),
        ),
    },
    quality=quality,
    figures={"error": "smallest mean squared error on the path, divided by the variance of y"},
    targets=(
        none_faster("no peer is faster", qualifies=lambda row: "error" in row.quality),
        Target(
            text="the smallest error is at most .1 % above the smallest error of each peer",
            check=_no_worse,
        ),
    ),
    repeat=3,
)
