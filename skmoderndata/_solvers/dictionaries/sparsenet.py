"""Codes under smooth sparse priors, and gradient steps of a dictionary that learns with them.

``f(a) = 1/2 |x - a D|^2 + alpha sum_j S(a_j)`` for each signal x. Both smooth priors are concave
functions of the squared coefficient. The parabola with curvature ``w = S'(a) / a`` that touches S
at a therefore lies above S: a step along any direction to the minimum of the parabola never raises
f, and needs no line search.

Differs from the paper (Olshausen and Field 1996): 1. Codes take steps to the minimum of the
parabola instead of line searches. 2. The rates of variances and gains differ, see `VARIANCE_RATE`.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Rates of the running variances and of the gains. The rates of Olshausen's program, 0.001 and
# 0.02, lead to oscillations because the gains change faster than the averages.
VARIANCE_RATE = 0.05
GAIN_RATE = 0.005
# Smallest and largest gain.
GAINS = 0.1, 10.0


class SmoothCodes(NamedTuple):
    """Codes, their energies, the largest entry of each gradient, and the number of steps.

    Gradients are relative to the largest product of the signal with an atom.
    """

    codes: Array
    energy: Array
    gradient: Array
    n_iter: int


def prior_value(A: Array, prior: str) -> Array:
    """Return ``S(a)`` entry by entry: ``log(1 + a^2)``, ``|a|`` or ``-exp(-a^2)``."""
    out: Array
    if prior == "log":
        out = np.log1p(A * A)
    else:
        out = np.abs(A) if prior == "abs" else -np.exp(-A * A)
    return out


def energies(X: Array, D: Array, A: Array, *, alpha: float, prior: str) -> Array:
    """Return ``1/2 |x - a D|^2 + alpha sum_j S(a_j)`` for each row."""
    R = X - A @ D
    priors = prior_value(A, prior).sum(axis=1)
    return 0.5 * np.einsum("ij,ij->i", R, R) + alpha * priors


def smooth_codes(
    X: Array, D: Array, *, alpha: float, prior: str, tol: float = 1e-4, max_iter: int = 300
) -> SmoothCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_j S(a_j)`` by preconditioned conjugate gradients.

    All signals step together, with one matrix product per step; a signal leaves when the largest
    entry of its gradient is at most `tol` times the largest entry of ``x D'``. With
    ``C = x D' - a D D'``, the negative gradient is ``c - alpha S'(a)``. The start is
    ``x D' / |d|^2``, scaled to fit x best. The directions are Polak and Ribiere's, restarted if
    they point uphill.
    """
    # start from the matched filter, scaled to fit best
    G = D @ D.T
    B = X @ D.T
    diagonal = np.diag(G).copy()
    safe = np.where(diagonal > 0, diagonal, 1.0)
    A = np.where(diagonal > 0, B / safe, 0.0)
    AG = A @ G
    above = _inner(A, B)
    below = _inner(A, AG)
    fit = np.divide(above, below, out=np.zeros(len(A)), where=below > 0)
    A *= fit[:, None]
    C = B - AG * fit[:, None]

    # leave out signals that are orthogonal to all atoms
    scale = np.abs(B).max(axis=1, initial=0.0)
    codes = np.zeros_like(A)
    gradient = np.zeros(len(A))
    active = np.flatnonzero(scale > 0)
    A = A[active]
    C = C[active]
    scale = scale[active]
    P = np.zeros_like(A)
    Z = np.zeros_like(A)
    old = np.zeros(len(A))
    n_iter = 0

    while active.size:
        # 1. compute the gradient, and the diagonal of the Hessian as preconditioner
        W = alpha * curvature(A, prior)
        g = C - W * A  # the negative gradient
        largest = np.abs(g).max(axis=1)
        z = g / (diagonal + W + SMALLEST_DIVISOR)

        # 2. choose a conjugate direction [Polak and Ribiere], or the gradient if that direction
        # does not descend
        product = _inner(g, z)
        change = np.maximum(product - _inner(Z, z), 0.0)
        beta = np.divide(change, old, out=np.zeros(len(A)), where=old > 0)
        P = z + beta[:, None] * P
        descends = _inner(g, P) > 0
        P = np.where(descends[:, None], P, z)
        Z = g
        old = product

        # 3. remove signals that have reached their minimum
        done = (largest <= tol * scale) | (n_iter == max_iter)
        if done.any():
            rows = active[done]
            codes[rows] = A[done]
            gradient[rows] = largest[done] / scale[done]
            stay = ~done
            active = active[stay]
            scale = scale[stay]
            old = old[stay]
            A = A[stay]
            C = C[stay]
            P = P[stay]
            Z = Z[stay]
            if not active.size:
                break

        # 4. step along the direction
        _move(A, C, P, P @ G, alpha, prior)
        n_iter += 1

    energy = energies(X, D, codes, alpha=alpha, prior=prior)
    return SmoothCodes(codes, energy, gradient, n_iter)


def dictionary_step(
    X: Array,
    D: Array,
    A: Array,
    variance: Array,
    gain: Array,
    *,
    rate: float,
    goal: float | None,
) -> tuple[Array, Array, Array]:
    """Take a gradient step of the atoms and set their norms; return atoms, variances and gains.

    The step is `rate` divided by the largest mean square of a coefficient. With `goal`, the norm
    of each atom follows its gain, which rises while the running variance of its coefficient
    exceeds `goal` [Olshausen and Field 1997]; without it, norms are 1.
    """
    # take a gradient step on the squared error
    mean_sq = np.einsum("ij,ij->j", A, A) / len(A)
    largest = float(mean_sq.max(initial=0.0))
    new = D
    if largest > 0:
        step = rate / (largest * len(A))
        new = D + step * (A.T @ (X - A @ D))

    # let the norms follow the variances of the coefficients [Olshausen and Field 1997]
    if goal is not None:
        variance = (1 - VARIANCE_RATE) * variance + VARIANCE_RATE * mean_sq
        # raise small gains of unused coefficients, which would otherwise shrink their atoms
        # forever
        ratio = np.where((mean_sq > 0) | (gain >= 1), variance / goal, 2.0)
        gain = np.clip(gain * ratio**GAIN_RATE, *GAINS)

    norms = np.linalg.norm(new, axis=1, keepdims=True)
    unit = new / np.where(norms > 0, norms, 1.0)
    new = np.where(norms > 0, unit, D)
    if goal is not None:
        new = new * gain[:, None]
    return new, variance, gain


def curvature(A: Array, prior: str) -> Array:
    """Return ``S'(a) / a``, the curvature of the parabola above the prior that touches it at a."""
    return np.asarray(2.0 / (1.0 + A * A) if prior == "log" else 2.0 * np.exp(-A * A))


def _inner(U: Array, V: Array) -> Array:
    """Return the inner products of rows."""
    return np.einsum("ij,ij->i", U, V)


def _move(A: Array, C: Array, P: Array, PG: Array, alpha: float, prior: str) -> None:
    """Go three times to the minimum of the parabola above f along P, in place."""
    quadratic = _inner(P, PG)
    for _ in range(3):
        W = alpha * curvature(A, prior)
        slope = _inner(P, C - W * A)
        curve = quadratic + _inner(W * P, P)
        t = np.divide(slope, curve, out=np.zeros(len(A)), where=curve > 0)
        A += t[:, None] * P
        C -= t[:, None] * PG
