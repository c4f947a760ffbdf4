"""Polynomial expansion of blocks of rows, written into a buffer the caller owns."""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Expansion(Protocol):
    """A function of one row, evaluated for many rows at once, features first."""

    n_inputs: int
    n_outputs: int

    def into(self, columns: Array, out: Array) -> None:
        """Write the features of `columns` (n_inputs, n) to `out` (n_outputs, n)."""
        ...


class PolynomialExpansion:
    """All monomials of degree 1 to `degree` of `n_inputs` variables.

    Order and names are those of `sklearn.preprocessing.PolynomialFeatures`: by degree, then
    lexicographic; `include_bias` puts a column of ones first.

    >>> expansion = PolynomialExpansion(2, degree=2)
    >>> expansion.names(["a", "b"])
    ['a', 'b', 'a^2', 'a b', 'b^2']
    >>> expansion(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    """

    def __init__(self, n_inputs: int, degree: int, include_bias: bool = False) -> None:
        self.n_inputs, self.degree, self.include_bias = n_inputs, degree, include_bias
        # (variable, rows of its factor in `out`, rows of the product): the monomials of degree
        # d + 1 that begin with variable i are x_i times the monomials of degree d from i on
        self._products: list[tuple[int, slice, slice]] = []
        start = int(include_bias)
        stop = start + n_inputs
        first = list(range(start, stop))  # where the monomials that begin with i begin
        for _ in range(degree - 1):
            begin_next, position = [], stop
            for i, begin in enumerate(first):
                begin_next.append(position)
                end = position + stop - begin
                self._products.append((i, slice(begin, stop), slice(position, end)))
                position = end
            first, stop = begin_next, position
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
        """Expand the rows of `X` (n, n_inputs) to (n, n_outputs), in Fortran order."""
        out = np.empty((self.n_outputs, X.shape[0]), dtype=X.dtype)
        self.into(np.ascontiguousarray(X.T), out)
        return out.T

    def powers(self) -> Array:
        """Exponent of each variable in each monomial, (n_outputs, n_inputs)."""
        powers = np.zeros((self.n_outputs, self.n_inputs), dtype=np.int64)
        for row, variables in enumerate(self._variables()):
            np.add.at(powers[row], list(variables), 1)
        return powers

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Names of the monomials, as `PolynomialFeatures.get_feature_names_out` writes them."""
        return [
            " ".join(
                input_names[i] if variables.count(i) == 1 else f"{input_names[i]}^{power}"
                for i, power in sorted((i, variables.count(i)) for i in set(variables))
            )
            or "1"
            for variables in self._variables()
        ]

    def _variables(self) -> list[tuple[int, ...]]:
        degrees = range(0 if self.include_bias else 1, self.degree + 1)
        return [
            variables
            for degree in degrees
            for variables in combinations_with_replacement(range(self.n_inputs), degree)
        ]
