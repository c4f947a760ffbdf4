"""Directions of maximum covariance of two views, by kernels."""

from numbers import Real

from skmoderndata._estimator.compat import AT_LEAST_ONE, Interval, StrOptions
from skmoderndata._estimator.registry import Comparison, MethodCard
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata.cross_decomposition._base import PAIRS
from skmoderndata.cross_decomposition._kernel_passes_base import KernelPasses, solve_passes


class KernelPLSSVD(KernelPasses):
    r"""Estimate functions of two views with maximum covariance at unit norm, by kernels.

    For centred kernel matrices of n samples, `fit` solves, successively for each pair [1]_,

    .. math::
        \max_{\alpha_a, \alpha_b}\ \frac{\alpha_a^\top K_a K_b\, \alpha_b}{n}
        \quad\text{subject to}\quad \alpha_v^\top K_v\, \alpha_v = 1,\quad v = a, b,

    whose solutions are the singular vectors of the covariance between the two feature spaces. The
    problem is a limit of regularised canonical correlation analysis and has no regularisation
    parameter.

    Parameters
    ----------
    n_components : int, default=2
        Number of functions of each view, reduced to the smaller rank with a warning if it is
        larger.
    kernel : str, Kernel, callable, or pair of them, default=("rbf", "linear")
        One kernel for both views or a pair: a name of `sklearn.metrics.pairwise`, "precomputed", a
        kernel object of scikit-learn's protocol, or a function that returns a Gram matrix.
    gamma : {"scale", "auto"}, float, None, or pair of them, default="scale"
        Kernel coefficient of the named kernels; "scale" is ``1 / (n_features * X.var())`` of each
        view.
    degree : float or pair of float, default=3
        Degree of the polynomial kernel.
    coef0 : float or pair of float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, None, or pair of them, default=None
        Further parameters of a named kernel or a callable.
    solver : {"auto", "exact", "low_rank", "nystroem"}, default="auto"
        Kernel matrices, or approximations of low rank, as in `KernelCCA`, which also tells what
        Dask arrays need.
    max_rank : int, default=300
        Largest rank of the approximations.
    rank_tol : float, default=1e-3
        The incomplete factorisation stops when it leaves out at most this fraction of the trace
        of the centred kernel.
    view_slices : list of slice or of pairs of int, default=None
        Columns of each view in a single array. None means that the views are separate arrays.
    copy_X : bool, default=True
        Whether the model keeps copies of the training samples. False may save memory; the samples
        must not be changed then.
    random_state : int, RandomState instance or None, default=None
        Draws the samples of ``solver="nystroem"``, and the pivots of "low_rank", for which None
        means the same ones in each call.

    Attributes
    ----------
    singular_values_ : ndarray of shape (n_components_,)
        Covariances of the pairs of scores (with divisor n), in descending order.
    dual_coef_ : list of two ndarray of shape (n_fit, n_components_)
        Coefficients of the kernel values with `X_fit_`; in the first view the training score of
        largest magnitude of each component is positive.
    intercept_ : list of two ndarray of shape (n_components_,)
        Constants added to the scores, so that training scores have mean zero.
    X_fit_ : list
        Samples of each view for `dual_coef_`: all, or the pivots of the low-rank approximation.
    kernels_ : list
        Kernel of each view with resolved parameters.
    kernel_residual_ : ndarray of shape (2,)
        Fraction of the trace of each kernel matrix outside the low-rank approximation.
    solver_ : str
        "exact", "low_rank" or "nystroem".
    residual_ : float
        Certificate: the largest violation of the stationarity conditions, relative to the largest
        singular value.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes; of products with the kernel matrices where Lanczos iterations solve an
        exact problem of two views.
    n_views_ : int
        2.
    n_features_in_ : int
        Number of columns of the first view, or of both with `view_slices`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, if they are all strings.

    See Also
    --------
    sklearn.cross_decomposition.PLSSVD : Linear functions.
    skmoderndata.cross_decomposition.KernelCCA : Maximises correlations instead of covariances.
    skmoderndata.cross_decomposition.KernelPLSRegression : Predicts the second view.

    Notes
    -----
    The cost is that of `KernelCCA`. Pairs whose singular values are equal are determined up to a
    rotation. `score` is the correlation of held-out scores, because covariances of different
    kernels are not comparable in a search over kernel parameters.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, Cambridge University
       Press, 2004, computation 6.18.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cross_decomposition import KernelPLSSVD
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X ** 2).sum(axis=1)
    >>> pls = KernelPLSSVD(1).fit(X[:100], y[:100])
    >>> round(pls.score(X[100:], y[100:]), 1)
    0.8
    """

    _card = MethodCard(
        family="two and more views",
        cite=("shawetaylor2004kernel",),
        cost="n^3, or n r^2 with rank r",
        checks=(
            {"n_components": 1},
            {"kernel": "rbf", "n_components": 1},
            {"solver": "low_rank", "n_components": 1},
        ),
        fits_blocks=True,
        known_failures=PAIRS,
        tier="standard",
        instead="KernelPCA of both views with all of its components, then PLSSVD without "
        "scaling, gives the same scores.",
        comparison=Comparison(
            baseline="sklearn.cross_decomposition.PLSSVD",
            problem="digit_halves",
            params={"n_components": 5, "kernel": "rbf"},
            grid={"gamma": (0.1, 0.3, 1.0, 3.0)},
            baseline_params={"n_components": 5},
            baseline_grid={"scale": (True, False)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        **{name: [*allowed, list, tuple] for name, allowed in KERNEL_CONSTRAINTS.items()},
        "solver": [StrOptions({"auto", "exact", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "rank_tol": [Interval(Real, 0, 1, closed="left")],
        "view_slices": [list, tuple, None],
        "copy_X": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        kernel=("rbf", "linear"),
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        solver="auto",
        max_rank=300,
        rank_tol=1e-3,
        view_slices=None,
        copy_X=True,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.max_rank = max_rank
        self.rank_tol = rank_tol
        self.view_slices = view_slices
        self.copy_X = copy_X
        self.random_state = random_state

    def _fit_views(self, views, samples, progress):
        self._refuse_other_than_two(len(views))
        kernels, solution = self._solve(
            views, samples, progress, alphas=[1.0, 1.0], rule="shrinkage"
        )
        self._store(kernels, solution, progress)
        self.singular_values_ = solution.pairs.values

    def _solve_passes(self, views, progress):
        self._refuse_other_than_two(len(views.widths))
        found = solve_passes(
            self, views, progress, alphas=[1.0, 1.0], rule="shrinkage", predicts=False
        )
        self._store(found.kernels, found.solution, progress)
        self.singular_values_ = found.solution.pairs.values

    def _refuse_other_than_two(self, n_views):
        if n_views != 2:
            raise ValueError(f"KernelPLSSVD takes two views, and received {n_views}.")
