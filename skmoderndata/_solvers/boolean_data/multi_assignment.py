"""Multi-assignment clustering of Boolean data: annealed EM on tables over assignment sets.

Differs from the paper (Frank et al. 2012): 1. the M-step makes EM steps over single emissions,
using counts of ones and zeros for each feature and set. 2. Annealing skips to the last temperature
once every row has decided for one set. 3. Sources are rounded and refitted with Boolean values,
and the error rates are then averaged over sets. 4. A large number of sets is pruned to the sets in
use and their neighbours.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, logsumexp

from skmoderndata._solvers.boolean_data.bit_blocks import BLOCK_FLOATS, BitBlocks, Data
from skmoderndata._solvers.boolean_data.boolean import (
    assignment_sets,
    boolean_product,
    distinct_rows,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.common.iterate import Iterations, WatchedProgress
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array

# Smallest distance of emission probabilities from 0 and from 1.
BETA_RANGE = 1e-4
# Fraction of noisy bits at the start.
FIRST_NOISE = 0.1
# Smallest distance of the fraction of noisy bits from 0 and 1.
NOISE_RANGE = 1e-3
# Probability of an error in a Boolean model without noise; also the smallest distance of other
# probabilities from 0 and 1.
CERTAIN = 1e-6
# Maximum number of columns of sources that are searched exhaustively (12 sources).
MAX_PATTERNS = 2**12
# Maximum number of assignment sets kept by a pruned search.
MAX_ACTIVE = 2000
# Smallest logarithm of a probability that is used; smaller ones lead to subnormal numbers, which
# are slow.
NEGLIGIBLE = -60.0
# Largest probability of all sets except the best (mean over rows) at which annealing ends early.
DECIDED = 1e-3
# Maximum number of rounds that update sources, error rates and sets, and of rounds that update
# single sources.
REFIT_ROUNDS = 50
# Smallest relative decrease of the free energy in a refit that counts as more than rounding error.
REFIT_RTOL = 1e-9
# Maximum number of rounds of EM for the error rates and the prior alone.
SOFT_ROUNDS = 50
# Change of the fraction of noisy bits at which the EM rounds for the error rates stop.
ERROR_RATE_TOL = 1e-4
# Number of EM steps over single emissions in each M-step.
EMISSION_STEPS = 10
# Number of EM steps in each M-step if there are few rows. The steps take the same time for any
# number of rows, so they dominate a round if there are few rows; 3 instead of 10 steps reduce the
# time of the fit by 40 %.
EMISSION_STEPS_FEW_ROWS = 3
# Largest number of rows for which an M-step has EMISSION_STEPS_FEW_ROWS steps.
FEW_ROWS = 2000
# Smallest distance of two sources, as a mean over features and over all pairs of sources, at which
# the sources count as separate.
SEPARATE = 0.01


class Model(NamedTuple):
    """Parameters: ``p(x_id = 1 | L) = eps r + (1 - eps) (1 - prod_{k in L} beta_kd)``."""

    sets: Array  # Boolean assignment sets, (n_sets, K)
    beta: Array  # probabilities that a source emits 0, (K, D)
    eps: float  # fraction of the bits that are noise
    r: float  # probability that a noisy bit is 1
    # log-odds of the sources under a prior, (K,); None for a uniform prior over sets
    log_odds: Array | None = None


class Statistics(NamedTuple):
    """Input of the M-step: counts of ones and zeros per feature and set, and the objective."""

    ones: Array  # counts of ones, (D, n_sets)
    zeros: Array  # counts of zeros, (D, n_sets)
    free_energy: float  # objective
    doubt: float = 0.0  # mean over rows of the probability of all sets except the best
    rows: Array | float = 0.0  # expected number of rows of each set, (n_sets,)


class Settings(NamedTuple):
    """Settings of one start; see the parameters of the estimator."""

    n_clusters: int
    max_assignments: int
    allow_empty: bool
    noise: str | None
    schedule: Sequence[float]
    n_rounds: int
    tol: float
    refit: bool
    pruned: bool
    learns_prior: bool = False


def stopped(progress: WatchedProgress | None) -> bool:
    """Return whether a callback has requested a stop."""
    return progress is not None and progress.stopped


def log_tables(model: Model) -> tuple[Array, Array]:
    """Return `log p(1|L) - log p(0|L)` and `log p(0|L)`, each of shape (D, n_sets)."""
    # silent is the probability that no source of the set emits a 1
    members = model.sets.astype(float)
    beta = np.maximum(model.beta, TINY)
    log_silent = members @ np.log(beta)
    silent = np.exp(log_silent.T)  # (D, n_sets)

    # a 1 is either noise or comes from a source
    noisy_one = model.eps * model.r
    one = noisy_one + (1 - model.eps) * (1 - silent)
    one = np.clip(one, CERTAIN, 1 - CERTAIN)
    log_one = np.log(one)
    log_zero = np.log(1 - one)
    return log_one - log_zero, log_zero


def log_prior(model: Model) -> Array | float:
    """Return `log p(L)`, (n_sets,), with independent sources; 0 for a uniform prior.

    Only the sets of the model have a probability, so the sources are independent if these are all
    sets.
    """
    if model.log_odds is None:
        return 0.0
    log_p = model.sets @ model.log_odds
    return np.asarray(log_p - logsumexp(log_p))


def set_probabilities(model: Model) -> Array:
    """Return the prior probability of each set, (n_sets,)."""
    n_sets = len(model.sets)
    if model.log_odds is None:
        return np.full(n_sets, 1 / n_sets)
    return np.asarray(np.exp(log_prior(model)))


def likelihood_blocks(
    data: Data, model: Model, dtype: type = np.float64
) -> Iterator[tuple[slice, Any, Array | None, Array]]:
    """Yield rows, their ones, their observed bits, and `log p(x_i, L)`, (rows, n_sets).

    With a uniform prior, this is `log p(x_i | L)`.
    """
    weights, log_zero = log_tables(model)
    prior: Array = np.asarray(log_prior(model), dtype)
    base = log_zero.sum(axis=0).astype(dtype)
    weights = weights.astype(dtype)
    log_zero = log_zero.astype(dtype)
    for rows, X, seen in data.blocks(2 * len(base)):
        q = X @ weights
        q += base if seen is None else seen @ log_zero
        q += prior
        yield rows, X, seen, q


def expectation(
    data: Data | BitBlocks, model: Model, temperature: float, dtype: type = np.float32
) -> Statistics:
    """Assign rows softly at a temperature, and reduce to counts; 0 uses only the best set."""
    ones, seen_by_set, n_rows, free_energy, certain = data.sum(
        _expected_counts, model, temperature, dtype
    )
    zeros = np.maximum(seen_by_set - ones, 0.0)
    doubt = 1 - certain / data.shape[0]
    return Statistics(ones, zeros, free_energy, doubt, n_rows)


def _expected_counts(
    data: Data, model: Model, temperature: float, dtype: type
) -> tuple[Array, Array, Array, float, float]:
    """Return ones, observed bits and rows of each set, the free energy, and the certainty."""
    shape = (data.X.shape[1], len(model.sets))
    ones = np.zeros(shape)
    n_rows = np.zeros(shape[1])
    free_energy = 0.0
    certain = 0.0
    seen_by_set: Array = np.zeros(1)

    # compute likelihoods of blocks of rows under all sets, relative to the largest
    for _, X, seen, q in likelihood_blocks(data, model, dtype):
        peak = q.max(axis=1, keepdims=True)
        free_energy -= float(peak.sum(dtype=np.float64))

        # apply the softmax at this temperature, with exponents that cannot overflow
        if temperature > 0:
            q -= peak
            q *= 1 / temperature
            np.maximum(q, NEGLIGIBLE, out=q)
            np.exp(q, out=q)
            total = q.sum(axis=1, keepdims=True)
            free_energy -= temperature * float(np.log(total).sum(dtype=np.float64))
            # probability of the best set, whose entry in `q` is now exp(0) = 1
            largest = 1 / total
            certain += float(largest.sum(dtype=np.float64))
            q *= largest
        else:
            certain += len(q)
            q = one_hot(q.argmax(axis=1), len(model.sets))

        # add up the counts of ones, of rows and of observed bits
        ones += X.T @ q
        n_rows += q.sum(axis=0)
        seen_by_set = seen_by_set + (q.sum(axis=0) if seen is None else seen.T @ q)

    return ones, seen_by_set, n_rows, free_energy, certain


def _bit_counts(data: Data) -> tuple[Array, Any]:
    """Count the ones and the observed bits of each column."""
    sums = data.X.sum(axis=0)
    ones = np.asarray(sums, dtype=float).ravel()
    if data.observed is None:
        return ones, data.X.shape[0]
    return ones, data.observed.sum(axis=0)


def one_hot(index: Array, width: int) -> Array:
    """Return a row for each index, with a one in that column."""
    out = np.zeros((len(index), width), dtype=np.float32)
    out[np.arange(len(index)), index] = 1.0
    return out


def maximization(
    model: Model, statistics: Statistics, *, noise: str | None, n_steps: int = EMISSION_STEPS
) -> Model:
    """Raise the expected log-likelihood by EM steps over the noise switch and single emissions.

    A source k emits 0 less often if its sets have ones that are neither noise nor emitted by other
    sources.
    """
    sets, beta, eps, r, _ = model
    used = (statistics.ones + statistics.zeros).sum(axis=0) > ACCUMULATED_ROUNDING
    members = sets[used].astype(float)  # (n_sets, K)
    # counts of shape (D, n_sets)
    ones = statistics.ones[:, used]
    zeros = statistics.zeros[:, used]
    seen = np.maximum((ones + zeros) @ members, TINY)
    n_ones = ones.sum()
    n_zeros = zeros.sum()

    for _ in range(n_steps):
        # expectation: divide the counts of ones and zeros by their probabilities
        silent = np.exp(np.log(beta).T @ members.T)
        signal = 1 - eps
        # p(0 | L), the probability of a zero
        zero = signal * silent + max(eps * (1 - r), TINY)
        one = 1 - zero
        if noise is None:
            np.maximum(one, TINY, out=one)
        weighted_ones = np.divide(ones, one, out=one)
        weighted_zeros = np.divide(zeros, zero, out=zero)

        # noisy bits are the bits that neither a source nor silence explains
        if noise is not None:
            emitted_ones = weighted_ones.sum() - np.vdot(weighted_ones, silent)
            noisy_ones = n_ones - signal * emitted_ones
            noisy_zeros = n_zeros - signal * np.vdot(weighted_zeros, silent)

        # maximisation: update the sources, then the noise
        weighted_zeros -= weighted_ones
        weighted_zeros *= silent
        change = signal * (weighted_zeros @ members) / seen
        beta = np.clip(beta + (1 - beta) * change.T, BETA_RANGE, 1 - BETA_RANGE)
        if noise is not None:
            noisy = noisy_ones + noisy_zeros
            eps = float(min(max(noisy / (n_ones + n_zeros), NOISE_RANGE), 1 - NOISE_RANGE))
            if noise == "mixture" and noisy > 0:
                r = float(min(max(noisy_ones / noisy, NOISE_RANGE), 1 - NOISE_RANGE))

    return Model(sets, beta, eps, r)


def start(
    data: Data | BitBlocks,
    sets: Array,
    n_clusters: int,
    *,
    noise: str | None,
    rng: np.random.RandomState,
) -> Model:
    """Start with all sources near the mean row, each shifted towards one random row."""
    n, D = data.shape
    ones, seen = data.sum(_bit_counts)
    mean = ones / np.maximum(seen, 1)

    # start each source from a random row
    numbers = rng.choice(n, size=n_clusters, replace=n < n_clusters)
    picked: Any = data.take(numbers).X
    rows = picked if isinstance(picked, np.ndarray) else picked.toarray()
    jitter = 0.02 * rng.uniform(-1, 1, size=(n_clusters, D))

    beta = 1 - (0.5 * mean + 0.25 * rows + jitter)
    return first_model(sets, beta, noise=noise)


def first_model(sets: Array, beta: Array, *, noise: str | None) -> Model:
    """Return a model with these probabilities of a 0, and little noise."""
    beta = np.clip(beta, BETA_RANGE, 1 - BETA_RANGE)
    return Model(sets, beta, 0.0 if noise is None else FIRST_NOISE, 0.5)


def anneal(
    data: Data | BitBlocks,
    model: Model,
    settings: Settings,
    *,
    first: int = 0,
    progress: WatchedProgress | None = None,
    trace: list[tuple[float, float]] | None = None,
) -> tuple[Model, int]:
    """Lower the temperature, with a few rounds of EM at each level (annealed EM).

    Once every row has decided for one set, all temperatures except the last are skipped. Returns
    the model and the number of rounds; `trace` receives (temperature, free energy).
    """
    n_iter = 0
    doubt = 1.0
    for temperature in settings.schedule[first:]:
        if doubt <= DECIDED and temperature != settings.schedule[-1]:
            continue

        if progress is not None:
            progress.begin()

        # run EM at this temperature
        model, statistics, n_rounds = _level(data, model, settings, temperature, trace)
        n_iter += n_rounds
        doubt = statistics.doubt

        # drop sets that no row uses
        if settings.pruned:
            sets = active_sets(model.sets, statistics, settings)
            model = model._replace(sets=sets)

        if progress is not None and progress.end():
            break
    return model, n_iter


def _level(
    data: Data | BitBlocks,
    model: Model,
    settings: Settings,
    temperature: float,
    trace: list[tuple[float, float]] | None = None,
) -> tuple[Model, Statistics, int]:
    """Run EM at one temperature until the free energy no longer falls; count the rounds."""
    last = np.inf
    n_rounds = 0
    n_steps = EMISSION_STEPS_FEW_ROWS if data.shape[0] <= FEW_ROWS else EMISSION_STEPS
    while True:
        statistics = expectation(data, model, temperature)
        if trace is not None:
            trace.append((temperature, statistics.free_energy))
        model = maximization(model, statistics, noise=settings.noise, n_steps=n_steps)
        n_rounds += 1
        free_energy = statistics.free_energy
        least_fall = settings.tol * abs(free_energy)
        if n_rounds == settings.n_rounds or last - free_energy <= least_fall:
            return model, statistics, n_rounds
        last = free_energy


def coincident(
    sample: Data | BitBlocks, model: Model, settings: Settings
) -> tuple[Model, int]:
    """Find the temperature at which the sources, which coincide when it is high, separate.

    Returns the model four levels before, and the index of its temperature; the annealing of all
    rows begins there. A sample of the rows is enough, and its rounds are not counted.
    """
    settings = settings._replace(n_rounds=2)
    models = [model]
    for temperature in settings.schedule[:-1]:
        model, _, _ = _level(sample, model, settings, temperature)
        models.append(model)
        beta = model.beta

        # compute the distances of all pairs of sources, per feature
        distances = np.abs(beta[:, None] - beta[None])
        if len(models) > 4 and distances.mean() > SEPARATE:
            break
    first = max(len(models) - 5, 0)
    return models[first], first


def active_sets(sets: Array, statistics: Statistics, settings: Settings) -> Array:
    """Keep up to `MAX_ACTIVE` sets: the sets in use, and their neighbours by one source."""
    K = sets.shape[1]
    # sort the sets in use, most used first
    use = (statistics.ones + statistics.zeros).sum(axis=0)
    ranked = np.argsort(-use, kind="stable")
    is_used = use[ranked] > 0
    used_sets = sets[ranked[is_used]]
    used_sets = used_sets[:MAX_ACTIVE]

    # add neighbours of the most used sets first, up to four times as many as can be kept
    n_neighbours = 4 * MAX_ACTIVE
    n_centers = -(-n_neighbours // K)
    centers = used_sets[:n_centers]
    one_source = np.eye(K, dtype=bool)
    neighbours = centers[:, None] ^ one_source[None]
    neighbours = neighbours.reshape(-1, K)
    neighbours = neighbours[:n_neighbours]

    # always keep single sources; keep sets of allowed sizes, without duplicates
    first = assignment_sets(K, 1, allow_empty=settings.allow_empty)
    grown = np.vstack([first, used_sets, neighbours])
    sizes = grown.sum(axis=1)
    smallest = 0 if settings.allow_empty else 1
    is_allowed = sizes <= settings.max_assignments
    is_allowed &= sizes >= smallest
    packed = pack_rows(grown[is_allowed])
    packed = distinct_rows(packed)[0]
    grown = unpack_rows(packed[:MAX_ACTIVE], K)

    # sort the sets by size
    order = np.lexsort((*(~grown).T[::-1], grown.sum(axis=1)))
    return grown[order]


def boolean_refit(
    data: Data | BitBlocks,
    model: Model,
    *,
    noise: str | None,
    progress: WatchedProgress | None = None,
) -> tuple[Model, Statistics, int]:
    """Round the sources and maximise the hard likelihood over sources, sets and noise in turn.

    Emission probabilities and noise can explain the same zeros. With Boolean sources the two error
    rates are two counts, so the estimate of the noise is unbiased. The last value returned is the
    number of rounds.
    """
    U = model.beta < 0.5
    q1, q0 = rates_of(model)
    model = boolean_model(model.sets, U, q1, q0, noise=noise)
    statistics = expectation(data, model, 0)
    it = Iterations(REFIT_ROUNDS, 0.0, progress)

    for _ in it:
        # 1. update the sources, then the error rates, then the sets
        U = improve_sources(model, statistics)
        counts_by_union = union_counts(model.sets, U, statistics)
        q1, q0 = error_rates(counts_by_union)
        new = boolean_model(model.sets, U, q1, q0, noise=noise)
        new_statistics = expectation(data, new, 0)

        # 2. if the likelihood no longer rises, discard the round and stop
        least_fall = REFIT_RTOL * abs(statistics.free_energy)
        if new_statistics.free_energy >= statistics.free_energy - least_fall:
            it.converged = True
            continue
        model = new
        statistics = new_statistics
    return model, statistics, it.n_iter


def soft_rates(
    data: Data | BitBlocks, model: Model, *, noise: str | None, learns_prior: bool
) -> Model:
    """Refit the error rates of Boolean sources, and their prior, by EM over all sets of each row.

    The best set of a row fits some of its noise, so counts for the best sets underestimate the
    fraction of noisy bits if rows are short and noisy. A uniform prior expects half of the sources
    in each row and misjudges the noise if rows have fewer.
    """
    if noise is None:
        return model
    U = model.beta < 0.5
    log_odds = np.zeros(len(U)) if learns_prior else None
    model = model._replace(log_odds=log_odds)

    for _ in range(SOFT_ROUNDS):
        # use double precision, because a small count is the difference of two large counts
        statistics = expectation(data, model, 1.0, np.float64)
        counts = union_counts(model.sets, U, statistics)
        if counts.sum(axis=1).min() < 1:
            # stop if there is less than one bit to count, because the rates would drift towards
            # each other
            break

        q1, q0 = error_rates(counts)
        new = boolean_model(model.sets, U, q1, q0, noise=noise)
        new = new._replace(log_odds=learned_log_odds(model, statistics.rows))
        change = abs(new.eps - model.eps)
        model = new
        if change <= ERROR_RATE_TOL:
            break
    return model


def learned_log_odds(model: Model, n_rows: Array | float) -> Array | None:
    """Return log-odds with which the expected use of the sources approaches the use by rows.

    One step reaches it if the model has all sets. Half a row with and half a row without each
    source are added, so no source is certain.
    """
    if model.log_odds is None:
        return None
    members = model.sets.astype(float)
    n = np.sum(n_rows)
    use = (n_rows @ members + 0.5) / (n + 1)
    expected = set_probabilities(model) @ members
    expected = np.clip(expected, 0.5 / (n + 1), 1 - 0.5 / (n + 1))
    return np.asarray(model.log_odds + logit(use) - logit(expected))


def rates_of(model: Model) -> tuple[float, float]:
    """Return the probability of a 1 where the union is 1, and where it is 0."""
    q0 = model.eps * model.r
    q1, q0 = (min(max(q, CERTAIN), 1 - CERTAIN) for q in (q0 + 1 - model.eps, q0))
    return q1, q0


def boolean_model(sets: Array, U: Array, q1: float, q0: float, *, noise: str | None) -> Model:
    """Return a model with Boolean sources whose bits are 1 with probability q1 or q0."""
    if noise is None:
        q1 = 1 - CERTAIN
        q0 = CERTAIN
    elif noise == "flip":
        wrong = 0.5 * (q0 + 1 - q1)
        q1 = 1 - wrong
        q0 = wrong
    q1, q0 = (min(max(q, CERTAIN), 1 - CERTAIN) for q in (q1, q0))
    if q1 <= q0:  # the union would carry no information
        q1 = q0 = 0.5 * (q0 + q1)
    eps = 1 - (q1 - q0)
    return Model(sets, 1.0 - U, eps, q0 / eps if eps > 0 else 0.5)


def with_empty_sources(model: Model, n_clusters: int) -> Model:
    """Add sources that emit nothing and that no set contains, up to `n_clusters` sources."""
    n_more = n_clusters - len(model.beta)
    silent = np.ones((n_more, model.beta.shape[1]))
    sets = np.pad(model.sets, ((0, 0), (0, n_more)))
    beta = np.vstack([model.beta, silent])
    log_odds = None if model.log_odds is None else np.pad(model.log_odds, (0, n_more))
    return model._replace(sets=sets, beta=beta, log_odds=log_odds)


def union_counts(sets: Array, U: Array, statistics: Statistics) -> Array:
    """Count ones and zeros where the union is 1 (first row) and where it is 0."""
    union = boolean_product(sets, U).T  # (D, n_sets)
    return np.array(
        [
            [statistics.ones[features].sum(), statistics.zeros[features].sum()]
            for features in (union, ~union)
        ]
    )


def error_rates(counts: Array) -> tuple[float, float]:
    """Estimate the probability of a 1 where the union is 1, and where it is 0."""
    (ones1, zeros1), (ones0, zeros0) = counts.tolist()
    n1 = ones1 + zeros1
    n0 = ones0 + zeros0
    q1 = ones1 / n1 if n1 > 0 else 1.0
    q0 = ones0 / n0 if n0 > 0 else 0.0
    return q1, q0


def table_log_likelihood(model: Model, statistics: Statistics) -> float:
    """Return the log-likelihood of rows and sets, given the counts per set."""
    weights, log_zero = log_tables(model)
    seen = statistics.ones + statistics.zeros
    of_ones = (statistics.ones * weights).sum()
    of_all = (seen * log_zero).sum()
    of_sets = np.sum(statistics.rows * log_prior(model))
    return float(of_ones + of_all + of_sets)


def gain_of_cover(model: Model, statistics: Statistics) -> Array:
    """Return the gain in log-likelihood if the union covers a feature of a set, (D, n_sets)."""
    q1, q0 = rates_of(model)
    log_ratio_of_ones = np.log(q1 / q0)
    log_ratio_of_zeros = np.log((1 - q1) / (1 - q0))
    gain = statistics.ones * log_ratio_of_ones
    return np.asarray(gain + statistics.zeros * log_ratio_of_zeros)


def undecided_bits(model: Model, statistics: Statistics) -> Array:
    """Return the probability that a bit of a source is wrong, (K, D), all other bits fixed.

    This is the posterior probability of the other value of the bit, given the counts of the rows
    with their sets, and equal prior probabilities.
    """
    U: Array = model.beta < 0.5
    gain = gain_of_cover(model, statistics).T
    covers = model.sets.astype(np.intp) @ U.astype(np.intp)

    # the bit affects only sets whose other sources do not have the feature
    favours_one = np.empty(U.shape)
    for k, source in enumerate(U):
        has_source = model.sets[:, k].astype(bool)
        alone = covers[has_source] == source
        favours_one[k] = np.where(alone, gain[has_source], 0.0).sum(axis=0)
    return np.asarray(expit(np.where(U, -favours_one, favours_one)))


def improve_sources(model: Model, statistics: Statistics) -> Array:
    """Return the best column of the sources for each feature, with sets and error rates fixed."""
    U: Array = model.beta < 0.5
    K = len(U)
    q1, q0 = rates_of(model)
    if q1 <= q0:
        return U
    gain = gain_of_cover(model, statistics)

    # if there are few sources, choose the best of all columns
    if 2**K <= MAX_PATTERNS:
        # smaller sets come first, so the smaller one wins a tie
        patterns = assignment_sets(K, K)
        pattern_numbers = np.empty(len(gain), dtype=np.intp)
        n_fitting = BLOCK_FLOATS // (2 * len(patterns))
        step = max(1, n_fitting)  # number of features whose scores fit into a block
        for first in range(0, len(gain), step):
            block = slice(first, first + step)
            scores = pattern_scores(patterns, model.sets, gain[block])
            pattern_numbers[block] = scores.argmax(axis=0)
        best: Array = patterns[pattern_numbers]
        return best.T.copy()

    # otherwise update one source at a time, until no source changes
    U = U.copy()
    gain = np.ascontiguousarray(gain.T)
    members = model.sets.astype(np.float32)
    count = members @ U.astype(np.float32)  # number of sources of a set that emit 1
    for _ in range(REFIT_ROUNDS):
        before = U.copy()
        for k in range(K):
            users = np.flatnonzero(model.sets[:, k])
            free = count[users] == U[k]  # no other source of the set covers the feature
            free_gain = np.where(free, gain[users], 0.0)
            new = free_gain.sum(axis=0) > 0
            change = new.astype(np.float32) - U[k]
            count[users] += change
            U[k] = new
        if (U == before).all():
            break

    return U


def pattern_scores(patterns: Array, sets: Array, gain: Array) -> Array:
    """Return the gain in log-likelihood of each pattern for each feature, (n_patterns, D)."""
    used = np.abs(gain).sum(axis=0) > 0
    unions = boolean_product(patterns, sets[used].T)
    scores: Array = unions.astype(float) @ gain[:, used].T
    return scores
