"""Gaussian knockoffs of the columns of a table, and the threshold of the knockoff filter.

References: [1] Candès, Fan, Janson and Lv, Panning for gold: model-X knockoffs for high
dimensional controlled variable selection, Journal of the Royal Statistical Society B 80(3), 2018;
[2] Barber and Candès, Controlling the false discovery rate via knockoffs, Annals of Statistics
43(5), 2015; [3] Dai and Barber, The knockoff filter for FDR control in group-sparse and multitask
regression, ICML 2016.

As in the papers, with a barrier method for the semidefinite program of [1].
"""

import numpy as np

from skmoderndata._solvers.common.typing import Array

# Maximum distance of the trace of S from its maximum, relative to the number of columns.
RELATIVE_GAP = 1e-3
# Factor by which the weight of the barrier falls from one minimisation to the next.
DECREASE = 8.0


def equal_distances(R: Array, groups: Array | None = None) -> Array:
    """Return the matrix S of the equicorrelated construction, for a correlation matrix R.

    Without groups it is ``s I`` with ``s = min(1, 2 lambda_min(R))``, [1] section 3.4.1. With
    groups it has the blocks ``g R_gg`` of R with the largest g of at most 1 that keeps
    ``2 R - S`` positive semi-definite, [3] section 3.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Correlations.
    groups : ndarray of shape (p,), default=None
        Label of the group of each column.

    Returns
    -------
    S : ndarray of shape (p, p)
        The covariance of a column and its knockoff is ``R - S``.
    """
    if groups is None:
        return min(1.0, 2 * max(np.linalg.eigvalsh(R)[0], 0.0)) * np.eye(len(R))

    blocks = np.where(groups[:, None] == groups, R, 0.0)
    values, vectors = np.linalg.eigh(blocks)
    floor = len(R) * np.finfo(float).eps * values[-1]
    root = vectors / np.sqrt(np.maximum(values, floor))
    smallest = np.linalg.eigvalsh(root.T @ R @ root)[0]
    return min(1.0, 2 * max(smallest, 0.0)) * blocks


def largest_distances(R: Array) -> Array:
    """Return the diagonal matrix S with the largest trace such that ``2 R - S`` is PSD.

    It solves the semidefinite program ``max sum s, 0 <= s <= 1, 2 R - diag(s) >= 0``, [1] section
    3.4.2.
    Newton's method follows the minimisers of ``-sum s - mu (log det(2 R - diag(s)) + sum log s
    + sum log(1 - s))`` as mu falls: the trace is within ``3 p mu`` of its maximum.
    """
    p = len(R)
    equal = equal_distances(R)
    if equal[0, 0] <= p * np.finfo(float).eps:  # if R is singular, there is no interior
        return equal

    s = 0.5 * equal.diagonal()
    mu = 1.0
    while 3 * mu > RELATIVE_GAP:
        mu /= DECREASE
        decrement = np.inf
        while decrement > 1:
            B = np.linalg.inv(2 * R - np.diag(s))
            gradient = B.diagonal() - 1 / s + 1 / (1 - s) - 1 / mu
            hessian = B * B + np.diag(1 / s**2 + 1 / (1 - s) ** 2)
            step = np.linalg.solve(hessian, gradient)
            decrement = float(np.sqrt(gradient @ step))
            s -= step / (1 + decrement)  # the damped step remains in the interior
    return np.diag(s)


def draw_knockoffs(Z: Array, R: Array, S: Array, rng: np.random.RandomState) -> Array:
    """Draw the knockoffs of standardised rows, [1] equation 3.2.

    Given z, they are normal with mean ``z - S R^-1 z`` and covariance ``2 S - S R^-1 S``.
    """
    P = np.linalg.solve(R, S)
    values, vectors = np.linalg.eigh(2 * S - S @ P)
    noise = rng.normal(size=Z.shape) * np.sqrt(np.maximum(values, 0.0))
    return Z - Z @ P + noise @ vectors.T


def filter_threshold(W: Array, q: float) -> float:
    """Return the threshold of knockoff+, [2] equation 1.9; infinity if no threshold reaches q.

    It is the smallest ``t > 0`` among the magnitudes of W for which
    ``(1 + #{W <= -t}) / #{W >= t} <= q``.
    """
    steps = np.unique(np.abs(W[W != 0]))
    ordered = np.sort(W)
    below = np.searchsorted(ordered, -steps, side="right")
    above = len(W) - np.searchsorted(ordered, steps, side="left")
    reached = np.flatnonzero(1 + below <= q * above)
    return float(steps[reached[0]]) if reached.size else np.inf


def estimated_rate(W: Array, threshold: float) -> float:
    """Return the estimate of the false discovery rate at a threshold; 0 if nothing is selected."""
    above = np.count_nonzero(W >= threshold)
    return float(1 + np.count_nonzero(W <= -threshold)) / above if above else 0.0
