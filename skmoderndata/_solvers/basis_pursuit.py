"""Basis pursuit: the representation of least l1 norm, exactly or within a bound on the noise.

The lasso path ends in it. As the penalty goes to zero the path is a straight line from some
penalty on, so that the active set and the signs found there determine the coefficients and the
dual variable by two triangular solves, and the duality gap says whether they are right.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.iterate import Progress
from skmoderndata._solvers.l1_coding import lasso_codes
from skmoderndata._solvers.signal_blocks import Atoms, prepare_atoms, to_dense

Array = np.ndarray[Any, np.dtype[Any]]

FIRST_PENALTY = 1e-4  # of the largest; lowered while the end of the path is not reached
LOWEST_PENALTY = 1e-12
PATH_TOL = 1e-7  # gap of the lasso: only its active set and signs are used


class BasisPursuitResult(NamedTuple):
    """Coefficients (k,), dual variable (n,), and what is proved of them.

    `gap` is relative to the l1 norm; `route` says how the coefficients were found: "path",
    "simplex", "cvxpy" or "zero". `n_iter` counts steps of the path.
    """

    coef: Array
    dual: Array
    residual: float
    gap: float
    n_iter: int
    route: str


def basis_pursuit(
    A: Array,
    y: Array,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 20,
    solver: str = "path",
    atoms: Atoms | None = None,
    progress: Progress | None = None,
) -> BasisPursuitResult | None:
    """Solve ``min |a|_1  s.t.  |y - A a|_2 <= bound``; ``a >= 0`` with `positive`.

    Parameters
    ----------
    A : array of shape (n, k)
        No scaling of columns is needed.
    y : array of shape (n,)
    bound : float
        0 asks for ``A a = y``.
    tol : float
        Relative duality gap, and residual in proportion to `y`, that are accepted.
    solver : {"path", "simplex", "cvxpy"}
        "path" is the lasso path with two triangular solves at its end, and "simplex" where its
        answer is not proved to `tol` (cvxpy for a positive bound); "simplex" is HiGHS on the
        linear program of the case without noise; "cvxpy" states the problem.
    atoms : Atoms or None
        ``pursuit_atoms(A)``, where several `y` share it.

    Returns
    -------
    BasisPursuitResult or None
        None if no coefficients satisfy the constraint.
    """
    size = float(linalg.norm(y))
    k = A.shape[1]
    if size <= bound:
        return BasisPursuitResult(np.zeros(k), np.zeros(len(y)), size, 0.0, 0, "zero")
    if solver == "path":
        atoms = pursuit_atoms(A) if atoms is None else atoms
        found = _follow(A, y / size, atoms, bound / size, positive, tol, max_iter, progress)
        kept = found is not None and found.residual <= bound / size + tol
        if found is not None and kept and found.gap <= tol:
            return found._replace(coef=found.coef * size, residual=found.residual * size)
        solver = "simplex" if bound == 0 else "cvxpy"
    other = _simplex(A, y / size, positive) if solver == "simplex" else None
    if solver == "cvxpy":
        other = _cvxpy(A, y / size, bound / size, positive)
    if other is None:
        return None
    coef, dual = other
    residual = float(linalg.norm(y / size - A @ coef))
    gap = pursuit_gap(A, y / size, coef, dual, bound=bound / size, positive=positive)
    return BasisPursuitResult(coef * size, dual, residual * size, gap, 1, solver)


def pursuit_atoms(A: Array) -> Atoms:
    """Columns of A made ready for the path: repeated ones are used once."""
    return prepare_atoms(A.T, normalize=False, distinct=True)


def pursuit_gap(
    A: Array, y: Array, coef: Array, dual: Array, *, bound: float = 0.0, positive: bool = False
) -> float:
    """Return the relative duality gap of ``min |a|_1  s.t.  |y - A a| <= bound``.

    The dual is ``max y'v - bound |v|  s.t.  |A'v|_inf <= 1`` (``A'v <= 1`` for non-negative a);
    `dual` is scaled to be feasible. Coefficients that miss the constraint are charged ``|A' w|``
    for nothing: the residual has to be looked at as well.
    """
    slopes = A.T @ dual
    top = float(slopes.max(initial=0.0) if positive else np.abs(slopes).max(initial=0.0))
    v = dual / top if top > 1 else dual
    primal = float(np.abs(coef).sum())
    value = float(y @ v) - bound * float(linalg.norm(v))
    return abs(primal - value) / primal if primal > 0 else abs(value)


def _follow(
    A: Array,
    y: Array,
    atoms: Atoms,
    bound: float,
    positive: bool,
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> BasisPursuitResult | None:
    """Go down the lasso path to its last piece, or to the piece where the residual is `bound`."""
    slopes = A.T @ y
    top = float(slopes.max() if positive else np.abs(slopes).max())
    if not top > 0:
        return None
    lam = FIRST_PENALTY * top if bound == 0 else _first_guess(bound, top)
    best: BasisPursuitResult | None = None
    steps, low, high = 0, 0.0, top
    for _ in range(60):
        if progress is not None:
            progress.begin()
        codes = lasso_codes(
            y[None], atoms, alpha=np.array([lam]), method="homotopy", positive=positive,
            tol=PATH_TOL, max_iter=max_iter,
        )  # fmt: skip
        stop = progress is not None and progress.end()
        a = to_dense(codes, A.shape[1])[0]
        steps += int(codes.n_iter[0])
        found, exact = _end_of_piece(A, y, a, lam, bound, positive)
        if found is not None:
            found = found._replace(n_iter=steps)
            if best is None or found.gap < best.gap:
                best = found
            if found.gap <= tol and found.residual <= bound + tol:
                return found
        if stop:
            return best
        if bound == 0:
            lam *= 1e-2
            if lam < LOWEST_PENALTY * top:
                return best
            continue
        # |r| grows with the penalty: keep it between bounds, try where the piece would end
        r = float(linalg.norm(y - A @ a))
        low, high = (lam, high) if r < bound else (low, lam)
        middle = np.sqrt(low * high) if low > 0 else high * min(0.5, bound / r)
        lam = exact if low < exact < high else middle
        if high - low <= 1e-14 * high:
            return best
    return best


def _first_guess(bound: float, top: float) -> float:
    return float(np.clip(bound * top, 1e-6 * top, 0.5 * top))


def _end_of_piece(
    A: Array, y: Array, a: Array, lam: float, bound: float, positive: bool
) -> tuple[BasisPursuitResult | None, float]:
    """Coefficients and dual at the end of the linear piece of the path that `a` is on.

    On it the residual is ``r0 + lam A_I v`` with ``v = inv(A_I'A_I) sign(a_I)`` and `r0` the
    residual of least squares on the active columns; the end is where its norm is `bound`. Also
    returns the penalty there, -1 if the piece does not reach it.
    """
    active = np.flatnonzero(a)
    if active.size == 0 or active.size > len(y):
        return None, -1.0
    signs = np.sign(a[active])
    Q, R = linalg.qr(A[:, active], mode="economic", check_finite=False)
    diagonal = np.abs(np.diagonal(R))
    if not diagonal.min() > 1e-11 * diagonal.max():
        return None, -1.0
    fitted = linalg.solve_triangular(R, Q.T @ y, check_finite=False)
    inner = linalg.solve_triangular(R, signs, trans="T", check_finite=False)
    direction = linalg.solve_triangular(R, inner, check_finite=False)
    dual = Q @ inner  # A_I v, with A_I' (A_I v) = signs
    rest = y - Q @ (Q.T @ y)
    end = 0.0
    if bound > 0:
        room = bound**2 - float(rest @ rest)
        if room < 0:
            return None, -1.0
        end = float(np.sqrt(room) / linalg.norm(dual))
        dual = dual + rest / end if end > 0 else dual
    coef = np.zeros_like(a)
    coef[active] = fitted - end * direction
    if positive and coef.min() < -1e-9 * np.abs(coef).max():
        return None, end
    coef = np.maximum(coef, 0.0) if positive else coef
    coef[np.abs(coef) <= 1e-12 * np.abs(coef).max(initial=0.0)] = 0.0
    gap = pursuit_gap(A, y, coef, dual, bound=bound, positive=positive)
    residual = float(linalg.norm(y - A @ coef))
    return BasisPursuitResult(coef, dual, residual, gap, 0, "path"), end


def _simplex(A: Array, y: Array, positive: bool) -> tuple[Array, Array] | None:
    """Dual simplex on ``min 1'(p + q)  s.t.  A (p - q) = y, p, q >= 0``."""
    from scipy.optimize import linprog

    k = A.shape[1]
    both = A if positive else np.hstack([A, -A])
    cost = np.ones(both.shape[1])
    out = linprog(cost, A_eq=both, b_eq=y, bounds=(0, None), method="highs-ds")
    if out.status != 0:
        return None
    x = np.asarray(out.x)
    return x if positive else x[:k] - x[k:], np.asarray(out.eqlin.marginals)


def _cvxpy(A: Array, y: Array, bound: float, positive: bool) -> tuple[Array, Array] | None:
    """State the problem and hand it to a conic solver."""
    import cvxpy

    cp: Any = cvxpy
    a = cp.Variable(A.shape[1], nonneg=positive)
    constraint = cp.norm(y - A @ a) <= bound if bound > 0 else A @ a == y
    problem = cp.Problem(cp.Minimize(cp.norm1(a)), [constraint])
    if bound > 0:
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    else:
        problem.solve(solver=cp.HIGHS)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        return None
    coef = np.asarray(a.value)
    if bound > 0:
        r = y - A @ coef
        slopes = A.T @ r
        top = float(slopes.max() if positive else np.abs(slopes).max())
        return coef, r / top if top > 0 else r
    return coef, -np.asarray(constraint.dual_value)
