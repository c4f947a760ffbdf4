"""Codes under smooth sparse priors, and the steps of a dictionary that learns with them.

``f(a) = 1/2 |x - a D|^2 + alpha sum_j S(a_j)`` for each signal x. Both smooth priors are concave
functions of the square of a coefficient, so that at any a the parabola with the curvature
``w = S'(a) / a`` that touches S there lies above it: a step along any direction to the minimum of
the parabola never raises f, and needs no search.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]

SMOOTH = ("log", "gauss")
# the program of Olshausen has 0.001 and 0.02, which swings: gains overtake what is averaged
VARIANCE_RATE, GAIN_RATE = 0.05, 0.005
GAINS = 0.1, 10.0  # bounds


class SmoothCodes(NamedTuple):
    """Codes, their energies, and the largest entry of the gradient of each, with the steps taken.

    The gradient is relative to the largest product of the signal with an atom.
    """

    codes: Array
    energy: Array
    gradient: Array
    n_iter: int


def prior_value(A: Array, prior: str) -> Array:
    """``S(a)``, entry by entry: ``log(1 + a^2)``, ``|a|`` or ``-exp(-a^2)``."""
    out: Array
    if prior == "log":
        out = np.log1p(A * A)
    else:
        out = np.abs(A) if prior == "abs" else -np.exp(-A * A)
    return out


def prior_slope(A: Array, prior: str) -> Array:
    """Return the derivative of `prior_value`."""
    out: Array
    if prior == "log":
        out = 2 * A / (1 + A * A)
    else:
        out = np.sign(A) if prior == "abs" else 2 * A * np.exp(-A * A)
    return out


def energies(X: Array, D: Array, A: Array, *, alpha: float, prior: str) -> Array:
    """``1/2 |x - a D|^2 + alpha sum_j S(a_j)`` of each row."""
    R = X - A @ D
    out: Array = 0.5 * np.einsum("ij,ij->i", R, R) + alpha * prior_value(A, prior).sum(axis=1)
    return out


def smooth_codes(
    X: Array, D: Array, *, alpha: float, prior: str, tol: float = 1e-4, max_iter: int = 300
) -> SmoothCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_j S(a_j)`` by preconditioned conjugate gradients.

    All signals step together, one matrix product a step; a signal leaves when the largest entry of
    its gradient is at most `tol` times that of ``x D'``. The start is ``x D' / |d|^2``, scaled to
    fit x best. Directions are those of Polak and Ribiere, begun afresh where they point uphill.
    """
    kind = SMOOTH.index(prior)
    G = D @ D.T
    B = X @ D.T
    diagonal = np.diag(G).copy()
    safe = np.where(diagonal > 0, diagonal, 1.0)
    A = np.where(diagonal > 0, B / safe, 0.0)
    AG = A @ G
    below = np.einsum("ij,ij->i", A, AG)
    fit = np.divide(np.einsum("ij,ij->i", A, B), below, out=np.zeros(len(A)), where=below > 0)
    A *= fit[:, None]
    C = B - AG * fit[:, None]
    scale = np.abs(B).max(axis=1, initial=0.0)
    codes, gradient = np.zeros_like(A), np.zeros(len(A))
    active = np.flatnonzero(scale > 0)
    A, C, scale = A[active], C[active], scale[active]
    P, Z, old = np.zeros_like(A), np.zeros_like(A), np.zeros(len(A))
    largest = np.empty(len(A))
    n_iter = 0
    while active.size:
        _direction(A, C, alpha, kind, diagonal, P, Z, old, largest)
        done = (largest <= tol * scale) | (n_iter == max_iter)
        if done.any():
            rows = active[done]
            codes[rows], gradient[rows] = A[done], largest[done] / scale[done]
            stay = ~done
            active, scale, old, largest = active[stay], scale[stay], old[stay], largest[stay]
            A, C, P, Z = A[stay], C[stay], P[stay], Z[stay]
            if not active.size:
                break
        _move(A, C, P, P @ G, alpha, kind)
        n_iter += 1
    return SmoothCodes(codes, energies(X, D, codes, alpha=alpha, prior=prior), gradient, n_iter)


def dictionary_step(
    X: Array, D: Array, A: Array, variance: Array, gain: Array, *, rate: float, goal: float | None
) -> tuple[Array, Array, Array]:
    """One gradient step of the atoms, and their norms: new atoms, variances and gains.

    The step is `rate` divided by the largest mean square of a coefficient. With `goal` the norm of
    each atom follows its gain, which rises while the running variance of its coefficient is above
    `goal` [Olshausen and Field 1997]; without it norms are 1.
    """
    mean_sq = np.einsum("ij,ij->j", A, A) / len(A)
    largest = float(mean_sq.max(initial=0.0))
    new = D
    if largest > 0:
        new = D + rate / (largest * len(A)) * (A.T @ (X - A @ D))
    if goal is not None:
        variance = (1 - VARIANCE_RATE) * variance + VARIANCE_RATE * mean_sq
        # a coefficient that is never used would shrink its atom for good
        ratio = np.where((mean_sq > 0) | (gain >= 1), variance / goal, 2.0)
        gain = np.clip(gain * ratio**GAIN_RATE, *GAINS)
    norms = np.linalg.norm(new, axis=1, keepdims=True)
    new = np.where(norms > 0, new / np.where(norms > 0, norms, 1.0), D)
    if goal is not None:
        new = new * gain[:, None]
    return new, variance, gain


@jit
def _curvature(a, kind):
    """``S'(a) / a``: of the parabola that touches the prior at a, and lies above it."""
    if kind == 0:
        return 2.0 / (1.0 + a * a)
    return 2.0 * np.exp(-a * a)


@jit
def _direction(A, C, alpha, kind, diagonal, P, Z, old, largest):
    """Conjugate directions P, in place; Z and `old` keep what the next call needs.

    `C` is ``x D' - a D D'``, so that the negative gradient is ``c - alpha S'(a)``. Z holds the
    negative gradient of the former step, `old` its product with the preconditioned one.
    """
    m, k = A.shape
    for i in range(m):
        top, new, cross = 0.0, 0.0, 0.0
        for j in range(k):
            a = A[i, j]
            w = _curvature(a, kind)
            g = C[i, j] - alpha * w * a
            top = max(top, abs(g))
            z = g / (diagonal[j] + alpha * w + 1e-300)
            new += g * z
            cross += Z[i, j] * z
        largest[i] = top
        beta = max(0.0, (new - cross) / old[i]) if old[i] > 0.0 else 0.0
        slope = 0.0
        for j in range(k):
            a = A[i, j]
            w = _curvature(a, kind)
            g = C[i, j] - alpha * w * a
            Z[i, j] = g
            P[i, j] = g / (diagonal[j] + alpha * w + 1e-300) + beta * P[i, j]
            slope += g * P[i, j]
        old[i] = new
        if slope <= 0.0:
            for j in range(k):
                w = _curvature(A[i, j], kind)
                P[i, j] = Z[i, j] / (diagonal[j] + alpha * w + 1e-300)


@jit
def _move(A, C, P, PG, alpha, kind):
    """Go to the minimum of the parabola above f along P, three times, in place."""
    m, k = A.shape
    for i in range(m):
        quadratic = 0.0
        for j in range(k):
            quadratic += P[i, j] * PG[i, j]
        for _ in range(3):
            slope, curve = 0.0, quadratic
            for j in range(k):
                a, p = A[i, j], P[i, j]
                w = _curvature(a, kind)
                slope += p * (C[i, j] - alpha * w * a)
                curve += alpha * w * p * p
            if curve <= 0.0:
                break
            t = slope / curve
            for j in range(k):
                A[i, j] += t * P[i, j]
                C[i, j] -= t * PG[i, j]
