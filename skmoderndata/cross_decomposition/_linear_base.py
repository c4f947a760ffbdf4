"""Base of the linear methods for several views, dense and sparse."""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.export import described, linear_regressor, projection
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    RESULT_DIGITS,
    ROUNDING,
)
from skmoderndata._solvers.kernel.canonical import (
    ALPHAS,
    CentredRows,
    Pairs,
    Samples,
    canonical_pairs,
    coefficients,
    penalty,
    training_scores,
    whiten_features,
    whiten_sparse,
    with_penalty,
)
from skmoderndata.cross_decomposition._base import (
    MultiviewTransformer,
    cut_columns,
    mean_correlations,
    number_found,
    refuse_interpolation,
    signed_consensus,
    signs_of_peaks,
    weighted_mean,
)


class LinearViews(MultiviewTransformer):
    """Base of the linear methods for several views, with scores ``(x - means_) @ weights_``.

    A subclass has the parameters `n_components`, `alpha` and `scale`. Sparse views remain sparse:
    only their covariance or the Gram matrix of their rows is formed, whichever is smaller.
    """

    _sparse_views = True

    def _view_scores(self, v, X):
        X = X.astype(np.float64, copy=False)
        W = self.weights_[v]
        mean = self.means_[v]
        if sparse.issparse(X):
            return X @ W - mean @ W
        return (X - mean) @ W

    def to_sklearn(self):
        """Return the model as estimators of scikit-learn, with the same scores and predictions.

        Returns
        -------
        parts : dict
            A `PCA` for each view, "view1", "view2", ..., whose components are the weights. For two
            views also "predict", a `LinearRegression` of the second view on the first. With
            `view_slices`, each of them accepts the table with the columns of all views. Missing
            views raise ValueError.
        """
        check_is_fitted(self)
        # 1. place the weights and means of each view among the columns that `transform` receives
        weights = self.weights_
        means = self.means_
        if self.view_slices is not None:
            columns = np.arange(self.n_features_in_)[None]
            cuts = cut_columns(columns, self.view_slices, type(self).__name__)
            weights = [self._among_all(W, cut) for W, cut in zip(weights, cuts, strict=True)]
            means = [self._among_all(m, cut) for m, cut in zip(means, cuts, strict=True)]

        # 2. build the scores of the views
        pairs = zip(weights, means, strict=True)
        views = [projection(W.T, mean) for W, mean in pairs]
        parts = {f"view{v + 1}": view for v, view in enumerate(views)}
        for view in views if self.view_slices is not None else views[:1]:
            described(self, view)

        # 3. build the prediction of the second view from the first
        if vars(self).get("prediction_coef_") is not None and self.n_views_ == 2:
            slopes = (weights[0] @ self.prediction_coef_).T
            intercept = self.prediction_intercept_ - slopes @ means[0]
            if self._predict_1d:
                slopes = slopes[0]
                intercept = intercept[0]
            parts["predict"] = linear_regressor(self, slopes, intercept)
        return parts

    def _among_all(self, values, columns):
        """Place values of some columns among zeros for the others."""
        placed = np.zeros((self.n_features_in_, *values.shape[1:]))
        placed[columns[0]] = values
        return placed

    def _alphas(self, n_views):
        """Return the regularisation of each view."""
        alpha = self.alpha
        name = type(self).__name__
        alphas = [alpha] * n_views
        if isinstance(alpha, list | tuple):
            alphas = list(alpha)
        if len(alphas) != n_views:
            raise ValueError(
                f"{name}: alpha has {len(alphas)} entries for {n_views} views; pass one for each "
                "view, or a single value."
            )
        if not all(0 <= value <= 1 for value in alphas):
            raise ValueError(f"{name}: alpha={alpha!r} should be between 0 and 1.")
        return alphas

    def _store(self, solution, samples, progress):
        """Set the fitted attributes from a solution."""
        pairs = solution.pairs
        self.n_components_ = number_found(self, pairs, progress)
        self.weights_, self.means_, self.scales_ = solution[1:4]
        if len(self.weights_) == 2:
            self.x_weights_, self.y_weights_ = self.weights_
        self.ranks_ = np.array(solution.ranks)

        # The objective gives the regularised correlations, and the scores give the plain
        # correlations.
        self.regularized_correlations_ = pairs.values
        spread = [samples.spread(scores, v) for v, scores in enumerate(solution.scores)]
        self.correlations_ = mean_correlations(spread, samples.weights)

        self.n_iter_ = int(pairs.n_iter)
        self.residual_ = float(pairs.residual)


class LinearSolution(NamedTuple):
    """Result of `solve_linear`; each list has one entry for each view."""

    pairs: Pairs
    weights: list[Any]
    means: list[Any]
    scales: list[Any]
    ranks: list[int]
    scores: list[Any]  # scores of the training samples


def solve_linear(views, samples, *, alphas, scale, k, name, **problem):
    """Whiten each view, solve the problem of `kernel.canonical` and return to the units of X.

    Parameters
    ----------
    views : list of ndarray or sparse matrix
        Tables of the same samples.
    samples : Samples
        Rows that are present in each view, and their weights.
    alphas : list of float
        Regularisation of each view.
    scale : bool
        Whether columns are divided by their standard deviation.
    k : int
        Number of components.
    name : str
        Name of the estimator in error messages.
    **problem
        Parameters of `canonical_pairs`: `criterion`, `max_iter`, `tol` and `progress`.

    Returns
    -------
    solution : LinearSolution
        Solution whose signs make the largest weight of each component of the first view
        positive; with `scale`, weights are compared in standard deviations of the columns.
    """
    sides = [
        whitened_view(X, samples, v, alpha=alphas[v], scale=scale) for v, X in enumerate(views)
    ]
    whitened = [side.view for side in sides]
    refuse_interpolation(whitened, alphas, samples, name=name, remedy="alpha")
    pairs = canonical_pairs(whitened, k, samples, **problem)

    # Compute the weights in the units of X, and the scores.
    weights = []
    scores = []
    for v, (side, c) in enumerate(zip(sides, pairs.directions, strict=True)):
        weights.append(side.weights(c))
        scores.append(training_scores(side.view, c, samples.weights_of(v)))

    # Give a positive sign to the largest weight of the first view, in units of standard
    # deviations.
    signs = signs_of_peaks(weights[0] * sides[0].scale[:, None])
    consensus = signed_consensus(pairs.consensus, signs, samples.weights)
    return LinearSolution(
        pairs=pairs._replace(consensus=consensus),
        weights=[W * signs for W in weights],
        means=[side.mean for side in sides],
        scales=[side.scale for side in sides],
        ranks=[side.view.rank for side in sides],
        scores=[columns * signs for columns in scores],
    )


class LinearView(NamedTuple):
    """One view after centring, scaling and whitening, with means and scales of its columns."""

    view: Any
    rows: Any
    mean: Any
    scale: Any

    def weights(self, c):
        """Convert directions of the whitened view to column weights in the units of X."""
        W = coefficients(self.view, c)
        # If there are more sparse columns than rows, the coefficients belong to the rows.
        if sparse.issparse(self.view.whiten):
            W = self.rows.inner(W)
        return W / self.scale[:, None]


def whitened_view(X, samples, v, *, alpha, scale):
    """Centre, scale and whiten the rows of one view."""
    w = samples.weights_of(v)
    centred = centred_sparse if sparse.issparse(X) else centred_dense
    present = X[samples.rows[v]]
    G, mean, deviation = centred(present, w, scale)
    if G is None:
        raise ValueError(f"View {v + 1} is constant, so nothing can correlate with it.")
    pen = penalty(alpha, "shrinkage")
    if sparse.issparse(X):
        view = whiten_sparse(G, pen)
    else:
        total = None if w is None else w.sum()
        view = whiten_features(G, pen, total)
    return LinearView(view, G, mean, deviation)


def alpha_of_folds(views, samples, *, scale, k, criterion, name):
    """Choose the regularisation that maximises the correlation of scores of held-out rows.

    Returns
    -------
    alpha : float
        Value of `ALPHAS` with the highest correlation of the scores over all held-out rows,
        averaged over components and pairs of views.
    """
    # Use the rows of positive weight that all views have.
    used = functools.reduce(np.intersect1d, samples.rows)
    if len(used) < 2:
        raise ValueError(
            f"{name}: alpha='auto' compares samples that have all views, but only {len(used)} do: "
            "set alpha to a number, for example 0.1."
        )
    w = np.ones(len(used))
    if samples.weights is not None:
        w = samples.weights[used]
    views = [X[used] for X in views]

    fold = _folds(views, w, scale)
    start = penalty(0.5, "shrinkage")
    n_pairs = len(views) * (len(views) - 1) // 2
    products = np.zeros((len(ALPHAS), n_pairs, k, 3))
    for f in range(fold.max() + 1):
        train = np.flatnonzero(fold != f)
        test = np.flatnonzero(fold == f)
        if len(train) < 2:
            continue
        rows = np.arange(len(train))
        fitted = Samples(len(train), [rows] * len(views), w[train])
        held_out = [X[test] for X in views]

        # Compute the eigenvectors once and use them for all penalties.
        try:
            sides = [
                whitened_view(X[train], fitted, v, alpha=0.5, scale=scale)
                for v, X in enumerate(views)
            ]
        except ValueError:  # without the held-out rows, a view is constant
            continue

        total = w[train].sum()
        for a, alpha in enumerate(ALPHAS):
            pen = penalty(alpha, "shrinkage")
            whitened = [with_penalty(side.view, start, pen, total) for side in sides]
            pairs = canonical_pairs(whitened, k, fitted, criterion=criterion)

            scores = _scores_of(held_out, sides, whitened, pairs.directions)
            sums = _products_of_pairs(scores, w[test])
            products[a, :, : sums.shape[1]] += sums

    # on ties, choose the stronger regularisation
    both, squares_of_first, squares_of_second = np.moveaxis(products, 3, 0)
    sizes = np.sqrt(squares_of_first * squares_of_second)
    correlations = np.divide(both, sizes, out=np.zeros_like(both), where=sizes > 0)
    correlations = correlations.mean(axis=(1, 2))
    best = np.flatnonzero(correlations >= correlations.max() - ACCUMULATED_ROUNDING)
    return float(ALPHAS[best[-1]])


def _products_of_pairs(scores, w):
    """Weighted sums of products of the scores, of shape (n_pairs, n_components, 3).

    For each pair of views: the first times the second, and the squares of both.
    """
    products = [
        np.transpose([w @ (P * Q) for P, Q in ((A, B), (A, A), (B, B))])
        for A, B in itertools.combinations(scores, 2)
    ]
    return np.array(products)


def _scores_of(views, sides, whitened, directions):
    """Compute scores of held-out rows, one array for each view."""
    scores = []
    for X, side, view, c in zip(views, sides, whitened, directions, strict=True):
        W = side._replace(view=view).weights(c)
        scores.append(X @ W - side.mean @ W)
    return scores


def _folds(views, w, scale):
    """Assign each row to a fold by its rank in a projection.

    The folds therefore do not depend on the order of the rows. Copies share a fold, so they have
    the same effect as a weight.
    """
    key = np.zeros(len(w))
    for v, X in enumerate(views):
        centred = centred_sparse if sparse.issparse(X) else centred_dense
        G, _, _ = centred(X, w, scale)
        if G is not None:
            angles = 1.0 + v + np.arange(X.shape[1]) ** 2.0
            direction = np.cos(angles)[:, None]
            key += (G @ direction)[:, 0] / np.sqrt(w)
    size = np.abs(key).max(initial=0.0) or 1.0
    rounded = np.round(key / size, RESULT_DIGITS)
    _, rank = np.unique(rounded, return_inverse=True)
    return rank % N_FOLDS


def centred_dense(X, w, scale):
    """Centre rows, multiply them by root weights (None: all equal); return means, deviations."""
    G = X.astype(np.float64)
    total = len(G) if w is None else w.sum()
    mean = weighted_mean(G, w)
    peak = np.abs(G).max(axis=0)
    G -= mean

    # After centring, a constant column contains only rounding errors.
    rounding = 8 * np.finfo(X.dtype).eps * np.abs(mean)
    constant = np.abs(G).max(axis=0) <= rounding
    G[:, constant] = 0.0
    largest = np.abs(G).max(initial=0.0)
    if not largest > ROUNDING * peak.max(initial=0.0):
        return None, mean, None
    if w is not None:
        G *= np.sqrt(w)[:, None]
    deviation = np.ones(G.shape[1])
    if scale:
        squares = np.einsum("ij,ij->j", G, G)
        deviation = np.sqrt(squares / total)
        deviation[deviation == 0] = 1.0
        G /= deviation
    return G, mean, deviation


def centred_sparse(X, w, scale):
    """Do the same as `centred_dense` for sparse rows, with `CentredRows` as result."""
    n, p = X.shape
    w = np.ones(n) if w is None else w

    X = X.astype(np.float64).tocsc()
    # Sum the squared deviations of the stored entries, and of the zeros that are not stored.
    X.sum_duplicates()
    total = w.sum()
    mean = np.asarray(w @ X).ravel() / total
    columns = np.repeat(np.arange(p), np.diff(X.indptr))
    weights = w[X.indices]
    inner = (X.data - mean[columns]) ** 2 * weights
    stored = np.bincount(columns, weights=weights, minlength=p)
    squares = np.bincount(columns, weights=inner, minlength=p)
    squares = squares + (total - stored) * mean**2

    deviation = np.sqrt(squares / total)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(mean)
    constant = deviation <= rounding
    if constant.all():
        return None, mean, None
    deviation = np.where(constant, 1.0, deviation) if scale else np.ones(p)

    if constant.any():
        varies = np.where(constant, 0.0, 1.0)
        X = X.multiply(varies).tocsc()
        X.eliminate_zeros()

    centre = np.where(constant, 0.0, mean)
    rows = CentredRows(X, centre, deviation, np.sqrt(w))
    return rows, mean, deviation
