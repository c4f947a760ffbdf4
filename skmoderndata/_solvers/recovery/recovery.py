"""Sparse codes from few linear measurements, with a matrix or without.

``y ~ A a`` with few non-zeros in a. Where the matrix and the inner products of its columns fit in
memory, the compiled coders do the work; otherwise the same algorithms run on products with A and
its transpose alone, and least squares on a support is solved by conjugate gradients.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from skmoderndata._solvers.codes.greedy import (
    nonnegative_matching_pursuit,
    orthogonal_matching_pursuit,
)
from skmoderndata._solvers.codes.signal_blocks import MAX_ITER, Atoms, prepare_atoms, to_dense
from skmoderndata._solvers.codes.thresholding import METHODS as PRUNING
from skmoderndata._solvers.codes.thresholding import hard_thresholding
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.recovery.basis_pursuit import basis_pursuit, pursuit_atoms
from skmoderndata._solvers.recovery.l1_recovery import facts_of, least_l1
from skmoderndata._solvers.recovery.measurements import (
    Operator,
    columns_of,
    from_matrix,
    to_matrix,
)

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("omp", "basis_pursuit", *PRUNING)
EPS = float(np.finfo(np.float64).eps)
DENSE_COLUMNS = 2048  # with more, and few signals, inner products of all columns do not pay
PATH_COLUMNS = 256  # with fewer, the path is the fastest way to the least l1 norm
QUICK = 500  # pairs of products after which the path is the better way
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
WANDERING = 40  # gradient steps, after which it is computed whatever the support
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
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    memory: float = 2.0**30,
    n_jobs: int | None = None,
    progress: Progress | None = None,
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
        Products with A and its transpose, in pairs, for basis pursuit without a matrix.
    memory : float
        Bytes for the matrix and its inner products.
    progress : Progress or None
        Hears of every signal; of all as one where the compiled coders take them together. Signals
        after a stop have codes of zeros, and are not done.
    """
    m, k = A.shape
    room = 8.0 * k * (m + 2.0 * k) <= memory
    if n_nonzero is None:
        pursuing = method == "omp" and noise_bound is not None
        n_nonzero = min(m, k) if pursuing else max(1, m // 4)
    n_nonzero = min(n_nonzero, m, k)
    if room and (k <= DENSE_COLUMNS or len(Y) >= 16):
        return _with_matrix(
            Y, to_matrix(A), method, n_nonzero, noise_bound, positive, tol, n_jobs, progress
        )
    return _without_matrix(
        Y, A, method, n_nonzero, noise_bound, positive, tol, max_iter, n_jobs, progress
    )


def _with_matrix(
    Y: Array,
    A: Array,
    method: str,
    n_nonzero: int,
    noise_bound: float | None,
    positive: bool,
    tol: float,
    n_jobs: int | None,
    progress: Progress | None,
) -> Recovery:
    N, k = len(Y), A.shape[1]
    if method != "basis_pursuit":
        if progress is not None:
            progress.begin()
        bounds = np.full(N, -1.0 if noise_bound is None else float(noise_bound) ** 2)
        # opposite columns are one and the same unless signs matter
        used = _first_of_repeated(A) if positive else A
        atoms = prepare_atoms(used.T, normalize=True, distinct=not positive)
        if method == "omp":
            pursue = nonnegative_matching_pursuit if positive else orthogonal_matching_pursuit
            found = pursue(Y, atoms, n_nonzero=n_nonzero, tol_sq=bounds, n_jobs=n_jobs)
        else:
            found = hard_thresholding(
                Y, atoms, method=method, n_nonzero=n_nonzero, tol_sq=bounds, positive=positive,
                max_iter=300, n_jobs=n_jobs,
            )  # fmt: skip
        if progress is not None:
            progress.end()
        codes, residual = to_dense(found, k), np.sqrt(found.residual_sq)
        sizes = np.linalg.norm(Y, axis=1)
        nothing = np.zeros(N, np.bool_) if noise_bound is None else sizes <= noise_bound
        codes[nothing], residual[nothing] = 0.0, sizes[nothing]
        return Recovery(
            codes, residual, np.full(N, np.nan), found.n_iter, (found.stop != MAX_ITER) | nothing
        )
    bound = 0.0 if noise_bound is None else float(noise_bound)
    operator = from_matrix(A)
    facts = facts_of(operator) if k >= PATH_COLUMNS and not _repeats(A) else None
    share = Lock()
    ready: list[Atoms] = []
    projected: list[Array] = []

    def path_atoms() -> Atoms:  # only where a path is followed
        with share:
            if not ready:
                ready.append(pursuit_atoms(A))
        return ready[0]

    def targets() -> Array:  # equations that cannot be met: the nearest that can
        with share:
            if not projected:
                projected.append(_reachable(Y, A) if bound == 0 else Y)
        return projected[0]

    def solve(i: int) -> tuple[Array, float, float, int, bool]:
        y, size = Y[i], float(np.linalg.norm(Y[i]))
        if facts is not None and size > bound:
            quick = least_l1(
                y / size, operator, bound=bound / size, positive=positive, tol=tol,
                max_iter=QUICK, facts=facts, last_resort=False,
            )  # fmt: skip
            if quick.done:
                coef = size * quick.coef
                return coef, float(np.linalg.norm(Y[i] - A @ coef)), quick.gap, quick.n_iter, True
        y = targets()[i]
        size = float(np.linalg.norm(y))
        result = basis_pursuit(A, y, bound=bound, positive=positive, tol=tol, atoms=path_atoms())
        missed = result is None or result.residual > bound + tol * size
        if missed and positive and bound == 0:  # the nearest that can be met
            y = A @ optimize.nnls(A, y)[0]
            result = basis_pursuit(A, y, positive=True, tol=tol, atoms=path_atoms())
        if result is None:
            raise _out_of_reach(positive)
        residual = float(np.linalg.norm(Y[i] - A @ result.coef))
        return result.coef, residual, result.gap, result.n_iter, result.gap <= tol

    return _gather(_each(solve, N, n_jobs, progress), Y, k, method)


def _out_of_reach(positive: bool) -> ValueError:
    return ValueError(
        f"no {'non-negative ' * positive}coefficients reproduce the measurements to within "
        "noise_bound: raise it, or set it to None for the smallest residual."
    )


def _repeats(A: Array) -> bool:
    """Tell whether there may be equal columns, up to sign, by their products with a vector."""
    seen = np.sort(np.abs(np.random.RandomState(1).normal(size=len(A)) @ A))
    return bool((np.diff(seen) <= 1e-11 * seen[-1]).any())


def _first_of_repeated(A: Array) -> Array:
    """Return `A` with zeros for all but the first of equal columns."""
    if not _repeats(A):
        return A
    scale = np.abs(A).max(initial=0.0) or 1.0
    first = np.unique(np.round(A.T / scale, 12) + 0.0, axis=0, return_index=True)[1]
    out = np.zeros_like(A)
    out[:, first] = A[:, first]
    return out


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
    positive: bool,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    progress: Progress | None,
) -> Recovery:
    bound = 0.0 if noise_bound is None else float(noise_bound)
    scale = _column_scale(A) if method != "basis_pursuit" else np.ones(A.shape[1])
    facts = facts_of(A) if method == "basis_pursuit" else None

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
            found = least_l1(
                y,
                A,
                bound=bound / size,
                positive=positive,
                tol=tol,
                max_iter=max_iter,
                facts=facts,
            )
            if not found.reachable:
                raise _out_of_reach(positive)
            a, gap, steps, done = found.coef, found.gap, found.n_iter, found.done
        elif method == "omp":
            pursue = _nonnegative_omp if positive else _omp
            a, steps, done = pursue(y, A, scale, cross, n_nonzero, least)
            gap = np.nan
        else:
            if method == "iht":
                a, steps, done = _iterate(y, times, cross, n_nonzero, least, positive)
            else:
                a, steps, done = _prune(y, times, cross, method, n_nonzero, least, positive)
            gap = np.nan
        residual = size * float(np.linalg.norm(y - times(a)))
        return size * a * scale, residual, gap, steps, done

    return _gather(_each(solve, len(Y), n_jobs, progress), Y, A.shape[1], method)


def _each(
    solve: Callable[[int], Any], count: int, n_jobs: int | None, progress: Progress | None
) -> list[Any]:
    """Results for signals, in order; fewer where the progress asks to stop."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results = parallel(delayed(solve)(i) for i in range(count))
    if progress is None:
        return list(results)
    found = []
    for _ in range(count):
        progress.begin()
        found.append(next(results))
        if progress.end():
            results.close()
            break
    return found


def _gather(found: list[Any], Y: Array, k: int, method: str) -> Recovery:
    if len(Y) == 0:
        empty = np.zeros(0)
        return Recovery(np.zeros((0, k)), empty, empty, np.zeros(0, int), np.zeros(0, bool))
    unproved = 1.0 if method == "basis_pursuit" else np.nan
    for y in Y[len(found) :]:  # not begun
        found.append((np.zeros(k), float(np.linalg.norm(y)), unproved, 0, not y.any()))
    codes, residual, gap, steps, done = zip(*found, strict=True)
    return Recovery(
        np.array(codes), np.array(residual), np.array(gap), np.array(steps), np.array(done)
    )


def _column_scale(A: Operator) -> Array:
    """One over the norms of the columns, 0 for columns of zeros; over their mean for very many."""
    k = A.shape[1]
    if k > NORM_COLUMNS:
        return np.full(k, 1.0 / np.sqrt(facts_of(A).mean_sq))
    norms = np.empty(k)
    for first in range(0, k, 256):
        which = np.arange(first, min(first + 256, k))
        norms[which] = np.linalg.norm(columns_of(A, which), axis=0)
    used = norms > 1e-12 * norms.max(initial=0.0)
    return np.divide(1.0, norms, out=np.zeros(k), where=used)


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


def _nonnegative_omp(
    y: Array,
    A: Operator,
    scale: Array,
    cross: Callable[[Array], Array],
    n_nonzero: int,
    bound: float,
) -> tuple[Array, int, bool]:
    """Orthogonal matching pursuit, the column most like the residual without sign enters.

    Non-negative least squares on the chosen columns; those that get zero are given up, and may
    come again.
    """
    m, k = A.shape
    C, G = np.zeros((m, n_nonzero)), np.zeros((n_nonzero, n_nonzero))
    f, a = np.zeros(n_nonzero), np.zeros(n_nonzero)
    chosen = np.zeros(0, np.int64)
    r, best, steps = y, float(np.linalg.norm(y)), 0
    kept, kept_a = chosen, a[:0]
    while best > bound and len(chosen) < n_nonzero and steps < 3 * n_nonzero:
        steps += 1
        c = cross(r)
        c[chosen] = 0.0
        new = int(np.argmax(c))
        if c[new] <= 100 * EPS:
            break
        t = len(chosen)
        C[:, t] = columns_of(A, np.array([new]))[:, 0] * scale[new]
        chosen = np.append(chosen, new)
        G[t, : t + 1] = G[: t + 1, t] = C[:, t] @ C[:, : t + 1]
        f[t] = C[:, t] @ y
        a[t] = 1.0  # in the first support
        t += 1
        values = nnls(G[:t, :t], f[None, :t], start=a[None, :t]).Z[0]
        r = y - C[:, :t] @ values
        size = float(np.linalg.norm(r))
        if size >= best * (1 - 1e-12):
            break
        left = np.flatnonzero(values > 0)
        u = len(left)
        chosen, a[:u] = chosen[left], values[left]
        if u < t:
            C[:, :u], f[:u], G[:u, :u] = C[:, left], f[left], G[np.ix_(left, left)]
        best, kept, kept_a = size, chosen, a[:u].copy()
    out = np.zeros(k)
    out[kept] = kept_a
    return out, max(1, steps), steps < 3 * n_nonzero or best <= bound


def _prune(
    y: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    method: str,
    s: int,
    bound: float,
    positive: bool,
    max_iter: int = 300,
) -> tuple[Array, int, bool]:
    """HTP, CoSaMP and subspace pursuit; the best code met, with least squares on it."""

    def fit(support: Array, start: Array) -> Array:
        solve = _nonnegative if positive else _restricted
        return solve(y, times, cross, support, start)

    def largest(values: Array, count: int) -> Array:
        return _largest(np.maximum(values, 0.0) if positive else values, count)

    a = np.zeros(len(cross(y)))
    r = y
    best_a, best = a, float(np.linalg.norm(y))
    done, steps, idle = False, 0, 0
    while steps < max_iter and not done:
        if best <= bound:
            done = True
            break
        steps += 1
        c = cross(r)
        if method == "htp":  # least squares left no gradient on the support
            new_support = largest(a + c, s)
            new = fit(new_support, a)
        else:
            wide = np.union1d(np.flatnonzero(a), largest(c, 2 * s if method == "cosamp" else s))
            if wide.size >= len(y):
                order = np.argsort(-np.abs(c[wide]) - 1e300 * (a[wide] != 0), kind="stable")
                wide = np.sort(wide[order[: max(1, len(y) - 1)]])
            fitted = fit(wide, a)
            new_support = largest(fitted, s)
            if method == "cosamp":
                new = np.zeros_like(a)
                new[new_support] = fitted[new_support]
            else:
                new = fit(new_support, fitted)
        former = float(np.linalg.norm(r))
        same = np.array_equal(np.flatnonzero(new), np.flatnonzero(a))
        a = new
        r = y - times(a)
        size = float(np.linalg.norm(r))
        idle += 1
        if size < best * (1 - 1e-10):
            best_a, best, idle = a, size, 0
        if same or idle >= 30 or (method != "htp" and size >= former):
            done = True
            break
    a = fit(np.flatnonzero(best_a), best_a)
    return a, max(1, steps), done


def _iterate(
    y: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    s: int,
    bound: float,
    positive: bool,
    max_iter: int = 300,
) -> tuple[Array, int, bool]:
    """NIHT, to the limit of steps on one support after some of them; as the compiled one does."""

    def fit(support: Array, start: Array) -> Array:
        solve = _nonnegative if positive else _restricted
        return solve(y, times, cross, support, start)

    def largest(values: Array) -> Array:
        return _largest(np.maximum(values, 0.0) if positive else values, s)

    r, rest, tiny, rtol = y, float(y @ y), 100 * EPS, 1e-8
    a = np.zeros(len(cross(y)))
    best_a, best, last_fit = a, rest, np.inf
    support = np.zeros(0, np.int64)
    reach, repeated, since, fitted = 0.0, 0, 0, True
    done, steps = False, 0
    while steps < max_iter and not done:
        if best <= max(bound**2, tiny * EPS):
            done = True
            break
        steps += 1
        if repeated >= SETTLED or since >= WANDERING:
            a = fit(support, a)
            support = np.flatnonzero(a)
            fitted, repeated, since = True, 0, 0
        else:
            c = cross(r)
            base = largest(c) if fitted else support
            g = np.zeros_like(c)
            g[base] = c[base]
            above, below = float(g @ g), float(np.square(times(g)).sum())
            if above <= tiny * EPS or below <= 0:
                done = True
                break
            mu = above / below
            if fitted and support.size:  # as far as steps on the support reached
                mu = max(mu, reach)
            else:
                reach = max(mu, reach) if repeated else mu
            same = False
            for _ in range(60):
                trial = a + mu * c
                chosen = largest(trial)
                new = np.zeros_like(a)
                new[chosen] = trial[chosen]
                same = np.array_equal(chosen, support)
                if same or (support.size == 0 and np.array_equal(chosen, base)):
                    break
                change = new - a
                curve = float(np.square(times(change)).sum())
                if curve <= 0 or mu <= 0.99 * float(change @ change) / curve:
                    break
                mu /= 2 * 0.99
            repeated = repeated + 1 if same else 0
            if fitted and same:  # no support within reach is better
                done = True
                break
            a, support, fitted = new, chosen, False
            since += 1
        former = rest
        r = y - times(a)
        rest = float(r @ r)
        if rest < best:
            best_a, best = a, rest
        if fitted:
            done = last_fit - rest <= rtol * max(rest, tiny)
            last_fit = rest
        elif former - rest <= rtol * max(rest, tiny):
            repeated = SETTLED  # to the limit at once
    return fit(np.flatnonzero(best_a), best_a), max(1, steps), done


def _largest(c: Array, s: int) -> Array:
    """Places of the `s` largest magnitudes that are not zero, ascending; the first of ties."""
    size = np.abs(c)
    order = np.argsort(-size, kind="stable")[:s]
    return np.sort(order[size[order] > 0])


def _nonnegative(
    y: Array,
    times: Callable[[Array], Array],
    cross: Callable[[Array], Array],
    support: Array,
    start: Array,
) -> Array:
    """Non-negative least squares on a support: columns change sides until none wants to."""
    passive, a = support, np.maximum(start, 0.0)
    best_a, best = np.zeros_like(a), float(np.linalg.norm(y))
    for _ in range(20):
        while passive.size:
            a = _restricted(y, times, cross, passive, a)
            wrong = a[passive] < 0
            if not wrong.any():
                break
            passive = passive[~wrong]
        a = a if passive.size else np.zeros_like(a)
        r = y - times(a)
        size = float(np.linalg.norm(r))
        if size >= best * (1 - 1e-12):
            break
        best_a, best = a, size
        slopes = cross(r)
        outside = np.setdiff1d(support, passive)
        back = outside[slopes[outside] > 1e-10]
        if back.size == 0:
            break
        passive = np.union1d(passive, back)
    return best_a


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
