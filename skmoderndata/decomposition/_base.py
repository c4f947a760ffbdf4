"""What learners of components share: decoding, initial atoms."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.validation import check_array, check_codes


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
        atoms = self.components_.astype(X.dtype, copy=False)
        return np.asarray(X @ atoms)


def given_atoms(init, n_components, n_features):
    """Check initial atoms: as many as asked for, none zero."""
    atoms = check_array(init, dtype=np.float64, input_name="init")
    wanted = (n_components or len(atoms), n_features)
    if atoms.shape != wanted:
        raise ValueError(f"init has shape {atoms.shape}, and {wanted} is wanted.")
    nonzero = np.any(atoms != 0, axis=1)
    if not nonzero.all():
        raise ValueError("init has a zero atom: omit it, or replace it.")
    return atoms
