"""Codes of many signals: prepared dictionaries, blocks of signals, sparse results."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.typing import Array

# Reasons why the coding of a signal stopped.
STOP_REASONS = ("tol", "atoms", "rank", "stall", "max_iter")
TOL, ATOMS, RANK, STALL, MAX_ITER = range(5)
# Usual number of signals per block; their correlations with a few hundred atoms then stay in the
# cache.
BLOCK_SIGNALS = 256
# Maximum number of bytes of a block that stays in the cache. Short signals form blocks of this
# size, so that the calls of compiled loops take little of the time.
BLOCK_BYTES = 2**20
# Maximum number of atoms whose Gram matrix is computed however few codes need it.
SMALL_DICTIONARY_ATOMS = 512
# Default for the maximum number of bytes of a Gram matrix.
MEMORY = 2**28
# Margin for rounding codes to single precision, as a fraction of the norm of a signal.
SINGLE_MARGIN = 2.0**-20
# Number of Gram rows assumed per code if its number of atoms is not known.
ROWS_PER_CODE = 16


class Atoms(NamedTuple):
    """A dictionary prepared for coding.

    `rows` (k, n) holds the atoms in double precision, divided by `norms` (k,); zero rows are never
    used. `gram` (k, k) holds their inner products, or None if it would be too large.
    """

    rows: Array
    norms: Array
    gram: Array | None


class SparseCodes(NamedTuple):
    """Codes of N signals as the three arrays of a CSR matrix, and how each code ended.

    `residual_sq` is ``|x - a D|^2`` (on the observed entries), `stop` an index into
    `STOP_REASONS`, `gap` the duality gap relative to the objective (NaN for problems without a
    dual), and `n_iter` the number of steps for each signal.
    """

    indptr: Array
    indices: Array
    values: Array
    residual_sq: Array
    stop: Array
    gap: Array
    n_iter: Array


def prepare_atoms(
    dictionary: Array,
    *,
    normalize: bool = True,
    distinct: bool = False,
    signed: bool = False,
    gram: bool = True,
) -> Atoms:
    """Divide the rows of `dictionary` by their norms and compute their inner products.

    ``normalize=False`` keeps the rows unchanged. With ``distinct=True``, all but the first of
    equal rows (or opposite ones, unless `signed`) become zero, so that no code contains two of
    them. Non-negative codes distinguish opposite rows: use ``signed=True``.
    """
    rows = np.array(dictionary, dtype=np.float64, order="C")
    largest = np.abs(rows).max(axis=1, initial=0.0)
    used = largest > 0
    # scale by the largest entry first: squares of tiny or huge entries would under- or overflow
    unit = np.where(used, largest, 1.0)[:, None]
    norms = largest * np.linalg.norm(rows / unit, axis=1)
    norms[~used] = 1.0

    if normalize:
        rows /= norms[:, None]
    else:
        norms = np.ones(len(rows))
    if distinct:
        rows[~_first_of_equals(rows, signed)] = 0.0

    return Atoms(rows, norms, rows @ rows.T if gram else None)


def with_gram(atoms: Atoms) -> Atoms:
    """Return `atoms` with the Gram matrix, computed if necessary."""
    return atoms if atoms.gram is not None else atoms._replace(gram=atoms.rows @ atoms.rows.T)


def in_group_order(atoms: Atoms, groups: Array) -> tuple[Atoms, Array, Array]:
    """Sort atoms by group; return them with their order and the first index of each group."""
    order = np.argsort(groups, kind="stable")
    start = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
    gram = None if atoms.gram is None else atoms.gram[np.ix_(order, order)]
    return Atoms(atoms.rows[order], atoms.norms[order], gram), order, start


def from_group_order(codes: SparseCodes, order: Array) -> SparseCodes:
    """Return codes in the order that atoms had before `in_group_order`."""
    shape = (len(codes.stop), len(order))
    back = sparse.csr_array((codes.values, order[codes.indices], codes.indptr), shape)
    back.sort_indices()
    return codes._replace(indices=back.indices.astype(np.int32), values=back.data)


def gram_pays(n_atoms: int, n_requests: int, memory: float = MEMORY) -> bool:
    """Return whether the full Gram matrix pays for codes that use `n_requests` atoms in all.

    Computing it row by row takes about ten times as long. It must fit in `memory` (in bytes).
    """
    if 8 * n_atoms**2 > memory:
        return False
    return n_atoms <= SMALL_DICTIONARY_ATOMS or n_requests >= n_atoms // ROWS_PER_CODE


def _first_of_equals(rows: Array, signed: bool) -> Array:
    """Mark the first of rows that are equal up to rounding (and up to sign, unless `signed`)."""
    peaks = np.abs(rows).max(axis=1, initial=0.0)
    peaks[peaks == 0] = 1.0

    # compare each row at its own scale, so that small atoms are not all equal
    scales = np.round(np.log(peaks), 11)
    repeated = _repeated(scales)
    first = np.ones(len(rows), np.bool_)
    if not repeated.size:
        return first

    keys = np.round(rows[repeated] / peaks[repeated, None], 12)
    if not signed:
        largest = np.abs(keys).argmax(axis=1)[:, None]
        peak = np.take_along_axis(keys, largest, axis=1)
        keys = np.where(peak < 0, -keys, keys)
    keys = np.column_stack([keys, scales[repeated]]) + 0.0

    # sort only rows with equal sums: sorting all rows would take half as long as computing a Gram
    # matrix
    alike = _repeated(keys.sum(axis=1))
    if not alike.size:
        return first
    _, distinct = np.unique(keys[alike], axis=0, return_index=True)
    first[repeated[alike]] = False
    first[repeated[alike[distinct]]] = True
    return first


def _repeated(values: Array) -> Array:
    """Return the indices of values that occur more than once."""
    in_order = np.sort(values)
    if not (in_order[1:] == in_order[:-1]).any():
        return np.empty(0, np.intp)
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[which] > 1)


def block_size(n: int, k: int, memory: float = MEMORY) -> int:
    """Return the number of signals per block for which some arrays of correlations are small."""
    signal_bytes = 8 * (4 * n + 6 * k)
    fitting = min(memory, TEMPORARY_BYTES) // signal_bytes
    return int(max(1, min(BLOCK_SIGNALS, fitting)))


def cached_block_size(signal_bytes: int, memory: float = MEMORY) -> int:
    """Return the number of signals per block for loops that code one signal after the other."""
    fitting = min(memory, TEMPORARY_BYTES) // signal_bytes
    usual = max(BLOCK_SIGNALS, BLOCK_BYTES // signal_bytes)
    return int(max(1, min(usual, fitting)))


def code_in_blocks(
    n_signals: int,
    work: Callable[[slice], SparseCodes],
    *,
    n_jobs: int | None = None,
    block: int = BLOCK_SIGNALS,
) -> SparseCodes:
    """Run ``work(rows)`` on consecutive blocks of rows in `n_jobs` threads, and join the codes.

    The result does not depend on `n_jobs`. BLAS uses one thread while several of ours run.
    """
    from joblib import effective_n_jobs

    starts = range(0, n_signals, block)
    blocks = [slice(first, min(first + block, n_signals)) for first in starts]
    jobs = min(effective_n_jobs(n_jobs), len(blocks))
    if jobs <= 1:
        return concatenate_codes([work(rows) for rows in blocks])

    with one_blas_thread():
        return concatenate_codes(in_threads(work, blocks, jobs))


def by_pattern(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    solve: Callable[..., SparseCodes],
    *,
    renormalize: bool = False,
    barred: float = 0.0,
    gram: bool = False,
    memory: float = MEMORY,
    each: bool = False,
) -> SparseCodes:
    """Code signals with missing entries: ``solve(signals, masked atoms, rows)`` per pattern.

    Signals with the same mask share a dictionary of masked atoms. Atoms that lose
    all but the fraction `barred` of their squared norm become zero; with ``renormalize=True``, the
    remaining atoms have unit norm again. ``gram=True`` computes their Gram matrix. With
    ``each=True``, signals whose pattern is too rare (or all, if a Gram matrix takes more than
    `memory`) are passed together to ``solve(signals, atoms, rows, mask)``, sorted so that equal
    masks are adjacent, and with zeros for missing entries. Without a mask, all signals are solved
    at once.
    """
    if mask is None:
        return solve(X, atoms, slice(None))

    # code signals with the same pattern of missing entries together
    packed = np.packbits(mask, axis=1)
    patterns, which = np.unique(packed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(patterns) + 1))

    full = np.einsum("ij,ij->i", atoms.rows, atoms.rows)
    shared = np.ones(len(patterns), np.bool_)
    if each:
        k = len(atoms.rows)
        # with fewer signals, the Gram rows in use cost less than the full matrix
        enough = max(2, k // ROWS_PER_CODE)
        shared = (np.diff(edges) >= enough) & gram_pays(k, k, memory)

    codes = []
    done = []
    for pattern in np.flatnonzero(shared):
        rows = order[edges[pattern] : edges[pattern + 1]]
        observed = mask[rows[0]]

        if not observed.any():  # use one column of zeros
            signals = np.zeros((len(rows), 1), X.dtype)
            masked = atoms._replace(rows=np.zeros((len(full), 1)), gram=None)
        else:
            # keep only the observed columns, so that nothing is computed with missing entries
            signals = np.ascontiguousarray(X[rows][:, observed])
            masked = atoms
            if not observed.all():
                masked = _masked_atoms(atoms, observed, full, renormalize, barred, gram)
        codes.append(solve(signals, masked, rows))
        done.append(rows)

    # code signals with rare patterns all at once, each with its own mask
    remaining = order[~np.repeat(shared, np.diff(edges))]
    if remaining.size and each:
        observed = mask[remaining]
        signals = np.where(observed, X[remaining], X.dtype.type(0))
        codes.append(solve(signals, atoms, remaining, observed))
        done.append(remaining)

    return take_back(concatenate_codes(codes), np.concatenate(done))


def _masked_atoms(
    atoms: Atoms, observed: Array, full: Array, renormalize: bool, barred: float, gram: bool
) -> Atoms:
    """Return the atoms on the observed entries; `full` holds their full squared norms."""
    rows = atoms.rows[:, observed]
    norms_sq = np.einsum("ij,ij->i", rows, rows)
    usable = norms_sq > barred * full
    rows = np.where(usable[:, None], rows, 0.0)
    norms = atoms.norms
    if renormalize:
        scale = np.sqrt(np.where(usable, norms_sq, 1.0))
        rows = rows / scale[:, None]
        norms = norms * scale
    return Atoms(rows, norms, rows @ rows.T if gram else None)


def concatenate_codes(blocks: list[SparseCodes]) -> SparseCodes:
    """Join the codes of several groups of signals."""
    if not blocks:
        return from_dense(np.zeros((0, 1)), *np.zeros((4, 0)))
    if len(blocks) == 1:
        return blocks[0]
    lengths = [codes.indptr[-1] for codes in blocks]
    ends = np.cumsum([0, *lengths[:-1]])
    indptr = [codes.indptr[1:] + end for codes, end in zip(blocks, ends, strict=True)]
    fields = zip(*(codes[1:] for codes in blocks), strict=True)
    joined = (np.concatenate(arrays) for arrays in fields)
    return SparseCodes(np.concatenate([[0], *indptr]), *joined)


def take_codes(codes: SparseCodes, rows: Array) -> SparseCodes:
    """Return the codes of the given signals, in the order of `rows`."""
    n_columns = int(codes.indices.max(initial=0)) + 1
    matrix = to_csr(codes, n_columns)[rows]
    indptr = matrix.indptr.astype(np.int64)
    outcomes = (field[rows] for field in codes[3:])
    return SparseCodes(indptr, matrix.indices, matrix.data, *outcomes)


def take_back(codes: SparseCodes, order: Array) -> SparseCodes:
    """Undo a permutation: signal i of `codes` originally had the index ``order[i]``."""
    return take_codes(codes, np.argsort(order))


def replace_codes(codes: SparseCodes, rows: Array, new: SparseCodes) -> SparseCodes:
    """Replace the codes of the given signals."""
    source = np.arange(len(codes.stop))
    source[rows] = len(source) + np.arange(len(rows))
    return take_codes(concatenate_codes([codes, new]), source)


def bounds_for_rounding(bounds: Array, X: Array) -> Array:
    """Return bounds on residual norms for codes that will be rounded to single precision.

    A coefficient is off by at most 2^-24, their sum by more: the margin is 2^-20 of the norm of
    the signal, but at most half of the bound. X holds 0 for missing entries; -1 means no bound.
    """
    sizes = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    margin = np.minimum(SINGLE_MARGIN * np.sqrt(sizes), 0.5 * bounds)
    return np.where(bounds > 0, bounds - margin, bounds)


def squared_residuals(codes: SparseCodes, X: Array, atoms: Atoms, mask: Array | None) -> Array:
    """Compute ``|x - a D|^2`` of each signal on its observed entries, from the final codes."""
    matrix = to_csr(codes, len(atoms.rows))
    out = np.zeros(len(X))
    blocks = row_blocks(len(X), 8.0 * X.shape[1], limit=TEMPORARY_BYTES)
    with np.errstate(all="ignore"):
        for block in blocks:
            scaled = matrix[block]
            scaled.data *= atoms.norms[scaled.indices]
            R = X[block] - scaled @ atoms.rows
            if mask is not None:
                R *= mask[block]
            out[block] = np.einsum("ij,ij->i", R, R)
    return out


def from_dense(
    codes: Array, residual_sq: Array, stop: Array, gap: Array, n_iter: Array
) -> SparseCodes:
    """Convert dense codes of shape (N, k)."""
    flat = np.flatnonzero(codes != 0)
    row, chosen = np.divmod(flat, codes.shape[1])
    counts = np.bincount(row, minlength=len(codes))
    values = codes.ravel()[flat]
    return from_pairs(counts, chosen, values, residual_sq, stop, gap, n_iter)


def from_pairs(
    counts: Array,
    chosen: Array,
    values: Array,
    residual_sq: Array,
    stop: Array,
    gap: Array,
    n_iter: Array,
) -> SparseCodes:
    """Collect codes from (atom, value) pairs: ``counts[i]`` for signal i, in signal order."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    indices = chosen.astype(np.int32)
    stop = stop.astype(np.int8)
    n_iter = n_iter.astype(np.int32)
    return SparseCodes(indptr, indices, values, residual_sq, stop, gap, n_iter)


def to_dense(codes: SparseCodes, n_atoms: int, dtype: Any = np.float64) -> Array:
    """Return the codes as an array of shape (N, n_atoms)."""
    out = np.zeros((len(codes.residual_sq), n_atoms), dtype=dtype)
    counts = np.diff(codes.indptr)
    row = np.repeat(np.arange(len(out)), counts)
    out[row, codes.indices] = codes.values
    return out


def to_csr(codes: SparseCodes, n_atoms: int, dtype: Any = np.float64) -> sparse.csr_array:
    """Return the codes as a CSR array of shape (N, n_atoms) with sorted indices."""
    shape = (len(codes.residual_sq), n_atoms)
    indptr = codes.indptr
    if indptr[-1] <= MAX_INT32:
        indptr = indptr.astype(np.int32)
    data = codes.values.astype(dtype, copy=False)
    return sparse.csr_array((data, codes.indices, indptr), shape=shape)
