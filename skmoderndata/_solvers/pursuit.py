"""Greedy sparse coding of many signals with one dictionary.

Signals `x` and atoms `d_j` are rows; a code `a` stands for the signal ``a D = sum_j a_j d_j``.
"""

from typing import Any

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.signal_blocks import (
    ATOMS,
    BLOCK,
    MAX_ITER,
    RANK,
    STALL,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    dense_block,
    with_gram,
)

Array = np.ndarray[Any, np.dtype[Any]]

SPAN = 1e-10  # an atom whose part outside of the chosen ones is less (squared) lies in their span
BARRED = 1e-3  # an atom of which a mask leaves less (squared norm) would get a huge coefficient
EPS = float(np.finfo(float).eps)
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)


def orthogonal_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    optimised: bool = False,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Choose atoms one by one, and fit the signal by all chosen ones after each choice.

    Atom i with the largest ``|d_i^T r|`` enters, `r` being the residual of the least squares fit
    by the atoms chosen so far; ``optimised=True`` (optimised, or order-recursive, matching
    pursuit) takes instead the atom after which the residual is smallest. A signal is done when
    ``|r|^2 <= tol_sq``, or with `n_nonzero` atoms, or when nothing is left that could be fitted.

    With `q_t` the Gram-Schmidt vectors of the chosen atoms, ``u_t = D q_t`` and ``h_t = q_t x``
    follow from the Gram matrix: a progressive Cholesky factorisation in which each step costs one
    row of the Gram matrix and t rows of U [Rubinstein, Zibulevsky, Elad 2008].

    Parameters
    ----------
    X : array of shape (N, n)
        Finite numbers; entries that the mask hides are ignored.
    atoms : Atoms
        Of unit norm. Without `gram`, or with a mask, the vectors `q_t` themselves are used.
    n_nonzero : int
        Most atoms in a code.
    tol_sq : array of shape (N,)
        Bound for ``|r|^2``, never exceeded by a code that ends with reason "tol"; -1 for none.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    single : bool
        The codes will be rounded to single precision: the bound holds after that as well.
    """
    n_signals, n = X.shape
    cap = max(1, min(n_nonzero, n, len(atoms.rows)))
    rows = atoms.rows
    small, near = (1e-3, 1e-3) if single else (1e-6, 1e-9)
    explicit = mask is not None or atoms.gram is None
    transposed = np.ascontiguousarray(rows.T)
    squares = transposed**2 if explicit else transposed
    rough = single and X.dtype == np.float32
    halves = transposed.astype(np.float32) if rough else transposed
    eps = 2.0**-23 if rough else EPS

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        out = _empty_block(len(x), cap)
        bound = np.ascontiguousarray(tol_sq[part])
        if explicit:
            known = np.ones(x.shape) if mask is None else mask[part].astype(np.float64)
            x = np.where(known > 0, x, 0.0)
            left = known @ squares
            B = x @ transposed
            _omp_explicit(
                B,
                left,
                known,
                transposed,
                x,
                bound,
                n_nonzero,
                optimised,
                small,
                near,
                single,
                *out,
            )
        else:
            # in single precision the product is twice as fast, and as accurate as its input
            B = (X[part] @ halves).astype(np.float64) if rough else x @ transposed
            _omp(
                B, atoms.gram, rows, x, bound, n_nonzero, optimised, small, near, single, eps, *out
            )  # fmt: skip
        return _finish(out, atoms.norms)

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=_block_size(n))


def matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    positive: bool = False,
    max_iter: int | None = None,
    mask: Array | None = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Subtract from the residual its projection on the most correlated atom, again and again.

    An atom may be chosen several times; `n_nonzero` bounds the number of different ones and
    `max_iter` (None: ten times as many) the number of steps. With ``positive=True`` no step makes
    a coefficient negative. Parameters as in `orthogonal_matching_pursuit`.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: matching_pursuit(
                signals, masked, n_nonzero=n_nonzero, tol_sq=tol_sq[rows], positive=positive,
                max_iter=max_iter, n_jobs=n_jobs,
            ),
            renormalize=True,
            barred=BARRED,
        )  # fmt: skip
    atoms = with_gram(atoms)
    n_signals, n = X.shape
    cap = max(1, min(n_nonzero, len(atoms.rows)))
    transposed = np.ascontiguousarray(atoms.rows.T)
    limit = 10 * n_nonzero if max_iter is None else max_iter

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        out = _empty_block(len(x), cap)
        _mp(x @ transposed, atoms.gram, atoms.rows, x, tol_sq[part], cap, limit, positive, *out)
        return _finish(out, atoms.norms)

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=_block_size(n))


def nonnegative_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit with coefficients of at least zero.

    The atom with the largest positive ``d_i^T r`` enters, and the signal is fitted by non-negative
    least squares on the chosen atoms; an atom whose coefficient reaches zero leaves, and may
    return. At most ``3 * n_nonzero`` steps. Parameters as in `orthogonal_matching_pursuit`.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: nonnegative_matching_pursuit(
                signals, masked, n_nonzero=n_nonzero, tol_sq=tol_sq[rows], n_jobs=n_jobs
            ),
            renormalize=True,
            barred=BARRED,
        )
    atoms = with_gram(atoms)
    n_signals, n = X.shape
    cap = max(1, min(n_nonzero, n, len(atoms.rows)))
    transposed = np.ascontiguousarray(atoms.rows.T)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        out = _empty_block(len(x), cap)
        _nonnegative_omp(x @ transposed, atoms.gram, atoms.rows, x, tol_sq[part], n_nonzero, *out)
        return _finish(out, atoms.norms)

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=_block_size(n))


def group_matching_pursuit(
    X: Array,
    atoms: Atoms,
    groups: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit that takes whole groups of atoms.

    The group whose span holds the largest part of the residual enters, ``|Q_g^T r|`` with `Q_g` an
    orthonormal basis of the group; `n_nonzero` counts groups. `groups` (k,) holds the number of
    the group of each atom, 0, 1, ... Other parameters as in `orthogonal_matching_pursuit`.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: group_matching_pursuit(
                signals, masked, groups, n_nonzero=n_nonzero, tol_sq=tol_sq[rows], n_jobs=n_jobs
            ),
            renormalize=True,
            barred=BARRED,
        )
    n_signals, n = X.shape
    basis, start, back = _orthonormal_groups(atoms, groups)
    gram = basis @ basis.T
    widest = int(np.diff(start).max(initial=1))
    cap = max(1, min(n_nonzero * widest, n + widest, len(basis)))
    transposed = np.ascontiguousarray(basis.T)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        index, value, count, *rest = _empty_block(len(x), cap)
        _group_omp(
            x @ transposed, gram, basis, x, tol_sq[part], start, n_nonzero, index, value, count,
            *rest,
        )  # fmt: skip
        inner = np.zeros((len(x), len(basis)))
        for s in range(cap):
            taken = count > s
            inner[taken, index[taken, s]] = value[taken, s]
        residual_sq, stop, steps = rest
        gap = np.full(len(x), np.nan)
        return dense_block(inner @ back / atoms.norms, residual_sq, stop, gap, steps)

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=_block_size(n))


def _orthonormal_groups(atoms: Atoms, groups: Array) -> tuple[Array, Array, Array]:
    """Orthonormal bases of the spans of groups, where each begins, and the map back to codes."""
    bases, start, maps = [], [0], []
    for g in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == g)
        U, s, Vt = np.linalg.svd(atoms.rows[members], full_matrices=False)
        rank = int(np.count_nonzero(s > 1e-5 * max(s[0], 1e-300))) if s.size else 0
        bases.append(Vt[:rank])
        # minimum norm among the codes of the group for the same signal
        back = np.zeros((rank, len(groups)))
        back[:, members] = (U[:, :rank] / s[:rank]).T
        maps.append(back)
        start.append(start[-1] + rank)
    basis = np.ascontiguousarray(np.concatenate(bases))
    return basis, np.array(start), np.concatenate(maps)


def _block_size(n: int) -> int:
    return max(16, min(BLOCK, 2**22 // max(1, n)))


def _empty_block(n_signals: int, cap: int) -> tuple[Array, ...]:
    """Arrays that a kernel fills: index, value, count, residual, reason, steps."""
    return (
        np.zeros((n_signals, cap), np.int32),
        np.zeros((n_signals, cap)),
        np.zeros(n_signals, np.int32),
        np.zeros(n_signals),
        np.zeros(n_signals, np.int8),
        np.zeros(n_signals, np.int32),
    )


def _finish(out: tuple[Array, ...], norms: Array) -> Block:
    """Scale the codes back to atoms of any norm."""
    index, value, count, residual_sq, stop, steps = out
    _rescale(index, value, count, norms)
    return Block(count, index, value, residual_sq, stop, np.full(count.size, np.nan), steps)


@jit
def _rescale(index, value, count, norms):  # type: ignore[no-untyped-def]
    """Divide each coefficient by the norm of its atom."""
    for i in range(count.shape[0]):
        for t in range(count[i]):
            value[i, t] /= norms[index[i, t]]


@jit
def _largest(bits, k, low):  # type: ignore[no-untyped-def]
    """Index of the double of largest magnitude among `k`, given as bits; the first of ties.

    Magnitudes of doubles are ordered as their bits are, and integers can be compared many at a
    time. The index takes the place of the last bits, so that ties are ties up to rounding.
    """
    keep = MAGNITUDE & ~low
    best = np.int64(-1)
    for j in range(k):
        key = (bits[j] & keep) | (k - 1 - j)
        best = max(best, key)
    return k - 1 - (best & low)


@jit
def _low_bits(k):  # type: ignore[no-untyped-def]
    """Mask of the bits that hold an index below k."""
    low = np.int64(1)
    while low < k:
        low *= 2
    return low - 1


@jit
def _back_substitute(L, h, count, a):  # type: ignore[no-untyped-def]
    """Solve ``L^T a = h`` for the leading `count` rows of a lower triangular matrix."""
    for s in range(count - 1, -1, -1):
        total = h[s]
        for t in range(s + 1, count):
            total -= L[t, s] * a[t]
        a[s] = total / L[s, s]


@jit
def _sort_pairs(index, value, count):  # type: ignore[no-untyped-def]
    """Sort the first `count` pairs by index."""
    for t in range(1, count):
        j, v = index[t], value[t]
        s = t - 1
        while s >= 0 and index[s] > j:
            index[s + 1] = index[s]
            value[s + 1] = value[s]
            s -= 1
        index[s + 1] = j
        value[s + 1] = v


@jit
def _residual_sq(x, rows, index, a, count, single, r):  # type: ignore[no-untyped-def]
    """Squared norm of the residual, from the signal itself; `r` receives the residual."""
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    for t in range(count):
        coefficient = np.float64(np.float32(a[t])) if single else a[t]
        d = rows[index[t]]
        for p in range(n):
            r[p] -= coefficient * d[p]
    total = 0.0
    for p in range(n):
        total += r[p] * r[p]
    return total


@jit
def _omp(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, n_nonzero, optimised, small, near, single, eps,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit through the Gram matrix, one signal after the other."""
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    low = _low_bits(k)
    U = np.empty((cap, k))
    L = np.empty((cap, cap))
    h = np.empty(cap)
    a = np.empty(cap)
    r = np.empty(n)
    alpha = np.empty(k)
    left = np.empty(k)  # squared norms of the atoms outside of the chosen ones
    score = np.empty(k)
    alpha_bits = alpha.view(np.int64)
    score_bits = score.view(np.int64)
    banned = np.empty(k, np.int64)
    for i in range(n_signals):
        x = X[i]
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        rho = size
        floor = 10 * eps * np.sqrt(size)
        bound = tol_sq[i]
        index = out_index[i]
        t = 0
        n_banned = 0
        stop = ATOMS
        steps = 0
        if rho <= bound or size == 0.0:
            out_residual[i] = rho
            out_stop[i] = TOL if rho <= bound else STALL
            continue
        b = B[i]
        for j in range(k):
            alpha[j] = b[j]
        if optimised:
            for j in range(k):
                left[j] = G[j, j]
        while True:
            if t >= n_nonzero:
                stop = ATOMS
                break
            if t >= cap:
                stop = RANK
                break
            if optimised:
                for j in range(k):
                    rest = left[j]
                    score[j] = alpha[j] * alpha[j] / rest if rest > SPAN else 0.0
                new = _largest(score_bits, k, low)
                if score[new] <= floor * floor:
                    stop = RANK if n_banned > 0 else STALL
                    break
            else:
                new = _largest(alpha_bits, k, low)
                if abs(alpha[new]) <= floor:
                    stop = RANK if n_banned > 0 else STALL
                    break
            steps += 1
            pivot = G[new, new]
            for s in range(t):
                L[t, s] = U[s, new]
                pivot -= U[s, new] * U[s, new]
            if pivot <= SPAN:
                alpha[new] = 0.0
                left[new] = 0.0
                banned[n_banned] = new
                n_banned += 1
                continue
            d = np.sqrt(pivot)
            L[t, t] = d
            g = G[new]
            u = U[t]
            for j in range(k):
                u[j] = g[j]
            s = 0
            while s + 4 <= t:  # four rows at a time: fewer passes over u
                c0, c1, c2, c3 = L[t, s], L[t, s + 1], L[t, s + 2], L[t, s + 3]
                u0, u1, u2, u3 = U[s], U[s + 1], U[s + 2], U[s + 3]
                for j in range(k):
                    u[j] -= (c0 * u0[j] + c1 * u1[j]) + (c2 * u2[j] + c3 * u3[j])
                s += 4
            while s < t:
                c0 = L[t, s]
                u0 = U[s]
                for j in range(k):
                    u[j] -= c0 * u0[j]
                s += 1
            scale = 1.0 / d
            step = alpha[new] * scale
            h[t] = step
            index[t] = new
            for j in range(k):
                v = u[j] * scale
                u[j] = v
                alpha[j] -= step * v
            if optimised:
                for j in range(k):
                    left[j] -= u[j] * u[j]
                left[new] = 0.0
            t += 1
            # exact zeros where theory has them
            for s in range(t):
                alpha[index[s]] = 0.0
            for s in range(n_banned):
                alpha[banned[s]] = 0.0
            for s in range(t - 1):
                u[index[s]] = 0.0
            rho = max(0.0, rho - step * step)
            if rho <= bound:
                if bound < small * size or rho > (1 - near) * bound:
                    # the recursion is exact to rounding of |x|^2 only: a bound must hold
                    _back_substitute(L, h, t, a)
                    rho = _residual_sq(x, rows, index, a, t, single, r)
                if rho <= bound:
                    stop = TOL
                    break
        _back_substitute(L, h, t, out_value[i])
        if stop != TOL and (bound >= 0.0 or rho < small * size):
            rho = _residual_sq(x, rows, index, out_value[i], t, single, r)
            if rho <= bound:
                stop = TOL
        _sort_pairs(index, out_value[i], t)
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _omp_explicit(  # type: ignore[no-untyped-def]
    B, weight, known, columns, X, tol_sq, n_nonzero, optimised, small, near, single,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit with the Gram-Schmidt vectors themselves: masked signals, or no Gram matrix.

    `columns` (n, k) is the transposed dictionary, `weight` (N, k) what the mask leaves of the
    squared norms.
    """
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    low = _low_bits(k)
    Q = np.empty((cap, n))
    L = np.empty((cap, cap))
    h = np.empty(cap)
    a = np.empty(cap)
    q = np.empty(n)
    alpha = np.empty(k)
    u = np.empty(k)
    left = np.empty(k)
    score = np.empty(k)
    score_bits = score.view(np.int64)
    for i in range(n_signals):
        x = X[i]
        size = 0.0
        n_known = 0
        for p in range(n):
            size += x[p] * x[p]
            n_known += 1 if known[i, p] > 0 else 0
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        index = out_index[i]
        t = 0
        barred = 0
        stop = ATOMS
        steps = 0
        if rho <= bound or size == 0.0:
            out_residual[i] = rho
            out_stop[i] = TOL if rho <= bound else STALL
            continue
        for j in range(k):
            alpha[j] = B[i, j]
            left[j] = weight[i, j] if weight[i, j] >= BARRED else 0.0
        while True:
            if t >= n_nonzero:
                stop = ATOMS
                break
            if t >= cap or t >= n_known:
                stop = RANK
                break
            for j in range(k):
                rest = left[j] if optimised else weight[i, j]
                score[j] = alpha[j] * alpha[j] / rest if left[j] > SPAN else 0.0
            new = _largest(score_bits, k, low)
            if score[new] <= floor * floor:
                stop = RANK if barred > 0 else STALL
                break
            steps += 1
            for p in range(n):
                q[p] = columns[p, new] * known[i, p]
            for s in range(t):
                L[t, s] = 0.0
            for _ in range(2):  # twice is enough
                for s in range(t):
                    product = 0.0
                    for p in range(n):
                        product += Q[s, p] * q[p]
                    L[t, s] += product
                    for p in range(n):
                        q[p] -= product * Q[s, p]
            pivot = 0.0
            for p in range(n):
                pivot += q[p] * q[p]
            if pivot <= SPAN * weight[i, new]:
                left[new] = 0.0
                barred += 1
                continue
            d = np.sqrt(pivot)
            L[t, t] = d
            step = 0.0
            for p in range(n):
                q[p] /= d
                Q[t, p] = q[p]
                step += q[p] * x[p]
            for j in range(k):
                u[j] = 0.0
            for p in range(n):
                c = q[p]
                if c != 0.0:
                    column = columns[p]
                    for j in range(k):
                        u[j] += c * column[j]
            h[t] = step
            index[t] = new
            for j in range(k):
                alpha[j] -= step * u[j]
            if optimised:
                for j in range(k):
                    if left[j] > 0.0:
                        left[j] -= u[j] * u[j]
            t += 1
            for s in range(t):
                left[index[s]] = 0.0
            rho = max(0.0, rho - step * step)
            if rho <= bound:
                if bound < small * size or rho > (1 - near) * bound:
                    _back_substitute(L, h, t, a)
                    rho = _masked_residual_sq(x, known[i], columns, index, a, t, single)
                if rho <= bound:
                    stop = TOL
                    break
        _back_substitute(L, h, t, out_value[i])
        if stop != TOL and (bound >= 0.0 or rho < small * size):
            rho = _masked_residual_sq(x, known[i], columns, index, out_value[i], t, single)
            if rho <= bound:
                stop = TOL
        _sort_pairs(index, out_value[i], t)
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _masked_residual_sq(x, known, columns, index, a, count, single):  # type: ignore[no-untyped-def]
    """Squared norm of the residual on the known entries."""
    total = 0.0
    for p in range(x.shape[0]):
        if known[p] > 0:
            r = x[p]
            for t in range(count):
                coefficient = np.float64(np.float32(a[t])) if single else a[t]
                r -= coefficient * columns[p, index[t]]
            total += r * r
    return total


@jit
def _mp(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, n_nonzero, max_iter, positive,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Run matching pursuit through the Gram matrix."""
    n_signals, k = B.shape
    n = X.shape[1]
    low = _low_bits(k)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(k)
    code = np.zeros(k)
    taken = np.zeros(k, np.bool_)
    score_bits = score.view(np.int64)
    for i in range(n_signals):
        x = X[i]
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        index = out_index[i]
        t = 0
        stop = MAX_ITER
        steps = 0
        for j in range(k):
            alpha[j] = B[i, j]
        while True:
            if rho <= bound:
                stop = TOL
                break
            if positive:
                for j in range(k):
                    # a step may take back what was given, and no more
                    score[j] = max(alpha[j], min(-alpha[j], code[j]))
            else:
                for j in range(k):
                    score[j] = alpha[j]
            new = _largest(score_bits, k, low)
            if abs(score[new]) <= floor or size == 0.0:
                stop = STALL
                break
            if steps >= max_iter:
                break
            if not taken[new]:
                if t >= n_nonzero:
                    stop = ATOMS
                    break
                taken[new] = True
                index[t] = new
                t += 1
            step = alpha[new]
            if positive and step < -code[new]:
                step = -code[new]
            steps += 1
            code[new] += step
            g = G[new]
            rho = max(0.0, rho - step * (2 * alpha[new] - step * g[new]))
            for j in range(k):
                alpha[j] -= step * g[j]
            if rho <= bound or rho < 1e-6 * size:
                for s in range(t):
                    out_value[i, s] = code[index[s]]
                rho = _residual_sq(x, rows, index, out_value[i], t, False, r)
        count = 0
        for s in range(t):
            j = index[s]
            if code[j] != 0.0:
                index[count] = j
                out_value[i, count] = code[j]
                count += 1
            code[j] = 0.0
            taken[j] = False
        out_residual[i] = _residual_sq(x, rows, index, out_value[i], count, False, r)
        _sort_pairs(index, out_value[i], count)
        out_count[i] = count
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def append_row(G, L, index, t, new):  # type: ignore[no-untyped-def]
    """Row t of the Cholesky factor for atom `new` after ``index[:t]``; False if dependent."""
    pivot = G[new, new]
    if pivot <= 0.0:
        return False
    for s in range(t):
        total = G[new, index[s]]
        for q in range(s):
            total -= L[t, q] * L[s, q]
        L[t, s] = total / L[s, s]
        pivot -= L[t, s] * L[t, s]
    if pivot <= SPAN * G[new, new]:
        return False
    L[t, t] = np.sqrt(pivot)
    return True


@jit
def solve_chosen(L, index, t, b, z):  # type: ignore[no-untyped-def]
    """Solve ``G_II z = b_I`` with the Cholesky factor of G_II."""
    for s in range(t):
        total = b[index[s]]
        for q in range(s):
            total -= L[s, q] * z[q]
        z[s] = total / L[s, s]
    for s in range(t - 1, -1, -1):
        total = z[s]
        for q in range(s + 1, t):
            total -= L[q, s] * z[q]
        z[s] = total / L[s, s]


@jit
def nonnegative_on_support(G, L, index, t, b, a, z):  # type: ignore[no-untyped-def]
    """Go on with non-negative least squares on ``index[:t]`` from the feasible `a`.

    `L` is the Cholesky factor of the chosen atoms. Atoms that reach zero are dropped; returns how
    many are left (Lawson and Hanson's inner loop).
    """
    while t > 0:
        solve_chosen(L, index, t, b, z)
        step = 1.0
        for s in range(t):
            if z[s] <= 0.0:
                step = min(step, a[s] / (a[s] - z[s]) if a[s] > 0.0 else 0.0)
        if step == 1.0:
            feasible = True
            for s in range(t):
                feasible = feasible and z[s] > 0.0
            if feasible:
                for s in range(t):
                    a[s] = z[s]
                return t
        left = 0
        for s in range(t):
            new = a[s] + step * (z[s] - a[s])
            if z[s] <= 0.0 and (a[s] <= 0.0 or new <= 1e-14 * a[s] or new <= 0.0):
                continue
            a[left] = new
            index[left] = index[s]
            left += 1
        if left == t:  # rounding: drop the smallest
            worst = 0
            for s in range(t):
                if z[s] < z[worst]:
                    worst = s
            for s in range(worst, t - 1):
                a[s] = a[s + 1]
                index[s] = index[s + 1]
            left = t - 1
        t = 0
        for s in range(left):
            if append_row(G, L, index, t, index[s]):
                index[t] = index[s]
                a[t] = a[s]
                t += 1
    return t


@jit
def _nonnegative_omp(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, n_nonzero,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit with non-negative least squares on the chosen atoms."""
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    low = _low_bits(k)
    L = np.empty((cap + 1, cap + 1))
    a = np.zeros(cap + 1)
    z = np.empty(cap + 1)
    index = np.zeros(cap + 1, np.int64)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(k)
    score_bits = score.view(np.int64)
    banned = np.zeros(k, np.bool_)
    for i in range(n_signals):
        x = X[i]
        b = B[i]
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        t = 0
        steps = 0
        n_banned = 0
        stop = MAX_ITER
        while True:
            if rho <= bound:
                stop = TOL
                break
            if t >= n_nonzero:
                stop = ATOMS
                break
            if t >= cap:
                stop = RANK
                break
            if steps >= 3 * n_nonzero:
                break
            for j in range(k):
                alpha[j] = b[j]
            for s in range(t):
                g = G[index[s]]
                c = a[s]
                for j in range(k):
                    alpha[j] -= c * g[j]
            for j in range(k):
                score[j] = 0.0 if banned[j] or alpha[j] < 0.0 else alpha[j]
            for s in range(t):
                score[index[s]] = 0.0
            new = _largest(score_bits, k, low)
            if score[new] <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1
            if not append_row(G, L, index, t, new):
                banned[new] = True
                n_banned += 1
                continue
            index[t] = new
            a[t] = 0.0
            solve_chosen(L, index, t + 1, b, z)
            if z[t] <= 0.0:  # against theory: rounding
                banned[new] = True
                n_banned += 1
                continue
            before = t
            t = nonnegative_on_support(G, L, index, t + 1, b, a, z)
            if t <= before and n_banned > 0:  # what was dependent may not be any more
                for j in range(k):
                    banned[j] = False
                n_banned = 0
            rho = _residual_sq(x, rows, index, a, t, False, r)
        if n_banned > 0:
            for j in range(k):
                banned[j] = False
        _sort_pairs(index, a, t)
        for s in range(t):
            out_index[i, s] = index[s]
            out_value[i, s] = a[s]
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _group_omp(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, start, n_nonzero,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit that takes orthonormal groups of atoms, `start` saying where each begins."""
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    n_groups = start.shape[0] - 1
    low = _low_bits(n_groups)
    L = np.empty((cap, cap))
    a = np.empty(cap)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(n_groups)
    taken = np.empty(n_groups, np.bool_)
    score_bits = score.view(np.int64)
    for i in range(n_signals):
        x = X[i]
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        index = out_index[i]
        t = 0
        steps = 0
        for g in range(n_groups):
            taken[g] = False
        for j in range(k):
            alpha[j] = B[i, j]
        stop = ATOMS
        while True:
            if rho <= bound:
                stop = TOL
                break
            if steps >= n_nonzero:
                break
            for g in range(n_groups):
                total = 0.0
                if not taken[g]:
                    for j in range(start[g], start[g + 1]):
                        total += alpha[j] * alpha[j]
                score[g] = total
            new = _largest(score_bits, n_groups, low)
            if score[new] <= floor * floor:
                stop = STALL
                break
            if t + start[new + 1] - start[new] > cap:
                stop = RANK
                break
            taken[new] = True
            steps += 1
            for j in range(start[new], start[new + 1]):
                if append_row(G, L, index, t, j):
                    index[t] = j
                    t += 1
            solve_chosen(L, index, t, B[i], a)
            for j in range(k):
                alpha[j] = B[i, j]
            for s in range(t):
                g_row = G[index[s]]
                c = a[s]
                for j in range(k):
                    alpha[j] -= c * g_row[j]
            rho = _residual_sq(x, rows, index, a, t, False, r)
        for s in range(t):
            out_value[i, s] = a[s]
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps
