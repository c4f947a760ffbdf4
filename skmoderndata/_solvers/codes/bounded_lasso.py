"""Codes of least l1 norm within a bound for the residual, each with its certificate.

``min |a|_1  subject to  |x - a D|^2 <= tol_sq``, also with ``a >= 0``.
"""

from typing import Any

import numpy as np

from skmoderndata._solvers.codes.gaps import dual_norms
from skmoderndata._solvers.codes.homotopy import FLOOR
from skmoderndata._solvers.codes.lasso import (
    Settings,
    block_coder,
    in_blocks,
    lasso_codes,
)
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    MEMORY,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    by_pattern,
    from_dense,
    replace_codes,
    to_dense,
)
from skmoderndata._solvers.common.certificates import relative_gaps
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

SEARCH = 60  # steps of the search for a penalty


def bounded_lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    tol_sq: Array,
    alpha: Array | None = None,
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``|a|_1`` subject to ``|x - a D|^2 <= tol_sq``, to a certified gap.

    The minimiser of ``1/2 |x - a D|^2 + lam |a|_1`` is followed from large `lam` downwards, and
    within the segment where the bound is met its `lam` is known. Where that fails, because atoms
    depend on each other, `lam` is searched for. With ``r = x - a D`` and ``q = |D r|_inf`` the gap
    is that of the dual point ``r / q``: ``|a|_1 - (r x - |r| sqrt(tol_sq)) / q``, relative to
    ``|a|_1``.

    Parameters
    ----------
    tol_sq : array of shape (N,)
        Bounds, which a code that ends with reason "tol" does not exceed.
    alpha : array of shape (N,) or None
        Smallest penalty `lam`; None for 1e-8 of the largest. A signal that does not meet its bound
        with it has the code of that penalty, the gap of `lasso_codes`, and reason "stall".

    Other parameters as in `lasso_codes`.
    """
    settings = Settings("homotopy", positive, tol, max_iter, n_jobs, memory)
    floor = np.zeros(len(X)) if alpha is None else np.array(alpha, dtype=np.float64)
    tol_sq = np.asarray(tol_sq, dtype=np.float64)

    def solve(
        signals: Array, some: Atoms, which: Any, observed: Array | None = None
    ) -> SparseCodes:
        code = block_coder(signals, some, settings, observed)
        least = floor[which]
        bounds = tol_sq[which]
        reached = floor[which].copy()

        def work(block: slice) -> SparseCodes:
            seen = None if observed is None else observed[block]
            x = np.asarray(signals[block], dtype=np.float64)
            bound = bounds[block]
            lam = reached[block]
            codes = code(block, lam, bound)

            # the bound is met, the optimum is certified, or the residual cannot be made
            # smaller
            rr, gap, margin = _bound_gaps(x, seen, codes.a, some.rows, bound, positive)
            top = dual_norms(x @ some.rows.T, positive)
            met = rr <= bound - margin
            lowest = np.maximum(least[block], FLOOR * top)
            short = ~met & (lam <= lowest * (1 + 1e-12))
            sure = (gap <= tol) & met
            otherwise = np.where(short & codes.done, STALL, MAX_ITER)
            stop = np.where(sure, TOL, otherwise)
            gap = np.where(short, codes.gap, gap)
            return from_dense(codes.a / some.norms, rr, stop, gap, codes.n_iter)

        return in_blocks(signals, some, settings, work)

    # codes by homotopy; what missed the bound by rounding is searched for
    codes = by_pattern(X, mask, atoms, solve, gram=True, memory=memory, each=True)
    unmet = np.flatnonzero(codes.stop == MAX_ITER)
    if unmet.size == 0:
        return codes
    observed, least = (None if v is None else v[unmet] for v in (mask, alpha))
    x = np.array(X[unmet], dtype=np.float64)
    searched = _search_penalties(x, observed, atoms, tol_sq[unmet], least, settings)
    return replace_codes(codes, unmet, searched)


def _search_penalties(
    X: Array, mask: Array | None, atoms: Atoms, tol_sq: Array, alpha: Array | None,
    settings: Settings,
) -> SparseCodes:  # fmt: skip
    """Codes whose squared residual is the bound: bisection of penalties."""
    if mask is not None:
        X = np.where(mask, X, 0.0)

    # penalties between zero and the one from which on the code is zero
    high = dual_norms(X @ atoms.rows.T, settings.positive)
    low = FLOOR * high if alpha is None else np.maximum(alpha, FLOOR * high)
    m = len(X)
    k = len(atoms.rows)
    codes = np.zeros((m, k))
    residual_sq = np.zeros(m)
    gap = np.zeros(m)
    stop = np.full(m, MAX_ITER)
    steps = np.zeros(m, np.int64)
    closer = settings._replace(tol=min(settings.tol, 1e-10))
    options = closer._asdict()

    # the least penalty tells whether the bound can be met
    some = np.arange(m)
    lam = low.copy()
    for number in range(SEARCH):
        x = X[some]
        bound = tol_sq[some]
        observed = None if mask is None else mask[some]
        solved = lasso_codes(x, atoms, alpha=lam, mask=observed, **options)
        A = to_dense(solved, k) * atoms.norms
        rr, reached, margin = _bound_gaps(x, observed, A, atoms.rows, bound, settings.positive)

        # codes within the bound are kept, and the first ones in any case
        inside = rr <= bound - margin
        put = inside | np.bool_(number == 0)
        written = some[put]
        codes[written] = A[put]
        residual_sq[written] = rr[put]
        gap[written] = np.where(inside, reached, solved.gap)[put]
        steps[some] += solved.n_iter

        # the least penalty cannot meet the bound: out of reach
        if number == 0:
            stop[~inside] = STALL
        certified = inside & (reached <= settings.tol)
        stop[some[certified]] = TOL
        low[some[inside]] = lam[inside]
        high[some[~inside]] = lam[~inside]

        # the next penalties, halfway in logarithms
        some = np.flatnonzero(stop == MAX_ITER)
        if some.size == 0:
            break
        lam = np.sqrt(low[some]) * np.sqrt(high[some])
    return from_dense(codes / atoms.norms, residual_sq, stop, gap, steps)


def _bound_gaps(
    X: Array, observed: Array | None, A: Array, rows: Array, tol_sq: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Squared residuals, gaps to the least ``|a|_1`` within the bounds, errors by rounding."""
    R = X - A @ rows
    if observed is not None:
        R *= observed
    C = R @ rows.T
    q = dual_norms(C, positive)
    rr = np.einsum("ij,ij->i", R, R)
    norm = np.abs(A).sum(axis=1)
    residual = np.sqrt(rr)
    tol = np.sqrt(tol_sq)
    # r x = a c + |r|^2
    dual = np.einsum("ij,ij->i", A, C) + residual * (residual - tol)
    bound = np.divide(dual, q, out=np.zeros_like(dual), where=q > 0)
    gap = relative_gaps(norm, bound, unit=norm)

    # rounding of the residual, by the lengths of what it is the difference of
    lengths = np.linalg.norm(rows, axis=1)
    reach = np.linalg.norm(X, axis=1) + np.abs(A) @ lengths
    margin = 8 * EPS * tol * reach
    return rr, np.where(norm > 0, gap, 0.0), np.where(norm > 0, margin, 0.0)
