"""Kernels that count common subsequences: all, of one length, and with a penalty for gaps."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.sequences import Packed, one_alphabet, over_alphabet
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.subsequences import (
    Weighting,
    all_subsequence_counts,
    own_all_subsequence_counts,
    own_subsequence_sums,
    subsequence_slopes,
    subsequence_sums,
)
from skmoderndata.kernels._strings.base import SequenceKernel

FAMILY = "kernels on strings"
PAGE = "string_kernels"


class AllSubsequences(SequenceKernel):
    r"""Number of pairs of equal subsequences, the empty one included.

    .. math:: k(s, t) = \sum_{u \in \Sigma^*} \phi_u(s) \phi_u(t)

    with :math:`\phi_u(s)` the number of occurrences of u as a subsequence of s, gaps allowed.

    See Also
    --------
    FixedLengthSubsequences : Subsequences of one length.
    GapWeighted : Penalises gaps.
    Normalized : Works with logarithms, so that long sequences do not overflow.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite. Values grow as fast as ``4^length``; matrices of sequences of more than 500
    symbols are finite only inside `Normalized`.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.3.

    Examples
    --------
    >>> from skmoderndata.kernels import AllSubsequences, Normalized
    >>> AllSubsequences()(["cat", "car"])
    array([[8., 4.],
           [4., 8.]])
    >>> Normalized(AllSubsequences())(["cat" * 1000, "car"]).round(3)
    array([[1., 0.],
           [0., 1.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="|s| |t| for each pair",
        domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(self) -> None:
        pass

    def _values(self, X: Packed, Y: Packed | None, *, logarithm: bool) -> Array:
        if Y is None:
            return all_subsequence_counts(X.codes, X.offsets, logarithm=logarithm)
        X, Y = one_alphabet(X, Y, type(self).__name__)
        others = (Y.codes, Y.offsets)
        return all_subsequence_counts(X.codes, X.offsets, others, logarithm=logarithm)

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        return self._values(X, Y, logarithm=False)

    def _diag(self, X: Packed) -> Array:
        return own_all_subsequence_counts(X.codes, X.offsets)

    def _log_gram(self, X: Packed, Y: Packed | None) -> Array:
        return self._values(X, Y, logarithm=True)

    def _log_diag(self, X: Packed) -> Array:
        return own_all_subsequence_counts(X.codes, X.offsets, logarithm=True)


class _Subsequences(SequenceKernel):
    """Sum over common subsequences, with the weights of `_weighting`."""

    def _prepare(self, X: Packed, Y: Packed | None) -> tuple[Packed, Packed | None]:
        """Return samples over one alphabet."""
        return (X, None) if Y is None else one_alphabet(X, Y, type(self).__name__)

    def _weighting(self, symbols: tuple[Hashable, ...]) -> Weighting:
        raise NotImplementedError

    def _values(self, X: Packed, Y: Packed | None, *, logarithm: bool) -> Array:
        X, Y = self._prepare(X, Y)
        others = None if Y is None else (Y.codes, Y.offsets)
        weighting = self._weighting(X.symbols)
        return subsequence_sums(X.codes, X.offsets, weighting, others, logarithm=logarithm)

    def _own_values(self, X: Packed, *, logarithm: bool) -> Array:
        X, _ = self._prepare(X, None)
        weighting = self._weighting(X.symbols)
        return own_subsequence_sums(X.codes, X.offsets, weighting, logarithm=logarithm)

    def _gram(self, X: Packed, Y: Packed | None) -> Array:
        return self._values(X, Y, logarithm=False)

    def _diag(self, X: Packed) -> Array:
        return self._own_values(X, logarithm=False)

    def _log_gram(self, X: Packed, Y: Packed | None) -> Array:
        return self._values(X, Y, logarithm=True)

    def _log_diag(self, X: Packed) -> Array:
        return self._own_values(X, logarithm=True)


class FixedLengthSubsequences(_Subsequences):
    r"""Number of pairs of equal subsequences of a given length.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t)

    with :math:`\phi_u(s)` the number of occurrences of u as a subsequence of s, gaps allowed.

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the subsequences; 0 gives 1 for all pairs.

    See Also
    --------
    GapWeighted : Penalises gaps; with ``decay=1`` it is this kernel.
    PSpectrum : Contiguous subsequences only.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite; its value is 0 for sequences of fewer than p symbols.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.4.

    Examples
    --------
    >>> from skmoderndata.kernels import FixedLengthSubsequences
    >>> FixedLengthSubsequences(p=2)(["gatta"], ["cata"])
    array([[5.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="p |s| |t| for each pair",
        domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(self, p: int = 3) -> None:
        self.p = p

    def _validate(self) -> None:
        self._check_integer("p", 0)

    def _weighting(self, symbols: tuple[Hashable, ...]) -> Weighting:
        ones = np.ones(max(1, len(symbols)))
        lengths = np.zeros(self.p)
        lengths[-1] = 1.0
        return Weighting(ones, ones, np.zeros((0, 0)), lengths, 1.0)

    def _values(self, X: Packed, Y: Packed | None, *, logarithm: bool) -> Array:
        if self.p == 0:
            n_Y = len(X if Y is None else Y)
            return np.full((len(X), n_Y), 0.0 if logarithm else 1.0)
        return super()._values(X, Y, logarithm=logarithm)

    def _own_values(self, X: Packed, *, logarithm: bool) -> Array:
        if self.p == 0:
            return np.full(len(X), 0.0 if logarithm else 1.0)
        return super()._own_values(X, logarithm=logarithm)


def _are_weights(weights: Any) -> bool:
    """Whether a parameter is a dict from symbols to numbers of at least 0."""
    if not isinstance(weights, dict):
        return False
    return all(
        isinstance(w, int | float | np.number) and np.isfinite(w) and w >= 0
        for w in weights.values()
    )


class GapWeighted(_Subsequences):
    r"""Number of common subsequences, weighted by the lengths that they span.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s) \phi_u(t), \qquad
        \phi_u(s) = \sum_{i \,:\, s(i) = u} \lambda^{i_p - i_1 + 1}

    Parameters
    ----------
    p : int, default=3
        Number of symbols of the subsequences.
    decay : float, default=0.5
        Factor for each symbol from the first to the last symbol of an occurrence, above 0 and at
        most 1.
    lengths : array-like of shape (p,), default=None
        Non-negative weights of subsequences of 1 to p symbols; None counts only subsequences of
        p symbols.
    match_weights : dict, default=None
        Factors for matched symbols, instead of `decay`; symbols without an entry have factor 1.
    skip_weights : dict, default=None
        Factors for skipped symbols, instead of `decay`; symbols without an entry have factor
        `decay`.
    similarity : ndarray of shape (n_symbols, n_symbols) or Kernel, default=None
        Similarity of two symbols, used instead of equality: a positive semi-definite matrix over
        `alphabet`, or a kernel if symbols are numbers or vectors.
    alphabet : str or sequence, default=None
        Symbols in the order of the rows of a `similarity` matrix.
    penalize_gaps_only : bool, default=False
        Whether matched symbols have factor 1, so that only gaps are penalised.
    decay_bounds : pair of floats or "fixed", default="fixed"
        Range of `decay` in hyperparameter search.

    See Also
    --------
    PSpectrum : The limit of ``decay ** (-2 p)`` times this kernel as `decay` goes to 0.
    FixedLengthSubsequences : The kernel with ``decay=1``.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens. The kernel is positive
    semi-definite; its value is 0 for sequences of fewer than p symbols. Inside `Normalized` the
    kernel works with logarithms. The gradient in `decay` is available without weights of symbols
    and without `similarity`. The program printed in the book omits the last row and column; the
    recursion here does not.

    References
    ----------
    .. [1] Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using
       string kernels, JMLR 2, 2002, pp. 419-444.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.5.

    Examples
    --------
    >>> from skmoderndata.kernels import GapWeighted, Normalized
    >>> GapWeighted(p=2, decay=0.5)(["cat"], ["car"])
    array([[0.0625]])
    >>> Normalized(GapWeighted(p=2, decay=0.5))(["gatta", "cata", "dog"]).round(3)
    array([[1.  , 0.57, 0.  ],
           [0.57, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    >>> GapWeighted(p=2, match_weights={"a": 0.5}, skip_weights={"r": 0.1})(["cart"], ["cat"])
    array([[0.3]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("lodhi2002text", "shawetaylor2004kernel"),
        cost="p |s| |t| for each pair", domain="string", method=PAGE,
        tier="standard",
        instead="Pairs of letters, with weights that fall as the gap between them grows, in "
        "DictVectorizer with Normalizer, recognise just as many misspelt names. On "
        "peptides TfidfVectorizer with characters is as good as this kernel.",
    )  # fmt: skip
    _tunable = ("decay",)

    def __init__(
        self,
        p: int = 3,
        decay: float = 0.5,
        lengths: Any = None,
        match_weights: Any = None,
        skip_weights: Any = None,
        similarity: Any = None,
        alphabet: Any = None,
        penalize_gaps_only: bool = False,
        decay_bounds: Any = "fixed",
    ) -> None:
        self.p = p
        self.decay = decay
        self.lengths = lengths
        self.match_weights = match_weights
        self.skip_weights = skip_weights
        self.similarity = similarity
        self.alphabet = alphabet
        self.penalize_gaps_only = penalize_gaps_only
        self.decay_bounds = decay_bounds

    def _validate(self) -> None:
        self._check_integer("p", 1)
        self._check_real("decay", 0.0, 1.0)
        if self.lengths is not None:
            self._check_real("lengths", 0.0, low_included=True)
            if np.size(self.lengths) != self.p:
                raise self._refuse("lengths", f"of length p={self.p}, one for each length")

        # check the factors of single symbols
        for name in ("match_weights", "skip_weights"):
            weights = getattr(self, name)
            if weights is not None and not _are_weights(weights):
                raise self._refuse(name, "a dict from symbols to numbers of at least 0")

        if self.penalize_gaps_only and self.match_weights is not None:
            raise ValueError(
                "GapWeighted: with penalize_gaps_only=True matched symbols have factor 1; do not "
                "set match_weights."
            )

        # check the similarities, by which similar symbols match partially
        if self.similarity is None:
            if self.alphabet is not None:
                raise ValueError("GapWeighted: alphabet requires a similarity matrix.")
        elif not isinstance(self.similarity, Kernel):
            self._check_similarity()

    def _check_similarity(self) -> None:
        S = np.asarray(self.similarity, dtype=np.float64)
        if self.alphabet is None:
            raise ValueError(
                "GapWeighted: a similarity matrix requires alphabet, the symbols of its rows."
            )
        n = len(self.alphabet)
        if S.shape != (n, n) or not np.isfinite(S).all():
            raise ValueError(
                f"GapWeighted: similarity has shape {S.shape}; for an alphabet of {n} symbols it "
                f"must be a finite matrix of shape ({n}, {n})."
            )
        if not np.allclose(S, S.T):
            raise ValueError("GapWeighted: similarity must be symmetric.")

        eigenvalues = np.linalg.eigvalsh(S)
        lowest = float(eigenvalues[0])
        if lowest < -RANK_TOL * np.abs(S).max():
            raise ValueError(
                f"GapWeighted: similarity has the eigenvalue {lowest:.3g}; it must be positive "
                "semi-definite; np.exp(similarity / scale), entry by entry, often is."
            )

    def _prepare(self, X: Packed, Y: Packed | None) -> tuple[Packed, Packed | None]:
        if self.alphabet is None:
            return super()._prepare(X, Y)
        name = type(self).__name__
        samples = over_alphabet(X, self.alphabet, "raise", name)
        others = None if Y is None else over_alphabet(Y, self.alphabet, "raise", name)
        return samples, others

    def _length_weights(self) -> Array:
        if self.lengths is not None:
            return np.ravel(np.asarray(self.lengths, dtype=np.float64))
        weights = np.zeros(self.p)
        weights[-1] = 1.0
        return weights

    def _weighting(self, symbols: tuple[Hashable, ...]) -> Weighting:
        # set the factors of matched and skipped symbols
        decay = float(self.decay)
        n_factors = max(1, len(symbols))
        match = np.full(n_factors, 1.0 if self.penalize_gaps_only else decay)
        skip = np.full(n_factors, decay)
        for i, symbol in enumerate(symbols):
            if self.match_weights is not None:
                match[i] = self.match_weights.get(symbol, 1.0)
            if self.skip_weights is not None:
                skip[i] = self.skip_weights.get(symbol, decay)

        # set the similarities of symbols
        S = np.zeros((0, 0))
        if isinstance(self.similarity, Kernel) and symbols:
            points: Any = list(symbols)
            if self.similarity.requires_vector_input:
                points = np.asarray(symbols, dtype=np.float64).reshape(len(symbols), -1)
            S = np.asarray(self.similarity(points), dtype=np.float64)
        elif self.similarity is not None and symbols:
            S = np.array(self.similarity, dtype=np.float64)
        return Weighting(match, skip, S, self._length_weights(), decay)

    def _gradients(self, X: Packed, K: Array) -> dict[str, Array]:
        if not self._is_tuned("decay"):
            return {}
        of_symbols = (self.match_weights, self.skip_weights, self.similarity)
        if any(value is not None for value in of_symbols):
            raise ValueError(
                "GapWeighted: the gradient in decay is not available with match_weights, "
                'skip_weights or similarity; set decay_bounds="fixed".'
            )
        slopes = subsequence_slopes(
            X.codes,
            X.offsets,
            float(self.decay),
            self._length_weights(),
            matches_decay=not self.penalize_gaps_only,
        )
        return {"decay": slopes}
