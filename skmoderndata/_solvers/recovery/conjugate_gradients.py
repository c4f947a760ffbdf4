"""Conjugate gradients for columns that are only accessible by products with them."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

Product = Callable[[Array], Array]

# Maximum number of conjugate gradient steps.
MAX_STEPS = 300


def on_support(
    times: Product, cross: Product, support: Array, k: int
) -> tuple[Product, Product]:
    """Return products with some of k columns, given products with all and their transpose."""

    def times_support(v: Array) -> Array:
        a = np.zeros(k)
        a[support] = v
        return times(a)

    return times_support, lambda r: cross(r)[support]


def least_squares_steps(
    times: Product, cross: Product, y: Array, start: Array
) -> Iterator[tuple[Array, Array, float]]:
    """Minimise ``|y - B v|``: the steps of CGLS [Bjorck 1996, section 7.4], without a limit.

    Yields v, the residual and the squared norm of the gradient ``B'(y - B v)``; ends only if
    columns are linearly dependent. The next step overwrites the arrays.
    """
    # start with the residual r, the gradient g = B'r and the direction d
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

        # choose the next direction, conjugate to the current one
        g = cross(r)
        former = gg
        gg = float(g @ g)
        d = g + (gg / former) * d


def normal_equations(
    times: Product, cross: Product, right: Array, start: Array, *, tol: float
) -> Array:
    """Solve ``B'B v = right`` up to a residual of norm `tol`."""
    k = len(right)
    squared = LinearOperator((k, k), lambda v: cross(times(v)), dtype=np.float64)
    solution, _ = cg(squared, right, x0=start, rtol=0.0, atol=tol, maxiter=MAX_STEPS)
    return np.asarray(solution)
