"""Plot of the statistics of a knockoff selection."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import MARGIN, axes_or_new, last_step


class KnockoffDisplay:
    """Plot of the importance of each feature against the importance of its knockoff.

    Features below the diagonal are more important than their knockoffs. Those below the dashed
    line are selected; as many are expected above the dotted line, its mirror image, by chance.

    Parameters
    ----------
    importances : array-like of shape (2, n_features)
        Importances of features (first row) and knockoffs (second row), or of groups.

    threshold : float
        Difference from which on features are selected.

    names : sequence of str, default=None
        Names of the features, written beside the selected ones.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that show the features.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    points_ : matplotlib PathCollection
        One point for each feature.

    See Also
    --------
    KnockoffSelector : Computes the importances.

    Examples
    --------
    >>> from skmoderndata.feature_selection import KnockoffDisplay
    >>> display = KnockoffDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display = KnockoffDisplay(importances=[[2.0, 0.1], [0.0, 0.2]], threshold=2.0)
    >>> display.threshold
    2.0
    """

    def __init__(self, *, importances, threshold, names=None):
        self.importances = importances
        self.threshold = threshold
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Plot the statistics of a fitted selector.

        Parameters
        ----------
        estimator : KnockoffSelector or Pipeline that ends with one
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.scatter`.

        Returns
        -------
        display : KnockoffDisplay
            Display with `ax_` and `figure_`.
        """
        selector = last_step(estimator)
        check_is_fitted(selector)
        names = (
            getattr(selector, "feature_names_in_", None) if selector.groups is None else None
        )
        display = cls(
            importances=selector.importances_, threshold=selector.threshold_, names=names
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Plot the statistics.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.scatter`.

        Returns
        -------
        self : KnockoffDisplay
            Display with `ax_` and `figure_`.
        """
        ax = axes_or_new(self, ax)
        original, knockoff = np.asarray(self.importances, dtype=float)
        selected = original - knockoff >= self.threshold
        style = {"c": np.where(selected, "C0", "0.7"), "s": 10} | kwargs
        self.points_ = ax.scatter(original, knockoff, **style)

        # draw the border of the selection and its mirror image
        end = max(original.max(), knockoff.max(), np.finfo(float).tiny)
        if np.isfinite(self.threshold):
            t = self.threshold
            ax.plot([t, end + t], [0, end], "C0--", label=f"{selected.sum()} selected")
            ax.plot([0, end], [t, end + t], "0.5", linestyle=":", label="mirror image")
            ax.legend(loc="best")
        for j in np.flatnonzero(selected) if self.names is not None else ():
            ax.annotate(self.names[j], (original[j], knockoff[j]), fontsize="small")

        limits = (-MARGIN * end, (1 + MARGIN) * end)
        ax.set(
            xlabel="importance of the feature",
            ylabel="importance of its knockoff",
            xlim=limits,
            ylim=limits,
        )
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
