"""What makes coefficients those of least l1 norm: the duality gap, and the solution for signs.

The problem is ``min |a|_1  s.t.  |y - A a|_2 <= bound``, and its dual ``max y'v - bound |v|  s.t.
|A'v|_inf <= 1``. For ``a >= 0`` the dual constraint is ``A'v <= 1``.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.codes.signal_blocks import prepare_atoms

Array = np.ndarray[Any, np.dtype[Any]]

EPS = float(np.finfo(np.float64).eps)
DEPENDENT = 1e-11  # distance of a unit column from the span of others that counts as none


def relative_gap(y: Array, coef: Array, dual: Array, bound: float = 0.0) -> float:
    """Duality gap relative to the l1 norm, for a feasible dual variable.

    Coefficients that miss the constraint are charged nothing for that: the residual has to be
    looked at as well.
    """
    primal = float(np.abs(coef).sum())
    value = float(y @ dual) - bound * float(linalg.norm(dual))
    return abs(primal - value) / primal if primal > 0 else abs(value)


def largest_slope(slopes: Array, positive: bool) -> float:
    """Largest of the numbers ``A'v`` that the dual constraint bounds by one."""
    return float(slopes.max(initial=0.0) if positive else np.abs(slopes).max(initial=0.0))


class Piece(NamedTuple):
    """Coefficients on a support, and the dual variable, at the end of a piece of the path."""

    coef: Array
    dual: Array


def end_of_piece(B: Array, y: Array, signs: Array, bound: float, positive: bool) -> Piece | None:
    """Solve the problem for a support, the columns `B`, and signs; y is of norm one.

    On the piece the residual is ``r + lam B v`` with ``v = inv(B'B) signs`` and `r` the residual
    of least squares; it ends at the penalty lam for which the norm of that is `bound`. None where
    there is none, or where non-negative coefficients are asked for and one is not.
    """
    if not 0 < len(signs) <= len(y):
        return None
    norms = column_norms(B)
    Q, R = linalg.qr(B / norms, mode="economic", check_finite=False)
    if not np.abs(np.diagonal(R)).min() > DEPENDENT:
        return None
    fitted = linalg.solve_triangular(R, Q.T @ y, check_finite=False)
    inner = linalg.solve_triangular(R, signs / norms, trans="T", check_finite=False)
    direction = linalg.solve_triangular(R, inner, check_finite=False)
    dual = Q @ inner  # B v, with B' (B v) = signs
    residual = y - Q @ (Q.T @ y)
    residual -= Q @ (Q.T @ residual)
    if len(signs) == len(y) or float(linalg.norm(residual)) <= 32 * EPS:
        residual[:] = 0.0  # rounding, which a small penalty would enlarge
    penalty = 0.0
    if bound > 0:
        square = bound**2 - float(residual @ residual)
        if square < 0:
            return None
        penalty = float(np.sqrt(square) / linalg.norm(dual))
        dual = dual + residual / penalty if penalty > 0 else dual
    values = fitted - penalty * direction  # of columns of unit norm
    coef = values / norms
    if positive and coef.min() < -1e-9 * np.abs(coef).max():
        return None
    values = np.maximum(values, 0.0) if positive else values
    # of no weight for the residual, nor for the l1 norm
    nothing = np.abs(values) <= 1e-12 * np.abs(values).max(initial=0.0)
    nothing &= np.abs(coef) <= 1e-12 * np.abs(coef).max(initial=0.0)
    return Piece(np.where(nothing, 0.0, values / norms), dual)


def column_norms(A: Array) -> Array:
    """Norms of the columns, 1 for columns of zeros."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    return norms


def may_repeat(A: Array, norms: Any = 1.0) -> bool:
    """Tell whether there may be columns of one direction, by their products with a vector."""
    seen = np.sort(np.abs(np.random.RandomState(1).normal(size=len(A)) @ A) / norms)
    return bool((np.diff(seen) <= 1e-11 * seen[-1]).any())


def first_of_repeated(A: Array, *, signed: bool) -> Array:
    """Return A with zeros in all but the first of equal columns (or opposite, unless signed)."""
    if not may_repeat(A):
        return A
    rows = prepare_atoms(A.T, normalize=False, distinct=True, signed=signed, gram=False).rows
    return rows.T
