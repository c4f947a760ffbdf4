"""Optimality conditions of the minimal l1 norm: the duality gap, and the solution for signs.

The problem is ``min |a|_1  s.t.  |y - A a|_2 <= bound``, and its dual ``max y'v - bound |v|  s.t.
|A'v|_inf <= 1``. For ``a >= 0``, the dual constraint is ``A'v <= 1``.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpotrs

from skmoderndata._solvers.codes.signal_blocks import prepare_atoms
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    PIVOT,
    RESULT_ROUNDING,
    ROUNDING,
)
from skmoderndata._solvers.common.typing import Array

# Largest distance of a unit column from the span of other columns that counts as zero.
DEPENDENT = 1e-11


def l1_gap(y: Array, coef: Array, dual: Array, bound: float = 0.0) -> float:
    """Return the duality gap relative to the l1 norm, for a feasible dual variable.

    Coefficients that violate the constraint are not penalised, unless their norm is below the
    bound, so check the residual as well.
    """
    primal = float(np.abs(coef).sum())
    value = float(y @ dual) - bound * float(linalg.norm(dual))
    return relative_gap(max(primal, value), min(primal, value), unit=primal or 1.0)


def largest_slope(slopes: Array, positive: bool) -> float:
    """Return the largest of the values ``A'v`` that the dual constraint bounds by 1."""
    bounded = slopes if positive else np.abs(slopes)
    return float(bounded.max(initial=0.0))


class Segment(NamedTuple):
    """The lasso path between two breakpoints: ``a_I = fitted - lam direction`` on a support I.

    `fitted` is the least squares solution and `residual` its residual; the lasso's residual is
    ``residual + lam u`` with ``u = A_I direction``, for which ``A_I'u`` equals the signs.
    """

    support: Array
    signs: Array
    fitted: Array
    direction: Array
    residual: Array
    u: Array

    def penalty(self, bound: float) -> float:
        """Return the penalty lam for which the residual has norm `bound`; 0 if there is none."""
        square = bound * bound - float(self.residual @ self.residual)
        if square <= 0 or not self.u.any():
            return 0.0
        return float(np.sqrt(square / (self.u @ self.u)))

    def end(self, A: Array, bound: float, positive: bool) -> tuple[Array, Array] | None:
        """Return the coefficients (k,) for that penalty, and the dual variable.

        None if no penalty meets the bound, or if coefficients must be non-negative and one is
        negative.
        """
        # find the penalty at which the residual meets the bound
        penalty = self.penalty(bound)
        if self.support.size == 0:
            return None
        if bound > 0 and float(self.residual @ self.residual) > bound * bound:
            return None

        dual = self.u + self.residual / penalty if penalty > 0 else self.u
        values = self.fitted - penalty * self.direction
        if positive and values.min() < -RESULT_ROUNDING * np.abs(values).max():
            return None
        values = np.maximum(values, 0.0) if positive else values

        # drop coefficients that are negligible in both the residual and the l1 norm
        size = np.abs(values)
        sizes = size * column_norms(A[:, self.support])
        nothing = sizes <= ACCUMULATED_ROUNDING * sizes.max()
        nothing &= size <= ACCUMULATED_ROUNDING * size.max()

        coef = np.zeros(A.shape[1])
        coef[self.support] = np.where(nothing, 0.0, values)
        return coef, dual


class NormalEquations:
    """Segments from normal equations; inner products of columns are computed once for all.

    Parameters
    ----------
    A : array (n, k)
    y : array (n,)
    """

    def __init__(self, A: Array, y: Array) -> None:
        self.A = A
        self.y = y
        self.row_of = np.full(A.shape[1], -1)  # position of each column in `rows`
        self.rows = np.empty((0, len(y)))
        self.gram = np.empty((0, 0))
        self.products = np.empty(0)  # inner products of the columns with y

    def _meet(self, columns: Array) -> None:
        """Add columns that no support has used before."""
        first = len(self.rows)
        self.row_of[columns] = np.arange(first, first + columns.size)
        added = np.ascontiguousarray(self.A.take(columns, axis=1).T)
        beside = self.rows @ added.T
        self.gram = np.block([[self.gram, beside], [beside.T, added @ added.T]])
        self.rows = np.concatenate([self.rows, added])
        self.products = np.append(self.products, added @ self.y)

    def segment(self, support: Array, signs: Array) -> Segment | None:
        """Return the segment of a support, refined once; None if columns are dependent."""
        if not 0 < support.size <= len(self.y):
            return None
        new = support[self.row_of[support] < 0]
        if new.size:
            self._meet(new)
        index = self.row_of[support]

        def combined(coef: Array) -> Array:
            weights = np.zeros(len(self.rows))
            weights[index] = coef
            return weights @ self.rows

        # solve the normal equations for the fit and for the signs, with one factorisation
        gram = self.gram[np.ix_(index, index)]
        factor, info = dpotrf(gram, lower=1, clean=0)
        dependent = np.diagonal(factor) ** 2 <= PIVOT * np.diagonal(gram)
        if info or dependent.any():
            return None
        right = np.array([self.products[index], signs]).T
        solution, _ = dpotrs(factor, right, lower=1)
        fitted, direction = solution.T

        # refine the fit once
        residual = self.y - combined(fitted)
        slopes = (self.rows @ residual)[index]
        again, _ = dpotrs(factor, slopes, lower=1)
        fitted = fitted + again
        residual = residual - combined(again)

        if float(residual @ residual) <= 1e-26:  # the solution satisfies the equations exactly
            residual = np.zeros(len(self.y))
        return Segment(support, signs, fitted, direction, residual, combined(direction))


def quick_segment(A: Array, y: Array, support: Array, signs: Array) -> Segment | None:
    """Return the segment of a single support from the normal equations."""
    return NormalEquations(A, y).segment(support, signs)


def exact_segment(A: Array, y: Array, support: Array, signs: Array) -> Segment | None:
    """Return the segment by an orthogonal factorisation, for columns of any norms; |y| = 1."""
    # require independent columns, scaled to unit norm
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

    # project the residual out of the span of the columns, twice because of rounding errors
    residual = y - Q @ (Q.T @ y)
    residual -= Q @ (Q.T @ residual)
    if support.size == len(y) or float(linalg.norm(residual)) <= ROUNDING:
        # this residual is a rounding error, which a small penalty would amplify
        residual = np.zeros(len(y))
    return Segment(support, signs, fitted, direction, residual, Q @ inner)


def column_norms(A: Array) -> Array:
    """Return the norms of the columns, and 1 for columns of zeros."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    return norms


def may_repeat(A: Array) -> bool:
    """Return whether columns may have equal directions, judging by products with one vector."""
    probe = np.cos(np.arange(len(A)) ** 2)
    seen = np.sort(np.abs(probe @ A))
    alike = np.diff(seen) <= DEPENDENT * seen[-1]
    return bool(alike.any())


def first_of_repeated(A: Array, *, signed: bool) -> Array:
    """Return A with all but the first of equal (or opposite, unless signed) columns zero."""
    if not may_repeat(A):
        return A
    atoms = prepare_atoms(A.T, normalize=False, distinct=True, signed=signed, gram=False)
    return atoms.rows.T
