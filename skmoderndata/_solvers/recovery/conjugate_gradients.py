"""Conjugate gradients for columns that are known by products with them only."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

Product = Callable[[Array], Array]


def on_support(
    times: Product, cross: Product, support: Array, k: int
) -> tuple[Product, Product]:
    """Products with some of k columns, from products with all of them and their transpose."""

    def some_times(v: Array) -> Array:
        a = np.zeros(k)
        a[support] = v
        return times(a)

    return some_times, lambda r: cross(r)[support]


def least_squares_steps(
    times: Product, cross: Product, y: Array, start: Array
) -> Iterator[tuple[Array, Array, float]]:
    """Minimise ``|y - B v|``: the steps of CGLS [Bjorck 1996, section 7.4], without end.

    Yields v, the residual and the squared norm of the gradient ``B'(y - B v)``; ends only where
    columns depend on each other. The arrays change with the next step.
    """
    # residual r, gradient g = B'r, direction d
    v = start.copy()
    r = y - times(v)
    g = cross(r)
    d = g.copy()
    gg = float(g @ g)
    while True:
        yield v, r, gg

        # step to the minimum along the direction
        t = times(d)
        curvature = float(t @ t)
        if curvature <= EPS * float(d @ d):
            return
        step_size = gg / curvature
        v += step_size * d
        r -= step_size * t

        # next direction, conjugate to this one
        g = cross(r)
        former = gg
        gg = float(g @ g)
        d = g + (gg / former) * d


def normal_equations(
    times: Product, cross: Product, wanted: Array, start: Array, *, tol: float
) -> Array:
    """Solve ``B'B v = wanted`` up to a residual of norm `tol`."""
    k = len(wanted)
    squared = LinearOperator((k, k), lambda v: cross(times(v)), dtype=np.float64)
    solution, _ = cg(squared, wanted, x0=start, rtol=0.0, atol=tol, maxiter=250)
    return np.asarray(solution)
