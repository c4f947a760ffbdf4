"""Slow, obvious sparse coders: one signal at a time, least squares from scratch."""

from itertools import combinations

import numpy as np
from scipy.optimize import nnls


def least_squares(x, D, support):
    """Residual r and coefficients a of the best fit of x by the atoms in `support`, rows of D."""
    if not len(support):
        return x, np.zeros(0)
    a = np.linalg.lstsq(D[support].T, x, rcond=None)[0]
    return x - a @ D[support], a


def omp(x, D, n_nonzero, tol=-1.0, known=None, optimised=False):
    """Orthogonal matching pursuit [Rubinstein, Zibulevsky and Elad 2008, algorithm 1].

    It ends with `n_nonzero` atoms or a squared residual of `tol`. Atoms, the rows of D, have any
    norm; `known` marks observed entries; `optimised` takes the atom of least new residual instead.
    """
    if known is not None:
        x = x[known]
        D = D[:, known]

    norms = np.linalg.norm(D, axis=1)
    support = []
    r = x
    a = np.zeros(0)

    while len(support) < n_nonzero and r @ r > tol:
        # 1. choose the atom of the smallest residual, or of the largest correlation
        if optimised:
            score = np.full(len(D), np.inf)
            for j in set(range(len(D))) - set(support):
                score[j] = np.sum(least_squares(x, D, [*support, j])[0] ** 2)
            new = int(np.argmin(score))
        else:
            score = np.abs(D @ r) / np.where(norms > 0, norms, 1)
            score[support] = -1
            new = int(np.argmax(score))

        # 2. fit the signal by all chosen atoms
        support.append(new)
        r, a = least_squares(x, D, support)

    code = np.zeros(len(D))
    code[support] = a
    return code


def best_subset(x, D, n_nonzero, positive=False):
    """Smallest squared residual over all supports of a given size."""
    best = np.inf
    for support in combinations(range(len(D)), n_nonzero):
        S = list(support)
        if positive:
            r = nnls(D[S].T, x)[1] ** 2
        else:
            r = np.sum(least_squares(x, D, S)[0] ** 2)
        best = min(best, r)
    return best


def positive_omp(x, D, n_nonzero):
    """Non-negative pursuit with scipy's non-negative least squares in each step."""
    support = []
    r = x
    code = np.zeros(len(D))
    for _ in range(3 * n_nonzero):
        score = D @ r
        score[support] = -1
        if len(support) == n_nonzero or score.max() <= 1e-12:
            break
        support.append(int(np.argmax(score)))
        a, _ = nnls(D[support].T, x)
        support = [j for j, v in zip(support, a, strict=True) if v > 0]
        a = a[a > 0]
        code = np.zeros(len(D))
        code[support] = a
        r = x - code @ D
    return code


def group_omp(x, D, groups, n_groups):
    """Take the group whose span holds most of the residual; least squares on all taken."""
    chosen = []
    r = x
    code = np.zeros(len(D))
    for _ in range(n_groups):
        left = {}
        for g in set(groups) - set(chosen):
            members = np.flatnonzero(groups == g)
            left[g] = np.sum(least_squares(r, D, members)[0] ** 2)
        chosen.append(min(left, key=left.get))
        members = np.flatnonzero(np.isin(groups, chosen))
        r, a = least_squares(x, D, members)
        code = np.zeros(len(D))
        code[members] = a
    return code


def keep_largest(a, n_nonzero):
    """Entries of largest magnitude, the first of ties; zeros elsewhere."""
    out = np.zeros_like(a)
    support = np.argsort(-np.abs(a), kind="stable")[:n_nonzero]
    out[support] = a[support]
    return out


def normalised_iht(x, D, n_nonzero, max_iter=2000, rtol=1e-10):
    """Blumensath and Davies 2010, algorithm of section II; least squares on the last support."""
    a = np.zeros(len(D))
    support = np.flatnonzero(keep_largest(D @ x, n_nonzero))
    former = x @ x
    for _ in range(max_iter):
        # 1. compute the step length, which is exact if the support stays the same
        g = D @ (x - a @ D)
        curved = np.sum((g[support] @ D[support]) ** 2)
        if curved == 0:
            break
        mu = g[support] @ g[support] / curved

        # 2. shorten steps that change the support, until they cannot raise the objective
        while True:
            new = keep_largest(a + mu * g, n_nonzero)
            if set(np.flatnonzero(new)) == set(support):
                break
            if mu <= 0.99 * np.sum((new - a) ** 2) / np.sum(((new - a) @ D) ** 2):
                break
            mu /= 2 * 0.99

        a = new
        support = np.flatnonzero(new)
        rest = np.sum((x - a @ D) ** 2)
        if abs(former - rest) <= rtol * rest:
            break
        former = rest

    return np.sum(least_squares(x, D, support)[0] ** 2)


def hard_thresholding_pursuit(x, D, n_nonzero, max_iter=100):
    """Hard thresholding pursuit [Foucart 2011, algorithm HTP]: the best of the codes met.

    The step size is 1, the atoms in the rows of D have unit norm.
    """
    a = np.zeros(len(D))
    support = None
    best = a
    least = x @ x
    for _ in range(max_iter):
        z = a + D @ (x - a @ D)  # make a gradient step
        new = np.flatnonzero(keep_largest(z, n_nonzero))
        if support is not None and set(new) == set(support):
            break
        support = new
        r, values = least_squares(x, D, support)
        a = np.zeros(len(D))
        a[support] = values
        if r @ r < least:
            best = a
            least = r @ r
    return best


def lasso_objective(x, a, D, alpha):
    """``1/2 |x - a D|^2 + alpha |a|_1``."""
    return 0.5 * np.sum((x - a @ D) ** 2) + alpha * np.abs(a).sum()


def lasso_by_cvxpy(x, D, alpha, *, positive=False, groups=None):
    """Optimum of the (group) lasso stated as it is written."""
    import cvxpy as cp

    a = cp.Variable(len(D), nonneg=positive)
    if groups is None:
        penalty = cp.norm1(a)
    else:
        penalty = sum(
            np.sqrt(np.sum(groups == g)) * cp.norm2(a[np.flatnonzero(groups == g)])
            for g in np.unique(groups)
        )
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - D.T @ a) + alpha * penalty))
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    return problem.value, a.value


def lasso_gap(x, a, D, alpha, *, positive=False, groups=None):
    """Duality gap in proportion to the objective, from the theory."""
    r = x - a @ D
    c = D @ r
    if groups is None:
        penalty = np.abs(a).sum()
        q = c.max() if positive else np.abs(c).max()
    else:
        labels = np.unique(groups)
        clip = np.maximum(c, 0) if positive else c
        weight = {g: np.sqrt(np.sum(groups == g)) for g in labels}
        penalty = sum(weight[g] * np.linalg.norm(a[groups == g]) for g in labels)
        q = max(np.linalg.norm(clip[groups == g]) / weight[g] for g in labels)

    primal = 0.5 * r @ r + alpha * penalty
    theta = r * min(1.0, alpha / q) if q > 0 else r
    # find the best multiple of r that is feasible
    if r @ r > 0:
        t = x @ r / (r @ r)
        if q > 0:
            t = min(t, alpha / q)
        if positive:
            t = max(t, 0.0)
        elif q > 0:
            t = max(t, -alpha / q)
        theta = t * r
    dual = theta @ x - 0.5 * theta @ theta
    return (primal - dual) / max(primal, 1e-300)
