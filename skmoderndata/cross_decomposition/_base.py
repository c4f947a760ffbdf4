"""Base of the estimators for several views of the same samples."""

from numbers import Integral

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_fewer, warn_not_converged
from skmoderndata._estimator.compat import (
    CallbackSupportMixin,
    check_feature_names_in,
    fit_context,
    unmasked,
)
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._estimator.scale import warn_unlike_scales
from skmoderndata._estimator.validation import (
    FLOATS,
    check_array,
    check_target,
    refuse_ragged,
    relative_weights,
    validate_data,
)
from skmoderndata._samples.containers import as_samples, count_samples
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.kernel.canonical import Samples


def unequal_weights(sample_weight, X, *, owner, at_least=1):
    """Check the sample weights and scale them to a maximum of 1; None if all are equal."""
    if sample_weight is None:
        return None
    w, _ = relative_weights(sample_weight, X, owner=owner, at_least=at_least)
    return None if (w == 1).all() else w


def weighted_mean(X, w):
    """Compute the mean of each column; w=None means equal weights."""
    if w is None:
        return X.mean(axis=0)
    return w @ X / w.sum()


class MultiviewTransformer(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    """Base of estimators that accept ``fit(X, y)``, ``fit([X1, X2, ...])`` or one array to cut.

    A subclass has the parameter `view_slices`, which cuts the columns of one array into views. It
    implements ``_fit_views(views, samples, progress)``, which solves the problem of the class and
    stores the result, and ``_view_scores(v, X)``.
    """

    _sparse_views = False
    _missing_remedy = "RegularizedCCA(criterion='gcca') accepts such views"

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Estimate the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view; or a list of views with the same samples in the same order; or, with
            `view_slices`, an array with the columns of all views. If `kernel` is a list with
            kernels for samples that are not vectors, also a list of samples, each of them a tuple
            with one entry per view.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view. Not allowed with a list of views; ignored with `view_slices` and if the
            samples are tuples. Class labels (one-dimensional strings or repeated integers) raise
            ValueError: pass them as a table.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in means, variances and covariances: a weight of 2 counts as two
            copies of a sample, 0 as none, and a common factor has no effect. None gives all
            samples equal weight.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        if self._in_passes(X):
            return self._fit_passes(X, y, sample_weight)
        views = self._take_views(X, y, reset=True)
        return self._fit_taken(X, y, views, self._samples(views, sample_weight))

    def _fit_taken(self, X, y, views, samples):
        """Fit validated views; X and y are the arguments from which they were taken."""
        self.n_views_ = len(views)
        self._predict_1d = self.view_slices is None and is_one_dimensional(y)
        with FitProgress(self, X, y, max_passes=None, task_name="pass") as progress:
            self._fit_views(views, samples, progress)
        return self

    def _in_passes(self, X):
        """Whether `fit` reads the rows in passes, with `_fit_passes`."""
        return False

    def _samples(self, views, sample_weight):
        """Return the rows present in each view, and their weights."""
        name = type(self).__name__
        sizes = [count_samples(view) for view in views]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"{name} needs views of the same samples, but the views have "
                f"{', '.join(map(str, sizes))} rows: found input variables with inconsistent "
                f"numbers of samples: {sizes}."
            )

        rows = [self._present(v, view) for v, view in enumerate(views)]
        weights = unequal_weights(sample_weight, views[0], owner=name)
        if weights is not None:
            rows = [index[weights[index] > 0] for index in rows]
            fewest = min(index.size for index in rows)
            if fewest < 2:
                raise ValueError(
                    f"{name} needs at least 2 samples of positive weight in each view: "
                    f"n_samples={fewest}."
                )

        return Samples(sizes[0], rows, weights)

    @by_rows
    def transform(self, X, y=None):
        """Compute the scores of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view, or a list of all views with None in place of missing views; or, with
            `view_slices`, an array with the columns of all views.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view; ignored with `view_slices`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            Scores of the first view. If `y` is given, a pair of arrays; for a list of views, a
            list of arrays (None for a missing view). `set_output` changes only the first of them.
            With `view_slices`, and for a list of tuples, one array with the scores of all views as
            columns.
        """
        check_is_fitted(self)
        return self._scores_of(self._take_views(X, y, reset=False), X, y)

    def _scores_of(self, views, X, y):
        """Compute the scores of validated views, in the form of the arguments X and y."""
        scores = [self._checked_scores(v, view) for v, view in enumerate(views)]
        if self.view_slices is not None or self._is_list_of_tuples(X):
            return np.hstack(scores)
        # set_output converts only the first array of a tuple and does not support lists.
        return scores[0] if y is None and not self._is_list_of_views(X, y) else tuple(scores)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit the model and return the scores of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            Training views, as in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            Result of ``fit(X, y).transform(X, y)``: a pair if `y` is given. A Pipeline requires
            steps that return a single array; use `view_slices` there.
        """
        return self.fit(X, y, sample_weight=sample_weight).transform(X, y)

    @in_memory
    def score(self, X, y=None, sample_weight=None):
        """Compute the mean correlation of the scores over components and pairs of views.

        Parameters
        ----------
        X, y, sample_weight
            Same meaning as in `score_components`.

        Returns
        -------
        score : float
            Mean correlation, between -1 and 1. The sign matters, because components are paired in
            training.
        """
        values = self.score_components(X, y, sample_weight=sample_weight)
        return float(values.mean()) if values.size else 0.0

    @in_memory
    def score_components(self, X, y=None, sample_weight=None):
        """Compute the correlation of the scores for each component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            One or more views, as in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the correlations.

        Returns
        -------
        correlations : ndarray of shape (n_components,)
            Mean over all pairs of views, with the components in the order of training. Constant
            scores count as uncorrelated. Rows that lack one of the two views are omitted.
        """
        check_is_fitted(self)
        return self._correlations_of(self._take_views(X, y, reset=False), sample_weight)

    def _correlations_of(self, views, sample_weight):
        """Compute the correlations of the scores of validated views."""
        if sum(view is not None for view in views) < 2:
            raise ValueError(
                f"{type(self).__name__}.score compares views but received only one: pass y or a "
                "list of views, or set view_slices."
            )

        scores = [
            self._checked_scores(v, view) for v, view in enumerate(views) if view is not None
        ]
        w = unequal_weights(sample_weight, scores[0], owner=type(self).__name__)
        return mean_correlations(scores, w)

    def _take_views(self, X, y, *, reset):
        """Split the input into validated views, with None for a missing view."""
        name = type(self).__name__
        # The views may be column slices of one array.
        if self.view_slices is not None:
            self._side_by_side = True
            X = self._check_vectors(0, X, reset=reset, all_views=True)
            views = cut_columns(X, self.view_slices, name)
            for v, view in enumerate(views):
                self._check_missing(v, view)
            return views
        tuples = self._is_list_of_tuples(X)
        if reset:
            self._side_by_side = tuples
        # Or each sample is a tuple: entry v of all tuples forms view v.
        if tuples:
            X = [list(view) for view in zip(*as_samples(X, name), strict=True)]
            y = None

        # Otherwise the views are separate: a list, or X and y.
        if self._is_list_of_views(X, y, reset=reset):
            if y is not None:
                raise ValueError(
                    f"{name} received a list of {len(X)} views and y; put all views into the list."
                )
            views = list(X)
        elif y is not None:
            views = [X, y]
        elif reset:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: pass fit(X, y) with "
                "two views, fit([X1, X2, ...]), or set view_slices to the columns of each view."
            )
        else:
            views = [X]

        if all(view is None for view in views):
            raise ValueError(
                f"{name} received None for X: pass a collection of samples, or a list of views."
            )

        if reset and len(views) < 2:
            raise ValueError(f"{name} needs at least two views but received {len(views)}.")
        if not reset and len(views) > 1 and len(views) != self.n_views_:
            raise ValueError(
                f"{name} was fitted with {self.n_views_} views but received {len(views)}."
            )

        if reset:
            self._n_features_per_view = [None] * len(views)

        return [
            None if view is None and not reset else self._check_view(v, view, reset=reset)
            for v, view in enumerate(views)
        ]

    def _is_list_of_views(self, X, y, *, reset=False):
        """Whether `X` is a list or tuple of tables, rather than one table as a list of rows.

        Kernel methods also need `y` and `reset` to decide.
        """
        if not isinstance(X, list | tuple) or not X:
            return False
        first = next((view for view in X if view is not None), None)
        if isinstance(first, str | bytes) or first is None:
            return False
        if hasattr(first, "shape"):
            return len(first.shape) == 2
        if not isinstance(first, list | tuple) or not first:
            return False
        # List of lists: a table has numbers as entries, a list of views has rows or samples.
        entry = first[0]
        return isinstance(entry, str | bytes) or np.iterable(entry)

    def _is_list_of_tuples(self, X):
        """Whether `X` is a list of samples, each a tuple with one entry per view."""
        return False

    def _check_view(self, v, X, *, reset):
        """Validate one view; a subclass whose samples are not vectors extends this method."""
        return self._check_vectors(v, X, reset=reset)

    def _check_vectors(self, v, X, *, reset, all_views=False):
        settings = {
            "dtype": FLOATS,
            "accept_sparse": "csr" if self._sparse_views else False,
            "ensure_min_samples": 2 if reset else 1,
            # For missing views, `_check_missing` has a more specific message.
            "ensure_all_finite": True if sparse.issparse(X) else "allow-nan",
        }

        # scikit-learn's check of feature names covers only the first view.
        if v == 0:
            X = validate_data(self, X, reset=reset, **settings)
            if not all_views:
                self._check_missing(v, X)
            return X
        if reset:
            refuse_labels(X, type(self).__name__)
        if not sparse.issparse(X) and not hasattr(X, "columns"):
            X = np.asarray(unmasked(X, owner=type(self).__name__, input_name=f"view {v + 1}"))
            X = X.reshape(-1, 1) if X.ndim == 1 else X

        X = check_array(X, input_name=f"view {v + 1}", **settings)
        self._check_missing(v, X)
        if reset:
            warn_unlike_scales(self, X, view=v + 1)
            self._n_features_per_view[v] = X.shape[1]
        elif X.shape[1] != self._n_features_per_view[v]:
            raise ValueError(
                f"View {v + 1} has {X.shape[1]} features, but {type(self).__name__} was fitted "
                f"with {self._n_features_per_view[v]}."
            )

        return X

    def _allows_missing(self):
        return False

    def _check_missing(self, v, X):
        """Raise ValueError for NaN; if whole rows are NaN, name the remedy."""
        if self._allows_missing() or sparse.issparse(X):
            return
        missing = np.isnan(X).all(axis=1)
        name = type(self).__name__
        if missing.any():
            remedy = self._missing_remedy
            raise ValueError(
                f"{name}: view {v + 1} contains NaN and is missing for {missing.sum()} of "
                f"{len(X)} samples; the first of them is row {int(np.flatnonzero(missing)[0])}: "
                f"{remedy}, or leave these samples out of all views."
            )
        assert_all_finite(
            X, estimator_name=name, input_name="X" if v == 0 else f"view {v + 1}"
        )

    def _present(self, v, X):
        """Return the indices of the rows in which a view is present."""
        rows = np.arange(count_samples(X))
        if not self._allows_missing() or not isinstance(X, np.ndarray):
            return rows
        missing = missing_rows(X, v)
        if rows.size - missing.sum() < 2:
            raise ValueError(f"View {v + 1} is missing in all but {(~missing).sum()} rows.")
        return np.flatnonzero(~missing)

    def _checked_scores(self, v, X):
        """Compute scores of a validated view in its own dtype, with NaN where it is missing."""
        if X is None:
            return None
        dtype = getattr(X, "dtype", np.dtype(np.float64))
        if self._allows_missing() and isinstance(X, np.ndarray):
            missing = missing_rows(X, v)
            if missing.any():
                scores = np.full((len(X), self.n_components_), np.nan)
                if not missing.all():
                    scores[~missing] = self._view_scores(v, X[~missing])
                return scores.astype(dtype, copy=False)

        scores = self._view_scores(v, X)
        return scores.astype(dtype, copy=False) if dtype == np.float32 else scores

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns of `transform`, which include the view.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of `X`; they are only compared with the names seen during `fit`.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Class, view and number of the component, for example ``kernelcca_view1_0``, for the
            first view, or for all views with `view_slices`.
        """
        check_is_fitted(self)
        check_feature_names_in(self, input_features, generate_names=False)
        prefix = type(self).__name__.lower()
        n_views = self.n_views_ if self._side_by_side else 1
        return np.array(
            [
                f"{prefix}_view{v + 1}_{j}"
                for v in range(n_views)
                for j in range(self.n_components_)
            ],
            dtype=object,
        )

    @property
    def _n_features_out(self):
        return self.n_components_ * (self.n_views_ if self._side_by_side else 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        needs_y = self.view_slices is None
        tags.target_tags.required = needs_y
        tags.target_tags.multi_output = needs_y
        # Views have to be tables: one-dimensional integers look like labels and raise ValueError.
        tags.target_tags.single_output = not needs_y
        tags.input_tags.sparse = self._sparse_views
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _predicts_vectors(estimator):
    """Condition of `available_if`: whether the second view holds vectors, to be predicted."""
    if not estimator._second_view_has_vectors():
        raise AttributeError(
            f"{type(estimator).__name__}.predict needs a second view of vectors, but its kernel "
            "accepts kernel values or other samples: use a kernel object or a name for vectors."
        )
    return True


class SecondViewPredictor:
    """Mixin of two-view methods that predict the second view from scores of the first view."""

    def _second_view_has_vectors(self):
        return True

    @available_if(_predicts_vectors)
    @by_rows
    def predict(self, X):
        """Predict the second view of samples from their first view.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            First view; or, with `view_slices`, an array with the columns of all views;
            only the first view is used.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_targets) or (n_samples,)
            Predictions ``transform(X) @ prediction_coef_ + prediction_intercept_``: the least
            squares fit of the second view on the training scores of the first view. It is the
            conditional expectation of the second view if the second view is linear in these
            scores. The penalty acts only through the scores; the slopes are not shrunk. The result
            is one-dimensional if the second view was.
        """
        check_is_fitted(self)
        self._check_prediction()
        return self._prediction_of(self._take_views(X, None, reset=False)[0])

    def _check_prediction(self):
        """Raise ValueError if there is no single view to predict."""
        name = type(self).__name__
        if self.n_views_ != 2:
            raise ValueError(
                f"{name}.predict needs two views, but {self.n_views_} were fitted: fit the views "
                "from which to predict side by side as the first view, and the remaining view as "
                "the second."
            )

    def _prediction_of(self, view):
        """Predict the second view from the validated first view."""
        if view is None:
            name = type(self).__name__
            raise ValueError(f"{name}.predict needs the first view but received None.")
        scores = self._checked_scores(0, view)
        Y = scores @ self.prediction_coef_ + self.prediction_intercept_
        Y = Y.astype(scores.dtype, copy=False)
        return Y.ravel() if self._predict_1d else Y

    def _store_prediction(self, views, samples, scores):
        """Set the regression of the second view on the training scores of the first view."""
        self.prediction_coef_ = self.prediction_intercept_ = None
        if len(views) == 2 and self._second_view_has_vectors():
            fitted = least_squares_of(views[1], scores[0], samples)
            self.prediction_coef_, self.prediction_intercept_ = fitted


def is_one_dimensional(y):
    """Whether the second view is a single column, passed as one number per sample."""
    if isinstance(y, list | tuple):
        return bool(y) and not np.iterable(y[0])
    return getattr(y, "ndim", None) == 1


def least_squares_of(Y, scores, samples):
    """Compute slopes and intercepts of the regression of Y on the scores of the other view."""
    # Use the samples that have both views.
    rows = np.intersect1d(*samples.rows)
    T = samples.spread(scores, 0)[rows]
    Y = Y[rows]
    w = np.ones(len(rows)) if samples.weights is None else samples.weights[rows]
    root = np.sqrt(w)[:, None]

    # Compute the means in double precision; a sparse Y stays sparse.
    mean_of_scores = w @ T / w.sum()
    mean = np.asarray(w @ Y.astype(np.float64)).ravel() / w.sum()
    U, s, Vt = linalg.svd(root * (T - mean_of_scores), full_matrices=False)
    keep = s > max(T.shape) * np.finfo(np.float64).eps * s.max(initial=0.0)
    basis = root * U[:, keep]
    if sparse.issparse(Y):
        products = (Y.T @ basis).T - np.outer(basis.sum(axis=0), mean)
    else:
        products = basis.T @ (Y - mean)
    coef = (Vt[keep].T / s[keep]) @ products
    return coef, mean - mean_of_scores @ coef


def cut_columns(X, view_slices, name):
    """Split an array into views; `view_slices` contains slices or pairs ``(start, stop)``."""
    if len(view_slices) < 2:
        raise ValueError(
            f"{name} needs at least two views, but view_slices={view_slices!r} has "
            f"{len(view_slices)}."
        )

    p = X.shape[1]
    views = []
    for entry in view_slices:
        columns = entry
        if not isinstance(entry, slice):
            pair = tuple(entry) if np.iterable(entry) else ()
            if len(pair) != 2 or not all(e is None or isinstance(e, Integral) for e in pair):
                raise ValueError(
                    f"{name}: view_slices contains {entry!r}; use slices or pairs (start, stop) "
                    "of column numbers."
                )
            columns = slice(*pair)
        start, stop, step = columns.indices(p)

        # Python shortens slices that extend beyond the end; here they raise ValueError.
        if len(range(start, stop, step)) == 0 or (
            columns.stop is not None and columns.stop > p
        ):
            raise ValueError(
                f"{name}: view_slices contains {entry!r}, which does not fit X with "
                f"n_features={p}."
            )
        views.append(X[:, columns])

    return views


def missing_rows(X, v):
    """Mark rows that are entirely NaN; raise ValueError for rows that are NaN only in part."""
    nan = np.isnan(X)
    missing = nan.all(axis=1)
    partial = nan.any(axis=1) & ~missing
    if partial.any():
        raise ValueError(
            f"View {v + 1} has rows with some NaN entries; the first of them is row "
            f"{int(np.flatnonzero(partial)[0])}: mark a missing view by a row of NaN only, and "
            "impute single entries before."
        )
    return missing


def refuse_labels(y, name):
    """Raise ValueError if the second view looks like class labels from a Pipeline or search."""
    refuse_ragged(y, f"{name}: the second view")
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind == "f":
        return
    check_target(y, owner=name)

    kind = "strings" if values.dtype.kind not in "iub" else "integers or Booleans"
    different = len(set(values.tolist()))
    if kind != "strings" and 2 * different > len(values):
        return

    raise ValueError(
        f"{name} received {different} different {kind} as second view, which look like class "
        "labels. If they are a view, pass a table: y.reshape(-1, 1) for numbers, one column for "
        "each class for labels. In a Pipeline or a search, put both views side by side into X and "
        "set view_slices."
    )


def mean_correlations(scores, weights=None):
    """Compute the correlation of each component, averaged over all pairs of views."""
    k = scores[0].shape[1]
    total = np.zeros(k)
    count = 0
    for u, first in enumerate(scores):
        for second in scores[u + 1 :]:
            total += column_correlations(first, second, weights)
            count += 1
    return total / count


def column_correlations(A, B, weights=None):
    """Correlate each column of `A` with the same column of `B`; 0 if either is constant."""
    A = np.asarray(A, dtype=np.float64)
    B = np.asarray(B, dtype=np.float64)
    complete = ~(np.isnan(A).any(axis=1) | np.isnan(B).any(axis=1))
    if weights is not None:
        complete &= weights > 0
    A = A[complete]
    B = B[complete]
    if len(A) == 0:
        return np.zeros(A.shape[1])

    # Compute cosines of the centred columns; a constant column is not correlated with any other.
    w = np.ones(len(A)) if weights is None else weights[complete]
    A, size_of_A = _unit_columns(A, w)
    B, size_of_B = _unit_columns(B, w)
    varies = np.minimum(size_of_A, size_of_B) > ROUNDING * np.sqrt(w.sum())
    cosines = np.clip((A * B).sum(axis=0), -1, 1)
    return np.where(varies, cosines, 0.0)


def _unit_columns(A, w):
    """Centre columns and scale them to unit norm; also return norms over the largest entry."""
    peak = np.abs(A).max(axis=0)
    A = A / np.where(peak > 0, peak, 1.0)
    A = np.sqrt(w)[:, None] * (A - w @ A / w.sum())
    norms = np.linalg.norm(A, axis=0)
    return A / np.where(norms > 0, norms, 1.0), norms


def signs_of_peaks(columns):
    """Compute signs that make the entry of largest magnitude in each column positive."""
    if columns.shape[1] == 0:
        return np.ones(0)
    rows = np.abs(columns).argmax(axis=0)
    peaks = columns[rows, np.arange(columns.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)


def signed_consensus(consensus, signs, weights):
    """Flip the signs of the consensus and set samples of weight 0 to NaN."""
    if consensus is None:
        return None
    if weights is not None:
        consensus = np.where(weights[:, None] > 0, consensus, np.nan)
    return consensus * signs


def refuse_interpolation(whitened, alphas, samples, *, name, remedy, endless=None):
    """Raise ValueError for unregularised problems with enough directions to fit any data.

    `endless` marks views with a kernel of infinite rank, which only rounding limits.
    """
    free = [v for v, alpha in enumerate(alphas) if alpha == 0]
    # Reject data for which one view, or two views together, have as many directions as there are
    # samples.
    n_degrees = min(rows.size for rows in samples.rows) - 1 - samples.n_confounders
    ranks = sorted(whitened[v].rank for v in free)
    full = any((endless and endless[v]) or whitened[v].rank >= n_degrees for v in free)
    if full or (len(ranks) > 1 and ranks[-1] + ranks[-2] > n_degrees):
        shown = ", ".join(f"{whitened[v].rank} in view {v + 1}" for v in free)
        raise ValueError(
            f"{name}: without regularisation (alpha=0) the directions ({shown}) suffice to fit "
            f"{n_degrees + 1} samples{_of_confounders(samples)}, so the correlation would be 1 "
            f"for any data. Increase {remedy}."
        )


def _of_confounders(samples):
    """Explain in a message why there are fewer samples than rows."""
    if not samples.n_confounders:
        return ""
    return f" (the confounders use up {samples.n_confounders} more)"


def number_found(estimator, pairs, progress):
    """Count the components; warn if there are fewer than `n_components`."""
    k = int(pairs.values.size)
    requested = estimator.n_components
    if k == 0:
        raise ValueError(f"{type(estimator).__name__}: the views have nothing in common.")
    if k < requested and not progress.stopped:
        reason = f"the rank {k} of the problem"
        warn_fewer(estimator, asked=requested, found=k, reason=reason)
    return k


def warn_of_moving(estimator):
    """Warn that the passes over the views ended before the directions had converged."""
    warn_not_converged(
        estimator,
        reached=f"directions moved by {estimator.residual_:.1e} in the last pass "
        f"(tol={estimator.tol:g})",
        remedy="increase max_iter or tol",
    )
