"""Maximum variance unfolding as the papers state it, and its bound, by dense matrices."""

import numpy as np


def unfolding(n, edges, d2, form="at_most", nu=0.0):
    """Optimum and K of the semidefinite program, edge by edge [Weinberger and Saul 2004]."""
    import cvxpy as cp

    K = cp.Variable((n, n), PSD=True)
    rules = [cp.sum(K) == 0]
    misses = []
    for (i, j), d in zip(edges, d2, strict=True):
        delta = K[i, i] + K[j, j] - 2 * K[i, j]
        misses.append(delta - d)
        if form == "equal":
            rules.append(delta == d)
        elif form == "at_most":
            rules.append(delta <= d)
    gain = cp.trace(K)
    if form == "soft":
        gain = gain - nu * cp.sum_squares(cp.hstack(misses))
    problem = cp.Problem(cp.Maximize(gain), rules)
    try:
        return problem.solve(solver="CLARABEL"), K.value
    except cp.error.SolverError:
        return problem.solve(solver="SCS", eps=1e-7, max_iters=100_000), K.value


def bound(n, edges, d2, w):
    """``sum w d^2`` over the second eigenvalue of the Laplacian [Sun, Boyd, Xiao, Diaconis 2006].

    For ``w >= 0`` no placement whose edges are at most d long has a larger variance.
    """
    L = np.zeros((n, n))
    for (i, j), weight in zip(edges, w, strict=True):
        L[i, i] += weight
        L[j, j] += weight
        L[i, j] -= weight
        L[j, i] -= weight
    return sum(w * d2) / np.linalg.eigvalsh(L)[1]
