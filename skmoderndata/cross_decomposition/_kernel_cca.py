"""Kernel canonical correlation analysis of two and more views."""

from numbers import Real

import numpy as np

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    StrOptions,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.doubt import EVIDENCE, record_doubt
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._solvers.kernel.canonical import RULES
from skmoderndata.cross_decomposition._base import (
    SecondViewPredictor,
    mean_correlations,
    warn_of_moving,
)
from skmoderndata.cross_decomposition._kernel_base import has_vectors
from skmoderndata.cross_decomposition._kernel_passes_base import KernelPasses, solve_passes


class KernelCCA(SecondViewPredictor, KernelPasses):
    r"""Estimate functions of two or more views that have maximum correlation, with kernels.

    For two views with centred kernel matrices :math:`K_a, K_b` of n samples, `fit` solves,
    successively for each pair of functions [1]_ [2]_,

    .. math::
        \max_{\alpha_a, \alpha_b}\ \frac{\alpha_a^\top K_a K_b\, \alpha_b}{n}
        \quad\text{subject to}\quad
        (1 - \tau)\, \frac{\alpha_v^\top K_v^2\, \alpha_v}{n}
        + \tau\, \alpha_v^\top K_v\, \alpha_v = 1,\quad v = a, b,

    where :math:`K_v \alpha_v` are the scores of the samples. The constraint is a weighted mean of
    their variance and the squared norm of the function, in which the norm has the weight
    :math:`\tau` (`alpha`). Without the norm, a flexible kernel would reach a correlation of 1 on
    any data.

    Parameters
    ----------
    n_components : int, default=2
        Number of functions of each view. If it exceeds the rank of the problem, it is reduced to
        the rank, with a warning.
    kernel : str, Kernel, callable, or list of them, default="rbf"
        One kernel for all views or a list with one for each: a name from
        `sklearn.metrics.pairwise`, "precomputed", a kernel object that follows scikit-learn's
        protocol, or a function that returns a Gram matrix.
    gamma : {"scale", "auto"}, float, None, or list of them, default="scale"
        Kernel coefficient of the named kernels; "scale" is ``1 / (n_features * X.var())`` of each
        view.
    degree : float or list of float, default=3
        Degree of the polynomial kernel.
    coef0 : float or list of float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, None, or list of them, default=None
        Further parameters of a named kernel or a callable.
    alpha : float or list of float, default=0.1
        Amount of regularisation, a single value or one for each view; its meaning depends on
        `regularization`.
    regularization : {"shrinkage", "ridge", "bach-jordan"}, default="shrinkage"
        Kind of regularisation. "shrinkage": the constraint above with ``tau = alpha`` in [0, 1]; 1
        maximises the covariance. "ridge": variance plus `alpha` times the squared norm [1]_.
        "bach-jordan": ``|(K + n alpha / 2) a|^2 / n = 1`` and cross term ``a' K K a / n`` [3]_.
    solver : {"auto", "exact", "low_rank", "nystroem"}, default="auto"
        Method of computation. "exact" uses the kernel matrices. "low_rank" replaces each matrix by
        an incomplete Cholesky factor with pivots drawn in proportion to the residuals, "nystroem"
        by a factor from uniformly drawn samples; neither forms the matrix. "auto" means "exact"
        for precomputed kernels and for up to 3000 samples (1000 if more than two views, many
        components, ``alpha=0``, "gcca" or "bach-jordan" need decompositions of the matrices),
        otherwise "low_rank". A Dask array or a large table on a disk needs "nystroem", and "auto"
        then selects it: five passes, with 8 bytes per row and view in memory.
    max_rank : int, default=300
        Maximum rank of the approximations. If "auto" reaches it and omits more than half of the
        variance of a kernel, `fit` warns.
    rank_tol : float, default=1e-3
        Tolerance of the incomplete factorisation, which stops when its residual is at most this
        fraction of the trace of the centred kernel. Directions of less variance are omitted. 0
        keeps every direction that `max_rank` allows.
    criterion : {"maxvar", "sumcor", "gcca"}, default="maxvar"
        Objective for more than two views. "maxvar": the mean correlation over pairs of views,
        where the mean of the regularised variances over the views is 1; an eigenproblem. "sumcor":
        the same with variance 1 in every view [4]_. "gcca": the fit of all views to a common
        consensus; only this criterion allows views that are missing for some samples (rows of
        NaN). For two views, "maxvar" and "sumcor" are both the problem above.
    max_iter : int, default=1000
        Maximum number of passes over the views, for ``criterion="sumcor"``.
    tol : float, default=1e-9
        Maximum change of a direction of unit norm in the last pass, for ``criterion="sumcor"``.
    view_slices : list of slice or of pairs of int, default=None
        Columns of each view in a single array, which Pipeline and GridSearchCV require. None means
        that the views are separate arrays.
    copy_X : bool, default=True
        Whether the model stores copies of the training samples. False may save memory, but then
        you must not modify the samples.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the samples of ``solver="nystroem"`` and the pivots of "low_rank".
        For "low_rank", None means the same pivots in each call. Pass an int for reproducible
        results. Neither the samples nor the pivots depend on the order and the storage of the
        rows.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components_,)
        Weighted correlations of the training scores (mean over pairs of views). The components
        have the same order as in `regularized_correlations_`.
    regularized_correlations_ : ndarray of shape (n_components_,)
        Maxima of the problem, in descending order: with "shrinkage" between 0 and
        ``1 / (1 - alpha)``, and a covariance for ``alpha=1``. For more than two views, the mean
        over pairs.
    dual_coef_ : list of ndarray of shape (n_fit, n_components_)
        Coefficients of the kernel values with `X_fit_`, for each view; in the first view the
        training score of largest magnitude of each component is positive.
    intercept_ : list of ndarray of shape (n_components_,)
        Constants added to the scores, so that training scores have mean zero.
    X_fit_ : list
        Samples of each view that `dual_coef_` refers to: all, or the pivots of the low-rank
        approximation.
    kernels_ : list
        Kernel of each view with resolved parameters.
    kernel_residual_ : ndarray of shape (n_views_,)
        Fraction of the trace of each kernel matrix outside the low-rank approximation.
    solver_ : str
        Solver used: "exact", "low_rank" or "nystroem".
    prediction_coef_ : ndarray of shape (n_components_, n_targets) or None
        Slopes of `predict`: least squares of the second view on the scores of the first view.
        None if there are more than two views, or if the second view is not a table of vectors.
    prediction_intercept_ : ndarray of shape (n_targets,) or None
        Constants of `predict`.
    residual_ : float
        Certificate: the largest violation of the stationarity conditions, relative to the largest
        correlation.
    dual_gap_ : float
        Upper bound on the relative suboptimality of the sum of correlations, with
        ``criterion="sumcor"``; 0 for the eigenproblems, which are solved globally.
    consensus_ : ndarray of shape (n_samples, n_components_)
        Consensus of the views with ``criterion="gcca"``, scaled to mean square 1, where the weight
        of each sample is the number of views that are present.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: correlations of two views that unrelated views
        could reach. None if there is none, and for more than two views.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes; if Lanczos iterations solve an exact problem of two views, the number of
        products with the kernel matrices.
    n_views_ : int
        Number of views.
    n_features_in_ : int
        Number of columns of the first view, or of all views with `view_slices`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, if they are all strings.

    See Also
    --------
    sklearn.cross_decomposition.CCA : Linear functions of two views, without regularisation.
    skmoderndata.cross_decomposition.RegularizedCCA : Linear functions, for many samples.

    Notes
    -----
    Two views and few components need one Cholesky factorisation of each kernel matrix and a few
    dozen products with it (Lanczos iterations); other problems need two eigendecompositions and a
    partial singular value decomposition. The generalised eigenproblem of size 2n is never formed,
    and no matrix is squared. With a low rank r, the cost is ``n r^2`` and the memory ``2 n r``.

    ``alpha=0`` raises ValueError if the directions of the views suffice to fit all samples.

    With ``kernel="precomputed"``, each view is the square matrix of the training samples in `fit`,
    and in `transform` the rectangular matrix of new samples and all training samples. GridSearchCV
    can split only the first view; use kernel objects instead.

    References
    ----------
    .. [1] Hardoon, Szedmak and Shawe-Taylor, Canonical correlation analysis: an overview with
       application to learning methods, Neural Computation 16(12), 2004, section 4.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, Cambridge University
       Press, 2004, algorithm 6.36.
    .. [3] Bach and Jordan, Kernel independent component analysis, Journal of Machine Learning
       Research 3, 2002, equation (14).
    .. [4] Kettenring, Canonical analysis of several sets of variables, Biometrika 58(3), 1971.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cross_decomposition import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=300)
    >>> X = np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.normal(size=(300, 2))
    >>> Y = np.c_[np.cos(2 * angle), rng.normal(size=300)]    # no linear relation
    >>> cca = KernelCCA(n_components=1).fit(X[:200], Y[:200])
    >>> round(cca.score(X[200:], Y[200:]), 2)
    0.95
    """

    _card = MethodCard(
        family="two and more views",
        cite=(
            "hardoon2004canonical",
            "shawetaylor2004kernel",
            "bach2002kernel",
            "kettenring1971canonical",
        ),
        cost="n^3, or n r^2 with rank r",
        fits_blocks=True,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        **{name: [*allowed, list, tuple] for name, allowed in KERNEL_CONSTRAINTS.items()},
        "alpha": [NON_NEGATIVE, list, tuple],
        "regularization": [StrOptions(set(RULES))],
        "solver": [StrOptions({"auto", "exact", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "rank_tol": [Interval(Real, 0, 1, closed="left")],
        "criterion": [StrOptions({"maxvar", "sumcor", "gcca"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "view_slices": [list, tuple, None],
        "copy_X": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=0.1,
        regularization="shrinkage",
        solver="auto",
        max_rank=300,
        rank_tol=1e-3,
        criterion="maxvar",
        max_iter=1000,
        tol=1e-9,
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
        self.alpha = alpha
        self.regularization = regularization
        self.solver = solver
        self.max_rank = max_rank
        self.rank_tol = rank_tol
        self.criterion = criterion
        self.max_iter = max_iter
        self.tol = tol
        self.view_slices = view_slices
        self.copy_X = copy_X
        self.random_state = random_state

    def _fit_views(self, views, samples, progress):
        alphas = self._checked_alphas(len(views))
        kernels, solution = self._solve(
            views,
            samples,
            progress,
            alphas=alphas,
            rule=self.regularization,
            criterion=self.criterion,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._store(kernels, solution, progress)
        record_doubt(self, self._doubt_of_chance(solution, samples.rows[0].size))
        self._store_prediction(views, samples, solution.scores)
        spread = [samples.spread(scores, v) for v, scores in enumerate(solution.scores)]
        correlations = mean_correlations(spread, samples.weights)
        self._store_correlations(solution.pairs, correlations, len(views))

    def _solve_passes(self, views, progress):
        n_views = len(views.widths)
        if self.criterion == "gcca":
            raise ValueError(
                "KernelCCA(criterion='gcca') computes a consensus for each row, which a table in "
                "blocks does not allow: use 'maxvar' or 'sumcor'."
            )

        # Solve in passes over the blocks; a prediction needs exactly two views.
        fitted = solve_passes(
            self,
            views,
            progress,
            alphas=self._checked_alphas(n_views),
            rule=self.regularization,
            predicts=n_views == 2,
            criterion=self.criterion,
            max_iter=self.max_iter,
            tol=self.tol,
        )

        # Store the solution and its correlations.
        self._store(fitted.kernels, fitted.solution, progress)
        record_doubt(self, self._doubt_of_chance(fitted.solution, views.samples().n))
        self.prediction_coef_, self.prediction_intercept_ = fitted.slopes or (None, None)
        self._store_correlations(fitted.solution.pairs, fitted.correlations, n_views)

    def _doubt_of_chance(self, solution, n_samples):
        """Return a doubt if unrelated views of this flexibility could be correlated as highly.

        If the views are unrelated, the product of the whitened views is ``diag(a) G diag(b)`` with
        about normal entries of variance 1 / n. Chevet's inequality bounds its largest singular
        value [Gordon, Some inequalities for Gaussian processes and applications, 1985].
        """
        if (
            len(solution.gains) != 2
            or self.criterion == "gcca"
            or not solution.pairs.values.size
        ):
            return None

        # compute the bound on correlations by chance, and the effective number of directions of
        # the more flexible view
        a, b = solution.gains
        size_a = np.linalg.norm(a)
        size_b = np.linalg.norm(b)
        of_chance = (size_a * b.max() + a.max() * size_b) / np.sqrt(n_samples)
        n_parameters = max((size_a / a.max()) ** 2, (size_b / b.max()) ** 2)

        few_rows = n_samples < EVIDENCE.rows_per_parameter * n_parameters
        if not few_rows or solution.pairs.values[0] > of_chance:
            return None
        value = solution.pairs.values[0]
        return (
            f"The largest regularised correlation is {value:.2f}, but unrelated "
            f"views with kernels as flexible reach {of_chance:.2f} with {n_samples} samples: use "
            "more samples, increase alpha, or test the pairs with canonical_permutation_test."
        )

    def _checked_alphas(self, n_views):
        alphas = self._each("alpha", n_views)
        top = 1.0 if self.regularization == "shrinkage" else np.inf
        for value in alphas:
            if not 0 <= value <= top:
                raise ValueError(
                    f"KernelCCA: alpha={value!r} should be "
                    + (
                        "between 0 and 1 with regularization='shrinkage'."
                        if top == 1
                        else "at least 0."
                    )
                )
        return alphas

    def _store_correlations(self, pairs, correlations, n_views):
        """Set the regularised correlations, the gap, and the correlations of the scores."""
        self.regularized_correlations_ = pairs.values
        self.dual_gap_ = pairs.gap
        self.correlations_ = correlations
        if pairs.consensus is not None:
            self.consensus_ = pairs.consensus
        iterative = self.criterion == "sumcor" and n_views > 2
        if iterative and self.residual_ > self.tol:
            warn_of_moving(self)

    def _second_view_has_vectors(self):
        return has_vectors(self._kernel_of(1))

    def _allows_missing(self):
        return self.criterion == "gcca"
