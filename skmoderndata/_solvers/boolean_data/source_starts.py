"""Starts of multi-assignment clustering, each with a refit and an exchange of sources."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.associations import greedy_searches, race
from skmoderndata._solvers.boolean_data.bit_blocks import BitBlocks, Data
from skmoderndata._solvers.boolean_data.boolean import (
    boolean_product,
    cooccurrence,
    count_assignment_sets,
    pack_bits,
    pack_rows,
    transpose_packed,
    unpack_rows,
)
from skmoderndata._solvers.boolean_data.multi_assignment import (
    Model,
    Settings,
    Statistics,
    active_sets,
    anneal,
    boolean_refit,
    coincident,
    expectation,
    first_model,
    likelihood_blocks,
    soft_rates,
    start,
    stopped,
)
from skmoderndata._solvers.boolean_data.source_exchange import (
    ASSOCIATIONS,
    MAX_ROWS,
    PackedRows,
    associations,
    draw_rows,
    exchange_sources,
)
from skmoderndata._solvers.boolean_data.weighted_basis import (
    bit_gains,
    distinct_sets,
    weighted_associations,
    weighted_greedy,
)
from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.typing import Array

# Maximum number of rows on which sources are searched for before they are refitted to all rows.
# For 100,000 rows, this takes a tenth of the time of a search on all rows.
ANNEALED_ROWS = 5000
# Number of rows used to find the temperature at which the sources separate.
SEPARATING_ROWS = 1000
# Largest temperature of a cold start, in units of the log-likelihood of a row.
COLD = 1.0
# Maximum number of times that a pruned search adds neighbours of the sets in use.
GROWTHS = 5
# Probability that a greedy source emits 0 for a feature that it has.
SURE = 0.05
# Fractions of co-occurrence used as thresholds by the greedy start.
THRESHOLDS = np.arange(1, 11) / 10


class Start(NamedTuple):
    """Result of one start."""

    model: Model
    statistics: Statistics  # counts of the bits, using the best set of each row
    log_likelihood: float  # average over assignment sets, used to compare starts
    n_iter: int  # number of rounds of EM, and of refits


def kinds_of_starts(n_init: int) -> list[str]:
    """Return the kinds of all starts: one greedy, then cold and annealed in turn."""
    return ["greedy", *(("cold", "annealed")[i % 2] for i in range(n_init - 1))]


def rows_of_starts(data: Data | BitBlocks, rng: np.random.RandomState) -> Data:
    """Draw the rows on which sources are found before a refit to all rows."""
    return draw_rows(data, ANNEALED_ROWS, rng)


def one_start(
    data: Data | BitBlocks,
    sample: Data,
    sets: Array,
    settings: Settings,
    *,
    seed: tuple[str, int],
    progress: WatchedProgress | None = None,
) -> Start:
    """Start in one of three ways, then round, refit and exchange the sources.

    `seed` contains the kind of the start and the seed of its random numbers. `progress` is called
    for each temperature and for each round of a refit; once it requests a stop, the remaining
    rounds are skipped.
    """
    kind, random_state = seed
    rng = np.random.RandomState(random_state)
    # the products of blocks are too small for several threads: two threads save little time on an
    # idle machine, and take ten times as long if the cores are busy
    with one_blas_thread():
        annealed = sample if settings.refit else data

        # start from the sources of the discrete basis problem, or from random rows and annealed EM
        if kind == "greedy":
            U = greedy_sources(sample, settings, rng)
            beta = np.where(U, SURE, 1 - SURE)
            model = first_model(sets, beta, noise=settings.noise)
            n_iter = 0
        else:
            model, n_iter = _random_start(annealed, sets, kind, settings, rng, progress)
        if settings.refit:
            return refined(data, sample, model, settings, rng, progress, n_iter=n_iter)

        # without a refit, return the emissions as probabilities; after a greedy start, fit them at
        # the last temperature
        if kind == "greedy":
            last = settings._replace(schedule=settings.schedule[-1:])
            model, n_iter = anneal(data, model, last, progress=progress)
        return _result(data, model, settings, n_iter)


def refined(
    data: Data | BitBlocks,
    sample: Data,
    model: Model,
    settings: Settings,
    rng: np.random.RandomState,
    progress: WatchedProgress | None = None,
    *,
    n_iter: int = 0,
    exchange: bool = True,
) -> Start:
    """Round the sources of a sample of the rows, exchange them, and refit them to all rows.

    `n_iter` is the number of rounds so far; rounds of exchanges are not counted.
    """
    noise = settings.noise

    # 1. find Boolean sources by hard maximisation, then exchange them over all sets
    model, statistics, n_rounds = boolean_refit(sample, model, noise=noise, progress=progress)
    n_iter += n_rounds
    if exchange:
        model, statistics = exchange_sources(
            sample, model, statistics, settings, rng, progress
        )
    if sample.shape[0] < data.shape[0] and not stopped(progress):
        model, statistics, n_rounds = boolean_refit(
            data, model, noise=noise, progress=progress
        )
        n_iter += n_rounds

    # 2. add neighbours of the sets in use, because pruning may have dropped sets that are useful
    for _ in range(GROWTHS if settings.pruned else 0):
        if stopped(progress):
            break
        sets = active_sets(model.sets, statistics, settings)
        grown = model._replace(sets=sets)
        grown, more, n_rounds = boolean_refit(data, grown, noise=noise, progress=progress)
        n_iter += n_rounds
        if more.free_energy >= statistics.free_energy:
            break
        model = grown
        statistics = more

    # 3. average the error rates and the use of the sources over all sets, because the best set of
    # each row also fits some noise
    model = soft_rates(data, model, noise=noise, learns_prior=settings.learns_prior)
    return _result(data, model, settings, n_iter)


def _result(data: Data | BitBlocks, model: Model, settings: Settings, n_iter: int) -> Start:
    """Measure the likelihood with the best set of each row, and the mean over all sets.

    Under strong noise, the likelihood of the best sets favours sources that fit the noise. With
    300 rows of 40 bits, 30 % of which were flipped, the likeliest of three starts had 27 % wrong
    bits, and the start with the largest mean 17 %.
    """
    statistics = expectation(data, model, 0)
    if settings.noise is None:  # compute the likelihood from the number of errors
        return Start(model, statistics, -statistics.free_energy, n_iter)
    over_sets = expectation(data, model, 1.0)
    averaged = -over_sets.free_energy
    if model.log_odds is None:
        # the mean over sets is the sum at temperature 1 divided by the number of sets
        n_sets = count_assignment_sets(
            settings.n_clusters, settings.max_assignments, allow_empty=settings.allow_empty
        )
        averaged -= data.shape[0] * np.log(n_sets)
    return Start(model, statistics, averaged, n_iter)


def _random_start(
    data: Data | BitBlocks,
    sets: Array,
    kind: str,
    settings: Settings,
    rng: np.random.RandomState,
    progress: WatchedProgress | None,
) -> tuple[Model, int]:
    """Run annealed EM from random rows, beginning at the first temperature or at a low one.

    If there is little noise, sources that separate at a high temperature are often unions of two
    sources; at a low temperature each row chooses few sets from the beginning.
    """
    model = start(data, sets, settings.n_clusters, noise=settings.noise, rng=rng)
    first = 0
    if kind == "cold":
        low = [temperature for temperature in settings.schedule if temperature <= COLD]
        settings = settings._replace(schedule=low or settings.schedule[-1:])
    elif settings.refit and data.shape[0] > 2 * SEPARATING_ROWS:
        sample = draw_rows(data, SEPARATING_ROWS, rng)
        model, first = coincident(sample, model, settings)
    return anneal(data, model, settings, first=first, progress=progress)


def disagreement(sample: Data, starts: list[Start]) -> float:
    """Return the fraction of bits in which the two likeliest starts reconstruct differently."""
    likeliest = sorted(starts, key=lambda start: start.log_likelihood)[-2:]
    first, second = (_reconstruction(sample, start.model) for start in likeliest)
    differs = first != second
    return float(differs.mean())


def _reconstruction(data: Data, model: Model) -> Array:
    U = model.beta < 0.5
    union = boolean_product(model.sets, U)
    blocks = likelihood_blocks(data, model)
    best = [log_p.argmax(axis=1) for _, _, _, log_p in blocks]
    index = np.concatenate(best)
    return union[index]


def greedy_sources(data: Data, settings: Settings, rng: np.random.RandomState) -> Array:
    """Find sources of the discrete basis problem; each lowers the number of wrong bits most."""
    k = settings.n_clusters
    if settings.max_assignments == 1:
        # a row has at most one source, so no unions are needed
        sample = draw_rows(data, MAX_ROWS, rng)
        return _greedy_clusters(data, sample, k)

    # give unobserved bits the weight 0
    if data.observed is not None:
        weights = data.observed.astype(float)
        gains = bit_gains(data.X, weights, 1.0, 1.0)
        fractions = weighted_associations(data.X, weights)
        searches = [
            weighted_greedy(gains, distinct_sets(fractions, tau), k) for tau in THRESHOLDS
        ]
        cheapest = min(searches, key=lambda search: search.cost)
        return cheapest.components

    # if all bits are observed, search on packed bits with every threshold, and keep the solution
    # of the lowest cost
    p = data.shape[1]
    words = pack_bits(data.X)
    columns = transpose_packed(words, p)
    counts = cooccurrence(data.X)
    _, answers = greedy_searches(words, counts, THRESHOLDS, k, 1.0, 1.0)
    best = race(words, columns, answers, 1.0, 1.0)
    return unpack_rows(best[1], p)


def _greedy_clusters(data: Data, sample: Data, k: int) -> Array:
    """Choose the candidates that gain most, one by one, if a row has at most one source."""
    rows = PackedRows(sample)
    p = data.shape[1]
    candidates = associations(data, ASSOCIATIONS)
    n_steps = k if len(candidates) else 0
    no_source = pack_rows(np.zeros((1, p), dtype=bool))
    empty = np.zeros((sample.shape[0], 1))
    best = empty[:, 0]
    U = np.zeros((k, p), dtype=bool)

    # the scores are gains compared with having no source; every bit has weight 1, whether right or
    # wrong
    for step in range(n_steps):
        totals = rows.totals(empty, no_source, best, candidates, 1.0, 1.0)
        largest = totals.argmax()
        source = unpack_rows(candidates[[largest]], p)
        U[step] = source[0]
        scores = rows.scores(source, 1.0, 1.0)
        best = np.maximum(best, scores[:, 0])
    return U
