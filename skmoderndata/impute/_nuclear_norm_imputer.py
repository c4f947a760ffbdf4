"""Matrix completion with the nuclear norm, as an imputer."""

import math
import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._base import Base, FitProgress, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.lowrank.completion import (
    DenseTable,
    Factors,
    SparseTable,
    Thresholder,
    alternating_least_squares,
    empty_factors,
    entries_at,
    exact_completion,
    exact_gap,
    row_penalty,
    soft_completion,
    soft_gap,
    solve_rows,
    top_singular_pair,
)
from skmoderndata._validation import validate_data

_HIDDEN_IN_FIT = 0.1  # share of the known cells on which lam="auto" is judged
_HIDDEN_IN_SCORE = 0.2
_ENOUGH_CELLS = 30  # fewer known cells than this cannot spare any to choose lam
_FALLBACK = 0.1  # fraction of lam_max taken then
_PATH_RATIO, _PATH_LENGTH = 0.7, 20  # lam="auto" looks from 0.7 lam_max down to 8e-4 lam_max


def _has_indicator(imputer):
    """Without the indicator columns nothing tells which cells were missing."""
    if not imputer.add_indicator:
        raise AttributeError(
            f"inverse_transform needs {type(imputer).__name__}(add_indicator=True): without the "
            "indicator columns nothing tells which cells were missing."
        )
    return True


class NuclearNormImputer(CallbackSupportMixin, OneToOneFeatureMixin, TransformerMixin, Base):
    r"""Complete a table by the matrix of least nuclear norm that fits its known cells.

    With `Z` the table after centring and scaling, known on the cells :math:`\Omega`, it solves

    .. math::

        \min_L \tfrac12 \sum_{(i, j) \in \Omega} (Z_{ij} - L_{ij})^2 + \lambda \|L\|_* ,

    where the nuclear norm is the sum of the singular values, so that `L` has low rank [1]_. For
    `lam=0` it solves the limit, :math:`\min \|L\|_*` subject to `L = Z` on :math:`\Omega` [2]_.

    Parameters
    ----------
    lam : "auto" or float, default="auto"
        Weight of the nuclear norm. "auto" hides a tenth of the known cells, follows the path of
        solutions from large to small `lam` and takes the value that predicts the hidden cells
        best (several times over in small tables; with fewer than 30 known cells it takes
        ``0.1 * lam_max_``). Zero asks for exact agreement with the known cells.
    lam_scale : {"relative", "absolute"}, default="relative"
        Whether a number given as `lam` is a fraction of `lam_max_`, the smallest value at which
        `L` vanishes, or the weight in the objective itself.
    n_components : int, default=None
        Cap on the rank of `L`. When it binds the problem is no longer convex: the answer is a
        local minimum reached from larger `lam`, and `dual_gap_` tells how far it is from the
        problem without the cap. With `lam=0`, least squares at that rank. None sets no cap.
    center : bool, default=True
        Subtract from each column the mean of its known cells.
    scale : "auto" or bool, default="auto"
        Divide each column by the standard deviation of its known cells (their root mean square
        when `center` is False), for columns in different units. "auto" does so for dense tables
        and not for sparse ones, whose entries are taken to be in one unit. Constant columns are
        left as they are.
    debias : bool, default=True
        Refit the singular values by least squares on the known cells (`d`, never below those of
        `L`) and shrink the scores of each row by :math:`d^2 / (d^2 + \lambda^2)` instead of
        :math:`(d - \lambda) / d`: the row space is that of the convex problem, but strong
        components are hardly shrunk, which predicts missing cells better on most tables. False
        fills with the solution of the convex problem itself. Ignored for `lam=0`.
    polish : bool, default=True
        For `lam=0`: bring the solution to rounding accuracy by alternating least squares at the
        rank found, kept only if it then fits the known cells to 1e-9 and the certificate holds.
    tol : float, default=1e-5
        Largest relative duality gap at which the solver stops.
    max_iter : int, default=500
        Largest number of singular value thresholdings for the final `lam`.
    missing_values : float, int or pandas.NA, default=nan
        Mark of the missing cells. For sparse input the cells that are not stored are missing,
        besides stored ones with this mark; a stored zero is a known zero.
    add_indicator : bool, default=False
        Append the columns of a :class:`~sklearn.impute.MissingIndicator` to the output.
    keep_empty_features : bool, default=False
        Columns without a known cell in `fit` are filled with zeros if True, else dropped.
    random_state : int, RandomState instance or None, default=0
        Draws the cells hidden by `lam="auto"` and by `score`, and starting vectors.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_kept_features)
        Right singular vectors of `L`, strongest first, largest entry positive: the row space in
        which new rows are completed.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of `L` (refitted ones with `debias`).
    row_scores_ : ndarray of shape (n_samples, n_components_)
        Scores of the training rows; ``row_scores_ @ components_`` completes the table.
    row_penalty_ : ndarray of shape (n_components_,)
        Ridge penalty on each score when a row is completed.
    mean_, scale_ : ndarray of shape (n_kept_features,)
        Centre and scale of each column.
    features_ : ndarray of shape (n_kept_features,)
        Columns with a known cell in `fit`.
    n_components_ : int
        Rank of `L`.
    lam_ : float
        Weight used, in the units of the objective.
    lam_max_ : float
        Spectral norm of `Z` with zeros in the missing cells: from this `lam` on, `L` is zero.
    lam_path_, validation_errors_ : ndarray or None
        Values of `lam` tried by "auto", and root mean squared error on the hidden cells, in
        units of `Z`; None when `lam` was given.
    objective_ : float
        Objective reached (nuclear norm for `lam=0`), before `debias`.
    dual_gap_ : float
        Relative duality gap: the objective is within this fraction of the minimum. Infinite for
        `lam=0` with `n_components`, which has no certificate.
    n_iter_ : int
        Singular value thresholdings at the final `lam`.
    indicator_ : MissingIndicator or None
        The indicator when `add_indicator` is True.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when they are all strings.

    See Also
    --------
    sklearn.impute.KNNImputer : Averages the nearest rows; local where this is linear and global.
    sklearn.impute.IterativeImputer : One regression per column, in rounds; more flexible, much
        slower with many columns.
    skmoderndata.decomposition.RobustPCA : Low rank plus sparse gross errors.

    Notes
    -----
    Soft-impute with momentum [1]_ [3]_, warm-started along a path of `lam`; for `lam=0` ADMM.
    Sparse tables are never made dense in `fit`: each pass multiplies `sparse + low rank` by thin
    blocks, which costs O((n_known + (n + p) r) r). Dense tables cost one partial singular value
    decomposition a pass.

    A new row is completed from its known cells by ridge regression on `components_` with
    `row_penalty_`, which is exactly what the nuclear norm implies for a row given the row space.
    The training rows go through the same regression at the end of `fit`, so that `fit_transform`
    and `transform` agree to rounding. Observed cells are returned as they came.

    `transform` of a sparse table returns a dense array, as a completed table has no gaps; for
    single cells of a large one use `predict_entries`.

    References
    ----------
    .. [1] Mazumder, Hastie and Tibshirani, Spectral regularization algorithms for learning large
       incomplete matrices, JMLR 11, 2010, Algorithm 1.
    .. [2] Candes and Recht, Exact matrix completion via convex optimization, Foundations of
       Computational Mathematics 9, 2009.
    .. [3] Yao and Kwok, Accelerated inexact soft-impute for fast large-scale matrix completion,
       IJCAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.impute import NuclearNormImputer
    >>> table = np.outer([1.0, 2, 3, 4, 5], [1.0, 2, 3, 4])
    >>> table[0, 1] = table[2, 0] = table[4, 3] = np.nan
    >>> imputer = NuclearNormImputer(lam=0, center=False, scale=False)
    >>> imputer.fit_transform(table)[[0, 2, 4], [1, 0, 3]].round(6)
    array([ 2.,  3., 20.])
    >>> imputer.n_components_
    1
    """

    _card = MethodCard(
        family="low rank and sparse",
        cite=("mazumder2010spectral", "candes2009exact", "yao2015accelerated", "cai2010singular"),
        cost="T (n p k) dense, T (n_known + (n + p) k) k sparse",
        checks=({}, {"lam": 0.1, "debias": False}, {"lam": 0.0}, {"lam": 0.05, "n_components": 2}),
        comparison=Comparison(
            baseline="sklearn.impute.KNNImputer",
            problem="missing_digits",
            grid={"lam": (0.02, 0.05, 0.1, 0.2)},
            params={"scale": False},
            baseline_grid={"n_neighbors": (2, 5, 10, 20)},
        ),
    )
    _parameter_constraints = {
        "lam": [StrOptions({"auto"}), NON_NEGATIVE],
        "lam_scale": [StrOptions({"relative", "absolute"})],
        "n_components": [AT_LEAST_ONE, None],
        "center": ["boolean"],
        "scale": [StrOptions({"auto"}), "boolean"],
        "debias": ["boolean"],
        "polish": ["boolean"],
        "tol": [NON_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
        "missing_values": "no_validation",  # checked in fit: a number, NaN or pandas.NA
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        lam="auto",
        *,
        lam_scale="relative",
        n_components=None,
        center=True,
        scale="auto",
        debias=True,
        polish=True,
        tol=1e-5,
        max_iter=500,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=0,
    ):
        self.lam = lam
        self.lam_scale = lam_scale
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.debias = debias
        self.polish = polish
        self.tol = tol
        self.max_iter = max_iter
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the row space and the scale of the singular values from the known cells.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing cells.
        y : Ignored
            Present by convention.

        Returns
        -------
        self : NuclearNormImputer
            The fitted imputer.
        """
        X, known = self._validate(X, reset=True)
        n_known = np.asarray(known.sum(axis=0)).ravel()
        if not n_known.any():
            raise ValueError(
                f"{type(self).__name__} needs at least one known cell, and all "
                f"{X.shape[0]} x {X.shape[1]} cells of X are missing."
            )
        rng = check_random_state(self.random_state)
        self._fit_features(n_known, X.shape[0])
        X, known = X[:, self.features_], known[:, self.features_]
        self._fit_units(X, known)
        table = self._standardise(X, known)
        lam_max = top_singular_pair(table.as_matrix(table.data), rng)[0]
        with FitProgress(self, X, y, max_passes=None) as progress:
            solution = self._solve(table, lam_max, rng, progress)
        self._store(solution, lam_max)
        if not (solution.converged or solution.stopped):
            warn_not_converged(
                self,
                reached=f"relative duality gap {solution.gap:.2g} after {self.n_iter_} passes",
                remedy=f"raise max_iter={self.max_iter}, tol={self.tol} or lam",
            )
        return self

    def transform(self, X):
        """Fill the missing cells of each row from its known cells.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to complete.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_output_features)
            `X` with known cells as they were; dense for sparse input too. A row without known
            cells gets the column means.
        """
        check_is_fitted(self)
        X, known = self._dense(*self._validate(X, reset=False))
        filled = self._fill(X[:, self.features_], known[:, self.features_])
        if self.keep_empty_features and filled.shape[1] < X.shape[1]:
            kept, filled = filled, np.zeros_like(X)
            filled[:, self.features_] = kept
        if not self.add_indicator:
            return filled
        gaps = self.indicator_.transform(np.where(known, 0.0, np.nan))
        return np.hstack([filled, gaps.astype(filled.dtype)])

    @available_if(_has_indicator)
    def inverse_transform(self, X):
        """Put the missing cells back, from the columns added by `add_indicator`.

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
        kept = np.arange(self.n_features_in_) if self.keep_empty_features else self.features_
        if X.ndim != 2 or X.shape[1] != kept.size + marked.size:
            raise ValueError(
                f"X must have {kept.size} filled and {marked.size} indicator columns, "
                f"got shape {X.shape}."
            )
        mark = np.nan if _is_nan(self.missing_values) else self.missing_values
        out = np.full((len(X), self.n_features_in_), mark, dtype=X.dtype)
        out[:, self.features_] = X[:, np.searchsorted(kept, self.features_)]
        gaps = np.zeros(out.shape, dtype=bool)
        gaps[:, marked] = X[:, kept.size :].astype(bool)
        out[gaps] = mark
        return out

    def predict_entries(self, rows, columns, X=None):
        """Return single cells of the completed table without forming it.

        Parameters
        ----------
        rows, columns : array-like of shape (n_cells,)
            Row and column of each cell.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Table that `rows` counts in; None means the training table.

        Returns
        -------
        values : ndarray of shape (n_cells,)
            The low-rank fit in the units of the data, for known cells too. Columns without known
            cells in `fit` give 0 with `keep_empty_features`, else they are refused.
        """
        check_is_fitted(self)
        scores = self.row_scores_
        if X is not None:
            X, known = self._validate(X, reset=False)
            scores = self._scores(X[:, self.features_], known[:, self.features_])
        rows = _cell_index(rows, len(scores), "rows")
        columns = _cell_index(columns, self.n_features_in_, "columns")
        if rows.size != columns.size:
            raise ValueError(
                f"rows and columns name one cell together, got {rows.size} and {columns.size}."
            )
        position = np.full(self.n_features_in_, -1)
        position[self.features_] = np.arange(self.features_.size)
        place = position[columns]
        empty = place < 0
        if empty.any() and not self.keep_empty_features:
            raise ValueError(
                f"columns {np.unique(columns[empty])} had no known cell in fit and were dropped."
            )
        place[empty] = 0
        values = _cells(scores, self.components_, rows, place)
        values = values * self.scale_[place] + self.mean_[place]
        values[empty] = 0
        return values.astype(self.components_.dtype, copy=False)

    def score(self, X, y=None):
        """Return minus the root mean squared error on known cells hidden for the purpose.

        A fifth of the known cells of `X`, chosen with `random_state` (0 unless it is an
        integer), is hidden, completed from the rest of their rows and compared. Errors are in
        the units of the data, so that estimators with different `scale` can be compared; columns
        in large units dominate: put a :class:`~sklearn.preprocessing.StandardScaler` before the
        imputer to weigh columns alike.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Held-out rows, with or without missing cells.
        y : Ignored
            Present by convention.

        Returns
        -------
        score : float
            At most 0, higher is better.
        """
        check_is_fitted(self)
        X, known = self._dense(*self._validate(X, reset=False))
        X, known = X[:, self.features_], known[:, self.features_]
        n_known = np.count_nonzero(known)
        if n_known == 0:
            raise ValueError(
                "score needs known cells, and X has none in the features kept by fit."
            )
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
        n_hidden = max(1, round(_HIDDEN_IN_SCORE * n_known))
        hide = np.zeros(n_known, dtype=bool)
        hide[np.random.RandomState(seed).permutation(n_known)[:n_hidden]] = True
        hidden = np.zeros_like(known)
        hidden[known] = hide
        error = self._fill(X, known & ~hidden)[hidden] - X[hidden]
        return -_root_mean_square(error.astype(np.float64))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input features; None takes those seen in `fit`.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Names of the kept features, then of the indicator columns.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        kept = names if self.keep_empty_features else names[self.features_]
        if not self.add_indicator:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def _validate(self, X, *, reset):
        """Return X and what is known of it: a mask, or for sparse X a sparse pattern of ones."""
        if not (_is_nan(self.missing_values) or isinstance(self.missing_values, Real)):
            raise ValueError(
                f"missing_values of {type(self).__name__} must be a number, NaN or pandas.NA, "
                f"got {self.missing_values!r}."
            )
        marked_by_nan = _is_nan(self.missing_values)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if marked_by_nan else True,
        )
        if not sparse.issparse(X):
            return X, ~np.isnan(X) if marked_by_nan else X != self.missing_values
        if self.missing_values == 0:
            raise ValueError(
                f"{type(self).__name__}(missing_values=0) does not fit sparse input, where cells "
                "that are not stored are missing anyway; pass a dense array."
            )
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        stored = ~np.isnan(X.data) if marked_by_nan else X.data != self.missing_values
        if not stored.all():
            indptr = np.concatenate([[0], np.cumsum(stored)])[X.indptr]
            X = sparse.csr_array((X.data[stored], X.indices[stored], indptr), shape=X.shape)
        return X, sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)

    @staticmethod
    def _dense(X, known):
        if not sparse.issparse(X):
            return X, known
        return X.toarray(), known.toarray() > 0

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

    def _fit_units(self, X, known):
        """Set `mean_`, `scale_` and the common unit in which the solver works."""
        scaled = (not sparse.issparse(X)) if self.scale == "auto" else self.scale
        if sparse.issparse(X):
            columns, values = X.indices, X.data.astype(np.float64)
        else:
            columns, values = np.nonzero(known)[1], X[known].astype(np.float64)
        p = X.shape[1]
        count = np.bincount(columns, minlength=p)
        # sums of squares in units of the largest entry: no overflow or underflow
        peak = np.zeros(p)
        np.maximum.at(peak, columns, np.abs(values))
        peak[peak == 0] = 1.0
        values = values / peak[columns]
        mean = np.bincount(columns, values, minlength=p) / count if self.center else np.zeros(p)
        values -= mean[columns]
        spread = np.sqrt(np.bincount(columns, values**2, minlength=p) / count)
        constant = spread <= 1e3 * np.finfo(X.dtype).eps * np.abs(mean)
        self.mean_ = (mean * peak).astype(X.dtype)
        self.scale_ = np.ones(p, dtype=X.dtype)
        self._unit = 1.0
        if scaled:
            scale = np.where(constant | (spread == 0), peak, spread * peak)
            self.scale_ = np.where(scale > 0, scale, 1.0).astype(X.dtype)
        else:
            largest = np.abs(values * peak[columns]).max(initial=0.0)
            if largest > 0:
                self._unit = math.ldexp(1.0, math.frexp(largest)[1])

    def _standardise(self, X, known):
        """Centre and scale the known cells; return them as a table for the solver."""
        factor = (1 / self.scale_ if self._unit == 1.0 else 1 / self._unit / self.scale_).astype(
            X.dtype
        )
        if sparse.issparse(X):
            data = (X.data - self.mean_[X.indices]) * factor[X.indices]
            return SparseTable(sparse.csr_array((data, X.indices, X.indptr), shape=X.shape))
        return DenseTable(np.where(known, (X - self.mean_) * factor, X.dtype.type(0)), known)

    def _scores(self, X, known):
        """Scores of rows under the learned row space, in the units of the table."""
        table = self._standardise(X, known)
        weight = _free_weight(self.singular_values_)
        scores = solve_rows(*table.rows(), self.components_, self.row_penalty_, weight)
        return scores * self._unit

    def _fill(self, X, known):
        filled = X.copy()
        gaps = np.flatnonzero(~known.all(axis=1))
        if gaps.size == 0:
            return filled
        X, known = X[gaps], known[gaps]
        completed = self._scores(np.where(known, X, 0), known) @ self.components_
        completed = completed * self.scale_ + self.mean_
        filled[gaps] = np.where(known, X, completed)
        return filled

    def _solve(self, table, lam_max, rng, progress):
        cap = self.n_components
        if cap is not None:
            cap = min(cap, *table.shape)
        eps = float(np.finfo(table.data.dtype).eps)
        tol = max(self.tol, 100 * eps)
        task = _Task(cap, self.debias, tol, self.max_iter, rng, progress)
        if self.lam == "auto":
            return task.search(table, lam_max)
        if self.lam == 0:
            return task.exact(table, lam_max, polish=self.polish)
        lam = float(self.lam) * (lam_max if self.lam_scale == "relative" else 1 / self._unit)
        return task.soft(table, lam, lam_max)

    def _store(self, solution, lam_max):
        unit, dtype = self._unit, self.mean_.dtype
        components = fix_signs(solution.Vt)
        signs = np.sign((components * solution.Vt).sum(axis=1))
        self.components_ = np.ascontiguousarray(components, dtype=dtype)
        self.singular_values_ = (solution.s * unit).astype(dtype)
        self.row_scores_ = (solution.scores * signs * unit).astype(dtype)
        self.row_penalty_ = solution.penalty
        self.n_components_ = len(components)
        self.lam_, self.lam_max_ = solution.lam * unit, lam_max * unit
        self.lam_path_ = None if solution.path is None else solution.path * unit
        self.validation_errors_ = None if solution.errors is None else solution.errors * unit
        self.objective_ = solution.objective * unit * (unit if solution.lam else 1.0)
        self.dual_gap_ = solution.gap
        self.n_iter_ = solution.n_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = _is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Solution(NamedTuple):
    """What `fit` stores, in the units of the solver's table."""

    scores: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    penalty: np.ndarray
    lam: float
    objective: float
    gap: float
    n_iter: int
    converged: bool
    stopped: bool
    path: np.ndarray | None = None
    errors: np.ndarray | None = None


class _Task(NamedTuple):
    """One fit: the settings that every solve of it shares."""

    cap: int | None
    debias: bool
    tol: float
    max_iter: int
    rng: np.random.RandomState
    progress: FitProgress

    def threshold(self, table):
        return Thresholder(table.shape, self.rng, self.cap)

    def step(self, table, lam, threshold, factors, *, tol=None, max_iter=None):
        return soft_completion(
            table,
            lam=lam,
            threshold=threshold,
            rng=self.rng,
            init=factors,
            tol=max(self.tol, 1e-2) if tol is None else tol,
            max_iter=min(self.max_iter, 50) if max_iter is None else max_iter,
            progress=self.progress,
        )

    def descend(self, table, lam, lam_max):
        """Solve for `lam` by way of halves of `lam_max`, each started from the one before."""
        threshold, factors = self.threshold(table), empty_factors(table)
        n_halves = math.ceil(math.log2(lam_max / lam)) if 0 < lam < lam_max else 0
        for half in range(1, n_halves):
            result = self.step(table, lam_max * 0.5**half, threshold, factors)
            factors = result.factors
            if result.stopped:
                return result
        return self.step(table, lam, threshold, factors, tol=self.tol, max_iter=self.max_iter)

    def soft(self, table, lam, lam_max):
        if lam >= lam_max * (1 - 1e-6):  # zero solves it, up to the accuracy of lam_max
            nothing = self.step(table, max(2 * lam, 1.0), self.threshold(table), None)
            return self.finish(table, lam, nothing)
        result = self.descend(table, lam, lam_max)
        if self.capped(table, result.factors):
            result = result._replace(
                factors=alternating_least_squares(table, result.factors, lam=lam, tol=1e-6)
            )
        return self.finish(table, lam, result)

    def capped(self, table, factors):
        return self.cap is not None and factors.s.size == self.cap < min(table.shape)

    def finish(self, table, lam, result):
        """Regress every row on the row space found, as `transform` will do; certify that."""
        factors = result.factors
        s, penalty = self.penalty(table, factors, lam)
        scores = solve_rows(*table.rows(), factors.Vt, penalty)
        objective, gap = result.objective, result.gap
        if not self.debias:
            residual, nuclear = _fit_of(table, scores, factors.Vt)
            objective = 0.5 * float(np.vdot(residual, residual)) + lam * nuclear
            top = top_singular_pair(
                table.as_matrix(residual), self.rng, 0.1 * self.tol, factors.Vt.T
            )[0]
            gap = soft_gap(table, residual, nuclear, lam=lam, top=top)
        return _Solution(
            scores,
            s,
            factors.Vt,
            penalty,
            lam,
            objective,
            gap,
            result.n_iter,
            result.converged or gap <= self.tol,
            result.stopped,
        )

    def penalty(self, table, factors, lam):
        """Singular values and the ridge penalty of each score."""
        if not self.debias or factors.s.size == 0:
            return factors.s, row_penalty(lam, factors.s)
        d = np.maximum(_refit_singular_values(table, factors), factors.s)
        return d, (lam / d.astype(np.float64)) ** 2

    def exact(self, table, lam_max, *, polish):
        if lam_max > 0 and self.cap is not None and self.cap < min(table.shape):
            return self.exact_capped(table, lam_max)
        if table.full:
            U, s, Vt = linalg.svd(table.data, full_matrices=False, check_finite=False)
            keep = s > s[0] * max(table.shape) * np.finfo(s.dtype).eps
            U, s, Vt = U[:, keep], s[keep], Vt[keep]
            none = np.zeros(s.size)
            return _Solution(U * s, s, Vt, none, 0.0, float(s.sum()), 0.0, 1, True, False)
        result = exact_completion(
            table,
            threshold=self.threshold(table),
            rng=self.rng,
            tol=self.tol,
            max_iter=self.max_iter,
            progress=self.progress,
        )
        top = top_singular_pair(
            table.as_matrix(result.dual), self.rng, 0.1 * self.tol, result.factors.Vt.T
        )[0]
        solution = self.exact_finish(table, result, result.factors, top)
        s, (n, p) = result.factors.s, table.shape
        goal = float(np.vdot(table.data, table.data)) * 1e-18
        # first without the singular values that only the tolerance of ADMM has left
        ranks = {np.count_nonzero(s > 1e-5 * s.max(initial=0.0)), s.size} if polish else ()
        for r in sorted(ranks):
            if not 0 < r * (n + p - r) < table.n_known:
                continue
            start = result.factors.leading(r)
            factors = alternating_least_squares(table, start, lam=0.0, target=goal * 1e-9)
            polished = self.exact_finish(table, result, factors, top)
            residual = _fit_of(table, polished.scores, polished.Vt)[0]
            if np.vdot(residual, residual) <= goal and polished.gap <= max(solution.gap, self.tol):
                return polished
        return solution

    def exact_finish(self, table, result, factors, top):
        none = np.zeros(factors.s.size)
        scores = solve_rows(*table.rows(), factors.Vt, none, _free_weight(factors.s))
        residual, nuclear = _fit_of(table, scores, factors.Vt)
        gap = exact_gap(table, residual, result.dual, nuclear, top=top)
        done = result.converged or gap <= self.tol
        return _Solution(
            scores, factors.s, factors.Vt, none, 0.0, nuclear, gap, result.n_iter, done,
            result.stopped,
        )  # fmt: skip

    def exact_capped(self, table, lam_max):
        """Least squares at the rank `cap`, started from the soft solution for a small `lam`."""
        result = self.descend(table, 1e-3 * lam_max, lam_max)
        factors = alternating_least_squares(table, result.factors, lam=0.0, max_iter=100)
        return self.exact_finish(table, result, factors, 1.0)._replace(
            gap=math.inf, converged=True
        )

    def search(self, table, lam_max):
        """Choose lam on hidden cells, then solve with it."""
        if lam_max == 0:
            return self.soft(table, 0.0, lam_max)
        if table.n_known < _ENOUGH_CELLS:
            return self.soft(table, _FALLBACK * lam_max, lam_max)
        rows, columns, values = table.cells()
        n_hidden = round(_HIDDEN_IN_FIT * table.n_known)
        n_repeats = min(5, math.ceil(2000 / n_hidden))
        path = lam_max * _PATH_RATIO ** np.arange(1, _PATH_LENGTH + 1)
        errors = np.zeros(path.size)
        for _ in range(n_repeats):
            keep = np.ones(table.n_known, dtype=bool)
            keep[self.rng.permutation(table.n_known)[:n_hidden]] = False
            hidden = rows[~keep], columns[~keep], values[~keep]
            squares, stopped = self.validate(table.part(keep), path, hidden)
            errors += squares
            if stopped is not None:
                return self.finish(table, path[0], stopped)
        # the spectral norm of noise grows as the root of the number of known cells
        lam = _smooth_argmin(path, errors) / math.sqrt(1 - _HIDDEN_IN_FIT)
        tried = np.isfinite(errors)
        errors = np.sqrt(errors[tried] / (n_repeats * n_hidden))
        return self.soft(table, lam, lam_max)._replace(path=path[tried], errors=errors)

    def validate(self, table, path, hidden):
        """Squared errors on hidden cells along the path, infinite where it was not followed."""
        rows, columns, values = hidden
        threshold, factors = self.threshold(table), empty_factors(table)
        errors = np.full(path.size, np.inf)
        null = float(np.vdot(values, values))
        stale, last_rank, patience = 0, 0, 1 if values.size > 10_000 else 2
        for k, lam in enumerate(path):
            result = self.step(table, lam, threshold, factors)
            factors = result.factors
            if result.stopped:
                return errors, result
            left = factors.U * factors.s
            if self.debias:
                left = solve_rows(*table.rows(), factors.Vt, self.penalty(table, factors, lam)[1])
            errors[k] = ((_cells(left, factors.Vt, rows, columns) - values) ** 2).sum()
            # Beyond the minimum noise enters: the rank grows fast, and the cost with it. End
            # there, but not on a plateau at constant rank, below which a weaker component waits.
            best, rank = errors[:k].min(initial=null), factors.s.size
            if errors[k] <= 0.98 * best:
                stale = 0
            elif rank > 1.2 * last_rank:
                stale += 1
            last_rank = rank
            if (stale >= patience and best < 0.95 * null) or errors[k] <= 1e-12 * null:
                break
        return errors, None


def _smooth_argmin(path, errors):
    """Least point of the parabola through the smallest error and its neighbours, in log lam."""
    k = int(np.argmin(errors))
    if k == 0 or k == errors.size - 1 or not np.isfinite(errors[k + 1]):
        return float(path[k])
    left, middle, right = errors[k - 1 : k + 2]
    curvature = left - 2 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
    return float(path[k] * (path[k + 1] / path[k]) ** shift)


def _fit_of(table, scores, Vt):
    """Residual on the known cells, and nuclear norm, of ``scores @ Vt`` with orthonormal Vt."""
    dtype = table.data.dtype
    one = np.ones(len(Vt), dtype=dtype)
    lifted = table.lift(Factors(scores.astype(dtype), one, Vt))
    return table.data - table.known(lifted), float(linalg.svdvals(scores).sum())


def _refit_singular_values(table, factors):
    """Least squares on the known cells for the diagonal between fixed singular vectors."""
    rows, columns, values = table.cells()
    r = factors.s.size
    G, g = np.zeros((r, r)), np.zeros(r)
    block = max(1, 2**22 // r)  # rows of the design matrix held at a time
    for start in range(0, values.size, block):
        part = slice(start, start + block)
        D = (factors.U[rows[part]] * factors.Vt.T[columns[part]]).astype(np.float64)
        G += D.T @ D
        g += D.T @ values[part]
    return linalg.lstsq(G, g, check_finite=False)[0]


def _cells(left, Vt, rows, columns):
    out = np.empty(rows.size, dtype=np.float64)
    right = np.ascontiguousarray(Vt.T, dtype=np.float64)
    entries_at(rows, columns, np.ascontiguousarray(left, dtype=np.float64), right, out)
    return out


def _free_weight(s):
    """Weights of the scores where, without penalty, the known cells leave a choice."""
    return np.sqrt(np.asarray(s, dtype=np.float64) / s.max(initial=1e-300))


def _root_mean_square(x):
    largest = np.abs(x).max(initial=0.0)
    return float(largest * np.sqrt(np.mean((x / largest) ** 2))) if largest > 0 else 0.0


def _is_nan(value):
    return type(value).__name__ == "NAType" or (isinstance(value, Real) and math.isnan(value))


def _cell_index(index, size, name):
    index = column_or_1d(index)
    if index.size and (index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= size):
        raise ValueError(f"{name} must be integers from 0 to {size - 1}, got {index!r}.")
    return index.astype(np.int64)
