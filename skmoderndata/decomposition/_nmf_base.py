"""Base of the factorisations: input checks, starts, incremental fits, codes."""

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import (
    CallbackSupportMixin,
    check_sample_weight,
    fit_context,
    warn_user,
)
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._estimator.early_rows import EarlyRows
from skmoderndata._estimator.validation import (
    FLOATS,
    check_array,
    check_codes,
    check_magnitude,
    check_n_components,
    validate_data,
    weigh_entries,
)
from skmoderndata._solvers.factors.coded_rows import (
    CodedRows,
    energy_of_best,
    summary_of_best,
)
from skmoderndata._solvers.factors.factor_updates import (
    Data,
    Side,
    codes_for,
    lengths_of,
    penalty_value,
    ratio,
    squared_error,
)
from skmoderndata._solvers.factors.streams import ROWS_PER_COMPONENT, FactorStream, add_batch
from skmoderndata.decomposition._blocks_base import NO_ENTRY, NO_WEIGHT, open_rows

# Ridge that is used if entries are missing or weighted, relative to the root mean square of the
# norms of the columns.
RIDGE_RELATIVE = 0.01


def validate_rows(estimator, X, *, reset, missing=None):
    """Check rows, dense or CSR, float64 or float32, with finite fourth powers.

    `missing` is None if NaN marks missing entries of dense arrays; otherwise it is the sentence
    that explains why the estimator does not accept them.
    """
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=FLOATS,
        ensure_all_finite="allow-nan",
        reset=reset,
        # Kernel values are already squares.
        fourth_powers=not estimator.__sklearn_tags__().input_tags.pairwise,
    )

    name = type(estimator).__name__
    if sparse.issparse(X) and max(*X.shape, X.nnz) <= np.iinfo(np.int32).max:
        # scikit-learn's k-means accepts only 32-bit indices.
        parts = (X.data, *(a.astype(np.int32, copy=False) for a in (X.indices, X.indptr)))
        X = type(X)(parts, shape=X.shape)

    if np.isnan(X.data if sparse.issparse(X) else X).any():
        if missing is not None:
            raise ValueError(
                f"Input X contains NaN. {name} accepts no missing entries: {missing}"
            )
        if sparse.issparse(X):
            raise ValueError(
                f"{name} does not accept NaN in sparse input: use a dense array, where NaN marks "
                "a missing entry."
            )
    return X


def check_weights(sample_weight, X):
    """Return weights of rows, float64 or None, after checks of their signs and magnitudes."""
    if sample_weight is None:
        return None
    w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return check_magnitude(w, input_name="sample_weight")


def warn_of_rank(estimator, shape, *, rows_only=False, remedy="Use fewer."):
    """Warn if the data do not determine all components."""
    n, p = shape
    if estimator.n_components > (n if rows_only else min(n, p)):
        columns = "" if rows_only else f" or n_features={p}"
        warn_user(
            f"{type(estimator).__name__}(n_components={estimator.n_components}) has more "
            f"components than n_samples={n}{columns}: the data do not determine them. {remedy}",
            UserWarning,
        )


def warn_of_passes(estimator, result):
    """Warn that the KKT residual is above the tolerance after all passes."""
    warn_not_converged(
        estimator,
        reached=f"after {result.n_iter} passes the KKT residual is {result.residual:.1e} "
        f"(tol={estimator.tol:g})",
        remedy="increase max_iter or tol",
    )


def ridge_for_gaps(rows):
    """Return the weight of the squared norms of both factors.

    It is 0 unless entries are missing or weighted. Rows and columns with few observed entries do
    not determine their factors, which would grow without bound, and so would predictions of
    hidden entries.
    """
    if rows.complete:
        return 0.0
    return RIDGE_RELATIVE * float(np.sqrt(rows.sum_sq / rows.shape[1]))


def check_start(estimator, n_features, *, nonnegative=False):
    """Return initial components from the last fit or an array `init`, checked; otherwise None."""
    # with `warm_start`, the result of the last fit takes precedence over `init`
    if estimator.warm_start and hasattr(estimator, "components_"):
        start = estimator.components_
        name = "the components of the last fit (warm_start=True)"
    elif isinstance(estimator.init, str):
        return None
    else:
        start = estimator.init
        name = "init"

    start = check_array(start, dtype=np.float64, input_name="init")
    k = estimator.n_components
    if start.shape != (k, n_features) or (nonnegative and (start < 0).any()):
        kind = "a non-negative array" if nonnegative else "an array"
        raise ValueError(
            f"{name} must be {kind} of shape (n_components={k}, n_features={n_features}), "
            f"got shape {start.shape} with minimum {start.min():.3g}."
        )
    return start


def narrowed(values, dtype, estimator, what):
    """Convert numbers to a dtype; raise an error if they are too large for it."""
    with np.errstate(over="ignore"):
        out = values.astype(dtype, copy=False)
    if not np.isfinite(out).all():
        raise ValueError(
            f"{type(estimator).__name__}: {what} of up to {np.max(np.abs(values)):.3g} exceed the "
            f"range of {np.dtype(dtype).name} at this scale of X and the penalties: rescale X, "
            "for example to a largest entry of 1, or pass float64."
        )
    return out


def counted_rows(X, weights, cells, *, gaps=True):
    """Remove validated rows of weight zero; if not `gaps`, do not search for NaN."""
    if weights is not None and not weights.all():
        cells = None if cells is None else cells[weights > 0]
        X = X[weights > 0]
        weights = weights[weights > 0]
    return Data.of(X, weights, cells) if gaps else Data(X, None, weights, cells)


def checked_blocks(estimator, blocks, reader):
    """Check the rows of all blocks in a pass, and return them."""
    tags = estimator.__sklearn_tags__().input_tags
    demands = {
        "allow_nan": tags.allow_nan,
        "nonnegative": "shift or clip X, or use SemiNMF." if tags.positive_only else None,
        "fourth_powers": True,
    }

    # make all checks in one pass, so that later passes need not repeat them
    n, sum_sq, n_gaps, n_cells, n_counting = blocks.sum(_check_block, reader, demands)
    if n == 0:
        raise ValueError(NO_WEIGHT)
    if n_counting == 0:
        raise ValueError(NO_ENTRY.format(reader.owner))
    return CodedRows(
        blocks,
        partial(_read_block, reader=reader, gaps=n_gaps > 0),
        shape=(n, blocks.shape[1]),
        sum_sq=sum_sq,
        dtype=reader.dtype,
        weighted=reader.weighted,
        complete=n_gaps == n_cells == 0,
    )


def _check_block(block, reader, demands):
    """Check a block; return its number of rows, sum of squares, and flags of its entries.

    The flags are 1 if some entries are missing, have weights, or have weights above 0.
    """
    data = counted_rows(*reader.checked(block, **demands))
    flags = (data.observed is not None, data.cells is not None, reader.counts(block))
    return data.shape[0], data.sum_sq, *map(int, flags)


def _read_block(block, *, reader, gaps):
    X, weights, cells = reader.read(block)
    # If the table has no NaN, do not search for any.
    return counted_rows(X, weights, cells, gaps=gaps)


def decode(estimator, X):
    """Reconstruct rows from codes, ``X @ components_``."""
    check_is_fitted(estimator)
    X = check_codes(X, estimator.n_components_, estimator=estimator, accept_sparse="csr")
    return (X @ estimator.components_).astype(X.dtype, copy=False)


class AlternatingFactorization(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    """Factorisation ``X ~ codes @ components`` by alternation over the two factors.

    A subclass defines the constraints and the start of the factors in `_check`, `_sides`, `_start`
    and `_solve`; see `SparseNMF`.
    """

    # Without this line, users who request metadata for `fit` would have to do so for `transform`
    # too.
    __metadata_request__transform = {"entry_weight": UNUSED}

    _nonnegative = False  # whether components must be non-negative
    _codes_over_rows = False  # whether constraints of the codes couple the rows

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, *, entry_weight=None):
        """Fit both factors to `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data; NaN marks missing entries of a dense array. Dask arrays and tables on disk are
            read block by block in each pass.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective; a row of weight 2 counts as two rows.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Non-negative weights of the squared residuals of the entries of a dense `X`. They are
            multiplied by the weights of the rows; penalties of codes have only the weights of the
            rows. Weight 0 is the same as NaN. None means 1.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        read = self._rows_in_blocks if in_blocks(X) else self._rows_in_memory
        rows, dtype = read(X, sample_weight, entry_weight)
        self._fit_rows(rows, dtype, X, y)
        return self

    def _fit_rows(self, rows, dtype, X, y, *, is_stream=False):
        """Fit both factors to checked rows; X and y are for callbacks."""
        start = check_start(self, rows.shape[1], nonnegative=self._nonnegative)
        check_n_components(self, rows.shape)
        self._check(rows)
        # More rows of a stream may come later, so do not warn of the rank of its first rows.
        if not is_stream:
            self._warn_of_rank(rows.shape)

        sides = self._sides(self.ridge_)
        rng = check_random_state(self.random_state)
        n_init = 1 if start is not None else self.n_init
        best = None
        ends = []

        # keep the best of several starts
        with FitProgress(self, X, y, max_passes=n_init * self.max_iter) as progress:
            for number in range(n_init):
                if start is not None:
                    V = start.T.copy()
                else:
                    V = self._start(rows, self.init if number == 0 else "random", rng)
                result = self._solve(rows, V, sides, progress, has_start=start is not None)
                ends.append((result.objective, result.components))
                if best is None or result.objective < best.objective:
                    best = result
                if progress.stopped:
                    break

        self._store(best, keep_order=start is not None, dtype=dtype)
        self._record_doubt(ends)
        if not best.converged and not progress.stopped:
            warn_of_passes(self, best)

    def _record_doubt(self, ends):
        """Set `doubt_` from the objectives and the components in which the starts ended."""

    def _rows_in_memory(self, X, sample_weight, entry_weight):
        """Return the rows of positive weight as one block, and their dtype."""
        X, cells = self._validate(X, entry_weight, reset=True)
        weights = check_weights(sample_weight, X)
        return CodedRows.of(counted_rows(X, weights, cells)), X.dtype

    def _rows_in_blocks(self, X, sample_weight, entry_weight):
        """Return the rows of a table in blocks, checked in a first pass, and their dtype."""
        if self._codes_over_rows:
            raise ValueError(
                f"{type(self).__name__}(sparseness_codes={self.sparseness_codes}, "
                "codes_axis='component') needs the codes of all rows at once, which a table in "
                "blocks does not allow: set codes_axis='sample', or pass X.compute()."
            )
        blocks, reader = open_rows(self, X, sample_weight, entry_weight, fourth_powers=True)
        return checked_blocks(self, blocks, reader), reader.dtype

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Update the components with new rows.

        The first rows, eight per component, are collected and fitted together, as by `fit`, in
        any number of calls. Later calls alternate between the codes of the new rows and the
        components. Only the sums ``codes' codes`` and ``codes' X`` of earlier rows are stored,
        which determine the problem of the components. The weight of early rows decreases, because
        their codes belong to worse components. Components that explain nothing are replaced by
        the largest residuals of the new rows. The result depends on the order of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows, without missing entries.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 2 counts as two rows.

        Returns
        -------
        self : object
            The updated estimator.
        """
        first = not hasattr(self, "components_")
        if first and in_blocks(X):
            return self.fit(X, y, sample_weight)

        X, _ = self._validate(X, None, reset=first)
        weights = check_weights(sample_weight, X)
        gaps = not sparse.issparse(X) and np.isnan(X).any()
        if not first:
            self._check_adds_up(gaps)
            if self._early is None:
                self._add_rows(X, weights)
                return self

        # at the beginning of a stream, fit all rows seen so far
        early = EarlyRows(X, weights) if first else self._early.plus(X, weights)
        enough = early.n_rows >= ROWS_PER_COMPONENT * self.n_components
        if enough or early.are_due:
            rows = CodedRows.of(counted_rows(early.X, early.weights, None))
            self._fit_rows(rows, early.X.dtype, X, y, is_stream=True)
            early = early._replace(n_fitted=early.n_rows)

        self._early = None if enough or gaps else early.copy()
        return self

    def _check_adds_up(self, gaps):
        """Raise an error if rows cannot be added to the sums."""
        if self._codes_over_rows:
            raise ValueError(
                f"{type(self).__name__}(codes_axis='component') cannot add rows, because the "
                "sparseness of the codes couples all rows; set codes_axis='sample' or "
                "sparseness_codes=None."
            )

        if self._stream is None or gaps:
            raise ValueError(
                f"{type(self).__name__}.partial_fit accepts no missing entries and no weights of "
                "entries, because these need separate sums for every column; use fit."
            )

    def fit_transform(self, X, y=None, sample_weight=None, *, entry_weight=None):
        """Fit, and return the codes of the training rows, as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; NaN marks missing entries of a dense array.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the squared residuals of the entries, as in `fit`, for components and codes.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Codes.
        """
        self.fit(X, y, sample_weight, entry_weight=entry_weight)
        return self.transform(X, entry_weight=entry_weight)

    @by_rows
    def transform(self, X, *, entry_weight=None):
        """Compute the codes that minimise the objective for the fitted components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN marks missing entries of a dense array.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the squared residuals of the entries of these rows, as in `fit`. Pass them
            directly: metadata routing passes them only to `fit`, `fit_transform` and `score`.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components_)
            Codes; the code of a row depends only on that row and is zero if no entry is observed.
        """
        check_is_fitted(self)
        X, cells = self._validate(X, entry_weight, reset=False)
        return narrowed(self._codes(X, cells), X.dtype, self, "codes")

    @by_rows
    def inverse_transform(self, X):
        """Reconstruct rows from codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components_)
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Reconstruction ``X @ components_``.
        """
        return decode(self, X)

    @in_memory
    def score(self, X, y=None, sample_weight=None, *, entry_weight=None):
        """Compute the negative relative reconstruction error.

        The score increases with `n_components` and with less sparseness, because the rows are
        coded again. To choose these, hide entries: see
        `skmoderndata.model_selection.EntrySearchCV`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the entries, in the codes and in both norms.

        Returns
        -------
        score : float
            Score ``-|X - codes @ components_|_F / |X|_F`` over observed entries, with weighted
            squares; 0 if X is zero.
        """
        check_is_fitted(self)
        X, cells = self._validate(X, entry_weight, reset=False)
        data = Data.of(X, check_weights(sample_weight, X), cells)
        if data.sum_sq == 0:
            return 0.0
        error = squared_error(data, self._codes(X, cells), self._dictionary())
        return -float(np.sqrt(error / data.sum_sq))

    def _validate(self, X, entry_weight, *, reset):
        """Check rows and weights of entries; return both, as `weigh_entries` does."""
        X = validate_rows(self, X, reset=reset)
        return weigh_entries(X, entry_weight, owner=type(self).__name__)

    def _dictionary(self):
        return np.ascontiguousarray(self.components_.T, dtype=np.float64)

    def _codes(self, X, cells=None):
        """Compute codes of validated rows, in float64; `cells` are weights of entries."""
        # constraints that couple rows do not apply to new rows
        side = Side() if self._codes_over_rows else self._sides(self.ridge_)[0]
        return codes_for(Data.of(X, None, cells), self._dictionary(), side)

    def _store(self, result, *, keep_order, dtype):
        rows = result.rows
        V = result.components
        # scale the components to norm one unless a penalty determines their norms
        size = lengths_of(V) if self._scale_is_free() else np.ones(V.shape[1])
        V = V / size

        # sort the components by the sum of squares that they explain, in descending order
        order = np.arange(len(size))
        if not keep_order:
            (energy,) = rows.sum(energy_of_best, size)
            order = np.argsort(-energy * (V * V).sum(axis=0), kind="stable")
            V = V[:, order]

        summary = rows.sum(summary_of_best, size, order, V, self._sides(self.ridge_)[0])
        error, sums, penalty = summary
        self.components_ = np.ascontiguousarray(narrowed(V.T, dtype, self, "components"))
        self.n_components_ = len(self.components_)
        self.objective_ = float(result.objective)
        self.objective_history_ = np.asarray(result.history)
        self.kkt_residual_ = float(result.residual)
        self.reconstruction_err_ = float(np.sqrt(error))
        self.n_iter_ = result.n_iter

        # store the sums with which `partial_fit` continues
        self._early = None
        self._stream = None
        if rows.complete:
            sums = sums._replace(sum_sq=rows.sum_sq, penalty=penalty)
            self._stream = FactorStream(sums, sums.weight)
        self._store_codes(rows, size, order, dtype)

    def _store_codes(self, rows, size, order, dtype):
        """Store the codes of the training rows if `transform` cannot compute them."""

    def _add_rows(self, X, weights):
        """Improve the components by new rows and the sums of earlier ones."""
        data = counted_rows(X, weights, None, gaps=False)
        if data.shape[0] == 0:
            return

        ridge = self._ridge_with(data)
        codes_side, components_side = self._sides(ridge)
        V, stream, last = add_batch(
            self._dictionary(),
            self._stream,
            data,
            codes_side=codes_side,
            components_side=components_side,
            tol=self.tol / 10,
        )

        # The rows are not stored, so differences of the sums may be rounding errors.
        total = stream.of_all()
        least = total.penalty + penalty_value(components_side, V)
        objective = float(max(total.sum_sq / 2 + last.value + total.penalty, least))
        error = total.sum_sq - 2 * (total.T * V).sum() + ((V @ total.S) * V).sum()

        if self._scale_is_free():
            size = lengths_of(V)
            V = V / size
            stream = stream._replace(sums=stream.sums.with_codes_times(size))

        components = narrowed(V.T, self.components_.dtype, self, "components")
        self.components_ = np.ascontiguousarray(components)
        self.ridge_ = ridge
        self.objective_ = objective
        self.reconstruction_err_ = float(np.sqrt(max(error, 0.0)))
        self.objective_history_ = np.append(self.objective_history_, objective)
        self.kkt_residual_ = ratio(last)
        self.n_iter_ += 1
        self._stream = stream

    def _ridge_with(self, data):
        """Return the weight of the ridge after new rows."""
        return self.ridge_

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self._nonnegative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
