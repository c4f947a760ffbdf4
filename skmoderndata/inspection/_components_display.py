"""Plot of components with their bootstrap quantiles."""

import numpy as np

from skmoderndata._estimator.plotting import (
    MARGIN,
    check_limit,
    figure_size,
    name_ticks,
    several_axes_or_new,
)

# Maximum number of components that are drawn by default.
MAX_PANELS = 6
LABELS = {"components": "entry", "loadings": "loading", "memberships": "probability"}


class ComponentsDisplay:
    """Plot of components with the spread of their entries over bootstrap samples.

    There is one panel for each component. Bars show `low` to `high`; of Boolean components, they
    show the probability that an entry belongs to the component.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Components of the fit of all rows.

    low, high : array-like of shape (n_components, n_features), default=None
        Lower and upper quantiles; None for Boolean components.

    inclusion : array-like of shape (n_components, n_features), default=None
        Fraction of the refits in which an entry is not zero, drawn if there are no quantiles.

    stability : array-like of shape (n_components,), default=None
        Stability of each component, shown in the titles.

    feature_names : sequence of str, default=None
        Names of the columns.

    quantity : str, default="components"
        Meaning of the entries, as in the result of `bootstrap_components`: "components",
        "loadings" or "memberships".

    confidence_level : float, default=0.95
        Fraction of the refits between the quantiles, named in the legend.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One panel for each component that is drawn.

    figure_ : matplotlib Figure
        Figure that contains the panels.

    errorbars_ : list of matplotlib containers
        Entries of each component with their quantiles, or bars of the probabilities.

    See Also
    --------
    bootstrap_components : Computes the quantiles.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmoderndata.inspection import ComponentsDisplay, bootstrap_components
    >>> X, _ = load_iris(return_X_y=True)
    >>> result = bootstrap_components(PCA(2), X, n_bootstraps=50, random_state=0)
    >>> display = ComponentsDisplay.from_result(result)  # doctest: +SKIP
    >>> display = ComponentsDisplay(components=[[1.0, 0.0]], inclusion=[[0.9, 0.1]])
    >>> display.quantity
    'components'
    """

    def __init__(
        self,
        *,
        components,
        low=None,
        high=None,
        inclusion=None,
        stability=None,
        feature_names=None,
        quantity="components",
        confidence_level=0.95,
    ):
        self.components = components
        self.low = low
        self.high = high
        self.inclusion = inclusion
        self.stability = stability
        self.feature_names = feature_names
        self.quantity = quantity
        self.confidence_level = confidence_level

    @classmethod
    def from_result(cls, result, *, max_panels=MAX_PANELS, axes=None, **kwargs):
        """Plot the result of `bootstrap_components`.

        Parameters
        ----------
        result : BootstrapComponents
            Result of `bootstrap_components`.
        max_panels : int, default=6
            Maximum number of components to draw.
        axes : matplotlib Axes or array of Axes, default=None
            Axes to draw on, one for each component; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar` or, for Boolean components,
            :meth:`matplotlib.axes.Axes.bar`.

        Returns
        -------
        display : ComponentsDisplay
            Display with `axes_` and `figure_`.
        """
        display = cls(
            components=result.components,
            low=result.low,
            high=result.high,
            inclusion=result.inclusion,
            stability=result.stability,
            feature_names=result.feature_names,
            quantity=result.quantity,
            confidence_level=result.confidence_level,
        )
        return display.plot(axes, max_panels=max_panels, **kwargs)

    def plot(self, axes=None, *, max_panels=MAX_PANELS, **kwargs):
        """Plot the components.

        Parameters
        ----------
        axes : matplotlib Axes or array of Axes, default=None
            Axes to draw on, one for each component; None makes a new figure.
        max_panels : int, default=6
            Maximum number of components to draw.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar` or, for Boolean components,
            :meth:`matplotlib.axes.Axes.bar`.

        Returns
        -------
        self : ComponentsDisplay
            Display with `axes_` and `figure_`.
        """
        check_limit("max_panels", max_panels)
        components = np.asarray(self.components, dtype=np.float64)
        n_panels = min(max_panels, len(components))
        panels = several_axes_or_new(
            self,
            axes,
            n_panels,
            1,
            figsize=figure_size(8 * n_panels),
            layout="constrained",
            sharex=True,
        )[:n_panels]

        # Draw the components, one below the other.
        draw = self._draw_quantiles if self.low is not None else self._draw_inclusion
        self.errorbars_ = []
        for j, ax in enumerate(panels):
            self.errorbars_.append(draw(ax, j, components[j], **kwargs))
            title = f"component {j}"
            if self.stability is not None:
                title += f", stability {np.asarray(self.stability)[j]:.2f}"
            ax.set_title(title, fontsize="medium", loc="left")
            ax.set_ylabel(LABELS.get(self.quantity, self.quantity))
            ax.axhline(0.0, color="0.6", linewidth=1, zorder=0)

        # The panels share their columns, so name the columns only once.
        name_ticks(
            panels[-1].xaxis, self.feature_names, components.shape[1], rotation="vertical"
        )
        panels[0].legend(loc="best", fontsize="small")
        self.axes_ = panels
        self.figure_ = panels[0].figure
        return self

    def _draw_quantiles(self, ax, j, component, **kwargs):
        """Draw the entries of one component with their quantiles."""
        low, high = (np.asarray(ends, dtype=np.float64)[j] for ends in (self.low, self.high))
        # If an entry is biased, it may lie outside its quantiles.
        widths = np.nan_to_num(np.maximum([component - low, high - component], 0.0))
        label = f"bootstrap quantiles, {self.confidence_level:.0%}"
        style = {"fmt": "o", "capsize": 2, "markersize": 3, "label": label} | kwargs
        return ax.errorbar(range(len(component)), component, yerr=widths, **style)

    def _draw_inclusion(self, ax, j, component, **kwargs):
        """Draw the probability that each entry belongs to one component; mark those of the fit."""
        columns = np.arange(len(component))
        probability = component if self.inclusion is None else np.asarray(self.inclusion)[j]
        style = {"color": "0.7", "label": "probability of membership"} | kwargs
        bars = ax.bar(columns, probability, **style)
        member = component > 0
        ax.plot(columns[member], np.asarray(probability)[member], "o", label="in the fit")
        ax.set_ylim(0, 1 + MARGIN)
        return bars
