"""Role mining by intersections of rows: CompleteMiner and FastMiner."""

import warnings
from numbers import Real

import numpy as np

from skmoderndata._compat import AT_LEAST_ONE, StrOptions
from skmoderndata._jit import jit
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    contained,
    distinct_rows,
    pack_bits,
    pack_rows,
    popcount,
    unpack_rows,
)
from skmoderndata._solvers.common.pieces import PIECE_CELLS
from skmoderndata.cluster._base import NO_LABELS, BooleanFactors

FIRST_ROOM = 1 << 12  # candidates that fit before the table grows
DONE = 0
FULL = 1
PAUSED = 2


class RoleMiner(BooleanFactors):
    r"""Mine roles as intersections of the rows of an access-control matrix.

    Candidate roles are the distinct rows and the intersections of rows [1]_: of any number of
    rows, or of pairs only. The next role is the candidate c with

    .. math::
        \max_c \sum_{i : c \subseteq x_i} |c \setminus \text{covered}_i|,

    which newly covers the largest number of ones in the rows that contain it. No zero is ever
    covered. The algorithms are known as CompleteMiner and FastMiner.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of roles.
    algorithm : {"fast", "complete"}, default="fast"
        "complete" intersects any number of rows, which can give exponentially many candidates;
        "fast" intersects pairs of distinct rows.
    selection : {"greedy", "area"}, default="greedy"
        "greedy" selects roles by the number of ones that they newly cover; "area" by the number of
        rows that contain the role times its size, independently of other roles.
    max_candidates : int, default=20000
        Largest number of candidates. If there are more, "complete" raises an error, and "fast"
        continues with the first ones, from the most frequent rows, with a warning.
    cover : {"below", "best"}, default="below"
        Roles of a row: "below" assigns all roles that it contains, so that no new permission is
        granted; "best" assigns the set of roles whose union differs in the fewest bits.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Roles in the order of selection; empty if no remaining candidate covers a new one.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Roles of each training row.
    support_ : ndarray of int of shape (n_clusters,)
        Number of training rows that contain the role; 0 for an empty one.
    n_candidates_ : int
        Number of candidates, the distinct rows included.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the reconstruction.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.cluster.FormalConceptFactorization : Also from below, without a candidate list.
    skmoderndata.cluster.MultiAssignmentClustering : Roles for matrices with exceptions.
    sklearn.tree.DecisionTreeClassifier : Rules for one permission at a time.

    Notes
    -----
    For R distinct rows "fast" computes R (R - 1) / 2 intersections of pairs, "complete" R
    intersections for each candidate, with a hash table of packed rows; the first choice costs
    ``n_candidates R p / 64`` word operations, later ones much less, because the gain of a role
    never increases (lazy greedy search). Memory: ``n p / 8`` bytes for the packed data and
    ``max_candidates p / 8`` for the candidates. Sparse input is packed in blocks of rows.

    The roles of a smaller `n_clusters` are the first ones of a larger one, so that the error on
    the training rows never increases with `n_clusters` (with `selection="greedy"` it decreases
    until all ones are covered). If every role occurs alone in some row, all true roles are among
    the candidates. One flipped bit removes a row from the support of its roles: the method is
    brittle under noise.

    Ties are broken by the order of candidates: distinct rows by descending frequency, then
    intersections in the order in which they are found. All-zero rows get no role, and all-zero
    columns belong to no role.

    References
    ----------
    .. [1] Vaidya, Atluri and Warner, RoleMiner: mining roles using subset enumeration, ACM
       Conference on Computer and Communications Security 2006, pp. 144-153.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import RoleMiner
    >>> X = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 1]])
    >>> model = RoleMiner(n_clusters=2).fit(X)
    >>> model.components_.astype(int)
    array([[1, 1, 0, 0, 1],
           [0, 0, 1, 1, 1]])
    >>> model.support_, model.reconstruction_err_
    (array([3, 2]), 0.0)
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("vaidya2006roleminer",),
        cost="C n p / 64 for C candidates, at most n^2 / 2 of them",
        checks=(
            {},
            {"n_clusters": 2, "algorithm": "complete", "selection": "area", "cover": "best"},
        ),
        known_failures=NO_LABELS,
        comparison=Comparison(
            baseline="sklearn.decomposition.NMF",
            problem="access_roles",
            grid={"n_clusters": (60, 120, 240)},
            baseline_params={"max_iter": 1000, "random_state": 0},
            baseline_grid={"n_components": (4, 6, 8)},
        ),
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "algorithm": [StrOptions({"fast", "complete"})],
        "selection": [StrOptions({"greedy", "area"})],
        "max_candidates": [AT_LEAST_ONE],
        "cover": [StrOptions({"below", "best"})],
        "threshold": [Real, None],
    }

    def __init__(
        self,
        n_clusters=3,
        *,
        algorithm="fast",
        selection="greedy",
        max_candidates=20000,
        cover="below",
        threshold=0.0,
    ):
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.selection = selection
        self.max_candidates = max_candidates
        self.cover = cover
        self.threshold = threshold

    def _find(self, bits, X, y):
        words = pack_bits(bits)
        rows, count = distinct_rows(words)
        order = np.argsort(-count, kind="stable")
        rows = rows[order]
        count = count[order]

        candidates = self._candidates(rows)
        choose = _choose_greedily if self.selection == "greedy" else _choose_by_area
        chosen = choose(candidates, rows, count, self.n_clusters)

        U = np.zeros((self.n_clusters, words.shape[1]), dtype=np.uint64)
        U[: len(chosen)] = candidates[chosen]

        self.n_candidates_ = len(candidates)
        self.components_ = unpack_rows(U, self.n_features_in_)
        self.support_ = contained(words, U).sum(axis=0)
        self.assignments_ = self._cover(words)
        self.reconstruction_err_ = self._fraction_wrong(words, self.assignments_)

    def _cover(self, words):
        choose = contained if self.cover == "below" else best_cover
        return choose(words, pack_rows(self.components_))

    def _candidates(self, rows):
        """Distinct rows and their intersections, without the empty one."""
        complete = self.algorithm == "complete"
        candidates, n_seen = _intersections(rows, self.max_candidates, complete)
        if n_seen == len(rows):
            return candidates

        found = (
            f"RoleMiner(algorithm={self.algorithm!r}) found more than max_candidates="
            f"{self.max_candidates} candidate roles in {len(rows)} distinct rows"
        )
        if complete:
            raise ValueError(f"{found}: increase max_candidates, or set algorithm='fast'.")

        warnings.warn(
            f"{found}, after the pairs of {n_seen} of them; the others are ignored. Increase "
            "max_candidates to use all.",
            stacklevel=6,
        )
        return candidates


def _intersections(rows, max_candidates, complete):
    """List distinct nonempty rows, then their intersections: of pairs, or of any number.

    An intersection of any number of rows is one of a row with a former intersection. Returns the
    packed list, and the number of rows done, which is less than all if the list is full.
    """
    store = np.zeros((min(max_candidates, FIRST_ROOM), rows.shape[1]), dtype=np.uint64)
    table = np.full(4 * len(store), -1, dtype=np.int64)  # open addressing: places in `store`
    state = np.array([-1, 0, 0])
    while True:
        status = _intersect(rows, complete, store, table, state, PIECE_CELLS)
        source, _, n_found = state.tolist()
        if status == DONE:
            return store[:n_found].copy(), len(rows)
        if status == FULL and n_found == max_candidates:
            return store[:n_found].copy(), min(max(source, 0), len(rows) - 1)

        # the table grows, and is filled again
        if status == FULL:
            grown = np.zeros((min(max_candidates, 2 * len(store)), rows.shape[1]), dtype=np.uint64)
            grown[:n_found] = store
            store = grown
            table = np.full(4 * len(grown), -1, dtype=np.int64)
            _fill(table, store, n_found)


@jit
def _fill(table, store, n_found):
    """Enter the patterns of the store into an empty table."""
    for i in range(n_found):
        table[_find(table, store, store[i])] = i


@jit
def _intersect(rows, complete, store, table, state, cells):
    """Go on with the list of candidates, for about so many words; return the status.

    `state` has the source that rows are intersected with, -1 for the rows themselves, the next
    row, and the number of candidates found.
    """
    n_rows, n_words = rows.shape
    new = np.zeros(n_words, dtype=np.uint64)
    source, first, n_found = state
    done = 0
    while source < (n_found if complete else n_rows):
        for j in range(first, n_rows):
            if done > cells:
                state[0] = source
                state[1] = j
                state[2] = n_found
                return PAUSED
            done += n_words

            # the row itself, or its intersection with what was found
            some = False
            for w in range(n_words):
                if source < 0:
                    new[w] = rows[j, w]
                elif complete:
                    new[w] = rows[j, w] & store[source, w]
                else:
                    new[w] = rows[j, w] & rows[source, w]
                some = some or new[w] != 0
            if not some:
                continue

            # known already, or no more room for candidates
            slot = _find(table, store, new)
            if table[slot] >= 0:
                continue
            if n_found == len(store):
                state[0] = source
                state[1] = j
                state[2] = n_found
                return FULL

            for w in range(n_words):
                store[n_found, w] = new[w]
            table[slot] = n_found
            n_found += 1

        source += 1
        first = 0 if complete else source + 1
    state[0] = source
    state[1] = 0
    state[2] = n_found
    return DONE


@jit
def _find(table, store, pattern):
    """Slot of the pattern in the hash table, or the free one where it belongs."""
    # multiplicative hash of the words
    mixed = np.uint64(0)
    for w in range(len(pattern)):
        mixed = (mixed ^ pattern[w]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed % np.uint64(len(table)))

    # linear probing until the pattern, or an empty slot
    while table[slot] >= 0:
        same = True
        for w in range(len(pattern)):
            if store[table[slot], w] != pattern[w]:
                same = False
                break
        if same:
            break
        slot = slot + 1 if slot + 1 < len(table) else 0
    return slot


@jit
def _new_ones(candidate, rows, count, covered):
    """Count the ones that the candidate newly covers in the rows that contain it."""
    total = np.int64(0)
    for i in range(rows.shape[0]):
        inside = True
        for w in range(rows.shape[1]):
            if candidate[w] & ~rows[i, w]:
                inside = False
                break
        if inside:
            fresh = np.int64(0)
            for w in range(rows.shape[1]):
                fresh += popcount(candidate[w] & ~covered[i, w])
            total += fresh * count[i]
    return total


@jit
def _choose_greedily(candidates, rows, count, k):
    """Select k times the candidate of largest gain; gains only decrease: old ones are bounds."""
    covered = np.zeros_like(rows)
    gain = _areas(candidates, rows, count)
    fresh = np.zeros(candidates.shape[0], dtype=np.int64)  # step in which the gain was counted
    chosen = np.empty(k, dtype=np.int64)
    n_chosen = 0

    for step in range(k):
        if candidates.shape[0] == 0:
            break

        # gains only decrease: an old one is a bound, and the largest is counted anew until it
        # is exact
        best = np.argmax(gain)
        while fresh[best] < step:
            gain[best] = _new_ones(candidates[best], rows, count, covered)
            fresh[best] = step
            best = np.argmax(gain)
        if gain[best] <= 0:
            break

        chosen[step] = best
        n_chosen += 1

        # cover the rows that contain the candidate
        for i in range(rows.shape[0]):
            inside = True
            for w in range(rows.shape[1]):
                if candidates[best, w] & ~rows[i, w]:
                    inside = False
                    break
            if inside:
                for w in range(rows.shape[1]):
                    covered[i, w] |= candidates[best, w]

    return chosen[:n_chosen].copy()


def _choose_by_area(candidates, rows, count, k):
    """Select the k candidates with the largest product of support and size."""
    area = _areas(candidates, rows, count)
    return np.argsort(-area, kind="stable")[:k]


@jit
def _areas(candidates, rows, count):
    area = np.empty(candidates.shape[0], dtype=np.int64)
    covered = np.zeros_like(rows)
    for c in range(candidates.shape[0]):
        area[c] = _new_ones(candidates[c], rows, count, covered)
    return area
