"""Discrete basis problem: greedy Boolean factorisation from associations of features."""

from numbers import Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress
from skmoderndata._compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
    fit_context,
)
from skmoderndata._jit import jit
from skmoderndata._registry import MethodCard
from skmoderndata._solvers.boolean import (
    MAX_SETS,
    MAX_WORDS,
    best_cover,
    boolean_product,
    cooccurrence,
    count_differences,
    distinct_rows,
    pack_bits,
    pack_rows,
    popcount,
    transpose_packed,
    unpack_rows,
)
from skmoderndata._validation import check_memberships, validate_boolean


class DiscreteBasis(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Greedy Boolean factorisation with candidates from associations (Asso), and re-fit.

    Looks for Boolean components U and memberships Z whose Boolean product explains X,

    .. math::
        \min_{Z, U} \; w^+ \, \#\{x_{id} = 1, \hat x_{id} = 0\}
        + w^- \, \#\{x_{id} = 0, \hat x_{id} = 1\}, \qquad
        \hat x_{id} = \bigvee_k z_{ik} \wedge u_{kd},

    the discrete basis problem [1]_, which is NP-hard. Candidates are the rows of the matrix of
    associations: those features that at least the share :math:`\tau` of the objects with feature
    j have as well. K times the candidate is taken that lowers the cost most, where each object
    uses it only if it gains. Then memberships and components are refitted in turn.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of components.
    tau : float or array-like of float, default=None
        Share of co-occurrence from which a feature belongs to a candidate, above 0 and up to 1.
        Of several values the one of least cost is kept; None tries 0.1, 0.2, ..., 1.0.
    bonus : float, default=1.0
        Price :math:`w^+` of a one that is not covered.
    penalty : float, default=1.0
        Price :math:`w^-` of a zero that is covered.
    refit : bool, default=True
        Whether memberships and components are improved in turn after each greedy search.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None demands that X holds nothing but 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Components, in the order in which the greedy search took them; those taken when nothing
        was left to gain are empty.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Components of each training row: the best set.
    tau_ : float
        Chosen value of `tau`.
    costs_ : ndarray of shape (n_taus,)
        Cost of the answer for each value of `tau`, divided by the number of bits.
    reconstruction_error_ : float
        Share of the training bits that differ from the reconstruction.
    n_refits_ : int
        Rounds of the re-fit that lowered the cost.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when they are all strings.

    See Also
    --------
    sklearn.decomposition.NMF : Parts that add up in place of OR.
    skmoderndata.cluster.MultiAssignmentClustering : Model with noise, of which this is a rival.
    skmoderndata.cluster.FormalConceptFactorization : Components that never cover a zero.

    Notes
    -----
    All candidates are weighed at once by population counts on packed rows, and only objects that
    use the component just taken are weighed again: at most ``n p^2 k / 64`` word operations for
    each value of `tau`. Memory: ``n p / 8`` bytes for each of the packed rows, packed columns and
    covered bits, and ``8 p^2`` bytes for the associations. Sparse input is multiplied as sparse
    and packed in blocks of rows.

    For fixed `tau` the components of a smaller `n_clusters` are the first ones of a larger one,
    so that the cost of the greedy search never rises with `n_clusters`. The re-fit alternates
    between the memberships of each row and the components that have each feature: by local
    search for each value of `tau`, then for the best of them by trying all sets, while there are
    at most 8192 (`n_clusters` up to 13). No round raises the cost. It generalises the iterated
    version of [1]_, which changes the memberships only. There is no certificate of global
    optimality.

    Ties are broken by the lowest index. Equality with `tau` counts as association, as printed in
    [1]_, so that ``tau=1`` gives the implications that always hold. All-zero rows get no
    component, all-zero columns belong to none.

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
        cost="n p^2 k / 64 for each tau",
        checks=(
            {},
            {"n_clusters": 2, "tau": 0.6, "refit": False},
            {"n_clusters": 15, "tau": (0.5, 0.9), "penalty": 2.0},
        ),
        known_failures=dict.fromkeys(
            ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
            "predict gives memberships, a Boolean matrix, as a row may have several components",
        ),
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "tau": [Real, "array-like", None],
        "bonus": [POSITIVE],
        "penalty": [POSITIVE],
        "refit": ["boolean"],
        "threshold": [Real, None],
    }

    def __init__(
        self,
        n_clusters=3,
        *,
        tau=None,
        bonus=1.0,
        penalty=1.0,
        refit=True,
        threshold=0.0,
    ):
        self.n_clusters = n_clusters
        self.tau = tau
        self.bonus = bonus
        self.penalty = penalty
        self.refit = refit
        self.threshold = threshold

    @fit_context()
    def fit(self, X, y=None):
        """Find components and memberships.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Boolean data, or numbers that `threshold` turns into such.
        y : None
            Ignored.

        Returns
        -------
        self : DiscreteBasis
            The fitted estimator.
        """
        bits, _ = validate_boolean(self, X, threshold=self.threshold, reset=True)
        taus = self._taus()
        n, p = bits.shape
        words, weights = pack_bits(bits), (float(self.bonus), float(self.penalty))
        association = _associations(bits)
        columns = transpose_packed(words, p) if self.refit else None
        best, costs, seen = None, [], {}
        with FitProgress(self, X, y, max_passes=len(taus), task_name="tau") as progress:
            for tau in taus:
                progress.begin()
                candidates = _candidates(association, tau)
                U, Z = _greedy_basis(words, candidates, self.n_clusters, *weights)
                key = U.tobytes()
                if key not in seen:  # different tau often give the same components
                    answer = (_cost(words, Z, U, *weights), U, Z, 0)
                    if self.refit:
                        answer = _refit(words, columns, U, Z, answer[0], False, *weights)
                    seen[key] = answer[0]
                    if best is None or answer[0] < best[0]:
                        best, self.tau_ = answer, float(tau)
                costs.append(seen[key])
                if progress.end():
                    break
        cost, U, Z, self.n_refits_ = best
        if self.refit:
            cost, U, Z, n_more = _refit(words, columns, U, Z, cost, True, *weights)
            self.n_refits_ += n_more
        self.costs_ = np.array(costs) / (n * p)
        self.components_ = unpack_rows(U, p)
        # the exact re-fit ends with the best memberships; its local search may not
        self.assignments_ = Z if self.refit and 2.0 ** len(U) <= MAX_SETS else self._cover(words)
        self.reconstruction_error_ = sum(count_differences(words, self.assignments_, U)) / (n * p)
        return self

    def transform(self, X):
        """Set of components of least cost for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships; among equally good sets the smallest.
        """
        check_is_fitted(self)
        return self._cover(self._pack(X, reset=False))

    def predict(self, X):
        """Set of components of least cost for each row, as `transform`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships; among equally good sets the smallest.
        """
        check_is_fitted(self)
        return self._cover(self._pack(X, reset=False))

    def inverse_transform(self, Z):
        """Rows explained by memberships: the OR of the components.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_clusters)
            Memberships; entries above one half count as True.

        Returns
        -------
        X : ndarray of bool of shape (n_samples, n_features)
            Reconstructed bits.
        """
        check_is_fitted(self)
        Z = check_memberships(Z, len(self.components_), called="components")
        return boolean_product(Z, self.components_)

    def score(self, X, y=None):
        """Minus the share of bits that differ between rows and their reconstruction.

        It tends to rise with `n_clusters`, also on new rows:
        `skmoderndata.metrics.generalization_error` is the better criterion for the number.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Between -1 and 0; higher is better.
        """
        check_is_fitted(self)
        words = self._pack(X, reset=False)
        wrong = sum(count_differences(words, self._cover(words), pack_rows(self.components_)))
        return -wrong / (len(words) * self.n_features_in_)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _pack(self, X, *, reset):
        bits, _ = validate_boolean(self, X, threshold=self.threshold, reset=reset)
        return pack_bits(bits)

    def _cover(self, words):
        return best_cover(
            words, pack_rows(self.components_), bonus=self.bonus, penalty=self.penalty
        )

    def _taus(self):
        if self.tau is None:
            return np.arange(1, 11) / 10
        taus = check_array(
            np.atleast_1d(self.tau), ensure_2d=False, ensure_min_samples=0, input_name="tau"
        ).ravel()
        if taus.size == 0 or not ((taus > 0) & (taus <= 1)).all():
            raise ValueError(f"tau is a share, above 0 and up to 1; got {self.tau}.")
        return taus


def _associations(bits):
    """Share of the objects with feature j (row) that have feature l (column); 0 for none."""
    counts = cooccurrence(bits)
    support = counts.diagonal().copy()
    counts /= np.maximum(support, 1)[:, None]
    return counts


def _candidates(association, tau):
    """Distinct sets of associated features, packed; a feature without objects gives none."""
    candidates = association >= tau - 1e-12  # shares such as 0.7 are not exact
    candidates = pack_rows(candidates[association.diagonal() > 0])
    return distinct_rows(candidates)[0] if len(candidates) else candidates


def _greedy_basis(words, candidates, k, bonus, penalty):
    """Take k times the candidate of largest gain.

    Returns packed components and the memberships with which they were taken.
    """
    U = np.zeros((k, words.shape[1]), dtype=np.uint64)
    Z = np.zeros((len(words), k), dtype=bool)
    if len(candidates) == 0:
        return U, Z
    covered = np.zeros_like(words)
    by_word = np.ascontiguousarray(candidates.T)
    totals = np.zeros(len(candidates))
    _add_gains(words, covered, by_word, bonus, penalty, totals)
    for step in range(k):
        best = totals.argmax()
        if totals[best] <= 0:
            break
        Z[:, step] = _take(words, covered, candidates[best], by_word, bonus, penalty, totals)
        if not Z[:, step].any():  # the total was rounding error
            break
        U[step] = candidates[best]
    return U, Z


@jit
def _add_gains(words, covered, candidates, bonus, penalty, totals):
    """Add to `totals` what each candidate gains on the rows that gain from it.

    Covering a one gains `bonus`, covering a zero costs `penalty`, covered bits do not count. The
    inner loop runs over candidates, the columns of `candidates`: three times as fast as the
    products of matrices ``(X & ~covered) B'`` and ``(~X & ~covered) B'`` that say the same,
    without their memory.
    """
    n_candidates = candidates.shape[1]
    size = np.empty(n_candidates, dtype=np.int64)
    ones = np.empty(n_candidates, dtype=np.int64)
    for i in range(words.shape[0]):
        _row_gains(words[i], covered[i], candidates, size, ones)
        for c in range(n_candidates):
            totals[c] += max((bonus + penalty) * ones[c] - penalty * size[c], 0.0)


@jit
def _row_gains(row, covered, candidates, size, ones):
    """Count for each candidate the bits not covered yet, and those of them that the row has."""
    n_words, n_candidates = candidates.shape
    size[:] = 0
    ones[:] = 0
    for w in range(n_words):
        free = ~covered[w]
        free_ones = row[w] & free
        if free != 0:
            for c in range(n_candidates):
                size[c] += popcount(candidates[w, c] & free)
                ones[c] += popcount(candidates[w, c] & free_ones)


@jit
def _take(words, covered, chosen, candidates, bonus, penalty, totals):
    """Cover with the chosen candidate the rows that gain from it, and bring `totals` up to date.

    Returns these rows. Only their gains change.
    """
    n_words, n_candidates = candidates.shape
    size = np.empty(n_candidates, dtype=np.int64)
    ones = np.empty(n_candidates, dtype=np.int64)
    used = np.zeros(words.shape[0], dtype=np.bool_)
    for i in range(words.shape[0]):
        n_new, n_ones = np.int64(0), np.int64(0)
        for w in range(n_words):
            new = chosen[w] & ~covered[i, w]
            n_new += popcount(new)
            n_ones += popcount(new & words[i, w])
        if (bonus + penalty) * n_ones - penalty * n_new <= 0:
            continue
        used[i] = True
        _row_gains(words[i], covered[i], candidates, size, ones)
        for c in range(n_candidates):
            totals[c] -= max((bonus + penalty) * ones[c] - penalty * size[c], 0.0)
        for w in range(n_words):
            covered[i, w] |= chosen[w]
        _row_gains(words[i], covered[i], candidates, size, ones)
        for c in range(n_candidates):
            totals[c] += max((bonus + penalty) * ones[c] - penalty * size[c], 0.0)
    return used


def _cost(words, Z, U, bonus, penalty):
    missed, extra = count_differences(words, Z, U)
    return bonus * missed + penalty * extra


def _refit(words, columns, U, Z, cost, exact, bonus, penalty):
    """Best memberships for the components, best components for the memberships, in turn.

    The second is the first for the transposed problem. Each is the best of all sets if `exact`
    and there are not too many, else a local search. Stops when the cost no longer falls. Returns
    the cost, the components, the best memberships for them, and the number of rounds that
    lowered the cost.
    """
    p, k, weights = len(columns), len(U), {"bonus": bonus, "penalty": penalty}
    exact = exact and 2.0**k <= MAX_SETS
    exact_columns = exact and 2.0**k * columns.shape[1] <= MAX_WORDS
    n_rounds = 0
    while True:
        new_Z = best_cover(words, U, start=Z, exact=exact, **weights)
        sources = pack_rows(np.ascontiguousarray(new_Z.T))
        by_feature = np.ascontiguousarray(unpack_rows(U, p).T)
        by_feature = best_cover(columns, sources, start=by_feature, exact=exact_columns, **weights)
        new_U = pack_rows(np.ascontiguousarray(by_feature.T))
        new_cost = _cost(words, new_Z, new_U, bonus, penalty)
        if not new_cost < cost:
            return cost, U, new_Z, n_rounds
        U, Z, cost = new_U, new_Z, new_cost
        n_rounds += 1
