"""Support vector problems in the form that the core-set search solves.

*Units* are sampled, *indices* have weights. A problem has these attributes and methods:

- `n_units` and `n_indices`; `listed`, whether every index below `n_indices` is a variable;
  `fixed`, the indices in every core set; `core`, the indices in the current one;
  `largest_diagonal`, the largest `K'_ii - v_i`;
- `gram`, the matrix `K'` without its diagonal part, which is `slack`; `products`, `K' a` without
  the diagonal part; `linear`, the vector v;
- a `scorer`, which returns the values of the current function at units; `candidates`, the index
  with the smallest half gradient g for each unit; `margin_unit`, the violation of g that equals
  one margin and is the unit of tolerances.
"""

import copy
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.certificates import (
    best_multiple,
    gap_to_margin,
    scaled_squared_hinge,
    tube_gap,
)
from skmoderndata._solvers.margins.core import append_rows
from skmoderndata._solvers.margins.ranking import (
    ActivePairs,
    graded_pairs,
    listed_pairs,
    next_below,
    worst_below,
)

# Maximum number of points among which the second point of the first core set is chosen.
START_SAMPLE = 100
# Maximum number of rows of lower grades that one search for further pairs visits.
LOOKED_AT = 100_000_000


class Rows(Protocol):
    """Kernel values between the samples of a data set, computed when needed."""

    n_rows: int
    n_evaluations: int  # number of kernel values computed so far
    definite: bool  # whether the kernel is known to be positive semi-definite

    def diag(self, a: Array | slice) -> Array:
        """Return kernel values of samples with themselves."""

    def matrix(self, a: Array, b: Array) -> Array:
        """Return kernel values of samples against samples."""

    def expansion(self, b: Array, coef: Array) -> Any:
        """Return a weighted sum of kernels at samples."""

    def values(self, expansion: Any, rows: Array | slice, *, exact: bool = True) -> Array:
        """Return values of such a sum at samples."""


class _Units:
    """Samples with positive weight, numbered from zero."""

    listed = True
    bias = 0.0
    sides = 1  # number of indices of each unit
    n_indices: int
    gram: Callable[[Array, Array], Array]
    slack: Callable[[Array], Array]
    make_store: Callable[[], Any] | None = None

    def __init__(self, rows: Rows, ids: Array | None) -> None:
        self.rows = rows
        self.ids = ids
        self.core = self.fixed = np.zeros(0, np.int64)
        self.n_units = rows.n_rows if ids is None else len(ids)

    def row(self, units: Any) -> Any:
        """Return the rows of the data for units."""
        if self.ids is None:
            return units
        return self.ids[units]

    def state(self, core: Array, a: Array) -> tuple[Array, Array, Array]:
        """Return the rows of the data in a core set, the side of each, and the weights."""
        has_unit = core < self.sides * self.n_units
        units, side = np.divmod(core[has_unit], self.sides)
        return self.row(units), side, a[has_unit]

    def begin(self, rows: Array, side: Array, a: Array) -> tuple[Array, Array] | None:
        """Return the core set of a `state` on other samples, or None if no weight is left."""
        units = rows
        present = rows < self.n_units
        if self.ids is not None:
            units = np.searchsorted(self.ids, rows).clip(max=len(self.ids) - 1)
            present = self.ids[units] == rows
        core = (self.sides * units + side)[present]
        return (core, a[present]) if (a[present] > 0).any() else None

    def numbers(self, units: Array | slice) -> Array:
        """Return units as an array of numbers."""
        return np.arange(self.n_units)[units] if isinstance(units, slice) else units

    def draw(self, rng: np.random.RandomState, size: int) -> Array:
        """Draw units with replacement, and return each once."""
        return np.unique(rng.randint(0, self.n_units, size=size))

    def order(self, rng: np.random.RandomState) -> Array:
        """Return a random order of the units."""
        n = self.n_units
        return rng.permutation(n).astype(np.int64 if n > np.iinfo(np.int32).max else np.int32)

    def involved(self, units: Array, chosen: Array, indices: Array) -> Array:
        """Return the mask itself, because each candidate is one unit."""
        return chosen

    def kernel(self, a: Array, b: Array) -> Array:
        """Return kernel values of units."""
        return self.rows.matrix(self.row(a), self.row(b))

    def checked(self, K: Array, slack: Array) -> Array:
        """Add the diagonal part to a square matrix; raise ValueError if it is not a kernel."""
        if self.rows.definite:
            K[np.diag_indices(len(K))] += slack
            return K
        append_rows(Q := np.empty_like(K), K, slack, 0)
        return Q

    def whole(self) -> tuple[Array, Array, Array]:
        """Return the matrix of all indices, no signs, and equal weights."""
        every = np.arange(self.n_indices)
        ones = np.ones(self.n_indices)
        K = self.checked(self.gram(every, every), self.slack(every))
        return K, ones, ones / len(ones)

    def function(self, units: Array, coef: Array) -> Callable[..., Array]:
        """Return a function that scores samples by a sum of kernels at units, with the offset."""
        expansion = self.rows.expansion(self.row(units), coef)
        offset = self.bias * float(coef.sum())

        def score(units: Array | slice, *, exact: bool) -> Array:
            values = self.rows.values(expansion, self.row(units), exact=exact)
            values += offset
            return values

        return score

    def linear(self, indices: Array) -> Array:
        """Return zeros, because these problems have no linear part."""
        return np.zeros(len(indices))

    def margin_unit(self, rho: float) -> float:
        """Return the margin."""
        return rho


class _SignedUnits(_Units):
    """Units with signs as indices: `K' = s s' (k_ij + bias) + delta / c`, divided by `scale`."""

    scale: float
    scorer: Callable[[Array, Array], Callable[..., Array]]

    def split(self, indices: Array) -> tuple[Array, Array]:
        """Return units and signs of indices."""
        raise NotImplementedError

    def gram(self, a: Array, b: Array) -> Array:
        """Return `K'` without its diagonal part."""
        (units_a, signs_a) = self.split(a)
        (units_b, signs_b) = self.split(b)
        K = self.kernel(units_a, units_b)
        K += self.bias
        K *= signs_a[:, None] / self.scale
        K *= signs_b
        return K

    def products(self, indices: Array, core: Array, a: Array) -> Array:
        """Return `s f` at indices, without the diagonal part."""
        units, signs = self.split(indices)
        return np.asarray(signs * self.scorer(core, a)(units, exact=True))


class SignedRows(_SignedUnits):
    """Classification, `K'_ij = y_i y_j (k_ij + bias) + delta_ij / c_i`; all y = 1 for one class.

    Parameters
    ----------
    rows : Rows
    signs : ndarray of shape (n_units,)
        Labels -1 and 1.
    costs : ndarray of shape (n_units,) or float
        Weights `c_i` in `1/2 sum c_i slack_i^2`, positive.
    bias : float
        Constant added to the kernel: the square of the value of a constant feature.
    diagonal : float
        Largest `k_ii`; everything is divided by it.
    ids : ndarray or None
        Rows to use; None means all rows.
    make_store : function or None
        Function that creates a cache of kernel rows of the samples in use, with the bias.
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
        make_store: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(rows, ids)
        self.make_store = make_store
        self.signs = signs
        self.bias = bias
        self.scale = diagonal + bias if diagonal + bias > 0 else 1.0
        scaled = np.asarray(costs, dtype=np.float64) * self.scale
        self.costs = np.broadcast_to(scaled, signs.shape)
        self.own = np.broadcast_to(1.0 / scaled, signs.shape)  # term added to the diagonal
        self.n_indices = self.n_units
        self.largest_diagonal = 1.0 + float(self.own.max())
        # let problems with other labels share the kernel matrix (without the signs of the labels)
        # and a cache of all its rows
        self._whole: list[Array] = []
        self._stored: list[Any] = []
        self._lock = threading.Lock()

    def start(self, rng: np.random.RandomState) -> Array:
        """Choose a sample and the nearest of the other class, or the furthest in one class."""
        first = int(rng.randint(self.n_units))
        candidates = np.flatnonzero(self.signs != self.signs[first])
        alone = len(candidates) == 0
        if alone:
            candidates = np.arange(self.n_units)
        if len(candidates) > START_SAMPLE:
            candidates = candidates[rng.randint(0, len(candidates), size=START_SAMPLE)]

        k = self.kernel(np.array([first]), candidates)[0]
        second = int(candidates[k.argmin() if alone else k.argmax()])
        return np.unique([first, second])

    def split(self, indices: Array) -> tuple[Array, Array]:
        """Return the units themselves, and their labels."""
        return indices, self.signs[indices]

    def slack(self, indices: Array) -> Array:
        """Return `1 / c`."""
        return self.own[indices]

    def relabelled(self, signs: Array) -> "SignedRows":
        """Return the problem with other labels, which shares the kernel values of all samples."""
        twin = copy.copy(self)
        twin.signs = signs
        return twin

    def stored(self) -> Any:
        """Return a cache of kernel rows, without signs; share it if it holds all rows."""
        with self._lock:
            if not self._stored:
                assert self.make_store is not None
                store = self.make_store()
                self.rows.n_evaluations += store.n_evaluations
                if not store.holds_all:
                    return store
                self._stored.append(store)
        return self._stored[0].reader()

    def whole(self) -> tuple[Array, Array, Array]:
        """Return the matrix of all samples, their signs, and the weights of a close pair."""
        with self._lock:
            if not self._whole:
                every = np.arange(self.n_units)
                K = self.kernel(every, every)
                K += self.bias
                K /= self.scale
                self._whole.append(self.checked(K, self.slack(every)))
        Q = self._whole[0]
        signs = self.signs.astype(np.float64)
        first = int(signs.argmax())
        second = int(np.where(signs < 0, Q[first], -np.inf).argmax())
        a = np.bincount([first, second], minlength=len(signs)) / 2.0
        return Q, signs, a

    def unit_values(self, g: Array, a: Array) -> Array:
        """Return values at all samples."""
        return np.asarray(self.signs * (g - self.own * a))

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return a function that scores units, in the scaled kernel."""
        return self.function(core, a * self.signs[core] / self.scale)

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return the units themselves, and `g = y f`."""
        return self.numbers(units), self.signs[units] * values

    def best_multiple(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the least squared hinge loss over multiples of the function, and the multiple."""
        norm = max(rho - float((a * a) @ self.slack(core)), 0.0)
        return scaled_squared_hinge(self.signs * values, self.costs, norm, multiple_at(rho))

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Return the relative gap of the best multiple of the function."""
        return gap_to_margin(self.best_multiple(values, core, a, rho)[0], rho)


class OneClassRows(SignedRows):
    """One class, `K'_ij = k_ij + delta_ij / c_i`: separation from the origin."""

    def __init__(
        self,
        rows: Rows,
        costs: Array,
        *,
        diagonal: float,
        ids: Array | None = None,
        make_store: Callable[[], Any] | None = None,
        given: tuple[Array, Array] | None = None,
    ) -> None:
        signs = np.ones(len(costs), np.int8)
        super().__init__(
            rows, signs, costs, bias=0.0, diagonal=diagonal, ids=ids, make_store=make_store
        )
        self.given = given  # matrix and weights that the caller computed

    def whole(self) -> tuple[Array, Array, Array]:
        """Return the matrix of all samples, ones, and first weights."""
        if self.given is None:
            return super().whole()
        return self.given[0], np.ones(self.n_units), self.given[1]

    def solution(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the best multiple t of the function and threshold r, with the kernel unscaled.

        If Q is the objective of a function at margin 1, it is `r^2 Q - r` at threshold r, whose
        minimum `-1 / (4 Q)` is at `r = 1 / (2 Q)`; the dual is `-rho / 2` instead of
        `1 / (2 rho)`. So the gap relative to the dual equals the gap relative to Q at margin 1.
        """
        objective, multiple = self.best_multiple(values, core, a, rho)
        threshold = 0.5 * self.scale / objective
        return threshold * multiple / self.scale, threshold


class TubeRows(_SignedUnits):
    """Regression: index `2 i` pulls sample i up, `2 i + 1` pulls it down, the last one is idle.

    `K' = s s' (k_ij + bias) + delta / c` and `v = 2 s y_i / D`; the idle index has a zero row and
    keeps the width of the tube from becoming negative.
    """

    sides = 2

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
        self.y = y
        self.level = level
        self.bias = bias
        self.target = y / (level * self.scale)

        self.costs = np.asarray(cost, dtype=np.float64)
        self.n_indices = 2 * self.n_units + 1
        self.fixed = np.array([2 * self.n_units])

        diagonal_part = 1.0 / float(self.costs.min() * self.scale)
        linear = 2.0 * float(np.abs(self.target).max())
        self.largest_diagonal = 1.0 + diagonal_part + linear
        self.spread = float(np.std(y)) or 1.0

    def start(self, rng: np.random.RandomState) -> Array:
        """Pull the largest y up and the smallest down."""
        up = 2 * int(self.y.argmax())
        down = 2 * int(self.y.argmin()) + 1
        return np.array([up, down])

    def split(self, indices: Array) -> tuple[Array, Array]:
        """Return units and signs; the idle index has sign zero."""
        idle = indices == 2 * self.n_units
        signs = np.where(idle, 0.0, np.where(indices % 2 == 0, 1.0, -1.0))
        return np.where(idle, 0, indices // 2), signs

    def slack(self, indices: Array) -> Array:
        """Return `1 / c`, zero for the idle index."""
        units, signs = self.split(indices)
        cost = self.costs[units] if self.costs.ndim else self.costs
        return np.abs(signs) / (cost * self.scale)

    def linear(self, indices: Array) -> Array:
        """Return `2 s y / D`."""
        units, signs = self.split(indices)
        return np.asarray(2.0 * signs * self.target[units])

    def unit_values(self, g: Array, a: Array) -> Array:
        """Return values at all samples, from the indices that pull up."""
        up = np.arange(0, 2 * self.n_units, 2)
        diagonal_part = self.slack(up) * a[up]
        return np.asarray(g[up] + 0.5 * self.linear(up) - diagonal_part)

    def coefficients(self, core: Array, a: Array) -> tuple[Array, Array]:
        """Return units and the weights of their kernels, in the scaled problem."""
        units, signs = self.split(core)
        used = signs != 0
        rows, position = np.unique(units[used], return_inverse=True)
        weights = np.bincount(position, (a * signs)[used], minlength=len(rows))
        return rows, weights / self.scale

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return a function that scores units, in the scaled problem."""
        return self.function(*self.coefficients(core, a))

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return the index for the side of each sample, and `g = -|residual|`."""
        residual = values - self.target[units]
        return 2 * self.numbers(units) + (residual > 0), -np.abs(residual)

    def solution(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the relative duality gap and the best width of the tube."""
        level = self.level
        scale = self.scale
        diagonal_part = float((a * a) @ self.slack(core))
        norm = level**2 * scale * max(rho - diagonal_part, 0.0)
        linear = 0.5 * level**2 * scale * float(self.linear(core) @ a)
        dual = linear - 0.5 * level**2 * scale * rho
        residuals = level * scale * (values - self.target)
        return tube_gap(residuals, self.costs, norm, level, dual)

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Return the relative gap of the squared loss outside the tube."""
        return self.solution(values, core, a, rho)[0]

    def margin_unit(self, rho: float) -> float:
        """Return a fifth of the standard deviation of y."""
        return 0.2 * self.spread / (self.level * self.scale)


class _Pairs(_Units):
    """Pairs (i, j) with i ranked above j: `K' = k_ip - k_iq - k_jp + k_jq + delta / c`."""

    def __init__(self, rows: Rows, cost: float, diagonal: float) -> None:
        super().__init__(rows, None)
        self.scale = 4.0 * diagonal if diagonal > 0 else 1.0
        self.cost = cost * self.scale
        self.largest_diagonal = 1.0 + 1.0 / self.cost

    def ends(self, indices: Array) -> tuple[Array, Array]:
        """Return upper and lower rows of pairs."""
        raise NotImplementedError

    def gram(self, a: Array, b: Array) -> Array:
        """Return `K'` without its diagonal part."""
        (up_a, down_a) = self.ends(a)
        (up_b, down_b) = self.ends(b)
        rows_a, position_a = np.unique(np.concatenate([up_a, down_a]), return_inverse=True)
        rows_b, position_b = np.unique(np.concatenate([up_b, down_b]), return_inverse=True)
        k = self.rows.matrix(rows_a, rows_b) / self.scale
        half = k[position_a[: len(a)]] - k[position_a[len(a) :]]
        up = half[:, position_b[: len(b)]]
        down = half[:, position_b[len(b) :]]
        return np.asarray(up - down)

    def slack(self, indices: Array) -> Array:
        """Return `1 / c`."""
        return np.full(len(indices), 1.0 / self.cost)

    def coefficients(self, core: Array, a: Array) -> tuple[Array, Array]:
        """Return rows and the weights of their kernels, in the scaled problem."""
        up, down = self.ends(core)
        rows, position = np.unique(np.concatenate([up, down]), return_inverse=True)
        weights = np.bincount(position, np.concatenate([a, -a]), minlength=len(rows))
        return rows, weights / self.scale

    def row_scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return a function that computes values at rows."""
        return self.function(*self.coefficients(core, a))

    def products(self, indices: Array, core: Array, a: Array) -> Array:
        """Return `f_i - f_j` for pairs, without the diagonal part."""
        rows, position = np.unique(np.concatenate(self.ends(indices)), return_inverse=True)
        f = self.row_scorer(core, a)(rows, exact=True)[position]
        return np.asarray(f[: len(indices)] - f[len(indices) :])

    def norm(self, a: Array, rho: float) -> float:
        """Return the squared norm of the function."""
        return max(rho - float(a @ a) / self.cost, 0.0)

    def best_multiple(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the least squared hinge loss over multiples of the function, and the multiple."""
        raise NotImplementedError

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Return the relative gap of the best multiple of the function."""
        return gap_to_margin(self.best_multiple(values, core, a, rho)[0], rho)


class GivenPairs(_Pairs):
    """A list of pairs; each pair is a unit."""

    def __init__(self, rows: Rows, pairs: Array, cost: float, *, diagonal: float) -> None:
        super().__init__(rows, cost, diagonal)
        self.pairs = pairs
        self.n_units = self.n_indices = len(pairs)

    def ends(self, indices: Array) -> tuple[Array, Array]:
        """Return the rows of listed pairs."""
        return self.pairs[indices, 0], self.pairs[indices, 1]

    def active(self, f: Array) -> ActivePairs:
        """Return the pairs that are not in order by a margin of one."""
        return listed_pairs(self.pairs, f)

    def start(self, rng: np.random.RandomState) -> Array:
        """Draw two pairs."""
        return np.unique(rng.randint(0, self.n_units, size=2))

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return a function that computes differences of values for pairs."""
        at_rows = self.row_scorer(core, a)

        def score(units: Array | slice, *, exact: bool) -> Array:
            pairs = self.pairs[units]
            rows, position = np.unique(pairs, return_inverse=True)
            values = at_rows(rows, exact=exact)[position].reshape(pairs.shape)
            return np.asarray(values[:, 0] - values[:, 1])

        return score

    def unit_values(self, g: Array, a: Array) -> Array:
        """Return differences of values for all pairs."""
        return g - a / self.cost

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return the pairs themselves."""
        return self.numbers(units), values

    def best_multiple(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the least loss over the pairs for multiples of the function, and the multiple."""
        return scaled_squared_hinge(values, self.cost, self.norm(a, rho), multiple_at(rho))


class GradedRows(_Pairs):
    """All pairs of rows of one query with different grades, without a list of them.

    A unit is a row; its candidate is the pair with the worst row of a lower grade. The pair of
    rows i and j has the index `i n + j`.
    """

    listed = False

    def __init__(
        self, rows: Rows, grades: Array, queries: Array, cost: float, *, diagonal: float
    ) -> None:
        super().__init__(rows, cost, diagonal)
        self.grades = grades
        self.queries = np.asarray(queries, np.int64)
        self.n_indices = self.n_units**2
        # sort rows by query, then by ascending grade
        self.by_query = np.lexsort((grades, self.queries))
        counts = np.bincount(self.queries)
        self.ends_of = np.cumsum(counts)
        self.starts_of = self.ends_of - counts

    def ends(self, indices: Array) -> tuple[Array, Array]:
        """Return the rows of pairs."""
        up, down = np.divmod(indices, self.n_units)
        return up, down

    def active(self, f: Array) -> ActivePairs:
        """Return the pairs that are not in order by a margin of one."""
        by = self.by_query
        pairs = graded_pairs(self.queries[by], self.grades[by], f[by])
        back = np.argsort(by)

        return pairs._replace(
            fold=pairs.fold[back],
            degree=pairs.degree[back],
            laplacian=lambda v: pairs.laplacian(v[by])[back],
        )

    def draw(self, rng: np.random.RandomState, size: int) -> Array:
        """Draw the rows of random queries, or a part of them for long queries."""
        rows: list[Array] = []
        while sum(map(len, rows)) < size:
            q = self.queries[rng.randint(self.n_units)]
            inside = self.by_query[self.starts_of[q] : self.ends_of[q]]
            if len(inside) > size:
                inside = inside[rng.randint(0, len(inside), size=size)]
            rows.append(inside)
        return np.unique(np.concatenate(rows))

    def order(self, rng: np.random.RandomState) -> Array:
        """Shuffle the queries, and the rows of each."""
        tie = rng.permutation(self.n_units)
        return np.lexsort((tie, rng.permutation(len(self.starts_of))[self.queries]))

    def involved(self, units: Array, chosen: Array, indices: Array) -> Array:
        """Return a mask of both ends of each pair."""
        up, down = self.ends(indices[chosen])
        return chosen | np.isin(units, np.concatenate([up, down]))

    def state(self, core: Array, a: Array) -> tuple[Array, Array, Array]:
        """Return the rows of the pairs in a core set, and the weights."""
        return *self.ends(core), a

    def begin(self, rows: Array, side: Array, a: Array) -> tuple[Array, Array] | None:
        """Return the core set of a `state`, restricted to pairs that exist and have this order."""
        present = np.maximum(rows, side) < self.n_units
        up = rows[present]
        down = side[present]
        a = a[present]
        same_query = self.queries[up] == self.queries[down]
        ranked = same_query & (self.grades[up] > self.grades[down])
        core = (up * self.n_units + down)[ranked]
        a = a[ranked]
        return (core, a) if (a > 0).any() else None

    def start(self, rng: np.random.RandomState) -> Array:
        """Choose the best and worst row of each of two queries with different grades."""
        low = self.grades[self.by_query[self.starts_of]]
        high = self.grades[self.by_query[self.ends_of - 1]]
        useful = np.flatnonzero(high > low)
        q = useful[rng.randint(0, len(useful), size=2)]
        up = self.by_query[self.ends_of[q] - 1]
        down = self.by_query[self.starts_of[q]]
        return np.unique(up * self.n_units + down)

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return a function that computes values at rows."""
        return self.row_scorer(core, a)

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Pair each row with the highest-scoring row of a lower grade in its query."""
        # sort by query and grade, so that a single pass finds the highest row of a lower grade
        rows = self.numbers(units)
        order = np.lexsort((self.grades[rows], self.queries[rows]))
        sorted_rows = rows[order]
        queries = self.queries[sorted_rows]
        grades = self.grades[sorted_rows]
        f = values[order]
        partner, top = worst_below(queries, grades, f)
        # skip pairs that are in the core set: if the worst pair is one of them, use the next worst
        # pair
        pair = sorted_rows * self.n_units + np.where(
            partner >= 0, sorted_rows[partner], sorted_rows
        )

        in_core = np.flatnonzero(np.isin(pair, self.core) & (partner >= 0))
        if len(in_core):
            limit = max(1, LOOKED_AT // len(rows))
            # keep the pairs with the largest violations; the other pairs have to wait for the next
            # pass
            if len(in_core) > limit:
                waiting = np.argsort((f - top)[in_core])[limit:]
                partner[in_core[waiting]] = -1
                top[in_core[waiting]] = -np.inf
                in_core = np.delete(in_core, waiting)
            core = np.sort(self.core)
            next_below(
                in_core, sorted_rows, queries, grades, f, core, self.n_units, partner, top
            )

        indices = np.empty(len(rows), np.int64)
        g = np.empty(len(rows))
        indices[order] = sorted_rows * self.n_units + np.where(
            partner >= 0, sorted_rows[partner], sorted_rows
        )
        g[order] = values[order] - top
        return indices, g

    def best_multiple(
        self, values: Array, core: Array, a: Array, rho: float
    ) -> tuple[float, float]:
        """Return the least loss over all pairs for multiples of the function, and the multiple."""
        norm = self.norm(a, rho)

        def parts(s: float) -> tuple[float, float, float]:
            active = self.active(s * values)
            value = 0.5 * (s * s * norm + self.cost * active.squares)
            slope = s * norm - self.cost * float(active.fold @ values)
            curvature = norm + self.cost * float(values @ active.laplacian(values))
            return value, slope, curvature

        return best_multiple(parts, parts(0.0)[0], multiple_at(rho))


def multiple_at(rho: float) -> float:
    """Return the multiple of simplex weights with margin one, which is best at the optimum."""
    return 1.0 / rho if rho > 0 else 0.0
