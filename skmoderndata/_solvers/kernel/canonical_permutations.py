"""Canonical correlations of two whitened views under permutations of the rows of one.

A whitened view ``A`` (n, p) has coordinates in which the regularised variance of the scores
``sqrt(n) A c`` is ``|c|^2`` (see `canonical`). A permutation of its rows changes neither this
variance nor the other view ``B``. Only ``M = A[order]' B`` is computed again, and its singular
values are the regularised correlations.

The coordinates are rotated so that ``A' B`` is diagonal. The first columns then belong to the
first pairs, and removing j pairs leaves ``M[j:, j:]``, without a new decomposition of the views
[Winkler, Renaud, Smith and Nichols 2020, algorithm 1].

Differs from the paper: 1. views are regularised, and directions that the penalty suppresses are
left out. 2. Correlations can be measured on held-out folds.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.kernel.canonical import Whitened

# Maximum number of directions for which full decompositions are used; for 80 directions they take
# five times as long as power iterations.
DENSE_UP_TO = 40
# Number of power iterations for the leading singular vectors of the data outside a fold.
POWER_STEPS = 30
# Minimum squared gain of a direction that is kept, as a fraction of the largest squared gain.
GAIN_RELATIVE = 1e-3


class Coordinates(NamedTuple):
    """Two whitened views, rotated so that their product is diagonal."""

    A: Array  # (n, p)
    B: Array  # (n, q)
    values: Array  # (min(p, q),), regularised correlations, descending


def rotated_coordinates(a: Whitened, b: Whitened) -> Coordinates:
    """Rotate two whitened views to their canonical pairs; unpaired directions come last."""
    A = leading_columns(a)
    B = leading_columns(b)
    U, values, Vt = linalg.svd(A.T @ B)
    return Coordinates(A @ U, B @ Vt.T, values)


def leading_columns(view: Whitened) -> Array:
    """Return a whitened view's coordinates without the directions that its penalty suppresses."""
    columns = np.asarray(view.basis @ view.whiten)
    gains = np.einsum("ij,ij->j", columns, columns)
    retained = gains > GAIN_RELATIVE * gains.max(initial=0.0)
    return columns[:, retained]


def orthogonal_rows(X: Array, Z: Array) -> Array:
    """Return rows of X in the directions orthogonal to [1 Z], with the sums of squares per n.

    ``Q' X``, where the columns of Q are an orthonormal basis of these directions [Huh and Jhun
    2001]. Products of two views are those of their residuals, and the rows are uncorrelated if the
    rows of X are. Q is not formed: Householder reflections are applied.
    """
    # 1. find an orthonormal basis of the confounders, which does not depend on their units
    n = len(Z)
    centred = Z - Z.mean(axis=0)
    units = np.abs(centred).max(axis=0)
    varies = units > ACCUMULATED_ROUNDING * np.abs(Z).max(axis=0)
    U, s, _ = linalg.svd(centred[:, varies] / units[varies], full_matrices=False)
    retained = s > max(Z.shape) * EPS * s.max(initial=0.0)
    basis = np.column_stack([np.full(n, n**-0.5), U[:, retained]])

    # 2. apply the reflections that turn the basis into the first unit vectors; the other rows of
    # the result belong to directions orthogonal to the basis
    reflectors, tau, _, _ = linalg.lapack.dgeqrf(basis)
    centred = X - X.mean(axis=0)
    work = 100 * X.shape[1]
    rotated, _, _ = linalg.lapack.dormqr("L", "T", reflectors, tau, centred, work)
    rows = rotated[basis.shape[1] :]

    # 3. set to zero the columns that the confounders explain up to rounding errors; scale the
    # others so that their mean squares over these rows are sums of squares divided by n
    explained = np.abs(rows).max(axis=0) <= 1000 * EPS * np.abs(X).max(axis=0)
    return np.where(explained, 0.0, rows) * np.sqrt(len(rows) / n)


def largest_correlations(pair: Coordinates, orders: Array, k: int) -> Array:
    """Return the largest correlation left after 0, ..., k - 1 pairs, with a row for each order."""
    M = pair.A[orders].transpose(0, 2, 1) @ pair.B
    remaining = [np.linalg.norm(M[:, j:, j:], 2, axis=(1, 2)) for j in range(k)]
    return np.stack(remaining, axis=1)


def held_out_correlations(pair: Coordinates, orders: Array, k: int, fold: Array) -> Array:
    """Return `largest_correlations` on held-out folds, with directions from the other folds.

    The rows of ``B`` stay in their folds. Directions come from the permuted rows of the other
    folds, so overfitting does not increase the correlations.
    """
    # 1. compute the products of both views within and outside each fold, (n_orders, p, q) each
    folds = [np.flatnonzero(fold == f) for f in range(int(fold.max()) + 1)]
    blocks = [(pair.A[orders[:, rows]], pair.B[rows]) for rows in folds]
    inside = np.stack([A.transpose(0, 2, 1) @ B for A, B in blocks])
    outside = inside.sum(axis=0) - inside

    correlations = np.empty((len(orders), k))
    for j in range(k):
        # 2. find the directions for each fold, for all orders at once
        remaining = outside[:, :, j:, j:]
        U, V = leading_pairs(remaining.reshape(-1, *remaining.shape[2:]))
        U = U.reshape(len(folds), len(orders), -1, 1)
        V = V.reshape(len(folds), len(orders), -1, 1)

        # 3. correlate the scores of all folds, centred within each fold
        sums = np.zeros((3, len(orders)))
        for (A, B), u, v in zip(blocks, U, V, strict=True):
            a = (A[:, :, j:] @ u)[:, :, 0]
            b = (B[:, j:] @ v)[:, :, 0]
            a -= a.mean(axis=1, keepdims=True)
            b -= b.mean(axis=1, keepdims=True)
            sums += (a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1)
        products, first, second = sums
        size = np.sqrt(first * second)
        correlations[:, j] = np.where(size > 0, products / np.where(size > 0, size, 1.0), 0.0)
    return correlations


def leading_pairs(matrices: Array) -> tuple[Array, Array]:
    """Return the left and right singular vectors of each matrix's largest singular value.

    Large matrices use power iterations from the row of largest norm. If the largest values are
    close, the result is a mixture of their vectors, which is just as good a direction.
    """
    if min(matrices.shape[1:]) <= DENSE_UP_TO:
        U, _, Vt = np.linalg.svd(matrices, full_matrices=False)
        return U[:, :, 0], Vt[:, 0]

    norms = np.einsum("fij,fij->fi", matrices, matrices)
    index = norms.argmax(axis=1)
    v = matrices[np.arange(len(matrices)), index][:, :, None]
    transposed = matrices.transpose(0, 2, 1)
    for _ in range(POWER_STEPS):
        u = matrices @ v
        v = _unit(transposed @ u)
    return _unit(u)[:, :, 0], v[:, :, 0]


def _unit(columns: Array) -> Array:
    """Scale columns (f, n, 1) to unit norm; zero columns stay zero."""
    norms = np.sqrt(np.einsum("fij,fij->fj", columns, columns))[:, None]
    return np.asarray(columns / np.where(norms > 0, norms, 1.0))
