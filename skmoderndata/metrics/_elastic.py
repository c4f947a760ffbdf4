"""Elastic distances between series: edits, moves, time warp edits, weighted warping."""

from skmoderndata._samples.elastic import elastic_matrix


def erp_distance(x, z, *, gap_value=0.0, radius=None, slanted=True):
    r"""Compute the edit distance with real penalty of two series.

    Points are matched at the cost of their distance, or omitted at the cost of their distance
    from a gap value g [1]_,

    .. math::
        D(i, j) = \min\{D(i-1, j-1) + |x_i - z_j|,\ D(i-1, j) + |x_i - g|,\ D(i, j-1) + |z_j - g|\}

    with :math:`D(i, 0) = \sum_{k \le i} |x_k - g|`, and D(0, j) defined likewise;
    :math:`|\cdot|` is the Euclidean norm over channels.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    gap_value : float, default=0.0
        Value g that replaces a gap, in the unit of the series; 0, the mean, suits standardised
        series.
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        Infinite, with a warning, if the band admits no alignment.

    See Also
    --------
    pairwise_elastic : All pairs of a collection, much faster than a loop.
    dtw : Matches a point with several points, without a penalty.

    Notes
    -----
    Without a band, this is a metric of series from which points equal to g have been removed: the
    triangle inequality holds, and a series has distance 0 from itself with such points inserted.
    aeon 1.6 starts both borders of the table from their sums instead of their running sums, and
    therefore returns larger distances if points at a beginning are omitted.

    References
    ----------
    .. [1] Chen and Ng, On the marriage of Lp-norms and edit distance, VLDB 2004, section 4.

    Examples
    --------
    >>> from skmoderndata.metrics import erp_distance
    >>> erp_distance([1, 2, 3], [2, 3])  # leaves out the 1
    1.0
    """
    return _of_pair("erp_distance", "erp", x, z, radius, slanted, gap_value=gap_value)


def msm_distance(x, z, *, cost=1.0, radius=None, slanted=True):
    r"""Compute the move-split-merge distance of two series.

    It is the least cost of turning one series into the other by moves, splits and merges [1]_. A
    move costs the amount by which it changes a value. A split of a value into two equal values
    costs c, and so does a merge of two equal values:

    .. math::
        D(i, j) = \min\{D(i-1, j-1) + |x_i - z_j|,\ D(i-1, j) + C(x_i, x_{i-1}, z_j),\
        D(i, j-1) + C(z_j, z_{j-1}, x_i)\}

    with C(a, b, c') equal to c plus the distance of a from the interval between b and c'. Channels
    are treated one by one, and their distances are added.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    cost : float, default=1.0
        Non-negative cost c of a split or a merge, in the unit of the series.
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        Infinite, with a warning, if the band admits no alignment.

    See Also
    --------
    pairwise_elastic : All pairs of a collection, much faster than a loop.
    twe_distance : A metric that also weighs differences in time.

    Notes
    -----
    This is a metric if `cost` is above 0 and there is no band. In contrast to `erp_distance`, it
    does not change if you add the same number to both series. The paper chooses c among 0.01, 0.1
    and 1 on the training series.

    References
    ----------
    .. [1] Stefan, Athitsos and Das, The move-split-merge metric for time series, IEEE Transactions
       on Knowledge and Data Engineering 25(6), 2013, Figure 9.

    Examples
    --------
    >>> from skmoderndata.metrics import msm_distance
    >>> msm_distance([1, 2, 3], [1, 2, 2, 3], cost=0.1)  # one split
    0.1
    """
    return _of_pair("msm_distance", "msm", x, z, radius, slanted, cost=cost)


def twe_distance(
    x, z, *, stiffness=0.001, gap_cost=1.0, squared=False, radius=None, slanted=True
):
    r"""Compute the time warp edit distance of two series.

    Points are matched together with their predecessors, or deleted at the cost of the step that
    leads to them; differences in time are weighted by a stiffness :math:`\nu` [1]_,

    .. math::
        D(i, j) = \min\{& D(i-1, j-1) + |x_i - z_j| + |x_{i-1} - z_{j-1}| + 2 \nu |i - j|,\\
        & D(i-1, j) + |x_i - x_{i-1}| + \nu + \lambda,\
        D(i, j-1) + |z_j - z_{j-1}| + \nu + \lambda\}

    with a point :math:`x_0 = z_0 = 0` at time 0 in front; :math:`|\cdot|` is the Euclidean norm
    over channels, and points are one unit of time apart.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    stiffness : float, default=0.001
        Non-negative cost :math:`\nu` of a difference of one step in time.
    gap_cost : float, default=1.0
        Non-negative cost :math:`\lambda` of a deletion, in the unit of the series, or in its
        square.
    squared : bool, default=False
        Whether :math:`|\cdot|` is squared, as in the program of the published comparisons of
        classifiers [2]_. Large differences then count for more, and the distance is not a metric.
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        Infinite, with a warning, if the band admits no alignment.

    See Also
    --------
    pairwise_elastic : All pairs of a collection, much faster than a loop.
    msm_distance : A metric that ignores differences in time.

    Notes
    -----
    This is a metric if `stiffness` is above 0, `squared` is False and there is no band. The paper
    chooses the stiffness among powers of ten from 1e-5 to 1 and the gap cost among 0, 0.25, 0.5,
    0.75 and 1 on the training series.

    References
    ----------
    .. [1] Marteau, Time warp edit distance with stiffness adjustment for time series matching,
       IEEE Transactions on Pattern Analysis and Machine Intelligence 31(2), 2009, equation 5.
    .. [2] Lines and Bagnall, Time series classification with ensembles of elastic distance
       measures, Data Mining and Knowledge Discovery 29, 2015.

    Examples
    --------
    >>> from skmoderndata.metrics import twe_distance
    >>> twe_distance([1, 2, 3], [1, 2, 2, 3], stiffness=0.5, gap_cost=0)  # a deletion, and shifts
    1.5
    """
    costs = {"stiffness": stiffness, "gap_cost": gap_cost, "squared": squared}
    return _of_pair("twe_distance", "twe", x, z, radius, slanted, **costs)


def weighted_dtw(x, z, *, steepness=0.05, radius=None, slanted=True):
    r"""Compute the weighted dynamic time warping distance of two series.

    In this distance, a pair of positions counts more the farther the positions are apart [1]_. It
    is the square root of D(n, m),

    .. math::
        D(i, j) = \frac{|x_i - z_j|^2}{1 + \exp\{-g (|i - j| - m_c)\}}
        + \min\{D(i-1, j-1), D(i-1, j), D(i, j-1)\}

    with :math:`m_c` half the length of the longer series.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    steepness : float, default=0.05
        Non-negative slope g of the weights per step; 0 gives all pairs the weight one half.
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        Infinite, with a warning, if the band admits no alignment.

    See Also
    --------
    pairwise_elastic : All pairs of a collection, much faster than a loop.
    dtw : Equal weights, and a band with a sharp edge.

    Notes
    -----
    This is not a metric. The paper squares the weights together with the differences; here, as in
    the comparisons of the archive and in aeon, squares are weighted. aeon returns D(n, m) without
    the root.

    References
    ----------
    .. [1] Jeong, Jeong and Omitaomu, Weighted dynamic time warping for time series classification,
       Pattern Recognition 44(9), 2011, equations 3 to 5.

    Examples
    --------
    >>> from skmoderndata.metrics import weighted_dtw
    >>> from skmoderndata.metrics import dtw
    >>> x, z = [0, 0, 1, 2, 1], [0, 1, 2, 1, 1]
    >>> dtw(x, z), weighted_dtw(x, z)
    (0.0, 0.0)
    >>> x, z = [0, 3, 1, 2], [1, 1, 2, 0]
    >>> round(dtw(x, z) / 2**0.5, 4), round(weighted_dtw(x, z, steepness=0), 4)
    (2.0, 2.0)
    """
    return _of_pair("weighted_dtw", "weighted_dtw", x, z, radius, slanted, steepness=steepness)


def lcss_distance(x, z, *, epsilon=1.0, radius=None, slanted=True):
    r"""Compute the distance of two series by their longest common subsequence.

    It is one minus the length of the longest common subsequence over the length of the shorter
    series [1]_. Two points match if no channel differs by more than :math:`\epsilon`; other points
    may be omitted anywhere, so that outliers cost no more than a missing match.

    Parameters
    ----------
    x, z : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    epsilon : float, default=1.0
        Largest non-negative difference of two values that match, in the unit of the series. The
        default is for series of unit variance; for others a fraction of their standard deviation
        is usual.
    radius : int or float, default=None
        Largest difference of matching positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.

    Returns
    -------
    distance : float
        From 0, if the longer series contains the shorter one, to 1.

    See Also
    --------
    pairwise_elastic : All pairs of a collection, much faster than a loop.
    edit_distance : For sequences of symbols.

    Notes
    -----
    This is not a metric. The radius, which restricts matches, is the parameter delta of the paper.
    The paper demands differences below epsilon; here they are at most epsilon. aeon differs with a
    band of radius 0, in which a point without a match discards the earlier matches, and with
    several channels, whose Euclidean distance it compares with epsilon.

    References
    ----------
    .. [1] Vlachos, Kollios and Gunopulos, Discovering similar multidimensional trajectories, ICDE
       2002, definitions 1 and 2.

    Examples
    --------
    >>> from skmoderndata.metrics import lcss_distance
    >>> lcss_distance([0, 1, 50, 2, 3], [0, 1, 2, 3], epsilon=0.1)  # without the outlier
    0.0
    """
    return _of_pair("lcss_distance", "lcss", x, z, radius, slanted, epsilon=epsilon)


def pairwise_elastic(
    X, Z=None, metric="msm", *, radius=None, slanted=True, n_jobs=None, **metric_params
):
    """Compute an elastic distance of all pairs of series.

    Parameters
    ----------
    X : collection of arrays of shape (length,) or (length, n_channels)
        Series of any lengths; the rows of a 2-D array are series of equal lengths, and a 3-D array
        has the shape (n_series, length, n_channels).
    Z : collection of arrays, default=None
        Other series; None compares `X` with itself.
    metric : {"dtw", "weighted_dtw", "erp", "msm", "twe", "lcss"}, default="msm"
        The distance: `dtw`, `weighted_dtw`, `erp_distance`, `msm_distance`, `twe_distance` or
        `lcss_distance`.
    radius : int or float, default=None
        Largest difference of aligned positions, in steps; a float below 1 is a fraction of the
        longer series. None means no restriction.
    slanted : bool, default=True
        Whether the band follows the diagonal if the series have unequal lengths, as in
        :func:`dtw`.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.
    **metric_params : dict
        Parameters of the distance, such as ``cost`` of "msm".

    Returns
    -------
    distances : ndarray of shape (n_X, n_Z)
        Infinite, with a warning, for pairs for which the band admits no alignment.

    See Also
    --------
    pairwise_dtw : Dynamic time warping with other local costs and bands.
    skmoderndata.neighbors.DTWNeighborsClassifier : Nearest series; accepts the same metrics.
    skmoderndata.cluster.KMedoids : Clusters; accepts the same metrics.

    Notes
    -----
    Each series is compared with sixty-four others at a time. With a band, or with "weighted_dtw",
    only series of equal lengths are compared together, which takes longer if each length has few
    series.

    Examples
    --------
    >>> from skmoderndata.metrics import pairwise_elastic
    >>> pairwise_elastic([[0, 1, 2], [0, 2], [1, 1, 1]], metric="msm", cost=0.5)
    array([[0. , 1.5, 2. ],
           [1.5, 0. , 2.5],
           [2. , 2.5, 0. ]])
    """
    name = "pairwise_elastic"
    settings = {"radius": radius, "slanted": slanted, "n_jobs": n_jobs, "name": name}
    return elastic_matrix(X, Z, metric=metric, **settings, **metric_params)


def _of_pair(name, metric, x, z, radius, slanted, **parameters):
    settings = {"radius": radius, "slanted": slanted, "name": name}
    D = elastic_matrix([x], [z], metric=metric, **settings, **parameters)
    return float(D[0, 0])
