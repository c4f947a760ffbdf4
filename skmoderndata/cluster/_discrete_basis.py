"""Discrete basis problem: greedy Boolean factorisation from associations of features."""

from numbers import Real

import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    check_array,
    check_entry_weight,
    validate_boolean,
)
from skmoderndata._solvers.boolean_data.associations import all_sets_fit, greedy_searches, race
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    boolean_product,
    cooccurrence,
    count_differences,
    pack_bits,
    pack_rows,
    transpose_packed,
    unpack_rows,
)
from skmoderndata._solvers.boolean_data.weighted_basis import (
    bit_gains,
    distinct_sets,
    weighted_associations,
    weighted_cover,
    weighted_greedy,
    weighted_refit,
)
from skmoderndata.cluster._base import BooleanFactors

# Number of greedy searches, each with its own threshold, that are refitted if bits have weights.
# The searches with the lowest cost are refitted.
REFITTED = 3


class DiscreteBasis(CallbackSupportMixin, BooleanFactors):
    r"""Boolean factorisation by a greedy search over associations (Asso), with a refit.

    The class estimates Boolean components U and memberships Z by

    .. math::
        \min_{Z, U} \; w^+ \, \#\{x_{id} = 1, \hat x_{id} = 0\}
        + w^- \, \#\{x_{id} = 0, \hat x_{id} = 1\}, \qquad
        \hat x_{id} = \bigvee_k z_{ik} \wedge u_{kd},

    the discrete basis problem [1]_, which is NP-hard. A bit that is not observed (NaN in a dense
    array) enters neither sum. With weights of the bits (`entry_weight` of `fit`), each wrong bit
    counts with its weight, and weight 0 means that a bit is not observed. Candidates are the rows
    of the matrix of associations: candidate j contains the features that at least a fraction
    `association_threshold` of the objects with feature j also have. The greedy search repeats K
    times: it selects the candidate that lowers the cost most, and an object uses it only if this
    lowers the cost. Then memberships and components are refitted alternately.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of components.
    association_threshold : float or array-like of float, default=None
        Smallest fraction of co-occurrence for which a feature belongs to a candidate, above 0 and
        up to 1. If there are several values, the value with the smallest cost is used; None tries
        0.1, 0.2, ..., 1.0.
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
        Components, in the order of the greedy search; empty if another component would not lower
        the cost.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Optimal set of components of each training row.
    association_threshold_ : float
        Chosen value of `association_threshold`.
    costs_ : ndarray of shape (n_thresholds,)
        Cost of the result for each value of `association_threshold`, divided by the number of
        bits, or by the sum of their weights. With several values, the refit of a value with a
        much larger cost is stopped early. With `refit=False`, the costs of the greedy searches,
        whose memberships are not optimal.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the reconstruction, weighted if bits have
        weights.
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
    word operations for each threshold. The memory is ``n p / 8`` bytes for each of the packed
    rows, packed columns and covered bits, and ``8 p^2`` bytes for the associations. Sparse input
    remains sparse in products and is packed in blocks of rows.

    For a fixed threshold, a larger `n_clusters` only appends components, so the cost of the greedy
    search never increases with `n_clusters`. The refit alternates between the memberships of each
    row and the components that contain each feature: first by local search for each threshold,
    then, for the best threshold, over all sets of components if there are at most 8192
    (`n_clusters` up to 13). No round increases the cost. The local search begins with the
    threshold of the best greedy search; for another threshold it ends when it reaches the same
    components, or when its cost is too large to become the smallest. It generalises the iterated
    version of [1]_, which changes only the memberships. There is no certificate of global
    optimality.

    Packed words cannot store weights or unobserved bits: with these, matrix products do the same
    search, in ``n p^2 k`` operations for each threshold, and the refit over all sets for the three
    thresholds of the cheapest greedy searches. An association is then the fraction of the rows in
    which both features are observed, weighted by the products of the weights of the two bits.

    Ties are broken by the lowest index. Equality with the threshold counts as association, as
    published in [1]_, so ``association_threshold=1`` yields the implications that always hold.
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
    )
    _ENTRY_SCORE = "boolean_error"  # score that EntrySearchCV uses by default
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "association_threshold": [Real, "array-like", None],
        "bonus": [POSITIVE],
        "penalty": [POSITIVE],
        "refit": ["boolean"],
        "threshold": [Real, None],
    }

    @parameters_are_named
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

    # without these lines, users who request metadata for `fit` would have to do so for `transform`
    # and `predict`, too
    __metadata_request__transform = {"entry_weight": UNUSED}
    __metadata_request__predict = {"entry_weight": UNUSED}

    @fit_context()
    def fit(self, X, y=None, *, entry_weight=None):
        """Estimate components, and the memberships of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Boolean data, or numbers that `threshold` converts to bits; NaN in a dense array marks
            bits that are not observed.
        y : None
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of wrong bits of a dense array, at least 0; weight 0 is the same as NaN. None
            means 1.

        Returns
        -------
        self : DiscreteBasis
            The fitted estimator.
        """
        bits, missing = validate_boolean(
            self, X, threshold=self.threshold, reset=True, allow_nan=True
        )
        weights = self._bit_weights(bits, missing, entry_weight)
        if weights is None:
            self._find(bits, X, y)
        else:
            self._find_weighted(bits, weights, X, y)
        return self

    def fit_transform(self, X, y=None, *, entry_weight=None):
        """Fit, and return the memberships of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Boolean data, as in `fit`.
        y : None
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the bits, as in `fit`.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships, as from ``fit(X, entry_weight=W).transform(X, entry_weight=W)``.
        """
        return self.fit(X, y, entry_weight=entry_weight).transform(
            X, entry_weight=entry_weight
        )

    @by_rows
    def transform(self, X, *, entry_weight=None):
        """Compute the memberships of rows, as `assignments_` for the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN in a dense array marks bits that are not observed.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the bits of these rows. Pass them in direct calls: metadata routing passes
            weights only to `fit`, `fit_transform` and `score`.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships. In a tie between sets of components, the smallest set is chosen.
        """
        check_is_fitted(self)
        return self._memberships(X, entry_weight)

    @by_rows
    def predict(self, X, *, entry_weight=None):
        """Compute the memberships of rows, as `transform` does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN in a dense array marks bits that are not observed.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the bits of these rows, as in `transform`.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships.
        """
        check_is_fitted(self)
        return self._memberships(X, entry_weight)

    @in_memory
    def score(self, X, y=None, *, entry_weight=None):
        """Compute the negative fraction of bits that differ between rows and their reconstruction.

        The score tends to increase with `n_clusters`, even on new rows;
        `skmoderndata.metrics.generalization_error` is a better criterion for the number of
        clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN in a dense array marks bits that are not observed.
        y : None
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the bits, used for the memberships and for the fraction.

        Returns
        -------
        score : float
            Number between -1 and 0; higher is better.
        """
        check_is_fitted(self)
        bits, missing = validate_boolean(
            self, X, threshold=self.threshold, reset=False, allow_nan=True
        )
        weights = self._bit_weights(bits, missing, entry_weight)
        if weights is None:
            words = pack_bits(bits)
            return -self._fraction_wrong(words, self._cover(words))
        Z = self._weighted_cover(bits, weights)
        return -_weighted_fraction(bits, weights, Z, self.components_)

    def _memberships(self, X, entry_weight=None):
        bits, missing = validate_boolean(
            self, X, threshold=self.threshold, reset=False, allow_nan=True
        )
        weights = self._bit_weights(bits, missing, entry_weight)
        if weights is None:
            return self._cover(pack_bits(bits))
        return self._weighted_cover(bits, weights)

    def _bit_weights(self, bits, missing, entry_weight):
        """Return the weights of the bits, 0 for unobserved bits; None if all weights are 1."""
        weights = check_entry_weight(entry_weight, bits, owner=type(self).__name__)
        if missing is None:
            return weights
        weights = np.where(missing, 0.0, 1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError(
                f"{type(self).__name__} needs at least one observed bit, but all entries of X are "
                "NaN or have weight 0."
            )
        return weights

    def _weighted_cover(self, bits, weights):
        gains = bit_gains(bits, weights, self.bonus, self.penalty)
        return weighted_cover(gains, self.components_)

    def _find_weighted(self, bits, weights, X, y):
        """Do the search of `_find` with real-valued gains of the bits instead of packed bits."""
        thresholds = self._thresholds()
        gains = bit_gains(bits, weights, float(self.bonus), float(self.penalty))
        fractions = weighted_associations(bits, weights)

        # different thresholds often lead to the same components, which are refitted only once
        by_components = {}
        keys = []
        n_passes = len(thresholds)
        with FitProgress(self, X, y, max_passes=n_passes, task_name="threshold") as progress:
            for tau in thresholds:
                progress.begin()
                candidates = distinct_sets(fractions, tau)
                greedy = weighted_greedy(gains, candidates, self.n_clusters)
                keys.append(greedy.components.tobytes())
                by_components.setdefault(keys[-1], (greedy, float(tau)))
                if progress.end():
                    break

        # refit the components with the lowest costs
        order = sorted(by_components, key=lambda key: by_components[key][0].cost)
        for key in order[:REFITTED] if self.refit else ():
            greedy, tau = by_components[key]
            by_components[key] = (weighted_refit(gains, greedy), tau)
        best, self.association_threshold_ = min(
            by_components.values(), key=lambda answer: answer[0].cost
        )

        self.components_ = best.components
        self.n_refits_ = best.n_rounds
        self.assignments_ = weighted_cover(gains, best.components, start=best.memberships)
        costs = [by_components[key][0].cost for key in keys]
        self.costs_ = np.array(costs) / weights.sum()
        self.reconstruction_err_ = _weighted_fraction(
            bits, weights, self.assignments_, best.components
        )

    def _find(self, bits, X, y):
        thresholds = self._thresholds()
        n, p = bits.shape
        words = pack_bits(bits)
        weights = (float(self.bonus), float(self.penalty))
        columns = transpose_packed(words, p)
        counts = cooccurrence(bits)

        with FitProgress(
            self, X, y, max_passes=len(thresholds), task_name="threshold"
        ) as progress:
            costs, answers = greedy_searches(
                words, counts, thresholds, self.n_clusters, *weights, progress
            )

        # choose the components of lowest cost; if requested, refit the components of the best
        # searches and choose among the refits
        best = race(words, columns, answers, *weights) if self.refit else answers[0]
        _, U, Z, self.n_refits_, self.association_threshold_ = best
        self.components_ = unpack_rows(U, p)
        # a refit over all sets ends with the best memberships, but a local search need not
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
                "association_threshold is a fraction and must be above 0 and at most 1; got "
                f"{self.association_threshold}."
            )
        return thresholds

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _weighted_fraction(bits, weights, Z, components):
    """Return the weighted fraction of the bits that differ from their reconstruction."""
    wrong = bits != boolean_product(Z, components)
    return float(weights[wrong].sum() / weights.sum())
