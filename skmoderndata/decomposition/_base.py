"""Reconstruction of signals from codes, for dictionary learners."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._validation import check_codes


class FromCodes:
    """Mixin that reconstructs signals from codes, with the atoms in the rows of `components_`."""

    def inverse_transform(self, X):
        """Reconstruct signals from codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        signals : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        X = check_codes(X, len(self.components_), estimator=self, accept_sparse="csr")
        return np.asarray(X @ self.components_.astype(X.dtype, copy=False))
