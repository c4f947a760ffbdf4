"""Kernel matrices of projected samples."""

import numpy as np
from scipy import linalg

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._kernelized.gram import Gram
from skmoderndata._solvers.kernel.incomplete_cholesky import incomplete_cholesky
from skmoderndata.preprocessing._base import (
    FAMILY,
    PAGE,
    KernelMatrixStep,
    leading,
    warn_of_rank,
)


class KernelProjector(KernelMatrixStep):
    """Project samples onto a subspace of feature space and return their kernel matrix.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the subspace, at most the numerical rank; None means that only `tol` limits
        it.
    algorithm : {"eigen", "cholesky"}, default="eigen"
        Choice of the subspace: the span of the leading principal directions, or of the images of
        samples selected greedily (incomplete Cholesky, partial Gram-Schmidt).
    tol : float, default=1e-12
        Tolerance of the rank. "eigen" keeps eigenvalues above `tol` times the largest; "cholesky"
        stops when the trace of the residual is `tol` times the trace of the matrix.
    center : bool, default=False
        Whether to centre the matrix first.

    Attributes
    ----------
    n_components_ : int
        Dimension of the subspace.
    residual_trace_ : float
        Trace of the matrix minus the trace of its projection.
    projection_ : ndarray of shape (n_train, n_train)
        Matrix by which rows are multiplied.
    pivots_ : ndarray of shape (n_components_,)
        Indices of the selected samples for "cholesky"; empty for "eigen".
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Computes coordinates in the leading subspace.
    skmoderndata.kernel_approximation.IncompleteCholesky : Computes coordinates from samples, for
        large n.

    Notes
    -----
    The columns of the result are the training samples, as in the input. Of all projections with a
    certain rank, "eigen" has the largest trace; "cholesky" needs no eigenvectors. The cost is
    ``n^3``, or ``n k^2`` plus ``n^2 k`` for the projection with "cholesky".

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 3.4
       and Algorithm 5.12.

    Examples
    --------
    >>> from skmoderndata.preprocessing import KernelProjector
    >>> K = [[1.0, 2.0, 3.0], [2.0, 5.0, 7.0], [3.0, 7.0, 10.0]]
    >>> KernelProjector(n_components=1).fit_transform(K).round(4)
    array([[0.8841, 2.0883, 2.9724],
           [2.0883, 4.9327, 7.021 ],
           [2.9724, 7.021 , 9.9934]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("shawetaylor2004kernel",),
        cost="n^3",
        method=PAGE,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "algorithm": [StrOptions({"eigen", "cholesky"})],
        "tol": [NON_NEGATIVE],
        "center": ["boolean"],
    }

    @parameters_are_named
    def __init__(self, n_components=None, *, algorithm="eigen", tol=1e-12, center=False):
        self.n_components = n_components
        self.algorithm = algorithm
        self.tol = tol
        self.center = center

    def _learn(self, X, y=None):
        K, _ = self._symmetric(X)
        self._mean = K.mean(axis=0) if self.center else None
        self._grand = K.mean() if self.center else 0.0
        K = self._centred(K)

        if self.algorithm == "eigen":
            # Project onto the leading eigenvectors: U U'.
            w, U = leading(K, self.n_components, self.tol)
            self.projection_ = U @ U.T
            self.pivots_ = np.zeros(0, dtype=np.intp)
            explained = w.sum()
            self.n_components_ = len(w)
        else:
            # Use a pivoted Cholesky factor: new samples need only the columns of the pivots.
            rank = len(K) if self.n_components is None else self.n_components
            gram = Gram("precomputed")
            result = incomplete_cholesky(gram, K, rank=rank, tol=self.tol, greedy=True)
            F = result.factor
            p = result.pivots
            # The projection maps a row k to k[p] inv(L)' F', where L = F[p].
            back = F.T
            if len(p):
                back = linalg.solve_triangular(F[p], F.T, lower=True, trans="T")
            self.projection_ = np.zeros_like(K)
            self.projection_[p] = back
            self.pivots_ = p
            explained = np.einsum("ij,ij->", F, F)
            self.n_components_ = len(p)

        warn_of_rank(self)
        self.residual_trace_ = float(K.trace() - explained)

    def _centred(self, K):
        if self._mean is None:
            return K
        row_means = K.mean(axis=1)[:, None]
        return K - row_means - self._mean + self._grand

    def _map(self, K):
        return self._centred(K) @ self.projection_
