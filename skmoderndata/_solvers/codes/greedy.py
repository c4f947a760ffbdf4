"""Greedy sparse coding of many signals with one dictionary.

Signals `x` and atoms `d_j` are rows; a code `a` stands for the signal ``a D = sum_j a_j d_j``.
"""

from typing import Any

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.cholesky import SPAN, solve_upper
from skmoderndata._solvers.codes.gram_rows import (
    ask_row,
    code_by_rows,
    next_signal,
    returned_residual_sq,
)
from skmoderndata._solvers.codes.products import (
    EPS,
    ZERO,
    inner,
    largest_entry,
    low_bits,
    sort_pairs,
)
from skmoderndata._solvers.codes.signal_blocks import (
    ATOMS,
    RANK,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
)

Array = np.ndarray[Any, np.dtype[Any]]


def orthogonal_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    optimised: bool = False,
    **options: Any,
) -> SparseCodes:
    """Choose atoms one by one, and fit the signal by all chosen ones after each choice.

    Atom i with the largest ``|d_i^T r|`` enters, `r` being the residual of the least squares fit
    by the atoms chosen so far; ``optimised=True`` (optimised, or order-recursive, matching
    pursuit) takes instead the atom after which the residual is smallest. A signal is done when
    ``|r|^2 <= tol_sq``, or with `n_nonzero` atoms, or when nothing remains that could be fitted.

    With `q_t` the Gram-Schmidt vectors of the chosen atoms, ``u_t = D q_t`` and ``h_t = q_t x``
    follow from the Gram matrix: a progressive Cholesky factorisation in which each step costs one
    row of the Gram matrix and t rows of U [Rubinstein, Zibulevsky, Elad 2008].

    Other parameters, and the options `mask`, `n_jobs` and `memory`, as in `code_by_rows`.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))

    def kernel(*given: Any) -> None:
        _omp(*given, n_nonzero, optimised)

    return code_by_rows(X, atoms, kernel, cap=cap, tol_sq=tol_sq, **options)


@jit
def _omp(signals, dictionary, found, G, place, most, n_nonzero, optimised):
    """Pursuit by a progressive Cholesky factorisation."""
    m, k = signals.b.shape
    n = signals.x.shape[1]
    cap = found.chosen.shape[1]
    low = low_bits(k)
    U, L = np.empty((cap, k)), np.empty((cap, cap))
    h, a, r = np.empty(cap), np.empty(cap), np.empty(n)
    alpha, score = np.empty(k), np.empty(k)
    outside = np.empty(k)  # squared norms of the atoms outside of the span of the chosen ones
    alpha_bits, score_bits = alpha.view(np.int64), score.view(np.int64)
    banned = np.empty(k, np.int64)
    for i in range(m):
        next_signal(signals, i, place, most)
        room = min(cap, signals.room[i])
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        size = inner(signals.x[i], signals.x[i], n)
        rho, floor = size, 10 * EPS * np.sqrt(size)
        t, n_banned, steps = ZERO, 0, 0
        best_t, best_rho = ZERO, np.inf
        for j in range(k):
            alpha[j] = b[j]
            outside[j] = 1.0
        while True:
            if rho <= bound:
                stop = TOL
                break
            if t >= n_nonzero or t >= room:
                stop = ATOMS if t >= n_nonzero else RANK
                break
            if optimised:
                for j in range(k):
                    score[j] = alpha[j] * alpha[j] / outside[j] if outside[j] > SPAN else 0.0
                new = largest_entry(score_bits, k, low)
                gain = np.sqrt(score[new])
            else:
                new = largest_entry(alpha_bits, k, low)
                gain = abs(alpha[new])
            if gain <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1
            if place[new] < 0:
                G = ask_row(new, dictionary.columns, known, scale, G, place)
            g, u = G[place[new]], U[t]
            pivot = g[new]
            for s in range(t):
                L[t, s] = U[s, new]
                pivot -= U[s, new] * U[s, new]
            if pivot <= SPAN:
                alpha[new] = 0.0
                outside[new] = 0.0
                banned[n_banned] = new
                n_banned += 1
                continue
            # u_t = (g - L[t, :t] U) / L[t, t], and what the new Gram-Schmidt vector explains
            d = np.sqrt(pivot)
            L[t, t] = d
            for j in range(k):
                u[j] = g[j]
            # four rows at a time in place: with 20 atoms, 1.4 times as fast as one at a time, and
            # as a call of `add_rows`, to which LLVM hands each array as seven arguments
            s = ZERO
            while s + 4 <= t:
                c0, c1, c2, c3 = L[t, s], L[t, s + 1], L[t, s + 2], L[t, s + 3]
                u0, u1, u2, u3 = U[s], U[s + 1], U[s + 2], U[s + 3]
                for j in range(k):
                    u[j] -= (c0 * u0[j] + c1 * u1[j]) + (c2 * u2[j] + c3 * u3[j])
                s += 4
            while s < t:
                c0, u0 = L[t, s], U[s]
                for j in range(k):
                    u[j] -= c0 * u0[j]
                s += 1
            step, inverse = alpha[new] / d, 1.0 / d
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
            # exact zeros where theory has them
            for s in range(t):
                alpha[index[s]] = 0.0
            for s in range(n_banned):
                alpha[banned[s]] = 0.0
            for s in range(t - 1):
                u[index[s]] = 0.0
            rho = max(0.0, rho - step * step)
            if rho <= bound:  # the recursion is exact to rounding of |x|^2 only
                rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, value, r)
                if rho < best_rho:
                    best_t, best_rho = t, rho
        if bound < 0.0 and rho > 1e-6 * size:  # no decision depends on more digits
            for s in range(t):
                a[s] = h[s]
            solve_upper(L, t, a)
            for s in range(t):
                value[s] = a[s] * scale[index[s]]
        elif stop != TOL:
            rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, value, r)
            if best_rho < rho:  # rounding made it worse after
                t = best_t
                rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, value, r)
            if rho <= bound:
                stop = TOL
        sort_pairs(index, value, t)
        found.counts[i] = t
        found.residual_sq[i] = rho
        found.stop[i] = stop
        found.steps[i] = steps


@jit_leaf
def _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, value, r):
    """Code ``L^T a = h`` of the first t atoms, and the squared residual of what is returned."""
    for s in range(t):
        a[s] = h[s]
    solve_upper(L, t, a)
    return returned_residual_sq(signals, dictionary, i, index, a, t, value, r)
