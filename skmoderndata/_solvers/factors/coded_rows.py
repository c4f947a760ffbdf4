"""Rows with their codes, in memory or in blocks, and the passes of a factorisation over them.

The codes are the state of a block. The quality of new codes is known only after their pass, so
the next pass carries out a `Decision` to keep them or to go back.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.row_sample import sampled_rows
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.factor_updates import (
    Data,
    Side,
    SummedData,
    Update,
    codes_for,
    improve,
    is_sparse,
    least_difference,
    penalty_value,
    project,
    residual_blocks,
    squared_error,
    update,
)


class Decision(NamedTuple):
    """Changes of the codes of the last pass, which the next pass carries out."""

    better: bool = True  # whether the extrapolated codes become the best codes
    onward: bool = True  # if False, the next pass starts from the best codes
    times: Array | None = None  # factor for each column of all codes
    over: float | None = None  # number by which all codes are divided


class Codes(NamedTuple):
    """Codes of the rows of a block: the best, the improved, and the extrapolated ones."""

    best: Array
    improved: Array
    ahead: Array

    def after(self, decision: Decision) -> "Codes":
        """Return the codes after a decision has been carried out."""
        codes = self
        if decision.better:
            codes = codes._replace(best=codes.ahead)
        if not decision.onward:
            codes = Codes.of(codes.best)

        # scale only the codes; the caller rescales the components
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
    """The rows of a matrix, with their codes once these exist."""

    blocks: ArrayBlocks  # rows and their weights; the codes are their state
    read: Callable[[Block], Data]
    shape: tuple[int, int]  # number of rows with positive weight, number of columns
    sum_sq: float  # weighted sum of the squares of X
    dtype: Any  # data type of X in products
    weighted: bool  # whether rows have weights
    complete: bool  # whether all entries are observed and have equal weights
    # changes that are applied to the codes before the next pass
    decision: Decision = Decision()

    @classmethod
    def of(cls, data: Data, W: Array | None = None) -> "CodedRows":
        """Return rows in memory, as a single block."""
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
    def negligible(self) -> float:
        """Change of the objective that counts as a rounding error in double precision."""
        return 4 * EPS * self.sum_sq

    @property
    def cancelled(self) -> float:
        """Size below which a difference of sums of squares is mainly rounding error."""
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
        """Return rows with the codes of ``function(data, codes, *shared)``, and its sum."""
        blocks, sums = self.blocks.step(_on_rows, self.read, self.decision, function, shared)
        return self._replace(blocks=blocks, decision=Decision()), sums

    def decided(self, decision: Decision) -> "CodedRows":
        """Return the rows with a decision about their codes."""
        return self._replace(decision=decision)

    def at_best(self) -> "CodedRows":
        """Return the rows, to continue from their best codes."""
        decision = self.decision._replace(onward=False)
        return self.decided(decision)

    def times(self, factors: Array) -> "CodedRows":
        """Return the rows with the columns of all codes multiplied."""
        before = self.decision.times
        if before is not None:
            factors = before * factors
        decision = self.decision._replace(times=factors)
        return self.decided(decision)

    def largest(self) -> float:
        """Return the larger of 0 and the largest entry of X; missing entries count as 0."""
        (top,) = self.sum(_largest_entry)
        return float(top.value)

    def some(self, rng: np.random.RandomState) -> Data:
        """Return rows to compute a start from: all rows in memory, or a sample of the blocks."""
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


# Functions that a pass applies to the rows of a block


def _largest_entry(data: Data, codes: Codes | None) -> tuple[Largest]:
    values = data.X
    if is_sparse(values):
        values = values.data
    top = np.max(values, initial=0.0)
    return (Largest(float(top)),)


def first_codes(
    data: Data, codes: Codes | None, V: Array, side: Side, exact: bool
) -> tuple[Codes, tuple[int]]:
    """Compute initial codes for given components."""
    W = codes_for(data, V, side, exact=exact)
    return Codes.of(W), (0,)


def improved_codes(
    data: Data,
    codes: Codes,
    V: Array,
    side: Side,
    sweeps: int,
    length: float,
) -> tuple[Codes, tuple[SummedData, float]]:
    """Improve codes and extrapolate; also return the sums for the components and the penalty."""
    # improve the extrapolated codes
    improved = codes.ahead.copy()
    improve(data.terms(V), side, improved, sweeps=sweeps)
    ahead = improved
    if length:
        ahead = extrapolated(side, improved, codes.improved, length)

    # compute the sums over the extrapolated codes, from which the components are fitted
    sums = data.sums(ahead)
    penalty = penalty_value(side, ahead, data.weights)
    return Codes(codes.best, improved, ahead), (sums, penalty)


def extrapolated(side: Side, new: Array, last: Array, length: float) -> Array:
    """Go beyond the new factor by `length` times the last step, and project."""
    return project(side, new + length * (new - last))


def distance_of_codes(data: Data, codes: Codes, V: Array, side: Side, scales: Array) -> Update:
    """Compute the optimality residual of the best codes."""
    W = codes.best
    weights = data.weights
    return update(data.terms(V), side, W, sweeps=0, scales=scales, weights=weights)


def sums_of_best(data: Data, codes: Codes) -> tuple[SummedData]:
    """Compute the sums of the best codes that determine the components."""
    sums = data.sums(codes.best)
    return (sums,)


def error_of_best(data: Data, codes: Codes, V: Array) -> tuple[float]:
    """Compute the squared error of the best codes."""
    error = squared_error(data, codes.best, V)
    return (error,)


def penalties_of_best(data: Data, codes: Codes, *sides: Side) -> tuple[float, ...]:
    """Compute the penalty of the best codes for each side."""
    return tuple(penalty_value(side, codes.best, data.weights) for side in sides)


def energy_of_best(data: Data, codes: Codes, size: Array) -> tuple[Array]:
    """Sum the squares of each column of the best codes times `size`."""
    W = codes.best * size
    weights = data.weights
    if weights is None:
        weights = np.ones(len(W))
    energy = weights @ (W * W)
    return (energy,)


def summary_of_best(
    data: Data, codes: Codes, size: Array, order: Array, V: Array, side: Side
) -> tuple[float, SummedData, float]:
    """Compute squared error, sums and penalty of the best codes, scaled and in order."""
    W = codes.best * size
    W = W[:, order]
    error = squared_error(data, W, V)
    sums = data.sums(W)
    penalty = penalty_value(side, W, data.weights)
    return error, sums, penalty


def uses_of_best(data: Data, codes: Codes) -> tuple[Any]:
    """Count the blocks that use each component; 0 for components that no row uses."""
    uses = codes.best.any(axis=0)
    return (uses.astype(np.int64),)


class Lacking(NamedTuple):
    """The rows with the largest residuals; sums over blocks keep the largest of all.

    Sizes are sums of squares, `lacks` are the residuals.
    """

    sizes: Array
    lacks: Array
    n_rows: int  # maximum number of rows

    def __add__(self, other: "Lacking") -> "Lacking":  # type: ignore[override]
        n_rows = self.n_rows
        sizes = np.append(self.sizes, other.sizes)
        lacks = np.vstack([self.lacks, other.lacks])
        # rows of equal size keep their order
        first = np.argsort(-sizes, kind="stable")[:n_rows]
        return Lacking(sizes[first], lacks[first], n_rows)


def lacking_rows(
    data: Data, codes: Codes, V: Array, side: Side, n_rows: int
) -> tuple[Lacking]:
    """Find the rows with the largest residuals of the best codes."""
    total = Lacking(np.empty(0), np.empty((0, data.shape[1])), n_rows)
    for rows, R in residual_blocks(data, codes.best, V):
        lack = R if side.kind == "free" else np.maximum(R, 0)
        size = data.row_sums(lack, rows)
        first = np.argsort(-size, kind="stable")[:n_rows]
        total += Lacking(size[first], lack[first], n_rows)
    return (total,)
