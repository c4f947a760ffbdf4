"""Kernels derived from one kernel: conformal, pullback, polynomial, exponential, normalised."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import check_finite
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import key_of_kernel
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import (
    BaseKernel,
    constant_diagonal,
    function_values,
    kernel_from_data,
)

FAMILY = "kernel algebra"
PAGE = "kernel_algebra"


class _OfKernel(BaseKernel):
    """A kernel that is a function of an inner kernel, on the same samples."""

    kernel: Any

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        return bool(self.kernel.requires_vector_input)

    @property
    def encoding(self) -> Hashable | None:
        """Name of the form that `encode` stores: the same as for the inner kernel."""
        return self.kernel.encoding if isinstance(self.kernel, BaseKernel) else None

    def _encode(self, X: list[Any]) -> Any:
        return self.kernel._encode(X)

    def _collection(self, X: Any, name: str) -> list[Any]:
        if isinstance(self.kernel, BaseKernel):
            return self.kernel._collection(X, name)
        return super()._collection(X, name)

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy whose inner kernel is set from training samples.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy.
        """
        kernel = kernel_from_data(self.kernel, X)
        return super().from_data(X).set_params(kernel=kernel)

    def _real(self, X: Any) -> Any:
        if isinstance(X, Encoded):  # the inner kernel interprets this form
            return X if X.key and X.key == self.encoding else X.samples
        return super()._real(X)

    def _check(self, X: Any) -> Any:
        return X

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            True if the inner kernel is stationary.
        """
        return bool(self.kernel.is_stationary())

    @property
    def _diagonal_is_constant(self) -> bool:
        """Whether the inner kernel, and with it this one, has a constant diagonal."""
        return constant_diagonal(self.kernel)

    def _inner_gram(self, X: Any, Y: Any) -> Array:
        return self.kernel(X) if Y is None else self.kernel(X, Y)

    def _inner_gradient(self, X: Any) -> Array:
        _, gradient = self.kernel(X, eval_gradient=True)
        return gradient


def _diagonal_of(gradient: Array) -> Array:
    """Return the gradient of the diagonal, shape (n, n_dims)."""
    return np.asarray(np.einsum("iij->ij", gradient))


def _sums_of_pairs(d: Array) -> Array:
    """Return the sums `d_i + d_j` of all pairs of rows, shape (n, n, n_dims)."""
    return d[:, None, :] + d[None, :, :]


class Conformal(_OfKernel):
    r"""Kernel rescaled by a function of the samples, ``f(x) k(x, z) f(z)``.

    Every kernel is the conformal transform of its normalised form with ``f(x) = k(x, x)^(1/2)``.

    Parameters
    ----------
    kernel : Kernel
        Kernel to rescale.
    func : callable
        Vectorised function from a collection of samples to an array with one number per sample.

    See Also
    --------
    sklearn.gaussian_process.kernels.Product : Product of two kernels.
    Normalized : The rescaling that makes the diagonal one.

    Notes
    -----
    The kernel is positive semi-definite for any `func` if `kernel` is. Gradients are the rescaled
    gradients of `kernel`. For pickling, `func` must be importable, so it cannot be a lambda.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.22 (iv).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import Conformal
    >>> k = Conformal(DotProduct(sigma_0=1.0), np.ravel)
    >>> k(np.array([[1.0], [2.0]]))
    array([[ 2.,  6.],
           [ 6., 20.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, func: Callable[[Any], Any]) -> None:
        self.kernel = kernel
        self.func = func

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            False: `func` depends on the samples.
        """
        return False

    @property
    def _diagonal_is_constant(self) -> bool:
        """False: the values of `func` are unknown."""
        return False

    def _gram(self, X: Any, Y: Any) -> Array:
        f = function_values(self.func, X, "Conformal")
        g = f if Y is None else function_values(self.func, Y, "Conformal")
        return np.outer(f, g) * self._inner_gram(X, Y)

    def _diag(self, X: Any) -> Array:
        f = function_values(self.func, X, "Conformal")
        return f**2 * self.kernel.diag(X)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        f = function_values(self.func, X, "Conformal")
        factors = np.outer(f, f)
        return {"kernel": factors[:, :, None] * self._inner_gradient(X)}


class Pullback(BaseKernel):
    """Kernel of mapped samples, ``k(g(x), g(z))``.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the mapped samples.
    func : callable
        Vectorised function from a collection of samples to the collection of their images, such as
        the `transform` method of a fitted transformer.

    See Also
    --------
    sklearn.pipeline.make_pipeline : A transformer before the estimator does the same if the whole
        kernel uses the mapped samples.

    Notes
    -----
    The kernel is positive semi-definite for any `func` if `kernel` is. If `func` selects columns,
    sums and products of pullbacks combine kernels on different columns of a table. Gradients are
    the gradients of `kernel`.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.22 (v).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import Pullback
    >>> Pullback(DotProduct(sigma_0=0.0), np.log)(np.array([[1.0], [np.e]]))
    array([[0., 0.],
           [0., 1.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, func: Callable[[Any], Any]) -> None:
        self.kernel = kernel
        self.func = func

    @property
    def _diagonal_is_constant(self) -> bool:
        """Whether the inner kernel, and with it this one, has a constant diagonal."""
        return constant_diagonal(self.kernel)

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy whose inner kernel is set from the images of training samples.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy.
        """
        kernel = kernel_from_data(self.kernel, self.func(X))
        return super().from_data(X).set_params(kernel=kernel)

    def _check(self, X: Any) -> Any:
        images = self.func(X)
        if self.kernel.requires_vector_input:
            check_finite(images, "Pullback: the kernel of the values of func")
        return images

    def _gram(self, X: Any, Y: Any) -> Array:
        return self.kernel(X) if Y is None else self.kernel(X, Y)

    def _diag(self, X: Any) -> Array:
        return self.kernel.diag(X)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        _, gradient = self.kernel(X, eval_gradient=True)
        return {"kernel": gradient}


class PolynomialOf(_OfKernel):
    """Polynomial of a kernel with non-negative coefficients, ``sum_i coef[i] k^i``.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel.
    coef : sequence of float, default=(1.0, 1.0)
        Non-negative coefficients, starting with the constant term.

    See Also
    --------
    sklearn.gaussian_process.kernels.Exponentiation : A single power.

    Notes
    -----
    The kernel is positive semi-definite if `kernel` is. Gradients follow from the chain rule.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.24 (i) and Definition 9.1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import PolynomialOf
    >>> k = PolynomialOf(DotProduct(sigma_0=0.0), coef=(1, 2, 1))
    >>> k([[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]])
    array([[1089.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, coef: Sequence[float] = (1.0, 1.0)) -> None:
        self.kernel = kernel
        self.coef = coef

    def _validate(self) -> None:
        self._check_real("coef", 0.0, low_included=True)

    def _of(self, k: Array, order: int = 0) -> Array:
        coef = np.atleast_1d(np.asarray(self.coef, dtype=np.float64))
        polynomial = np.polynomial.Polynomial(coef)
        if order:
            polynomial = polynomial.deriv(order)
        return polynomial(k)

    def _gram(self, X: Any, Y: Any) -> Array:
        return self._of(self._inner_gram(X, Y))

    def _diag(self, X: Any) -> Array:
        return self._of(self.kernel.diag(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        k, gradient = self.kernel(X, eval_gradient=True)
        slope = self._of(k, 1)
        return {"kernel": slope[:, :, None] * gradient}


class ExponentialOf(_OfKernel):
    """Exponential of a kernel, ``exp(k / scale)``.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel.
    scale : float, default=1.0
        Divisor, above 0.
    scale_bounds : pair of floats or "fixed", default="fixed"
        Range of `scale` in hyperparameter search.

    See Also
    --------
    GaussianOf : The normalised form.

    Notes
    -----
    The kernel is positive semi-definite if `kernel` is. Inside `Normalized` it is computed from
    logarithms, ``exp(k(x, z) - (k(x, x) + k(z, z)) / 2)``, and does not overflow.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.24 (ii).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import ExponentialOf, Normalized
    >>> k = ExponentialOf(DotProduct(sigma_0=0.0))
    >>> k([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    >>> Normalized(k)([[1.0], [100.0]])[0, 0]
    np.float64(1.0)
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip
    _tunable = ("scale",)

    def __init__(self, kernel: Any, scale: float = 1.0, scale_bounds: Any = "fixed") -> None:
        self.kernel = kernel
        self.scale = scale
        self.scale_bounds = scale_bounds

    def _validate(self) -> None:
        self._check_real("scale", 0.0)

    def _log_gram(self, X: Any, Y: Any) -> Array:
        return self._inner_gram(X, Y) / self.scale

    def _log_diag(self, X: Any) -> Array:
        return self.kernel.diag(X) / self.scale

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(self._log_gram(X, Y))

    def _diag(self, X: Any) -> Array:
        return np.exp(self._log_diag(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        slopes = self._log_gradients(X)
        return {"scale": K * slopes["scale"], "kernel": K[:, :, None] * slopes["kernel"]}

    def _log_gradients(self, X: Any) -> dict[str, Array]:
        """Return derivatives of the logarithms of the matrix."""
        k, gradient = self.kernel(X, eval_gradient=True)
        return {"scale": -k / self.scale, "kernel": gradient / self.scale}


class GaussianOf(_OfKernel):
    r"""Gaussian kernel of the distance in the feature space of another kernel.

    .. math:: \exp\left(-\frac{k(x, x) - 2 k(x, z) + k(z, z)}{2 \sigma^2}\right)

    Parameters
    ----------
    kernel : Kernel
        Inner kernel, of any kind of sample.
    length_scale : float, default=1.0
        Width, above 0.
    length_scale_bounds : pair of floats or "fixed", default="fixed"
        Range of `length_scale` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.RBF : The special case of the linear inner kernel.

    Notes
    -----
    The kernel is positive semi-definite if `kernel` is; the diagonal is one. Squared distances
    that are negative because of rounding are set to 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import GaussianOf
    >>> k = GaussianOf(DotProduct(sigma_0=1.0) ** 2, length_scale=2.0)
    >>> k([[1.0, 0.0]], [[0.0, 1.0]]).round(6)
    array([[0.472367]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip
    _tunable = ("length_scale",)

    def __init__(
        self, kernel: Any, length_scale: float = 1.0, length_scale_bounds: Any = "fixed"
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def _diagonal_is_constant(self) -> bool:
        """True: the diagonal is one."""
        return True

    def _validate(self) -> None:
        self._check_real("length_scale", 0.0)

    def _squares(self, X: Any, Y: Any) -> Array:
        a = self.kernel.diag(X)
        if Y is None:
            D = a[:, None] + a - 2 * self.kernel(X)
            np.fill_diagonal(D, 0.0)
        else:
            D = a[:, None] + self.kernel.diag(Y) - 2 * self.kernel(X, Y)
        return np.asarray(np.maximum(D, 0.0))

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(-self._squares(X, Y) / (2 * self.length_scale**2))

    def _diag(self, X: Any) -> Array:
        return np.ones(len(self.kernel.diag(X)))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        gradient = self._inner_gradient(X)
        d = _diagonal_of(gradient)
        of_square = _sums_of_pairs(d) - 2 * gradient
        variance = self.length_scale**2
        return {
            "length_scale": K * self._squares(X, None) / variance,
            "kernel": -K[:, :, None] * of_square / (2 * variance),
        }


class Normalized(_OfKernel):
    r"""Cosine similarity in feature space, ``k(x, z) / sqrt(k(x, x) k(z, z))``.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel.

    See Also
    --------
    skmoderndata.preprocessing.KernelNormalizer : The same for a matrix.
    Conformal : The inverse.

    Notes
    -----
    A sample with ``k(x, x) = 0``, such as a string with fewer symbols than the substrings that are
    counted, has similarity 0 to all samples, itself included. Kernels that compute the logarithms
    of their values (such as `ExponentialOf` and `PowerSet`) are normalised on that scale and do
    not overflow.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 2.3
       and Algorithm 5.1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import Normalized
    >>> Normalized(DotProduct(sigma_0=0.0))([[1.0, 0.0], [2.0, 1.0]]).round(6)
    array([[1.      , 0.894427],
           [0.894427, 1.      ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="cost of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def _log_diagonal(self, X: Any, A: Any) -> Array:
        """Return logarithms of the diagonal for `A`, the form of `X`; cached if `X` is encoded."""
        if not isinstance(X, Encoded):
            return np.asarray(self.kernel._log_diag(A))
        key = ("logarithms", key_of_kernel(self.kernel))
        if key not in X.diagonals:
            X.diagonals[key] = np.asarray(self.kernel._log_diag(A))
        return X.diagonals[key]

    def _roots(self, X: Any) -> Array:
        d = np.asarray(self.kernel.diag(X), dtype=np.float64)
        if (d < 0).any():
            raise ValueError(
                f"Normalized: {self.kernel!r} has a negative diagonal entry, {d.min():.3g}; the "
                "kernel is not positive semi-definite."
            )
        return np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)

    def _gram(self, X: Any, Y: Any) -> Array:
        if hasattr(self.kernel, "_log_gram"):
            self.kernel._validate()
            A = self.kernel._real(X)
            B = None if Y is None else self.kernel._real(Y)
            logarithm = self.kernel._log_gram(A, B)
            a = logarithm.diagonal() if B is None else self._log_diagonal(X, A)
            b = a if B is None else self._log_diagonal(Y, B)

            # the logarithm of a zero on the diagonal is -inf; the row of the result is zero
            positive = a > -np.inf
            left = np.where(positive, a, 0.0)
            right = np.where(b > -np.inf, b, 0.0)
            scale = (left[:, None] + right) / 2
            K = np.exp(logarithm - scale)
            if Y is None:
                np.fill_diagonal(K, positive)
        else:
            # without logarithms, divide by the roots of the diagonal
            r = self._roots(X)
            s = r if Y is None else self._roots(Y)
            K = r[:, None] * self._inner_gram(X, Y) * s

            # a sample with similarity 0 to itself keeps the value 0
            if Y is None:
                np.fill_diagonal(K, r > 0)
        return np.asarray(K)

    def _diag(self, X: Any) -> Array:
        if hasattr(self.kernel, "_log_gram"):
            self.kernel._validate()
            logarithm = self._log_diagonal(X, self.kernel._real(X))
            positive = logarithm > -np.inf
        else:
            positive = np.asarray(self.kernel.diag(X)) > 0
        return positive.astype(np.float64)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        if hasattr(self.kernel, "_log_gradients"):
            return self._gradients_of_logarithms(X, K)
        gradient = self._inner_gradient(X)
        r = self._roots(X)
        if not (np.isfinite(gradient).all() and np.isfinite(r).all()):
            raise ValueError(
                f"Normalized: the gradient of {self.kernel!r} exceeds double precision for these "
                "samples; fix its parameters with bounds 'fixed', or use smaller samples."
            )

        # d(r k r') = r dk r' - K (dk(x, x) / k(x, x) + dk(z, z) / k(z, z)) / 2
        squares = r**2
        d = _diagonal_of(gradient) * squares[:, None]
        roots = r[:, None] * r
        scaled = roots[:, :, None] * gradient
        return {"kernel": scaled - K[:, :, None] * _sums_of_pairs(d) / 2}

    def _gradients_of_logarithms(self, X: Any, K: Array) -> dict[str, Array]:
        """Differentiate ``log k(x, z) - (log k(x, x) + log k(z, z)) / 2``."""
        gradients = self.kernel._log_gradients(self.kernel._real(X))
        slopes = self.kernel._in_order_of_theta(gradients)
        centred = slopes - _sums_of_pairs(_diagonal_of(slopes)) / 2
        # if a value is zero, the derivative of its logarithm may be infinite
        values = K[:, :, None]
        return {"kernel": values * np.where(values > 0.0, centred, 0.0)}
