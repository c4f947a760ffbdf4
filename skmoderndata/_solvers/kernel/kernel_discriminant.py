"""Directions that separate classes in feature space, from kernel values or coordinates.

Differs from the textbook (Shawe-Taylor 2004, section 5.4): 1. there are several classes, with
weights and priors. 2. The ridge is relative to the trace of the scatter.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import EPS, row_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array


class Classes(NamedTuple):
    """Classes and weights of the samples."""

    codes: Array  # class numbers, (n,)
    weights: Array  # positive weights, (n,)
    scales: Array  # weight of the scatter of each class in the total scatter, (C,)
    mass: Array  # sum of the weights of each class, (C,)


class Directions(NamedTuple):
    """Solution of `max between / (within + ridge |W|^2)`."""

    coef: Array  # dual coefficients (n, q), or coordinates (r, q)
    values: Array  # ratios that the directions reach, (q,), descending
    ridge: float  # ridge in absolute units
    scores: Array  # values of the directions at the samples, (n, q)


def classes_of(codes: Array, weights: Array, scales: Array | None) -> Classes:
    """Sum the weights; `scales=None` scales the scatter of a class by its share of the weights."""
    mass = np.bincount(codes, weights=weights)
    if scales is None:
        scales = mass / mass.sum()
    return Classes(codes, weights, scales, mass)


def mean_differences(classes: Classes, priors: Array) -> Array:
    """Return the coefficients `(n, C)` of `sqrt(prior_c) (mean_c - mean)` over the samples."""
    codes = classes.codes
    G = np.zeros((len(codes), len(classes.mass)))
    fractions = classes.weights / classes.mass[codes]
    G[np.arange(len(codes)), codes] = fractions
    G -= (G @ priors)[:, None]
    return G * np.sqrt(priors)


def dual_directions(K: Array, classes: Classes, G: Array, *, alpha: float) -> Directions:
    """Find directions as combinations of the samples [Shawe-Taylor 2004, Computation 5.15].

    Let `Phi` contain the samples in feature space. The scatter within classes is `Phi' M Phi` with
    `M = N N'`, and `B = Phi' G` contains the differences of means. The directions lie in the span
    of

    `(Phi' M Phi + lam I)^-1 Phi' G = Phi' V,   V = (G - N (N'KN + lam I)^-1 N'K G) / lam`

    by the Woodbury identity, where the inverted matrix is symmetric and positive definite. Within
    this span, the dimension of the problem is the number of classes. `lam` is `alpha` times the
    trace of the scatter.
    """
    KG = K @ G
    roots = _roots(classes)

    # compute N'KN, with the ridge on its diagonal
    half = _project(roots * K * roots[:, None], classes)
    A = _project(half.T, classes)
    between = np.einsum("ij,ij->j", G, KG).sum()
    ridge = _ridge(A.trace(), between, alpha)
    A[np.diag_indices_from(A)] += ridge

    # compute V by the Woodbury identity
    projected = _project(roots[:, None] * KG, classes)
    solved = _solve(A, projected, ridge)
    V = (G - roots[:, None] * _project(solved, classes)) / ridge
    return _signed(*_best(V, KG), ridge, K)


def primal_directions(Z: Array, classes: Classes, G: Array, *, alpha: float) -> Directions:
    """Find directions in coordinates `Z`, which have one sample per row."""
    centred = _project(_roots(classes)[:, None] * Z, classes)  # N' Z
    directions = directions_of_scatter(centred.T @ centred, Z.T @ G, alpha=alpha)
    return _signed(*directions, Z)


def directions_of_scatter(S: Array, B: Array, *, alpha: float) -> tuple[Array, Array, float]:
    """Return coordinates, ratios and ridge, from the scatter `(r, r)` within classes.

    S is overwritten; `B` (r, C) contains the differences `sqrt(prior_c) (mean_c - mean)`.
    """
    between = (B * B).sum()
    ridge = _ridge(S.trace(), between, alpha)
    S[np.diag_indices_from(S)] += ridge
    V = _solve(S, B, ridge)
    return *_best(V, B), ridge


def _solve(A: Array, B: Array, ridge: float) -> Array:
    """Solve with A, the scatter within the classes plus its ridge; A is overwritten."""
    largest = float(A.diagonal().max(initial=0.0))
    try:
        factor = linalg.cho_factor(A, overwrite_a=True, check_finite=False)
        # check the smallest pivot, because a pivot that is only a rounding error may be positive
        roots = factor[0].diagonal()
        smallest = float(roots.min(initial=np.inf))
        definite = smallest**2 > EPS * largest
    except linalg.LinAlgError:
        definite = False
    if not definite:
        raise ValueError(
            f"The scatter within the classes plus a ridge of {ridge:.1e} is not positive definite "
            "in double precision: increase alpha, or centre the samples and rescale them, so that "
            "their kernel values do not cancel. A kernel that is not positive semi-definite "
            "needs SpectrumCorrector first."
        )
    return linalg.cho_solve(factor, B)


def _roots(classes: Classes) -> Array:
    """Return the diagonal d of ``N = diag(d) P``, with the projection P of `_project`."""
    codes, w, scales, mass = classes
    return np.sqrt(w * (scales / mass)[codes])


def _project(B: Array, classes: Classes) -> Array:
    """Return `P @ B` without the mean of each class; ``P = I - r r' / mass`` within a class.

    The vector r holds the square roots of the weights.
    """
    codes, w, _, mass = classes
    r = np.sqrt(w)
    R = np.zeros((len(codes), len(mass)))
    R[np.arange(len(codes)), codes] = r
    means = (R.T @ B) / mass[:, None]
    return np.asarray(B - r[:, None] * means[codes])


def _ridge(within: float, between: float, alpha: float) -> float:
    """Return `alpha` times the scatter within classes; if this is 0, between classes, or 1."""
    rounding = 100 * EPS * max(between, 0.0)
    scale = within if within > rounding else between
    return alpha * (scale if scale > 0 else 1.0)


def _best(V: Array, B: Array) -> tuple[Array, Array]:
    """Solve within the span of `V`, where the matrix is `B'V`; directions have unit scatter."""
    T = B.T @ V
    values, Y = linalg.eigh((T + T.T) / 2)
    q = len(values) - 1
    values = values[::-1][:q]
    Y = Y[:, ::-1][:, :q]
    positive = values > ACCUMULATED_ROUNDING * max(values[0], TINY)
    norms = np.sqrt(np.where(positive, values, np.inf))
    return V @ (Y / norms), np.where(positive, values, 0.0)


def _signed(coef: Array, ratios: Array, ridge: float, K: Array) -> Directions:
    """Fix the signs of the directions, so that the score of largest magnitude is positive."""
    scores = K @ coef
    signs = row_signs(scores.T)
    return Directions(coef * signs, ratios, ridge, scores * signs)
