"""Distances between series of different lengths and speeds."""

import math

import numpy as np

from skmoderndata._samples.series import (
    equal_channels,
    is_integer,
    pack_one,
    pack_series,
    rooted_local,
    same_channels,
    warn_no_alignment,
    warping_band,
)
from skmoderndata._solvers.alignment.neighbors import envelopes, keogh_bounds
from skmoderndata._solvers.alignment.open_ends import best_window, costs_of_windows
from skmoderndata._solvers.alignment.paths import aligned, aligned_by_scales
from skmoderndata._solvers.alignment.soft_warping import soft_costs
from skmoderndata._solvers.alignment.warping import alignment_cost, alignment_costs


def dtw(
    x,
    z,
    *,
    local="sqeuclidean",
    root=True,
    band=None,
    radius=None,
    max_slope=2.0,
    slanted=True,
    open_begin=False,
    open_end=False,
):
    r"""Compute the dynamic time warping distance of two series.

    It is the smallest sum of local costs over all alignments,

    .. math::
        D(i, j) = d(x_i, z_j) + \min\{D(i - 1, j - 1), D(i - 1, j), D(i, j - 1)\}

    from :math:`D(0, 0) = 0` to :math:`D(n, m)` [1]_.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels; all channels are warped together.
    local : {"sqeuclidean", "euclidean"} or callable, default="sqeuclidean"
        Cost of aligning two points. A callable receives two arrays of shape (length, n_channels)
        and returns the matrix of costs.
    root : bool, default=True
        Whether to return the square root of the sum of costs, for `local="sqeuclidean"`.
    band : {None, "sakoe_chiba", "itakura"}, default=None
        Restriction of the alignments; `radius` alone means "sakoe_chiba".
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    max_slope : float, default=2.0
        Largest slope of the alignment from either end, above 1, for `band="itakura"`.
    slanted : bool, default=True
        Whether the band follows the diagonal, from corner to corner, if the series have unequal
        lengths. False uses the band of the archive and of other libraries, around equal
        positions, which admits no alignment if lengths differ by more than the radius.
    open_begin, open_end : bool, default=False
        Whether points of z before the beginning and after the end of x may be left out at no
        cost, so that x is aligned with a window of z. Not with a band.

    Returns
    -------
    distance : float
        Infinite, with a warning, if the band admits no alignment.

    See Also
    --------
    dtw_path : Also returns the alignment.
    subsequence_dtw : Several windows of a long series.
    pairwise_dtw : All pairs of a collection, much faster than a loop.
    soft_dtw : Differentiable version with a smooth minimum.

    Notes
    -----
    This is not a metric: the triangle inequality fails, and distinct series can have distance 0.
    Time is proportional to the product of the two lengths, memory to one length. Conventions
    differ between libraries; for the series 0, 1, 2, 1 and 0, 2, 2, 5

    ============================  ========
    here, tslearn, dtaidistance   sqrt(17)
    here with `root=False`, aeon  17
    ============================  ========

    References
    ----------
    .. [1] Sakoe and Chiba, Dynamic programming algorithm optimization for spoken word
       recognition, IEEE Transactions on Acoustics, Speech, and Signal Processing 26(1), 1978.

    Examples
    --------
    >>> from skmoderndata.metrics import dtw
    >>> dtw([1, 2, 3], [1, 2, 2, 3])
    0.0
    >>> dtw([0, 1, 2, 1], [0, 2, 2, 5], root=False)
    17.0
    >>> dtw([0, 0, 1, 2, 2], [0, 1, 1, 1, 2], local="euclidean", radius=0)
    2.0
    >>> dtw([1, 2], [0, 1, 2, 5]), dtw([1, 2], [0, 1, 2, 5], open_begin=True, open_end=True)
    (3.1622776601683795, 0.0)
    >>> dtw([0, 0, 0, 0, 1, 1, 1, 1], [0, 1], radius=1)  # half as long, within one step
    0.0
    """
    limits = {"band": band, "radius": radius, "max_slope": max_slope, "slanted": slanted}
    x, z, rule, costs, rooted = _prepare("dtw", x, z, local, **limits)
    if open_begin or open_end:
        ends = {"open_begin": bool(open_begin), "open_end": bool(open_end)}
        cost = _window("dtw", x, z, limits, rooted, costs, **ends).cost
    elif costs is None:
        cost = alignment_cost(x, z, band=rule, rooted=rooted)
    else:
        _, cost = aligned(x, z, band=rule, rooted=rooted, costs=costs)
    if cost == np.inf:
        warn_no_alignment("dtw", np.array(cost))
    return _distance(cost, local, root)


def dtw_path(
    x,
    z,
    *,
    local="sqeuclidean",
    root=True,
    band=None,
    radius=None,
    max_slope=2.0,
    slanted=True,
    open_begin=False,
    open_end=False,
):
    """Find the optimal alignment of two series, and its distance.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    local : {"sqeuclidean", "euclidean"} or callable, default="sqeuclidean"
        Cost of aligning two points, as in :func:`dtw`.
    root : bool, default=True
        Whether to return the square root of the sum of costs, for `local="sqeuclidean"`.
    band : {None, "sakoe_chiba", "itakura"}, default=None
        Restriction of the alignments; `radius` alone means "sakoe_chiba".
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series.
    max_slope : float, default=2.0
        Largest slope of the alignment from either end, for `band="itakura"`; above 1.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.
    open_begin, open_end : bool, default=False
        Whether points of z before the beginning and after the end of x may be left out at no
        cost, so that x is aligned with a window of z. Not with a band.

    Returns
    -------
    path : ndarray of int of shape (n_steps, 2)
        Aligned positions, from the first points to the last points of both series (of x, with
        open ends); empty if the
        band admits no alignment. In a tie the diagonal step is preferred, then the step in x.
    distance : float
        The distance, as in :func:`dtw`.

    See Also
    --------
    WarpingPathDisplay : Plots the path.

    Examples
    --------
    >>> from skmoderndata.metrics import dtw_path
    >>> path, distance = dtw_path([1, 2, 3], [1, 2, 2, 3])
    >>> path.tolist()
    [[0, 0], [1, 1], [1, 2], [2, 3]]
    >>> path, distance = dtw_path([1, 2], [0, 1, 2, 5], open_begin=True, open_end=True)
    >>> path.tolist()
    [[0, 1], [1, 2]]
    """
    limits = {"band": band, "radius": radius, "max_slope": max_slope, "slanted": slanted}
    x, z, rule, costs, rooted = _prepare("dtw", x, z, local, **limits)
    if open_begin or open_end:
        ends = {"open_begin": bool(open_begin), "open_end": bool(open_end)}
        _, start, stop = _window("dtw_path", x, z, limits, rooted, costs, **ends)
        part = None if costs is None else np.ascontiguousarray(costs[:, start:stop])
        path, cost = aligned(x, z[start:stop], band=rule, rooted=rooted, costs=part)
        path[:, 1] += start
    else:
        path, cost = aligned(x, z, band=rule, rooted=rooted, costs=costs)
    if cost == np.inf:
        warn_no_alignment("dtw", np.array(cost))
    return path, _distance(cost, local, root)


def multiscale_dtw(
    x,
    z,
    radius=1,
    *,
    local="sqeuclidean",
    root=True,
    band=None,
    band_radius=None,
    max_slope=2.0,
    slanted=True,
):
    """Compute an upper bound of the warping distance from coarse to fine, in linear time.

    The series are first aligned at half their resolution, recursively; the path, widened by
    `radius` cells, restricts the alignments at the full resolution [1]_.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    radius : int, default=1
        Number of cells on each side of the coarse path; a radius as large as the series gives the
        exact distance.
    local : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        Cost of aligning two points.
    root : bool, default=True
        Whether to return the square root of the sum of costs, for `local="sqeuclidean"`.
    band : {None, "sakoe_chiba", "itakura"}, default=None
        Further restriction of the alignments at the full resolution.
    band_radius : int or float, default=None
        Radius of this band, like `radius` in :func:`dtw`.
    max_slope : float, default=2.0
        Largest slope of the alignment, for `band="itakura"`; above 1.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        Upper bound of the distance of :func:`dtw`.

    References
    ----------
    .. [1] Salvador and Chan, Toward accurate dynamic time warping in linear time and space,
       Intelligent Data Analysis 11(5), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.metrics import dtw, multiscale_dtw
    >>> t = np.linspace(0, 6, 500)
    >>> x, z = np.sin(t), np.sin(t - 0.5)
    >>> round(dtw(x, z), 3), round(multiscale_dtw(x, z, radius=5), 3)   # exact, and in linear time
    (2.419, 2.419)
    """
    name = "multiscale_dtw"
    if not is_integer(radius) or radius < 0:
        raise ValueError(f"{name}: radius={radius!r}; it must be an integer of at least 0.")
    rooted = rooted_local(name, local)
    limits = {"band": band, "radius": band_radius, "max_slope": max_slope, "slanted": slanted}
    x, z, rule, _, _ = _prepare(name, x, z, local, **limits)
    _, cost = aligned_by_scales(x, z, radius=int(radius), band=rule, rooted=rooted)
    return _distance(cost, local, root)


def pairwise_dtw(
    X,
    Z=None,
    *,
    local="sqeuclidean",
    root=True,
    band=None,
    radius=None,
    max_slope=2.0,
    slanted=True,
    open_begin=False,
    open_end=False,
    max_distance=None,
    n_jobs=None,
):
    """Compute the dynamic time warping distances of all pairs of series.

    Parameters
    ----------
    X : collection of arrays of shape (length,) or (length, n_channels)
        Series of any lengths; the rows of a 2-D array are series of equal lengths, and a 3-D array
        has the shape (n_series, length, n_channels).
    Z : collection of arrays, default=None
        Other series; None compares `X` with itself.
    local : {"sqeuclidean", "euclidean"} or callable, default="sqeuclidean"
        Cost of aligning two points, as in :func:`dtw`.
    root : bool, default=True
        Whether to return the square root of the sum of costs, for `local="sqeuclidean"`.
    band : {None, "sakoe_chiba", "itakura"}, default=None
        Restriction of the alignments; `radius` alone means "sakoe_chiba".
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series.
    max_slope : float, default=2.0
        Largest slope of the alignment from either end, for `band="itakura"`; above 1.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.
    open_begin, open_end : bool, default=False
        Whether each series of `X` is aligned with a window of each series of `Z`, as in
        :func:`dtw`. The matrix is then not symmetric if `Z` is None.
    max_distance : float, default=None
        Distances above this bound are returned as infinite, which saves time.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    distances : ndarray of shape (n_X, n_Z)
        Infinite, with a warning, for pairs for which the band admits no alignment.

    See Also
    --------
    skmoderndata.neighbors.DTWNeighborsClassifier : Finds nearest series without the full matrix.

    Notes
    -----
    Each series is compared with sixty-four others at a time, in parallel vector registers. If
    there are few long series, each pair is computed by the diagonals of its table. The only large
    array is the result.

    Examples
    --------
    >>> from skmoderndata.metrics import pairwise_dtw
    >>> pairwise_dtw([[0, 1, 2], [0, 2], [1, 1, 1]], root=False)
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    name = "pairwise_dtw"
    A = pack_series(X, name)
    B = None if Z is None or Z is X else pack_series(Z, name)
    if B is not None:
        same_channels(A, B, name)

    rule = warping_band(name, band, radius, max_slope, slanted)
    # compare squares, and take the root at the end
    squared = local == "sqeuclidean" and root
    cutoff = np.inf
    if max_distance is not None:
        if not max_distance >= 0:
            raise ValueError(f"{name}: max_distance={max_distance!r}; it must be at least 0.")
        cutoff = float(max_distance)
        if squared:
            cutoff **= 2

    windows = None
    if open_begin or open_end:
        _refuse_band(name, {"band": band, "radius": radius})
        windows = {"open_begin": bool(open_begin), "open_end": bool(open_end)}

    if callable(local):
        others = A if B is None else B
        costs = _by_costs(A, others, local, rule, cutoff, windows)
    elif windows is not None:
        rooted = rooted_local(name, local)
        others = A if B is None else B
        costs = costs_of_windows(
            A.arrays, others.arrays, rooted=rooted, n_jobs=n_jobs, **windows
        )
        costs = np.where(costs <= cutoff, costs, np.inf)
    else:
        rooted = rooted_local(name, local)
        others = None if B is None else B.arrays
        costs = alignment_costs(
            A.arrays, others, band=rule, rooted=rooted, cutoff=cutoff, n_jobs=n_jobs
        )

    if cutoff == np.inf:
        warn_no_alignment(name, costs)
    return np.sqrt(costs) if squared else costs


def lb_keogh(x, z, radius=None):
    """Compute a lower bound of the warping distance from the envelope of one series.

    It is the square root of the sum of squared distances of `x` from the band between the running
    minimum and maximum of `z`. It is at most ``dtw(x, z, radius=radius)`` [1]_.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of equal lengths.
    radius : int or float, default=None
        Radius of the Sakoe-Chiba band, as in :func:`dtw`; None means no band.

    Returns
    -------
    bound : float
        Lower bound, computed in linear time. It is not symmetric: the maximum over both orders of
        the series is also a bound.

    References
    ----------
    .. [1] Keogh and Ratanamahatana, Exact indexing of dynamic time warping, Knowledge and
       Information Systems 7(3), 2005.

    Examples
    --------
    >>> from skmoderndata.metrics import dtw, lb_keogh
    >>> x, z = [0, 0, 4, 0, 0], [0, 1, 1, 1, 0]
    >>> lb_keogh(x, z, radius=1), round(dtw(x, z, radius=1), 3)
    (3.0, 3.317)
    """
    x, z, rule, _, _ = _prepare("lb_keogh", x, z, "sqeuclidean", radius=radius)
    if len(x) != len(z):
        raise ValueError(
            f"lb_keogh: the series have {len(x)} and {len(z)} points, but need equal lengths."
        )
    offsets = np.array([0, len(z)])
    lower, upper = envelopes(z, offsets, rule)
    bound_sq = keogh_bounds(x, lower, upper)
    return float(np.sqrt(bound_sq))


def soft_dtw(x, z, gamma=1.0, *, gradient=False, debias=False):
    r"""Compute the dynamic time warping cost with a smooth minimum.

    .. math::
        \min\nolimits_\gamma(a) = -\gamma \log \sum_i e^{-a_i / \gamma}

    replaces the minimum, so that the value is differentiable in the series [1]_.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    gamma : float, default=1.0
        Positive smoothing parameter, in squared units of the series; in the limit 0 the value is
        ``dtw(x, z, root=False)``. The default suits standardised series. It is a number because
        you can compare the values of several pairs only if they have the same `gamma`, for example
        the variance of all series.
    gradient : bool, default=False
        Whether to also return the gradient with respect to x.
    debias : bool, default=False
        Whether to subtract the mean of the values of each series with itself, which gives a
        divergence with its minimum at ``x = z`` [2]_.

    Returns
    -------
    value : float
        Cost without a square root. It can be negative for similar series, unless `debias` is True.
    gradient : ndarray of the shape of x
        Gradient with respect to x, only if ``gradient=True``.

    References
    ----------
    .. [1] Cuturi and Blondel, Soft-DTW: a differentiable loss function for time-series, ICML 2017.
    .. [2] Blondel, Mensch and Vert, Differentiable divergences between time series, AISTATS 2021.

    Examples
    --------
    >>> from skmoderndata.metrics import soft_dtw
    >>> value, slope = soft_dtw([1, 1, 2], [0, 2, 2], gamma=1.0, gradient=True)
    >>> round(value, 2), slope.round(2).tolist()
    (0.27, [1.46, -1.19, 0.01])
    """
    name = "soft_dtw"
    if not np.isfinite(gamma) or gamma <= 0:
        raise ValueError(f"{name}: gamma={gamma!r}; it must be above 0.")
    shape = np.shape(x)
    x, z, rule, _, _ = _prepare(name, x, z, "sqeuclidean")
    gamma = float(gamma)
    value, slope = _soft(x, z, gamma, rule, gradient)
    if debias:
        value_x, slope_x = _soft(x, x, gamma, rule, gradient)
        value_z, _ = _soft(z, z, gamma, rule, False)
        value -= (value_x + value_z) / 2
        slope = slope - slope_x  # the derivatives with respect to the two arguments are equal
    return (value, slope.reshape(shape)) if gradient else value


def functional_distance(x, z, p=2.0, *, period=1.0):
    r"""Compute the distance of two series as piecewise linear functions.

    With :math:`u = x - z` and :math:`u_0 = u_{n + 1} = 0`,

    .. math::
        \Big(\sum_k (A_k + B_k)^p\Big)^{1/p}, \qquad
        A_k = \frac{\tau}{2} \begin{cases} |u_k| & u_k u_{k-1} \ge 0 \\
        u_k^2 / (|u_k| + |u_{k-1}|) & \text{else} \end{cases}

    and :math:`B_k` is analogous with :math:`u_{k+1}` [1]_. Differences that change sign count less
    than differences of constant sign: in contrast to the Euclidean distance, the order of the
    values matters.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of equal lengths; the powers are summed over channels.
    p : float, default=2.0
        Exponent of at least 1. With 1 the distance is the area between the two polygons.
    period : float, default=1.0
        Positive time between two points.

    Returns
    -------
    distance : float
        Non-negative distance.

    References
    ----------
    .. [1] Lee and Verleysen, Generalization of the Lp norm for time series and its application to
       self-organizing maps, WSOM 2005.

    Examples
    --------
    >>> from skmoderndata.metrics import functional_distance
    >>> functional_distance([1, 1], [0, 0], p=1), functional_distance([1, -1], [0, 0], p=1)
    (2.0, 1.5)
    """
    name = "functional_distance"
    if not np.isfinite(p) or p < 1:
        raise ValueError(f"{name}: p={p!r}; it must be at least 1.")
    if not np.isfinite(period) or period <= 0:
        raise ValueError(f"{name}: period={period!r}; it must be above 0.")
    x, z, _, _, _ = _prepare(name, x, z, "sqeuclidean")
    if len(x) != len(z):
        raise ValueError(
            f"{name}: the series have {len(x)} and {len(z)} points, but need equal lengths."
        )

    # add up trapezia, or two triangles if the sign of the difference changes
    u = np.pad(x - z, ((1, 1), (0, 0)))
    inner = u[1:-1]
    size = np.abs(inner)
    total = np.zeros_like(inner)
    for neighbour in (u[:-2], u[2:]):
        # use signs and ratios, because products could underflow
        crossing = np.sign(inner) * np.sign(neighbour) < 0
        sum_of_sizes = np.where(crossing, size + np.abs(neighbour), 1.0)
        triangle = size * (size / sum_of_sizes)
        total += np.where(crossing, triangle, size) * (period / 2)

    scale = total.max()
    if not scale > 0:
        return 0.0
    relative = (total / scale) ** p
    return float(scale * relative.sum() ** (1 / p))


def _prepare(name, x, z, local, *, band=None, radius=None, max_slope=2.0, slanted=True):
    """Return two series as arrays, the band, and the local costs or whether they are rooted."""
    x = pack_one(x, f"{name}, x")
    z = pack_one(z, f"{name}, z")
    equal_channels(x, z, name)
    rule = warping_band(name, band, radius, max_slope, slanted)
    if callable(local):
        return x, z, rule, _costs(local, x, z), False
    rooted = rooted_local(name, local)
    return x, z, rule, None, rooted


def _refuse_band(name, limits):
    """Raise ValueError for a band, which open ends exclude."""
    if limits["band"] is not None or limits["radius"] is not None:
        raise ValueError(
            f"{name}: a band limits the distance of positions from the diagonal, which is unknown "
            "with open ends: set band=None and radius=None, or open_begin=False, open_end=False."
        )


def _window(name, x, z, limits, rooted, costs, *, open_begin, open_end):
    """Find the window of z with which x is aligned."""
    _refuse_band(name, limits)
    return best_window(
        x, z, rooted=rooted, costs=costs, open_begin=open_begin, open_end=open_end
    )


def _costs(local, x, z):
    """Compute local costs with a user function, and check them."""
    expected = (len(x), len(z))
    costs = np.array(local(x, z), dtype=np.float64, order="C")
    if costs.shape != expected or np.isnan(costs).any():
        raise ValueError(
            f"dtw: local must return costs of shape {expected}, none NaN, but returned "
            f"shape {costs.shape}."
        )
    return costs


def _distance(cost, local, root):
    squared = isinstance(local, str) and local == "sqeuclidean" and root
    if squared:
        cost = math.sqrt(cost)
    return float(cost)


def _by_costs(A, B, local, rule, cutoff, windows):
    """Compute the costs of all pairs, one at a time, with local costs from a user function."""
    totals = np.empty((len(A), len(B)))
    for i in range(len(A)):
        x = A.one(i)
        for j in range(len(B)):
            z = B.one(j)
            costs = _costs(local, x, z)
            if windows is not None:
                totals[i, j] = best_window(x, z, rooted=False, costs=costs, **windows).cost
                continue
            _, totals[i, j] = aligned(x, z, band=rule, rooted=False, costs=costs)
    return np.where(totals <= cutoff, totals, np.inf)


def _soft(x, z, gamma, rule, gradient):
    """Return the value of soft dynamic time warping, and its gradient if requested, else None."""
    slope = np.zeros_like(x) if gradient else np.empty((0, x.shape[1]))
    offsets = np.array([0, len(z)])
    weight = np.ones(1)
    (value,) = soft_costs(x, z, offsets, weight, gamma, rule, slope)
    return float(value), slope
