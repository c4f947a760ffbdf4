"""Codes of the lasso by proximal gradient steps, many signals at a time: ISTA and FISTA."""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.codes.gaps import code_gaps, dual_norms
from skmoderndata._solvers.codes.products import EPS
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
)

Array = np.ndarray[Any, np.dtype[Any]]


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

    All signals of a block take their steps together, each with its own momentum, which starts
    afresh when it points uphill [Beck, Teboulle 2009; O'Donoghue, Candes 2015]; with
    ``accelerate=False`` there is none (ISTA). A signal is done when its duality gap is at most
    `tol` of its objective. Other parameters as in `lasso_codes`.
    """
    n, k = X.shape[1], len(atoms.rows)
    rows = atoms.rows
    transposed = np.ascontiguousarray(rows.T)
    # steps through the signal take 4 n k operations, through the Gram matrix 2 k^2
    gram = None
    if mask is None and 2 * n > k and gram_pays(k, len(X), memory):
        gram = rows @ rows.T if atoms.gram is None else atoms.gram
    # a mask does not make the norm larger
    largest = _largest_eigenvalue(rows @ transposed if k <= n else transposed @ rows)

    def work(part: slice) -> SparseCodes:
        x = np.array(X[part], dtype=np.float64, order="C")
        known = None if mask is None else mask[part].astype(np.float64)
        if known is not None:
            x = np.where(known > 0, x, 0.0)
        problem = _Problem(x, known, rows, transposed, gram, alpha[part], positive)
        codes, gap, residual_sq, steps, done = _proximal_gradient(
            problem, largest, accelerate, tol, max_iter
        )
        stop = np.where(done, TOL, MAX_ITER)
        return from_dense(codes / atoms.norms, residual_sq, stop, gap, steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=block_size(n, 2 * k, memory))


class _Problem(NamedTuple):
    """Signals of a block with what all of them share: their codes solve the lasso."""

    x: Array
    known: Array | None
    rows: Array
    transposed: Array
    gram: Array | None
    alpha: Array
    positive: bool

    def shrink(self, Z: Array, threshold: Array) -> Array:
        """Proximal operator of the penalty, with one threshold for each row."""
        t = threshold[:, None]
        if self.positive:
            return np.asarray(np.maximum(Z - t, 0.0))
        return np.asarray(np.sign(Z) * np.maximum(np.abs(Z) - t, 0.0))

    def some(self, which: Array) -> "_Problem":
        """Return the problem of some of the signals."""
        known = None if self.known is None else self.known[which]
        return self._replace(x=self.x[which], known=known, alpha=self.alpha[which])

    def residual(self, A: Array) -> Array:
        """Known entries of ``x - a D``."""
        R: Array = self.x - A @ self.rows
        return R if self.known is None else R * self.known

    def gradient(self, A: Array, B: Array) -> Array:
        """``G a - b``, in the way that takes fewer operations."""
        out: Array = (
            -self.residual(A) @ self.transposed if self.gram is None else A @ self.gram - B
        )
        return out


def _largest_eigenvalue(gram: Array) -> float:
    """Upper bound on the largest eigenvalue, tight up to one per cent."""
    k = len(gram)
    if k <= 2000:
        return float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-12)
    v = np.abs(gram).sum(axis=1)
    for _ in range(100):
        v = gram @ (v / np.linalg.norm(v))
    return float(np.linalg.norm(v)) * 1.01


def _proximal_gradient(
    problem: _Problem, largest: float, accelerate: bool, tol: float, max_iter: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Codes, relative gaps, squared residuals, steps and who is done; rows leave when done."""
    size = np.einsum("ij,ij->i", problem.x, problem.x)
    B = problem.x @ problem.transposed
    m, k = B.shape
    codes, gap, residual_sq = np.zeros((m, k)), np.zeros(m), size.copy()
    steps, done = np.zeros(m, np.int32), np.ones(m, np.bool_)
    # without an atom, or with a large penalty, zero is the answer
    active = np.flatnonzero(dual_norms(B, problem.positive) > problem.alpha)
    if largest <= 0:
        active = active[:0]
    A = np.zeros((active.size, k))
    Y, t = A, np.ones(active.size)
    done[active] = False
    running, b, floor = problem.some(active), B[active], 4 * EPS * size[active]
    for step in range(1, max_iter + 1):
        if active.size == 0:
            break
        new = running.shrink(Y - running.gradient(Y, b) / largest, running.alpha / largest)
        if accelerate:
            change = new - A
            uphill = np.einsum("ij,ij->i", Y - new, change) > 0
            t = np.where(uphill, 1.0, t)
            t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
            momentum = np.where(uphill, 0.0, (t - 1) / t_new)
            Y, t = new + momentum[:, None] * change, t_new
        else:
            Y = new
        A = new
        if step % 10 == 0 or step == max_iter:
            reached, objective, rr = code_gaps(
                running.x, running.residual(A), A, running.rows, running.alpha, running.positive
            )
            certain = reached <= np.maximum(tol * objective, floor)
            ready = certain | np.bool_(step == max_iter)
            rows = active[ready]
            codes[rows], residual_sq[rows], steps[rows] = A[ready], rr[ready], step
            gap[rows] = reached[ready] / objective[ready]
            done[rows] = certain[ready]
            if ready.any():
                stay = ~ready
                running = running.some(stay)
                active, A, Y, t, b, floor = (
                    active[stay], A[stay], Y[stay], t[stay], b[stay], floor[stay],
                )  # fmt: skip
    return codes, gap, residual_sq, steps, done
