"""Cosines from a kernel matrix."""

import numpy as np

from skmoderndata._estimator.doors import by_rows
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array
from skmoderndata.preprocessing._base import FAMILY, PAGE, KernelMatrixStep


class KernelNormalizer(KernelMatrixStep):
    r"""Normalise a kernel matrix to cosines, ``k(x, z) / sqrt(k(x, x) k(z, z))``.

    Attributes
    ----------
    diagonal_ : ndarray of shape (n_train,)
        Similarities of the training samples to themselves.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    skmoderndata.kernels.Normalized : Normalises a kernel, which can compute the similarity of
        new samples to themselves. Prefer it if possible.
    sklearn.preprocessing.KernelCenterer : Centres a kernel matrix.

    Notes
    -----
    A matrix of new samples against training samples does not contain the similarity of a new
    sample to itself. `transform` accepts it as `diag`. Without `diag`, it uses the smallest value
    that the Cauchy-Schwarz inequality allows, ``max_j k(x, x_j)^2 / k(x_j, x_j)``. This is exact
    for training samples; for new samples, cosines are too large but never exceed 1.

    If the similarity of a sample to itself is 0, its row is 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm 5.1.

    Examples
    --------
    >>> from skmoderndata.preprocessing import KernelNormalizer
    >>> KernelNormalizer().fit_transform([[4.0, 2.0], [2.0, 9.0]]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^2",
        method=PAGE,
    )
    _parameter_constraints = {}

    def _learn(self, X, y=None):
        K, _ = self._square(X)
        d = K.diagonal().copy()
        if (d < 0).any():
            raise ValueError(
                f"KernelNormalizer needs a diagonal of at least 0, but it has {d.min():.3g}; make "
                "the matrix positive semi-definite with SpectrumCorrector first."
            )
        self.diagonal_ = d

    @by_rows
    def transform(self, X, diag=None):
        """Divide by the norms of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_train)
            Values between samples and training samples.
        diag : array-like of shape (n_samples,), default=None
            Similarities of the samples to themselves; None uses the smallest possible values.

        Returns
        -------
        K : ndarray of shape (n_samples, n_train)
            Cosines.
        """
        K, dtype = self._rows(X)
        if diag is not None:
            diag = check_array(diag, ensure_2d=False, dtype=np.float64, input_name="diag")
            if diag.shape != (len(K),) or (diag < 0).any():
                raise ValueError(
                    f"KernelNormalizer.transform: diag needs {len(K)} values of at least 0, one "
                    f"per sample; received shape {diag.shape}."
                )
        return self._map(K, diag).astype(dtype, copy=False)

    def fit_transform(self, X, y=None):
        """Store the diagonal and divide by its square roots.

        Parameters
        ----------
        X, y
            Same meaning as in `fit`.

        Returns
        -------
        K : ndarray of shape (n_train, n_train)
            Cosines.
        """
        self.fit(X)
        K, dtype = self._rows(X)
        return self._map(K, self.diagonal_).astype(dtype, copy=False)

    def _map(self, K, diag=None):
        columns = _inverse_root(self.diagonal_)
        Z = K * columns
        if diag is None:
            largest = np.abs(Z).max(axis=1, initial=0.0)
            rows = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
        else:
            rows = _inverse_root(diag)
        return Z * rows[:, None]


def _inverse_root(d):
    positive = d > 0
    roots = np.sqrt(np.where(positive, d, 1.0))
    return np.divide(1.0, roots, where=positive, out=np.zeros_like(d))
