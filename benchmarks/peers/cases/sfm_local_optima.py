"""How close the support feature machine comes to the minimum number of features."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, milp

from benchmarks.peers import Case, Contender, at_least

N_SAMPLES = 20
FORMS = ("centers", "margin")


class Problem(NamedTuple):
    """Standardised features, labels 0 and 1, and the form to solve."""

    X: np.ndarray
    y: np.ndarray
    formulation: str


def work(size, rng):
    """Gaussian features; labels by a noisy hyperplane of four features, or at random."""
    formulation, n_problems = size
    problems = []
    for number in range(n_problems):
        p = (20, 30, 40)[number % 3]
        X = rng.normal(size=(N_SAMPLES, p))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        score = X[:, :4] @ rng.normal(size=4) + 0.5 * rng.normal(size=N_SAMPLES)
        y = (score > np.median(score)).astype(int)
        if number % 2:
            y = rng.permutation(y)
        problems.append(Problem(X, y, formulation))
    return problems


def machine(**settings):
    def run(problems):
        from skmoderndata.svm import SupportFeatureMachine

        found = []
        for problem in problems:
            options = {"alpha": 0.0, "algorithm": "reweighted", "random_state": 0, **settings}
            model = SupportFeatureMachine(None, formulation=problem.formulation, **options)
            model.fit(problem.X, problem.y)
            found.append(int(model.get_support().sum()))
        return found

    return run


def exact(problems):
    """Integer program with a binary variable per feature: 1 if its weight may be non-zero."""
    return [_fewest(*problem) for problem in problems]


def _fewest(X, y, formulation, largest=100.0):
    n, p = X.shape
    side = np.where(y == 1, 1.0, -1.0)

    # variables are w, b and binary u with |w_j| <= largest u_j; minimise the number of u_j = 1
    eye = np.eye(p)
    none = np.zeros((p, 1))
    signed = np.hstack([X * side[:, None], side[:, None], np.zeros((n, p))])
    constraints = [
        LinearConstraint(signed, 1.0 if formulation == "margin" else 0.0, np.inf),
        LinearConstraint(np.hstack([eye, none, -largest * eye]), -np.inf, 0),
        LinearConstraint(np.hstack([eye, none, largest * eye]), 0, np.inf),
    ]

    # require the class centres to be one apart, to exclude w = 0
    if formulation == "centers":
        between = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        row = np.concatenate([between, np.zeros(p + 1)])[None]
        constraints.append(LinearConstraint(row, 1, 1))

    free = np.full(p + 1, np.inf)
    found = milp(
        np.concatenate([np.zeros(p + 1), np.ones(p)]),
        constraints=constraints,
        integrality=np.concatenate([np.zeros(p + 1), np.ones(p)]),
        bounds=(np.concatenate([-free, np.zeros(p)]), np.concatenate([free, np.ones(p)])),
        options={"mip_rel_gap": 0.0},
    )

    if found.status != 0:
        raise RuntimeError(found.message)
    return round(found.fun)


_minimum = {}


def quality(problems, sizes):
    key = tuple(problem.X.tobytes() for problem in problems), problems[0].formulation
    if key not in _minimum:
        _minimum[key] = exact(problems)
    above = np.asarray(sizes) - np.asarray(_minimum[key])
    return {
        "minimum": int((above <= 0).sum()),
        "most above": int(above.max()),
        "features": float(np.mean(sizes)),
    }


CASE = Case(
    title="Support feature machine: local optima",
    question=(
        "The machine minimises a function with many local minima. How often does it find the "
        "minimum number of features, as determined by integer programming?"
    ),
    remarks=(
        f"The twelve problems have {N_SAMPLES} samples each, with 20, 30 or 40 standard normal "
        "features. In half of the problems the labels follow a noisy hyperplane of four "
        "features; in the other half they are random. No slack is allowed. The weights of the "
        "integer program are at most 100; if the minimum number of features needs larger "
        "weights, the program returns more features than necessary."
    ),
    ours="20 starts",
    sizes={f"12 problems, {form}": (form, 12) for form in FORMS},
    quick_sizes={f"3 problems, {form}": (form, 3) for form in FORMS},
    warmup=("centers", 1),
    work=work,
    contenders={
        "20 starts": Contender(
            run=machine(n_init=20),
            peer=False,
            note="`C=None, alpha=0, n_init=20`, which solves linear programs only",
        ),
        "1 start": Contender(run=machine(), peer=False, note="`C=None, alpha=0`"),
        "1 start, rescaled": Contender(
            run=machine(algorithm="rescaled"),
            peer=False,
            note='`C=None, alpha=0, algorithm="rescaled"`',
        ),
        "integer program": Contender(
            run=exact,
            requires="scipy>=1.15",
            note="`scipy.optimize.milp` with weights of at most 100",
        ),
    },
    quality=quality,
    figures={
        "minimum": (
            "number of problems in which the integer program does not need fewer features"
        ),
        "most above": "number of features in excess of the minimum, in the worst problem",
        "features": "mean number of features",
    },
    repeat=1,
    targets=(
        at_least(
            "20 starts reach the exact minimum in at least 11 of 12 problems, with both "
            "formulations",
            "20 starts",
            "minimum",
            11,
            sizes=("12 problems, centers", "12 problems, margin"),
        ),
    ),
)
