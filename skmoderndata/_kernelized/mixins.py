"""Mixins of estimators with a `kernel` parameter: their tags and outputs."""

from typing import Any

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    TransformerMixin,
)
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._estimator.doors import by_rows
from skmoderndata._estimator.validation import float_type
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._solvers.common.typing import Array


class KernelSamples:
    """Mixin with the tags of estimators that have `kernel` and the parameters of a kernel."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        kernel: Any = self.kernel  # type: ignore[attr-defined]
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed and (
            isinstance(kernel, str) and kernel not in ("chi2", "additive_chi2")
        )
        if isinstance(kernel, Kernel):
            tags.input_tags.two_d_array = bool(kernel.requires_vector_input)
        return tags


class KernelOutlierMixin(KernelSamples, OutlierMixin):  # type: ignore[misc]
    """Mixin of outlier detectors that set `offset_` and have `_score_samples` for checked rows."""

    @by_rows
    def score_samples(self, X: Any) -> Array:
        """Compute scores that are low for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative of the distance that defines the detector; never positive.
        """
        check_is_fitted(self)
        return self._score_samples(checked_samples(self, X, reset=False))

    @by_rows
    def decision_function(self, X: Any) -> Array:
        """Compute scores relative to the threshold, `score_samples(X) - offset_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Scores relative to the threshold, negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    @by_rows
    def predict(self, X: Any) -> Array:
        """Predict which samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels: -1 for outliers, 1 for inliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


class KernelClassifierMixin(AbsentClasses, KernelSamples, ClassifierMixin):  # type: ignore[misc]
    """Mixin of classifiers that predict by the sign or largest column of `decision_function`."""

    @by_rows
    def predict(self, X: Any) -> Array:
        """Predict the classes of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        return self._decided(self.decision_function(X))

    def _decided(self, values: Array) -> Array:
        best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        labels: Array = self.classes_[best]
        return labels


class KernelProjectionMixin(
    KernelSamples,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Mixin of estimators that project samples onto directions and centre the scores."""

    _project: Any
    _centre: Any = 0.0

    @by_rows
    def transform(self, X: Any) -> Array:
        """Project samples onto the fitted directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Scores, one row per sample; no intercept is added.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        return (self._project(X) - self._centre).astype(float_type(X), copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self._project.coef.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
