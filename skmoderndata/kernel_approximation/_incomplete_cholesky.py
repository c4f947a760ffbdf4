"""Features from an incomplete Cholesky factorisation of the kernel matrix."""

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.checks import resolved_gram
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import check_definite
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING
from skmoderndata._solvers.kernel.incomplete_cholesky import cholesky_rows, incomplete_cholesky
from skmoderndata.kernel_approximation._base import KernelFeatures


class IncompleteCholesky(KernelFeatures):
    r"""Features whose inner products approximate a kernel, computed from a few pivot samples.

    The kernel matrix is factored as ``K ~ F F'``, where ``F`` has `n_components` columns. The next
    pivot is drawn with probabilities proportional to the squared distances of the samples from
    the span of the chosen pivots in feature space,

    .. math:: P(i) = \frac{d_i}{\sum_j d_j}, \qquad d_j = k(x_j, x_j) - \|F_j\|^2,

    or is the farthest sample. ``sum(d)`` is the trace of the residual ``K - F F'``, which bounds
    its norm. Only the columns of the pivots and the diagonal of the kernel matrix are computed.

    Parameters
    ----------
    n_components : int, default=100
        Largest number of features; fewer if the numerical rank, or `tol`, is reached.
    kernel : str, Kernel or callable, default="rbf"
        Kernel to approximate, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    tol : float, default=0.0
        Stop at the first rank at which the trace of the residual is at most `tol` times the trace
        of the kernel matrix.
    algorithm : {"random_pivots", "greedy"}, default="random_pivots"
        Whether the next pivot is drawn with probabilities proportional to the squared distances,
        or is the sample with the largest distance.
    random_state : int, RandomState instance or None, default=None
        Controls the pivots. Pass an int for reproducible results.

    Attributes
    ----------
    component_indices_ : ndarray of shape (n_components_,)
        Pivots, in the order chosen.
    components_ : ndarray or list of n_components_ samples
        The pivots themselves; columns of the kernel matrix if it is precomputed.
    cholesky_ : ndarray of shape (n_components_, n_components_)
        Lower triangular factor of the kernel matrix of the pivots, which holds their features.
    residual_trace_ : float
        Exact trace of the kernel matrix minus the trace of the approximation.
    explained_ratio_ : float
        Fraction of the trace of the kernel matrix that the features explain.
    n_components_ : int
        Number of features.
    n_features_in_ : int
        Number of features seen during `fit`, if samples are rows of a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.kernel_approximation.Nystroem : Landmarks drawn at random, without a bound.
    sklearn.decomposition.KernelPCA : Principal coordinates, from the full kernel matrix.

    Notes
    -----
    The features equal the features of `Nystroem` with the pivots as landmarks, rotated so that
    feature j is 0 for the first j - 1 pivots. The solver finds several pivots at a time among
    candidates, with the same distribution as one by one [2]_, or the same greedy pivots; matrix
    products give all other rows. Fitting takes ``n k^2`` operations, ``n k`` kernel values and
    ``n k`` numbers of memory. The model stores the pivots.

    Random pivots are nearly as good as the best subspace of somewhat lower rank [1]_. Greedy
    pivots are farthest points, so outliers come first: with heavy tails, or in many dimensions,
    they leave a residual several times as large.

    References
    ----------
    .. [1] Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky: practical approximation of a
       kernel matrix with few entry evaluations, Communications on Pure and Applied Mathematics
       78(5), 2025.
    .. [2] Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation by accelerated
       randomly pivoted Cholesky, 2024.
    .. [3] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Algorithm 5.12.
    .. [4] Fine and Scheinberg, Efficient SVM training using low-rank kernel representations,
       Journal of Machine Learning Research 2, 2001.
    .. [5] Harbrecht, Peters and Schneider, On the low-rank approximation by the pivoted Cholesky
       decomposition, Applied Numerical Mathematics 62(4), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from skmoderndata.kernel_approximation import IncompleteCholesky
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = IncompleteCholesky(n_components=60, random_state=0)
    >>> Z = model.fit_transform(X)
    >>> round(float(np.abs(Z @ Z.T - rbf_kernel(X)).max()), 3), round(model.residual_trace_, 3)
    (0.034, 0.775)
    >>> round(model.explained_ratio_, 4)
    0.9996
    """

    _card = MethodCard(
        family="kernel approximation",
        cite=(
            "chen2025randomly",
            "epperly2024embrace",
            "shawetaylor2004kernel",
            "fine2001efficient",
            "harbrecht2012low",
        ),
        cost="n k^2",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "tol": [NON_NEGATIVE],
        "algorithm": [StrOptions({"random_pivots", "greedy"})],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=100,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        tol=0.0,
        algorithm="random_pivots",
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state

    def fit_transform(self, X, y=None):
        """Choose the pivots and return the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples, or their kernel matrix if it is precomputed.
        y : None
            Not used, present by convention.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components_)
            Features.
        """
        return self._fit_and_transform(X)

    @fit_context()
    def _fit_and_transform(self, X):
        return self._learn(X)

    def _learn(self, X):
        X = self._checked(X, reset=True)
        gram = resolved_gram(self, X)
        check_definite(gram)
        if gram.precomputed and not np.allclose(
            X, X.T, atol=SINGLE_ROUNDING * np.abs(X).max()
        ):
            raise ValueError(
                'IncompleteCholesky(kernel="precomputed") needs a symmetric matrix; use '
                "(K + K.T) / 2."
            )

        diagonal = np.asarray(gram.diag(X), dtype=np.float64)
        if not np.isfinite(diagonal).all() or (diagonal < 0).any():
            raise ValueError(
                "IncompleteCholesky needs finite, non-negative kernel values of samples with "
                "themselves; the kernel is not positive semi-definite, or the samples are "
                "outside its range."
            )

        greedy = self.algorithm == "greedy"
        rng = check_random_state(self.random_state)
        result = incomplete_cholesky(
            gram, X, rank=self.n_components, tol=self.tol, greedy=greedy, rng=rng
        )

        # Residuals are squared distances from the span of the pivots, so they cannot be negative
        lowest = result.residual.min(initial=0.0)
        if lowest < -SINGLE_ROUNDING * diagonal.max():
            raise ValueError(
                f"IncompleteCholesky: the residual has {lowest:.3g} on its diagonal, which is not "
                "a rounding error: the kernel is not positive semi-definite on these samples. "
                "Correct the matrix with SpectrumCorrector."
            )

        self._gram = gram
        pivots = result.pivots
        self.component_indices_ = pivots
        self.components_ = gram.subset(X, pivots)
        self.cholesky_ = result.factor[pivots]
        self.residual_trace_ = result.residual_trace
        trace = float(diagonal.sum())
        self.explained_ratio_ = 1 - result.residual_trace / trace if trace > 0 else 1.0
        self.n_components_ = len(pivots)
        return result.factor.astype(self._dtype(X), copy=False)

    def _map(self, X):
        n = count_samples(X)
        Z = np.empty((n, self.n_components_))
        if self.n_components_:
            step = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * self.n_components_))
            for start in range(0, n, step):
                rows = slice(start, min(start + step, n))
                block = take(X, rows)
                Z[rows] = cholesky_rows(self._gram, block, self.components_, self.cholesky_)
        return Z
