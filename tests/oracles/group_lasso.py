"""Group lasso as a statement for a conic solver, and its dual norm by bisection."""

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq


def objective(X, y, labels, alpha, w, b=0.0, l1_ratio=0.0, weights=None, sample_weight=None):
    """Value of the objective in the scaling of the estimator, term by term."""
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    loss = (s * (y - X @ w - b) ** 2).sum() / (2 * s.sum())
    penalty = l1_ratio * np.abs(w).sum()
    for g, label in enumerate(np.unique(labels)):
        members = np.flatnonzero(labels == label)
        weight = np.sqrt(len(members)) if weights is None else weights[g]
        penalty += (1 - l1_ratio) * weight * np.linalg.norm(w[members])
    return loss + alpha * penalty


def conic_minimum(X, y, labels, alpha, l1_ratio=0.0, positive=False, intercept=True):
    """Least value of the objective, and the coefficients, by Clarabel."""
    w = cp.Variable(X.shape[1], nonneg=positive)
    b = cp.Variable()
    penalty = l1_ratio * cp.norm1(w)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        penalty += (1 - l1_ratio) * np.sqrt(len(members)) * cp.norm(w[members])
    loss = cp.sum_squares(y - X @ w - (b if intercept else 0.0)) / (2 * len(y))
    problem = cp.Problem(cp.Minimize(loss + alpha * penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, w.value


def dual_norm(c, weight, mix):
    """Root v of ``|soft(c, mix v)| = (1 - mix) weight v``."""
    c = np.abs(np.asarray(c, dtype=float))

    def excess(v):
        return np.linalg.norm(np.maximum(c - mix * v, 0)) - (1 - mix) * weight * v

    if not c.any():
        return 0.0
    if mix == 1:
        return c.max()
    return brentq(excess, 0, np.linalg.norm(c) / ((1 - mix) * weight) + 1, xtol=1e-14)


def block_descent(X, y, labels, alpha, n_passes=1000):
    """Coefficients w of the group lasso, one group after the other [Yuan and Lin 2006].

    Minimises ``|y - X w|^2 / (2 n) + alpha sum_g sqrt(p_g) |w_g|`` on centred data. The
    columns of a group need not be orthonormal: its step is a proximal one, L its curvature.
    """
    X = X - X.mean(axis=0)
    r = y - y.mean()
    n = len(X)
    w = np.zeros(X.shape[1])
    for _ in range(n_passes):
        for g in np.unique(labels):
            J = np.flatnonzero(labels == g)
            L = np.linalg.norm(X[:, J], 2) ** 2 / n
            v = w[J] + X[:, J].T @ r / (n * L)
            new = max(0, 1 - alpha * np.sqrt(len(J)) / (L * np.linalg.norm(v))) * v
            r = r - X[:, J] @ (new - w[J])
            w[J] = new
    return w


def latent_minimum(X, y, groups, alpha, logistic=False, intercept=True):
    """Least value with overlapping groups [Jacob, Obozinski and Vert 2009, eq. 2], by Clarabel.

    Each group has coefficients of its own. With `logistic` y holds labels of -1 and 1.
    """
    parts = [cp.Variable(len(members)) for members in groups]
    b = cp.Variable()
    values = sum(X[:, members] @ v for members, v in zip(groups, parts, strict=True))
    values = values + b if intercept else values
    if logistic:
        loss = cp.sum(cp.logistic(-cp.multiply(y, values))) / len(y)
    else:
        loss = cp.sum_squares(y - values) / (2 * len(y))
    penalty = sum(np.sqrt(v.size) * cp.norm(v) for v in parts)
    problem = cp.Problem(cp.Minimize(loss + alpha * penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def logistic_objective(X, y, alpha, b, groups, latent, sample_weight=None, l1_ratio=0.0):
    """Value of the penalised logistic loss, term by term; `latent` is a list for the groups."""
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    values = b + sum(X[:, members] @ v for members, v in zip(groups, latent, strict=True))
    loss = sum(w * np.log1p(np.exp(-t * f)) for w, t, f in zip(s, y, values, strict=True))
    penalty = sum(
        (1 - l1_ratio) * np.sqrt(len(v)) * np.linalg.norm(v) + l1_ratio * np.abs(v).sum()
        for v in latent
    )
    return loss / s.sum() + alpha * penalty
