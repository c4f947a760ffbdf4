"""Rows with their codes, in memory or in blocks: what a pass of a factorisation does with them.

The codes are the state of a block. How good those of a pass were is known after it, so the next
pass takes them or goes back: it carries out a `Decision`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.common.row_sample import sampled_rows
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.factor_updates import (
    Data,
    Side,
    SummedData,
    Update,
    codes_for,
    is_sparse,
    least_difference,
    penalty_value,
    project,
    residual_blocks,
    squared_error,
    update,
)


class Decision(NamedTuple):
    """What is known about the codes of the last pass."""

    better: bool = True  # the extrapolated ones become the best
    onward: bool = True  # the next pass goes on from them, and not from the best
    times: Array | None = None  # factor of each column of all codes
    over: float | None = None  # divisor of all codes


class Codes(NamedTuple):
    """Codes of the rows of a block: the best, those that a pass has improved, and extrapolated."""

    best: Array
    improved: Array
    ahead: Array

    def after(self, decision: Decision) -> "Codes":
        """Carry out a decision."""
        codes = self
        if decision.better:
            codes = codes._replace(best=codes.ahead)
        if not decision.onward:
            codes = Codes.of(codes.best)

        # scales: those of the components are changed at the driver
        times = decision.times
        if times is not None:
            codes = Codes(*(W * times for W in codes))
        over = decision.over
        if over is not None:
            codes = Codes(*(W / over for W in codes))
        return codes

    @classmethod
    def of(cls, W: Array) -> "Codes":
        """Return codes to start from."""
        return cls(W, W, W)


class CodedRows(NamedTuple):
    """The rows of a matrix, and from the first codes on these."""

    blocks: ArrayBlocks  # rows, and what goes with them; their state are the codes
    read: Callable[[Block], Data]
    shape: tuple[int, int]  # numbers of rows of positive weight, and of columns
    sum_sq: float  # of X, with the weights
    dtype: Any  # of X in the products
    weighted: bool  # whether rows have weights
    complete: bool  # whether all entries are observed and count alike
    decision: Decision = Decision()  # what the next pass does with the codes first

    @classmethod
    def of(cls, data: Data, W: Array | None = None) -> "CodedRows":
        """Return rows in memory: one block."""
        states = None if W is None else [Codes.of(W)]
        blocks = ArrayBlocks((data,), [0, data.shape[0]], states)
        complete = data.observed is None and data.cells is None
        weighted = data.weights is not None
        dtype = data.X.dtype
        return cls(blocks, _data_of, data.shape, data.sum_sq, dtype, weighted, complete)

    @property
    def rounding(self) -> float:
        """Rounding error of `sum_sq`."""
        return float(np.finfo(self.dtype).eps) * self.sum_sq

    @property
    def cancelled(self) -> float:
        """Size below which the difference of sums of squares is little but their rounding."""
        return least_difference(self.sum_sq, self.dtype)

    @property
    def codes(self) -> Array:
        """Best codes of rows in memory."""
        states: list[Any] = self.blocks.states
        codes = states[0].after(self.decision)
        return codes.best

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Add up the tuples ``function(data, codes, *shared)`` of the blocks."""
        return self.blocks.sum(_on_rows, self.read, self.decision, function, shared)

    def step(self, function: Callable[..., Any], *shared: Any) -> tuple["CodedRows", Any]:
        """Return rows with the codes, and a sum, that ``function(data, codes, *shared)`` gives."""
        blocks, sums = self.blocks.step(_on_rows, self.read, self.decision, function, shared)
        return self._replace(blocks=blocks, decision=Decision()), sums

    def decided(self, decision: Decision) -> "CodedRows":
        """Return the rows with what is known about their codes."""
        return self._replace(decision=decision)

    def at_best(self) -> "CodedRows":
        """Go on from the best codes."""
        decision = self.decision._replace(onward=False)
        return self.decided(decision)

    def times(self, factors: Array) -> "CodedRows":
        """Multiply the columns of all codes."""
        before = self.decision.times
        if before is not None:
            factors = before * factors
        decision = self.decision._replace(times=factors)
        return self.decided(decision)

    def largest(self) -> float:
        """Largest entry of X, at least 0; missing ones count as 0."""
        (top,) = self.sum(_largest_entry)
        return float(top.value)

    def some(self, rng: np.random.RandomState) -> Data:
        """Return the rows from which a start is computed: all in memory, or a sample."""
        if self.read is _data_of:
            return self.blocks.arrays[0]

        return self.read(sampled_rows(self.blocks, rng))


def _data_of(block: Block) -> Data:
    return block.arrays[0]


def _on_rows(
    block: Block, read: Any, decision: Decision, function: Any, shared: tuple[Any, ...]
) -> Any:
    data = read(block)
    codes = block.state
    if codes is not None:
        codes = codes.after(decision)
    return function(data, codes, *shared)


# What a pass does with the rows of a block


def _largest_entry(data: Data, codes: Codes | None) -> tuple[Largest]:
    values = data.X
    if is_sparse(values):
        values = values.data
    top = np.max(values, initial=0.0)
    return (Largest(float(top)),)


def first_codes(
    data: Data, codes: Codes | None, V: Array, side: Side, exact: bool
) -> tuple[Codes, tuple[int]]:
    """Codes for given components, to start from."""
    W = codes_for(data, V, side, exact=exact)
    return Codes.of(W), (0,)


def improved_codes(
    data: Data,
    codes: Codes,
    V: Array,
    side: Side,
    sweeps: int,
    scales: Array,
    length: float,
) -> tuple[Codes, tuple[SummedData, float]]:
    """Codes after some sweeps, extrapolated, with what the components need, and the penalty."""
    # sweeps from the extrapolated codes
    improved = codes.ahead.copy()
    update(data.terms(V), side, improved, sweeps=sweeps, scales=scales, weights=data.weights)
    ahead = improved
    if length:
        ahead = extrapolated(side, improved, codes.improved, length)

    # the components are fitted to the extrapolated codes
    sums = data.sums(ahead)
    penalty = penalty_value(side, ahead, data.weights)
    return Codes(codes.best, improved, ahead), (sums, penalty)


def extrapolated(side: Side, new: Array, last: Array, length: float) -> Array:
    """Nearest factor to the point beyond the new one, `length` times the last step away."""
    return project(side, new + length * (new - last))


def distance_of_codes(data: Data, codes: Codes, V: Array, side: Side, scales: Array) -> Update:
    """How far the best codes are from optimal."""
    W = codes.best
    weights = data.weights
    return update(data.terms(V), side, W, sweeps=0, scales=scales, weights=weights)


def sums_of_best(data: Data, codes: Codes) -> tuple[SummedData]:
    """Return what the components need of the best codes."""
    sums = data.sums(codes.best)
    return (sums,)


def error_of_best(data: Data, codes: Codes, V: Array) -> tuple[float]:
    """Squared error of the best codes."""
    error = squared_error(data, codes.best, V)
    return (error,)


def penalties_of_best(data: Data, codes: Codes, *sides: Side) -> tuple[float, ...]:
    """Penalties of the best codes, one for each side."""
    return tuple(penalty_value(side, codes.best, data.weights) for side in sides)


def energy_of_best(data: Data, codes: Codes, size: Array) -> tuple[Array]:
    """Sum of squares of each column of the best codes, times `size`."""
    W = codes.best * size
    weights = data.weights
    if weights is None:
        weights = np.ones(len(W))
    energy = weights @ (W * W)
    return (energy,)


def summary_of_best(
    data: Data, codes: Codes, size: Array, order: Array, V: Array, side: Side
) -> tuple[float, SummedData, float]:
    """Squared error, sums and penalty of the best codes, scaled and in order."""
    W = codes.best * size
    W = W[:, order]
    error = squared_error(data, W, V)
    sums = data.sums(W)
    penalty = penalty_value(side, W, data.weights)
    return error, sums, penalty


def uses_of_best(data: Data, codes: Codes) -> tuple[Any]:
    """For each component 0 where no row has it."""
    uses = codes.best.any(axis=0)
    return (uses.astype(np.int64),)


class Lacking(NamedTuple):
    """The rows of which most is missing in the fit, and what is missing; blocks add up."""

    sizes: Array
    lacks: Array
    n_rows: int  # how many are wanted

    def __add__(self, other: "Lacking") -> "Lacking":  # type: ignore[override]
        n_rows = self.n_rows
        sizes = np.append(self.sizes, other.sizes)
        lacks = np.vstack([self.lacks, other.lacks])
        # of equal rows the first one stays first
        first = np.argsort(-sizes, kind="stable")[:n_rows]
        return Lacking(sizes[first], lacks[first], n_rows)


def lacking_rows(
    data: Data, codes: Codes, V: Array, side: Side, n_rows: int
) -> tuple[Lacking]:
    """Rows of which most is missing in the fit by the best codes."""
    total = Lacking(np.empty(0), np.empty((0, data.shape[1])), n_rows)
    for rows, R in residual_blocks(data, codes.best, V):
        lack = R if side.kind == "free" else np.maximum(R, 0)
        size = data.row_sums(lack, rows)
        first = np.argsort(-size, kind="stable")[:n_rows]
        total += Lacking(size[first], lack[first], n_rows)
    return (total,)
