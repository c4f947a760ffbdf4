"""Matching pursuit and two variants of orthogonal matching pursuit, for many signals at a time.

Matching pursuit subtracts projections on atoms; the variants fit the chosen atoms by non-negative
least squares, or choose whole groups. `greedy` has the pursuit for large numbers of codes.

As in the papers (Mallat and Zhang 1993; Bruckstein, Elad and Zibulevsky 2008), except that an atom
whose non-negative coefficient becomes zero leaves and may return.
"""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.cholesky import append_atom, drop, solve_chosen
from skmoderndata._solvers.codes.products import add_rows, largest_entry, low_bits
from skmoderndata._solvers.codes.signal_blocks import (
    ATOMS,
    MAX_ITER,
    RANK,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    by_pattern,
    from_group_order,
    in_group_order,
    squared_residuals,
    to_csr,
)
from skmoderndata._solvers.codes.supports import (
    BARRED,
    Problem,
    Pursued,
    code_by_problems,
    first_largest,
    squares,
)
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import RANK_TOL, ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array


def matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    positive: bool = False,
    max_iter: int | None = None,
    **options: Any,
) -> SparseCodes:
    """Repeatedly subtract from the residual its projection on the most correlated atom.

    An atom may be chosen several times; `n_nonzero` bounds the number of coefficients and
    `max_iter` the number of steps (None: ten times as many). With ``positive=True``, no step makes
    a coefficient negative. Options as in `code_by_problems`.
    """
    limit = 10 * n_nonzero if max_iter is None else max_iter

    def solve(p: Problem, rows: slice) -> Pursued:
        return _subtract_projections(p, tol_sq[rows], n_nonzero, limit)

    return code_by_problems(X, atoms, solve, widest=n_nonzero, positive=positive, **options)


def nonnegative_matching_pursuit(
    X: Array, atoms: Atoms, *, n_nonzero: int, tol_sq: Array, **options: Any
) -> SparseCodes:
    """Run orthogonal matching pursuit with non-negative coefficients.

    The atom with the largest positive ``d_i^T r`` enters, and the signal is fitted to the chosen
    atoms by non-negative least squares; an atom whose coefficient becomes zero leaves, and may
    return. There are at most ``3 * n_nonzero`` steps. Options as in `code_by_problems`.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))

    def solve(p: Problem, rows: slice) -> Pursued:
        return _fit_after_each_choice(p, tol_sq[rows], n_nonzero, None)

    return code_by_problems(X, atoms, solve, widest=cap, positive=True, **options)


def group_matching_pursuit(
    X: Array,
    atoms: Atoms,
    groups: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    **options: Any,
) -> SparseCodes:
    """Run orthogonal matching pursuit with groups of atoms.

    The group g whose span holds the largest part of the residual enters: it has the largest
    ``|Q_g r|`` with an orthonormal basis `Q_g` of its atoms. `n_nonzero` counts groups. `groups`
    (k,) holds the group of each atom, numbered from 0. If several codes of a group give the same
    signal, the code of minimal norm is returned. Other parameters and options as in
    `code_by_problems`.
    """

    def solve(signals: Array, atoms: Atoms, which: Any) -> SparseCodes:
        atoms, order, edges = in_group_order(atoms, groups)
        W, start = _whitening(atoms.rows, edges)
        bases = Atoms(np.ascontiguousarray(W @ atoms.rows), np.ones(W.shape[0]), None)

        bounds = tol_sq[which]

        def pursue(p: Problem, rows: slice) -> Pursued:
            return _fit_after_each_choice(p, bounds[rows], n_nonzero, start)

        # code with the orthonormal bases, then transform to codes of the atoms
        widest = min(W.shape[0], n_nonzero * int(np.diff(edges).max()))
        codes = code_by_problems(signals, bases, pursue, widest=widest, **options)
        turned = to_csr(codes, W.shape[0]) @ W
        turned.data /= atoms.norms[turned.indices]
        codes = codes._replace(
            indptr=turned.indptr, indices=turned.indices, values=turned.data
        )

        residual_sq = squared_residuals(codes, signals, atoms, None)
        missed = np.where(codes.stop == TOL, STALL, codes.stop)
        stop = np.where(residual_sq <= bounds, TOL, missed).astype(np.int8)
        codes = codes._replace(residual_sq=residual_sq, stop=stop)
        return from_group_order(codes, order)

    return by_pattern(X, mask, atoms, solve, barred=BARRED)


def _whitening(rows: Array, edges: Array) -> tuple[sparse.csr_array, Array]:
    """Return W, for which ``W D`` are orthonormal bases of the groups, and where each begins.

    With ``D_g D_g^T = U S U^T``, it has the blocks ``S^-1/2 U^T`` without dependent rows, so that
    ``z W`` is the code of minimal norm for ``z W D``.
    """
    sizes = np.diff(edges)
    data = []
    columns = []
    widths = []
    ranks = []
    for width in np.unique(sizes[sizes > 0]):  # all groups of one size at a time
        first = edges[:-1][sizes == width]
        members = first[:, None] + np.arange(width)

        # compute orthonormal bases from the eigenvectors of the Gram matrices
        D = rows[members]
        S, U = np.linalg.eigh(D @ D.transpose(0, 2, 1))
        independent = S > RANK_TOL * S[:, -1:]
        independent[:, -1] = True  # a group of zeros has one zero row, which is never chosen
        lengths = np.sqrt(np.where(S > 0, S, np.inf))
        blocks = (U / lengths[:, None]).transpose(0, 2, 1)

        rank = independent.sum(axis=1)
        data.append(blocks[independent].ravel())
        columns.append(np.repeat(members, rank, axis=0).ravel())
        widths.append(np.full(rank.sum(), width))
        ranks.append(rank)

    indptr = np.cumsum(np.concatenate([[0], *widths]))
    shape = (len(indptr) - 1, len(rows))
    values = np.concatenate(data)
    indices = np.concatenate(columns)
    W = sparse.csr_array((values, indices, indptr), shape)
    return W, np.cumsum(np.concatenate([[0], *ranks]))


def _subtract_projections(p: Problem, tol_sq: Array, s: int, max_iter: int) -> Pursued:
    """Take steps of matching pursuit; finished signals leave the block."""
    size = squares(p.X)
    stop = np.zeros(len(size), np.int64)
    out = Pursued(np.zeros(p.shape), size.copy(), stop, np.zeros_like(size))
    q = p
    live = np.arange(len(size))
    A = np.zeros(p.shape)
    C = p.b

    R = p.X
    floor = 10 * EPS * np.sqrt(size)
    bound = tol_sq
    for step in range(max_iter + 1):
        # 1. find the largest correlation; with `positive`, a negative step may only take back what
        # earlier steps added
        magnitude = np.maximum(C, np.minimum(-C, A)) if q.positive else np.abs(C)
        new, gain = first_largest(magnitude)
        pairs = np.arange(len(live)), new

        # 2. remove finished signals
        met = squares(R) <= bound
        last = np.full(len(live), step == max_iter)
        full = (A[pairs] == 0) & (np.count_nonzero(A, axis=1) >= s)
        done = [met, gain <= floor, last, full]
        reason = np.select(done, [TOL, STALL, MAX_ITER, ATOMS], -1)
        ended = live[reason >= 0]
        if ended.size:
            going = reason < 0
            out.a[ended] = A[~going]
            out.stop[ended] = reason[~going]
            out.n_iter[ended] = step
            q = q.of(going)
            live = live[going]
            new = new[going]
            A, C, R, floor, bound = (v[going] for v in (A, C, R, floor, bound))
            pairs = np.arange(len(live)), new

        if live.size == 0:
            break

        # 3. subtract the projection
        change = np.maximum(C[pairs], -A[pairs]) if q.positive else C[pairs]
        A[pairs] += change
        d = q.atoms(new)
        R = R - change[:, None] * d
        products = q.cross(d) if q.gram is None else q.gram[new]
        C = C - change[:, None] * products
    return out.certified(p, tol_sq)


def _fit_after_each_choice(p: Problem, tol_sq: Array, s: int, start: Array | None) -> Pursued:
    """Run orthogonal matching pursuit with a new least squares fit after each choice.

    Chooses atoms one by one, or groups of rows from ``start[g]`` to ``start[g + 1]``.
    """
    size = squares(p.X)
    m = len(size)
    floor = 10 * EPS * np.sqrt(size)
    stop = np.full(m, MAX_ITER)
    out = Pursued(np.zeros(p.shape), size.copy(), stop, np.zeros(m, np.int64))

    # use a compiled loop for single atoms with a Gram matrix
    if start is None and p.gram is not None:
        n = p.X.shape[1]
        _enter_one_by_one(p.b, p.gram, size, tol_sq, s, n, out.a, out.stop, out.n_iter)
        return out.certified(p, tol_sq)

    R = p.X.copy()
    live = np.arange(m)
    owner = np.arange(p.shape[1])
    if start is not None:
        owner = np.repeat(np.arange(len(start) - 1), np.diff(start))

    for step in range(3 * s + 1):
        # 1. compute the correlations of atoms or groups
        q = p.of(live)
        A = out.a[live]
        chosen = A != 0
        C = q.cross(R[live]) if q.gram is None else q.b - sparse.csr_array(A) @ q.gram
        if start is None:
            score = np.where(chosen, 0.0, np.maximum(C, 0.0))
        else:
            chosen = np.logical_or.reduceat(chosen, start[:-1], axis=1)
            norms_sq = np.add.reduceat(C * C, start[:-1], axis=1)
            score = np.sqrt(norms_sq) * ~chosen

        # 2. choose the largest correlation; remove finished signals
        new, gain = first_largest(score)
        count = chosen.sum(axis=1)
        met = squares(R[live]) <= tol_sq[live]
        full = count >= q.n_observed if start is None else np.zeros(len(live), np.bool_)
        done = [met, count >= s, full, gain <= floor[live]]
        reason = np.select(done, [TOL, ATOMS, RANK, STALL], -1)
        going = reason < 0
        out.stop[live[~going]] = reason[~going]
        if not going.any() or step == 3 * s:
            break

        # 3. solve the least squares problem on all chosen atoms
        q = q.of(going)
        live = live[going]
        A = A[going]
        new = new[going]
        entering = owner == new[:, None]
        out.n_iter[live] += 1
        out.a[live] = fitted = q.fit((A != 0) | entering, A)
        R[live] = q.residuals(fitted)

        entered = (fitted * entering).any(axis=1)  # False only because of rounding errors
        out.stop[live[~entered]] = STALL
        live = live[entered]
    return out.certified(p, tol_sq)


@jit
def _enter_one_by_one(b, G, size, tol_sq, s, n, A, stop, n_iter):
    """Run the non-negative pursuit from the products b and the Gram matrix G of the atoms.

    This is Lawson and Hanson's method with an early end: the factor L of the chosen atoms grows
    and shrinks with them. It takes a tenth of the time of the code for groups. The last three
    arguments receive the codes, the reasons to stop, and the numbers of steps.
    """
    (m, k) = b.shape
    width = min(s, n)
    L = np.empty((width, width))
    z = np.empty(width)
    index = np.empty(width, np.int64)
    c = np.empty(k)
    score = np.empty(k)
    low = low_bits(k)
    bits = score.view(np.int64)

    for i in range(m):
        a = A[i]
        t = 0

        for step in range(3 * s + 1):
            # compute correlations and squared residual of the current code
            for q in range(t):
                z[q] = a[index[q]]
            for j in range(k):
                c[j] = b[i, j]
            add_rows(c, -1.0, z, G, index, t)
            rho = size[i]
            for q in range(t):
                rho -= z[q] * (b[i, index[q]] + c[index[q]])

            # find the largest correlation, and check whether the pursuit ends
            for j in range(k):
                score[j] = c[j] if c[j] > 0.0 and a[j] == 0.0 else 0.0
            new = largest_entry(bits, k, low)
            n_iter[i] = step
            if t >= width:
                stop[i] = ATOMS if t >= s else RANK
            elif rho <= tol_sq[i]:
                stop[i] = TOL
            elif score[new] <= 10 * EPS * np.sqrt(size[i]):
                stop[i] = STALL
            if stop[i] != MAX_ITER or step == 3 * s:
                break

            # extend the factor and refit with non-negative coefficients
            if append_atom(L, t, G[new], index, new) <= 0.0:
                stop[i] = STALL
                break
            index[t] = new
            t = _to_boundary(L, index, t + 1, b[i], z, a)
            if a[new] == 0.0:
                stop[i] = STALL
                break


@jit_leaf
def _to_boundary(L, index, t, b, z, a):
    """Fit the chosen atoms by least squares with a >= 0; drop atoms that become zero."""
    size = 0.0
    while size < 1.0:
        # move towards the least squares solution while all coefficients are non-negative
        solve_chosen(L, index, t, b, z)
        size = 1.0
        for q in range(t):
            if z[q] <= 0.0:
                value = a[index[q]]
                size = min(size, value / max(value - z[q], SMALLEST_DIVISOR))

        # drop atoms at zero
        for q in range(t - 1, -1, -1):
            j = index[q]
            moved = a[j] + size * (z[q] - a[j])
            if z[q] <= 0.0 and moved <= ROUNDING * a[j]:
                drop(L, t, q)
                for later in range(q, t - 1):
                    index[later] = index[later + 1]
                t = t - 1
                moved = 0.0
            a[j] = moved
    return t
