"""Base of linear methods for several views that remove the effects of confounders."""

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.compat import fit_context
from skmoderndata._estimator.confounders import confounder_table
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.kernel.canonical import Samples
from skmoderndata.cross_decomposition._base import SecondViewPredictor, weighted_mean
from skmoderndata.cross_decomposition._linear_base import LinearViews


class PartialViews(SecondViewPredictor, LinearViews):
    """Base of methods that analyse what confounders do not explain of each view.

    `fit` stores `confounder_means_` and the slopes `confounder_coef_` of each view, and replaces
    the views by ``view - (confounders - confounder_means_) @ confounder_coef_[v]``.
    """

    @fit_context()
    def fit(self, X, y=None, sample_weight=None, confounders=None):
        """Estimate the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view; or a list of views with the same samples in the same order; or, with
            `view_slices`, an array with the columns of all views.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view. Not allowed with a list of views; ignored with `view_slices`. Class labels
            (one-dimensional strings or repeated integers) raise ValueError: pass them as a table.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in means, variances and covariances: a weight of 2 counts as two
            copies of a sample, 0 as none, and a common factor has no effect. None gives all
            samples equal weight.
        confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
            Variables whose linear effect is removed from each view by least squares, with a
            constant, before the analysis. The other methods then need the confounders of their
            samples. Not available for sparse views.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        views = self._take_views(X, y, reset=True)
        samples = self._samples(views, sample_weight)
        self.confounder_means_ = self.confounder_coef_ = None
        if confounders is not None:
            views, samples = self._fit_confounders(views, samples, confounders)
        return self._fit_taken(X, y, views, samples)

    @by_rows
    def transform(self, X, y=None, confounders=None):
        """Compute the scores of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            First view, or a list of all views with None in place of missing views; or, with
            `view_slices`, an array with the columns of all views.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view; ignored with `view_slices`.
        confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
            Confounders of these samples; required if `fit` received confounders.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            Scores of the first view. If `y` is given, a pair of arrays; for a list of views, a
            list of arrays (None for a missing view). `set_output` changes only the first of them.
            With `view_slices`, one array with the scores of all views as columns.
        """
        check_is_fitted(self)
        views = self._take_views(X, y, reset=False)
        return self._scores_of(self._residuals(views, confounders), X, y)

    def fit_transform(self, X, y=None, sample_weight=None, confounders=None):
        """Fit the model and return the scores of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            Training views, as in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in `fit`.
        confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
            Variables whose effect is removed, as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or several of them
            Result of ``fit(X, y).transform(X, y)``: a pair if `y` is given. A Pipeline requires
            steps that return a single array; use `view_slices` there.
        """
        model = self.fit(X, y, sample_weight=sample_weight, confounders=confounders)
        return model.transform(X, y, confounders=confounders)

    @in_memory
    def score(self, X, y=None, sample_weight=None, confounders=None):
        """Compute the mean correlation of the scores over components and pairs of views.

        Parameters
        ----------
        X, y, sample_weight, confounders
            Same meaning as in `score_components`.

        Returns
        -------
        score : float
            Mean correlation, between -1 and 1. The sign matters, because components are paired in
            training.
        """
        values = self.score_components(X, y, sample_weight, confounders)
        return float(values.mean()) if values.size else 0.0

    @in_memory
    def score_components(self, X, y=None, sample_weight=None, confounders=None):
        """Compute the correlation of the scores for each component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or list of them
            One or more views, as in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second view, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the correlations.
        confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
            Confounders of these samples; required if `fit` received confounders.

        Returns
        -------
        correlations : ndarray of shape (n_components,)
            Mean over all pairs of views, with the components in the order of training. Constant
            scores count as uncorrelated. Rows that lack one of the two views are omitted.
        """
        check_is_fitted(self)
        views = self._take_views(X, y, reset=False)
        return self._correlations_of(self._residuals(views, confounders), sample_weight)

    @by_rows
    def predict(self, X, confounders=None):
        """Predict the second view of samples from their first view.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            First view; or, with `view_slices`, an array with the columns of all views;
            only the first view is used.
        confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
            Confounders of these samples; required if `fit` received confounders.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_targets) or (n_samples,)
            Predictions ``transform(X) @ prediction_coef_ + prediction_intercept_``: the least
            squares fit of the second view on the training scores of the first view, plus the
            effect of the confounders. It is the conditional expectation of the second view if the
            second view is linear in these scores. The penalty acts only through the scores; the
            slopes are not shrunk. The result is one-dimensional if the second view was.
        """
        check_is_fitted(self)
        self._check_prediction()
        view = self._take_views(X, None, reset=False)[0]
        effects = self._effects(view, confounders)
        if effects is None:
            return self._prediction_of(view)
        residuals = (view - effects[0]).astype(view.dtype, copy=False)
        Y = self._prediction_of(residuals)
        return (Y + effects[1].reshape(Y.shape)).astype(Y.dtype, copy=False)

    def to_sklearn(self):
        """Return the model as estimators of scikit-learn, with the same scores and predictions.

        Returns
        -------
        parts : dict
            A `PCA` for each view, "view1", "view2", ..., whose components are the weights. For two
            views also "predict", a `LinearRegression` of the second view on the first. With
            `view_slices`, each of them accepts the table with the columns of all views. Missing
            views raise ValueError.

        Raises
        ------
        ValueError
            If the model was fitted with confounders.
        """
        check_is_fitted(self)
        if self.confounder_coef_ is not None:
            raise ValueError(
                f"{type(self).__name__} was fitted with confounders, which estimators of "
                "scikit-learn do not accept: subtract the effects of the confounders from the "
                "views, and export a model that is fitted to the residuals."
            )
        return super().to_sklearn()

    def _fit_confounders(self, views, samples, confounders):
        """Store the effects of the confounders; return the residuals of the training views."""
        # 1. Scale the confounders, so that their rank does not depend on their units.
        Z = confounder_table(confounders, samples.n, owner=type(self).__name__)
        used = np.arange(samples.n)
        if samples.weights is not None:
            used = np.flatnonzero(samples.weights > 0)
        w = None if samples.weights is None else samples.weights[used]
        self.confounder_means_ = weighted_mean(Z[used], w)
        units = np.abs(Z[used] - self.confounder_means_).max(axis=0)
        constant = units <= ACCUMULATED_ROUNDING * np.abs(self.confounder_means_)
        units[constant] = np.inf  # a constant confounder has no effect
        centred = (Z - self.confounder_means_) / units

        # 2. Regress each view on the confounders by least squares, with an intercept.
        self.confounder_coef_ = []
        residuals = []
        n_confounders = 0
        for v, view in enumerate(views):
            self._refuse_sparse(view)
            rows = samples.rows[v]
            root = np.ones(len(rows))
            if samples.weights is not None:
                root = np.sqrt(samples.weights_of(v))
            slopes, rank = _slopes(centred[rows], view[rows].astype(np.float64), root)
            residual = view - centred @ slopes

            # If the confounders explain a column, only rounding errors remain of it.
            present = view[rows]
            size = np.abs(residual[rows] - residual[rows].mean(axis=0)).max(axis=0)
            rounding = 1000 * np.finfo(view.dtype).eps * np.abs(present).max(axis=0)
            explained = size <= rounding
            if explained.all() and np.ptp(present, axis=0).any():
                raise ValueError(
                    f"{type(self).__name__}: the confounders explain all columns of view {v + 1}, "
                    "so nothing is left to correlate: use fewer confounders, or omit the view."
                )
            residual[np.ix_(rows, explained)] = 0.0
            residuals.append(residual.astype(view.dtype, copy=False))
            self.confounder_coef_.append(slopes / units[:, None])
            n_confounders = max(n_confounders, rank)

        return residuals, Samples(*samples[:3], n_confounders)

    def _residuals(self, views, confounders):
        """Subtract the effects of the confounders from validated views."""
        present = next(view for view in views if view is not None)
        effects = self._effects(present, confounders)
        if effects is None:
            return views
        return [
            None if view is None else (view - effect).astype(view.dtype, copy=False)
            for view, effect in zip(views, effects, strict=False)
        ]

    def _effects(self, view, confounders):
        """Compute the effects of the confounders on all views; None without confounders."""
        name = type(self).__name__
        if self.confounder_coef_ is None:
            if confounders is not None:
                raise ValueError(
                    f"{name} was fitted without confounders: pass them to fit, or omit them here."
                )
            return None
        if confounders is None:
            raise ValueError(
                f"{name} was fitted with {len(self.confounder_means_)} confounders: pass "
                "confounders= of these samples, too."
            )

        # check that the confounders match the confounders of `fit`
        self._refuse_sparse(view)
        Z = confounder_table(confounders, view.shape[0], owner=name)
        if Z.shape[1] != len(self.confounder_means_):
            raise ValueError(
                f"{name} was fitted with {len(self.confounder_means_)} confounders but received "
                f"{Z.shape[1]}."
            )

        centred = Z - self.confounder_means_
        return [centred @ slopes for slopes in self.confounder_coef_]

    def _refuse_sparse(self, view):
        if sparse.issparse(view):
            raise TypeError(
                f"{type(self).__name__}: residuals of a sparse view are dense; with confounders, "
                "pass view.toarray()."
            )


def _slopes(Z, Y, root):
    """Compute slopes of a least squares fit with a constant, and the rank of the confounders."""
    w = root**2
    Z = root[:, None] * (Z - weighted_mean(Z, w))
    U, s, Vt = linalg.svd(Z, full_matrices=False)
    retained = s > max(Z.shape) * EPS * s.max(initial=0.0)
    products = (root[:, None] * U[:, retained]).T @ (Y - weighted_mean(Y, w))
    return (Vt[retained].T / s[retained]) @ products, int(retained.sum())
