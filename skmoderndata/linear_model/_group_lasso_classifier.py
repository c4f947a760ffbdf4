"""Logistic regression with a penalty on groups of coefficients."""

from numbers import Real

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses, refuse_one_class
from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_classifier
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.codes.group_lasso import Penalty, one_thread_if_small
from skmoderndata._solvers.codes.group_logistic import LogisticProblem, group_logistic
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata.linear_model._group_base import PAGE, feature_groups, mean_one, unit_of


class GroupLassoClassifier(CallbackSupportMixin, AbsentClasses, ClassifierMixin, Base):
    r"""Logistic regression for two classes that sets groups of coefficients to zero.

    Minimises [1]_

    .. math::
        \frac{1}{n} \sum_{i=1}^n \log\bigl(1 + \exp(-y_i (x_i^\top w + b))\bigr)
        + \alpha \sum_g \left( (1 - \tau)\, \omega_g \|w_g\|_2 + \tau \|w_g\|_1 \right)

    over the coefficients w and the intercept b, for labels :math:`y_i` of -1 and 1. The groups,
    their weights :math:`\omega_g` and :math:`\tau` (the parameter `l1_ratio`) have the same
    meaning as in `GroupLasso`. With groups of one feature, the problem is the same as in
    :class:`sklearn.linear_model.LogisticRegression` with an l1 penalty and ``C = 1 / (n alpha)``.

    Parameters
    ----------
    alpha : float, default=0.01
        Weight of the penalty. All coefficients are zero if it is at least `alpha_max_`.
    groups : int or array-like of shape (n_features,) or list of arrays, default=None
        Groups of features: a label for each feature; or a list with the features of each group,
        which may overlap; or a number of consecutive features that form a group. None makes each
        feature a group.
    l1_ratio : float, default=0.0
        Fraction :math:`\tau` of the l1 norm, which also sets coefficients within groups to zero.
    group_weights : array-like of shape (n_groups,), default=None
        Positive weights :math:`\omega_g` in ascending order of the labels (or in the order of the
        list). None uses the square roots of the sizes; a weight of 1e-6 leaves a group practically
        unpenalised. A weight of 0 raises: if the group separates the classes, no finite
        coefficients are optimal.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    max_iter : int, default=100
        Maximum number of Newton steps.
    tol : float, default=1e-8
        Maximum duality gap, relative to the objective of zero coefficients.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels; positive values of the decision function mean the second label.
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the features; exactly zero for groups that are not selected.
    intercept_ : ndarray of shape (1,)
        Intercept, 0 if `fit_intercept` is False.
    latent_coef_ : ndarray of shape (n_latent,), or None
        Coefficients group by group, if groups overlap; the coefficients of each feature sum to its
        `coef_`.
    groups_ : ndarray of shape (n_features,), or list of arrays
        Number of the group of each feature: 0, 1, ...; if groups overlap, the features of each
        group.
    group_norms_ : ndarray of shape (n_groups,)
        Euclidean norms of the coefficients of each group.
    alpha_max_ : float
        Smallest `alpha` for which all coefficients are zero.
    dual_gap_ : float
        Duality gap relative to the objective of zero coefficients: an upper bound on the
        suboptimality of the objective.
    n_iter_ : int
        Number of Newton steps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    GroupLasso : Uses the same penalty with squared errors.
    sklearn.linear_model.LogisticRegression : Has an l1 or l2 penalty and more than two classes.
    sklearn.multiclass.OneVsRestClassifier : Makes a classifier for more than two classes.

    Notes
    -----
    `fit` uses Newton's method with a proximal step: the quadratic model of the loss is a weighted
    group lasso, which the solver of `GroupLasso` minimises, and a line search ensures that the
    objective decreases. It needs about five to ten steps, each as expensive as a fit of
    `GroupLasso`.

    Computations are in double precision; features are not scaled. `sample_weight` multiplies the
    losses, and only the ratios of weights matter.

    References
    ----------
    .. [1] Meier, van de Geer and Buehlmann, The group lasso for logistic regression, Journal of
       the Royal Statistical Society B 70(1), 2008, equation 2.2.
    .. [2] Lee, Sun and Saunders, Proximal Newton-type methods for minimizing composite functions,
       SIAM Journal on Optimization 24(3), 2014, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.linear_model import GroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> y = X[:, 3:6].sum(axis=1) + 0.5 * rng.normal(size=200) > 0
    >>> model = GroupLassoClassifier(alpha=0.05, groups=3).fit(X, y)
    >>> np.flatnonzero(model.group_norms_)
    array([1])
    >>> bool(model.dual_gap_ < 1e-8)   # certified
    True
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("meier2008group", "lee2014proximal", "jacob2009group"),
        cost="T (n p + n k^2)",
        method=PAGE,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "alpha": [POSITIVE],
        "groups": [AT_LEAST_ONE, "array-like", None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "group_weights": ["array-like", None],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
    }

    @parameters_are_named
    def __init__(
        self,
        alpha=0.01,
        groups=None,
        *,
        l1_ratio=0.0,
        group_weights=None,
        fit_intercept=True,
        positive=False,
        max_iter=100,
        tol=1e-8,
        warm_start=False,
    ):
        self.alpha = alpha
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.fit_intercept = fit_intercept
        self.positive = positive
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
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the losses, scaled to a mean of one.

        Returns
        -------
        self : GroupLassoClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csc")
        check_classification_targets(y)
        # Ignore samples of weight zero.
        weight = mean_one(sample_weight, X)
        used = np.flatnonzero(weight)
        kind = type_of_target(y[used], input_name="y")
        if kind != "binary":
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{kind}: use sklearn.multiclass.OneVsRestClassifier(GroupLassoClassifier())."
            )
        classes = np.unique(y)
        present, codes = np.unique(y[used], return_inverse=True)
        weighted = len(used) < len(weight)
        refuse_one_class(type(self).__name__, present, weighted=weighted)
        if len(used) < len(weight):
            X = X[used]
            y = y[used]
            weight = weight[used]

        # Order the columns by groups and scale their entries to at most one.
        groups = feature_groups(self.groups, self.group_weights, X.shape[1])
        unit = unit_of(X)
        columns = _scaled_columns(X, groups.order, unit)
        problem = LogisticProblem(columns, 2.0 * codes - 1, weight, self.fit_intercept)
        lam = weight.sum() * self.alpha / unit
        penalty = Penalty(groups.edges, groups.weights, lam, self.l1_ratio, self.positive)

        with (
            FitProgress(self, X, y, max_passes=None) as progress,
            one_thread_if_small(X.shape[0] * X.shape[1]),
        ):
            result = group_logistic(
                problem,
                penalty,
                tol=self.tol,
                max_iter=self.max_iter,
                start=self._start(groups, unit),
                progress=progress,
            )

        self._keep_classes(classes, np.isin(classes, present), weighted=weighted)
        self.alpha_max_ = float(result.lam_max * unit / weight.sum())
        self._store(result, groups, unit, X.dtype)
        self._certify(result)
        return self

    def _store(self, result, groups, unit, dtype):
        """Set the coefficients in the units of the columns."""
        latent = result.coef[None] / unit
        self.groups_ = groups.labels
        self.coef_ = groups.summed(latent, self.n_features_in_).astype(dtype)
        self.latent_coef_ = latent[0].astype(dtype) if groups.overlap else None
        self.group_norms_ = groups.norms(latent)[0].astype(dtype)
        self.intercept_ = np.array([result.intercept], dtype=dtype)

    def _certify(self, result):
        """Store the gap; warn if it exceeds `tol`."""
        self.dual_gap_ = result.gap
        self.n_iter_ = max(1, result.n_iter)
        if self.dual_gap_ > max(self.tol, ACCUMULATED_ROUNDING):
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e} (tol={self.tol:g}) after "
                f"{self.n_iter_} steps",
                remedy="increase max_iter, tol or alpha, or scale the features alike",
            )

    def _start(self, groups, unit):
        """Return coefficients and intercept of the last fit, if their shape still fits."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if groups.overlap:
            latent = self.latent_coef_
        else:
            n_features = self.coef_.shape[1]
            latent = self.coef_[0][groups.order] if n_features == len(groups.order) else None
        if latent is None or len(latent) != len(groups.order):
            return None
        return latent.astype(np.float64) * unit, float(self.intercept_[0])

    @by_rows
    def decision_function(self, X):
        """Compute the logarithm of the odds of the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Values ``X @ coef_[0] + intercept_[0]``.
        """
        return self._with_absent(self._log_odds(X))

    def _log_odds(self, X):
        """Compute the logarithm of the odds of the second class that has positive weight."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse=["csr", "csc"], reset=False)
        return safe_sparse_dot(X, self.coef_[0], dense_output=True) + self.intercept_[0]

    @by_rows
    def predict_proba(self, X):
        """Compute the probabilities of the two classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            Probabilities, with columns in the order of `classes_`.
        """
        values = self._log_odds(X)
        return self._with_impossible(np.column_stack([expit(-values), expit(values)]))

    @by_rows
    def predict_log_proba(self, X):
        """Compute the logarithms of the probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, 2)
            Logarithms of the probabilities, with columns in the order of `classes_`.
        """
        values = self._log_odds(X)
        logs = -np.logaddexp(0.0, np.column_stack([values, -values]))
        return self._with_impossible(logs, -np.inf)

    @by_rows
    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted labels.
        """
        positive = self._log_odds(X) > 0
        return self._present_classes[positive.astype(int)]

    def to_sklearn(self):
        """Return the model as a `LogisticRegression`, with the same probabilities and labels.

        Returns
        -------
        classifier : LogisticRegression
            The coefficients and the intercept.

        Raises
        ------
        ValueError
            If a class has no samples of positive weight.
        """
        check_is_fitted(self)
        return linear_classifier(self, LogisticRegression(), self.coef_, self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def _scaled_columns(X, order, unit):
    """Copy the columns in the order `order`, in units of the largest entry."""
    if sparse.issparse(X):
        columns = sparse.csc_array(X[:, order], dtype=np.float64, copy=True)
        columns.data *= 1 / unit
        return columns
    return np.multiply(X[:, order], 1 / unit, order="F", dtype=np.float64)
