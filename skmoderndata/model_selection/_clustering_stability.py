"""Stability of clusterings, to choose the number of clusters."""

import warnings
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import random_table
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    fit_context,
    unmasked,
)
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_magnitude, tidy
from skmoderndata.model_selection._base import (
    MAX_SEED,
    BestEstimatorMixin,
    Seeded,
    best_has,
    works_on_pairs,
)

NO_STRUCTURE = 0.3  # largest stability below which `fit` warns


class ClusteringStability(CallbackSupportMixin, BestEstimatorMixin, ClusterMixin, Base):
    r"""Choose the number of clusters by the stability of clusterings of random halves.

    For each number k, the objects are split at random into two halves, both are clustered, and a
    classifier :math:`\varphi` transfers the clustering of the first half to the second. The
    instability is the fraction of objects of the second half on which the two clusterings
    disagree, under the best renaming of the clusters, and the stability relates it to that of
    random clusterings [1]_:

    .. math::
        r_k = \min_\pi \frac{1}{m} \sum_{i=1}^{m} [\pi(\varphi(x'_i)) \ne z'_i], \qquad
        \mathrm{stability}_k = 1 - \frac{\bar r_k}{\bar r_{k,\mathrm{random}}},

    where bars are means over splits, and random clusterings are those of the second half with
    the objects shuffled: clusters of the same sizes, compared under the same minimum. 1 means
    that the halves always agree, 0 that they agree as little as random clusterings.

    Parameters
    ----------
    estimator : clusterer, default=None
        Any clusterer with a parameter for the number of clusters: with `fit_predict`, or `fit`
        and `predict`. If it returns a Boolean matrix, objects may belong to several clusters.
        Pipelines that end in a clusterer will do. None uses `KMeans(n_init=3)`.

    param_name : str, default="n_clusters"
        Parameter of `estimator` that holds the number of clusters, for example "n_components"
        for a mixture or "kmeans__n_clusters" for a pipeline.

    param_range : array-like of int, default=(2, 3, 4, 5, 6, 7, 8)
        Numbers of clusters to compare, at least 2: one cluster is always stable. Numbers above
        half of the number of objects are left out with a warning.

    classifier : classifier, default=None
        Extends the clustering of one half to the other. None uses the `predict` of the
        clusterer if it has one, and the nearest neighbour otherwise. A classifier should draw
        clusters of the kind that the clusterer finds.

    n_splits : int, default=10
        Number of random splits into halves; the same splits serve every number of clusters.

    n_random : int, default=20
        Number of random clusterings drawn for each split.

    n_jobs : int, default=None
        Number of splits treated at the same time, through joblib.

    random_state : int, RandomState instance or None, default=None
        Draws the splits and the random clusterings, and seeds those parts of `estimator` and
        `classifier` whose own `random_state` is None.

    Attributes
    ----------
    param_range_ : ndarray of shape (n_values,)
        Numbers of clusters that were compared, ascending.

    stability_ : ndarray of shape (n_values,)
        Stability for each number of clusters, at most 1.

    standard_error_ : ndarray of shape (n_values,)
        Standard error of `stability_` over the splits.

    instability_ : ndarray of shape (n_values,)
        Mean disagreement between the two clusterings, the row means of `distances_`.

    random_instability_ : ndarray of shape (n_values,)
        Mean disagreement between random clusterings, the row means of `random_distances_`.

    distances_ : ndarray of shape (n_values, n_splits)
        Disagreement for each number of clusters and each split.

    random_distances_ : ndarray of shape (n_values, n_splits)
        Mean disagreement over `n_random` random clusterings.

    n_clusters_found_ : ndarray of shape (n_values,)
        Mean number of clusters that hold an object of the second half. It is below the number
        asked for if the clusterer leaves clusters empty.

    best_k_ : int
        Largest number of clusters whose stability is within one standard error of the largest,
        not counting numbers at which the clusterer left clusters empty.

    best_score_ : float
        Stability at `best_k_`.

    best_estimator_ : estimator
        Clusterer with `best_k_` clusters, fitted to all objects.

    labels_ : ndarray of shape (n_samples,) or (n_samples, best_k_)
        Its clustering of all objects; Boolean memberships when there may be several.

    n_features_in_ : int
        Number of features, when `best_estimator_` tells it.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, when `best_estimator_` tells them.

    See Also
    --------
    ClusteringStabilityDisplay : Picture of the curve.
    sklearn.metrics.silhouette_score : Compactness and separation of one clustering.
    sklearn.mixture.GaussianMixture : Its `bic` compares numbers of components of a density.
    skmoderndata.metrics.clustering_distance : The disagreement between two clusterings.

    Notes
    -----
    The Hungarian algorithm finds the minimum over renamings, so many clusters cost little.
    Clusters without a partner count as disagreement. For Boolean memberships the disagreement is
    the fraction of differing entries under the best pairing of columns.

    Texts that give :math:`(k - 1) / k` for the disagreement of random clusterings ignore the
    minimum over renamings. For 50 objects and equal clusters it is 0.44, 0.66 and 0.68 for k = 2,
    5 and 10 instead of 0.50, 0.80 and 0.90; the formula flatters large k. Here it is simulated.
    Where it is 0 (one cluster holds all objects) agreement is uninformative, and the
    stability is set to 0. Empty clusters do not lower the stability either: numbers of clusters at
    which more than half of the splits have one are not chosen, unless there is no other.

    The standard error is that of a ratio of two means, and treats the splits as independent. They
    share objects, so it shows how accurately the mean over splits is known, not how the result
    would vary with new data. It is never smaller than one error among all objects: with halves
    that agree in every split it would be 0, and a single doubtful object would decide.

    Stability shows that the data determine the answer of the clusterer, and structure is one
    reason for that [2]_. An elongated cloud without clusters is cut in two in a stable way, and
    every cloud gives more than 0 at k = 2. Compare with data of the same spread without structure
    before drawing conclusions; see the example. A warning is given when every stability is below
    0.3 by more than its standard error.

    `fit` takes ``2 n_splits`` fits of the clusterer on half of the objects for each number of
    clusters, and one on all objects. Progress is reported once for each number; a callback that
    stops the fit skips the remaining numbers.

    References
    ----------
    .. [1] T. Lange, V. Roth, M. L. Braun and J. M. Buhmann, "Stability-based validation of
       clustering solutions", Neural Computation 16(6), 2004, pp. 1299-1323.
    .. [2] U. von Luxburg, "Clustering stability: an overview", Foundations and Trends in Machine
       Learning 2(3), 2010, pp. 235-274.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skmoderndata.model_selection import ClusteringStability
    >>> X, _ = make_blobs(200, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0)
    >>> search = ClusteringStability(param_range=(2, 3, 4, 5, 6), random_state=0).fit(X)
    >>> search.best_k_
    4
    >>> round(search.best_score_, 2)
    1.0
    >>> search.predict([[0, 0], [6, 6]]).shape
    (2,)
    """

    _card = MethodCard(
        family="Model selection",
        cite=("lange2004stability", "luxburg2010clustering"),
        cost="2 n_splits fits to n / 2 rows for each k",
        checks=(
            {"param_range": (2, 3), "n_splits": 4, "n_random": 5, "random_state": 0},
            {
                "estimator": KMeans(n_init=1),
                "classifier": NearestCentroid(),
                "param_range": (2, 3),
                "n_splits": 3,
                "random_state": 0,
            },
        ),
        no_comparison="scikit-learn chooses no number of clusters by stability.",
        tier="standard",
        instead="HDBSCAN with min_cluster_size=15 finds the number of kinds among images of three "
        "to eight kinds of digits in five of eight draws and is off by one in the others; "
        "stability of KMeans finds it in one.",
    )
    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "set_params"]), None],
        "param_name": [str],
        "param_range": ["array-like"],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "n_random": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        param_name="n_clusters",
        param_range=(2, 3, 4, 5, 6, 7, 8),
        classifier=None,
        n_splits=10,
        n_random=20,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_name = param_name
        self.param_range = param_range
        self.classifier = classifier
        self.n_splits = n_splits
        self.n_random = n_random
        self.n_jobs = n_jobs
        self.random_state = random_state

    # the parts of a meta-estimator are checked when they are fitted
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Measure the stability for each number of clusters, and cluster with the best one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Objects, of any kind that the clusterer takes: also data frames, lists, and square
            matrices of kernel values or distances if it is set to work on these.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : ClusteringStability
            The fitted estimator.
        """
        estimator = self._unfitted()
        self._check_parts(estimator, X)
        (X,) = indexable(self._check(X))
        values = self._check_range(n_samples=_number_of_rows(X))
        classifier = None if self.classifier is None else Seeded(self.classifier)

        # the same halves for every number of clusters
        rng = check_random_state(self.random_state)
        seeds = rng.randint(MAX_SEED, size=self.n_splits)

        measured = []
        progress = FitProgress(self, X, y, max_passes=len(values), task_name="n_clusters")
        split = delayed(_one_split)
        with progress, Parallel(n_jobs=self.n_jobs) as parallel:
            for k in values:
                progress.begin()
                clusterer = Seeded(estimator, **{self.param_name: int(k)})
                splits = parallel(
                    split(X, clusterer, classifier, self.n_random, seed=seed) for seed in seeds
                )
                measured.append(splits)

                if progress.end():
                    break

        self._keep(values[: len(measured)], np.array(measured))
        best = Seeded(estimator, **{self.param_name: self.best_k_})
        self._refit(best.draw(rng), X)
        return self

    def _keep(self, values, measured):
        self.param_range_ = values
        # mean over splits, for each number of clusters
        columns = np.moveaxis(measured, -1, 0)
        self.distances_, self.random_distances_, one_error, n_found = columns
        self.n_clusters_found_ = n_found.mean(axis=1)
        self.instability_ = self.distances_.mean(axis=1)
        self.random_instability_ = self.random_distances_.mean(axis=1)
        self.stability_, self.standard_error_ = _stability(
            self.distances_, self.random_distances_, one_error[:, 0]
        )

        best = _choose(values, self.stability_, self.standard_error_, self.n_clusters_found_)
        self.best_k_ = int(values[best])
        self.best_score_ = float(self.stability_[best])

        if np.all(self.stability_ + self.standard_error_ < NO_STRUCTURE):
            top = self.stability_.argmax()
            warnings.warn(
                "ClusteringStability found no clusters: the largest stability is "
                f"{self.stability_[top]:.2f} (at {self.param_name}={values[top]}), below "
                f"{NO_STRUCTURE} by more than its standard error. Try other numbers of clusters "
                "in param_range, another clusterer or other features, or take the data as one "
                "cluster.",
                stacklevel=4,
            )

    def _refit(self, best, X):
        self.labels_ = _fit_labels(best, X)
        self._keep_best(best)

    def _check(self, X):
        """Check the magnitudes of numbers; the clusterer checks other objects."""
        allow_nan = get_tags(self._unfitted()).input_tags.allow_nan
        X = unmasked(X, owner=type(self).__name__, allow_nan=allow_nan)
        if sparse.issparse(X):
            X = tidy(X.tocsr())
            if not all(array.flags.writeable for array in (X.data, X.indices, X.indptr)):
                X = X.copy()  # compiled clusterers refuse read-only sparse arrays
            largest = max(*X.shape, X.nnz)
            if X.indices.dtype != np.int32 and largest <= np.iinfo(np.int32).max:
                # many clusterers refuse long indices
                indices = X.indices.astype(np.int32)
                indptr = X.indptr.astype(np.int32)
                X = type(X)((X.data, indices, indptr), shape=X.shape)
        elif not _is_table(X):
            return X
        pairwise = works_on_pairs(self._unfitted())
        check_magnitude(X, owner=type(self).__name__, kernel_values=pairwise)
        return X

    def _unfitted(self):
        return KMeans(n_init=3) if self.estimator is None else self.estimator

    def _check_parts(self, estimator, X):
        """Refuse inconsistent parameters."""
        who = type(estimator).__name__
        names = estimator.get_params()
        if self.param_name not in names:
            similar = [name for name in names if name.endswith(("n_clusters", "n_components"))]
            raise ValueError(
                f"{who} has no parameter {self.param_name!r}: set param_name to the one that "
                f"holds the number of clusters, perhaps one of {similar or sorted(names)}."
            )

        if not (hasattr(estimator, "fit_predict") or hasattr(estimator, "predict")):
            raise TypeError(f"ClusteringStability needs a clusterer; {who} cannot predict.")
        if not works_on_pairs(estimator):
            return

        # matrices over pairs: both halves and what lies between them
        shape = np.shape(X)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                f"{who} works on a square matrix over pairs, got X of shape {shape}."
            )
        if self.classifier is None and not hasattr(estimator, "predict"):
            raise ValueError(
                f"{who} works on a matrix over pairs and has no predict: set classifier to one "
                "that takes the same matrix, such as KNeighborsClassifier(metric='precomputed') "
                "for distances or SVC(kernel='precomputed') for kernel values."
            )

    def _check_range(self, *, n_samples):
        values = np.asarray(self.param_range)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
            raise ValueError(
                "param_range must hold one or more whole numbers of clusters, got "
                f"{self.param_range!r}."
            )

        values = np.unique(values)
        if values[0] < 2:
            raise ValueError(
                f"param_range must hold numbers of clusters of at least 2, got {values[0]}: "
                "the stability of one cluster is not defined, as all clusterings agree."
            )

        largest = n_samples // 2
        # halves are clustered, and hold half of the objects
        if values[0] > largest:
            raise ValueError(
                f"ClusteringStability clusters halves of the objects: n_samples={n_samples} "
                f"{'is' if n_samples == 1 else 'are'} too few for {values[0]} clusters, the "
                f"smallest number in param_range; at least {2 * values[0]} are needed."
            )

        if values[-1] > largest:
            warnings.warn(
                f"ClusteringStability leaves out numbers of clusters above {largest}, the number "
                f"of objects in half of X: {values[values > largest].tolist()}. Shorten "
                "param_range or give more objects.",
                stacklevel=4,
            )

        return values[values <= largest]

    @available_if(best_has("score"))
    def score(self, X, y=None):
        """Compute the score of `best_estimator_` on new objects.

        Scores of most clusterers grow with the number of clusters: they compare settings at equal
        numbers only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Objects.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Higher is better.
        """
        check_is_fitted(self)
        return self.best_estimator_.score(self._check(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._unfitted())
        tags.input_tags = inner.input_tags
        tags.input_tags.pairwise = works_on_pairs(self._unfitted())
        tags.transformer_tags = inner.transformer_tags
        tags.non_deterministic = inner.non_deterministic
        return tags


def _is_table(X):
    """Whether X holds numbers: not text, trees, or series of different lengths."""
    try:
        return np.asarray(X).dtype.kind in "fc"
    except ValueError:  # ragged
        return False


def _number_of_rows(X):
    return X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)


def _take(X, rows):
    """Rows of an array, sparse matrix, data frame or list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def _fit_labels(estimator, X):
    """Fit a clusterer, and return one label per object or Boolean memberships."""
    if hasattr(estimator, "fit_predict"):
        labels = estimator.fit_predict(X)
    else:
        labels = estimator.fit(X).predict(X)
    return _check_labels(labels, estimator)


def _check_labels(labels, estimator):
    labels = np.asarray(labels)
    if labels.ndim == 2 and np.isin(labels, (0, 1)).all():
        return labels.astype(bool)
    if labels.ndim != 1:
        raise ValueError(
            f"{type(estimator).__name__} returned labels of shape {labels.shape}; expected one "
            "label per object, or memberships of 0 and 1."
        )
    return labels


def _one_split(X, clusterer, classifier, n_random, *, seed):
    """Cluster two halves and compare on the second.

    Returns the disagreement, its mean at random, the weight of one error in all objects, and the
    number of clusters found.
    """
    rng = check_random_state(int(seed))
    # random halves; from matrices over pairs, rows and columns of them
    order = rng.permutation(_number_of_rows(X))
    first, second = np.split(order, [len(order) // 2])
    X_first = _take(X, first)
    X_second = _take(X, second)
    X_across = X_second
    if clusterer.pairwise:
        X_first, X_second, X_across = (
            X_first[:, first],
            X_second[:, second],
            X_second[:, first],
        )

    one = clusterer.draw(rng)
    other = clusterer.draw(rng)
    labels_first = _fit_labels(one, X_first)
    labels_second = _fit_labels(other, X_second)

    # carry the labels of the first half over to the second
    if classifier is None and hasattr(one, "predict"):
        carried = one.predict(X_across)
    elif labels_first.ndim == 1 and np.all(labels_first == labels_first[0]):
        # many classifiers refuse this
        carried = np.repeat(labels_first[:1], len(labels_second))
    else:
        carrier = KNeighborsClassifier(1) if classifier is None else classifier.draw(rng)
        carried = carrier.fit(X_first, labels_first).predict(X_across)

    carried = _check_labels(carried, one)
    # distance of both labellings, against that of random ones
    if carried.ndim == 1:
        distance, at_random = _label_distances(carried, labels_second, n_random, rng)
        n_found = len(np.unique(labels_second))
    else:
        distance, at_random = _membership_distances(carried, labels_second, n_random, rng)
        n_found = np.count_nonzero(labels_second.any(axis=0))

    return distance, at_random, 0.5 / labels_second.size, n_found


def _label_distances(a, b, n_random, rng):
    """Fraction of objects with different labels, and its mean over shuffles of the objects.

    A shuffle changes the table of counts only, which then follows the law of tables with given
    margins: drawing tables costs less than shuffling labels.
    """
    n = len(a)
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)

    # objects in each pair of clusters
    k_a = a.max() + 1
    k_b = b.max() + 1
    pairs = a * k_b + b
    together = np.bincount(pairs, minlength=k_a * k_b).reshape(k_a, k_b)

    # tables with the same sizes of clusters
    if min(k_a, k_b) == 1:  # the only table; `random_table` returns wrong ones here
        tables = together[None]
    else:
        sizes = (together.sum(axis=1), together.sum(axis=0))
        tables = random_table.rvs(*sizes, size=n_random, random_state=rng)
    at_random = np.mean([_most_matched(table) for table in tables])
    return 1 - _most_matched(together) / n, 1 - at_random / n


def _membership_distances(A, B, n_random, rng):
    """Fraction of differing memberships, and its mean over shuffles of the objects."""
    k = max(A.shape[1], B.shape[1])

    def padded(Z):
        missing = k - Z.shape[1]
        return np.pad(Z, ((0, 0), (0, missing))).astype(float)

    A = padded(A)
    B = padded(B)
    total = A.sum() + B.sum()
    shuffled = [_most_matched(A.T @ rng.permutation(B)) for _ in range(n_random)]
    at_random = total - 2 * np.mean(shuffled)
    distance = total - 2 * _most_matched(A.T @ B)
    return distance / A.size, at_random / A.size


def _most_matched(together):
    """Objects in common under the best pairing of clusters, from their counts for each pair."""
    rows, columns = linear_sum_assignment(together, maximize=True)
    return float(together[rows, columns].sum())


def _stability(distances, random_distances, one_error):
    """Stability, and standard error of a ratio of means but at least one error, for each row."""
    mean = distances.mean(axis=1)
    at_random = random_distances.mean(axis=1)
    defined = at_random > 0
    scale = np.where(defined, at_random, 1.0)
    ratio = np.where(defined, mean / scale, 1.0)
    residual = distances - ratio[:, None] * random_distances
    n_splits = distances.shape[1]
    standard_error = residual.std(axis=1, ddof=1) / np.sqrt(n_splits)
    return 1 - ratio, np.maximum(standard_error, one_error) / scale


def _choose(values, stability, standard_error, n_found):
    """Index of the largest number of clusters within one standard error of the best, if found."""
    top = stability.argmax()
    within = stability >= stability[top] - standard_error[top]
    complete = np.flatnonzero(within & (n_found >= values - 0.5))
    return complete[-1] if complete.size else np.flatnonzero(within)[0]
