"""Graph drawing by the Laplacian of a similarity."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_fewer
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    Interval,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import float_type
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import TrainingSet, as_double
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL
from skmoderndata._solvers.kernel.graph_embedding import kth_largest, smallest_laplacian


class LaplacianEmbedding(
    KernelSamples, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Embed samples by eigenvectors of a graph Laplacian, so that similar samples are close.

    The coordinates :math:`\tau_i` of the samples minimise [1]_, [2]_

    .. math::
        \sum_{i, j} \kappa(x_i, x_j) \lVert \tau_i - \tau_j \rVert^2 \quad \text{subject to} \quad
        T' T = I, \quad T' 1 = 0,

    where T contains the coordinates in its rows. Its columns are the eigenvectors of the Laplacian
    :math:`D - K` with the smallest eigenvalues. K holds the similarities of neighbours, and D its
    row sums.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, up to the number of samples minus one.
    n_neighbors : int or None, default=10
        Number of neighbours of a sample, including itself: the samples with the largest
        similarities. A similarity counts if one sample is a neighbour of the other, and is 0
        otherwise. None keeps all similarities.
    kernel : str, Kernel or callable, default="rbf"
        Similarity without negative values: a name in `sklearn.metrics.pairwise`, a kernel object,
        a function of two sets of samples that returns their matrix, or "precomputed".
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples; each column has norm 1 and mean 0, in the weights
        of the samples.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the Laplacian, ascending.
    objective_ : float
        The sum that is minimised: twice the sum of `eigenvalues_`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.manifold.SpectralEmbedding : Weights the constraint by the row sums; no map for new
        samples.
    KernelGraphEmbedding : Embeds by functions in feature space.

    Notes
    -----
    All ``n^2`` similarities are computed in blocks of rows, and ``n_neighbors n`` are kept. Above
    400 samples the Laplacian is factorised as a sparse matrix. With ``n_neighbors=None`` fitting
    takes ``n^3`` operations and two matrices of n times n numbers. The eigenvalues are the
    certificate: no other coordinates have a smaller sum. A factor of all similarities does not
    change the coordinates; for ``n_neighbors=None``, neither do the similarities of samples to
    themselves.

    A new sample is placed where it is in equilibrium with the training samples,
    :math:`\tau(x) = \sum_i \kappa(x, x_i) \tau_i / (\sum_i \kappa(x, x_i) - \lambda)`. The sum
    is over training samples that are neighbours of x, or would have x as a neighbour; the stored
    similarity of each to its last neighbour decides this. A training sample therefore has the
    same neighbours as in `fit`, and gets its own coordinates. The denominator may be near 0
    for samples that resemble no training sample; if all similarities are 0, the coordinates are 0.

    A sample that resembles no other dominates an eigenvector. If the graph has several connected
    components, the first coordinates are constant on each. `SpectralEmbedding` is less sensitive
    to isolated samples, because they have less weight in its constraint.

    References
    ----------
    .. [1] Hall, An r-dimensional quadratic placement algorithm, Management Science 17(3), 1970,
       pp. 219-229.
    .. [2] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Computation 8.30 and Algorithm 8.33.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.manifold import LaplacianEmbedding
    >>> X = np.linspace(0, 3, 7)[:, None]
    >>> line = LaplacianEmbedding(1, gamma=4.0).fit(X)
    >>> steps = np.diff(line.embedding_[:, 0])
    >>> steps.round(2)   # the order of the line
    array([0.11, 0.18, 0.23, 0.23, 0.18, 0.11])
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("hall1970quadratic", "shawetaylor2004kernel", "belkin2003laplacian"),
        cost="n^2 p",
        tier="textbook",
        instead="Use SpectralEmbedding with n_neighbors=10: it preserves neighbours just as "
        "well, and it allows for samples with few neighbours.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "n_neighbors": [Interval(Integral, 2, None, closed="left"), None],
        **KERNEL_CONSTRAINTS,
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        n_neighbors=10,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Compute the embedding of the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples; the square matrix of similarities if `kernel="precomputed"`; a list
            if the kernel object accepts other samples than vectors.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the sum and in the constraints: a weight of 2 counts as two
            copies that stay together, also among the `n_neighbors`, and samples of weight 0 are
            placed like new samples.

        Returns
        -------
        self : LaplacianEmbedding
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True, ensure_min_samples=2)
        n = count_samples(X)
        if n < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 samples, but found {n}.")

        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weighted = np.flatnonzero(w > 0)
        n_weighted = len(weighted)
        if n_weighted < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 samples of positive weight: "
                f"n_samples={n_weighted}."
            )
        w = None if (w == 1).all() else w[weighted]

        train = TrainingSet(self, X, weighted, w)
        weights = np.ones(n_weighted) if w is None else w
        K, last = self._graph(train, weights)

        k = min(self.n_components, n_weighted - 1)
        if self.n_components > k:
            reason = f"the number {k} of coordinates of {n_weighted} samples"
            warn_fewer(self, asked=self.n_components, found=k, reason=reason)
        self.eigenvalues_, T = smallest_laplacian(K, k, w)

        self.objective_ = 2 * float(self.eigenvalues_.sum())
        self._places = T
        self._weights = weights
        self._last = last
        self._gram = train.gram
        self._second = train.second()
        degrees = K @ weights
        self._largest = float(degrees.max())

        # place samples of weight zero in the same way as new samples
        embedding = np.empty((n, T.shape[1]))
        embedding[weighted] = T
        if n_weighted < n:
            others = np.setdiff1d(np.arange(n), weighted)
            embedding[others] = self._place(take(X, others))
        self.embedding_ = embedding.astype(float_type(X), copy=False)
        return self

    @by_rows
    def transform(self, X):
        """Embed new samples among the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their similarities with all training samples if `kernel="precomputed"`.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
            Coordinates; training samples get their coordinates in `embedding_`.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        T = self._place(X)
        return T.astype(float_type(X), copy=False)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean squared distance between similar samples, for new samples.

        The mean is taken over pairs of a sample and a training sample, weighted by their
        similarity, in units of the mean squared distance between training samples. It depends on
        the kernel: to compare kernels, use the score of a later step.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            At most 0; higher is better.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        T = self._place(X)
        places = self._places
        total = weight = 0.0
        squares = (places**2).sum(axis=1)
        for rows in row_blocks(len(T), 3 * FLOAT_BYTES * len(places)):
            K = self._similarities(take(X, rows))
            row_squares = (T[rows] ** 2).sum(axis=1)
            D = row_squares[:, None] + squares - 2 * T[rows] @ places.T
            total += float(((K * D) @ self._weights).sum())
            weight += float((K @ self._weights).sum())
        unit = 2 * places.shape[1] / float(self._weights.sum())
        return -total / (weight * unit) if weight > 0 else 0.0

    @property
    def _n_features_out(self):
        return len(self.eigenvalues_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _graph(self, train, weights):
        """Return similarities of neighbours, sparse unless all are kept, and the smallest kept."""
        n = len(train)
        k = self.n_neighbors
        every = k is None or weights.sum() <= k
        fits = 3 * FLOAT_BYTES * n * n <= working_memory()
        matrix = None
        if every or fits or train.gram.precomputed:
            matrix = train.matrix()
        if every:
            self._refuse_negative(matrix.min(), matrix.max())
            return matrix, np.zeros(n)

        # keep the largest similarities of each row, in blocks
        second = train.second()
        last = np.zeros(n)
        sparse_rows = []
        lowest = highest = 0.0
        for rows in row_blocks(n, 3 * FLOAT_BYTES * n):
            if matrix is None:
                K = train.gram(take(train.X, rows), second)
            else:
                K = matrix[rows]
            lowest = min(lowest, float(K.min()))
            highest = max(highest, float(K.max()))
            last[rows] = kth_largest(K, k, weights)
            neighbours = np.where(last[rows, None] <= K, K, 0.0)
            sparse_rows.append(sparse.csr_array(neighbours))
        self._refuse_negative(lowest, highest)

        # make the neighbour relation symmetric
        S = sparse.vstack(sparse_rows, format="csr")
        transposed = S.T.tocsr()
        return S.maximum(transposed), last

    def _refuse_negative(self, lowest, highest):
        if lowest < -RANK_TOL * max(highest, -lowest):
            raise ValueError(
                f"kernel={self.kernel!r} gives similarities down to {lowest:.3g}; "
                f"{type(self).__name__} needs them without negative values: use another kernel."
            )

    def _similarities(self, X):
        """Return similarities to neighbours in the training samples, and 0 for other samples."""
        K = self._gram(as_double(X), self._second)
        if not self._last.any():
            return K
        smallest = kth_largest(K, self.n_neighbors, self._weights)
        neighbours = (self._last <= K) | (smallest[:, None] <= K)
        return np.where(neighbours, K, 0.0)

    def _place(self, X):
        n = count_samples(X)
        weighted = self._weights[:, None] * self._places
        T = np.zeros((n, len(self.eigenvalues_)))
        for rows in row_blocks(n, 3 * FLOAT_BYTES * len(self._places)):
            K = self._similarities(take(X, rows))
            degrees = K @ self._weights
            divisor = degrees[:, None] - self.eigenvalues_
            safe = np.abs(divisor) > ACCUMULATED_ROUNDING * self._largest
            np.divide(K @ weighted, divisor, out=T[rows], where=safe)
        return T
