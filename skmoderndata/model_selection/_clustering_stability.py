"""Stability of clusterings, to choose the number of clusters."""

import warnings
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import random_table
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier
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
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.refits import Seeded, TimeLeft, works_on_pairs
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_magnitude, tidy
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata.model_selection._base import (
    BestEstimatorMixin,
    best_has,
    warn_end_of_grid,
)

# Minimum stability of a real structure; below it, `fit` warns that there may be no structure.
NO_STRUCTURE = 0.3


class ClusteringStability(CallbackSupportMixin, BestEstimatorMixin, ClusterMixin, Base):
    r"""Choose the number of clusters by the stability of clusterings of random halves.

    For each number k, the objects are split at random into two halves, both halves are clustered,
    and a classifier :math:`\varphi` transfers the clustering of the first half to the second. The
    instability is the fraction of objects of the second half on which the two clusterings
    disagree, under the best renaming of the clusters. The stability relates it to the instability
    of random clusterings [1]_:

    .. math::
        r_k = \min_\pi \frac{1}{m} \sum_{i=1}^{m} [\pi(\varphi(x'_i)) \ne z'_i], \qquad
        \mathrm{stability}_k = 1 - \frac{\bar r_k}{\bar r_{k,\mathrm{random}}},

    where bars are means over splits. Random clusterings are clusterings of the second half with
    shuffled objects: clusters of the same sizes, compared under the same minimum. A stability of 1
    means that the halves always agree, 0 that they agree as little as random clusterings.

    Parameters
    ----------
    estimator : clusterer, default=None
        Clusterer with a parameter for the number of clusters: with `fit_predict`, or `fit`
        and `predict`. If it returns a Boolean matrix, objects may belong to several clusters.
        Pipelines that end in a clusterer are accepted. None uses `KMeans(n_init=3)`.

    param_name : str, default="n_clusters"
        Parameter of `estimator` that sets the number of clusters, for example "n_components"
        for a mixture or "kmeans__n_clusters" for a pipeline.

    param_range : array-like of int, default=(2, 3, 4, 5, 6, 7, 8)
        Numbers of clusters to compare, at least 2: one cluster is always stable. Numbers above
        half of the number of objects are omitted with a warning.

    classifier : classifier, default=None
        Classifier that extends the clustering of one half to the other. None uses the `predict` of
        the clusterer if it has one, and the nearest neighbour otherwise. The shapes of the classes
        should match the clusters that the clusterer finds.

    n_splits : int, default=10
        Number of random splits into halves; all numbers of clusters use the same splits.

    n_random : int, default=20
        Number of random clusterings drawn for each split.

    n_jobs : int, default=None
        Number of splits processed in parallel with joblib.

    random_state : int, RandomState instance or None, default=None
        Generator or seed for the splits and the random clusterings. It also seeds the parts of
        `estimator` and `classifier` whose `random_state` is None.

    verbose : int, default=0
        If positive, report how many numbers of clusters are done and an estimate of the time
        left, on standard error.

    Attributes
    ----------
    param_range_ : ndarray of shape (n_values,)
        Numbers of clusters that were compared, in ascending order.

    stability_ : ndarray of shape (n_values,)
        Stability for each number of clusters, at most 1.

    standard_error_ : ndarray of shape (n_values,)
        Standard error of `stability_` over the splits.

    instability_ : ndarray of shape (n_values,)
        Mean disagreement between the two clusterings: the row means of `distances_`.

    random_instability_ : ndarray of shape (n_values,)
        Mean disagreement between random clusterings: the row means of `random_distances_`.

    distances_ : ndarray of shape (n_values, n_splits)
        Disagreement for each number of clusters and each split.

    random_distances_ : ndarray of shape (n_values, n_splits)
        Mean disagreement over `n_random` random clusterings.

    n_clusters_found_ : ndarray of shape (n_values,)
        Mean number of clusters with at least one object of the second half. It is below the
        requested number if the clusterer leaves clusters empty.

    best_n_clusters_ : int
        Largest number of clusters whose stability is within one standard error of the maximum,
        ignoring numbers at which the clusterer left clusters empty.

    best_score_ : float
        Stability at `best_n_clusters_`.

    best_estimator_ : estimator
        Clusterer with `best_n_clusters_` clusters, fitted to all objects.

    labels_ : ndarray of shape (n_samples,) or (n_samples, best_n_clusters_)
        Clustering of all objects by `best_estimator_`; Boolean memberships if objects may belong
        to several clusters.

    n_features_in_ : int
        Number of features, if `best_estimator_` has this attribute.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `best_estimator_` has this attribute.

    See Also
    --------
    ClusteringStabilityDisplay : Plots the curve.
    sklearn.metrics.silhouette_score : Measures compactness and separation of one clustering.
    sklearn.mixture.GaussianMixture : Compares numbers of components of a density by its `bic`.
    skmoderndata.metrics.clustering_distance : Computes the disagreement between two clusterings.

    Notes
    -----
    The Hungarian algorithm finds the minimum over renamings, so large numbers of clusters cost
    little. Clusters without a partner count as disagreement. For Boolean memberships, the
    disagreement is the fraction of differing entries under the best pairing of columns.

    Texts that use :math:`(k - 1) / k` for the disagreement of random clusterings ignore the
    minimum over renamings. For 50 objects and equal clusters, the disagreement is 0.44, 0.66 and
    0.68 for k = 2, 5 and 10 instead of 0.50, 0.80 and 0.90; the formula flatters large k. This
    class simulates the value. If it is 0 (one cluster contains all objects), agreement is
    uninformative, and the stability is set to 0. Empty clusters do not lower the stability either:
    numbers of clusters at which more than half of the splits have an empty cluster are not
    selected unless there is no other.

    The standard error is computed for a ratio of two means and treats the splits as independent.
    The splits share objects, so it shows how accurately the mean over splits is known, not how the
    result would vary with new data. It is never smaller than one error among all objects:
    otherwise it would be 0 if the halves agree in every split, and a single doubtful object would
    decide.

    Stability shows that the data determine the answer of the clusterer, and structure is only one
    reason for that [2]_. An elongated cloud without clusters is cut in two in a stable way, and
    every cloud has a stability above 0 at k = 2. Before drawing conclusions, compare with data of
    the same spread without structure; see the example. `fit` warns if every stability is below 0.3
    by more than its standard error, and if the chosen number is the largest of three or more
    in `param_range`.

    `fit` needs ``2 n_splits`` fits of the clusterer on half of the objects for each number of
    clusters, and one fit on all objects. Progress is reported once for each number; a callback
    that stops the fit skips the remaining numbers.

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
    >>> search.best_n_clusters_
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
        "verbose": ["verbose"],
    }

    @parameters_are_named
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
        verbose=0,
    ):
        self.estimator = estimator
        self.param_name = param_name
        self.param_range = param_range
        self.classifier = classifier
        self.n_splits = n_splits
        self.n_random = n_random
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # The parts of a meta-estimator are checked when they are fitted.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Measure the stability for each number of clusters and cluster with the best number.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Objects of any kind that the clusterer accepts, including data frames, lists, and
            square matrices of kernel values or distances if it is set to work on these.
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

        # Use the same halves for every number of clusters.
        rng = check_random_state(self.random_state)
        seeds = rng.randint(MAX_INT32, size=self.n_splits)

        measured = []
        progress = FitProgress(self, X, y, max_passes=len(values), task_name="n_clusters")
        unit = "numbers of clusters"
        time_left = TimeLeft(
            "ClusteringStability", len(values), verbose=self.verbose, unit=unit
        )
        split = delayed(_one_split)
        with progress, Parallel(n_jobs=self.n_jobs) as parallel:
            for k in values:
                progress.begin()
                clusterer = Seeded(estimator, **{self.param_name: int(k)})
                splits = parallel(
                    split(X, clusterer, classifier, self.n_random, seed=seed) for seed in seeds
                )
                measured.append(splits)
                time_left.report()

                if progress.end():
                    break

        self._keep(values[: len(measured)], np.array(measured))
        if self.stability_.max() >= NO_STRUCTURE:
            warn_end_of_grid(
                "ClusteringStability",
                self.param_name,
                self.best_n_clusters_,
                values,
                grid="param_range",
                lowest=2,
                highest=_number_of_rows(X) // 2,
            )
        best = Seeded(estimator, **{self.param_name: self.best_n_clusters_})
        self._refit(best.draw(rng), X)
        return self

    def _keep(self, values, measured):
        self.param_range_ = values
        # Average over splits for each number of clusters.
        columns = np.moveaxis(measured, -1, 0)
        self.distances_, self.random_distances_, one_error, n_found = columns
        self.n_clusters_found_ = n_found.mean(axis=1)
        self.instability_ = self.distances_.mean(axis=1)
        self.random_instability_ = self.random_distances_.mean(axis=1)
        self.stability_, self.standard_error_ = _stability(
            self.distances_, self.random_distances_, one_error[:, 0]
        )

        best = _choose(values, self.stability_, self.standard_error_, self.n_clusters_found_)
        self.best_n_clusters_ = int(values[best])
        self.best_score_ = float(self.stability_[best])

        if np.all(self.stability_ + self.standard_error_ < NO_STRUCTURE):
            top = self.stability_.argmax()
            warnings.warn(
                "ClusteringStability found no clusters: the largest stability is "
                f"{self.stability_[top]:.2f} (at {self.param_name}={values[top]}), below "
                f"{NO_STRUCTURE} by more than its standard error. Try other numbers of clusters "
                "in param_range, another clusterer or other features, or treat the data as one "
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
                X = X.copy()  # compiled clusterers reject read-only sparse arrays
            largest = max(*X.shape, X.nnz)
            if X.indices.dtype != np.int32 and largest <= np.iinfo(np.int32).max:
                # Many clusterers reject 64-bit indices.
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
        """Raise an error if parameters are inconsistent."""
        who = type(estimator).__name__
        names = estimator.get_params()
        if self.param_name not in names:
            similar = [name for name in names if name.endswith(("n_clusters", "n_components"))]
            raise ValueError(
                f"{who} has no parameter {self.param_name!r}: set param_name to the parameter "
                f"that sets the number of clusters, perhaps one of {similar or sorted(names)}."
            )

        if not (hasattr(estimator, "fit_predict") or hasattr(estimator, "predict")):
            raise TypeError(f"ClusteringStability needs a clusterer; {who} cannot predict.")
        if not works_on_pairs(estimator):
            return

        # A matrix over pairs must include the pairs of objects from different halves.
        shape = np.shape(X)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                f"{who} works on a square matrix over pairs, got X of shape {shape}."
            )
        if self.classifier is None and not hasattr(estimator, "predict"):
            raise ValueError(
                f"{who} works on a matrix over pairs and has no predict: set classifier to one "
                "that accepts the same matrix, such as KNeighborsClassifier(metric='precomputed') "
                "for distances or SVC(kernel='precomputed') for kernel values."
            )

    def _check_range(self, *, n_samples):
        values = np.asarray(self.param_range)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
            raise ValueError(
                "param_range must contain one or more whole numbers of clusters, got "
                f"{self.param_range!r}."
            )

        values = np.unique(values)
        if values[0] < 2:
            raise ValueError(
                f"param_range must contain numbers of clusters of at least 2, got {values[0]}: "
                "the stability of one cluster is undefined, as all clusterings agree."
            )

        largest = n_samples // 2
        # Only halves of the objects are clustered.
        if values[0] > largest:
            raise ValueError(
                f"ClusteringStability clusters halves of the objects: n_samples={n_samples} "
                f"{'is' if n_samples == 1 else 'are'} too few for {values[0]} clusters, the "
                f"smallest number in param_range; at least {2 * values[0]} are needed."
            )

        if values[-1] > largest:
            warnings.warn(
                f"ClusteringStability omits numbers of clusters above {largest}, the number "
                f"of objects in half of X: {values[values > largest].tolist()}. Shorten "
                "param_range or pass more objects.",
                stacklevel=4,
            )

        return values[values <= largest]

    @available_if(best_has("score"))
    @in_memory
    def score(self, X, y=None):
        """Compute the score of `best_estimator_` on new objects.

        The scores of most clusterers grow with the number of clusters, so they compare only
        settings with equal numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Objects.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Score; higher is better.
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
    """Whether X contains numbers, rather than text, trees, or series of different lengths."""
    try:
        return np.asarray(X).dtype.kind in "fc"
    except ValueError:  # the samples have different lengths
        return False


def _number_of_rows(X):
    return X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)


def _take(X, rows):
    """Select rows of an array, sparse matrix, data frame or list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def _fit_labels(estimator, X):
    """Fit a clusterer and return one label per object or Boolean memberships."""
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
    """Cluster two halves and compare the clusterings on the second.

    Returns the disagreement, its mean for random clusterings, the weight of one error among all
    objects, and the number of clusters found.
    """
    rng = check_random_state(int(seed))
    # Split X into random halves; if X is a matrix over pairs of samples, split both its rows and
    # its columns.
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

    first_clusterer = clusterer.draw(rng)
    second_clusterer = clusterer.draw(rng)
    labels_first = _fit_labels(first_clusterer, X_first)
    labels_second = _fit_labels(second_clusterer, X_second)

    # Transfer the labels of the first half to the second.
    if classifier is None and hasattr(first_clusterer, "predict"):
        carried = first_clusterer.predict(X_across)
    elif labels_first.ndim == 1 and np.all(labels_first == labels_first[0]):
        # Many classifiers reject a single class.
        carried = np.repeat(labels_first[:1], len(labels_second))
    else:
        carrier = KNeighborsClassifier(1) if classifier is None else classifier.draw(rng)
        carried = carrier.fit(X_first, labels_first).predict(X_across)

    carried = _check_labels(carried, first_clusterer)
    # Compute the distance between the labellings, and the distance of random labellings.
    if carried.ndim == 1:
        distance, at_random = _label_distances(carried, labels_second, n_random, rng)
        n_found = len(np.unique(labels_second))
    else:
        distance, at_random = _membership_distances(carried, labels_second, n_random, rng)
        n_found = np.count_nonzero(labels_second.any(axis=0))

    return distance, at_random, 0.5 / labels_second.size, n_found


def _label_distances(a, b, n_random, rng):
    """Compute the fraction of objects with different labels, and its mean over shuffled objects.

    A shuffle changes only the table of counts, which then follows the distribution of tables with
    fixed margins: drawing tables costs less than shuffling labels.
    """
    n = len(a)
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)

    # Count the objects in each pair of clusters.
    k_a = a.max() + 1
    k_b = b.max() + 1
    pairs = a * k_b + b
    together = np.bincount(pairs, minlength=k_a * k_b).reshape(k_a, k_b)

    # Draw tables that have the same cluster sizes. With a single cluster there is only one such
    # table, and `random_table` would return wrong tables.
    if min(k_a, k_b) == 1:
        tables = together[None]
    else:
        sizes = (together.sum(axis=1), together.sum(axis=0))
        tables = random_table.rvs(*sizes, size=n_random, random_state=rng)
    at_random = np.mean([_most_matched(table) for table in tables])
    return 1 - _most_matched(together) / n, 1 - at_random / n


def _membership_distances(A, B, n_random, rng):
    """Compute the fraction of differing memberships, and its mean over shuffled objects."""
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
    """Count the common objects under the best pairing of clusters, from a table of counts."""
    rows, columns = linear_sum_assignment(together, maximize=True)
    return float(together[rows, columns].sum())


def _stability(distances, random_distances, one_error):
    """Compute the stability and its standard error (at least one error) for each row."""
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
    """Return the index of the largest number without empty clusters near the best stability."""
    top = stability.argmax()
    within = stability >= stability[top] - standard_error[top]
    complete = np.flatnonzero(within & (n_found >= values - 0.5))
    return complete[-1] if complete.size else np.flatnonzero(within)[0]
