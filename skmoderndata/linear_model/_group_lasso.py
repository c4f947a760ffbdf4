"""Group lasso and sparse group lasso."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_regressor
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.codes.group_lasso import (
    GroupLassoResult,
    Penalty,
    WorkingSet,
    group_lasso,
    group_lasso_gap,
    one_thread_if_small,
)
from skmoderndata._solvers.common import convex_problems
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata.linear_model._group_base import (
    checked_groups,
    mean_one,
    penalised,
    weighted_columns,
    weighted_targets,
)


class GroupLasso(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, Base):
    r"""Linear regression with a penalty that sets groups of coefficients to zero.

    Minimises [1]_, [2]_

    .. math::
        \frac{1}{2 n} \sum_{i=1}^n (y_i - x_i^\top w - b)^2
        + \alpha \sum_g \left( (1 - \tau)\, \omega_g \|w_g\|_2 + \tau \|w_g\|_1 \right)
        + \frac{\rho}{2} \|w\|_2^2

    over the coefficients w and the intercept b, with :math:`\rho = 0` by default. The groups g
    partition the features, :math:`\omega_g` is by default the square root of the size of the
    group, :math:`\tau` is `l1_ratio`, and :math:`\rho` is `ridge`. With groups of one feature, the
    problem is the same as in :class:`sklearn.linear_model.Lasso` or, with `ridge`, in
    :class:`sklearn.linear_model.ElasticNet`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty. All coefficients are zero if it is at least `alpha_max_`.
    groups : int or array-like of shape (n_features,) or list of arrays, default=None
        Groups of features: a label for each feature, in any order; or a list with the features of
        each group; or a number of consecutive features that form a group, where the last group may
        be smaller. None makes each feature a group. Every feature belongs to a group. The groups
        in a list may share features: then each group has its own coefficients, which are summed
        for each feature, so that the selected features are a union of groups [4]_.
    l1_ratio : float, default=0.0
        Fraction :math:`\tau` of the l1 norm: 0 gives the group lasso, 1 the lasso, and values in
        between the sparse group lasso [2]_, which also sets coefficients within groups to zero.
    group_weights : array-like of shape (n_groups,), default=None
        Weights :math:`\omega_g` in ascending order of the labels (in the order of a list). None
        uses the square roots of the sizes. A weight of 0 leaves the norm of a group unpenalised:
        without `l1_ratio` its coefficients are free, as the intercept is, which excludes
        `positive`. An infinite weight (``np.inf``) leaves a group out of the model. At least one
        weight must be positive and finite.
    ridge : float, default=0.0
        Weight :math:`\rho` of the squared norm, which keeps the coefficients of correlated groups
        together (elastic net). Free coefficients are exempt.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    solver : {"descent", "cvxpy"}, default="descent"
        Method of computation. "descent" is block coordinate descent with Newton steps on a working
        set. "cvxpy" solves the problem as stated with an interior point solver, for dense X with
        up to a few thousand entries.
    max_iter : int, default=1000
        Maximum number of sweeps of coordinate descent for each target.
    tol : float, default=1e-8
        Maximum duality gap, relative to the objective of zero coefficients.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the features; exactly zero for groups that are not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept, 0 if `fit_intercept` is False.
    latent_coef_ : ndarray of shape (n_latent,) or (n_targets, n_latent), or None
        Coefficients group by group, if groups overlap; the coefficients of each feature sum to its
        `coef_`.
    groups_ : ndarray of shape (n_features,), or list of arrays
        Number of the group of each feature: 0, 1, ...; if groups overlap, the features of each
        group.
    group_norms_ : ndarray of shape (n_groups,) or (n_targets, n_groups)
        Euclidean norms of the coefficients of each group.
    alpha_max_ : float
        The smallest `alpha` for which all penalised coefficients are zero.
    dual_gap_ : float
        Duality gap relative to the objective of zero penalised coefficients (half the variance
        of y if all are penalised), the maximum over targets: an upper bound on the suboptimality
        of the objective.
    n_iter_ : int
        Number of sweeps of coordinate descent; the maximum over targets.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Lasso : Has no groups, with the same scaling of `alpha`. Its `tol` and
        `dual_gap_` are relative to another quantity.
    sklearn.linear_model.MultiTaskLasso : Makes the coefficients of a feature for all targets a
        group.
    GroupLassoClassifier : Uses the same penalty with the logistic loss.
    GroupLassoCV : Chooses `alpha` along a path.
    skmoderndata.sparse_coding.SparseCoder : With `groups`, codes many signals with one dictionary.

    Notes
    -----
    Groups whose correlation with the residual exceeds their penalty enter a working set; inner
    products are computed only for the working set. On the working set, block coordinate descent
    finds the zero coefficients, and Newton steps find the values of the others. The duality gap
    then covers all features, with a freshly computed residual. A fit costs ``n_samples
    n_features`` each time the working set grows (about five to ten times), and ``n_samples k^2``
    for a working set of k features. If the working set has more features than there are samples, a
    sweep costs ``n_samples k`` and each of a few Newton steps ``n_samples^2 k`` instead.

    `ridge` is equivalent to further samples with targets of 0, one for each penalised coefficient,
    so the duality gap is exact. With overlapping groups, it penalises the coefficients of each
    group, `latent_coef_`.

    Overlapping groups are solved as groups of repeated columns, the latent group lasso

    .. math::
        \Omega(w) = \min \Bigl\{ \sum_g \omega_g \|v^g\|_2 :\ \sum_g v^g = w,\
        v^g = 0 \text{ outside } g \Bigr\}.

    Sparse `X` is neither centred nor converted to dense, except for the columns of a working set
    with more than half as many features as samples.

    All computations are in double precision; float32 input gives float32 coefficients. Features
    are not scaled, and groups are not orthonormalised: standardise features with different units.
    `sample_weight` multiplies the squared residuals, and only the ratios of weights matter:
    weights 1 and 2 are equivalent to repeating the second row. Several targets are separate
    problems.

    References
    ----------
    .. [1] Yuan and Lin, Model selection and estimation in regression with grouped variables,
       Journal of the Royal Statistical Society B 68(1), 2006, equation 2.1.
    .. [2] Simon, Friedman, Hastie and Tibshirani, A sparse-group lasso, Journal of Computational
       and Graphical Statistics 22(2), 2013, equation 3.
    .. [3] Ndiaye, Fercoq, Gramfort and Salmon, Gap safe screening rules for sparse-group lasso,
       NIPS 2016, section 3: the dual norm.
    .. [4] Jacob, Obozinski and Vert, Group lasso with overlap and graph lasso, ICML 2009, section
       3: the latent group lasso.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.linear_model import GroupLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, 3:6] @ [1.0, -2.0, 1.0] + 0.1 * rng.normal(size=100)
    >>> model = GroupLasso(alpha=0.1, groups=3).fit(X, y)
    >>> np.flatnonzero(model.group_norms_)
    array([1])
    >>> round(float(model.dual_gap_), 6)   # relative: certified
    0.0
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("yuan2006model", "simon2013sparse", "ndiaye2016gap", "jacob2009group"),
        cost="T (n p + n k^2)",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "alpha": [POSITIVE],
        "groups": [AT_LEAST_ONE, "array-like", None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "group_weights": ["array-like", None],
        "ridge": [NON_NEGATIVE],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "solver": [StrOptions({"descent", "cvxpy"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
    }

    @parameters_are_named
    def __init__(
        self,
        alpha=1.0,
        groups=None,
        *,
        l1_ratio=0.0,
        group_weights=None,
        ridge=0.0,
        fit_intercept=True,
        positive=False,
        solver="descent",
        max_iter=1000,
        tol=1e-8,
        warm_start=False,
    ):
        self.alpha = alpha
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Estimate the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals, scaled to a mean of one.

        Returns
        -------
        self : GroupLasso
            The fitted estimator.
        """
        targets = {"multi_output": True, "y_numeric": True}
        X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csc", **targets)

        if self.solver == "cvxpy" and sparse.issparse(X):
            raise ValueError(
                "GroupLasso(solver='cvxpy') needs dense X: use X.toarray(), or solver='descent'."
            )
        groups = checked_groups(self, X.shape[1])
        weight = mean_one(sample_weight, X)
        total = float(X.shape[0])

        results = []
        with (
            FitProgress(self, X, y, max_passes=None) as progress,
            one_thread_if_small(X.size),
        ):
            # Order the columns by groups, and repeat the features of overlapping groups.
            columns, x_mean, x_unit = weighted_columns(
                X, weight, groups.order, centred=self.fit_intercept
            )
            Y, y_mean, y_unit = weighted_targets(y, weight, centred=self.fit_intercept)
            ridge = np.sqrt(total * self.ridge) / x_unit
            problem = penalised(columns, Y, groups, self.l1_ratio, ridge)
            start = self._start(groups, Y.shape[1])
            warm = None
            unit = y_unit / x_unit  # unit in which the coefficients are computed

            work = WorkingSet(problem.columns, problem.edges)
            for t in range(Y.shape[1]):
                lam = total * self.alpha * (1 / x_unit) * (1 / y_unit[t])
                penalty = Penalty(
                    problem.edges, problem.weights, lam, self.l1_ratio, self.positive
                )
                if self.solver == "cvxpy":
                    result = _by_cvxpy(problem.columns, problem.Y[:, t], penalty)
                    results.append(result)
                    continue
                if start is not None:
                    warm = start[t, problem.kept] / unit[t]
                result = group_lasso(
                    problem.Y[:, t],
                    work,
                    penalty,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    start=warm,
                    progress=progress,
                )
                results.append(result)

        # Return to the units of the columns.
        largest = np.array([result.lam_max for result in results])
        self.alpha_max_ = float(np.max(largest * y_unit) * x_unit / total)
        latent = [problem.latent(result.coef, t) for t, result in enumerate(results)]
        latent = np.array(latent) * unit[:, None]
        intercept = y_mean - latent @ x_mean
        self._store(latent, groups, intercept, X.shape[1], X.dtype, y.ndim == 1)
        self._certify(results)
        return self

    def _certify(self, results):
        """Store the largest gap over all targets; warn if it exceeds `tol`."""
        self.dual_gap_ = max(result.gap for result in results)
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        if self.dual_gap_ > max(self.tol, ACCUMULATED_ROUNDING):
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e} (tol={self.tol:g}) after "
                f"{self.n_iter_} sweeps",
                remedy="increase max_iter, tol or alpha, or scale the features alike",
            )

    @by_rows
    def predict(self, X):
        """Predict values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions ``X @ coef_.T + intercept_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse=["csr", "csc"], reset=False)
        products = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        return products + self.intercept_

    def to_sklearn(self):
        """Return the model as a `LinearRegression`, with the same predictions.

        Returns
        -------
        regressor : LinearRegression
            The coefficients and the intercept.
        """
        check_is_fitted(self)
        return linear_regressor(self, self.coef_, self.intercept_)

    def _start(self, groups, n_targets):
        """Return the coefficients of the last fit, group by group, if their shape still fits."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if groups.overlap:
            last = self.latent_coef_
            start = None if last is None else np.atleast_2d(last).astype(np.float64)
        else:
            coef = np.atleast_2d(self.coef_).astype(np.float64)
            start = coef[:, groups.order] if coef.shape[1] == len(groups.order) else None
        fits = start is not None and start.shape == (n_targets, len(groups.order))
        return start if fits else None

    def _store(self, latent, groups, intercept, n_features, dtype, flat):
        self.groups_ = groups.labels
        self.coef_ = groups.summed(latent, n_features).astype(dtype)
        self.latent_coef_ = latent.astype(dtype) if groups.overlap else None
        self.intercept_ = intercept.astype(dtype)
        self.group_norms_ = groups.norms(latent).astype(dtype)
        if flat:
            self.coef_ = self.coef_[0]
            self.group_norms_ = self.group_norms_[0]
            self.intercept_ = dtype.type(self.intercept_[0])
            self.latent_coef_ = self.latent_coef_[0] if groups.overlap else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _by_cvxpy(columns, y, penalty):
    """Solve the problem of one target as stated and certify the solution."""
    scale = 0.5 * float(y @ y)
    if scale == 0:
        zeros = np.zeros(int(penalty.edges[-1]))
        return GroupLassoResult(zeros, 0.0, 0, 0.0)
    X = columns.X
    if columns.ridge:
        X = np.vstack([X, columns.ridge * np.eye(X.shape[1])])
    stated = convex_problems.group_lasso(X, y, **penalty._asdict())
    if not convex_problems.solve(stated, solver="CLARABEL"):
        raise ValueError("GroupLasso(solver='cvxpy') failed: use solver='descent'.")
    w = np.asarray(stated.variable.value)
    gap = group_lasso_gap(columns, y, w, penalty)
    correlations = columns.cross(y)
    largest = float(penalty.dual_norms(correlations).max())
    return GroupLassoResult(w, gap / scale, 0, largest)
