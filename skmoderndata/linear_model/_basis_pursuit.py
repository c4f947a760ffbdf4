"""Basis pursuit: l1 minimisation under linear equations or a bound on the residual."""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.export import linear_regressor
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.recovery.basis_pursuit import (
    MatrixPursuit,
    basis_pursuit,
    feasible_dual,
    nearest,
    pursuit_gap,
)
from skmoderndata._solvers.recovery.noise_level import (
    EXACT,
    PredictiveBound,
    centred_rows,
    credible_number,
    holds_by_itself,
    least_squares_on_support,
    predictive_bound,
)


class GivenRows(NamedTuple):
    """Features, targets and weights in their original units, without rows of weight zero."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray


# Estimate that requests the smallest possible residual.
NO_NOISE = PredictiveBound(None, False)


class BasisPursuit(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, Base):
    r"""Estimate coefficients of minimum l1 norm that fit a target exactly or within a noise bound.

    Solves [1]_

    .. math::
        \min_w \|w\|_1 \quad\text{subject to}\quad \|y - X w\|_2 \le \varepsilon,

    with :math:`X w = y` for :math:`\varepsilon = 0`, after `X` and `y` are centred. If y is a
    combination of few columns, the solution of the equations equals its coefficients [2]_. If y is
    noisy, equations fit the noise, so :math:`\varepsilon` should be the norm of the noise. By
    default, `fit` distinguishes the two cases and estimates the norm by cross-validation.

    Parameters
    ----------
    residual_tol : float, default=None
        Maximum Euclidean norm :math:`\varepsilon` of the residual. 0 requires equality, and `fit`
        raises ValueError if it is impossible. With None, `residual_rtol` decides.
    residual_rtol : float, "auto" or None, default="auto"
        The same bound relative to the norm of the centred y; if both are numbers, the larger bound
        applies. "auto" is used if `residual_tol` is None. It requires equality if equality holds
        with coefficients for at most three quarters of the (distinct) rows, which noise makes
        impossible; otherwise it uses the norm of the residual of the lasso whose penalty predicts
        held-out rows best, with or without a refit (see `polish`). None uses the smallest possible
        residual: equality if there are more features than independent samples, otherwise the least
        squares solution of minimum l1 norm.
    cv : int, cross-validation generator or iterable, default=None
        Folds for ``residual_rtol="auto"``, as in :func:`~sklearn.model_selection.check_cv`. None
        means five folds, or one per row if there are fewer rows.
    positive : bool, default=False
        Whether coefficients must be non-negative.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised: `X` and `y` are centred. In compressed
        sensing, a zero signal has zero measurements, so False saves one measurement.
    polish : {"auto"} or bool, default="auto"
        Whether to replace the coefficients of minimum l1 norm by least squares on their support,
        which removes the shrinkage. True does so whenever a residual is allowed. "auto" does so
        if cross-validation estimates the bound and the refit predicts held-out rows significantly
        better (t test over the folds at a level of 5 %). Coefficients stay unchanged if `positive`
        is True and least squares gives a negative one.
    solver : {"path", "simplex", "cvxpy"}, default="path"
        Method of computation. "path" follows the lasso path, whose last segment gives the solution
        with two triangular solves, and uses an interior point method for equations without a
        sparse solution. If its duality gap exceeds `tol`, it falls back to "simplex", or to
        "cvxpy" for a positive bound. "simplex" solves the linear program with the simplex method
        of HiGHS and returns the exact vertex; only for equality constraints:
        ``residual_rtol=None`` or ``residual_tol=0``. "cvxpy" solves the problem as stated, for
        comparison.
    tol : float, default=1e-8
        Maximum relative duality gap, and maximum violation of the constraint relative to the norm
        of `y`. In single precision, at least ten times the machine epsilon is used.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients of the features, after the refit if `polished_` is True.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept, 0 if `fit_intercept` is False.
    dual_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual variable v with :math:`\|X^\top v\|_\infty \le 1` for the centred `X`. A coefficient
        whose entry of :math:`X^\top v` is below one in magnitude is zero in every solution.
    dual_gap_ : float
        Relative duality gap, the maximum over targets: an upper bound on the relative
        suboptimality of the l1 norm, before the refit, and before coefficients are rounded to the
        dtype of `X`.
    polished_ : bool or ndarray of shape (n_targets,)
        Whether least squares on the support gave the coefficients.
    residual_norm_ : float or ndarray of shape (n_targets,)
        Euclidean norm of the residual.
    residual_tol_ : float or ndarray of shape (n_targets,)
        Bound used; for the smallest possible residual, the norm of that residual.
    n_iter_ : int
        Number of factorisations on the lasso path or in the interior point method; the maximum
        over targets.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.linear_model.Lasso : Finds the same solutions with a penalty instead of the bound. The
        penalty that corresponds to a bound is not known in advance, and equality cannot be
        reached.
    sklearn.linear_model.LassoCV : Also chooses the penalty by cross-validation, among penalties
        down to a thousandth of the largest, which is too large for columns of unlike units.
    sklearn.linear_model.OrthogonalMatchingPursuit : Selects a fixed number of coefficients
        greedily.
    skmoderndata.sparse_coding.SparseCoder : Codes many signals with one dictionary.

    Notes
    -----
    Each step decreases the penalty past many breakpoints of the path and then corrects the support
    [3]_; in total, this needs 12 to 36 factorisations of the active columns, whatever their
    number. If the active coefficients exceed three quarters of the number of samples and the
    residual must be zero, an interior point method [4]_ needs 10 to 20 factorisations of ``X D
    X^T`` instead. The result is exact up to rounding, which `dual_gap_` certifies.

    Columns are not scaled: the l1 norm gives them equal weight. If columns are duplicates, the
    first of them is used. With `sample_weight`, the bound is on the weighted norm, :math:`\sum_i
    s_i r_i^2`. The bound holds for the returned coefficients, rounded to the dtype of `X`, and so
    does :math:`\|X^\top v\|_\infty \le 1` for the dual variable.

    The penalty that predicts best with shrunken coefficients also selects many irrelevant
    features. A refit needs fewer of them, so that the bound is larger if it predicts better [5]_.

    References
    ----------
    .. [1] Chen, Donoho and Saunders, Atomic decomposition by basis pursuit, SIAM Journal on
       Scientific Computing 20(1), 1998, sections 2 and 5.
    .. [2] Candes, Romberg and Tao, Stable signal recovery from incomplete and inaccurate
       measurements, Communications on Pure and Applied Mathematics 59(8), 2006.
    .. [3] Fan, Jiao and Lu, A primal dual active set algorithm with continuation for compressed
       sensing, IEEE Transactions on Signal Processing 62(23), 2014.
    .. [4] Mehrotra, On the implementation of a primal-dual interior point method, SIAM Journal on
       Optimization 2(4), 1992.
    .. [5] Meinshausen, Relaxed lasso, Computational Statistics & Data Analysis 52(1), 2007, with
       the relaxation parameter 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.linear_model import BasisPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 50))
    >>> w = np.zeros(50)
    >>> w[[3, 17, 40]] = 1, -2, 3
    >>> model = BasisPursuit().fit(X, X @ w)
    >>> np.flatnonzero(model.coef_)
    array([ 3, 17, 40])
    >>> model.coef_[model.coef_ != 0].round(3), round(float(model.dual_gap_), 6)
    (array([ 1., -2.,  3.]), 0.0)
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "chen1998atomic",
            "candes2006stable",
            "fan2014primal",
            "mehrotra1992implementation",
        ),
        cost="T n k^2",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "residual_tol": [NON_NEGATIVE, None],
        "residual_rtol": [NON_NEGATIVE, StrOptions({"auto"}), None],
        "cv": ["cv_object"],
        "positive": ["boolean"],
        "fit_intercept": ["boolean"],
        "polish": ["boolean", StrOptions({"auto"})],
        "solver": [StrOptions({"path", "simplex", "cvxpy"})],
        "tol": [POSITIVE],
    }

    @parameters_are_named
    def __init__(
        self,
        residual_tol=None,
        *,
        residual_rtol="auto",
        cv=None,
        positive=False,
        fit_intercept=True,
        polish="auto",
        solver="path",
        tol=1e-8,
    ):
        self.residual_tol = residual_tol
        self.residual_rtol = residual_rtol
        self.cv = cv
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.polish = polish
        self.solver = solver
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Compute the coefficients of minimum l1 norm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Measurements (rows) of atoms (columns).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Measurements of one or more signals.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals; a row of weight 0 is ignored.

        Returns
        -------
        self : BasisPursuit
            The fitted estimator.
        """
        self._check_combination()
        targets = {"multi_output": True, "y_numeric": True}
        X, y = validate_data(self, X, y, dtype=FLOATS, **targets)

        # Centre the rows of positive weight and multiply them by the roots of the weights.
        dtype = X.dtype
        A = X.astype(np.float64, copy=False)
        Y = y.reshape(len(y), -1).astype(np.float64)
        weight = check_sample_weight(sample_weight, A, ensure_non_negative=True)
        weighted = weight > 0
        folds = self._folds(A, y, weighted)
        raw = GivenRows(A[weighted], Y[weighted], weight[weighted])
        rows = centred_rows(*raw, intercept=self.fit_intercept)

        bounds = self._given_bounds(rows.Y)
        refits = [self.polish is True and bound not in (0, None) for bound in bounds]
        results = []
        with FitProgress(self, X, y, max_passes=None) as progress:
            for t, bound in enumerate(bounds):
                if bound == "auto":
                    data = (A, Y, weight)
                    estimate, result = self._estimate(rows, data, t, folds, progress)
                    bounds[t], refits[t] = estimate
                else:
                    result = self._solve(rows.A, rows.Y[:, t], bound, progress)
                results.append(result)

        self._store(results, raw, rows, bounds, refits, dtype, y.ndim == 1)
        return self

    @by_rows
    def predict(self, X):
        """Predict measurements.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Measurements of the atoms.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions ``X @ coef_.T + intercept_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return X @ self.coef_.T + self.intercept_

    def to_sklearn(self):
        """Return the model as a `LinearRegression`, with the same predictions.

        Returns
        -------
        regressor : LinearRegression
            The coefficients and the intercept.
        """
        check_is_fitted(self)
        return linear_regressor(self, self.coef_, self.intercept_)

    def _check_combination(self):
        """Reject a positive bound, given or estimated, for a solver of linear programs."""
        if self.solver != "simplex":
            return
        if self.residual_tol is None and self.residual_rtol is None:
            return
        exact = self.residual_tol in (0, None) and self.residual_rtol in (0, None)
        estimated = self.residual_tol == 0 and self.residual_rtol == "auto"
        if not exact and not estimated:
            raise ValueError(
                f"solver='simplex' solves linear programs, but residual_tol={self.residual_tol} "
                f"and residual_rtol={self.residual_rtol!r} allow a residual, which gives a cone "
                "program: use solver='path' or 'cvxpy', or residual_rtol=None."
            )

    def _folds(self, X, y, weighted):
        """Return the rows to fit and to predict; by default, rows of weight zero do not count."""
        if self.residual_tol is not None or self.residual_rtol != "auto":
            return []
        if self.cv is not None:
            folds = check_cv(self.cv)
            return list(folds.split(X, y))
        rows = np.flatnonzero(weighted)
        if len(rows) < 2:
            return []
        folds = KFold(min(N_FOLDS, len(rows)))
        return [(rows[fitted], rows[predicted]) for fitted, predicted in folds.split(rows)]

    def _given_bounds(self, Y):
        """Return the bound of each target: a number, "auto", or None for the smallest residual."""
        n_targets = Y.shape[1]
        rtol = self.residual_rtol
        tol = self.residual_tol if self.residual_tol is None else float(self.residual_tol)
        if rtol == "auto" and tol is None:
            return ["auto"] * n_targets
        if rtol in ("auto", None):
            return [tol] * n_targets
        return [max(tol or 0.0, float(rtol * linalg.norm(y))) for y in Y.T]

    def _estimate(self, rows, data, t, folds, progress):
        """Compute bound, whether to refit, and solution for a target whose noise is unknown."""
        A = rows.A
        y = rows.Y[:, t]
        form = {"positive": self.positive, "tol": self.tol, "progress": progress}

        # Use the equations if they can be satisfied without fitting noise.
        result = basis_pursuit(A, y, solver="path only", **form)
        if not folds and result is None:
            return NO_NOISE, self._solve(A, y, None, progress)
        if not folds:
            return NO_NOISE, result
        X, Y, weight = data
        largest = credible_number(X[weight > 0])
        if result is not None and holds_by_itself(A, y, result.coef, largest):
            return NO_NOISE, result

        # Otherwise estimate the noise by cross-validation.
        estimate = predictive_bound(
            X,
            Y[:, t],
            weight,
            folds,
            intercept=self.fit_intercept,
            positive=self.positive,
            refits=None if self.polish == "auto" else self.polish,
        )
        if not estimate.bound > EXACT * linalg.norm(y):
            estimate = NO_NOISE
        return estimate, self._solve(A, y, estimate.bound, progress)

    def _solve(self, A, y, bound, progress=None):
        """Solve for a bound (None: the smallest residual); raise ValueError if it fails."""
        form = {"positive": self.positive, "tol": self.tol, "solver": self.solver}
        pursuit = MatrixPursuit(A, bound=bound, **form)
        result = pursuit.solve(y, progress)
        limit = EXACT * linalg.norm(y)
        if result is None or (bound == 0 and result.residual > limit):
            self._refuse(bound or 0.0, A, y)
        return result

    def _refuse(self, bound, A, y):
        size = linalg.norm(y)
        fitted = nearest(A, y[:, None], positive=self.positive)[:, 0]
        missed = linalg.norm(y - fitted)
        sign = "non-negative " if self.positive else ""
        name = "residual_tol" if self.residual_rtol in ("auto", None) else "residual_rtol"
        unit = 1.0 if name == "residual_tol" else size
        raise ValueError(
            f"no {sign}coefficients fit y within {name}={bound / unit:g} (the smallest residual "
            f"norm is {missed / unit:.3g}): increase {name}, or set residual_tol=None and "
            "residual_rtol=None for the smallest residual."
        )

    def _within_bound(self, result, A, y, bound, missed, enough):
        """Lower the bound of the solver until rounded coefficients satisfy the original bound."""
        # If only the intercept remains, its residual equals the bound up to rounding errors.
        if not result.coef.any():
            return result
        margin = 0.0
        for _ in range(9):
            # Lower the bound by the effect of rounding, and double this amount in each trial.
            inner = bound * (1 - 8 * EPS)  # computed norms have rounding errors, too
            excess = missed(result.coef) - inner
            margin = 2 * max(margin, excess)
            if excess <= 0 or margin >= bound:
                break

            form = {"positive": self.positive, "tol": self.tol, "solver": self.solver}
            pursuit = MatrixPursuit(A, bound=bound - margin, **form)
            closer = pursuit.solve(y)
            if closer is None:
                break

            # Accept the solution if its certificate holds for the original bound.
            coef = closer.coef
            gap = pursuit_gap(A, y, coef, closer.dual, bound=bound, positive=self.positive)
            if gap > max(enough, result.gap):
                break
            result = closer._replace(gap=gap)
        return result

    def _store(self, results, raw, rows, bounds, refits, dtype, flat):
        A, Y, x_mean, y_mean = rows
        smallest = np.array([bound is None for bound in bounds])
        bounds = np.array([bound or 0.0 for bound in bounds])
        rounding = float(np.finfo(dtype).eps)
        enough = max(self.tol, 10 * rounding)
        stored = []
        gaps = []
        excess = []
        for t, result in enumerate(results):
            # Certify the values that are stored: rounded to dtype, and with the intercept.
            def rounded(w, t=t):
                intercept = y_mean[t] - w @ x_mean
                return w.astype(dtype), dtype.type(intercept)

            def missed(w, t=t):
                coef, intercept = rounded(w, t)
                return _residual(raw, t, coef, intercept)

            y = Y[:, t]
            result = self._within_bound(result, A, y, bounds[t], missed, enough)
            dual = feasible_dual(A, result.dual.astype(dtype), positive=self.positive)
            coef = result.coef
            if refits[t]:
                coef = least_squares_on_support(A, y, coef, positive=self.positive)
            refits[t] = coef is not result.coef
            stored.append((*rounded(coef, t), dual, missed(coef, t)))
            gaps.append(result.gap)
            size = max(float(linalg.norm(y)), np.finfo(np.float64).tiny)
            excess.append(relative_gap(result.residual, bounds[t], unit=size))

        columns = zip(*stored, strict=True)
        coef, intercept, dual, residual = (np.array(column) for column in columns)
        self.dual_gap_ = float(max(gaps))
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self.coef_ = coef
        self.intercept_ = intercept
        self.dual_ = dual
        self.polished_ = np.array(refits)
        self.residual_norm_ = residual
        self.residual_tol_ = np.where(smallest, residual, bounds)
        if flat:
            self.coef_ = coef[0]
            self.dual_ = dual[0]
            self.intercept_ = intercept[0]
            self.polished_ = bool(refits[0])
            self.residual_norm_ = float(residual[0])
            self.residual_tol_ = float(self.residual_tol_[0])

        largest_excess = max(excess)
        if self.dual_gap_ > enough or largest_excess > max(self.tol, 1e-7):
            warn_not_converged(
                self,
                reached=f"relative duality gap {self.dual_gap_:.1e} (tol={self.tol:g}), "
                f"constraint missed by {largest_excess:.1e} of the norm of y",
                remedy="increase tol, or scale the columns of X alike",
            )


def _residual(raw, t, coef, intercept):
    """Compute the Euclidean norm of the weighted residual of target t in double precision."""
    X, Y, weight = raw
    fitted = X @ coef.astype(np.float64)
    residual = Y[:, t] - fitted - np.float64(intercept)
    return float(linalg.norm(np.sqrt(weight) * residual))
