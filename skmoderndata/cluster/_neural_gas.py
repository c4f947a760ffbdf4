"""Neural gas: vector quantisation with ranked distances."""

from copy import copy
from numbers import Real
from threading import Event, Lock

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    FLOATS,
    check_array,
    dense,
    relative_weights,
    validate_data,
)
from skmoderndata._solvers.dictionaries.neural_gas import (
    Gas,
    annealed,
    batch_neural_gas,
    centred,
    distinct_rows,
    nearest_units,
    online_neural_gas,
    squared_distances,
    squared_norms,
)

# Maximum number of passes of k-means after the passes of the gas.
POLISH_PASSES = 300


class NeuralGas(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Base
):
    r"""Learn prototypes that move towards samples according to the rank of their distance.

    The class minimises, for a range :math:`\lambda` that decreases from pass to pass,

    .. math::
        \min_c\ \sum_i w_i \sum_j e^{-r_{ij} / \lambda}\, \|x_i - c_j\|^2,

    where :math:`r_{ij}` is 0 for the unit nearest to sample i, 1 for the next, and so on [1]_. At
    first nearly all units move towards every sample; at the end only the nearest unit does, as in
    k-means. The result therefore depends less on the start than the result of k-means. Units are
    updated after a pass over all samples [2]_, or after each sample.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of units.
    algorithm : {"batch", "online"}, default="batch"
        "batch" makes passes in which each unit becomes a weighted mean of all samples; "online"
        makes a small step for each sample, in random order.
    init : {"random"} or array-like of shape (n_clusters, n_features), default="random"
        Initial units: "random" draws distinct samples; an array contains the units.
    n_init : int, default=1
        Number of starts; the result with the smallest `inertia_` is kept.
    neighborhood : float, default=None
        Initial range of the ranks; None means half the number of units, at most 10.
    final_neighborhood : float, default=0.01
        Range of the ranks in the last pass. With 0.01 only the nearest unit moves.
    max_iter : int, default=30
        Number of passes over which the range decreases geometrically.
    polish : bool, default=True
        Whether to continue with passes of k-means until no sample changes its unit, and then to
        move the units of little utility, one at a time, to the region with the largest error, with
        passes of k-means after each move, as long as this lowers the inertia [4]_. False is neural
        gas as published.
    learning_rate : float, default=0.5
        Initial step size of online learning: the step of the nearest unit towards a sample,
        relative to their distance.
    final_learning_rate : float, default=0.005
        Final step size of online learning.
    online_steps : int, default=10000
        Number of samples over which `partial_fit` decreases range and step size, which then remain
        constant. To track drifting data, choose a `final_neighborhood` near 1: with 0.01, a unit
        that is not the nearest unit of any sample does not move.
    n_jobs : int, default=None
        Number of threads for the starts, through joblib. The result does not depend on it, unless
        a callback stops the fit: all running starts then end at their next pass, and no further
        start begins.
    random_state : int, RandomState instance or None, default=None
        Controls the initial units and the order of online steps. Pass an int for reproducible
        results.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The units.
    labels_ : ndarray of shape (n_samples,)
        Nearest unit of each training sample.
    inertia_ : float
        Weighted sum of squared distances from the nearest units.
    adjacency_ : csr_array of shape (n_clusters, n_clusters)
        Total weight of the samples whose nearest two units are a pair of units. Its sparsity
        pattern is the graph of competitive Hebbian learning, which connects units that are
        neighbours on the support of the data [3]_.
    objective_ : float
        Last entry of `objective_history_`.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective before the update of each pass, for the range of that pass. For online learning
        it contains only the final inertia.
    neighborhoods_ : ndarray of shape (n_iter_,)
        Range of the ranks in each pass, 0 for passes of k-means.
    n_iter_ : int
        Number of passes.
    n_steps_ : int
        Number of samples used in online steps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.cluster.KMeans : Updates only the nearest unit from the beginning; faster, and nearly
        as good if run with several starts.
    skmoderndata.decomposition.KSVD : With ``init="neural_gas"``, starts from atoms found by sparse
        coding neural gas.

    Notes
    -----
    For n samples, k units and p features, a pass needs ``2 n k p`` operations, and at most
    ``n k log k`` operations for sorting; a small range needs only a few ranks. Samples are
    processed in blocks of bounded memory. Sparse input remains sparse. Computations are in double
    precision on a centred copy of dense samples. If the squares in a distance cancel, it is
    computed from differences, so an offset does not change the labels.

    For a fixed range no pass increases the objective. A unit without weighted samples does not
    move; this does not occur with ranges above one. Equal distances are ranked by index.

    References
    ----------
    .. [1] Martinetz, Berkovich and Schulten, "Neural-gas" network for vector quantization and its
       application to time-series prediction, IEEE Transactions on Neural Networks 4(4), 1993.
    .. [2] Cottrell, Hammer, Hasenfuss and Villmann, Batch and median neural gas, Neural Networks
       19, 2006.
    .. [3] Martinetz and Schulten, Topology representing networks, Neural Networks 7(3), 1994.
    .. [4] Fritzke, The LBG-U method for vector quantization: an improvement over LBG inspired from
       neural networks, Neural Processing Letters 5(1), 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import NeuralGas
    >>> X = np.concatenate([np.random.default_rng(0).normal(c, 0.1, (50, 2)) for c in range(4)])
    >>> model = NeuralGas(4, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round().astype(int)
    array([0, 1, 2, 3])
    >>> np.bincount(model.labels_)
    array([50, 50, 50, 50])
    """

    _card = MethodCard(
        family="clusters",
        cite=(
            "martinetz1993neural",
            "cottrell2006batch",
            "martinetz1994topology",
            "fritzke1997lbgu",
        ),
        cost="T n k (p + log k)",
        tier="standard",
        instead="AgglomerativeClustering, and KMeans from the means of its clusters, reach an "
        "error as low or lower in less time.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "algorithm": [StrOptions({"batch", "online"})],
        "init": [StrOptions({"random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "neighborhood": [POSITIVE, None],
        "final_neighborhood": [POSITIVE],
        "max_iter": [AT_LEAST_ONE],
        "polish": ["boolean"],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "final_learning_rate": [Interval(Real, 0, 1, closed="right")],
        "online_steps": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_clusters=8,
        *,
        algorithm="batch",
        init="random",
        n_init=1,
        neighborhood=None,
        final_neighborhood=0.01,
        max_iter=30,
        polish=True,
        learning_rate=0.5,
        final_learning_rate=0.005,
        online_steps=10000,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.init = init
        self.n_init = n_init
        self.neighborhood = neighborhood
        self.final_neighborhood = final_neighborhood
        self.max_iter = max_iter
        self.polish = polish
        self.learning_rate = learning_rate
        self.final_learning_rate = final_learning_rate
        self.online_steps = online_steps
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Estimate the positions of the units.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; None gives all samples weight 1.

        Returns
        -------
        self : NeuralGas
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        w, unit = relative_weights(sample_weight, X)
        if self.algorithm == "online":
            # in online learning, a weight is a number of steps
            w = w * unit
            unit = 1.0
        if self.algorithm == "online" and sparse.issparse(X):
            raise ValueError(
                'algorithm="online" needs dense X: use algorithm="batch", or X.toarray().'
            )

        # choose starts among the samples of positive weight, and centre starts and samples
        weighted = np.flatnonzero(w > 0)
        rng = check_random_state(self.random_state)
        samples = X if len(weighted) == len(w) else X[weighted]
        rows, shift = centred(samples)
        starts = [self._start(samples, rng) - shift for _ in range(self.n_init)]
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)

        def run(start, seed, passes):
            if passes.stopped.is_set():
                return None
            if self.algorithm == "batch":
                return self._batch(rows, w[weighted], start, passes)
            return self._online(rows, w[weighted], start, seed, passes)

        with FitProgress(self, X, y, max_passes=self.n_init * self.max_iter) as progress:
            lock = Lock()
            stopped = Event()
            passes = [_Passes(progress, lock, stopped) for _ in starts]
            if effective_n_jobs(self.n_jobs) > 1 and self.n_init > 1:
                # use threads in any backend: the starts share `rows` and one progress report
                results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                    delayed(run)(*task) for task in zip(starts, seeds, passes, strict=True)
                )
            else:
                results = [run(*task) for task in zip(starts, seeds, passes, strict=True)]

        # keep the result with the smallest quantisation error
        done = [
            (gas, counter)
            for gas, counter in zip(results, passes, strict=True)
            if gas is not None
        ]
        best, counter = min(done, key=lambda pair: pair[0].inertia)
        self.cluster_centers_ = (best.centers + shift).astype(X.dtype, copy=False)
        self.objective_history_ = best.objective * unit
        self.neighborhoods_ = best.ranges
        self.objective_ = float(self.objective_history_[-1])
        self.n_iter_ = best.n_iter
        self.n_steps_ = counter.count * len(weighted) if self.algorithm == "online" else 0

        self._describe(X, w, unit)
        if not best.converged:
            warn_not_converged(
                self,
                reached="samples still changed their units after "
                f"{POLISH_PASSES} passes of k-means",
                remedy="increase max_iter, or set polish=False",
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Update the units with one online step per sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Batch of samples, used in the order of the rows. If the first batch has fewer distinct
            samples than there are units, several units start at the same sample and separate
            later.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: a sample of weight 2 has the effect of two steps.

        Returns
        -------
        self : NeuralGas
            The updated estimator; `labels_`, `inertia_` and `adjacency_` belong to the last batch.
        """
        first = not hasattr(self, "cluster_centers_")
        X = self._validate(X, reset=first)
        if sparse.issparse(X):
            raise ValueError("partial_fit needs dense X: use fit, or X.toarray().")

        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rng = check_random_state(self.random_state)
        start = self._start(X[w > 0], rng, is_stream=True) if first else self.cluster_centers_
        seen = 0 if first else self.n_steps_

        # make one step for each row of positive weight, in the order of the stream
        order = np.flatnonzero(w > 0)
        centers = self._steps(X, order, w, start, seen, self.online_steps)

        self.cluster_centers_ = centers.astype(X.dtype, copy=False)
        self.n_steps_ = seen + len(order)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self._describe(X, w)

        self.objective_ = self.inertia_
        self.objective_history_ = np.array([self.inertia_])
        fraction = min(1.0, self.n_steps_ / self.online_steps)
        wide, narrow = self._widths()
        self.neighborhoods_ = np.array([wide * (narrow / wide) ** fraction])
        return self

    @by_rows
    def predict(self, X):
        """Predict the nearest unit of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the unit.
        """
        check_is_fitted(self)
        return self._nearest(self._validate(X, reset=False)).first

    @by_rows
    def transform(self, X):
        """Compute the distances to the units.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances from the units, not squared.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        rows, units = self._centred(X)
        squared = squared_distances(rows, squared_norms(rows), units)
        return np.sqrt(squared, out=squared).astype(X.dtype, copy=False)

    @in_memory
    def score(self, X, y=None, sample_weight=None):
        """Compute the negative sum of squared distances from the nearest units.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            Negative sum; higher is better. The score increases with `n_clusters`.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        w, unit = relative_weights(sample_weight, X)
        return -float(w @ self._nearest(X).distance) * unit

    def _batch(self, X, w, start, progress):
        """Run batch neural gas, and with `polish` k-means, from one start."""
        wide, narrow = self._widths()
        return batch_neural_gas(
            X,
            w,
            start,
            width=wide,
            last_width=narrow,
            max_iter=self.max_iter,
            polish=POLISH_PASSES if self.polish else 0,
            progress=progress,
        )

    def _online(self, X, w, start, seed, progress):
        """Make `max_iter` online passes, each in random order; with `polish`, end with k-means."""
        rng = np.random.RandomState(seed)

        n = len(w)
        centers = start
        stop = False
        # the width shrinks over the steps of all passes
        for t in range(self.max_iter):
            progress.begin()
            order = rng.permutation(n)
            centers = self._steps(X, order, w, centers, t * n, self.max_iter * n)
            stop = progress.end()
            if stop:
                break

        if self.polish and not stop:  # make only k-means passes
            gas = batch_neural_gas(
                X, w, centers, width=1.0, last_width=1.0, max_iter=0, polish=POLISH_PASSES
            )
            n_iter = self.max_iter + gas.n_iter
            return gas._replace(
                n_iter=n_iter, objective=np.array([gas.inertia]), ranges=np.zeros(1)
            )

        near = nearest_units(X, squared_norms(X), centers)
        inertia = float(w @ near.distance)

        wide, narrow = self._widths()
        last = annealed(wide, narrow, (t + 1) / self.max_iter)

        return Gas(
            centers,
            nearest=near.first,
            second=near.second,
            inertia=inertia,
            objective=np.array([inertia]),
            ranges=np.array([last]),
            n_iter=t + 1,
            converged=True,
        )

    def _steps(self, X, order, w, start, seen, n_steps):
        return online_neural_gas(
            X,
            order,
            w,
            start,
            step=seen,
            n_steps=n_steps,
            widths=self._widths(),
            rates=(self.learning_rate, self.final_learning_rate),
        )

    def _widths(self):
        wide = self.neighborhood
        if wide is None:
            wide = min(max(self.n_clusters / 2, self.final_neighborhood), 10.0)
        return float(wide), float(self.final_neighborhood)

    def _centred(self, X):
        """Return samples and units in double precision.

        If the samples are dense, the mean of the units is subtracted from both.
        """
        units = self.cluster_centers_.astype(np.float64)
        if sparse.issparse(X):
            return X, units
        shift = units.mean(axis=0)
        return np.subtract(X, shift, dtype=np.float64, order="C"), units - shift

    def _nearest(self, X):
        rows, units = self._centred(X)
        return nearest_units(rows, squared_norms(rows), units)

    def _describe(self, X, w, unit=1.0):
        """Store labels, inertia and adjacency of the training samples."""
        k = len(self.cluster_centers_)
        near = self._nearest(X)
        self.labels_ = near.first
        self.inertia_ = float(w @ near.distance) * unit
        pairs = sparse.coo_array((w, (near.first, near.second)), shape=(k, k)).tocsr()
        pairs = pairs + pairs.T
        pairs.setdiag(0)
        pairs.eliminate_zeros()
        self.adjacency_ = pairs * unit

    def _validate(self, X, reset):
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOATS)

    def _start(self, X, rng, *, is_stream=False):
        k = self.n_clusters
        if not isinstance(self.init, str):
            start = check_array(self.init, dtype=np.float64, input_name="init")
            if start.shape != (k, X.shape[1]):
                raise ValueError(
                    f"init has shape {start.shape}, but must have {(k, X.shape[1])}."
                )
            return start

        n = X.shape[0]
        if n < k and not is_stream:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}.")
        # the draw depends neither on the order of the samples nor on repetitions
        distinct = X[distinct_rows(X)] if sparse.issparse(X) else np.unique(X, axis=0)
        drawn = rng.permutation(distinct.shape[0])[:k]
        if len(drawn) < k:
            # later batches of a stream may have more distinct samples
            if not is_stream:
                warn_not_converged(
                    self,
                    reached=f"there are only {len(drawn)} distinct samples, fewer than "
                    f"n_clusters={k}",
                    remedy="lower n_clusters",
                )
            drawn = np.resize(drawn, k)
        start = distinct[drawn]
        return (dense(start)).astype(np.float64)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.algorithm == "batch"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Passes:
    """Report of the passes of one start to callbacks; several starts may run in parallel.

    `stopped` is an event that all starts share.
    """

    def __init__(self, progress, lock, stopped):
        self.progress = copy(progress)
        self.lock = lock
        self.stopped = stopped
        self.count = 0

    def begin(self):
        """Open the task of a pass."""
        with self.lock:
            self.progress.begin()

    def end(self):
        """Close the task of a pass; True stops this start, and the others at their next pass."""
        self.count += 1
        with self.lock:
            if self.progress.end():
                self.stopped.set()
        return self.stopped.is_set()
