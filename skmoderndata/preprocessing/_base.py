"""Base of the transformers of kernel matrices: input checks, score, leading eigenvectors."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_fewer
from skmoderndata._estimator.compat import fit_context
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._estimator.validation import check_array, check_target, validate_data
from skmoderndata._solvers.common.linalg import asymmetry, leading_eigen
from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING
from skmoderndata._solvers.kernel.alignment import target_features

FAMILY = "kernel matrices"
PAGE = "kernel_matrix_steps"


class KernelMatrixStep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Base of transformers that are fitted to the square matrix of the training samples.

    A subclass defines `_learn(X, y)` and `_map(K)` for rows in double precision.
    """

    @fit_context()
    def fit(self, X, y=None):
        """Fit the transformation to the matrix of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
            Kernel values, similarities or distances of the training samples.
        y : array-like of shape (n_train,) or None
            Targets, for steps that use them.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._learn(X, y)
        return self

    @by_rows
    def transform(self, X):
        """Transform the rows of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Values between samples and training samples, of the same kind as in `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
            Transformed rows.
        """
        K, dtype = self._rows(X)
        return self._map(K).astype(dtype, copy=False)

    def _square(self, K):
        K = validate_data(self, K, dtype=[np.float64, np.float32], ensure_min_samples=1)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f"{type(self).__name__} needs the square matrix of all training samples in fit "
                f"but received a matrix of shape {K.shape}."
            )
        self._n_features_out = K.shape[0]
        return K.astype(np.float64), K.dtype

    def _symmetric(self, K):
        K, dtype = self._square(K)
        gap = asymmetry(K)
        scale = np.abs(K).max()
        if gap > SINGLE_ROUNDING * scale:
            raise ValueError(
                f"{type(self).__name__} needs a symmetric matrix, but entries differ from their "
                f"mirror images by up to {gap:.3g}; (K + K.T) / 2 is symmetric."
            )
        return (K + K.T) / 2, dtype

    def _rows(self, K):
        check_is_fitted(self)
        K = validate_data(self, K, dtype=[np.float64, np.float32], reset=False)
        return K.astype(np.float64, copy=False), K.dtype

    @in_memory
    def score(self, X, y=None):
        """Compute the cosine between a matrix and its transform.

        The score is 1 if only the scale changes. To choose the parameters of this step in a
        search, use the score of the estimator that follows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Values between samples and training samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Cosine in [-1, 1]; 0 if either matrix is zero.
        """
        K, _ = self._rows(X)
        Z = self._compared(K)
        a = np.abs(K).max(initial=0.0)
        b = np.abs(Z).max(initial=0.0)
        if a == 0 or b == 0:
            return 0.0
        K = K / a
        Z = Z / b
        norms = np.linalg.norm(K) * np.linalg.norm(Z)
        return float(np.vdot(K, Z) / norms)

    def _compared(self, K):
        return self._map(K)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def warn_of_rank(step):
    """Warn if the rank of the matrix is below the requested number of components."""
    rank = step.n_components_
    if rank < (step.n_components or 0):
        reason = f"the rank {rank} of the matrix"
        warn_fewer(step, asked=step.n_components, found=rank, reason=reason)


def ideal_columns(y, n, owner):
    """Check a target of n samples; make columns whose inner products are its ideal matrix."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    check_target(y, owner=owner)

    # Make columns of numbers or of classes.
    continuous = type_of_target(y, input_name="y").startswith("continuous")
    if continuous:
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    else:
        check_classification_targets(y)
        y = np.asarray(y)
        y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim == 2:  # one column for each label
            y = y.astype(np.float64)
            continuous = True
    if len(y) != n:
        raise ValueError(f"{owner}: X has {n} samples but y has {len(y)}.")

    varies = np.ptp(y, axis=0).max() > 0 if continuous else len(np.unique(y)) > 1
    if not varies:
        raise ValueError(
            f"{owner} needs a target that varies: all y are equal, or in one class."
        )
    return target_features(y, continuous)


def leading(K, n_components, tol):
    """Compute the eigenvalues above `tol` times the largest, and their vectors in columns."""
    n = len(K)
    w, U = leading_eigen(K, n if n_components is None else n_components)
    relative = max(tol, n * np.finfo(float).eps)
    above = w > relative * max(w[0], 0.0)
    return w[above], U[:, above]


class AgainstTraining(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Base of transformers that compute kernel values with `X_fit_`, the training samples."""

    @by_rows
    def transform(self, X):
        """Compute the kernel values between samples and the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or collection of n_samples samples
            Samples to compare with the training samples.

        Returns
        -------
        K : ndarray of shape (n_samples, n_train)
            Kernel values.
        """
        check_is_fitted(self)
        return self._values(self._samples(X, reset=False), self.X_fit_)
