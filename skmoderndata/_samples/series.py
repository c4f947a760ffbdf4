"""Series of any lengths as one array of values, and the parameters of their alignment."""

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from skmoderndata._estimator.compat import unmasked
from skmoderndata._estimator.validation import LARGEST, SMALLEST, check_magnitude
from skmoderndata._samples.containers import as_samples
from skmoderndata._solvers.alignment.corridors import FREE, ITAKURA, SAKOE_CHIBA, SLANTED, Band
from skmoderndata._solvers.alignment.warping import all_within
from skmoderndata._solvers.common.typing import Array


@dataclass(frozen=True, eq=False)
class Series:
    """A collection of series with equal numbers of channels.

    Series i is ``values[offsets[i]:offsets[i + 1]]``. Indexing with an array returns a subset of
    the collection.

    Attributes
    ----------
    values : ndarray of shape (n_values, n_channels)
        All series, concatenated.
    offsets : ndarray of int64, of shape (n_series + 1,)
        Start of each series.
    """

    values: Array
    offsets: Array

    @property
    def lengths(self) -> Array:
        """Length of each series."""
        return np.diff(self.offsets)

    @property
    def arrays(self) -> tuple[Array, Array]:
        """Arrays in the form that the solvers accept."""
        return self.values, self.offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def one(self, i: int) -> Array:
        """Return series i, of shape (length, n_channels)."""
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def __getitem__(self, indices: Array) -> "Series":
        lengths = self.lengths[indices]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        first = self.offsets[:-1][indices]
        shifts = np.repeat(first - offsets[:-1], lengths)
        rows = shifts + np.arange(offsets[-1])
        return Series(self.values[rows], offsets)


def pack_series(X: Any, name: str = "The kernel") -> Series:
    """Pack series from any container into one `Series`.

    Parameters
    ----------
    X : collection of arrays of shape (length,) or (length, n_channels)
        Samples. The rows of a 2-D array, or of a data frame of numbers, are series of equal
        lengths; a 3-D array has shape (n_series, length, n_channels).
    name : str
        Name of the caller, for error messages.

    Returns
    -------
    series : Series
        Values in double precision.
    """
    if isinstance(X, Series):
        return X
    X = unmasked(X, owner=name)
    if is_frame(X):
        X = rows_of_frame(X, name)

    # accept series of equal lengths in one array, or series of any lengths
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim in (2, 3) and X.size:
        n, length = X.shape[:2]
        values = np.array(X, dtype=np.float64, order="C").reshape(n * length, -1)
        series = Series(values, np.arange(n + 1, dtype=np.int64) * length)
    else:
        samples = [_points(x, i, name) for i, x in enumerate(as_samples(X, name))]
        if not samples:
            raise ValueError(
                f"{name}: found an empty collection; at least 1 series is required."
            )

        channels = np.array([x.shape[1] for x in samples])
        if np.ptp(channels):
            i = int(np.argmax(channels != channels[0]))
            raise ValueError(
                f"{name}: all series need the same channels; series 0 has {channels[0]}, but "
                f"series {i} has {channels[i]}."
            )

        lengths = [len(x) for x in samples]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        series = Series(np.concatenate(samples), offsets)

    _check_finite(series, name)
    check_magnitude(series.values, owner=name)
    return series


def pack_one(x: Any, name: str) -> Array:
    """Return one series as an array of shape (length, n_channels), after all checks."""
    # check an ordinary array in one pass; the checks that produce messages take 50 times as long
    if type(x) is np.ndarray and x.dtype == np.float64 and x.ndim in (1, 2) and x.size:
        points = np.ascontiguousarray(x)
        if all_within(points.reshape(-1), SMALLEST, LARGEST):
            return points.reshape(len(points), -1)
    return pack_series([x], name).values


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def rows_of_frame(X: Any, name: str) -> Array:
    """Return a data frame of numbers as an array; raise ValueError for any other frame."""
    try:
        if n_levels(X) > 1:
            raise ValueError("its index has several levels")
        return np.asarray(
            check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} accepts a data frame of numbers with one series in each row, but received "
            f"another form ({error}): convert it with preprocessing.SeriesFormatter, or select "
            "one column."
        ) from None


def n_levels(X: Any) -> int:
    """Count the levels of the index of a data frame."""
    return int(getattr(getattr(X, "index", None), "nlevels", 1))


def _points(x: Any, position: int, name: str) -> Array:
    """Return one sample as an array of shape (length, n_channels)."""
    where = f"{name}: series {position}"
    try:
        points = np.asarray(x)
    except ValueError:
        points = np.array("rows of unequal lengths")

    if points.dtype.kind == "O":  # objects may still be numbers
        with contextlib.suppress(TypeError, ValueError):
            points = points.astype(np.float64)

    if points.dtype.kind not in "biuf":
        raise ValueError(
            f"{where} is not an array of real numbers: pass one number for each time, or rows of "
            "equal length."
        )

    # accept one series, with one channel or several
    if points.ndim == 0:
        raise ValueError(
            f"{where} is a single number: pass a collection of series, [x] for one series x."
        )
    if points.ndim > 2:
        raise ValueError(
            f"{where} has shape {points.shape}: a series has the shape (length,) or "
            "(length, n_channels)."
        )
    if not points.size:
        raise ValueError(f"{where} is empty: drop it.")

    points = np.array(points, dtype=np.float64, order="C")
    return points[:, None] if points.ndim == 1 else points


def _check_finite(series: Series, name: str) -> None:
    finite = np.isfinite(series.values).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        i = int(np.searchsorted(series.offsets, row, side="right")) - 1
        time = row - series.offsets[i]
        raise ValueError(
            f"{name}: series {i} has NaN or infinity at time {time}: omit the "
            "point or interpolate; preprocessing.SeriesFormatter(trim_nan=True) removes the "
            "padding of other libraries."
        )


def same_channels(X: Series, Z: Series, name: str) -> None:
    """Raise ValueError if two collections have different numbers of channels."""
    equal_channels(X.values, Z.values, name)


def equal_channels(x: Array, z: Array, name: str) -> None:
    """Raise ValueError if points have different numbers of channels."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"{name}: all series need the same channels; the series of one collection have "
            f"{x.shape[1]}, but the series of the other have {z.shape[1]}."
        )


def warping_band(
    name: str, band: Any = None, radius: Any = None, max_slope: Any = 2.0, slanted: bool = True
) -> Band:
    """Check the parameters that restrict alignments, and return them as one band.

    Parameters
    ----------
    name : str
        Name of the caller, for error messages.
    band : {None, "sakoe_chiba", "itakura"}
        None means no restriction, or "sakoe_chiba" if `radius` is set.
    radius : int, float or None
        Number of steps; a float below 1 is a fraction of the longer series.
    max_slope : float
        Largest slope for "itakura", above 1.
    slanted : bool
        Whether a band follows the diagonal of series of unequal lengths.
    """
    if band not in (None, "sakoe_chiba", "itakura"):
        raise ValueError(
            f'{name}: band={band!r}; it must be None, "sakoe_chiba" or "itakura".'
        )

    # Itakura's parallelogram is defined by a slope
    if band == "itakura":
        if radius is not None:
            raise ValueError(
                f'{name}: band="itakura" has no radius: omit radius={radius!r}, or use '
                'band="sakoe_chiba".'
            )
        if not _is_number(max_slope) or not 1 < max_slope < np.inf:
            raise ValueError(f"{name}: max_slope={max_slope!r}; it must be above 1.")
        return Band(ITAKURA, 0.0, False, float(max_slope))

    # without a band, every alignment is allowed
    if radius is None:
        if band == "sakoe_chiba":
            raise ValueError(f'{name}: band="sakoe_chiba" needs a radius.')
        return Band(FREE)

    # the band of Sakoe and Chiba is given in steps, or as a fraction of the length
    in_steps = is_integer(radius)
    if not _is_number(radius) or radius < 0 or not (in_steps or radius < 1):
        raise ValueError(
            f"{name}: radius={radius!r}; it must be a number of steps of at least 0 as an "
            "int, or a fraction of the longer series below 1 as a float."
        )
    return Band(SLANTED if slanted else SAKOE_CHIBA, float(radius), not in_steps, 2.0)


def is_integer(value: Any) -> bool:
    """Return whether a value is an int of Python or NumPy, but not a Boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool | np.bool_) and bool(np.isfinite(value))


def rooted_local(name: str, local: Any) -> bool:
    """Check the name of the local cost; return whether it is a distance rather than its square."""
    if not isinstance(local, str) or local not in ("sqeuclidean", "euclidean"):
        raise ValueError(f'{name}: local={local!r}; it must be "sqeuclidean" or "euclidean".')
    return local == "euclidean"


def warn_no_alignment(name: str, costs: Array) -> None:
    """Warn once if a matrix has infinite entries."""
    missing = int(np.count_nonzero(np.isinf(costs)))
    if missing:
        warnings.warn(
            f"{name}: the band admits no alignment for {missing} of {costs.size} pairs, whose "
            "distance is infinite: their lengths differ by more than the radius, or by more than "
            "the slope allows. With slanted=True the band follows the diagonal; a larger radius "
            "or max_slope widens it.",
            stacklevel=3,
        )
