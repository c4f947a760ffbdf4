"""Base of the estimators of components that learn from one row at a time."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from skmoderndata._estimator.base import Base, warn_fewer, warn_not_converged
from skmoderndata._estimator.compat import (
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    fit_context,
)
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.series.online_components import RowSource, eigen_residual
from skmoderndata._solvers.series.online_rules import AmnesicSchedule, StepSchedule

AMNESIC_CONSTRAINTS = {
    "amnesic": [NON_NEGATIVE],
    "amnesic_ramp": [tuple],
    "amnesic_growth": [POSITIVE, None],
    "min_learning_rate": [Interval(Real, 0, 0.5, closed="both")],
}
RATE_CONSTRAINTS = {
    "learning_rate": [Interval(Real, 0, 1, closed="neither")],
    "learning_rate_hold": [POSITIVE],
}


def shortfall(passes, name, tol):
    """Return why passes have not converged; `name` is the public name of their residual."""
    if passes.residual <= tol:
        return (
            "the variance inside the subspace still decreased by more than one per cent in one "
            f"of the last two of {passes.n_iter} passes"
        )
    return f"{name}={passes.residual:.2g} > tol={tol:g} after {passes.n_iter} passes"


class OnlineComponents(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    """Components learned from a stream of rows; subclasses have parameters of the schedules."""

    _sparse = True

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check(self, X, *, reset, ensure_min_samples=1):
        return validate_data(
            self,
            X,
            accept_sparse="csr" if self._sparse else False,
            dtype=FLOATS,
            ensure_min_samples=ensure_min_samples,
            reset=reset,
        )

    def _schedule(self):
        """Return the schedule of the amnesic means."""
        ramp = self.amnesic_ramp
        if len(ramp) != 2 or not 0 <= ramp[0] <= ramp[1] < np.inf:
            raise ValueError(
                f"amnesic_ramp={ramp!r} must be two numbers of rows, 0 <= first <= second."
            )
        growth = np.inf if self.amnesic_growth is None else self.amnesic_growth
        numbers = (self.amnesic, *ramp, growth, self.min_learning_rate)
        return AmnesicSchedule(*(float(number) for number in numbers))

    def _step(self):
        """Return the schedule of the learning rate of the stream."""
        return StepSchedule(
            float(self.learning_rate),
            float(self.learning_rate_hold),
            float(self.min_learning_rate),
        )

    def _at_most(self, k, limit, reason):
        """Return the number of components, limited with a warning."""
        if k <= limit:
            return k
        warn_fewer(self, asked=k, found=limit, reason=reason)
        return limit

    def _refuse_other_number(self, n_components, fitted):
        """Raise an error if the number of components changes between calls of partial_fit."""
        if n_components != fitted:
            raise ValueError(
                f"n_components={n_components}, but the estimate has {fitted} components: "
                "n_components cannot change between calls of partial_fit. Call fit."
            )

    def _coordinates(self, X):
        """Project rows minus the mean onto the components."""
        if sparse.issparse(X):
            return X @ self.components_.T - self.mean_ @ self.components_.T
        return (X - self.mean_) @ self.components_.T

    def _fractions(self, X):
        """Return the fractions of the squared norm of centred rows inside and outside the span."""
        V = self.components_.astype(np.float64)
        mean = self.mean_.astype(np.float64)
        inside = outside = total = 0.0
        for U in RowSource(X).centred(mean):
            Y = U @ V.T
            inside += float(np.sum(Y**2))
            outside += float(np.sum((U - Y @ V) ** 2))
            total += float(np.sum(U**2))
        return (inside / total, outside / total) if total > 0 else (0.0, 0.0)


class OnlineSubspace(OnlineComponents):
    """Components of unordered rows; subclasses define `_learn(X, y)` and `_follow(X, first)`."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate the components in passes over the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least two rows.

        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._learn(self._check(X, reset=True, ensure_min_samples=2), y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Update the estimates with the rows of X, one row at a time.

        Each row is used once and updates the mean and the components. The division of rows into
        calls does not change the result. An error or interrupt leaves the estimator unchanged.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least one further row.

        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : object
            The estimator.
        """
        first = "_state" not in vars(self)
        self._follow(self._check(X, reset=first), first)
        vars(self).pop("eigen_residuals_", None)
        return self

    def _orders(self, n, rng):
        """Return a function that draws the order of the rows in a pass; None means no change."""
        return (lambda: rng.permutation(n)) if self.shuffle else (lambda: None)

    def _judge(self, source, mean, passes, values, largest, remedy):
        """Store the convergence of `fit` and the eigenvector residuals; warn if necessary."""
        self.n_iter_ = passes.n_iter
        self.subspace_change_ = passes.residual
        V = self.components_.astype(np.float64)
        self.eigen_residuals_ = eigen_residual(source, mean, V, values, float(largest))
        if not passes.converged and not passes.stopped:
            reached = shortfall(passes, "subspace_change_", self.tol)
            warn_not_converged(self, reached=reached, remedy=remedy)
