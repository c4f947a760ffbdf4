"""Chaotic series with a known dimension."""

import numpy as np
from scipy.integrate import solve_ivp
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    StrOptions,
    validate_params,
)
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING

# Number of steps after which the orbit is assumed to be on the attractor.
N_TRANSIENT = 500


@validate_params(
    {
        "system": [StrOptions({"lorenz", "henon", "ikeda"})],
        "n_samples": [AT_LEAST_ONE],
        "step": [POSITIVE],
        "noise": [NON_NEGATIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_chaotic_series(
    system="lorenz", n_samples=5000, *, step=0.02, noise=0.0, random_state=None
):
    r"""Generate an orbit of a chaotic system, whose first column is the usual scalar series.

    - "lorenz", of dimension 2.07 [1]_: :math:`\dot x = 16 (y - x)`,
      :math:`\dot y = x (45.92 - z) - y`, :math:`\dot z = x y - 4 z`
    - "henon", of dimension 1.26 [2]_: :math:`x' = 1 - 1.4 x^2 + y`, :math:`y' = 0.3 x`
    - "ikeda", of dimension 1.7 [3]_: :math:`z' = 1 + 0.9 z \exp(0.4 i - 6 i / (1 + |z|^2))`, the
      real and the imaginary part of z

    Parameters
    ----------
    system : {"lorenz", "henon", "ikeda"}, default="lorenz"
        The system, a flow or one of two maps.
    n_samples : int, default=5000
        Number of rows.
    step : float, default=0.02
        Time between the rows of a flow.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise added to each column, as a fraction of the
        standard deviation of the column.
    random_state : int, RandomState instance or None, default=None
        Controls the start of the orbit and the noise. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, 3) or (n_samples, 2)
        States in the order of time, from 500 steps after the start.

    See Also
    --------
    make_logistic_map : A chaotic map with a slow driving force.
    skmoderndata.metrics.false_nearest_neighbors : Number of delayed values that describe a state.

    References
    ----------
    .. [1] Lorenz, Deterministic nonperiodic flow, Journal of the Atmospheric Sciences 20, 1963;
       the parameters of Kennel, Brown and Abarbanel, Physical Review A 45(6), 1992.
    .. [2] Henon, A two-dimensional mapping with a strange attractor, Communications in
       Mathematical Physics 50, 1976.
    .. [3] Ikeda, Multiple-valued stationary state and its instability of the transmitted light by
       a ring cavity system, Optics Communications 30(2), 1979.

    Examples
    --------
    >>> from skmoderndata.datasets import make_chaotic_series
    >>> make_chaotic_series("henon", 1000, random_state=0).shape
    (1000, 2)
    """
    # Integrate the differential equation of a flow, or iterate a map
    rng = check_random_state(random_state)
    n_steps = n_samples + N_TRANSIENT
    if system == "lorenz":
        times = step * np.arange(n_steps)
        begin = np.array([1.0, 1.0, 30.0]) + rng.uniform(-1, 1, size=3)
        solution = solve_ivp(
            _lorenz,
            (0, times[-1]),
            begin,
            method="DOP853",
            t_eval=times,
            rtol=RESULT_ROUNDING,
            atol=RESULT_ROUNDING,
        )
        X = solution.y.T
    else:
        X = _orbit({"henon": _henon, "ikeda": _ikeda}[system], n_steps, rng)

    # Drop the transient
    X = X[N_TRANSIENT:].copy()
    if noise > 0:
        X += noise * X.std(axis=0) * rng.normal(size=X.shape)
    return X


def _lorenz(_, state):
    x, y, z = state
    return [16 * (y - x), x * (45.92 - z) - y, x * y - 4 * z]


def _henon(x, y):
    return 1 - 1.4 * x * x + y, 0.3 * x


def _ikeda(x, y):
    angle = 0.4 - 6 / (1 + x * x + y * y)
    cos = np.cos(angle)
    sin = np.sin(angle)
    return 1 + 0.9 * (x * cos - y * sin), 0.9 * (x * sin + y * cos)


def _orbit(step, n_steps, rng):
    """Iterate a map from a point near the origin."""
    X = np.empty((n_steps, 2))
    x, y = rng.uniform(-0.1, 0.1, size=2)
    for t in range(n_steps):
        x, y = step(x, y)
        X[t] = x, y
    return X
