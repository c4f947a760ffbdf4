"""Functions in feature space that fit a graph."""

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from skmoderndata._estimator.base import Base, warn_fewer
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_target
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import (
    Projection,
    TrainingSet,
    as_double,
    is_low_rank,
    omitted_fraction,
    warn_of_rank,
)
from skmoderndata._kernelized.mixins import KernelProjectionMixin
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.kernel.graph_embedding import (
    centred_form,
    class_forms,
    graph_directions,
    laplacian_form,
    neighbour_graph,
)


class KernelGraphEmbedding(KernelProjectionMixin, Base):
    r"""Supervised or unsupervised graph embedding by directions in feature space.

    The columns of W, directions in the feature space of the kernel, maximise [1]_

    .. math::
        \operatorname{tr} W' \Phi' B \Phi W \quad \text{subject to} \quad
        W' (\Phi' L \Phi + \lambda I) W = I, \qquad
        \lambda = \alpha \operatorname{tr} \Phi' L \Phi ,

    where L is the Laplacian of a graph whose neighbours should be close, and B is the matrix whose
    quadratic form should stay large: the scatter of all samples, or the Laplacian of a second
    graph.
    Special cases are locality preserving projections [2]_, marginal Fisher analysis [1]_ and
    discriminant analysis, each with a kernel and a map for new samples.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, up to the rank of the kernel matrix.
    graph : {"neighbors", "class", "marginal"} or callable, default="neighbors"
        "neighbors": L connects nearest samples in feature space, B is the scatter weighted by
        their numbers of neighbours. "class": L is the scatter within the classes, B the scatter of
        the class means. "marginal": L connects nearest samples of the same class, B nearest
        samples of different classes.
        A function of `(X, y)` returns two symmetric matrices of weights without negative entries,
        dense or sparse, of the graphs of L and B.
    n_neighbors : int, default=5
        Neighbours of each sample in the graph of L.
    n_penalty_neighbors : int, default=20
        Neighbours of each sample in the graph of B, for `graph="marginal"`.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the embedding functions, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    alpha : float, default=0.001
        Ridge, as a fraction of the trace of the form of L.
    solver : {"auto", "exact", "low_rank"}, default="auto"
        "exact" uses directions in the span of all samples, "low_rank" in the span of at most
        `max_rank` samples, which incomplete Cholesky factorisation selects. "auto" is "exact" up
        to 1000 samples and for precomputed kernels.
    max_rank : int, default=300
        Largest number of samples that span the directions of `solver="low_rank"`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the two forms along each direction, including the ridge, in descending order.
    ridge_ : float
        The value of :math:`\lambda`.
    landmarks_ : ndarray of shape (rank,)
        Training samples that span the directions; with "exact", as many as the rank of the kernel
        matrix up to rounding.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    LaplacianEmbedding : Independent coordinates for each sample, without the ridge penalty.
    skmoderndata.discriminant_analysis.KernelDiscriminantAnalysis : Faster for the graph of
        classes, and with predictions.
    sklearn.decomposition.KernelPCA : Maximises the variance, regardless of neighbours.

    Notes
    -----
    Fitting computes the kernel matrix in blocks, and takes ``n r^2 + r^3`` operations for r
    landmarks. The problem is a generalised eigenproblem, solved directly; a test verifies that the
    eigenvectors satisfy it. Coordinates have mean 0 over the training samples.

    Centring B excludes the constant function, which has no scatter. The graphs are built from
    distances in feature space; ties go to the sample that comes first.

    References
    ----------
    .. [1] Yan, Xu, Zhang, Zhang, Yang and Lin, Graph embedding and extensions: a general framework
       for dimensionality reduction, IEEE Transactions on Pattern Analysis and Machine
       Intelligence 29(1), 2007, pp. 40-51.
    .. [2] He and Niyogi, Locality preserving projections, NIPS 16, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmoderndata.manifold import KernelGraphEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelGraphEmbedding(graph="marginal", gamma=0.1).fit_transform(X, y).shape
    (150, 2)
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("yan2007graph", "he2003locality"),
        cost="n r^2 + r^3, r up to n",
        tier="standard",
        instead="Nystroem with LinearDiscriminantAnalysis separates the classes at least as well "
        "with the same small number of features.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "graph": [StrOptions({"neighbors", "class", "marginal"}), callable],
        "n_neighbors": [AT_LEAST_ONE],
        "n_penalty_neighbors": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "alpha": [POSITIVE],
        "solver": [StrOptions({"auto", "exact", "low_rank"})],
        "max_rank": [AT_LEAST_ONE],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        graph="neighbors",
        n_neighbors=5,
        n_penalty_neighbors=20,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1e-3,
        solver="auto",
        max_rank=300,
    ):
        self.n_components = n_components
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.n_penalty_neighbors = n_penalty_neighbors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.solver = solver
        self.max_rank = max_rank

    @fit_context()
    def fit(self, X, y=None):
        """Build the graphs and compute the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : array-like of shape (n_samples,), default=None
            Labels, which the graphs of classes need; "neighbors" ignores them.

        Returns
        -------
        self : KernelGraphEmbedding
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True, ensure_min_samples=2)
        n = count_samples(X)
        codes = None
        if self.graph in ("class", "marginal"):
            codes = self._check_labels(X, y)

        train = TrainingSet(self, X, np.arange(n))
        # compute coordinates in feature space: a factor of the kernel matrix
        low = is_low_rank(self.solver, train.gram, n)
        features, result = train.low_rank(self.max_rank if low else n)
        if low:
            warn_of_rank(self, len(result.pivots), omitted_fraction(result))
        self.landmarks_ = result.pivots
        Z = result.factor
        if Z.shape[1] == 0:
            Z = np.zeros((n, 1))
            features.landmarks = train.second(slice(0, 1))
            features.root = np.ones((1, 1))

        inner, outer = self._forms(X, y, train, codes, Z)
        # find directions in which the intrinsic form is small compared with the penalty form
        result = graph_directions(inner, outer, self.n_components, alpha=self.alpha)

        # choose signs so that the largest centred score of each direction is positive
        scores = Z @ result.coef
        centre = scores.mean(axis=0)
        centred = scores - centre
        peaks = np.argmax(np.abs(centred), axis=0)
        columns = np.arange(scores.shape[1])
        signs = np.where(centred[peaks, columns] < 0, -1.0, 1.0)

        self._project = Projection(features, result.coef * signs)
        self._centre = centre * signs
        self.eigenvalues_ = result.values
        self.ridge_ = result.ridge

        n_directions = len(result.values)
        if n_directions < self.n_components:
            reason = f"the number {n_directions} of directions that the graphs determine"
            warn_fewer(self, asked=self.n_components, found=n_directions, reason=reason)
        return self

    @in_memory
    def score(self, X, y=None):
        """Compute the negative intrinsic form of new samples, relative to their scatter.

        The graph connects neighbours among the new samples themselves; if `y` is given and the
        graph uses classes, neighbours of the same class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples that can be compared with each other: not for `kernel="precomputed"`.
        y : array-like of shape (n_samples,), default=None
            Labels.

        Returns
        -------
        score : float
            At most 0; higher is better.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        n = count_samples(X)
        gram = self._project.source_gram
        if gram.precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                'kernel="precomputed" does not contain the similarities between new samples: '
                "score needs samples and a kernel that can be evaluated."
            )

        codes = None
        if y is not None and self.graph in ("class", "marginal"):
            codes = self._check_labels(X, y)
        distances = _distances(gram, as_double(X))
        graph = neighbour_graph(distances, n, self.n_neighbors, codes)

        # divide the mean squared length of the edges by the spread of the embedding
        T = self._project(X)
        centred_sq = (T - T.mean(axis=0)) ** 2
        spread = float(centred_sq.sum())
        edges = max(float(graph.sum()), 1.0)
        form = laplacian_form(graph, T)
        rough = float(np.trace(form)) / edges
        return -rough * n / spread if spread > 0 else 0.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.graph in ("class", "marginal")
        return tags

    def _check_labels(self, X, y):
        if y is None:
            raise ValueError(
                f"{type(self).__name__}(graph={self.graph!r}) requires y to be passed, but the "
                "target y is None."
            )

        check_target(y, owner=type(self).__name__)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        check_classification_targets(y)

        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"graph={self.graph!r} needs samples of at least two classes, but found one class."
            )
        return codes

    def _forms(self, X, y, train, codes, Z):
        """Intrinsic and penalty forms in the coordinates Z."""
        if callable(self.graph):
            graphs = self.graph(X, y)
            S, P = (self._check_weights(weights, len(Z)) for weights in graphs)
            return laplacian_form(S, Z), laplacian_form(P, Z)
        if self.graph == "class":
            return class_forms(codes, Z)

        n = len(Z)
        distances = _distances(train.gram, train.X)
        graph = neighbour_graph(distances, n, self.n_neighbors, codes)
        intrinsic = laplacian_form(graph, Z)
        if codes is None:
            degrees = np.asarray(graph.sum(axis=1)).ravel()
            return intrinsic, centred_form(degrees, Z)
        distances = _distances(train.gram, train.X)
        penalty = neighbour_graph(distances, n, self.n_penalty_neighbors, codes, False)
        return intrinsic, laplacian_form(penalty, Z)

    def _check_weights(self, S, n):
        if sparse.issparse(S):
            S = sparse.csr_array(S, dtype=np.float64)
        else:
            S = np.asarray(S, float)
        if S.shape != (n, n):
            raise ValueError(
                f"graph returned a matrix of shape {S.shape}, but must return two of ({n}, {n})."
            )
        asymmetric = n > 0 and abs(S - S.T).max() > RANK_TOL * abs(S).max()
        if asymmetric or (n and S.min() < 0):
            raise ValueError("graph must return symmetric matrices without negative entries.")
        return S


def _distances(gram, X):
    """Squared distances in feature space, in blocks of rows."""
    n = count_samples(X)
    second = gram.subset(X, slice(None))
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    for rows in row_blocks(n, 4 * FLOAT_BYTES * n):
        D = np.asarray(gram(take(X, rows), second), dtype=np.float64)
        D = D * -2.0
        D += diagonal
        D += diagonal[rows, None]
        yield rows, D
