"""Decoding and initial atoms, shared by the learners of components."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.doors import by_rows
from skmoderndata._estimator.validation import check_array, check_codes


class FromCodes:
    """Mixin that reconstructs signals from codes, with the atoms in the rows of `components_`."""

    @by_rows
    def inverse_transform(self, X):
        """Reconstruct signals from codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        signals : ndarray of shape (n_samples, n_features)
            Reconstruction ``X @ components_``.
        """
        check_is_fitted(self)
        X = check_codes(X, len(self.components_), estimator=self, accept_sparse="csr")
        atoms = self.components_.astype(X.dtype, copy=False)
        return np.asarray(X @ atoms)


def check_initial_atoms(init, n_components, n_features):
    """Return initial atoms; raise an error if their shape is wrong or if one is zero."""
    atoms = check_array(init, dtype=np.float64, input_name="init")
    expected_shape = (n_components or len(atoms), n_features)
    if atoms.shape != expected_shape:
        raise ValueError(f"init has shape {atoms.shape}, but must have {expected_shape}.")
    nonzero = np.any(atoms != 0, axis=1)
    if not nonzero.all():
        raise ValueError("init has a zero atom: remove it, or replace it.")
    return atoms
