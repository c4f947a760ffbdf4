"""The support feature machine stated for general programs, and as plain loops."""

import itertools

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def linear_program(X, y, costs, *, margin, centers, slack_cost=None, intercept=True):
    """Weights, intercept and value of ``min costs |w| + slack_cost slack``, all columns at once.

    Variables are w, |w|, b and the slack, unlike the solver's.
    """
    n, p = X.shape
    signed = X * y[:, None]
    b = y[:, None] if intercept else np.zeros((n, 1))
    soft = slack_cost is not None

    # variables are w, bounds of |w|, the intercept, and the slacks
    c = np.concatenate([np.zeros(p), costs, [0.0], slack_cost if soft else np.zeros(n)])
    rows = np.hstack([-signed, np.zeros((n, p)), -b, -np.eye(n)])
    eye = np.eye(p)
    none = np.zeros((p, 1 + n))
    above = np.hstack([eye, -eye, none])
    below = np.hstack([-eye, -eye, none])

    A_eq = b_eq = None
    if centers:
        delta = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
        A_eq = np.concatenate([delta, np.zeros(p + 1 + n)])[None]
        b_eq = [1.0]

    bounds = [(None, None)] * p + [(0, None)] * p + [(None, None)]
    bounds += [(0, None if soft else 0)] * n

    found = linprog(
        c,
        np.vstack([rows, above, below]),
        np.concatenate([np.full(n, -margin), np.zeros(2 * p)]),
        A_eq,
        b_eq,
        bounds=bounds,
        method="highs",
    )
    return (found.x[:p], found.x[2 * p], found.fun) if found.status == 0 else None


def iterate(X, y, *, margin, centers, slack_cost=None, epsilon=1e-3, n_steps=30):
    """Linear programs of cost ``1 / (e + |w_j|)`` until the weights repeat [Weston et al. 2003].

    Each is the tangent, at the last weights, of the logarithm that stands for the zero norm.
    """
    costs = np.ones(X.shape[1])
    e = None
    before = None
    for _ in range(n_steps):
        w, bias, _ = linear_program(
            X, y, costs, margin=margin, centers=centers, slack_cost=slack_cost
        )
        e = epsilon * np.abs(w).max() if e is None else e
        costs = 1 / ((e + np.abs(w)) * np.log1p(1 / epsilon))
        if before is not None and np.allclose(w, before, rtol=0, atol=1e-7 * np.abs(w).max()):
            break
        before = w
    return w, bias


def fewest(X, y, *, margin, centers, largest=100.0):
    """Smallest number of features that separate, by integer programming.

    `largest` bounds the weights; the result says whether a weight reached it.
    """
    n, p = X.shape
    signed = X * y[:, None]
    eye = np.eye(p)

    # if u_j = 0, then w_j = 0
    constraints = [
        LinearConstraint(np.hstack([signed, y[:, None], np.zeros((n, p))]), margin, np.inf),
        LinearConstraint(np.hstack([eye, np.zeros((p, 1)), -largest * eye]), -np.inf, 0),
        LinearConstraint(np.hstack([eye, np.zeros((p, 1)), largest * eye]), 0, np.inf),
    ]

    if centers:
        delta = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
        constraints.append(
            LinearConstraint(np.concatenate([delta, np.zeros(p + 1)])[None], 1, 1)
        )

    free = np.full(p + 1, np.inf)
    found = milp(
        np.concatenate([np.zeros(p + 1), np.ones(p)]),
        constraints=constraints,
        integrality=np.concatenate([np.zeros(p + 1), np.ones(p)]),
        bounds=(np.concatenate([-free, np.zeros(p)]), np.concatenate([free, np.ones(p)])),
        options={"mip_rel_gap": 0.0},
    )

    assert found.status == 0, found.message
    return round(found.fun)


def least_price(X, y, C, alpha=0.0):
    """Minimum of ``|w|_0 + alpha |w|_1 + C sum slack``, a program for each set of columns."""
    p = X.shape[1]
    sets = [s for size in range(p + 1) for s in itertools.combinations(range(p), size)]
    return min(len(columns) + least_slack(X, y, list(columns), C, alpha) for columns in sets)


def least_slack(X, y, columns, C, alpha=0.0):
    """Minimum of ``alpha |w|_1 + C sum slack`` with weights on the columns given."""
    costs = np.full(len(columns), alpha)
    price = np.full(y.size, C)
    return linear_program(
        X[:, columns], y, costs, margin=1.0, centers=False, slack_cost=price
    )[2]


def separable(X, y, columns):
    """Whether the columns given separate the classes strictly."""
    found = linear_program(X[:, columns], y, np.zeros(len(columns)), margin=1.0, centers=False)
    return found is not None


def fewest_by_enumeration(X, y, most=3):
    """Smallest number of columns that separate strictly, trying all sets."""
    for size in range(1, most + 1):
        for columns in itertools.combinations(range(X.shape[1]), size):
            if separable(X, y, list(columns)):
                return size
    return None


def squared_hinge(X, y, weight):
    """Minimiser of ``|w|^2 / 2 + sum weight max(0, 1 - y (X w + b))^2``, by cvxpy."""
    import cvxpy as cp

    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    loss = cp.sum(cp.multiply(weight, cp.square(cp.pos(1 - cp.multiply(y, X @ w + b)))))
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss)).solve(solver="CLARABEL")
    return w.value, float(b.value)
