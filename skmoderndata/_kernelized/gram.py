"""Gram matrices from the `kernel` parameter of an estimator."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.extmath import row_norms

from skmoderndata._estimator.compat import Interval, StrOptions
from skmoderndata._kernelized.gaussian import GaussianWriter, gaussian, laplacian
from skmoderndata._samples.containers import count_samples, is_sparse, row_blocks, take
from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import constant_diagonal, kernel_from_data

# Functions that are more accurate than the functions of scikit-learn.
FUNCTIONS = {"rbf": gaussian, "laplacian": laplacian}

KERNEL_NAMES = frozenset({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"})

# Maximum number of anchors, and maximum number of samples compared with each anchor, when the
# bandwidth is judged.
ANCHORS = (32, 2**13)
# Minimum number of samples for judging the bandwidth.
JUDGED_FROM_SAMPLES = 16
# Maximum difference between 1 and the kernel values for which all samples count as alike.
ALIKE = 1e-6
# Minimum sum of the kernel values between a sample and all other samples; below it, the sample
# counts as isolated.
ALIEN = 0.1

# Entries that every estimator with a `kernel` has in `_parameter_constraints`.
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), Kernel, callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left"), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def resolve_kernel(
    kernel: str | Kernel | Callable[..., Array],
    X: Any,
    *,
    gamma: float | str | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: Mapping[str, Any] | None = None,
) -> "Gram":
    """Turn the parameters of an estimator and its training samples into a `Gram`.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Name of a kernel in `sklearn.metrics.pairwise`, `"precomputed"`, a kernel object of
        scikit-learn's protocol (cloned), or a function of `(X, Y, **kernel_params)` that returns
        the Gram matrix of shape `(n_X, n_Y)`.
    X : array or list
        Validated training samples. They determine `gamma`: "scale" means `1 / (n_features *
        X.var())`, "auto" or None means `1 / n_features`.
    gamma, degree, coef0 : float
        Parameters of named kernels, ignored by kernels that do not have them.
    kernel_params : mapping or None
        Further keyword arguments of a named kernel or a callable.

    Returns
    -------
    Gram
        Callable that computes Gram matrices, with all parameters resolved.
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, Kernel):
        if params:
            raise ValueError(
                f"kernel_params={kernel_params!r} cannot be used with the kernel object "
                f"{kernel!r}: set the parameters on the object."
            )
        return Gram(kernel_from_data(kernel, X))

    # use a function or a precomputed matrix as it is
    if not isinstance(kernel, str):
        return Gram(kernel, params)
    if kernel == "precomputed":
        _check_square(X)
        return Gram(kernel)

    # for a name, use the parameters of the estimator unless `kernel_params` overrides them
    accepted = KERNEL_PARAMS[kernel]
    if "gamma" in accepted:
        params.setdefault("gamma", numeric_gamma(gamma, X, kernel))
    if "degree" in accepted:
        params.setdefault("degree", degree)
    if "coef0" in accepted:
        params.setdefault("coef0", coef0)

    unknown = set(params) - set(accepted)
    if unknown:
        names = sorted(accepted) or "no parameters"
        raise ValueError(
            f"kernel_params contains {sorted(unknown)}, which are not parameters of "
            f"kernel={kernel!r}; its parameters are {names}."
        )

    check_range(kernel, params, X)
    gram = Gram(kernel, params)
    if kernel in ("rbf", "laplacian"):
        _warn_of_bandwidth(gram, X)
    return gram


def check_range(kernel: str, params: Mapping[str, Any], X: Any) -> None:
    """Raise an error if the kernel is undefined for these parameters or samples."""
    if kernel in ("poly", "polynomial") and params["degree"] < 1:
        raise ValueError(
            f"kernel={kernel!r} needs degree >= 1, got degree={params['degree']!r}."
        )
    if kernel in ("laplacian", "chi2") and not params["gamma"] > 0:
        raise ValueError(f"kernel={kernel!r} needs gamma > 0, got gamma={params['gamma']!r}.")
    if kernel in ("chi2", "additive_chi2"):
        if is_sparse(X):
            raise ValueError(
                f"kernel={kernel!r} accepts only dense samples; convert with X.toarray()."
            )
        lowest = X.min()
        if lowest < 0:
            raise ValueError(
                f"kernel={kernel!r} compares frequencies, but X has negative entries, down to "
                f"{lowest:.3g}: use another kernel, or make X non-negative with MinMaxScaler."
            )


def _warn_of_bandwidth(gram: "Gram", X: Any) -> None:
    """Warn if, on a sample of pairs, all kernel values are near one or near zero."""
    n = count_samples(X)
    if n < JUDGED_FROM_SAMPLES:
        return

    # compute kernel values between a few anchors and many samples: find the smallest and the
    # largest value, and sum the values of each anchor, excluding its value with itself
    anchor_index, partner_index = (
        np.linspace(0, n - 1, min(n, k)).astype(int) for k in ANCHORS
    )
    n_partners = len(partner_index)
    total = np.zeros(len(anchor_index))
    least = 1.0
    largest = 0.0
    anchors = take(X, anchor_index)
    row_bytes = 8 * X.shape[1]
    for rows in row_blocks(n_partners, row_bytes, n_bytes=CACHED_BYTES):
        partners = partner_index[rows]
        K = np.asarray(gram(anchors, take(X, partners)), dtype=np.float64)
        least = min(least, float(K.min()))
        with_itself = anchor_index[:, None] == partners
        K[with_itself] = 0.0
        largest = max(largest, float(K.max()))
        total += K.sum(axis=1)

    # warn if all values are near one
    gamma = gram.params["gamma"]
    if least > 1 - ALIKE and not all_equal(take(X, partner_index)):
        warnings.warn(
            f"kernel={gram.kernel!r} with gamma={gamma:.3g} makes all samples alike: no kernel "
            f'value is below {least:.9g}. Increase gamma, or use gamma="scale".',
            stacklevel=2,
        )

    # warn if nearly all values are near zero
    typical = float(np.median(total)) * n / n_partners
    nearly_zero = n_partners == n or largest < ALIEN / n
    if typical < ALIEN and nearly_zero:
        warnings.warn(
            f"kernel={gram.kernel!r} with gamma={gamma:.3g} makes all samples dissimilar: the "
            f"kernel values of a typical sample with all others sum to {typical:.1e}. Decrease "
            'gamma, or use gamma="scale".',
            stacklevel=2,
        )


def all_equal(X: Any) -> bool:
    """Whether all rows of a table are equal."""
    if is_sparse(X):
        first = np.zeros(X.shape[0], dtype=int)
        different = X != X[first]
        return bool(different.nnz == 0)
    return bool((X == X[:1]).all())


@dataclass(frozen=True)
class Gram:
    """Gram matrices of one kernel with resolved parameters.

    `gram(X, Y)` has shape `(n_X, n_Y)`, `gram(X)` is `gram(X, X)`. For a precomputed kernel, `X`
    holds kernel values with all training samples, and `Y` is a result of `subset`, which selects
    the columns of some training samples.

    Attributes
    ----------
    kernel : str, Kernel or callable
        Parameter of the estimator; a kernel object is cloned.
    params : mapping
        Resolved parameters of a named kernel or a callable.
    origin : ndarray of shape (n_features,) or None
        Point that the linear kernel subtracts from the samples.
    """

    kernel: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    origin: Array | None = field(default=None, compare=False)

    def seen_from_mean(self, X: Any) -> "Gram":
        """Return the linear kernel of the centred samples; other kernels unchanged.

        A function with a free offset stays the same, and the rounding of inner products no longer
        hides the distances of samples far from the origin.
        """
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            return self
        mean = np.asarray(X.mean(axis=0, dtype=np.float64))
        return replace(self, origin=mean.ravel())

    def seen(self, X: Any) -> Any:
        """Return dense samples minus the origin, if there is one, in double precision."""
        return X if self.origin is None else np.subtract(X, self.origin, dtype=np.float64)

    def weighted_sum(self, coef: Array, samples: Any) -> Array:
        """Return feature weights, `coef @ (samples - origin)`, for the linear kernel."""
        if self.origin is None or not is_sparse(samples):
            return _dense(coef @ self.seen(samples))
        shift = np.multiply.outer(coef.sum(axis=-1), self.origin)
        return np.asarray(coef @ samples - shift)

    def linear_values(self, X: Any, weights: Array) -> Array:
        """Return the inner products of `X - origin` with weights of the features."""
        if self.origin is None or not is_sparse(X):
            return np.asarray(self.seen(X) @ weights)
        return np.asarray(X @ weights - self.origin @ weights)

    def _linear(self, X: Any, Y: Any) -> Array:
        """Return inner products of samples minus the origin; sparse samples stay sparse."""
        if not (is_sparse(X) or is_sparse(Y)):
            return np.asarray(self.seen(X) @ self.seen(Y).T)
        origin: Any = self.origin
        K: Array = _dense(X @ Y.T) - np.asarray(Y @ origin)
        squared_norm = float(origin @ origin)
        shift = squared_norm - np.asarray(X @ origin)
        K += shift[:, None]
        return K

    @property
    def precomputed(self) -> bool:
        """Whether samples are rows of the kernel matrix itself."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def constant_diagonal(self) -> bool:
        """Whether the diagonal of the kernel matrix is known to be constant."""
        if isinstance(self.kernel, Kernel):
            return constant_diagonal(self.kernel)
        return self.kernel in ("rbf", "laplacian", "chi2")

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the kernel values of all pairs, shape `(n_X, n_Y)`."""
        if self.precomputed:
            return _dense(X if Y is None else X[:, Y.indices])

        second = X if Y is None else Y
        with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` raises the error.
            if isinstance(self.kernel, Kernel):
                K = self.kernel(X) if Y is None else self.kernel(X, Y)
            elif self.origin is not None:
                K = self._linear(X, second)
            elif isinstance(self.kernel, str):
                default = PAIRWISE_KERNEL_FUNCTIONS[self.kernel]
                function = FUNCTIONS.get(self.kernel, default)
                K = function(X, Y, **self.params)
            else:
                K = self.kernel(X, second, **self.params)

        # check that there is one value for each pair
        K = _dense(K)
        n_X = count_samples(X)
        n_Y = count_samples(second)
        if K.shape != (n_X, n_Y):
            raise ValueError(
                f"kernel={self.kernel!r} returned an array of shape {K.shape} for {n_X} and "
                f"{n_Y} samples; it must return the Gram matrix of shape ({n_X}, {n_Y})."
            )
        return self.check_finite(K)

    def check_finite(self, K: Array) -> Array:
        """Return K; raise an error if it has values that are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = K.sum()
        if np.isfinite(total) or np.isfinite(K).all():
            return K
        raise ValueError(
            f"kernel={self.kernel!r} returned values that are not finite on these samples: "
            "rescale the samples or change the parameters of the kernel."
        )

    def diag(self, X: Any) -> Array:
        """Return the kernel values of samples with themselves, shape `(n_X,)`.

        The matrix is not computed. For a precomputed kernel, the diagonal is known only for the
        training samples.
        """
        n = count_samples(X)
        if self.precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    'kernel="precomputed": a matrix of shape '
                    f"{X.shape} does not contain the kernel values of new samples with "
                    "themselves; pass samples and a kernel that can be evaluated instead."
                )
            return _dense(X.diagonal())

        # for some kernels, the diagonal is known without computing pairs
        if isinstance(self.kernel, Kernel):
            return np.asarray(self.kernel.diag(X))
        if self.constant_diagonal:
            return np.ones(n)

        # for kernels of inner products, compute the diagonal from squared norms
        if self.kernel == "linear":
            if self.origin is None or not is_sparse(X):
                return np.asarray(row_norms(self.seen(X), squared=True))
            squared_norm = float(self.origin @ self.origin)
            shift = squared_norm - 2.0 * np.asarray(X @ self.origin)
            return np.asarray(row_norms(X, squared=True) + shift)
        if self.kernel in ("poly", "polynomial"):
            inner = self._inner_with_self(X)
            with np.errstate(over="ignore", invalid="ignore"):
                powers = np.asarray(inner ** self.params["degree"])
                return self.check_finite(powers)
        if self.kernel == "sigmoid":
            return np.asarray(np.tanh(self._inner_with_self(X)))

        # for any other function, read the diagonals of 32 x 32 blocks: this takes 32 times the
        # work but 1/32 of the calls
        step = 32
        blocks = (take(X, slice(start, start + step)) for start in range(0, n, step))
        diagonals = [self(block, block).diagonal() for block in blocks]
        return np.concatenate(diagonals) if diagonals else np.zeros(0)

    def _inner_with_self(self, X: Any) -> Array:
        """Return `gamma |x|^2 + coef0`, the argument of the polynomial and sigmoid kernels."""
        squared_norms = row_norms(X, squared=True)
        return np.asarray(self.params["gamma"] * squared_norms + self.params["coef0"])

    def subset(self, X: Any, indices: Any) -> Any:
        """Return training samples by index, in the form of the second argument of a call.

        The result is a copy, so that a model that stores it does not change when the training
        array changes.
        """
        if self.precomputed:
            return Columns(np.arange(count_samples(X))[indices])
        samples = take(X, indices)
        is_view = isinstance(indices, slice) and hasattr(X, "shape")
        return samples.copy() if is_view else samples

    def order(self, X: Any) -> Array:
        """Return an order of the samples that depends on their values, not on their positions.

        Rows of numbers, dense or sparse, are ordered along a direction, rows of a kernel matrix
        by the sums of their magnitudes, and other samples by their kernel values with
        themselves. Ties keep their order.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self.precomputed:
                keys = np.abs(X).sum(axis=1)
            elif getattr(X, "ndim", 1) == 2 and X.dtype.kind in "fiub":
                keys = row_keys(X)
            else:
                keys = self.diag(X)
        return np.argsort(keys, kind="stable")

    def writer(self, X: Any) -> GaussianWriter | None:
        """Return a fast writer of kernel values among the rows of a table, or None."""
        is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
        if not is_table:
            return None
        if isinstance(self.kernel, str) and self.kernel == "rbf":
            gamma = float(self.params["gamma"])
            return GaussianWriter(X, gamma)
        if type(self.kernel) is RBF and np.size(self.kernel.length_scale) == 1:
            length_scale = float(np.ravel(self.kernel.length_scale)[0])
            return GaussianWriter(X, 0.5 / length_scale**2)
        return None

    def blocks(
        self, X: Any, Y: Any, *, n_bytes: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Yield `rows, gram(X[rows], Y)` in blocks below scikit-learn's working memory."""
        n_X = count_samples(X)
        row_bytes = 8 * max(1, count_samples(Y))
        for rows in row_blocks(n_X, row_bytes, n_bytes=n_bytes):
            yield rows, self(take(X, rows), Y)


def row_keys(X: Any) -> Array:
    """Return the coordinates of rows along a fixed direction, as keys for sorting."""
    rng = np.random.RandomState(0)
    direction = rng.uniform(0.5, 1.5, size=X.shape[1])
    return np.asarray(X @ direction)


@dataclass(frozen=True)
class Columns:
    """Training samples of a precomputed kernel: columns of its matrix."""

    indices: Array

    def __len__(self) -> int:
        return len(self.indices)


def numeric_gamma(
    gamma: float | str | None, X: Any, kernel: str, weights: Array | None = None
) -> float:
    """Return the numeric value of `gamma`; the samples may have weights."""
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if kernel == "chi2" and gamma is None:
        return 1.0
    p = int(X.shape[1])
    if gamma != "scale":
        return 1.0 / p
    variance = variance_of_entries(X, weights)
    return 1.0 / (p * variance) if variance > 0 else 1.0


def variance_of_entries(X: Any, weights: Array | None = None) -> float:
    """Return the variance of all entries of a table, computed in blocks of rows without a copy.

    Two passes avoid cancellation if the mean is large. Entries that a sparse matrix does not store
    count as zeros, and a sample of weight two counts as two samples.
    """
    n, p = X.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(w.sum()) * p
    if not total > 0:
        return 0.0

    # compute the mean in a first pass and squared deviations in a second
    row_bytes = 8 * max(1, p)
    blocks = list(row_blocks(n, row_bytes, n_bytes=CACHED_BYTES))
    mean = 0.0
    for rows in blocks:
        sums = np.ravel(X[rows].sum(axis=1, dtype=np.float64))
        mean += float(w[rows] @ sums) / total

    variance = 0.0
    for rows in blocks:
        if is_sparse(X):
            # This copy is changed in the next line.
            block = X[rows].tocsr().astype(np.float64)
            block.sum_duplicates()
            n_stored = np.diff(block.indptr)
            squares_stored = np.repeat(w[rows], n_stored) @ (block.data - mean) ** 2
            squares_zeros = (w[rows] @ (p - n_stored)) * mean**2
            variance += float(squares_stored + squares_zeros) / total
        else:
            deviations = np.subtract(X[rows], mean, dtype=np.float64)
            squares = np.einsum("ij,ij->i", deviations, deviations)
            variance += float(w[rows] @ squares) / total

    if not np.isfinite(variance):
        raise ValueError(
            'gamma="scale" needs the variance of X, which is not finite in double precision: '
            "rescale X."
        )
    # If all entries are equal, the computed variance consists only of the rounding error of the
    # mean.
    rounding = 8 * np.finfo(np.float64).eps * mean
    return variance if variance > rounding**2 else 0.0


def _dense(K: Any) -> Array:
    values: Array = K.toarray() if is_sparse(K) else np.asarray(K)
    if values.dtype.kind == "c":
        raise ValueError("The kernel returned complex numbers; kernel values must be real.")
    is_float = values.dtype in (np.float32, np.float64)
    return values if is_float else values.astype(np.float64)


def _check_square(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            'kernel="precomputed" needs the square matrix of kernel values of the training '
            f"samples as X, got shape {X.shape}."
        )
