"""Lasso codes by proximal gradient steps, many signals at a time: ISTA and FISTA.

Differs from the papers (Beck and Teboulle 2009; O'Donoghue and Candes 2015): 1. Each signal
restarts its own momentum. 2. A duality gap decides when to stop.
"""

import numpy as np

from skmoderndata._solvers.codes.gaps import code_gaps, dual_norms
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    MEMORY,
    TOL,
    Atoms,
    SparseCodes,
    block_size,
    code_in_blocks,
    from_dense,
    gram_pays,
    with_gram,
)
from skmoderndata._solvers.common.certificates import relative_gaps
from skmoderndata._solvers.common.linalg import EPS, leading_eigen
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Number of steps between two checks of the gap.
LOOKS = 10


def proximal_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    positive: bool = False,
    accelerate: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha |a|_1`` by proximal gradient steps.

    All signals of a block take their steps together, each with its own momentum, which restarts
    when it points uphill [Beck, Teboulle 2009; O'Donoghue, Candes 2015]; ``accelerate=False``
    turns momentum off (ISTA). A signal is done when its duality gap is at most `tol` of its
    objective. Other parameters as in `lasso_codes`.
    """
    n = X.shape[1]
    k = len(atoms.rows)
    # a step costs 4 n k operations with the signals, 2 k^2 with the Gram matrix
    through_gram = mask is None and 2 * n > k and gram_pays(k, k, memory)
    if through_gram:
        atoms = with_gram(atoms)
    # a mask does not increase the spectral norm of the dictionary, so one step size serves all
    # masks
    rows = atoms.rows
    smooth = _largest_eigenvalue(rows @ rows.T if k <= n else rows.T @ rows)
    gram = atoms.gram if through_gram else None
    options = (positive, accelerate, tol, max_iter)

    def work(block: slice) -> SparseCodes:
        x = np.array(X[block], dtype=np.float64, order="C")
        observed = np.ones((len(x), 1)) if mask is None else mask[block].astype(np.float64)
        x *= observed
        codes, *outcome = _proximal_gradient(
            x, observed, rows, gram, smooth, alpha[block], *options
        )
        return from_dense(codes / atoms.norms, *outcome)

    size = block_size(n, 2 * k, memory)
    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=size)


def _largest_eigenvalue(gram: Array) -> float:
    """Return an upper bound on the largest eigenvalue, tight up to rounding errors."""
    values, _ = leading_eigen(gram, 1)
    return float(values[0]) * (1 + ACCUMULATED_ROUNDING)


def _proximal_gradient(
    x: Array,
    observed: Array,
    rows: Array,
    gram: Array | None,
    smooth: float,
    alpha: Array,
    positive: bool,
    accelerate: bool,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return codes, squared residuals, reasons to stop, relative gaps, and numbers of steps."""
    size = np.einsum("ij,ij->i", x, x)
    B = x @ rows.T
    m, k = B.shape
    codes = np.zeros((m, k))
    residual_sq = size.copy()
    gaps = np.zeros(m)
    stop = np.full(m, TOL)
    steps = np.zeros(m, np.int64)

    # the code is zero unless a correlation exceeds the penalty and there is a non-zero atom
    active: Array = np.flatnonzero((dual_norms(B, positive) > alpha) & (smooth > 0))
    A: Array = np.zeros((active.size, k))
    Y = A
    t = np.ones(active.size, dtype=alpha.dtype)
    floor = 4 * EPS * size
    x, observed, B, alpha, floor = (v[active] for v in (x, observed, B, alpha, floor))

    for step in range(1, max_iter + 1):
        if active.size == 0:
            break

        # 1. take a gradient step, in the form that takes fewer operations, then shrink
        slope = (x - Y @ rows) * observed @ rows.T if gram is None else B - Y @ gram
        Z = Y + slope / smooth
        threshold = (alpha / smooth)[:, None]
        new = np.maximum(Z - threshold, 0.0)
        if not positive:
            new -= np.maximum(-Z - threshold, 0.0)

        # 2. add momentum; restart it if it points uphill [O'Donoghue and Candes 2015]
        if accelerate:
            change = new - A
            uphill = np.einsum("ij,ij->i", Y - new, change) > 0
            former = np.where(uphill, 1.0, t)
            t = 0.5 * (1 + np.sqrt(1 + 4 * former * former))
            momentum = np.where(uphill, 0.0, (former - 1) / t)
            Y = new + momentum[:, None] * change
        else:
            Y = new

        A = new

        # 3. check the gap every few steps; drop finished signals
        if step % LOOKS == 0 or step == max_iter:
            R = (x - A @ rows) * observed
            gap, objective, rr = code_gaps(x, R, A, rows, alpha, positive)
            met = gap <= np.maximum(tol * objective, floor)
            ends = met | np.bool_(step == max_iter)
            out = active[ends]
            codes[out] = A[ends]
            residual_sq[out] = rr[ends]
            steps[out] = step
            gaps[out] = relative_gaps(gap[ends], 0.0, unit=objective[ends])
            stop[out] = np.where(met[ends], TOL, MAX_ITER)

            if ends.any():
                active, A, Y, t, x, observed, B, alpha, floor = (
                    v[~ends] for v in (active, A, Y, t, x, observed, B, alpha, floor)
                )
    return codes, residual_sq, stop, gaps, steps
