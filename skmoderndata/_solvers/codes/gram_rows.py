"""Inner products of atoms, computed row by row when an algorithm first asks for them.

For a signal with missing entries the Gram matrix of the atoms is ``D diag(m) D^T``: another one
for every mask, of which a sparse code needs the rows of the few atoms that it takes up. So does a
code with a dictionary whose whole Gram matrix would not fit in memory.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.products import ZERO, add_rows, residual_sq
from skmoderndata._solvers.codes.signal_blocks import (
    BLOCK,
    FEW,
    MEMORY,
    Atoms,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    from_pairs,
    gram_pays,
)

Array = np.ndarray[Any, np.dtype[Any]]

BARRED = 1e-3  # an atom of which a mask leaves less (squared norm) would get a huge coefficient
ROWS_KEPT = 2**25  # bytes of rows that the next signal takes over


class Signals(NamedTuple):
    """A block of m signals for a compiled coder.

    `x` (m, n) are the signals, zero where `known` (m, n) is 0 instead of 1. `scale` (m, k) holds
    the reciprocal norms of the masked atoms, 0 for barred ones, so that `b` (m, k) are inner
    products with atoms of unit norm. `tol_sq` (m,) bounds squared residuals, `room` (m,) is the
    number of known entries, and `fresh` (m,) tells where a mask is not that of the signal before.
    """

    x: Array
    known: Array
    scale: Array
    b: Array
    tol_sq: Array
    room: Array
    fresh: Array


class Dictionary(NamedTuple):
    """Atoms of unit norm in rows (k, n) and in columns (n, k), with their former norms (k,)."""

    rows: Array
    columns: Array
    norms: Array


class Found(NamedTuple):
    """What a compiled coder fills in: `counts[i]` pairs for signal i, and how its code ended.

    Coefficients refer to atoms of unit norm.
    """

    chosen: Array
    values: Array
    counts: Array
    residual_sq: Array
    stop: Array
    steps: Array


Kernel = Callable[[Signals, Dictionary, Found, Array, Array, int], None]


def code_by_rows(
    X: Array,
    atoms: Atoms,
    kernel: Kernel,
    *,
    cap: int,
    tol_sq: Array,
    mask: Array | None = None,
    n_jobs: int | None = None,
    renormalize: bool = True,
    memory: float = MEMORY,
) -> SparseCodes:
    """Run a compiled coder that asks for rows of the Gram matrix, on blocks of signals.

    It is called as ``kernel(signals, dictionary, found, G, place, most)`` and forgets rows when
    there are more than `most`. Signals that share a mask share a dictionary of masked atoms (of
    unit norm, unless ``renormalize=False``).

    Parameters
    ----------
    X : array of shape (N, n)
        Finite numbers; entries that the mask hides are ignored.
    atoms : Atoms
        Of unit norm. Without `gram`, it is computed where that pays and takes at most `memory`.
    cap : int
        Largest number of atoms in a code.
    tol_sq : array of shape (N,)
        Bound for ``|r|^2``, never exceeded by a code that ends with reason "tol"; -1 for none. It
        is the residual of the code as it is returned that counts, computed from the signal.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    """
    tol_sq = np.ascontiguousarray(tol_sq, dtype=np.float64)

    def solve(signals: Array, some: Atoms, which: Any, known: Array | None = None) -> SparseCodes:
        gram = some.gram
        if known is None and gram is None and renormalize:
            if gram_pays(len(some.rows), len(signals) * cap, memory):
                gram = some.rows @ some.rows.T
        return _code_blocks(
            signals, some._replace(gram=gram), known, kernel, cap, tol_sq[which], n_jobs,
            renormalize,
        )  # fmt: skip

    if mask is None:
        return solve(X, atoms, slice(None))
    return by_pattern(
        X, mask, atoms, solve, renormalize=renormalize, barred=BARRED, gram=False, memory=memory,
        each=lambda signals, known, which: solve(signals, atoms, which, known),
    )  # fmt: skip


def _code_blocks(
    X: Array, atoms: Atoms, mask: Array | None, kernel: Kernel, cap: int, tol_sq: Array,
    n_jobs: int | None, renormalize: bool,
) -> SparseCodes:  # fmt: skip
    n_signals, n = X.shape
    k = len(atoms.rows)
    columns = np.ascontiguousarray(atoms.rows.T)
    dictionary = Dictionary(np.ascontiguousarray(atoms.rows), columns, atoms.norms)
    squares = None if mask is None else columns**2
    gram = atoms.gram if mask is None else None
    most = k if gram is not None else max(FEW, cap, ROWS_KEPT // (8 * k))
    block = max(16, min(BLOCK, 2**22 // max(n, k)))
    all_known, unit = np.ones((block, n)), np.ones((block, k))

    def work(part: slice) -> SparseCodes:
        x = np.array(X[part], dtype=np.float64, order="C")
        m, b = len(x), x @ columns
        fresh = np.zeros(m, np.bool_)
        if mask is None or squares is None:
            known, scale, room = all_known[:m], unit[:m], np.full(m, n)
        else:
            known, room = mask[part].astype(np.float64), mask[part].sum(axis=1)
            fresh[1:] = (known[1:] != known[:-1]).any(axis=1)
            norms_sq = known @ squares
            scale = (norms_sq > BARRED).astype(np.float64)
            if renormalize:
                scale /= np.sqrt(np.where(norms_sq > BARRED, norms_sq, 1.0))
            b *= scale
        found = Found(
            np.zeros((m, cap), np.int64), np.zeros((m, cap)), np.zeros(m, np.int32), np.zeros(m),
            np.zeros(m, np.int8), np.zeros(m, np.int32),
        )  # fmt: skip
        G, place = no_rows(k) if gram is None else all_rows(gram)
        signals = Signals(x, known, scale, b, tol_sq[part], room, fresh)
        kernel(signals, dictionary, found, G, place, most)
        used = np.arange(cap) < found.counts[:, None]
        chosen = found.chosen[used]
        return from_pairs(
            found.counts, chosen, found.values[used] / atoms.norms[chosen], found.residual_sq,
            found.stop, np.full(m, np.nan), found.steps,
        )  # fmt: skip

    return code_in_blocks(n_signals, work, n_jobs=n_jobs, block=block)


def no_rows(n_atoms: int, capacity: int = 64) -> tuple[Array, Array]:
    """Room for rows of a Gram matrix, none of them computed: ``(G, place)`` for `ask_row`."""
    place = np.full(n_atoms + 1, -1)
    place[n_atoms] = 0
    return np.empty((max(1, min(n_atoms, capacity)), n_atoms)), place


def all_rows(gram: Array) -> tuple[Array, Array]:
    """Return a Gram matrix in the form that `ask_row` takes, complete."""
    return np.require(gram, requirements=["C", "W"]), np.arange(len(gram) + 1)


@jit
def ask_row(j, columns, known, scale, G, place):
    """Make sure that ``G[place[j]]`` is row j of the Gram matrix; returns G, enlarged if need be.

    Computed from the transposed dictionary `columns` (n, k) and the weights `known` (n,) of the
    entries of the signal (0 for a missing one), times ``scale[j] * scale[i]``: the reciprocal
    norms of masked atoms make them of unit norm, zero bars an atom. `place` (k + 1,) tells where
    the row of each atom is, -1 for nowhere, and at its end how many rows there are. Call as
    ``G = ask_row(j, columns, known, scale, G, place)``.
    """
    if place[j] >= 0:
        return G
    n, k = columns.shape
    t = place[k]
    if t == G.shape[0]:
        larger = np.empty((min(k, 2 * t), k))
        for s in range(t):
            for i in range(k):
                larger[s, i] = G[s, i]
        G = larger
    g = G[t]
    for i in range(k):
        g[i] = 0.0
    if scale[j] != 0.0:
        weights, at, count = np.empty(n), np.empty(n, np.int64), ZERO
        for p in range(n):
            c = known[p] * columns[p, j]
            if c != 0.0:
                weights[count] = c
                at[count] = p
                count += 1
        add_rows(g, scale[j], weights, columns, at, count)
        for i in range(k):
            g[i] *= scale[i]
    place[j] = t
    place[k] = t + 1
    return G


@jit
def ask_rows(index, t, columns, known, scale, G, place):
    """`ask_row` for the atoms ``index[:t]``."""
    for s in range(t):
        if place[index[s]] < 0:
            G = ask_row(index[s], columns, known, scale, G, place)
    return G


@jit_leaf
def forget_rows(place):
    """Start afresh: no row is computed."""
    k = place.shape[0] - 1
    for j in range(k):
        place[j] = -1
    place[k] = 0


@jit_leaf
def same_entries(known, former):
    """Tell whether two signals have the same entries known: rows computed for one serve both."""
    for p in range(known.shape[0]):
        if known[p] != former[p]:
            return False
    return True


@jit_leaf
def next_signal(signals, i, place, most):
    """Forget rows that do not serve signal i, or are more than `most`."""
    if signals.fresh[i] or place[place.shape[0] - 1] > most:
        forget_rows(place)


@jit_leaf
def returned_residual_sq(signals, dictionary, i, index, a, t, value, r):
    """Squared residual of the code that is returned for signal i; `r` receives the residual.

    `value` receives the coefficients for atoms of unit norm, `a` has those for masked atoms of
    unit norm.
    """
    for s in range(t):
        value[s] = a[s] * signals.scale[i, index[s]]
    return residual_sq(signals.x[i], signals.known[i], dictionary.rows, index, value, t, r)
