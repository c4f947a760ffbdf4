"""What makes coefficients those of least l1 norm: the duality gap, and the solution for signs.

The problem is ``min |a|_1  s.t.  |y - A a|_2 <= bound``, and its dual ``max y'v - bound |v|  s.t.
|A'v|_inf <= 1``. For ``a >= 0`` the dual constraint is ``A'v <= 1``.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpotrs

from skmoderndata._solvers.codes.signal_blocks import prepare_atoms
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._typing import Array

DEPENDENT = 1e-11  # distance of a unit column from the span of others that counts as none


def l1_gap(y: Array, coef: Array, dual: Array, bound: float = 0.0) -> float:
    """Duality gap relative to the l1 norm, for a feasible dual variable.

    Coefficients that miss the constraint are charged nothing for that, unless their norm is below
    the bound: the residual has to be looked at as well.
    """
    primal = float(np.abs(coef).sum())
    value = float(y @ dual) - bound * float(linalg.norm(dual))
    return relative_gap(max(primal, value), min(primal, value), unit=primal or 1.0)


def largest_slope(slopes: Array, positive: bool) -> float:
    """Largest of the numbers ``A'v`` that the dual constraint bounds by one."""
    return float(slopes.max(initial=0.0) if positive else np.abs(slopes).max(initial=0.0))


class Piece(NamedTuple):
    """The lasso for a support I and signs: ``a_I = fitted - lam direction``, ``r = rest + lam u``.

    `fitted` is least squares with the residual `rest`, ``u = A_I direction`` with ``A_I'u`` the
    signs.
    """

    support: Array
    signs: Array
    fitted: Array
    direction: Array
    rest: Array
    u: Array

    def penalty(self, bound: float) -> float:
        """Penalty lam for which the residual is of norm `bound`; 0 where there is none."""
        square = bound * bound - float(self.rest @ self.rest)
        return (
            float(np.sqrt(square / (self.u @ self.u))) if square > 0 and self.u.any() else 0.0
        )

    def end(self, A: Array, bound: float, positive: bool) -> tuple[Array, Array] | None:
        """Coefficients (k,) for that penalty and the dual variable.

        None where no penalty leads to the bound, or where non-negative coefficients are asked for
        and one is not.
        """
        # the penalty at which the residual meets the bound
        penalty = self.penalty(bound)
        if self.support.size == 0:
            return None
        if bound > 0 and float(self.rest @ self.rest) > bound * bound:
            return None

        dual = self.u + self.rest / penalty if penalty > 0 else self.u
        values = self.fitted - penalty * self.direction
        if positive and values.min() < -1e-9 * np.abs(values).max():
            return None
        values = np.maximum(values, 0.0) if positive else values

        # of no weight for the residual, nor for the l1 norm
        size = np.abs(values)
        sizes = size * column_norms(A[:, self.support])
        nothing = (sizes <= 1e-12 * sizes.max()) & (size <= 1e-12 * size.max())

        coef = np.zeros(A.shape[1])
        coef[self.support] = np.where(nothing, 0.0, values)
        return coef, dual


def quick_piece(A: Array, y: Array, support: Array, signs: Array) -> Piece | None:
    """Piece by the normal equations, refined once; None where columns depend on each other."""
    if not 0 < support.size <= len(y):
        return None

    # normal equations for the fit and for the signs, one factorisation
    B = A.take(support, axis=1)
    gram = B.T @ B
    factor, info = dpotrf(gram, lower=1, clean=0)
    if info or (np.diagonal(factor) ** 2 <= 1e-13 * np.diagonal(gram)).any():
        return None
    fitted, direction = dpotrs(factor, np.array([B.T @ y, signs]).T, lower=1)[0].T

    # one refinement of the fit
    rest = y - B @ fitted
    again = dpotrs(factor, B.T @ rest, lower=1)[0]
    fitted = fitted + again
    rest = rest - B @ again

    if float(rest @ rest) <= 1e-26:  # the equations hold
        rest = np.zeros(len(y))
    return Piece(support, signs, fitted, direction, rest, B @ direction)


def exact_piece(A: Array, y: Array, support: Array, signs: Array) -> Piece | None:
    """Piece by an orthogonal factorisation, for columns of any norms; y is of norm one."""
    # columns of unit norm that are independent
    if not 0 < support.size <= len(y):
        return None
    B = A[:, support]
    norms = column_norms(B)
    Q, R = linalg.qr(B / norms, mode="economic", check_finite=False)
    if not np.abs(np.diagonal(R)).min() > DEPENDENT:
        return None

    # coefficients are `fitted - penalty * direction`
    fitted = linalg.solve_triangular(R, Q.T @ y, check_finite=False) / norms
    inner = linalg.solve_triangular(R, signs / norms, trans="T", check_finite=False)
    direction = linalg.solve_triangular(R, inner, check_finite=False) / norms

    # residual without the columns, projected twice against rounding
    rest = y - Q @ (Q.T @ y)
    rest -= Q @ (Q.T @ rest)
    if support.size == len(y) or float(linalg.norm(rest)) <= 32 * EPS:
        rest = np.zeros(len(y))  # rounding, which a small penalty would enlarge
    return Piece(support, signs, fitted, direction, rest, Q @ inner)


def column_norms(A: Array) -> Array:
    """Norms of the columns, 1 for columns of zeros."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    return norms


def may_repeat(A: Array, norms: Any = 1.0) -> bool:
    """Tell whether there may be columns of one direction, by their products with a vector."""
    seen = np.sort(np.abs(np.cos(np.arange(len(A)) ** 2) @ A) / norms)
    return bool((np.diff(seen) <= 1e-11 * seen[-1]).any())


def first_of_repeated(A: Array, *, signed: bool) -> Array:
    """Return A with zeros in all but the first of equal columns (or opposite, unless signed)."""
    if not may_repeat(A):
        return A
    rows = prepare_atoms(A.T, normalize=False, distinct=True, signed=signed, gram=False).rows
    return rows.T
