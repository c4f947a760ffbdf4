"""K-means in the feature space of a kernel."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, run_starts, warn_not_converged
from skmoderndata._compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._kernelized.checks import checked_samples, resolved_gram
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import (
    as_double,
    check_symmetric,
    fits_in_memory,
    low_rank_features,
    refuse_cancellation,
)
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._registry import Comparison, MethodCard
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.kernel.kernel_k_means import (
    KernelSums,
    assign_to_samples,
    blocks_kernel,
    features_kernel,
    first_least,
    kernel_k_means,
    plus_plus_start,
    random_start,
    spectral_relaxation,
)
from skmoderndata._validation import relative_weights


class KernelKMeans(
    KernelSamples,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    Base,
):
    r"""K-means clustering in the feature space of a kernel.

    Minimises the weighted sum of squared distances from the centres of the clusters,

    .. math::
        \min_{c, m} \sum_i w_i \lVert \phi(x_i) - m_{c(i)} \rVert^2
        = \sum_i w_i \kappa(x_i, x_i)
        - \sum_c \frac{1}{s_c} \sum_{i, j \in c} w_i w_j \kappa(x_i, x_j),
        \qquad s_c = \sum_{i \in c} w_i,

    by Lloyd's algorithm on kernel values [1]_, [2]_ from several starts, followed by exchanges
    of single samples. A lower bound on the objective of all clusterings certifies the result.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : str, Kernel or callable, default="rbf"
        Kernel of the feature space, or "precomputed"; see :ref:`kernel-parameters`.
    gamma : float, {"scale", "auto"} or None, default="scale"
        Kernel coefficient of the named kernels; "scale" is `1 / (n_features * X.var())`.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further parameters of a named kernel or a callable.
    init : {"k-means++", "random", "spectral"} or array-like, default="k-means++"
        Initial clusters: centres drawn by k-means++ in feature space, centres drawn uniformly from
        the samples, or k-means on the `n_clusters - 1` leading kernel principal components. An
        array with one label per sample gives the initial clusters, an array of shape (n_starts,
        n_samples) those of several starts, and an array of shape (n_clusters, n_features) the
        initial centres.
    n_init : int or "auto", default="auto"
        Number of starts; the best result is kept. "auto" means 10 for "k-means++" and "random",
        otherwise 1. With "spectral" it is the number of starts of k-means on the principal
        components.
    compute_bound : bool, default=True
        Whether to compute `relaxation_bound_`, which needs a few eigenvalues of the kernel matrix
        and may take longer than several starts. `init="spectral"` always computes it.
    local_search : bool, default=True
        Whether to move single samples to other clusters if this lowers the objective, after
        Lloyd's algorithm has converged; False is Lloyd's algorithm.
    solver : {"auto", "exact", "low_rank"}, default="auto"
        "exact" uses all kernel values, which are stored if they fit into scikit-learn's working
        memory and otherwise recomputed in blocks. "low_rank" restricts the centres to the span of
        at most `max_rank` samples chosen by incomplete Cholesky factorisation. "auto" means
        "exact" if the kernel matrix fits into that memory.
    max_rank : int, default=300
        Largest number of samples that span the centres of `solver="low_rank"`.
    max_iter : int, default=300
        Largest number of passes per start.
    tol : float, default=0.0
        A start also ends when a pass lowers the objective by less than this value times the total
        scatter; with 0 it ends only when no sample moves.
    n_jobs : int or None, default=None
        Number of threads for the starts.
    random_state : int, RandomState instance or None, default=None
        Controls the starts. Pass an int for reproducible results.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample.
    inertia_ : float
        Value of the objective. With the low-rank solver it is computed for the restricted centres
        with exact squared distances.
    relaxation_bound_ : float
        Lower bound on the objective of any clustering of the training samples into `n_clusters`
        clusters: the sum of the eigenvalues of the centred kernel matrix without the `n_clusters -
        1` largest, or a lower bound of this sum. Only with `compute_bound`.
    dual_coef_ : ndarray of shape (n_clusters, n_fit)
        Centres as combinations of the training samples of positive weight. Only `solver="exact"`.
    landmarks_ : ndarray of shape (rank,)
        Indices of the training samples that span the centres. Only `solver="low_rank"`.
    solver_ : str
        "exact" or "low_rank".
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.cluster.KMeans : The special case of the linear kernel, for which it is faster.
    sklearn.cluster.SpectralClustering : Clusters of a similarity graph; cannot label new samples.

    Notes
    -----
    The first pass of a start takes ``n^2`` operations on stored kernel values, each later one
    ``n`` times the number of samples that move, plus ``n k``; no array is larger than the kernel
    matrix and one of `n_clusters` times `n_samples`. The low-rank solver takes ``n r^2`` once and
    ``n r k`` for each pass. The objective is not convex: compare `inertia_` with
    `relaxation_bound_`, which is tight only for very well separated clusters.

    With fewer distinct samples than clusters some clusters are empty, with a warning; their
    centres repeat that of the first cluster. Samples of weight 0 do not influence the clusters;
    they have the label of the nearest centre. Ties are resolved in favour of the lowest label.

    A precomputed kernel matrix does not contain the kernel values of new samples with themselves:
    `transform` refuses new samples, `predict` does not need these values, and `score` omits them.

    References
    ----------
    .. [1] Dhillon, Guan and Kulis, Kernel k-means, spectral clustering and normalized cuts, KDD
       2004, pp. 551-556.
    .. [2] Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis, Cambridge University
       Press, 2004, Algorithm 8.22 and Proposition 8.24.
    .. [3] Zha, He, Ding, Simon and Gu, Spectral relaxation for k-means clustering, NIPS 2001.
    .. [4] Telgarsky and Vattani, Hartigan's method: k-means clustering without Voronoi, AISTATS
       2010, pp. 820-827.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> X = np.r_[0.3 * ring, 3 * ring]
    >>> kmeans = KernelKMeans(2, gamma=1.0, random_state=0).fit(X)
    >>> len(set(kmeans.labels_[:30])), len(set(kmeans.labels_[30:]))
    (1, 1)
    >>> round(kmeans.relaxation_bound_, 1), round(kmeans.inertia_, 1)   # the global optimum
    (31.9, 31.9)
    """

    _card = MethodCard(
        family="kernel methods",
        cite=(
            "dhillon2004kernel",
            "shawetaylor2004kernel",
            "zha2001spectral",
            "telgarsky2010hartigan",
            "arthur2007kmeans",
        ),
        cost="n^2 + n times the samples that move; low rank r: n r^2 + T n r k",
        checks=(
            {"n_clusters": 3, "n_init": 2, "random_state": 0},
            {"n_clusters": 3, "n_init": 1, "compute_bound": False, "random_state": 0},
            {"n_clusters": 3, "kernel": "linear", "init": "spectral", "random_state": 0},
            {
                "n_clusters": 3,
                "n_init": 2,
                "solver": "low_rank",
                "max_rank": 10,
                "random_state": 1,
            },
        ),
        known_failures=dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "the starts are drawn by position, so that copies of a row change them; the objective "
            "of given clusters is the same. In use: `fit_predict` with integer weights may end in "
            "another local optimum than with copies; a larger `n_init` makes it rare",
        ),
        comparison=Comparison(
            baseline="sklearn.cluster.KMeans",
            problem="digits",
            params={"gamma": 0.0005, "n_init": 1, "random_state": 0},
            grid={"n_clusters": (40, 80, 160)},
            baseline_params={"n_init": 1, "random_state": 0},
            baseline_grid={"n_clusters": (40, 80, 160)},
        ),
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "init": [StrOptions({"k-means++", "random", "spectral"}), "array-like"],
        "n_init": [AT_LEAST_ONE, StrOptions({"auto"})],
        "compute_bound": ["boolean"],
        "local_search": ["boolean"],
        "solver": [StrOptions({"auto", "exact", "low_rank"})],
        "max_rank": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        init="k-means++",
        n_init="auto",
        compute_bound=True,
        local_search=True,
        solver="auto",
        max_rank=300,
        max_iter=300,
        tol=0.0,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.compute_bound = compute_bound
        self.local_search = local_search
        self.solver = solver
        self.max_rank = max_rank
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y=None, sample_weight=None):
        """Minimise the sum of squared distances from several starts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the objective; None gives all samples weight 1.

        Returns
        -------
        self : KernelKMeans
            The fitted estimator.
        """
        X = checked_samples(self, X, reset=True)
        # samples of positive weight
        n = count_samples(X)
        k = self.n_clusters
        w, unit = relative_weights(sample_weight, X)
        kept = np.flatnonzero(w > 0)
        if len(kept) < k:
            given = "" if sample_weight is None else "of positive weight "
            raise ValueError(f"n_samples={len(kept)} {given}should be >= n_clusters={k}.")

        init, n_init = self._check_init(X, n)
        w = w[kept]

        gram = resolved_gram(self, X if len(kept) == n else take(X, kept), w)
        refuse_cancellation(gram, X)
        solver = self._choose_solver(gram, len(kept))
        # distances in feature space: on the kernel matrix, or on features of low rank
        if solver == "low_rank":
            space = _low_rank_space(gram, as_double(X), kept, w, k, self.max_rank)
        else:
            space = _exact_space(gram, as_double(X), kept, w, k, self.max_rank)

        rng = check_random_state(self.random_state)
        spectral = isinstance(init, str) and init == "spectral"
        relaxation = space.relax() if self.compute_bound or spectral else None

        # starts: labels or centres given, k-means on the relaxed eigenvectors, or drawn samples
        if isinstance(init, np.ndarray):
            starts = _given_starts(init, kept, space)
        elif spectral:
            inner = features_kernel(relaxation.coordinates, w)
            tries = [
                kernel_k_means(
                    inner, plus_plus_start(inner, k, rng), k, max_iter=self.max_iter
                )
                for _ in range(n_init)
            ]
            starts = [min(tries, key=lambda result: result.objective).labels]
        else:
            draw = plus_plus_start if init == "k-means++" else random_start
            starts = [draw(space.kernel, k, rng) for _ in range(n_init)]

        best, stopped = self._run(starts, space.kernel, X, y)
        self.solver_ = solver
        self._gram = gram
        self._keep(best, space, kept, X, unit)
        if relaxation is not None:
            self.relaxation_bound_ = relaxation.bound * unit
        elif hasattr(self, "relaxation_bound_"):
            del self.relaxation_bound_  # of an earlier fit

        if not best.converged and not stopped:
            warn_not_converged(
                self,
                reached=f"samples still moved after max_iter={self.max_iter} passes",
                remedy="increase max_iter, or accept a larger tol",
            )

        return self

    def predict(self, X):
        """Predict the nearest centre of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the cluster.
        """
        check_is_fitted(self)
        return self._partial(checked_samples(self, X, reset=False)).argmin(axis=1)

    def transform(self, X):
        """Compute the distances to the centres in feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances, not squared.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        own = np.asarray(self._gram.diag(as_double(X)), dtype=np.float64)
        squared = self._partial(X) + own[:, None]
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return np.sqrt(np.maximum(squared, 0.0)).astype(dtype, copy=False)

    def score(self, X, y=None, sample_weight=None):
        """Compute the negative sum of squared distances from the nearest centres.

        The score increases with `n_clusters` and depends on the scale of the kernel; to compare
        kernels, use a score of the labels instead.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            Higher is better. For a precomputed kernel it omits the kernel values of the samples
            with themselves, which are unknown for new samples.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        w, unit = relative_weights(sample_weight, X)
        squared = self._partial(X).min(axis=1)
        if not self._gram.precomputed:
            squared = np.maximum(squared + self._gram.diag(as_double(X)), 0.0)
        return -float(w @ squared) * unit

    @property
    def _n_features_out(self):
        return len(self._offsets)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_init(self, X, n):
        """Return the start, arrays checked, and the number of starts."""
        init = self.init
        n_init = self.n_init
        if n_init == "auto":
            n_init = 10 if isinstance(init, str) and init != "spectral" else 1
        if isinstance(init, str):
            return init, n_init

        init = np.asarray(init)
        k = self.n_clusters
        # one label per sample, in one or several rows
        p = X.shape[1] if hasattr(X, "shape") and self.kernel != "precomputed" else None
        several = init.ndim == 2 and init.shape[1] == n and init.dtype.kind in "iu"
        if init.ndim == 1 or (several and init.shape != (k, p) and len(init)):
            if init.shape[-1] != n or init.dtype.kind not in "iu":
                raise ValueError(
                    f"init of shape {init.shape} and type {init.dtype} is not a labelling of "
                    f"{n} samples: give one integer from 0 to n_clusters - 1={k - 1} per sample."
                )
            if init.min() < 0 or init.max() >= k:
                raise ValueError(
                    f"init has labels from {init.min()} to {init.max()}, but "
                    f"n_clusters={k} allows 0 to {k - 1}."
                )
            return np.atleast_2d(init).astype(np.intp), len(np.atleast_2d(init))

        # centres
        if p is None or init.shape != (k, p):
            wanted = "one label per sample" if p is None else f"({k}, {p})"
            raise ValueError(f"init has shape {init.shape}, but must have {wanted}.")
        init = init.astype(np.float64)
        if not np.isfinite(init).all():
            raise ValueError("init must be finite.")

        return init, 1

    def _choose_solver(self, gram, n):
        if self.solver != "auto":
            return self.solver
        # passes over a matrix in memory take less time than those over 300 coordinates
        return "exact" if gram.precomputed or fits_in_memory(n, n) else "low_rank"

    def _run(self, starts, kernel, X, y):
        """Return the best result over the starts, and whether it was stopped."""
        settings = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "local_search": self.local_search,
        }

        def one(seed, progress=None):
            return kernel_k_means(kernel, seed, self.n_clusters, progress=progress, **settings)

        found, stopped = run_starts(
            self,
            X,
            y,
            one,
            starts,
            max_passes=len(starts) * self.max_iter,
            n_jobs=self.n_jobs,
            require="sharedmem",  # all starts use one kernel matrix
        )
        return found[first_least(np.array([result.objective for result in found]))], stopped

    def _keep(self, best, space, kept, X, unit):
        k = self.n_clusters
        w = space.kernel.weights
        members = best.members
        mass = np.bincount(members, weights=w, minlength=k)
        empty = mass == 0
        if empty.any():
            warn_not_converged(
                self,
                reached=f"there are only {k - empty.sum()} distinct samples in feature space, "
                f"fewer than n_clusters={k}",
                remedy="lower n_clusters",
            )

        if self.solver_ == "exact":
            # centres are weighted means: coefficients of samples, and |m|^2
            coef = np.zeros((k, len(w)))
            coef[members, np.arange(len(w))] = w / mass[members]
            offsets = np.divide(best.inner, mass**2, out=np.zeros(k), where=~empty)
            coef[empty] = coef[members[0]]
            offsets[empty] = offsets[members[0]]

            self.dual_coef_ = coef
            self._offsets = offsets
            self._centres_on = space.centres_on
        else:
            centres = np.zeros((k, space.Z.shape[1]))
            np.add.at(centres, members, w[:, None] * space.Z)
            centres[~empty] /= mass[~empty, None]
            centres[empty] = centres[members[0]]
            self._centres = centres
            self._offsets = np.einsum("ij,ij->i", centres, centres)
            self._features = space.features
            self.landmarks_ = space.landmarks

        self.inertia_ = (best.objective + space.residual) * unit
        self.n_iter_ = best.n_iter

        n = count_samples(X)
        self.labels_ = np.empty(n, dtype=np.int32)
        self.labels_[kept] = best.labels

        # samples of weight zero go to the nearest centre
        if len(kept) < n:
            others = np.setdiff1d(np.arange(n), kept)
            self.labels_[others] = self._partial(take(X, others)).argmin(axis=1)

    def _partial(self, X):
        """Squared distances from the centres without the squared norms of the samples."""
        out = np.empty((count_samples(X), len(self._offsets)))
        if self.solver_ == "low_rank":
            for rows, Z in self._features.blocks(X):
                out[rows] = self._offsets - 2 * Z @ self._centres.T
            return out
        for rows in row_blocks(len(out), 8 * self.dual_coef_.shape[1]):
            K = self._gram(as_double(take(X, rows)), self._centres_on)
            out[rows] = self._offsets - 2 * (K @ self.dual_coef_.T)
        return out


class _Space(NamedTuple):
    """Feature space of the training samples of positive weight, exact or of low rank."""

    kernel: KernelSums  # of the training samples
    relax: Callable  # relaxation that bounds the objective
    rows_of: Callable  # kernel values with the samples, and squared norms, of new points
    residual: float = 0.0  # weighted sum of squared distances from the space
    centres_on: Any = None  # second argument of the kernel; exact only
    features: Any = None  # map into the space; low rank only
    landmarks: Any = None  # samples that span it; low rank only
    Z: Any = None  # coordinates of the training samples; low rank only


def _exact_space(gram, X, kept, w, k, max_rank):
    """Work with all kernel values, stored if they fit into memory."""
    n = len(kept)
    centres_on = gram.subset(X, kept)
    samples = X if n == count_samples(X) else take(X, kept)
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)[kept]
    K = None
    if gram.precomputed or fits_in_memory(n, n):
        whole = gram.precomputed and n == count_samples(X)
        K = X if whole else gram(samples, centres_on)
        K = np.ascontiguousarray(K, dtype=np.float64)
        check_symmetric(gram, K)
    if not np.isfinite(diagonal).all():
        raise ValueError(f"kernel={gram.kernel!r} is not finite on the training samples.")

    def blocks(chosen):
        for part in row_blocks(len(chosen), 8 * n):
            yield part, np.asarray(gram(take(samples, chosen[part]), centres_on))

    if K is None:
        kernel = blocks_kernel(blocks, diagonal, w)
    else:
        kernel = KernelSums(lambda D: D @ K, diagonal, w)

    def relax():
        if K is not None:
            return spectral_relaxation(kernel, k)
        # the kernel minus that of the leading features is positive semi-definite: the bound holds
        _, result = low_rank_features(gram, samples, rank=min(n, max_rank))
        return spectral_relaxation(features_kernel(result.factor, w), k)

    def rows_of(points):
        return np.asarray(gram(points, centres_on)), np.asarray(gram.diag(points))

    return _Space(kernel, relax, rows_of, centres_on=centres_on)


def _low_rank_space(gram, X, kept, w, k, max_rank):
    """Work with coordinates in the span of a few samples."""
    if gram.precomputed and len(kept) < count_samples(X):
        raise ValueError(
            'solver="low_rank" accepts no weights of zero with kernel="precomputed": remove '
            "those samples from the matrix."
        )

    # Z Z' ~ K: coordinates, and inner products of new points with the rows
    samples = X if len(kept) == count_samples(X) else take(X, kept)
    features, result = low_rank_features(gram, samples, rank=min(len(kept), max_rank))
    Z = result.factor

    def rows_of(points):
        own = features(points)
        return own @ Z.T, np.einsum("ij,ij->i", own, own)

    kernel = features_kernel(Z, w)
    return _Space(
        kernel,
        lambda: spectral_relaxation(kernel, k),
        rows_of,
        residual=float(w @ np.maximum(result.residual, 0.0)),
        features=features,
        landmarks=kept[result.pivots],
        Z=Z,
    )


def _given_starts(init, kept, space):
    if init.dtype.kind == "f":
        return [assign_to_samples(*space.rows_of(init))]
    return list(init[:, kept])
