"""Topics by expectation maximisation: documents in memory or in blocks, mixtures as their state.

The likelihood of mixtures is known only after the pass over them, so the next pass keeps their
step, extrapolates it, or takes it back. Notation as in `latent_semantics`.

Differs from the paper (Hofmann 2001): steps are extrapolated, and a bound certifies the result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.latent_semantics import (
    Counts,
    expected,
    gains,
    largest_gain,
    log_likelihood,
    normalised,
)

# Number of passes without gain on held-out counts after which posteriors are flattened.
PASSES_WITHOUT_GAIN = 25


class Decision(NamedTuple):
    """Changes of the mixtures of the last pass, which the next pass carries out."""

    kept: bool = True  # if False, return to the last plain step
    step: float = 0.0  # length of the extrapolation, beyond the plain step


class Mixtures(NamedTuple):
    """Mixtures of the documents of a block, and their step of expectation maximisation."""

    best: Array  # mixtures of the last accepted pass
    safe: Array  # last plain step that was kept
    used: Array  # mixtures in the current pass
    plain: Array  # expectation maximisation step from `used`

    def after(self, decision: Decision) -> "Mixtures":
        """Return the mixtures after a decision, with `used` for the next pass."""
        if not decision.kept:
            return self._replace(used=self.safe)
        # continue from the plain step or from a point beyond it
        ahead = self.plain
        if decision.step:
            ahead = extrapolated(self.plain, self.used, decision.step, 1)
        return Mixtures(self.used, self.plain, ahead, self.plain)

    @classmethod
    def of(cls, C: Array) -> "Mixtures":
        """Return mixtures to start from."""
        return cls(C, C, C, C)


class TopicRows(NamedTuple):
    """Counts of documents, the weights of the counts, if any, and the mixtures."""

    blocks: ArrayBlocks  # documents; the mixtures are their state
    read: Callable[[Block], tuple[Counts, Array | None]]
    shape: tuple[int, int]  # number of documents, number of words
    total: float  # number of tokens
    celled: bool  # whether counts have weights
    decision: Decision = Decision()

    @classmethod
    def of(
        cls, counts: Counts, C: Array | None = None, cells: Array | None = None
    ) -> "TopicRows":
        """Return documents in memory, as a single block."""
        arrays = (counts,) if cells is None else (counts, cells)
        states = None if C is None else [Mixtures.of(C)]
        blocks = ArrayBlocks(arrays, [0, counts.shape[0]], states)
        return cls(blocks, _counts_of, counts.shape, counts.total, cells is not None)

    @property
    def counts(self) -> Counts:
        """Counts of documents in memory."""
        counts: Counts = self.blocks.arrays[0]
        return counts

    @property
    def mixtures(self) -> Array:
        """Best mixtures of documents in memory."""
        states: list[Any] = self.blocks.states
        mixtures = states[0].after(self.decision)
        return mixtures.best

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Add up the tuples ``function(data, mixtures, *shared)`` of the blocks."""
        return self.blocks.sum(_on_documents, self.read, self.decision, function, shared)

    def step(self, function: Callable[..., Any], *shared: Any) -> tuple["TopicRows", Any]:
        """Return rows with the state of ``function(data, mixtures, *shared)``, and its sum."""
        arguments = (self.read, self.decision, function, shared)
        blocks, sums = self.blocks.step(_on_documents, *arguments)
        return self._replace(blocks=blocks, decision=Decision()), sums

    def decided(self, decision: Decision) -> "TopicRows":
        """Return the rows with a decision about their mixtures."""
        return self._replace(decision=decision)

    def certified(self, U: Array) -> tuple[float, float]:
        """Return the log-likelihood and the gap of the best mixtures."""
        value, gain, slopes = self.sum(_gains_of_best, U)
        return value, largest_gain(gain, slopes, U, self.total)


def _counts_of(block: Block) -> tuple[Counts, Array | None]:
    counts, *cells = block.arrays
    return counts, cells[0] if cells else None


def _on_documents(
    block: Block, read: Any, decision: Decision, function: Any, shared: tuple[Any, ...]
) -> Any:
    data = read(block)
    mixtures = block.state
    if mixtures is not None:
        mixtures = mixtures.after(decision)
    return function(data, mixtures, *shared)


class TopicsResult(NamedTuple):
    """Documents with their mixtures, topics, their quality, and the course of the fit."""

    rows: TopicRows
    topics: Array
    log_likelihood: float
    gap: float
    beta: float
    n_iter: int
    converged: bool
    history: list[float]

    @property
    def mixtures(self) -> Array:
        """Mixtures of documents in memory."""
        return self.rows.mixtures


# Functions that a pass applies to the documents of a block


def word_frequencies(data: Any, mixtures: Mixtures | None) -> tuple[Array]:
    """Count the tokens of each word."""
    counts, _ = data
    n_words = counts.n_words
    tokens = np.bincount(counts.indices, weights=counts.data, minlength=n_words)
    return (tokens,)


def tokens_in_words(data: Any, mixtures: Mixtures, U: Array, beta: float) -> tuple[Array]:
    """Compute the expected tokens of each topic in each word, from the best mixtures."""
    counts, _ = data
    _, in_words, _ = expected(counts, mixtures.best, U, beta)
    return (in_words,)


def _expectations(
    data: Any, mixtures: Mixtures | None, U: Array, beta: float
) -> tuple[Mixtures, tuple[Array, float]]:
    """Compute expected tokens in documents and words; the former give the plain step."""
    counts, _ = data
    # start from equal mixtures, which do not favour a topic in any document
    if mixtures is None:
        k = U.shape[1]
        mixtures = Mixtures.of(np.full((counts.shape[0], k), 1.0 / k))

    # compute expected counts and the likelihood
    in_documents, in_words, value = expected(counts, mixtures.used, U, beta)
    plain = normalised(in_documents, 1)
    return mixtures._replace(plain=plain), (in_words, value)


def _gains_of_best(data: Any, mixtures: Mixtures, U: Array) -> tuple[float, float, Array]:
    counts, _ = data
    return gains(counts, mixtures.best, U)


def extrapolated(new: Array, last: Array, step: float, axis: int) -> Array:
    """Go beyond the new point of the simplex, with entries of at least an eighth of it."""
    ahead = new + step * (new - last)
    ahead = np.maximum(ahead, new / 8)
    return normalised(ahead, axis)


def fit_topics(
    rows: TopicRows,
    U: Array,
    *,
    beta: float = 1.0,
    smoothing: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> TopicsResult:
    """Maximise the log-likelihood by extrapolated expectation maximisation.

    After each step, the parameters move further in its direction and return to the simplex. If the
    next step finds that the objective has fallen, the step is repeated without extrapolation.
    Stops when the objective rises by less than `tol` per token in a pass. Documents without
    mixtures start from equal mixtures.
    """
    total = rows.total or 1.0
    best = -np.inf
    safe = U  # last step, without extrapolation
    best_U = U
    step = 1.0
    step_limit = 8.0
    fresh = True
    history: list[float] = []

    it = Iterations(max_iter, tol, progress)
    for _ in it:
        # 1. run the expectation step for all words at once [Hofmann 2001]
        rows, (in_words, value) = rows.step(_expectations, U, beta)
        if smoothing > 0:
            value += smoothing * float(np.log(np.maximum(U, TINY)).sum())

        # 2. return to the last plain step if extrapolation has lowered the objective
        if value < best - ACCUMULATED_ROUNDING * abs(best) and not fresh:
            U = safe
            rows = rows.decided(Decision(kept=False))
            step_limit = step
            step = step / 2
            fresh = True
            history.append(best)
            continue

        # compute the gain per token
        it.residual = (value - best) / total
        best = max(best, value)
        best_U = U
        history.append(best)

        # 3. run the maximisation step
        safe = normalised(in_words + smoothing, 0)
        if fresh:
            fresh = False
            U = safe
            # continue, because the gain shows only in the next step
            it.residual = max(it.residual, 2 * tol)
            continue

        # 4. extrapolate on the simplex
        rows = rows.decided(Decision(step=step))
        U = extrapolated(safe, U, step, 0)
        step = min(step * 1.1, step_limit)
        step_limit = min(step_limit * 1.02, 30.0)

    # compute the certificate of the best topics
    rows = rows.decided(rows.decision._replace(step=0.0))
    value, distance = rows.certified(best_U)
    course = (it.n_iter, it.converged, history)
    return TopicsResult(rows, best_U, value, distance, beta, *course)


def fit_tempered(
    counts: Counts,
    held_out: Counts,
    C: Array,
    U: Array,
    *,
    beta: float = 1.0,
    cooling: float = 0.9,
    smoothing: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-5,
    progress: Progress | None = None,
) -> TopicsResult:
    """Run tempered expectation maximisation with early stopping [Hofmann 2001, section 3.2].

    Steps continue as long as the likelihood of held-out counts of the same documents rises. Then
    `beta` is multiplied by `cooling`; the method stops when this does not help either. Gains below
    `tol` per token do not count. The history holds the held-out log-likelihoods, which rise and
    fall.
    """
    history: list[float] = []
    it = Iterations(max_iter, -np.inf, progress)
    best = -np.inf
    best_C = C
    best_U = U
    best_beta = beta
    waited = 0
    helped = True
    total = held_out.total

    for _ in it:
        # run a tempered pass, and evaluate it on the held-out counts
        N, M, _ = expected(counts, C, U, beta)
        C = normalised(N, 1)
        U = normalised(M + smoothing, 0)
        value = log_likelihood(held_out, C, U)
        history.append(value)

        if value > best + tol * total:
            best = value
            best_C = C
            best_U = U
            best_beta = beta
            waited = 0
            helped = True
            continue

        # lower beta after several passes without gain; stop if lowering it last time did not help
        waited += 1
        if waited < PASSES_WITHOUT_GAIN:
            continue
        if not helped:
            it.converged = True
            continue
        C = best_C
        U = best_U
        beta = beta * cooling
        waited = 0
        helped = False

    rows = TopicRows.of(counts, best_C)
    value, distance = rows.certified(best_U)
    course = (it.n_iter, it.converged, history)
    return TopicsResult(rows, best_U, value, distance, best_beta, *course)
