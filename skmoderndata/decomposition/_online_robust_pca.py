"""Robust principal components of a stream of rows."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_fewer, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_codes, validate_data
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.lowrank.online_pursuit import (
    StreamSums,
    add_batch,
    best_components,
    empty_sums,
    huber_scores,
    noise_of_columns,
    orthonormal,
    pursuit_loss,
    robust_ridge,
    typical_magnitude,
    unexplained,
    without_huge,
)
from skmoderndata._solvers.lowrank.table import TableSettings, decompose_table
from skmoderndata.decomposition._robust_base import (
    absolute_residuals,
    list_cells,
    row_names_of,
    score_of_hidden,
    split_rows,
)

# Maximum number of rows from which the noise, the number of components and the initial components
# are estimated.
START_ROWS = 200
# Tolerance of pursuit for the first rows: largest relative duality gap.
START_TOL = 1e-3
# Number of residuals that have the same weight as the initial noise.
START_WEIGHT = 20
# Minimum estimate of the noise, which exact entries receive, relative to the typical magnitude of
# an entry.
EXACT_NOISE = 1e-3
# Size of additional random components, relative to the smallest component found at the start.
SPARE_LENGTH = 1e-2


class OnlineRobustPCA(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Estimate principal components of a stream of rows with gross errors.

    Stable principal component pursuit in factors [1]_: the components V (p x r) minimise, over
    the n rows x so far and with weights :math:`w` that a forgetting factor may give them,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \min_{r} \Bigl[ \sum_{j\ \mathrm{observed}}
        h_\kappa(x_{ij} - v_j^\top r) + \frac{\lambda}{2} \|r\|^2 \Bigr]
        + \frac{\lambda}{2} \|V\|_F^2

    where Huber's function :math:`h_\kappa(e) = \min_s (e - s)^2 / 2 + \kappa |s|` has a gross
    error s for each cell. The penalties are in units of the standard deviation :math:`\sigma` of
    the noise: :math:`\kappa = \sqrt 2\, \sigma` as in :class:`RobustPCA`, and :math:`\lambda =
    \alpha \kappa \sqrt{\max(1, p / n)}`, which for :math:`\alpha = 1` is the penalty of its convex
    problem. The minimum over all V of r columns, if r is large enough, equals the minimum of
    :math:`\sqrt n \lambda \|L\|_* + \sum h_\kappa(x_{ij} - L_{ij})`, divided by n.

    For each batch of rows, the class computes scores and errors, adds them to sums of p r numbers,
    and chooses the components that minimise a surrogate given by these sums. It does not store the
    rows.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None means the number that `RobustPCA` finds in the first rows, but
        at least 1.
    alpha : float, default=0.1
        Weight of the nuclear norm, relative to the convex problem of `RobustPCA`. With 1,
        superfluous components fade, but the other components shrink and turn a little, which
        `RobustPCA` corrects by its refit; small values need no refit.
    noise_std : float, default=None
        Standard deviation of the noise, the same in all columns. None estimates it like
        `RobustPCA` from the first 200 rows (in `fit` from 200 random rows), then from the
        residuals of all rows within three standard deviations.
    outlier_threshold : float, default=5.0
        Number of standard deviations of the noise of its column beyond which an entry is an
        outlier, in `decompose` and `find_outliers`.
    forget_factor : float, default=1.0
        Weight of a row relative to the next one in `partial_fit`; below 1 the components follow
        drifting data, with a memory of about ``1 / (1 - forget_factor)`` rows.
    batch_size : int, default=50
        Number of rows between updates of the components.
    shuffle : bool, default=True
        Whether `fit` visits the rows in a new random order in each pass. `partial_fit` never
        shuffles.
    max_iter : int, default=200
        Maximum number of passes over the rows in `fit`.
    tol : float, default=1e-3
        `fit` stops when the relative change of the objective in a pass is at most `tol`; residuals
        count up to the typical magnitude of an entry. The change is relative to at least a
        thousandth of half the typical squared norm of a row, because rows without noise have an
        objective near zero.
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows, and the start of components that are not found in the first
        rows. None means a fixed seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span V, in descending order of singular values; the entry of largest
        magnitude in each is positive.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the low-rank part of the (weighted) rows, which the penalties shrink.
    n_components_ : int
        Number of components.
    noise_std_ : float
        Standard deviation of the noise in a typical column.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the noise of each column.
    objective_ : float
        The objective above, with the components and penalties at the time when each row was
        processed: in the last pass of `fit`, or in the last call of `partial_fit`.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective of each pass of `fit`.
    n_iter_ : int
        Number of passes of `fit`.
    n_samples_seen_ : int
        Number of rows; rows of `fit` count once.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    RobustPCA : All rows at once: more accurate, with a certificate and the decomposed matrix.
    CCIPCA : Components of a stream without gross errors.
    sklearn.decomposition.IncrementalPCA : Least squares: one gross error can turn every component.

    Notes
    -----
    A row costs about ``40 n_features n_components`` operations in a pass. Besides a batch, the
    class stores two matrices of the size of the components; `partial_fit` also stores the first
    rows until there are 200, because they determine the noise, the number of components and the
    start.

    From the second pass of `fit` on, each batch reduces the weight of earlier sums by its fraction
    of the rows, so that scores for components of much earlier passes disappear from the sums.

    The problem is not convex, but no worse local minimum is known if V has at least as many
    columns as the rank of the minimiser; the start is a convex solution. The duality gap of stable
    pursuit shows whether a given V is optimal. It needs all rows, and the tests compute it. Scores
    of a batch have duality gaps of 1e-8.

    Entries without noise are treated as if their noise were 1/1000 of the typical magnitude of an
    entry, the upper quartile of the magnitudes in the first rows: `RobustPCA` is exact for them.

    Huge entries, such as sentinels of -999999, have the same influence as any other gross error:
    Newton's method computes the final scores of a row, and the start treats entries above 10,000
    typical magnitudes as missing.

    References
    ----------
    .. [1] J. Feng, H. Xu and S. Yan, "Online robust PCA via stochastic optimization", Advances in
       Neural Information Processing Systems 26, 2013, algorithms 1 and 2.

    Examples
    --------
    >>> from skmoderndata.datasets import make_low_rank_plus_sparse
    >>> from skmoderndata.decomposition import OnlineRobustPCA
    >>> X, low_rank, sparse = make_low_rank_plus_sparse(
    ...     2000, 40, rank=2, outlier_fraction=0.05, magnitude=5, noise=0.2, random_state=0
    ... )
    >>> stream = OnlineRobustPCA()
    >>> for rows in X.reshape(20, 100, 40):
    ...     stream = stream.partial_fit(rows)
    >>> stream.n_components_, round(stream.noise_std_, 1)
    (2, 0.2)
    >>> found = stream.decompose(X[-100:]).sparse != 0
    >>> int(found.sum()), int((found != (sparse[-100:] != 0)).sum())     # outliers, mistakes
    (180, 0)
    """

    _card = MethodCard(
        family="low rank and sparse",
        cite=("feng2013online", "candes2011robust", "zhou2010stable"),
        cost="40 n p k T",
        tier="standard",
        instead="`FactorAnalysis` in turn with cells of small residuals leaves less error at low "
        "rank, where all rows fit into memory.",
        scaler="RobustScaler",
    )
    # default score of EntrySearchCV
    _ENTRY_SCORE = "neg_mean_absolute_error"
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "alpha": [POSITIVE],
        "noise_std": [POSITIVE, None],
        "outlier_threshold": [POSITIVE],
        "forget_factor": [Interval(Real, 0, 1, closed="right")],
        "batch_size": [AT_LEAST_ONE],
        "shuffle": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        alpha=0.1,
        noise_std=None,
        outlier_threshold=5.0,
        forget_factor=1.0,
        batch_size=50,
        shuffle=True,
        max_iter=200,
        tol=1e-3,
        random_state=None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.noise_std = noise_std
        self.outlier_threshold = outlier_threshold
        self.forget_factor = forget_factor
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate the components in passes over the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN, for missing entries, are allowed.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : OnlineRobustPCA
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        self._check_observed(X)
        rng = self._rng()
        n = len(X)
        first = np.arange(n)
        if n > START_ROWS:
            first = np.sort(rng.choice(n, START_ROWS, replace=False))
        state = self._start(X[first].astype(np.float64))

        history = []
        previous = np.inf
        it = None
        with FitProgress(self, X, y, max_passes=self.max_iter, task_name="pass") as progress:
            it = Iterations(self.max_iter, self.tol, progress)
            for n_iter in it:
                # from the second pass on, let the sums fade, so that they cover about one pass
                order = rng.permutation(n) if self.shuffle else np.arange(n)
                fade = n if n_iter > 1 else None
                state, objective, excess = self._pass(state, X, order, fade)
                history.append(objective)

                # Huge cells must not hide that the objective of the other cells still changes.
                # Rows without noise leave an objective near zero, whose relative change never
                # becomes small.
                bounded = objective - excess
                change = abs(previous - bounded)
                negligible = 0.5 * EXACT_NOISE * X.shape[1] * state.typical**2
                unit = max(abs(bounded), negligible, np.finfo(float).tiny)
                it.residual = change / unit
                previous = bounded

        self._publish(state, X.dtype)
        self.objective_history_ = np.array(history)
        self.objective_ = history[-1]
        self.n_iter_ = it.n_iter
        self.n_samples_seen_ = n
        self._first_rows = None
        if not it.converged and not progress.stopped:
            warn_not_converged(
                self,
                reached=f"pass {it.n_iter} changed the objective by {it.residual:.1e}, relative "
                f"to itself (tol={self.tol:g})",
                remedy="increase max_iter or tol",
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Update the components with further rows, a batch at a time.

        As long as there are fewer than 200 rows, the start is recomputed and all rows are added
        again whenever their number has doubled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The next rows; gross errors and NaN, for missing entries, are allowed.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : OnlineRobustPCA
            The estimator.
        """
        is_first = "_state" not in vars(self)
        X = self._validate(X, reset=is_first)
        if is_first:
            self._check_observed(X)

        # compute the start from the first rows, and again once their number has doubled
        dtype = X.dtype
        state = None if is_first else self._state
        seen = 0 if is_first else self.n_samples_seen_
        rows = X
        first_rows = None if is_first else self._first_rows
        if is_first or first_rows is not None:
            kept = X if is_first else np.vstack([first_rows, X.astype(first_rows.dtype)])
            if is_first or len(kept) >= 2 * state.n_start:
                state = self._start(kept[:START_ROWS].astype(np.float64))
                rows = kept
            first_rows = kept if len(kept) < START_ROWS else None

        state, objective, _ = self._pass(state, rows, np.arange(len(rows)), None)
        self._publish(state, dtype)
        self.objective_ = objective
        self.n_samples_seen_ = seen + len(X)
        self._first_rows = first_rows
        for name in ("objective_history_", "n_iter_"):
            vars(self).pop(name, None)
        return self

    @by_rows
    def transform(self, X):
        """Compute the scores of rows on the components by robust regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed. If a row has too few known entries to determine
            the scores, they have minimum norm.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            Minimisers of the sum of Huber's function, without the penalty of the scores; scores
            depend only on their own row.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._scores(X).astype(X.dtype, copy=False)

    @by_rows
    def inverse_transform(self, X):
        """Reconstruct rows from scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        X = check_codes(X, self.n_components_, estimator=self)
        return (X @ self.components_).astype(X.dtype, copy=False)

    @by_rows
    def decompose(self, X):
        """Decompose rows into their robust projections and gross errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        low_rank : ndarray of shape (n_samples, n_features)
            ``inverse_transform(transform(X))``; missing entries are imputed.
        sparse : ndarray of shape (n_samples, n_features)
            ``X - low_rank`` where it exceeds ``outlier_threshold * noise_scale_``, else zero; zero
            in missing entries.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        low_rank = self._scores(X) @ self.components_
        return split_rows(X, low_rank, self.outlier_threshold * self.noise_scale_)

    @in_memory
    def find_outliers(self, X):
        """List the cells that are grossly wrong, the largest errors first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, decomposed by `decompose`.

        Returns
        -------
        outliers : DataFrame or structured ndarray
            A row for each cell: `row`, `column`, `value`, the value `expected` by the low-rank
            part, and the `size` of their difference in standard deviations of the noise of the
            column. Rows and columns have their names in `X`, or are numbered. A DataFrame if
            pandas is installed.
        """
        low_rank, sparse = self.decompose(X)
        names = getattr(self, "feature_names_in_", None)
        rows = row_names_of(X)
        return list_cells(low_rank, sparse, self.noise_scale_, rows=rows, columns=names)

    @by_rows
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
        residual = X - self._scores(X) @ self.components_
        return absolute_residuals(residual).astype(X.dtype)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative relative error of predicting hidden entries.

        Five groups of columns (column j is in group j modulo 5) are hidden in turn and predicted
        by robust regression on the others, as in :meth:`RobustPCA.score`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Negative sum of the absolute prediction errors, divided by ``|X|_1``: 0 is perfect.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).astype(np.float64)
        components = self.components_.astype(np.float64)
        return score_of_hidden(X, components, np.zeros(X.shape[1]), self._scores)

    def _validate(self, X, *, reset):
        return validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            reset=reset,
        )

    def _check_observed(self, X):
        if np.isnan(X).all():
            raise ValueError(
                f"{type(self).__name__} needs at least one observed entry, but all "
                f"{X.shape[0]} x {X.shape[1]} entries of X are NaN."
            )

    def _rng(self):
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _start(self, rows):
        """Compute noise and components of the first rows, by the batch method."""
        (n, p) = rows.shape
        q = np.mean(~np.isnan(rows))
        settings = TableSettings(
            lam=float((q * max(n, p)) ** -0.5), noise_std=self.noise_std, tol=START_TOL
        )
        typical = typical_magnitude(rows)
        rows = without_huge(rows, typical)
        terms = decompose_table(rows, settings, rng=check_random_state(0))

        # keep the noise above zero
        noise = terms.noise_scale
        if self.noise_std is None:
            noise = np.maximum(noise, EXACT_NOISE * typical)

        # add random components if more are requested than were found
        found = len(terms.s)
        requested = max(found, 1) if self.n_components is None else self.n_components
        k = min(requested, p)
        if k < requested:
            warn_fewer(self, asked=requested, found=k, reason=f"the number {p} of features")
        V = terms.Vt[:k].T * np.sqrt(terms.s[:k] / np.sqrt(n))
        if found < k:
            V = self._with_spare(V, k)
        return StreamState(V, empty_sums(noise, k, START_WEIGHT), noise, typical, n)

    def _with_spare(self, V, k):
        """Append short random components, orthogonal to V."""
        (p, found) = V.shape
        drawn = self._rng().normal(size=(p, k - found))
        unit = V / linalg.norm(V, axis=0) if found else V
        drawn -= unit @ (unit.T @ drawn)
        Q, _ = linalg.qr(drawn, mode="economic")
        length = float(linalg.norm(V, axis=0).min()) if found else 1.0
        return np.hstack([V, SPARE_LENGTH * length * Q])

    def _pass(self, state, X, order, fade):
        """Add batches of rows, and update components and noise after each batch.

        Return the state, the objective, and its part above typical magnitudes. `fade` is the
        number of rows that the sums remember, or None for the forgetting factor.
        """
        V, sums, noise, typical, n_start = state
        p = X.shape[1]
        total = 0.0
        excess = 0.0
        for first in range(0, len(order), self.batch_size):
            # 1. compute scores and errors of the batch
            rows = X[order[first : first + self.batch_size]].astype(np.float64)
            weight = sums.weight + len(rows) if fade is None else fade
            loss = pursuit_loss(self._sigma(noise), p, weight, self.alpha)
            batch = robust_ridge(rows, V, loss)
            total += float(batch.objective.sum())
            total += 0.5 * loss.ridge * len(rows) * float(np.sum(V**2))
            excess += unexplained(batch, loss.width, typical)

            # 2. add scores and errors to the sums, in which earlier rows fade
            if fade is None:
                factor = self.forget_factor ** len(rows)
            else:
                factor = 1 - len(rows) / fade
            sums = add_batch(sums.faded(factor), rows, V, batch, noise)

            # 3. update components and noise
            V = best_components(sums, loss.ridge)
            if self.noise_std is None:
                noise = noise_of_columns(sums, V.shape[1])
                noise = np.maximum(noise, EXACT_NOISE * typical)
        state = StreamState(V, sums, noise, typical, n_start)
        return state, total / len(order), excess / len(order)

    def _sigma(self, noise):
        return float(np.median(noise)) if self.noise_std is None else float(self.noise_std)

    def _publish(self, state, dtype):
        components, s = orthonormal(state.sums, state.V)
        self._state = state
        self.components_ = fix_signs(components).astype(dtype)
        self.singular_values_ = s.astype(dtype)
        self.n_components_ = len(s)
        self.noise_scale_ = state.noise.astype(dtype)
        self.noise_std_ = self._sigma(state.noise)

    def _scores(self, X):
        components = self.components_.astype(np.float64)
        width = pursuit_loss(self.noise_std_, X.shape[1], np.inf).width
        return huber_scores(X.astype(np.float64), components, width)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class StreamState(NamedTuple):
    """State of a stream, which `partial_fit` continues."""

    # Components, of shape (p, r).
    V: np.ndarray
    sums: StreamSums
    # Noise of each column, of shape (p,).
    noise: np.ndarray
    # Typical magnitude of an entry.
    typical: float
    # Number of rows from which the start was computed.
    n_start: int
