"""What learners of components share: first rows of streams, decoding, initial atoms."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._validation import check_array, check_codes

# Fraction by which the first rows of a stream grow before they are fitted again
REFIT_GROWTH = 0.25


class EarlyRows(NamedTuple):
    """The first rows of a stream, kept and fitted together until there are enough of them.

    Otherwise a small first batch would decide: components that a few rows do not determine are
    noise, and later batches rarely repair them.
    """

    X: Any
    weights: Any = None
    n_fitted: int = 0

    @property
    def n_rows(self):
        """Number of rows so far."""
        return self.X.shape[0]

    @property
    def are_due(self):
        """Whether there are enough new rows to fit all again."""
        return self.n_rows >= (1 + REFIT_GROWTH) * self.n_fitted

    def plus(self, X, weights=None):
        """Return these rows and the rows of another batch."""
        join = (
            sparse.vstack if sparse.issparse(X) or sparse.issparse(self.X) else np.concatenate
        )
        joined = None
        if weights is not None or self.weights is not None:
            batches = ((self.X, self.weights), (X, weights))
            joined = np.concatenate(
                [np.ones(rows.shape[0]) if w is None else w for rows, w in batches]
            )
        return self._replace(X=join([self.X, X]), weights=joined)

    def copy(self):
        """Return rows that the caller cannot change."""
        weights = None if self.weights is None else self.weights.copy()
        return self._replace(X=self.X.copy(), weights=weights)


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
