"""Plot of samples with their core set and the boundary that it determines."""

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmoderndata._estimator.plotting import (
    MARGIN,
    axes_or_new,
    check_limit,
    count_of,
    evenly,
    last_step,
    names_of,
)
from skmoderndata._estimator.validation import check_array

# Colours of the outlier region and of the inlier region.
REGIONS_OF_OUTLIERS = ("0.88", "white")
# Size of all marks together, in square points; many marks are therefore small.
AREA_OF_MARKS = 8000


class CoreSetDisplay:
    """Plot of samples with two columns, their core set or support vectors, and the boundary.

    Parameters
    ----------
    points : array-like of shape (n_samples, 2)
        Samples.

    core, support : array-like of int, default=None
        Indices of the samples in the core set, and of the support vectors; None draws none.

    labels : array-like of shape (n_samples,), default=None
        Classes of the samples, or numbers if `levels=()`; None draws the samples in grey.

    classes : array-like, default=None
        All classes, in the order of the regions between `levels`. None means the two regions of an
        outlier detector; the lower one contains the outliers.

    xx0, xx1 : array-like of shape (grid_resolution, grid_resolution)
        First and second column of a grid.

    response : array-like of shape (grid_resolution, grid_resolution)
        Value of the estimator on the grid.

    levels : array-like, default=(0.0,)
        Responses at the boundaries, ascending; empty if the estimator predicts numbers.

    feature_names : array-like of two str, default=None
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.

    figure_ : matplotlib Figure
        Figure of the plot.

    surface_ : matplotlib QuadContourSet
        Regions, or colours of the predicted numbers.

    boundary_ : matplotlib QuadContourSet or None
        Boundary; None if no response in the plot crosses one of the `levels`.

    core_, support_ : matplotlib PathCollection or None
        Marks of the core set, and of the support vectors; the same object if the two sets are
        equal.

    See Also
    --------
    CoreVectorMachine, CoreVectorOutlierDetector, CoreVectorRegressor : Train on core sets.
    MinimumEnclosingBall : The ball that a core set determines.
    sklearn.inspection.DecisionBoundaryDisplay : Only the boundary, for any estimator.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skmoderndata.svm import CoreSetDisplay, CoreVectorMachine
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> machine = CoreVectorMachine(gamma=1.0, random_state=0).fit(X, y)
    >>> display = CoreSetDisplay.from_estimator(machine, X, y)  # doctest: +SKIP
    >>> display = CoreSetDisplay(
    ...     points=[[0, 0], [1, 1]],
    ...     support=[0],
    ...     xx0=[[0, 1], [0, 1]],
    ...     xx1=[[0, 0], [1, 1]],
    ...     response=[[-1, 0], [0, 1]],
    ... )
    >>> display.support
    [0]
    """

    def __init__(
        self,
        *,
        points,
        xx0,
        xx1,
        response,
        core=None,
        support=None,
        labels=None,
        classes=None,
        levels=(0.0,),
        feature_names=None,
    ):
        self.points = points
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response
        self.core = core
        self.support = support
        self.labels = labels
        self.classes = classes
        self.levels = levels
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        grid_resolution=100,
        max_points=2000,
        ax=None,
        **kwargs,
    ):
        """Evaluate a fitted estimator on a grid, and plot it with the training samples.

        Parameters
        ----------
        estimator : estimator with `core_indices_` or `support_`
            Estimator fitted to two columns: `CoreVectorMachine`, `CoreVectorRegressor`,
            `CoreVectorOutlierDetector`, `CoreVectorRanker`, `MinimumEnclosingBall`, another
            machine of this module, or `SVC` and similar classes. For a pipeline, the last step
            is drawn; if X has more than two columns but the last step receives two, the plot shows
            these two.
        X : array-like of shape (n_samples, n_features)
            Training samples, in the order of the fit.
        y : array-like of shape (n_samples,), default=None
            Classes or values of the samples; None draws them in grey.
        grid_resolution : int, default=100
            Number of values of each column in the grid, at least 2.
        max_points : int, default=2000
            Maximum number of samples drawn, evenly spaced in X; the core set and the support
            vectors are always drawn.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.scatter` for the samples.

        Returns
        -------
        display : CoreSetDisplay
            With `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        check_limit("grid_resolution", grid_resolution, least=2)
        step = last_step(estimator)
        _check_kind(step)

        # select the two columns to draw, and the estimator that accepts them
        model, table, names = _two_columns(estimator, step, X)
        points = check_array(table, dtype=np.float64, input_name="X")
        core, support = (getattr(step, name, None) for name in ("core_indices_", "support_"))
        _check_rows(step, core, support, points if model is step else None, estimator, X)

        # evaluate the estimator on a grid
        low = points.min(axis=0)
        high = points.max(axis=0)
        margin = MARGIN * np.where(high > low, high - low, 1.0)
        axes = np.linspace(low - margin, high + margin, grid_resolution).T
        xx0, xx1 = np.meshgrid(*axes)
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        if hasattr(table, "columns"):
            grid = type(table)(dict(zip(table.columns, grid.T, strict=True)))
        response, levels = _response(model, grid)

        # draw the result
        display = cls(
            points=points,
            core=core,
            support=support,
            labels=y,
            classes=getattr(step, "classes_", None),
            xx0=xx0,
            xx1=xx1,
            response=response.reshape(xx0.shape),
            levels=levels,
            feature_names=names,
        )
        return display.plot(ax, max_points=max_points, **kwargs)

    def plot(self, ax=None, *, max_points=2000, **kwargs):
        """Plot samples, core set and boundary.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_points : int, default=2000
            Maximum number of samples drawn, evenly spaced in X; the core set and the support
            vectors are always drawn.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.scatter` for the samples.

        Returns
        -------
        self : CoreSetDisplay
            With `ax_` and `figure_`.
        """
        check_limit("max_points", max_points)
        points = np.asarray(self.points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"CoreSetDisplay: points has the shape {points.shape}; pass two columns."
            )
        if self.labels is not None:
            self._check_labels(points)
        ax = axes_or_new(self, ax, layout="constrained")
        self._draw_surface(ax)

        # draw the samples, or an even selection if there are many
        n = len(points)
        drawn = evenly(n, max_points)
        self._draw_samples(ax, points, drawn, **kwargs)

        # draw the core set and the support vectors; draw them once if they are equal
        self._draw_core(ax, points)
        names = self.feature_names
        names = ("Column 0", "Column 1") if names is None else names
        ax.set(xlabel=names[0], ylabel=names[1], title=count_of(len(drawn), n, "sample"))
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="best", fontsize="small")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _check_labels(self, points):
        """Raise ValueError if labels do not match the points, or a class was not in the fit."""
        check_consistent_length(points, self.labels)
        if self.classes is None or not self._has_classes():
            return
        unseen = np.setdiff1d(self.labels, self.classes)
        if unseen.size:
            raise ValueError(
                f"CoreSetDisplay: y contains the class {unseen.tolist()[0]!r}, but the estimator "
                f"was fitted to the classes {np.asarray(self.classes).tolist()}; use the y of fit."
            )

    def _draw_surface(self, ax):
        """Draw regions and the lines between them, or predicted numbers as colours."""
        response = np.asarray(self.response, dtype=np.float64)
        levels = np.asarray(self.levels, dtype=np.float64)
        grid = np.asarray(self.xx0), np.asarray(self.xx1), response
        low = response.min()
        high = response.max()
        self.boundary_ = None
        if not levels.size:
            self.surface_ = ax.contourf(*grid, cmap="viridis", alpha=0.5)
            ax.figure.colorbar(self.surface_, ax=ax, label="Prediction")
            return

        # use one colour for each region, even if the plot does not contain all regions
        ends = [min(low, levels[0]) - 1, *levels, max(high, levels[-1]) + 1]
        colours = REGIONS_OF_OUTLIERS
        alpha = 1.0
        if self.classes is not None:
            colours = [f"C{j % 10}" for j in range(len(levels) + 1)]
            alpha = 0.2
        self.surface_ = ax.contourf(*grid, ends, colors=colours, alpha=alpha)
        inside = levels[(levels > low) & (levels < high)]
        if inside.size:
            self.boundary_ = ax.contour(*grid, inside, colors="k", linewidths=1.0)

    def _draw_samples(self, ax, points, drawn, **kwargs):
        """Draw samples in the colours of their classes or values."""
        style = {"s": 8, "alpha": 0.5} | kwargs
        if not self._has_classes():
            ax.scatter(*points[drawn].T, **(self._colours(drawn) | style))
            return
        labels = np.asarray(self.labels)[drawn]
        for label in self._all_classes():
            rows = drawn[labels == label]
            class_style = {"color": self._class_colours(rows)[:1] or None, "label": str(label)}
            ax.scatter(*points[rows].T, **(class_style | style))

    def _draw_core(self, ax, points):
        """Draw the core set in the colours of its samples, and the support vectors as rings."""
        core, support = (
            None if rows is None else np.asarray(rows, dtype=int)
            for rows in (self.core, self.support)
        )
        self.core_ = self.support_ = None
        same = core is not None and support is not None and set(core) == set(support)
        if core is not None:
            name = "core set and support" if same else "core set"
            edge = {"edgecolor": "k"}
            self.core_ = _draw_marks(
                ax, points, core, 1, name, **edge, **self._colours(core, "k")
            )
        if same:
            self.support_ = self.core_
        elif support is not None:
            ring = {"facecolor": "none", "edgecolor": "k"}
            self.support_ = _draw_marks(ax, points, support, 3, "support vectors", **ring)

    def _has_classes(self):
        return self.labels is not None and np.size(self.levels) > 0

    def _all_classes(self):
        return list(np.unique(self.labels) if self.classes is None else self.classes)

    def _class_colours(self, rows):
        """Return the class colour of each of the samples `rows`."""
        position = {label: j for j, label in enumerate(self._all_classes())}
        return [f"C{position[label] % 10}" for label in np.asarray(self.labels)[rows].tolist()]

    def _colours(self, rows, default="0.55"):
        """Return the colours of the samples `rows`, as arguments of a scatter plot."""
        if self.labels is None:
            return {"facecolor": default}
        if self._has_classes():
            return {"facecolor": self._class_colours(rows)}
        values = np.asarray(self.labels)[rows]
        return {"c": values, "cmap": "viridis", "norm": self.surface_.norm}


def _check_kind(step):
    """Raise ValueError if an estimator has no core set, or was not fitted to columns."""
    name = type(step).__name__
    if not any(hasattr(step, attribute) for attribute in ("core_indices_", "support_")):
        raise ValueError(
            f"CoreSetDisplay draws core_indices_ or support_ (see CoreVectorMachine), but {name} "
            "has neither: to draw only its boundary, use scikit-learn's DecisionBoundaryDisplay."
        )
    if get_tags(step).input_tags.pairwise:
        raise ValueError(
            f"CoreSetDisplay: {name} was fitted to a precomputed kernel matrix, which has no "
            "columns to draw: fit it to samples, with kernel set to a name or a function."
        )


def _two_columns(estimator, step, X):
    """Find the model that accepts two columns: the estimator, or the last step of a pipeline.

    Returns
    -------
    model : estimator
    table : array-like of shape (n_samples, 2)
    names : list of two str or None
    """
    n_columns = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    if n_columns == 2:
        return estimator, X, names_of(X, "columns")

    # use the columns that the last step of a pipeline receives
    if step is not estimator:
        table = estimator[:-1].transform(X)
        n_columns = table.shape[1]
        if n_columns == 2 and not sparse.issparse(table):
            return step, table, list(estimator[:-1].get_feature_names_out())
    raise ValueError(
        f"CoreSetDisplay draws a boundary over two columns, but {type(step).__name__} was fitted "
        f"to {n_columns}: fit it to two of them, or to two components with "
        f"make_pipeline(PCA(2), {type(step).__name__}(...))."
    )


def _check_rows(step, core, support, points, estimator, X):
    """Raise ValueError if X is not the training data, to which the core set's indices refer."""
    if points is None:
        points = X if step is estimator else estimator[:-1].transform(X)
    points = np.asarray(points, dtype=np.float64)
    numbers = np.concatenate([rows for rows in (core, support) if rows is not None])
    same = not numbers.size or numbers.max() < len(points)
    vectors = getattr(step, "support_vectors_", None)
    if same and support is not None and np.shape(vectors) == (len(support), points.shape[1]):
        same = np.allclose(points[support], vectors, rtol=1e-5)
    if not same:
        raise ValueError(
            f"CoreSetDisplay: X must be the rows that {type(step).__name__} was fitted to, in the "
            "same order, because core_indices_ and support_ are indices of these rows."
        )


def _response(model, grid):
    """Return the value of the estimator on the grid, and the values at its boundaries."""
    if hasattr(model, "decision_function"):
        values = model.decision_function(grid)
        if np.ndim(values) == 1:
            return values, (0.0,)
    values = model.predict(grid)
    if hasattr(model, "classes_"):
        codes = np.searchsorted(model.classes_, values)
        return codes, np.arange(len(model.classes_) - 1) + 0.5
    return values, ()


def _draw_marks(ax, points, rows, weight, name, **style):
    """Draw marks at the samples `rows`; the more there are, the smaller they become."""
    if rows is None:
        return None
    rows = np.asarray(rows, dtype=int)
    size = np.clip(weight * AREA_OF_MARKS / max(len(rows), 1), 3 * weight, 10 * weight)
    label = f"{name}: {len(rows)}"
    return ax.scatter(*points[rows].T, s=size, linewidth=0.5, label=label, **style)
