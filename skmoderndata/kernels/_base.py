"""Base class of the kernels: parameters, sample containers, gradients, printing."""

import inspect
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    Exponentiation,
    Hyperparameter,
    Kernel,
    KernelOperator,
)

from skmoderndata._samples.containers import (
    as_samples,
    as_vectors,
    check_finite,
    check_real,
    is_sparse,
)
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import key_of_kernel
from skmoderndata._solvers.common.typing import Array


class BaseKernel(Kernel):  # type: ignore[misc]
    """Kernel of scikit-learn's protocol from two functions, `_gram` and `_diag`.

    A subclass stores its parameters, lists the tunable ones in `_tunable` (each has a second
    parameter that ends in `_bounds`, "fixed" by default), and defines

    - `_check(X)`, which converts the user's samples to the input of the next two;
    - `_gram(X, Y)`, with Y None for the matrix of X with itself;
    - `_diag(X)`;
    - `_gradients(X, K)`, a dict from the name of a tunable parameter to the derivative of `K` with
      respect to its logarithm, of shape `(n, n)` or `(n, n, n_elements)`.

    Parameters that are kernels, or sequences of kernels, are reached as `kernel__length_scale`
    and `kernels__0__length_scale`; their tunable parameters are tunable here, too.
    """

    _tunable: ClassVar[tuple[str, ...]] = ()
    _needs_vectors: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        if eval_gradient and Y is not None:
            raise ValueError(
                f"{type(self).__name__}: the gradient is available only for the matrix of the "
                "training samples; call with Y=None."
            )
        self._validate()
        A = self._real(X)
        B = None if Y is None or Y is X else self._real(Y)
        K = self._gram(A, B)
        if not eval_gradient:
            return K
        return K, self._stack_gradients(A, K)

    def diag(self, X: Any) -> Array:
        """Compute the diagonal of the kernel matrix without the matrix.

        Parameters
        ----------
        X : array or list
            Samples.

        Returns
        -------
        K_diag : ndarray of shape (n_samples,)
            Diagonal of the kernel matrix.
        """
        self._validate()
        if not isinstance(X, Encoded):
            return self._diag(self._real(X))
        key = key_of_kernel(self)
        if key not in X.diagonals:
            X.diagonals[key] = self._diag(self._real(X))
        return X.diagonals[key].copy()

    def encode(self, X: Any) -> Encoded:
        """Convert samples once, for use in many calls.

        Parameters
        ----------
        X : array or list
            Samples.

        Returns
        -------
        encoded : Encoded
            A sequence of the samples that stores their converted form; every kernel accepts it.
        """
        samples = self._collection(X, type(self).__name__)
        key = self.encoding
        if isinstance(X, Encoded) and X.key == key:
            return X
        return Encoded(samples, None if key is None else self._encode(samples), key)

    @property
    def encoding(self) -> Hashable | None:
        """Name of the form that `encode` stores; None if samples are converted at each call."""
        return None

    def _encode(self, X: list[Any]) -> Any:
        return self._check(X)

    def _collection(self, X: Any, name: str) -> list[Any]:
        """Return samples of any kind as a list; `name` names the caller in error messages."""
        return as_samples(X, name)

    def from_data(self, X: Any) -> "BaseKernel":
        """Return a copy whose data-dependent parameters are set from training samples.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy, equal to this kernel if no parameter depends on the data.
        """
        return clone(self)

    def _real(self, X: Any) -> Any:
        """Convert samples; reject complex samples, whose imaginary part would be dropped."""
        if isinstance(X, Encoded):
            return X.form if X.key and X.key == self.encoding else self._check(X.samples)
        if self.requires_vector_input:
            check_real(X, type(self).__name__)
            if not self._needs_vectors:  # kernels inside this one might not check the samples
                check_finite(X, type(self).__name__)
        return self._check(X)

    def is_stationary(self) -> bool:
        """Return whether the kernel depends only on differences of samples.

        Returns
        -------
        stationary : bool
            False unless the kernel is known to be stationary.
        """
        return False

    @property
    def _diagonal_is_constant(self) -> bool:
        """Whether the diagonal of the kernel matrix is known to be constant."""
        return self.is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        return self._needs_vectors

    # parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of inner kernels.

        Returns
        -------
        params : dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for path, kernel in self._parts():
                params |= {f"{path}__{k}": v for k, v in kernel.get_params(deep=True).items()}
        return params

    def set_params(self, **params: Any) -> "BaseKernel":
        """Set parameters, including parameters of inner kernels.

        Parameters
        ----------
        **params : dict
            Values by name: `kernel__length_scale` sets a parameter of the inner kernel `kernel`,
            and `kernels__0__length_scale` a parameter of the first kernel in a sequence.

        Returns
        -------
        self : kernel
            The kernel itself.
        """
        valid = super().get_params(deep=False)
        for path, value in params.items():
            name, _, inner = path.partition("__")
            if name not in valid:
                raise ValueError(
                    f"Invalid parameter {name!r} for kernel {type(self).__name__}: "
                    f"its parameters are {sorted(valid)}."
                )

            # set a parameter of this kernel
            if not inner:
                setattr(self, name, value)
                continue

            # set a parameter of an inner kernel, or replace an entire kernel in a sequence of
            # kernels
            target = getattr(self, name)
            if isinstance(target, list | tuple):
                index, _, inner = inner.partition("__")
                if not inner:
                    items = [*target]
                    items[int(index)] = value
                    setattr(self, name, type(target)(items))
                    continue
                target = target[int(index)]

            target.set_params(**{inner: value})
        return self

    def _parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the inner kernels, with the path to each."""
        for name, value in super().get_params(deep=False).items():
            if isinstance(value, Kernel):
                yield name, value
            elif isinstance(value, list | tuple):
                for i, item in enumerate(value):
                    if isinstance(item, Kernel):
                        yield f"{name}__{i}", item

    @property
    def hyperparameters(self) -> list[Any]:
        """Tunable parameters of this kernel, then the tunable parameters of its inner kernels."""
        hyperparameters = []
        for name in self._tunable:
            value = getattr(self, name)
            bounds = getattr(self, f"{name}_bounds")
            if value is None:
                bounds = "fixed"
            size = int(np.size(value))
            hyperparameters.append(Hyperparameter(name, "numeric", bounds, size))

        # add the tunable parameters of the inner kernels
        for path, kernel in self._parts():
            for h in kernel.hyperparameters:
                bounds = "fixed" if h.fixed else h.bounds
                name = f"{path}__{h.name}"
                renamed = Hyperparameter(name, h.value_type, bounds, h.n_elements)
                hyperparameters.append(renamed)
        return hyperparameters

    def _is_tuned(self, name: str) -> bool:
        return not isinstance(getattr(self, f"{name}_bounds"), str)

    def _stack_gradients(self, X: Any, K: Array) -> Array:
        """Return gradients of tuned parameters in the order of `theta`, shape (n, n, n_dims)."""
        if all(h.fixed for h in self.hyperparameters):
            return np.empty((*K.shape, 0))
        return self._in_order_of_theta(self._gradients(X, K))

    def _in_order_of_theta(self, gradients: dict[str, Array]) -> Array:
        """Stack the derivatives of each parameter, or inner kernel, in the order of `theta`."""
        free = [h for h in self.hyperparameters if not h.fixed]
        layers = []
        seen = set()
        for h in free:
            # the keys are names of parameters of this kernel, or paths to inner kernels
            key = next(k for k in gradients if h.name == k or h.name.startswith(f"{k}__"))
            if key not in seen:
                seen.add(key)
                layer = gradients[key]
                layers.append(layer[:, :, None] if layer.ndim == 2 else layer)
        return np.concatenate(layers, axis=2)

    def __repr__(self) -> str:
        values = super().get_params(deep=False)
        return (
            f"{type(self).__name__}({', '.join(f'{k}={show(v)}' for k, v in values.items())})"
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_value(
            self.get_params(deep=False),
            other.get_params(deep=False),
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if not k.startswith("_cached")}

    # for subclasses

    def _validate(self) -> None:
        """Check the values of the parameters; called before any work."""

    def _check(self, X: Any) -> Any:
        return as_vectors(X, type(self).__name__) if self._needs_vectors else as_samples(X)

    def _gram(self, X: Any, Y: Any) -> Array:
        raise NotImplementedError

    def _diag(self, X: Any) -> Array:
        raise NotImplementedError

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        raise NotImplementedError

    def _refuse(self, name: str, allowed: str) -> ValueError:
        return ValueError(
            f"{type(self).__name__}: {name}={show(getattr(self, name))}; it must be {allowed}."
        )

    def _check_real(
        self, name: str, low: float, high: float = np.inf, *, low_included: bool = False
    ) -> None:
        """Raise ValueError unless all numbers lie in the interval from low to high."""
        value = getattr(self, name)
        allowed = f"{'at least' if low_included else 'above'} {low:g}"
        if np.isfinite(high):
            allowed += f" and at most {high:g}"
        try:
            v = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._refuse(name, f"numeric, {allowed}") from None
        inside = (v >= low if low_included else v > low) & (v <= high) & np.isfinite(v)
        if v.ndim > 1 or not v.size or not bool(np.all(inside)):
            raise self._refuse(name, allowed)

    def _check_integer(self, name: str, low: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
            raise self._refuse(name, f"an integer of at least {low}")

    def _check_choice(self, name: str, allowed: Sequence[Any]) -> None:
        if getattr(self, name) not in allowed:
            raise self._refuse(name, f"one of {', '.join(map(repr, allowed))}")

    def _per_feature(self, name: str, p: int) -> Array:
        """Return a parameter that is one number, or one number per feature, for all features."""
        value = np.asarray(getattr(self, name), dtype=np.float64)
        if value.ndim and value.size not in (1, p):
            raise ValueError(
                f"{type(self).__name__}: {name} has {value.size} entries for samples with {p} "
                "features; pass one number, or one per feature."
            )
        return np.broadcast_to(value.reshape(-1) if value.ndim else value, (p,))


def kernel_from_data(kernel: Any, X: Any) -> Any:
    """Return a copy of a kernel object, with data-dependent parameters set from samples `X`.

    In scikit-learn's sums, products and powers, the parameters of each operand are set.
    """
    if isinstance(kernel, BaseKernel):
        return kernel.from_data(X)
    if isinstance(kernel, KernelOperator):
        return type(kernel)(kernel_from_data(kernel.k1, X), kernel_from_data(kernel.k2, X))
    if isinstance(kernel, Exponentiation):
        return Exponentiation(kernel_from_data(kernel.kernel, X), kernel.exponent)
    return clone(kernel)


def constant_diagonal(kernel: Any) -> bool:
    """Return whether the diagonal of the matrix of a kernel object is known to be constant.

    Stationary kernels have a constant diagonal, and so do some kernels that are not stationary.
    """
    if isinstance(kernel, BaseKernel):
        return kernel._diagonal_is_constant
    if isinstance(kernel, KernelOperator):
        return constant_diagonal(kernel.k1) and constant_diagonal(kernel.k2)
    if isinstance(kernel, Exponentiation):
        return constant_diagonal(kernel.kernel)
    return bool(kernel.is_stationary())


def function_values(func: Callable[[Any], Any], X: Any, name: str) -> Array:
    """Evaluate a vectorised function, one value per sample."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    values = func(X)
    check_real(values, name)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise ValueError(
            f"{name}: a function of samples must return one finite number per sample, shape "
            f"({n},), but returned an array of shape {values.shape}."
        )
    return values


def show(value: Any) -> str:
    """Print a parameter; an array that is too long to print is replaced by a checksum."""
    if is_sparse(value):
        value = value.toarray()
    if isinstance(value, np.generic):
        value = value.item()

    # print short arrays in full, and a checksum of long arrays
    if isinstance(value, np.ndarray):
        if value.size <= 12 and value.dtype != object:
            return f"array({value.tolist()})"
        mark = zlib.crc32(np.ascontiguousarray(value).tobytes())
        return f"array(<shape {value.shape}, checksum {mark:08x}>)"

    if isinstance(value, Kernel) and not isinstance(value, BaseKernel):
        # scikit-learn prints kernels with three digits and without bounds: print all parameters
        # that are not defaults
        signature = inspect.signature(type(value)).parameters
        values = value.get_params(deep=False).items()
        shown = [
            f"{k}={show(v)}" for k, v in values if not same_value(v, signature[k].default)
        ]
        return f"{type(value).__name__}({', '.join(shown)})"

    if isinstance(value, list | tuple):
        inner = ", ".join(show(v) for v in value)
        return (
            f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        )

    # print functions and classes by name
    name = getattr(value, "__qualname__", None)
    if name and callable(value) and "<" not in name:
        return str(name)
    return repr(value)


def same_value(a: Any, b: Any) -> bool:
    """Test equality, entry by entry for arrays and sequences."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    if is_sparse(a):
        return bool(a.shape == b.shape and (a != b).nnz == 0)
    return bool(a == b)
