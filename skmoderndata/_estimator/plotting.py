"""Helpers of the displays: import of matplotlib, axes, names, and a curve with a choice."""

from numbers import Integral
from typing import Any

import numpy as np

# Maximum number of names of rows or columns beside a panel.
NAMED_UP_TO = 40
# Fraction of the range of an axis that is left free at each end, as in matplotlib.
MARGIN = 0.05
# Size of a row or column with a name beside it, in inches.
LINE = 0.27
# Size of the area around a panel (such as its ticks and title), in inches.
FRAME = 1.2


def pyplot(display: Any) -> Any:
    """Return `matplotlib.pyplot`; without matplotlib, raise ImportError with the command."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} needs matplotlib: pip install 'skmoderndata[plot]'."
        ) from error
    return plt


def axes_or_new(display: Any, ax: Any, **settings: Any) -> Any:
    """Return `ax`, or the axes of a new figure if it is None.

    Parameters
    ----------
    display : display object
        Display, whose class the error names if matplotlib is missing.
    ax : matplotlib Axes or None
        Argument of the caller.
    **settings : dict
        Arguments of :func:`matplotlib.pyplot.subplots`.
    """
    plt = pyplot(display)
    return plt.subplots(**settings)[1] if ax is None else ax


def figure_size(n_lines: int) -> tuple[float, float]:
    """Return the default width and the height of a figure with some lines, in inches."""
    import matplotlib as mpl

    return mpl.rcParams["figure.figsize"][0], FRAME + LINE * n_lines


def several_axes_or_new(
    display: Any, axes: Any, n_rows: int, n_columns: int, **settings: Any
) -> Any:
    """Return `axes`, or the axes of a new figure if it is None, in a flat array."""
    plt = pyplot(display)
    if axes is None:
        _, axes = plt.subplots(n_rows, n_columns, squeeze=False, **settings)
    return np.asarray(axes, dtype=object).ravel()


def curve_with_choice(
    ax: Any,
    x: Any,
    scores: Any,
    standard_error: Any,
    chosen: Any,
    *,
    label: str,
    **kwargs: Any,
) -> Any:
    """Draw scores with their standard errors, and rings around the chosen scores.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    x, scores, standard_error : array-like of shape (n_values,)
        Positions, scores and their standard errors.
    chosen : array-like of bool of shape (n_values,)
        Whether a score is chosen.
    label : str
        Text of the legend for the rings.
    **kwargs : dict
        Arguments of :meth:`matplotlib.axes.Axes.errorbar`.

    Returns
    -------
    curve : matplotlib ErrorbarContainer
        Scores.
    ring : matplotlib Line2D
        Rings.
    """
    style = {"fmt": "o-", "capsize": 3, "markersize": 4} | kwargs
    curve = ax.errorbar(x, scores, yerr=standard_error, **style)

    rows = np.flatnonzero(chosen)
    color = curve.lines[0].get_color()
    shape = {"markersize": 10, "fillstyle": "none", "color": color}
    (ring,) = ax.plot(np.asarray(x)[rows], np.asarray(scores)[rows], "o", label=label, **shape)
    ax.legend(loc="best")
    return curve, ring


def names_of(X: Any, which: str) -> list[str] | None:
    """Return the names of the "index" or the "columns" of a DataFrame; None for arrays."""
    names = getattr(X, which, None)
    return None if names is None or callable(names) else [str(label) for label in names]


def name_ticks(
    axis: Any, names: Any, size: int, *, up_to: int = NAMED_UP_TO, **style: Any
) -> None:
    """Put names along the axis of an image; leave some out if there are too many."""
    if names is None:
        return
    step = -(-size // up_to)
    axis.set_ticks(range(0, size, step), list(names)[::step], fontsize="small", **style)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, and any other estimator unchanged."""
    steps = getattr(estimator, "steps", None)
    return estimator if steps is None else steps[-1][1]


def check_limit(name: str, value: Any, *, least: int = 1) -> None:
    """Raise ValueError unless the number of things to draw is an integer of at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} should be an integer of at least {least}.")


def count_of(drawn: int, total: int, thing: str, things: str | None = None) -> str:
    """Return how many things are drawn, and their total number if it is larger."""
    name = thing if total == 1 else things or f"{thing}s"
    return f"{total} {name}" if drawn == total else f"{drawn} of {total} {name}"


def evenly(n: int, limit: int) -> Any:
    """Return at most `limit` integers below n, evenly spaced."""
    return np.arange(min(n, limit)) * n // min(n, limit)
