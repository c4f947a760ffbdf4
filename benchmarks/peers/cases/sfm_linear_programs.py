"""All linear programs of one support feature machine."""

from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_least


class Problem(NamedTuple):
    """Data and the settings of the machine."""

    X: np.ndarray
    y: np.ndarray
    formulation: str
    C: float | None


def work(size, rng):
    from skmoderndata.datasets import make_sparse_classes

    n, p, formulation, C = size
    X, y, _ = make_sparse_classes(
        n, p, n_informative=5, margin=0.3, random_state=int(rng.integers(2**31))
    )
    return Problem(X, y, formulation, C)


def quality(problem, w):
    """Objective in standard units, relative to the first result."""
    kept = np.flatnonzero(w)
    key = problem.X.tobytes()[:4096], problem.formulation, problem.C
    first = _supports.setdefault(key, kept)
    return {"features": kept.size, "same features": int(np.array_equal(first, kept))}


_supports = {}


def machine(solver):
    def run(problem):
        from skmoderndata.svm import SupportFeatureMachine

        model = SupportFeatureMachine(
            problem.C,
            alpha=0.0,
            formulation=problem.formulation,
            algorithm="reweighted",
            solver=solver,
            refit=False,
        )
        return model.fit(problem.X, problem.y).sfm_coef_[0]

    return run


def whole_programs(problem):
    """Every complete program by scipy: only the loop of the method."""
    from scipy.optimize import linprog

    X = (problem.X - problem.X.mean(axis=0)) / problem.X.std(axis=0)
    y = np.where(problem.y == 1, 1.0, -1.0)
    n, p = X.shape
    signed = X * y[:, None]

    # variables: positive and negative parts of the weights, the intercept, and the slacks
    slack = np.eye(n) if problem.C is not None else np.empty((n, 0))
    A_ub = -np.hstack([signed, -signed, y[:, None], slack])
    b_ub = np.full(n, -1.0 if problem.formulation == "margin" else 0.0)
    A_eq = b_eq = None

    # require the class centres to be one apart along w
    if problem.formulation == "centers":
        d = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
        A_eq = np.concatenate([d, -d, np.zeros(1 + slack.shape[1])])[None]
        b_eq = [1.0]
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * slack.shape[1]

    # reweight the features [Weston 2003]
    costs = np.ones(p)
    e = None
    before = np.zeros(p)
    for _ in range(50):
        c = np.concatenate([costs, costs, [0.0], np.full(slack.shape[1], problem.C or 0.0)])
        found = linprog(c, A_ub, b_ub, A_eq, b_eq, bounds=bounds, method="highs")

        w = found.x[:p] - found.x[p : 2 * p]
        e = 1e-3 * np.abs(w).max() if e is None else e
        if np.abs(w - before).max() <= 1e-6 * np.abs(w).max():
            break
        costs = 1 / (e + np.abs(w))
        before = w
    return np.where(np.abs(w) > 1e-9 * np.abs(w).max(), w, 0.0)


def _under_half_a_second(rows):
    times = [
        median(row.seconds)
        for row in rows
        if row.contender == "highs" and row.size in PUBLISHED and row.seconds
    ]
    if not times:
        return None, "not measured"
    return max(times) < 0.5, f"{max(times):.2g} s"


SHAPE = (100, 10_000)
SMALL = {
    "50 x 500, soft margin": (50, 500, "margin", 1.0),
    "1,000 x 100, soft margin": (1000, 100, "margin", 1.0),
}
LARGE = {"100 x 100,000, soft margin": (100, 100_000, "margin", 1.0)}
PUBLISHED = {
    "100 x 10,000, hard margin": (*SHAPE, "margin", None),
    "100 x 10,000, soft margin": (*SHAPE, "margin", 1.0),
    "100 x 10,000, class centres": (*SHAPE, "centers", None),
}

CASE = Case(
    title="Support feature machine: linear programs",
    question="How long do all linear programs of one fit take with three solvers?",
    remarks=(
        "The time covers the whole fit except the refit, that is, all programs until the "
        "weights repeat. All contenders solve the same programs."
    ),
    ours="highs",
    sizes=SMALL | PUBLISHED | LARGE,
    quick_sizes=dict(list(SMALL.items())[:1]),
    warmup=(20, 60, "margin", 1.0),
    work=work,
    contenders={
        "highs": Contender(
            run=machine("highs"),
            peer=False,
            note=(
                '`solver="highs"`, the default, which adds columns by pricing and takes '
                "simplex steps from the last basis"
            ),
        ),
        "cvxpy": Contender(
            run=machine("cvxpy"),
            peer=False,
            note=(
                '`solver="cvxpy"`, which compiles the whole program once, with the costs as '
                "a parameter, and solves it by HiGHS"
            ),
            sizes=tuple(SMALL | PUBLISHED),
            why_not="takes minutes",
        ),
        "linprog": Contender(
            run=whole_programs,
            requires="scipy>=1.15",
            note="`scipy.optimize.linprog` on whole programs, implemented in this benchmark",
            sizes=tuple(SMALL | PUBLISHED),
            why_not="takes minutes",
        ),
    },
    quality=quality,
    figures={
        "features": "number of features after the last program",
        "same features": "1 if the features are the same as with the first contender",
    },
    repeat=3,
    targets=(
        Target(
            text="takes less than 0.5 s with the default solver", check=_under_half_a_second
        ),
        at_least(
            "at least 10 times as fast with the default solver as with the cvxpy solver",
            "cvxpy",
            "ratio",
            10,
            sizes=tuple(PUBLISHED),
        ),
        at_least(
            "the features are the same with the cvxpy solver", "cvxpy", "same features", 1
        ),
    ),
)
