"""Plot of a table, its low rank and its gross errors."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import name_ticks, names_of, several_axes_or_new
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR

# Fraction of the entries below the colour range of the table; the same fraction lies above it.
COLOURS_AT = 0.02
# Number of rows that the outlier map labels, starting with the farthest.
NAMED_ROWS = 10
# Maximum number of names along an axis of a table.
N_TICKS = 10
# Size, as a multiple of the median error, at which the colours of the errors end.
LARGEST_COLOUR = 5.0


class RobustPCADisplay:
    """Plot of a table beside its low rank and its gross errors.

    Parameters
    ----------
    table : array-like of shape (n_samples, n_features)
        Table; missing entries are NaN.

    low_rank : array-like of shape (n_samples, n_features)
        Its low-rank matrix.

    errors : array-like of shape (n_samples, n_features)
        Gross errors, zero in the other entries.

    noise_scale : array-like of shape (n_features,), default=None
        Standard deviation of the noise of each column; if given, the errors are drawn in units of
        the noise.

    row_distances : array-like of shape (n_samples, 2), default=None
        Distances of the rows along the components and off them, each over its cutoff; with them a
        fourth panel is the outlier map.

    row_names, column_names : array-like of str, default=None
        Names; None numbers the rows or columns.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (3,) or (4,)
        Panels: the table, the low rank, the errors, and with `row_distances` the outlier map.

    figure_ : matplotlib Figure
        Figure of the plot.

    images_ : list of matplotlib AxesImage
        The three images.

    See Also
    --------
    RobustPCA : Estimates the low rank and the errors.

    Examples
    --------
    >>> from skmoderndata.datasets import make_low_rank_plus_sparse
    >>> from skmoderndata.decomposition import RobustPCA, RobustPCADisplay
    >>> X, *_ = make_low_rank_plus_sparse(30, 20, rank=2, noise=0.1, random_state=0)
    >>> rpca = RobustPCA().fit(X)
    >>> display = RobustPCADisplay.from_estimator(rpca, X)  # doctest: +SKIP
    >>> display = RobustPCADisplay(table=X, low_rank=rpca.low_rank_, errors=rpca.sparse_)
    >>> display.errors.shape
    (30, 20)
    """

    def __init__(
        self,
        *,
        table,
        low_rank,
        errors,
        noise_scale=None,
        row_distances=None,
        row_names=None,
        column_names=None,
    ):
        self.table = table
        self.low_rank = low_rank
        self.errors = errors
        self.noise_scale = noise_scale
        self.row_distances = row_distances
        self.row_names = row_names
        self.column_names = column_names

    @classmethod
    def from_estimator(cls, estimator, X, *, axes=None, **kwargs):
        """Decompose a table and plot it beside its parts.

        Parameters
        ----------
        estimator : RobustPCA
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Table, of the training rows or of new ones; ``estimator.decompose`` decomposes it. The
            plot shows the names of a DataFrame.
        axes : array-like of three or four matplotlib Axes, default=None
            Where to draw; the outlier map is the fourth panel, and left out on three axes. None
            makes a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow` for the first three panels.

        Returns
        -------
        display : RobustPCADisplay
            With `axes_` and `figure_`.
        """
        check_is_fitted(estimator)
        low_rank, errors = estimator.decompose(X)
        has_map = hasattr(estimator, "row_distances_")
        noise = estimator.noise_scale_
        display = cls(
            table=np.asarray(X, dtype=np.float64),
            low_rank=low_rank,
            errors=errors,
            noise_scale=noise if (noise > 0).all() else None,
            row_distances=estimator.row_distances(X) if has_map else None,
            row_names=names_of(X, "index"),
            column_names=names_of(X, "columns"),
        )
        return display.plot(axes, **kwargs)

    def plot(self, axes=None, **kwargs):
        """Plot the table, the low rank and the errors.

        Parameters
        ----------
        axes : array-like of three or four matplotlib Axes, default=None
            Where to draw; the outlier map is the fourth panel, and left out on three axes. None
            makes a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow` for the first three panels.

        Returns
        -------
        self : RobustPCADisplay
            With `axes_` and `figure_`.
        """
        table, low_rank, errors = (
            np.asarray(matrix, dtype=np.float64)
            for matrix in (self.table, self.low_rank, self.errors)
        )
        n_panels = 3 if self.row_distances is None else 4
        figure = {"figsize": (4 * n_panels, 4), "sharey": n_panels == 3}
        axes = several_axes_or_new(self, axes, 1, n_panels, layout="constrained", **figure)
        if len(axes) not in (3, n_panels):
            choice = "three axes" if n_panels == 3 else "three or four axes"
            raise ValueError(f"RobustPCADisplay draws on {choice}, got {len(axes)}.")

        # draw table and low-rank part in the same colours, whose range must not depend on a few
        # errors
        observed = table[~np.isnan(table)]
        span = (0, 1)
        if observed.size:
            span = np.quantile(observed, (COLOURS_AT, 1 - COLOURS_AT))
        low, high = span
        style = {"aspect": "auto", "interpolation": "nearest"} | kwargs
        shared = {"vmin": low, "vmax": high} | style
        title = "Gross errors"
        if self.noise_scale is not None:
            errors = errors / np.asarray(self.noise_scale)
            title = "Gross errors, in units of the noise"
        sizes = np.abs(errors[np.nan_to_num(errors) != 0])
        largest = SMALLEST_DIVISOR
        if sizes.size:  # limit the colours, so that one huge error does not hide the others
            largest = float(min(sizes.max(), LARGEST_COLOUR * np.median(sizes)))
        signed = {"vmin": -largest, "vmax": largest, "cmap": "RdBu_r"} | style

        panels = (
            (table, "Table", shared),
            (low_rank, "Low rank", shared),
            (errors, title, signed),
        )
        self.images_ = []
        for ax, (values, name, panel_style) in zip(axes[:3], panels, strict=True):
            image = ax.imshow(values, **panel_style)
            ax.set(title=name, xlabel="Column")
            name_ticks(
                ax.xaxis,
                self.column_names,
                values.shape[1],
                up_to=N_TICKS,
                rotation="vertical",
            )
            ax.figure.colorbar(image, ax=ax)
            self.images_.append(image)
        axes[0].set(ylabel="Row")
        name_ticks(axes[0].yaxis, self.row_names, len(table), up_to=N_TICKS)
        if len(axes) == 4:
            self._draw_map(axes[3])

        self.axes_ = axes
        self.figure_ = axes[0].figure
        return self

    def _draw_map(self, ax):
        """Draw the distances of the rows, with the names of the farthest."""
        along, off = np.asarray(self.row_distances, dtype=np.float64).T
        farthest = np.maximum(along, off)
        ax.scatter(along, off, s=10, c=np.where(farthest > 1, "C3", "C0"))
        ax.axvline(1.0, color="grey", linewidth=1)
        ax.axhline(1.0, color="grey", linewidth=1)
        ax.set(title="Outlier map", xlabel="Distance along the components")
        ax.set(ylabel="Distance off the components")
        for i in np.argsort(-farthest, kind="stable")[:NAMED_ROWS]:
            if farthest[i] > 1:
                name = i if self.row_names is None else self.row_names[i]
                ax.annotate(str(name), (along[i], off[i]), fontsize="small")
