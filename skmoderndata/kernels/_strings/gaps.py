"""Kernels on strings that penalise or bound the number of gaps."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._registry import KernelCard
from skmoderndata._samples.sequences import Packed, joined, one_alphabet
from skmoderndata._solvers.sequences.gap_numbers import own_sums_by_gaps, sums_by_gaps
from skmoderndata._solvers.sequences.windows import (
    gram_of_counts,
    squared_norms,
    window_numbers,
    windows,
)
from skmoderndata._typing import Array
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
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. Positive semi-definite; 0 for
    sequences of fewer than p symbols.

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
        if Y is None:
            return sums_by_gaps(X.codes, X.offsets, self.p, float(self.decay))
        X, Y = one_alphabet(X, Y, type(self).__name__)
        return sums_by_gaps(
            X.codes, X.offsets, self.p, float(self.decay), (Y.codes, Y.offsets)
        )

    def _diag(self, X: Packed) -> Array:
        return own_sums_by_gaps(X.codes, X.offsets, self.p, float(self.decay))


class Picks(NamedTuple):
    """Subsequences of the rows of a collection."""

    words: Packed  # one sequence for each occurrence
    rows: Array  # row of the occurrence
    weights: Array

    def table(self, columns: Array, shape: tuple[int, int]) -> sparse.csr_array:
        """Sum the weights by row and column; negative columns are dropped."""
        known = columns >= 0
        entries = (self.weights[known], (self.rows[known], columns[known]))
        return sparse.csr_array(sparse.coo_array(entries, shape=shape))


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
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. Positive semi-definite; 0 for
    sequences of fewer than p symbols. Each start of a subsequence has
    ``comb(p - 1 + max_gaps, max_gaps)`` patterns of positions: time grows with the total length of
    the samples, not with the product of two lengths. The book traverses a trie; this
    implementation sorts the numbers of the words.

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
        for gaps in range(
            self.max_gaps + 1 if self.p > 1 else 1
        ):  # one symbol has no gap inside
            span = self.p + gaps
            found = windows(X.codes, X.offsets, span)
            row = np.repeat(np.arange(len(X)), np.diff(found.offsets))
            for inner in combinations(range(1, span - 1), max(0, self.p - 2)):
                positions = np.array([0, *inner, span - 1][: self.p])
                rows.append(row)
                words.append(X.codes[found.starts[:, None] + positions].reshape(-1, self.p))
                weights.append(np.full(len(row), float(self.decay) ** gaps))
        codes = np.concatenate(words)
        offsets = np.arange(len(codes) + 1, dtype=np.int64) * self.p
        picked = Packed(codes.ravel(), offsets, X.symbols, X.kind)
        return Picks(picked, np.concatenate(rows), np.concatenate(weights))

    def _spectrum(self, X: Packed) -> sparse.csr_array:
        """Sum the weights of each subsequence in each row; one column for each that occurs."""
        picks = self._picks(X)
        starts = picks.words.offsets[:-1]
        numbers, _ = window_numbers(picks.words.codes, starts, len(X.symbols), range(self.p))
        columns = np.unique(numbers, return_inverse=True)[1]
        return picks.table(columns, (len(X), int(columns.max(initial=-1)) + 1))

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
        return distinct_windows(self._picks(X).words, self.p)

    def sums_of_words(self, X: Packed, words: Packed) -> sparse.csr_array:
        """Sum the weights of given subsequences in each row; others are dropped.

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
        both = joined(words, picks.words)
        starts = both.offsets[:-1]
        numbers, size = window_numbers(both.codes, starts, len(both.symbols), range(self.p))
        table = np.full(size, -1, dtype=np.int64)
        table[numbers[:n]] = np.arange(n)
        return picks.table(table[numbers[n:]], (len(X), n))

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
        both = self._spectrum(joined(X, Y, type(self).__name__))
        return gram_of_counts(both[: len(X)], both[len(X) :])

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
        both = self._spectrum(joined(A, self._real(Y), type(self).__name__))
        return both[: len(A)], both[len(A) :]
