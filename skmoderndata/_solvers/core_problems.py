"""Support vector problems in the form that the core-set search solves."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from skmoderndata._solvers.core_set import squared_hinge_gap, tube_gap

Array = np.ndarray[Any, np.dtype[Any]]

START_SAMPLE = 100  # points of which the first two are chosen


class Rows(Protocol):
    """Kernel values between the samples of a data set."""

    n_rows: int

    def matrix(self, a: Array, b: Array) -> Array:
        """Kernel values of samples against samples."""

    def expansion(self, b: Array, coef: Array) -> Any:
        """Weighted sum of kernels at samples."""

    def values(self, expansion: Any, rows: Array | slice, *, exact: bool) -> Array:
        """Values of such a sum at samples."""


class _Units:
    """Samples with positive weight, numbered from zero."""

    def __init__(self, rows: Rows, ids: Array | None) -> None:
        self.rows, self.ids = rows, ids
        self.n_units = rows.n_rows if ids is None else len(ids)

    def row(self, units: Array | slice) -> Array | slice:
        """Rows of the data that belong to units."""
        if self.ids is None:
            return units
        found: Array = self.ids[units]
        return found

    def kernel(self, a: Array, b: Array) -> Array:
        """Kernel values of units."""
        ids = self.ids
        return self.rows.matrix(a if ids is None else ids[a], b if ids is None else ids[b])

    def scores(self, expansion: Any, units: Array | slice, exact: bool) -> Array:
        """Values of an expansion at units."""
        return self.rows.values(expansion, self.row(units), exact=exact)


class SignedRows(_Units):
    """Classification, `K'_ij = y_i y_j (k_ij + bias) + delta_ij / c_i`; one class with all y = 1.

    Parameters
    ----------
    rows : Rows
    signs : ndarray of shape (n_units,)
        Labels -1 and 1.
    costs : ndarray of shape (n_units,) or float
        Weights `c_i` in `1/2 sum c_i slack_i^2`, positive.
    bias : float
        Added to the kernel: the square of the constant that plays the part of a feature.
    diagonal : float
        Largest `k_ii`; everything is divided by it.
    ids : ndarray or None
        Rows that take part; None is all.
    """

    def __init__(
        self,
        rows: Rows,
        signs: Array,
        costs: Array | float,
        *,
        bias: float,
        diagonal: float,
        ids: Array | None = None,
    ) -> None:
        super().__init__(rows, ids)
        self.signs, self.bias = signs, bias
        self.scale = diagonal + bias if diagonal + bias > 0 else 1.0
        self.costs = np.asarray(costs, dtype=np.float64) * self.scale
        self.n_indices = self.n_units
        self.fixed = np.zeros(0, np.int64)
        self.largest_diagonal = 1.0 + 1.0 / float(self.costs.min())

    def start(self, rng: np.random.RandomState) -> Array:
        """Choose a sample and the nearest of the other class; in one class, the furthest."""
        first = int(rng.randint(self.n_units))
        others = np.flatnonzero(self.signs != self.signs[first])
        alone = len(others) == 0
        if alone:
            others = np.arange(self.n_units)
        if len(others) > START_SAMPLE:
            others = others[rng.randint(0, len(others), size=START_SAMPLE)]
        k = self.kernel(np.array([first]), others)[0]
        second = int(others[k.argmin() if alone else k.argmax()])
        return np.unique([first, second])

    def gram(self, a: Array, b: Array) -> Array:
        """Return `K'` without its diagonal part."""
        K = self.kernel(a, b)
        K += self.bias
        K *= self.signs[a][:, None] / self.scale
        K *= self.signs[b]
        return K

    def slack(self, indices: Array) -> Array:
        """Return `1 / c`."""
        return 1.0 / self.cost(indices)

    def cost(self, indices: Array | slice) -> Array:
        """Scaled costs of indices."""
        if self.costs.ndim:
            found: Array = self.costs[indices]
            return found
        return np.broadcast_to(self.costs, self.signs[indices].shape)

    def linear(self, indices: Array) -> Array:
        """No linear part."""
        return np.zeros(len(indices))

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Values of the function, in the scaled kernel."""
        coef = a * self.signs[core] / self.scale
        ids = core if self.ids is None else self.ids[core]
        expansion, offset = self.rows.expansion(ids, coef), self.bias * float(coef.sum())

        def score(units: Array | slice, *, exact: bool) -> Array:
            values = self.scores(expansion, units, exact)
            values += offset
            return values

        return score

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return the units themselves, and `g = y f`."""
        indices = np.arange(self.n_units)[units] if isinstance(units, slice) else units
        return indices, self.signs[units] * values

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Gap of the squared hinge loss at the best multiple of the function."""
        norm = max(0.0, rho - float((a * a) @ self.slack(core)))
        return squared_hinge_gap(self.signs * values, self.costs, norm, rho)

    def margin_unit(self, rho: float) -> float:
        """Return the margin."""
        return rho


class TubeRows(_Units):
    """Regression: index `2 i` pulls sample i up, `2 i + 1` down, the last is the idle one.

    `K' = s s' (k_ij + bias) + delta / c` and `v = 2 s y_i / D`; the idle index has a zero row and
    keeps the width of the tube from becoming negative.
    """

    def __init__(
        self,
        rows: Rows,
        y: Array,
        cost: Array | float,
        level: float,
        *,
        bias: float,
        diagonal: float,
        ids: Array | None = None,
    ) -> None:
        super().__init__(rows, ids)
        self.scale = diagonal + bias if diagonal + bias > 0 else 1.0
        self.y, self.level, self.bias = y, level, bias
        self.target = y / (level * self.scale)
        self.costs = np.asarray(cost, dtype=np.float64)
        self.n_indices = 2 * self.n_units + 1
        self.fixed = np.array([2 * self.n_units])
        self.largest_diagonal = (
            1.0
            + 1.0 / float(self.costs.min() * self.scale)
            + 2.0 * float(np.abs(self.target).max())
        )
        self.spread = float(np.std(y)) or 1.0

    def start(self, rng: np.random.RandomState) -> Array:
        """Pull the largest y up and the smallest down."""
        return np.array([2 * int(self.y.argmax()), 2 * int(self.y.argmin()) + 1])

    def _split(self, indices: Array) -> tuple[Array, Array]:
        """Units and signs; the idle index has sign zero."""
        idle = indices == 2 * self.n_units
        signs = np.where(idle, 0.0, np.where(indices % 2 == 0, 1.0, -1.0))
        return np.where(idle, 0, indices // 2), signs

    def gram(self, a: Array, b: Array) -> Array:
        """Return `K'` without its diagonal part."""
        (rows_a, signs_a), (rows_b, signs_b) = self._split(a), self._split(b)
        K = self.kernel(rows_a, rows_b)
        K += self.bias
        K *= signs_a[:, None] / self.scale
        K *= signs_b
        return K

    def slack(self, indices: Array) -> Array:
        """Return `1 / c`, zero for the idle index."""
        units, signs = self._split(indices)
        cost = self.costs[units] if self.costs.ndim else self.costs
        return np.abs(signs) / (cost * self.scale)

    def linear(self, indices: Array) -> Array:
        """Return `2 s y / D`."""
        units, signs = self._split(indices)
        v: Array = 2.0 * signs * self.target[units]
        return v

    def coefficients(self, core: Array, a: Array) -> tuple[Array, Array]:
        """Units and the weights of their kernels, in the scaled problem."""
        units, signs = self._split(core)
        used = signs != 0
        found, place = np.unique(units[used], return_inverse=True)
        return found, np.bincount(place, (a * signs)[used], minlength=len(found)) / self.scale

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Values of the function, in the scaled problem."""
        units, coef = self.coefficients(core, a)
        ids = units if self.ids is None else self.ids[units]
        expansion, offset = self.rows.expansion(ids, coef), self.bias * float(coef.sum())

        def score(units: Array | slice, *, exact: bool) -> Array:
            values = self.scores(expansion, units, exact)
            values += offset
            return values

        return score

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return the index of the side on which each sample lies, and `g = -|residual|`."""
        number = np.arange(self.n_units)[units] if isinstance(units, slice) else units
        residual = values - self.target[units]
        return 2 * number + (residual > 0), -np.abs(residual)

    def solution(self, values: Array, core: Array, a: Array, rho: float) -> tuple[float, float]:
        """Relative duality gap and the best width of the tube."""
        level, scale = self.level, self.scale
        norm = level**2 * scale * max(0.0, rho - float((a * a) @ self.slack(core)))
        linear = 0.5 * level**2 * scale * float(self.linear(core) @ a)
        dual = 2.0 * linear - 0.5 * level**2 * scale * rho
        residuals = level * scale * (values - self.target)
        return tube_gap(residuals, self.costs, norm, level, dual)

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Gap of the squared loss outside of the tube."""
        return self.solution(values, core, a, rho)[0]

    def margin_unit(self, rho: float) -> float:
        """Return a fifth of the deviation of y."""
        return 0.2 * self.spread / (self.level * self.scale)
