"""K-medoids clustering, for any distances."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, run_starts, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import relative_weights, validate_data
from skmoderndata._samples.elastic import PARAMETERS, elastic_matrix
from skmoderndata._samples.series import pack_series
from skmoderndata._solvers.common.linalg import asymmetry
from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING
from skmoderndata._solvers.kernel.k_medoids import best_swap_gain, build, k_medoids
from skmoderndata.cluster._base import warn_fewer_clusters

CDIST_NAMES = {"manhattan": "cityblock"}
# Number of random starts by default.
RANDOM_STARTS = 10
TABLE_METRICS = ("chebyshev", "cosine", "euclidean", "manhattan", "sqeuclidean")


class KMedoids(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    Base,
):
    r"""K-medoids clustering: samples as centres, for any distances.

    The class minimises the weighted sum of distances from the nearest of k samples, the medoids,

    .. math:: \min_{M \subset \{1, \dots, n\},\ |M| = k} \sum_i w_i \min_{m \in M} d(x_i, x_m),

    by exchanging a medoid with another sample until no exchange lowers the sum. Each candidate is
    evaluated exactly, for all medoids at once (FasterPAM [1]_).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str, default="euclidean"
        Distance: "precomputed" for a matrix of distances; "euclidean", "sqeuclidean", "manhattan",
        "chebyshev" or "cosine" for the rows of a table; "dtw", "weighted_dtw", "erp", "msm", "twe"
        or "lcss" for time series of any lengths, as in `metrics.pairwise_elastic`.
    metric_params : dict, default=None
        Parameters of the distance of series, including `radius` and `slanted`.
    init : {"build", "random"} or array-like of shape (n_clusters,), default="build"
        Initial medoids: "build" adds one medoid after another, each time the sample that lowers
        the sum most [2]_; "random" draws samples at random; an array contains the indices of
        samples.
    n_init : "auto" or int, default="auto"
        Number of starts; the best result is kept. "auto" means 10 random starts for
        `init="random"`, and a single start otherwise. If `init` is "build" or an array, all starts
        but the first are random.
    max_iter : int, default=100
        Largest number of passes over all samples in a start.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Controls the random starts. Pass an int for reproducible results.

    Attributes
    ----------
    medoid_indices_ : ndarray of int of shape (n_clusters,)
        Indices of the medoids among the training samples. If there are fewer distinct samples than
        `n_clusters`, `fit` warns and there are fewer medoids.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), or list of series
        The medoids. Not available for `metric="precomputed"`.
    labels_ : ndarray of int of shape (n_samples,)
        Nearest medoid of each training sample.
    inertia_ : float
        Value of the objective.
    swap_gain_ : float
        Largest relative decrease of the objective by an exchange of one medoid with any sample,
        recomputed from the distances; 0 if no exchange decreases it, which certifies a local
        minimum.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of features seen during `fit`, for tables.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.cluster.KMeans : Means instead of samples, for squared Euclidean distances only.
    TimeSeriesKMeans : Averages of series under dynamic time warping.
    skmoderndata.metrics.pairwise_elastic : The distances of series.
    skmoderndata.metrics.pairwise_edit_distance : Distances of strings, for "precomputed".

    Notes
    -----
    Memory and the number of distances are proportional to ``n^2``; a pass needs ``n^2`` operations
    whatever the number of clusters, and "build" needs about ``n^2 (1 + log k)``. The objective has
    many local minima; with exchanges they are rarely far from the global minimum. In a tie, the
    sample with the smaller index is used.

    Samples of weight 0 do not become medoids and do not influence them. Random starts are drawn by
    position, so copies of a sample change them. Distances must be symmetric, finite and
    non-negative; the triangle inequality is not required.

    References
    ----------
    .. [1] Schubert and Rousseeuw, Fast and eager k-medoids clustering: O(k) runtime improvement of
       the PAM, CLARA, and CLARANS algorithms, Information Systems 101, 2021, Algorithm 3.
    .. [2] Kaufman and Rousseeuw, Finding Groups in Data, Wiley, 1990, chapter 2.

    Examples
    --------
    >>> from skmoderndata.cluster import KMedoids
    >>> X = [[0, 1, 0], [0, 0, 1, 0], [5, 1, 0], [5, 1, 1, 0], [5, 1]]
    >>> model = KMedoids(2, metric="msm", metric_params={"cost": 0.1}).fit(X)
    >>> model.labels_
    array([1, 1, 0, 0, 0])
    >>> model.medoid_indices_, round(model.inertia_, 6), model.swap_gain_
    (array([2, 0]), 1.3, 0.0)
    """

    _card = MethodCard(
        family="clusters",
        cite=("schubert2021fast", "kaufman1990finding"),
        cost="n^2 p + T n^2; BUILD n^2 log k",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "metric": [StrOptions({"precomputed", *TABLE_METRICS, *PARAMETERS})],
        "metric_params": [dict, None],
        "init": [StrOptions({"build", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE, StrOptions({"auto"})],
        "max_iter": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_clusters=8,
        *,
        metric="euclidean",
        metric_params=None,
        init="build",
        n_init="auto",
        max_iter=100,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Choose the medoids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, n_samples), or collection
            Rows of a table, a matrix of distances for `metric="precomputed"`, or series.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the objective; None gives all samples weight 1.

        Returns
        -------
        self : KMedoids
            The fitted estimator.
        """
        name = type(self).__name__
        if self.metric_params and self.metric not in PARAMETERS:
            raise ValueError(
                f'{name}: metric="{self.metric}" has no metric_params; omit them, or use a metric '
                "for series."
            )

        # select samples of positive weight, and compute their distances
        X = self._samples(X, reset=True)
        w, unit = relative_weights(sample_weight, np.empty((len(X), 1)))
        weighted = np.flatnonzero(w > 0)
        n = len(weighted)
        k = self.n_clusters
        if n < k:
            kind = "" if sample_weight is None else "of positive weight "
            raise ValueError(f"n_samples={n} {kind}should be >= n_clusters={k}.")
        init = self._check_init(weighted, len(X))
        D = self._distances(X, None)
        if n < len(X):
            D = np.ascontiguousarray(D[np.ix_(weighted, weighted)])
        w = w[weighted]

        # exchange medoids from each start
        rng = check_random_state(self.random_state)
        starts = []
        if isinstance(init, np.ndarray):
            starts = [init]
        elif init == "build":
            starts = [build(D, w, k)]
        n_starts = self.n_init
        if n_starts == "auto":
            n_starts = len(starts) or RANDOM_STARTS
        while len(starts) < n_starts:
            starts.append(rng.choice(n, size=k, replace=False))

        def run(seed, progress=None):
            return k_medoids(D, w, seed, max_iter=self.max_iter, progress=progress)

        results, stopped = run_starts(
            self,
            X,
            y,
            run,
            starts,
            max_passes=len(starts) * self.max_iter,
            n_jobs=self.n_jobs,
            require="sharedmem",  # all starts use one matrix of distances
        )
        best = min(results, key=lambda result: result.objective)
        medoids = _distinct(D, best.medoids)
        warn_fewer_clusters(self, len(medoids))

        self._keep(X, weighted[medoids])
        self.inertia_ = best.objective * unit
        self.swap_gain_ = best_swap_gain(D, w, medoids)
        self.n_iter_ = best.n_iter

        if not best.converged and not stopped:
            warn_not_converged(
                self,
                reached=f"medoids were still exchanged in pass {best.n_iter}",
                remedy="increase max_iter",
            )

        return self

    def _keep(self, X, medoids):
        """Store the medoids, and the nearest medoid of each sample."""
        # assign samples of weight zero to the nearest medoid, too
        centers = None if self.metric == "precomputed" else X[medoids]
        to_medoids = X[:, medoids] if centers is None else self._distances(X, centers)

        self.medoid_indices_ = medoids
        self._medoids = centers
        if self.metric in PARAMETERS:
            self.cluster_centers_ = [centers.one(c) for c in range(len(centers))]
        elif centers is not None:
            self.cluster_centers_ = centers
        elif hasattr(self, "cluster_centers_"):
            del self.cluster_centers_  # remove the attributes of an earlier fit
        self.labels_ = to_medoids.argmin(axis=1)

    @by_rows
    def transform(self, X):
        """Compute the distances from the medoids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, n_train), or collection
            Rows of a table, distances from the training samples for `metric="precomputed"`, or
            series.

        Returns
        -------
        D : ndarray of shape (n_samples, n_clusters)
            Distances.
        """
        check_is_fitted(self)
        X = self._samples(X, reset=False)
        if self.metric == "precomputed":
            return X[:, self.medoid_indices_]
        return self._distances(X, self._medoids)

    @by_rows
    def predict(self, X):
        """Predict the nearest medoid of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, n_train), or collection
            Samples, as in `transform`.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Index of the cluster; in a tie, the smaller index.
        """
        return self.transform(X).argmin(axis=1)

    @in_memory
    def score(self, X, y=None, sample_weight=None):
        """Compute the negative sum of distances from the nearest medoids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, n_train), or collection
            Samples, as in `transform`.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            Negative sum; higher is better. It increases with `n_clusters`.
        """
        nearest = self.transform(X).min(axis=1)
        w, unit = relative_weights(sample_weight, nearest[:, None])
        return -float(w @ nearest) * unit

    @property
    def _n_features_out(self):
        return len(self.medoid_indices_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        is_series = self.metric in PARAMETERS
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.two_d_array = not is_series
        tags.input_tags.three_d_array = is_series
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def _samples(self, X, *, reset):
        """Check rows, series or distances."""
        name = type(self).__name__
        if self.metric in PARAMETERS:
            return pack_series(X, name)
        X = validate_data(self, X, reset=reset, dtype=np.float64)
        if self.metric != "precomputed":
            return X

        if X.min(initial=0.0) < 0:
            raise ValueError(f"{name}: a precomputed matrix has negative distances.")
        if reset:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f'{name}: metric="precomputed" needs a square matrix of distances, but X has '
                    f"the shape {X.shape}."
                )
            if asymmetry(X) > SINGLE_ROUNDING * X.max(initial=0.0):
                raise ValueError(
                    f"{name}: a precomputed matrix must be symmetric; (X + X.T) / 2 is symmetric."
                )
        return X

    def _distances(self, X, Z):
        """Return the distances between X and Z, or within X for `Z=None`.

        A precomputed matrix is returned unchanged.
        """
        name = type(self).__name__
        if self.metric == "precomputed":
            return X
        if self.metric not in PARAMETERS:
            if self.metric == "cosine":
                return pairwise_distances(X, Z, metric="cosine")
            # cdist computes differences; with inner products, copies of a row would have a
            # distance of 1e-8
            return cdist(X, X if Z is None else Z, CDIST_NAMES.get(self.metric, self.metric))
        params = self.metric_params or {}
        D = elastic_matrix(X, Z, metric=self.metric, n_jobs=self.n_jobs, name=name, **params)
        if not np.isfinite(D).all():
            raise ValueError(
                f"{name}: the radius admits no alignment of some series, as their lengths differ "
                "by more than the radius; omit slanted=False, or increase the radius."
            )
        return D

    def _check_init(self, weighted, n):
        """Return `init`, with indices converted to positions among samples of positive weight."""
        if isinstance(self.init, str):
            return self.init
        init = np.asarray(self.init)
        k = self.n_clusters
        if init.shape != (k,) or init.dtype.kind not in "iu" or len(set(init.tolist())) < k:
            raise ValueError(
                f"{type(self).__name__}: init={self.init!r}; it must contain n_clusters={k} "
                "different indices of samples."
            )
        if not np.isin(init, weighted).all():
            raise ValueError(
                f"{type(self).__name__}: init={self.init!r}; it must contain indices of samples "
                f"of positive weight, from 0 to {n - 1}."
            )
        return np.searchsorted(weighted, init)


def _distinct(D, medoids):
    """Omit medoids at distance 0 from an earlier medoid, as their own clusters are empty."""
    kept = []
    for medoid in medoids:
        if not kept or D[medoid, kept].min() > 0:
            kept.append(medoid)
    return np.array(kept)
