"""Leading principal components in feature space, with weights, and the residuals.

As in the textbook (Shawe-Taylor and Cristianini 2004, Algorithm 6.13), with weights.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.linalg import eigen_of_fraction, leading_eigen, row_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array


class Subspace(NamedTuple):
    """An affine subspace through the weighted mean.

    Score j of a sample is `f(x)'coef[:, j] - shift[j]`, where `f(x)` holds its kernel values with
    the samples, or its coordinates. Its inner product with the mean is `f(x)'mean`.
    """

    coef: Array  # orthonormal directions, (n, k)
    shift: Array  # scores of the mean, (k,)
    mean: Array  # coefficients of the mean, (n,)
    norm: float  # squared norm of the mean
    eigenvalues: Array  # variances along the directions, (k,), descending
    total: float  # sum of all variances


def kernel_subspace(K: Array, w: Array, k: float) -> Subspace:
    """Find principal components from the kernel matrix [Shawe-Taylor 2004, Algorithm 6.13].

    There are k components; if ``k < 1``, there are enough to explain this fraction of the
    variance. Let `a = w / sum(w)` and let H centre with `a`. An eigenvector v of
    `A = diag(a)^(1/2) H K H' diag(a)^(1/2)` with eigenvalue l gives the direction
    `Phi' H' diag(a)^(1/2) v / l^(1/2)`.
    """
    # compute the matrix A
    a = w / w.sum()
    root = np.sqrt(a)
    row = K @ a
    norm = float(a @ row)
    A = K - row
    A -= (row - norm)[:, None]
    A *= root[:, None]
    A *= root

    values, V = _components(A, k)

    # express the directions in terms of the samples
    norms = np.sqrt(np.where(values > 0, values, np.inf))
    dual = root[:, None] * V / norms
    coef = dual - a[:, None] * dual.sum(axis=0)
    scores = K @ coef
    coef, scores = _fix(coef, scores)
    total = max(float(A.trace()), 0.0)
    return Subspace(coef, a @ scores, a, norm, values, total)


def feature_subspace(Z: Array, w: Array, k: float) -> Subspace:
    """Find principal components of coordinates, one sample per row; k as in `kernel_subspace`."""
    a = w / w.sum()
    mean = a @ Z
    centred = (Z - mean) * np.sqrt(a)[:, None]
    S = centred.T @ centred
    values, V = _components(S, k)
    coef, scores = _fix(V, Z @ V)

    norm = float(mean @ mean)
    total = float(S.trace())
    return Subspace(coef, a @ scores, mean, norm, values, total)


def subspace_of_moments(mean: Array, covariance: Array, k: float) -> Subspace:
    """Find principal components of coordinates with known mean and covariance."""
    values, coef = _components(covariance, k)
    norm = float(mean @ mean)
    total = float(covariance.trace())
    return Subspace(coef, mean @ coef, mean, norm, values, total)


def squared_distances(
    self_similarities: Array, scores: Array, means: Array, norm: float
) -> Array:
    """Return squared distances from the subspace, `|phi(x) - mu|^2 - sum_j s_j(x)^2`.

    `self_similarities` are the similarities of samples to themselves, `scores` the `s_j(x)`,
    `means` the inner products with the mean `mu`, and `norm` is the squared norm of `mu`. Negative
    values are set to 0.
    """
    inside = (scores**2).sum(axis=1)
    distances: Array = self_similarities - 2 * means + norm - inside
    return np.maximum(distances, 0.0)


def count_for(eigenvalues: Array, total: float, ratio: float) -> int:
    """Return the smallest number of components that explain this fraction of the variance."""
    explained = np.cumsum(eigenvalues) / total
    return int(np.searchsorted(explained, ratio * (1 - ACCUMULATED_ROUNDING))) + 1


def _components(A: Array, k: float) -> tuple[Array, Array]:
    if k < 1:
        values, V = eigen_of_fraction(A, k)
    else:
        values, V = leading_eigen(A, int(k))
    return np.maximum(values, 0.0), V


def _fix(coef: Array, scores: Array) -> tuple[Array, Array]:
    """Fix the sign of each direction so that the largest score is positive."""
    centred = scores - scores.mean(axis=0)
    signs = row_signs(centred.T)
    return coef * signs, scores * signs
