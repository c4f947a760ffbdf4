"""Positive semi-definite matrices from similarities."""

import numpy as np
from scipy import linalg

from skmoderndata._estimator.compat import NON_NEGATIVE, StrOptions
from skmoderndata._estimator.doors import in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.preprocessing._base import FAMILY, PAGE, KernelMatrixStep


class SpectrumCorrector(KernelMatrixStep):
    r"""Convert indefinite similarities to a positive semi-definite kernel matrix.

    With ``S = U diag(w) U'``, the training matrix becomes ``U diag(f(w)) U'``, and rows s of new
    samples become ``s U diag(f(w) / w) U'``:

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
        Tolerance of the rank: eigenvalues of magnitude up to `tol` times the largest count as 0.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_train,)
        Eigenvalues of the similarities in descending order.
    n_negative_ : int
        Number of negative eigenvalues.
    negative_fraction_ : float
        Fraction of the sum of magnitudes that is due to negative eigenvalues: 0 for a kernel
        matrix.
    projection_ : ndarray of shape (n_train, n_train)
        Matrix by which new rows are multiplied; the identity for "shift".
    shift_ : float
        Number that is added to similarities of samples to themselves; 0 except for "shift".
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    DoubleCenterer : Computes similarities from distances.
    skmoderndata.kernels.DistanceKernel : Computes a similarity that may need correction.

    Notes
    -----
    "clip", "flip" and "square" are linear maps of the rows, the same for training and new samples.
    "shift" adds to the diagonal of the training matrix, but only in `fit_transform`: `transform`
    does not change rows, because it cannot distinguish training samples from new ones. Hence
    ``fit_transform(S)`` differs from ``fit(S).transform(S)`` for "shift", but not otherwise.

    The training matrix does not determine the similarity between two new samples; `between`
    computes the similarity for which the features of the rows are the features used here. The cost
    is ``n^3``: one complete eigendecomposition, and a product with the eigenvectors of the
    negative or of the positive eigenvalues, whichever are fewer ("clip", "flip"). All eigenvectors
    are stored for `between`.

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
        method=PAGE,
    )
    _parameter_constraints = {
        "algorithm": [StrOptions({"clip", "flip", "square", "shift"})],
        "tol": [NON_NEGATIVE],
    }

    @parameters_are_named
    def __init__(self, algorithm="clip", *, tol=1e-12):
        self.algorithm = algorithm
        self.tol = tol

    def _learn(self, X, y=None):
        S, _ = self._symmetric(X)
        values, self._vectors = linalg.eigh(S, driver="evd")  # in ascending order
        sizes = np.abs(values)
        w = np.where(sizes <= self.tol * sizes.max(initial=0.0), 0.0, values)
        self.projection_ = self._projection(S, values, w)
        self.eigenvalues_ = w[::-1].copy()

        # Measure the negative part, and compute the shift that removes it.
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
            Same meaning as in `fit`.

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

    @in_memory
    def between(self, X, Y=None):
        """Compute corrected similarities between arbitrary samples.

        Parameters
        ----------
        X : array-like of shape (n_X, n_train)
            Similarities between samples and training samples.
        Y : array-like of shape (n_Y, n_train), default=None
            Similarities between other samples and training samples; None uses `X`.

        Returns
        -------
        K : ndarray of shape (n_X, n_Y)
            Inner products of the features that the correction implies: rows projected on the kept
            eigenvectors and divided by the roots of the eigenvalues ("clip", "flip"; also for
            "shift", whose private features new samples do not share), or the rows themselves
            ("square").
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
        """Compute ``U diag(f(w) / w) U'`` from the smaller set of eigenvectors."""
        n = len(w)
        # Zero eigenvalues lie between the negative and the positive ones.
        below = int((w < 0).sum())
        above = int((w <= 0).sum())
        if self.algorithm == "shift":
            return np.eye(n)
        # For f(w) = w^2, use S minus the rounding errors of the zero eigenvalues.
        if self.algorithm == "square":
            U = self._vectors[:, below:above]
            return S - (U * values[below:above]) @ U.T

        # Subtract the projection onto the eigenvectors of non-positive eigenvalues from the
        # identity, unless there are fewer non-negative than non-positive eigenvalues.
        if above <= n - below:
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
        """Divide the eigenvectors that `between` uses by the roots of their eigenvalues."""
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
