"""Selection of features at a stated false discovery rate."""

import warnings
from numbers import Real

import numpy as np
from scipy.special import ndtri
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.covariance import LedoitWolf
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import HasMethods, Interval, StrOptions, fit_context
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.recovery.knockoffs import (
    draw_knockoffs,
    equal_distances,
    estimated_rate,
    filter_threshold,
    largest_distances,
)


class KnockoffSelector(SelectorMixin, MetaEstimatorMixin, Base):
    r"""Select features so that the expected fraction of false ones is at most `fdr`.

    The knockoff filter [1]_, [2]_ adds to each feature a random copy, its knockoff, which has the
    same correlations with the other features but no relation to `y`. An estimator is fitted on
    features and knockoffs together. With the importance :math:`z_j` of a feature and
    :math:`\tilde z_j` of its knockoff, the statistic

    .. math::
        W_j = z_j - \tilde z_j

    is positive or negative with equal probability for a feature that is independent of `y` given
    the other features. The features with :math:`W_j \ge t` are selected, for the smallest t with

    .. math::
        \frac{1 + \#\{j : W_j \le -t\}}{\#\{j : W_j \ge t\}} \le \text{fdr}.

    Parameters
    ----------
    estimator : estimator
        Regressor or classifier with `coef_` or `feature_importances_`, for example
        :class:`sklearn.linear_model.LassoCV`,
        :class:`sklearn.linear_model.LogisticRegressionCV` or
        :class:`skmoderndata.svm.SupportFeatureMachine`. The importance of a column is the sum of
        the absolute coefficients over targets or classes. None is possible with `statistic`.
    fdr : float, default=0.1
        Maximum false discovery rate, between 0 and 1. A selection has at least ``1 / fdr``
        features, or none.
    groups : array-like of shape (n_features,), default=None
        Label of the group of each feature. Whole groups are selected, and `fdr` refers to groups.
        If `estimator` has a parameter `groups`, as
        :class:`skmoderndata.linear_model.GroupLasso` has, it is set accordingly. None makes each
        feature a group.
    statistic : callable, default=None
        Function ``statistic(X, y)`` that returns the importance of each column of a table with
        ``2 n_features`` columns, features and knockoffs in random order. It replaces `estimator`.
    construction : {"equicorrelated", "sdp"}, default="equicorrelated"
        Distances between features and knockoffs. "equicorrelated" uses the same distance for all
        features; "sdp" maximises the sum of the distances, which helps if some features are much
        more correlated than others. "sdp" has no groups.
    marginals : {"gaussian", "copula"}, default="gaussian"
        Distribution of a single feature. "gaussian" uses mean and covariance of the features as
        they are; "copula" transforms each feature to normal scores first, for features that are
        binary or have heavy tails.
    covariance : estimator or ndarray of shape (n_features, n_features), default=None
        Estimator with `covariance_`, or the covariance of the features if it is known (for
        "copula", of their normal scores). None uses :class:`sklearn.covariance.LedoitWolf`.
    random_state : int, RandomState instance or None, default=None
        Seed of the knockoffs and of the order of the columns. Another seed selects other features
        near the threshold.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_groups,)
        Statistic W of each feature, or of each group in ascending order of the labels.
    importances_ : ndarray of shape (2, n_groups)
        Importances of features (first row) and knockoffs (second row).
    threshold_ : float
        Threshold t; infinity if nothing is selected.
    fdr_ : float
        Estimated false discovery rate of the selection, at most `fdr`; 0 if nothing is selected.
    groups_ : ndarray of shape (n_features,)
        Number of the group of each feature: 0, 1, ...
    distances_ : ndarray of shape (n_features,)
        Difference between the variance of a feature and its covariance with the knockoff, as a
        fraction of the variance. The knockoff of a feature with distance 0 is the feature itself:
        it cannot be selected.
    estimator_ : estimator
        Estimator that was fitted on features and knockoffs; None with `statistic`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.feature_selection.SelectFromModel : Selects by a threshold on the importance, without a
        statement about errors.
    sklearn.feature_selection.SelectFdr : Bounds the false discovery rate of separate tests of each
        feature, which also selects features that are only correlated with a relevant one.
    KnockoffDisplay : Plots the statistics and the threshold.

    Notes
    -----
    The guarantee holds for any relation between `X` and `y` and any estimator if the rows are
    independent and the features are jointly Gaussian with the estimated covariance; it is an
    expectation over data and knockoffs. Rows that repeat a person or follow each other in time,
    and a screening of the features by `y` before the selector, invalidate it.

    One set of knockoffs is drawn. Averaging W over several draws breaks the guarantee, and
    combining draws by e-values [4]_ loses most of the power unless there are many more than ``2 /
    fdr`` relevant features.

    Groups use the block construction of [3]_. A fit costs ``n_features^3`` beyond the fit of the
    estimator on ``2 n_features`` columns. All rows count equally for the covariance, even with
    `sample_weight`.

    References
    ----------
    .. [1] Candès, Fan, Janson and Lv, Panning for gold: model-X knockoffs for high dimensional
       controlled variable selection, Journal of the Royal Statistical Society B 80(3), 2018,
       section 3.
    .. [2] Barber and Candès, Controlling the false discovery rate via knockoffs, Annals of
       Statistics 43(5), 2015, equation 1.9.
    .. [3] Dai and Barber, The knockoff filter for FDR control in group-sparse and multitask
       regression, ICML 2016, section 3.
    .. [4] Ren and Barber, Derandomised knockoffs: leveraging e-values for false discovery rate
       control, Journal of the Royal Statistical Society B 86(1), 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LassoCV
    >>> from skmoderndata.feature_selection import KnockoffSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 50))
    >>> y = X[:, :15].sum(axis=1) + rng.normal(size=300)
    >>> selector = KnockoffSelector(LassoCV(), fdr=0.1, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14])
    >>> selector.transform(X).shape
    (300, 15)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"]), None],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "groups": ["array-like", None],
        "statistic": [callable, None],
        "construction": [StrOptions({"equicorrelated", "sdp"})],
        "marginals": [StrOptions({"gaussian", "copula"})],
        "covariance": [HasMethods(["fit"]), "array-like", None],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        estimator,
        *,
        fdr=0.1,
        groups=None,
        statistic=None,
        construction="equicorrelated",
        marginals="gaussian",
        covariance=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.fdr = fdr
        self.groups = groups
        self.statistic = statistic
        self.construction = construction
        self.marginals = marginals
        self.covariance = covariance
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Draw the knockoffs, fit the estimator and select.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, dense and without missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the fit of the estimator.

        Returns
        -------
        self : KnockoffSelector
            The fitted selector.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, multi_output=True, ensure_min_samples=3)
        self.groups_ = self._checked_groups(X.shape[1])
        self._warn_if_too_few(self.groups_.max() + 1)
        rng = check_random_state(self.random_state)

        # scale the features to unit standard deviation, and draw knockoffs
        X = X.astype(float, copy=False)
        center = X.mean(axis=0)
        spread = X.std(axis=0)
        varies = spread > 10 * np.finfo(float).eps * np.abs(center)
        spread = np.where(varies, spread, 1.0)
        Z = np.where(varies, (X - center) / spread, 0.0)
        knockoffs = self._draw(Z, rng)
        knockoffs[:, ~varies] = 0.0

        # the importance must not depend on which column of a pair is the knockoff
        importances = self._importances_in_random_order(Z, knockoffs, y, sample_weight, rng)
        n_groups = self.groups_.max() + 1
        self.importances_ = np.stack(
            [np.bincount(self.groups_, part, n_groups) for part in importances]
        )
        self.statistics_ = self.importances_[0] - self.importances_[1]
        self.threshold_ = filter_threshold(self.statistics_, self.fdr)
        self.fdr_ = estimated_rate(self.statistics_, self.threshold_)
        return self

    def _checked_groups(self, n_features):
        """Return the number of the group of each feature."""
        if self.groups is None:
            return np.arange(n_features)
        groups = np.asarray(self.groups)
        if groups.shape != (n_features,):
            raise ValueError(
                f"groups should have one label for each of the {n_features} features, got shape "
                f"{groups.shape}."
            )
        if self.construction == "sdp":
            raise ValueError(
                "construction='sdp' has no groups: use construction='equicorrelated'."
            )
        return np.unique(groups, return_inverse=True)[1]

    def _warn_if_too_few(self, n_groups):
        if n_groups * self.fdr < 1:
            kind = "features" if self.groups is None else "groups"
            warnings.warn(
                f"KnockoffSelector selects nothing at fdr={self.fdr:g} with {n_groups} {kind}: "
                f"the estimated rate of a selection is at least 1 / {n_groups}. Use a larger fdr.",
                stacklevel=3,
            )

    def _draw(self, Z, rng):
        """Return the knockoffs of standardised rows, in the same units."""
        scores = _normal_scores(Z, rng) if self.marginals == "copula" else Z
        covariance = self._covariance(scores)
        deviations = np.sqrt(np.maximum(covariance.diagonal(), np.finfo(float).tiny))
        R = covariance / np.outer(deviations, deviations)
        np.fill_diagonal(R, 1.0)

        if self.construction == "sdp":
            S = largest_distances(R)
        else:
            S = equal_distances(R, None if self.groups is None else self.groups_)
        self.distances_ = S.diagonal().copy()
        knockoffs = draw_knockoffs(scores / deviations, R, S, rng) * deviations
        return _quantiles(Z, scores, knockoffs) if self.marginals == "copula" else knockoffs

    def _covariance(self, Z):
        """Return the covariance of the columns of Z, estimated or given."""
        if self.covariance is None:
            return LedoitWolf().fit(Z).covariance_
        if hasattr(self.covariance, "fit"):
            return clone(self.covariance).fit(Z).covariance_

        given = np.asarray(self.covariance, dtype=float)
        p = Z.shape[1]
        if given.shape != (p, p) or not np.allclose(given, given.T):
            raise ValueError(
                f"covariance should be a symmetric matrix of shape ({p}, {p}), got shape "
                f"{given.shape}."
            )
        if np.any(given.diagonal() <= 0) or np.linalg.eigvalsh(given)[0] <= 0:
            raise ValueError("covariance should be positive definite.")
        scale = np.sqrt(given.diagonal())
        return given / np.outer(scale, scale)

    def _importances_in_random_order(self, Z, knockoffs, y, sample_weight, rng):
        """Return importances of shape (2, n_features) from one fit on all columns."""
        p = Z.shape[1]
        swapped = rng.uniform(size=p) < 0.5
        order = np.arange(2 * p)
        order[:p] += p * swapped
        order[p:] -= p * swapped
        columns = np.hstack([Z, knockoffs])[:, order]

        # swap a group and its knockoffs together, so that the labels do not favour either
        flipped = rng.uniform(size=self.groups_.max() + 1) < 0.5
        labels = 2 * np.tile(self.groups_, 2) + flipped[np.tile(self.groups_, 2)]
        labels[p:] += 1 - 2 * flipped[self.groups_]
        found = self._fit_estimator(columns, y, sample_weight, labels[order])

        importances = np.empty(2 * p)
        importances[order] = found
        return importances.reshape(2, p)

    def _fit_estimator(self, columns, y, sample_weight, labels):
        """Return the importance of each column."""
        self.estimator_ = None
        if self.statistic is not None:
            found = np.asarray(self.statistic(columns, y), dtype=float)
            if found.shape != (columns.shape[1],) or not np.isfinite(found).all():
                raise ValueError(
                    "statistic should return a finite importance for each of the "
                    f"{columns.shape[1]} columns, got shape {found.shape}."
                )
            return found

        if self.estimator is None:
            raise ValueError("estimator=None needs a statistic: give an estimator with coef_.")
        model = clone(self.estimator)
        if self.groups is not None and "groups" in model.get_params(deep=False):
            model.set_params(groups=labels)
        weights = {}
        if sample_weight is not None:
            if not has_fit_parameter(model, "sample_weight"):
                raise TypeError(
                    f"{type(model).__name__}.fit has no sample_weight: use an estimator that has."
                )
            weights = {"sample_weight": sample_weight}
        self.estimator_ = model.fit(columns, y, **weights)
        return _importance(self.estimator_)

    def _get_support_mask(self):
        check_is_fitted(self)
        return (self.statistics_ >= self.threshold_)[self.groups_]


def _importance(model):
    """Return the absolute coefficient of each column, summed over targets or classes."""
    for name in ("coef_", "feature_importances_"):
        values = getattr(model, name, None)
        if values is not None:
            values = np.abs(np.asarray(values, dtype=float))
            return values.reshape(-1, values.shape[-1]).sum(axis=0)
    raise TypeError(
        f"{type(model).__name__} has neither coef_ nor feature_importances_ after fit: use "
        "another estimator, or give statistic=."
    )


def _normal_scores(Z, rng):
    """Return the normal quantiles of the ranks of each column; ties get a random order."""
    n, p = Z.shape
    ties = rng.uniform(size=(n, p))
    ranks = np.empty((n, p))
    for j in range(p):
        ranks[np.lexsort((ties[:, j], Z[:, j])), j] = np.arange(1, n + 1)
    return ndtri(ranks / (n + 1))


def _quantiles(Z, scores, new_scores):
    """Return values of the columns of Z at other scores, by interpolation between its rows."""
    out = np.empty_like(new_scores)
    for j in range(Z.shape[1]):
        steps = np.sort(scores[:, j])
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, new_scores[:, j])
        out[:, j] = np.sort(Z[:, j])[nearest]
    return out
