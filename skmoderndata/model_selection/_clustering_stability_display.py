"""Plot of the stability of clusterings."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import MARGIN, axes_or_new, curve_with_choice


class ClusteringStabilityDisplay:
    """Plot of the stability against the number of clusters.

    Parameters
    ----------
    param_range : array-like of shape (n_values,)
        Numbers of clusters.

    stability : array-like of shape (n_values,)
        Stability for each number of clusters.

    standard_error : array-like of shape (n_values,)
        Standard error of the stability.

    best_n_clusters : int
        Selected number of clusters.

    estimator_name : str, default=None
        Name of the clusterer, shown in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that show the curve.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    errorbar_ : matplotlib ErrorbarContainer
        Curve of the stability with its standard errors.

    best_line_ : matplotlib Line2D
        Mark at `best_n_clusters`.

    See Also
    --------
    ClusteringStability : Measures the stability.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from skmoderndata.model_selection import (
    ...     ClusteringStability,
    ...     ClusteringStabilityDisplay,
    ... )
    >>> X, _ = make_blobs(100, random_state=0)
    >>> search = ClusteringStability(param_range=(2, 3, 4), random_state=0).fit(X)
    >>> display = ClusteringStabilityDisplay.from_estimator(search)  # doctest: +SKIP
    >>> ClusteringStabilityDisplay(
    ...     param_range=search.param_range_,
    ...     stability=search.stability_,
    ...     standard_error=search.standard_error_,
    ...     best_n_clusters=search.best_n_clusters_,
    ... ).best_n_clusters
    3
    """

    def __init__(
        self, *, param_range, stability, standard_error, best_n_clusters, estimator_name=None
    ):
        self.param_range = param_range
        self.stability = stability
        self.standard_error = standard_error
        self.best_n_clusters = best_n_clusters
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, name=None, **kwargs):
        """Plot the curve of a fitted search.

        Parameters
        ----------
        estimator : ClusteringStability
            Fitted search.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        name : str, default=None
            Name in the legend; None uses the class of the clusterer.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        display : ClusteringStabilityDisplay
            Display with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        name = name or type(estimator.best_estimator_).__name__
        display = cls(
            param_range=estimator.param_range_,
            stability=estimator.stability_,
            standard_error=estimator.standard_error_,
            best_n_clusters=estimator.best_n_clusters_,
            estimator_name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Plot the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        name : str, default=None
            Name in the legend; None uses `estimator_name`.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        self : ClusteringStabilityDisplay
            Display with `ax_` and `figure_`.
        """
        ax = axes_or_new(self, ax)
        from matplotlib.ticker import MaxNLocator

        # Draw the curve and mark the selected number.
        name = self.estimator_name if name is None else name
        label = f"{self.best_n_clusters} clusters chosen"
        label = label if name is None else f"{name}: {label}"
        self.errorbar_, self.best_line_ = curve_with_choice(
            ax,
            self.param_range,
            self.stability,
            self.standard_error,
            np.asarray(self.param_range) == self.best_n_clusters,
            label=label,
            **kwargs,
        )

        # Label the axes.
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="Number of clusters", ylabel="Stability")
        ax.set_ylim(top=1 + MARGIN)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
