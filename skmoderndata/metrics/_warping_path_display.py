"""Plot of the alignment of two series."""

import numpy as np

from skmoderndata._estimator.plotting import axes_or_new
from skmoderndata._samples.series import (
    pack_series,
    rooted_local,
    same_channels,
    warn_no_alignment,
    warping_band,
)
from skmoderndata._solvers.alignment.paths import aligned


class WarpingPathDisplay:
    """Plot of the alignment of two series in the matrix of their local costs.

    Parameters
    ----------
    costs : ndarray of shape (n, m)
        Local costs.

    path : ndarray of int of shape (n_steps, 2)
        Aligned positions.

    distance : float, default=None
        Distance shown in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.

    figure_ : matplotlib Figure
        Figure of the plot.

    image_ : matplotlib AxesImage
        The local costs.

    line_ : matplotlib Line2D
        The path.

    See Also
    --------
    dtw_path : Computes the alignment.

    Examples
    --------
    >>> from skmoderndata.metrics import WarpingPathDisplay
    >>> display = WarpingPathDisplay.from_series([1, 2, 3], [1, 2, 2, 3])  # doctest: +SKIP
    >>> WarpingPathDisplay(costs=[[0.0]], path=[[0, 0]]).path
    [[0, 0]]
    """

    def __init__(self, *, costs, path, distance=None):
        self.costs = costs
        self.path = path
        self.distance = distance

    @classmethod
    def from_series(
        cls,
        x,
        z,
        *,
        local="sqeuclidean",
        band=None,
        radius=None,
        max_slope=2.0,
        slanted=True,
        ax=None,
        **kwargs,
    ):
        """Align two series and plot the alignment.

        Parameters
        ----------
        x, z : array-like of shape (length,) or (length, n_channels)
            Series; x is on the vertical axis, z on the horizontal axis.
        local : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
            Cost of aligning two points.
        band, radius, max_slope, slanted
            As in :func:`dtw`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the path.

        Returns
        -------
        display : WarpingPathDisplay
            With `ax_` and `figure_`.
        """
        name = cls.__name__
        a = pack_series([x], f"{name}, x")
        b = pack_series([z], f"{name}, z")
        same_channels(a, b, name)
        rooted = rooted_local(name, local)
        rule = warping_band(name, band, radius, max_slope, slanted)
        path, cost = aligned(a.values, b.values, band=rule, rooted=rooted)
        warn_no_alignment(name, np.array(cost))

        differences = a.values[:, None] - b.values[None]
        costs = (differences**2).sum(axis=2)
        if rooted:
            costs = np.sqrt(costs)
        distance = float(cost if rooted else np.sqrt(cost))
        display = cls(costs=costs, path=path, distance=distance)
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Plot the local costs and the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot` for the path.

        Returns
        -------
        self : WarpingPathDisplay
            With `ax_` and `figure_`.
        """
        ax = axes_or_new(self, ax)

        # draw the first series upwards and the second one to the right
        path = np.asarray(self.path).reshape(-1, 2)
        self.image_ = ax.imshow(np.asarray(self.costs), origin="lower", cmap="Greys")
        label = "alignment" if self.distance is None else f"distance {self.distance:.3g}"
        style = {"color": "tab:red", "linewidth": 2, "label": label} | kwargs
        (self.line_,) = ax.plot(path[:, 1], path[:, 0], **style)

        ax.set(xlabel="Time in the second series", ylabel="Time in the first series")
        ax.legend(loc="upper left")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
