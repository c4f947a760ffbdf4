"""Logistic regression with a penalty on groups of coefficients."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
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
    StrOptions,
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
        + \frac{\rho}{2} \|w\|_2^2

    over the coefficients w and the intercept b, with :math:`\rho = 0` by default, for labels
    :math:`y_i` of -1 and 1. The groups, their weights :math:`\omega_g`, :math:`\tau` (the
    parameter `l1_ratio`) and :math:`\rho` (`ridge`) have the same meaning as in `GroupLasso`. With
    groups of one feature, the problem without `ridge` is the same as in
    :class:`sklearn.linear_model.LogisticRegression` with an l1 penalty and ``C = 1 / (n alpha)``.

    Parameters
    ----------
    alpha : float or "auto", default=0.01
        Weight of the penalty. All coefficients are zero if it is at least `alpha_max_`. "auto"
        chooses, by cross-validation, the value with the smallest logistic loss of held-out
        samples, from 100 values in a geometric grid between `alpha_max_` and a hundredth of it.
        In each fold, each fit starts from the previous one, as in `GroupLassoCV`.
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
        coefficients are optimal. An infinite weight (``np.inf``) leaves a group out of the model.
    ridge : float, default=0.0
        Weight :math:`\rho` of the squared norm, which keeps the coefficients of correlated groups
        together (elastic net).
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    cv : int, cross-validation generator or iterable, default=None
        Folds for ``alpha="auto"``; None means five folds.
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
    alpha_ : float
        Weight of the penalty that was used.
    alphas_ : ndarray of shape (n_alphas,) or None
        Penalties that were compared, in descending order; None unless ``alpha="auto"``.
    log_loss_path_ : ndarray of shape (n_alphas, n_folds) or None
        Mean logistic losses of the held-out samples; None unless ``alpha="auto"``.
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
    GroupLassoCV : Chooses the penalty for squared errors.
    sklearn.linear_model.LogisticRegression : Has an l1 or l2 penalty and more than two classes.
    sklearn.multiclass.OneVsRestClassifier : Makes a classifier for more than two classes.

    Notes
    -----
    `fit` uses Newton's method with a proximal step: the quadratic model of the loss is a weighted
    group lasso, which the solver of `GroupLasso` minimises, and a line search ensures that the
    objective decreases. It needs about five to ten steps, each as expensive as a fit of
    `GroupLasso`.

    With `ridge`, the gap is that of the whole problem, whose dual has a variable for each
    coefficient. With overlapping groups, `ridge` penalises `latent_coef_`.

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
    >>> model = GroupLassoClassifier(alpha="auto", groups=3).fit(X, y)
    >>> bool(model.alpha_ < model.alpha_max_), model.log_loss_path_.shape
    (True, (100, 5))
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("meier2008group", "lee2014proximal", "jacob2009group"),
        cost="T (n p + n k^2)",
        method=PAGE,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "alpha": [POSITIVE, StrOptions({"auto"})],
        "groups": [AT_LEAST_ONE, "array-like", None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "group_weights": ["array-like", None],
        "ridge": [NON_NEGATIVE],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "cv": ["cv_object"],
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
        ridge=0.0,
        fit_intercept=True,
        positive=False,
        cv=None,
        max_iter=100,
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
        self.cv = cv
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
        folds = self._folds(X, y, weight)
        if len(used) < len(weight):
            X = X[used]
            y = y[used]
            weight = weight[used]

        # Order the columns by groups and scale their entries to at most one.
        groups = feature_groups(self.groups, self.group_weights, X.shape[1])
        kept, edges, group_weights = groups.used(free=False)
        unit = unit_of(X)
        columns = _scaled_columns(X, groups.order[kept], unit)
        penalty = Penalty(edges, group_weights, 1.0, self.l1_ratio, self.positive)
        path = _Path(self, penalty, unit)
        problem = path.problem(columns, 2.0 * codes - 1, weight)

        with (
            FitProgress(self, X, y, max_passes=None) as progress,
            one_thread_if_small(X.shape[0] * X.shape[1]),
        ):
            alpha = self.alpha
            alphas = losses = None
            if folds is not None:
                alphas, losses = path.losses(problem, folds)
                alpha = float(alphas[losses.mean(axis=1).argmin()])
            result = path.solve(
                problem,
                alpha,
                tol=self.tol,
                start=self._start(groups, unit),
                progress=progress,
            )

        self._keep_classes(classes, np.isin(classes, present), weighted=weighted)
        self.alpha_ = float(alpha)
        self.alphas_ = alphas
        self.log_loss_path_ = losses
        self.alpha_max_ = float(result.lam_max * unit / weight.sum())
        self._store(result, kept, groups, unit, X.dtype)
        self._certify(result)
        return self

    def _folds(self, X, y, weight):
        """Return pairs of training and held-out rows among those of positive weight, or None."""
        if self.alpha != "auto":
            return None
        number = np.cumsum(weight > 0) - 1
        splits = check_cv(self.cv, y, classifier=True).split(X, y)
        folds = [
            [number[rows[weight[rows] > 0]] for rows in map(np.asarray, s)] for s in splits
        ]
        labels = y[weight > 0]
        for f, (train, test) in enumerate(folds):
            if len(test) == 0 or len(np.unique(labels[train])) < 2:
                raise ValueError(
                    f"GroupLassoClassifier(alpha='auto'): fold {f} needs held-out samples, and "
                    "training samples of both classes; use fewer folds, or set alpha to a number."
                )
        return folds

    def _store(self, result, kept, groups, unit, dtype):
        """Set the coefficients in the units of the columns."""
        latent = np.zeros((1, len(groups.order)))
        latent[0, kept] = result.coef / unit
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
        kept, _, _ = groups.used(free=False)
        return latent[kept].astype(np.float64) * unit, float(self.intercept_[0])

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


class _Path(NamedTuple):
    """Problems of an estimator with several penalties, in the units of the scaled columns.

    `penalty` has ``lam=1``, and `unit` is the largest entry of the columns before scaling.
    """

    model: GroupLassoClassifier
    penalty: Penalty
    unit: float

    def problem(self, columns, labels, weight):
        """Return the problem of some samples."""
        ridge = weight.sum() * self.model.ridge / self.unit / self.unit
        return LogisticProblem(columns, labels, weight, self.model.fit_intercept, ridge)

    def solve(self, problem, alpha, **settings):
        """Solve the problem with one penalty."""
        lam = problem.weights.sum() * alpha / self.unit
        penalty = self.penalty._replace(lam=lam)
        return group_logistic(problem, penalty, max_iter=self.model.max_iter, **settings)

    def losses(self, problem, folds):
        """Return a grid of penalties, and the losses of held-out samples (n_alphas, n_folds)."""
        # 1. build the grid downwards from the largest penalty that selects a feature, as in
        # GroupLassoCV
        lam_max = self.solve(problem, 1.0, tol=np.inf).lam_max
        top = lam_max * self.unit / problem.weights.sum() or 1.0
        alphas = np.geomspace(top, top / 100, 100)

        # 2. follow the path in each fold; small gaps do not matter for the choice
        tol = np.sqrt(self.model.tol)
        losses = np.empty((len(alphas), len(folds)))
        X, y, w = problem[:3]
        for f, (train, test) in enumerate(folds):
            some = self.problem(X[train], y[train], w[train])
            held_out = self.problem(X[test], y[test], w[test])
            start = None
            for a, alpha in enumerate(alphas):
                result = self.solve(some, alpha, tol=tol, start=start)
                start = result.coef, result.intercept
                values = held_out.X @ result.coef + result.intercept
                losses[a, f] = held_out.loss(values) / held_out.weights.sum()
        return alphas, losses


def _scaled_columns(X, order, unit):
    """Copy the columns in the order `order`, in units of the largest entry."""
    if sparse.issparse(X):
        columns = sparse.csc_array(X[:, order], dtype=np.float64, copy=True)
        columns.data *= 1 / unit
        return columns
    return np.multiply(X[:, order], 1 / unit, order="F", dtype=np.float64)
