"""Boolean k-means: Hamming distance and majority centres."""

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import FitProgress, warn_not_converged
from skmoderndata._estimator.blocks_input import BlockClusterMixin, FitsBlocks, in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    CallbackSupportMixin,
    StrOptions,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.boolean_data.bit_blocks import BitBlocks
from skmoderndata._solvers.boolean_data.boolean import (
    nearest_packed,
    pack_bits,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.boolean_data.boolean_k_means import (
    in_one_block,
    labels_of,
    lloyd,
    random_rows,
    spread_rows,
)
from skmoderndata.cluster._base import BooleanFactors, warn_fewer_clusters


class BooleanKMeans(CallbackSupportMixin, FitsBlocks, BlockClusterMixin, BooleanFactors):
    r"""k-means for Boolean data: Hamming distance and majority centres, on packed bits.

    The class minimises the number of bits in which rows differ from the Boolean centre of their
    cluster,

    .. math::
        \min_{U \in \{0, 1\}^{K \times D}} \; \sum_i \min_k \sum_d [x_{id} \ne u_{kd}],

    by alternating between nearest centres and the majority of each bit [1]_, from k-means++
    starts [2]_. The result is the Boolean factorisation in which every row has exactly one
    component.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    init : {"k-means++", "random"} or array-like, default="k-means++"
        Initial centres. "k-means++" draws rows with probability proportional to the distance from
        the previous centres, and uses the best of a few draws; "random" draws distinct rows
        uniformly. In an array of shape (n_clusters, n_features), values above one half count as
        ones, and there is a single start.
    n_init : int, default=10
        Number of starts; the result with the smallest `inertia_` is kept.
    max_iter : int, default=300
        Largest number of passes per start.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.
    random_state : int, RandomState instance or None, default=None
        Controls the initial centres. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Centres, in the order of the initial centres.
    cluster_centers_ : ndarray of bool of shape (n_clusters, n_features)
        The same array as `components_`.
    labels_ : ndarray of int of shape (n_samples,)
        Cluster of each training row. Not stored for a Dask array; use `predict`.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        The labels as Boolean memberships, with one True per row. Not stored for a Dask array; use
        `transform`.
    inertia_ : float
        Sum of the Hamming distances of the training rows to their centres.
    reconstruction_err_ : float
        Fraction of the training bits that differ from the centre.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.cluster.KMeans : Real-valued centres; the same distances, because the squared Euclidean
        distance of Boolean rows is the Hamming distance.
    skmoderndata.cluster.MultiAssignmentClustering : Several clusters per row.

    Notes
    -----
    Rows are packed 64 bits to a word, distances are population counts, and bit-sliced counters
    compute the majorities: a pass costs about ``n p K / 64`` word operations and the data need
    ``n p / 8`` bytes. Sparse input is packed in blocks of rows. Dask arrays and tables on disk are
    read once, and their packed rows stay where they were read; the result is the same, and each
    centre of "k-means++" needs two passes.

    The inertia never increases from one pass to the next, and a start ends when no label changes.
    The result is a local optimum, without a certificate of global optimality. Ties are resolved as
    follows: a bit that is set in exactly half of the rows of a cluster is 0 in its centre, a row
    equally near to two centres belongs to the first of them, and an empty cluster receives the
    (first) row that is farthest from its centre. With more clusters than distinct rows, the
    surplus clusters are empty and repeat a centre.

    References
    ----------
    .. [1] Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory
       28(2), 1982, pp. 129-137; with modes in place of means: Huang, Extensions to the k-means
       algorithm for clustering large data sets with categorical values, Data Mining and
       Knowledge Discovery 2(3), 1998, pp. 283-304.
    .. [2] Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007,
       pp. 1027-1035.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import BooleanKMeans
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> model = BooleanKMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.cluster_centers_.astype(int)
    array([[0, 0, 0, 1],
           [1, 1, 0, 0]])
    >>> model.labels_, model.inertia_
    (array([1, 1, 1, 0, 0]), 2.0)
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("lloyd1982least", "huang1998extensions", "arthur2007kmeans"),
        cost="T n p k / 64",
        tier="textbook",
        instead="Use `KMeans` and cut its centres at one half: it finds the same groups as fast.",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "threshold": [Real, None],
        "random_state": ["random_state"],
    }

    _factors = "clusters"  # name of the factors in error messages
    _of_rows = {"labels_": "predict", "assignments_": "transform"}

    @parameters_are_named
    def __init__(
        self,
        n_clusters=3,
        *,
        init="k-means++",
        n_init=10,
        max_iter=300,
        threshold=0.0,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.threshold = threshold
        self.random_state = random_state

    def _find(self, bits, X, y):
        is_packed = isinstance(bits, BitBlocks)
        rows = bits.packed_rows() if is_packed else in_one_block(pack_bits(bits))
        user_centers = None if isinstance(self.init, str) else self._user_centers()
        n_init = self.n_init if user_centers is None else 1
        rng = check_random_state(self.random_state)

        # keep the best of several starts
        best = None
        with FitProgress(self, X, y, max_passes=n_init, task_name="start") as progress:
            for _ in range(n_init):
                progress.begin()
                if user_centers is not None:
                    centers = user_centers
                elif self.init == "random":
                    centers = random_rows(rows, self.n_clusters, rng)
                else:
                    centers = spread_rows(rows, self.n_clusters, rng)

                start = lloyd(rows, centers, self.n_features_in_, self.max_iter)
                if best is None or start.inertia < best.inertia:
                    best = start

                if progress.end():
                    break

        if not best.converged:
            warn_not_converged(
                self,
                reached=f"labels were still changing, at an inertia of {best.inertia:.0f}, after "
                f"max_iter={self.max_iter} passes",
                remedy="increase max_iter",
            )

        warn_fewer_clusters(self, len(np.unique(best.centers, axis=0)))

        self.components_ = unpack_rows(best.centers, self.n_features_in_)
        self.cluster_centers_ = self.components_
        self.n_iter_ = best.n_iter
        self.inertia_ = best.inertia
        self.reconstruction_err_ = self.inertia_ / (bits.shape[0] * self.n_features_in_)
        if not in_blocks(X, on_disk=False):
            self.labels_ = labels_of(best.rows)
            self.assignments_ = self._one_hot(self.labels_)

    @by_rows
    def predict(self, X):
        """Predict the nearest centre of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Index into `cluster_centers_`; in a tie, the first of the nearest centres.
        """
        check_is_fitted(self)
        return self._nearest(self._pack(X))

    def _cover(self, words):
        return self._one_hot(self._nearest(words))

    def _nearest(self, words):
        return nearest_packed(words, pack_rows(self.components_), 1.0, 1.0)[0]

    def _one_hot(self, labels):
        return labels[:, None] == np.arange(len(self.components_))

    def _user_centers(self):
        centers = check_array(self.init, dtype="numeric", input_name="init")
        if centers.shape != (self.n_clusters, self.n_features_in_):
            raise ValueError(
                f"init has shape {centers.shape}, but n_clusters and the number of features "
                f"require {(self.n_clusters, self.n_features_in_)}."
            )
        return pack_rows(centers > 0.5)
