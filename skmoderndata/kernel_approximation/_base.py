"""Base of the kernel approximations, which checks samples and computes coordinates."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import fit_context
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._kernelized.checks import checked_samples
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._samples.containers import as_samples


class KernelFeatures(KernelSamples, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Transformer to `n_components_` coordinates; subclasses define `_learn` and `_map`."""

    @fit_context()
    def fit(self, X, y=None):
        """Learn the coordinates from the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._learn(X)
        return self

    @by_rows
    def transform(self, X):
        """Compute the coordinates of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples, or their kernel values against all training samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components_)
            Coordinates. Their inner products with the coordinates of the training samples
            approximate the kernel, or the centred kernel.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return self._map(X).astype(self._dtype(X), copy=False)

    @in_memory
    def score(self, X, y=None):
        """Compute the fraction of the variance in feature space that the coordinates explain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples. For a precomputed kernel, only the training matrix contains the values needed.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            At most 1: squared norms of the coordinates over squared distances from the origin of
            the feature space, or from the mean of the training samples if the kernel is centred.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        Z = self._map(X)
        total = self._spread(X)
        return float(np.vdot(Z, Z) / total) if total > 0 else 1.0

    def _spread(self, X):
        """Return the sum of the squared norms of samples in feature space."""
        return float(np.sum(self._gram.diag(X), dtype=np.float64))

    def _checked(self, X, *, reset):
        X = checked_samples(self, X, reset=reset)
        return X if hasattr(X, "shape") else as_samples(X, type(self).__name__)

    @staticmethod
    def _dtype(X):
        return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
