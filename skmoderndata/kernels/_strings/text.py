"""Kernels on texts: rows of counts, with relations between terms from a corpus."""

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._estimator.validation import check_array
from skmoderndata._samples.containers import is_sparse
from skmoderndata._samples.corpus import (
    Corpus,
    document_frequencies,
    read_corpus,
    rows_of_counts,
    texts,
)
from skmoderndata._solvers.common.tolerances import RANK_TOL, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.text.spectra import Spectrum, diffused, leading_terms, spectrum
from skmoderndata.kernels._base import BaseKernel, same_value, show

FAMILY = "kernels on text"
PAGE = "text_kernels"


class TextKernel(BaseKernel):
    """A kernel on rows of counts, or on texts that a vectorizer turns into rows.

    A subclass defines `_blocks(counts)`, one or more feature matrices; the kernel is the sum of
    their inner products.
    """

    vectorizer: Any
    corpus: Any
    _needs_corpus = True

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        return self.vectorizer is None

    @property
    def encoding(self) -> Hashable | None:
        """Name of the form that `encode` stores: rows from one vectorizer."""
        if self.vectorizer is None or not isinstance(self.corpus, Corpus):
            return None
        return "counts", self.corpus.value_key()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the vectorizer.

        Returns
        -------
        params : dict
            Values by name.
        """
        params = super().get_params(deep=deep)
        if deep and self.vectorizer is not None:
            inner = self.vectorizer.get_params(deep=True)
            params |= {f"vectorizer__{name}": value for name, value in inner.items()}
        return params

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine = self.get_params()
        theirs = other.get_params()
        kinds = [type(params.pop("vectorizer", None)) for params in (mine, theirs)]
        return kinds[0] is kinds[1] and same_value(mine, theirs)

    __hash__ = None

    def __repr__(self) -> str:
        """Print the vectorizer without line breaks, and only the size of a long corpus."""
        shown = []
        for name, value in super().get_params(deep=False).items():
            if name == "vectorizer" and value is not None:
                shown.append(f"{name}={' '.join(repr(value).split())}")
            elif is_sparse(value) and np.prod(value.shape) > 12:
                corpus = Corpus(sparse.csr_array(value), None)
                shown.append(f"{name}={corpus!r}")
            else:
                shown.append(f"{name}={show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with a processed corpus, by default the training samples.

        Parameters
        ----------
        X : rows of counts, or collection of texts
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy, equal to this kernel if the corpus is already processed.
        """
        self._validate_parameters()
        copy: BaseKernel = super().from_data(X)
        uses_corpus = self._needs_corpus or self.vectorizer
        if isinstance(self.corpus, Corpus) or not uses_corpus:
            return copy
        documents = X if self.corpus is None else self.corpus
        corpus = read_corpus(documents, self.vectorizer, type(self).__name__)
        return copy.set_params(corpus=corpus)

    def _validate(self) -> None:
        self._validate_parameters()
        if self.corpus is None and (self._needs_corpus or self.vectorizer is not None):
            raise ValueError(
                f"{type(self).__name__}: corpus=None needs training samples; call "
                "kernel.from_data(X_train), or use KernelTransformer."
            )

    def _validate_parameters(self) -> None:
        """Check the values of the parameters other than the corpus."""
        if self.vectorizer is None:
            return
        methods = ("fit_transform", "get_params")
        if not all(hasattr(self.vectorizer, name) for name in methods):
            raise self._refuse("vectorizer", "a vectorizer of scikit-learn, or None")

    def _read(self) -> Corpus:
        """Return the corpus; process it now if it was given as documents."""
        if isinstance(self.corpus, Corpus):
            return self.corpus
        return read_corpus(self.corpus, self.vectorizer, type(self).__name__)

    def _check(self, X: Any) -> tuple[sparse.csr_array, Corpus | None]:
        name = type(self).__name__
        if not self._needs_corpus and self.vectorizer is None:
            return rows_of_counts(X, name), None

        # count the terms of the samples
        corpus = self._read()
        n_terms = corpus.counts.shape[1]
        if self.vectorizer is None:
            counts = rows_of_counts(X, name)
        else:
            documents = texts(X, name)
            counts = sparse.csr_array((0, n_terms))
            if documents:
                transformed = corpus.vectorizer.transform(documents)
                counts = sparse.csr_array(transformed).astype(np.float64)

        # check that samples and corpus have the same terms
        n, n_columns = counts.shape
        if n and n_columns != n_terms:
            raise ValueError(
                f"{name}: samples have {n_columns} terms, but the corpus has "
                f"{n_terms}; count both with one vectorizer."
            )
        return counts, corpus

    def _encode(self, X: list[Any]) -> sparse.csr_array:
        counts, _ = self._check(X)
        return counts

    def _real(self, X: Any) -> Any:
        form = super()._real(X)
        return form if isinstance(form, tuple) else (form, self.corpus)

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        raise NotImplementedError

    def _gram(self, X: Any, Y: Any) -> Array:
        A = self._blocks(*X)
        B = A if Y is None else self._blocks(Y[0], X[1])  # decompose the common corpus once
        n_X, p_X = A[0].shape
        n_Y, p_Y = B[0].shape
        K = np.zeros((n_X, n_Y))
        if not K.size:
            return K
        if p_X != p_Y:
            raise ValueError(
                f"{type(self).__name__}: samples have {p_X} and {p_Y} terms; "
                "count both with one vectorizer."
            )
        for a, b in zip(A, B, strict=True):
            product = a @ b.T
            K += product.toarray() if is_sparse(product) else product
        return K

    def _diag(self, X: Any) -> Array:
        counts, _ = X
        d = np.zeros(counts.shape[0])
        if not len(d):
            return d
        for a in self._blocks(*X):
            squares = a.multiply(a) if is_sparse(a) else a * a
            d += np.asarray(squares.sum(axis=1)).ravel()
        return d

    def features(self, X: Any) -> Any:
        """Return features whose inner products are the kernel.

        Parameters
        ----------
        X : rows of counts, or collection of texts
            Samples.

        Returns
        -------
        features : csr_array or ndarray of shape (n_samples, n_features_out)
            One row for each sample; sparse if the kernel preserves the sparsity of the counts.
        """
        self._validate()
        blocks = self._blocks(*self._real(X))
        if len(blocks) == 1:
            return blocks[0]
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))


class VectorSpace(TextKernel):
    r"""Inner product of the counts of terms, :math:`k(x, z) = \phi(x)' \phi(z)`.

    Parameters
    ----------
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. None means that samples are rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        Documents on which the vectorizer is fitted; None uses the training samples.

    See Also
    --------
    TfIdf : Gives rare terms more weight.
    sklearn.metrics.pairwise.linear_kernel : The same kernel on rows of counts.

    Notes
    -----
    The kernel is positive semi-definite. Sparse rows stay sparse.

    References
    ----------
    .. [1] Salton, Wong and Yang, A vector space model for automatic indexing, Communications of
       the ACM 18(11), 1975, pp. 613-620.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skmoderndata.kernels import VectorSpace
    >>> VectorSpace()([[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]])
    array([[5., 1., 2.],
           [1., 2., 2.],
           [2., 2., 6.]])
    >>> documents = ["to be or not to be", "to do is to be", "do be do be do"]
    >>> VectorSpace(CountVectorizer()).from_data(documents)(documents)
    array([[10.,  6.,  4.],
           [ 6.,  7.,  5.],
           [ 4.,  5., 13.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("salton1975vector", "shawetaylor2004kernel"),
        cost="common terms", domain="text", method=PAGE,
    )  # fmt: skip
    _needs_corpus = False

    def __init__(self, vectorizer: Any = None, corpus: Any = None) -> None:
        self.vectorizer = vectorizer
        self.corpus = corpus

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        return [counts]


class TfIdf(TextKernel):
    r"""Inner product of counts, weighted by the inverse document frequency of the terms.

    .. math:: k(x, z) = \sum_t w_t^2 \phi_t(x) \phi_t(z), \qquad w_t = \ln(n / n_t)

    with :math:`n_t` the number of documents with term t among the n of the corpus.

    Parameters
    ----------
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. None means that samples are rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        Documents from which the weights are estimated; None uses the training samples.
    smooth : bool, default=False
        Whether to use scikit-learn's smoothed weights, ``ln((1 + n) / (1 + n_t)) + 1``.

    See Also
    --------
    sklearn.feature_extraction.text.TfidfTransformer : The features of this kernel.
    GeneralizedVectorSpace : Also relates similar terms.

    Notes
    -----
    The kernel is positive semi-definite. A term that occurs in all documents has weight 0, or 1
    with ``smooth=True``; a term that occurs in no document of the corpus has weight 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    >>> from skmoderndata.kernels import TfIdf
    >>> X = [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]]
    >>> TfIdf(corpus=X)(X).round(4)
    array([[0.822 , 0.1644, 0.3288],
           [0.1644, 0.3288, 0.3288],
           [0.3288, 0.3288, 2.029 ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="common terms", domain="text",
        method=PAGE,
    )  # fmt: skip

    def __init__(
        self, vectorizer: Any = None, corpus: Any = None, smooth: bool = False
    ) -> None:
        self.vectorizer = vectorizer
        self.corpus = corpus
        self.smooth = smooth

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        self._check_choice("smooth", (True, False))

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        D = corpus.counts
        n = D.shape[0]
        n_t = corpus.derive("frequencies", lambda: document_frequencies(D))
        if self.smooth:
            weights = np.log((1 + n) / (1 + n_t)) + 1
        else:
            weights = np.log(n / np.maximum(n_t, 1)) * (n_t > 0)
        return [_scaled(counts, weights)]


def _scaled(counts: sparse.csr_array, weights: Array) -> sparse.csr_array:
    data = counts.data * weights[counts.indices]
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


class SemanticSmoothing(TextKernel):
    r"""Inner product of counts, smoothed by a given relation between terms.

    .. math:: k(x, z) = \phi(x)' P P' \phi(z) \quad \text{or} \quad \phi(x)' Q \phi(z)

    Parameters
    ----------
    proximity : array or sparse matrix of shape (n_terms, n_concepts), default=None
        The matrix P: the weight of each term in each concept.
    similarity : array or sparse matrix of shape (n_terms, n_terms), default=None
        The matrix Q, used instead of ``P P'``; symmetric and positive semi-definite.
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. Its `vocabulary` must be in the order of the matrix. None means that samples are
        rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        Documents on which the vectorizer is fitted; None uses the training samples.

    See Also
    --------
    GeneralizedVectorSpace : Learns the relation from documents.

    Notes
    -----
    The kernel is positive semi-definite. The eigenvalues of `similarity` are checked, while
    `proximity` needs no check and is preferable for many terms.

    References
    ----------
    .. [1] Siolas and d'Alche-Buc, Support vector machines based on a semantic kernel for text
       categorization, IJCNN 2000, pp. 205-209.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    Terms "car", "auto", "tree"; the first two are one concept.

    >>> from skmoderndata.kernels import SemanticSmoothing
    >>> SemanticSmoothing([[1, 0], [1, 0], [0, 1]])([[1, 0, 0], [0, 2, 1]])
    array([[1., 2.],
           [2., 5.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("siolas2000support", "shawetaylor2004kernel"),
        cost="counts times concepts of a term", domain="text", method=PAGE,
    )  # fmt: skip
    _needs_corpus = False

    def __init__(
        self, proximity: Any = None, similarity: Any = None, vectorizer: Any = None,
        corpus: Any = None,
    ) -> None:  # fmt: skip
        self.proximity = proximity
        self.similarity = similarity
        self.vectorizer = vectorizer
        self.corpus = corpus

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if (self.proximity is None) == (self.similarity is None):
            raise ValueError("SemanticSmoothing: pass either proximity or similarity.")

    def _root(self) -> Any:
        """Return P, or a square root of Q if `similarity` is given."""
        if self.proximity is not None:
            return check_array(self.proximity, accept_sparse="csr", dtype=np.float64)

        # reuse the root if `similarity` is still the same object
        cached = getattr(self, "_cached_root", None)
        if cached is not None and cached[0] is self.similarity:
            return cached[1]

        # reject Q unless it is symmetric up to rounding errors
        Q = check_array(self.similarity, accept_sparse="csr", dtype=np.float64)
        Q = Q.toarray() if is_sparse(Q) else Q
        scale = np.abs(Q).max(initial=0.0)
        n, n_columns = Q.shape
        if n != n_columns or np.abs(Q - Q.T).max(initial=0.0) > RANK_TOL * scale:
            raise ValueError("SemanticSmoothing: similarity must be square and symmetric.")

        # factor Q = R R', using its positive eigenvalues
        values, vectors = linalg.eigh((Q + Q.T) / 2)
        if values[0] < -RANK_TOL * len(Q) * scale:
            raise ValueError(
                "SemanticSmoothing: similarity must be positive semi-definite, but it has the "
                f"eigenvalue {values[0]:.3g}; pass proximity instead, which is always valid."
            )

        positive = values > ROUNDING * values[-1]
        root = vectors[:, positive] * np.sqrt(values[positive])
        self._cached_root = self.similarity, root
        return root

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        P = self._root()
        n_terms = counts.shape[1]
        n_rows = P.shape[0]
        if n_terms != n_rows:
            raise ValueError(
                f"SemanticSmoothing: samples have {n_terms} terms, but the matrix has "
                f"{n_rows} rows."
            )
        if is_sparse(P):
            P = sparse.csr_array(P)
        return [counts @ P]


class GeneralizedVectorSpace(TextKernel):
    r"""Inner product of similarities to the documents of a corpus.

    .. math:: k(x, z) = (D \phi(x))' (D \phi(z))

    with D the matrix of documents by terms: two terms are similar if documents contain both.

    Parameters
    ----------
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. None means that samples are rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        The documents D; None uses the training samples.

    See Also
    --------
    SemanticDiffusion : Also relates terms through chains of documents.

    Notes
    -----
    The kernel is positive semi-definite. There is one feature for each document of the corpus; the
    matrix ``D'D`` of all pairs of terms is never formed. Terms that occur in no document of the
    corpus have no effect.

    References
    ----------
    .. [1] Wong, Ziarko and Wong, Generalized vector space model in information retrieval, SIGIR
       1985, pp. 18-25.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    >>> from skmoderndata.kernels import GeneralizedVectorSpace
    >>> X = [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]]
    >>> GeneralizedVectorSpace(corpus=X)(X)
    array([[30., 11., 24.],
           [11.,  9., 18.],
           [24., 18., 44.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("wong1985generalized", "shawetaylor2004kernel"),
        cost="pairs of documents with a common term", domain="text", method=PAGE,
    )  # fmt: skip

    def __init__(self, vectorizer: Any = None, corpus: Any = None) -> None:
        self.vectorizer = vectorizer
        self.corpus = corpus

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        similarities = sparse.csr_array(counts @ corpus.counts.T)
        return [similarities.sorted_indices()]


class SemanticDiffusion(TextKernel):
    r"""Inner product of counts, with terms related by chains of documents.

    .. math:: k(x, z) = \phi(x)' (I - \lambda G)^{-1} \phi(z) \quad \text{or} \quad
       \phi(x)' \exp(\lambda G) \phi(z), \qquad G = D' D

    with D the matrix of documents by terms: two terms are similar if documents contain both, or if
    both are similar to a third term, with less weight for longer chains.

    Parameters
    ----------
    kind : {"von_neumann", "exponential"}, default="von_neumann"
        Decay of the weight of chains with their length: powers of :math:`\lambda` for
        "von_neumann", powers divided by factorials for "exponential".
    decay : float, default=None
        The factor :math:`\lambda`, above 0; below the reciprocal of the
        largest eigenvalue of G for the von Neumann kernel. None computes it from `relative_decay`.
    relative_decay : float, default=0.5
        The factor :math:`\lambda` times the largest eigenvalue of G, above 0; below 1 for the von
        Neumann kernel. Used if `decay` is None.
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. None means that samples are rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        The documents D; None uses the training samples.

    See Also
    --------
    VonNeumann, ExponentialDiffusion : The same functions of a similarity of the samples.
    LatentSemantic : Projects onto the leading directions.

    Notes
    -----
    The kernel is positive semi-definite. All copies of a kernel `from_data` use one
    eigendecomposition, of the smaller of ``D'D`` and ``DD'``. The component of a sample outside
    the span of the corpus contributes as in `VectorSpace`.

    References
    ----------
    .. [1] Kandola, Shawe-Taylor and Cristianini, Learning semantic similarity, NIPS 15, 2003.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    >>> from skmoderndata.kernels import SemanticDiffusion
    >>> X = [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]]
    >>> SemanticDiffusion(decay=0.05, corpus=X)(X[:1], X).round(3)
    array([[7.358, 1.986, 4.192]])
    >>> SemanticDiffusion("exponential", decay=0.05, corpus=X)(X[:1], X).round(3)
    array([[6.798, 1.695, 3.528]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("kandola2003learning", "shawetaylor2004kernel"),
        cost="min(documents, terms)^3", domain="text", method=PAGE,
    )  # fmt: skip

    def __init__(
        self, kind: str = "von_neumann", decay: float | None = None, relative_decay: float = 0.5,
        vectorizer: Any = None, corpus: Any = None,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.decay = decay
        self.relative_decay = relative_decay
        self.vectorizer = vectorizer
        self.corpus = corpus

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        self._check_choice("kind", ("von_neumann", "exponential"))
        if self.decay is not None:
            self._check_real("decay", 0.0)
        self._check_real("relative_decay", 0.0)
        uses_relative = self.decay is None and self.kind == "von_neumann"
        if uses_relative and self.relative_decay >= 1:
            raise self._refuse("relative_decay", "below 1 for the von Neumann kernel")

    def _factor(self, of_corpus: Spectrum) -> float:
        values = of_corpus.values
        largest = float(values[-1]) if len(values) else 0.0
        if self.decay is None:
            return self.relative_decay / largest if largest > 0 else 0.0
        if self.kind == "von_neumann" and self.decay * largest >= 1:
            raise self._refuse(
                "decay",
                f"below {1 / largest:.6g}, one over the largest eigenvalue of the corpus",
            )
        return float(self.decay)

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        D = corpus.counts
        of_corpus = corpus.derive("spectrum", lambda: spectrum(D))
        factor = self._factor(of_corpus)
        return [counts, diffused(counts, D, of_corpus, factor, self.kind)]


class LatentSemantic(TextKernel):
    r"""Inner product of the projections onto the leading singular directions of a corpus.

    .. math:: k(x, z) = \phi(x)' V_r V_r' \phi(z)

    with :math:`V_r` the first r right singular vectors of the matrix of documents by terms, not
    centred.

    Parameters
    ----------
    n_components : int, default=100
        Number of directions r. If it exceeds the rank of the corpus, a warning is issued and the
        rank is used.
    random_state : int, RandomState instance or None, default=None
        Seed of the start vector of the Lanczos iterations on a large corpus.
    vectorizer : object, default=None
        A vectorizer of scikit-learn, which is cloned and fitted on the corpus; samples are then
        texts. None means that samples are rows of counts.
    corpus : collection of texts, or rows of counts, default=None
        The documents; None uses the training samples.

    See Also
    --------
    sklearn.decomposition.TruncatedSVD : The coordinates as features (latent semantic indexing).
    SemanticDiffusion : Weights all directions.

    Notes
    -----
    The kernel is positive semi-definite. The component of a sample outside these directions is
    discarded. For the coordinates alone use `TruncatedSVD`; this kernel is for kernel machines and
    for sums and products with other kernels.

    References
    ----------
    .. [1] Cristianini, Shawe-Taylor and Lodhi, Latent semantic kernels, Journal of Intelligent
       Information Systems 18, 2002, pp. 127-152.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 10.2.

    Examples
    --------
    >>> from skmoderndata.kernels import LatentSemantic
    >>> X = [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]]
    >>> LatentSemantic(n_components=2, corpus=X)(X[:1], X).round(3)
    array([[4.997, 1.058, 1.977]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("cristianini2002latent", "shawetaylor2004kernel"),
        cost="r nnz T, or min(documents, terms)^3", domain="text", method=PAGE,
        tier="standard",
        instead="TfidfVectorizer and TruncatedSVD, fitted to the other texts, and LinearSVC have "
        "the same features.",
    )  # fmt: skip

    def __init__(
        self, n_components: int = 100, random_state: Any = None, vectorizer: Any = None,
        corpus: Any = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.random_state = random_state
        self.vectorizer = vectorizer
        self.corpus = corpus

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        self._check_integer("n_components", 1)

    def _blocks(self, counts: sparse.csr_array, corpus: Any) -> list[Any]:
        key = ("terms", self.n_components, repr(self.random_state))
        V = corpus.derive(key, lambda: self._terms(corpus))
        return [np.asarray(counts @ V)]

    def _terms(self, corpus: Corpus) -> Array:
        rng = check_random_state(self.random_state)
        V = leading_terms(corpus.counts, self.n_components, rng)
        rank = V.shape[1]
        if rank < self.n_components:
            warnings.warn(
                f"LatentSemantic: n_components={self.n_components} exceeds the rank of the "
                f"corpus; {rank} components are used.",
                stacklevel=2,
            )
        return V
