"""Nearest neighbours of series under dynamic time warping, and other elastic distances."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_magnitude, check_target
from skmoderndata._samples.elastic import (
    PARAMETERS,
    check_parameters,
    packed_distances,
    warn_matches,
)
from skmoderndata._samples.series import pack_series, same_channels, warping_band
from skmoderndata._solvers.alignment.neighbors import make_index, search
from skmoderndata._solvers.common.threads import in_jobs

# Number of queries in one task.
QUERIES_PER_TASK = 64


class _DTWNeighbors:
    """Base of the classifier and the regressor, with search and choice of the radius."""

    def _fit(self, X, y):
        """Index the training series; for "cv", find the radius with the least error."""
        name = type(self).__name__
        check_parameters(self.metric, self.metric_params or {}, name)
        series = pack_series(X, name)
        warn_matches(name, self.metric, self.metric_params or {}, series)
        check_consistent_length(series, y)
        if self.n_neighbors > len(series):
            raise ValueError(
                f"{name}: n_neighbors={self.n_neighbors} exceeds the number of training series, "
                f"{len(series)}."
            )

        self._series = series
        self.n_channels_ = series.values.shape[1]
        self.n_samples_fit_ = len(series)

        if self.radius != "cv":
            self._index = self._make_index(series, self.radius)
            self.radius_ = self.radius
            return

        # choose the radius with the least leave-one-out error; on ties, choose the smallest one
        if len(series) <= self.n_neighbors:
            raise ValueError(
                f'{name}: radius="cv" leaves out one series, and {self.n_neighbors} neighbours '
                f"need more than {len(series)}."
            )

        longest = int(series.lengths.max())
        # try the percentages of the length that the archive of Dau et al. (2019) uses
        self.cv_radii_ = np.unique(np.arange(101) * longest // 100)

        neighbours = self._leave_one_out(series, self.cv_radii_)
        self.cv_errors_ = np.array([self._error(*of_radius) for of_radius in neighbours])
        self.radius_ = int(self.cv_radii_[self.cv_errors_.argmin()])
        self._index = self._make_index(series, self.radius_)

    def _make_index(self, series, radius):
        """Return the series with their envelopes, or only with the band."""
        band = warping_band(type(self).__name__, radius=radius, slanted=self.slanted)
        if self.metric != "dtw":
            return series, band
        return make_index(*series.arrays, band=band, bounded=self.lower_bounds)

    def _search(self, series, index, k, *, alone):
        """Find distances and numbers of the k nearest; `alone` excludes the series itself."""
        if self.metric != "dtw":
            return self._nearest_of_all(series, index, k, alone=alone)

        def block(start):
            values, offsets = _block(series, start)
            first = start if alone else None
            return search(values, offsets, index, k, first=first)

        return self._in_blocks(block, len(series))

    def _nearest_of_all(self, series, index, k, *, alone):
        """Find the nearest from all distances; only dynamic time warping has lower bounds."""
        indexed, band = index
        others = None if alone else indexed
        D = packed_distances(
            series, others, self.metric, self.metric_params or {}, band, self.n_jobs
        )
        # the series itself comes after other series, even if their distance is infinite
        if alone:
            np.fill_diagonal(D, np.nan)
        nearest = np.argsort(D, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(D, nearest, axis=1), nearest

    def _leave_one_out(self, series, radii):
        """Yield distances and numbers of the nearest of each training series, for each radius.

        Radii are tried in descending order, because a cost is a lower bound for smaller radii.
        """
        if self.metric != "dtw":
            for radius in radii:
                index = self._make_index(series, int(radius))
                yield self._nearest_of_all(series, index, self.n_neighbors, alone=True)
            return

        def block(start):
            values, offsets = _block(series, start)
            bounds = np.zeros((len(offsets) - 1, len(series)))
            k = self.n_neighbors
            by_radius = []
            # the cost for a radius is a lower bound on the costs for smaller radii, so begin with
            # the largest
            for radius in radii[::-1]:
                index = self._make_index(series, int(radius))
                neighbours = search(
                    values, offsets, index, k, first=start, lower_bounds=bounds
                )
                by_radius.append(neighbours)

            costs, nearest, begun = zip(*by_radius[::-1], strict=True)
            return np.stack(costs, axis=1), np.stack(nearest, axis=1), begun

        distances, nearest = self._in_blocks(block, len(series))
        yield from zip(distances.swapaxes(0, 1), nearest.swapaxes(0, 1), strict=True)

    def _in_blocks(self, block, n):
        """Join the blocks of queries: costs, converted to distances, and numbers."""
        starts = [(start,) for start in range(0, n, QUERIES_PER_TASK)]
        results = in_jobs(block, starts, self.n_jobs, prefer="threads")
        costs, nearest, _ = zip(*results, strict=True)
        return np.sqrt(np.concatenate(costs)), np.concatenate(nearest)

    @in_memory
    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the nearest training series of each query.

        Parameters
        ----------
        X : collection of arrays, default=None
            Queries; None uses the training series, without each series itself.
        n_neighbors : int, default=None
            Number of neighbours; None uses the parameter.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Ascending; infinite if the radius admits no alignment.
        indices : ndarray of int of shape (n_queries, n_neighbors)
            Indices of the training series; the smaller index first in a tie.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        available = self.n_samples_fit_ - (X is None)
        is_integer = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not is_integer or not 1 <= k <= available:
            raise ValueError(
                f"{type(self).__name__}: n_neighbors={k!r}; it must be an integer from 1 to "
                f"{available}, the number of training series to choose from."
            )

        queries = self._series if X is None else self._queries(X)
        distances, nearest = self._search(queries, self._index, k, alone=X is None)
        return (distances, nearest) if return_distance else nearest

    def _queries(self, X):
        name = type(self).__name__
        queries = pack_series(X, name)
        same_channels(self._series, queries, name)
        return queries

    def _weights(self, distances):
        """Weights of neighbours, 0 for neighbours at an infinite distance."""
        if self.weights == "uniform":
            return np.isfinite(distances).astype(np.float64)
        equal = distances == 0
        with np.errstate(divide="ignore"):
            weights = 1 / distances
        return np.where(equal.any(axis=1, keepdims=True), equal, weights)

    def _found(self, X):
        """Weights and numbers of the neighbours of queries."""
        distances, nearest = self.kneighbors(X)
        weights = self._weights(distances)
        alone = weights.sum(axis=1) == 0
        if alone.any():
            raise ValueError(
                f"{type(self).__name__}: no training series can be aligned with query "
                f"{int(alone.argmax())} within radius={self.radius_}, because all lengths differ "
                "from its length by more. Set slanted=True, or a larger radius."
            )
        return weights, nearest

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _block(series, start):
    """Values and offsets of one block of series."""
    stop = min(start + QUERIES_PER_TASK, len(series))
    first = series.offsets[start]
    last = series.offsets[stop]
    return series.values[first:last], series.offsets[start : stop + 1] - first


class DTWNeighborsClassifier(_DTWNeighbors, ClassifierMixin, Base):
    r"""Nearest-neighbour classifier of time series under dynamic time warping.

    The distance of a query x to a training series z is

    .. math:: d(x, z)^2 = \min_{\pi} \sum_{(i, j) \in \pi} \lVert x_i - z_j \rVert^2

    over all alignments within the radius. Lower bounds and early abandoning avoid computing most
    distances, and the neighbours are exact [2]_, [3]_.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number of neighbours.
    weights : {"uniform", "distance"}, default="uniform"
        Weights of the votes: equal, or the inverse of the distance.
    radius : int, float, "cv" or None, default=None
        Radius of the band in steps; a float below 1 is a fraction of the longer series. "cv"
        chooses the percentage of the longest series with the smallest leave-one-out error on the
        training series, and the smallest radius in a tie. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if series have unequal lengths, as in `metrics.dtw`.
        False uses the band of the archive, around equal positions.
    metric : {"dtw", "weighted_dtw", "erp", "msm", "twe", "lcss"}, default="dtw"
        Distance, as in `metrics.pairwise_elastic`. All except "dtw" compute all distances.
    metric_params : dict, default=None
        Parameters of the distance, such as ``{"cost": 0.1}`` for "msm".
    lower_bounds : bool, default=True
        Whether to use lower bounds, for "dtw". They save time and do not change the neighbours.
    n_jobs : int, default=None
        Number of threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    radius_ : int, float or None
        Radius that is used.
    cv_radii_ : ndarray of int
        Candidate radii, for `radius="cv"`.
    cv_errors_ : ndarray of float
        Leave-one-out errors of the candidate radii.
    n_channels_ : int
        Number of channels of the training series.
    n_samples_fit_ : int
        Number of training series.

    See Also
    --------
    DTWNeighborsRegressor : Values instead of classes.
    skmoderndata.metrics.pairwise_dtw : All distances.
    sklearn.neighbors.KNeighborsClassifier : For rows of a table.

    Notes
    -----
    Samples are arrays of shape ``(length,)`` or ``(length, n_channels)`` of any lengths, in a
    list, or a 2-D or 3-D array. The memory is about three times the memory of the training series,
    whatever the number of queries; metrics other than "dtw" store the matrix of distances.

    References
    ----------
    .. [1] Dau et al., The UCR time series archive, IEEE/CAA Journal of Automatica Sinica 6(6),
       2019.
    .. [2] Keogh and Ratanamahatana, Exact indexing of dynamic time warping, Knowledge and
       Information Systems 7(3), 2005.
    .. [3] Rakthanmanon et al., Searching and mining trillions of time series subsequences under
       dynamic time warping, KDD 2012.

    Examples
    --------
    >>> from skmoderndata.neighbors import DTWNeighborsClassifier
    >>> X = [[0, 0, 1, 0], [0, 1, 0], [0, 0, -1, 0, 0], [0, -1, 0]]
    >>> model = DTWNeighborsClassifier().fit(X, ["up", "up", "down", "down"])
    >>> model.predict([[0, 0, 0, 0, 1, 0], [-1, 0]])
    array(['up', 'down'], dtype='<U4')
    """

    _card = MethodCard(
        family="time series",
        cite=("dau2019ucr", "keogh2005exact", "rakthanmanon2012searching"),
        cost="n p; a query at most n p^2, and usually a few percent of it",
        samples="series",
        method="dtw_neighbors",
    )
    _parameter_constraints = {
        "n_neighbors": [AT_LEAST_ONE],
        "weights": [StrOptions({"uniform", "distance"})],
        "radius": [
            Interval(Integral, 0, None, closed="left"),
            Interval(Real, 0, 1, closed="left"),
            StrOptions({"cv"}),
            None,
        ],
        "slanted": ["boolean"],
        "metric": [StrOptions(set(PARAMETERS))],
        "metric_params": [dict, None],
        "lower_bounds": ["boolean"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        n_neighbors=1,
        *,
        weights="uniform",
        radius=None,
        slanted=True,
        metric="dtw",
        metric_params=None,
        lower_bounds=True,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.radius = radius
        self.slanted = slanted
        self.metric = metric
        self.metric_params = metric_params
        self.lower_bounds = lower_bounds
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y):
        """Store the training series, and choose the radius if it is "cv".

        Parameters
        ----------
        X : collection of arrays of shape (length,) or (length, n_channels)
            Training series.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : DTWNeighborsClassifier
            The fitted estimator.
        """
        check_target(y, owner=type(self).__name__)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, self._y = np.unique(y, return_inverse=True)
        self._fit(X, y)
        return self

    @by_rows
    def predict(self, X):
        """Predict the class with most votes; in a tie the first of `classes_`.

        Parameters
        ----------
        X : collection of arrays
            Queries; None uses the training series, without each series itself.

        Returns
        -------
        labels : ndarray of shape (n_queries,)
            Labels.
        """
        fractions = self.predict_proba(X)
        return self.classes_[fractions.argmax(axis=1)]

    @by_rows
    def predict_proba(self, X):
        """Compute the fractions of votes of the classes.

        Parameters
        ----------
        X : collection of arrays
            Queries; None uses the training series, without each series itself.

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_classes)
            In the order of `classes_`.
        """
        weights, nearest = self._found(X)
        votes = self._votes(weights, nearest)
        return votes / votes.sum(axis=1, keepdims=True)

    def _votes(self, weights, nearest):
        n = len(nearest)
        votes = np.zeros((n, len(self.classes_)))
        rows = np.arange(n)[:, None]
        np.add.at(votes, (rows, self._y[nearest]), weights)
        return votes

    def _error(self, distances, nearest):
        """Fraction of the training series that the other series classify wrongly."""
        votes = self._votes(self._weights(distances), nearest)
        wrong = (votes.argmax(axis=1) != self._y) | (votes.sum(axis=1) == 0)
        return float(wrong.mean())


class DTWNeighborsRegressor(_DTWNeighbors, RegressorMixin, Base):
    """Nearest-neighbour regression of time series under dynamic time warping.

    It works like `DTWNeighborsClassifier`, with the mean target instead of votes.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number of neighbours.
    weights : {"uniform", "distance"}, default="uniform"
        Weights of the neighbours: equal, or the inverse of the distance.
    radius : int, float, "cv" or None, default=None
        Radius of the band in steps; a float below 1 is a fraction of the longer series. "cv"
        chooses the percentage of the longest series with the smallest leave-one-out error on the
        training series, and the smallest radius in a tie. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if series have unequal lengths, as in `metrics.dtw`.
        False uses the band of the archive, around equal positions.
    metric : {"dtw", "weighted_dtw", "erp", "msm", "twe", "lcss"}, default="dtw"
        Distance, as in `metrics.pairwise_elastic`. All except "dtw" compute all distances.
    metric_params : dict, default=None
        Parameters of the distance, such as ``{"cost": 0.1}`` for "msm".
    lower_bounds : bool, default=True
        Whether to use lower bounds, for "dtw". They save time and do not change the neighbours.
    n_jobs : int, default=None
        Number of threads.

    Attributes
    ----------
    radius_ : int, float or None
        Radius that is used.
    cv_radii_ : ndarray of int
        Candidate radii, for `radius="cv"`.
    cv_errors_ : ndarray of float
        Leave-one-out mean squared errors of the candidate radii.
    n_channels_ : int
        Number of channels of the training series.
    n_samples_fit_ : int
        Number of training series.

    See Also
    --------
    DTWNeighborsClassifier : Classes instead of values.
    sklearn.neighbors.KNeighborsRegressor : For rows of a table.

    Notes
    -----
    See `DTWNeighborsClassifier`. With `radius="cv"`, a series that cannot be aligned with any
    other series contributes the squared distance of its value from the mean.

    References
    ----------
    .. [1] Keogh and Ratanamahatana, Exact indexing of dynamic time warping, Knowledge and
       Information Systems 7(3), 2005.

    Examples
    --------
    >>> from skmoderndata.neighbors import DTWNeighborsRegressor
    >>> X = [[0, 1, 0], [0, 2, 0], [0, 3, 0]]
    >>> model = DTWNeighborsRegressor(n_neighbors=2).fit(X, [1.0, 2.0, 3.0])
    >>> model.predict([[0, 0, 2.9, 0]])
    array([2.5])
    """

    _card = MethodCard(
        family="time series",
        cite=("keogh2005exact",),
        cost="n p; a query at most n p^2, and usually a few percent of it",
        samples="series",
        method="dtw_neighbors",
    )
    _parameter_constraints = DTWNeighborsClassifier._parameter_constraints

    @parameters_are_named
    def __init__(
        self,
        n_neighbors=1,
        *,
        weights="uniform",
        radius=None,
        slanted=True,
        metric="dtw",
        metric_params=None,
        lower_bounds=True,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.radius = radius
        self.slanted = slanted
        self.metric = metric
        self.metric_params = metric_params
        self.lower_bounds = lower_bounds
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y):
        """Store the training series, and choose the radius if it is "cv".

        Parameters
        ----------
        X : collection of arrays of shape (length,) or (length, n_channels)
            Training series.
        y : array-like of shape (n_samples,)
            Values.

        Returns
        -------
        self : DTWNeighborsRegressor
            The fitted estimator.
        """
        check_target(y, owner=type(self).__name__, numbers=True)
        y = column_or_1d(y, dtype=np.float64, warn=True)
        if not np.isfinite(y).all():
            raise ValueError(f"{type(self).__name__}: y contains NaN or infinity.")
        check_magnitude(y, owner=type(self).__name__, input_name="y")
        self._y = y.copy()
        self._fit(X, y)
        return self

    @by_rows
    def predict(self, X):
        """Predict the mean target of the neighbours.

        Parameters
        ----------
        X : collection of arrays
            Queries; None uses the training series, without each series itself.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Values.
        """
        weights, nearest = self._found(X)
        return (weights * self._y[nearest]).sum(axis=1) / weights.sum(axis=1)

    def _error(self, distances, nearest):
        """Mean squared error of the training series, predicted from the other series."""
        weights = self._weights(distances)
        mass = weights.sum(axis=1)
        reached = mass > 0  # series without neighbours get the mean of all targets
        sums = (weights * self._y[nearest]).sum(axis=1)
        means = sums / np.where(reached, mass, 1.0)
        values = np.where(reached, means, self._y.mean())
        return float(((values - self._y) ** 2).mean())
