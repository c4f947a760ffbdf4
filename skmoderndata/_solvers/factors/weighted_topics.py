"""Probabilistic latent semantic analysis with weights of the counts, 0 for unobserved counts.

A count x of weight c enters as ``y = c x`` tokens of a word with exposure c. An observed token of
document d is word w with probability ``c[d, w] P(w | d) / sum_v c[d, v] P(v | d)``; no sum has
counts of weight 0. With rates ``A = n_d P(z | d)`` this is the likelihood of Poisson counts y
with rates ``c (A U')``, maximised over the length n_d of each document: weighted factorisation
with the Kullback-Leibler divergence. Notation as in `latent_semantics`; weights c (n, p) are
dense.
"""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import TINY
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.latent_semantics import (
    Counts,
    expected,
    largest_gain,
    normalised,
    products,
)
from skmoderndata._solvers.factors.topic_fits import Mixtures, TopicRows, TopicsResult

# Number of bisections for the multiplier of a topic, enough for full precision.
BISECTIONS = 100


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

    A pass updates the rates for fixed topics and the topics for fixed rates. Each update has its
    own expectation step and a closed form (multi-cycle ECM, Meng and Rubin 1993), so that no pass
    lowers the objective. `rows` holds weighted counts; documents without mixtures start from
    equal mixtures. Stops when the objective rises by less than `tol` per token in a pass.
    """
    total = rows.total or 1.0
    rows, (of_lengths, of_weights) = rows.step(_first_rates, U.shape[1])
    constant = of_lengths + of_weights
    scale = np.ones(U.shape[1])
    history: list[float] = []
    last = -np.inf

    it = Iterations(max_iter, tol, progress)
    for _ in it:
        # 1. compute the expected tokens of each topic in documents, and update the rates
        rows, sums = rows.step(_improved_rates, U, scale)
        value, exposed, in_words, exposures = sums
        value += constant - exposed
        if smoothing > 0:
            value += smoothing * float(np.log(np.maximum(U, TINY)).sum())

        # 2. update the topics from the expected numbers of their tokens among the words
        if smoothing > 0:
            U = _smoothed(in_words + smoothing, exposures)
        else:
            U = _ratio(in_words, exposures)
            scale = U.sum(axis=0)
            U = normalised(U, 0)

        # 3. check the stopping rule; `value` is the objective before this pass
        it.residual = (value - last) / total
        last = value
        history.append(value)

    # turn the rates into mixtures
    rows, (value, gain, slopes) = rows.step(_last_mixtures, U, scale)
    distance = largest_gain(gain, slopes, U, rows.total)
    course = (it.n_iter, it.converged, history)
    return TopicsResult(rows, U, value, distance, 1.0, *course)


def _first_rates(
    data: Any, mixtures: Mixtures | None, k: int
) -> tuple[Mixtures, tuple[float, float]]:
    """Compute the rates of the first mixtures, and the constant part of the likelihood."""
    counts, weights = data
    tokens = _tokens(counts)
    C = np.full((len(tokens), k), 1.0 / k) if mixtures is None else mixtures.best
    A = C * tokens[:, None]

    # compute the terms of the likelihood that depend only on counts and weights; the length of
    # each document takes its best value
    of_lengths = (tokens - tokens * np.log(np.maximum(tokens, TINY))).sum()
    return Mixtures.of(A), (float(of_lengths), _log_weights(counts, weights))


def _improved_rates(
    data: Any, rates: Mixtures, U: Array, scale: Array
) -> tuple[Mixtures, tuple[float, float, Array, Array]]:
    """Update the rates for fixed topics, and compute the sums that determine the topics."""
    counts, weights = data
    # rescale the rates, because the last pass has normalised the topics
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
    """Compute mixtures from the rates, their likelihood, and the possible gains."""
    counts, weights = data
    C = normalised(rates.best * scale, 1)
    value = weighted_log_likelihood(counts, weights, C, U)
    gain, slopes = weighted_gains(counts, weights, C, U)
    return Mixtures.of(C), (value, gain, slopes)


def weighted_log_likelihood(
    counts: Counts, weights: Array, C: Array, U: Array, floor: float = 1e-12
) -> float:
    """Sum weighted counts times log-probabilities of their words among the observed words."""
    rows = _rows(counts)
    exposed = (C * (weights @ U)).sum(axis=1)
    observed = weights[rows, counts.indices] * products(rows, counts.indices, C, U)
    probabilities = observed / np.maximum(exposed, TINY)[rows]
    return float(counts.data @ np.log(np.maximum(probabilities, floor)))


def weighted_gap(counts: Counts, weights: Array, C: Array, U: Array) -> float:
    """Bound the gain of better mixtures for these topics or better topics for these rates.

    Both problems are concave. Let g be the gradients of ``sum y log (A U')`` with respect to the
    rates. The tokens ``A q`` of the topics, with exposures ``q = weights U``, sum to n_d, so no
    mixture gains more than ``n_d (max g / q - 1)``. Let G be the gradients of the same sum minus
    the exposed rates, with respect to the topics. No topic gains more than
    ``max_w G[w, z] - U[:, z]' G[:, z]``. Returns the larger of the two sums, in nats per token; it
    is 0 exactly at stationary points.
    """
    gain, slopes = weighted_gains(counts, weights, C, U)
    return largest_gain(gain, slopes, U, counts.total)


def weighted_gains(counts: Counts, weights: Array, C: Array, U: Array) -> tuple[float, Array]:
    """Return the possible gain of the mixtures, and the slopes of the topics."""
    # compute the rates: mixtures, scaled so that expected and observed lengths are equal
    tokens = _tokens(counts)
    exposures = weights @ U
    A = C * _ratio(tokens, (C * exposures).sum(axis=1))[:, None]

    # compute the gradients of the sum of y log (A U')
    rates = products(_rows(counts), counts.indices, A, U)
    data = _ratio(counts.data, rates)
    shape = (len(A), len(U))
    ratios = sparse.csr_array((data, counts.indices, counts.indptr), shape=shape)

    gradient = _ratio(np.asarray(ratios @ U), exposures)
    mixtures = (tokens * (gradient.max(axis=1) - 1)).sum()
    slopes = np.asarray(ratios.T @ A) - weights.T @ A
    return float(mixtures), slopes


def _smoothed(in_words: Array, exposures: Array) -> Array:
    """Maximise ``sum M log U - B U`` over distributions, by ``U = M / (B + nu)``.

    Bisection finds the multiplier nu of each topic, for which the probabilities sum to 1.
    """
    least = exposures.min(axis=0)
    above = exposures - least
    low = np.zeros(len(least))
    # upper end of the interval: there the probabilities sum to at most 1
    high = in_words.sum(axis=0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        too_low = (in_words / (above + middle)).sum(axis=0) > 1
        low = np.where(too_low, middle, low)
        high = np.where(too_low, high, middle)
    return normalised(in_words / (above + high), 0)


def _ratio(a: Array, b: Array) -> Array:
    """Return quotients, 0 for a divisor of 0."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)


def _rows(counts: Counts) -> Array:
    return np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))


def _tokens(counts: Counts) -> Array:
    """Count the weighted tokens of each document."""
    return np.bincount(_rows(counts), counts.data, minlength=len(counts.indptr) - 1)


def _log_weights(counts: Counts, weights: Array) -> float:
    return float(counts.data @ np.log(weights[_rows(counts), counts.indices]))
