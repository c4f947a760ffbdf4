"""Signals with their codes, in memory or in blocks: what a pass of dictionary learning does.

The codes are the state of a block. Whether those of a pass are taken is known after it, so the
next pass takes them, scaled as the atoms ask for, or goes back to those before.
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
    """Signals of a block, with 0 for missing entries; `observed` is None where there are none."""

    X: Any
    observed: Array | None
    weights: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of signals and of their entries."""
        shape: tuple[int, int] = self.X.shape
        return shape


# signals and mask, atoms and the codes to start from -> codes
Coder = Callable[[Any, "Array | None", Array, "sparse.csr_array | None"], SparseCodes]


class Decision(NamedTuple):
    """What is known about the codes of the last pass."""

    kept: bool = True
    factor: Array | None = None  # of the codes of each atom


class Coded(NamedTuple):
    """Codes of the signals of a block: those that were kept, and those of the last pass."""

    kept: "sparse.csr_array | None"
    tried: SparseCodes

    def codes(self, decision: Decision) -> SparseCodes:
        """Codes of the last pass, scaled."""
        factor = decision.factor
        if factor is None:
            return self.tried
        values = self.tried.values * factor[self.tried.indices]
        return self.tried._replace(values=values)

    def start(self, decision: Decision, k: int) -> "sparse.csr_array | None":
        """Codes from which the next pass starts."""
        # those that led astray are no start
        if not decision.kept:
            return self.kept
        codes = self.codes(decision)
        return to_csr(codes, k)


class WorstSignals(NamedTuple):
    """Signals of the largest errors, with their residuals; those of blocks add up."""

    sizes: Array  # squared errors, in descending order
    numbers: Array  # of the signals
    residuals: Array
    n_signals: int  # how many are wanted

    def __add__(self, other: "WorstSignals") -> "WorstSignals":  # type: ignore[override]
        n_signals = self.n_signals
        sizes = np.append(self.sizes, other.sizes)
        numbers = np.append(self.numbers, other.numbers)
        residuals = np.concatenate([self.residuals, other.residuals])
        # of equal errors the first signal stays first
        first = np.argsort(-sizes, kind="stable")[:n_signals]
        return WorstSignals(sizes[first], numbers[first], residuals[first], n_signals)


class CodedSignals(NamedTuple):
    """The signals, and from the first pass on their codes."""

    blocks: ArrayBlocks  # signals, and what goes with them; their state are the codes
    read: Callable[[Block], Signals]
    coder: Coder
    complete: bool  # whether all entries are observed
    decision: Decision = Decision()

    @classmethod
    def of(cls, signals: Signals, coder: Coder) -> "CodedSignals":
        """Return signals in memory: one block."""
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
        """Return the signals with codes for the atoms; their objective and statistics."""
        shared = (self.read, self.decision, self.coder, atoms, alpha)
        blocks, sums = self.blocks.step(_coded_block, *shared)
        return self._replace(blocks=blocks, decision=Decision()), sums

    def taken_back(self) -> "CodedSignals":
        """Go back to the codes before the last pass."""
        return self._replace(decision=Decision(kept=False))

    def shrunk(self, factor: Array | None) -> "CodedSignals":
        """Multiply the codes of each atom."""
        return self._replace(decision=Decision(factor=factor))

    def squared_error(self, atoms: Array) -> float:
        """Squared error over observed entries, weighted, of the codes before they shrink."""
        (error,) = self.blocks.sum(_squared_error, self.read, atoms)
        return float(error)

    def worst(
        self, atoms: Array, new: Array, n_signals: int, last: WorstSignals | None
    ) -> WorstSignals:
        """Return signals of the largest errors, those after `last`; gaps are filled by `atoms`."""
        shared = (self.read, self.decision, atoms, new, n_signals, last)
        (signals,) = self.blocks.sum(_worst_signals, *shared)
        worst: WorstSignals = signals
        return worst

    def usage(self, k: int) -> tuple[Array, float]:
        """Return how many signals use each atom, and the largest gap of a code."""
        uses, top = self.blocks.sum(_usage, k)
        return uses, float(top.value)


def _signals_of(block: Block) -> Signals:
    signals: Signals = block.arrays[0]
    return signals


# What a pass does with the signals of a block


def _coded_block(
    block: Block, read: Any, decision: Decision, coder: Coder, atoms: Array, alpha: float
) -> tuple[Coded, tuple[float, Array, Array, Array]]:
    """Codes of the signals, the objective, and what the update of the atoms needs."""
    signals = read(block)
    k = len(atoms)
    start = None
    if block.state is not None:
        start = block.state.start(decision, k)

    # the lasso of each signal, and the sums over all
    codes = coder(signals.X, signals.observed, atoms, start)
    value = coded_objective(codes, alpha, signals.weights)
    full = filled(signals, to_csr(codes, k), atoms)
    statistics = code_statistics(codes, full, signals.weights, k)
    return Coded(start, codes), (value, *statistics)


def filled(signals: Signals, A: Any, atoms: Array) -> Any:
    """Signals with the approximation where entries are missing."""
    if signals.observed is None:
        return signals.X
    return np.where(signals.observed, signals.X, A @ atoms)


def _squared_error(block: Block, read: Any, atoms: Array) -> tuple[float]:
    signals = read(block)
    A = to_csr(block.state.tried, len(atoms))
    # what is hidden has no error
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
    # filled as for the update of the atoms: by the codes before they shrink
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
    """Signals of positive weight in the order of their errors, those after `last`.

    Signals of the same error stand in their order; `first` is the number of the first of them.
    """
    sizes = codes.residual_sq * (weights > 0)
    order = np.argsort(-sizes, kind="stable")
    if last is not None and len(last.sizes):
        size = last.sizes[-1]
        number = last.numbers[-1]
        later = (sizes < size) | ((sizes == size) & (np.arange(len(sizes)) + first > number))
        order = order[later[order]]

    # residuals of the chosen ones alone
    rows = order[:n_signals]
    chosen: Any = X[rows]
    signals = chosen.toarray() if sparse.issparse(X) else chosen
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
    """``sum_i w_i (1/2 |x_i - a_i D|^2 + alpha |a_i|_1)`` from what the coder says."""
    magnitudes = np.concatenate([[0.0], np.cumsum(np.abs(codes.values))])
    up_to = magnitudes[codes.indptr]
    l1 = up_to[1:] - up_to[:-1]
    return float(weights @ (0.5 * codes.residual_sq + alpha * l1))
