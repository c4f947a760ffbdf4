"""Discrete basis problem: greedy Boolean factorisation from associations of features."""

from numbers import Real

import numpy as np

from skmoderndata._base import FitProgress
from skmoderndata._compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
)
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._solvers.boolean_data.associations import all_sets_fit, greedy_basis, race
from skmoderndata._solvers.boolean_data.boolean import (
    associated_features,
    best_cover,
    cooccurrence,
    count_differences,
    pack_bits,
    pack_rows,
    transpose_packed,
    unpack_rows,
)
from skmoderndata._validation import check_array
from skmoderndata.cluster._base import NO_LABELS, BooleanFactors


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
        by_components = {}
        costs = []
        n_passes = len(thresholds)
        with FitProgress(self, X, y, max_passes=n_passes, task_name="threshold") as progress:
            sets = associated_features(counts, thresholds)
            for tau, candidates in zip(thresholds, sets, strict=True):
                progress.begin()
                cost, U, Z = greedy_basis(words, candidates, self.n_clusters, *weights)
                costs.append(
                    by_components.setdefault(U.tobytes(), [cost, U, Z, 0, float(tau)])
                )
                if progress.end():
                    break

        answers = sorted(by_components.values(), key=lambda answer: answer[0])
        # the cheapest set, or the winner after re-fits of the best ones
        best = race(words, columns, answers, *weights) if self.refit else answers[0]
        _, U, Z, self.n_refits_, self.association_threshold_ = best
        self.components_ = unpack_rows(U, p)
        # the re-fit over all sets ends with the best memberships; a local search may not
        exact = self.refit and all_sets_fit(len(U), words)
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
