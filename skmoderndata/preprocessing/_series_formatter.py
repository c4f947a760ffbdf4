"""Conversion of series from the formats of other libraries."""

import numpy as np
from sklearn.base import TransformerMixin

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import StrOptions, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._samples.containers import as_samples
from skmoderndata._samples.series import is_frame, n_levels, pack_series


class SeriesFormatter(TransformerMixin, Base):
    """Convert series to a list of arrays without padding, the input of all methods on series.

    Other libraries pad series of unequal lengths with NaN, put channels before time, or keep
    series in data frames. This transformer removes the padding, transposes the axes and reads the
    frames, at the start of a pipeline.

    Parameters
    ----------
    layout : {"channels_last", "channels_first"}, default="channels_last"
        Order of the axes of one series: ``(length, n_channels)`` or ``(n_channels, length)``.
    trim_nan : bool, default=True
        Whether to remove times at the end of a series at which every channel is NaN.

    See Also
    --------
    TimeDelayEmbedding : Makes windows of one long series.
    sklearn.preprocessing.FunctionTransformer : Makes any other conversion.

    Notes
    -----
    `fit` learns nothing. NaN inside a series raises ValueError, which names its position. A data
    frame has one series in each row: either in columns of numbers, one column per time, or in
    nested columns, one column per channel, whose cells are series. Or its index has two levels,
    series and time, and each column is a channel, as in sktime; series are returned in the order
    of their first rows.

    References
    ----------
    .. [1] Tavenard et al., Tslearn, a machine learning toolkit for time series data, Journal of
       Machine Learning Research 21(118), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import SeriesFormatter
    >>> padded = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    >>> [x.tolist() for x in SeriesFormatter().fit_transform(padded)]
    [[[1.0], [2.0]], [[3.0], [4.0], [5.0]]]
    >>> first = np.zeros((5, 3, 100))  # three channels
    >>> SeriesFormatter(layout="channels_first").fit_transform(first)[0].shape
    (100, 3)
    """

    _card = MethodCard(
        family="time series",
        cite=("tavenard2020tslearn",),
        cost="n p",
        samples="series",
        method="dynamic_time_warping",
    )
    _parameter_constraints = {
        "layout": [StrOptions({"channels_last", "channels_first"})],
        "trim_nan": ["boolean"],
    }

    @parameters_are_named
    def __init__(self, layout="channels_last", *, trim_nan=True):
        self.layout = layout
        self.trim_nan = trim_nan

    @fit_context()
    def fit(self, X, y=None):
        """Check the samples; nothing is learned.

        Parameters
        ----------
        X : collection of arrays, or data frame
            Series to check.
        y : ignored
            Not used.

        Returns
        -------
        self : SeriesFormatter
            The transformer.
        """
        self.transform(X)
        return self

    @by_rows
    def transform(self, X):
        """Return the series without padding, time first.

        Parameters
        ----------
        X : collection of arrays, or data frame
            Series to convert.

        Returns
        -------
        series : list of ndarray of shape (length, n_channels)
            Series in double precision, without padding and with time first.
        """
        name = type(self).__name__
        channels_first = self.layout == "channels_first" and not is_frame(X)
        samples = series_of_frame(X, name) if is_frame(X) else as_samples(X, name)

        out = []

        for i, x in enumerate(samples):
            points = np.asarray(x)
            if points.dtype.kind not in "biufO" or points.ndim not in (1, 2):
                raise ValueError(
                    f"{name}: series {i} has shape {points.shape} and type {points.dtype}; it "
                    "must be an array of real numbers with one or two dimensions."
                )

            points = points.astype(np.float64)
            if points.ndim == 1:
                points = points[:, None]
            elif channels_first:
                points = points.T
            # Rows of NaN at the end are padding; rows of NaN in between are gaps.
            if self.trim_nan:
                observed = np.flatnonzero(~np.isnan(points).all(axis=1))
                length = observed[-1] + 1 if len(observed) else 0
                points = points[:length]

            out.append(points)

        packed = pack_series(out, name)
        return [packed.one(i).copy() for i in range(len(packed))]

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.requires_fit = False
        return tags


def series_of_frame(X, name):
    """Read the series of a data frame: long, with two levels of the index, nested, or wide."""
    if n_levels(X) > 1:
        return _series_of_levels(X, name)
    columns = [list(X[column]) for column in X.columns]
    nested = [column for column in columns if column and np.ndim(column[0])]
    if not nested:
        return list(np.asarray(X))
    if len(nested) < len(columns):
        raise ValueError(
            f"{name} received a data frame in which some columns hold series and others numbers; "
            "select the columns with series."
        )

    # Join the channels of each row, one in each cell, to a series.
    series = []
    for i, cells in enumerate(zip(*columns, strict=True)):
        channels = [np.asarray(cell) for cell in cells]
        shapes = [channel.shape for channel in channels]
        if len(set(shapes)) > 1 or channels[0].ndim != 1:
            raise ValueError(
                f"{name}: the channels of series {i} have the shapes "
                f"{', '.join(map(str, shapes))}; they must be one-dimensional and of "
                "equal length."
            )
        series.append(np.column_stack(channels))
    return series


def _series_of_levels(X, name):
    """Read the series of a frame whose rows are times, sorted by time."""
    if n_levels(X) > 2:
        raise ValueError(
            f"{name} received a data frame with {n_levels(X)} levels of the index; use two "
            "levels, series and time."
        )
    numbers, names = X.index.get_level_values(0).factorize()
    times = X.index.get_level_values(1)
    values = np.asarray(X)
    series = []
    for i in range(len(names)):
        rows = np.flatnonzero(numbers == i)
        by_time = np.argsort(times[rows], kind="stable")
        series.append(values[rows[by_time]])
    return series
