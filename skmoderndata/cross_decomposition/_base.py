"""Views in, scores out: what estimators for several views of the same samples share."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress
from skmoderndata._compat import CallbackSupportMixin, check_sample_weight, fit_context
from skmoderndata._solvers.kernel.canonical import (
    INDEFINITE,
    SMALL,
    CentredRows,
    Penalty,
    centre_dual,
    centre_kernel,
    coefficients,
    is_semidefinite,
    kernel_pairs,
    penalty,
    several_views,
    training_scores,
    two_views,
    whiten_features,
    whiten_kernel,
    whiten_sparse,
)
from skmoderndata._solvers.kernel.incomplete_cholesky import incomplete_cholesky
from skmoderndata._validation import check_array, validate_data
from skmoderndata.kernels._expansion import scale_gamma
from skmoderndata.kernels._resolve import KERNEL_NAMES, Columns, resolve_kernel, take

FLOATS = [np.float64, np.float32]
EXACT_LIMIT = 3000  # samples up to which method="auto" forms the kernel matrices


class MultiviewTransformer(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    """Views from ``fit(X, y)``, ``fit([X1, X2, ...])`` or the columns of one array.

    A subclass has the parameter `view_slices` and implements ``_fit_views(views, present)`` and
    ``_view_scores(v, X)``; `present` holds, for each view, the rows that are not missing. While
    `fit` runs, `_weights` are the weights of the samples, or None, and `_progress` takes passes.
    """

    _sparse_views = False

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view; or a list of views with the same samples in the same order; or, with
            `view_slices`, all views side by side.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view. Not with a list of views; ignored with `view_slices`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in means, variances and covariances: a weight of 2 counts as
            two copies of a sample, 0 as none. None gives all samples weight 1.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        views = self._take_views(X, y, reset=True)
        lengths = [_length(view) for view in views]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"{type(self).__name__} needs views of the same samples, and received views of "
                f"{', '.join(map(str, lengths))} rows: found input variables with inconsistent "
                f"numbers of samples: {lengths}."
            )
        present = [self._present(v, view) for v, view in enumerate(views)]
        self._weights = None
        if sample_weight is not None:
            w = check_sample_weight(
                sample_weight, views[0], dtype=np.float64, ensure_non_negative=True
            )
            present = [rows[w[rows] > 0] for rows in present]
            few = min(rows.size for rows in present)
            if few < 2:
                raise ValueError(
                    f"{type(self).__name__} needs at least 2 samples of positive weight in each "
                    f"view: n_samples={few}."
                )
            self._weights = None if (w == 1).all() else w
        self.n_views_ = len(views)
        self._dtype = getattr(views[0], "dtype", np.dtype(np.float64))
        with FitProgress(self, X, y, max_passes=None, task_name="pass") as self._progress:
            self._fit_views(views, present)
        del self._weights, self._progress
        return self

    def _signed(self, consensus, signs):
        """Turn the consensus of all samples; unknown for those of weight 0."""
        if consensus is None:
            return None
        if self._weights is not None:
            consensus = np.where(self._weights[:, None] > 0, consensus, np.nan)
        return consensus * signs

    def _weights_of(self, rows):
        """Weights of the samples in `rows`, None where all are 1."""
        return None if self._weights is None else self._weights[rows]

    def transform(self, X, y=None):
        """Scores of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view, or a list of all views, in which None stands for a view that is not
            there; or, with `view_slices`, all views side by side.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view; ignored with `view_slices`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            Scores of the first view; where `y` is given a pair of arrays, and for a list of
            views as many (None for a view that is not there), of which `set_output` changes the
            first. With `view_slices` one array, the scores of all views side by side.
        """
        check_is_fitted(self)
        views = self._take_views(X, y, reset=False)
        scores = [self._checked_scores(v, view) for v, view in enumerate(views)]
        if self.view_slices is not None:
            return np.hstack(scores)
        # set_output turns the first of a tuple into a data frame, and knows no list
        return scores[0] if y is None and not _is_list_of_views(X) else tuple(scores)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit, and return the scores of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            As in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            As ``fit(X, y).transform(X)``: of the first view only where `y` is given.
        """
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Mean correlation of the scores of held-out samples, over components and pairs of views.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            As in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the correlations.

        Returns
        -------
        score : float
            Between -1 and 1. The sign counts: components are paired by training.
        """
        values = self.score_components(X, y, sample_weight=sample_weight)
        return float(values.mean()) if values.size else 0.0

    def score_components(self, X, y=None, sample_weight=None):
        """Correlation of the scores of held-out samples for each component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            As in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the correlations.

        Returns
        -------
        correlations : ndarray of shape (n_components,)
            Mean over all pairs of views, in the order of training. Constant scores count as
            uncorrelated; rows in which one of two views is missing are left out.
        """
        check_is_fitted(self)
        views = self._take_views(X, y, reset=False)
        if sum(view is not None for view in views) < 2:
            raise ValueError(
                f"{type(self).__name__}.score compares views, and received one: pass y, a list of "
                "views, or set view_slices."
            )
        scores = [
            self._checked_scores(v, view) for v, view in enumerate(views) if view is not None
        ]
        w = None
        if sample_weight is not None:
            w = check_sample_weight(sample_weight, scores[0], dtype=np.float64)
        return mean_correlations(scores, w)

    def _take_views(self, X, y, *, reset):
        """Split the input into validated views (None where a view is not there)."""
        name = type(self).__name__
        if self.view_slices is not None:
            X = self._check_vectors(0, X, reset=reset, whole=True)
            return cut_columns(X, self.view_slices, name)
        if _is_list_of_views(X):
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
        if reset and len(views) < 2:
            raise ValueError(f"{name} needs at least two views, and received {len(views)}.")
        if not reset and len(views) > 1 and len(views) != self.n_views_:
            raise ValueError(
                f"{name} was fitted with {self.n_views_} views, and received {len(views)}."
            )
        if reset:
            self._n_features_per_view = [None] * len(views)
        return [
            None if view is None and not reset else self._check_view(v, view, reset=reset)
            for v, view in enumerate(views)
        ]

    def _check_view(self, v, X, *, reset):
        """Validate one view; subclasses with other samples than vectors extend it."""
        return self._check_vectors(v, X, reset=reset)

    def _check_vectors(self, v, X, *, reset, whole=False):
        settings = {
            "dtype": FLOATS,
            "accept_sparse": "csr" if self._sparse_views else False,
            "ensure_min_samples": 2 if reset else 1,
            "ensure_all_finite": (
                "allow-nan" if self._allows_missing() and not sparse.issparse(X) else True
            ),
        }
        if v == 0:
            return validate_data(self, X, reset=reset, **settings)
        if not sparse.issparse(X) and not hasattr(X, "columns"):
            X = np.asarray(X)
            X = X.reshape(-1, 1) if X.ndim == 1 else X
        X = check_array(X, input_name=f"view {v + 1}", **settings)
        if reset:
            self._n_features_per_view[v] = X.shape[1]
        elif X.shape[1] != self._n_features_per_view[v]:
            raise ValueError(
                f"View {v + 1} has {X.shape[1]} features, but {type(self).__name__} was fitted "
                f"with {self._n_features_per_view[v]}."
            )
        return X

    def _allows_missing(self):
        return False

    def _present(self, v, X):
        """Rows in which a view is not missing."""
        everything = np.arange(_length(X))
        if not self._allows_missing() or not isinstance(X, np.ndarray):
            return everything
        missing = missing_rows(X, v)
        if everything.size - missing.sum() < 2:
            raise ValueError(f"View {v + 1} is missing in all but {(~missing).sum()} rows.")
        return np.flatnonzero(~missing)

    def _checked_scores(self, v, X):
        """Scores of a validated view, NaN where it is missing, in the type of the input."""
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

    @property
    def _n_features_out(self):
        return self.n_components_ * (1 if self.view_slices is None else self.n_views_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        needs_y = self.view_slices is None
        tags.target_tags.required = needs_y
        tags.target_tags.multi_output = needs_y
        tags.input_tags.sparse = self._sparse_views
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def cut_columns(X, view_slices, name):
    """Cut an array into views: `view_slices` holds slices or pairs ``(start, stop)``."""
    if len(view_slices) < 2:
        raise ValueError(
            f"{name} needs at least two views, and view_slices={view_slices!r} has "
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
                    f"{name}: view_slices holds {entry!r}, and should hold slices or pairs "
                    "(start, stop) of column numbers."
                )
            columns = slice(*pair)
        start, stop, step = columns.indices(p)
        if len(range(start, stop, step)) == 0 or (columns.stop is not None and columns.stop > p):
            raise ValueError(
                f"{name}: view_slices holds {entry!r}, which does not fit X with n_features={p}."
            )
        views.append(X[:, columns])
    return views


def missing_rows(X, v):
    """Rows of NaN only; a row that is in part NaN is an error."""
    nan = np.isnan(X)
    missing = nan.all(axis=1)
    partial = nan.any(axis=1) & ~missing
    if partial.any():
        raise ValueError(
            f"View {v + 1} has rows with some entries NaN, the first of them row "
            f"{int(np.flatnonzero(partial)[0])}: a missing view is a row of NaN only. Impute "
            "single entries before."
        )
    return missing


def mean_correlations(scores, weights=None):
    """Correlation for each component, averaged over all pairs of views."""
    k = scores[0].shape[1]
    total, count = np.zeros(k), 0
    for u, first in enumerate(scores):
        for second in scores[u + 1 :]:
            total += column_correlations(first, second, weights)
            count += 1
    return total / count


def column_correlations(A, B, weights=None):
    """Correlation of each column of `A` with that of `B`, 0 where one is constant."""
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    both = ~(np.isnan(A).any(axis=1) | np.isnan(B).any(axis=1))
    if weights is not None:
        both &= weights > 0
    A, B = A[both], B[both]
    if len(A) == 0:
        return np.zeros(A.shape[1])
    sizes = np.abs(A).max(axis=0), np.abs(B).max(axis=0)
    if weights is None:
        A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    else:
        w = weights[both]
        A, B = (np.sqrt(w)[:, None] * (part - w @ part / w.sum()) for part in (A, B))
    a, b = np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0)
    rounding = 1e-13 * (len(A) if weights is None else float(w.sum())) ** 0.5
    known = (a > rounding * sizes[0]) & (b > rounding * sizes[1])
    inner = ((A / np.where(known, a, 1)) * (B / np.where(known, b, 1))).sum(axis=0)
    return np.where(known, np.clip(inner, -1, 1), 0.0)


def _is_list_of_views(X):
    """Whether `X` is a list or tuple of tables (and not one table as a list of rows)."""
    if not isinstance(X, list | tuple) or not X:
        return False
    first = next((view for view in X if view is not None), None)
    if isinstance(first, str | bytes) or first is None:
        return False
    if hasattr(first, "shape"):
        return len(first.shape) == 2
    if not isinstance(first, list | tuple) or not first:
        return False
    # a list of lists: a table has numbers as entries, a list of views has rows or samples
    entry = first[0]
    return isinstance(entry, str | bytes) or np.iterable(entry)


def _length(X):
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


class KernelViews(MultiviewTransformer):
    """Several views by kernels: scores are ``k(x, X_fit_) @ dual_coef_ + intercept_``.

    A subclass has the parameters of kernels, each one value or one for each view, besides
    `method`, `max_rank`, `rank_tol` and `random_state`, and calls `_fit_kernels`.
    """

    _sparse_views = True

    def _view_scores(self, v, X):
        dual, shift = self.dual_coef_[v], self.intercept_[v]
        X = self._prepared(v, X)
        scores = np.empty((_length(X), dual.shape[1]))
        for rows, K in self._grams[v].blocks(X, self.X_fit_[v]):
            scores[rows] = K @ dual
        return scores + shift

    def _prepared(self, v, X):
        """Give the kernel samples in double precision, and moved to the mean."""
        if not hasattr(X, "astype") or X.dtype.kind != "f":
            return X
        X = X.astype(np.float64, copy=False)
        return X if self._offsets[v] is None else X - self._offsets[v]

    def _check_view(self, v, X, *, reset):
        kernel = self._kernel_of(v)
        if isinstance(kernel, Kernel) and not kernel.requires_vector_input:
            return X
        X = super()._check_view(v, X, reset=reset)
        if isinstance(kernel, str) and kernel == "precomputed" and reset:
            _check_kernel_matrix(X, v, self._allows_missing())
        return X

    def _kernel_of(self, v):
        kernel = self.kernel
        if isinstance(kernel, list | tuple):
            return kernel[v] if v < len(kernel) else kernel[-1]
        return kernel

    def _present(self, v, X):
        kernel = self._kernel_of(v)
        if not (isinstance(kernel, str) and kernel == "precomputed"):
            return super()._present(v, X)
        if not self._allows_missing():
            return np.arange(_length(X))
        # a missing sample is missing in rows and in columns
        return np.flatnonzero(~np.isnan(X).all(axis=1))

    def _take_present(self, v, X, rows):
        if rows.size == _length(X):
            return X
        if self._kernel_of(v) == "precomputed":
            return X[np.ix_(rows, rows)]
        return X[rows]

    def _each(self, name, n_views):
        """One value of a parameter for each view."""
        value = getattr(self, name)
        if not isinstance(value, list | tuple):
            return [value] * n_views
        if len(value) != n_views:
            raise ValueError(
                f"{type(self).__name__}: {name} has {len(value)} entries for {n_views} views; "
                "give one for each view, or a single value."
            )
        return list(value)

    def _resolve(self, views, present):
        """Kernels with settled parameters, and the samples that they see in `fit`."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params")
        settings = zip(*(self._each(name, len(views)) for name in names), strict=True)
        self._grams, self._offsets, samples = [], [], []
        for v, (view, rows, setting) in enumerate(zip(views, present, settings, strict=True)):
            kernel = setting[0]
            if isinstance(kernel, str) and kernel not in KERNEL_NAMES:
                raise ValueError(
                    f"{type(self).__name__}: kernel={kernel!r} is none of {sorted(KERNEL_NAMES)}."
                )
            X = self._take_present(v, view, rows)
            shift = None
            if kernel in ("linear", "rbf") and isinstance(X, np.ndarray):
                # neither sees a common shift, and numbers lose fewer digits
                w = self._weights_of(rows)
                shift = X.mean(axis=0, dtype=np.float64) if w is None else w @ X / w.sum()
            values = dict(zip(names[1:], setting[1:], strict=True))
            values["gamma"] = scale_gamma(values["gamma"], kernel, X, self._weights_of(rows))
            self._grams.append(resolve_kernel(kernel, X, **values))
            self._offsets.append(shift)
            samples.append(self._prepared(v, X))
        self.kernels_ = [
            gram.kernel if not isinstance(gram.kernel, str) else (gram.kernel, dict(gram.params))
            for gram in self._grams
        ]
        return samples

    def _fit_kernels(self, views, present, *, alphas, rule, k, criterion, max_iter=1, tol=0.0):
        """Solve the problem of `kernel.canonical`; set the attributes; return the values."""
        samples = self._resolve(views, present)
        n = _length(views[0])
        method = self.method
        if method == "auto":
            small = n <= EXACT_LIMIT or any(gram.precomputed for gram in self._grams)
            method = "exact" if small else "cholesky"
        self.method_ = method
        if method == "exact":
            reduced = [
                self._exact_view(v, X, alphas[v], rule, rows)
                for v, (X, rows) in enumerate(zip(samples, present, strict=True))
            ]
            pairs = self._krylov(reduced, present, k, alphas, criterion, n)
            if pairs is not None:
                return self._store_exact(pairs.directions, pairs, reduced)
            whitened = [self._whiten(v, view) for v, view in enumerate(reduced)]
        else:
            reduced = [
                self._low_rank_view(v, X, alphas[v], rule, rows)
                for v, (X, rows) in enumerate(zip(samples, present, strict=True))
            ]
            whitened = [
                whiten_features(view.matrix, view.pen, view.total)
                if view.matrix.shape[1]
                else None
                for view in reduced
            ]
            for v, view in enumerate(whitened):
                if view is None or view.rank == 0:
                    raise ValueError(self._constant(v))
        self._refuse_interpolation(whitened, alphas, present)
        if len(views) == 2 and criterion != "gcca":
            pairs = two_views(*whitened, k)
        else:
            rows = None if all(rows.size == n for rows in present) else present
            pairs = several_views(
                whitened,
                k,
                criterion=criterion,
                max_iter=max_iter,
                tol=tol,
                rows=rows,
                n=n,
                weights=self._weights,
                progress=self._progress,
            )
        coefs = [coefficients(view, c) for view, c in zip(whitened, pairs.directions, strict=True)]
        scores = [
            _unweighted(training_scores(view, c, part.total, part.pen), part.weights)
            for view, c, part in zip(whitened, pairs.directions, reduced, strict=True)
        ]
        if method == "exact":
            return self._store_exact(coefs, pairs, reduced, scores)
        duals = [part.lift(w) for part, w in zip(reduced, coefs, strict=True)]
        shifts = [-(part.means @ w) for part, w in zip(reduced, coefs, strict=True)]
        return self._store(duals, shifts, scores, pairs, reduced)

    def _exact_view(self, v, X, alpha, rule, rows):
        gram = self._grams[v]
        K = np.array(gram(X), dtype=np.float64)
        self._refuse_diagonal(v, K.diagonal(), K)
        total = float(np.abs(K.diagonal()).sum())
        w = self._weights_of(rows)
        if w is not None:
            total = float(w @ np.abs(K.diagonal()))
        means = centre_kernel(K, w)
        trace = float(K.trace())
        if not trace > 1e-12 * total:
            raise ValueError(self._constant(v))
        scale = float(2.0 ** np.round(np.log2(trace / len(K))))
        K /= scale
        kept = Columns(rows) if gram.precomputed else X
        return View(K, means, scale, penalty(alpha, rule, scale), kept, 0.0, None, w)

    def _whiten(self, v, view):
        found = whiten_kernel(view.matrix, view.pen, view.total)
        if found.rank < 0:
            raise ValueError(self._indefinite(v))
        return found

    def _krylov(self, reduced, present, k, alphas, criterion, n):
        """Few pairs of two large views without eigendecompositions; None where it does not fit."""
        pens = [view.pen for view in reduced]
        if (
            len(reduced) != 2
            or criterion == "gcca"
            or n <= SMALL
            or k > n // 20
            or any(alpha == 0 for alpha in alphas)
            or any(pen.square for pen in pens)
        ):
            return None
        for v, view in enumerate(reduced):
            known = self._grams[v].kernel in ("linear", "rbf", "laplacian", "cosine")
            if not known and not is_semidefinite(view.matrix):
                raise ValueError(self._indefinite(v))
        # the answer does not depend on the start, up to rounding
        rng = np.random.RandomState(0)
        w = reduced[0].weights
        return kernel_pairs(
            reduced[0].matrix,
            reduced[1].matrix,
            k,
            pens=tuple(pens),
            rng=rng,
            roots=None if w is None else np.sqrt(w),
            progress=self._progress,
        )

    def _low_rank_view(self, v, X, alpha, rule, rows):
        gram = self._grams[v]
        n = _length(X)
        rank = min(self.max_rank, n)
        diagonal = gram.diag(X)
        self._refuse_diagonal(v, diagonal, None)
        total = float(diagonal.sum())
        if self.method_ == "cholesky":
            try:
                found = incomplete_cholesky(gram, X, rank=rank, tol=self.rank_tol)
            except linalg.LinAlgError as error:
                raise ValueError(self._indefinite(v)) from error
            G, pivots = found.factor, found.pivots
            L = G[pivots]
            lift = _Lift(L, triangular=True)
            residual = found.residual_trace / total if total else 0.0
        else:
            rng = check_random_state(self.random_state)
            pivots = np.sort(rng.permutation(n)[:rank])
            landmarks = gram.subset(X, pivots)
            block = np.asarray(gram(take(X, pivots), landmarks), dtype=np.float64)
            omega, U = linalg.eigh((block + block.T) / 2, check_finite=False)
            if omega[0] < -INDEFINITE * np.abs(omega).max():
                raise ValueError(self._indefinite(v))
            keep = omega > rank * np.finfo(np.float64).eps * max(float(omega[-1]), 0.0)
            R = U[:, keep] / np.sqrt(omega[keep])
            G = np.empty((n, R.shape[1]))
            for part, K in gram.blocks(X, landmarks):
                G[part] = K @ R
            lift = _Lift(R, triangular=False)
            residual = max(0.0, 1 - float(np.einsum("ij,ij->", G, G)) / total) if total else 0.0
        w = self._weights_of(rows)
        means = G.mean(axis=0) if w is None else w @ G / w.sum()
        G -= means
        if w is not None:
            G *= np.sqrt(w)[:, None]
            total = float(w @ diagonal)
        spread = float(np.einsum("ij,ij->", G, G))
        if not spread > 1e-12 * total:
            raise ValueError(self._constant(v))
        kept = Columns(rows[pivots]) if gram.precomputed else gram.subset(X, pivots)
        return View(G, means, 1.0, penalty(alpha, rule), kept, float(residual), lift, w)

    def _refuse_diagonal(self, v, diagonal, K):
        """Similarities of samples to themselves are not negative, nor zero beside others."""
        size = np.abs(diagonal).max(initial=0.0)
        if (diagonal < -INDEFINITE * size).any():
            raise ValueError(self._indefinite(v))
        if K is not None and (diagonal == 0).any():
            index = int(np.flatnonzero(diagonal == 0)[0])
            if np.abs(K[index]).max() > INDEFINITE * max(size, np.abs(K).max() * INDEFINITE):
                raise ValueError(
                    f"The kernel matrix of view {v + 1} has a zero on its diagonal, at sample "
                    f"{index}, beside entries that are not zero, and so is not positive "
                    "semi-definite. Is it a matrix of distances?"
                )

    def _refuse_interpolation(self, whitened, alphas, present):
        """Without regularisation, directions enough to fit anything make every answer 1."""
        free = [v for v, alpha in enumerate(alphas) if alpha == 0]
        room = min(rows.size for rows in present) - 1
        # the rank of a kernel with infinitely many directions is limited by rounding only
        endless = [self.method_ == "exact" and gram.constant_diagonal for gram in self._grams]
        full = [v for v in free if endless[v] or whitened[v].rank >= room]
        ranks = sorted(whitened[v].rank for v in free)
        if full or (len(ranks) > 1 and ranks[-1] + ranks[-2] > room):
            shown = ", ".join(f"{whitened[v].rank} in view {v + 1}" for v in free)
            raise ValueError(
                f"{type(self).__name__}: without regularisation (0) the directions ({shown}) "
                f"are enough to fit {room + 1} samples, and the correlation would be 1 for any "
                "data. Raise the regularisation, or limit the rank with method='cholesky' and "
                "max_rank."
            )

    def _constant(self, v):
        return f"View {v + 1} is constant: its kernel has no variance, so nothing can correlate."

    def _indefinite(self, v):
        return (
            f"The kernel matrix of view {v + 1} is not positive semi-definite. Choose another "
            "kernel or other parameters, or correct the spectrum of a precomputed matrix."
        )

    def _store_exact(self, duals, pairs, reduced, scores=None):
        if scores is None:
            scores = [
                _unweighted(view.matrix @ alpha, view.weights)
                for view, alpha in zip(reduced, duals, strict=True)
            ]
        duals = [
            centre_dual(alpha, view.weights) for view, alpha in zip(reduced, duals, strict=True)
        ]
        duals = [alpha / view.scale for view, alpha in zip(reduced, duals, strict=True)]
        shifts = [-(view.means @ alpha) for view, alpha in zip(reduced, duals, strict=True)]
        return self._store(duals, shifts, scores, pairs, reduced)

    def _store(self, duals, shifts, scores, pairs, reduced):
        signs = signs_of_peaks(scores[0])  # which do not depend on how samples are repeated
        self.dual_coef_ = [alpha * signs for alpha in duals]
        self.intercept_ = [shift * signs for shift in shifts]
        self.X_fit_ = [view.samples for view in reduced]
        self.kernel_residual_ = np.array([view.residual for view in reduced])
        self.n_components_ = int(pairs.values.size)
        self.n_iter_ = int(pairs.n_iter)
        self.residual_ = float(pairs.residual)
        if self.n_components_ == 0:
            raise ValueError(f"{type(self).__name__}: the views have nothing in common.")
        pairs = pairs._replace(consensus=self._signed(pairs.consensus, signs))
        return pairs, [part * signs for part in scores]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        first = self._kernel_of(0)
        precomputed = isinstance(first, str) and first == "precomputed"
        tags.input_tags.pairwise = precomputed and self.view_slices is None
        return tags


def signs_of_peaks(columns):
    """Sign that makes the entry of largest magnitude in each column positive."""
    if columns.shape[1] == 0:
        return np.ones(0)
    peaks = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0)[0]
    return np.where(peaks < 0, -1.0, 1.0)


class View(NamedTuple):
    """One view on its way through `KernelViews._fit_kernels`."""

    matrix: np.ndarray  # centred kernel over `scale`, or centred features
    means: np.ndarray  # column means that were taken away
    scale: float
    pen: Penalty
    samples: Any  # what new samples are compared with
    residual: float  # share of the trace that the low rank leaves out
    lift: Any  # from weights of features to dual coefficients
    weights: Any  # of the samples, None where all are 1

    @property
    def total(self):
        """Sum of the weights."""
        return float(len(self.matrix) if self.weights is None else self.weights.sum())


def _unweighted(scores, weights):
    """Scores without the roots of the weights."""
    return scores if weights is None else scores / np.sqrt(weights)[:, None]


class _Lift:
    """From weights of low-rank features to coefficients of the kernel with the pivots."""

    def __init__(self, matrix, *, triangular):
        self.matrix, self.triangular = matrix, triangular

    def __call__(self, w):
        if self.triangular:
            return linalg.solve_triangular(self.matrix, w, lower=True, trans="T")
        return self.matrix @ w


def _check_kernel_matrix(K, v, allow_missing):
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f'kernel="precomputed": view {v + 1} should be a square matrix of the kernel values '
            f"of all training samples, and has shape {K.shape}."
        )
    D = K.toarray() if sparse.issparse(K) else K
    if allow_missing:
        D = np.where(np.isnan(D), 0.0, D)
    if np.abs(D - D.T).max() > 1e-7 * np.abs(D).max():
        raise ValueError(
            f'kernel="precomputed": the matrix of view {v + 1} is not symmetric; the largest '
            f"difference between an entry and its mirror image is {np.abs(D - D.T).max():.3g}."
        )


class LinearViews(MultiviewTransformer):
    """Several views by linear functions: scores are ``(x - mean) / scale @ weights``.

    A subclass has the parameter `scale` and calls `_fit_linear`. Sparse views stay sparse: what is
    formed is their covariance, or the inner products of their rows, whichever is smaller.
    """

    _sparse_views = True

    def _view_scores(self, v, X):
        X = X.astype(np.float64, copy=False)
        if sparse.issparse(X):
            weights = self.weights_[v] / self.scales_[v][:, None]
            return X @ weights - self.means_[v] @ weights
        return ((X - self.means_[v]) / self.scales_[v]) @ self.weights_[v]

    def _fit_linear(self, views, present, *, alpha, k, criterion, max_iter=1, tol=0.0):
        """Solve the problem of `kernel.canonical`; set the attributes; return the pairs."""
        n_views, n = len(views), _length(views[0])
        alphas = list(alpha) if isinstance(alpha, list | tuple) else [alpha] * n_views
        name = type(self).__name__
        if len(alphas) != n_views:
            raise ValueError(
                f"{name}: alpha has {len(alphas)} entries for {n_views} views; give one for each "
                "view, or a single value."
            )
        if not all(0 <= value <= 1 for value in alphas):
            raise ValueError(f"{name}: alpha={alpha!r} should be between 0 and 1.")
        self.means_, self.scales_, whitened, pens, lifts = [], [], [], [], []
        for v, (X, rows, value) in enumerate(zip(views, present, alphas, strict=True)):
            w = self._weights_of(rows)
            centred = self._centred_sparse if sparse.issparse(X) else self._centred_dense
            G, mean, deviation, size = centred(v, X[rows], w)
            with np.errstate(over="ignore"):
                pens.append(penalty(value, "shrinkage", 1.0)._replace(t=value / size / size))
            if isinstance(G, CentredRows):
                whitened.append(whiten_sparse(G, pens[-1]))
            else:
                whitened.append(whiten_features(G, pens[-1], None if w is None else w.sum()))
            # with more columns than rows coefficients belong to the rows
            lifts.append(G if whitened[-1].whiten.ndim == 1 else None)
            self.means_.append(mean)
            self.scales_.append(deviation * size)
        room = min(rows.size for rows in present) - 1
        free = [view.rank for view, value in zip(whitened, alphas, strict=True) if value == 0]
        if any(rank >= room for rank in free) or sum(sorted(free)[-2:]) > room:
            raise ValueError(
                f"{name}: without regularisation (alpha=0) views of rank {free} are enough to fit "
                f"{room + 1} samples, and the correlation would be 1 for any data. Raise alpha."
            )
        if n_views == 2 and criterion != "gcca":
            pairs = two_views(*whitened, k)
        else:
            rows = None if all(index.size == n for index in present) else present
            pairs = several_views(
                whitened,
                k,
                criterion=criterion,
                max_iter=max_iter,
                tol=tol,
                rows=rows,
                n=n,
                weights=self._weights,
                progress=self._progress,
            )
        weights = [
            coefficients(view, c) for view, c in zip(whitened, pairs.directions, strict=True)
        ]
        weights = [w if G is None else G.inner(w) for G, w in zip(lifts, weights, strict=True)]
        signs = signs_of_peaks(weights[0])
        self.weights_ = [w * signs for w in weights]
        self.n_components_ = int(pairs.values.size)
        if self.n_components_ == 0:
            raise ValueError(f"{name}: the views have nothing in common.")
        self.n_iter_ = int(pairs.n_iter)
        self.residual_ = float(pairs.residual)
        self.ranks_ = np.array([view.rank for view in whitened])
        self.correlations_ = pairs.values
        given = [self._weights_of(rows) for rows in present]
        scores = [
            _unweighted(
                training_scores(view, c * signs, rows.size if w is None else w.sum(), pen), w
            )
            for view, c, pen, rows, w in zip(
                whitened, pairs.directions, pens, present, given, strict=True
            )
        ]
        self.empirical_correlations_ = mean_correlations(
            [spread_rows(values, rows, n) for values, rows in zip(scores, present, strict=True)],
            self._weights,
        )
        return pairs._replace(consensus=self._signed(pairs.consensus, signs))

    def _centred_dense(self, v, X, w):
        """Centred and scaled rows, times the roots of their weights; means, deviations, size."""
        G = X.astype(np.float64)
        top = np.abs(G).max(initial=0.0)
        mean = G.mean(axis=0) if w is None else w @ G / w.sum()
        G -= mean
        # what is left of a column of equal numbers is rounding
        G[:, np.abs(G).max(axis=0) <= 8 * np.finfo(X.dtype).eps * np.abs(mean)] = 0.0
        spread = np.abs(G).max(initial=0.0)
        if not spread > 1e-14 * top:
            raise ValueError(self._constant(v))
        deviation = np.ones(G.shape[1])
        if self.scale:
            peak = np.abs(G).max(axis=0)
            peak[peak == 0] = 1.0
            squares = (G / peak) ** 2
            if w is None:
                variance = squares.sum(axis=0) / (len(G) - 1)
            else:
                variance = w @ squares / (w.sum() - 1)
            deviation = peak * np.sqrt(variance)
            deviation[deviation == 0] = 1.0
        G /= deviation
        # powers of two: squares of numbers of any size stay finite
        size = 2.0 ** np.round(np.log2(np.abs(G).max()))
        G /= size
        if w is not None:
            G *= np.sqrt(w)[:, None]
        return G, mean, deviation, size

    def _centred_sparse(self, v, X, w):
        """Like the above for sparse rows, as `CentredRows`."""
        n, p = X.shape
        w = np.ones(n) if w is None else w
        X = X.astype(np.float64).tocsc()
        X.sum_duplicates()
        total = w.sum()
        mean = np.asarray(w @ X).ravel() / total
        columns = np.repeat(np.arange(p), np.diff(X.indptr))
        rest = (X.data - mean[columns]) ** 2 * w[X.indices]
        stored = np.bincount(columns, weights=w[X.indices], minlength=p)
        squares = np.bincount(columns, weights=rest, minlength=p) + (total - stored) * mean**2
        deviation = np.sqrt(squares / (total - 1))
        constant = deviation <= 8 * np.finfo(np.float64).eps * np.abs(mean)
        if constant.all():
            raise ValueError(self._constant(v))
        size = 1.0
        if self.scale:
            deviation[constant] = 1.0
        else:
            size = 2.0 ** np.round(np.log2(deviation.max()))
            deviation = np.ones(p)
        if constant.any():
            X = X.multiply(np.where(constant, 0.0, 1.0)).tocsc()
            X.eliminate_zeros()
        centre = np.where(constant, 0.0, mean)
        return CentredRows(X, centre, deviation * size, np.sqrt(w)), mean, deviation, size

    def _constant(self, v):
        return f"View {v + 1} is constant, so nothing can correlate with it."


def spread_rows(values, rows, n):
    """Scores of all samples, NaN where the view is missing."""
    if rows.size == n:
        return values
    full = np.full((n, values.shape[1]), np.nan)
    full[rows] = values
    return full
