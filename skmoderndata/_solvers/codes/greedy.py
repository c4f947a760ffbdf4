"""Greedy sparse coding of many signals with one dictionary.

Signals `x` and atoms `d_j` are rows; a code `a` stands for the signal ``a D = sum_j a_j d_j``.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import SPAN, append_atom, drop, solve_chosen
from skmoderndata._solvers.codes.gram_rows import (
    all_rows,
    ask_row,
    forget_rows,
    no_rows,
    same_entries,
)
from skmoderndata._solvers.codes.products import EPS, inner, largest_entry, low_bits
from skmoderndata._solvers.codes.signal_blocks import (
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

BARRED = 1e-3  # an atom of which a mask leaves less (squared norm) would get a huge coefficient
MOST_PRODUCTS = 2**23  # numbers; of entries of atoms with each other within groups


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
        Bound for ``|r|^2``, never exceeded by a code that ends with reason "tol"; -1 for none. It
        is the residual of the code as it is returned that counts, computed from the signal.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    single : bool
        The codes will be rounded to single precision: the bound holds for the rounded code.
    """
    n_signals, n = X.shape
    cap = max(1, min(n_nonzero, n, len(atoms.rows)))
    rows = atoms.rows
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
                atoms.norms,
                single,
                *out,
            )
        else:
            # in single precision the product is twice as fast, and as accurate as its input
            B = (X[part] @ halves).astype(np.float64) if rough else x @ transposed
            _omp(
                B, atoms.gram, rows, x, bound, n_nonzero, optimised, atoms.norms, single, eps, *out
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
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Subtract from the residual its projection on the most correlated atom, again and again.

    An atom may be chosen several times; `n_nonzero` bounds the number of different ones and
    `max_iter` (None: ten times as many) the number of steps. With ``positive=True`` no step makes
    a coefficient negative. Parameters as in `orthogonal_matching_pursuit`.
    """
    limit = 10 * n_nonzero if max_iter is None else max_iter
    cap = max(1, min(n_nonzero, len(atoms.rows)))

    def kernel(*given: Any) -> None:
        _mp(*given[:-1], cap, limit, positive, single, *given[-1])

    return _code_by_rows(X, atoms, kernel, cap, tol_sq, mask, n_jobs)


def nonnegative_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit with coefficients of at least zero.

    The atom with the largest positive ``d_i^T r`` enters, and the signal is fitted by non-negative
    least squares on the chosen atoms; an atom whose coefficient reaches zero leaves, and may
    return. At most ``3 * n_nonzero`` steps. Parameters as in `orthogonal_matching_pursuit`.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))

    def kernel(*given: Any) -> None:
        _nonnegative_omp(*given[:-1], n_nonzero, single, *given[-1])

    return _code_by_rows(X, atoms, kernel, cap, tol_sq, mask, n_jobs)


def _code_by_rows(
    X: Array,
    atoms: Atoms,
    kernel: Callable[..., None],
    cap: int,
    tol_sq: Array,
    mask: Array | None,
    n_jobs: int | None,
) -> SparseCodes:
    """Run a kernel that takes from the Gram matrix the rows of the atoms that it chooses.

    With a mask they are computed when the kernel asks for them, for masked atoms of unit norm.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: _code_by_rows(
                signals, masked, kernel, cap, tol_sq[rows], None, n_jobs
            ),
            renormalize=True,
            barred=BARRED,
            each=lambda signals, known, rows: _code_blocks(
                signals, atoms, kernel, cap, tol_sq[rows], known, n_jobs
            ),
        )
    return _code_blocks(X, with_gram(atoms), kernel, cap, tol_sq, None, n_jobs)


def _code_blocks(
    X: Array,
    atoms: Atoms,
    kernel: Callable[..., None],
    cap: int,
    tol_sq: Array,
    mask: Array | None,
    n_jobs: int | None,
) -> SparseCodes:
    n_signals, n = X.shape
    k = len(atoms.rows)
    columns = np.ascontiguousarray(atoms.rows.T)
    squares = columns**2 if mask is not None else columns
    gram = None if mask is not None else np.require(atoms.gram, requirements=["C", "W"])

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        B = x @ columns
        out = _empty_block(len(x), cap)
        if mask is None:
            known, scale = np.ones((1, n)), np.ones((1, k))
            G, place = all_rows(gram)  # type: ignore[arg-type]
        else:
            known = mask[part].astype(np.float64)
            left = known @ squares
            usable = left > BARRED
            scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, left, 1.0)), 0.0)
            B *= scale
            G, place = no_rows(k)
        kernel(
            B, G, place, columns, atoms.rows, atoms.norms, known, scale, x, tol_sq[part],
            mask is not None, out,
        )  # fmt: skip
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
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit that takes whole groups of atoms.

    The group whose span holds the largest part of the residual enters, ``|Q_g^T r|`` with `Q_g` an
    orthonormal basis of the group; `n_nonzero` counts groups. `groups` (k,) holds the number of
    the group of each atom, 0, 1, ... Other parameters as in `orthogonal_matching_pursuit`.
    """
    order = np.argsort(groups, kind="stable")
    start = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
    given: dict[str, Any] = {"n_nonzero": n_nonzero, "single": single, "n_jobs": n_jobs}
    if mask is None:
        return _code_groups(X, atoms, order, start, tol_sq=tol_sq, **given)
    widths = np.diff(start)
    n_pairs = int((widths * (widths + 1) // 2).sum())
    return by_pattern(
        X,
        mask,
        atoms,
        lambda signals, masked, rows: _code_groups(
            signals, masked, order, start, tol_sq=tol_sq[rows], **given
        ),
        renormalize=False,
        barred=BARRED,
        gram=False,
        each=None
        if n_pairs * X.shape[1] > MOST_PRODUCTS
        else lambda signals, known, rows: _code_masked_groups(
            signals, known, atoms, order, start, tol_sq=tol_sq[rows], **given
        ),
    )


def _code_groups(
    X: Array,
    atoms: Atoms,
    order: Array,
    start: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    single: bool,
    n_jobs: int | None,
) -> SparseCodes:
    n_signals, n = X.shape
    rows = np.ascontiguousarray(atoms.rows[order])
    norms = np.ascontiguousarray(atoms.norms[order])
    basis, edges, back = _orthonormal_groups(rows, start)
    gram = basis @ basis.T
    cap = max(1, min(n_nonzero * back.shape[1], n + back.shape[1], len(basis)))
    columns = np.ascontiguousarray(basis.T)
    inverse = np.argsort(order)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        codes = np.zeros((len(x), len(rows)))
        residual_sq, stop, steps = _empty_block(len(x), 0)[3:]
        _group_omp(
            x @ columns, gram, edges, back, rows, norms, start, x, tol_sq[part], n_nonzero, cap,
            single, codes, residual_sq, stop, steps,
        )  # fmt: skip
        return dense_block(codes[:, inverse], residual_sq, stop, np.full(len(x), np.nan), steps)

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=_block_size(n))


def _code_masked_groups(
    X: Array,
    mask: Array,
    atoms: Atoms,
    order: Array,
    start: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    single: bool,
    n_jobs: int | None,
) -> SparseCodes:
    n_signals, n = X.shape
    rows = np.ascontiguousarray(atoms.rows[order])
    norms = np.ascontiguousarray(atoms.norms[order])
    columns = np.ascontiguousarray(rows.T)
    # entries of the Gram matrices of the groups, for any mask by one product
    first, second = _pairs_in_groups(start)
    products = np.ascontiguousarray((rows[first] * rows[second]).T)
    widest = int(np.diff(start).max(initial=1))
    cap = max(1, min(n_nonzero * widest, n + widest, len(rows)))
    inverse = np.argsort(order)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        known = mask[part].astype(np.float64)
        codes = np.zeros((len(x), len(rows)))
        residual_sq, stop, steps = _empty_block(len(x), 0)[3:]
        _masked_group_omp(
            x @ columns, known @ products, columns, rows, norms, start, widest, known, x,
            tol_sq[part], n_nonzero, cap, single, codes, residual_sq, stop, steps,
        )  # fmt: skip
        return dense_block(codes[:, inverse], residual_sq, stop, np.full(len(x), np.nan), steps)

    block = max(1, min(_block_size(n), 2**21 // max(1, len(first))))
    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=block)


def _pairs_in_groups(start: Array) -> tuple[Array, Array]:
    """All pairs ``i >= j`` within consecutive groups, row after row."""
    pairs = [np.tril_indices(width) for width in np.diff(start)]
    first = np.concatenate([i + edge for (i, _), edge in zip(pairs, start[:-1], strict=True)])
    second = np.concatenate([j + edge for (_, j), edge in zip(pairs, start[:-1], strict=True)])
    return first, second


def _orthonormal_groups(rows: Array, start: Array) -> tuple[Array, Array, Array]:
    """Orthonormal bases of the spans of groups, where each begins, and the map back to codes."""
    bases, edges = [], [0]
    widest = int(np.diff(start).max(initial=1))
    maps = [np.zeros((0, widest))]
    for first, last in pairwise(start):
        U, s, Vt = np.linalg.svd(rows[first:last], full_matrices=False)
        rank = int(np.count_nonzero(s > 1e-5 * max(s[0], 1e-300))) if s.size else 0
        bases.append(Vt[:rank])
        # minimum norm among the codes of the group for the same signal
        back = np.zeros((rank, widest))
        back[:, : last - first] = (U[:, :rank] / s[:rank]).T
        maps.append(back)
        edges.append(edges[-1] + rank)
    return np.ascontiguousarray(np.concatenate(bases)), np.array(edges), np.concatenate(maps)


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
def returned(a, norm, single):  # type: ignore[no-untyped-def]
    """Coefficient of a unit atom as the code that is returned has it.

    It is divided by the norm of the atom, and rounded where codes are of single precision.
    """
    coefficient = a / norm
    if single:
        coefficient = np.float64(np.float32(coefficient))
    return coefficient * norm


@jit
def pursuit_residual_sq(x, rows, index, a, count, norms, single, r):  # type: ignore[no-untyped-def]
    """Squared norm of the residual of the code that is returned; `r` receives the residual.

    It is computed from the signal itself: this is the number that bounds are compared with.
    """
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    for t in range(count):
        coefficient = returned(a[t], norms[index[t]], single)
        d = rows[index[t]]
        for p in range(n):
            r[p] -= coefficient * d[p]
    return inner(r, r, n)


@jit
def _at_most(rho, a, count, single):  # type: ignore[no-untyped-def]
    """Bound on a squared residual `rho` after coefficients of unit atoms have been rounded."""
    moved = 0.0
    for t in range(count):
        moved += abs(a[t])
    moved *= 2.0**-24 if single else 2.0**-52
    return (np.sqrt(rho) + moved) ** 2


@jit
def _omp(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, n_nonzero, optimised, norms, single, eps,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit through the Gram matrix, one signal after the other."""
    n_signals, k = B.shape
    n = X.shape[1]
    # how far the recursion for the residual can be trusted, B having a relative error of eps
    small, near = (1e-3, 1e-3) if eps > 2 * EPS else (1e-6, 1e-9)
    cap = out_index.shape[1]
    low = low_bits(k)
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
        best_t, best_rho = 0, np.inf
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
                new = largest_entry(score_bits, k, low)
                if score[new] <= floor * floor:
                    stop = RANK if n_banned > 0 else STALL
                    break
            else:
                new = largest_entry(alpha_bits, k, low)
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
                # the recursion is exact to rounding of |x|^2 only, and codes may be rounded
                _back_substitute(L, h, t, a)
                if rho < small * size or _at_most(rho, a, t, single) > (1 - near) * bound:
                    rho = pursuit_residual_sq(x, rows, index, a, t, norms, single, r)
                if rho < best_rho:
                    best_t, best_rho = t, rho
                if rho <= bound:
                    stop = TOL
                    break
        if stop != TOL:
            _back_substitute(L, h, t, a)
        for s in range(t):
            out_value[i, s] = a[s]
        if stop != TOL and (
            bound >= 0.0 or rho < small * size or _at_most(rho, a, t, single) > (1 + 1e-5) * rho
        ):
            rho = pursuit_residual_sq(x, rows, index, out_value[i], t, norms, single, r)
            if best_rho < rho:  # rounding made it worse after
                t, rho = best_t, best_rho
                _back_substitute(L, h, t, out_value[i])
            if rho <= bound:
                stop = TOL
        _sort_pairs(index, out_value[i], t)
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _omp_explicit(  # type: ignore[no-untyped-def]
    B, weight, known, columns, X, tol_sq, n_nonzero, optimised, norms, single,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit with the Gram-Schmidt vectors themselves: masked signals, or no Gram matrix.

    `columns` (n, k) is the transposed dictionary, `weight` (N, k) what the mask leaves of the
    squared norms.
    """
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    low = low_bits(k)
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
        best_t, best_rho = 0, np.inf
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
            new = largest_entry(score_bits, k, low)
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
                # the recursion is exact to rounding of |x|^2 only, and codes may be rounded
                _back_substitute(L, h, t, a)
                if rho < 1e-6 * size or _at_most(rho, a, t, single) > (1 - 1e-9) * bound:
                    rho = _masked_residual_sq(x, known[i], columns, index, a, t, norms, single)
                if rho < best_rho:
                    best_t, best_rho = t, rho
                if rho <= bound:
                    stop = TOL
                    break
        if stop != TOL:
            _back_substitute(L, h, t, a)
        for s in range(t):
            out_value[i, s] = a[s]
        if stop != TOL and (
            bound >= 0.0 or rho < 1e-6 * size or _at_most(rho, a, t, single) > (1 + 1e-5) * rho
        ):
            rho = _masked_residual_sq(x, known[i], columns, index, out_value[i], t, norms, single)
            if best_rho < rho:  # rounding made it worse after
                t, rho = best_t, best_rho
                _back_substitute(L, h, t, out_value[i])
            if rho <= bound:
                stop = TOL
        _sort_pairs(index, out_value[i], t)
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _masked_residual_sq(  # type: ignore[no-untyped-def]
    x, known, columns, index, a, count, norms, single
):
    """Squared norm of the residual on the known entries."""
    r = np.where(known > 0, x, 0.0)
    for t in range(count):
        j = index[t]
        coefficient = returned(a[t], norms[j], single)
        for p in range(x.shape[0]):
            if known[p] > 0:
                r[p] -= coefficient * columns[p, j]
    return inner(r, r, x.shape[0])


@jit
def _known_residual_sq(  # type: ignore[no-untyped-def]
    x, known, rows, index, a, count, norms, single, r
):
    """`pursuit_residual_sq` on the known entries."""
    pursuit_residual_sq(x, rows, index, a, count, norms, single, r)
    for p in range(x.shape[0]):
        r[p] *= known[p]
    return inner(r, r, x.shape[0])


@jit
def _mp(  # type: ignore[no-untyped-def]
    B, G, place, columns, rows, norms, known, scale, X, tol_sq, masked,
    n_nonzero, max_iter, positive, single,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Run matching pursuit through rows of the Gram matrix."""
    n_signals, k = B.shape
    n = X.shape[1]
    low = low_bits(k)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(k)
    code = np.zeros(k)
    taken = np.zeros(k, np.bool_)
    score_bits = score.view(np.int64)
    seen, unit = known[0], scale[0]
    for i in range(n_signals):
        x = X[i]
        if masked:
            if i > 0 and not same_entries(known[i], seen):
                forget_rows(place)
            seen, unit = known[i], scale[i]
        size = inner(x, x, n)
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        index = out_index[i]
        value = out_value[i]
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
            new = largest_entry(score_bits, k, low)
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
            G = ask_row(new, columns, seen, unit, G, place)
            g = G[place[new]]
            rho = max(0.0, rho - step * (2 * alpha[new] - step * g[new]))
            for j in range(k):
                alpha[j] -= step * g[j]
            if rho <= bound or rho < 1e-6 * size:
                for s in range(t):
                    value[s] = code[index[s]] * unit[index[s]]
                rho = _known_residual_sq(x, seen, rows, index, value, t, norms, single, r)
        count = 0
        for s in range(t):
            j = index[s]
            if code[j] != 0.0:
                index[count] = j
                value[count] = code[j] * unit[j]
                count += 1
            code[j] = 0.0
            taken[j] = False
        rho = _known_residual_sq(x, seen, rows, index, value, count, norms, single, r)
        _sort_pairs(index, value, count)
        out_count[i] = count
        out_residual[i] = rho
        out_stop[i] = TOL if rho <= bound else stop
        out_steps[i] = steps


@jit
def nonnegative_on_support(L, index, t, b, a, z):  # type: ignore[no-untyped-def]
    """Go on with non-negative least squares on ``index[:t]`` from the feasible `a`.

    `L` is the Cholesky factor of the chosen atoms, and is kept up to date. Atoms that reach zero
    are dropped; returns how many are left (Lawson and Hanson's inner loop).
    """
    while t > 0:
        solve_chosen(L, index, t, b, z)
        step = 1.0
        feasible = True
        for s in range(t):
            if z[s] <= 0.0:
                feasible = False
                step = min(step, a[s] / (a[s] - z[s]) if a[s] > 0.0 else 0.0)
        if feasible:
            for s in range(t):
                a[s] = z[s]
            return t
        before = t
        lowest = 0
        for s in range(before):
            if z[s] < z[lowest]:
                lowest = s
        for s in range(before - 1, -1, -1):
            new = a[s] + step * (z[s] - a[s])
            if z[s] <= 0.0 and new <= 1e-14 * a[s]:
                drop(L, t, s)
                t -= 1
                for q in range(s, t):
                    a[q] = a[q + 1]
                    index[q] = index[q + 1]
            else:
                a[s] = new
        if t == before:  # rounding
            drop(L, t, lowest)
            t -= 1
            for q in range(lowest, t):
                a[q] = a[q + 1]
                index[q] = index[q + 1]
    return t


@jit
def _nonnegative_omp(  # type: ignore[no-untyped-def]
    B, G, place, columns, rows, norms, known, scale, X, tol_sq, masked, n_nonzero, single,
    out_index, out_value, out_count, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit with non-negative least squares on the chosen atoms."""
    n_signals, k = B.shape
    n = X.shape[1]
    cap = out_index.shape[1]
    low = low_bits(k)
    L = np.empty((cap + 1, cap + 1))
    a = np.zeros(cap + 1)
    z = np.empty(cap + 1)
    index = np.zeros(cap + 1, np.int64)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(k)
    score_bits = score.view(np.int64)
    banned = np.zeros(k, np.bool_)
    seen, unit = known[0], scale[0]
    for i in range(n_signals):
        x = X[i]
        b = B[i]
        most = cap
        if masked:
            if i > 0 and not same_entries(known[i], seen):
                forget_rows(place)
            seen, unit = known[i], scale[i]
            n_known = 0
            for p in range(n):
                n_known += 1 if seen[p] > 0 else 0
            most = min(cap, n_known)
        size = inner(x, x, n)
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        value = out_value[i]
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
            if t >= most:
                stop = RANK
                break
            if steps >= 3 * n_nonzero:
                break
            for j in range(k):
                alpha[j] = b[j]
            for s in range(t):
                g = G[place[index[s]]]
                c = a[s]
                for j in range(k):
                    alpha[j] -= c * g[j]
            for j in range(k):
                score[j] = 0.0 if banned[j] or alpha[j] < 0.0 else alpha[j]
            for s in range(t):
                score[index[s]] = 0.0
            new = largest_entry(score_bits, k, low)
            if score[new] <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1
            G = ask_row(new, columns, seen, unit, G, place)
            if append_atom(L, t, G[place[new]], index, new) == 0.0:
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
            t = nonnegative_on_support(L, index, t + 1, b, a, z)
            if t <= before and n_banned > 0:  # what was dependent may not be any more
                for j in range(k):
                    banned[j] = False
                n_banned = 0
            for s in range(t):
                value[s] = a[s] * unit[index[s]]
            rho = _known_residual_sq(x, seen, rows, index, value, t, norms, single, r)
        if n_banned > 0:
            for j in range(k):
                banned[j] = False
        for s in range(t):
            value[s] = a[s] * unit[index[s]]
        _sort_pairs(index, value, t)
        for s in range(t):
            out_index[i, s] = index[s]
        out_count[i] = t
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _group_residual_sq(  # type: ignore[no-untyped-def]
    x, rows, start, chosen, count, code, norms, single, r
):
    """`pursuit_residual_sq` for the code of all atoms of the first `count` groups in `chosen`."""
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    for c in range(count):
        for j in range(start[chosen[c]], start[chosen[c] + 1]):
            if code[j] != 0.0:
                coefficient = returned(code[j], norms[j], single)
                d = rows[j]
                for p in range(n):
                    r[p] -= coefficient * d[p]
    return inner(r, r, n)


@jit
def _group_omp(  # type: ignore[no-untyped-def]
    B, G, edges, back, rows, norms, start, X, tol_sq, n_nonzero, cap, single,
    out_codes, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit that takes orthonormal groups, `edges` saying where the basis of each begins.

    `start` says where the atoms of each group begin, `back` leads to their coefficients.
    """
    n_signals, k = B.shape
    n = X.shape[1]
    n_groups = edges.shape[0] - 1
    low = low_bits(n_groups)
    L = np.empty((cap, cap))
    a = np.empty(cap)
    index = np.empty(cap, np.int64)
    home = np.empty(cap, np.int64)
    chosen = np.empty(n_groups, np.int64)
    r = np.empty(n)
    alpha = np.empty(k)
    score = np.empty(n_groups)
    taken = np.empty(n_groups, np.bool_)
    score_bits = score.view(np.int64)
    for i in range(n_signals):
        x = X[i]
        code = out_codes[i]
        size = inner(x, x, n)
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
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
                    for j in range(edges[g], edges[g + 1]):
                        total += alpha[j] * alpha[j]
                score[g] = total
            new = largest_entry(score_bits, n_groups, low)
            if score[new] <= floor * floor:
                stop = STALL
                break
            if t + edges[new + 1] - edges[new] > cap:
                stop = RANK
                break
            taken[new] = True
            chosen[steps] = new
            steps += 1
            for j in range(edges[new], edges[new + 1]):
                if append_atom(L, t, G[j], index, j) > 0.0:
                    index[t] = j
                    home[t] = new
                    t += 1
            solve_chosen(L, index, t, B[i], a)
            for j in range(k):
                alpha[j] = B[i, j]
            for s in range(t):
                g_row = G[index[s]]
                c = a[s]
                for j in range(k):
                    alpha[j] -= c * g_row[j]
            for s in range(steps):
                for j in range(start[chosen[s]], start[chosen[s] + 1]):
                    code[j] = 0.0
            for s in range(t):
                first = start[home[s]]
                for j in range(first, start[home[s] + 1]):
                    code[j] += a[s] * back[index[s], j - first]
            rho = _group_residual_sq(x, rows, start, chosen, steps, code, norms, single, r)
        for s in range(steps):
            for j in range(start[chosen[s]], start[chosen[s] + 1]):
                code[j] /= norms[j]
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def correlations(columns, r, c):  # type: ignore[no-untyped-def]
    """Inner products ``c = D r`` from the transposed dictionary; zeros of `r` cost nothing."""
    n, k = columns.shape
    for j in range(k):
        c[j] = 0.0
    p = 0
    while p < n:
        if p + 4 <= n:
            r0, r1, r2, r3 = r[p], r[p + 1], r[p + 2], r[p + 3]
            d0, d1, d2, d3 = columns[p], columns[p + 1], columns[p + 2], columns[p + 3]
            for j in range(k):
                c[j] += (r0 * d0[j] + r1 * d1[j]) + (r2 * d2[j] + r3 * d3[j])
            p += 4
        else:
            r0, d0 = r[p], columns[p]
            for j in range(k):
                c[j] += r0 * d0[j]
            p += 1


@jit
def _masked_group_omp(  # type: ignore[no-untyped-def]
    B, inside, columns, rows, norms, start, widest, known, X, tol_sq, n_nonzero, cap, single,
    out_codes, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Pursuit that takes groups of masked atoms; `inside` holds their inner products.

    The part of the residual in the span of a group follows from the Cholesky factor of its Gram
    matrix; the atoms of a group that is taken are made orthonormal to those taken before.
    """
    n_signals, k = B.shape
    n = X.shape[1]
    n_groups = start.shape[0] - 1
    low = low_bits(n_groups)
    factor = np.empty((k, widest))  # rows of the Cholesky factors, among the atoms that are kept
    kept = np.empty(k, np.bool_)
    rank = np.empty(n_groups, np.int64)
    y = np.empty(widest)
    Q = np.empty((cap, n))
    L = np.empty((cap, cap))
    h = np.empty(cap)
    a = np.empty(cap)
    index = np.empty(cap, np.int64)
    chosen = np.empty(n_groups, np.int64)
    r = np.empty(n)
    v = np.empty(n)
    alpha = np.empty(k)
    least = np.empty(k)
    score = np.empty(n_groups)
    taken = np.empty(n_groups, np.bool_)
    score_bits = score.view(np.int64)
    for i in range(n_signals):
        x = X[i]
        code = out_codes[i]
        size = inner(x, x, n)
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        bound = tol_sq[i]
        t = 0
        steps = 0
        stop = ATOMS
        n_known = 0
        for p in range(n):
            n_known += 1 if known[i, p] > 0 else 0
        if i == 0 or not same_entries(known[i], known[i - 1]):
            pair = 0
            for g in range(n_groups):
                m = 0
                for j in range(start[g], start[g + 1]):
                    row = factor[j]
                    q = 0
                    pivot = 0.0
                    for other in range(start[g], j + 1):
                        product = inside[i, pair]
                        pair += 1
                        if other == j:
                            full = product
                            pivot = product - inner(row, row, m)
                        elif kept[other]:
                            row[q] = (product - inner(row, factor[other], q)) / factor[other, q]
                            q += 1
                    kept[j] = full > BARRED and pivot > SPAN * full
                    if kept[j]:
                        row[m] = np.sqrt(pivot)
                        m += 1
                rank[g] = m
        for g in range(n_groups):
            taken[g] = False
        for j in range(k):
            alpha[j] = B[i, j]
        for p in range(n):
            r[p] = x[p]
        while True:
            if rho <= bound:
                stop = TOL
                break
            if steps >= n_nonzero:
                break
            for g in range(n_groups):
                total = 0.0
                if not taken[g]:
                    m = 0
                    for j in range(start[g], start[g + 1]):
                        if kept[j]:
                            y[m] = (alpha[j] - inner(factor[j], y, m)) / factor[j, m]
                            total += y[m] * y[m]
                            m += 1
                score[g] = total
            new = largest_entry(score_bits, n_groups, low)
            if score[new] <= floor * floor:
                stop = STALL
                break
            if t + rank[new] > cap:
                stop = RANK
                break
            taken[new] = True
            chosen[steps] = new
            steps += 1
            for j in range(start[new], start[new + 1]):
                if not kept[j] or t >= n_known:
                    continue
                for p in range(n):
                    v[p] = rows[j, p] * known[i, p]
                whole = inner(v, v, n)
                for s in range(t):
                    L[t, s] = 0.0
                for _ in range(2):  # twice is enough
                    for s in range(t):
                        q_s = Q[s]
                        product = inner(q_s, v, n)
                        L[t, s] += product
                        for p in range(n):
                            v[p] -= product * q_s[p]
                pivot = inner(v, v, n)
                if pivot <= SPAN * whole:
                    continue
                d = np.sqrt(pivot)
                L[t, t] = d
                for p in range(n):
                    v[p] /= d
                    Q[t, p] = v[p]
                h[t] = inner(v, r, n)
                for p in range(n):
                    r[p] -= h[t] * v[p]
                index[t] = j
                t += 1
            correlations(columns, r, alpha)
            rho = inner(r, r, n)
            if rho <= bound:
                rho = _code_of_groups(
                    x, known[i], rows, L, h, t, a, index, start, chosen, steps, norms, single, v,
                    code,
                )  # fmt: skip
        rho = _code_of_groups(
            x, known[i], rows, L, h, t, a, index, start, chosen, steps, norms, single, v, code
        )
        if rho <= bound:
            stop = TOL
        short = False
        for s in range(steps):
            g = chosen[s]
            for j in range(start[g], start[g + 1]):
                least[j] = code[j]
            if rank[g] < start[g + 1] - start[g]:
                short = True
                _least_norm(rows, known[i], start[g], start[g + 1], code, least)
        if short:
            # another code for the same signal, as far as rounding allows
            _group_residual_sq(x, rows, start, chosen, steps, least, norms, single, v)
            for p in range(n):
                v[p] *= known[i, p]
            other_rho = inner(v, v, n)
            if other_rho <= (bound if stop == TOL else rho * (1 + 1e-9) + 1e-24 * size):
                rho = other_rho
                for s in range(steps):
                    for j in range(start[chosen[s]], start[chosen[s] + 1]):
                        code[j] = least[j]
        for s in range(steps):
            for j in range(start[chosen[s]], start[chosen[s] + 1]):
                code[j] /= norms[j]
        out_residual[i] = rho
        out_stop[i] = stop
        out_steps[i] = steps


@jit
def _code_of_groups(  # type: ignore[no-untyped-def]
    x, known, rows, L, h, t, a, index, start, chosen, steps, norms, single, v, code
):
    """Code from the triangular factor, and the squared residual of what is returned."""
    for s in range(steps):
        for j in range(start[chosen[s]], start[chosen[s] + 1]):
            code[j] = 0.0
    _back_substitute(L, h, t, a)
    for s in range(t):
        code[index[s]] = a[s]
    _group_residual_sq(x, rows, start, chosen, steps, code, norms, single, v)
    for p in range(x.shape[0]):
        v[p] *= known[p]
    return inner(v, v, x.shape[0])


@jit
def _least_norm(rows, known, first, last, code, least):  # type: ignore[no-untyped-def]
    """Code of least norm of the atoms ``first:last`` for the masked signal that `code` gives."""
    n = rows.shape[1]
    A = np.zeros((last - first, n))
    y = np.zeros(n)
    for j in range(first, last):
        whole = 0.0
        for p in range(n):
            A[j - first, p] = rows[j, p] * known[p]
            whole += A[j - first, p] ** 2
        if whole <= BARRED:
            for p in range(n):
                A[j - first, p] = 0.0
        for p in range(n):
            y[p] += code[j] * A[j - first, p]
    U, s, Vt = np.linalg.svd(A, False)
    for j in range(first, last):
        least[j] = 0.0
    for q in range(s.shape[0]):
        if s[q] > 1e-5 * s[0]:
            part = inner(Vt[q], y, n) / s[q]
            for j in range(first, last):
                least[j] += part * U[j - first, q]
