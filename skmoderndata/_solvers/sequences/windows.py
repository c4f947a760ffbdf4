"""Windows of sequences as numbers, their counts as sparse rows, and products of these rows.

Differs from the papers (Leslie et al. 2002, 2004): windows are numbered and counted in sparse
matrices instead of suffix trees or mismatch trees.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.linalg import mirror_lower
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_PRODUCTS
from skmoderndata._solvers.common.typing import Array

# Largest number of possible windows for which a table with one entry per window is used instead of
# sorting.
TABLE = 2**24
# Smallest number of possible windows that are not numbered directly, because a signed 64-bit
# integer might overflow.
WORD = 2**62
# Smallest number of products per entry for which only half of a symmetric matrix is computed and
# then mirrored.
WORTH_HALVES = 2.0
# Number of multiplications that BLAS does in the time of one product of two stored entries.
HEAVY = 20


class Windows(NamedTuple):
    """Windows of a collection of sequences.

    Attributes
    ----------
    starts : ndarray of int64
        Positions at which the windows begin, in the array of all symbols.
    offsets : ndarray of int64, of shape (n_sequences + 1,)
        The windows of sequence i are ``offsets[i]`` to ``offsets[i + 1] - 1``.
    """

    starts: Array
    offsets: Array


@jit
def _windows(codes, offsets, p, starts, ends):
    """Write the starts of windows without negative codes, and the end of each row among them."""
    k = 0
    for i in range(len(offsets) - 1):
        run = 0
        for t in range(offsets[i], offsets[i + 1]):
            run = run + 1 if codes[t] >= 0 else 0
            if run >= p:
                starts[k] = t - p + 1
                k += 1
        ends[i + 1] = k
    return k


def windows(codes: Array, offsets: Array, p: int) -> Windows:
    """Return the windows of p symbols within sequences, without windows with negative codes."""
    starts = np.empty(len(codes), dtype=np.int64)
    ends = np.zeros(len(offsets), dtype=np.int64)
    n = _windows(codes, offsets, p, starts, ends)
    return Windows(starts[:n], ends)


def window_numbers(
    codes: Array, starts: Array, n_symbols: int, positions: Sequence[int]
) -> tuple[Array, int]:
    """Return numbers of windows that depend only on the symbols at the given positions.

    Two windows have the same number if and only if these symbols are equal. The number has these
    symbols as digits in base `n_symbols`. If it would not fit into 64 bits, or a table of all
    numbers would not fit into memory, it is replaced by its rank among the numbers that occur.
    Numbers are therefore exact for any length and alphabet.

    Returns
    -------
    numbers : ndarray of int64, of shape (n_windows,)
        Nonnegative number of each window.
    n_numbers : int
        Upper bound on the numbers, exclusive.
    """
    numbers = np.zeros(len(starts), dtype=np.int64)
    size = 1
    for position in positions:
        if size * n_symbols >= WORD:
            distinct, numbers = np.unique(numbers, return_inverse=True)
            size = len(distinct)
        numbers *= n_symbols
        numbers += codes[starts + position]
        size *= n_symbols
    if size > TABLE:
        distinct, numbers = np.unique(numbers, return_inverse=True)
        size = len(distinct)
    return numbers, max(size, 1)


@jit
def _columns(numbers, table):
    """Assign columns to the entries of the table that occur, in ascending order."""
    for number in numbers:
        table[number] = 1
    n = 0
    for i in range(len(table)):
        if table[i] == 1:
            table[i] = n
            n += 1
        else:
            table[i] = -1
    return n


@jit
def _count(numbers, offsets, table, n_columns, indptr, indices, data):
    """Count the windows of each row; columns are in the order of their first window."""
    count = np.zeros(n_columns, dtype=np.int64)
    k = 0
    for i in range(len(offsets) - 1):
        begin = k
        for w in range(offsets[i], offsets[i + 1]):
            column = table[numbers[w]]
            if column < 0:
                continue
            if count[column] == 0:
                indices[k] = column
                k += 1
            count[column] += 1
        for e in range(begin, k):
            data[e] = count[indices[e]]
            count[indices[e]] = 0
        indptr[i + 1] = k
    return k


def count_windows(numbers: Array, offsets: Array, size: int) -> sparse.csr_array:
    """Count the windows of each sequence, with a column for each number that occurs."""
    table = np.zeros(size, dtype=np.int32)
    return count_in_columns(numbers, offsets, table, _columns(numbers, table))


def count_in_columns(
    numbers: Array, offsets: Array, table: Array, n_columns: int
) -> sparse.csr_array:
    """Count the windows of each sequence in the columns `table[number]`; -1 skips a window."""
    indptr = np.zeros(len(offsets), dtype=np.int64)
    indices = np.empty(len(numbers), dtype=np.int32)
    data = np.empty(len(numbers))
    n = _count(numbers, offsets, table, max(n_columns, 1), indptr, indices, data)
    return sparse.csr_array(
        (data[:n], indices[:n], indptr.astype(np.int32)), shape=(len(offsets) - 1, n_columns)
    )


@jit
def _add_products(indptr, indices, data, starts, rows, values, K, position, cells):
    """Add ``A B'`` to K, with A stored by rows and B by columns.

    Resumes at row ``position[0]`` and works through about `cells` cells; returns True when
    finished.
    """
    for i in range(position[0], len(indptr) - 1):
        if cells <= 0 and i > position[0]:  # each call fills at least one row
            position[0] = i
            return False
        for e in range(indptr[i], indptr[i + 1]):
            column = indices[e]
            a = data[e]
            cells -= CELLS_OF_PRODUCTS * (starts[column + 1] - starts[column])
            for f in range(starts[column], starts[column + 1]):
                K[i, rows[f]] += a * values[f]
    return True


@jit
def _add_own_products(indptr, indices, data, starts, rows, values, K, position, first, cells):
    """Add the lower triangle of ``A A'`` to K, with A stored by rows and by columns.

    Resumes at row ``position[0]``; `first` is the first entry of each column in this row or a
    later one. Returns True when finished.
    """
    for i in range(position[0], len(indptr) - 1):
        if cells <= 0 and i > position[0]:  # each call fills at least one row
            position[0] = i
            return False
        for e in range(indptr[i], indptr[i + 1]):
            column = indices[e]
            a = data[e]
            first[column] += 1
            cells -= CELLS_OF_PRODUCTS * (first[column] - starts[column])
            for f in range(starts[column], first[column]):
                K[i, rows[f]] += a * values[f]
    return True


def gram_of_counts(
    A: sparse.csr_array, B: sparse.csr_array | None = None, *, n_bytes: int = 2**26
) -> Array:
    """Return the inner products of sparse rows, ``A B'`` or ``A A'``.

    Columns with entries in many rows are multiplied by BLAS, in blocks of at most `n_bytes`, and
    the remaining columns entry by entry. Integers below 2^53 are exact either way. For many short
    rows the matrix is written only once, because a second pass over it takes as long as all
    products.
    """
    own = B is None
    left = A.tocsc()
    right = left if B is None else B.tocsc()
    shape = (left.shape[0], right.shape[0])
    size = shape[0] * shape[1]

    # use BLAS for columns with entries in many rows
    filled = np.diff(left.indptr).astype(np.float64) * np.diff(right.indptr)
    heavy = np.flatnonzero(HEAVY * filled > size)
    step = max(1, n_bytes // (8 * max(1, sum(shape))))
    K = None if len(heavy) else np.zeros(shape)
    for block in (heavy[i : i + step] for i in range(0, len(heavy), step)):
        D = left[:, block].toarray()
        product = D @ (D if own else right[:, block].toarray()).T
        K = product if K is None else np.add(K, product, out=K)
    assert K is not None

    # multiply the remaining columns entry by entry
    light = np.flatnonzero((HEAVY * filled <= size) & (filled > 0))
    a = left[:, light]
    b = right[:, light]
    rows = a.tocsr()
    parts = (rows.indptr, rows.indices, rows.data, b.indptr, b.indices, b.data)
    start = np.zeros(1, dtype=np.int64)
    if own and filled[light].sum() > WORTH_HALVES * size:
        in_pieces(_add_own_products, *parts, K, start, b.indptr.copy())
        mirror_lower(K)
    elif len(light):
        in_pieces(_add_products, *parts, K, start)
    return K


def squared_norms(A: sparse.csr_array) -> Array:
    """Return the inner products of sparse rows with themselves."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return np.bincount(rows, weights=A.data**2, minlength=A.shape[0])


def position_patterns(p: int, n_dropped: int) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of p positions that leave out at most `n_dropped` positions."""
    for dropped in range(min(p, n_dropped) + 1):
        yield from combinations(range(p), p - dropped)
