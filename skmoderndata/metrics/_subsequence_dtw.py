"""Windows of a long series that warp to a short one."""

from numbers import Real
from typing import NamedTuple

import numpy as np

from skmoderndata._samples.series import equal_channels, is_integer, pack_one, rooted_local
from skmoderndata._solvers.alignment.open_ends import best_windows


class SubsequenceMatches(NamedTuple):
    """Result of `subsequence_dtw`, best match first.

    Match i consists of the points ``starts[i]:stops[i]`` of the series, and has the distance
    ``distances[i]`` from the query.
    """

    starts: np.ndarray
    stops: np.ndarray
    distances: np.ndarray


def subsequence_dtw(
    query, series, *, n_matches=1, max_distance=None, local="sqeuclidean", root=True
):
    r"""Find the windows of a long series that are closest to a query by dynamic time warping.

    The first match is the window with the smallest warping distance among all windows of all
    lengths [1]_,

    .. math::
        \min_{a \le b}\ \mathrm{dtw}(q,\ (z_a, \dots, z_b)) .

    Each further match is the best window that does not overlap the earlier ones.

    Parameters
    ----------
    query, series : array-like of shape (length,) or (length, n_channels)
        Series of any lengths with the same channels.
    n_matches : int or None, default=1
        Largest number of matches; None returns all matches within `max_distance`.
    max_distance : float, default=None
        Largest distance of a match, in the unit of `distances`; None means no limit.
    local : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        Cost of aligning two points, as in :func:`dtw`.
    root : bool, default=True
        Whether distances are square roots of sums of costs, for `local="sqeuclidean"`.

    Returns
    -------
    matches : SubsequenceMatches
        Named tuple `(starts, stops, distances)` of arrays of shape (n_found,). Distances ascend.
        In a tie the window that ends first is preferred, and of these the shortest one.

    See Also
    --------
    dtw_path : With ``open_begin=True, open_end=True``, the alignment of the best window.
    alignment : Local alignment of sequences and series, in which both may be cut.

    Notes
    -----
    Time is proportional to the product of the lengths for one match; each further match searches
    the part of the series around the previous one again. Memory is proportional to the sum of the
    lengths. Windows are compared as they are: they are not normalised one by one, so subtract a
    trend of the series before.

    References
    ----------
    .. [1] Müller, Information retrieval for music and motion, Springer, 2007, section 4.4.

    Examples
    --------
    >>> from skmoderndata.metrics import subsequence_dtw
    >>> series = [0, 0, 1, 2, 2, 1, 0, 0, 1, 3, 1, 0]
    >>> matches = subsequence_dtw([0, 1, 2, 1, 0], series, n_matches=2)
    >>> matches.starts, matches.stops, matches.distances
    (array([1, 7]), array([ 7, 12]), array([0., 1.]))
    """
    name = "subsequence_dtw"
    query = pack_one(query, f"{name}, query")
    series = pack_one(series, f"{name}, series")
    equal_channels(query, series, name)
    rooted = rooted_local(name, local)
    squared = root and not rooted

    # check the limits
    if n_matches is None and max_distance is None:
        raise ValueError(f"{name}: n_matches=None needs a max_distance.")
    if n_matches is not None and (not is_integer(n_matches) or n_matches < 1):
        raise ValueError(f"{name}: n_matches={n_matches!r}; it must be an integer above 0.")
    largest = np.inf
    if max_distance is not None:
        if not isinstance(max_distance, Real) or not max_distance >= 0:
            raise ValueError(f"{name}: max_distance={max_distance!r}; it must be at least 0.")
        largest = float(max_distance)

    # search with costs instead of distances
    windows = best_windows(
        query,
        series,
        rooted=rooted,
        n_windows=len(series) if n_matches is None else int(n_matches),
        largest=largest**2 if squared else largest,
    )
    distances = np.array([window.cost for window in windows])
    starts = np.array([window.start for window in windows], dtype=np.int64)
    stops = np.array([window.stop for window in windows], dtype=np.int64)
    return SubsequenceMatches(starts, stops, np.sqrt(distances) if squared else distances)
