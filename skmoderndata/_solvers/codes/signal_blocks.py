"""Codes of many signals: the dictionary made ready, blocks of signals, sparse results."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.threads import one_blas_thread

Array = np.ndarray[Any, np.dtype[Any]]

# why the code of a signal ended where it did
STOP_REASONS = ("tol", "atoms", "rank", "stall", "max_iter")
TOL, ATOMS, RANK, STALL, MAX_ITER = range(5)
BLOCK = 256  # signals a block: their correlations with some hundred atoms stay in the cache
ROOM = 2**25  # bytes of the arrays of a block
SMALL = 512  # atoms: their Gram matrix is small whatever it is for
MEMORY = 2**28  # bytes of a Gram matrix, where nothing else is asked for
FEW = 16  # so many rows of the Gram matrix are used for a signal, or fewer


class Atoms(NamedTuple):
    """A dictionary made ready for coding.

    `rows` (k, n) are the atoms in double precision, divided by `norms` (k,); zero rows take part
    in no code. `gram` (k, k) holds their inner products, None where it would be too large.
    """

    rows: Array
    norms: Array
    gram: Array | None


class SparseCodes(NamedTuple):
    """Codes of N signals as the three arrays of a CSR matrix, and how each ended.

    `residual_sq` is ``|x - a D|^2`` (on the known entries), `stop` an index of `STOP_REASONS`,
    `gap` the duality gap in proportion to the objective (NaN for problems that have none),
    `n_iter` the steps taken for each signal.
    """

    indptr: Array
    indices: Array
    values: Array
    residual_sq: Array
    stop: Array
    gap: Array
    n_iter: Array


class Block(NamedTuple):
    """Codes of one block of signals: `counts[i]` pairs in row i of `chosen` and `values`.

    A compact block has the pairs of all signals one after the other.
    """

    counts: Array
    chosen: Array
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
    """Divide the rows of `dictionary` by their norms and take their inner products.

    With ``normalize=False`` the rows stay as they are. With ``distinct=True`` all but the first of
    equal rows (or of opposite ones, unless `signed`) become zero, so that no code holds two of
    them. For codes without negative entries opposite rows are not the same: ``signed=True``.
    """
    rows = np.array(dictionary, dtype=np.float64, order="C")
    largest = np.abs(rows).max(axis=1, initial=0.0)
    used = largest > 0
    # the largest entry first: squares of tiny or huge entries would under- or overflow
    norms = largest * np.linalg.norm(rows / np.where(used, largest, 1.0)[:, None], axis=1)
    norms[~used] = 1.0
    if normalize:
        rows /= norms[:, None]
    else:
        norms = np.ones(len(rows))
    if distinct:
        rows[~_first_of_equals(rows, signed)] = 0.0
    return Atoms(rows, norms, rows @ rows.T if gram else None)


def with_gram(atoms: Atoms) -> Atoms:
    """`atoms` with the Gram matrix, where it was left out."""
    return atoms if atoms.gram is not None else atoms._replace(gram=atoms.rows @ atoms.rows.T)


def gram_pays(n_atoms: int, n_signals: int, memory: float = MEMORY) -> bool:
    """Tell whether to compute the whole Gram matrix for so many signals.

    Where they are few, the rows of the atoms that they use are less work. The matrix has to fit in
    `memory` (in bytes).
    """
    return 8 * n_atoms**2 <= memory and (n_atoms <= SMALL or n_signals >= n_atoms // FEW)


def _first_of_equals(rows: Array, signed: bool) -> Array:
    """Mark the first of rows that are equal up to rounding (and up to sign, unless `signed`)."""
    peaks = np.abs(rows).max(axis=1, initial=0.0)
    peaks[peaks == 0] = 1.0
    keys = np.round(rows / peaks[:, None], 12)
    if not signed:
        peak = np.take_along_axis(keys, np.abs(keys).argmax(axis=1)[:, None], axis=1)
        keys = np.where(peak < 0, -keys, keys)
    # each row at its own scale: a small atom is not the same as another small one
    keys = np.column_stack([keys, np.round(np.log(peaks), 11)]) + 0.0
    first = np.zeros(len(rows), np.bool_)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    return first


def block_size(n: int, k: int, memory: float = MEMORY) -> int:
    """Signals of n values a block, so that a few arrays of their correlations stay small."""
    return int(max(1, min(BLOCK, min(memory, ROOM) // (8 * (4 * n + 6 * k)))))


def code_in_blocks(
    n_signals: int,
    work: Callable[[slice], Block],
    *,
    n_jobs: int | None = None,
    block: int = BLOCK,
) -> SparseCodes:
    """Run ``work(rows)`` on consecutive blocks of rows, in `n_jobs` threads, and join the codes.

    The result does not depend on `n_jobs`. BLAS runs in one thread while several of ours do.
    """
    from joblib import Parallel, delayed, effective_n_jobs

    starts = range(0, n_signals, block)
    blocks = [slice(first, min(first + block, n_signals)) for first in starts]
    jobs = min(effective_n_jobs(n_jobs), len(blocks))
    if jobs <= 1:
        return join([compact(work(rows)) for rows in blocks])
    # some stretches a thread: few enough to cost nothing, enough to even out the load
    stretches = np.array_split(np.arange(len(blocks)), min(len(blocks), 8 * jobs))

    def run(stretch: Array) -> list[Block]:
        return [compact(work(blocks[b])) for b in stretch]

    with one_blas_thread():
        parts = Parallel(n_jobs=jobs, require="sharedmem")(delayed(run)(s) for s in stretches)
    return join([part for group in parts for part in group])


def by_pattern(
    X: Array,
    mask: Array,
    atoms: Atoms,
    solve: Callable[[Array, Atoms, Array], SparseCodes],
    *,
    renormalize: bool,
    barred: float = 0.0,
    gram: bool = True,
    memory: float = MEMORY,
    each: Callable[[Array, Array, Array], SparseCodes] | None = None,
) -> SparseCodes:
    """Code signals with missing entries: ``solve(signals, masked atoms, rows)`` per pattern.

    Signals with the same entries known share a dictionary of masked atoms. Atoms of whose squared
    norm the mask leaves at most the share `barred` are zero in it; with ``renormalize=True`` the
    others are of unit norm again, and their Gram matrix is computed unless ``gram=False``. Signals
    whose pattern too few others share, or all where a Gram matrix takes more than `memory`, go
    together to ``each(signals, mask, rows)``, if it is given: in an order in which equal masks
    follow one another, with zeros for what is missing.
    """
    packed = np.packbits(mask, axis=1)
    patterns, which = np.unique(packed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(patterns) + 1))
    full = np.einsum("ij,ij->i", atoms.rows, atoms.rows)
    shared = np.ones(len(patterns), np.bool_)
    if each is not None:
        k = len(atoms.rows)
        # below, the rows of the Gram matrix that are used are less work than all of it
        shared = (np.diff(edges) >= max(2, k // FEW)) & gram_pays(k, k, memory)
    parts, done = [], []
    for pattern in np.flatnonzero(shared):
        rows = order[edges[pattern] : edges[pattern + 1]]
        known = mask[rows[0]]
        if known.all():
            masked = atoms
        else:
            # the known columns alone: nothing is computed with the missing ones
            kept = atoms.rows[:, known] if known.any() else np.zeros((len(atoms.rows), 1))
            left = np.einsum("ij,ij->i", kept, kept)
            usable = left > barred * full
            kept = np.where(usable[:, None], kept, 0.0)
            norms = atoms.norms
            if renormalize:
                scale = np.sqrt(np.where(usable, left, 1.0))
                kept, norms = kept / scale[:, None], norms * scale
            masked = Atoms(kept, norms, kept @ kept.T if gram else None)
        signals = X[rows][:, known] if known.any() else np.zeros((len(rows), 1), X.dtype)
        parts.append(solve(np.ascontiguousarray(signals), masked, rows))
        done.append(rows)
    rest = order[~np.repeat(shared, np.diff(edges))]
    if rest.size and each is not None:
        known = mask[rest]
        parts.append(each(np.where(known, X[rest], X.dtype.type(0)), known, rest))
        done.append(rest)
    return take_back(concatenate_codes(parts), np.concatenate(done))


def concatenate_codes(parts: list[SparseCodes]) -> SparseCodes:
    """Codes of groups of signals one after the other."""
    offset, indptr = 0, [np.zeros(1, np.int64)]
    for part in parts:
        indptr.append(part.indptr[1:] + offset)
        offset += int(part.indptr[-1])
    rest = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True))
    return SparseCodes(np.concatenate(indptr), *rest)


def compact(part: Block) -> Block:
    """Drop the unused ends of the rows of `chosen` and `values`."""
    if part.chosen.ndim == 1:
        return part
    used = np.arange(part.chosen.shape[1]) < part.counts[:, None]
    return part._replace(chosen=part.chosen[used].astype(np.int32), values=part.values[used])


def join(parts: list[Block]) -> SparseCodes:
    """Put the codes of consecutive blocks together."""
    if not parts:
        empty = np.zeros(0)
        return SparseCodes(
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            empty,
            empty,
            np.zeros(0, np.int8),
            empty,
            np.zeros(0, np.int32),
        )
    count = np.concatenate([part.counts for part in parts])
    indptr = np.zeros(count.size + 1, np.int64)
    np.cumsum(count, out=indptr[1:])
    return SparseCodes(
        indptr,
        np.concatenate([part.chosen for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.residual_sq for part in parts]),
        np.concatenate([part.stop for part in parts]),
        np.concatenate([part.gap for part in parts]),
        np.concatenate([part.n_iter for part in parts]),
    )


def replace_rows(codes: SparseCodes, rows: Array, new: SparseCodes, n_atoms: int) -> SparseCodes:
    """Put new codes in the place of those of some rows."""
    place = np.arange(len(codes.residual_sq))
    place[rows] = len(place) + np.arange(len(rows))
    matrix = sparse.vstack([to_csr(codes, n_atoms), to_csr(new, n_atoms)]).tocsr()[place]
    rest = (np.concatenate(pair)[place] for pair in zip(codes[3:], new[3:], strict=True))
    return SparseCodes(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, *rest)


def squared_residuals(codes: SparseCodes, X: Array, atoms: Atoms, mask: Array | None) -> Array:
    """``|x - a D|^2`` of each signal on its known entries, from the codes as they are."""
    matrix = to_csr(codes, len(atoms.rows))
    out, step = np.zeros(len(X)), max(1, ROOM // (8 * max(1, X.shape[1])))
    with np.errstate(all="ignore"):
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            some = matrix[part]
            some.data *= atoms.norms[some.indices]
            R = X[part] - some @ atoms.rows
            if mask is not None:
                R *= mask[part]
            out[part] = np.einsum("ij,ij->i", R, R)
    return out


def take_back(codes: SparseCodes, order: Array) -> SparseCodes:
    """Undo a change of order: signal i of `codes` was number ``order[i]`` at first."""
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    matrix = to_csr(codes, int(codes.indices.max(initial=0)) + 1)[place]
    return SparseCodes(
        matrix.indptr.astype(np.int64),
        matrix.indices,
        matrix.data,
        codes.residual_sq[place],
        codes.stop[place],
        codes.gap[place],
        codes.n_iter[place],
    )


def dense_block(codes: Array, residual_sq: Array, stop: Array, gap: Array, n_iter: Array) -> Block:
    """Give codes that a solver kept as a dense array the form of a block."""
    row, chosen = np.nonzero(codes)
    counts = np.bincount(row, minlength=len(codes)).astype(np.int32)
    values = codes[row, chosen]
    return Block(counts, chosen.astype(np.int32), values, residual_sq, stop, gap, n_iter)


def to_dense(codes: SparseCodes, n_atoms: int, dtype: Any = np.float64) -> Array:
    """Codes as an array of shape (N, n_atoms)."""
    out = np.zeros((len(codes.residual_sq), n_atoms), dtype=dtype)
    out[np.repeat(np.arange(len(out)), np.diff(codes.indptr)), codes.indices] = codes.values
    return out


def to_csr(codes: SparseCodes, n_atoms: int, dtype: Any = np.float64) -> sparse.csr_array:
    """Codes as a CSR array of shape (N, n_atoms), indices sorted."""
    shape = (len(codes.residual_sq), n_atoms)
    indptr = codes.indptr
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    data = codes.values.astype(dtype, copy=False)
    out: sparse.csr_array = sparse.csr_array((data, codes.indices, indptr), shape=shape)
    return out
