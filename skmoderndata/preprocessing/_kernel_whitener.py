"""Uncorrelated features from a kernel matrix."""

import numpy as np

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata.preprocessing._base import (
    FAMILY,
    PAGE,
    KernelMatrixStep,
    ideal_columns,
    leading,
    warn_of_rank,
)


class KernelWhitener(KernelMatrixStep):
    r"""Compute uncorrelated features of equal variance from a kernel matrix.

    The features of a sample are its coordinates on the principal directions of the feature space.
    Each coordinate is divided by its standard deviation over the training samples, or scaled so
    that the kernel of the features is aligned with a target as well as possible [2]_.

    Parameters
    ----------
    n_components : int, default=None
        Number of features, at most the numerical rank of the centred matrix; None keeps all.
    scale : {"unit_covariance", "unit_eigenvalue", "alignment"}, default="unit_covariance"
        Scale of the features: variance one, or such that the kernel matrix of the training
        features has eigenvalues one. The two differ by the square root of the number of training
        samples. "alignment" gives the kernel matrix the eigenvalues :math:`\mu_j \propto \|T^\top
        u_j\|^2`, with the centred columns T of the target y and the principal directions
        :math:`u_j`: no other eigenvalues give :math:`\sum_j \mu_j u_j u_j^\top` a larger alignment
        with the ideal matrix :math:`T T^\top`.
    rank_tol : float, default=1e-12
        Tolerance of the rank: directions with eigenvalues up to `rank_tol` times the largest are
        omitted.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the centred matrix in descending order.
    scaled_eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the kernel matrix of the training features; with "alignment", scaled to a
        mean diagonal of 1.
    n_components_ : int
        Number of features.
    projection_ : ndarray of shape (n_train, n_components_)
        Combinations of centred kernel values that give the features; the largest entry of each
        column is positive.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Computes coordinates that keep their variances.
    AlignedKernelCombination : Chooses weights of several kernels by alignment.

    Notes
    -----
    The matrix is centred first, and so are rows of new samples, with the means of the training
    samples. The book's program omits this, and its features have covariance ``I / n``. Directions
    of small variance are amplified noise: choose `n_components`. With all directions, "alignment"
    memorises the training targets. The cost is ``n^3``.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, Algorithm 6.16.
    .. [2] The same, section 3.4: the eigenvalues chosen to optimise the alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.preprocessing import KernelWhitener
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 5, 25]
    >>> Z = KernelWhitener().fit_transform(X @ X.T)
    >>> np.cov(Z.T, bias=True).round(6) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^3",
        method=PAGE,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "scale": [StrOptions({"unit_covariance", "unit_eigenvalue", "alignment"})],
        "rank_tol": [NON_NEGATIVE],
    }

    @parameters_are_named
    def __init__(self, n_components=None, *, scale="unit_covariance", rank_tol=1e-12):
        self.n_components = n_components
        self.scale = scale
        self.rank_tol = rank_tol

    def _learn(self, X, y=None):
        K, _ = self._symmetric(X)
        self._mean = K.mean(axis=0)
        self._grand = K.mean()
        centred = K - self._mean - K.mean(axis=1)[:, None] + self._grand
        spread = np.abs(K).max(initial=0.0)
        w, U = leading(centred, self.n_components, self.rank_tol)
        # For equal samples, only rounding errors remain after centring.
        above = w > ROUNDING * len(K) * spread
        w = w[above]
        U = fix_signs(U[:, above].T).T
        self.eigenvalues_ = w
        self.n_components_ = len(w)
        warn_of_rank(self)
        self.scaled_eigenvalues_ = self._scaled(U, y)
        self.projection_ = U * (np.sqrt(self.scaled_eigenvalues_) / w)
        self._n_features_out = len(w)

    def _scaled(self, U, y):
        """Compute the eigenvalues that the kernel matrix of the features should have."""
        n, k = U.shape
        if self.scale != "alignment":
            return np.full(k, float(n) if self.scale == "unit_covariance" else 1.0)

        # Maximise sum_j mu_j |T'u_j|^2 for a fixed sum_j mu_j^2.
        T = ideal_columns(y, n, type(self).__name__)
        mu = ((T.T @ U) ** 2).sum(axis=0)
        total = mu.sum()
        if not total > ACCUMULATED_ROUNDING**2 * (T**2).sum():
            raise ValueError(
                f"KernelWhitener(scale='alignment'): the {k} directions have nothing in common "
                "with the target: use more n_components, or another kernel."
            )
        return mu * (n / total)

    def _map(self, K):
        centred = K - K.mean(axis=1)[:, None] - self._mean + self._grand
        return centred @ self.projection_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.scale == "alignment"
        return tags

    def _compared(self, K):
        training = self.projection_ * self.eigenvalues_
        return self._map(K) @ training.T
