"""The knockoff filter by its definitions: a semidefinite program, a search over all thresholds."""

import numpy as np


def largest_trace(R):
    """Return ``max sum s, 0 <= s <= 1, 2 R - diag(s) >= 0`` by cvxpy."""
    import cvxpy as cp

    s = cp.Variable(len(R))
    constraints = [s >= 0, s <= 1, 2 * R - cp.diag(s) >> 0]
    return cp.Problem(cp.Maximize(cp.sum(s)), constraints).solve(solver=cp.CLARABEL)


def threshold_by_search(W, q):
    """Return the smallest magnitude of W that bounds the estimated rate by q."""
    for t in sorted(abs(w) for w in W if w != 0):
        if 1 + sum(w <= -t for w in W) <= q * sum(w >= t for w in W):
            return t
    return np.inf
