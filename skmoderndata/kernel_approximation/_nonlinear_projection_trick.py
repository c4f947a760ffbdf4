"""Nonlinear projection trick: explicit coordinates in the feature space of a kernel."""

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from skmoderndata._estimator.base import warn_fewer
from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.registry import Comparison, MethodCard
from skmoderndata._kernelized.checks import resolved_gram
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import check_definite, is_low_rank, warn_of_rank
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.linalg import fix_signs, leading_eigen
from skmoderndata._solvers.kernel.incomplete_cholesky import cholesky_rows, incomplete_cholesky
from skmoderndata.kernel_approximation._base import KernelFeatures


class NonlinearProjectionTrick(KernelFeatures):
    r"""Compute explicit coordinates in feature space, whose inner products are the kernel values.

    With the eigenvectors U and eigenvalues :math:`\Lambda` of the centred kernel matrix, the
    coordinates of the training samples and of a new one are

    .. math:: Z = U \Lambda^{1/2}, \qquad z(x) = k_c(x) U \Lambda^{-1/2}.

    Any method for vectors, applied to the coordinates, becomes its kernel version. All coordinates
    together represent the training samples exactly.

    Parameters
    ----------
    n_components : int, default=None
        Number of coordinates, those of largest variance; None keeps all above rounding.
    kernel : str, Kernel or callable, default="rbf"
        Kernel whose feature space gets coordinates, or "precomputed"; see
        :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    algorithm : {"auto", "exact", "nystroem"}, default="auto"
        Use the whole kernel matrix, or its columns of `max_rank` samples. "auto" is "exact" up to
        1000 samples, for more coordinates than `max_rank` and for precomputed kernels.
    max_rank : int, default=300
        Largest number of samples whose images span the space, for "nystroem".
    landmarks : {"random_pivots", "greedy", "random"}, default="random_pivots"
        How they are chosen: as pivots of an incomplete Cholesky factorisation, drawn by their
        residuals or the largest ones, or all with the same probability.
    center : bool, default=True
        Coordinates relative to the mean of the training samples. Without, inner products are the
        kernel itself.
    tol : float, default=1e-12
        Directions with eigenvalues up to `tol` times the largest are omitted.
    random_state : int, RandomState instance or None, default=None
        Controls the landmarks. Pass an int for reproducible results.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Sums of squares of the coordinates over the training samples, largest first.
    n_components_ : int
        Number of coordinates.
    algorithm_ : str
        "exact" or "nystroem".
    landmark_indices_ : ndarray of shape (rank,)
        Samples that span the space; all of them for "exact".
    residual_trace_ : float
        Trace of the (centred) kernel matrix minus that of the coordinates' inner products.
    n_features_in_ : int
        Number of features seen during `fit`, if samples are rows of a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.KernelPCA : The same coordinates, exact only.
    sklearn.kernel_approximation.Nystroem : Random landmarks, not centred, not ordered.
    IncompleteCholesky : Coordinates without eigenvectors.

    Notes
    -----
    "exact" takes ``n^3`` operations and memory for ``n^2`` numbers, "nystroem" with m landmarks
    ``n m^2`` and ``n m``. With as many landmarks as the rank both are equal up to rounding. Signs
    are fixed: the largest coordinate of a training sample is positive.

    References
    ----------
    .. [1] Kwak, Nonlinear projection trick in kernel methods: an alternative to the kernel trick,
       IEEE Transactions on Neural Networks and Learning Systems 24(12), 2013.
    .. [2] Williams and Seeger, Using the Nystroem method to speed up kernel machines, NIPS 13,
       2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from skmoderndata.kernel_approximation import NonlinearProjectionTrick
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = NonlinearProjectionTrick(gamma=0.5, center=False).fit_transform(X)
    >>> round(float(np.abs(Z @ Z.T - rbf_kernel(X, gamma=0.5)).max()), 6)   # largest error
    0.0
    """

    _card = MethodCard(
        family="kernel approximation",
        cite=("kwak2013nonlinear", "williams2001using"),
        cost="n^3, or n m^2 with m landmarks",
        checks=(
            {"n_components": 3},
            {"algorithm": "nystroem", "max_rank": 10, "n_components": 4, "random_state": 0},
            {
                "algorithm": "nystroem",
                "max_rank": 8,
                "landmarks": "random",
                "center": False,
                "random_state": 0,
            },
        ),
        tier="textbook",
        instead="Use KernelPCA, or Nystroem for many samples: the coordinates span the same "
        "space.",
        comparison=Comparison(
            baseline="sklearn.kernel_approximation.Nystroem",
            problem="digits",
            params={
                "n_components": 30,
                "algorithm": "nystroem",
                "max_rank": 200,
                "random_state": 0,
            },
            grid={"gamma": (1e-6, 1e-5, 1e-4)},
            baseline_params={"n_components": 30, "random_state": 0},
            baseline_grid={"gamma": (1e-6, 1e-5, 1e-4)},
            # below it the kernel is linear up to its scale, and neighbours stay the same
            bounds={"gamma": 1e-6},
            baseline_bounds={"gamma": 1e-6},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        **KERNEL_CONSTRAINTS,
        "algorithm": [StrOptions({"auto", "exact", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "landmarks": [StrOptions({"random_pivots", "greedy", "random"})],
        "center": ["boolean"],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        algorithm="auto",
        max_rank=300,
        landmarks="random_pivots",
        center=True,
        tol=1e-12,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.algorithm = algorithm
        self.max_rank = max_rank
        self.landmarks = landmarks
        self.center = center
        self.tol = tol
        self.random_state = random_state

    def _learn(self, X):
        X = self._checked(X, reset=True)
        gram = self._gram = resolved_gram(self, X)
        n = count_samples(X)
        diagonal = np.asarray(gram.diag(X), dtype=np.float64)

        if not np.isfinite(diagonal).all() or (diagonal < 0).any():
            raise ValueError(
                "NonlinearProjectionTrick needs kernel values of samples with themselves that are "
                "finite and at least 0; the kernel is not positive semi-definite, or the samples "
                "are out of its range."
            )

        many = (self.n_components or 0) > self.max_rank
        # landmarks where the matrix is too large, unless more components are wanted than they give
        low = not many and is_low_rank(self.algorithm, gram, n)
        self.algorithm_ = "nystroem" if low or self.algorithm == "nystroem" else "exact"

        if self.algorithm_ == "exact":
            self._fit_exact(gram, X, n)
        else:
            self._fit_landmarks(gram, X, n, diagonal)

        self.n_components_ = len(self.eigenvalues_)
        if self.n_components_ < (self.n_components or 0):
            reason = f"the rank {self.n_components_} of the centred kernel"
            warn_fewer(self, asked=self.n_components, found=self.n_components_, reason=reason)

        total = float(diagonal.sum() - self._mean_square * n)
        self.residual_trace_ = float(total - self.eigenvalues_.sum())

    def _fit_exact(self, gram, X, n):
        K = np.asarray(gram(X), dtype=np.float64)
        K = (K + K.T) / 2

        # centring: rows, columns and grand mean
        self._means = K.mean(axis=0)
        self._mean_square = float(K.mean()) if self.center else 0.0
        spread = np.abs(K).max()
        if self.center:
            K -= self._means
            K -= (self._means - self._mean_square)[:, None]

        # coordinates K U / sqrt(w)
        w, U = self._decompose(K, spread)
        self.landmark_indices_ = np.arange(n)
        self._spanning = gram.subset(X, self.landmark_indices_)
        self.eigenvalues_ = w
        self._coef = U / np.sqrt(w)

    def _fit_landmarks(self, gram, X, n, diagonal):
        check_definite(gram)
        m = min(self.max_rank, n)
        rng = check_random_state(self.random_state)
        # pivots of the Cholesky factor, greedy or drawn by the residuals
        if self.landmarks != "random":
            greedy = self.landmarks == "greedy"
            result = incomplete_cholesky(gram, X, rank=m, greedy=greedy, rng=rng)
            F = result.factor
            pivots = result.pivots
        else:
            # landmarks drawn at random
            drawn = np.sort(rng.permutation(n)[:m])
            block = gram(X, gram.subset(X, drawn))
            # pivots among the landmarks drop those that add nothing
            K = np.asarray(block[drawn], float)
            inner = incomplete_cholesky(_OfMatrix(), K, rank=m, greedy=True)
            pivots = drawn[inner.pivots]
            L = inner.factor[inner.pivots]
            F = linalg.solve_triangular(L, block[:, inner.pivots].T, lower=True).T

        self.landmark_indices_ = pivots
        self._spanning = gram.subset(X, pivots)
        self._lower = F[pivots]

        self._means = F.mean(axis=0) if self.center else np.zeros(F.shape[1])
        self._mean_square = float(self._means @ self._means)

        # coordinates: eigenvectors of the centred factor
        Z = F - self._means
        total = float(diagonal.sum()) - self._mean_square * n
        omitted = 1.0 - float(np.vdot(Z, Z)) / max(total, np.finfo(float).tiny)
        warn_of_rank(self, len(pivots), omitted)
        w, V = self._decompose(Z.T @ Z, np.abs(diagonal).max() * n)

        scores = Z @ V
        largest = np.abs(scores).argmax(axis=0)
        peaks = np.take_along_axis(scores, largest[None], axis=0)
        signs = np.sign(peaks[0])
        self.eigenvalues_ = w
        self._coef = V * np.where(signs < 0, -1.0, 1.0)

    def _decompose(self, K, spread):
        n = len(K)
        if n == 0:
            return np.zeros(0), np.zeros((0, 0))
        w, U = leading_eigen(K, n if self.n_components is None else self.n_components)
        floor = max(self.tol * max(w[0], 0.0), 1e-15 * n * spread)
        above = w > floor
        return w[above], fix_signs(U[:, above].T).T

    def _map(self, X):
        n = count_samples(X)
        Z = np.empty((n, self.n_components_))
        if not self.n_components_:
            return Z
        step = max(1, 2**24 // (8 * len(self.landmark_indices_)))

        for start in range(0, n, step):
            # blocks of kernel values, centred as the training ones were
            rows = slice(start, min(start + step, n))
            block = take(X, rows)
            if self.algorithm_ == "exact":
                K = np.asarray(self._gram(block, self._spanning), dtype=np.float64)
                if self.center:
                    row_means = K.mean(axis=1)[:, None]
                    K = K - row_means - self._means + self._mean_square
            else:
                F = cholesky_rows(self._gram, block, self._spanning, self._lower)
                K = F - self._means

            Z[rows] = K @ self._coef
        return Z

    def _spread(self, X):
        total = super()._spread(X)
        if self.center:
            total -= 2 * float(self._mean_products(X).sum())
            total += count_samples(X) * self._mean_square
        return total

    def _mean_products(self, X):
        """Inner products of samples with the mean of the training samples."""
        if self.algorithm_ == "exact":
            return np.asarray(self._gram(X, self._spanning)).mean(axis=1)
        if not len(self.landmark_indices_):
            return np.zeros(count_samples(X))
        return cholesky_rows(self._gram, X, self._spanning, self._lower) @ self._means


class _OfMatrix:
    """Kernel matrix of the landmarks, in the form that the factorisation needs."""

    precomputed = True

    def __call__(self, X, Y):
        return X[:, Y]

    def diag(self, X):
        return X.diagonal()

    def subset(self, X, indices):
        return indices
