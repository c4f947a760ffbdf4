"""What the displays share: matplotlib on first use, axes, names, a curve with a choice."""

from numbers import Integral
from typing import Any

import numpy as np

NAMED_UP_TO = 40  # rows or columns whose names fit beside a panel


def pyplot(display: Any) -> Any:
    """Return `matplotlib.pyplot`, or say that the display needs it and how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} needs matplotlib: pip install 'skmoderndata[plot]'."
        ) from error
    return plt


def axes_or_new(display: Any, ax: Any, **settings: Any) -> Any:
    """Return the axes that were given, or those of a new figure.

    Parameters
    ----------
    display : display object
        Named where matplotlib is missing.
    ax : matplotlib Axes or None
        What the caller was given.
    **settings : dict
        Passed on to :func:`matplotlib.pyplot.subplots`.
    """
    plt = pyplot(display)
    return plt.subplots(**settings)[1] if ax is None else ax


def several_axes_or_new(
    display: Any, axes: Any, n_rows: int, n_columns: int, **settings: Any
) -> Any:
    """Return the axes that were given, or those of a new figure, in one flat array."""
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
    """Draw scores with their standard errors, and a ring around those that were chosen.

    Parameters
    ----------
    ax : matplotlib Axes
    x, scores, standard_error : array-like of shape (n_values,)
    chosen : array-like of bool of shape (n_values,)
    label : str
        What the legend says of the ring.
    **kwargs : dict
        Passed on to :meth:`matplotlib.axes.Axes.errorbar`.

    Returns
    -------
    curve : matplotlib ErrorbarContainer
    ring : matplotlib Line2D
    """
    style = {"fmt": "o-", "capsize": 3, "markersize": 4} | kwargs
    curve = ax.errorbar(x, scores, yerr=standard_error, **style)

    rows = np.flatnonzero(chosen)
    color = curve.lines[0].get_color()
    shape = {"markersize": 12, "fillstyle": "none", "color": color}
    (ring,) = ax.plot(np.asarray(x)[rows], np.asarray(scores)[rows], "o", label=label, **shape)
    ax.legend(loc="best")
    return curve, ring


def names_of(X: Any, which: str) -> list[str] | None:
    """Names of the "index" or the "columns" of a DataFrame, None for arrays."""
    names = getattr(X, which, None)
    return None if names is None or callable(names) else [str(label) for label in names]


def name_ticks(axis: Any, names: Any, size: int, **style: Any) -> None:
    """Put names along the axis of an image, as many as there is room for."""
    if names is None:
        return
    step = -(-size // NAMED_UP_TO)
    axis.set_ticks(range(0, size, step), list(names)[::step], fontsize="small", **style)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, and every other estimator as it is."""
    steps = getattr(estimator, "steps", None)
    return estimator if steps is None else steps[-1][1]


def check_limit(name: str, value: Any, *, least: int = 1) -> None:
    """Refuse a number of what is drawn that is no integer, or too small."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} should be an integer of at least {least}.")


def count_of(drawn: int, total: int, thing: str, things: str | None = None) -> str:
    """Say how many things are drawn, and of how many where these are more."""
    name = thing if total == 1 else things or f"{thing}s"
    return f"{total} {name}" if drawn == total else f"{drawn} of {total} {name}"


def evenly(n: int, limit: int) -> Any:
    """Numbers below n at even distances, all of them up to the limit."""
    return np.arange(min(n, limit)) * n // min(n, limit)
