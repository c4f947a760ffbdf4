"""Kernels that count substrings: spectrum, blended spectrum, mismatch."""

from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.sequences import Packed, joined, one_alphabet, over_alphabet
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.quantities import GOLDEN, MAX_INT32
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.mismatch import (
    neighbour_counts,
    pattern_weights,
    word_counts,
    words_near,
)
from skmoderndata._solvers.sequences.windows import (
    TABLE,
    WORD,
    count_in_columns,
    count_windows,
    gram_of_counts,
    position_patterns,
    squared_norms,
    window_numbers,
    windows,
)
from skmoderndata.kernels._base import BaseKernel
from skmoderndata.kernels._strings.base import SequenceKernel

FAMILY = "kernels on strings"
PAGE = "string_kernels"

# Maximum number of neighbouring words that are enumerated for the distinct substrings.
MOST_WORDS = 2**28


def spectrum(X: Packed, positions: Sequence[int], p: int) -> sparse.csr_array:
    """Count windows of p symbols; windows that agree at all `positions` share a column."""
    starts, offsets = windows(X.codes, X.offsets, p)
    numbers, size = window_numbers(X.codes, starts, len(X.symbols), positions)
    return count_windows(numbers, offsets, size)


def spectra(
    X: Packed, Y: Packed | None, positions: Sequence[int], p: int
) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """Compute the spectra of one or two collections, in common columns."""
    if Y is None:
        return spectrum(X, positions, p), None
    counts = spectrum(joined(X, Y), positions, p)
    n = len(X)
    return counts[:n], counts[n:]


def distinct_windows(X: Packed, p: int) -> Packed:
    """Return the distinct windows in the order of the columns of their spectrum."""
    starts, _ = windows(X.codes, X.offsets, p)
    numbers, _ = window_numbers(X.codes, starts, len(X.symbols), range(p))
    _, index = np.unique(numbers, return_index=True)
    codes = _symbols_of(X, starts[index], p)
    offsets = np.arange(len(codes) + 1) * p
    return Packed(codes.ravel(), offsets, X.symbols, X.kind)


def _symbols_of(X: Packed, starts: Array, p: int) -> Array:
    """Return the codes of the windows of p symbols, one row per window."""
    return X.codes[starts[:, None] + np.arange(p)]


def counts_of_words(X: Packed, words: Packed, p: int) -> sparse.csr_array:
    """Count the words of p symbols in `words`, one column for each; drop all other windows."""
    samples = joined(words, X)
    starts, offsets = windows(samples.codes, samples.offsets, p)
    numbers, size = window_numbers(samples.codes, starts, len(samples.symbols), range(p))
    n = len(words)
    table = np.full(size, -1, dtype=np.int32)
    # each word has one window, which is the word itself
    table[numbers[:n]] = np.arange(n, dtype=np.int32)
    return count_in_columns(numbers[n:], offsets[n:] - n, table, n)


def hashed_counts(X: Packed, p: int, n_columns: int) -> sparse.csr_array:
    """Count the windows of p symbols in columns that are hashes of their symbols."""
    starts, offsets = windows(X.codes, X.offsets, p)
    numbers = hashed_columns(X, starts, p, n_columns)
    columns = np.arange(n_columns, dtype=np.int32)
    return count_in_columns(numbers, offsets, columns, n_columns)


def hashed_columns(X: Packed, starts: Array, p: int, n_columns: int) -> Array:
    """Return hashes of the windows of p symbols, numbers from 0 to `n_columns` - 1.

    The hash is a polynomial in hashes of the symbols, modulo 2^64, and its bits are mixed by the
    multiplications and shifts of MurmurHash3. It depends only on the symbols.
    """
    symbols = np.array([symbol_hash(symbol) for symbol in X.symbols], dtype=np.uint64)
    h = np.full(len(starts), p, dtype=np.uint64)
    for k in range(p):
        h = h * GOLDEN + symbols[X.codes[starts + k]]
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    return (h % np.uint64(n_columns)).astype(np.int64)


def symbol_hash(symbol: Hashable) -> int:
    """Return a hash of 64 bits that is the same in every process."""
    if isinstance(symbol, int | np.integer):
        symbol = int(symbol)
    text = str(symbol) if isinstance(symbol, str) else repr(symbol)
    kind = type(symbol).__name__ if not isinstance(symbol, str) else "str"
    name = f"{kind}:{text}".encode("utf-8", "surrogatepass")
    digest = blake2b(name, digest_size=8).digest()
    return int.from_bytes(digest, "little")


class SpectrumKernel(SequenceKernel):
    """Weighted sum of the spectrum kernels of several lengths."""

    def length_weights(self) -> list[tuple[int, float]]:
        """Return lengths of substrings with their weights."""
        raise NotImplementedError

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        K: Array | None = None
        for q, weight in self.length_weights():
            A, B = spectra(X, Y, range(q), q)
            of_length = gram_of_counts(A, B, n_bytes=working_memory())
            if weight != 1.0:
                of_length *= weight
            K = of_length if K is None else np.add(K, of_length, out=K)
        assert K is not None  # there is at least one length
        return K

    def _diag(self, X: Packed) -> Array:
        d = np.zeros(len(X))
        for q, weight in self.length_weights():
            d += weight * squared_norms(spectrum(X, range(q), q))
        return d

    def features(self, X: Any, Y: Any = None) -> Any:
        """Return counts of substrings as sparse rows, whose inner products are the kernel.

        Parameters
        ----------
        X : collection of sequences
            Samples.
        Y : collection of sequences, default=None
            Other samples, with the same columns.

        Returns
        -------
        features : csr_array of shape (n_X, n_substrings), or two of them
            One column for each substring that occurs; with `Y` a pair of matrices.
        """
        self._validate()
        A = self._real(X)
        B = None if Y is None else self._real(Y)

        # compute the columns of each length, multiplied by the root of its weight
        left = []
        right = []
        for q, weight in self.length_weights():
            a, b = spectra(A, B, range(q), q)
            factor = np.sqrt(weight)
            left.append(a * factor)
            if b is not None:
                right.append(b * factor)

        features = sparse.csr_array(sparse.hstack(left, format="csr"))
        if B is None:
            return features
        return features, sparse.csr_array(sparse.hstack(right, format="csr"))


class PSpectrum(SpectrumKernel):
    r"""Inner product of the counts of all substrings of a given length.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t)

    with :math:`\phi_u(s)` the number of occurrences of u in s.

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the substrings.

    See Also
    --------
    BlendedSpectrum : Substrings of several lengths.
    Mismatch : Tolerates mismatched symbols.
    sklearn.feature_extraction.text.CountVectorizer : The same features for characters.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite; its value is 0 for sequences of fewer than p symbols. Counts are exact for any
    length and any alphabet.

    References
    ----------
    .. [1] Leslie, Eskin and Noble, The spectrum kernel, PSB 2002, pp. 564-575.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.2.

    Examples
    --------
    >>> from skmoderndata.kernels import PSpectrum
    >>> PSpectrum(p=2)(["bar", "bat", "car", "cat"])
    array([[2., 1., 1., 0.],
           [1., 2., 0., 1.],
           [1., 0., 2., 1.],
           [0., 1., 1., 2.]])
    >>> PSpectrum(p=2)([["to", "be", "or", "not", "to", "be"]])
    array([[7.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("leslie2002spectrum", "shawetaylor2004kernel"),
        cost="total length + common substrings", domain="string", method=PAGE,
        tier="standard",
        instead="CountVectorizer with analyzer='char' and LinearSVC use the same counts as "
        "features.",
    )  # fmt: skip

    def __init__(self, p: int = 3) -> None:
        self.p = p

    def _validate(self) -> None:
        self._check_integer("p", 1)

    def length_weights(self) -> list[tuple[int, float]]:
        """Return the lengths of substrings with their weights.

        Returns
        -------
        weights : list of (int, float)
            The single length, with weight 1.
        """
        return [(self.p, 1.0)]


class BlendedSpectrum(SpectrumKernel):
    r"""Weighted sum of the spectrum kernels of all lengths up to p.

    .. math:: k(s, t) = \sum_{q = 1}^p a_q k_q(s, t)

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the longest substrings.
    weights : array-like of shape (p,), default=None
        Non-negative weights of the lengths 1 to p; None means 1 for all.
    decay : float, default=None
        Base of the weights, above 0 and at most 1, used instead of `weights`: length q has the
        weight ``decay ** (2 q)``.

    See Also
    --------
    PSpectrum : Substrings of one length.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite. Long common substrings also count through all their shorter substrings.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.2.

    Examples
    --------
    >>> from skmoderndata.kernels import BlendedSpectrum
    >>> BlendedSpectrum(p=2)(["cat", "car"])
    array([[5., 3.],
           [3., 5.]])
    >>> BlendedSpectrum(p=2, decay=0.5)(["cat"], ["car"])
    array([[0.5625]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("leslie2002spectrum", "shawetaylor2004kernel"),
        cost="p (total length + common substrings)", domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(self, p: int = 3, weights: Any = None, decay: float | None = None) -> None:
        self.p = p
        self.weights = weights
        self.decay = decay

    def _validate(self) -> None:
        self._check_integer("p", 1)
        if self.weights is not None:
            if self.decay is not None:
                raise ValueError(
                    f"{type(self).__name__}: pass weights or decay, not both; "
                    f"weights={self.weights!r}, decay={self.decay!r}."
                )
            self._check_real("weights", 0.0, low_included=True)
            if np.size(self.weights) != self.p:
                raise self._refuse("weights", f"of length p={self.p}, one for each length")
        if self.decay is not None:
            self._check_real("decay", 0.0, 1.0)

    def length_weights(self) -> list[tuple[int, float]]:
        """Return the lengths of substrings with their weights.

        Returns
        -------
        weights : list of (int, float)
            Lengths 1 to p.
        """
        lengths = range(1, self.p + 1)
        if self.weights is not None:
            weights = [float(w) for w in np.ravel(self.weights)]
        else:
            base = 1.0 if self.decay is None else float(self.decay)
            weights = [base ** (2 * q) for q in lengths]
        return list(zip(lengths, weights, strict=True))


class Mismatch(SequenceKernel):
    r"""Inner product of the counts of substrings with up to m mismatched symbols.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t)

    with :math:`\phi_u(s)` the number of substrings of s that differ from u in at most m symbols
    or, with `costs`, whose total substitution cost is below `threshold`.

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the substrings.
    m : int, default=1
        Number of symbols that may differ, at most p.
    alphabet : str, sequence or int, default=None
        Symbols of the words u, or their number; the kernel value depends on it. None uses the
        symbols of the training samples, which `from_data`, `KernelTransformer` and estimators
        with a parameter `kernel` determine.
    costs : ndarray of shape (n_symbols, n_symbols), default=None
        ``costs[i, j]`` is the cost, at least 0, of symbol i in a word u at the position of symbol
        j in a substring, in the order of `alphabet`. Used instead of `m`.
    threshold : float, default=None
        Upper bound, exclusive, on the total cost of a substring; required with `costs`.
    unknown : {"raise", "ignore"}, default="raise"
        Treatment of symbols outside the alphabet: "raise" raises an error, "ignore" omits the
        substrings that contain them.

    See Also
    --------
    PSpectrum : Without mismatches.
    GapWeighted : Tolerates gaps instead of mismatches.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite. The cheaper of two exact algorithms is used. If ``|alphabet| ** p`` is small, p
    passes over a tensor compute the counts of all words. Otherwise the kernel is a sum of spectrum
    kernels of substrings that omit up to ``2 m`` positions, which count the pairs of substrings
    that agree elsewhere, and no neighbourhood is enumerated. With `costs` a depth-first search
    enumerates the words within the threshold.

    References
    ----------
    .. [1] Leslie, Eskin, Cohen, Weston and Noble, Mismatch string kernels for discriminative
       protein classification, Bioinformatics 20(4), 2004, pp. 467-476.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.6.

    Examples
    --------
    >>> from skmoderndata.kernels import Mismatch
    >>> Mismatch(p=2, m=1, alphabet="acrt")(["cat", "car"])
    array([[18., 15.],
           [15., 18.]])
    >>> Mismatch(p=2, m=1).from_data(["gatta", "cata"])
    Mismatch(p=2, m=1, alphabet='acgt', costs=None, threshold=None, unknown='raise')
    >>> costs = [[0.0, 0.2, 1.0], [0.2, 0.0, 1.0], [1.0, 1.0, 0.0]]  # a and b are nearly the same
    >>> Mismatch(p=2, alphabet="abc", costs=costs, threshold=0.3)(["aa"], ["ab", "ac"])
    array([[2., 0.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("leslie2004mismatch", "shawetaylor2004kernel"),
        cost="p m |alphabet|^p n, or C(p, 2m) spectra", domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(
        self,
        p: int = 3,
        m: int = 1,
        alphabet: Any = None,
        costs: Any = None,
        threshold: float | None = None,
        unknown: str = "raise",
    ) -> None:
        self.p = p
        self.m = m
        self.alphabet = alphabet
        self.costs = costs
        self.threshold = threshold
        self.unknown = unknown

    def _validate(self) -> None:
        self._check_integer("p", 1)
        self._check_integer("m", 0)
        if self.m > self.p:
            raise self._refuse("m", f"at most p={self.p}")

        self._check_choice("unknown", ("raise", "ignore"))
        if self.alphabet is None:
            raise ValueError(
                "Mismatch: alphabet=None needs training samples; call kernel.from_data(X_train), "
                "or use KernelTransformer."
            )

        # accept the distinct symbols, or their number
        if isinstance(self.alphabet, int | np.integer):
            self._check_integer("alphabet", 1)
        elif not len(self.alphabet) or len(set(self.alphabet)) < len(self.alphabet):
            raise self._refuse("alphabet", "a number, or at least one symbol, none repeated")

        # words are neighbours if the cost is below a threshold, or if at most m symbols differ
        if (self.costs is None) != (self.threshold is None):
            raise ValueError(
                "Mismatch: costs and threshold must be given together; without them m bounds the "
                "number of mismatches."
            )
        if self.costs is not None:
            self._check_costs()

    def _check_costs(self) -> None:
        self._check_real("threshold", 0.0)
        if isinstance(self.alphabet, int | np.integer):
            raise ValueError(
                f"Mismatch: alphabet={self.alphabet}, but costs require the symbols themselves."
            )
        n = len(self.alphabet)
        costs = np.asarray(self.costs, dtype=np.float64)
        in_range = np.isfinite(costs) & (costs >= 0)
        if costs.shape != (n, n) or not in_range.all():
            raise ValueError(
                f"Mismatch: costs has shape {costs.shape}; for an alphabet of {n} symbols it "
                f"must be a matrix of shape ({n}, {n}) of finite numbers of at least 0."
            )
        if float(n) ** self.p >= WORD:
            raise ValueError(
                f"Mismatch: {n} symbols make {n}^{self.p} words, too many for costs; lower p."
            )

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with the alphabet of the training samples.

        Parameters
        ----------
        X : collection of sequences
            Training samples.

        Returns
        -------
        kernel : Mismatch
            A copy, equal to this kernel if the alphabet is given.
        """
        copy = super().from_data(X)
        if self.alphabet is None:
            packed = self._real(X)
            symbols: Any = [packed.symbols[c] for c in np.unique(packed.codes)]
            alphabet = "".join(symbols) if packed.kind == "text" else tuple(symbols)
            copy.set_params(alphabet=alphabet)
        return copy

    def _prepare(self, X: Packed, Y: Packed | None) -> tuple[Packed, Packed | None, int]:
        """Return samples over the alphabet, and its size."""
        if isinstance(self.alphabet, int | np.integer):
            if Y is not None:
                X, Y = one_alphabet(X, Y)
            codes = X.codes if Y is None else np.concatenate([X.codes, Y.codes])
            present = np.unique(codes)
            n_present = len(present)
            if n_present > self.alphabet:
                raise ValueError(
                    f"Mismatch: alphabet={self.alphabet} symbols, but the samples have "
                    f"{n_present}."
                )

            # replace the symbols by their numbers
            table = np.zeros(len(X.symbols), dtype=np.int32)
            table[present] = np.arange(n_present, dtype=np.int32)
            symbols: tuple[Hashable, ...] = tuple(range(int(self.alphabet)))
            others = Y and Y.recoded(table, symbols)
            return X.recoded(table, symbols), others, len(symbols)

        X = over_alphabet(X, self.alphabet, self.unknown, "Mismatch")
        if Y is not None:
            Y = over_alphabet(Y, self.alphabet, self.unknown, "Mismatch")
        return X, Y, len(self.alphabet)

    def _dense(self, n: int, n_windows: int, sigma: int) -> bool:
        """Return whether dense counts of all words cost less than spectra with gaps (in ns)."""
        n_words = float(sigma) ** self.p
        if 8 * n_words * n > working_memory():
            return False
        n_patterns = sum(1 for _ in position_patterns(self.p, 2 * self.m))
        dense = n_words * n * (2 * self.p * self.m + n / 30)
        with_gaps = n_patterns * (25.0 * n_windows + 20.0 * n * n)
        return dense <= with_gaps

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        X, Y, sigma = self._prepare(X, Y)
        if self.costs is not None:
            if Y is None:
                return gram_of_counts(self._words(X, sigma))
            counts = self._words(joined(X, Y), sigma)
            n = len(X)
            return gram_of_counts(counts[:n], counts[n:])

        # use the counts of all words if this takes less time than spectra with gaps
        n = len(X) + (0 if Y is None else len(Y))
        n_windows = len(X.codes) + (0 if Y is None else len(Y.codes))
        if self._dense(n, n_windows, sigma):
            words = self._word_counts(X, sigma)
            others = words if Y is None else self._word_counts(Y, sigma)
            return np.asarray(words @ others.T)

        # otherwise use a weighted sum of spectra with gaps
        weights = pattern_weights(self.p, self.m, sigma)
        K = np.zeros((len(X), len(X if Y is None else Y)))
        for positions in position_patterns(self.p, 2 * self.m):
            weight = weights[len(positions)]
            if weight:
                A, B = spectra(X, Y, positions, self.p)
                K += weight * gram_of_counts(A, B)
        return K

    def _diag(self, X: Packed) -> Array:
        X, _, sigma = self._prepare(X, None)
        if self.costs is not None:
            return squared_norms(self._words(X, sigma))
        if self._dense(len(X), len(X.codes), sigma):
            A = self._word_counts(X, sigma)
            return np.asarray(np.einsum("ij,ij->i", A, A))
        weights = pattern_weights(self.p, self.m, sigma)
        d = np.zeros(len(X))
        for positions in position_patterns(self.p, 2 * self.m):
            counts = spectrum(X, positions, self.p)
            d += weights[len(positions)] * squared_norms(counts)
        return d

    def _word_counts(self, X: Packed, sigma: int) -> Array:
        starts, offsets = windows(X.codes, X.offsets, self.p)
        codes = _symbols_of(X, starts, self.p).astype(np.int64)
        weights = sigma ** np.arange(self.p)
        numbers = codes @ weights
        return neighbour_counts(numbers, offsets, sigma, self.p, self.m)

    def features(self, X: Any) -> sparse.csr_array:
        """Count words up to mismatches in sparse rows, whose inner products are the kernel.

        Parameters
        ----------
        X : collection of sequences
            Samples.

        Returns
        -------
        features : csr_array of shape (n_samples, n_symbols ** p)
            One column for each word over the alphabet, the first symbol as the lowest digit.
        """
        self._validate()
        if isinstance(self.alphabet, int | np.integer):
            raise ValueError(
                f"Mismatch: alphabet={self.alphabet}, but features require the symbols themselves."
            )
        A, _, sigma = self._prepare(self._real(X), None)
        n_words = sigma**self.p
        if n_words > MAX_INT32:
            raise ValueError(
                f"Mismatch: {sigma} symbols make {sigma}^{self.p} words, too many columns; use "
                "the kernel matrix, or a smaller p."
            )
        return self._words(A, sigma, columns=n_words)

    def _words(self, X: Packed, sigma: int, columns: int | None = None) -> sparse.csr_array:
        """Count the words near the windows of each row, by enumerating them.

        There is one column for each word over the alphabet if `columns` is given, otherwise for
        each word that occurs.
        """
        # find the distinct windows
        window_starts, offsets = windows(X.codes, X.offsets, self.p)
        numbers, _ = window_numbers(X.codes, window_starts, sigma, range(self.p))
        _, first, ranks = np.unique(numbers, return_index=True, return_inverse=True)
        kinds = _symbols_of(X, window_starts[first], self.p)

        # find the words near each window, whose mismatches cost less than the threshold
        if self.costs is None or self.threshold is None:
            costs = 1.0 - np.eye(sigma)
            threshold = self.m + 0.5
        else:
            costs = np.asarray(self.costs, dtype=np.float64)
            threshold = float(self.threshold)
        starts, words = words_near(kinds, costs, threshold, MOST_WORDS)
        if words is None:
            raise ValueError(
                f"Mismatch: {len(kinds)} distinct substrings have more than {MOST_WORDS} "
                "neighbouring words, too many to enumerate; lower p, m or threshold."
            )

        # use one column for each possible word if these are few, otherwise for each word that
        # occurs
        if columns is None:
            columns = sigma**self.p
            if columns > TABLE:
                distinct, words = np.unique(words, return_inverse=True)
                columns = len(distinct)

        return word_counts(ranks, offsets, starts, words, columns)
