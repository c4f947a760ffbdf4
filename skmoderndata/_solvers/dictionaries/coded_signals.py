"""Signals with their codes, in memory or in blocks: the passes of dictionary learning.

The codes are the state of a block. Whether the codes of a pass are accepted is only known after
it, so the next pass either uses them, scaled as the atoms require, or returns to earlier codes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.codes.signal_blocks import SparseCodes, to_csr
from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.common.typing import Array


class Signals(NamedTuple):
    """Signals of a block, with 0 for missing entries; `observed` is None if none are missing."""

    X: Any
    observed: Array | None
    weights: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of signals, and number of entries of each."""
        shape: tuple[int, int] = self.X.shape
        return shape


# Function that computes codes from signals, mask, atoms and initial codes.
Coder = Callable[[Any, "Array | None", Array, "sparse.csr_array | None"], SparseCodes]


class Decision(NamedTuple):
    """Outcome of the last pass, which determines its codes."""

    kept: bool = True  # whether the codes are accepted
    factor: Array | None = None  # scale of the codes of each atom


class Coded(NamedTuple):
    """Codes of the signals of a block: the accepted ones, and the codes of the last pass."""

    kept: "sparse.csr_array | None"
    tried: SparseCodes

    def codes(self, decision: Decision) -> SparseCodes:
        """Return the codes of the last pass, scaled."""
        factor = decision.factor
        if factor is None:
            return self.tried
        values = self.tried.values * factor[self.tried.indices]
        return self.tried._replace(values=values)

    def start(self, decision: Decision, k: int) -> "sparse.csr_array | None":
        """Return the codes from which the next pass starts."""
        # do not start from rejected codes
        if not decision.kept:
            return self.kept
        codes = self.codes(decision)
        return to_csr(codes, k)


class WorstSignals(NamedTuple):
    """Signals with the largest errors, and their residuals; results of blocks can be added."""

    sizes: Array  # squared errors in descending order
    numbers: Array  # indices of the signals with these errors
    residuals: Array
    n_signals: int  # maximum number of signals

    def __add__(self, other: "WorstSignals") -> "WorstSignals":  # type: ignore[override]
        n_signals = self.n_signals
        sizes = np.append(self.sizes, other.sizes)
        numbers = np.append(self.numbers, other.numbers)
        residuals = np.concatenate([self.residuals, other.residuals])
        # among signals with equal errors, the first one stays first
        first = np.argsort(-sizes, kind="stable")[:n_signals]
        return WorstSignals(sizes[first], numbers[first], residuals[first], n_signals)


class CodedSignals(NamedTuple):
    """The signals and, from the first pass on, their codes."""

    # signals, with arrays that have an entry for each signal; the codes are their state
    blocks: ArrayBlocks
    read: Callable[[Block], Signals]
    coder: Coder
    complete: bool  # whether all entries are observed
    decision: Decision = Decision()

    @classmethod
    def of(cls, signals: Signals, coder: Coder) -> "CodedSignals":
        """Return signals in memory as one block."""
        blocks = ArrayBlocks((signals,), [0, signals.shape[0]])
        complete = signals.observed is None
        return cls(blocks, _signals_of, coder, complete)

    @property
    def codes(self) -> SparseCodes:
        """Codes of signals in memory."""
        states: list[Any] = self.blocks.states
        codes: SparseCodes = states[0].codes(self.decision)
        return codes

    def coded(self, atoms: Array, alpha: float) -> tuple["CodedSignals", Any]:
        """Return the signals with codes for the atoms, their objective, and statistics."""
        shared = (self.read, self.decision, self.coder, atoms, alpha)
        blocks, sums = self.blocks.step(_coded_block, *shared)
        return self._replace(blocks=blocks, decision=Decision()), sums

    def taken_back(self) -> "CodedSignals":
        """Return to the codes before the last pass."""
        return self._replace(decision=Decision(kept=False))

    def shrunk(self, factor: Array | None) -> "CodedSignals":
        """Multiply the codes of each atom."""
        return self._replace(decision=Decision(factor=factor))

    def squared_error(self, atoms: Array) -> float:
        """Return the weighted squared error over observed entries, before the codes shrink."""
        (error,) = self.blocks.sum(_squared_error, self.read, atoms)
        return float(error)

    def worst(
        self, atoms: Array, new: Array, n_signals: int, last: WorstSignals | None
    ) -> WorstSignals:
        """Return signals with the largest errors after `last`; `atoms` fill their gaps."""
        shared = (self.read, self.decision, atoms, new, n_signals, last)
        (signals,) = self.blocks.sum(_worst_signals, *shared)
        worst: WorstSignals = signals
        return worst

    def usage(self, k: int) -> tuple[Array, float]:
        """Return the number of signals that use each atom, and the largest gap of a code."""
        uses, top = self.blocks.sum(_usage, k)
        return uses, float(top.value)


def _signals_of(block: Block) -> Signals:
    signals: Signals = block.arrays[0]
    return signals


# Functions that a pass runs on a block


def _coded_block(
    block: Block, read: Any, decision: Decision, coder: Coder, atoms: Array, alpha: float
) -> tuple[Coded, tuple[float, Array, Array, Array]]:
    """Return the codes, the objective, and the statistics that update the atoms."""
    signals = read(block)
    k = len(atoms)
    start = None
    if block.state is not None:
        start = block.state.start(decision, k)

    # compute lasso codes, and the sums over the signals
    codes = coder(signals.X, signals.observed, atoms, start)
    value = coded_objective(codes, alpha, signals.weights)
    full = filled(signals, to_csr(codes, k), atoms)
    statistics = code_statistics(codes, full, signals.weights, k)
    return Coded(start, codes), (value, *statistics)


def filled(signals: Signals, A: Any, atoms: Array) -> Any:
    """Return the signals with missing entries replaced by the approximation."""
    if signals.observed is None:
        return signals.X
    return np.where(signals.observed, signals.X, A @ atoms)


def _squared_error(block: Block, read: Any, atoms: Array) -> tuple[float]:
    signals = read(block)
    A = to_csr(block.state.tried, len(atoms))
    # hidden entries do not contribute to the error
    R = signals.X - A @ atoms
    if signals.observed is not None:
        R = np.where(signals.observed, R, 0.0)
    squares = np.einsum("ij,ij->i", R, R)
    return (float(signals.weights @ squares),)


def _worst_signals(
    block: Block,
    read: Any,
    decision: Decision,
    atoms: Array,
    new: Array,
    n_signals: int,
    last: WorstSignals | None,
) -> tuple[WorstSignals]:
    signals = read(block)
    state = block.state
    # fill the gaps as for the update of the atoms, using the codes before they shrink
    full = filled(signals, to_csr(state.tried, len(atoms)), atoms)
    codes = state.codes(decision)
    return (worst_signals(full, codes, signals.weights, new, n_signals, last, block.first),)


def worst_signals(
    X: Any,
    codes: SparseCodes,
    weights: Array,
    D: Array,
    n_signals: int,
    last: WorstSignals | None,
    first: int = 0,
) -> WorstSignals:
    """Return signals of positive weight in the order of their errors, starting after `last`.

    Signals with equal errors keep their order; `first` is the index of the first signal.
    """
    sizes = codes.residual_sq * (weights > 0)
    order = np.argsort(-sizes, kind="stable")
    if last is not None and len(last.sizes):
        size = last.sizes[-1]
        number = last.numbers[-1]
        later = (sizes < size) | ((sizes == size) & (np.arange(len(sizes)) + first > number))
        order = order[later[order]]

    # compute the residuals of the chosen signals only
    rows = order[:n_signals]
    rows_of_X: Any = X[rows]
    signals = rows_of_X.toarray() if sparse.issparse(X) else rows_of_X
    fit = to_csr(codes, len(D))[rows] @ D
    residuals = np.asarray(signals - fit, dtype=np.float64)
    return WorstSignals(sizes[rows], rows + first, residuals, n_signals)


def _usage(block: Block, k: int) -> tuple[Array, Largest]:
    codes = block.state.tried
    uses = np.bincount(codes.indices, minlength=k)
    top = np.max(codes.gap, initial=0.0)
    return uses, Largest(float(top))


def code_statistics(
    codes: SparseCodes, X: Any, weights: Array, k: int
) -> tuple[Array, Array, Array]:
    """Return ``A' W A``, ``A' W X`` and ``sum_i w_i |a_ij|`` of sparse codes A."""
    A = to_csr(codes, k)
    weighted: Any = sparse.csr_array(A.multiply(weights[:, None]))
    T: Any = weighted.T @ X
    dense = T if isinstance(T, np.ndarray) else T.toarray()
    l1 = np.asarray(abs(weighted).sum(axis=0))
    return (weighted.T @ A).toarray(), np.asarray(dense, np.float64), l1


def coded_objective(codes: SparseCodes, alpha: float, weights: Array) -> float:
    """Return ``sum_i w_i (1/2 |x_i - a_i D|^2 + alpha |a_i|_1)`` from the coder's residuals."""
    magnitudes = np.concatenate([[0.0], np.cumsum(np.abs(codes.values))])
    up_to = magnitudes[codes.indptr]
    l1 = up_to[1:] - up_to[:-1]
    return float(weights @ (0.5 * codes.residual_sq + alpha * l1))
