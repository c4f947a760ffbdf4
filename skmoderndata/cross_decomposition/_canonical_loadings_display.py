"""Plot of the loadings of a canonical pair, with bootstrap intervals."""

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.plotting import MARGIN, axes_or_new, figure_size, names_of
from skmoderndata._estimator.refits import (
    bootstrap_loadings,
    check_bootstrap,
    quantiles,
)
from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.common.quantities import MAX_INT32


class CanonicalLoadingsDisplay:
    """Plot of the loadings of canonical pairs, with bootstrap intervals.

    The loading of a column is its correlation with the scores of the view that contains it.

    Parameters
    ----------
    loadings : list of two ndarray of shape (n_features_of_view, n_components)
        Loadings of the two views.

    lower, upper : list of two ndarray of shape (n_features_of_view, n_components)
        Lower and upper ends of the intervals of the loadings.

    feature_names : list of two lists of str, default=None
        Names of the columns of the two views; None uses numbers.

    level : float, default=0.95
        Confidence level of the intervals, between 0 and 1, named in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that show the intervals.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    errorbars_ : list of two matplotlib ErrorbarContainer
        Loadings of each view, with their intervals.

    See Also
    --------
    RegularizedCCA : Estimates pairs of directions for two views.
    skmoderndata.model_selection.canonical_permutation_test : Tests the number of pairs.
    skmoderndata.inspection.bootstrap_components : Computes the same intervals without a plot, and
        how stable each pair is.

    Notes
    -----
    Signs and order of the pairs are arbitrary and change from one bootstrap sample to the next.
    The pairs of each bootstrap sample are therefore matched with the pairs of the fit: one to one,
    by the largest sum of absolute correlations of their scores on all rows (the assignment
    problem), with the sign of that correlation. Pairs whose correlations are nearly equal mix, and
    their intervals are wide.

    The intervals are quantiles of the bootstrap distribution. In small samples, overfitted pairs
    have loadings nearer to zero than the loadings of the population, and the intervals contain the
    population values less often than `level` promises. Test the number of pairs first, and
    interpret only the intervals of the pairs that pass the test.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmoderndata.cross_decomposition import CanonicalLoadingsDisplay, RegularizedCCA
    >>> exercise, body = load_linnerud(return_X_y=True)
    >>> display = CanonicalLoadingsDisplay.from_estimator(
    ...     RegularizedCCA(1, alpha=0), exercise, body, random_state=0
    ... )  # doctest: +SKIP
    >>> display = CanonicalLoadingsDisplay(
    ...     loadings=[[[0.7], [0.9]], [[-0.6]]],
    ...     lower=[[[0.4], [0.6]], [[-0.9]]],
    ...     upper=[[[0.9], [1.0]], [[-0.2]]],
    ... )
    >>> display.level
    0.95
    """

    def __init__(self, *, loadings, lower, upper, feature_names=None, level=0.95):
        self.loadings = loadings
        self.lower = lower
        self.upper = upper
        self.feature_names = feature_names
        self.level = level

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        Y,
        *,
        n_bootstraps=200,
        level=0.95,
        component=0,
        random_state=None,
        n_jobs=None,
        ax=None,
        **kwargs,
    ):
        """Fit two views and bootstrap samples of their rows, and plot the loadings of one pair.

        Parameters
        ----------
        estimator : estimator with ``fit(X, Y)`` and ``transform(X, Y)``
            `RegularizedCCA`, `KernelCCA` or another analysis of two views; `fit` is called on
            clones. If ``alpha="auto"`` or ``l1_bound="permutation"``, the value chosen for all
            rows is used in every bootstrap sample.
        X : array-like of shape (n_samples, n_features)
            First view. The names of the columns of a DataFrame appear in the plot.
        Y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second view, with the same samples in the same order.
        n_bootstraps : int, default=200
            Number of bootstrap samples, at least 2.
        level : float, default=0.95
            Confidence level of the intervals, between 0 and 1.
        component : int, default=0
            Number of the pair to plot.
        random_state : int, RandomState instance or None, default=None
            Generator or seed that draws the bootstrap samples.
        n_jobs : int, default=None
            Number of bootstrap samples processed in parallel with joblib. The result does not
            depend on it.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        display : CanonicalLoadingsDisplay
            Display with `loadings`, `lower`, `upper`, `ax_` and `figure_`.
        """
        check_bootstrap(n_bootstraps, level, level_name="level")
        feature_names = [_names(view) for view in (X, Y)]
        X, Y = _tables(X, Y)

        # Fit all rows and the bootstrap samples; each bootstrap sample has its own seed.
        seeds = check_random_state(random_state).randint(MAX_INT32, size=n_bootstraps)
        result = bootstrap_loadings(
            estimator, X, Y, seeds, owner="CanonicalLoadingsDisplay", n_jobs=n_jobs
        )

        lower, upper = quantiles(
            [refit.values for refit in result.refits], level, method="linear"
        )
        loadings, lower, upper = (
            [values.T[: X.shape[1]], values.T[X.shape[1] :]]
            for values in (result.loadings, lower, upper)
        )
        display = cls(
            loadings=loadings,
            lower=lower,
            upper=upper,
            feature_names=feature_names,
            level=level,
        )
        return display.plot(ax, component=component, **kwargs)

    def plot(self, ax=None, *, component=0, **kwargs):
        """Plot the loadings of one pair.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        component : int, default=0
            Number of the pair to plot.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        self : CanonicalLoadingsDisplay
            Display with `ax_` and `figure_`.
        """
        loadings, lower, upper = (
            [np.asarray(view, dtype=np.float64) for view in views]
            for views in (self.loadings, self.lower, self.upper)
        )
        k = loadings[0].shape[1]
        if not 0 <= component < k:
            raise ValueError(
                f"component={component} should be between 0 and {k - 1}, as there are {k} pairs."
            )
        n_columns = sum(map(len, loadings))
        ax = axes_or_new(self, ax, figsize=figure_size(n_columns), layout="constrained")
        style = {"fmt": "o", "capsize": 3, "markersize": 4} | kwargs

        # Draw the columns from top to bottom, starting with the first view.
        self.errorbars_ = []
        labels = []
        for v, values in enumerate(loadings):
            at = len(labels) + np.arange(len(values))
            value, low, high = (view[v][:, component] for view in (loadings, lower, upper))
            # The loading of an overfitted pair may lie outside the quantiles of the bootstrap.
            widths = np.maximum([value - low, high - value], 0.0)
            name = f"view {v + 1}, intervals of {self.level:.0%}"
            self.errorbars_.append(ax.errorbar(value, at, xerr=widths, label=name, **style))
            names = self.feature_names and self.feature_names[v]
            labels += list(names or (f"view {v + 1}: {j}" for j in range(len(values))))

        ax.axvline(0.0, color="0.6", linewidth=1, zorder=0)
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.set(xlim=(-1 - MARGIN, 1 + MARGIN), xlabel=f"Loading on pair {component}")
        ax.legend(loc="best")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _tables(X, Y):
    """Convert both views to tables of finite numbers and check that they have the same rows."""
    if np.ndim(Y) == 1:
        Y = np.asarray(Y).reshape(-1, 1)
    X = check_array(X, dtype=np.float64, input_name="X", ensure_min_samples=3)
    Y = check_array(Y, dtype=np.float64, input_name="Y", ensure_min_samples=3)
    if len(X) != len(Y):
        raise ValueError(
            f"CanonicalLoadingsDisplay: the views have {len(X)} and {len(Y)} rows; pass the same "
            "samples in the same order in both."
        )
    return X, Y


def _names(view):
    """Return the column names of a DataFrame, or the name of a Series; else None."""
    columns = names_of(view, "columns")
    if columns is not None:
        return columns
    name = getattr(view, "name", None)
    return None if name is None else [str(name)]
