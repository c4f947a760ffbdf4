"""Base of the linear methods for several views, dense and sparse."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.kernel.canonical import (
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
    mean_correlations,
    number_found,
    refuse_interpolation,
    signed_consensus,
    signs_of_peaks,
)

ALPHAS = np.r_[1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 0.9, 0.99]  # of "auto"
N_FOLDS = 5


class LinearViews(MultiviewTransformer):
    """Base of the linear methods for several views, with scores ``(x - means_) @ weights_``.

    A subclass has the parameters `n_components`, `alpha` and `scale`. Sparse views remain sparse:
    only their covariance or the Gram matrix of their rows is formed, whichever is smaller.
    """

    _sparse_views = True

    def _view_scores(self, v, X):
        X = X.astype(np.float64, copy=False)
        if sparse.issparse(X):
            return X @ self.weights_[v] - self.means_[v] @ self.weights_[v]
        return (X - self.means_[v]) @ self.weights_[v]

    def _alphas(self, n_views):
        """Regularisation of each view."""
        alpha = self.alpha
        name = type(self).__name__
        alphas = list(alpha) if isinstance(alpha, list | tuple) else [alpha] * n_views
        if len(alphas) != n_views:
            raise ValueError(
                f"{name}: alpha has {len(alphas)} entries for {n_views} views; give one for each "
                "view, or a single value."
            )
        if not all(0 <= value <= 1 for value in alphas):
            raise ValueError(f"{name}: alpha={alpha!r} should be between 0 and 1.")
        return alphas

    def _store(self, solution, samples, progress):
        """Set the attributes from a solution."""
        pairs = solution.pairs
        self.n_components_ = number_found(self, pairs, progress)
        self.weights_, self.means_, self.scales_ = solution[1:4]
        if len(self.weights_) == 2:
            self.x_weights_, self.y_weights_ = self.weights_
        self.ranks_ = np.array(solution.ranks)

        # the objective, and what the scores of the samples have
        self.regularized_correlations_ = pairs.values
        self.correlations_ = mean_correlations(
            [samples.spread(scores, v) for v, scores in enumerate(solution.scores)],
            samples.weights,
        )

        self.n_iter_ = int(pairs.n_iter)
        self.residual_ = float(pairs.residual)


class LinearSolution(NamedTuple):
    """Result of `solve_linear`; each list has one entry for each view."""

    pairs: Pairs
    weights: list[Any]
    means: list[Any]
    scales: list[Any]
    ranks: list[int]
    scores: list[Any]  # of the training samples


def solve_linear(views, samples, *, alphas, scale, k, name, **problem):
    """Whiten each view, solve the problem of `kernel.canonical`, return to the units of X.

    Parameters
    ----------
    views : list of ndarray or sparse matrix
        Tables of the same samples.
    samples : Samples
        Rows that are there, and their weights.
    alphas : list of float
        Regularisation of each view.
    scale : bool
        Whether columns are divided by their standard deviation.
    k : int
        Number of components.
    name : str
        What error messages call the estimator.
    **problem
        As `canonical_pairs` takes it: `criterion`, `max_iter`, `tol` and `progress`.

    Returns
    -------
    solution : LinearSolution
        The largest weight, in standard deviations of the columns with `scale`, of each component
        of the first view is positive.
    """
    parts = [
        whitened_view(X, samples, v, alpha=alpha, scale=scale)
        for v, (X, alpha) in enumerate(zip(views, alphas, strict=True))
    ]
    whitened = [part.view for part in parts]
    refuse_interpolation(whitened, alphas, samples, name=name, remedy="alpha")
    pairs = canonical_pairs(whitened, k, samples, **problem)

    # weights in the units of X, and scores
    weights = [part.weights(c) for part, c in zip(parts, pairs.directions, strict=True)]
    scores = [
        training_scores(view, c, samples.weights_of(v))
        for v, (view, c) in enumerate(zip(whitened, pairs.directions, strict=True))
    ]

    # the largest weight of the first view is positive, in standard deviations
    signs = signs_of_peaks(weights[0] * parts[0].scale[:, None])
    consensus = signed_consensus(pairs.consensus, signs, samples.weights)
    return LinearSolution(
        pairs._replace(consensus=consensus),
        [W * signs for W in weights],
        [part.mean for part in parts],
        [part.scale for part in parts],
        [view.rank for view in whitened],
        [part * signs for part in scores],
    )


class LinearView(NamedTuple):
    """A centred, scaled and whitened view; means and scales of its columns."""

    view: Any
    rows: Any
    mean: Any
    scale: Any

    def weights(self, c):
        """Weights of the columns in the units of X that belong to directions."""
        W = coefficients(self.view, c)
        # with more sparse columns than rows the coefficients belong to the rows
        W = self.rows.inner(W) if sparse.issparse(self.view.whiten) else W
        return W / self.scale[:, None]


def whitened_view(X, samples, v, *, alpha, scale):
    """Centre, scale and whiten the rows of one view."""
    w = samples.weights_of(v)
    centred = centred_sparse if sparse.issparse(X) else centred_dense
    G, mean, deviation = centred(X[samples.rows[v]], w, scale)
    if G is None:
        raise ValueError(f"View {v + 1} is constant, so nothing can correlate with it.")
    pen = penalty(alpha, "shrinkage")
    if sparse.issparse(X):
        view = whiten_sparse(G, pen)
    else:
        view = whiten_features(G, pen, None if w is None else w.sum())
    return LinearView(view, G, mean, deviation)


def alpha_of_folds(views, samples, *, scale, k):
    """Regularisation for which the scores of held-out rows correlate most.

    Returns
    -------
    alpha : float
        The best of `ALPHAS` by the correlation of the scores over all held-out rows, the mean over
        the pairs.
    """
    # rows that both views have, of positive weight
    used = np.intersect1d(*samples.rows)
    w = np.ones(len(used)) if samples.weights is None else samples.weights[used]
    views = [X[used] for X in views]

    fold = _folds(views, w, scale)
    products = np.zeros((len(ALPHAS), k, 3))
    for f in range(fold.max() + 1):
        train = np.flatnonzero(fold != f)
        test = np.flatnonzero(fold == f)
        if len(train) < 2:
            continue
        part = Samples(len(train), [np.arange(len(train))] * 2, w[train])

        # eigenvectors once, for all penalties
        start = penalty(0.5, "shrinkage")
        try:
            parts = [
                whitened_view(X[train], part, v, alpha=0.5, scale=scale)
                for v, X in enumerate(views)
            ]
        except ValueError:  # constant without these rows
            continue
        for a, alpha in enumerate(ALPHAS):
            pen = penalty(alpha, "shrinkage")
            again = [
                side._replace(view=with_penalty(side.view, start, pen, w[train].sum()))
                for side in parts
            ]
            pairs = canonical_pairs([side.view for side in again], k, part)

            # products of the held-out scores of the two views
            A, B = (
                X[test] @ W - side.mean @ W
                for X, side, W in zip(
                    views,
                    again,
                    [side.weights(c) for side, c in zip(again, pairs.directions, strict=True)],
                    strict=True,
                )
            )
            sums = [w[test] @ (P * Q) for P, Q in ((A, B), (A, A), (B, B))]
            products[a, : A.shape[1]] += np.transpose(sums)

    # ties go to the stronger regularisation
    both, a, b = np.moveaxis(products, 2, 0)
    sizes = np.sqrt(a * b)
    correlations = np.divide(both, sizes, out=np.zeros_like(both), where=sizes > 0).mean(
        axis=1
    )
    return float(ALPHAS[np.flatnonzero(correlations >= correlations.max() - 1e-12)[-1]])


def _folds(views, w, scale):
    """Fold of each row by the rank of a projection.

    So the order of the rows does not matter, and copies share a fold, as they share a weight.
    """
    key = np.zeros(len(w))
    for v, X in enumerate(views):
        centred = centred_sparse if sparse.issparse(X) else centred_dense
        G, _, _ = centred(X, w, scale)
        if G is not None:
            direction = np.cos(1.0 + v + np.arange(X.shape[1]) ** 2.0)[:, None]
            key += (G @ direction)[:, 0] / np.sqrt(w)
    size = np.abs(key).max(initial=0.0) or 1.0
    _, rank = np.unique(np.round(key / size, 9), return_inverse=True)
    return rank % N_FOLDS


def centred_dense(X, w, scale):
    """Centred rows times the roots of their weights, None if all are equal; means, deviations."""
    G = X.astype(np.float64)
    total = len(G) if w is None else w.sum()
    mean = G.mean(axis=0) if w is None else w @ G / total
    peak = np.abs(G).max(axis=0)
    G -= mean
    # a centred constant column contains only rounding errors
    G[:, np.abs(G).max(axis=0) <= 8 * np.finfo(X.dtype).eps * np.abs(mean)] = 0.0
    if not np.abs(G).max(initial=0.0) > 1e-14 * peak.max(initial=0.0):
        return None, mean, None
    if w is not None:
        G *= np.sqrt(w)[:, None]
    deviation = np.ones(G.shape[1])
    if scale:
        deviation = np.sqrt(np.einsum("ij,ij->j", G, G) / total)
        deviation[deviation == 0] = 1.0
        G /= deviation
    return G, mean, deviation


def centred_sparse(X, w, scale):
    """`centred_dense` for sparse rows, as `CentredRows`."""
    n, p = X.shape
    w = np.ones(n) if w is None else w

    X = X.astype(np.float64).tocsc()
    # squared deviations of stored entries, and of the zeros that are not stored
    X.sum_duplicates()
    total = w.sum()
    mean = np.asarray(w @ X).ravel() / total
    columns = np.repeat(np.arange(p), np.diff(X.indptr))
    inner = (X.data - mean[columns]) ** 2 * w[X.indices]
    stored = np.bincount(columns, weights=w[X.indices], minlength=p)
    squares = np.bincount(columns, weights=inner, minlength=p) + (total - stored) * mean**2

    deviation = np.sqrt(squares / total)
    constant = deviation <= 8 * np.finfo(np.float64).eps * np.abs(mean)
    if constant.all():
        return None, mean, None
    deviation = np.where(constant, 1.0, deviation) if scale else np.ones(p)

    if constant.any():
        X = X.multiply(np.where(constant, 0.0, 1.0)).tocsc()
        X.eliminate_zeros()

    centre = np.where(constant, 0.0, mean)
    return CentredRows(X, centre, deviation, np.sqrt(w)), mean, deviation
