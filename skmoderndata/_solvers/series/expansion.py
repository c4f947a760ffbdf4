"""Expansions of blocks of rows, written into a buffer the caller owns."""

from typing import Protocol

import numpy as np

from skmoderndata._typing import Array


class Expansion(Protocol):
    """A function of one row, evaluated for many rows at once."""

    n_inputs: int
    n_outputs: int

    def __call__(self, X: Array) -> Array:
        """Map rows (n, n_inputs) to their features (n, n_outputs)."""
        ...


class PolynomialExpansion:
    """All monomials of degree 1 to `degree` of `n_inputs` variables.

    Their order is that of `sklearn.preprocessing.PolynomialFeatures`: by degree, then
    lexicographic, as a, b, a^2, a b, b^2; `include_bias` puts a column of ones first.

    >>> expansion = PolynomialExpansion(2, degree=2)
    >>> expansion(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    """

    def __init__(self, n_inputs: int, degree: int, include_bias: bool = False) -> None:
        self.n_inputs = n_inputs
        self.degree = degree
        self.include_bias = include_bias
        # (variable, rows of its factor in `out`, rows of the product): the monomials of degree
        # d + 1 that begin with variable i are x_i times the monomials of degree d from i on
        self._products: list[tuple[int, slice, slice]] = []
        start = int(include_bias)
        stop = start + n_inputs

        first = list(range(start, stop))  # where the monomials that begin with i begin
        for _ in range(degree - 1):
            begin_next = []
            position = stop
            for i, begin in enumerate(first):
                begin_next.append(position)
                end = position + stop - begin
                self._products.append((i, slice(begin, stop), slice(position, end)))
                position = end
            first = begin_next
            stop = position

        self.n_outputs = stop

    def into(self, columns: Array, out: Array) -> None:
        """Write the monomials of `columns` (n_inputs, n) to `out` (n_outputs, n).

        Features come first so that every product runs over contiguous memory.
        """
        start = int(self.include_bias)
        out[:start] = 1
        out[start : start + self.n_inputs] = columns
        for i, factor, product in self._products:
            np.multiply(out[factor], columns[i], out=out[product])

    def __call__(self, X: Array) -> Array:
        """Expand the rows of `X` (n, n_inputs) to (n, n_outputs), in Fortran order.

        Linear features are the rows themselves.
        """
        if self.n_outputs == self.n_inputs:
            return X
        out = np.empty((self.n_outputs, X.shape[0]), dtype=X.dtype)
        self.into(np.ascontiguousarray(X.T), out)
        return out.T

    def in_range(self, X: Array) -> bool:
        """Whether the largest monomials of the columns of `X` have squares within float64."""
        if self.degree == 1:  # as the squares of all data that are not refused
            return True
        peak = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
        with np.errstate(over="ignore", under="ignore"):
            size = peak.astype(np.float64) ** self.degree
        return bool(((size == 0) | ((size > 1e-145) & (size < 1e145))).all())


class LinearOutputs:
    """The outputs as an expansion, so that their own moments can be measured."""

    def __init__(self, expansion: Expansion, mean: Array, components: Array) -> None:
        self.expansion = expansion
        self.mean = mean
        self.components = components
        self.n_inputs = expansion.n_inputs
        self.n_outputs = len(components)

    def __call__(self, X: Array) -> Array:
        """Map rows to outputs; centred first, so that small outputs keep their digits."""
        return np.asarray((self.expansion(X) - self.mean) @ self.components.T)
