"""Positive semi-definite matrices from similarities."""

import numpy as np
from scipy import linalg

from skmoderndata._estimator.compat import NON_NEGATIVE, StrOptions
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.preprocessing._base import FAMILY, PAGE, KernelMatrixStep


class SpectrumCorrector(KernelMatrixStep):
    r"""Correct indefinite similarities to a positive semi-definite kernel matrix.

    With ``S = U diag(w) U'`` the training matrix becomes ``U diag(f(w)) U'`` and rows s of new
    samples ``s U diag(f(w) / w) U'``:

    ========= ===================== =========================================
    algorithm f(w)
    ========= ===================== =========================================
    clip      ``max(w, 0)``         the nearest positive semi-definite matrix
    flip      ``|w|``               keeps the size of negative directions
    square    ``w^2``               rows as features, ``S S'``
    shift     ``w - min(w, 0)``     changes the diagonal only
    ========= ===================== =========================================

    Parameters
    ----------
    algorithm : {"clip", "flip", "square", "shift"}, default="clip"
        Correction of the eigenvalues, see above.
    tol : float, default=1e-12
        Eigenvalues of magnitude up to `tol` times the largest count as 0.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_train,)
        Eigenvalues of the similarities, largest first.
    n_negative_ : int
        Number of negative eigenvalues.
    negative_fraction_ : float
        Their fraction of the sum of magnitudes: 0 for a kernel matrix.
    projection_ : ndarray of shape (n_train, n_train)
        Matrix that multiplies new rows; the identity for "shift".
    shift_ : float
        What is added to similarities of samples to themselves, 0 but for "shift".
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    DoubleCenterer : Similarities from distances.
    skmoderndata.kernels.DistanceKernel : A similarity that may need correction.

    Notes
    -----
    "clip", "flip" and "square" are linear maps of the rows, the same for training and new samples.
    "shift" adds to the diagonal of the training matrix, in `fit_transform` only: `transform`
    does not change rows, because it cannot distinguish training samples from new ones. Hence
    ``fit_transform(S)`` differs from ``fit(S).transform(S)`` for "shift", but not otherwise.

    The similarity between two new samples is not determined by the training matrix; `between`
    gives the one in which the rows' features are those used here. Cost ``n^3``: one complete
    eigendecomposition, and a product with the eigenvectors of the negative or of the positive
    eigenvalues, whichever are fewer ("clip", "flip"). All eigenvectors are kept for `between`.

    References
    ----------
    .. [1] Chen, Garcia, Gupta, Rahimi and Cazzanti, Similarity-based classification: concepts and
       algorithms, Journal of Machine Learning Research 10, 2009, section 4.
    .. [2] Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra and
       its Applications 103, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import SpectrumCorrector
    >>> S = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    >>> corrector = SpectrumCorrector().fit(S)
    >>> corrector.eigenvalues_.round(3)
    array([ 2.377,  0.8  , -0.177])
    >>> corrector.transform([[0.8, 0.5, 0.1]]).round(4)
    array([[0.7689, 0.5476, 0.0689]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("chen2009similarity", "higham1988computing"),
        cost="n^3",
        checks=({}, {"algorithm": "flip"}, {"algorithm": "square"}),
        method=PAGE,
        no_comparison="scikit-learn takes indefinite kernel matrices as they are.",
    )
    _parameter_constraints = {
        "algorithm": [StrOptions({"clip", "flip", "square", "shift"})],
        "tol": [NON_NEGATIVE],
    }

    def __init__(self, algorithm="clip", *, tol=1e-12):
        self.algorithm = algorithm
        self.tol = tol

    def _learn(self, X, y=None):
        S, _ = self._symmetric(X)
        values, self._vectors = linalg.eigh(S, driver="evd")  # ascending
        sizes = np.abs(values)
        w = np.where(sizes <= self.tol * sizes.max(initial=0.0), 0.0, values)
        self.projection_ = self._projection(S, values, w)
        self.eigenvalues_ = w[::-1].copy()

        # the negative part, and the shift that removes it
        negative = w[w < 0]
        self.n_negative_ = len(negative)
        total = np.abs(w).sum()
        self.negative_fraction_ = float(-negative.sum() / total) if total > 0 else 0.0
        self.shift_ = 0.0
        if self.algorithm == "shift":
            self.shift_ = float(max(-self.eigenvalues_[-1], 0.0))

    def fit_transform(self, X, y=None):
        """Correct the matrix of the training samples.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        K : ndarray of shape (n_train, n_train)
            Positive semi-definite matrix.
        """
        self.fit(X)
        S, dtype = self._rows(X)
        K = self._map(S)
        K = (K + K.T) / 2
        if self.shift_:
            K[np.diag_indices_from(K)] += self.shift_
        return K.astype(dtype, copy=False)

    def between(self, X, Y=None):
        """Compute corrected similarities between arbitrary samples.

        Parameters
        ----------
        X : array-like of shape (n_X, n_train)
            Similarities of samples to the training samples.
        Y : array-like of shape (n_Y, n_train), default=None
            Those of other samples; None uses `X`.

        Returns
        -------
        K : ndarray of shape (n_X, n_Y)
            Inner products of the features that the correction stands for: rows projected on the
            eigenvectors kept, over the roots of the eigenvalues ("clip", "flip"; also for "shift",
            whose private features new samples do not share), or the rows themselves ("square").
        """
        A, dtype = self._rows(X)
        B = A
        if Y is not None:
            B, _ = self._rows(Y)
        if self.algorithm != "square":
            half = self._half()
            A = A @ half
            B = B @ half
        return (A @ B.T).astype(dtype, copy=False)

    def _projection(self, S, values, w):
        """Matrix ``U diag(f(w) / w) U'`` from the fewer of the eigenvectors."""
        n = len(w)
        # zeros lie between
        below = int((w < 0).sum())
        above = int((w <= 0).sum())
        if self.algorithm == "shift":
            return np.eye(n)
        # f(w) = w^2: S, less what rounding has left of the zeros
        if self.algorithm == "square":
            U = self._vectors[:, below:above]
            return S - (U * values[below:above]) @ U.T

        if above <= n - below:  # what is not positive, taken from the identity
            U = self._vectors[:, :above]
            gain = np.ones(above)
            if self.algorithm == "flip":
                gain[:below] = 2.0
            projection = np.eye(n) - (U * gain) @ U.T
        else:
            U = self._vectors[:, below:]
            gain = np.ones(n - below)
            if self.algorithm == "flip":
                gain[above - below :] = 2.0
                projection = (U * gain) @ U.T - np.eye(n)
            else:
                gain[: above - below] = 0.0
                projection = (U * gain) @ U.T

        return projection

    def _half(self):
        """Eigenvectors over the roots of the eigenvalues, of those that `between` keeps."""
        w = self.eigenvalues_[::-1]
        below = int((w < 0).sum())
        above = int((w <= 0).sum())
        U = self._vectors[:, above:]
        roots = np.sqrt(w[above:])
        if self.algorithm == "flip" and below:
            U = np.hstack([self._vectors[:, :below], U])
            roots = np.concatenate([np.sqrt(-w[:below]), roots])
        return U / roots

    def _map(self, S):
        return S.copy() if self.algorithm == "shift" else S @ self.projection_
