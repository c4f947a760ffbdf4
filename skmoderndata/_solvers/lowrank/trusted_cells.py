"""Least squares of fixed rank on the trusted cells of a table, by alternating regressions."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import RANK_TOL, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array


def fit_trusted(
    X: Array,
    trusted: Array,
    start: Array,
    *,
    n_steps: int,
    ridges: tuple[float | Array, float | Array] = (0, 0),
    cell_weights: Array | None = None,
) -> tuple[Array, Array]:
    """Minimise ``sum (X - A B')^2`` over the trusted cells; return orthonormal A, and B.

    Alternating least squares regress every row of X on the left singular vectors of B, at first on
    `start` (p, r), which gives a row of A, and every column of X on A, which gives a row of B.
    Regressions use trusted cells only; other cells may be NaN. `ridges` are the ridges of rows and
    of columns, each a number or an array with an entry per component, the strongest component
    first. `cell_weights` multiply the squares.
    """
    (n, p) = X.shape
    r = start.shape[1]
    if r == 0:
        return np.zeros((n, 0)), np.zeros((p, 0))
    weights = trusted.astype(np.float64)
    data = np.where(trusted, X, 0.0)
    if cell_weights is not None:
        weights *= cell_weights
        data *= cell_weights

    V = linalg.qr(start, mode="economic", check_finite=False)[0]
    for _ in range(n_steps):
        rows = _regressions(data, weights, V, ridges[0])
        A = linalg.qr(rows, mode="economic", check_finite=False)[0]
        B = _regressions(data.T, weights.T, A, ridges[1])
        V = linalg.svd(B, full_matrices=False, check_finite=False)[0]
    return A, B


def _regressions(data: Array, weights: Array, V: Array, ridge: float | Array) -> Array:
    """Regress every row on the columns of V with weights; `data` holds weights times cells."""
    m = len(data)
    r = V.shape[1]
    lower = np.tril_indices(r)
    products = V[:, lower[0]] * V[:, lower[1]]  # (p, r (r + 1) / 2)
    right = data @ V

    coefs = np.empty((m, r))
    size = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * r**2))
    for first in range(0, m, size):
        rows = slice(first, first + size)
        entries = weights[rows] @ products
        G = np.empty((len(entries), r, r))
        G[:, lower[0], lower[1]] = G[:, lower[1], lower[0]] = entries
        diagonal = np.trace(G, axis1=1, axis2=2) / r
        floor = RANK_TOL * np.maximum(diagonal, SMALLEST_DIVISOR)
        # each component has its own ridge: strong components shrink less
        i = np.arange(r)
        G[:, i, i] += ridge
        G[:, i, i] += floor[:, None]
        coefs[rows] = np.linalg.solve(G, right[rows, :, None])[:, :, 0]
    return coefs
