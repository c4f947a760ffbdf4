"""Plot of slow features as signals in time."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import FRAME, LINE, axes_or_new, check_limit, last_step
from skmoderndata.decomposition._slow_base import check_ids, follows_before

# Maximum number of rows at which a curve still shows every turn.
MAX_ROWS = 2000
# Distance between one signal and the next, in standard deviations.
SIGNAL_STEP = 6.0


class SlowSignalsDisplay:
    """Plot of slow features as signals in time, the slowest on top.

    The label of each signal shows its slowness on the plotted data: its mean squared step at
    unit variance, near 0 for a slow signal and 2 for white noise. The slowness in the fit is
    shown below: if it is much smaller, the model has been fitted to noise.

    Parameters
    ----------
    signals : array-like of shape (n_samples, n_signals)
        Slow features, in columns; NaN leaves a gap.

    delta_values : array-like of shape (n_signals,), default=None
        Slowness of the signals in the fit.

    sequence_ids : array-like of shape (n_samples,), default=None
        Label of the sequence of each row; None means a single sequence.

    times : array-like of shape (n_samples,), default=None
        Time of each row, a number. Steps are then divided by their duration and weighted by it,
        as in `SlowFeatureAnalysis`. None numbers the rows.

    lag : int, default=1
        Number of rows between the two ends of a step.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.

    figure_ : matplotlib Figure
        Figure of the plot.

    lines_ : list of matplotlib Line2D
        Signals, the slowest first.

    slowness_ : ndarray of shape (n_drawn,)
        Slowness of the signals on all rows; NaN for signals without steps.

    See Also
    --------
    SlowFeatureAnalysis, IncrementalSlowFeatureAnalysis, HierarchicalSlowFeatureAnalysis : Learn
        slow features.

    Examples
    --------
    >>> from skmoderndata.datasets import make_slow_signal
    >>> from skmoderndata.decomposition import SlowFeatureAnalysis, SlowSignalsDisplay
    >>> X, _ = make_slow_signal(500)
    >>> sfa = SlowFeatureAnalysis(n_components=3, degree=2).fit(X)
    >>> display = SlowSignalsDisplay.from_estimator(sfa, X)  # doctest: +SKIP
    >>> display = SlowSignalsDisplay(signals=sfa.transform(X), delta_values=sfa.delta_values_)
    >>> display.signals.shape
    (500, 3)
    """

    def __init__(self, *, signals, delta_values=None, sequence_ids=None, times=None, lag=1):
        self.signals = signals
        self.delta_values = delta_values
        self.sequence_ids = sequence_ids
        self.times = times
        self.lag = lag

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        sequence_ids=None,
        times=None,
        max_signals=5,
        max_rows=MAX_ROWS,
        ax=None,
        **kwargs,
    ):
        """Transform rows and plot the slowest features.

        Parameters
        ----------
        estimator : slow feature analysis
            Fitted `SlowFeatureAnalysis`, `IncrementalSlowFeatureAnalysis` or
            `HierarchicalSlowFeatureAnalysis`, or a pipeline that ends with one.
        X : array-like of shape (n_samples, n_features)
            Rows in temporal order, training rows or new rows.
        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row; None means a single sequence.
        times : array-like of shape (n_samples,), default=None
            Time of each row, needed if times were passed to `fit`; None numbers the rows.
        max_signals : int, default=5
            Maximum number of signals that are drawn.
        max_rows : int, default=2000
            Maximum number of rows that are drawn, from the first. Slowness is computed from all
            rows.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : SlowSignalsDisplay
            Display with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        step = last_step(estimator)
        if not hasattr(step, "delta_values_"):
            raise ValueError(
                "SlowSignalsDisplay draws the outputs of a slow feature analysis, but "
                f"{type(step).__name__} is a different method: pass its outputs as "
                "SlowSignalsDisplay(signals=...)."
            )

        # slowness is measured with the lag used in the fit
        display = cls(
            signals=estimator.transform(X),
            delta_values=step.delta_values_,
            sequence_ids=sequence_ids,
            times=times,
            lag=getattr(step, "lag", 1),
        )
        return display.plot(ax, max_signals=max_signals, max_rows=max_rows, **kwargs)

    def plot(self, ax=None, *, max_signals=5, max_rows=MAX_ROWS, **kwargs):
        """Plot the signals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_signals : int, default=5
            Maximum number of signals that are drawn.
        max_rows : int, default=2000
            Maximum number of rows that are drawn, from the first. Slowness is computed from all
            rows.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        self : SlowSignalsDisplay
            Display with `ax_` and `figure_`.
        """
        check_limit("max_signals", max_signals)
        check_limit("max_rows", max_rows)
        signals, ids, times = self._checked()
        n = len(signals)
        signals = signals[:, :max_signals]
        self.slowness_ = slowness(
            signals, None if self.times is None else times, ids, self.lag
        )

        # leave a gap between sequences
        drawn = signals[:max_rows]
        ends = np.flatnonzero(~follows_before(ids, n)[1 : len(drawn)]) + 1
        x = np.insert(times[:max_rows], ends, times[ends])
        curves = np.insert(_standardized(drawn, signals), ends, np.nan, axis=0)

        # the height of the axes grows with the number of signals
        k = curves.shape[1]
        ax = axes_or_new(self, ax, figsize=(8, FRAME + 3 * LINE * k), layout="constrained")
        levels = -SIGNAL_STEP * np.arange(k)
        style = {"linewidth": 1.0} | kwargs
        self.lines_ = [
            ax.plot(x, curve + level, **({"color": f"C{j % 10}"} | style))[0]
            for j, (curve, level) in enumerate(zip(curves.T, levels, strict=True))
        ]
        for end in ends:
            ax.axvline(times[end], color="0.6", linewidth=1, linestyle=":", zorder=0)

        # set names and axes
        self._name_signals(ax, levels)
        label = "Row" if self.times is None else "Time"
        if len(drawn) < n:
            label = f"{label} (the first {len(drawn)} of {n} rows)"
        ax.set_xlabel(label)
        ax.margins(x=0)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _checked(self):
        """Check that signals, sequence ids and times have equal length; return them."""
        signals = np.asarray(self.signals, dtype=np.float64)
        if signals.ndim != 2 or signals.size == 0:
            raise ValueError(
                f"SlowSignalsDisplay: signals has shape {signals.shape}; pass a non-empty table "
                "with one signal in each column."
            )
        n = len(signals)
        times = (
            np.arange(n) if self.times is None else np.asarray(self.times, dtype=np.float64)
        )
        if times.shape != (n,):
            raise ValueError(
                f"SlowSignalsDisplay: times has shape {times.shape}, but there are {n} rows: "
                "pass one time for each row."
            )
        return signals, check_ids(self.sequence_ids, signals), times

    def _name_signals(self, ax, levels):
        """Label each signal with its number and slowness."""
        labels = [f"{j}:  $\\Delta$ = {value:.2g}" for j, value in enumerate(self.slowness_)]
        if self.delta_values is not None:
            fitted = np.asarray(self.delta_values)[: len(labels)]
            labels = [
                f"{label}\nin the fit {value:.2g}"
                for label, value in zip(labels, fitted, strict=True)
            ]
        ax.set_yticks(levels, labels, fontsize="small")
        ax.set_ylim(levels[-1] - SIGNAL_STEP / 2, SIGNAL_STEP / 2)
        ax.set_ylabel("Slow feature")


def slowness(signals, times, ids=None, lag=1):
    """Return the mean squared step of each signal within its sequences, over its variance.

    Parameters
    ----------
    signals : ndarray of shape (n_samples, n_signals)
        Signals; steps from or to NaN are omitted.
    times : ndarray of shape (n_samples,) or None
        Times; steps are divided by their duration and weighted by it. None means duration 1.
    ids : ndarray of shape (n_samples,), default=None
        Labels of the sequences.
    lag : int, default=1
        Number of rows between the two ends of a step.

    Returns
    -------
    slowness : ndarray of shape (n_signals,)
        Slowness; NaN for signals without steps or variance.
    """
    number = np.cumsum(~follows_before(ids, len(signals)))
    inside = number[lag:] == number[:-lag]
    steps = (signals[lag:] - signals[:-lag])[inside]
    durations = np.ones(len(steps)) if times is None else (times[lag:] - times[:-lag])[inside]

    values = np.full(signals.shape[1], np.nan)
    for j, (step, signal) in enumerate(zip(steps.T, signals.T, strict=True)):
        valid = ~np.isnan(step)
        spread = np.nanvar(signal) if valid.any() else 0.0
        if spread > 0:
            rates = step[valid] ** 2 / durations[valid]
            values[j] = rates.sum() / durations[valid].sum() / spread
    return values


def _standardized(drawn, signals):
    """Standardise the drawn rows by the mean and standard deviation of all rows."""
    drawn = drawn.copy()
    for j, signal in enumerate(signals.T):
        known = signal[~np.isnan(signal)]
        if known.size:
            drawn[:, j] = (drawn[:, j] - known.mean()) / (known.std() or 1.0)
    return drawn
