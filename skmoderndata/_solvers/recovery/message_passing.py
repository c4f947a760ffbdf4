"""Approximate message passing: where the support of the solution of least l1 norm is likely."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from skmoderndata._solvers.recovery.l1_problem import Problem
from skmoderndata._solvers.recovery.phase_transition import l1_threshold

Array = np.ndarray[Any, np.dtype[Any]]


def message_passing(p: Problem, max_iter: int = 120) -> Iterator[tuple[Array, float]]:
    """Yield coefficients that get nearer to the solution, and the penalties that they are for.

    ``x <- soft(x + A'r, tau sigma)`` with the level sigma of the noise in ``x + A'r``, which a
    correction of the residual keeps like noise: orthogonal approximate message passing where rows
    are orthogonal [Ma and Ping 2017], else the first form [Donoho, Maleki and Montanari 2009]. The
    threshold tau is minimax for the sparsity seen; with a bound it is raised to where the residual
    meets it.
    """
    m, n = p.A.shape
    delta = m / n
    x, r = np.zeros(n), p.y  # r = y - A x, or with the correction
    slopes = p.slopes
    # beyond this sparsity the least l1 norm is another one anyway
    most = 0.9 * delta * float(l1_threshold(np.array([min(delta, 1.0)]), positive=p.positive)[0])
    sparsity, factor = most, 1.0
    first, last, calm, nearest, idle = 0.0, np.inf, 0, np.inf, 0
    for step in range(max_iter):
        q = x + slopes
        size = float(np.linalg.norm(r)) / np.sqrt(m)
        sigma = size
        if p.orthogonal:  # the noise of y comes back whole, the error of x without its own part
            sigma = float(np.sqrt((1.0 - delta) * size**2 + delta * p.bound**2 / m))
        tau = factor * minimax_threshold(sparsity, p.positive)
        lam = tau * sigma
        a = p.soft(q, lam)
        count = int(np.count_nonzero(a))
        by_chance = float(ndtr(-tau)) * (1 if p.positive else 2)
        sparsity = min(max((count / n - by_chance) / (1 - by_chance), 1 / n), most)
        if p.orthogonal:
            c = min(count / n, 0.9)  # mean derivative of the threshold
            x_new = (a - c * q) / (1 - c)
            Ax = p.forward(x_new)
            # A q = A x + (n / m) r
            residual = p.y - ((1 - c) * Ax + c * (p.y - r + r / delta))
            x, r = x_new, p.y - Ax
        else:
            residual = p.y - p.forward(a)
            x, r = a, residual + r * min(count / m, 0.95)
        slopes = p.adjoint(r)
        norm = float(np.linalg.norm(residual))
        if step == 0:
            first = sigma
        if p.bound > 0:
            ratio = norm / p.bound
            if ratio < 1.0 or factor > 1.0:
                factor = min(max(factor * ratio**-0.7, 1.0), 20.0)
            calm = calm + 1 if abs(ratio - 1) < 0.1 else 0
            if (calm >= 3 and (calm - 3) % 8 == 0) or (step + 1) % 30 == 0:
                yield a, lam * (1 - min(count / m, 0.9))
        elif sigma <= min(0.1 * first, last / 4):
            last = sigma
            yield a, lam
        if norm < 0.98 * nearest:
            nearest, idle = norm, 0
        idle += 1
        if not 1e-14 < norm <= 3 * float(np.linalg.norm(p.y)) or idle > 25:
            break


def minimax_threshold(sparsity: float, positive: bool) -> float:
    """Threshold, in units of the noise, of least worst-case risk for a fraction of non-zeros."""
    t = np.linspace(0.2, 4.5, 87)
    density = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    sides = 1 if positive else 2
    tail = (1 + t * t) * ndtr(-t) - t * density
    risk = sparsity * (1 + t * t) + (1 - sparsity) * sides * tail
    return float(t[np.argmin(risk)])
