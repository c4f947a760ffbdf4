"""Robust principal component analysis by principal component pursuit."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.common.convex_problems import robust_pca, solve_for_factors
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    duality_gap,
    noise_scale,
    noise_width,
    polish,
    principal_component_pursuit,
)
from skmoderndata._validation import check_codes, validate_data

FOLDS = 5  # groups of columns that `score` predicts in turn
CVXPY_LIMIT = 200  # rows plus columns up to which solver="cvxpy" is allowed


class Decomposition(NamedTuple):
    """The terms of a matrix, ``low_rank + sparse`` (plus dense noise for the stable algorithm)."""

    low_rank: np.ndarray
    sparse: np.ndarray


class RobustPCA(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Estimate principal components of data with gross errors, as low rank plus sparse.

    With ``algorithm="pcp"`` (principal component pursuit [1]_) `fit` solves the convex problem

    .. math::
        \min_{L, S}\ \|L\|_* + \alpha \sum_{(i,j)\ \mathrm{observed}} |S_{ij}|
        \quad\text{subject to}\quad L_{ij} + S_{ij} = X_{ij},

    where the nuclear norm is the sum of the singular values. If the rank is low and the errors are
    few, of any size, and at random positions, the minimiser recovers both matrices exactly. With
    ``algorithm="stable"`` [2]_ dense noise is allowed as well:

    .. math::
        \min_{L, S}\ \|L\|_* + \alpha \sum |S_{ij}|
        + \frac{1}{2 \delta} \sum (X_{ij} - L_{ij} - S_{ij})^2,
        \qquad \delta = \sigma \sqrt{2 \max(n, p)}.

    Missing entries are NaN and enter neither sum. New rows are fitted by robust regression on the
    components, which is robust to gross errors in new rows, too.

    Parameters
    ----------
    n_components : int, default=None
        Largest number of components, those with the largest singular values; None keeps all. It
        does not change `low_rank_` and the certificate, which belong to the convex problem.
    alpha : float, default=None
        Weight of the sparse matrix. None means ``1 / sqrt(q max(n, p))`` with q the fraction of
        observed entries, the value of the recovery theorems. Smaller values classify more entries
        as errors.
    algorithm : {"pcp", "stable"}, default="pcp"
        "pcp" assumes that entries without gross errors are exact; "stable" allows dense noise.
    noise_std : float, default=None
        Standard deviation of the noise, for ``algorithm="stable"``; None estimates it from the
        data. With 0 the algorithm is "pcp".
    solver : {"auto", "full", "subspace", "gram", "cvxpy"}, default="auto"
        Computation of the singular value thresholding: "full" uses LAPACK's decomposition,
        "subspace" block subspace iteration started from the last pass, "gram" the Gram matrix, and
        "auto" the faster of the last two. "cvxpy" passes the problem to a conic solver, for small
        matrices (rows plus columns up to 200).
    schedule : {"balanced", "constant", "ialm"}, default="balanced"
        Penalty parameter of the augmented Lagrangian: "balanced" adapts it to the residuals;
        "constant" is as in [1]_; "ialm" multiplies it by 1.5 in each pass as in the inexact method
        of [3]_, which can stop at non-optimal points and is continued with a constant penalty
        until the duality gap is small.
    tol : float, default=1e-6
        Largest relative duality gap; the residuals, relative to the low-rank matrix, must be below
        a tenth of it. Up to ten times that residual is accepted if the gap is smaller by the same
        factor.
    max_iter : int, default=5000
        Largest number of passes.
    center : {"median"} or bool, default=False
        "median" (or True) first subtracts the medians of the columns. The problem above has no
        centring, and means are not robust to the errors.
    polish : bool, default=False
        With ``algorithm="pcp"``: whether to fit the entries outside the support of the sparse
        matrix to machine precision, if they have exactly the estimated rank. Otherwise it has no
        effect.
    store_matrices : bool, default=True
        Whether to store `low_rank_`, `sparse_`, `dual_` and `support_`, each of the size of `X`.
    random_state : int, RandomState instance or None, default=None
        Controls the initial columns of subspace iteration. None means a fixed seed; results are
        independent of it up to the tolerances.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n_samples, n_features)
        L, with `mean_` added; entries missing in `X` are imputed.
    sparse_ : ndarray of shape (n_samples, n_features)
        S, with exact zeros; zero in missing entries.
    support_ : ndarray of shape (n_samples, n_features)
        True where `sparse_` is not zero.
    dual_ : ndarray of shape (n_samples, n_features)
        Dual matrix that certifies `dual_gap_`.
    components_ : ndarray of shape (n_components_, n_features)
        Right singular vectors of the low-rank matrix (without `mean_`), largest singular value
        first, the largest loading of each positive.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the low-rank matrix that belong to `components_`.
    n_components_ : int
        Number of components kept.
    rank_ : int
        Rank of the low-rank matrix.
    mean_ : ndarray of shape (n_features,)
        Values subtracted from the columns; zero without `center`.
    alpha_ : float
        Weight of the sparse matrix that was used.
    noise_std_ : float
        Standard deviation of the noise that was used, 0 for "pcp".
    objective_ : float
        Objective at `low_rank_` with the optimal S for it.
    dual_gap_ : float
        Upper bound on the suboptimality of `objective_`, relative to `objective_`.
    polished_ : bool
        Whether polishing was requested and accepted.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.PCA : Least squares: one gross error can turn every component.
    skmoderndata.impute.NuclearNormImputer : Low rank with missing entries but no gross errors.

    Notes
    -----
    The alternating direction method of multipliers starts with the sparse step, so that the rank
    stays low and a pass takes a few products with thin matrices: about ``4 n p k`` operations with
    k slightly above the rank. It ends when the duality gap is below `tol` and the residuals are
    below a tenth of it. The gap is computed from a dual matrix whose norm is bounded by the
    eigenvalues of a Gram matrix (for a smaller dimension up to 2500; estimated beyond).

    `transform` minimises the absolute deviations ``|x - a components_|_1`` row by row (Huber's
    function for "stable"). `fit_transform` does the same with the training rows. If recovery is
    exact, this gives ``U * singular_values_``; otherwise the nuclear norm shrinks the low-rank
    matrix but not the scores.

    float32 input is computed in float64 and returned as float32.

    References
    ----------
    .. [1] Candes, Li, Ma and Wright, Robust principal component analysis?, Journal of the ACM
       58(3), 2011, equation (1.1) and Algorithm 1.
    .. [2] Zhou, Li, Wright, Candes and Ma, Stable principal component pursuit, ISIT 2010.
    .. [3] Lin, Chen and Ma, The augmented Lagrange multiplier method for exact recovery of
       corrupted low-rank matrices, arXiv:1009.5055, 2010, Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_low_rank_plus_sparse
    >>> from skmoderndata.decomposition import RobustPCA
    >>> X, low_rank, sparse = make_low_rank_plus_sparse(
    ...     60, 40, rank=2, outlier_fraction=0.05, random_state=0
    ... )
    >>> rpca = RobustPCA().fit(X)
    >>> rpca.n_components_
    2
    >>> round(float(np.abs(rpca.low_rank_ - low_rank).max()), 4)   # largest error
    0.0
    >>> int(rpca.support_.sum()), int((rpca.support_ != (sparse != 0)).sum())  # outliers, mistakes
    (120, 0)
    """

    _card = MethodCard(
        family="low rank and sparse",
        cite=("candes2011robust", "zhou2010stable", "lin2010augmented", "portnoy1997gaussian"),
        cost="T n p k",
        checks=(
            {},
            {"algorithm": "stable"},
            {"n_components": 2, "center": "median", "polish": True, "store_matrices": False},
            {
                "algorithm": "stable",
                "noise_std": 0.5,
                "solver": "subspace",
                "schedule": "constant",
            },
        ),
        comparison=Comparison(
            baseline="sklearn.decomposition.PCA",
            problem="corrupted_digits",
            params={"tol": 1e-3},
            grid={"n_components": (8, 12, 16, 24)},
            baseline_grid={"n_components": (8, 12, 16, 24)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "alpha": [POSITIVE, None],
        "algorithm": [StrOptions({"pcp", "stable"})],
        "noise_std": [NON_NEGATIVE, None],
        "solver": [StrOptions({"auto", "full", "subspace", "gram", "cvxpy"})],
        "schedule": [StrOptions({"balanced", "constant", "ialm"})],
        "tol": [NON_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
        "center": ["boolean", StrOptions({"median"})],
        "polish": ["boolean"],
        "store_matrices": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        alpha=None,
        algorithm="pcp",
        noise_std=None,
        solver="auto",
        schedule="balanced",
        tol=1e-6,
        max_iter=5000,
        center=False,
        polish=False,
        store_matrices=True,
        random_state=None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.algorithm = algorithm
        self.noise_std = noise_std
        self.solver = solver
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.center = center
        self.polish = polish
        self.store_matrices = store_matrices
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Decompose `X` into low-rank and sparse matrices, and compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : RobustPCA
            The fitted estimator.
        """
        self._check_settings()
        X = self._validate(X, reset=True)
        dtype = X.dtype
        data, observed = X.astype(np.float64), ~np.isnan(X)
        n_observed = int(observed.sum())
        if n_observed == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one observed entry, but all "
                f"{X.shape[0]} x {X.shape[1]} entries of X are NaN."
            )
        if self.solver == "cvxpy" and sum(X.shape) > CVXPY_LIMIT:
            raise ValueError(
                f"{type(self).__name__}(solver='cvxpy') is for rows plus columns up to "
                f"{CVXPY_LIMIT}, got X of shape {X.shape}; use solver='auto'."
            )
        mean = _column_medians(data) if self.center else np.zeros(X.shape[1])
        data -= mean
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        lam = self.alpha or (n_observed / X.size * max(X.shape)) ** -0.5
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            sigma = self._noise(data, lam, rng)
            result = self._solve(data, lam, noise_width(sigma, X.shape), progress, rng)
        self.polished_ = False
        if self.polish and result.s.size:
            result, self.polished_ = _polished(data, result, lam, self.tol)
        self.alpha_, self.noise_std_ = float(lam), float(sigma)
        self._store(result, mean, dtype)
        if not result.converged:
            warn_not_converged(
                self,
                reached=f"after {result.n_iter} passes the relative duality gap is "
                f"{result.dual_gap:.1e} (tol={self.tol:g}) and the residual "
                f"{result.residual:.1e} (at most a tenth of it)",
                remedy="increase max_iter or tol",
            )
        return self

    def transform(self, X):
        """Compute the scores of rows on the components by robust regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed. If a row has too few known entries to determine
            the scores, they have minimum norm, with a warning.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            Scores; those of a row depend on that row only.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        scores, deficient = self._scores(X)
        if deficient.any():
            warnings.warn(
                f"{deficient.sum()} of {len(X)} rows have too few known entries to determine "
                f"{self.n_components_} scores and got those of minimum norm; drop the rows or "
                "lower n_components.",
                UserWarning,
                stacklevel=2,
            )
        return scores.astype(X.dtype, copy=False)

    def inverse_transform(self, X):
        """Reconstruct rows from scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``X @ components_ + mean_``.
        """
        check_is_fitted(self)
        X = check_codes(X, self.n_components_, estimator=self)
        rows = X @ self.components_ + self.mean_
        return rows.astype(X.dtype, copy=False)

    def decompose(self, X):
        """Decompose rows into their robust projections and sparse residuals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        low_rank : ndarray of shape (n_samples, n_features)
            ``inverse_transform(transform(X))``; missing entries are imputed.
        sparse : ndarray of shape (n_samples, n_features)
            ``X - low_rank``, soft-thresholded by ``alpha_ * delta`` for the stable algorithm,
            which removes dense noise. Zero in missing entries.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        low_rank = self._scores(X)[0] @ self.components_ + self.mean_
        residual = np.where(np.isnan(X), 0.0, X - low_rank)
        sparse = residual - np.clip(residual, -self._huber_width, self._huber_width)
        return Decomposition(low_rank.astype(X.dtype, copy=False), sparse.astype(X.dtype))

    def outlier_scores(self, X):
        """Compute the sum of absolute residuals of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Sum of the absolute residuals of each row, rescaled to all entries if some are missing;
            0 for a row without observed entries.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        observed = ~np.isnan(X)
        residual = np.abs(X - (self._scores(X)[0] @ self.components_ + self.mean_))
        total = np.where(observed, residual, 0.0).sum(axis=1)
        return (total * (X.shape[1] / np.maximum(observed.sum(axis=1), 1))).astype(X.dtype)

    def score(self, X, y=None):
        """Compute the negative relative error of predicting hidden entries.

        Five groups of columns (column j is in group j modulo 5) are hidden in turn and predicted
        by robust regression on the others. In contrast to the reconstruction error, this score
        does not always favour more components, and in contrast to a squared error, it is not
        dominated by gross errors, which no model can predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Negative sum of the absolute prediction errors, divided by ``|X - mean_|_1``: 0 is
            perfect, and predicting `mean_` scores -1.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).astype(np.float64)
        observed = ~np.isnan(X)
        size = np.abs(np.where(observed, X - self.mean_, 0.0)).sum()
        if size == 0:
            return 0.0
        error = 0.0
        for fold in range(FOLDS):
            hidden = slice(fold, None, FOLDS)
            shown = X.copy()
            shown[:, hidden] = np.nan
            guess = self._scores(shown)[0] @ self.components_[:, hidden] + self.mean_[hidden]
            wrong = np.where(observed[:, hidden], X[:, hidden] - guess, 0.0)
            error += np.abs(wrong).sum()
        return -float(error / size)

    def _check_settings(self):
        if self.polish and self.algorithm != "pcp":
            raise ValueError(
                f"{type(self).__name__}(polish=True) fits entries exactly and needs "
                f"algorithm='pcp', got algorithm={self.algorithm!r}."
            )

    def _validate(self, X, *, reset):
        return validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            reset=reset,
        )

    def _noise(self, data, lam, rng):
        """Return the standard deviation of the noise."""
        if self.algorithm == "pcp":
            return 0.0
        if self.noise_std is not None:
            return float(self.noise_std)
        solver = "auto" if self.solver == "cvxpy" else self.solver
        return noise_scale(data, lam=lam, solver=solver, rng=rng)

    def _solve(self, data, lam, delta, progress, rng):
        if self.solver == "cvxpy":
            return _by_cvxpy(data, lam, delta, self.tol)
        return principal_component_pursuit(
            data,
            lam=lam,
            delta=delta,
            solver=self.solver,
            schedule=self.schedule,
            tol=0.1 * self.tol,
            tol_gap=self.tol,
            max_iter=self.max_iter,
            progress=progress,
            rng=rng,
        )

    def _store(self, result, mean, dtype):
        kept = len(result.s) if self.n_components is None else self.n_components
        self.rank_ = len(result.s)
        self.components_ = fix_signs(result.Vt[:kept]).astype(dtype)
        self.singular_values_ = result.s[:kept].astype(dtype)
        self.n_components_ = len(self.components_)
        self.mean_ = mean.astype(dtype)
        self.objective_ = float(result.objective)
        self.dual_gap_ = float(result.dual_gap)
        self.n_iter_ = result.n_iter
        self._huber_width = 0.0
        if self.noise_std_ > 0:
            n_samples, n_features = len(result.sparse), result.sparse.shape[1]
            self._huber_width = self.alpha_ * noise_width(self.noise_std_, (n_samples, n_features))
        if self.store_matrices:
            low_rank = (result.U * result.s) @ result.Vt + mean
            self.low_rank_ = low_rank.astype(dtype, copy=False)
            self.sparse_ = result.sparse.astype(dtype, copy=False)
            self.support_ = self.sparse_ != 0
            self.dual_ = result.dual.astype(dtype, copy=False)

    def _scores(self, X):
        """Robust scores of validated rows in float64, and a mask of underdetermined rows."""
        rows = X.astype(np.float64) - self.mean_
        components = self.components_.astype(np.float64)
        solved = robust_scores(rows, components, width=self._huber_width)
        return solved.scores, solved.deficient

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _column_medians(data):
    """Medians of the observed entries; 0 for columns without observed entries."""
    medians = np.zeros(data.shape[1])
    known = ~np.isnan(data).all(axis=0)
    medians[known] = np.nanmedian(data[:, known], axis=0)
    return medians


def _polished(data, result, lam, tol):
    """Replace both terms by the exact fit outside the support, if it is equally optimal."""
    exact = polish(data, result.Vt.T, result.sparse)
    if exact is None:
        return result, False
    U, s, Vt, sparse = exact
    better = result._replace(U=U, s=s, Vt=Vt, sparse=sparse)
    objective, gap = duality_gap(data, better, better.dual, lam=lam)
    if gap > max(tol, result.dual_gap):
        return result, False
    return better._replace(objective=objective, dual_gap=gap), True


def _by_cvxpy(data, lam, delta, tol):
    """Solve the problem as a semidefinite program with cvxpy and Clarabel."""
    size = np.nanmax(np.abs(data)) or 1.0  # the tolerances of Clarabel are absolute
    stated = robust_pca(data / size, lam, delta=delta / size)
    U, s, Vt = solve_for_factors(stated, size, "solver='auto'")
    observed = ~np.isnan(data)
    residual = np.where(observed, data - (U * s) @ Vt, 0.0)
    if delta > 0:
        dual = np.clip(residual / delta, -lam, lam)
    else:
        dual = np.where(observed, stated.constraint.dual_value, 0.0)
        dual *= np.sign(np.nansum(dual * data))
    sparse = residual - delta * dual
    sparse[np.abs(sparse) <= 1e-6 * size] = 0.0
    result = PursuitResult(U, s, Vt, sparse, dual, 0.0, 0.0, 0.0, 1, True)
    value, gap = duality_gap(data, result, dual, lam=lam, delta=delta)
    passes = int(stated.problem.solver_stats.num_iters or 1)
    return result._replace(
        objective=value, dual_gap=gap, n_iter=passes, converged=gap <= max(tol, 1e-5)
    )
