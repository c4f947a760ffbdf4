"""Codes of minimal l1 norm subject to a bound on the residual, each with its certificate.

``min |a|_1  subject to  |x - a D|^2 <= tol_sq``, optionally with ``a >= 0``.
This is basis pursuit denoising.
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
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, BISECTIONS
from skmoderndata._solvers.common.typing import Array


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

    Follows the minimiser of ``1/2 |x - a D|^2 + lam |a|_1`` from large `lam` downwards; within the
    segment in which the bound is met, the right `lam` has a closed form. If that fails because
    atoms are linearly dependent, `lam` is found by bisection. With ``r = x - a D`` and
    ``q = |D r|_inf``, the dual point ``r / q`` gives the gap
    ``|a|_1 - (r x - |r| sqrt(tol_sq)) / q``, which is reported relative to ``|a|_1``.

    Parameters
    ----------
    tol_sq : array of shape (N,)
        Bounds on the squared residuals; codes that end with reason "tol" do not exceed them.
    alpha : array of shape (N,) or None
        Smallest penalty `lam`; None for 1e-8 of the largest. If a signal does not meet its bound
        with this penalty, it gets the code of that penalty, the gap of `lasso_codes`, and the
        reason "stall".

    Other parameters as in `lasso_codes`.
    """
    settings = Settings("homotopy", positive, tol, max_iter, n_jobs, memory)
    floor = np.zeros(len(X)) if alpha is None else np.array(alpha, dtype=np.float64)
    tol_sq = np.asarray(tol_sq, dtype=np.float64)

    def solve(
        signals: Array, atoms_used: Atoms, which: Any, observed: Array | None = None
    ) -> SparseCodes:
        code = block_coder(signals, atoms_used, settings, observed)
        least = floor[which]
        bounds = tol_sq[which]
        reached = floor[which].copy()

        def work(block: slice) -> SparseCodes:
            seen = None if observed is None else observed[block]
            x = np.asarray(signals[block], dtype=np.float64)
            bound = bounds[block]
            lam = reached[block]
            codes = code(block, lam, bound)

            # give each code its reason to stop: its optimum is certified within the bound, or its
            # residual cannot be made smaller
            rr, gap, margin = _bound_gaps(x, seen, codes.a, atoms_used.rows, bound, positive)
            top = dual_norms(x @ atoms_used.rows.T, positive)
            met = rr <= bound - margin
            lowest = np.maximum(least[block], FLOOR * top)
            short = ~met & (lam <= lowest * (1 + ACCUMULATED_ROUNDING))
            sure = (gap <= tol) & met
            otherwise = np.where(short & codes.converged, STALL, MAX_ITER)
            stop = np.where(sure, TOL, otherwise)
            gap = np.where(short, codes.gap, gap)
            return from_dense(codes.a / atoms_used.norms, rr, stop, gap, codes.n_iter)

        return in_blocks(signals, atoms_used, settings, work)

    # compute codes by homotopy; if rounding errors make a code miss its bound, search for its
    # penalty
    codes = by_pattern(X, mask, atoms, solve, gram=True, memory=memory, each=True)
    missed = np.flatnonzero(codes.stop == MAX_ITER)
    if missed.size == 0:
        return codes
    observed, least = (None if v is None else v[missed] for v in (mask, alpha))
    x = np.array(X[missed], dtype=np.float64)
    searched = _search_penalties(x, observed, atoms, tol_sq[missed], least, settings)
    return replace_codes(codes, missed, searched)


def _search_penalties(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    tol_sq: Array,
    alpha: Array | None,
    settings: Settings,
) -> SparseCodes:
    """Find codes whose squared residual equals the bound, by bisection of the penalties."""
    if mask is not None:
        X = np.where(mask, X, 0.0)

    # bracket the penalty: from nearly zero, or `alpha`, to the smallest penalty whose code is zero
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

    # start from the smallest penalty, which shows whether the bound can be met
    pending = np.arange(m)
    lam = low.copy()
    for number in range(BISECTIONS):
        x = X[pending]
        bound = tol_sq[pending]
        observed = None if mask is None else mask[pending]
        solved = lasso_codes(x, atoms, alpha=lam, mask=observed, **options)
        A = to_dense(solved, k) * atoms.norms
        rr, reached, margin = _bound_gaps(x, observed, A, atoms.rows, bound, settings.positive)

        # keep codes within the bound; in the first pass, keep all
        inside = rr <= bound - margin
        keep = inside | np.bool_(number == 0)
        written = pending[keep]
        codes[written] = A[keep]
        residual_sq[written] = rr[keep]
        gap[written] = np.where(inside, reached, solved.gap)[keep]
        steps[pending] += solved.n_iter

        # if the smallest penalty does not meet a bound, the bound is out of reach
        if number == 0:
            stop[~inside] = STALL
        certified = inside & (reached <= settings.tol)
        stop[pending[certified]] = TOL
        low[pending[inside]] = lam[inside]
        high[pending[~inside]] = lam[~inside]

        # bisect: the next penalty is the geometric mean of both limits
        pending = np.flatnonzero(stop == MAX_ITER)
        if pending.size == 0:
            break
        lam = np.sqrt(low[pending]) * np.sqrt(high[pending])
    return from_dense(codes / atoms.norms, residual_sq, stop, gap, steps)


def _bound_gaps(
    X: Array, observed: Array | None, A: Array, rows: Array, tol_sq: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Return squared residuals, gaps to the minimal ``|a|_1`` within the bounds, and margins."""
    R = X - A @ rows
    if observed is not None:
        R *= observed
    C = R @ rows.T
    q = dual_norms(C, positive)
    rr = np.einsum("ij,ij->i", R, R)
    norm = np.abs(A).sum(axis=1)
    residual = np.sqrt(rr)
    tol = np.sqrt(tol_sq)
    # compute the dual value, using r x = a c + |r|^2
    dual = np.einsum("ij,ij->i", A, C) + residual * (residual - tol)
    bound = np.divide(dual, q, out=np.zeros_like(dual), where=q > 0)
    gap = relative_gaps(norm, bound, unit=norm)

    # estimate the rounding error of the residual from the lengths of the terms that it subtracts
    lengths = np.linalg.norm(rows, axis=1)
    reach = np.linalg.norm(X, axis=1) + np.abs(A) @ lengths
    margin = 8 * EPS * tol * reach
    return rr, np.where(norm > 0, gap, 0.0), np.where(norm > 0, margin, 0.0)
