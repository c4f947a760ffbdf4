"""Sparse codes from few linear measurements, with a matrix or without.

``y ~ A a`` with few non-zeros in a. Where the matrix and the inner products of its columns fit in
memory, the compiled coders do the work; otherwise the same algorithms run on products with A and
its transpose alone, and least squares on a support is solved by conjugate gradients.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.basis_pursuit import basis_pursuit, pursuit_atoms
from skmoderndata._solvers.hard_thresholding import METHODS as PRUNING
from skmoderndata._solvers.hard_thresholding import hard_thresholding
from skmoderndata._solvers.measurements import Operator, columns_of, to_matrix
from skmoderndata._solvers.pursuit import orthogonal_matching_pursuit
from skmoderndata._solvers.signal_blocks import MAX_ITER, prepare_atoms, to_dense

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("omp", "basis_pursuit", *PRUNING)
EPS = float(np.finfo(np.float64).eps)
DENSE_COLUMNS = 2048  # with more, and few signals, inner products of all columns do not pay
NORM_COLUMNS = 20_000  # with more, norms of columns are not computed


class Recovery(NamedTuple):
    """Codes (N, k), norms of residuals (N,), relative duality gaps (NaN: none), steps, who ended.

    `done` is False where the limit of steps was met first.
    """

    codes: Array
    residual: Array
    gap: Array
    n_iter: Array
    done: Array


def recover(
    Y: Array,
    A: Operator,
    *,
    method: str,
    n_nonzero: int | None = None,
    noise_bound: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    memory: float = 2.0**30,
    n_jobs: int | None = None,
) -> Recovery:
    """Codes of which A gives the measurements `Y` (N, m), up to `noise_bound` in norm.

    Parameters
    ----------
    method : str
        "basis_pursuit": ``min |a|_1  s.t.  |y - A a| <= noise_bound`` (0 if None). The others
        look for the least residual with `n_nonzero` non-zeros, and stop when it is within the
        bound: "omp", "iht", "htp", "cosamp", "subspace_pursuit". Without `n_nonzero`, "omp" goes
        on to the bound, or to a quarter of m, as many as the others use.
    tol : float
        Relative duality gap and violation for basis pursuit.
    max_iter : int
        Steps of the primal-dual iteration for basis pursuit without a matrix.
    memory : float
        Bytes for the matrix and its inner products.
    """
    m, k = A.shape
    room = 8.0 * k * (m + 2.0 * k) <= memory
    if n_nonzero is None:
        pursuing = method == "omp" and noise_bound is not None
        n_nonzero = min(m, k) if pursuing else max(1, m // 4)
    n_nonzero = min(n_nonzero, m, k)
    if room and (k <= DENSE_COLUMNS or len(Y) >= 16):
        return _with_matrix(Y, to_matrix(A), method, n_nonzero, noise_bound, tol, n_jobs)
    return _without_matrix(Y, A, method, n_nonzero, noise_bound, tol, max_iter, n_jobs)


def _with_matrix(
    Y: Array,
    A: Array,
    method: str,
    n_nonzero: int,
    noise_bound: float | None,
    tol: float,
    n_jobs: int | None,
) -> Recovery:
    N, k = len(Y), A.shape[1]
    if method != "basis_pursuit":
        bounds = np.full(N, -1.0 if noise_bound is None else float(noise_bound) ** 2)
        atoms = prepare_atoms(A.T, normalize=True, distinct=True)
        if method == "omp":
            found = orthogonal_matching_pursuit(
                Y, atoms, n_nonzero=n_nonzero, tol_sq=bounds, n_jobs=n_jobs
            )
        else:
            found = hard_thresholding(
                Y, atoms, method=method, n_nonzero=n_nonzero, tol_sq=bounds, max_iter=300,
                n_jobs=n_jobs,
            )  # fmt: skip
        codes, residual = to_dense(found, k), np.sqrt(found.residual_sq)
        sizes = np.linalg.norm(Y, axis=1)
        nothing = np.zeros(N, np.bool_) if noise_bound is None else sizes <= noise_bound
        codes[nothing], residual[nothing] = 0.0, sizes[nothing]
        return Recovery(
            codes, residual, np.full(N, np.nan), found.n_iter, (found.stop != MAX_ITER) | nothing
        )
    ready = pursuit_atoms(A)
    bound = 0.0 if noise_bound is None else float(noise_bound)
    # equations that cannot be met: the nearest that can
    targets = _reachable(Y, A) if bound == 0 else Y

    def solve(i: int) -> tuple[Array, float, float, int, bool]:
        result = basis_pursuit(A, targets[i], bound=bound, tol=tol, atoms=ready)
        if result is None:
            raise ValueError(
                f"no coefficients reproduce the measurements to within noise_bound={bound:g}: "
                "raise noise_bound, or set it to None for the smallest residual."
            )
        residual = float(np.linalg.norm(Y[i] - A @ result.coef))
        return result.coef, residual, result.gap, result.n_iter, result.gap <= tol

    return _gather(_each(solve, N, n_jobs), N, k)


def _reachable(Y: Array, A: Array) -> Array:
    """Projections of the measurements on the range of A."""
    U, s, _ = linalg.svd(A, full_matrices=False, check_finite=False)
    U = U[:, s > s.max(initial=0.0) * max(A.shape) * EPS]
    if U.shape[1] == A.shape[0]:
        return Y
    return np.asarray((Y @ U) @ U.T)


def _without_matrix(
    Y: Array,
    A: Operator,
    method: str,
    n_nonzero: int,
    noise_bound: float | None,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> Recovery:
    bound = 0.0 if noise_bound is None else float(noise_bound)
    scale = _column_scale(A) if method != "basis_pursuit" else np.ones(A.shape[1])
    norm = _operator_norm(A) if method == "basis_pursuit" else 1.0

    def times(a: Array) -> Array:
        return np.asarray(A.forward((a * scale)[None])[0])

    def cross(r: Array) -> Array:
        return np.asarray(A.adjoint(r[None])[0] * scale)

    def solve(i: int) -> tuple[Array, float, float, int, bool]:
        y = np.asarray(Y[i], dtype=np.float64)
        size = float(np.linalg.norm(y))
        if size <= bound:
            proved = 0.0 if method == "basis_pursuit" else np.nan
            return np.zeros(A.shape[1]), size, proved, 0, True
        y, least = y / size, max(bound / size, 1e-14)
        if method == "basis_pursuit":
            a, gap, steps, done = _primal_dual(y, A, bound / size, norm, tol, max_iter)
        elif method == "omp":
            a, steps, done = _omp(y, A, scale, cross, n_nonzero, least)
            gap = np.nan
        else:
            a, steps, done = _prune(y, times, cross, method, n_nonzero, least)
            gap = np.nan
        residual = size * float(np.linalg.norm(y - times(a)))
        return size * a * scale, residual, gap, steps, done

    return _gather(_each(solve, len(Y), n_jobs), len(Y), A.shape[1])


def _each(solve: Callable[[int], Any], count: int, n_jobs: int | None) -> list[Any]:
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(solve)(i) for i in range(count)))


def _gather(found: list[Any], N: int, k: int) -> Recovery:
    if not found:
        empty = np.zeros(0)
        return Recovery(np.zeros((N, k)), empty, empty, np.zeros(0, int), np.zeros(0, bool))
    codes, residual, gap, steps, done = zip(*found, strict=True)
    return Recovery(
        np.array(codes), np.array(residual), np.array(gap), np.array(steps), np.array(done)
    )


def _column_scale(A: Operator) -> Array:
    """One over the norms of the columns, 0 for columns of zeros; 1 where there are very many."""
    k = A.shape[1]
    if k > NORM_COLUMNS:
        return np.ones(k)
    norms = np.empty(k)
    for first in range(0, k, 256):
        which = np.arange(first, min(first + 256, k))
        norms[which] = np.linalg.norm(columns_of(A, which), axis=0)
    used = norms > 1e-12 * norms.max(initial=0.0)
    return np.divide(1.0, norms, out=np.zeros(k), where=used)


def _operator_norm(A: Operator) -> float:
    """Upper bound of the spectral norm, tight to some percent."""
    v = np.random.RandomState(0).normal(size=(1, A.shape[1]))
    value = 0.0
    for _ in range(50):
        size = float(np.linalg.norm(v))
        if size == 0:
            return 1.0
        w = A.adjoint(A.forward(v / size))
        former, value = value, float(np.linalg.norm(w))
        v = w
        if abs(value - former) <= 1e-6 * value:
            return 1.0001 * float(np.sqrt(value))
    return 1.02 * float(np.sqrt(value))


def _omp(
    y: Array,
    A: Operator,
    scale: Array,
    cross: Callable[[Array], Array],
    n_nonzero: int,
    bound: float,
) -> tuple[Array, int, bool]:
    """Orthogonal matching pursuit; chosen columns are kept orthonormal [Gram-Schmidt, twice]."""
    m, k = A.shape
    Q, R = np.zeros((m, n_nonzero)), np.zeros((n_nonzero, n_nonzero))
    h = np.zeros(n_nonzero)
    chosen: list[int] = []
    r = y.copy()
    banned = scale == 0
    steps = 0
    while len(chosen) < n_nonzero and float(np.linalg.norm(r)) > bound:
        steps += 1
        c = np.abs(cross(r))
        c[banned] = 0.0
        best = int(np.argmax(c))
        if c[best] <= 100 * EPS:
            break
        banned[best] = True
        t = len(chosen)
        v = columns_of(A, np.array([best]))[:, 0] * scale[best]
        for _ in range(2):
            w = Q[:, :t].T @ v
            v = v - Q[:, :t] @ w
            R[:t, t] += w
        R[t, t] = np.linalg.norm(v)
        if R[t, t] <= 1e-5:  # in the span of the others
            R[: t + 1, t] = 0.0
            continue
        Q[:, t] = v / R[t, t]
        h[t] = Q[:, t] @ r
        r = r - h[t] * Q[:, t]
        chosen.append(best)
    t = len(chosen)
    a = np.zeros(k)
    a[chosen] = linalg.solve_triangular(R[:t, :t], h[:t], check_finite=False)
    return a, max(1, steps), True


def _prune(
    y: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    method: str,
    s: int,
    bound: float,
    max_iter: int = 300,
) -> tuple[Array, int, bool]:
    """NIHT, HTP, CoSaMP and subspace pursuit; the best code met, with least squares on it."""
    a = np.zeros(len(cross(y)))
    r = y
    best_a, best = a, float(np.linalg.norm(y))
    support = np.zeros(0, np.int64)
    done, steps, idle = False, 0, 0
    while steps < max_iter and not done:
        if best <= bound:
            done = True
            break
        steps += 1
        c = cross(r)
        if method in ("iht", "htp"):
            if support.size == 0 or method == "htp":
                support = _largest(c, s)
            g = np.zeros_like(c)
            g[support] = c[support]
            below = float(np.square(times(g)).sum())
            above = float(g @ g)
            if above <= EPS**2 or below == 0:
                done = True
                break
            mu = above / below
            for _ in range(60):
                new_support = _largest(a + mu * c, s)
                new = np.zeros_like(a)
                new[new_support] = (a + mu * c)[new_support]
                if method == "htp" or np.array_equal(new_support, support):
                    break
                change = new - a
                curve = float(np.square(times(change)).sum())
                if curve <= 0 or mu <= 0.99 * float(change @ change) / curve:
                    break
                mu /= 2 * 0.99
            if method == "htp":
                new = _restricted(y, times, cross, new_support, a)
        else:
            wide = np.union1d(np.flatnonzero(a), _largest(c, 2 * s if method == "cosamp" else s))
            if wide.size >= len(y):
                order = np.argsort(-np.abs(c[wide]) - 1e300 * (a[wide] != 0), kind="stable")
                wide = np.sort(wide[order[: max(1, len(y) - 1)]])
            fitted = _restricted(y, times, cross, wide, a)
            new_support = _largest(fitted, s)
            if method == "cosamp":
                new = np.zeros_like(a)
                new[new_support] = fitted[new_support]
            else:
                new = _restricted(y, times, cross, new_support, fitted)
        former = float(np.linalg.norm(r))
        same = np.array_equal(np.flatnonzero(new), np.flatnonzero(a))
        a, support = new, new_support
        r = y - times(a)
        size = float(np.linalg.norm(r))
        idle += 1
        if size < best * (1 - 1e-10):
            best_a, best, idle = a, size, 0
        if method == "iht":
            if abs(former - size) <= 1e-8 * max(size, 1e-14):
                done = True
                break
        elif same or idle >= 30 or (method != "htp" and size >= former):
            done = True
            break
    a = _restricted(y, times, cross, np.flatnonzero(best_a), best_a)
    return a, max(1, steps), done


def _largest(c: Array, s: int) -> Array:
    """Places of the `s` largest magnitudes that are not zero, ascending; the first of ties."""
    size = np.abs(c)
    order = np.argsort(-size, kind="stable")[:s]
    return np.sort(order[size[order] > 0])


def _restricted(
    y: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    support: Array,
    start: Array,
) -> Array:
    """Least squares on a support, by conjugate gradients from the values of `start` there."""
    a = np.zeros_like(start)
    a[support] = start[support]
    r = y - times(a)
    g = np.zeros_like(a)
    g[support] = cross(r)[support]
    p, gg = g.copy(), float(g @ g)
    goal = (1e-14**2) * max(gg, float(np.square(cross(y)[support]).sum()))
    for _ in range(2 * len(support) + 10):
        if gg <= goal:
            break
        q = times(p)
        qq = float(q @ q)
        if qq <= 0:
            break
        step = gg / qq
        a += step * p
        r = r - step * q
        g[support] = cross(r)[support]
        former, gg = gg, float(g @ g)
        p = g + (gg / former) * p
    return a


def _restricted_equations(
    wanted: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    support: Array,
) -> Array:
    """Solve ``A_I' A_I v = wanted`` on a support by conjugate gradients."""
    v = np.zeros_like(wanted)
    r = wanted.copy()
    p, rr = r.copy(), float(r @ r)
    goal = 1e-28 * rr
    for _ in range(2 * len(support) + 10):
        if rr <= goal:
            break
        q = times(p)
        qq = float(q @ q)
        if qq <= 0:
            break
        step = rr / qq
        v += step * p
        r[support] -= step * cross(q)[support]
        former, rr = rr, float(r @ r)
        p = r + (rr / former) * p
    return v


def _primal_dual(
    y: Array, A: Operator, bound: float, norm: float, tol: float, max_iter: int
) -> tuple[Array, float, int, bool]:
    """Solve ``min |a|_1  s.t.  |y - A a| <= bound`` by products with A alone.

    Primal-dual iteration [Chambolle and Pock 2011], over-relaxed, its two step lengths balanced.
    Its support and signs give the exact solution once they are right; very sparse solutions are
    found before by `_continuation`.
    """
    k = A.shape[1]
    a, q = np.zeros(k), np.zeros(len(y))
    slopes = A.adjoint(y[None])[0]
    top = float(np.abs(slopes).max(initial=0.0))
    if top == 0:
        return a, 0.0, 1, False
    quick, taken = _continuation(y, A, bound, norm, top, tol)
    if quick is not None:
        return quick[0], quick[1], taken, True
    # the lengths of the solution and of its dual are about as one to the root of the non-zeros
    ratio = 0.3 * float(np.linalg.norm(slopes)) / norm / np.sqrt(len(y))
    adapt, best, best_a, best_gap = 0.5, np.inf, a, np.inf
    former = np.zeros(0, np.int64)
    step = 0
    for step in range(1, max_iter + 1):
        tau, sigma = ratio / norm, 0.99 / (ratio * norm)
        v = a - tau * A.adjoint(q[None])[0]
        new_a = v - np.clip(v, -tau, tau)
        w = q + sigma * (A.forward((2 * new_a - a)[None])[0] - y)
        new_q = w
        if bound > 0:
            size = float(np.linalg.norm(w))
            new_q = w * max(0.0, 1 - sigma * bound / size) if size > 0 else w
        moved = float(np.linalg.norm(new_a - a)) / tau
        turned = float(np.linalg.norm(new_q - q)) / sigma
        a, q = a + 1.8 * (new_a - a), q + 1.8 * (new_q - q)
        if step % 10 == 0 and adapt > 0.01:
            if moved > 20 * norm * turned:
                ratio, adapt = ratio / (1 - adapt), 0.95 * adapt
            elif norm * turned > 20 * moved:
                ratio, adapt = ratio * (1 - adapt), 0.95 * adapt
        if step % 50 and step != max_iter:
            continue
        active = np.flatnonzero(new_a)
        settled = np.array_equal(active, former) or step == max_iter
        former = active
        if 0 < active.size <= len(y) and (settled or 2 * active.size <= len(y)):
            coef, gap, missed = _exact(y, A, active, np.sign(new_a[active]), bound)
            if gap + missed < best:
                best, best_a, best_gap = gap + missed, coef, gap
        gap, missed = _judge(y, A, new_a, -q, bound)
        if gap + missed < best:
            best, best_a, best_gap = gap + missed, new_a, gap
        if best <= tol:
            break
    if best <= tol:  # without the rest of the iteration, where that is not worse
        active = np.flatnonzero(np.abs(best_a) > 1e-6 * np.abs(best_a).max())
        if active.size <= len(y):
            coef, gap, missed = _exact(y, A, active, np.sign(best_a[active]), bound)
            if gap + missed <= best:
                best_a, best_gap = coef, gap
    return best_a, best_gap, step, best <= tol


def _continuation(
    y: Array, A: Operator, bound: float, norm: float, top: float, tol: float
) -> tuple[tuple[Array, float] | None, int]:
    """Lasso with a falling penalty, roughly, until its support and signs give the solution.

    Stretches of accelerated proximal gradient steps [Beck and Teboulle 2009]; the penalty halves
    while the residual is above the bound, and goes back half the way when it is below. None where
    no support is proved to be right. Also returns the steps taken.
    """
    lam, low, high = 0.5 * top, 0.0, top
    a = np.zeros(A.shape[1])
    former = np.zeros(0, np.int64)
    taken = 0
    for _ in range(25):
        point, t = a, 1.0
        for _ in range(12):
            v = point + A.adjoint((y - A.forward(point[None])[0])[None])[0] / norm**2
            new = v - np.clip(v, -lam / norm**2, lam / norm**2)
            if float((point - new) @ (new - a)) > 0:
                point, t = new, 1.0
            else:
                t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
                point, t = new + (t - 1) / t_new * (new - a), t_new
            a = new
            taken += 1
        active = np.flatnonzero(a)
        changed = np.setxor1d(active, former).size
        former = active
        if 0 < 2 * active.size <= len(y) and 5 * changed <= active.size:
            coef, gap, missed = _exact(y, A, active, np.sign(a[active]), bound)
            if gap + missed <= tol:
                return (coef, gap), taken
        if bound > 0 and float(np.linalg.norm(y - A.forward(a[None])[0])) < bound:
            low = lam
        else:
            high = lam
        lam = float(np.sqrt(low * high)) if low > 0 else 0.5 * high
        if lam < 1e-5 * top:
            break
    return None, taken


def _exact(
    y: Array, A: Operator, active: Array, signs: Array, bound: float
) -> tuple[Array, float, float]:
    """Solution with a given support and signs, and how far it is from optimal and feasible."""
    nothing = np.zeros(A.shape[1]), np.inf, np.inf
    if 2 * active.size <= len(y):  # well conditioned, or not the solution

        def times(a: Array) -> Array:
            return np.asarray(A.forward(a[None])[0])

        def cross(r: Array) -> Array:
            return np.asarray(A.adjoint(r[None])[0])

        fitted = _restricted(y, times, cross, active, np.zeros(A.shape[1]))
        wanted = np.zeros(A.shape[1])
        wanted[active] = signs
        inner = _restricted_equations(wanted, times, cross, active)
        dual, rest = times(inner), y - times(fitted)
    else:
        Q, R = linalg.qr(columns_of(A, active), mode="economic", check_finite=False)
        diagonal = np.abs(np.diagonal(R))
        if not diagonal.min() > 1e-11 * diagonal.max():
            return nothing
        fitted, inner = np.zeros(A.shape[1]), np.zeros(A.shape[1])
        fitted[active] = linalg.solve_triangular(R, Q.T @ y, check_finite=False)
        half = linalg.solve_triangular(R, signs, trans="T", check_finite=False)
        inner[active] = linalg.solve_triangular(R, half, check_finite=False)
        dual, rest = Q @ half, y - Q @ (Q.T @ y)
    end = 0.0
    if bound > 0:
        room = bound**2 - float(rest @ rest)
        if room < 0:
            return nothing
        end = float(np.sqrt(room) / np.linalg.norm(dual))
        dual = dual + rest / end if end > 0 else dual
    coef = fitted - end * inner
    return coef, *_judge(y, A, coef, dual, bound)


def _judge(y: Array, A: Operator, coef: Array, dual: Array, bound: float) -> tuple[float, float]:
    """Relative duality gap, and violation of the constraint (`y` is of unit norm)."""
    top = float(np.abs(A.adjoint(dual[None])).max(initial=0.0))
    v = dual / top if top > 1 else dual
    primal = float(np.abs(coef).sum())
    value = float(y @ v) - bound * float(np.linalg.norm(v))
    missed = max(0.0, float(np.linalg.norm(y - A.forward(coef[None])[0])) - bound)
    return (abs(primal - value) / primal if primal > 0 else np.inf), missed
