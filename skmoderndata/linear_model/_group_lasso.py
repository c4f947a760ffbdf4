"""Group lasso and sparse group lasso."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.codes.group_lasso import (
    Columns,
    GroupLassoResult,
    Penalty,
    WorkingSet,
    group_lasso,
    group_lasso_gap,
    one_thread_if_small,
)
from skmoderndata._solvers.common import convex_problems
from skmoderndata._validation import FLOATS, check_groups, validate_data


class GroupLasso(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, Base):
    r"""Linear regression with a penalty that sets groups of coefficients to zero.

    Minimises [1]_, [2]_

    .. math::
        \frac{1}{2 n} \sum_{i=1}^n (y_i - x_i^\top w - b)^2
        + \alpha \sum_g \left( (1 - \tau)\, \omega_g \|w_g\|_2 + \tau \|w_g\|_1 \right)

    over the coefficients w and the intercept b. The groups g partition the features,
    :math:`\omega_g` is by default the square root of the size of the group, and :math:`\tau` is
    `l1_ratio`. With groups of one feature the problem is that of
    :class:`sklearn.linear_model.Lasso`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty. All coefficients are zero if it is at least `alpha_max_`.
    groups : int or array-like of shape (n_features,) or list of arrays, default=None
        A label for each feature, in any order; or a list with the features of each group; or a
        number of consecutive features that form a group, where the last group may be smaller.
        Every feature belongs to exactly one group. None makes each feature a group.
    l1_ratio : float, default=0.0
        Fraction :math:`\tau` of the l1 norm: 0 is the group lasso, 1 the lasso, and values in
        between give the sparse group lasso [2]_, which also sets coefficients within groups to
        zero.
    group_weights : array-like of shape (n_groups,), default=None
        Positive weights :math:`\omega_g` in ascending order of the labels (in the order of a
        list). None uses the square roots of the sizes.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    solver : {"descent", "cvxpy"}, default="descent"
        "descent" is block coordinate descent with Newton steps on a working set. "cvxpy" solves
        the problem as stated with an interior point solver, for dense X of up to some thousand
        entries.
    max_iter : int, default=1000
        Largest number of sweeps of coordinate descent for each target.
    tol : float, default=1e-8
        Largest duality gap relative to the objective of zero coefficients.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients; exactly zero for groups that are not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept, 0 without `fit_intercept`.
    groups_ : ndarray of shape (n_features,)
        Number of the group of each feature: 0, 1, ...
    group_norms_ : ndarray of shape (n_groups,) or (n_targets, n_groups)
        Euclidean norms of the groups of coefficients.
    alpha_max_ : float
        The smallest `alpha` for which all coefficients are zero.
    dual_gap_ : float
        Duality gap relative to the objective of zero coefficients (half the variance of y),
        the maximum over targets: an upper bound on the suboptimality of the objective.
    n_iter_ : int
        Number of sweeps of coordinate descent; the maximum over targets.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Lasso : No groups, with the same scaling of `alpha`. Its `tol` and
        `dual_gap_` are relative to another quantity.
    sklearn.linear_model.MultiTaskLasso : The coefficients of a feature for all targets form a
        group.
    skmoderndata.sparse_coding.SparseCoder : With `groups`, codes many signals with one dictionary.

    Notes
    -----
    Groups whose correlation with the residual exceeds their penalty enter a working set; inner
    products are computed for the working set only. On it, block coordinate descent finds the zero
    coefficients and Newton steps find the values of the others. The duality gap then covers all
    features, with a freshly computed residual. A fit costs ``n_samples n_features`` for every
    growth of the working set (some five to ten), and ``n_samples k^2`` for a working set of k
    features. If it holds more features than samples, a sweep costs ``n_samples k`` and each of a
    few Newton steps ``n_samples^2 k`` instead.

    Sparse `X` is neither centred nor converted to dense, except for the columns of a working set
    of more than half as many features as samples.

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
        cite=("yuan2006model", "simon2013sparse", "ndiaye2016gap"),
        cost="T (n p + n k^2)",
        checks=(
            {},
            {"alpha": 0.01, "groups": 2},
            {"alpha": 0.05, "groups": 3, "l1_ratio": 0.5, "fit_intercept": False},
            {"alpha": 0.01, "groups": 2, "positive": True},
        ),
        comparison=Comparison(
            baseline="sklearn.linear_model.Lasso",
            problem="spline_groups",
            grid={"alpha": (0.003, 0.01, 0.03, 0.1, 0.3)},
            params={"groups": 6},
            baseline_grid={"alpha": (0.003, 0.01, 0.03, 0.1, 0.3)},
            baseline_params={"max_iter": 100_000},
        ),
    )
    _parameter_constraints = {
        "alpha": [POSITIVE],
        "groups": [AT_LEAST_ONE, "array-like", None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "group_weights": ["array-like", None],
        "fit_intercept": ["boolean"],
        "positive": ["boolean"],
        "solver": [StrOptions({"descent", "cvxpy"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha=1.0,
        groups=None,
        *,
        l1_ratio=0.0,
        group_weights=None,
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
            Data.
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
        labels = self._labels(X.shape[1])
        sizes = np.bincount(labels)
        weights = self._weights(sizes)
        weight = self._sample_weight(X, sample_weight)

        # columns in the order of the groups
        order = np.argsort(labels, kind="stable")
        edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        total = float(X.shape[0])

        results = []
        with (
            FitProgress(self, X, y, max_passes=None) as progress,
            one_thread_if_small(X.size),
        ):
            columns, x_mean, x_unit = self._columns(X, weight, order)
            Y, y_mean, y_unit = self._targets(y, weight)
            start = self._start(X.shape[1], Y.shape[1])
            warm = None
            unit = y_unit / x_unit  # of coefficients

            work = WorkingSet(columns, edges)
            for t in range(Y.shape[1]):
                lam = total * self.alpha * (1 / x_unit) * (1 / y_unit[t])
                penalty = Penalty(edges, weights, lam, self.l1_ratio, self.positive)
                if self.solver == "cvxpy":
                    result = _by_cvxpy(columns, Y[:, t], penalty)
                    results.append(result)
                    continue
                if start is not None:
                    warm = start[t][order] / unit[t]
                result = group_lasso(
                    Y[:, t],
                    work,
                    penalty,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    start=warm,
                    progress=progress,
                )
                results.append(result)

        # back to the units and the order of the columns
        largest = np.array([result.lam_max for result in results])
        self.alpha_max_ = float(np.max(largest * y_unit) * x_unit / total)
        scaled = np.array([result.coef for result in results])
        coef = np.empty((len(results), X.shape[1]))
        coef[:, order] = scaled * unit[:, None]
        intercept = y_mean - coef @ x_mean
        self._store(coef, labels, intercept, X.dtype, y.ndim == 1)
        self._certify(results)
        return self

    def _sample_weight(self, X, sample_weight):
        """Return weights with a mean of one."""
        if sample_weight is None:
            return np.ones(X.shape[0])
        weight = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        n = len(weight)
        return weight * (n / weight.sum())

    def _certify(self, results):
        """Keep the largest gap of all targets; warn where it is above `tol`."""
        self.dual_gap_ = max(result.gap for result in results)
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        if self.dual_gap_ > max(self.tol, 1e-13):
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e} (tol={self.tol:g}) after "
                f"{self.n_iter_} sweeps",
                remedy="increase max_iter, tol or alpha, or scale the features alike",
            )

    def predict(self, X):
        """Predict values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            ``X @ coef_.T + intercept_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, accept_sparse=["csr", "csc"], reset=False)
        products = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        return products + self.intercept_

    def _labels(self, n_features):
        if self.groups is None:
            return np.arange(n_features)
        if isinstance(self.groups, Integral):
            return np.arange(n_features) // int(self.groups)
        return check_groups(self.groups, n_features)

    def _weights(self, sizes):
        if self.group_weights is None:
            return np.sqrt(sizes)
        weights = np.asarray(self.group_weights, dtype=np.float64)
        positive = (weights > 0).all() and not np.isinf(weights).any()
        if weights.shape != sizes.shape or not positive:
            raise ValueError(
                f"group_weights must be positive numbers, one for each of the {len(sizes)} groups "
                f"in ascending order of their labels; got shape {weights.shape}, "
                f"smallest {weights.min(initial=np.inf):g}. For a group with little penalty use a "
                "small weight."
            )
        return weights

    def _columns(self, X, weight, order):
        """Return the columns sorted by group, with their means and the unit of the entries."""
        root = np.sqrt(weight)
        unit = _unit(X)
        # centring stays implicit: sparse columns keep their zeros
        if sparse.issparse(X):
            scaled = sparse.csc_array(X[:, order], dtype=np.float64, copy=True)
            scaled.data *= 1 / unit
            mean = np.zeros(X.shape[1])
            if self.fit_intercept:
                mean = (scaled.T @ weight) / weight.sum()
            scaled.data *= root[scaled.indices]
            columns = Columns(scaled, mean, root)
        else:
            # sorted copy in Fortran order, centred in place
            moved = order != np.arange(len(order))
            if moved.any():
                X = X[:, order]
            A = np.multiply(X, 1 / unit, order="F", dtype=np.float64)
            mean = np.zeros(X.shape[1])

            if self.fit_intercept:
                mean = (weight @ A) / weight.sum()
                same = np.flatnonzero(A[0] == A[-1])
                everywhere = (A[:, same] == A[0, same]).all(axis=0)
                constant = same[everywhere]
                mean[constant] = A[0, constant]  # rounding is no variance
                A -= mean
            if not (weight == 1).all():
                A *= root[:, None]
            columns = Columns(A)

        x_mean = np.empty(X.shape[1])
        x_mean[order] = mean * unit
        return columns, x_mean, unit

    def _targets(self, y, weight):
        """Return weighted, centred targets, scaled to about one, with means and units."""
        Y = np.array(y.reshape(len(y), -1), dtype=np.float64, order="F")
        unit = np.array([_unit(column) for column in Y.T])
        Y *= 1 / unit
        mean = np.zeros(Y.shape[1])
        if self.fit_intercept:
            mean = (weight @ Y) / weight.sum()
            constant = (Y == Y[:1]).all(axis=0)
            mean[constant] = Y[0, constant]
            Y -= mean
        weighted = Y * np.sqrt(weight)[:, None]
        return weighted, mean * unit, unit

    def _start(self, n_features, n_targets):
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        start = np.atleast_2d(self.coef_).astype(np.float64)
        if start.shape != (n_targets, n_features):
            return None
        return start

    def _store(self, coef, labels, intercept, dtype, flat):
        self.groups_ = labels
        self.coef_ = coef.astype(dtype)
        self.intercept_ = intercept.astype(dtype)
        n_groups = int(labels.max()) + 1
        size = np.abs(coef).max(initial=0.0) or 1.0
        relative_sq = (coef / size) ** 2
        squares = np.array([np.bincount(labels, row, n_groups) for row in relative_sq])
        norms = size * np.sqrt(squares)
        self.group_norms_ = norms.astype(dtype)
        if flat:
            self.coef_ = self.coef_[0]
            self.group_norms_ = self.group_norms_[0]
            self.intercept_ = dtype.type(self.intercept_[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _by_cvxpy(columns, y, penalty):
    """Solve the problem of one target as stated, and certify the solution."""
    scale = 0.5 * float(y @ y)
    if scale == 0:
        zeros = np.zeros(int(penalty.edges[-1]))
        return GroupLassoResult(zeros, 0.0, 0, 0.0)
    stated = convex_problems.group_lasso(columns.X, y, **penalty._asdict())
    if not convex_problems.solve(stated, solver="CLARABEL"):
        raise ValueError("GroupLasso(solver='cvxpy') failed: use solver='descent'.")
    w = np.asarray(stated.variable.value)
    gap = group_lasso_gap(columns, y, w, penalty)
    correlations = columns.cross(y)
    largest = float(penalty.dual_norms(correlations).max())
    return GroupLassoResult(w, gap / scale, 0, largest)


def _unit(X):
    """Largest magnitude, 1 for zeros: products of four values stay finite in units of it."""
    values = X.data if sparse.issparse(X) else X
    highest = values.max(initial=0.0)
    lowest = values.min(initial=0.0)
    largest = float(max(highest, -lowest))
    return largest or 1.0
