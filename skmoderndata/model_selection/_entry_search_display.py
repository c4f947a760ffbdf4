"""Plot of a search with hidden entries."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import axes_or_new, curve_with_choice


class EntrySearchDisplay:
    """Plot of the score on hidden entries against one parameter.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Values of the parameter.

    scores : array-like of shape (n_values,)
        Mean score for each value.

    standard_error : array-like of shape (n_values,)
        Standard error of each score.

    chosen : object, default=None
        Value that the search selected.

    param_name : str, default=None
        Name of the parameter, shown on the axis.

    score_name : str, default=None
        Name of the score, shown on the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that show the curve.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    errorbar_ : matplotlib ErrorbarContainer
        Curve of the scores with their standard errors.

    chosen_line_ : matplotlib Line2D
        Mark at `chosen`.

    See Also
    --------
    EntrySearchCV : Measures the scores.

    Examples
    --------
    >>> from skmoderndata.model_selection import EntrySearchDisplay
    >>> display = EntrySearchDisplay.from_estimator(search)  # doctest: +SKIP
    >>> display = EntrySearchDisplay(
    ...     values=[1, 2, 3], scores=[-0.9, -0.4, -0.4], standard_error=[0.1, 0.1, 0.1], chosen=2
    ... )
    >>> display.chosen
    2
    """

    def __init__(
        self, *, values, scores, standard_error, chosen=None, param_name=None, score_name=None
    ):
        self.values = values
        self.scores = scores
        self.standard_error = standard_error
        self.chosen = chosen
        self.param_name = param_name
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator, *, param_name=None, ax=None, **kwargs):
        """Plot the curve of a fitted search.

        If the grid has several parameters, the others are fixed at the values of the best
        candidate.

        Parameters
        ----------
        estimator : EntrySearchCV
            Fitted search.
        param_name : str, default=None
            Parameter to plot; None uses the only parameter with several values.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        display : EntrySearchDisplay
            Display with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        results = estimator.cv_results_
        name = _one_parameter(results["params"]) if param_name is None else param_name
        fixed = {key: v for key, v in estimator.best_params_.items() if key != name}

        # Use the candidates that differ from the best candidate only in the parameter `name`.
        rows = [
            index
            for index, params in enumerate(results["params"])
            if name in params and {key: v for key, v in params.items() if key != name} == fixed
        ]
        if not rows:
            raise ValueError(f"{name!r} is not a parameter of the candidates with {fixed}.")

        display = cls(
            values=[results["params"][index][name] for index in rows],
            scores=results["mean_test_score"][rows],
            standard_error=results["standard_error"][rows],
            chosen=estimator.best_params_.get(name),
            param_name=name,
            score_name=str(estimator.scoring_),
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Plot the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.errorbar`; `label` names the curve in
            the legend.

        Returns
        -------
        self : EntrySearchDisplay
            Display with `ax_` and `figure_`.
        """
        ax = axes_or_new(self, ax)
        numbers = all(isinstance(value, (int, float, np.number)) for value in self.values)
        positions = list(self.values) if numbers else list(range(len(self.values)))
        label = f"{self.chosen} chosen"
        if "label" in kwargs:
            label = f"{kwargs.pop('label')}: {label}"
        self.errorbar_, self.chosen_line_ = curve_with_choice(
            ax,
            positions,
            self.scores,
            self.standard_error,
            [bool(value == self.chosen) for value in self.values],
            label=label,
            **kwargs,
        )

        ax.set_xticks(positions, [str(value) for value in self.values])
        ax.set(xlabel=self.param_name, ylabel=self.score_name)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _one_parameter(candidates):
    """Return the name of the only parameter that has several values."""
    names = sorted({name for params in candidates for name in params})
    several = [
        name for name in names if len({repr(params.get(name)) for params in candidates}) > 1
    ]
    if len(several) != 1:
        raise ValueError(
            f"The grid has several parameters, {several or names}: select one with param_name."
        )
    return several[0]
