"""Probabilistic latent semantic analysis with weights of the counts, 0 for those not observed.

A count x of weight c enters as ``y = c x`` tokens of a word with exposure c: what is observed of
document d has word w with probability ``c[d, w] P(w | d) / sum_v c[d, v] P(v | d)``, and a count
of weight 0 is in no sum. With rates ``A = n_d P(z | d)`` that is the likelihood of Poisson counts
y of rates ``c (A U')``, maximised over the length n_d of each document: weighted factorisation
with the Kullback-Leibler divergence. Notation as in `latent_semantics`; weights c (n, p) are
dense.
"""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.latent_semantics import (
    Counts,
    expected,
    largest_gain,
    normalised,
    products,
)
from skmoderndata._solvers.factors.topic_fits import Mixtures, TopicRows, TopicsResult

BISECTIONS = 100  # for the multiplier of a topic: to the last digit
TINY = 1e-300


def fit_weighted_topics(
    rows: TopicRows,
    U: Array,
    *,
    smoothing: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> TopicsResult:
    """Maximise the likelihood of weighted counts by conditional expectation maximisation.

    Of the rates for given topics and of the topics for given rates, both in closed form after
    an expectation step of their own (multi-cycle ECM, Meng and Rubin 1993), so that no pass
    lowers the objective. The counts are the weighted ones; documents without mixtures start from
    equal ones. Stops when the objective rises by less than `tol` per token in a pass.
    """
    total = max(rows.total, TINY)
    rows, (of_lengths, of_weights) = rows.step(_first_rates, U.shape[1])
    constant = of_lengths + of_weights
    scale = np.ones(U.shape[1])
    history: list[float] = []
    last = -np.inf

    it = Iterations(max_iter, tol, progress)
    for _ in it:
        # 1. expected tokens of each topic in documents, and rates that give them
        rows, sums = rows.step(_improved_rates, U, scale)
        value, exposed, in_words, exposures = sums
        value += constant - exposed
        if smoothing > 0:
            value += smoothing * float(np.log(np.maximum(U, TINY)).sum())

        # 2. expected tokens of each topic in words, and topics that give them
        if smoothing > 0:
            U = _smoothed(in_words + smoothing, exposures)
        else:
            U = _ratio(in_words, exposures)
            scale = U.sum(axis=0)
            U = normalised(U, 0)

        # 3. stopping rule, on the objective before the pass
        it.residual = (value - last) / total
        last = value
        history.append(value)

    # mixtures of the rates
    rows, (value, gain, slopes) = rows.step(_last_mixtures, U, scale)
    distance = largest_gain(gain, slopes, U, rows.total)
    course = (it.n_iter, it.converged, history)
    return TopicsResult(rows, U, value, distance, 1.0, *course)


def _first_rates(
    data: Any, mixtures: Mixtures | None, k: int
) -> tuple[Mixtures, tuple[float, float]]:
    """Rates of the first mixtures, and the part of the likelihood that does not change."""
    counts, weights = data
    tokens = _tokens(counts)
    C = np.full((len(tokens), k), 1.0 / k) if mixtures is None else mixtures.best
    A = C * tokens[:, None]

    # what the best length of each document adds
    of_lengths = (tokens - tokens * np.log(np.maximum(tokens, TINY))).sum()
    return Mixtures.of(A), (float(of_lengths), _log_weights(counts, weights))


def _improved_rates(
    data: Any, rates: Mixtures, U: Array, scale: Array
) -> tuple[Mixtures, tuple[float, float, Array, Array]]:
    """Rates for given topics, and what the topics need of them."""
    counts, weights = data
    # the topics of the last pass were scaled to sum 1
    A = rates.best * scale
    exposures = weights @ U
    in_documents, _, value = expected(counts, A, U)
    exposed = float((A * exposures).sum())

    A = _ratio(in_documents, exposures)
    _, in_words, _ = expected(counts, A, U)
    return Mixtures.of(A), (value, exposed, in_words, weights.T @ A)


def _last_mixtures(
    data: Any, rates: Mixtures, U: Array, scale: Array
) -> tuple[Mixtures, tuple[float, float, Array]]:
    """Mixtures of the rates, their likelihood, and what they and the topics may gain."""
    counts, weights = data
    C = normalised(rates.best * scale, 1)
    value = weighted_log_likelihood(counts, weights, C, U)
    gain, slopes = weighted_gains(counts, weights, C, U)
    return Mixtures.of(C), (value, gain, slopes)


def weighted_log_likelihood(
    counts: Counts, weights: Array, C: Array, U: Array, floor: float = 1e-12
) -> float:
    """Sum of weighted counts times log-probabilities of their words among those observed."""
    rows = _rows(counts)
    exposed = (C * (weights @ U)).sum(axis=1)
    observed = weights[rows, counts.indices] * products(rows, counts.indices, C, U)
    probabilities = observed / np.maximum(exposed, TINY)[rows]
    return float(counts.data @ np.log(np.maximum(probabilities, floor)))


def weighted_gap(counts: Counts, weights: Array, C: Array, U: Array) -> float:
    """Bound on what better mixtures for these topics, or better topics for these rates, gain.

    Both problems are concave. Over the tokens ``A q`` of the topics, with exposures
    ``q = weights U``, which sum to n_d, no mixture is better by more than ``n_d (max g / q - 1)``
    with the gradients g of ``sum y log (A U')``; over distributions of words no topic by more than
    ``max_w G[w, z] - U[:, z]' G[:, z]`` with the gradients G of that minus the exposed rates. The
    larger of the two sums, in nats per token; 0 exactly at stationary points.
    """
    gain, slopes = weighted_gains(counts, weights, C, U)
    return largest_gain(gain, slopes, U, counts.total)


def weighted_gains(counts: Counts, weights: Array, C: Array, U: Array) -> tuple[float, Array]:
    """Return what better mixtures may gain, and the slopes of the topics."""
    # rates at the best length of each document
    tokens = _tokens(counts)
    exposures = weights @ U
    A = C * _ratio(tokens, (C * exposures).sum(axis=1))[:, None]

    # gradients of the sum of y log (A U')
    rates = products(_rows(counts), counts.indices, A, U)
    data = np.where(rates > 0, counts.data / np.maximum(rates, TINY), 0.0)
    shape = (len(A), len(U))
    ratios = sparse.csr_array((data, counts.indices, counts.indptr), shape=shape)

    gradient = _ratio(np.asarray(ratios @ U), exposures)
    mixtures = (tokens * (gradient.max(axis=1) - 1)).sum()
    slopes = np.asarray(ratios.T @ A) - weights.T @ A
    return float(mixtures), slopes


def _smoothed(in_words: Array, exposures: Array) -> Array:
    """Topics that maximise ``sum M log U - B U`` over distributions: ``M / (B + nu)``.

    The multiplier nu of each topic, at which they sum to 1, by bisection.
    """
    least = exposures.min(axis=0)
    above = exposures - least
    low = np.zeros(len(least))
    high = in_words.sum(axis=0)  # there the sum is at most 1
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        too_low = (in_words / np.maximum(above + middle, TINY)).sum(axis=0) > 1
        low = np.where(too_low, middle, low)
        high = np.where(too_low, high, middle)
    return normalised(in_words / np.maximum(above + high, TINY), 0)


def _ratio(a: Array, b: Array) -> Array:
    """Quotients, 0 where the divisor is."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)


def _rows(counts: Counts) -> Array:
    return np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))


def _tokens(counts: Counts) -> Array:
    """Weighted tokens of each document."""
    return np.bincount(_rows(counts), counts.data, minlength=len(counts.indptr) - 1)


def _log_weights(counts: Counts, weights: Array) -> float:
    return float(counts.data @ np.log(weights[_rows(counts), counts.indices]))
