"""Sammon mapping."""

import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, check_array, validate_data
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.linalg import asymmetry, fix_signs
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.threads import in_jobs
from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.embeddings.sammon import (
    place,
    sammon_descent,
)


class SammonMapping(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Embed samples so that distances are preserved, with emphasis on small distances.

    The points y of the map minimise [1]_

    .. math::
        E = \frac{1}{\sum_{i<j} d_{ij}} \sum_{i<j} \frac{(d_{ij} - \|y_i - y_j\|)^2}{d_{ij}}

    where d are the distances between the samples.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    metric : str or callable, default="euclidean"
        Metric of `sklearn.metrics.pairwise_distances`, or "precomputed" if X contains distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    init : str or array-like of shape (n_samples, n_components), default="classical_mds"
        Start: "classical_mds" (classical scaling), "random", or given points.
    n_init : int, default=1
        Number of starts, random after the first; the map with the smallest stress is kept.
    max_iter : int, default=500
        Largest number of steps per start.
    tol : float, default=1e-07
        A start ends when the relative decrease of the stress over 5 steps is below this and the
        gradient is small.
    random_state : int, RandomState instance or None, default=None
        Controls the random starts, and coordinates that are zero in classical scaling. Pass an int
        for reproducible results.
    n_jobs : int, default=None
        Number of threads over blocks of rows.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The map, with mean 0 over distinct samples.
    stress_ : float
        Stress E of the map.
    gradient_norm_ : float
        Norm of the gradient of E, with distances in units of their mean.
    objective_history_ : ndarray of shape (n_iter_ + 1,)
        Stress from step to step.
    n_zero_distances_ : int
        Number of pairs of samples at distance zero, which are ignored.
    n_iter_ : int
        Number of steps of the best start.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.manifold.MDS : Without weights, so that large distances dominate. No map for new
        samples.
    sklearn.manifold.TSNE : Neighbours instead of distances.
    LaplacianEmbedding : Similarities instead of distances, and a unique answer.

    Notes
    -----
    A step costs ``n^2 n_components / 2``; ``n^2 / 2`` distances are in memory. There is no
    certificate because the stress is not convex: the result depends on the start, mostly by some
    tenths of a percent. `gradient_norm_` shows whether the map is a stationary point.

    Equal samples are mapped once and get the same point; other distances of zero, which a
    precomputed table may have, are ignored. The stress is computed from distinct samples.

    `transform` places each new sample where the stress of its distances to the map is least,
    starting from the mean of its 5 nearest neighbours; the map stays fixed. A sample equal to a
    training sample gets its point, so that ``fit(X).transform(X)`` is `embedding_`.

    The map is rotated to its principal axes, each signed so that its entry of largest magnitude is
    positive.

    References
    ----------
    .. [1] Sammon, A nonlinear mapping for data structure analysis, IEEE Transactions on Computers
       C-18(5), 1969, equation 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmoderndata.manifold import SammonMapping
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = SammonMapping().fit(X)
    >>> round(model.stress_, 5)
    0.00396
    >>> model.n_zero_distances_
    1
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("sammon1969nonlinear",),
        cost="T n^2 k",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "init": [StrOptions({"classical_mds", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        metric="euclidean",
        metric_params=None,
        init="classical_mds",
        n_init=1,
        max_iter=500,
        tol=1e-7,
        random_state=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y=None):
        """Compute the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; the square table of their distances if `metric="precomputed"`.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : SammonMapping
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS)
        dtype = X.dtype
        X = X.astype(np.float64)
        n = len(X)
        k = self.n_components
        rng = check_random_state(self.random_state)

        initial = None
        if not isinstance(self.init, str):
            initial = check_array(
                self.init, dtype=np.float64, input_name="init", estimator=self
            )
            if initial.shape != (n, k):
                raise ValueError(
                    f"init has shape {initial.shape}, but the map has shape {(n, k)}: give one "
                    "point for each sample."
                )

        # map only distinct samples, because the stress divides by distances
        first, index, d = self._distinct(X)
        times = np.bincount(index)
        copies = int(np.sum(times * (times - 1)) // 2)
        self.n_zero_distances_ = copies + self._zeros(d, times)

        # scale the distances to a mean of one
        n_pairs = int(np.count_nonzero(d))
        unit = float(d.sum()) / n_pairs if n_pairs else 1.0
        d /= unit  # divide in place, because the distances may be the largest array

        if not n_pairs:
            Y = np.zeros((len(first), k))
            self._store(Y, 0.0, 0.0, np.zeros(1), 0)
            with FitProgress(self, X, y, max_passes=0):
                pass  # no two samples have a positive distance
        else:
            # run the first start and random starts, and keep the map with the least stress
            n = len(first)
            starts = [self._start(X[first], d, initial, first, unit, rng)]
            starts += [rng.normal(size=(n, k)) for _ in range(self.n_init - 1)]
            best, stopped = self._best_map(d, starts, X, y)

            # centre the map, and order the axes by decreasing variance
            Y = best.Y - best.Y.mean(axis=0)
            _, _, Vt = np.linalg.svd(Y, full_matrices=False)
            axes = fix_signs((Y @ Vt.T).T)
            Y = axes.T * unit
            n_missing = k - Y.shape[1]  # there are fewer samples than dimensions
            if n_missing:
                Y = np.hstack([Y, np.zeros((n, n_missing))])

            self._store(Y, best.stress, best.gradient_norm, best.trace, best.n_iter)
            if not best.converged and not stopped:
                warn_not_converged(
                    self,
                    reached=f"gradient {best.gradient_norm:.1e} after {best.n_iter} steps",
                    remedy="increase max_iter or tol",
                )

        self._places = Y
        self._rows = X[first] if self.metric != "precomputed" else first
        self.embedding_ = Y[index].astype(dtype, copy=False)
        return self

    def fit_transform(self, X, y=None):
        """Compute and return the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; the square table of their distances if `metric="precomputed"`.
        y : None
            Not used, present by convention.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    @by_rows
    def transform(self, X):
        """Place new samples on the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; their distances from all samples of `fit` if `metric="precomputed"`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Where the stress of each sample against the map is least.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        rows = X.astype(np.float64, copy=False)
        places = self._places
        Z = np.empty((len(X), places.shape[1]))
        # use the unit of the map, not the unit of the new samples
        unit = float(np.abs(places).max()) or 1.0

        # process blocks of rows whose distances fit into memory
        size = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * places.size))
        for block in row_blocks(len(X), 1, limit=size):
            samples = rows[block]
            if self.metric == "precomputed":
                self._check_positive(samples)
            d = self._to_map(samples)
            Z[block] = place(d / unit, places / unit) * unit
        return Z.astype(X.dtype, copy=False)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean stress of new samples against the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; their distances from all samples of `fit` if `metric="precomputed"`.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            At most 0; higher is better.
        """
        Z = self.transform(X).astype(np.float64)
        X = np.asarray(X, dtype=np.float64)
        d = self._to_map(X)
        mapped = pairwise_distances(Z, self._places)

        # compute Sammon's stress in units of the mean distance
        unit = float(d.mean()) or 1.0
        w = np.divide(unit, d, out=np.zeros_like(d), where=d > 0)
        errors = ((d - mapped) / unit) ** 2
        total = max(np.sum(d / unit), SMALLEST_DIVISOR)
        return -float(np.sum(w * errors) / total)

    def _to_map(self, X):
        """Distances of samples to the training samples of the map."""
        if self.metric == "precomputed":
            return X[:, self._rows]
        return self._distances(X, self._rows)

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        pairwise = self.metric == "precomputed"
        tags.input_tags.pairwise = pairwise
        tags.input_tags.positive_only = pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _store(self, Y, stress, gradient_norm, trace, n_iter):
        self.stress_ = float(stress)
        self.gradient_norm_ = gradient_norm
        self.objective_history_ = trace
        self.n_iter_ = n_iter

    def _best_map(self, d, starts, X, y):
        """Map of least stress over the starts, and whether a callback requested a stop."""
        limits = {"max_iter": self.max_iter, "tol": self.tol, "run": self._run}
        maps = []

        passes = self.n_init * self.max_iter
        with FitProgress(self, X, y, max_passes=passes) as progress:
            for Y in starts:
                maps.append(sammon_descent(d, Y, progress=progress, **limits))
                if progress.stopped:
                    break
        return min(maps, key=lambda result: result.stress), progress.stopped

    def _run(self, function, *arguments):
        tasks = zip(*arguments, strict=True)
        return in_jobs(function, tasks, self.n_jobs, require="sharedmem")

    def _distances(self, X, Y=None):
        params = self.metric_params or {}
        # compute distances from differences, because products lose digits
        if self.metric == "euclidean":
            return cdist(X, X if Y is None else Y)
        return pairwise_distances(X, Y, metric=self.metric, **params)

    def _distinct(self, X):
        """First row of each distinct sample, the sample of each row, and their distances."""
        n = len(X)
        D = self._check_distances(X) if self.metric == "precomputed" else X
        _, first, index = np.unique(D, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # keep the distinct samples in the order of the rows
        first = first[order]
        rank_of = np.argsort(order)
        index = rank_of[np.reshape(index, -1)]

        if self.metric == "precomputed":
            # samples with equal rows still count as different if their distance is above zero
            apart = D[np.arange(n), first[index]] > 0
            if apart.any():
                first = np.arange(n)
                index = np.arange(n)
            D = D[np.ix_(first, first)]
            return first, index, squareform(D, checks=False)
        if self.metric == "euclidean":
            return first, index, pdist(X[first])
        D = self._distances(X[first])
        return first, index, squareform(D, checks=False)

    def _check_distances(self, D):
        n = len(D)
        if D.shape != (n, n):
            raise ValueError(
                f'SammonMapping(metric="precomputed") needs the square matrix of distances, but '
                f"got shape {D.shape}."
            )
        self._check_positive(D)

        largest = D.max()
        gap = asymmetry(D)
        diagonal = np.abs(np.diag(D)).max()
        if max(gap, diagonal) > SINGLE_ROUNDING * largest:
            raise ValueError(
                "SammonMapping got distances that are not symmetric, or not zero on the diagonal."
            )

        D = (D + D.T) / 2
        np.fill_diagonal(D, 0)
        return D

    def _check_positive(self, D):
        if D.min() < 0:
            raise ValueError(
                f"Negative values in data passed to SammonMapping: the smallest distance is "
                f"{D.min():g}."
            )

    def _zeros(self, d, times):
        """Count the pairs of different samples at distance zero, including all copies."""
        zeros = np.flatnonzero(d == 0)
        if len(zeros) == 0:
            return 0
        i, j = np.triu_indices(len(times), 1)
        pairs = times[i[zeros]] * times[j[zeros]]
        return int(np.sum(pairs))

    def _start(self, X, d, initial, first, unit, rng):
        n = len(first)
        k = self.n_components
        if initial is not None:
            return initial[first] / unit
        if self.init == "random":
            return rng.normal(size=(n, k))

        Y = np.zeros((n, k))
        # start from classical scaling, which returns the principal components if the samples are
        # vectors
        if self.metric == "euclidean":
            centred = X - X.mean(axis=0)
            U, s, _ = np.linalg.svd(centred / unit, full_matrices=False)
            axes = (U * s)[:, :k]
        else:
            B = squareform(d) ** 2
            means = B.mean(axis=0)
            B = -0.5 * (B - means - B.mean(axis=1)[:, None] + B.mean())
            if n > 200 and k < n // 2:
                v0 = np.ones(n) + np.arange(n) / n
                s, U = eigsh(B, k, which="LA", v0=v0)
            else:
                s, U = np.linalg.eigh(B)
            roots = np.sqrt(np.maximum(s, 0))
            axes = (U * roots)[:, ::-1][:, :k]

        Y[:, : axes.shape[1]] = axes
        # perturb flat axes, because a map with a flat axis is a saddle point that a descent would
        # not leave
        flat = np.abs(Y).max(axis=0) < 1e-6
        n_flat = int(flat.sum())
        Y[:, flat] = 1e-2 * rng.normal(size=(n, n_flat))
        return Y
