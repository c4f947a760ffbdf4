"""Role mining by intersections of rows: CompleteMiner and FastMiner."""

from numbers import Real

import numpy as np

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    CallbackSupportMixin,
    StrOptions,
    warn_user,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    contained,
    distinct_rows,
    pack_bits,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.boolean_data.roles import (
    intersections,
    roles_by_area,
    roles_by_gain,
)
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata.cluster._base import BooleanFactors


class RoleMiner(CallbackSupportMixin, BooleanFactors):
    r"""Mine roles as intersections of the rows of an access-control matrix.

    Candidate roles are the distinct rows and the intersections of rows [1]_: either of any number
    of rows, or only of pairs. The next role is the candidate c that attains

    .. math::
        \max_c \sum_{i : c \subseteq x_i} |c \setminus \text{covered}_i|,

    the largest number of newly covered ones in the rows that contain it. No zero is ever covered.
    The algorithms are known as CompleteMiner and FastMiner.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of roles.
    algorithm : {"fast", "complete"}, default="fast"
        "complete" intersects any number of rows, which can give exponentially many candidates;
        "fast" intersects pairs of distinct rows.
    selection : {"greedy", "area"}, default="greedy"
        "greedy" selects roles by the number of ones that they newly cover; "area" selects them by
        the number of rows that contain the role times its size, independently of other roles.
    max_candidates : int, default=20000
        Largest number of candidates. If there are more, "complete" raises an error, and "fast"
        warns and continues with the first candidates, from the most frequent rows.
    cover : {"below", "best"}, default="below"
        Rule that assigns roles to a row: "below" assigns all roles that the row contains, so that
        no new permission is granted; "best" assigns the set of roles whose union differs in the
        fewest bits.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Roles in the order of selection; empty if no remaining candidate covers a new one.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Roles of each training row.
    support_ : ndarray of int of shape (n_clusters,)
        Number of training rows that contain the role; 0 for an empty role.
    n_candidates_ : int
        Number of candidates, including the distinct rows.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the reconstruction.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.cluster.FormalConceptFactorization : Never covers a zero either, but needs no list
        of candidates.
    skmoderndata.cluster.MultiAssignmentClustering : Roles for matrices with exceptions.
    sklearn.tree.DecisionTreeClassifier : Rules for one permission at a time.

    Notes
    -----
    For R distinct rows, "fast" computes R (R - 1) / 2 intersections of pairs, and "complete"
    computes R intersections for each candidate, with a hash table of packed rows. The first
    selection costs ``n_candidates R p / 64`` word operations; later selections cost much less,
    because the gain of a role never increases (lazy greedy search). The memory is ``n p / 8``
    bytes for the packed data and ``max_candidates p / 8`` bytes for the candidates. Sparse input
    is packed in blocks of rows.

    A larger `n_clusters` only appends roles, so the error on the training rows never increases
    with `n_clusters` (with `selection="greedy"` it decreases until all ones are covered). If every
    role occurs alone in some row, all true roles are among the candidates. One flipped bit removes
    a row from the support of its roles, so the method is brittle under noise.

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
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "algorithm": [StrOptions({"fast", "complete"})],
        "selection": [StrOptions({"greedy", "area"})],
        "max_candidates": [AT_LEAST_ONE],
        "cover": [StrOptions({"below", "best"})],
        "threshold": [Real, None],
    }

    @parameters_are_named
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

        # select roles until no candidate covers an uncovered 1
        ranked = roles_by_gain if self.selection == "greedy" else roles_by_area
        selected = []
        with FitProgress(self, X, y, max_passes=self.n_clusters, task_name="role") as progress:
            candidates = self._candidates(rows)
            roles = ranked(candidates, rows, count)
            it = Iterations(self.n_clusters, -1.0, progress)
            for _ in it:
                role = next(roles, None)
                it.ended = role is None
                if role is not None:
                    selected.append(role)

        U = np.zeros((self.n_clusters, words.shape[1]), dtype=np.uint64)
        if selected:
            U[: len(selected)] = candidates[selected]

        self.n_candidates_ = len(candidates)
        self.components_ = unpack_rows(U, self.n_features_in_)
        self.support_ = contained(words, U).sum(axis=0)
        self.assignments_ = self._cover(words)
        self.reconstruction_err_ = self._fraction_wrong(words, self.assignments_)

    def _cover(self, words):
        choose = contained if self.cover == "below" else best_cover
        return choose(words, pack_rows(self.components_))

    def _candidates(self, rows):
        """Return the distinct rows and their non-empty intersections."""
        complete = self.algorithm == "complete"
        candidates, n_seen = intersections(rows, self.max_candidates, complete)
        if n_seen == len(rows):
            return candidates

        reached = (
            f"RoleMiner(algorithm={self.algorithm!r}) found more than max_candidates="
            f"{self.max_candidates} candidate roles in {len(rows)} distinct rows"
        )
        if complete:
            raise ValueError(f"{reached}: increase max_candidates, or set algorithm='fast'.")

        warn_user(
            f"{reached}, after the pairs of {n_seen} of them; pairs with the remaining rows are "
            "ignored. Increase max_candidates to use all pairs."
        )
        return candidates
