"""Kernels on sets."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._estimator.validation import tidy
from skmoderndata._samples.containers import (
    Sample,
    as_samples,
    check_finite,
    check_real,
    is_sparse,
    row_blocks,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel

FAMILY = "kernels on sets"
PAGE = "set_kernels"


class _OnSets(BaseKernel):
    """Kernel on indicator vectors: sets become rows of a sparse matrix over their elements."""

    weights: Any

    def _validate(self) -> None:
        weights = self.weights
        if weights is None:
            return
        values = list(weights.values()) if isinstance(weights, dict) else np.ravel(weights)
        if not all(np.isfinite(w) and w >= 0 for w in values):
            raise self._refuse("weights", "a dict or an array of numbers of at least 0")

    def _check(self, X: Any) -> Any:
        """Return rows of 0 and 1 as a matrix, any other samples as a list of frozen sets."""
        name = type(self).__name__
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object:
            X = sparse.csr_array(X)

        # accept a table of indicators
        if is_sparse(X):
            check_real(X, name)
            rows = sparse.csr_array(X, dtype=np.float64)
            X = tidy(rows)
            if not (X.data == 1).all():
                raise ValueError(f"{name}: a table of sets may contain only 0 and 1.")
            return X

        # otherwise accept sets, or collections of their elements
        samples = []
        for x in as_samples(X, name):
            if isinstance(x, str | bytes) or not isinstance(x, Iterable):
                raise TypeError(
                    f"{name}: a sample must be a set (or a list of its elements), but one is "
                    f"{x!r}."
                )
            try:
                samples.append(frozenset(x))
            except TypeError as error:
                raise TypeError(
                    f"{name}: elements of sets must be hashable: {error}"
                ) from None

        return samples

    def _indicators(self, X: Any, Y: Any) -> tuple[Any, Any, Array]:
        """Return indicator matrices over common elements, and the weights of the elements."""
        if is_sparse(X) or is_sparse(Y):
            name = type(self).__name__
            second = X if Y is None else Y
            if not (is_sparse(X) and is_sparse(second)):
                raise ValueError(f"{name}: pass tables or sets, not both.")
            p = X.shape[1]
            p_Y = second.shape[1]
            if p != p_Y:
                raise ValueError(f"{name}: tables have {p} and {p_Y} columns.")
            return X, second, self._element_weights(range(p))

        codes: dict[Any, int] = {}
        A = _encode(X, codes)
        B = A if Y is None else _encode(Y, codes)
        for M in (A, B):
            M.resize((M.shape[0], len(codes)))
        return A, B, self._element_weights(codes)

    def _element_weights(self, elements: Iterable[Any]) -> Array:
        """Return the weights of the elements, 1 for elements without an entry in a dict."""
        elements = list(elements)
        if self.weights is None:
            return np.ones(len(elements))
        if isinstance(self.weights, dict):
            return np.array([float(self.weights.get(e, 1.0)) for e in elements])

        weights = np.ravel(np.asarray(self.weights, dtype=np.float64))
        n = len(weights)
        for e in elements:
            if not isinstance(e, int | np.integer) or not 0 <= e < n:
                raise ValueError(
                    f"{type(self).__name__}: weights has {n} entries, for elements 0 "
                    f"to {n - 1}, but a sample contains {e!r}; use a dict."
                )
        return weights[np.array(elements, dtype=np.intp)]

    def _measure(self, weights: Array) -> Array:
        """Return the additive measure of each element."""
        return weights

    def _common(self, X: Any, Y: Any) -> tuple[Array, Array, Array]:
        """Return the measures of all intersections, and of the sets."""
        A, B, w = self._indicators(X, Y)
        m = self._measure(w)
        common = np.zeros((A.shape[0], B.shape[0]))
        if m.size:
            weighted = A.multiply(m[None, :])
            common = (weighted @ B.T).toarray()
        return common, A @ m, B @ m


def _encode(samples: list[Any], codes: dict[Any, int]) -> Any:
    indices: list[int] = []
    ends = [0]
    for sample in samples:
        indices.extend(codes.setdefault(e, len(codes)) for e in sample)
        ends.append(len(indices))
    ones = np.ones(len(indices))
    columns = np.array(indices, dtype=np.int64)
    shape = (len(samples), len(codes))
    return sparse.csr_array((ones, columns, np.array(ends)), shape=shape)


class Intersection(_OnSets):
    """Number of common elements of two sets, or their total weight.

    Parameters
    ----------
    weights : dict or array-like, default=None
        Non-negative weights of the elements: a dict from elements to weights, or an array for
        tables and sets of integers. Elements missing from a dict have weight 1; None gives all
        elements weight 1.

    See Also
    --------
    PowerSet : Number of common subsets.
    Normalized : ``Normalized(Intersection())`` is the Ochiai coefficient.

    Notes
    -----
    Samples are sets (or lists of their elements), or rows of 0 and 1, sparse or dense. The kernel
    is positive semi-definite. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.5.

    Examples
    --------
    >>> from skmoderndata.kernels import Intersection
    >>> Intersection()([{1, 2, 3}], [{2, 3, 5}])
    array([[2.]])
    >>> Intersection(weights={2: 10.0})([{1, 2, 3}], [{2, 3, 5}])
    array([[11.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="a sparse product", domain="set",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, weights: Any = None) -> None:
        self.weights = weights

    def _gram(self, X: Any, Y: Any) -> Array:
        return self._common(X, Y)[0]

    def _diag(self, X: Any) -> Array:
        A, _, w = self._indicators(X, None)
        return np.asarray(A @ self._measure(w))


class PowerSet(_OnSets):
    r"""Number of common subsets of two sets, ``2^|A and B|``, or a weighted product.

    .. math:: k(A, B) = \prod_{e \in A \cap B} (1 + w_e)

    Parameters
    ----------
    weights : dict or array-like, default=None
        Non-negative weights of the elements: a dict from elements to weights, or an array for
        tables and sets of integers. Elements missing from a dict have weight 1; None gives all
        elements weight 1.

    See Also
    --------
    AllSubsets : The same for vectors; equal on rows of 0 and 1.
    Intersection : The logarithm of this kernel to base 2, without weights.

    Notes
    -----
    The kernel is positive semi-definite. Values grow as ``2^|A|``; ``Normalized(PowerSet())`` is
    computed in logarithms and does not overflow.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 2.3.

    Examples
    --------
    >>> from skmoderndata.kernels import PowerSet
    >>> PowerSet()([{1, 2, 3}], [{2, 3, 5}]).round(6)
    array([[4.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="a sparse product", domain="set",
        method=PAGE,
        tier="standard",
        instead="MultiLabelBinarizer and SVC with an rbf kernel of gamma=log(2) / 2 use the "
        "normalised PowerSet kernel.",
    )  # fmt: skip

    def __init__(self, weights: Any = None) -> None:
        self.weights = weights

    def _measure(self, weights: Array) -> Array:
        return np.log1p(weights)

    def _log_gram(self, X: Any, Y: Any) -> Array:
        return self._common(X, Y)[0]

    def _log_diag(self, X: Any) -> Array:
        A, _, w = self._indicators(X, None)
        return np.asarray(A @ self._measure(w))

    def _gram(self, X: Any, Y: Any) -> Array:
        return np.exp(self._log_gram(X, Y))

    def _diag(self, X: Any) -> Array:
        return np.exp(self._log_diag(X))


class _InUniverse(_OnSets):
    universe: Any

    def _elements(self) -> set[Any] | range:
        if isinstance(self.universe, int | np.integer):
            return range(int(self.universe))
        return set(self.universe)

    def _validate(self) -> None:
        super()._validate()
        universe = self.universe
        if isinstance(universe, int | np.integer) and not isinstance(universe, bool):
            valid = bool(universe >= 0)
        else:
            valid = isinstance(universe, Iterable) and not isinstance(universe, str)
        if not valid:
            raise self._refuse("universe", "a collection of elements, or their number")

    def _total(self) -> float:
        weights = self._element_weights(self._elements())
        return float(self._measure(weights).sum())

    def _check(self, X: Any) -> Any:
        X = super()._check(X)
        elements = self._elements()
        if is_sparse(X):
            p = X.shape[1]
            n_elements = len(elements)
            if p != n_elements:
                raise ValueError(
                    f"{type(self).__name__}: the table has {p} columns, but the universe has "
                    f"{n_elements} elements."
                )
            return X

        for sample in X:
            strange = [e for e in sample if e not in elements]
            if strange:
                raise ValueError(
                    f"{type(self).__name__}: a sample contains {strange[0]!r}, which is not in "
                    "the universe."
                )
        return X


class UnionComplement(_InUniverse):
    """Number of elements of the universe in neither set, or their total weight.

    Parameters
    ----------
    universe : collection or int
        All possible elements; an integer n means the elements 0 to n - 1.
    weights : dict or array-like, default=None
        Non-negative weights of the elements: a dict from elements to weights, or an array for
        tables and sets of integers. Elements missing from a dict have weight 1; None gives all
        elements weight 1.

    See Also
    --------
    Agreement : Also counts the intersection.

    Notes
    -----
    The kernel is positive semi-definite: it is the intersection kernel of the complements.
    Elements outside the universe raise ValueError. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.5.

    Examples
    --------
    >>> from skmoderndata.kernels import UnionComplement
    >>> UnionComplement({1, 2, 3, 4, 5})([{1, 2, 3}], [{2, 3, 5}])
    array([[1.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="a sparse product", domain="set",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, universe: Any, weights: Any = None) -> None:
        self.universe = universe
        self.weights = weights

    def _gram(self, X: Any, Y: Any) -> Array:
        common, a, b = self._common(X, Y)
        return self._total() - a[:, None] - b + common

    def _diag(self, X: Any) -> Array:
        A, _, w = self._indicators(X, None)
        return np.asarray(self._total() - A @ self._measure(w))


class Agreement(_InUniverse):
    """Number of elements of the universe in both sets or in neither, or their total weight.

    Parameters
    ----------
    universe : collection or int
        All possible elements; an integer n means the elements 0 to n - 1.
    weights : dict or array-like, default=None
        Non-negative weights of the elements: a dict from elements to weights, or an array for
        tables and sets of integers. Elements missing from a dict have weight 1; None gives all
        elements weight 1.

    See Also
    --------
    Intersection : Counts only elements in both sets.
    UnionComplement : Counts only elements in neither set.

    Notes
    -----
    The kernel is positive semi-definite; without weights it is the size of the universe minus the
    Hamming distance. Elements outside the universe raise ValueError. The definition is the
    standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.5.

    Examples
    --------
    >>> from skmoderndata.kernels import Agreement
    >>> Agreement({1, 2, 3, 4, 5})([{1, 2, 3}], [{2, 3, 5}])
    array([[3.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="a sparse product", domain="set",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, universe: Any, weights: Any = None) -> None:
        self.universe = universe
        self.weights = weights

    def _gram(self, X: Any, Y: Any) -> Array:
        common, a, b = self._common(X, Y)
        return np.asarray(self._total() - a[:, None] - b + 2 * common)

    def _diag(self, X: Any) -> Array:
        n = X.shape[0] if is_sparse(X) else len(X)
        return np.full(n, self._total())


class DerivedSubsets(BaseKernel):
    """Sum of a kernel over all pairs of elements, one from each set.

    Parameters
    ----------
    base_kernel : Kernel
        Kernel of elements.
    average : bool, default=False
        Whether to divide by the number of pairs, which gives the inner product of the mean
        embeddings of the two sets.

    See Also
    --------
    Intersection : Uses the base kernel that is 1 for equal elements and 0 otherwise.

    Notes
    -----
    A sample is a table of vectors, one per row, or a collection of numbers, vectors or other
    inputs of the base kernel; repeated elements count in lists but not in sets. An empty sample
    has similarity 0. The kernel is positive semi-definite if `base_kernel` is. The base kernel is
    evaluated on the elements of all samples, in blocks of bounded memory. The definition is the
    standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.5.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from skmoderndata.kernels import DerivedSubsets
    >>> DerivedSubsets(DotProduct(sigma_0=0.0))([[1.0, 2.0, 3.0]], [[2.0, 3.0, 5.0]])
    array([[60.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="pairs of elements", domain="set",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, base_kernel: Any, average: bool = False) -> None:
        self.base_kernel = base_kernel
        self.average = average

    def _check(self, X: Any) -> list[Any]:
        samples: list[Any] = []
        for x in as_samples(X, "DerivedSubsets"):
            if isinstance(x, str | bytes | Sample) or not hasattr(x, "__len__"):
                raise TypeError(
                    f"DerivedSubsets: a sample must be a collection of elements; one is {x!r}."
                )
            if not self.base_kernel.requires_vector_input:
                samples.append(list(x))
                continue
            x = x if isinstance(x, np.ndarray) else list(x)
            check_real(x, "DerivedSubsets")
            check_finite(x, "DerivedSubsets")
            table = np.asarray(x, dtype=np.float64)
            samples.append(table[:, None] if table.ndim == 1 else table)
        return samples

    def _pool(self, samples: list[Any]) -> tuple[Any, Any]:
        """Return all elements, and the matrix that sums them for each sample."""
        # make one column for each element, with 1 (or 1 / size) in the rows of the samples that
        # contain it
        sizes = np.array([len(x) for x in samples], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        n_elements = int(ends[-1])
        weights = np.ones(n_elements)
        if self.average:
            weights /= np.repeat(np.maximum(sizes, 1), sizes)
        shape = (len(samples), n_elements)
        adder = sparse.csr_array((weights, np.arange(n_elements), ends), shape=shape)

        if self.base_kernel.requires_vector_input:
            filled = [x for x in samples if len(x)]
            elements: Any = np.vstack(filled) if filled else np.zeros((0, 1))
        else:
            elements = [e for x in samples for e in x]
        return elements, adder

    def _gram(self, X: Any, Y: Any) -> Array:
        samples = X if Y is None else Y
        everything, add = self._pool(samples)
        n_elements = add.shape[1]
        K = np.zeros((len(X), len(samples)))
        if not n_elements:
            return K

        largest = max((len(x) for x in X), default=1)
        row_bytes = 8 * n_elements * max(1, largest)
        for rows in row_blocks(len(X), row_bytes):
            elements, add_block = self._pool(X[rows])
            if add_block.shape[1]:
                values = self.base_kernel(elements, everything)
                K[rows] = add_block @ (add @ values.T).T
        return (K + K.T) / 2 if Y is None else K

    def _diag(self, X: Any) -> Array:
        values = []
        for x in X:
            size = len(x)
            k = float(self.base_kernel(x).sum()) if size else 0.0
            values.append(k / size**2 if self.average and size else k)
        return np.array(values)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        elements, add = self._pool(X)
        _, gradient = self.base_kernel(elements, eval_gradient=True)
        layers = [add @ (add @ dk.T).T for dk in np.moveaxis(gradient, 2, 0)]
        return {"base_kernel": np.stack(layers, axis=2)}
