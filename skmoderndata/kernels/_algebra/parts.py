"""Kernels on tuples, built from one kernel for each component."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_samples, as_vectors, check_finite, check_real
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel, kernel_from_data

FAMILY = "kernel algebra"
PAGE = "kernel_algebra"


class _OverParts(BaseKernel):
    """A kernel on tuples, built from one kernel for each component."""

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
            raise ValueError(
                f"{name}: kernels must be a non-empty list with one per component."
            )
        self._check_choice("missing", ("raise", "zero", "match"))
        if self.columns is None:
            return
        n_kernels = len(self.kernels)
        if len(self.columns) != n_kernels:
            raise ValueError(
                f"{name}: columns lists {len(self.columns)} parts, but there are "
                f"{n_kernels} kernels."
            )

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy in which each kernel is set from its component of the samples.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Kernel
            A copy.
        """
        self._validate()
        components = [component for component, _ in self._check(X)]
        kernels = [*map(kernel_from_data, self.kernels, components)]
        return super().from_data(X).set_params(kernels=kernels)

    def _check(self, X: Any) -> list[tuple[Any, Array]]:
        """Return one collection for each component, and a mask of the samples that have it."""
        name = type(self).__name__
        if self.columns is not None:
            table = as_vectors(X, name)
            present = np.ones(len(table), dtype=bool)
            return [(table[:, [*indices]], present) for indices in self.columns]

        # check that each sample has one entry for each kernel
        samples = as_samples(X, name)
        n_kernels = len(self.kernels)
        for x in samples:
            if not hasattr(x, "__len__") or len(x) != n_kernels:
                raise ValueError(
                    f"{name}: a sample must be a sequence of {n_kernels} parts, one "
                    f"for each kernel; received {x!r}."
                )

        # find the samples that have a part, and collect their parts
        components = []
        for i, kernel in enumerate(self.kernels):
            present = np.array([x[i] is not None for x in samples], dtype=bool)
            if self.missing == "raise" and not present.all():
                raise ValueError(
                    f"{name}: part {i} of sample {int(np.argmin(present))} is None; set "
                    "missing='zero' or missing='match' to allow it."
                )

            values: Any = [x[i] for x in samples if x[i] is not None]
            if kernel.requires_vector_input and values:
                values = np.stack([np.atleast_1d(np.asarray(v)) for v in values])
                check_real(values, name)
                check_finite(values, name)
                values = values.astype(np.float64)

            components.append((values, present))
        return components

    def _part(self, i: int, X: Any, Y: Any) -> Array:
        kernel = self.kernels[i]
        x, has_x = X[i]
        y, has_y = X[i] if Y is None else Y[i]
        everywhere = has_x.all() and has_y.all()
        if everywhere and len(x) and len(y):
            return kernel(x) if Y is None else kernel(x, y)

        # fill in the values for samples that lack the part
        both_missing = ~has_x[:, None] & ~has_y
        out = both_missing.astype(np.float64) * (self.missing == "match")
        if has_x.any() and has_y.any():
            K = kernel(x) if Y is None else kernel(x, y)
            out[np.ix_(has_x, has_y)] = K
        return np.asarray(out)

    def _part_diag(self, i: int, X: Any) -> Array:
        x, present = X[i]
        out = np.full(len(present), float(self.missing == "match"))
        if present.any():
            out[present] = self.kernels[i].diag(x)
        return out

    def _part_gradient(self, i: int, X: Any) -> Array:
        kernel = self.kernels[i]
        x, present = X[i]
        n = len(present)
        if not present.any():
            return np.zeros((n, n, kernel.n_dims))
        _, gradient = kernel(x, eval_gradient=True)
        out = np.zeros((n, n, gradient.shape[2]))
        out[np.ix_(present, present)] = gradient
        return out


class DirectSum(_OverParts):
    """Weighted sum of kernels on the components of a sample, ``sum_i w_i k_i(x_i, z_i)``.

    Parameters
    ----------
    kernels : list of Kernel
        One kernel for each component.
    weights : sequence of float, default=None
        Non-negative weights of the kernels; None means 1 for all.
    columns : list of list of int, default=None
        Columns of each component if samples are rows of a table. None means that samples are
        tuples of components.
    missing : {"raise", "zero", "match"}, default="raise"
        Treatment of a component that is None: "raise" raises an error, "zero" gives similarity 0,
        "match" gives 1 with another missing component and 0 otherwise. Both "zero" and "match"
        preserve positive semi-definiteness.

    See Also
    --------
    TensorProduct : The product over the components.
    ANOVA : Sums of products over subsets of the components.

    Notes
    -----
    The kernel is positive semi-definite if all kernels are. The feature vectors are concatenated.

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
        n_kernels = len(self.kernels)
        if self.weights is None:
            return np.ones(n_kernels)
        return self._per_feature("weights", n_kernels)

    def _gram(self, X: Any, Y: Any) -> Array:
        w = self._w()
        K = w[0] * self._part(0, X, Y)
        for i in range(1, len(w)):
            K += w[i] * self._part(i, X, Y)
        return np.asarray(K)

    def _diag(self, X: Any) -> Array:
        parts = [w * self._part_diag(i, X) for i, w in enumerate(self._w())]
        return np.sum(parts, axis=0)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        return {
            f"kernels__{i}": w * self._part_gradient(i, X) for i, w in enumerate(self._w())
        }


class TensorProduct(_OverParts):
    """Product of kernels on the components of a sample, ``prod_i k_i(x_i, z_i)``.

    Parameters
    ----------
    kernels : list of Kernel
        One kernel for each component.
    columns : list of list of int, default=None
        Columns of each component if samples are rows of a table. None means that samples are
        tuples of components.
    missing : {"raise", "zero", "match"}, default="raise"
        Treatment of a component that is None: "raise" raises an error, "zero" gives similarity 0,
        "match" gives 1 with another missing component and 0 otherwise. Both "zero" and "match"
        preserve positive semi-definiteness.

    See Also
    --------
    DirectSum : The sum over the components.

    Notes
    -----
    The kernel is positive semi-definite if all kernels are. The features are all products of one
    feature from each component.

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
        return np.prod(parts, axis=0)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        factors = [self._part(i, X, None) for i in range(len(self.kernels))]
        gradients = {}
        for i in range(len(factors)):
            product = np.ones_like(K)
            for j, factor in enumerate(factors):
                if j != i:
                    product *= factor
            gradients[f"kernels__{i}"] = product[:, :, None] * self._part_gradient(i, X)
        return gradients
