"""Kernels defined by a matrix, by functions of the samples, or by a distance."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_samples, as_vectors, check_real
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel, function_values

FAMILY = "kernel algebra"
PAGE = "kernel_algebra"


class Bilinear(BaseKernel):
    """Inner product ``x' B z`` with a positive semi-definite matrix.

    Parameters
    ----------
    B : array-like of shape (n_features, n_features)
        Symmetric positive semi-definite matrix.

    See Also
    --------
    ARDLinear : The diagonal case, with gradients.
    sklearn.gaussian_process.kernels.DotProduct : The identity matrix, plus a constant.

    Notes
    -----
    A matrix `B` with an eigenvalue below -1e-10 times the largest raises ValueError.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.22 (vi).

    Examples
    --------
    >>> from skmoderndata.kernels import Bilinear
    >>> Bilinear([[2.0, 1.0], [1.0, 2.0]])([[1.0, 0.0], [1.0, 1.0]])
    array([[2., 3.],
           [3., 6.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 p + n p^2", domain="vector",
        method=PAGE,
    )  # fmt: skip
    _needs_vectors = True

    def __init__(self, B: Any) -> None:
        self.B = B

    def _matrix(self, p: int) -> Array:
        check_real(self.B, "Bilinear: B")
        B = np.asarray(self.B, dtype=np.float64)
        if B.shape != (p, p):
            raise ValueError(
                f"Bilinear: B has shape {B.shape}, but samples with {p} features need ({p}, {p})."
            )
        largest = np.abs(B).max(initial=0.0)
        if not np.allclose(B, B.T, rtol=RANK_TOL, atol=ACCUMULATED_ROUNDING * largest):
            raise ValueError("Bilinear: B must be symmetric; use (B + B.T) / 2.")
        w = linalg.eigvalsh(B) if p else np.zeros(1)
        if w[0] < -RANK_TOL * max(w[-1], -w[0]):
            raise ValueError(
                f"Bilinear: B must be positive semi-definite, but has an eigenvalue {w[0]:.3g}."
            )
        return B

    def _gram(self, X: Any, Y: Any) -> Array:
        XB = X @ self._matrix(X.shape[1])
        Z = X if Y is None else Y
        K: Array = XB @ Z.T
        return (K + K.T) / 2 if Y is None else K

    def _diag(self, X: Any) -> Array:
        XB = X @ self._matrix(X.shape[1])
        return np.asarray(np.einsum("ij,ij->i", XB, X))


class Covariance(BaseKernel):
    """Weighted sum of products of user-defined functions, ``sum_j q_j f_j(x) f_j(z)``.

    Parameters
    ----------
    functions : list of callable
        Vectorised functions: each maps a collection of samples to an array with one number per
        sample.
    weights : sequence of float, default=None
        Non-negative weights, such as a prior distribution over the functions; None means equal
        weights that sum to 1.

    See Also
    --------
    MonteCarlo : Functions drawn at random.
    sklearn.preprocessing.FunctionTransformer : The functions as features.

    Notes
    -----
    For functions with values -1 and 1 and weights that sum to 1, the kernel value is the
    probability that a random function agrees on the two samples minus the probability that it
    disagrees.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, equation (3.6).

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.kernels import Covariance
    >>> def first_letter(words):
    ...     return [1 if word < "n" else -1 for word in words]
    >>> def length(words):
    ...     return [1 if len(word) < 4 else -1 for word in words]
    >>> Covariance([first_letter, length])(["cat", "rat", "cart"])
    array([[ 1.,  0.,  0.],
           [ 0.,  1., -1.],
           [ 0., -1.,  1.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 times the functions",
        domain="any", method=PAGE,
    )  # fmt: skip

    def __init__(self, functions: Sequence[Callable[[Any], Any]], weights: Any = None) -> None:
        self.functions = functions
        self.weights = weights

    def _validate(self) -> None:
        if not isinstance(self.functions, list | tuple) or not self.functions:
            raise ValueError("Covariance: functions must be a non-empty list of callables.")
        if self.weights is not None:
            self._check_real("weights", 0.0, low_included=True)

    def _check(self, X: Any) -> Array:
        columns = [function_values(f, X, "Covariance") for f in self.functions]
        return np.column_stack(columns)

    def _q(self) -> Array:
        m = len(self.functions)
        return np.full(m, 1 / m) if self.weights is None else self._per_feature("weights", m)

    def _gram(self, X: Any, Y: Any) -> Array:
        Z = X if Y is None else Y
        return (X * self._q()) @ Z.T

    def _diag(self, X: Any) -> Array:
        return (X * X) @ self._q()


class MonteCarlo(BaseKernel):
    r"""Average of products of random functions, an estimate of ``E f(x) f(z)``.

    Parameters
    ----------
    sampler : callable
        ``sampler(rng, n_features)`` draws one function with a `numpy.random.RandomState` and
        returns it; the function maps a table of vectors to one number per row.
    n_components : int, default=100
        Number of functions drawn.
    random_state : int, default=0
        Seed. Every call draws the same functions again, which requires an integer.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : Random cosines, for the Gaussian kernel.
    Covariance : Functions that you choose.

    Notes
    -----
    The kernel is positive semi-definite for any number of functions. If no function exceeds 1,
    ``n_components >= 2 log(2 N / delta) / eps^2`` bounds the error by eps for N pairs
    simultaneously with probability 1 - delta (Hoeffding).

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.7.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.kernels import MonteCarlo
    >>> def half_space(rng, n_features):
    ...     w = rng.normal(size=n_features)
    ...     return lambda X: np.sign(X @ w)
    >>> k = MonteCarlo(half_space, n_components=4000)
    >>> k([[1.0, 0.0]], [[1.0, 1.0]]).round(1)
    array([[0.5]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 m + n p m, m functions",
        domain="vector", method=PAGE,
    )  # fmt: skip
    _needs_vectors = True

    def __init__(
        self,
        sampler: Callable[[Any, int], Any],
        n_components: int = 100,
        random_state: int = 0,
    ) -> None:
        self.sampler = sampler
        self.n_components = n_components
        self.random_state = random_state

    def _validate(self) -> None:
        self._check_integer("n_components", 1)
        self._check_integer("random_state", 0)

    def features(self, X: Any) -> Array:
        """Return the values of the functions, scaled so that the kernel is their inner product.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Explicit features.
        """
        self._validate()
        return self._check(X)

    def _check(self, X: Any) -> Array:
        X = as_vectors(X, "MonteCarlo")
        rng = np.random.RandomState(self.random_state)
        m = self.n_components
        p = X.shape[1]
        draws = [self.sampler(rng, p) for _ in range(m)]
        columns = [function_values(f, X, "MonteCarlo") for f in draws]
        return np.asarray(np.column_stack(columns) / np.sqrt(m))

    def _gram(self, X: Any, Y: Any) -> Array:
        Z = X if Y is None else Y
        return X @ Z.T

    def _diag(self, X: Any) -> Array:
        return np.asarray(np.einsum("ij,ij->i", X, X))


class DistanceKernel(BaseKernel):
    """Similarity from a distance, ``exp(-gamma d(x, z)^power)``.

    Parameters
    ----------
    distance : callable
        ``distance(X, Y)`` returns the matrix of distances between two collections of samples, like
        `sklearn.metrics.pairwise.manhattan_distances`.
    gamma : float, default=1.0
        Decay rate, above 0.
    power : float, default=2.0
        Exponent of the distance, above 0.
    gamma_bounds : pair of floats or "fixed", default="fixed"
        Range of `gamma` in hyperparameter search.

    See Also
    --------
    skmoderndata.preprocessing.SpectrumCorrector : Makes the matrix positive semi-definite.
    sklearn.gaussian_process.kernels.RBF : For the Euclidean distance.

    Notes
    -----
    The kernel is positive semi-definite for every `gamma` if and only if ``d^power`` is
    conditionally negative definite: the squared Euclidean distance has this property, the distance
    of dynamic time warping does not.

    References
    ----------
    .. [1] Schoenberg, Metric spaces and positive definite functions, Transactions of the American
       Mathematical Society 44(3), 1938, pp. 522-536.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import manhattan_distances
    >>> from skmoderndata.kernels import DistanceKernel
    >>> DistanceKernel(manhattan_distances, power=1)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("schoenberg1938metric",), cost="n^2 distances", domain="any",
        psd=False, method=PAGE,
    )  # fmt: skip
    _tunable = ("gamma",)

    def __init__(
        self, distance: Callable[..., Any], gamma: float = 1.0, power: float = 2.0,
        gamma_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.distance = distance
        self.gamma = gamma
        self.power = power
        self.gamma_bounds = gamma_bounds

    def _validate(self) -> None:
        self._check_real("gamma", 0.0)
        self._check_real("power", 0.0)

    @property
    def _diagonal_is_constant(self) -> bool:
        """True: the diagonal is one."""
        return True

    def _check(self, X: Any) -> Any:
        is_table = hasattr(X, "shape") and X.ndim > 1
        return X if is_table else as_samples(X, "DistanceKernel")

    def _powers(self, X: Any, Y: Any) -> Array:
        D = self.distance(X, X if Y is None else Y)
        check_real(D, "DistanceKernel: distance")
        D = np.asarray(D, dtype=np.float64)
        if D.min(initial=0.0) < 0:
            raise ValueError("DistanceKernel: the distance has negative values.")
        if Y is None:
            np.fill_diagonal(D, 0.0)
        return D**self.power

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(-self.gamma * self._powers(X, Y))

    def _diag(self, X: Any) -> Array:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.ones(n)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        return {"gamma": -self.gamma * self._powers(X, None) * K}
