"""Sparse codes of many signals by an l1 penalty, each with a certificate of optimality.

``min over a  1/2 |x - a D|^2 + alpha sum_j |a_j|``, optionally with ``a >= 0``.
`homotopy`, `feature_sign` and `coordinate_descent` hold the three routes; only the routes in use
are compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.coordinate_descent import code_by_coordinate_descent
from skmoderndata._solvers.codes.feature_sign import code_by_feature_sign
from skmoderndata._solvers.codes.gaps import code_gaps, dual_norms
from skmoderndata._solvers.codes.gram_rows import all_rows, enlarged, no_rows
from skmoderndata._solvers.codes.homotopy import code_by_homotopy
from skmoderndata._solvers.codes.lasso_signal import Signals, work_space
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    MEMORY,
    ROWS_PER_CODE,
    TOL,
    Atoms,
    SparseCodes,
    by_pattern,
    cached_block_size,
    code_in_blocks,
    from_dense,
    gram_pays,
    with_gram,
)
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.certificates import relative_gaps
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

Start = Array | sparse.csr_array | None


def _descend(*args: Any) -> int:
    return code_by_coordinate_descent(*args, False)


def _descend_thoroughly(*args: Any) -> int:
    return code_by_coordinate_descent(*args, True)


# Solvers of each method, in order: signals that miss the tolerance go on to the next solver.
ROUTES = {
    "feature_sign": (
        code_by_feature_sign,
        _descend,
        code_by_feature_sign,
        _descend_thoroughly,
    ),
    "homotopy": (code_by_homotopy, _descend, code_by_feature_sign, _descend_thoroughly),
    "coordinate_descent": (_descend, code_by_feature_sign, _descend_thoroughly),
}
METHODS = tuple(ROUTES)


class Settings(NamedTuple):
    """Settings of the lasso, see `lasso_codes`."""

    method: str = "homotopy"
    positive: bool = False
    tol: float = 1e-6
    max_iter: int = 1000
    n_jobs: int | None = None
    memory: float = MEMORY


class Codes(NamedTuple):
    """Codes of a block of signals; on entry, `a` holds the initial codes."""

    a: Array  # (m, k), for the prepared atoms
    residual_sq: Array  # (m,)
    gap: Array  # (m,), relative to the objective
    converged: Array  # (m,), Boolean
    n_iter: Array  # (m,)


def lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    method: str = "homotopy",
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    start: Start = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha |a|_1`` for every signal, to a certified gap.

    - "feature_sign": guess the signs of the active coefficients, solve, and search along the line
      to the solution; admit one atom at a time [Lee, Battle, Raina, Ng 2007].
    - "homotopy": follow the minimiser from large penalties down to `alpha`, atom by atom
      [Osborne, Presnell, Turlach 2000].
    - "coordinate_descent": one coefficient at a time, over the active atoms and then over all.

    If the gap of a signal, relative to the objective, exceeds `tol`, the signal continues with
    another route; `max_iter` bounds the sweeps of coordinate descent.

    Parameters
    ----------
    X : array of shape (N, n)
    atoms : Atoms
        Atoms without duplicates (``prepare_atoms(distinct=True)``); otherwise, the split between
        duplicates is arbitrary.
    alpha : array of shape (N,)
        Weight of the penalty for each signal, positive.
    start : array or CSR array of shape (N, k) or None
        Initial codes ("feature_sign" and "coordinate_descent").
    mask : boolean array of shape (N, n) or None
        True if an entry counts.
    """
    settings = Settings(method, positive, tol, max_iter, n_jobs, memory)
    alpha = np.asarray(alpha, dtype=np.float64)

    def solve(
        signals: Array, atoms_used: Atoms, which: Any, observed: Array | None = None
    ) -> SparseCodes:
        code = block_coder(signals, atoms_used, settings, observed)
        starts = None if start is None else start[which]
        levels = alpha[which]

        def work(block: slice) -> SparseCodes:
            first = None if starts is None else starts[block]
            codes = code(block, levels[block].copy(), start=first)
            stop = np.where(codes.converged, TOL, MAX_ITER)
            a = codes.a / atoms_used.norms
            return from_dense(a, codes.residual_sq, stop, codes.gap, codes.n_iter)

        return in_blocks(signals, atoms_used, settings, work)

    return by_pattern(X, mask, atoms, solve, gram=True, memory=memory, each=True)


def in_blocks(
    X: Array, atoms: Atoms, settings: Settings, work: Callable[[slice], SparseCodes]
) -> SparseCodes:
    """Run `work` on blocks of signals."""
    signal_bytes = 8 * (4 * X.shape[1] + 6 * len(atoms.rows))
    size = cached_block_size(signal_bytes, settings.memory)
    return code_in_blocks(len(X), work, n_jobs=settings.n_jobs, block=size)


def block_coder(
    X: Array, atoms: Atoms, settings: Settings, mask: Array | None = None
) -> Callable[..., Codes]:
    """Prepare to code blocks of signals: ``code(block, alpha, bound=None, start=None)``.

    Uses the full Gram matrix if that pays, else computes its rows on demand. With a `bound` on
    each squared residual, `alpha` holds the smallest penalties, and receives the penalties that
    meet the bounds.
    """
    n = X.shape[1]
    k = len(atoms.rows)
    atoms_per_code = max(1, min(n, k) // ROWS_PER_CODE)
    if mask is None and gram_pays(k, len(X) * atoms_per_code, settings.memory):
        atoms = with_gram(atoms)
    gram = None if mask is not None else atoms.gram

    rows = atoms.rows
    columns = np.ascontiguousarray(rows.T) if gram is None else np.empty((0, k))
    ones = np.ones(k)
    max_rows = TEMPORARY_BYTES // (8 * k) if gram is None else -1
    limits = (settings.positive, float(settings.tol), int(settings.max_iter))

    def norms_sq(observed: Array) -> Array:
        if mask is None:
            return np.asarray(np.einsum("kn,kn->k", rows, rows))[None]
        return np.asarray(observed @ rows.T**2)

    def code(
        block: slice, alpha: Array, bound: Array | None = None, start: Start = None
    ) -> Codes:
        # prepare the signals of the block
        x = np.array(X[block], dtype=np.float64, order="C")
        m = len(x)
        observed = np.ones((1, n)) if mask is None else mask[block].astype(np.float64)
        B = x @ rows.T
        sizes = np.einsum("ij,ij->i", x, x)
        bounds = np.full(m, -1.0) if bound is None else bound
        G, row_of = no_rows(k) if gram is None else all_rows(gram)
        dictionary = (rows, columns, ones, row_of, max_rows, *limits)
        signals = Signals(
            x, observed, B, norms_sq(observed), sizes, alpha, bounds, *dictionary
        )

        # set the initial codes
        a = np.zeros((m, k))
        if start is not None:
            dense = start.toarray() if sparse.issparse(start) else start
            a += dense * atoms.norms
        converged = np.ones(m, np.bool_)
        out = Codes(a, sizes.copy(), np.zeros(m), converged, np.zeros(m, np.int32))

        # the code is zero unless a correlation exceeds the penalty
        pending = np.arange(m)
        if bound is None:
            nonzero = dual_norms(B, settings.positive) > alpha
            if start is not None:
                nonzero |= a.any(axis=1)
            pending = np.flatnonzero(nonzero)
        out.converged[pending] = False

        # Run the solvers in turn on codes that are not finished. Bounds apply only to the first
        # solver, because it receives all signals and thus the caller's `alpha` itself.
        for route in ROUTES[settings.method]:
            if pending.size:
                _run(route, signals, out, pending, G)
                pending = pending[~out.converged[pending]]
        return out

    return code


def _run(route: Any, signals: Signals, out: Codes, pending: Array, G: Array) -> None:
    """Code the given signals by a route, starting from `out`, and certify them."""
    # select the pending signals unless all signals are pending
    all_pending = len(pending) == len(out.a)
    if not all_pending:
        fields = ["X", "B", "sizes", "alpha", "bound"]
        if len(signals.observed) > 1:
            fields += ["observed", "norms_sq"]
        taken = {name: getattr(signals, name)[pending] for name in fields}
        signals = signals._replace(**taken)

    if signals.max_rows >= 0:  # existing rows may belong to another mask
        signals.row_of[:-1] = -1
        signals.row_of[-1] = 0

    a = out.a if all_pending else out.a[pending]
    R = np.empty_like(signals.X)
    steps = np.zeros(len(a), np.int32)
    active, scratch = work_space(signals)
    # enlarge G if a signal needs more rows
    done = route(0, signals, active, scratch, G, a, R, steps)
    while done < len(a):
        G = enlarged(G)
        done = route(done, signals, active, scratch, G, a, R, steps)

    # compute the certificates of all codes at once
    x = signals.X
    gap, objective, rr = code_gaps(x, R, a, signals.rows, signals.alpha, signals.positive)
    if not all_pending:
        out.a[pending] = a
    out.residual_sq[pending] = rr
    out.gap[pending] = relative_gaps(gap, 0.0, unit=objective)
    rounding = 4 * EPS * signals.sizes
    out.converged[pending] = gap <= np.maximum(signals.tol * objective, rounding)
    out.n_iter[pending] += steps
