"""Elastic distances of collections of series, for metrics and estimators."""

import warnings
from numbers import Real
from typing import Any

import numpy as np

from skmoderndata._samples.series import (
    Series,
    pack_series,
    same_channels,
    warn_no_alignment,
    warping_band,
)
from skmoderndata._solvers.alignment.elastic import Elastic, elastic_costs
from skmoderndata._solvers.alignment.warping import alignment_costs
from skmoderndata._solvers.common.typing import Array
from skmoderndata.exceptions import DoubtfulResultWarning

# Parameters of each distance, except the band.
PARAMETERS = {
    "dtw": (),
    "weighted_dtw": ("steepness",),
    "erp": ("gap_value",),
    "msm": ("cost",),
    "twe": ("stiffness", "gap_cost", "squared"),
    "lcss": ("epsilon",),
}
SWITCHES = ("squared",)


def elastic_matrix(
    X: Any,
    Z: Any = None,
    *,
    metric: str,
    radius: Any = None,
    slanted: bool = True,
    n_jobs: int | None = None,
    name: str = "pairwise_elastic",
    **parameters: Any,
) -> Array:
    """Return an elastic distance of all pairs of series.

    Parameters
    ----------
    X, Z : collections of series
        None compares `X` with itself.
    metric : str
        A key of `PARAMETERS`.
    radius, slanted
        The band, as in `metrics.dtw`.
    n_jobs : int, default=None
        Number of threads.
    name : str
        Name of the caller, for error messages.
    **parameters : float or bool
        Parameters of the distance.

    Returns
    -------
    distances : ndarray of shape (n_X, n_Z)
        Infinite, with a warning, for pairs for which the band admits no alignment.
    """
    check_parameters(metric, parameters, name)
    band = warping_band(name, radius=radius, slanted=slanted)
    A = pack_series(X, name)
    B = None if Z is None or Z is X else pack_series(Z, name)
    if B is not None:
        same_channels(A, B, name)
    D = packed_distances(A, B, metric, parameters, band, n_jobs)
    warn_no_alignment(name, D)
    if B is None:
        warn_matches(name, metric, parameters, A)
    return D


def warn_matches(name: str, metric: str, parameters: dict[str, Any], series: Series) -> None:
    """Warn if "lcss" calls all points of a collection of series equal.

    A small `epsilon` is not a mistake: values may be rounded, or be numbers of symbols.
    """
    values = series.values
    if metric != "lcss" or len(series.lengths) < 2 or not values.size:
        return
    epsilon = float(parameters.get("epsilon", Elastic(metric).epsilon))
    largest = float(np.ptp(values, axis=0).max())
    if 0 < largest <= epsilon:
        remedy = 0.2 * float(values.std(axis=0).max())
        warnings.warn(
            f'{name}: with metric="lcss" all points match and all distances are 0, because no '
            f"values differ by more than {largest:.2g} and epsilon={epsilon:g}. Set epsilon in "
            f"the unit of the series; a fifth of their standard deviation is {remedy:.2g}.",
            DoubtfulResultWarning,
            stacklevel=4,
        )


def packed_distances(
    A: Series,
    B: Series | None,
    metric: str,
    parameters: dict[str, Any],
    band: Any,
    n_jobs: int | None = None,
) -> Array:
    """Return the distances of packed series; the parameters must be checked before."""
    others = None if B is None else B.arrays
    if metric == "dtw":
        costs = alignment_costs(A.arrays, others, band=band, rooted=False, n_jobs=n_jobs)
        return np.sqrt(costs)

    # all distances except "dtw" use one recursion with different costs
    known: dict[str, Any] = {
        key: bool(value) if key in SWITCHES else float(value)
        for key, value in parameters.items()
    }
    elastic = Elastic(metric, **known)
    costs = elastic_costs(A.arrays, others, elastic=elastic, band=band, n_jobs=n_jobs)
    return np.sqrt(costs) if metric == "weighted_dtw" else costs


def check_parameters(metric: Any, parameters: dict[str, Any], name: str) -> None:
    """Raise ValueError for unknown distances, and for unknown or invalid parameters."""
    if not isinstance(metric, str) or metric not in PARAMETERS:
        names = ", ".join(f'"{key}"' for key in PARAMETERS)
        raise ValueError(f"{name}: metric={metric!r}; it must be one of {names}.")

    # check names, then ranges
    valid = PARAMETERS[metric]
    for key, value in parameters.items():
        if key not in valid:
            listed = f"the parameters {', '.join(valid)}" if valid else "no parameters"
            raise ValueError(
                f'{name}: metric="{metric}" has no parameter {key}; besides the band it accepts '
                f"{listed}."
            )
        is_switch = isinstance(value, bool | np.bool_)
        if key in SWITCHES:
            if not is_switch:
                raise ValueError(f"{name}: {key}={value!r}; it must be True or False.")
            continue
        is_number = isinstance(value, Real) and not is_switch
        if not is_number or not np.isfinite(value) or (value < 0 and key != "gap_value"):
            limit = "" if key == "gap_value" else " of at least 0"
            raise ValueError(f"{name}: {key}={value!r}; it must be a finite number{limit}.")
