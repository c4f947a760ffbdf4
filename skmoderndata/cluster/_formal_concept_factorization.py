"""Boolean factorisation by greedy selection of formal concepts (GreConD)."""

from numbers import Real

import numpy as np

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    CallbackSupportMixin,
    StrOptions,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    contained,
    count_ones,
    pack_bits,
    pack_rows,
    transpose_packed,
)
from skmoderndata._solvers.boolean_data.formal_concepts import next_concept
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata.cluster._base import BooleanFactors


class FormalConceptFactorization(CallbackSupportMixin, BooleanFactors):
    r"""Boolean factorisation from below by greedy selection of formal concepts (GreConD).

    A formal concept is a rectangle of ones that cannot be enlarged: a set of objects (extent) and
    a set of features (intent) such that exactly these objects have all features of the intent, and
    these objects share no other feature. With concepts as factors, X is the Boolean product of
    memberships and components,

    .. math::
        x_{id} = \bigvee_k z_{ik} \wedge u_{kd},

    with the smallest number of factors if the concepts are chosen optimally [1]_. The greedy
    algorithm builds each concept feature by feature to cover as many uncovered ones as possible;
    it never covers a zero.

    Parameters
    ----------
    n_clusters : int or None, default=3
        Number of concepts; None means as many as are needed to cover all ones.
    cover : {"below", "best"}, default="below"
        Rule that assigns concepts to a row: "below" assigns all concepts whose intent the row
        contains, so that no zero is covered; "best" assigns the set of intents whose union differs
        in the fewest bits.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Intents in the order of the search; empty once all ones are covered.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Concepts of each training row; the columns are the extents.
    coverage_ : ndarray of shape (n_clusters,)
        Fraction of the ones in the training rows that each concept and its predecessors cover.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the reconstruction.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    skmoderndata.cluster.RoleMiner : Components from a list of intersections of rows.
    skmoderndata.cluster.DiscreteBasis : May cover zeros if this lowers the error.
    sklearn.decomposition.NMF : Non-negative components that are summed.

    Notes
    -----
    To add a feature to a concept, the algorithm tries all features, and closes the concept on
    packed columns for each of them: at most ``n p^2 / 64`` word operations for each feature added.
    The memory is ``n p / 8`` bytes for each of the packed rows, the packed columns and the
    uncovered ones. Sparse input is packed in blocks of rows.

    The error is the fraction of bits that are uncovered ones: it decreases with every concept,
    down to 0. An optimal choice never needs more concepts than there are rows or columns; the
    greedy choice may need more. One flipped bit splits a rectangle: the method is exact, but needs
    many concepts if the data are noisy.

    Ties are broken by the lowest index of the feature. All-zero rows have no concept, and all-zero
    columns belong to no concept.

    References
    ----------
    .. [1] Belohlavek and Vychodil, Discovery of optimal factors in binary data via a novel method
       of matrix decomposition, Journal of Computer and System Sciences 76(1), 2010, pp. 3-20,
       theorem 2 and algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import FormalConceptFactorization
    >>> X = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 0]])
    >>> model = FormalConceptFactorization(n_clusters=None).fit(X)
    >>> model.components_.astype(int)
    array([[0, 1, 1, 1, 0],
           [1, 1, 0, 0, 0]])
    >>> model.coverage_
    array([0.66666667, 1.        ])
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("belohlavek2010discovery",),
        cost="n p^2 / 64 for each feature of each concept",
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE, None],
        "cover": [StrOptions({"below", "best"})],
        "threshold": [Real, None],
    }

    @parameters_are_named
    def __init__(self, n_clusters=3, *, cover="below", threshold=0.0):
        self.n_clusters = n_clusters
        self.cover = cover
        self.threshold = threshold

    def _find(self, bits, X, y):
        words = pack_bits(bits)
        n = len(words)
        p = self.n_features_in_
        columns = transpose_packed(words, p)
        uncovered = columns.copy()
        n_ones = int(count_ones(uncovered).sum())

        # the loop ends, because every concept covers at least one 1 that was uncovered
        intents = []
        covered = []
        limit = n_ones if self.n_clusters is None else min(self.n_clusters, n_ones)
        with FitProgress(
            self, X, y, max_passes=self.n_clusters, task_name="concept"
        ) as progress:
            it = Iterations(limit, -1.0, progress)
            for _ in it:
                intent, gain = next_concept(columns, uncovered, n)
                it.ended = gain == 0
                if gain > 0:
                    intents.append(intent)
                    covered.append(gain)

        k = self.n_clusters or max(len(intents), 1)
        self.components_ = np.zeros((k, p), dtype=bool)
        if intents:
            self.components_[: len(intents)] = intents

        self.coverage_ = np.ones(k)
        self.coverage_[: len(covered)] = np.cumsum(covered) / max(n_ones, 1)

        # assign to each row all concepts that the row contains, or its best cover
        self.assignments_ = self._cover(words)
        self.reconstruction_err_ = self._fraction_wrong(words, self.assignments_)

    def _cover(self, words):
        choose = contained if self.cover == "below" else best_cover
        return choose(words, pack_rows(self.components_))
