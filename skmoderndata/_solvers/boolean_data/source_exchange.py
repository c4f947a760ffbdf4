"""Exchange of Boolean sources: local search for multi-assignment clustering over all sets."""

from collections.abc import Iterator

import numpy as np

from skmoderndata._solvers.boolean_data.bit_blocks import BitBlocks, Data
from skmoderndata._solvers.boolean_data.boolean import (
    HALF_BITS,
    associated_features,
    boolean_product,
    cooccurrence,
    distinct_rows,
    lower_count,
    pack_bits,
    pack_rows,
    popcount,
    unpack_rows,
    upper_count,
)
from skmoderndata._solvers.boolean_data.multi_assignment import (
    CERTAIN,
    Model,
    Settings,
    Statistics,
    boolean_model,
    boolean_refit,
    rates_of,
    stopped,
)
from skmoderndata._solvers.boolean_data.weighted_basis import (
    distinct_sets,
    weighted_associations,
)
from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.typing import Array

# Maximum number of rows whose gains rank the candidates.
MAX_ROWS = 500
# Maximum number of rows whose co-occurrences define the candidates.
MAX_ASSOCIATED_ROWS = 2000
# Number of sets of other sources (the best ones of each row) to which a candidate is added.
SETS_PER_ROW = 16
# Maximum number of sources that are paired with all sources to form differences and intersections.
MAX_PAIRED = 50
# Maximum number of candidates tried in place of each source.
MAX_CANDIDATES = 50
# Smallest gain of a replacement that is worth a refit, as a fraction of the gain of the source.
LEAST_WORTH = 0.5
# Maximum number of exchanges that are refitted before the search ends.
MAX_TRIES = 5
# Smallest relative rise of the log-likelihood at which an exchange is accepted.
LEAST_RISE = 1e-6
# Fractions of co-occurrence above which features count as associated.
ASSOCIATIONS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def exchange_sources(
    data: Data,
    model: Model,
    statistics: Statistics,
    settings: Settings,
    rng: np.random.RandomState,
    progress: WatchedProgress | None = None,
) -> tuple[Model, Statistics]:
    """Replace single sources by candidates as long as the likelihood rises.

    In a local optimum, one source is often the union of two true sources, and another is idle or
    repeats a third. When a candidate replaces a source, rows choose among all sets again, so a
    union can split. Residual bits alone would not reveal it, because the union covers them.
    """
    noise = settings.noise
    rows = PackedRows(draw_rows(data, MAX_ROWS, rng))
    associated_rows = draw_rows(data, MAX_ASSOCIATED_ROWS, rng)
    table = associations(associated_rows, ASSOCIATIONS)

    for _ in range(2 * len(model.beta)):
        q1, q0 = rates_of(model)
        no_wrong_bit = statistics.free_energy <= 2 * CERTAIN * np.prod(data.shape)
        if q1 <= q0 or no_wrong_bit:
            break

        # 1. collect candidates: associated features, differences and intersections of sources
        U = model.beta < 0.5
        parts = _parts(pack_rows(U))
        candidates = np.vstack([table, *parts])
        candidates = distinct_rows(candidates)[0]
        is_empty = ~candidates.any(axis=1)
        candidates = candidates[~is_empty]

        # 2. find the exchanges with the largest likelihoods, without refitting
        moves = best_moves(rows, model, candidates)

        # 3. accept the first exchange that raises the likelihood after refitting
        for k, candidate in moves:
            if stopped(progress):
                return model, statistics

            V = U.copy()
            features = unpack_rows(candidate[None], U.shape[1])
            V[k] = features[0]
            new = boolean_model(model.sets, V, q1, q0, noise=noise)
            new, counts, _ = boolean_refit(data, new, noise=noise, progress=progress)
            rise = statistics.free_energy - counts.free_energy
            if rise > LEAST_RISE * abs(statistics.free_energy):
                model = new
                statistics = counts
                break
        else:
            break
    return model, statistics


def draw_rows(data: Data | BitBlocks, n_rows: int, rng: np.random.RandomState) -> Data:
    """Draw up to `n_rows` rows without replacement, and keep their order."""
    n = data.shape[0]
    if n > n_rows:
        numbers = rng.choice(n, n_rows, replace=False)
        return data.take(np.sort(numbers))
    if isinstance(data, Data):
        return data
    return data.take(np.arange(n))


def associations(data: Data, thresholds: tuple[float, ...]) -> Array:
    """List sets of features associated with one feature, packed; unobserved bits do not count."""
    if data.observed is None:
        sets = associated_features(cooccurrence(data.X), thresholds)
    else:
        weights = data.observed.astype(float)
        fractions = weighted_associations(data.X, weights)
        sets = (pack_rows(distinct_sets(fractions, tau)) for tau in thresholds)
    all_sets = np.vstack(list(sets))
    return distinct_rows(all_sets)[0]


def _parts(sources: Array) -> Iterator[Array]:
    """Yield differences and intersections of pairs of packed sources."""
    for source in sources[:MAX_PAIRED]:
        yield sources & ~source
        yield sources & source


class PackedRows:
    """Rows with packed observed ones and zeros, which choose among sets of sources."""

    def __init__(self, data: Data) -> None:
        X = data.X
        if not isinstance(X, np.ndarray):
            X = X.toarray().astype(bool)
        zeros = ~X
        if data.observed is not None:
            zeros &= data.observed
        self.ones = pack_bits(X)
        self.zeros = pack_bits(zeros)
        self._bits = X.astype(np.float32)
        self._zeros = zeros.astype(np.float32)

    def scores(self, unions: Array, bonus: float, penalty: float) -> Array:
        """Return the gain of each row from each union, compared with no source, (rows, sets)."""
        # compute the gain from covering a bit: a 1 is explained, a 0 becomes an error
        gain = np.float32(bonus) * self._bits
        gain -= np.float32(penalty) * self._zeros
        features = unions.T.astype(np.float32)
        scores: Array = gain @ features
        return scores

    def totals(
        self,
        scores: Array,
        unions: Array,
        base: Array,
        candidates: Array,
        bonus: float,
        penalty: float,
    ) -> Array:
        """Sum over rows the best score with each candidate added to the sets of the row.

        `scores` and the packed `unions` are given for all sets of the other sources; only the
        best `SETS_PER_ROW` sets of each row are tried. `base` is the best score without the
        candidate.
        """
        n_sets = scores.shape[1]
        set_numbers = np.broadcast_to(np.arange(n_sets), scores.shape)
        if n_sets > SETS_PER_ROW:
            # select the best sets of each row, in any order
            order = np.argpartition(-scores, SETS_PER_ROW, axis=1)
            set_numbers = order[:, :SETS_PER_ROW]
        chosen_unions = unions[set_numbers]
        chosen_scores = np.take_along_axis(scores, set_numbers, axis=1)

        # the compiled loop requires candidates in columns, and numbers in double precision
        words = np.ascontiguousarray(candidates.T)
        chosen_scores = chosen_scores.astype(float)
        base = base.astype(float)
        return total_scores(
            self.ones,
            self.zeros,
            chosen_unions,
            chosen_scores,
            base,
            words,
            float(bonus),
            float(penalty),
        )


def best_moves(rows: PackedRows, model: Model, candidates: Array) -> list[tuple[int, Array]]:
    """Choose sources and packed replacements, in descending order of likelihood."""
    U = model.beta < 0.5
    q1, q0 = rates_of(model)
    bonus = np.log(q1 / q0)
    penalty = np.log((1 - q0) / (1 - q1))

    # select the candidates that would raise the likelihood most if added as an additional source
    union = boolean_product(model.sets, U)
    words = pack_rows(union)
    scores = rows.scores(union, bonus, penalty)
    best = scores.max(axis=1)
    gains = rows.totals(scores, words, best, candidates, bonus, penalty)
    order = np.argsort(-gains, kind="stable")
    likeliest = order[:MAX_CANDIDATES]
    candidates = candidates[likeliest]

    # try each candidate in place of each source
    shape = (len(U), len(candidates))
    totals = np.full(shape, -np.inf)
    packed_sources = pack_rows(U)
    for k, source in enumerate(packed_sources):
        has_k = model.sets[:, k]
        if not has_k.any():
            continue

        # remove the source from the sets that contain it, and start from the remaining sets
        sets_without = model.sets[has_k].copy()
        sets_without[:, k] = False
        union = boolean_product(sets_without, U)
        words = pack_rows(union)
        partial = rows.scores(union, bonus, penalty)
        base = scores[:, ~has_k].max(axis=1, initial=-np.inf)
        total = rows.totals(partial, words, base, candidates, bonus, penalty)

        # exclude the source itself, and candidates that are worth much less than the source
        worth = (best - base).sum()
        excluded = total < base.sum() + LEAST_WORTH * worth
        excluded |= (candidates == source).all(axis=1)
        total[excluded] = -np.inf
        totals[k] = total

    # rank the exchanges of all sources together
    order = np.argsort(-totals, axis=None, kind="stable")
    largest = order[:MAX_TRIES]
    sources, index = np.unravel_index(largest, totals.shape)
    moves = zip(sources, index, strict=True)
    return [(int(k), candidates[c]) for k, c in moves if np.isfinite(totals[k, c])]


@jit
def total_scores(
    ones: Array,
    zeros: Array,
    unions: Array,
    scores: Array,
    base: Array,
    candidates: Array,
    bonus: float,
    penalty: float,
) -> Array:
    """Sum over packed rows the larger of `base` and the best score with a candidate.

    A candidate is added to each of the sets of a row, given by their `unions` (rows, sets, words)
    and `scores`; only bits outside the union change the score. `candidates` has shape (words,
    candidates), because inner loops run over candidates. They keep two counts in one integer, ones
    in the upper half and zeros in the lower half.
    """
    n_words, width = candidates.shape
    totals = np.zeros(width)
    best = np.empty(width)
    counts = np.empty(width, dtype=np.int64)
    for i in range(len(ones)):
        best[:] = base[i]
        for s in range(unions.shape[1]):
            # skip the set if even covering all ones outside its union would not help
            n_uncovered = np.int64(0)
            score = scores[i, s]
            for w in range(n_words):
                free = ~unions[i, s, w]
                n_uncovered += popcount(ones[i, w] & free)
            if score + bonus * n_uncovered <= base[i]:
                continue

            # count the uncovered ones and zeros in each candidate
            counts[:] = 0
            for w in range(n_words):
                free = ~unions[i, s, w]
                one = ones[i, w] & free
                zero = zeros[i, w] & free
                for c in range(width):
                    counts[c] += popcount(candidates[w, c] & zero)
                    counts[c] += popcount(candidates[w, c] & one) << HALF_BITS

            # extract the two counts that share one integer
            for c in range(width):
                n_ones = upper_count(counts[c])
                n_zeros = lower_count(counts[c])
                covered = bonus * n_ones - penalty * n_zeros
                best[c] = max(best[c], score + covered)
        for c in range(width):
            totals[c] += best[c]
    return totals
