"""Basis pursuit: the representation of least l1 norm, exactly or within a bound on the noise.

The lasso path ends in it. As the penalty goes to zero the path is a straight line from some
penalty on, so that the active set and the signs found there determine the coefficients and the
dual variable by two triangular solves, and the duality gap says whether they are right.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.signal_blocks import Atoms, prepare_atoms, to_dense
from skmoderndata._solvers.common.iterate import Progress

Array = np.ndarray[Any, np.dtype[Any]]

FIRST_PENALTY = 1e-4  # of the largest; lowered while the end of the path is not reached
LOWEST_PENALTY = 1e-12
PATH_TOL = 1e-7  # gap of the lasso: only its active set and signs are used
EPS = float(np.finfo(np.float64).eps)
QUICK_COLUMNS = 512  # with fewer, the path is as fast
QUICK_PAIRS = 500  # of products with A and its transpose, after which the path is the better way
DEPENDENT = 1e-11  # share of a unit column outside of the span of others that counts as none


class BasisPursuitResult(NamedTuple):
    """Coefficients (k,), dual variable (n,), and what is proved of them.

    `gap` is relative to the l1 norm; `route` says how the coefficients were found: "path",
    "quick", "simplex", "cvxpy" or "zero". `n_iter` counts steps of the path, or pairs of products
    with A and its transpose.
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
        No scaling of columns is needed, nor of the whole.
    y : array of shape (n,)
    bound : float
        0 asks for ``A a = y``.
    tol : float
        Relative duality gap, and residual in proportion to `y`, that are accepted.
    solver : {"path", "simplex", "cvxpy"}
        "path" is the lasso path with two triangular solves at its end, and "simplex" where its
        answer is not proved to `tol` (cvxpy for a positive bound); "simplex" is HiGHS on the
        linear program of the case without noise, refined; "cvxpy" states the problem.
    atoms : Atoms or None
        ``pursuit_atoms(A, positive)``, where several `y` share it.

    Returns
    -------
    BasisPursuitResult or None
        None if no coefficients satisfy the constraint.
    """
    size = float(linalg.norm(y))
    k = A.shape[1]
    if size <= bound:
        return BasisPursuitResult(np.zeros(k), np.zeros(len(y)), size, 0.0, 0, "zero")
    unit = _unit(A)
    A = A / unit if unit != 1.0 else A
    found = _solve(A, y / size, bound / size, positive, tol, max_iter, solver, atoms, progress)
    return None if found is None else _of_scale(found, A, unit, size, positive)


def quick_pursuit(
    A: Array,
    y: Array,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    progress: Progress | None = None,
) -> BasisPursuitResult | None:
    """Try to solve the problem of `basis_pursuit` without inner products of all columns.

    Message passing finds a support and Newton's method the signs. None without success, which is
    no proof that there is no solution, and for problems too small for it to pay.
    """
    size = float(linalg.norm(y))
    if A.shape[1] < QUICK_COLUMNS or A.shape[0] >= A.shape[1] or size <= bound:
        return None
    unit = _unit(A)
    A = A / unit if unit != 1.0 else A
    found = _quickly(A, y / size, bound / size, positive, tol, progress)
    return None if found is None else _of_scale(found, A, unit, size, positive)


def _of_scale(
    found: BasisPursuitResult, A: Array, unit: float, size: float, positive: bool
) -> BasisPursuitResult:
    """Undo ``A / unit`` and ``y / size``."""
    return found._replace(
        coef=found.coef / unit * size,
        dual=feasible_dual(A, found.dual, positive=positive) / unit,
        residual=found.residual * size,
    )


def pursuit_atoms(A: Array, positive: bool = False) -> Atoms:
    """Columns of A made ready for the path: repeated ones are used once."""
    unit = _unit(A)
    rows = A.T if unit == 1.0 else A.T / unit
    return prepare_atoms(rows, normalize=False, distinct=True, signed=positive)


def feasible_dual(A: Array, dual: Array, *, positive: bool = False) -> Array:
    """Multiple of `dual` with ``|A'v|_inf <= 1``, or ``A'v <= 1``; in its own precision."""
    step = float(np.finfo(dual.dtype).eps)
    for _ in range(20):
        top = _top(A, dual, positive)
        if top <= 1:
            break
        dual = (dual / (top * (1 + step))).astype(dual.dtype)
        step *= 2
    return dual


def pursuit_gap(
    A: Array, y: Array, coef: Array, dual: Array, *, bound: float = 0.0, positive: bool = False
) -> float:
    """Return the relative duality gap of ``min |a|_1  s.t.  |y - A a| <= bound``.

    The dual is ``max y'v - bound |v|  s.t.  |A'v|_inf <= 1`` (``A'v <= 1`` for non-negative a);
    `dual` is scaled to be feasible. Coefficients that miss the constraint are charged ``|A' w|``
    for nothing: the residual has to be looked at as well.
    """
    v = feasible_dual(A, dual, positive=positive)
    primal = float(np.abs(coef).sum())
    value = float(y @ v) - bound * float(linalg.norm(v))
    return abs(primal - value) / primal if primal > 0 else abs(value)


def nearest(A: Array, Y: Array, *, positive: bool = False) -> Array:
    """Return the combinations of columns of A nearest to each column of Y, of any scale."""
    A = A / _unit(A)
    B, sizes = A / _norms(A), column_norms(Y)
    sizes[sizes == 0] = 1.0
    Y = Y / sizes
    if positive:
        from scipy.optimize import nnls

        fitted = np.column_stack([B @ nnls(B, y)[0] for y in Y.T])
    elif _has_full_row_rank(B):
        fitted = Y
    else:
        U, s, _ = linalg.svd(B, full_matrices=False, check_finite=False)
        U = U[:, s > s.max(initial=0.0) * max(A.shape) * np.finfo(np.float64).eps]
        fitted = U @ (U.T @ Y)
    return np.asarray(fitted * sizes)


def _has_full_row_rank(B: Array) -> bool:
    """Tell whether rows are independent beyond doubt; a tenth of the work of singular values."""
    if B.shape[0] > B.shape[1]:
        return False
    try:
        factor = linalg.cholesky(B @ B.T, check_finite=False)
    except linalg.LinAlgError:
        return False
    diagonal = np.diagonal(factor)
    return bool(diagonal.min() > 1e-5 * diagonal.max())


def column_norms(Z: Array) -> Array:
    """Norms of columns whose squares may under- or overflow."""
    largest = np.abs(Z).max(axis=0, initial=0.0)
    out: Array = largest * np.linalg.norm(Z / np.where(largest > 0, largest, 1.0), axis=0)
    return out


def within_bound(
    A: Array, y: Array, coef: Array, *, bound: float, norm: Callable[[Array], float]
) -> Array:
    """Coefficients moved as little as is needed for ``norm(coef) <= bound``.

    `norm` is that of the residual, with whatever rounding the coefficients are to suffer. They
    move towards least squares on their support, along the last piece of the path.
    """
    bound *= 1 - 8 * EPS  # norms are rounded as well
    missed = norm(coef) - bound
    active = np.flatnonzero(coef)
    if bound == 0 or missed <= 0 or active.size == 0:
        return coef
    unit, size = _unit(A), float(linalg.norm(y))
    B = A[:, active] / unit
    norms = _norms(B)
    fit = np.zeros_like(coef)
    fit[active] = linalg.lstsq(B / norms, y / size, check_finite=False)[0] / norms / unit * size
    length = float(linalg.norm(y - A @ coef))
    least = float(linalg.norm(y - A @ fit)) / length
    for share in 2.0 ** np.arange(9):
        # |r|^2 = least^2 + t^2 (length^2 - least^2) at coefficients fit + t (coef - fit)
        goal = 1 - share * (missed / length)
        if goal <= least:
            break
        t = np.sqrt((goal - least) * (goal + least) / ((1 - least) * (1 + least)))
        moved: Array = fit + t * (coef - fit)
        if norm(moved) <= bound and not (np.sign(moved) * np.sign(coef) < 0).any():
            return moved
    return coef


def _solve(
    A: Array,
    y: Array,
    bound: float,
    positive: bool,
    tol: float,
    max_iter: int,
    solver: str,
    atoms: Atoms | None,
    progress: Progress | None,
) -> BasisPursuitResult | None:
    """Solve the problem for `y` of norm one and entries of A of the order of one."""
    norms = _norms(A)
    best: BasisPursuitResult | None = None
    if bound > 0 and solver == "cvxpy":
        best = _cvxpy(A, y, norms, bound, positive, tol)
        if best is not None:
            return _better(best, _settle(A, y, norms, best, bound, positive), bound)
        solver = "path"
    if solver == "path":
        atoms = pursuit_atoms(A, positive) if atoms is None else atoms
        best = _follow(A, y, norms, atoms, bound, positive, tol, max_iter, progress)
        if best is not None and _accepted(best, bound, tol):
            return best
    if bound == 0:
        by = _cvxpy if solver == "cvxpy" else _simplex
        return _better(best, by(A, y, norms, 0.0, positive, tol), bound)
    near = nearest(A, y[:, None], positive=positive)[:, 0]
    if float(linalg.norm(y - near)) > bound * (1 + 1e-9):
        return None
    # the right piece is next to where the path broke off, or to its very end
    broken = best
    starts: tuple[Callable[[], BasisPursuitResult | None], ...] = (
        lambda: broken,
        lambda: _simplex(A, near, norms, 0.0, positive, tol),
        lambda: _cvxpy(A, y, norms, bound, positive, tol),
    )
    for start in starts:
        best = _better(best, _settle(A, y, norms, start(), bound, positive), bound)
        if best is not None and _accepted(best, bound, tol):
            break
    return best


def _better(
    one: BasisPursuitResult | None, other: BasisPursuitResult | None, bound: float
) -> BasisPursuitResult | None:
    """Return the one that is nearer to a proved solution."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other, key=lambda f: f.gap + max(0.0, f.residual - bound))


def _quickly(
    A: Array, y: Array, bound: float, positive: bool, tol: float, progress: Progress | None
) -> BasisPursuitResult | None:
    # here, as that module uses this one
    from skmoderndata._solvers.recovery.l1_recovery import facts_of, least_l1
    from skmoderndata._solvers.recovery.measurements import from_matrix

    norms = _norms(A)
    if norms.max() > 100 * norms.min():
        return None
    seen = np.sort(np.abs(np.random.RandomState(1).normal(size=len(A)) @ A) / norms)
    if (np.diff(seen) <= 1e-11 * seen[-1]).any():  # there may be repeated columns
        return None
    if progress is not None:
        progress.begin()
    operator = from_matrix(A)
    quick = least_l1(
        y, operator, bound=bound, positive=positive, tol=tol, max_iter=QUICK_PAIRS,
        facts=facts_of(operator), last_resort=False,
    )  # fmt: skip
    if progress is not None:
        progress.end()
    if not quick.done:
        return None
    signs = np.sign(quick.coef)
    active = np.flatnonzero(signs)
    # the same to the last digit
    found = _end_of_piece(A, y, norms, active, signs, bound, positive)[0]
    if bound == 0 and found is not None and found.gap > tol:
        dual = _dual_of_signs(A, active, signs[active], positive)
        found = _judged(A, y, found.coef, dual, bound, positive, "quick")
    if bound > 0 and (found is None or found.gap > tol):
        r = y - A @ quick.coef
        dual = r / _top(A, r, positive)
        found = _judged(A, y, quick.coef, dual, bound, positive, "quick")
    if found is None or not _accepted(found, bound, tol):
        return None
    return found._replace(n_iter=quick.n_iter, route="quick")


def _dual_of_signs(A: Array, support: Array, signs: Array, positive: bool) -> Array:
    """Least ``|v|`` with ``A_j'v = sign_j`` on the support and ``|A_j'v| <= 1`` elsewhere.

    Columns beyond one enter the active ones, those whose multiplier has the wrong sign leave.
    """
    n, k = A.shape
    wanted = np.zeros(k)
    wanted[support] = signs
    inside = wanted != 0
    dual: Array = np.zeros(n)
    for _ in range(30):
        active = np.flatnonzero(wanted)
        B = A[:, active]
        try:
            factor = linalg.cho_factor(B.T @ B, check_finite=False)
        except linalg.LinAlgError:
            break
        h = np.zeros(k)
        h[active] = linalg.cho_solve(factor, wanted[active], check_finite=False)
        dual = B @ h[active]
        slopes = A.T @ dual
        beyond = (slopes if positive else np.abs(slopes)) > 1 + 1e-12
        beyond &= wanted == 0
        wrong = (h * wanted > 0) & ~inside
        if not beyond.any() and not wrong.any():
            break
        wanted[wrong] = 0.0
        wanted[beyond] = np.sign(slopes[beyond])
    return dual


def _unit(A: Array) -> float:
    """Power of two that brings the largest entry to about one, where squares would be lost."""
    largest = float(np.abs(A).max(initial=0.0))
    if largest == 0 or 1e-50 < largest < 1e50:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def _norms(A: Array) -> Array:
    """Norms of the columns, 1 for zero columns."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", A, A))
    norms[norms == 0] = 1.0
    return norms


def _top(A: Array, v: Array, positive: bool) -> float:
    """Largest of the numbers that the dual constraint bounds by one."""
    slopes = A.T @ v
    return float(slopes.max(initial=0.0) if positive else np.abs(slopes).max(initial=0.0))


def _accepted(found: BasisPursuitResult, bound: float, tol: float) -> bool:
    return found.gap <= tol and found.residual <= bound + tol


def _judged(
    A: Array, y: Array, coef: Array, dual: Array, bound: float, positive: bool, route: str
) -> BasisPursuitResult:
    gap = pursuit_gap(A, y, coef, dual, bound=bound, positive=positive)
    return BasisPursuitResult(coef, dual, float(linalg.norm(y - A @ coef)), gap, 1, route)


def _follow(
    A: Array,
    y: Array,
    norms: Array,
    atoms: Atoms,
    bound: float,
    positive: bool,
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> BasisPursuitResult | None:
    """Go down the lasso path to its last piece, or to the piece where the residual is `bound`."""
    top = _top(A, y, positive)
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
        found, exact = _end_of_piece(A, y, norms, np.flatnonzero(a), np.sign(a), bound, positive)
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
    A: Array,
    y: Array,
    norms: Array,
    active: Array,
    signs: Array,
    bound: float,
    positive: bool,
) -> tuple[BasisPursuitResult | None, float]:
    """Coefficients and dual at the end of the linear piece of the path with these signs.

    On it the residual is ``r0 + lam A_I v`` with ``v = inv(A_I'A_I) sign(a_I)`` and `r0` the
    residual of least squares on the active columns; the end is where its norm is `bound`. Also
    returns the penalty there, -1 if the piece does not reach it.
    """
    if active.size == 0 or active.size > len(y):
        return None, -1.0
    lengths = norms[active]
    Q, R = linalg.qr(A[:, active] / lengths, mode="economic", check_finite=False)
    if not np.abs(np.diagonal(R)).min() > DEPENDENT:
        return None, -1.0
    fitted = linalg.solve_triangular(R, Q.T @ y, check_finite=False)
    inner = linalg.solve_triangular(R, signs[active] / lengths, trans="T", check_finite=False)
    direction = linalg.solve_triangular(R, inner, check_finite=False)
    dual = Q @ inner  # A_I v, with A_I' (A_I v) = signs
    rest = y - Q @ (Q.T @ y)
    rest -= Q @ (Q.T @ rest)
    if active.size == len(y) or float(linalg.norm(rest)) <= 32 * EPS:
        rest[:] = 0.0  # rounding, which a small penalty would enlarge
    end = 0.0
    if bound > 0:
        room = bound**2 - float(rest @ rest)
        if room < 0:
            return None, -1.0
        end = float(np.sqrt(room) / linalg.norm(dual))
        dual = dual + rest / end if end > 0 else dual
    values = fitted - end * direction  # of columns of unit length
    costs = values / lengths
    if positive and costs.min() < -1e-9 * np.abs(costs).max():
        return None, end
    values = np.maximum(values, 0.0) if positive else values
    # of no weight for the residual, nor for the l1 norm
    nothing = np.abs(values) <= 1e-12 * np.abs(values).max(initial=0.0)
    nothing &= np.abs(costs) <= 1e-12 * np.abs(costs).max(initial=0.0)
    coef = np.zeros(A.shape[1])
    coef[active] = np.where(nothing, 0.0, values / lengths)
    return _judged(A, y, coef, dual, bound, positive, "path"), end


def _settle(
    A: Array,
    y: Array,
    norms: Array,
    start: BasisPursuitResult | None,
    bound: float,
    positive: bool,
) -> BasisPursuitResult | None:
    """Find the piece of the path that a solution which is nearly right belongs to.

    Columns of the wrong sign leave the active ones, those whose slope is too large enter.
    """
    if start is None:
        return None
    gap = pursuit_gap(A, y, start.coef, start.dual, bound=bound, positive=positive)
    best: BasisPursuitResult | None = start._replace(
        gap=gap, residual=float(linalg.norm(y - A @ start.coef))
    )
    size = np.abs(start.coef) * norms
    signs = np.where(size > 1e-6 * size.max(initial=0.0), np.sign(start.coef), 0.0)
    for _ in range(2 * len(y) + 20):
        found = _end_of_piece(A, y, norms, np.flatnonzero(signs), signs, bound, positive)[0]
        if found is None:
            break
        best = _better(best, found, bound)
        wrong = found.coef * signs < 0
        if wrong.any():
            signs[np.where(wrong, np.abs(found.coef) * norms, 0.0).argmax()] = 0.0
            continue
        slopes = A.T @ found.dual
        excess = np.where(signs == 0, (slopes if positive else np.abs(slopes)) - 1, 0.0)
        new = int(excess.argmax())
        if excess[new] <= 1e-12:
            break
        signs[new] = np.sign(slopes[new])
    return best


def _simplex(
    A: Array, y: Array, norms: Array, bound: float, positive: bool, tol: float
) -> BasisPursuitResult | None:
    """Dual simplex on ``min 1'(p + q)  s.t.  A (p - q) = y, p, q >= 0``, refined.

    What the solution misses is solved for again, enlarged, as the tolerances of the solver are
    absolute [Gleixner, Steffy, Wolter 2016]. Columns are of unit length, costs their inverses.
    """
    from scipy import optimize

    linprog: Any = optimize.linprog
    used = np.flatnonzero(A.any(axis=0))
    B, cost = A[:, used] / norms[used], 1.0 / norms[used]
    unit = float(cost.min(initial=np.inf))
    cost = cost / unit
    if not positive:
        B, cost = np.hstack([B, -B]), np.concatenate([cost, cost])
    x, v = np.zeros(len(cost)), np.zeros(len(y))
    enlarged, raised = 1.0, 1.0
    best: BasisPursuitResult | None = None
    for _ in range(6):
        lower = -enlarged * x
        out = linprog(
            raised * (cost - B.T @ v), A_eq=B, b_eq=enlarged * (y - B @ x),
            bounds=np.column_stack([lower, np.full(len(x), np.inf)]), method="highs-ds",
        )  # fmt: skip
        if out.status != 0:
            break
        x = np.where(out.x <= lower, 0.0, np.maximum(x + out.x / enlarged, 0.0))
        v = v + np.asarray(out.eqlin.marginals) / raised
        coef = np.zeros(A.shape[1])
        coef[used] = (x if positive else x[: used.size] - x[used.size :]) / norms[used]
        found = _judged(A, y, coef, unit * v, bound, positive, "simplex")
        best = _better(best, found, bound)
        if _accepted(found, bound, 1e-3 * tol):
            break
        # by a million at most in one round
        enlarged = 1.0 / max(float(np.abs(y - B @ x).max()), 1e-6 / enlarged, 1e-15)
        raised = 1.0 / max(-float((cost - B.T @ v).min()), 1e-6 / raised, 1e-15)
    return best


def _cvxpy(
    A: Array, y: Array, norms: Array, bound: float, positive: bool, tol: float
) -> BasisPursuitResult | None:
    """State the problem, with columns of unit length, and hand it to a conic solver."""
    import cvxpy

    cp: Any = cvxpy
    a = cp.Variable(A.shape[1], nonneg=positive)
    B = A / norms
    constraint = cp.norm(y - B @ a) <= bound if bound > 0 else B @ a == y
    unit = float(norms.max())
    problem = cp.Problem(cp.Minimize(cp.norm1(cp.multiply(unit / norms, a))), [constraint])
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            if bound > 0:
                problem.solve(solver=cp.CLARABEL, **accuracy)
            else:
                problem.solve(solver=cp.HIGHS)
    except cp.error.SolverError:
        return None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        return None
    coef = np.asarray(a.value) / norms
    if bound > 0:
        r = y - A @ coef
        top = _top(A, r, positive)
        dual = r / top if top > 0 else r
    else:
        dual = -np.asarray(constraint.dual_value) / unit
    return _judged(A, y, coef, dual, bound, positive, "cvxpy")
