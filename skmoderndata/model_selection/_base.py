"""Shared parts of the searches: methods of the best estimator, warning about ends of a grid."""

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.compat import warn_user
from skmoderndata._estimator.doors import by_rows
from skmoderndata.exceptions import DoubtfulResultWarning

# Minimum number of values in a grid for a warning about its ends: if there are two values, each of
# them is an end.
LEAST_GRID = 3


def best_has(name):
    """Make a condition for `available_if`: the estimator, fitted or not, has the method."""

    def check(search):
        # this raises AttributeError if the method does not exist
        getattr(search._inner(), name)
        return True

    return check


class BestEstimatorMixin:
    """Methods of `best_estimator_`.

    A search defines `_unfitted()`, which returns the estimator that was passed to it, and may
    check samples in `_check(X)`.
    """

    def _inner(self):
        """Return the best estimator or, before the fit, the estimator that was passed."""
        return self.best_estimator_ if hasattr(self, "best_estimator_") else self._unfitted()

    def _check(self, X):
        return X

    def _keep_best(self, best):
        """Store the best estimator, the features that it has seen, and its output container."""
        self.best_estimator_ = best
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))
            elif hasattr(self, name):
                delattr(self, name)  # an earlier fit has set this attribute

        if hasattr(self, "_sklearn_output_config") and hasattr(best, "set_output"):
            best.set_output(**self._sklearn_output_config)

    @available_if(best_has("predict"))
    @by_rows
    def predict(self, X):
        """Predict new samples with `best_estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        prediction : ndarray of shape (n_samples,) or (n_samples, n_columns)
            Prediction of `best_estimator_`, such as labels or memberships.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(self._check(X))

    @available_if(best_has("transform"))
    @by_rows
    def transform(self, X):
        """Transform samples with `best_estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        X_new : array of shape (n_samples, n_columns)
            Output of `best_estimator_`.
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(self._check(X))

    @available_if(best_has("transform"))
    def fit_transform(self, X, y=None):
        """Run the search, then transform the samples with `best_estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        X_new : array of shape (n_samples, n_columns)
            Output of `best_estimator_`.
        """
        return self.fit(X, y).transform(X)

    @available_if(best_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of `transform` of `best_estimator_`.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input features.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Names of the output columns.
        """
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @available_if(best_has("set_output"))
    def set_output(self, *, transform=None):
        """Choose the container that `transform` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Kind of container; None keeps the current choice.

        Returns
        -------
        self : estimator
            The search itself.
        """
        if transform is not None:
            # `clone` copies an attribute of this name.
            self._sklearn_output_config = {"transform": transform}
            if hasattr(self, "best_estimator_"):
                self.best_estimator_.set_output(transform=transform)
        return self


def warn_end_of_grid(owner, name, value, values, *, grid, lowest, highest):
    """Warn if a selected number is an end of its grid of three or more, but not a natural bound.

    Parameters
    ----------
    owner : str
        Name of the search.
    name : str
        Name of the parameter.
    value : int
        Selected number.
    values : collection of int
        Numbers that were compared.
    grid : str
        Name of the parameter of the search that holds them.
    lowest, highest : float
        Natural bounds: a number beyond them needs no warning.
    """
    end = "largest" if value == max(values) else "smallest"
    interior = min(values) < value < max(values)
    natural = value >= highest if end == "largest" else value <= lowest
    if interior or natural or len(set(values)) < LEAST_GRID:
        return
    warn_user(
        f"{owner} chose {name}={value}, the {end} value in {grid}: a "
        f"{'larger' if end == 'largest' else 'smaller'} number may be better, so add some.",
        DoubtfulResultWarning,
    )
