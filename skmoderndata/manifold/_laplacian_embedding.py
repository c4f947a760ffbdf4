"""Graph drawing by the Laplacian of a similarity."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, warn_fewer
from skmoderndata._compat import AT_LEAST_ONE, check_sample_weight, fit_context
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import TrainingSet, as_double
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.kernel.graph_embedding import smallest_laplacian


class LaplacianEmbedding(KernelSamples, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Embed samples by eigenvectors of a graph Laplacian, so that similar samples are close.

    Minimises, over the coordinates :math:`\tau_i` of the samples [1]_, [2]_,

    .. math::
        \sum_{i, j} \kappa(x_i, x_j) \lVert \tau_i - \tau_j \rVert^2 \quad \text{subject to} \quad
        T' T = I, \quad T' 1 = 0,

    where the rows of T are the coordinates: the eigenvectors of the Laplacian
    :math:`D - K` with the smallest eigenvalues, D being the row sums of the kernel matrix K.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, at most one less than there are samples.
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
    Fitting takes ``n^3`` operations and two matrices of n times n numbers. The eigenvalues are the
    certificate: no other coordinates have a smaller sum. Similarities of samples to themselves
    have no influence on the coordinates of the training samples.

    A new sample is placed where it is in equilibrium with the training samples,
    :math:`\tau(x) = \sum_i \kappa(x, x_i) \tau_i / (\sum_i \kappa(x, x_i) - \lambda)`, which gives
    the training samples their own coordinates. The denominator may be near 0 for samples that
    resemble no training sample; if all similarities are 0, the coordinates are 0.

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
        cost="n^3",
        checks=({}, {"n_components": 1, "kernel": "laplacian", "gamma": 0.1}),
        comparison=Comparison(
            baseline="sklearn.manifold.Isomap",
            problem="digits",
            params={"n_components": 10},
            grid={"gamma": (0.003, 0.01, 0.03)},
            baseline_params={"n_components": 10},
            baseline_grid={"n_neighbors": (3, 5, 10)},
            baseline_bounds={"n_neighbors": 3},  # with two the graph falls apart
        ),
    )
    _parameter_constraints = {"n_components": [AT_LEAST_ONE], **KERNEL_CONSTRAINTS}

    def __init__(
        self,
        n_components=2,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
    ):
        self.n_components = n_components
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
            if the kernel object is one of other samples than vectors.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the sum and in the constraints: a weight of 2 counts as two
            copies that stay together, and samples of weight 0 are placed like new ones.

        Returns
        -------
        self : LaplacianEmbedding
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True, ensure_min_samples=2)
        n = count_samples(X)
        if n < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 samples, and found {n}.")

        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(w > 0)
        if len(kept) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 samples of positive weight: "
                f"n_samples={len(kept)}."
            )
        w = None if (w == 1).all() else w[kept]

        train = TrainingSet(self, X, kept, w)
        K = train.matrix()
        lowest = float(K.min())
        if lowest < -1e-10 * float(np.abs(K).max()):
            raise ValueError(
                f"kernel={self.kernel!r} gives similarities down to {lowest:.3g}; "
                f"{type(self).__name__} needs them without negative values: take another kernel."
            )

        most = len(kept) - 1
        if self.n_components > most:
            reason = f"the number {most} of coordinates of {len(kept)} samples"
            warn_fewer(self, asked=self.n_components, found=most, reason=reason)
        self.eigenvalues_, T = smallest_laplacian(K, min(self.n_components, most), w)

        self.objective_ = 2 * float(self.eigenvalues_.sum())
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        self._places = T
        self._weights = np.ones(len(kept)) if w is None else w
        self._gram = train.gram
        self._second = train.second()
        self._largest = float((K @ self._weights).max())

        # samples of weight zero are placed as new ones
        places = np.empty((n, T.shape[1]))
        places[kept] = T
        if len(kept) < n:
            rest = np.setdiff1d(np.arange(n), kept)
            places[rest] = self._place(take(X, rest))
        self.embedding_ = places.astype(dtype, copy=False)
        return self

    def transform(self, X):
        """Embed new samples among the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their similarities with all training samples if `kernel="precomputed"`.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
            Coordinates; training samples get those of `embedding_`.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        T = self._place(X)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return T.astype(dtype, copy=False)

    def score(self, X, y=None):
        """Compute the negative mean squared distance between similar samples, for new samples.

        The mean over pairs of a sample and a training sample, with their similarity as weight, and
        in units of the mean squared distance between training samples. It depends on the kernel:
        to compare kernels, use the score of a later task.

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
        total = weight = 0.0
        squares = (self._places**2).sum(axis=1)
        for rows in row_blocks(len(T), 8 * len(self._places)):
            K = self._gram(as_double(take(X, rows)), self._second)
            D = (T[rows] ** 2).sum(axis=1)[:, None] + squares - 2 * T[rows] @ self._places.T
            total += float(((K * D) @ self._weights).sum())
            weight += float((K @ self._weights).sum())
        unit = 2 * self._places.shape[1] / float(self._weights.sum())
        return -total / (weight * unit) if weight > 0 else 0.0

    @property
    def _n_features_out(self):
        return len(self.eigenvalues_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _place(self, X):
        T = np.zeros((count_samples(X), len(self.eigenvalues_)))
        for rows in row_blocks(len(T), 8 * len(self._places)):
            K = self._gram(as_double(take(X, rows)), self._second)
            room = (K @ self._weights)[:, None] - self.eigenvalues_
            safe = np.abs(room) > 1e-12 * self._largest
            weighted = self._weights[:, None] * self._places
            T[rows] = np.divide(K @ weighted, room, out=np.zeros_like(room), where=safe)
        return T
