"""K-means clustering of time series, with averages under warping."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, run_starts, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    NamedOptions,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.plotting import several_axes_or_new
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._samples.series import pack_series, same_channels, warping_band
from skmoderndata._solvers.alignment.barycenters import (
    average,
    average_step,
    plus_plus,
    series_k_means,
    smoothing,
    soft_average,
    soft_costs_to,
    warping_costs_to,
)
from skmoderndata.cluster._base import warn_fewer_clusters


class TimeSeriesKMeans(CallbackSupportMixin, ClusterMixin, Base):
    r"""K-means clustering of time series, with average series as prototypes.

    The class minimises

    .. math:: \min_{c_1, \dots, c_k} \sum_p \min_j \, d(c_j, x_p)

    where d is the squared distance of dynamic time warping, its smooth form, or the squared
    Euclidean distance.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : "k-means++" or collection of n_clusters arrays, default="k-means++"
        Initial prototypes: "k-means++" draws them from the training series; a collection contains
        them.
    metric : {"dtw", "soft_dtw", "euclidean"}, default="dtw"
        Distance used in assignment and averaging; "euclidean" requires series of equal lengths.
    gamma : "scale" or float, default="scale"
        Smoothing parameter of "soft_dtw", above 0, in squared units of the series. "scale" is the
        variance of all values of the training series (summed over channels), which is 1 for
        standardised series.
    radius : int, float or None, default=None
        Radius of the band in assignment and averaging, as in `metrics.dtw`.
    slanted : bool, default=True
        Whether the band follows the diagonal if series have unequal lengths, as in `metrics.dtw`.
    n_init : int, default=1
        Number of starts; the best result is kept. There is one start if `init` is a collection.
    max_iter : int, default=50
        Largest number of passes per start.
    averaging_iter : int, default=30
        Largest number of averaging iterations in each pass; they stop when the objective no longer
        decreases.
    tol : float, default=1e-6
        Tolerance: a start ends when the objective decreases by at most this relative amount.
    random_state : int, RandomState instance or None, default=None
        Controls the starts, drawn by k-means++. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads for the starts, or for the distances and averages of a single start.

    Attributes
    ----------
    cluster_centers_ : list of ndarray of shape (length, n_channels)
        Prototypes; each has the length of its initial series.
    labels_ : ndarray of int of shape (n_samples,)
        Nearest prototype of each training series.
    inertia_ : float
        Value of the objective. Soft costs may be negative.
    objective_history_ : ndarray
        Objective in each pass of the best start.
    n_iter_ : int
        Number of passes of the best start.
    gamma_ : float
        Value of the smoothing parameter. Only with `metric="soft_dtw"`.
    n_channels_ : int
        Number of channels of the series.

    See Also
    --------
    skmoderndata.metrics.dtw_barycenter : Average of one set of series.
    KMedoids : Series as prototypes, under any elastic distance.
    ClusterPrototypesDisplay : Plots series and prototypes.
    sklearn.cluster.KMeans : For rows of a table.

    Notes
    -----
    Samples are arrays of shape ``(length,)`` or ``(length, n_channels)``, of any lengths.
    Averages are computed by barycentre averaging [1]_, or by L-BFGS for the smooth cost [2]_. The
    objective never increases and converges to a local minimum, without a certificate. A cluster
    without series restarts at the series farthest from its prototype. If there are fewer distinct
    series than clusters, some clusters stay empty and `fit` warns.

    References
    ----------
    .. [1] Petitjean, Ketterlin and Gancarski, A global averaging method for dynamic time warping,
       with applications to clustering, Pattern Recognition 44(3), 2011.
    .. [2] Cuturi and Blondel, Soft-DTW: a differentiable loss function for time-series, ICML 2017.

    Examples
    --------
    >>> from skmoderndata.cluster import TimeSeriesKMeans
    >>> X = [[0, 1, 0], [0, 0, 1, 0], [0, -1, 0], [0, -1, 0, 0]]
    >>> model = TimeSeriesKMeans(2, random_state=0).fit(X)
    >>> model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    np.True_
    >>> model.inertia_
    0.0
    """

    _card = MethodCard(
        family="time series",
        cite=("petitjean2011global", "cuturi2017soft"),
        cost="T n k p^2 for p points",
        samples="series",
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "init": [StrOptions({"k-means++"}), list, tuple, np.ndarray],
        "metric": [
            NamedOptions(
                {"dtw", "soft_dtw", "euclidean"},
                elsewhere="'softdtw' is 'soft_dtw' here; KMedoids accepts 'msm', 'twe' and "
                "others, which have no mean",
            )
        ],
        "gamma": [StrOptions({"scale"}), POSITIVE],
        "radius": [
            Interval(Integral, 0, None, closed="left"),
            Interval(Real, 0, 1, closed="left"),
            None,
        ],
        "slanted": ["boolean"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "averaging_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        metric="dtw",
        gamma="scale",
        radius=None,
        slanted=True,
        n_init=1,
        max_iter=50,
        averaging_iter=30,
        tol=1e-6,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.metric = metric
        self.gamma = gamma
        self.radius = radius
        self.slanted = slanted
        self.n_init = n_init
        self.max_iter = max_iter
        self.averaging_iter = averaging_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y=None):
        """Compute the clusters.

        Parameters
        ----------
        X : collection of arrays of shape (length,) or (length, n_channels)
            Series.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : TimeSeriesKMeans
            The fitted estimator.
        """
        name = type(self).__name__
        series = pack_series(X, name)
        if len(series) < self.n_clusters:
            raise ValueError(
                f"{name}: n_samples={len(series)} should be >= n_clusters={self.n_clusters}."
            )

        band = self._band(series.lengths)
        vars(self).pop("gamma_", None)
        if self.metric == "soft_dtw":
            self.gamma_ = smoothing(self.gamma, series.values)
        rng = check_random_state(self.random_state)
        if isinstance(self.init, str):
            costs_to = self._costs_to(series.arrays, band, self.n_jobs)
            starts = [
                plus_plus(series.arrays, self.n_clusters, costs_to, rng)
                for _ in range(self.n_init)
            ]
        else:
            starts = [self._user_start(series)]

        # run several starts in parallel, or a single start with several threads
        n_jobs = self.n_jobs if len(starts) == 1 else 1
        results, stopped = run_starts(
            self,
            X,
            y,
            partial(self._one_start, series.arrays, band, n_jobs),
            starts,
            max_passes=len(starts) * self.max_iter,
            n_jobs=self.n_jobs,
            prefer="threads",
        )

        best = min(results, key=lambda result: result.objective)
        # the objective is infinite if the band does not allow any alignment
        if not np.isfinite(best.objective):
            raise ValueError(
                f"{name}: radius={self.radius} admits no alignment of some series with any "
                "prototype, as their lengths differ by more than the radius; set slanted=True, or "
                "increase the radius."
            )

        warn_fewer_clusters(self, len(np.unique(best.labels)))
        self.cluster_centers_ = best.centers
        self.labels_ = best.labels
        self.inertia_ = best.objective
        self.objective_history_ = best.history
        self.n_iter_ = best.n_iter
        self.n_channels_ = series.values.shape[1]

        if not best.converged and not stopped:
            warn_not_converged(
                self,
                reached=f"the objective still decreased in pass {best.n_iter}",
                remedy="increase max_iter or tol",
            )

        return self

    @by_rows
    def predict(self, X):
        """Predict the nearest prototype of each series.

        Parameters
        ----------
        X : collection of arrays
            Series.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Index of the cluster of each series.
        """
        return self._costs(X).argmin(axis=0)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative objective.

        Parameters
        ----------
        X : collection of arrays
            Series.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Negative objective; higher is better.
        """
        return -float(self._costs(X).min(axis=0).sum())

    def _costs(self, X):
        check_is_fitted(self)
        name = type(self).__name__
        series = pack_series(X, name)
        same_channels(pack_series(self.cluster_centers_, name), series, name)
        lengths = np.concatenate([series.lengths, [len(c) for c in self.cluster_centers_]])
        return self._costs_to(series.arrays, self._band(lengths), self.n_jobs)(
            self.cluster_centers_
        )

    def _user_start(self, series):
        """Check and return the series of `init`."""
        name = type(self).__name__
        prototypes = pack_series(self.init, f"{name}, init")
        same_channels(series, prototypes, f"{name}, init")
        if len(prototypes) != self.n_clusters:
            raise ValueError(
                f"{name}: init has {len(prototypes)} series, but n_clusters={self.n_clusters}; "
                "pass one series for each cluster."
            )
        if self.metric == "euclidean":
            self._band(np.concatenate([series.lengths, prototypes.lengths]))
        return [prototypes.one(c).copy() for c in range(len(prototypes))]

    def _band(self, lengths):
        if self.metric != "euclidean":
            return warping_band(type(self).__name__, radius=self.radius, slanted=self.slanted)
        if np.ptp(lengths):
            raise ValueError(
                f'{type(self).__name__}: metric="euclidean" needs series of equal lengths, but '
                f'they have {lengths.min()} to {lengths.max()} points; use metric="dtw".'
            )
        return warping_band(type(self).__name__, radius=0)

    def _one_start(self, arrays, band, n_jobs, *, seed, progress=None):
        """Compute clusters from the initial prototypes `seed`."""
        return series_k_means(
            arrays,
            seed,
            self._costs_to(arrays, band, n_jobs),
            partial(self._average, band=band),
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=n_jobs,
            progress=progress,
        )

    def _costs_to(self, arrays, band, n_jobs):
        if self.metric == "soft_dtw":
            return soft_costs_to(arrays, self.gamma_, band)
        return warping_costs_to(arrays, band, n_jobs)

    def _average(self, members, center, band):
        weights = np.ones(len(members[1]) - 1)
        settings = {"max_iter": self.averaging_iter}
        if self.metric == "soft_dtw":
            settings["gamma"] = self.gamma_
            return soft_average(
                members, weights, center, band=band, tol=1e-9, **settings
            ).center
        if self.averaging_iter == 1:
            return average_step(members, weights, center, band)
        return average(members, weights, center, band=band, tol=0.0, **settings).center

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


class ClusterPrototypesDisplay:
    """Plot of the series of each cluster, with their prototype.

    Parameters
    ----------
    series : list of ndarray of shape (length, n_channels)
        Series.

    labels : ndarray of int of shape (n_series,)
        Cluster of each series.

    centers : list of ndarray of shape (length, n_channels)
        Prototypes.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes, one for each cluster.

    figure_ : matplotlib Figure
        Figure of the plot.

    See Also
    --------
    TimeSeriesKMeans : Finds clusters and prototypes.

    Examples
    --------
    >>> from skmoderndata.cluster import ClusterPrototypesDisplay, TimeSeriesKMeans
    >>> X = [[0, 1, 0], [0, 0, 1, 0], [0, -1, 0], [0, -1, 0, 0]]
    >>> model = TimeSeriesKMeans(2, random_state=0).fit(X)
    >>> ClusterPrototypesDisplay.from_estimator(model, X).axes_.shape  # doctest: +SKIP
    (2,)
    """

    def __init__(self, *, series, labels, centers):
        self.series = series
        self.labels = labels
        self.centers = centers

    @classmethod
    def from_estimator(cls, estimator, X, *, channel=0, axes=None, **kwargs):
        """Plot series, grouped by the nearest prototype of a fitted clusterer.

        Parameters
        ----------
        estimator : TimeSeriesKMeans
            Fitted estimator.
        X : collection of arrays
            Series.
        channel : int, default=0
            Channel that is plotted.
        axes : array of matplotlib Axes, default=None
            Axes to draw on, one for each cluster; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the prototypes.

        Returns
        -------
        display : ClusterPrototypesDisplay
            With `axes_` and `figure_`.
        """
        check_is_fitted(estimator)
        packed = pack_series(X, cls.__name__)
        display = cls(
            series=[packed.one(i) for i in range(len(packed))],
            labels=estimator.predict(X),
            centers=estimator.cluster_centers_,
        )
        return display.plot(channel=channel, axes=axes, **kwargs)

    def plot(self, *, channel=0, axes=None, **kwargs):
        """Plot each cluster on its own axes.

        Parameters
        ----------
        channel : int, default=0
            Channel that is plotted.
        axes : array of matplotlib Axes, default=None
            Axes to draw on, one for each cluster; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the prototypes.

        Returns
        -------
        self : ClusterPrototypesDisplay
            With `axes_` and `figure_`.
        """
        k = len(self.centers)
        self.axes_ = several_axes_or_new(self, axes, 1, k, figsize=(3 * k, 3), sharey=True)
        style = {"color": "tab:red", "linewidth": 2} | kwargs
        labels = np.asarray(self.labels)

        # draw the members in grey, and their prototype on top of them
        for c, ax in enumerate(self.axes_[:k]):
            members = np.flatnonzero(labels == c)
            for i in members:
                ax.plot(self.series[i][:, channel], color="0.7", linewidth=0.5)
            ax.plot(self.centers[c][:, channel], **style)
            ax.set_title(f"cluster {c}: {len(members)} series")

        self.figure_ = self.axes_[0].figure
        return self
