"""Time series with a known slow cause, for slow feature analysis."""

from numbers import Integral

import numpy as np
from scipy import ndimage, special
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
    validate_params,
)


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "noise": [NON_NEGATIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_slow_signal(n_samples=5000, *, noise=0.0, random_state=None):
    r"""Generate two fast signals that hide a slow one.

    This is the example of Wiskott and Sejnowski [1]_: for t in :math:`[0, 2\pi)`

    .. math:: x_1 = \sin t + \cos^2 11 t, \qquad x_2 = \cos 11 t,

    so that :math:`\sin t = x_1 - x_2^2` is a quadratic function of the input.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.

    noise : float, default=0.0
        Standard deviation of Gaussian noise added to both signals.

    random_state : int, RandomState instance or None, default=None
        Controls the noise. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The input, rows in the order of time.

    slow : ndarray of shape (n_samples,)
        The slow signal, :math:`\sin t`.

    References
    ----------
    .. [1] L. Wiskott and T. J. Sejnowski, "Slow feature analysis: unsupervised learning of
       invariances", Neural Computation 14(4), 2002, pp. 715-770.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_slow_signal
    >>> X, slow = make_slow_signal(1000)
    >>> X.shape
    (1000, 2)
    >>> round(float(np.abs(X[:, 0] - X[:, 1] ** 2 - slow).max()), 6)   # slow is x1 - x2^2
    0.0
    """
    t = 2 * np.pi * np.arange(n_samples) / n_samples
    slow = np.sin(t)
    fast = np.cos(11 * t)
    X = np.column_stack([slow + fast**2, fast])
    if noise > 0:
        rng = check_random_state(random_state)
        X += noise * rng.normal(size=X.shape)
    return X, slow


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "periods": ["array-like"],
        "n_discard": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_logistic_map(
    n_samples=6000, *, periods=(5, 11, 13), n_discard=100, random_state=None
):
    r"""Generate a chaotic series with a slowly varying parameter.

    .. math:: x_{t+1} = r_t x_t (1 - x_t), \qquad r_t = 3.6 + 0.13 \gamma_t,

    where the driving force :math:`\gamma` is a sum of sines, scaled to [-1, 1] [1]_. Neither the
    moving mean nor the moving variance of the series alone follows it well.

    Parameters
    ----------
    n_samples : int, default=6000
        Number of rows.

    periods : array-like of float, default=(5, 11, 13)
        Number of periods of each sine in the series.

    n_discard : int, default=100
        Number of steps with the first parameter before the series begins.

    random_state : int, RandomState instance or None, default=None
        Controls the first value of the series. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        The series, rows in the order of time.

    force : ndarray of shape (n_samples,)
        The driving force :math:`\gamma`; `force[t]` acts in the step from row t to t + 1.

    References
    ----------
    .. [1] L. Wiskott, "Estimating driving forces of nonstationary time series with slow feature
       analysis", arXiv:cond-mat/0312317, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_logistic_map
    >>> X, force = make_logistic_map(1000, random_state=0)
    >>> r = 3.6 + 0.13 * force[:-1]
    >>> round(float(np.abs(X[1:, 0] - r * X[:-1, 0] * (1 - X[:-1, 0])).max()), 6)   # logistic map
    0.0
    """
    periods = np.asarray(periods, dtype=np.float64)
    if periods.ndim != 1 or len(periods) == 0:
        raise ValueError(f"periods must be a sequence of numbers, got {periods!r}.")

    # Sum the sines of the driving force, and scale it to [-1, 1]
    t = np.arange(n_samples) / n_samples
    phases = 2 * np.pi * np.outer(periods, t)
    force = np.sin(phases).sum(axis=0)
    span = np.ptp(force)
    if span > 0:
        force = 2 * (force - force.min()) / span - 1
    r = 3.6 + 0.13 * force

    # Iterate the map x -> r x (1 - x), after a transient
    x = check_random_state(random_state).uniform(0.2, 0.8)
    for _ in range(n_discard):
        x = r[0] * x * (1 - x)

    series = np.empty(n_samples)
    for i, r_now in enumerate(r):
        series[i] = x
        x = r_now * x * (1 - x)
    return series[:, None], force


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_sources": [AT_LEAST_ONE],
        "mixing": [StrOptions({"linear", "spiral"})],
        "time_scale": [POSITIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_mixed_sources(
    n_samples=20_000, *, n_sources=2, mixing="spiral", time_scale=50.0, random_state=None
):
    r"""Generate mixtures of independent sources with different time scales.

    Each source is Gaussian noise, smoothed over its own time scale and transformed to a uniform
    distribution on [-1, 1]. The time scales fall from `time_scale` by factors of 2.5. The spiral
    mixture [1]_ of two sources is

    .. math::

        x_1 = (s_2 + 3 s_1 + 6) \cos(1.5 \pi s_1), \qquad
        x_2 = (s_2 + 3 s_1 + 6) \sin(1.5 \pi s_1).

    Parameters
    ----------
    n_samples : int, default=20000
        Number of rows.

    n_sources : int, default=2
        Number of sources; two for the spiral.

    mixing : {"spiral", "linear"}, default="spiral"
        Kind of mixture; "linear" multiplies by a random matrix.

    time_scale : float, default=50.0
        Standard deviation, in rows, of the Gaussian window that smooths the slowest source.

    random_state : int, RandomState instance or None, default=None
        Controls the sources and the linear mixture. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, n_sources)
        The mixtures, rows in the order of time.

    sources : ndarray of shape (n_samples, n_sources)
        The sources, slowest first.

    References
    ----------
    .. [1] S. Harmeling, A. Ziehe, M. Kawanabe and K.-R. Mueller, "Kernel-based nonlinear blind
       source separation", Neural Computation 15(5), 2003, pp. 1089-1124.

    Examples
    --------
    >>> from skmoderndata.datasets import make_mixed_sources
    >>> X, sources = make_mixed_sources(1000, random_state=0)
    >>> X.shape, sources.shape
    ((1000, 2), (1000, 2))
    """
    if mixing == "spiral" and n_sources != 2:
        raise ValueError(f"mixing='spiral' needs n_sources=2, got {n_sources}.")

    rng = check_random_state(random_state)
    sources = np.empty((n_samples, n_sources))
    for j in range(n_sources):
        # Smooth the noise, over a shorter time for each further source, and make it uniform in
        # [-1, 1]
        noise = rng.normal(size=n_samples)
        smooth = ndimage.gaussian_filter1d(noise, time_scale / 2.5**j, mode="wrap")
        sd = smooth.std()
        sd = sd if sd > 0 else 1.0
        smooth = (smooth - smooth.mean()) / sd
        sources[:, j] = special.erf(smooth / np.sqrt(2))

    if mixing == "linear":
        matrix = rng.normal(size=(n_sources, n_sources))
        return sources @ matrix, sources
    radius = sources[:, 1] + 3 * sources[:, 0] + 6
    angle = 1.5 * np.pi * sources[:, 0]
    x = radius * np.cos(angle)
    y = radius * np.sin(angle)
    return np.column_stack([x, y]), sources
