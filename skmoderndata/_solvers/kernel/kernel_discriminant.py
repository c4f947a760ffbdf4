"""Directions that separate classes in feature space, by kernel values or by coordinates."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import EPS, row_signs
from skmoderndata._solvers.common.typing import Array


class Classes(NamedTuple):
    """Which samples belong to which class, and how much they count."""

    codes: Array  # (n,), class numbers
    weights: Array  # (n,), positive
    scales: Array  # (C,), weight of the scatter of each class in the sum
    mass: Array  # (C,), sums of the weights


class Directions(NamedTuple):
    """Solution of `max between / (within + ridge |W|^2)`."""

    coef: Array  # (n, q) dual coefficients, or (r, q) coordinates
    values: Array  # (q,), ratios reached, descending
    ridge: float
    scores: Array  # (n, q), values of the directions at the samples


def classes_of(codes: Array, weights: Array, scales: Array | None) -> Classes:
    """Sum the weights; `scales=None` weighs the scatter of a class by its fraction of them."""
    mass = np.bincount(codes, weights=weights)
    if scales is None:
        scales = mass / mass.sum()
    return Classes(codes, weights, scales, mass)


def mean_differences(classes: Classes, priors: Array) -> Array:
    """Coefficients `(n, C)` of `sqrt(prior_c) (mean_c - mean)`, over the samples."""
    codes = classes.codes
    G = np.zeros((len(codes), len(classes.mass)))
    fractions = classes.weights / classes.mass[codes]
    G[np.arange(len(codes)), codes] = fractions
    G -= (G @ priors)[:, None]
    return G * np.sqrt(priors)


def dual_directions(K: Array, classes: Classes, G: Array, *, alpha: float) -> Directions:
    """Directions as combinations of the samples [Shawe-Taylor 2004, Computation 5.15].

    With `Phi` the samples in feature space, the scatter within classes is `Phi' M Phi`,
    `M = N N'`, and `B = Phi' G` holds differences of means. The directions lie in the span of

    `(Phi' M Phi + lam I)^-1 Phi' G = Phi' V,   V = (G - N (N'KN + lam I)^-1 N'K G) / lam`

    by the identity of Woodbury, with a matrix that is symmetric and positive definite; within the
    span the problem is one of as many dimensions as there are classes. `lam` is `alpha` times
    the trace of the scatter.
    """
    KG = K @ G
    roots = _roots(classes)

    # N'KN, with the ridge on its diagonal
    half = _project(roots * K * roots[:, None], classes)
    A = _project(half.T, classes)
    between = np.einsum("ij,ij->j", G, KG).sum()
    ridge = _ridge(A.trace(), between, alpha)
    A[np.diag_indices_from(A)] += ridge

    # V, by the identity
    projected = _project(roots[:, None] * KG, classes)
    solved = _solve(A, projected, ridge)
    V = (G - roots[:, None] * _project(solved, classes)) / ridge
    return _signed(*_best(V, KG), ridge, K)


def primal_directions(Z: Array, classes: Classes, G: Array, *, alpha: float) -> Directions:
    """Directions in coordinates `Z`, one sample per row."""
    centred = _project(_roots(classes)[:, None] * Z, classes)  # N' Z
    directions = directions_of_scatter(centred.T @ centred, Z.T @ G, alpha=alpha)
    return _signed(*directions, Z)


def directions_of_scatter(S: Array, B: Array, *, alpha: float) -> tuple[Array, Array, float]:
    """Coordinates, ratios and ridge, from the scatter `(r, r)` within and the means `(r, C)`.

    S is overwritten; `B` holds the `sqrt(prior_c) (mean_c - mean)`.
    """
    between = (B * B).sum()
    ridge = _ridge(S.trace(), between, alpha)
    S[np.diag_indices_from(S)] += ridge
    V = _solve(S, B, ridge)
    return *_best(V, B), ridge


def _solve(A: Array, B: Array, ridge: float) -> Array:
    """Solve with the scatter within the classes plus its ridge, which A is overwritten by."""
    largest = float(A.diagonal().max(initial=0.0))
    try:
        factor = linalg.cho_factor(A, overwrite_a=True, check_finite=False)
        # a pivot that is rounding may be positive by luck
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
    """Diagonal d of ``N = diag(d) P``, with the projection P of `_project`."""
    codes, w, scales, mass = classes
    return np.sqrt(w * (scales / mass)[codes])


def _project(B: Array, classes: Classes) -> Array:
    """Multiply `P @ B`, which takes the mean within each class away: ``P = I - r r' / mass``.

    In the rows and columns of a class r are the roots of the weights.
    """
    codes, w, _, mass = classes
    r = np.sqrt(w)
    R = np.zeros((len(codes), len(mass)))
    R[np.arange(len(codes)), codes] = r
    means = (R.T @ B) / mass[:, None]
    return np.asarray(B - r[:, None] * means[codes])


def _ridge(within: float, between: float, alpha: float) -> float:
    """Give `alpha` times the scatter within the classes, else between them, else 1."""
    rounding = 1e-14 * max(between, 0.0)
    scale = within if within > rounding else between
    return alpha * (scale if scale > 0 else 1.0)


def _best(V: Array, B: Array) -> tuple[Array, Array]:
    """Solve within the span of `V`, where `B'V` is the problem; directions have unit scatter."""
    T = B.T @ V
    values, Y = linalg.eigh((T + T.T) / 2)
    q = len(values) - 1
    values = values[::-1][:q]
    Y = Y[:, ::-1][:, :q]
    positive = values > 1e-12 * max(values[0], np.finfo(float).tiny)
    norms = np.sqrt(np.where(positive, values, np.inf))
    return V @ (Y / norms), np.where(positive, values, 0.0)


def _signed(coef: Array, ratios: Array, ridge: float, K: Array) -> Directions:
    """Directions whose score of largest magnitude is positive."""
    scores = K @ coef
    signs = row_signs(scores.T)
    return Directions(coef * signs, ratios, ridge, scores * signs)
