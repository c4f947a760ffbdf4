"""Least absolute deviations and Huber regression of many rows on the same few components."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit
from skmoderndata._solvers.lowrank.principal_component_pursuit import update_rows

Array = np.ndarray[Any, np.dtype[Any]]

FINISH_AFTER = 50  # passes before the rows still under way are finished exactly
RELAX_AFTER, RELAXATION = 40, 1.6
RIDGE = 1e-12  # of a Newton step, where the cells inside do not determine the scores
TINY = float(np.finfo(float).tiny)


class ScoresResult(NamedTuple):
    """Scores of rows on fixed components, and how well each row converged."""

    scores: Array
    residual: Array
    deficient: Array
    n_iter: int


def robust_scores(
    X: Array,
    components: Array,
    *,
    width: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> ScoresResult:
    """Minimise ``sum_j h(x_j - (a components)_j)`` over the scores `a` of every row of X (m, p).

    `h` is the absolute value, or for ``width > 0`` the Huber function that is quadratic up to
    `width`; the components are orthonormal rows (r, p), and entries that are NaN do not count. The
    alternating direction method of multipliers runs on all rows at once, each with a penalty of
    its own, and a row leaves when its primal and dual residuals are below `tol`, so that its
    answer does not depend on the others. It is fast where most residuals vanish; with noise it
    slows down near the optimum, and from time to time the rows under way are handed to a simplex
    descent (absolute value) or to Newton steps (Huber), which end at the exact optimum or leave
    the row as it is. `deficient` marks the rows whose observed entries do not determine the
    scores: these have minimum norm.
    """
    m, r = len(X), len(components)
    scores, reached = np.zeros((m, r)), np.zeros(m)
    V = np.ascontiguousarray(components.T)
    observed = ~np.isnan(X)
    inverses, deficient = _row_inverses(V, observed)
    if r == 0:
        return ScoresResult(scores, reached, deficient, 0)
    filled = np.where(observed, X, 0.0)
    # every row at scale one, or at the scale of the Huber function; rows of zeros have scores 0
    row_scale = np.abs(filled).max(axis=1)
    active = np.flatnonzero(row_scale > 0)
    if width > 0:
        row_scale, width = np.full(m, width), 1.0
    X = X[active] / row_scale[active, None]
    W = filled[active] / row_scale[active, None]
    Y = np.zeros_like(X)
    inverses = None if inverses is None else inverses[active]
    A = _solve_rows(W, V, inverses, np.zeros((active.size, r)))
    L = A @ components
    spread = np.abs(np.where(observed[active], X - L, 0.0)).sum(axis=1)
    spread /= observed[active].sum(axis=1)
    # rows that the components fit exactly need no scale: any positive penalty will do
    mu = 1 / np.maximum(spread, 1e-12)
    n_iter, next_finish = 0, FINISH_AFTER
    for n_iter in range(1, max_iter + 1):
        if active.size == 0:
            break
        sums = np.empty((active.size, 4))
        relax = 1.0 if n_iter <= RELAX_AFTER else RELAXATION
        update_rows(X, L, Y, W, mu, mu, 1.0, width, relax, sums)
        A = _solve_rows(W, V, inverses, A)
        L_new = A @ components
        size = np.maximum(linalg.norm(A, axis=1), 1e-3)
        primal = np.sqrt(sums[:, 0]) / size
        dual = linalg.norm(L_new - L, axis=1) / size
        L = L_new
        residual: Array = np.maximum(primal, dual)
        done = np.asarray(residual <= tol)
        if n_iter == next_finish and not done.all():
            next_finish *= 2
            # a vertex would use directions that a deficient row does not determine
            todo = np.flatnonzero(~done & ~deficient[active])
            finished, exact = _finish(X[todo], V, A[todo], width)
            todo = todo[exact]
            A[todo], residual[todo], done[todo] = finished[exact], 0.0, True
        if n_iter == max_iter:
            done[:] = True
        if n_iter % 5 == 0 and not done.all():
            ratio = np.sqrt(primal / np.maximum(dual, TINY))
            ratio[(ratio > 0.5) & (ratio < 2)] = 1.0
            mu_next = mu * np.clip(ratio, 0.5, 2.0) ** (1 / (1 + n_iter / 100))
            W += np.where(np.isnan(X), 0.0, Y * (1 / mu_next - 1 / mu)[:, None])
            mu = mu_next
        if done.any():
            scores[active[done]] = A[done] * row_scale[active[done], None]
            reached[active[done]] = residual[done]
            stay = ~done
            active, X, Y, W, L, A, mu = (part[stay] for part in (active, X, Y, W, L, A, mu))
            inverses = None if inverses is None else inverses[stay]
    return ScoresResult(scores, reached, deficient, n_iter)


def _row_inverses(V: Array, observed: Array) -> tuple[Array | None, Array]:
    """Pseudo-inverse Gram matrices of the observed rows of V, and which were singular.

    The first is None when everything is observed, the Gram matrix being the identity.
    """
    m, r = len(observed), V.shape[1]
    if observed.all():
        return None, np.zeros(m, bool)
    patterns, index = np.unique(np.packbits(observed, axis=1), axis=0, return_inverse=True)
    masks = np.unpackbits(patterns, axis=1, count=V.shape[0]).astype(bool)
    grams = np.empty((len(masks), r, r))
    for gram, mask in zip(grams, masks, strict=True):
        seen = V[mask]
        gram[...] = seen.T @ seen
    values, Q = np.linalg.eigh(grams)
    kept: Array = np.asarray(values > 1e-10)
    inverse_values = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    inverses = (Q * inverse_values[:, None, :]) @ Q.transpose(0, 2, 1)
    index = index.ravel()
    singular: Array = np.asarray(~kept.all(axis=1))
    return inverses[index], singular[index]


def _solve_rows(W: Array, V: Array, inverses: Array | None, A_old: Array) -> Array:
    """Least-squares scores of the observed part of W, which repeats ``A_old V'`` elsewhere."""
    A: Array = W @ V
    if inverses is not None:
        A = A_old + np.matmul((A - A_old)[:, None, :], inverses)[:, 0]
    return A


def _finish(X: Array, V: Array, A: Array, width: float) -> tuple[Array, Array]:
    """Exact optima from starts near them, and a mask of the rows whose optimum is proved."""
    if width > 0:
        return _huber_newton(X, V, A, width)
    finished, exact = A.copy(), np.zeros(len(A), np.bool_)
    # the smallest residuals make the first basis; those of missing cells (NaN) are last
    order = np.argsort(np.abs(X - A @ V.T), axis=1)
    _absolute_descent(X, V, order, finished, exact)
    return finished, exact


@jit
def _invert(M, out):
    """Gauss-Jordan elimination with row pivoting; False when M (overwritten) is singular."""
    r = M.shape[0]
    for i in range(r):
        for j in range(r):
            out[i, j] = 1.0 if i == j else 0.0
    for k in range(r):
        pivot = k
        for i in range(k + 1, r):
            if abs(M[i, k]) > abs(M[pivot, k]):
                pivot = i
        if abs(M[pivot, k]) < 1e-13:
            return False
        for j in range(r):
            M[k, j], M[pivot, j] = M[pivot, j], M[k, j]
            out[k, j], out[pivot, j] = out[pivot, j], out[k, j]
        scale = 1.0 / M[k, k]
        for j in range(r):
            M[k, j] *= scale
            out[k, j] *= scale
        for i in range(r):
            factor = M[i, k]
            if i != k and factor != 0.0:
                for j in range(r):
                    M[i, j] -= factor * M[k, j]
                    out[i, j] -= factor * out[k, j]
    return True


@jit
def _choose_basis(V, order, n_cells, basis):
    """Take cells in the given order whose rows of V are independent; False if too few are."""
    r = V.shape[1]
    directions = np.empty((r, r))
    row = np.empty(r)
    count = 0
    for c in range(n_cells):
        size = 0.0
        for j in range(r):
            row[j] = V[order[c], j]
            size += row[j] * row[j]
        for _ in range(2):
            for i in range(count):
                product = 0.0
                for j in range(r):
                    product += row[j] * directions[i, j]
                for j in range(r):
                    row[j] -= product * directions[i, j]
        left = 0.0
        for j in range(r):
            left += row[j] * row[j]
        if left > 1e-6 * size and left > 1e-20:
            for j in range(r):
                directions[count, j] = row[j] / np.sqrt(left)
            basis[count] = order[c]
            count += 1
            if count == r:
                return True
    return False


@jit
def _absolute_descent(X, V, order, A, exact):
    """Descend from vertex to vertex of ``|x - V a|_1``, row by row, in place.

    At a vertex r residuals vanish, those of the basis. It is optimal when the multipliers that
    balance the signs of the other residuals are in [-1, 1]; otherwise the cell with the largest
    leaves and a weighted median of break points says which enters (Barrodale and Roberts 1973).
    """
    p, r = V.shape
    basis = np.empty(r, np.int64)
    out = np.empty(p, np.bool_)  # missing, or in the basis
    residual = np.empty(p)
    slope_of = np.empty(p)
    inverse = np.empty((r, r))
    matrix = np.empty((r, r))
    a = np.empty(r)
    pull = np.empty(r)
    for i in range(X.shape[0]):
        n_cells = 0
        scale = 0.0
        for c in range(p):
            out[c] = X[i, c] != X[i, c]
            if not out[c]:
                n_cells += 1
                scale = max(scale, abs(X[i, c]))
        if n_cells < r or not _choose_basis(V, order[i], n_cells, basis):
            continue
        for k in range(r):
            out[basis[k]] = True
        proved = False
        for step in range(20 * r + 100):
            if step % 25 == 0:
                for k in range(r):
                    for j in range(r):
                        matrix[k, j] = V[basis[k], j]
                if not _invert(matrix, inverse):
                    break
            for j in range(r):
                pull[j] = 0.0
                a[j] = 0.0
                for k in range(r):
                    a[j] += inverse[j, k] * X[i, basis[k]]
            for c in range(p):
                if out[c]:
                    continue
                e = X[i, c]
                for j in range(r):
                    e -= V[c, j] * a[j]
                residual[c] = e if abs(e) > 1e-13 * scale else 0.0
                if residual[c] != 0.0:
                    for j in range(r):
                        pull[j] += V[c, j] if e > 0.0 else -V[c, j]
            leaving = 0
            largest = 0.0
            for k in range(r):
                multiplier = 0.0
                for j in range(r):
                    multiplier -= inverse[j, k] * pull[j]
                if abs(multiplier) > abs(largest):
                    largest = multiplier
                    leaving = k
            if abs(largest) <= 1.0 + 1e-10:
                proved = True
                break
            direction = -1.0 if largest > 0.0 else 1.0
            slope = 1.0 - abs(largest)
            for c in range(p):
                if out[c]:
                    continue
                slope_of[c] = 0.0
                for j in range(r):
                    slope_of[c] += direction * V[c, j] * inverse[j, leaving]
                if residual[c] == 0.0:
                    slope += abs(slope_of[c])
            # a slope that is not negative: blocked by residuals that vanish outside the basis
            entering = -1
            last = 0.0
            while slope < 0.0:
                nearest = np.inf
                entering = -1
                for c in range(p):
                    if not out[c] and residual[c] * slope_of[c] > 0.0:
                        time = residual[c] / slope_of[c]
                        if last < time < nearest:
                            nearest = time
                            entering = c
                if entering < 0:
                    break
                slope += 2.0 * abs(slope_of[entering])
                last = nearest
            if entering < 0:
                break
            out[basis[leaving]] = False
            out[entering] = True
            basis[leaving] = entering
            # row `leaving` of the basis matrix became v: Sherman-Morrison
            pivot = direction * slope_of[entering]
            for k in range(r):
                if k == leaving:
                    continue
                factor = 0.0
                for j in range(r):
                    factor += V[entering, j] * inverse[j, k]
                factor /= pivot
                for j in range(r):
                    inverse[j, k] -= factor * inverse[j, leaving]
            for j in range(r):
                inverse[j, leaving] /= pivot
        if proved:
            for j in range(r):
                A[i, j] = a[j]
            exact[i] = True


def _huber_newton(X: Array, V: Array, A: Array, width: float) -> tuple[Array, Array]:
    """Newton's method for the Huber loss of each row; exact once no cell changes sides.

    With the cells split into those inside the quadratic part and those on either side of it the
    optimum is a linear system.
    """
    r = V.shape[1]
    squares = (V[:, :, None] * V[:, None]).reshape(len(V), r * r)
    A, sides, exact = A.copy(), np.full(X.shape, 2.0), np.zeros(len(A), dtype=bool)
    for _ in range(50):
        todo = np.flatnonzero(~exact)
        E = X[todo] - A[todo] @ V.T
        new = np.where(np.abs(E) <= width, 0.0, np.sign(E))  # NaN where missing
        exact[todo] = ((new == sides[todo]) | np.isnan(E)).all(axis=1)
        if exact.all():
            break
        sides[todo] = new
        G = ((new == 0) @ squares).reshape(-1, r, r) + RIDGE * np.eye(r)
        slope = np.nan_to_num(np.clip(E, -width, width)) @ V
        A[todo] += np.linalg.solve(G, slope[:, :, None])[:, :, 0]
    return A, exact
