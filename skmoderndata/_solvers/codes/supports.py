"""Signals and a dictionary, many signals at a time: products, and least squares on supports.

Codes (m, k) and supports, which are Boolean arrays of the same shape, have a row for each signal.
Masks are weights 0 and 1 of the entries: nothing is computed per pattern.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.cholesky import append_atom, solve_chosen
from skmoderndata._solvers.codes.signal_blocks import (
    BLOCK_SIGNALS,
    MEMORY,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    code_in_blocks,
    from_dense,
    gram_pays,
)
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.typing import Array

# Minimum squared norm of a masked atom; a smaller norm would lead to huge coefficients.
BARRED = 1e-3


class Problem(NamedTuple):
    """Signals x of a block and ``min |observed (x - a D)|^2`` for each; atoms have unit norm."""

    X: Array  # (m, n), 0 for missing entries
    b: Array  # (m, k), products of signals and (masked) atoms
    rows: Array  # (k, n)
    gram: Array | None  # (k, k)
    observed: Array | None  # (m, n), 1 for entries that count; None if all do
    scale: Array | None  # (m, k), reciprocal norms of the masked atoms, 0 for barred ones
    positive: bool

    @property
    def shape(self) -> Any:
        """Shape of the codes."""
        return self.b.shape

    @property
    def n_observed(self) -> Array:
        """Number of observed entries per signal."""
        m, n = self.X.shape
        if self.observed is None:
            return np.full(m, n)
        return np.asarray(self.observed.sum(axis=1).astype(np.int64))

    def of(self, which: Array) -> "Problem":
        """Return the problem restricted to the given signals."""
        observed = None if self.observed is None else self.observed[which]
        scale = None if self.scale is None else self.scale[which]
        return self._replace(X=self.X[which], b=self.b[which], observed=observed, scale=scale)

    def residuals(self, A: Array) -> Array:
        """Compute ``observed (x - a D)``."""
        codes = sparse.csr_array(A if self.scale is None else A * self.scale)
        R: Array = self.X - codes @ self.rows
        return R if self.observed is None else R * self.observed

    def cross(self, R: Array) -> Array:
        """Compute the products of residuals with the (masked) atoms."""
        C: Array = R @ self.rows.T
        return np.asarray(C if self.scale is None else C * self.scale)

    def atoms(self, which: Array) -> Array:
        """Return the (masked) atom ``which[i]`` for each signal i."""
        if self.scale is None or self.observed is None:
            return self.rows[which]
        scale = self.scale[np.arange(len(which)), which, None]
        return self.rows[which] * self.observed * scale

    def images_sq(self, A: Array) -> Array:
        """Compute ``|observed (a D)|^2``."""
        Z = (A if self.scale is None else A * self.scale) @ self.rows
        return squares(Z if self.observed is None else Z * self.observed)

    def fit(self, support: Array, start: Array) -> Array:
        """Fit by least squares on supports; with `positive`, non-negatively, from `start`.

        Atoms in the span of others are left out; atoms with a value in `start` take precedence.
        """
        counts = support.sum(axis=1)
        width = int(counts.max(initial=0))
        out = np.zeros(support.shape)
        if width == 0:
            return out

        # list the columns of each support, in order, with the columns in use first
        row, atom = np.nonzero(support)
        unused = start[row, atom] == 0
        atom = atom[np.lexsort((unused, row))]
        first = np.cumsum(counts) - counts
        position = np.arange(len(row)) - np.repeat(first, counts)
        index = np.zeros((len(counts), width), np.int64)
        index[row, position] = atom
        outside = np.arange(width) >= counts[:, None]

        # form the normal equations of all supports
        if self.gram is not None:
            G = self.gram[index[:, :, None], index[:, None, :]]
        else:
            D = self.rows[index]
            if self.observed is not None and self.scale is not None:
                scale = np.take_along_axis(self.scale, index, axis=1)
                D *= scale[:, :, None]
                D *= self.observed[:, None, :]
            G = D @ D.transpose(0, 2, 1)

        b = np.take_along_axis(self.b, index, axis=1)
        if self.positive:
            G[outside] = 0.0
            b[outside] = 0.0
            guess = np.take_along_axis(start, index, axis=1)
            values = nnls(G, b, start=guess).Z
        else:
            values = np.zeros(b.shape)
            _solve_each(G, b, counts, values)

        out[row, atom] = values[~outside]
        return out


class Pursued(NamedTuple):
    """Codes (m, k) for atoms of unit norm, squared residuals, reasons to stop, and steps."""

    a: Array
    residual_sq: Array
    stop: Array
    n_iter: Array

    def certified(self, p: Problem, tol_sq: Array) -> "Pursued":
        """Compute the residuals of the final codes, and check them against the bounds."""
        rho = squares(p.residuals(self.a))
        missed = np.where(self.stop == TOL, STALL, self.stop)
        stop = np.where(rho <= tol_sq, TOL, missed)
        return self._replace(residual_sq=rho, stop=stop)


def code_by_problems(
    X: Array,
    atoms: Atoms,
    solve: Callable[[Problem, slice], Pursued],
    *,
    widest: int,
    positive: bool = False,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Code blocks of signals by ``solve(problem, rows)``.

    Parameters
    ----------
    X : array of shape (N, n)
        Finite numbers; entries hidden by the mask are ignored.
    atoms : Atoms
        Atoms of unit norm. If `gram` is None, the Gram matrix is computed if that pays and it fits
        in `memory`.
    widest : int
        Largest number of atoms in a support.
    mask : boolean array of shape (N, n) or None
        True if an entry counts.
    """
    (m, n) = X.shape
    k = len(atoms.rows)
    gram = atoms.gram if mask is None else None
    if mask is None and gram is None and gram_pays(k, m * widest, memory):
        gram = atoms.rows @ atoms.rows.T

    def work(block: slice) -> SparseCodes:
        observed = None if mask is None else mask[block]
        p = block_problem(X[block], atoms, gram, observed, positive)
        pursued = solve(p, block)
        a = pursued.a if p.scale is None else pursued.a * p.scale
        codes = a / atoms.norms
        no_gap = np.full(len(a), np.nan)
        return from_dense(codes, pursued.residual_sq, pursued.stop, no_gap, pursued.n_iter)

    # choose the block size so that the systems fit into memory, with their atoms unless the Gram
    # matrix is known
    system = widest * (widest + (n if gram is None else 0))
    signal_bytes = 8 * (system + 8 * k + 4 * n)
    fitting = min(memory, TEMPORARY_BYTES) // signal_bytes
    size = int(max(1, min(BLOCK_SIGNALS, fitting)))
    return code_in_blocks(m, work, n_jobs=n_jobs, block=size)


def block_problem(
    X: Array, atoms: Atoms, gram: Array | None, mask: Array | None, positive: bool
) -> Problem:
    """Return the problem of the signals X; entries hidden by the mask are ignored."""
    x = np.array(X, dtype=np.float64, order="C")
    rows = atoms.rows
    if mask is None:
        return Problem(x, x @ rows.T, rows, gram, None, None, positive)

    x = np.where(mask, x, 0.0)
    observed = mask.astype(np.float64)
    norms_sq = observed @ rows.T**2
    usable = norms_sq > BARRED
    norms = np.sqrt(np.where(usable, norms_sq, 1.0))
    scale = np.where(usable, 1 / norms, 0.0)
    b = x @ rows.T * scale
    return Problem(x, b, rows, None, observed, scale, positive)


def squares(R: Array) -> Array:
    """Return the squared norms of the rows."""
    return np.einsum("ij,ij->i", R, R)


def first_largest(size: Array) -> tuple[Array, Array]:
    """Return index and value of each row's largest entry, the first of ties up to rounding."""
    new = without_last_bits(size).argmax(axis=1)
    largest = size[np.arange(len(size)), new]
    return new, largest


def without_last_bits(size: Array) -> Array:
    """Return magnitudes without their last eight bits, as integers in the same order."""
    return np.asarray(size.view(np.int64) & ~np.int64(255))


@jit
def _solve_each(G, b, counts, out):
    """Solve ``G_II z = b_I`` for each signal, where I is its support without dependent atoms."""
    width = b.shape[1]
    L = np.empty((width, width))
    z = np.empty(width)
    index = np.empty(width, np.int64)
    for i in range(len(counts)):
        t = 0
        for s in range(counts[i]):
            if append_atom(L, t, G[i, s], index, s) > 0.0:
                index[t] = s
                t += 1
        solve_chosen(L, index, t, b[i], z)
        for s in range(t):
            out[i, index[s]] = z[s]
