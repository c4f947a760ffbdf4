"""Signals and a dictionary, many signals at a time: products, and least squares on supports.

Codes (m, k) and supports, Boolean arrays of the same shape, have a row for each signal. Masks
are weights 0 and 1 of the entries: nothing is computed for each pattern.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import append_atom, solve_chosen
from skmoderndata._solvers.codes.signal_blocks import Atoms
from skmoderndata._solvers.common.nnls import nnls

Array = np.ndarray[Any, np.dtype[Any]]

BARRED = 1e-3  # an atom of which a mask leaves less (squared norm) would get a huge coefficient


class Problem(NamedTuple):
    """Signals x of a block, each with ``min |known (x - a D)|^2``, for atoms of unit norm."""

    X: Array  # (m, n), 0 for missing entries
    b: Array  # (m, k), products with the (masked) atoms
    rows: Array  # (k, n)
    gram: Array | None  # (k, k)
    known: Array | None  # (m, n), 1 for an entry that counts; None if all do
    scale: Array | None  # (m, k), reciprocal norms of the masked atoms, 0 for barred ones
    positive: bool

    @property
    def shape(self) -> Any:
        """Shape of the codes."""
        return self.b.shape

    @property
    def room(self) -> Array:
        """Number of known entries."""
        m, n = self.X.shape
        return np.full(m, n) if self.known is None else self.known.sum(axis=1).astype(np.int64)

    def of(self, some: Array) -> "Problem":
        """Problem of some of the signals."""
        known = None if self.known is None else self.known[some]
        scale = None if self.scale is None else self.scale[some]
        return self._replace(X=self.X[some], b=self.b[some], known=known, scale=scale)

    def residuals(self, A: Array) -> Array:
        """``known (x - a D)``."""
        R: Array = self.X - (A if self.scale is None else A * self.scale) @ self.rows
        return R if self.known is None else R * self.known

    def cross(self, R: Array) -> Array:
        """Products of residuals with the (masked) atoms."""
        C: Array = R @ self.rows.T
        return np.asarray(C if self.scale is None else C * self.scale)

    def images_sq(self, A: Array) -> Array:
        """``|known (a D)|^2``."""
        Z = (A if self.scale is None else A * self.scale) @ self.rows
        return squares(Z if self.known is None else Z * self.known)

    def fit(self, support: Array, start: Array) -> Array:
        """Least squares on supports; non-negative with `positive`, from the values of `start`.

        Atoms in the span of others are left out, last those with a value in `start`.
        """
        counts = support.sum(axis=1)
        width = int(counts.max(initial=0))
        out = np.zeros(support.shape)
        if width == 0:
            return out
        place = np.where(support, start == 0, 2).astype(np.int8)
        index = np.argsort(place, axis=1, kind="stable")[:, :width]
        outside = np.arange(width) >= counts[:, None]
        if self.gram is not None:
            G = self.gram[index[:, :, None], index[:, None, :]]
        else:
            D = self.rows[index]
            if self.known is not None and self.scale is not None:
                D *= np.take_along_axis(self.scale, index, axis=1)[:, :, None]
                D *= self.known[:, None, :]
            G = D @ D.transpose(0, 2, 1)
        b = np.take_along_axis(self.b, index, axis=1)
        if self.positive:
            G[outside], b[outside] = 0.0, 0.0
            values = nnls(G, b, start=np.take_along_axis(start, index, axis=1)).Z
        else:
            values = np.zeros(b.shape)
            _solve_each(G, b, counts, values)
        np.put_along_axis(out, index, np.where(outside, 0.0, values), axis=1)
        return out


def block_problem(
    X: Array, atoms: Atoms, gram: Array | None, mask: Array | None, positive: bool
) -> Problem:
    """Problem of the signals X; what the mask hides is ignored."""
    x = np.array(X, dtype=np.float64, order="C")
    if mask is None:
        return Problem(x, x @ atoms.rows.T, atoms.rows, gram, None, None, positive)
    x, known = np.where(mask, x, 0.0), mask.astype(np.float64)
    norms_sq = known @ atoms.rows.T**2
    usable = norms_sq > BARRED
    scale = np.where(usable, 1 / np.sqrt(np.where(usable, norms_sq, 1.0)), 0.0)
    return Problem(x, x @ atoms.rows.T * scale, atoms.rows, None, known, scale, positive)


def squares(R: Array) -> Array:
    """Squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", R, R))


@jit
def _solve_each(G, b, counts, out):
    """Solve ``G_II z = b_I`` for each signal, I the first `counts` less dependent ones."""
    width = b.shape[1]
    L, z, index = np.empty((width, width)), np.empty(width), np.empty(width, np.int64)
    for i in range(len(counts)):
        t = 0
        for s in range(counts[i]):
            if append_atom(L, t, G[i, s], index, s) > 0.0:
                index[t] = s
                t += 1
        solve_chosen(L, index, t, b[i], z)
        for s in range(t):
            out[i, index[s]] = z[s]
