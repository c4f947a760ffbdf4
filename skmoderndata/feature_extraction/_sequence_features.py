"""Explicit features of kernels on strings, for linear models."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import Interval, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._samples.containers import as_samples
from skmoderndata.kernels import Mismatch, PSpectrum, RestrictedGapWeighted
from skmoderndata.kernels._base import BaseKernel
from skmoderndata.kernels._generative.scores import ScoreKernel
from skmoderndata.kernels._strings.spectrum import (
    SpectrumKernel,
    counts_of_words,
    distinct_windows,
    hashed_counts,
)
from skmoderndata.kernels._strings.text import TextKernel


class SequenceFeatures(TransformerMixin, Base):
    """Sparse counts of the substrings that a kernel on strings compares.

    Inner products of the rows are the values of the kernel, normalised by default. A linear model
    on them is equivalent to the kernel machine, but its cost grows linearly with the number of
    samples, and its coefficients show which substrings decide.

    Parameters
    ----------
    kernel : kernel of sequences with features, default=None
        `PSpectrum`, `BlendedSpectrum`, `Mismatch` or `RestrictedGapWeighted`; `MarkovFisher` or
        `HMMFisher`, whose columns are scores; or a kernel on texts with a vectorizer. None uses
        `PSpectrum()`.
    n_features : int, default=None
        Number of columns of hashed features; None learns a column for each substring of the
        training samples.
    normalize : bool, default=True
        Whether rows have Euclidean norm 1, as in `skmoderndata.kernels.Normalized`.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with the parameters that it takes from the training samples.
    words_ : list of Packed
        The substrings of the columns, by length; not with hashing or `Mismatch`.
    columns_ : ndarray of shape (n_columns,)
        For `Mismatch`, index of the word of each column, in base `len(alphabet)`.
    n_features_out_ : int
        Number of columns.

    See Also
    --------
    sklearn.feature_extraction.text.CountVectorizer : Counts of characters, or of words that a
        regular expression finds.
    sklearn.feature_extraction.text.HashingVectorizer : The same counts with hashing.
    skmoderndata.preprocessing.KernelTransformer : For kernels without explicit features.

    Notes
    -----
    A sample is a `str`, `bytes`, or a sequence of hashable tokens; it is neither lowercased nor
    stripped. A sample without any known substring is a row of zeros. `transform` drops substrings
    that do not occur in the training samples. This leaves the inner products with training
    samples unchanged, except for the norm: rows are normalised over the known substrings.

    With hashing, `fit` has nothing to learn, and `transform` works without it. Two substrings
    share a column with probability ``1 / n_features``. `Mismatch` does not support hashing,
    because its alphabet determines the columns.

    References
    ----------
    .. [1] Leslie, Eskin and Noble, The spectrum kernel, PSB 2002, pp. 564-575.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.6.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from skmoderndata.feature_extraction import SequenceFeatures
    >>> from skmoderndata.kernels import PSpectrum
    >>> features = SequenceFeatures(PSpectrum(2), normalize=False)
    >>> features.fit_transform(["gatta", "cata"]).toarray()
    array([[1., 0., 1., 1., 1.],
           [1., 1., 0., 1., 0.]])
    >>> features.get_feature_names_out()
    array(['at', 'ca', 'ga', 'ta', 'tt'], dtype=object)
    >>> model = make_pipeline(SequenceFeatures(PSpectrum(2)), LinearSVC())
    >>> model.fit(["abab", "baba", "aabb", "bbaa"], [0, 0, 1, 1]).predict(["ababab", "aaabbb"])
    array([0, 1])
    """

    _card = MethodCard(
        family="features of sequences",
        cite=("leslie2002spectrum", "shawetaylor2004kernel"),
        cost="total length of the samples",
        samples="strings",
        tier="standard",
        instead="CountVectorizer with analyzer='char', followed by Normalizer, gives the same "
        "features, though fitting takes three times as long.",
    )
    _parameter_constraints = {
        "kernel": [BaseKernel, None],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "normalize": ["boolean"],
    }

    @parameters_are_named
    def __init__(self, kernel=None, n_features=None, *, normalize=True):
        self.kernel = kernel
        self.n_features = n_features
        self.normalize = normalize

    @fit_context()
    def fit(self, X, y=None):
        """Learn the columns.

        Parameters
        ----------
        X : collection of sequences
            Training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : SequenceFeatures
            The fitted transformer.
        """
        if not as_samples(X, type(self).__name__):
            raise ValueError(
                "SequenceFeatures received 0 samples; at least 1 sample is required."
            )
        self._fit(X)
        return self

    @fit_context()
    def partial_fit(self, X, y=None):
        """Check the parameters; with hashing there is nothing to learn.

        Parameters
        ----------
        X : collection of sequences
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : SequenceFeatures
            The transformer.
        """
        if self.n_features is None:
            raise ValueError(
                "SequenceFeatures: columns are learnt from all training samples at once; set "
                "n_features, for instance to 2**18, to stream samples."
            )
        self._fit(X)
        return self

    def _fit(self, X):
        kernel = PSpectrum() if self.kernel is None else self.kernel
        _check_features(kernel)
        self.kernel_ = kernel.from_data(X)
        self.kernel_._validate()

        # Columns are hashes, or are defined by the kernel, or are the substrings that occur
        if self.n_features is not None:
            if isinstance(kernel, Mismatch | ScoreKernel | TextKernel):
                raise ValueError(
                    f"SequenceFeatures: {type(kernel).__name__} has its own columns and does not "
                    "support hashing; set n_features=None."
                )
            self.n_features_out_ = int(self.n_features)
        elif isinstance(kernel, ScoreKernel | TextKernel):
            self.n_features_out_ = self.kernel_.features(X).shape[1]
        elif isinstance(kernel, Mismatch):
            counts = self.kernel_.features(X)
            self.columns_ = np.unique(counts.indices)
            self.n_features_out_ = len(self.columns_)
        elif isinstance(kernel, RestrictedGapWeighted):
            self.words_ = [self.kernel_.distinct_words(self.kernel_.encode(X).form)]
            self.n_features_out_ = len(self.words_[0])
        else:
            packed = self.kernel_.encode(X).form
            lengths = [q for q, weight in self.kernel_.length_weights() if weight > 0]
            self.words_ = [distinct_windows(packed, q) for q in lengths]
            self.n_features_out_ = sum(map(len, self.words_))

        if self.n_features_out_ == 0:
            raise ValueError(
                f"SequenceFeatures: no training sample has a substring for {self.kernel_!r}, so "
                "there would be no columns; lower p."
            )

    @by_rows
    def transform(self, X):
        """Count the substrings of samples.

        Parameters
        ----------
        X : collection of sequences
            Samples.

        Returns
        -------
        features : csr_array of shape (n_samples, n_features_out_)
            One row for each sample; an ndarray for `HMMFisher`, and for kernels on texts whose
            features are dense.
        """
        if self.n_features is not None and not hasattr(self, "kernel_"):
            self._validate_params()
            self._fit(X)
        check_is_fitted(self)

        if isinstance(self.kernel_, ScoreKernel | TextKernel):
            features = self.kernel_.features(X)
            if not sparse.issparse(features):
                return normalize(features) if self.normalize else features
        elif isinstance(self.kernel_, Mismatch):
            features = self.kernel_.features(X)[:, self.columns_]
        elif isinstance(self.kernel_, RestrictedGapWeighted):
            packed = self.kernel_.encode(X).form
            if self.n_features is not None:
                features = self.kernel_.hashed_sums(packed, int(self.n_features))
            else:
                features = self.kernel_.sums_of_words(packed, self.words_[0])

        # Count the substrings of each length
        else:
            packed = self.kernel_.encode(X).form
            weights = [(q, np.sqrt(w)) for q, w in self.kernel_.length_weights() if w > 0]
            if self.n_features is not None:
                n_features = int(self.n_features)
                blocks = [hashed_counts(packed, q, n_features) * w for q, w in weights]
                features = sum(blocks[1:], start=blocks[0])
            else:
                blocks = [
                    counts_of_words(packed, words, q) * w
                    for (q, w), words in zip(weights, self.words_, strict=True)
                ]
                features = sparse.hstack(blocks, format="csr")

        features = sparse.csr_array(features)
        features.sort_indices()
        return normalize(features, copy=False) if self.normalize else features

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns, which are the substrings.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects
            Substrings, with a space between tokens; numbers for hashed features, scores and
            texts.
        """
        check_is_fitted(self)

        # Number the columns that have no names
        if self.n_features is not None or isinstance(self.kernel_, ScoreKernel | TextKernel):
            numbers = range(self.n_features_out_)
            return np.array([f"sequencefeatures{i}" for i in numbers], dtype=object)

        # Recover words from their digits in the alphabet
        if isinstance(self.kernel_, Mismatch):
            alphabet = list(self.kernel_.alphabet)
            size = len(alphabet)
            powers = size ** np.arange(self.kernel_.p)
            digits = self.columns_[:, None] // powers % size
            words = [[alphabet[d] for d in row] for row in digits]
            glue = "" if isinstance(self.kernel_.alphabet, str) else " "
            return np.array([glue.join(map(str, word)) for word in words], dtype=object)

        names = [word for words in self.words_ for word in words.words()]
        shown = [name if isinstance(name, str) else " ".join(map(str, name)) for name in names]
        return np.array(shown, dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "kernel_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.requires_fit = self.n_features is None
        return tags


def _check_features(kernel):
    """Reject kernels without features, and kernels whose samples are rows of a table."""
    name = type(kernel).__name__
    counting = SpectrumKernel | Mismatch | RestrictedGapWeighted
    if not isinstance(kernel, counting | ScoreKernel | TextKernel):
        raise TypeError(
            f"SequenceFeatures: {name} has no columns shared by all samples; use "
            f"preprocessing.KernelTransformer({name}(...)) and an estimator with "
            'kernel="precomputed", or kernel_approximation.IncompleteCholesky for many samples.'
        )
    if kernel.requires_vector_input:
        raise TypeError(
            f"SequenceFeatures: the samples of this {name} are rows of a table; use "
            f"FunctionTransformer(kernel.features) with kernel = {name}(...).from_data(X_train)."
        )
