"""Matrix completion with the nuclear norm, as an imputer."""

import math
import warnings
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.blocks_input import (
    FitsBlocks,
    blocks_of,
    check_entries,
    in_blocks,
)
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    FLOATS,
    check_entry_weight,
    check_stored_weight,
    validate_data,
)
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.common.linalg import row_signs
from skmoderndata._solvers.common.row_sample import MOST_ROWS
from skmoderndata._solvers.lowrank.completion import Table, entries, solve_rows
from skmoderndata._solvers.lowrank.completion_blocks import complete_blocks
from skmoderndata._solvers.lowrank.completion_path import CompletionTask, free_weight
from skmoderndata._solvers.lowrank.pursuit_blocks import (
    Units,
    check_tall,
    sizes_of_blocks,
)
from skmoderndata._solvers.lowrank.svt import top_singular_pair
from skmoderndata._solvers.lowrank.table import CVXPY_LIMIT

# Fraction of the known cells that `score` hides.
_HIDDEN_IN_SCORE = 0.2


def _has_indicator(imputer):
    """Raise AttributeError if no indicator columns mark the missing cells."""
    if not imputer.add_indicator:
        raise AttributeError(
            f"inverse_transform needs {type(imputer).__name__}(add_indicator=True), because only "
            "the indicator columns show which cells were missing."
        )
    return True


class NuclearNormImputer(
    CallbackSupportMixin, OneToOneFeatureMixin, FitsBlocks, TransformerMixin, Base
):
    r"""Complete a table by the matrix of minimum nuclear norm that fits its known cells.

    Let `Z` be the table after centring and scaling, known on the cells :math:`\Omega`. The class
    solves

    .. math::

        \min_L \tfrac12 \sum_{(i, j) \in \Omega} (Z_{ij} - L_{ij})^2 + \alpha \|L\|_* ,

    where the nuclear norm is the sum of the singular values, so that `L` has low rank [1]_. For
    `alpha=0` it solves the limiting problem, :math:`\min \|L\|_*` subject to `L = Z` on
    :math:`\Omega` [2]_. With weights :math:`w_{ij}` of the cells (`entry_weight` of `fit`) each
    square is multiplied by its weight, and a cell of weight 0 is missing.

    Parameters
    ----------
    n_components : int, default=None
        Largest rank of `L`. If the limit is active, the problem is not convex: the result is a
        local minimum reached from larger `alpha`, and `dual_gap_` is relative to the optimum
        without the limit. With `alpha=0` it is a least squares fit at that rank. None means no
        limit.
    alpha : "auto" or float, default="auto"
        Weight of the nuclear norm. "auto" hides a tenth of the known cells, follows the path of
        solutions from large to small `alpha` and chooses the value that predicts the hidden cells
        best (repeatedly for small tables; with fewer than 30 known cells it is
        ``0.1 * alpha_max_``). Zero requires exact agreement with the known cells.
    alpha_scale : {"relative", "absolute"}, default="relative"
        Whether a number given as `alpha` is a fraction of `alpha_max_`, the smallest value at
        which `L` vanishes, or the weight in the objective itself.
    center : bool, default=True
        Whether to subtract the mean of the known cells from each column.
    scale : "auto" or bool, default="auto"
        Whether to divide each column by the standard deviation of its known cells (their root mean
        square if `center` is False), for columns in different units. "auto" means True for dense
        tables and False for sparse ones, whose entries are assumed to have one unit. Constant
        columns are not scaled.
    debias : bool, default=True
        Whether to refit the singular values by least squares on the known cells (to values `d`,
        never below the singular values of `L`) and to shrink the scores of each row by
        :math:`d^2 / (d^2 + \alpha^2)` instead of :math:`(d - \alpha) / d`. The row space still
        belongs to the convex problem, but strong components hardly shrink, which predicts missing
        cells better on most tables. False fills cells with the solution of the convex problem.
        Ignored for `alpha=0`.
    solver : {"thresholding", "cvxpy"}, default="thresholding"
        "thresholding": repeated singular value thresholding. "cvxpy": the semidefinite program
        of the problem by an interior point method, for rows plus columns up to 200 and without
        `n_components`; `alpha="auto"` is always chosen by thresholding.
    polish : bool, default=True
        For `alpha=0`: whether to refine the solution to rounding accuracy by alternating least
        squares at its rank. The refinement is used only if it fits the known cells to 1e-9 and is
        certified.
    tol : float, default=1e-5
        Largest relative duality gap at which the solver stops.
    max_iter : int, default=500
        Maximum number of singular value thresholdings for the final `alpha`.
    min_value : float or array-like of shape (n_features,), default=-inf
        Lower bound of the imputed values, one for all features or one for each. As in
        :class:`~sklearn.impute.IterativeImputer`, values beyond a bound are replaced by the bound;
        the low-rank fit and the known cells do not change.
    max_value : float or array-like of shape (n_features,), default=inf
        Upper bound of the imputed values.
    missing_values : float, int or pandas.NA, default=nan
        Placeholder of the missing cells. For sparse input, cells that are not stored are missing,
        too; a stored zero is a known zero.
    add_indicator : bool, default=False
        Whether to append the columns of a :class:`~sklearn.impute.MissingIndicator` to the output.
    keep_empty_features : bool, default=False
        Whether to fill columns without a known cell in `fit` with zeros; otherwise they are
        dropped.
    random_state : int, RandomState instance or None, default=0
        Controls the cells hidden by `alpha="auto"` and by `score`, and the starting vectors.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_kept_features)
        Right singular vectors of `L` in descending order of singular values, with positive largest
        entries: the row space in which new rows are completed.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of `L` (refitted ones with `debias`).
    row_scores_ : ndarray of shape (n_samples, n_components_)
        Scores of the training rows; ``row_scores_ @ components_`` completes the table. Not stored
        for a Dask array.
    row_penalty_ : ndarray of shape (n_components_,)
        Ridge penalty on each score when a row is completed.
    mean_, scale_ : ndarray of shape (n_kept_features,)
        Centre and scale of each column.
    features_ : ndarray of shape (n_kept_features,)
        Columns with a known cell in `fit`.
    n_components_ : int
        Rank of `L`.
    alpha_ : float
        Weight used, in the units of the objective.
    alpha_max_ : float
        Spectral norm of `Z`, times the weights, with zeros in the missing cells: from this
        `alpha` on, `L` is zero.
    alpha_path_, validation_errors_ : ndarray or None
        Values of `alpha` tried by "auto", and root mean squared error on the hidden cells, in
        units of `Z`; None when `alpha` was given.
    objective_ : float
        Value of the objective (the nuclear norm for `alpha=0`), before `debias`.
    dual_gap_ : float
        Relative duality gap: an upper bound on the relative suboptimality of the objective.
        Infinite for `alpha=0` with `n_components`, which has no certificate.
    n_iter_ : int
        Number of singular value thresholdings at the final `alpha`.
    indicator_ : MissingIndicator or None
        The indicator when `add_indicator` is True.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.impute.KNNImputer : Averages the nearest rows; local where this is linear and global.
    sklearn.impute.IterativeImputer : One regression per column, in rounds; more flexible, much
        slower with many columns.
    skmoderndata.decomposition.RobustPCA : Low rank plus sparse gross errors.

    Notes
    -----
    The solver is the alternating direction method of multipliers [3]_, warm-started along a path
    of `alpha`; its step is the step of soft-impute [1]_ with corrected known cells. `fit` never
    makes a sparse table dense: each pass multiplies `sparse + low rank` by thin blocks, at a cost
    of O((n_known + (n + p) r) r). A pass over a dense table costs one partial singular value
    decomposition.

    A new row is completed from its known cells by ridge regression on `components_` with
    `row_penalty_`, which is exactly what the nuclear norm implies for a row given the row space.
    The training rows are completed by the same regression at the end of `fit`, so that
    `fit_transform` and `transform` agree up to rounding errors. Known cells are returned
    unchanged.

    `fit` of a Dask array or data frame solves the same problem over its blocks, for at least ten
    rows for each column. "auto" then chooses `alpha` on 10,000 rows, as a fraction of
    `alpha_max_`; ``alpha=0``, `n_components` and `entry_weight` raise ValueError.

    `transform` of a sparse table returns a dense array, because a completed table has no missing
    cells; for single cells of a large table use `predict_entries`.

    References
    ----------
    .. [1] Mazumder, Hastie and Tibshirani, Spectral regularization algorithms for learning large
       incomplete matrices, JMLR 11, 2010, Algorithm 1.
    .. [2] Candes and Recht, Exact matrix completion via convex optimization, Foundations of
       Computational Mathematics 9, 2009.
    .. [3] Lin, Chen and Ma, The augmented Lagrange multiplier method for exact recovery of
       corrupted low-rank matrices, arXiv:1009.5055, 2010, Algorithm 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.impute import NuclearNormImputer
    >>> table = np.outer([1.0, 2, 3, 4, 5], [1.0, 2, 3, 4])
    >>> table[0, 1] = table[2, 0] = table[4, 3] = np.nan
    >>> imputer = NuclearNormImputer(alpha=0, center=False, scale=False)
    >>> imputer.fit_transform(table)[[0, 2, 4], [1, 0, 3]].round(6)
    array([ 2.,  3., 20.])
    >>> imputer.n_components_
    1
    """

    _card = MethodCard(
        family="low rank and sparse",
        cite=(
            "mazumder2010spectral",
            "candes2009exact",
            "lin2010augmented",
            "cai2010singular",
        ),
        cost="T (n p k) dense, T (n_known + (n + p) k) k sparse",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "alpha": [StrOptions({"auto"}), NON_NEGATIVE],
        "alpha_scale": [StrOptions({"relative", "absolute"})],
        "center": ["boolean"],
        "scale": [StrOptions({"auto"}), "boolean"],
        "debias": ["boolean"],
        "solver": [StrOptions({"thresholding", "cvxpy"})],
        "polish": ["boolean"],
        "tol": [NON_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
        "min_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "max_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "missing_values": "no_validation",  # `fit` checks it: a number, NaN or pandas.NA
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        alpha="auto",
        alpha_scale="relative",
        center=True,
        scale="auto",
        debias=True,
        solver="thresholding",
        polish=True,
        tol=1e-5,
        max_iter=500,
        min_value=-np.inf,
        max_value=np.inf,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=0,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.alpha_scale = alpha_scale
        self.center = center
        self.scale = scale
        self.debias = debias
        self.solver = solver
        self.polish = polish
        self.tol = tol
        self.max_iter = max_iter
        self.min_value = min_value
        self.max_value = max_value
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state

    def __getattr__(self, name):
        if name == "row_scores_" and "n_features_in_" in vars(self):
            raise AttributeError(
                f"{type(self).__name__} does not keep row_scores_ for the rows of a Dask array: "
                "transform(X) completes them, and predict_entries accepts X in memory."
            )
        return super().__getattr__(name)

    # Without this line, users who request metadata for `fit` would have to do so for `transform`
    # too.
    __metadata_request__transform = {"entry_weight": UNUSED}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, entry_weight=None):
        """Learn the row space and the scale of the singular values from the known cells.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or data frame} of shape (n_samples, n_features)
            Table with missing cells.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Non-negative weights of the squared residuals of the known cells; weight 0 makes a cell
            missing. They also apply to means and scales of columns, to the cells hidden by
            ``alpha="auto"`` and to the refit of `debias`. With `alpha=0` their size matters only
            if `n_components` is set. For sparse `X` they may be sparse: cells that are not stored
            have weight 0. None means 1.

        Returns
        -------
        self : NuclearNormImputer
            The fitted imputer.
        """
        read = self._rows_in_blocks if in_blocks(X, on_disk=False) else self._rows_in_memory
        rows = read(X, entry_weight)
        self._check_known(rows.n_known, rows.shape)
        self._bounds = self._checked_bounds(rows.shape[1])

        # 1. standardise the columns that have known cells
        self._fit_features(rows.n_known, rows.shape[0])
        rows.keep(self.features_)
        mean, spread, peak = rows.moments(self.center)
        scales = rows.has_zeros if self.scale == "auto" else self.scale
        self._set_units(mean, spread, peak, rows.dtype, scales)
        rows.standardise(self.mean_, self.scale_)

        # 2. complete the table
        with FitProgress(self, X, y, max_passes=None) as progress:
            solution = rows.complete(self, progress)
        self._store(solution, rows.lam_max)
        self._warn(solution, progress)
        return self

    def _rows_in_memory(self, X, entry_weight):
        X, observed, weights = self._validate(X, entry_weight, reset=True)
        if self.solver == "cvxpy" and (sum(X.shape) > CVXPY_LIMIT or self.n_components):
            raise ValueError(
                f"{type(self).__name__}(solver='cvxpy') is for rows plus columns up to "
                f"{CVXPY_LIMIT} and n_components=None, got X of shape {X.shape} and "
                f"n_components={self.n_components}; use solver='thresholding'."
            )
        return RowsInMemory(X, observed, weights)

    def _rows_in_blocks(self, X, entry_weight):
        self._refuse_in_blocks(entry_weight)
        marked_by_nan = _is_nan(self.missing_values)
        finite = "allow-nan" if marked_by_nan else True
        blocks = blocks_of(self, X, dtype=FLOATS, ensure_all_finite=finite)
        owner = type(self).__name__
        check_tall(blocks.shape, owner=owner)
        return RowsInBlocks(blocks, np.nan if marked_by_nan else self.missing_values, owner)

    def _refuse_in_blocks(self, entry_weight):
        """Raise ValueError for parameters that need all rows at once."""
        self._check_missing_values()
        refused = {
            "entry_weight": (entry_weight is not None, "entry_weight=None"),
            "n_components": (self.n_components is not None, "n_components=None"),
            "alpha": (self.alpha != "auto" and self.alpha == 0, "a small positive alpha"),
            "solver": (self.solver == "cvxpy", "solver='thresholding'"),
        }
        for name, (given, remedy) in refused.items():
            if given:
                value = "" if name == "entry_weight" else f"={getattr(self, name)!r}"
                raise ValueError(
                    f"{type(self).__name__}.fit of a Dask array does not take {name}{value}: set "
                    f"{remedy}, or fit to X.compute() if all rows fit into memory."
                )

    def _checked_bounds(self, n_features):
        """Return the bounds of the imputed values, of shape (2, n_features)."""
        bounds = np.empty((2, n_features))
        for row, name, free in zip(bounds, ("min", "max"), (-np.inf, np.inf), strict=True):
            value = getattr(self, f"{name}_value")
            values = np.asarray(free if value is None else value, dtype=np.float64)
            if values.shape not in ((), (n_features,)) or np.isnan(values).any():
                raise ValueError(
                    f"{type(self).__name__}: {name}_value must be a number or an array with a "
                    f"number for each of the {n_features} features, got {value!r}."
                )
            row[:] = values

        wrong = np.flatnonzero(bounds[0] >= bounds[1])
        if wrong.size:
            raise ValueError(
                f"{type(self).__name__}: min_value must be below max_value, but feature "
                f"{wrong[0]} has the bounds {bounds[0, wrong[0]]:g} and {bounds[1, wrong[0]]:g}."
            )
        return bounds

    def _clipped(self, values, columns):
        """Clip imputed values to the bounds of their features in the table of `fit`."""
        return np.clip(values, *self._bounds[:, columns].astype(values.dtype))

    def _check_known(self, n_known, shape):
        if not np.any(n_known):
            raise ValueError(
                f"{type(self).__name__} needs at least one known cell, and all "
                f"{shape[0]} x {shape[1]} cells of X are missing."
            )

    def _warn(self, solution, progress):
        if not (solution.converged or progress.stopped):
            warn_not_converged(
                self,
                reached=f"relative duality gap {solution.gap:.2g} after {self.n_iter_} passes",
                remedy=f"increase max_iter={self.max_iter}, tol={self.tol} or alpha",
            )

    def fit_transform(self, X, y=None, *, entry_weight=None):
        """Fit, and fill the missing cells of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing cells.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Weights of the cells, as in `fit`.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_output_features)
            Result of ``fit(X, entry_weight=W).transform(X, entry_weight=W)``: `X` with unchanged
            known cells.
        """
        return self.fit(X, y, entry_weight=entry_weight).transform(
            X, entry_weight=entry_weight
        )

    @by_rows
    def transform(self, X, *, entry_weight=None):
        """Fill the missing cells of each row from its known cells.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to complete.
        entry_weight : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Weights of the cells of these rows, in the same unit as in `fit`; weight 0 makes a
            cell missing. They are for direct calls: metadata routing passes weights only to `fit`,
            `fit_transform` and `score`.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_output_features)
            `X` with unchanged known cells, whatever their weight, unless it is 0; dense for
            sparse input, too. A row without known cells gets the column means.
        """
        check_is_fitted(self)
        X, observed, weights = self._dense(*self._validate(X, entry_weight, reset=False))
        kept = None if weights is None else weights[:, self.features_]
        filled = self._fill(X[:, self.features_], observed[:, self.features_], kept)

        if self.keep_empty_features and filled.shape[1] < X.shape[1]:
            completed = filled
            filled = self._clipped(np.zeros_like(X), slice(None))
            filled[:, self.features_] = completed

        if not self.add_indicator:
            return filled
        gaps = self.indicator_.transform(np.where(observed, 0.0, np.nan))
        return np.hstack([filled, gaps.astype(filled.dtype)])

    @available_if(_has_indicator)
    @by_rows
    def inverse_transform(self, X):
        """Restore the missing cells, from the columns added by `add_indicator`.

        Only with ``add_indicator=True``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_output_features)
            Output of `transform`.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features_in_)
            The table with `missing_values` in the cells that the indicator marks and in the
            columns without known cells. Gaps in columns complete in `fit` have no indicator and
            stay filled.
        """
        check_is_fitted(self)
        X = np.asarray(X)
        marked = self.indicator_.features_
        columns = (
            np.arange(self.n_features_in_) if self.keep_empty_features else self.features_
        )

        if X.ndim != 2 or X.shape[1] != columns.size + marked.size:
            raise ValueError(
                f"X must have {columns.size} filled and {marked.size} indicator columns, "
                f"got shape {X.shape}."
            )

        mark = np.nan if _is_nan(self.missing_values) else self.missing_values
        out = np.full((len(X), self.n_features_in_), mark, dtype=X.dtype)
        out[:, self.features_] = X[:, np.searchsorted(columns, self.features_)]

        # remove the cells that the indicator marks
        gaps = np.zeros(out.shape, dtype=bool)
        gaps[:, marked] = X[:, columns.size :].astype(bool)
        out[gaps] = mark
        return out

    def predict_entries(self, rows, columns, X=None):
        """Return single cells of the completed table without forming it.

        Parameters
        ----------
        rows, columns : array-like of shape (n_cells,)
            Row and column of each cell.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Table whose rows `rows` indexes; None means the training table.

        Returns
        -------
        values : ndarray of shape (n_cells,)
            The low-rank fit in the units of the data and within the bounds, for known cells too.
            Columns without known cells in `fit` give 0 with `keep_empty_features`; otherwise they
            raise ValueError.
        """
        check_is_fitted(self)
        if X is None:
            scores = self.row_scores_
        else:
            X, observed, _ = self._validate(X, None, reset=False)
            scores = self._scores(X[:, self.features_], observed[:, self.features_])

        rows = _cell_index(rows, len(scores), "rows")
        columns = _cell_index(columns, self.n_features_in_, "columns")
        if rows.size != columns.size:
            raise ValueError(
                f"rows and columns must have the same length, got {rows.size} and {columns.size}."
            )

        # find the columns in the fitted table, which does not contain columns without a known cell
        position = np.full(self.n_features_in_, -1)
        position[self.features_] = np.arange(self.features_.size)
        index = position[columns]
        empty = index < 0

        if empty.any() and not self.keep_empty_features:
            raise ValueError(
                f"columns {np.unique(columns[empty])} had no known cell in fit and were dropped."
            )
        index[empty] = 0

        # compute cells of U V' in the units of the table
        values = entries(scores.astype(np.float64), self.components_, rows, index)
        values = values * self.scale_[index] + self.mean_[index]
        values[empty] = 0

        return self._clipped(values, columns).astype(self.components_.dtype, copy=False)

    @in_memory
    def score(self, X, y=None, *, entry_weight=None):
        """Compute the negative root mean squared error on hidden known cells.

        A fifth of the known cells of `X`, chosen with `random_state` (0 unless it is an
        integer), is hidden, completed from the other cells of their rows and compared. Errors are
        in the units of the data, so that estimators with different `scale` can be compared;
        columns in large units dominate: put a :class:`~sklearn.preprocessing.StandardScaler`
        before the imputer to give columns equal weight.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Held-out rows, with or without missing cells.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Weights of the cells, in the completion and in the mean of squared errors; cells of
            weight 0 are missing.

        Returns
        -------
        score : float
            At most 0, higher is better.
        """
        check_is_fitted(self)
        X, observed, weights = self._dense(*self._validate(X, entry_weight, reset=False))
        X = X[:, self.features_]
        observed = observed[:, self.features_]
        weights = None if weights is None else weights[:, self.features_]
        n_known = np.count_nonzero(observed)
        if n_known == 0:
            raise ValueError(
                "score needs known cells, and X has none in the features kept by fit."
            )

        # hide some of the known cells, and predict them
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
        n_hidden = max(1, round(_HIDDEN_IN_SCORE * n_known))
        hide = np.zeros(n_known, dtype=bool)
        hide[np.random.RandomState(seed).permutation(n_known)[:n_hidden]] = True
        hidden = np.zeros_like(observed)
        hidden[observed] = hide

        error = self._fill(X, observed & ~hidden, weights)[hidden] - X[hidden]
        error = error.astype(np.float64)
        if weights is None:
            return -_root_mean_square(error)
        return -float(np.sqrt(np.average(error**2, weights=weights[hidden])))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input features; None uses the names seen in `fit`.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Names of the kept features, then of the indicator columns.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        retained = names if self.keep_empty_features else names[self.features_]
        if not self.add_indicator:
            return retained
        return np.concatenate([retained, self.indicator_.get_feature_names_out(names)])

    def _validate(self, X, entry_weight, *, reset):
        """Return X, the known cells, and their weights or None.

        Known cells are a mask, or for sparse X a sparse pattern of ones; weights are an array, or
        for sparse X of the same pattern.
        """
        self._check_missing_values()
        marked_by_nan = _is_nan(self.missing_values)
        X = validate_data(
            self,
            X,
            reset=reset,
            stored_zeros=True,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan" if marked_by_nan else True,
        )

        name = type(self).__name__
        if not sparse.issparse(X):
            observed = ~np.isnan(X) if marked_by_nan else X != self.missing_values
            weights = check_entry_weight(entry_weight, X, owner=name)
            return X, *_known_of_weight(observed, weights, X.dtype)
        if self.missing_values == 0:
            raise ValueError(
                f"{type(self).__name__}(missing_values=0) does not fit sparse input, where cells "
                "that are not stored are missing anyway; pass a dense array."
            )

        # remove stored cells that count as missing
        X = sparse.csr_array(X)
        stored = ~np.isnan(X.data) if marked_by_nan else X.data != self.missing_values
        weights = check_stored_weight(entry_weight, X, owner=name)
        stored, weights = _known_of_weight(stored, weights, X.dtype)
        if not stored.all():
            indptr = np.concatenate([[0], np.cumsum(stored)])[X.indptr]
            X = sparse.csr_array((X.data[stored], X.indices[stored], indptr), shape=X.shape)
            weights = None if weights is None else weights[stored]

        pattern = (X.indices, X.indptr)
        observed = sparse.csr_array((np.ones(X.nnz), *pattern), shape=X.shape)
        if weights is not None:
            weights = sparse.csr_array((weights, *pattern), shape=X.shape)
        return X, observed, weights

    def _check_missing_values(self):
        if not (_is_nan(self.missing_values) or isinstance(self.missing_values, Real)):
            raise ValueError(
                f"missing_values of {type(self).__name__} must be a number, NaN or pandas.NA, "
                f"got {self.missing_values!r}."
            )

    @staticmethod
    def _dense(X, observed, weights):
        if not sparse.issparse(X):
            return X, observed, weights
        return (
            X.toarray(),
            observed.toarray() > 0,
            None if weights is None else weights.toarray(),
        )

    def _fit_features(self, n_known, n_samples):
        self.features_ = np.flatnonzero(n_known)
        if self.features_.size < n_known.size and not self.keep_empty_features:
            empty = np.flatnonzero(n_known == 0)
            if hasattr(self, "feature_names_in_"):
                empty = self.feature_names_in_[empty]

            shown = ", ".join(map(repr, empty[:10].tolist()))
            if empty.size > 10:
                shown += f" and {empty.size - 10} more"

            warnings.warn(
                f"{type(self).__name__} drops features without any known cell: {shown}; "
                "keep_empty_features=True keeps them, filled with zeros.",
                stacklevel=3,
            )

        self.indicator_ = None
        if self.add_indicator:
            gaps = np.where(n_known < n_samples, np.nan, 0.0)[None]
            self.indicator_ = MissingIndicator(error_on_new=False).fit(gaps)

    def _set_units(self, mean, spread, peak, dtype, scaled):
        # if a feature is constant up to rounding errors, use its magnitude as its scale
        constant = spread <= 1e3 * np.finfo(dtype).eps * np.abs(mean)
        self.mean_ = mean.astype(dtype)
        self.scale_ = np.ones(mean.size, dtype=dtype)
        if scaled:
            scale = np.where(constant | (spread == 0), peak, spread)
            self.scale_ = np.where(scale > 0, scale, 1.0).astype(dtype)

    def _scores(self, X, observed, weights=None):
        """Scores of rows under the learned row space, in the units of the table."""
        table = _table(X, observed, weights, self.mean_, self.scale_)
        free = free_weight(self.singular_values_)
        return solve_rows(table.X, self.components_, self.row_penalty_, free, table.weights)

    def _fill(self, X, observed, weights=None):
        filled = X.copy()
        gaps = np.flatnonzero(~observed.all(axis=1))
        if gaps.size == 0:
            return filled
        X = X[gaps]
        observed = observed[gaps]
        weights = None if weights is None else weights[gaps]
        scores = self._scores(np.where(observed, X, 0), observed, weights)
        completed = scores @ self.components_
        completed = self._clipped(completed * self.scale_ + self.mean_, self.features_)
        filled[gaps] = np.where(observed, X, completed)
        return filled

    def _weight(self, lam_max):
        """Return the weight of the nuclear norm that `alpha` means, unless `alpha` is "auto"."""
        return float(self.alpha) * (lam_max if self.alpha_scale == "relative" else 1.0)

    def _tolerance(self, dtype):
        """Return `tol`, but not less than the rounding errors of the type."""
        return max(self.tol, 100 * float(np.finfo(dtype).eps))

    def _store(self, solution, lam_max):
        dtype = self.mean_.dtype
        signs = row_signs(solution.Vt)
        self.components_ = np.ascontiguousarray(solution.Vt * signs[:, None], dtype=dtype)
        self.singular_values_ = solution.s.astype(dtype)
        vars(self).pop("row_scores_", None)
        if solution.scores is not None:
            self.row_scores_ = (solution.scores * signs).astype(dtype)
        self.row_penalty_ = solution.penalty
        self.n_components_ = len(self.components_)
        self.alpha_ = solution.lam
        self.alpha_max_ = lam_max
        self.alpha_path_ = solution.path
        self.validation_errors_ = solution.errors
        self.objective_ = solution.objective
        self.dual_gap_ = solution.gap
        self.n_iter_ = solution.n_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = _is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RowsInMemory:
    """Known cells of a table in memory.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        Checked table.
    observed : ndarray of bool or sparse array
        Known cells, for sparse X a pattern of ones.
    weights : ndarray, sparse array or None
        Weights of the known cells.
    """

    def __init__(self, X, observed, weights):
        self.X = X
        self.observed = observed
        self.weights = weights
        self.shape = X.shape
        self.dtype = X.dtype
        # Whether zero is an ordinary value, so that columns may be scaled.
        self.has_zeros = not sparse.issparse(X)
        self.n_known = np.asarray(observed.sum(axis=0)).ravel()

    def keep(self, columns):
        """Keep these columns and drop all others."""
        self.X = self.X[:, columns]
        self.observed = self.observed[:, columns]
        if self.weights is not None:
            self.weights = self.weights[:, columns]

    def moments(self, center):
        """Return mean (0 unless `center`), deviation and largest magnitude of each column."""
        X = self.X
        weights = self.weights
        if sparse.issparse(X):
            columns = X.indices
            values = X.data.astype(np.float64)
            w = 1.0 if weights is None else weights.data.astype(np.float64)
        else:
            columns = np.nonzero(self.observed)[1]
            values = X[self.observed].astype(np.float64)
            w = 1.0 if weights is None else weights[self.observed].astype(np.float64)

        p = X.shape[1]
        count = np.bincount(columns, None if weights is None else w, minlength=p)
        mean = np.zeros(p)
        if center:
            mean = np.bincount(columns, w * values, minlength=p) / count
        peak = np.zeros(p)
        np.maximum.at(peak, columns, np.abs(values))
        squares = np.bincount(columns, w * (values - mean[columns]) ** 2, minlength=p)
        return mean, np.sqrt(squares / count), peak

    def standardise(self, mean, scale):
        """Subtract means and divide by scales; find the weight at which L vanishes."""
        self.table = _table(self.X, self.observed, self.weights, mean, scale)
        weighted = self.table.matrix(self.table.weighted(self.table.data))
        self.lam_max = top_singular_pair(weighted)[0]

    def complete(self, imputer, progress):
        """Complete the table, for a path of weights if `alpha` is "auto"."""
        table = self.table
        cap = imputer.n_components
        if cap is not None and cap >= min(table.shape):
            cap = None
        task = CompletionTask(
            cap,
            imputer.debias,
            imputer._tolerance(table.data.dtype),
            imputer.max_iter,
            check_random_state(imputer.random_state),
            progress,
            imputer.solver,
            imputer.polish,
        )
        if imputer.alpha == "auto":
            return task.search(table, self.lam_max)
        return task.solve(table, imputer._weight(self.lam_max), self.lam_max)


class RowsInBlocks:
    """Known cells of a table in blocks.

    Parameters
    ----------
    blocks : ArrayBlocks
        Rows.
    missing : float
        Value of missing cells.
    owner : str
        Name of the class in messages.
    """

    has_zeros = True

    def __init__(self, blocks, missing, owner):
        self.blocks = blocks
        self.shape = blocks.shape
        self.dtype = np.float32 if blocks.arrays[0].dtype == np.float32 else np.float64
        p = self.shape[1]
        self.units = Units(np.arange(p), np.zeros(p), np.ones(p), missing)
        totals = blocks.sum(_totals_of_block, self.units, owner)
        self.n_known, self.total, self.peak = totals

    def keep(self, columns):
        """Keep these columns and drop all others."""
        ones = np.ones(columns.size)
        self.units = self.units._replace(columns=columns, mean=0 * ones, scale=ones)

    def moments(self, center):
        """Return mean (0 unless `center`), deviation and largest magnitude of each column."""
        kept = self.units.columns
        count = self.n_known[kept]
        mean = self.total[kept] / count if center else np.zeros(kept.size)
        (squares,) = self.blocks.sum(_squares_of_block, self.units._replace(mean=mean))
        return mean, np.sqrt(squares / count), self.peak.value[kept]

    def standardise(self, mean, scale):
        """Subtract means and divide by scales; find the weight at which L vanishes."""
        self.units = self.units._replace(mean=mean, scale=scale)
        self.sizes, self.lam_max = sizes_of_blocks(self.blocks, self.units)

    def complete(self, imputer, progress):
        """Complete the table; if `alpha` is "auto", choose the weight on a sample in memory."""
        path = errors = None
        if imputer.alpha == "auto":
            lam, path, errors = self._chosen_weight(imputer)
        else:
            lam = imputer._weight(self.lam_max)
        solution = complete_blocks(
            self.blocks,
            self.units,
            self.sizes,
            lam,
            self.lam_max,
            debias=imputer.debias,
            tol=imputer._tolerance(self.dtype),
            max_iter=imputer.max_iter,
            progress=progress,
        )
        return solution._replace(path=path, errors=errors)

    def _chosen_weight(self, imputer):
        """Fit to a sample of the rows; scale the weights by those at which L vanishes."""
        n = self.shape[0]
        rows = np.arange(n)
        if n > MOST_ROWS:
            rng = check_random_state(imputer.random_state)
            rows = np.sort(rng.choice(n, MOST_ROWS, replace=False))
        model = clone(imputer).set_params(tol=max(imputer.tol, 1e-2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.blocks.sample(rows)[0])
        unit = self.lam_max / model.alpha_max_ if model.alpha_max_ else 1.0
        path = None if model.alpha_path_ is None else model.alpha_path_ * unit
        return model.alpha_ * unit, path, model.validation_errors_


def _table(X, observed, weights, mean, scale):
    """Centre and scale the known cells; return them as a table for the solver."""
    cells = X
    dense = not sparse.issparse(X)
    if dense:
        cells = sparse.csr_array((X[observed], np.nonzero(observed)), shape=X.shape)
    data = (cells.data - mean[cells.indices]) / scale[cells.indices]
    if weights is not None:
        weights = weights[observed] if dense else weights.data
    standardised = sparse.csr_array((data, cells.indices, cells.indptr), shape=X.shape)
    return Table(standardised, dense, weights)


def _totals_of_block(block, units, owner):
    check_entries(np.asarray(block.arrays[0]), owner=owner, allow_nan=np.isnan(units.missing))
    X = units.rows(block)
    known = ~np.isnan(X)
    filled = np.where(known, X, 0.0)
    return known.sum(axis=0), filled.sum(axis=0), Largest(np.abs(filled).max(axis=0))


def _squares_of_block(block, units):
    return (np.nansum(units.rows(block) ** 2, axis=0),)


def _known_of_weight(observed, weights, dtype):
    """Leave out cells of weight 0; return known cells and weights, None if all weights are 1."""
    if weights is None:
        return observed, None
    weights = weights.astype(dtype)  # in single precision, some weights may become zero
    observed = observed & (weights > 0)
    if (weights[observed] == 1).all():
        return observed, None
    return observed, weights


def _root_mean_square(x):
    return float(np.sqrt(np.mean(x**2))) if x.size else 0.0


def _is_nan(value):
    return type(value).__name__ == "NAType" or (isinstance(value, Real) and math.isnan(value))


def _cell_index(index, size, name):
    index = column_or_1d(index)
    if index.size and (index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= size):
        raise ValueError(f"{name} must be integers from 0 to {size - 1}, got {index!r}.")
    return index.astype(np.int64)
