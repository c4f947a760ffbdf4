"""Group lasso with a penalty that cross-validation chooses along a path."""

from functools import partial
from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, run_starts, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_regressor
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.codes.group_lasso import (
    Penalty,
    WorkingSet,
    group_lasso,
    one_thread_if_small,
)
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata.linear_model._group_base import (
    PAGE,
    checked_groups,
    mean_one,
    penalised,
    weighted_columns,
    weighted_targets,
)


class GroupLassoCV(CallbackSupportMixin, RegressorMixin, Base):
    r"""Group lasso whose penalty is chosen by cross-validation along a path.

    In each fold, `fit` solves the problem of `GroupLasso` for a descending sequence of penalties.
    Each problem starts from the coefficients and the working set of the previous one, as
    :class:`sklearn.linear_model.LassoCV` does without groups.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=100
        Penalties, or their number. A number means a geometric grid from the smallest penalty for
        which all coefficients are zero down to the fraction `min_alpha_ratio` of it.
    groups : int or array-like of shape (n_features,) or list of arrays, default=None
        Groups of features: a label for each feature; or a list with the features of each group,
        which may overlap; or a number of consecutive features that form a group. None makes each
        feature a group.
    min_alpha_ratio : float, default=0.01
        Smallest penalty of the grid, as a fraction of the largest.
    l1_ratio : float, default=0.0
        Fraction of the l1 norm, as in `GroupLasso`.
    group_weights : array-like of shape (n_groups,), default=None
        Weights of the groups; None uses the square roots of the sizes, 0 leaves a group
        unpenalised, and infinity leaves it out, as in `GroupLasso`.
    ridge : float, default=0.0
        Weight of the squared norm of the coefficients, as in `GroupLasso`.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    cv : int, cross-validation generator or iterable, default=None
        Folds for the choice of the penalty; None means five folds.
    max_iter : int, default=1000
        Maximum number of sweeps for each penalty.
    tol : float, default=1e-6
        Maximum duality gap, relative to the objective of zero coefficients.
    n_jobs : int, default=None
        Number of threads over the folds.

    Attributes
    ----------
    alpha_ : float
        Penalty with the smallest mean error.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties in descending order.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors on the held-out samples.
    coef_ : ndarray of shape (n_features,)
        Coefficients fitted to all samples at `alpha_`.
    intercept_ : float
        Intercept, 0 if `fit_intercept` is False.
    latent_coef_ : ndarray of shape (n_latent,), or None
        Coefficients group by group, if groups overlap.
    groups_ : ndarray of shape (n_features,), or list of arrays
        Number of the group of each feature; if groups overlap, the features of each group.
    group_norms_ : ndarray of shape (n_groups,)
        Euclidean norms of the coefficients of each group.
    dual_gap_ : float
        Duality gap at `alpha_`, relative to the objective of zero coefficients.
    n_iter_ : int
        Number of sweeps at `alpha_`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    GroupLasso : Uses a fixed penalty and supports several targets.
    sklearn.linear_model.LassoCV : Has no groups.

    Notes
    -----
    A path of 100 penalties takes about five to ten times as long as its last fit. The grid ends at
    a hundredth of the largest penalty, whereas scikit-learn's grid ends at a thousandth: with
    groups, smaller penalties select nearly everything and take longest.

    References
    ----------
    .. [1] Yuan and Lin, Model selection and estimation in regression with grouped variables,
       Journal of the Royal Statistical Society B 68(1), 2006.
    .. [2] Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
       coordinate descent, Journal of Statistical Software 33(1), 2010, section 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.linear_model import GroupLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, 3:6] @ [1.0, -2.0, 1.0] + 0.5 * rng.normal(size=100)
    >>> model = GroupLassoCV(groups=3).fit(X, y)
    >>> int(model.group_norms_.argmax()), model.mse_path_.shape
    (1, (100, 5))
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("yuan2006model", "friedman2010regularization", "jacob2009group"),
        cost="paths T (n p + n k^2)",
        method=PAGE,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "alphas": [AT_LEAST_ONE, "array-like"],
        "groups": [AT_LEAST_ONE, "array-like", None],
        "min_alpha_ratio": [Interval(Real, 0, 1, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "group_weights": ["array-like", None],
        "ridge": [NON_NEGATIVE],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "cv": ["cv_object"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        alphas=100,
        groups=None,
        *,
        min_alpha_ratio=0.01,
        l1_ratio=0.0,
        group_weights=None,
        ridge=0.0,
        fit_intercept=True,
        positive=False,
        cv=None,
        max_iter=1000,
        tol=1e-6,
        n_jobs=None,
    ):
        self.alphas = alphas
        self.groups = groups
        self.min_alpha_ratio = min_alpha_ratio
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose the penalty and estimate the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals, in training and in the errors on the held-out
            samples.

        Returns
        -------
        self : GroupLassoCV
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csc", y_numeric=True)
        # Choose the penalties of all folds from the complete data.
        weight = mean_one(sample_weight, X)
        groups = checked_groups(self, X.shape[1])
        full_path = _Path(self, X, y, weight, groups)
        alphas = self._grid(full_path)

        # Compute the errors on the held-out samples.
        folds = list(check_cv(self.cv).split(X, y))
        errors, stopped = run_starts(
            self,
            X,
            y,
            partial(_errors, self, X, y, weight, groups, alphas),
            folds,
            max_passes=len(folds) * len(alphas),
            task_name="penalty",
            n_jobs=self.n_jobs,
            prefer="threads",
        )
        if stopped:  # keep the completed paths, or the finished part of the first path
            alphas = alphas[: len(errors[0])]
            errors = [path for path in errors if len(path) == len(alphas)]
        mse_path = np.array(errors).T
        best = int(mse_path.mean(axis=1).argmin())

        # Fit all samples at the best penalty.
        (result,) = full_path.results(alphas[best : best + 1])
        latent, intercept = full_path.in_units(result)

        # Set all attributes at once, so that an error does not leave some of them unset.
        dtype = X.dtype
        self.alphas_ = alphas
        self.alpha_ = float(alphas[best])
        self.mse_path_ = mse_path
        self.groups_ = groups.labels
        self.coef_ = groups.summed(latent[None], X.shape[1])[0].astype(dtype)
        self.latent_coef_ = latent.astype(dtype) if groups.overlap else None
        self.group_norms_ = groups.norms(latent).astype(dtype)
        self.intercept_ = dtype.type(intercept)
        self.dual_gap_ = result.gap
        self.n_iter_ = max(1, result.n_iter)
        if self.dual_gap_ > max(self.tol, ACCUMULATED_ROUNDING):
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e} (tol={self.tol:g}) at "
                f"alpha_={self.alpha_:.2e} after {self.n_iter_} sweeps",
                remedy="increase max_iter, tol or min_alpha_ratio, or scale the features alike",
            )
        return self

    def _grid(self, full_path):
        """Return the penalties in descending order."""
        # Use the given penalties, or start from the largest penalty that selects a feature.
        if np.ndim(self.alphas):
            alphas = np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]
            if alphas.ndim != 1 or not len(alphas) or not (alphas > 0).all():
                raise ValueError("alphas must be a number or a list of positive numbers.")
            return alphas
        # if the target is constant, any penalty will do
        top = full_path.largest_alpha() or 1.0
        return np.geomspace(top, self.min_alpha_ratio * top, int(self.alphas))

    @by_rows
    def predict(self, X):
        """Predict values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions ``X @ coef_ + intercept_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse=["csr", "csc"], reset=False)
        return safe_sparse_dot(X, self.coef_, dense_output=True) + self.intercept_

    def to_sklearn(self):
        """Return the model as a `LinearRegression`, with the same predictions.

        Returns
        -------
        regressor : LinearRegression
            The coefficients and the intercept.
        """
        check_is_fitted(self)
        return linear_regressor(self, self.coef_, self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Path:
    """Problems with all penalties for one set of samples, with one working set and warm starts."""

    def __init__(self, model, X, y, weight, groups):
        self.model = model
        self.groups = groups
        self.total = float(weight.sum())
        centred = model.fit_intercept
        columns, self.x_mean, self.x_unit = weighted_columns(
            X, weight, groups.order, centred=centred
        )
        Y, y_mean, y_unit = weighted_targets(y, weight, centred=centred)
        ridge = np.sqrt(self.total * model.ridge) / self.x_unit
        self.problem = penalised(columns, Y, groups, model.l1_ratio, ridge)
        self.columns = self.problem.columns
        self.y = self.problem.Y[:, 0]
        self.y_mean = y_mean[0]
        self.y_unit = y_unit[0]
        self.work = WorkingSet(self.columns, self.problem.edges)

    def penalty(self, alpha):
        lam = self.total * alpha / self.x_unit / self.y_unit
        model = self.model
        problem = self.problem
        return Penalty(problem.edges, problem.weights, lam, model.l1_ratio, model.positive)

    def largest_alpha(self):
        """Return the smallest penalty for which all coefficients are zero."""
        largest = self.penalty(1.0).dual_norms(self.columns.cross(self.y)).max()
        return float(largest) * self.x_unit * self.y_unit / self.total

    def results(self, alphas):
        """Solve for descending penalties, each starting from the previous coefficients."""
        start = None
        settings = {"tol": self.model.tol, "max_iter": self.model.max_iter}
        with one_thread_if_small(self.columns.X.shape[0] * self.columns.X.shape[1]):
            for alpha in alphas:
                penalty = self.penalty(alpha)
                result = group_lasso(self.y, self.work, penalty, start=start, **settings)
                start = result.coef
                yield result

    def in_units(self, result):
        """Return coefficients group by group, and the intercept."""
        latent = self.problem.latent(result.coef, 0) * (self.y_unit / self.x_unit)
        return latent, self.y_mean - latent @ self.x_mean


def _errors(model, X, y, weight, groups, alphas, *, seed, progress=None):
    """Compute mean squared errors on held-out samples for all penalties; `seed` is the fold."""
    train, test = seed
    path = _Path(model, X[train], y[train], weight[train], groups)
    errors = []
    # Follow one path, and evaluate each fit as soon as it is available.
    it = Iterations(len(alphas), -1.0, progress)
    for _, result in zip(it, path.results(alphas), strict=False):
        latent, intercept = path.in_units(result)
        coef = groups.summed(latent[None], X.shape[1])[0]
        residual = y[test] - (X[test] @ coef + intercept)
        errors.append(np.average(residual**2, weights=weight[test]))
    return errors
