"""Sammon's stress: its value and gradient, descent, and new points.

Differs from the paper (Sammon 1969): L-BFGS replaces the diagonal Newton steps, and new points
can be placed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from skmoderndata._solvers.common.iterate import Progress, Steps
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import (
    MAX_NEWTON_STEPS,
    ROUNDING,
    TINY,
)
from skmoderndata._solvers.common.typing import Array

# Tolerance of the gradient norm at which the descent may stop, for distances with mean 1.
GRADIENT = 1e-6


# Number of recent steps over which the decrease of the stress is added up.
WINDOW = 5


class Embedding(NamedTuple):
    """Points, with their stress and the course of the descent."""

    Y: Array
    stress: float
    gradient_norm: float
    trace: Array
    n_iter: int
    converged: bool


@jit
def stress_of_rows(d, Y, first, last, g):
    """Sum ``(d_ij - |y_i - y_j|)^2 / d_ij`` over j > i for a range of rows i.

    Adds the gradient to g. `d` holds condensed distances; each row of Y and g holds one
    coordinate. Pairs with d = 0 are left out. Squares, weights and sums run in separate loops,
    which the compiler vectorises.
    """
    k, n = Y.shape
    r = np.empty(n)
    pull = np.empty(n)
    total = 0.0

    for i in range(first, last):
        # compute squared distances to all later points of the map
        m = n - i - 1
        pairs = d[i * n - i * (i + 1) // 2 :][:m]
        for t in range(m):
            r[t] = 0.0
        for a in range(k):
            y = Y[a, i]
            row = Y[a, i + 1 :]
            for t in range(m):
                r[t] += (row[t] - y) * (row[t] - y)

        # compute the stress of each pair, and its pull along the line between the two points
        for t in range(m):
            safe = pairs[t] if pairs[t] > 0.0 else 1.0
            w = 1.0 / safe if pairs[t] > 0.0 else 0.0
            length = np.sqrt(r[t])
            miss = length - pairs[t]
            r[t] = w * miss * miss
            pull[t] = w * miss / (length if length > 0.0 else 1.0)

        for t in range(m):
            total += r[t]

        # add the gradient at both ends of each pair
        for a in range(k):
            y = Y[a, i]
            row = Y[a, i + 1 :]
            out = g[a, i + 1 :]
            at_i = 0.0
            for t in range(m):
                force = 2.0 * pull[t] * (row[t] - y)
                out[t] += force
                at_i -= force
            g[a, i] += at_i
    return total


def stress(d: Array, Y: Array, run: Callable[..., Any] = map) -> tuple[float, Array]:
    """Compute the stress ``1/sum d  sum_{i<j} (d_ij - |y_i - y_j|)^2 / d_ij`` and its gradient.

    `run` maps a function over blocks of rows and may use threads. Neither the blocks nor the
    result depend on it.
    """
    n, k = Y.shape
    Z = np.ascontiguousarray(Y.T)
    n_blocks = 8
    # later rows have fewer pairs, so choose blocks that have about the same number of pairs
    fractions = np.arange(n_blocks + 1) / n_blocks
    cuts = (n * (1 - np.sqrt(1 - fractions))).astype(int)

    def block(first: int, last: int) -> tuple[float, Array]:
        g = np.zeros((k, n))
        return stress_of_rows(d, Z, first, last, g), g

    total = 0.0
    gradient = np.zeros((k, n))
    for value, g in run(block, cuts[:-1], cuts[1:]):
        total += value
        gradient += g
    c = float(d.sum())
    return total / c, gradient.T / c


def sammon_descent(
    d: Array,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    run: Callable[..., Any] = map,
    progress: Progress | None = None,
) -> Embedding:
    """Minimise Sammon's stress by L-BFGS with 20 pairs (Nocedal 1980).

    Stops when the stress has fallen by less than `tol` times itself over 5 steps and the gradient
    has a norm below 1e-6, for distances `d` with mean 1.
    """
    trace = [stress(d, start, run)[0]]
    norms = {}

    def value(y: Array) -> tuple[float, Array]:
        f, g = stress(d, y.reshape(start.shape), run)
        norms[f] = float(np.linalg.norm(g))
        return f, g.ravel()

    def small(f: float) -> bool:
        old = trace[-WINDOW - 1] if len(trace) > WINDOW else np.inf
        flat = norms.get(f, np.inf) <= GRADIENT
        return (old - f <= tol * f and flat) or f <= ROUNDING**2

    def after_step(intermediate_result: Any) -> None:
        trace.append(float(intermediate_result.fun))
        steps.end(small(trace[-1]))

    # switch off SciPy's limits on stress and gradient, because `after_step` decides when to stop
    steps = Steps(max_iter, progress)
    limits = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0, "gtol": 0}
    settings: Any = {"method": "L-BFGS-B", "options": {"maxcor": 20, **limits}}
    with steps:
        result = optimize.minimize(
            value, start.ravel(), jac=True, callback=after_step, **settings
        )
    Y = result.x.reshape(start.shape)
    f, g = stress(d, Y, run)
    norm = float(np.linalg.norm(g))

    # if rounding errors have stopped the line search, accept a larger gradient
    done = small(f) or (result.nit < max_iter and norm <= 100 * GRADIENT)
    return Embedding(Y, f, norm, np.array(trace), int(result.nit), done)


def place(d: Array, Y: Array) -> Array:
    """Place each new point at the least stress with respect to fixed points Y.

    Minimises ``sum_j (d_j - |z - y_j|)^2 / d_j`` for each row d of distances. Newton steps use the
    magnitudes of the eigenvalues, are halved if needed, and start from the weighted mean of the 5
    nearest points. A point at distance 0 from a point of Y is put there.
    """
    k = Y.shape[1]
    w = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)

    # start from the mean of the five nearest points, weighted by 1 / distance, or from a point at
    # distance 0
    near = np.argsort(d, axis=1, kind="stable")[:, :5]
    pull = np.take_along_axis(w, near, axis=1)
    same = d.min(axis=1) == 0
    pull[same] = np.arange(near.shape[1]) == 0
    total = pull.sum(axis=1)
    z: Array = (pull[:, :, None] * Y[near]).sum(axis=1)
    z = z / total[:, None]

    unit = d.mean(axis=1)  # use one unit for each point, independent of the other new points
    active = np.flatnonzero(~same)
    value = np.empty(0)
    if active.size:
        value, _, _ = _point_stress(d[active], w[active], z[active], Y)

    for _ in range(MAX_NEWTON_STEPS):
        if not active.size:
            break

        # compute the gradient and the Hessian of each point
        dd = d[active]
        ww = w[active]
        z_old = z[active]
        f, difference, length = _point_stress(dd, ww, z_old, Y)
        safe = np.where(length > 0, length, 1)
        a = ww * (1 - dd / safe)
        b = ww * dd / safe**3
        g = 2 * np.einsum("qn,qnk->qk", a, difference)
        H = 2 * np.einsum("qn,qnk,qnl->qkl", b, difference, difference)
        H += 2 * a.sum(axis=1)[:, None, None] * np.eye(k)

        # use the magnitudes of the eigenvalues, so that the Newton step always descends
        s, U = np.linalg.eigh(H)
        s = np.abs(s)
        floor = 1e-8 * s.max(axis=1, keepdims=True)
        s = np.maximum(s, floor + TINY)
        step = np.einsum("qkl,qk->ql", U, g) / s
        step = -np.einsum("qkl,ql->qk", U, step)

        # halve the steps of points whose stress has not fallen
        size = np.ones(len(active))
        better = np.zeros(len(active), dtype=bool)
        for _ in range(30):
            todo = np.flatnonzero(~better)
            trial = z_old[todo] + size[todo, None] * step[todo]
            new, _, _ = _point_stress(dd[todo], ww[todo], trial, Y)
            good = new < f[todo]
            size[todo[~good]] /= 2

            todo = todo[good]
            z[active[todo]] = trial[good]
            value[todo] = new[good]
            better[todo] = True

            if better.all():
                break

        # drop the points that have converged
        moved = size * np.linalg.norm(step, axis=1)
        stay = better & (moved > 1e-10 * unit[active])
        active = active[stay]
        value = value[stay]
    return z


def _point_stress(d: Array, w: Array, z: Array, Y: Array) -> tuple[Array, Array, Array]:
    difference = z[:, None, :] - Y[None]  # (q, n, k)
    length = np.sqrt((difference**2).sum(axis=2))
    stresses = w * (d - length) ** 2
    return stresses.sum(axis=1), difference, length
