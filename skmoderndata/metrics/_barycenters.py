"""Averages of series under warping."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._estimator.validation import relative_weights
from skmoderndata._samples.series import is_integer, pack_series, warping_band
from skmoderndata._solvers.alignment.barycenters import (
    average,
    smoothing,
    soft_average,
    soft_costs_to,
)
from skmoderndata._solvers.alignment.corridors import Band
from skmoderndata._solvers.alignment.warping import alignment_costs


def dtw_barycenter(
    X,
    weights=None,
    *,
    length=None,
    init="auto",
    radius=None,
    slanted=True,
    max_iter=30,
    tol=1e-5,
):
    r"""Compute the average of series that minimises the sum of squared warping distances.

    .. math:: \min_c \sum_p w_p \, d(c, x_p)^2

    by barycentre averaging: each point of c becomes the mean of the points that are aligned with
    it [1]_. The objective never increases; the result is a local minimum.

    Parameters
    ----------
    X : collection of arrays of shape (length,) or (length, n_channels)
        Series of any lengths.
    weights : array-like of shape (n_series,), default=None
        Non-negative weights of the series; None gives all series weight 1.
    length : int, default=None
        Number of points of the average, to which the start is interpolated; None uses the length
        of the start.
    init : {"auto", "medoid"} or array-like of shape (length, n_channels), default="auto"
        Initial average: the series with the smallest total distance to all others, or a given
        series. "auto" starts from the medoid and from the mean, for each position, of the series
        as long as the medoid, and returns the better average.
    radius : int or float, default=None
        Radius of the Sakoe-Chiba band, as in :func:`dtw`.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.
    max_iter : int, default=30
        Maximum number of iterations.
    tol : float, default=1e-5
        Iterations stop when the objective decreases by at most this fraction. If they end before,
        a `ConvergenceWarning` is issued.

    Returns
    -------
    center : ndarray of shape (length, n_channels)
        The average.

    See Also
    --------
    soft_dtw_barycenter : Minimises a smooth objective.
    skmoderndata.cluster.TimeSeriesKMeans : Clusters with such averages as centres.

    References
    ----------
    .. [1] Petitjean, Ketterlin and Gancarski, A global averaging method for dynamic time warping,
       with applications to clustering, Pattern Recognition 44(3), 2011.

    Examples
    --------
    >>> from skmoderndata.metrics import dtw_barycenter
    >>> dtw_barycenter([[0, 0, 1, 0], [0, 3, 0, 0]]).ravel()
    array([0., 0., 2., 0.])
    """
    name = "dtw_barycenter"
    band = warping_band(name, radius=radius, slanted=slanted)
    series, w, starts = _prepare(name, X, weights, length, init, band, max_iter, tol)
    results = [
        average(series.arrays, w, start, band=band, max_iter=max_iter, tol=tol)
        for start in starts
    ]
    result = min(results, key=lambda result: result.objective)
    if not np.isfinite(result.objective):
        raise ValueError(
            f"{name}: radius={radius} admits no alignment of the start with some series, because "
            "their lengths differ by more; set slanted=True, or a larger radius."
        )
    _warn_unless_converged(name, result, max_iter)
    return result.center


def soft_dtw_barycenter(
    X, weights=None, *, gamma="scale", length=None, init="auto", max_iter=100, tol=1e-6
):
    r"""Compute the average of series that minimises the sum of soft warping costs.

    .. math:: \min_c \sum_p w_p \, \mathrm{dtw}_\gamma(c, x_p)

    by L-BFGS [1]_. The average becomes smoother as `gamma` increases.

    Parameters
    ----------
    X : collection of arrays of shape (length,) or (length, n_channels)
        Series of any lengths.
    weights : array-like of shape (n_series,), default=None
        Non-negative weights of the series; None gives all series weight 1.
    gamma : "scale" or float, default="scale"
        Smoothing parameter, above 0, in squared units of the series. "scale" is the variance of
        all values (summed over channels), which is 1 for standardised series.
    length : int, default=None
        Number of points of the average, to which the start is interpolated; None uses the length
        of the start.
    init : {"auto", "medoid"} or array-like of shape (length, n_channels), default="auto"
        Initial average: the series with the smallest total distance to all others, or a given
        series. "auto" starts from the medoid or from the mean, for each position, of the series
        as long as the medoid, whichever has the lower objective.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        Iterations stop when the objective decreases by at most this fraction. If they end before,
        a `ConvergenceWarning` is issued.

    Returns
    -------
    center : ndarray of shape (length, n_channels)
        The average.

    See Also
    --------
    soft_dtw : The cost that is summed.

    References
    ----------
    .. [1] Cuturi and Blondel, Soft-DTW: a differentiable loss function for time-series, ICML 2017.

    Examples
    --------
    >>> from skmoderndata.metrics import soft_dtw_barycenter
    >>> soft_dtw_barycenter([[0, 0, 2, 0], [0, 4, 0, 0]], gamma=0.01).ravel().round(1) + 0.0
    array([0., 0., 3., 0.])
    """
    name = "soft_dtw_barycenter"
    if gamma != "scale" and (isinstance(gamma, str) or not np.isfinite(gamma) or gamma <= 0):
        raise ValueError(f'{name}: gamma={gamma!r}; it must be "scale" or above 0.')
    series, w, starts = _prepare(name, X, weights, length, init, Band(), max_iter, tol)
    gamma = smoothing(gamma, series.values[np.repeat(w > 0, series.lengths)])
    costs_to = soft_costs_to(series.arrays, gamma, Band())
    start = starts[int((costs_to(starts) @ w).argmin())]
    result = soft_average(
        series.arrays, w, start, gamma=gamma, band=Band(), max_iter=max_iter, tol=tol
    )
    _warn_unless_converged(name, result, max_iter)
    return result.center


def _warn_unless_converged(name, result, max_iter):
    if not result.converged:
        warnings.warn(
            f"{name} stopped before it converged: after {result.n_iter} iterations the objective "
            f"{result.objective:.6g} still decreases; increase max_iter={max_iter}, or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _prepare(name, X, weights, length, init, band, max_iter, tol):
    """Check the arguments; return the series, their weights, and the initial averages."""
    series = pack_series(X, name)
    for what, value in (("max_iter", max_iter), ("length", length)):
        if value is not None and (not is_integer(value) or value < 1):
            raise ValueError(f"{name}: {what}={value!r}; it must be an integer of at least 1.")
    if not tol >= 0:
        raise ValueError(f"{name}: tol={tol!r}; it must be at least 0.")

    w, _ = relative_weights(weights, np.zeros((len(series), 1)))
    # start from the given series, or from the medoid, which is the series closest to all others
    if isinstance(init, str):
        if init not in ("auto", "medoid"):
            raise ValueError(
                f'{name}: init={init!r}; it must be "auto", "medoid" or a series.'
            )
        index = medoid(series, w, band)
        start = series.one(index).copy()
    else:
        start = pack_series([init], f"{name}, init").values
        channels = series.values.shape[1]
        if start.shape[1] != channels:
            raise ValueError(
                f"{name}: init has {start.shape[1]} channels, but the series have {channels}."
            )

    start = _stretched(start, len(start) if length is None else int(length))
    if not isinstance(init, str) or init == "medoid":
        return series, w, [start]

    # compute the mean of the series
    mean = np.zeros_like(start)
    for p, weight in enumerate(w):
        mean += weight / w.sum() * _stretched(series.one(p), len(start))
    return series, w, [start, mean]


def medoid(series, weights, band):
    """Return the index of the series with the smallest weighted cost to all others."""
    costs = alignment_costs(series.arrays, band=band, rooted=False)
    finite = np.where(np.isfinite(costs), costs, 1e300)
    return int((weights @ finite).argmin())


def _stretched(x, length):
    """Interpolate linearly at another number of points."""
    if length == len(x):
        return x
    new = np.linspace(0, len(x) - 1, length)
    old = np.arange(len(x))
    channels = [np.interp(new, old, channel) for channel in x.T]
    return np.column_stack(channels)
