"""Leading principal components in feature space, with weights, and the residuals."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.linalg import eigen_of_fraction, leading_eigen, row_signs
from skmoderndata._solvers.common.typing import Array


class Subspace(NamedTuple):
    """An affine subspace through the weighted mean.

    The score j of a sample is `f(x)'coef[:, j] - shift[j]`, where `f(x)` are its kernel values
    with the samples, or its coordinates. The mean itself is `f(x)'mean`, of squared norm `norm`.
    """

    coef: Array  # (n, k), orthonormal directions
    shift: Array  # (k,)
    mean: Array  # (n,)
    norm: float
    eigenvalues: Array  # (k,), variances along the directions, descending
    total: float  # sum of all variances


def kernel_subspace(K: Array, w: Array, k: float) -> Subspace:
    """Principal components by the kernel matrix [Shawe-Taylor 2004, Algorithm 6.13].

    There are k of them, or for ``k < 1`` at least as many as explain this ratio of the variance.
    With `a = w / sum(w)` the eigenvectors of `A = diag(a)^(1/2) H K H' diag(a)^(1/2)`, H centring
    with `a`, give the directions `Phi' H' diag(a)^(1/2) v / l^(1/2)`, v an eigenvector of value l.
    """
    # the matrix A, centred
    a = w / w.sum()
    root = np.sqrt(a)
    row = K @ a
    norm = float(a @ row)
    A = K - row
    A -= (row - norm)[:, None]
    A *= root[:, None]
    A *= root

    values, V = _components(A, k)

    # directions in terms of the samples
    norms = np.sqrt(np.where(values > 0, values, np.inf))
    dual = root[:, None] * V / norms
    coef = dual - a[:, None] * dual.sum(axis=0)
    scores = K @ coef
    coef, scores = _fix(coef, scores)
    total = max(float(A.trace()), 0.0)
    return Subspace(coef, a @ scores, a, norm, values, total)


def feature_subspace(Z: Array, w: Array, k: float) -> Subspace:
    """Principal components of coordinates, one sample per row; k as in `kernel_subspace`."""
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
    """Principal components of coordinates of known mean and covariance."""
    values, coef = _components(covariance, k)
    norm = float(mean @ mean)
    total = float(covariance.trace())
    return Subspace(coef, mean @ coef, mean, norm, values, total)


def squared_distances(own: Array, scores: Array, means: Array, norm: float) -> Array:
    """Squared distances from the subspace, `|phi(x) - mu|^2 - sum_j s_j(x)^2`, at least 0.

    `own` are similarities of samples to themselves, `scores` their `s_j(x)`, `means` their inner
    products with the mean `mu`, of squared norm `norm`.
    """
    inside = (scores**2).sum(axis=1)
    distances: Array = own - 2 * means + norm - inside
    return np.maximum(distances, 0.0)


def count_for(eigenvalues: Array, total: float, ratio: float) -> int:
    """Smallest number of leading components that explain this ratio of the variance."""
    explained = np.cumsum(eigenvalues) / total
    return int(np.searchsorted(explained, ratio * (1 - 1e-12))) + 1


def _components(A: Array, k: float) -> tuple[Array, Array]:
    if k < 1:
        values, V = eigen_of_fraction(A, k)
    else:
        values, V = leading_eigen(A, int(k))
    return np.maximum(values, 0.0), V


def _fix(coef: Array, scores: Array) -> tuple[Array, Array]:
    """Turn each direction so that the largest score is positive."""
    centred = scores - scores.mean(axis=0)
    signs = row_signs(centred.T)
    return coef * signs, scores * signs
