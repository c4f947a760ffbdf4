"""Kernels on strings that penalise or bound the number of gaps."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.sequences import Packed, joined, one_alphabet
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.gap_numbers import own_sums_by_gaps, sums_by_gaps
from skmoderndata._solvers.sequences.windows import (
    gram_of_counts,
    squared_norms,
    window_numbers,
    windows,
)
from skmoderndata.kernels._strings.base import SequenceKernel
from skmoderndata.kernels._strings.spectrum import distinct_windows, hashed_columns

FAMILY = "kernels on strings"
PAGE = "string_kernels"


class GapNumberWeighted(SequenceKernel):
    r"""Number of common subsequences, with a penalty for the number of gaps.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t), \qquad
        \phi_u(s) = \sum_{i \,:\, s(i) = u} \lambda^{\#\{q \,:\, i_{q+1} > i_q + 1\}}

    Parameters
    ----------
    p : int, default=2
        Number of symbols of the subsequences.
    decay : float, default=0.5
        Factor for each gap, whatever its width, above 0 and at most 1.

    See Also
    --------
    GapWeighted : The penalty grows with the width of the gaps.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite; its value is 0 for sequences of fewer than p symbols.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.5.

    Examples
    --------
    >>> from skmoderndata.kernels import GapNumberWeighted
    >>> GapNumberWeighted(p=2, decay=0.5)(["cart"], ["cat"])
    array([[1.75]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="p |s| |t| for each pair",
        domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(self, p: int = 2, decay: float = 0.5) -> None:
        self.p = p
        self.decay = decay

    def _validate(self) -> None:
        self._check_integer("p", 1)
        self._check_real("decay", 0.0, 1.0)

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        decay = float(self.decay)
        if Y is None:
            return sums_by_gaps(X.codes, X.offsets, self.p, decay)
        X, Y = one_alphabet(X, Y, type(self).__name__)
        others = (Y.codes, Y.offsets)
        return sums_by_gaps(X.codes, X.offsets, self.p, decay, others)

    def _diag(self, X: Packed) -> Array:
        return own_sums_by_gaps(X.codes, X.offsets, self.p, float(self.decay))


class Picks(NamedTuple):
    """Subsequences of the rows of a collection."""

    words: Packed  # one sequence of inner symbols for each occurrence
    rows: Array  # row that contains the occurrence
    weights: Array

    def table(self, columns: Array, shape: tuple[int, int]) -> sparse.csr_array:
        """Sum the weights by row and column; negative columns are dropped."""
        counted = columns >= 0
        positions = (self.rows[counted], columns[counted])
        entries = sparse.coo_array((self.weights[counted], positions), shape=shape)
        return sparse.csr_array(entries)


class RestrictedGapWeighted(SequenceKernel):
    r"""Number of common subsequences with few skipped symbols, with a penalty for each of them.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t), \qquad
        \phi_u(s) = \sum_{i \,:\, s(i) = u,\, l(i) \le p + g} \lambda^{l(i) - p}

    with :math:`l(i) = i_p - i_1 + 1` and g the bound `max_gaps`.

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the subsequences.
    max_gaps : int, default=1
        Largest number of skipped symbols between the first and last symbol of an occurrence.
    decay : float, default=0.5
        Factor for each skipped symbol, above 0 and at most 1.

    See Also
    --------
    PSpectrum : Equal to this kernel with ``max_gaps=0``.
    GapWeighted : Without a bound: ``decay ** (2 p)`` times the limit for large `max_gaps`.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite; its value is 0 for sequences of fewer than p symbols. Each start of a
    subsequence has ``comb(p - 1 + max_gaps, max_gaps)`` patterns of positions: time grows with the
    total length of the samples, not with the product of two lengths. The book traverses a trie;
    this implementation sorts the numbers of the words.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.6.

    Examples
    --------
    >>> from skmoderndata.kernels import RestrictedGapWeighted
    >>> RestrictedGapWeighted(p=2, max_gaps=1)(["gatta"], ["cata"])
    array([[3.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",),
        cost="C(p - 1 + g, g) total length, for g gaps", domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(self, p: int = 3, max_gaps: int = 1, decay: float = 0.5) -> None:
        self.p = p
        self.max_gaps = max_gaps
        self.decay = decay

    def _validate(self) -> None:
        self._check_integer("p", 1)
        self._check_integer("max_gaps", 0)
        self._check_real("decay", 0.0, 1.0)

    def _picks(self, X: Packed) -> "Picks":
        """Enumerate the subsequences of p symbols with few skipped symbols, in all rows."""
        rows = []
        words = []
        weights = []
        # a single symbol has no gaps; otherwise the length of the longest row limits their number
        longest = int(np.diff(X.offsets).max(initial=self.p))
        max_gaps = min(self.max_gaps, longest - self.p) if self.p > 1 else 0
        n_inner = max(0, self.p - 2)  # number of symbols between the first and the last one
        for gaps in range(max_gaps + 1):
            # choose the inner symbols in every possible way from each window of this span
            span = self.p + gaps
            starts, offsets = windows(X.codes, X.offsets, span)
            row = np.repeat(np.arange(len(X)), np.diff(offsets))
            weight = float(self.decay) ** gaps
            for inner in combinations(range(1, span - 1), n_inner):
                positions = np.array([0, *inner, span - 1][: self.p])
                picked = X.codes[starts[:, None] + positions]
                rows.append(row)
                words.append(picked.reshape(-1, self.p))
                weights.append(np.full(len(row), weight))

        codes = np.concatenate(words)
        ends = np.arange(len(codes) + 1, dtype=np.int64) * self.p
        packed = Packed(codes.ravel(), ends, X.symbols, X.kind)
        return Picks(packed, np.concatenate(rows), np.concatenate(weights))

    def _spectrum(self, X: Packed) -> sparse.csr_array:
        """Sum the weights in each row, with one column for each subsequence that occurs."""
        picks = self._picks(X)
        starts = picks.words.offsets[:-1]
        numbers, _ = window_numbers(picks.words.codes, starts, len(X.symbols), range(self.p))
        _, columns = np.unique(numbers, return_inverse=True)
        n_columns = int(columns.max(initial=-1)) + 1
        return picks.table(columns, (len(X), n_columns))

    def distinct_words(self, X: Packed) -> Packed:
        """Return the subsequences that occur, for the columns of `sums_of_words`.

        Parameters
        ----------
        X : Packed
            Samples.

        Returns
        -------
        words : Packed
            One sequence of p symbols for each column.
        """
        words = self._picks(X).words
        return distinct_windows(words, self.p)

    def sums_of_words(self, X: Packed, words: Packed) -> sparse.csr_array:
        """Sum the weights of the subsequences in `words` in each row, and drop all others.

        Parameters
        ----------
        X : Packed
            Samples.
        words : Packed
            Distinct sequences of p symbols.

        Returns
        -------
        features : csr_array of shape (n_samples, n_words)
            One column for each word.
        """
        picks = self._picks(X)
        n = len(words)
        all_words = joined(words, picks.words)
        starts = all_words.offsets[:-1]
        n_symbols = len(all_words.symbols)
        numbers, size = window_numbers(all_words.codes, starts, n_symbols, range(self.p))
        table = np.full(size, -1, dtype=np.int64)
        table[numbers[:n]] = np.arange(n)
        columns = table[numbers[n:]]
        return picks.table(columns, (len(X), n))

    def hashed_sums(self, X: Packed, n_columns: int) -> sparse.csr_array:
        """Sum the weights of subsequences in columns that are hashes of their symbols.

        Parameters
        ----------
        X : Packed
            Samples.
        n_columns : int
            Number of columns.

        Returns
        -------
        features : csr_array of shape (n_samples, n_columns)
            One row for each sample.
        """
        picks = self._picks(X)
        starts = picks.words.offsets[:-1]
        columns = hashed_columns(picks.words, starts, self.p, n_columns)
        return picks.table(columns, (len(X), n_columns))

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        if Y is None:
            return gram_of_counts(self._spectrum(X))
        samples = joined(X, Y, type(self).__name__)
        counts = self._spectrum(samples)
        n = len(X)
        return gram_of_counts(counts[:n], counts[n:])

    def _diag(self, X: Packed) -> Array:
        return squared_norms(self._spectrum(X))

    def features(self, X: Any, Y: Any = None) -> Any:
        """Sum weights of subsequences in sparse rows, whose inner products are the kernel.

        Parameters
        ----------
        X : collection of sequences
            Samples.
        Y : collection of sequences, default=None
            Other samples, with the same columns.

        Returns
        -------
        features : csr_array of shape (n_X, n_subsequences), or two of them
            One column for each subsequence that occurs; with `Y` a pair of matrices.
        """
        self._validate()
        A = self._real(X)
        if Y is None:
            return self._spectrum(A)
        samples = joined(A, self._real(Y), type(self).__name__)
        counts = self._spectrum(samples)
        n = len(A)
        return counts[:n], counts[n:]
