"""Expansions of blocks of rows."""

from itertools import combinations_with_replacement
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.typing import Array

# Number of entries of the expanded features of a block of rows (2 MiB).
BLOCK_ENTRIES = 2**18


class Expansion(Protocol):
    """A function of one row, evaluated for many rows at once."""

    n_inputs: int
    n_outputs: int

    def __call__(self, X: Array) -> Array:
        """Map rows (n, n_inputs) to their features (n, n_outputs)."""
        ...


class PolynomialExpansion:
    """All monomials of degree 1 to `degree` of `n_inputs` variables.

    Their order is the same as in `sklearn.preprocessing.PolynomialFeatures`: by degree, then
    lexicographic, such as a, b, a^2, a b, b^2; `include_bias` puts a column of ones first.
    `origin` is subtracted from the variables, because monomials of values far from zero are nearly
    collinear.

    >>> expansion = PolynomialExpansion(2, degree=2)
    >>> expansion(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    >>> expansion.about(np.array([1.0, 1.0]))(np.array([[2.0, 3.0]]))
    array([[1., 2., 1., 2., 4.]])
    """

    def __init__(
        self,
        n_inputs: int,
        degree: int,
        include_bias: bool = False,
        origin: Array | None = None,
    ) -> None:
        self.n_inputs = n_inputs
        self.degree = degree
        self.include_bias = include_bias
        self.origin = origin
        # (variable, rows of the factor in `out`, rows of the product): monomials of degree d + 1
        # that begin with variable i are x_i times the monomials of degree d from variable i on
        self._products: list[tuple[int, slice, slice]] = []
        start = int(include_bias)
        stop = start + n_inputs

        # find the first row of the monomials that begin with each variable
        first = list(range(start, stop))
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

        Features are the first axis, so that every product runs over contiguous memory.
        """
        out[: int(self.include_bias)] = 1
        variables = out[self.linear]
        variables[:] = columns
        if self.origin is not None:
            variables -= self.origin[:, None]
        for i, factor, product in self._products:
            np.multiply(out[factor], variables[i], out=out[product])

    def __call__(self, X: Array) -> Array:
        """Expand the rows of `X` (n, n_inputs) to (n, n_outputs), in Fortran order.

        Without an origin, linear features are the rows themselves.
        """
        if self.n_outputs == self.n_inputs and self.origin is None:
            return X
        out = np.empty((self.n_outputs, X.shape[0]), dtype=X.dtype)
        self.into(np.ascontiguousarray(X.T), out)
        return out.T

    @property
    def linear(self) -> slice:
        """Positions of the variables among the monomials."""
        start = int(self.include_bias)
        return slice(start, start + self.n_inputs)

    def about(self, origin: Array | None) -> "PolynomialExpansion":
        """Return the monomials about another origin."""
        return PolynomialExpansion(self.n_inputs, self.degree, self.include_bias, origin)

    def translation(self, origin: Array) -> tuple[Any, Array]:
        """Return a sparse T and t, such that monomials m become ``T m + t`` about `origin`.

        Let s be the old origin minus the new one. A product of factors ``z_i + s_i`` is the sum,
        over all subsets of the factors, of the product of z_i in the subset and s_i outside it.
        """
        shift = np.zeros(self.n_inputs) if self.origin is None else self.origin
        shift = shift - origin
        first = int(self.include_bias)
        monomials = [
            monomial
            for d in range(1, self.degree + 1)
            for monomial in combinations_with_replacement(range(self.n_inputs), d)
        ]
        position = {monomial: first + j for j, monomial in enumerate(monomials)}

        # collect entries of T as (row, column, value); the constant monomial does not change
        entries = [(0, 0, 1.0)] * first
        t = np.zeros(self.n_outputs)
        for monomial, row in position.items():
            d = len(monomial)
            for subset in range(2**d):
                factors = tuple(monomial[j] for j in range(d) if subset >> j & 1)
                dropped = [monomial[j] for j in range(d) if not subset >> j & 1]
                value = float(np.prod(shift[dropped]))
                if factors:
                    entries.append((row, position[factors], value))
                else:
                    t[row] += value

        # values of equal positions are added: x^2 y has the subset x twice, once for each dropped
        # x
        rows, columns, values = zip(*entries, strict=True)
        size = (self.n_outputs, self.n_outputs)
        return sparse.coo_array((values, (rows, columns)), shape=size).tocsr(), t

    def errors(self, size: Array, error: Array) -> Array:
        """Return the size of the errors of monomials, given the size and errors of variables."""
        plain = self.about(None)
        magnitudes = np.column_stack([size + error, size])
        expanded = np.empty((self.n_outputs, 2))
        plain.into(magnitudes, expanded)
        return expanded[:, 0] - expanded[:, 1]

    def in_range(self, X: Array) -> bool:
        """Return whether the squares of the largest monomials of the columns fit into float64."""
        # degree 1 cannot overflow, because the squares of all accepted data fit into float64
        if self.degree == 1:
            return True
        high = X.max(axis=0, initial=-np.inf).astype(np.float64)
        low = X.min(axis=0, initial=np.inf).astype(np.float64)
        if self.origin is not None:
            high -= self.origin
            low -= self.origin
        peak = np.maximum(np.maximum(high, -low), 0.0)
        # ignore the rounding errors that remain if the origin is subtracted from a constant column
        if self.origin is not None:
            peak[peak <= 32 * np.finfo(X.dtype).eps * np.abs(self.origin)] = 0.0

        with np.errstate(over="ignore", under="ignore"):
            largest = peak**self.degree
        return bool(((largest == 0) | ((largest > 1e-145) & (largest < 1e145))).all())


class LinearOutputs:
    """Outputs as an expansion, so that their moments can be measured."""

    def __init__(self, expansion: Expansion, mean: Array, components: Array) -> None:
        self.expansion = expansion
        self.mean = mean
        self.components = components
        self.n_inputs = expansion.n_inputs
        self.n_outputs = len(components)

    def __call__(self, X: Array) -> Array:
        """Map rows to outputs; centring first preserves the digits of small outputs."""
        return np.asarray((self.expansion(X) - self.mean) @ self.components.T)
