"""Number of delayed values that describe the state of a system."""

from numbers import Real

import numpy as np

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    validate_params,
)
from skmoderndata._estimator.validation import check_array, sequence_starts
from skmoderndata._solvers.series import embedding_dimension as dimension

COMMON = {"X": ["array-like"], "lag": [AT_LEAST_ONE], "max_dim": [AT_LEAST_ONE]}


@validate_params(
    {**COMMON, "ratio_tol": [POSITIVE], "size_tol": [POSITIVE], "false_tol": [NON_NEGATIVE]},
    prefer_skip_nested_validation=True,
)
def false_nearest_neighbors(
    X,
    *,
    lag=1,
    max_dim=10,
    ratio_tol=15.0,
    size_tol=2.0,
    false_tol=0.01,
    sequence_ids=None,
):
    r"""Estimate the embedding dimension of a time series by false nearest neighbours.

    In too few dimensions, windows :math:`[x(t), x(t + \tau), \ldots, x(t + (d - 1) \tau)]` of
    different states lie near each other by projection, and the next value separates them. With r
    the distance of a window from its nearest window, and s the distance of their next values, a
    neighbour is false if

    .. math::
        s > 15\, r \qquad \text{or} \qquad \sqrt{r^2 + s^2} > 2\, R,

    where R is the standard deviation of the series [1]_. The dimension is the smallest d without
    false neighbours.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
        Series, rows in the order of time. Features are brought to the same scale, and constant
        features are omitted; windows with NaN do not count.
    lag : int, default=1
        Number of rows :math:`\tau` between neighbouring values of a window.
    max_dim : int, default=10
        Largest d; lowered until there are ten windows with a next value.
    ratio_tol : float, default=15.0
        Growth of the distance by one more value above which a neighbour is false; the paper finds
        no difference between 10 and 30.
    size_tol : float, default=2.0
        Distance with one more value, in standard deviations of the series, above which a neighbour
        is false. It detects noise, in which the nearest neighbour need not be near.
    false_tol : float, default=0.01
        Fraction of false neighbours up to which d suffices.
    sequence_ids : array-like of shape (n_samples,), default=None
        Sequence of each row; windows do not cross from one to the next.

    Returns
    -------
    dimension : int or None
        The smallest d with a fraction of false neighbours of at most `false_tol`; None if no d up
        to `max_dim` has one, as for noise.
    fractions : ndarray of shape (max_dim,)
        Fraction of false neighbours for d = 1, 2, ...

    See Also
    --------
    cao_dimension : Uses no thresholds for single neighbours.
    intrinsic_dimension : Estimates the dimension of samples without an order.
    skmoderndata.preprocessing.TimeDelayEmbedding : Windows, with ``n_lags="fnn"``.

    Notes
    -----
    Nearest neighbours are found by k-d trees for each d. Noise of one percent leaves false
    neighbours in the true dimension, and the estimate is then one too high; choose `lag` first.

    References
    ----------
    .. [1] Kennel, Brown and Abarbanel, Determining embedding dimension for phase-space
       reconstruction using a geometrical construction, Physical Review A 45(6), 1992, equations 4
       and 5.

    Examples
    --------
    >>> from skmoderndata.datasets import make_chaotic_series
    >>> from skmoderndata.metrics import false_nearest_neighbors
    >>> x = make_chaotic_series("ikeda", 2000, random_state=0)[:, 0]
    >>> dimension, fractions = false_nearest_neighbors(x, max_dim=5)
    >>> dimension
    4
    """
    X, start, max_dim = _series("false_nearest_neighbors", X, lag, max_dim, 1, sequence_ids)
    fractions = dimension.false_neighbors(
        X, start, lag=lag, max_dim=max_dim, ratio_tol=ratio_tol, size_tol=size_tol
    )
    return dimension.first_without_false(fractions, false_tol), fractions


@validate_params(
    {**COMMON, "tol": [Interval(Real, 0, 1, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def cao_dimension(X, *, lag=1, max_dim=10, tol=0.1, sequence_ids=None):
    r"""Estimate the embedding dimension of a time series by the method of Cao.

    With :math:`r_t(d)` the distance, in the largest difference, of a window of d values from its
    nearest window, and :math:`r_t'(d)` the distance of the same two windows with one more value,

    .. math::
        E(d) = \operatorname{mean}_t \frac{r_t'(d)}{r_t(d)}, \qquad E_1(d) = \frac{E(d + 1)}{E(d)}

    rises to 1 when d is large enough to describe states [1]_. :math:`E_2` is the same ratio for
    the mean distance of the next values alone; it is 1 for every d if the next values do not
    depend on the past.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
        Series, rows in the order of time. Features are brought to the same scale, and constant
        features are omitted; windows with NaN do not count.
    lag : int, default=1
        Number of rows between neighbouring values of a window.
    max_dim : int, default=10
        Largest d; lowered until there are ten windows of max_dim + 1 values with a next value.
    tol : float, default=0.1
        The dimension is the first d with :math:`E_1` of at least ``1 - tol``.
    sequence_ids : array-like of shape (n_samples,), default=None
        Sequence of each row; windows do not cross from one to the next.

    Returns
    -------
    dimension : int or None
        The first d from which on distances cease to grow; None if there is none up to `max_dim`,
        or if E2 is within `tol` of 1 for every d, as for noise.
    e1, e2 : ndarray of shape (max_dim,)
        The two curves, for d = 1, 2, ...

    See Also
    --------
    false_nearest_neighbors : Counts neighbours that are false.
    skmoderndata.preprocessing.TimeDelayEmbedding : Windows, with ``n_lags="cao"``.

    Notes
    -----
    The method searches nearest neighbours by k-d trees for each d. It uses the nearest window at a
    distance above 0, so a series that repeats itself exactly, such as a periodic one of few
    values, looks as if one value described its state; `false_nearest_neighbors` does not.

    References
    ----------
    .. [1] Cao, Practical method for determining the minimum embedding dimension of a scalar time
       series, Physica D 110(1-2), 1997, equations 1 to 5.

    Examples
    --------
    >>> from skmoderndata.datasets import make_chaotic_series
    >>> from skmoderndata.metrics import cao_dimension
    >>> x = make_chaotic_series("henon", 1000, random_state=0)[:, 0]
    >>> dimension, e1, e2 = cao_dimension(x, max_dim=4)
    >>> dimension, e1.round(2)
    (2, array([0.  , 0.97, 0.97, 0.98]))
    """
    X, start, max_dim = _series("cao_dimension", X, lag, max_dim + 1, 2, sequence_ids)
    e1, e2 = dimension.distance_growth(X, start, lag=lag, max_dim=max_dim)
    if dimension.is_like_noise(e2, tol):
        return None, e1, e2
    return dimension.first_at_rest(e1, tol), e1, e2


def _series(name, X, lag, max_dim, least, sequence_ids):
    """Return features of equal scale, the starts of the sequences, and the largest dimension."""
    # convert to columns of equal scale
    X = check_array(X, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan")
    X = X[:, None] if X.ndim == 1 else X
    start = sequence_starts(sequence_ids, X)
    X = dimension.standardized(X)
    if not X.shape[1]:
        raise ValueError(
            f"{name}: the series is constant: any number of values describes its state."
        )

    # require enough windows
    max_dim = dimension.largest_dimension(X, start, lag, max_dim)
    if max_dim < least:
        raise ValueError(
            f"{name} needs {dimension.MIN_WINDOWS} windows of {least} values at lag={lag} that "
            "have a next one: pass a longer series, or lower lag."
        )
    return X, start, max_dim
