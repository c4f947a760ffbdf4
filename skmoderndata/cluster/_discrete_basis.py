"""Discrete basis problem: greedy Boolean factorisation from associations of features."""

from numbers import Real

import numpy as np

from skmoderndata._base import FitProgress
from skmoderndata._compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
)
from skmoderndata._jit import jit
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.boolean_data.boolean import (
    MAX_SETS,
    MAX_WORDS,
    all_sets,
    associated_features,
    best_cover,
    cooccurrence,
    count_differences,
    cover_gain,
    nearest_packed,
    pack_bits,
    pack_rows,
    popcount,
    transpose_packed,
    unions,
    unpack_rows,
)
from skmoderndata._validation import check_array
from skmoderndata.cluster._base import NO_LABELS, BooleanFactors

NO_SETS = all_sets(1)[:0]  # a local search in place of all sets


class DiscreteBasis(CallbackSupportMixin, BooleanFactors):
    r"""Boolean factorisation by a greedy search over associations (Asso), with a refit.

    Estimates Boolean components U and memberships Z by

    .. math::
        \min_{Z, U} \; w^+ \, \#\{x_{id} = 1, \hat x_{id} = 0\}
        + w^- \, \#\{x_{id} = 0, \hat x_{id} = 1\}, \qquad
        \hat x_{id} = \bigvee_k z_{ik} \wedge u_{kd},

    the discrete basis problem [1]_, which is NP-hard. Candidates are the rows of the matrix of
    associations: candidate j contains the features that at least a fraction
    `association_threshold` of the objects with feature j also have. The greedy search selects K
    times the candidate that lowers the cost most, where an object uses it only if this lowers the
    cost. Then memberships and components are refitted alternately.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of components.
    association_threshold : float or array-like of float, default=None
        Smallest fraction of co-occurrence for which a feature belongs to a candidate, above 0 and
        up to 1. Of several values the one with the smallest cost is used; None tries 0.1, 0.2,
        ..., 1.0.
    bonus : float, default=1.0
        Cost :math:`w^+` of a one that is not covered.
    penalty : float, default=1.0
        Cost :math:`w^-` of a zero that is covered.
    refit : bool, default=True
        Whether memberships and components are optimised alternately after each greedy search.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Components, in the order of the greedy search; components that would not lower the cost are
        empty.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Optimal set of components of each training row.
    association_threshold_ : float
        Chosen value of `association_threshold`.
    costs_ : ndarray of shape (n_thresholds,)
        Cost of the result for each value of `association_threshold`, divided by the number of
        bits. With several values, the refit of a value with a much larger cost is stopped early.
        With `refit=False`, the costs of the greedy searches, whose memberships are not optimal.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the reconstruction.
    n_refits_ : int
        Number of rounds of the refit that lowered the cost.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.NMF : Non-negative components that are summed.
    skmoderndata.cluster.MultiAssignmentClustering : Probabilistic model with noise.
    skmoderndata.cluster.FormalConceptFactorization : Components that never cover a zero.

    Notes
    -----
    All candidates are evaluated together by population counts on packed rows, and after each
    selection only objects that use the new component are re-evaluated: at most ``n p^2 k / 64``
    word operations for each threshold. Memory: ``n p / 8`` bytes for each of the packed rows,
    packed columns and covered bits, and ``8 p^2`` bytes for the associations. Sparse input is
    multiplied as sparse and packed in blocks of rows.

    For a fixed threshold the components of a smaller `n_clusters` are the first ones of a larger
    one, so the cost of the greedy search never increases with `n_clusters`. The refit alternates
    between the memberships of each row and the components that contain each feature: by local
    search for each threshold, then for the best of them over all sets, if there are at most 8192
    (`n_clusters` up to 13). No round increases the cost. The local search begins with the
    threshold of the best greedy search; for another threshold it ends when it reaches the same
    components, or when its cost is too large to become the smallest. It generalises the iterated
    version of [1]_, which changes the memberships only. There is no certificate of global
    optimality.

    Ties are broken by the lowest index. Equality with the threshold counts as association, as
    printed in [1]_, so that ``association_threshold=1`` gives the implications that always hold.
    All-zero rows have no component, and all-zero columns belong to no component.

    References
    ----------
    .. [1] Miettinen, Mielikainen, Gionis, Das and Mannila, The discrete basis problem, IEEE
       Transactions on Knowledge and Data Engineering 20(10), 2008, pp. 1348-1362, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import DiscreteBasis
    >>> X = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 1, 1]])
    >>> model = DiscreteBasis(n_clusters=2).fit(X)
    >>> model.components_.astype(int)
    array([[1, 1, 0, 0, 0],
           [0, 0, 0, 1, 1]])
    >>> model.transform([[1, 1, 0, 1, 1], [0, 0, 1, 0, 0]])
    array([[ True,  True],
           [False, False]])
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("miettinen2008discrete",),
        cost="n p^2 k / 64 for each threshold",
        checks=(
            {},
            {"n_clusters": 2, "association_threshold": 0.6, "refit": False},
            {"n_clusters": 15, "association_threshold": (0.5, 0.9), "penalty": 2.0},
        ),
        known_failures=NO_LABELS,
        comparison=Comparison(
            baseline="sklearn.decomposition.NMF",
            problem="access_roles",
            grid={"n_clusters": [4, 6, 8]},
            baseline_grid={"n_components": [4, 6, 8]},
            baseline_params={"max_iter": 1000, "random_state": 0},
        ),
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "association_threshold": [Real, "array-like", None],
        "bonus": [POSITIVE],
        "penalty": [POSITIVE],
        "refit": ["boolean"],
        "threshold": [Real, None],
    }

    def __init__(
        self,
        n_clusters=3,
        *,
        association_threshold=None,
        bonus=1.0,
        penalty=1.0,
        refit=True,
        threshold=0.0,
    ):
        self.n_clusters = n_clusters
        self.association_threshold = association_threshold
        self.bonus = bonus
        self.penalty = penalty
        self.refit = refit
        self.threshold = threshold

    def _find(self, bits, X, y):
        thresholds = self._thresholds()
        n, p = bits.shape
        words = pack_bits(bits)
        weights = (float(self.bonus), float(self.penalty))
        columns = transpose_packed(words, p)
        counts = cooccurrence(bits)

        # different thresholds often give the same components
        found = {}
        costs = []
        n_passes = len(thresholds)
        with FitProgress(self, X, y, max_passes=n_passes, task_name="threshold") as progress:
            sets = associated_features(counts, thresholds)
            for tau, candidates in zip(thresholds, sets, strict=True):
                progress.begin()
                cost, U, Z = _greedy_basis(words, candidates, self.n_clusters, *weights)
                costs.append(found.setdefault(U.tobytes(), [cost, U, Z, 0, float(tau)]))
                if progress.end():
                    break

        answers = sorted(found.values(), key=lambda answer: answer[0])
        # the cheapest set, or the winner after re-fits of the best ones
        best = _race(words, columns, answers, *weights) if self.refit else answers[0]
        _, U, Z, self.n_refits_, self.association_threshold_ = best
        self.components_ = unpack_rows(U, p)
        # the re-fit over all sets ends with the best memberships; a local search may not
        exact = self.refit and _exact(len(U), words)
        self.assignments_ = Z if exact else self._cover(words)

        missed, extra = count_differences(words, self.assignments_, U)
        if self.refit:
            best[0] = weights[0] * missed + weights[1] * extra
        self.costs_ = np.array([answer[0] for answer in costs]) / (n * p)
        self.reconstruction_err_ = (missed + extra) / (n * p)

    def _cover(self, words):
        return best_cover(
            words, pack_rows(self.components_), bonus=self.bonus, penalty=self.penalty
        )

    def _thresholds(self):
        if self.association_threshold is None:
            return np.arange(1, 11) / 10
        thresholds = check_array(
            np.atleast_1d(self.association_threshold),
            ensure_2d=False,
            ensure_min_samples=0,
            input_name="association_threshold",
        ).ravel()
        if thresholds.size == 0 or not ((thresholds > 0) & (thresholds <= 1)).all():
            raise ValueError(
                "association_threshold is a fraction, above 0 and up to 1; got "
                f"{self.association_threshold}."
            )
        return thresholds


@jit
def _total_gains(words, candidates, bonus, penalty):
    """Gain of each candidate for all rows together, and the number of ones in the rows."""
    n_words, width = candidates.shape
    sizes = np.zeros(width, dtype=np.int64)
    for w in range(n_words):
        for c in range(width):
            sizes[c] += popcount(candidates[w, c])

    totals = np.zeros(width)
    counts = np.empty(width, dtype=np.int64)
    n_ones = 0
    for i in range(len(words)):
        for c in range(width):
            counts[c] = sizes[c]
        for w in range(n_words):
            row = words[i, w]
            n_ones += popcount(row)
            for c in range(width):
                counts[c] += popcount(candidates[w, c] & row) << 32
        for c in range(width):
            totals[c] += cover_gain(counts[c], bonus, penalty)
    return totals, n_ones


@jit
def _sharing(candidates, chosen, near, index):
    """Write candidates that share bits with `chosen` to `near` and `index`; return how many."""
    n_near = 0
    for c in range(len(candidates)):
        shared = np.uint64(0)
        for w in range(len(chosen)):
            near[w, n_near] = candidates[c, w]
            shared |= candidates[c, w] & chosen[w]
        index[n_near] = c
        n_near += shared != 0
    return n_near


@jit
def _rows_that_gain(words, covered, chosen, bonus, penalty, used):
    """Write the rows that gain from a component to `used`.

    Returns their number, and the ones and the zeros that they cover newly.
    """
    n_used = 0
    ones = 0
    zeros = 0
    for i in range(len(words)):
        count = np.int64(0)
        for w in range(len(chosen)):
            free = chosen[w] & ~covered[i, w]
            count += popcount(free) + (popcount(free & words[i, w]) << 32)
        gains = cover_gain(count, bonus, penalty) > 0
        used[n_used] = i
        n_used += gains
        ones += (count >> 32) * gains
        zeros += ((count & 0xFFFFFFFF) - (count >> 32)) * gains
    return n_used, ones, zeros


@jit
def _greedy_basis(words, candidates, k, bonus, penalty):
    """Take k times the candidate of largest gain.

    Covering a one gains `bonus`, covering a zero costs `penalty`, covered bits do not count, and
    a row uses a candidate only if it gains. The gains of all candidates are kept as totals over
    rows: after a choice only the rows that use it are weighed again, and only for the candidates
    that share bits with it. Returns the cost, packed components and memberships.

    For speed, inner loops run over candidates, one word of each side by side and empty ones up
    to a multiple of eight, and count twice at once: free bits in the lower half of an integer,
    ones among them in the upper half. Both together are four times as fast.
    """
    (n, n_words) = words.shape
    n_candidates = len(candidates)
    width = (n_candidates + 7) // 8 * 8
    U = np.zeros((k, n_words), dtype=np.uint64)
    Z = np.zeros((n, k), dtype=np.bool_)
    covered = np.zeros_like(words)

    near = np.zeros((n_words, width), dtype=np.uint64)  # candidates that share bits with a choice
    near[:, :n_candidates] = candidates.T
    totals, missed = _total_gains(words, near, bonus, penalty)
    totals = totals[:n_candidates]
    extra = 0

    # counts of the near candidates in a row, before and after a choice
    old = np.empty(width, dtype=np.int64)
    new = np.empty(width, dtype=np.int64)
    index = np.empty(n_candidates, dtype=np.int64)
    used = np.empty(n, dtype=np.int64)
    change = np.empty(width)

    # 1. choose the candidate of largest gain
    for step in range(k if n_candidates > 0 else 0):
        best = totals.argmax()
        if totals[best] <= 0:
            break

        # 2. only candidates that share bits with it change
        chosen = candidates[best]
        n_near = _sharing(candidates, chosen, near, index)
        width = (n_near + 7) // 8 * 8
        near[:, n_near:width] = 0
        change[:width] = 0.0

        # 3. rows that gain from it take it
        n_used, ones, zeros = _rows_that_gain(words, covered, chosen, bonus, penalty, used)
        for i in used[:n_used]:
            Z[i, step] = True
        missed -= ones
        extra += zeros
        if n_used == 0:  # the total was rounding error
            break

        # 4. gains of the near candidates, before and after, in these rows
        for i in used[:n_used]:
            for c in range(width):
                old[c] = new[c] = 0
            for w in range(n_words):
                free = ~covered[i, w]
                if free == 0:
                    continue

                covered[i, w] |= chosen[w]
                left = ~covered[i, w]
                row = words[i, w]
                for c in range(width):
                    bits = near[w, c] & free
                    old[c] += popcount(bits) + (popcount(bits & row) << 32)
                    bits = near[w, c] & left
                    new[c] += popcount(bits) + (popcount(bits & row) << 32)

            for c in range(width):
                change[c] += cover_gain(new[c], bonus, penalty) - cover_gain(
                    old[c], bonus, penalty
                )

        for c in range(n_near):
            totals[index[c]] += change[c]
        for w in range(n_words):
            U[step, w] = chosen[w]
    return bonus * missed + penalty * extra, U, Z


def _race(words, columns, answers, bonus, penalty):
    """Refit answers in place, from the best of the greedy searches on; return the best of them.

    Each is a list of cost, components, memberships, number of rounds and threshold. One that comes
    to the components of the leader ends there, and so does one, before its first round or later,
    that is too far behind. The winner is refitted with all sets of components tried.
    """
    weights = bonus, penalty
    nothing = np.zeros_like(answers[0][1])
    leader = [np.inf, nothing]
    pace = np.inf

    for answer in answers:
        begun = answer[0]
        answer[:4] = _refit(
            words, columns, *answer[:3], *leader[:2], pace, NO_SETS, NO_SETS, *weights
        )
        if answer[0] < leader[0]:
            # the next ones may save four times as much, or a quarter: no loss seen in 240 problems
            leader = answer
            pace = max(begun - answer[0], begun / 16) / 2

    # the winner, with all sets of components and of features where they are few
    k = len(nothing)
    if _exact(k, words):
        # the winner once more, over all sets
        sets = all_sets(k)
        column_sets = sets if _exact(k, columns) else NO_SETS
        *best, n_rounds = _refit(
            words, columns, *leader[:3], np.inf, nothing, np.inf, sets, column_sets, *weights
        )
        leader[:4] = *best, leader[3] + n_rounds

    return leader


def _exact(k, words):
    """Whether all sets of k components are tried, and a table of their unions fits."""
    return 2**k <= MAX_SETS and 2**k * words.shape[1] <= MAX_WORDS


def _refit(words, columns, cost, U, Z, least, leader_U, pace, sets, column_sets, bonus, penalty):
    """Better memberships for the components, better components for the memberships, in turn.

    The second is the first for the transposed problem. Each is the best of all `sets`, or found
    by local search if there are none. The rounds stop when the cost no longer falls, when they
    come to `leader_U`, or when eight rounds like the last would not reach the cost `least`.
    Returns the cost, components, memberships, and the number of rounds that lowered the cost.
    """
    p = len(columns)
    n_rounds = 0

    while cost - least <= 8 * pace and not (U == leader_U).all():
        # memberships given the components, then components given the memberships
        new_Z = _cover(words, U, Z, sets, bonus, penalty)
        by_feature = np.ascontiguousarray(unpack_rows(U, p).T)
        sources = pack_rows(np.ascontiguousarray(new_Z.T))
        by_feature = _cover(columns, sources, by_feature, column_sets, bonus, penalty)
        new_U = pack_rows(np.ascontiguousarray(by_feature.T))

        missed, extra = count_differences(words, new_Z, new_U)
        pace = cost - (bonus * missed + penalty * extra)
        if not pace > 0:
            Z = new_Z  # no worse for U
            break

        U = new_U
        Z = new_Z
        cost = bonus * missed + penalty * extra
        n_rounds += 1
    return cost, U, Z, n_rounds


def _cover(rows, words, start, sets, bonus, penalty):
    """Best of the sets of components for each packed row; from `start` if there are no sets."""
    if len(sets) == 0:
        return best_cover(rows, words, bonus=bonus, penalty=penalty, start=start, exact=False)
    return sets[nearest_packed(rows, unions(sets, words), bonus, penalty)[0]]
