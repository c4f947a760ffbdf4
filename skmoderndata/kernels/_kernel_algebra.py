"""Kernels made of kernels and functions: the closure properties, as objects."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from skmoderndata._registry import KernelCard
from skmoderndata.kernels._base import Array, BaseKernel, as_samples, as_vectors, check_real

FAMILY = "kernel algebra"
PAGE = "kernel_algebra"


class _OfKernel(BaseKernel):
    """A kernel that is a function of another one, whose samples it takes."""

    kernel: Any

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        return bool(self.kernel.requires_vector_input)

    def _check(self, X: Any) -> Any:
        return X

    def _inner_gradient(self, X: Any) -> Array:
        gradient: Array = self.kernel(X, eval_gradient=True)[1]
        return gradient


def _values(func: Callable[[Any], Any], X: Any, name: str) -> Array:
    """Values of a vectorised function, one per sample."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    values = func(X)
    check_real(values, name)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise ValueError(
            f"{name}: a function of samples has to return one finite number per sample, shape "
            f"({n},), and returned an array of shape {values.shape}."
        )
    return values


def _diagonal_of(gradient: Array) -> Array:
    """Gradient of the diagonal, shape (n, n_dims)."""
    return np.asarray(np.einsum("iij->ij", gradient))


class Conformal(_OfKernel):
    r"""Kernel rescaled by a function of the samples, ``f(x) k(x, z) f(z)``.

    Every kernel is the conformal transform of its normalised form with ``f(x) = k(x, x)^(1/2)``.

    Parameters
    ----------
    kernel : Kernel
        Kernel to rescale.
    func : callable
        Vectorised: from a collection of samples to an array of one number each.

    See Also
    --------
    sklearn.gaussian_process.kernels.Product : Product of two kernels.
    Normalized : The rescaling that makes the diagonal one.

    Notes
    -----
    Positive semi-definite for any `func` if `kernel` is. Gradients are those of `kernel`,
    rescaled. `func` has to be importable for pickling: no lambda.

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
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, func: Callable[[Any], Any]) -> None:
        self.kernel = kernel
        self.func = func

    def _gram(self, X: Any, Y: Any) -> Array:
        f = _values(self.func, X, "Conformal")
        g = f if Y is None else _values(self.func, Y, "Conformal")
        K: Array = self.kernel(X) if Y is None else self.kernel(X, Y)
        return np.outer(f, g) * K

    def _diag(self, X: Any) -> Array:
        values: Array = _values(self.func, X, "Conformal") ** 2 * self.kernel.diag(X)
        return values

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        f = _values(self.func, X, "Conformal")
        return {"kernel": np.outer(f, f)[:, :, None] * self._inner_gradient(X)}


class Pullback(BaseKernel):
    """Kernel of mapped samples, ``k(g(x), g(z))``.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the mapped samples.
    func : callable
        Vectorised: from a collection of samples to the collection of their images. The
        `transform` of a fitted transformer will do.

    See Also
    --------
    sklearn.pipeline.make_pipeline : A transformer before an estimator: the same, if the whole
        kernel sees the mapped samples.

    Notes
    -----
    Positive semi-definite for any `func` if `kernel` is. With `func` picking columns, sums and
    products of pull-backs are kernels on parts of a table. Gradients are those of `kernel`.

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
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, func: Callable[[Any], Any]) -> None:
        self.kernel = kernel
        self.func = func

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True if the kernel of the images does: its diagonal is constant then.
        """
        return bool(self.kernel.is_stationary())

    def _check(self, X: Any) -> Any:
        return self.func(X)

    def _gram(self, X: Any, Y: Any) -> Array:
        K: Array = self.kernel(X) if Y is None else self.kernel(X, Y)
        return K

    def _diag(self, X: Any) -> Array:
        d: Array = self.kernel.diag(X)
        return d

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        return {"kernel": self.kernel(X, eval_gradient=True)[1]}


class Bilinear(BaseKernel):
    """Inner product ``x' B z`` with a positive semi-definite matrix.

    Parameters
    ----------
    B : array-like of shape (n_features, n_features)
        Symmetric positive semi-definite matrix.

    See Also
    --------
    ARDLinear : The diagonal case, with gradients.
    sklearn.gaussian_process.kernels.DotProduct : A multiple of the identity, plus a constant.

    Notes
    -----
    An eigenvalue of `B` below -1e-10 of the largest is refused.

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
                f"Bilinear: B has shape {B.shape}, and samples with {p} features need ({p}, {p})."
            )
        if not np.allclose(B, B.T, rtol=1e-10, atol=1e-12 * np.abs(B).max(initial=0.0)):
            raise ValueError("Bilinear: B has to be symmetric; (B + B.T) / 2 is.")
        w = linalg.eigvalsh(B) if p else np.zeros(1)
        if w[0] < -1e-10 * max(w[-1], -w[0]):
            raise ValueError(
                f"Bilinear: B has to be positive semi-definite, and has an eigenvalue {w[0]:.3g}."
            )
        return B

    def _gram(self, X: Any, Y: Any) -> Array:
        XB = X @ self._matrix(X.shape[1])
        K: Array = XB @ (X if Y is None else Y).T
        return (K + K.T) / 2 if Y is None else K

    def _diag(self, X: Any) -> Array:
        return np.asarray(np.einsum("ij,ij->i", X @ self._matrix(X.shape[1]), X))


class PolynomialOf(_OfKernel):
    """Polynomial of a kernel with non-negative coefficients, ``sum_i coef[i] k^i``.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel.
    coef : sequence of float, default=(1.0, 1.0)
        Coefficients, that of the constant first; none negative.

    See Also
    --------
    sklearn.gaussian_process.kernels.Exponentiation : A single power.

    Notes
    -----
    Positive semi-definite if `kernel` is. Gradients by the chain rule.

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
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any, coef: Sequence[float] = (1.0, 1.0)) -> None:
        self.kernel = kernel
        self.coef = coef

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True if the inner kernel does.
        """
        return bool(self.kernel.is_stationary())

    def _validate(self) -> None:
        self._check_real("coef", 0.0, low_included=True)

    def _of(self, k: Array, order: int = 0) -> Array:
        coef = np.atleast_1d(np.asarray(self.coef, dtype=np.float64))
        p = np.polynomial.Polynomial(coef)
        values: Array = (p.deriv(order) if order else p)(k)
        return values

    def _gram(self, X: Any, Y: Any) -> Array:
        return self._of(self.kernel(X) if Y is None else self.kernel(X, Y))

    def _diag(self, X: Any) -> Array:
        return self._of(self.kernel.diag(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        k, gradient = self.kernel(X, eval_gradient=True)
        return {"kernel": self._of(k, 1)[:, :, None] * gradient}


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
    GaussianOf : Its normalised form.

    Notes
    -----
    Positive semi-definite if `kernel` is. Inside `Normalized` it is computed in the logarithm,
    ``exp(k(x, z) - (k(x, x) + k(z, z)) / 2)``, and does not overflow.

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
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip
    _tunable = ("scale",)

    def __init__(self, kernel: Any, scale: float = 1.0, scale_bounds: Any = "fixed") -> None:
        self.kernel = kernel
        self.scale = scale
        self.scale_bounds = scale_bounds

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True if the inner kernel does.
        """
        return bool(self.kernel.is_stationary())

    def _validate(self) -> None:
        self._check_real("scale", 0.0)

    def _log_gram(self, X: Any, Y: Any) -> Array:
        K: Array = (self.kernel(X) if Y is None else self.kernel(X, Y)) / self.scale
        return K

    def _log_diag(self, X: Any) -> Array:
        d: Array = self.kernel.diag(X) / self.scale
        return d

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(self._log_gram(X, Y))

    def _diag(self, X: Any) -> Array:
        return np.exp(self._log_diag(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        k, gradient = self.kernel(X, eval_gradient=True)
        return {
            "scale": -K * k / self.scale,
            "kernel": K[:, :, None] * gradient / self.scale,
        }


class GaussianOf(_OfKernel):
    r"""Gaussian of the distance in the feature space of a kernel.

    .. math:: \exp\left(-\frac{k(x, x) - 2 k(x, z) + k(z, z)}{2 \sigma^2}\right)

    Parameters
    ----------
    kernel : Kernel
        Inner kernel, of any kind of sample.
    sigma : float, default=1.0
        Width, above 0.
    sigma_bounds : pair of floats or "fixed", default="fixed"
        Range of `sigma` in hyperparameter search.

    See Also
    --------
    sklearn.gaussian_process.kernels.RBF : The same of the inner product of vectors.

    Notes
    -----
    Positive semi-definite if `kernel` is; the diagonal is one. Squared distances that rounding
    makes negative count as 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.1.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import GaussianOf
    >>> k = GaussianOf(DotProduct(sigma_0=1.0) ** 2, sigma=2.0)
    >>> k([[1.0, 0.0]], [[0.0, 1.0]]).round(6)
    array([[0.472367]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip
    _tunable = ("sigma",)

    def __init__(self, kernel: Any, sigma: float = 1.0, sigma_bounds: Any = "fixed") -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_bounds = sigma_bounds

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True: all samples have similarity one to themselves.
        """
        return True

    def _validate(self) -> None:
        self._check_real("sigma", 0.0)

    def _squares(self, X: Any, Y: Any) -> Array:
        a = self.kernel.diag(X)
        if Y is None:
            D = a[:, None] + a - 2 * self.kernel(X)
            np.fill_diagonal(D, 0.0)
        else:
            D = a[:, None] + self.kernel.diag(Y) - 2 * self.kernel(X, Y)
        return np.asarray(np.maximum(D, 0.0))

    def _gram(self, X: Any, Y: Any) -> Array:
        values: Array = np.exp(-self._squares(X, Y) / (2 * self.sigma**2))
        return values

    def _diag(self, X: Any) -> Array:
        return np.ones(len(self.kernel.diag(X)))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        gradient = self._inner_gradient(X)
        d = _diagonal_of(gradient)
        of_square = d[:, None, :] + d[None, :, :] - 2 * gradient
        return {
            "sigma": K * self._squares(X, None) / self.sigma**2,
            "kernel": -K[:, :, None] * of_square / (2 * self.sigma**2),
        }


class Normalized(_OfKernel):
    r"""Cosine in the feature space, ``k(x, z) / sqrt(k(x, x) k(z, z))``.

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
    A sample with ``k(x, x) = 0``, such as a string shorter than the spectrum's length, has
    similarity 0 to everything, itself included. Kernels that know their logarithm
    (`ExponentialOf`, `PowerSet`) are normalised there and do not overflow.

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
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="that of `kernel`", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True if the inner kernel does.
        """
        return bool(self.kernel.is_stationary())

    def _roots(self, X: Any) -> Array:
        d = np.asarray(self.kernel.diag(X), dtype=np.float64)
        if (d < 0).any():
            raise ValueError(
                f"Normalized: {self.kernel!r} has a negative similarity of a sample to itself, "
                f"{d.min():.3g}; the kernel is not positive semi-definite."
            )
        return np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)

    def _gram(self, X: Any, Y: Any) -> Array:
        if hasattr(self.kernel, "_log_gram"):
            self.kernel._validate()
            A = self.kernel._check(X)
            B = None if Y is None else self.kernel._check(Y)
            a = self.kernel._log_diag(A)
            b = a if B is None else self.kernel._log_diag(B)
            logarithm = self.kernel._log_gram(A, B) - (a[:, None] + b) / 2
            K = np.exp(logarithm)
        else:
            r = self._roots(X)
            if Y is None:
                K = r[:, None] * self.kernel(X) * r
            else:
                K = r[:, None] * self.kernel(X, Y) * self._roots(Y)
        if Y is None:
            np.fill_diagonal(K, self._diag(X))
        return np.asarray(K)

    def _diag(self, X: Any) -> Array:
        if hasattr(self.kernel, "_log_gram"):
            return np.ones(X.shape[0] if hasattr(X, "shape") else len(X))
        return (np.asarray(self.kernel.diag(X)) > 0).astype(np.float64)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        gradient = self._inner_gradient(X)
        r = self._roots(X)
        d = _diagonal_of(gradient) * (r**2)[:, None]
        scaled = (r[:, None] * r)[:, :, None] * gradient
        return {"kernel": scaled - K[:, :, None] * (d[:, None, :] + d[None, :, :]) / 2}


class _OverParts(BaseKernel):
    """A kernel on tuples, from one kernel for each part."""

    kernels: Sequence[Any]
    columns: Any
    missing: str

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        return self.columns is not None

    def _validate(self) -> None:
        name = type(self).__name__
        if not isinstance(self.kernels, list | tuple) or not self.kernels:
            raise ValueError(f"{name}: kernels has to be a non-empty list, one kernel per part.")
        self._check_choice("missing", ("raise", "zero", "match"))
        if self.columns is not None and len(self.columns) != len(self.kernels):
            raise ValueError(
                f"{name}: columns names {len(self.columns)} parts, and there are "
                f"{len(self.kernels)} kernels."
            )

    def _check(self, X: Any) -> list[tuple[Any, Array]]:
        """One collection for each part, and which samples have it."""
        name = type(self).__name__
        if self.columns is not None:
            table = as_vectors(X, name)
            everyone = np.ones(len(table), dtype=bool)
            return [(table[:, [*chosen]], everyone) for chosen in self.columns]
        samples = as_samples(X, name)
        for x in samples:
            if not hasattr(x, "__len__") or len(x) != len(self.kernels):
                raise ValueError(
                    f"{name}: a sample has to be a sequence of {len(self.kernels)} parts, one "
                    f"for each kernel; received {x!r}."
                )
        found = []
        for i, kernel in enumerate(self.kernels):
            here = np.array([x[i] is not None for x in samples], dtype=bool)
            if self.missing == "raise" and not here.all():
                raise ValueError(
                    f"{name}: part {i} of sample {int(np.argmin(here))} is None; set "
                    "missing='zero' or missing='match' to allow it."
                )
            part: Any = [x[i] for x in samples if x[i] is not None]
            if kernel.requires_vector_input and part:
                part = np.stack([np.atleast_1d(np.asarray(v)) for v in part])
                check_real(part, name)
                part = part.astype(np.float64)
            found.append((part, here))
        return found

    def _part(self, i: int, X: Any, Y: Any) -> Array:
        (x, has_x), (y, has_y) = X[i], X[i] if Y is None else Y[i]
        if has_x.all() and has_y.all() and len(x) and len(y):
            K: Array = self.kernels[i](x) if Y is None else self.kernels[i](x, y)
            return K
        both_missing = ~has_x[:, None] & ~has_y
        out = both_missing.astype(np.float64) * (self.missing == "match")
        if has_x.any() and has_y.any():
            K = self.kernels[i](x) if Y is None else self.kernels[i](x, y)
            out[np.ix_(has_x, has_y)] = K
        return np.asarray(out)

    def _part_diag(self, i: int, X: Any) -> Array:
        x, here = X[i]
        out = np.full(len(here), float(self.missing == "match"))
        if here.any():
            out[here] = self.kernels[i].diag(x)
        return out

    def _part_gradient(self, i: int, X: Any) -> Array:
        x, here = X[i]
        if not here.any():
            return np.zeros((len(here), len(here), self.kernels[i].n_dims))
        gradient = self.kernels[i](x, eval_gradient=True)[1]
        out = np.zeros((len(here), len(here), gradient.shape[2]))
        out[np.ix_(here, here)] = gradient
        return out


class DirectSum(_OverParts):
    """Weighted sum of kernels on the parts of a sample, ``sum_i w_i k_i(x_i, z_i)``.

    Parameters
    ----------
    kernels : list of Kernel
        One kernel for each part.
    weights : sequence of float, default=None
        Non-negative weights; None takes 1 for all.
    columns : list of list of int, default=None
        Samples are rows of a table, and these are the columns of each part. None: samples are
        tuples of parts.
    missing : {"raise", "zero", "match"}, default="raise"
        What a part that is None gives: an error; similarity 0; or 1 with another missing part
        and 0 else. Both keep the kernel positive semi-definite.

    See Also
    --------
    TensorProduct : The product over the parts.
    ANOVA : Everything in between.

    Notes
    -----
    Positive semi-definite if all parts are: features are concatenated.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.22 (i).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skmoderndata.kernels import DirectSum, Intersection
    >>> k = DirectSum([RBF(), Intersection()])
    >>> k([([0.0], {"red"}), ([0.0], {"red", "round"})])
    array([[2., 2.],
           [2., 3.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="sum over the parts", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(
        self, kernels: Sequence[Any], weights: Any = None, columns: Any = None,
        missing: str = "raise",
    ) -> None:  # fmt: skip
        self.kernels = kernels
        self.weights = weights
        self.columns = columns
        self.missing = missing

    def _validate(self) -> None:
        super()._validate()
        if self.weights is not None:
            self._check_real("weights", 0.0, low_included=True)

    def _w(self) -> Array:
        return (
            self._per_feature("weights", len(self.kernels))
            if self.weights is not None
            else (np.ones(len(self.kernels)))
        )

    def _gram(self, X: Any, Y: Any) -> Array:
        w = self._w()
        K = w[0] * self._part(0, X, Y)
        for i in range(1, len(w)):
            K += w[i] * self._part(i, X, Y)
        return np.asarray(K)

    def _diag(self, X: Any) -> Array:
        parts = [w * self._part_diag(i, X) for i, w in enumerate(self._w())]
        total: Array = np.sum(parts, axis=0)
        return total

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        return {f"kernels__{i}": w * self._part_gradient(i, X) for i, w in enumerate(self._w())}


class TensorProduct(_OverParts):
    """Product of kernels on the parts of a sample, ``prod_i k_i(x_i, z_i)``.

    Parameters
    ----------
    kernels : list of Kernel
        One kernel for each part.
    columns : list of list of int, default=None
        Samples are rows of a table, and these are the columns of each part. None: samples are
        tuples of parts.
    missing : {"raise", "zero", "match"}, default="raise"
        What a part that is None gives: an error; similarity 0; or 1 with another missing part
        and 0 else. Both keep the kernel positive semi-definite.

    See Also
    --------
    DirectSum : The sum over the parts.

    Notes
    -----
    Positive semi-definite if all parts are: features are all products of features of the parts.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004,
       Proposition 3.22 (iii).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> from skmoderndata.kernels import TensorProduct
    >>> k = TensorProduct([RBF(), DotProduct(sigma_0=0.0)], columns=[[0], [1]])
    >>> k([[0.0, 2.0], [0.0, 3.0]])
    array([[4., 6.],
           [6., 9.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="sum over the parts", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(
        self, kernels: Sequence[Any], columns: Any = None, missing: str = "raise"
    ) -> None:
        self.kernels = kernels
        self.columns = columns
        self.missing = missing

    def _gram(self, X: Any, Y: Any) -> Array:
        K = np.array(self._part(0, X, Y))
        for i in range(1, len(self.kernels)):
            K *= self._part(i, X, Y)
        return K

    def _diag(self, X: Any) -> Array:
        parts = [self._part_diag(i, X) for i in range(len(self.kernels))]
        product: Array = np.prod(parts, axis=0)
        return product

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        parts = [self._part(i, X, None) for i in range(len(self.kernels))]
        found = {}
        for i in range(len(parts)):
            others = np.ones_like(K)
            for j, part in enumerate(parts):
                if j != i:
                    others *= part
            found[f"kernels__{i}"] = others[:, :, None] * self._part_gradient(i, X)
        return found


class Covariance(BaseKernel):
    """Covariance of given functions, ``sum_j q_j f_j(x) f_j(z)``.

    Parameters
    ----------
    functions : list of callable
        Each vectorised: from a collection of samples to an array of one number each.
    weights : sequence of float, default=None
        Non-negative, such as a prior distribution over the functions; None takes equal weights
        of sum 1.

    See Also
    --------
    MonteCarlo : Functions drawn at random.
    sklearn.preprocessing.FunctionTransformer : The functions as features.

    Notes
    -----
    For functions with values -1 and 1 and weights of sum 1 the value is the probability that a
    function agrees on the two samples minus that it disagrees.

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
            raise ValueError("Covariance: functions has to be a non-empty list of callables.")
        if self.weights is not None:
            self._check_real("weights", 0.0, low_included=True)

    def _check(self, X: Any) -> Array:
        return np.column_stack([_values(f, X, "Covariance") for f in self.functions])

    def _q(self) -> Array:
        m = len(self.functions)
        return np.full(m, 1 / m) if self.weights is None else self._per_feature("weights", m)

    def _gram(self, X: Any, Y: Any) -> Array:
        K: Array = (X * self._q()) @ (X if Y is None else Y).T
        return K

    def _diag(self, X: Any) -> Array:
        d: Array = (X * X) @ self._q()
        return d


class MonteCarlo(BaseKernel):
    r"""Average of products of random functions, an estimate of ``E f(x) f(z)``.

    Parameters
    ----------
    sampler : callable
        ``sampler(rng, n_features)`` draws one function with a `numpy.random.RandomState` and
        returns it: from a table of vectors to one number each.
    n_components : int, default=100
        Number of functions drawn.
    random_state : int, default=0
        Seed. The functions are drawn anew, and are the same, in every call: an integer is needed.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : Random cosines, for the Gaussian kernel.
    Covariance : Given functions.

    Notes
    -----
    Positive semi-definite for any number of functions. If no function exceeds 1,
    ``n_components >= 2 log(2 N / delta) / eps^2`` makes the error at most eps for N pairs at once
    with probability 1 - delta (Hoeffding). The section of the book is lost in our source; the
    definition is the usual one.

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
        self, sampler: Callable[[Any, int], Any], n_components: int = 100, random_state: int = 0
    ) -> None:
        self.sampler = sampler
        self.n_components = n_components
        self.random_state = random_state

    def _validate(self) -> None:
        self._check_integer("n_components", 1)
        self._check_integer("random_state", 0)

    def features(self, X: Any) -> Array:
        """Return the functions' values, scaled so that the kernel is their inner product.

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
        draws = [self.sampler(rng, X.shape[1]) for _ in range(self.n_components)]
        columns = [_values(f, X, "MonteCarlo") for f in draws]
        return np.asarray(np.column_stack(columns) / np.sqrt(self.n_components))

    def _gram(self, X: Any, Y: Any) -> Array:
        K: Array = X @ (X if Y is None else Y).T
        return K

    def _diag(self, X: Any) -> Array:
        return np.asarray(np.einsum("ij,ij->i", X, X))


class DistanceKernel(BaseKernel):
    """Similarity from a distance, ``exp(-gamma d(x, z)^power)``.

    Parameters
    ----------
    distance : callable
        ``distance(X, Y)`` gives the matrix of distances of two collections of samples, such as
        `sklearn.metrics.pairwise.manhattan_distances`.
    gamma : float, default=1.0
        Rate, above 0.
    power : float, default=2.0
        Power of the distance, above 0.
    gamma_bounds : pair of floats or "fixed", default="fixed"
        Range of `gamma` in hyperparameter search.

    See Also
    --------
    skmoderndata.preprocessing.SpectrumCorrector : Makes the matrix positive semi-definite.
    sklearn.gaussian_process.kernels.RBF : For the Euclidean distance.

    Notes
    -----
    Positive semi-definite for every `gamma` exactly if ``d^power`` is conditionally negative
    definite, as the squared Euclidean distance is and that of dynamic time warping is not.

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

    def is_stationary(self) -> bool:
        """Tell whether the kernel depends on differences only.

        Returns
        -------
        stationary : bool
            True: all samples have similarity one to themselves.
        """
        return True

    def _check(self, X: Any) -> Any:
        return X if hasattr(X, "shape") and X.ndim > 1 else as_samples(X, "DistanceKernel")

    def _powers(self, X: Any, Y: Any) -> Array:
        D = self.distance(X, X if Y is None else Y)
        check_real(D, "DistanceKernel: distance")
        D = np.asarray(D, dtype=np.float64)
        if D.min(initial=0.0) < 0:
            raise ValueError("DistanceKernel: the distance has negative values.")
        if Y is None:
            np.fill_diagonal(D, 0.0)
        powers: Array = D**self.power
        return powers

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(-self.gamma * self._powers(X, Y))

    def _diag(self, X: Any) -> Array:
        return np.ones(X.shape[0] if hasattr(X, "shape") else len(X))

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        return {"gamma": -self.gamma * self._powers(X, None) * K}
