"""Principal component pursuit of a tall table with noise, along a central path.

The nuclear norm is ``|L|_* = min_M tr(L M^-1 L') / 2 + tr(M) / 2`` over positive definite matrices
M of the size of the columns. For a given M the rows of ``|L|_* + lam sum |X - L|`` separate: a row
of L is ``M y``, where y solves a small box-constrained quadratic program,

    q(x, M) = max  x'y - y'My / 2   subject to  |y| <= lam.

The convex function ``f(M) = tr(M) / 2 + sum q(x_i, M)`` has the gradient ``(I - Y'Y) / 2``, so its
optimality conditions, ``Y'Y <= I`` and ``M (I - Y'Y) = 0``, are those of pursuit. The central path
``M (I - Y'Y) = t I`` minimises ``f(M) - t / 2 log det M``. Its Y is dual feasible with the gap
``t p / 2``, and Newton's method follows it in few steps. Noise far below the signal, which needs
thousands of passes of the augmented Lagrangian, does not slow it down.

Few cells of a noisy row are fitted exactly, about as many as L has components. The quadratic
program of a row is solved in these cells, starting from those of the last step.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    INNER_SHARE,
    SUFFICIENT_DECREASE,
    TINY,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    duality_gap,
)

# Minimum eigenvalue of the first M, as a fraction of the singular values of the noise.
NOISE_SHARE = 0.1

# Maximum number of rows from which the noise and the free cells are estimated.
SAMPLE_ROWS = 200

# Maximum fraction of free cells for which the rows are cheap and Newton's method takes few steps.
# Generated tables have .15 to .22; raw tables of digits or of wines have .27 to .47.
MOST_FREE = 0.25

# Maximum number of Newton steps, of which 4 to 20 usually suffice, and of conjugate gradient steps
# for each of them, of which two to five usually suffice.
MAX_STEPS = 40

# Minimum ratio of a component of M after a Newton step to the one before.
SMALLEST_RATIO = 0.1

# Minimum fraction of a Newton step.
SHORTEST = 1e-2

# Maximum gap of f, in multiples of the tolerance, at which the gap of L is computed.
NEARLY = 1.5

# Maximum number of rounds of the quadratic program of a row, per column.
ROUNDS = 10


class FreeCells(NamedTuple):
    """Cells of each row inside the box, and the inverses of their parts of M."""

    starts: Array  # (n + 1,), positions in `columns`
    columns: Array
    squares: Array  # (n + 1,), positions in `inverses`
    inverses: Array


class Point(NamedTuple):
    """A matrix M, the solution of all rows, and what Newton's method needs of them."""

    M: Array
    m: Array  # eigenvalues of M
    V: Array  # eigenvectors of M
    Y: Array
    R: Array  # X - Y M, NaN in missing cells
    cells: FreeCells
    C: Array  # Y'Y
    # (p,), diagonal of V' S V, where S is the mean over the rows of the inverses in `cells`
    curvature: Array
    objective: float  # f(M)
    product: float  # <X, Y>


def follow_path(
    X: Array,
    start: PursuitResult,
    *,
    lam: float,
    tol_gap: float = 1e-6,
    max_iter: int = MAX_STEPS,
    progress: Progress | None = None,
) -> PursuitResult:
    """Minimise ``|L|_* + lam sum |X - L|`` over the observed entries, from a rough solution.

    M belongs to the shorter side of the table. The result has not converged if the gap is above
    the tolerance, after too many steps or rounds, or if too many cells are free.
    """
    if X.shape[0] >= X.shape[1]:
        return follow_tall(X, start, lam, tol_gap, Iterations(max_iter, 0.0, progress))
    X = np.ascontiguousarray(X.T)
    steps = Iterations(max_iter, 0.0, progress)
    return transposed(follow_tall(X, transposed(start), lam, tol_gap, steps))


def transposed(result: PursuitResult) -> PursuitResult:
    """Return the solution of the transposed table."""
    sparse = np.ascontiguousarray(result.sparse.T)
    dual = np.ascontiguousarray(result.dual.T)
    return result._replace(U=result.Vt.T, Vt=result.U.T, sparse=sparse, dual=dual)


def follow_tall(
    X: Array, start: PursuitResult, lam: float, tol_gap: float, it: Iterations
) -> PursuitResult:
    """Follow the path of a table with more rows than columns.

    On the path the gap of f is the tolerance, so that the gap of L is about half of it.
    """
    p = X.shape[1]
    filled = np.nan_to_num(X)
    t = 2 * tol_gap * start.objective / p
    M = first_matrix(X, start, t)

    # leave tables with many free cells to other solvers
    rows = slice(None, None, 1 + len(X) // SAMPLE_ROWS)
    sample = solve_rows(X[rows], filled[rows], M, start.dual[rows], lam)
    if sample is None or len(sample.cells.columns) > MOST_FREE * sample.Y.size:
        return start._replace(n_iter=0)
    point = solve_rows(X, filled, M, start.dual, lam)
    if point is None:
        return start._replace(n_iter=0)

    reached: PursuitResult | None = None
    for _ in it:
        # 1. take a Newton step
        candidate = newton_step(X, filled, point, t, lam)
        if candidate is None:
            it.ended = True
            continue
        point = candidate

        # 2. compute the gap of L without its inactive components
        gap = point.objective - point.product / norm_of_dual(point)
        if gap <= NEARLY * tol_gap * point.objective:
            reached = round_off(X, filled, point, lam)
            accurate = reached.residual <= INNER_SHARE * tol_gap
            it.converged = reached.gap <= tol_gap and accurate

    if reached is None or not it.converged:
        reached = round_off(X, filled, point, lam)
    return reached._replace(n_iter=it.n_iter, converged=it.converged)


def first_matrix(X: Array, start: PursuitResult, t: float) -> Array:
    """Return M for L of the start, and a multiple of the noise outside its components."""
    step = 1 + len(X) // SAMPLE_ROWS
    noise = np.nanmedian(np.abs(X[::step] - (start.U[::step] * start.s) @ start.Vt))
    floor = max(t, NOISE_SHARE * float(noise) * np.sqrt(len(X)))
    M: Array = (start.Vt.T * start.s) @ start.Vt + floor * np.eye(X.shape[1])
    return M


def norm_of_dual(point: Point) -> float:
    """Return ``|Y|_2``, or 1 if it is smaller."""
    return max(1.0, float(np.sqrt(linalg.eigvalsh(point.C)[-1])))


def solve_rows(X: Array, filled: Array, M: Array, Y: Array, lam: float) -> Point | None:
    """Solve the quadratic programs of all rows for M, from Y; None if a row takes too long."""
    Y = Y.copy()
    R = X - Y @ M
    tol = ACCUMULATED_ROUNDING * float(np.abs(filled).max())
    *cells, total, ended = fit_rows(M, lam, Y, R, tol)
    if not ended:
        return None

    m, V = linalg.eigh(M, check_finite=False)
    C = Y.T @ Y
    product = float(np.vdot(filled, Y))
    objective = float(np.trace(M) / 2 + product - np.vdot(M, C) / 2)
    curvature = np.maximum(np.einsum("ij,ij->j", V, total @ V), TINY) / len(X)
    return Point(M, m, V, Y, R, FreeCells(*cells), C, curvature, objective, product)


def newton_step(X: Array, filled: Array, point: Point, t: float, lam: float) -> Point | None:
    """Return the next point, or None if there is none with a lower objective."""
    # 1. in the basis V, the Hessian of f is nearly diagonal, and I - Y'Y is on the path
    m = point.m
    V = point.V
    C = V.T @ point.C @ V
    c = np.diag(C)
    slack = np.maximum(1 - c, t / m)
    barrier = (slack / m[:, None] + slack[:, None] / m) / 4
    diagonal = barrier + (point.curvature * c[:, None] + point.curvature[:, None] * c) / 4
    descent = (C - np.eye(len(m)) + np.diag(t / m)) / 2

    # 2. solve for the step by conjugate gradients, with the diagonal as a preconditioner
    def hessian(D: Array) -> Array:
        S = V @ D @ V.T
        H = weigh(point.Y @ S, point.Y, *point.cells)
        return V.T @ ((H + H.T) / 2) @ V + barrier * D

    unit = np.sqrt(diagonal)

    def scaled(z: Array) -> Array:
        return (hessian(z.reshape(unit.shape) / unit) / unit).ravel()

    operator = LinearOperator((unit.size, unit.size), scaled, dtype=np.float64)
    z, _ = cg(operator, (descent / unit).ravel(), rtol=INNER_SHARE, maxiter=MAX_STEPS)
    D = z.reshape(unit.shape) / unit
    decrease = SUFFICIENT_DECREASE * float(np.vdot(D, descent))

    # 3. shorten it until the objective falls; no component falls to less than a tenth, and on the
    # path M is at least t
    length = 1.0
    before = point.objective - t / 2 * float(np.log(m).sum())
    rounding = ACCUMULATED_ROUNDING * abs(before)
    root = V * np.sqrt(m)
    D = D / np.sqrt(m) / np.sqrt(m)[:, None]
    while length >= SHORTEST:
        ratio = at_least(np.eye(len(m)) + length / 2 * (D + D.T), SMALLEST_RATIO)
        M = at_least(root @ ratio @ root.T, t)
        candidate = solve_rows(X, filled, M, point.Y, lam)
        if candidate is None:
            return None
        value = candidate.objective - t / 2 * float(np.log(candidate.m).sum())
        if value <= before - length * decrease + rounding:
            return candidate
        length /= 2
    return None


def at_least(M: Array, least: float) -> Array:
    """Raise the eigenvalues of M to `least`."""
    m, V = linalg.eigh(M, check_finite=False)
    if m[0] >= least:
        return M
    raised: Array = (V * np.maximum(m, least)) @ V.T
    return raised


def round_off(X: Array, filled: Array, point: Point, lam: float) -> PursuitResult:
    """Return the solution without the components that exist only because of the barrier."""
    # a component is inactive if Newton's step without barrier would make its eigenvalue negative
    V = point.V
    c = np.einsum("ij,ij->j", V, point.C @ V)
    m = point.m - (1 - c) / (point.curvature * np.maximum(c, TINY))
    active = m > 0
    floor = INNER_SHARE**3 * float(point.m[~active].max(initial=0.0))
    M = (V * np.where(active, m, floor)) @ V.T
    candidate = solve_rows(X, filled, M, point.Y, lam)
    if candidate is None:
        candidate = point

    # decompose L = Y M by its Gram matrix, and certify it by Y before rounding
    L = candidate.Y @ candidate.M
    values, Q = linalg.eigh(L.T @ L, check_finite=False)
    r = int(active.sum())
    Q = Q[:, ::-1][:, :r]
    s = np.sqrt(np.maximum(values[::-1][:r], TINY))
    result = PursuitResult(L @ (Q / s), s, Q.T, L, point.Y, 0.0, 0.0, 0.0, 0, True)
    L = (result.U * s) @ result.Vt
    objective, gap = duality_gap(X, result, point.Y, L=L, lam=lam)
    sparse = np.where(np.abs(candidate.Y) >= lam, X - L, 0.0)
    residual = np.nan_to_num(X - L - sparse)
    return result._replace(
        sparse=np.nan_to_num(sparse),
        objective=objective,
        gap=gap,
        residual=float(linalg.norm(residual) / max(linalg.norm(s), TINY)),
    )


@jit
def fit_rows(M, lam, Y, R, tol):
    """Maximise ``x'y - y'My / 2`` over the box for each row of Y, in place.

    R is ``X - Y M``, and NaN marks missing cells. Returns the free cells, the sum of the inverses
    of their parts of M, and whether all rows were solved.
    """
    n, p = Y.shape
    starts = np.zeros(n + 1, np.int64)
    squares = np.zeros(n + 1, np.int64)
    columns = np.empty(8 * n, np.int64)
    inverses = np.empty(64 * n)
    total = np.zeros((p, p))
    free = np.empty(p, np.int64)
    A = np.empty((p, p))
    d = np.empty(p)
    for i in range(n):
        k = fit_row(M, lam, Y[i], R[i], tol, free, A, d)
        if k < 0:
            return starts, columns, squares, inverses, total, False

        # make room for the free cells of the row
        first = starts[i]
        corner = squares[i]
        starts[i + 1] = first + k
        squares[i + 1] = corner + k * k
        if first + k > columns.size:
            longer = np.empty(2 * columns.size + k, np.int64)
            longer[:first] = columns[:first]
            columns = longer
        if corner + k * k > inverses.size:
            larger = np.empty(2 * inverses.size + k * k)
            larger[:corner] = inverses[:corner]
            inverses = larger

        # invert their part of M, whose factor is in A
        invert(A, k)
        for a in range(k):
            columns[first + a] = free[a]
            for b in range(k):
                entry = A[a, b] if b > a else A[b, a]
                inverses[corner + a * k + b] = entry
                total[free[a], free[b]] += entry
    return starts, columns[: starts[n]], squares, inverses, total, True


@jit
def fit_row(M, lam, y, r, tol, free, A, d):
    """Maximise ``x'y - y'My / 2`` over the box by an active set method; r is ``x - M y``.

    Returns the number of free cells, or -1 if there are too many rounds. `free` lists the cells,
    and A holds the factor of their part of M.
    """
    p = y.size
    k = 0
    for j in range(p):
        if -lam < y[j] < lam and not np.isnan(r[j]):
            free[k] = j
            k += 1

    for _ in range(ROUNDS * p + 100):
        # 1. solve for the free cells
        factor(M, free, k, A)
        for a in range(k):
            d[a] = r[free[a]]
        solve(A, d, k)

        # 2. go there, or to the first bound on the way, which its cell keeps
        step = 1.0
        hit = -1
        for a in range(k):
            bound = lam if d[a] > 0 else -lam
            if abs(d[a]) * step > abs(bound - y[free[a]]):
                step = abs(bound - y[free[a]]) / abs(d[a])
                hit = a
        n_free = 0
        for a in range(k):
            j = free[a]
            y_old = y[j]
            y[j] = min(max(y_old + step * d[a], -lam), lam)
            if a == hit:
                y[j] = lam if d[a] > 0 else -lam
            change = y[j] - y_old
            if change != 0.0:
                for b in range(p):
                    r[b] -= change * M[j, b]
            if -lam < y[j] < lam:
                free[n_free] = j
                n_free += 1
        if n_free < k:
            k = n_free
            continue

        # 3. free the cell at its bound whose residual has the wrong sign
        worst = tol
        freed = -1
        for j in range(p):
            wrong = -r[j] if y[j] > 0 else r[j]
            if abs(y[j]) >= lam and wrong > worst:
                worst = wrong
                freed = j
        if freed < 0:
            return k
        free[k] = freed
        k += 1
    return -1


# The factor is upper triangular and is inverted as a triangle: the fit takes four fifths of the
# time that it takes with the growing factor of `codes.cholesky`.
@jit
def factor(M, free, k, A):
    """Factor the part of M in the free cells as ``U'U``, with U in the upper triangle of A."""
    for a in range(k):
        for b in range(a, k):
            A[a, b] = M[free[a], free[b]]
    for a in range(k):
        scale = 1.0 / np.sqrt(max(A[a, a], TINY))
        for b in range(a, k):
            A[a, b] *= scale
        for c in range(a + 1, k):
            share = A[a, c]
            for b in range(c, k):
                A[c, b] -= share * A[a, b]


@jit
def solve(A, d, k):
    """Solve ``U'U x = d`` in place, with U in the upper triangle of A."""
    for a in range(k):
        d[a] /= A[a, a]
        for b in range(a + 1, k):
            d[b] -= A[a, b] * d[a]
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            d[a] -= A[a, b] * d[b]
        d[a] /= A[a, a]


@jit
def invert(A, k):
    """Write the inverse of ``U'U`` into the lower triangle of A, with U in the upper one."""
    # the lower triangle of A, transposed, becomes the inverse of U; then its product
    for a in range(k - 1, -1, -1):
        scale = 1.0 / A[a, a]
        A[a, a] = scale
        for b in range(k - 1, a, -1):
            s = 0.0
            for c in range(a + 1, b + 1):
                s += A[a, c] * A[c, b]
            A[a, b] = -scale * s
    for b in range(k):
        for a in range(b + 1):
            s = 0.0
            for c in range(b, k):
                s += A[a, c] * A[b, c]
            A[a, b] = s


@jit
def weigh(T, Y, starts, columns, squares, inverses):
    """Add up ``w_i y_i'``, where w_i is the inverse times t_i in free cells, and 0 elsewhere."""
    n, p = T.shape
    H = np.zeros((p, p))
    for i in range(n):
        first = starts[i]
        k = starts[i + 1] - first
        corner = squares[i]
        for a in range(k):
            w = 0.0
            for b in range(k):
                w += inverses[corner + a * k + b] * T[i, columns[first + b]]
            j = columns[first + a]
            for b in range(p):
                H[j, b] += w * Y[i, b]
    return H
