"""Orthogonal matching pursuit: greedy sparse codes of many signals with one dictionary.

Signals `x` and atoms `d_j` are rows; a code `a` represents the signal ``a D = sum_j a_j d_j``.

Differs from the papers (Pati et al. 1993; Rubinstein et al. 2008): 1. The factor grows together
with the products ``U = D Q^T``, so no triangular system is solved before the end. 2. Near the
bound, the residual is computed from the signal. 3. Atoms in the span of chosen ones are barred.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.codes.cholesky import solve_upper
from skmoderndata._solvers.codes.gram_rows import (
    all_rows,
    ask_row,
    forget_rows,
    no_rows,
)
from skmoderndata._solvers.codes.products import (
    ZERO,
    inner,
    largest_entry,
    low_bits,
    residual_sq,
    sort_pairs,
)
from skmoderndata._solvers.codes.signal_blocks import (
    ATOMS,
    MEMORY,
    RANK,
    ROWS_PER_CODE,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    by_pattern,
    cached_block_size,
    code_in_blocks,
    from_pairs,
    gram_pays,
)
from skmoderndata._solvers.codes.supports import BARRED
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES, aligned_empty
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import CANCELS, RANK_TOL
from skmoderndata._solvers.common.typing import Array


class Signals(NamedTuple):
    """A block of m signals, and the dictionary.

    `x` (m, n) holds the signals, with zeros where `observed` (m, n) is 0 instead of 1. `scale`
    (m, k) holds the reciprocal norms of the masked atoms, 0 for barred ones, so that `b` (m, k)
    contains inner products with atoms of unit norm. `tol_sq` (m,) bounds the squared residuals,
    `n_observed` (m,) counts observed entries, and `mask_changed` (m,) is True if a mask differs
    from the previous signal's. `rows` (k, n) and `columns` (n, k) hold the atoms.
    """

    x: Array
    observed: Array
    scale: Array
    b: Array
    tol_sq: Array
    n_observed: Array
    mask_changed: Array
    rows: Array
    columns: Array


class Work(NamedTuple):
    """Work space of `_omp` in few arrays, because each one costs a microsecond in a call."""

    vectors: Array  # rows for k atoms: alpha, score, outside, then U
    bits: Array  # the memory of `vectors`, as integers
    rows: Array  # rows of max(cap, n) numbers: h, a, r, weights, then L
    numbers: Array  # rows of integers for atoms or entries: banned, entries


class Pairs(NamedTuple):
    """Output of `_omp`: `counts[i]` pairs for signal i, and how its code ended.

    Coefficients refer to atoms of unit norm.
    """

    chosen: Array
    values: Array
    counts: Array
    residual_sq: Array
    stop: Array
    n_iter: Array


def orthogonal_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    optimised: bool = False,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Choose atoms one by one, and refit the signal to all chosen atoms after each choice.

    The atom i with the largest ``|d_i^T r|`` enters, where `r` is the residual of the least
    squares fit to the atoms chosen so far. With ``optimised=True`` (optimised, or order-recursive,
    matching pursuit), it is the atom that leaves the smallest residual. A signal is done when
    ``|r|^2 <= tol_sq``, with `n_nonzero` atoms, or when no atom can reduce the residual.

    With the Gram-Schmidt vectors `q_t` of the chosen atoms, ``u_t = D q_t`` and ``h_t = q_t x``
    follow from the Gram matrix by a progressive Cholesky factorisation, in which each step costs
    one row of the Gram matrix and t rows of U [Rubinstein, Zibulevsky, Elad 2008].

    Parameters
    ----------
    X : array of shape (N, n)
        Finite numbers; entries hidden by the mask are ignored.
    atoms : Atoms
        Atoms of unit norm. If `gram` is None, the Gram matrix is computed if that pays and it fits
        in `memory`; otherwise its rows are computed on demand.
    tol_sq : array of shape (N,)
        Bound for ``|r|^2``, or -1 for none; codes that end with reason "tol" never exceed it. The
        bound applies to the residual of the returned code, computed from the signal.
    mask : boolean array of shape (N, n) or None
        True if an entry counts. Signals that share a mask share a dictionary of masked atoms of
        unit norm.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))
    tol_sq = np.ascontiguousarray(tol_sq, dtype=np.float64)

    def solve(
        signals: Array, atoms_used: Atoms, which: Any, mask: Array | None = None
    ) -> SparseCodes:
        (m, n) = signals.shape
        k = len(atoms_used.rows)
        gram = None if mask is not None else atoms_used.gram
        if mask is None and gram is None and gram_pays(k, m * cap, memory):
            gram = atoms_used.rows @ atoms_used.rows.T

        # compute Gram rows on demand and cache as many as fit in memory
        n_kept = max(ROWS_PER_CODE, cap, TEMPORARY_BYTES // (8 * k))
        rows = np.ascontiguousarray(atoms_used.rows)
        columns = np.ascontiguousarray(atoms_used.rows.T)
        bounds = tol_sq[which]
        size = max(16, cached_block_size(8 * (2 * n + 3 * k + 2 * cap)))
        observed = np.ones((size, n))
        scale = np.ones((size, k))

        spaces: list[Work] = []  # one for each thread

        def work(block: slice) -> SparseCodes:
            x = np.array(signals[block], dtype=np.float64, order="C")
            m = len(x)
            b = x @ columns
            n_observed = np.full(m, n)
            mask_changed = np.zeros(m, np.bool_)
            inputs = Signals(
                x,
                observed[:m],
                scale[:m],
                b,
                bounds[block],
                n_observed,
                mask_changed,
                rows,
                columns,
            )
            if mask is not None:
                inputs = _masked(inputs, mask[block])

            G, row_of = no_rows(k, min(n_kept, m * cap)) if gram is None else all_rows(gram)
            codes = _empty_output(m, cap)
            try:
                space = spaces.pop()
            except IndexError:
                space = _work_space(cap, k, n)
            _omp(inputs, codes, space, G, row_of, n_nonzero, optimised)
            spaces.append(space)

            return _sparse_codes(codes, atoms_used.norms)

        return code_in_blocks(m, work, n_jobs=n_jobs, block=size)

    return by_pattern(
        X, mask, atoms, solve, renormalize=True, barred=BARRED, memory=memory, each=True
    )


def _sparse_codes(codes: Pairs, norms: Array) -> SparseCodes:
    """Return codes for atoms of the given norms, from codes for atoms of unit norm."""
    used = np.arange(codes.chosen.shape[1]) < codes.counts[:, None]
    chosen = codes.chosen[used]
    values = codes.values[used] / norms[chosen]
    no_gap = np.full(len(codes.counts), np.nan)
    ends = (codes.residual_sq, codes.stop, no_gap, codes.n_iter)
    return from_pairs(codes.counts, chosen, values, *ends)


def _empty_output(m: int, cap: int) -> Pairs:
    """Allocate the codes of m signals with at most `cap` atoms each."""
    chosen = np.zeros((m, cap), np.int64)
    values = np.zeros((m, cap))
    counts = np.zeros(m, np.int32)
    residual_sq = np.zeros(m)
    stop = np.zeros(m, np.int8)
    steps = np.zeros(m, np.int32)
    return Pairs(chosen, values, counts, residual_sq, stop, steps)


def _work_space(cap: int, k: int, n: int) -> Work:
    """Allocate work space for codes with at most `cap` of k atoms with n entries."""
    vectors = aligned_empty(3 + cap, -(-k // 8) * 8)
    rows = np.empty((4 + cap, max(cap, n)))
    return Work(vectors, vectors.view(np.int64), rows, np.empty((2, max(k, n)), np.int64))


def _masked(signals: Signals, mask: Array) -> Signals:
    """Return signals that have a mask each."""
    observed = mask.astype(np.float64)
    norms_sq = observed @ signals.columns**2
    usable = norms_sq > BARRED
    scale = usable / np.sqrt(np.where(usable, norms_sq, 1.0))
    differs = (mask[1:] != mask[:-1]).any(axis=1)
    signals = signals._replace(observed=observed, scale=scale, b=signals.b * scale)
    mask_changed = np.append(False, differs)
    return signals._replace(n_observed=mask.sum(axis=1), mask_changed=mask_changed)


@jit_leaf
def _omp(signals, codes, work, G, row_of, n_nonzero, optimised):
    """Run orthogonal matching pursuit with a progressive Cholesky factorisation.

    G keeps rows of the Gram matrix for later steps and signals; a full G is emptied.
    """
    (m, k) = signals.b.shape
    n = signals.x.shape[1]
    cap = codes.chosen.shape[1]

    alpha = work.vectors[0]  # correlations of the atoms with the residual
    score = work.vectors[1]
    # squared distances of the atoms from the span of the chosen atoms
    outside = work.vectors[2]
    U = work.vectors[3:]
    h = work.rows[0]
    a = work.rows[1]
    r = work.rows[2, :n]
    L = work.rows[4:]
    banned = work.numbers[0]
    space = work.rows[3], work.numbers[1]

    for i in range(m):
        if signals.mask_changed[i]:
            forget_rows(row_of)
        rank_limit = min(cap, signals.n_observed[i])
        observed = signals.observed[i]
        scale = signals.scale[i]
        b = signals.b[i]
        index = codes.chosen[i]
        value = codes.values[i]
        bound = signals.tol_sq[i]
        size = inner(signals.x[i], signals.x[i], n)
        rho = size
        floor = 10 * EPS * np.sqrt(size)
        t = ZERO
        n_banned = ZERO
        steps = 0

        best_t = ZERO
        best_rho = np.inf
        for j in range(k):
            alpha[j] = b[j]
            outside[j] = 1.0
        while True:
            # 1. stop if the residual is below the bound or there are enough atoms
            if rho <= bound:
                stop = TOL
                break
            if t >= n_nonzero or t >= rank_limit:
                stop = ATOMS if t >= n_nonzero else RANK
                break

            # 2. choose the atom with the largest decrease of the residual, or with the largest
            # correlation
            if optimised:
                for j in range(k):
                    score[j] = alpha[j] ** 2 / outside[j] if outside[j] > RANK_TOL else 0.0
                new = largest_entry(work.bits[1], k, low_bits(k))
                gain = np.sqrt(score[new])
            else:
                new = largest_entry(work.bits[0], k, low_bits(k))
                gain = abs(alpha[new])

            # stop if no atom correlates with the residual
            if gain <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1

            # 3. extend the factor; bar an atom in the span of the chosen ones
            if not ask_row(new, signals.columns, observed, scale, G, row_of, space):
                forget_rows(row_of)
                ask_row(new, signals.columns, observed, scale, G, row_of, space)
            g = G[row_of[new]]
            u = U[t]
            pivot = g[new]
            for s in range(t):
                L[t, s] = U[s, new]
                pivot -= U[s, new] * U[s, new]
            if pivot <= RANK_TOL:
                alpha[new] = 0.0
                outside[new] = 0.0
                banned[n_banned] = new
                n_banned += 1
                continue

            # 4. compute the products of all atoms with the new Gram-Schmidt vector:
            # u_t = (g - L[t, :t] U) / L[t, t]
            d = np.sqrt(pivot)
            L[t, t] = d
            for j in range(k):
                u[j] = g[j]
            # Add four rows at a time, in place: with 20 atoms, this is 1.4 times as fast as adding
            # one row at a time or calling `add_rows`, to which LLVM passes each array as seven
            # arguments.
            s = ZERO
            while s + 4 <= t:
                c0 = L[t, s]
                c1 = L[t, s + 1]
                c2 = L[t, s + 2]
                c3 = L[t, s + 3]
                u0 = U[s]
                u1 = U[s + 1]
                u2 = U[s + 2]
                u3 = U[s + 3]
                for j in range(k):
                    u[j] -= (c0 * u0[j] + c1 * u1[j]) + (c2 * u2[j] + c3 * u3[j])
                s += 4
            while s < t:
                c0 = L[t, s]
                u0 = U[s]
                for j in range(k):
                    u[j] -= c0 * u0[j]
                s += 1

            # 5. remove the new direction from correlations and residual
            step = alpha[new] / d
            inverse = 1.0 / d
            for j in range(k):
                u[j] *= inverse
                alpha[j] -= step * u[j]
            if optimised:
                for j in range(k):
                    outside[j] -= u[j] * u[j]
                outside[new] = 0.0

            h[t] = step
            index[t] = new
            t += 1

            _set_zeros(alpha, u, index, t, banned, n_banned)
            rho -= min(step * step, rho)

            # 6. near the bound, compute the residual from the signal: the recursion is
            # accurate only up to the rounding errors of |x|^2
            if rho <= bound:
                rho = _fit_residual_sq(signals, i, L, h, index, t, a, value, r)
                if rho < best_rho:
                    best_t = t
                    best_rho = rho

        # compute coefficients and residual of the chosen atoms
        if bound < 0.0 and rho > CANCELS * size:  # no decision depends on further digits
            _solve_code(L, h, index, t, a, scale, value)
        elif stop != TOL:
            rho = _fit_residual_sq(signals, i, L, h, index, t, a, value, r)
            # atoms added last may have increased the residual through rounding errors
            if best_rho < rho:
                t = best_t
                rho = _fit_residual_sq(signals, i, L, h, index, t, a, value, r)
            if rho <= bound:
                stop = TOL

        sort_pairs(index, value, t)
        codes.counts[i] = t
        codes.residual_sq[i] = rho
        codes.stop[i] = stop
        codes.n_iter[i] = steps


@jit_leaf
def _set_zeros(alpha, u, index, t, banned, n_banned):
    """Set correlations of chosen and barred atoms, and entries of the factor, to exact zeros."""
    for s in range(t):
        alpha[index[s]] = 0.0
    for s in range(n_banned):
        alpha[banned[s]] = 0.0
    for s in range(t - 1):
        u[index[s]] = 0.0


@jit_leaf
def _solve_code(L, h, index, t, a, scale, value):
    """Solve ``L^T a = h`` for the code of the first t atoms."""
    for s in range(t):
        a[s] = h[s]
    solve_upper(L, t, a)
    for s in range(t):
        value[s] = a[s] * scale[index[s]]


@jit_leaf
def _fit_residual_sq(signals, i, L, h, index, t, a, value, r):
    """Solve ``L^T a = h`` for the first t atoms; return the squared residual of that code.

    `value` receives the coefficients for atoms of unit norm, `a` the coefficients for masked atoms
    of unit norm, and `r` the residual.
    """
    _solve_code(L, h, index, t, a, signals.scale[i], value)
    return residual_sq(signals.x[i], signals.observed[i], signals.rows, index, value, t, r)
