"""K-means in the feature space of a kernel."""

from functools import cached_property

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, run_starts, warn_not_converged
from skmoderndata._estimator.blocks_input import BlockClusterMixin, FitsBlocks, in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import float_type, relative_weights
from skmoderndata._kernelized.checks import checked_samples, resolved_gram
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.landmarks import (
    landmark_table,
    rows_in_blocks,
    solver_of,
    survey_of,
)
from skmoderndata._kernelized.low_rank import (
    as_double,
    check_symmetric,
    fits_in_memory,
    low_rank_features,
    omitted_fraction,
    refuse_cancellation,
    warn_of_rank,
)
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.common.row_sample import MOST_ROWS
from skmoderndata._solvers.kernel.feature_k_means import (
    feature_k_means,
    feature_moments,
    means_of,
    relaxation_of_moments,
)
from skmoderndata._solvers.kernel.kernel_k_means import (
    assign_to_samples,
    blocks_kernel,
    features_kernel,
    first_least,
    kernel_k_means,
    plus_plus_start,
    random_start,
    spectral_relaxation,
    stored_kernel,
)


class KernelKMeans(
    KernelSamples,
    CallbackSupportMixin,
    FitsBlocks,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BlockClusterMixin,
    Base,
):
    r"""K-means clustering in the feature space of a kernel.

    The class minimises the weighted sum of squared distances from the centres of the clusters,

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
        Initial clusters. "k-means++" draws centres by k-means++ in feature space; "random" draws
        centres uniformly from the samples; "spectral" runs k-means on the `n_clusters - 1` leading
        kernel principal components. An array with one label per sample contains the initial
        clusters of one start, an array of shape (n_starts, n_samples) the initial clusters of
        several starts, and an array of shape (n_clusters, n_features) the initial centres.
    n_init : int or "auto", default="auto"
        Number of starts; the best result is kept. "auto" means 10 for "k-means++" and "random",
        otherwise 1. With "spectral" it is the number of starts of k-means on the principal
        components.
    local_search : bool, default=True
        Whether to move single samples to other clusters if this lowers the objective, after
        Lloyd's algorithm has converged. False means Lloyd's algorithm alone.
    solver : {"auto", "exact", "low_rank", "nystroem"}, default="auto"
        "exact" uses all kernel values, which are stored if they fit into scikit-learn's working
        memory and otherwise recomputed in blocks. "low_rank" restricts the centres to the span of
        at most `max_rank` samples chosen by incomplete Cholesky factorisation. "nystroem" uses
        `max_rank` samples drawn at random instead, reads the rows in passes, draws the starts from
        10,000 rows, and does not move single samples; it is required for Dask arrays and tables on
        disk. "auto" means "nystroem" for a table in blocks; otherwise it means "exact" if the
        kernel is precomputed or its matrix fits into that memory, and "low_rank" if not.
    max_rank : int, default=300
        Largest number of samples that span the centres of the solvers "low_rank" and "nystroem".
    max_iter : int, default=300
        Largest number of passes per start.
    tol : float, default=0.0
        Tolerance relative to the total scatter: a start also ends when a pass lowers the objective
        by less than this value times the total scatter. With 0 it ends only when no sample moves.
    n_jobs : int or None, default=None
        Number of threads for the starts.
    random_state : int, RandomState instance or None, default=None
        Controls the starts. Pass an int for reproducible results.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample. Not stored for a Dask array; use `predict`.
    inertia_ : float
        Value of the objective. It is computed with exact squared distances even if the centres are
        restricted to the span of a few samples.
    relaxation_bound_ : float
        Lower bound on the objective of any clustering of the training samples into `n_clusters`
        clusters: the sum of the eigenvalues of the centred kernel matrix without the `n_clusters -
        1` largest, or a lower bound on this sum. It needs a few eigenvalues, which may take longer
        than several starts; with `solver="exact"` it is therefore computed on first access, from
        the stored training samples. `fit` computes it if the kernel is precomputed or
        `init="spectral"`.
    dual_coef_ : ndarray of shape (n_clusters, n_fit)
        Centres as combinations of the training samples of positive weight. Only with
        `solver="exact"`.
    landmarks_ : ndarray of shape (rank,)
        Indices of the training samples that span the centres. Not with `solver="exact"`.
    solver_ : str
        "exact", "low_rank" or "nystroem".
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
    The first pass of a start needs ``n^2`` operations on stored kernel values; each later pass
    needs ``n`` times the number of samples that move, plus ``n k``. The largest arrays are the
    kernel matrix and an array of `n_clusters` times `n_samples` numbers. The low-rank solver needs
    ``n r^2`` operations once and ``n r k`` for each pass. The objective is not convex: compare
    `inertia_` with `relaxation_bound_`, which is tight only for very well separated clusters.

    If there are fewer distinct samples than clusters, `fit` warns and some clusters are empty;
    their centres repeat the centre of the first cluster. Samples of weight 0 do not influence the
    clusters; they have the label of the nearest centre. Ties are resolved in favour of the lowest
    label.

    A precomputed kernel matrix does not contain the kernel values of new samples with themselves:
    `transform` raises ValueError for new samples, `predict` does not need these values, and
    `score` omits them.

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
        fits_blocks=True,
        tier="standard",
        instead="KMeans on KernelPCA, started from the means of AgglomerativeClustering, finds "
        "groups that are as tight in a fifth of the time.",
        scaler="StandardScaler",
    )
    _of_rows = {"labels_": "predict"}
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "init": [StrOptions({"k-means++", "random", "spectral"}), "array-like"],
        "n_init": [AT_LEAST_ONE, StrOptions({"auto"})],
        "local_search": ["boolean"],
        "solver": [StrOptions({"auto", "exact", "low_rank", "nystroem"})],
        "max_rank": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
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
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features), or list
            Training samples in the form that `kernel` accepts; see :ref:`kernel-parameters`.
            Tables in blocks need two passes for the features, two passes for the bound, and one
            pass for each round of all starts.
        y : None
            Not used, present by convention.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Weights in the objective; None gives all samples weight 1.

        Returns
        -------
        self : KernelKMeans
            The fitted estimator.
        """
        solver = solver_of(self, X)
        if solver == "nystroem":
            return self._fit_features(X, y, sample_weight)
        X = checked_samples(self, X, reset=True)
        # use only samples of positive weight
        n = count_samples(X)
        k = self.n_clusters
        w, unit = relative_weights(sample_weight, X)
        weighted = np.flatnonzero(w > 0)
        n_weighted = len(weighted)
        if n_weighted < k:
            kind = "" if sample_weight is None else "of positive weight "
            raise ValueError(f"n_samples={n_weighted} {kind}should be >= n_clusters={k}.")

        rows = self.kernel != "precomputed" and len(getattr(X, "shape", ())) == 2
        init, n_init = self._check_init(X.shape[1] if rows else None, n)
        w = w[weighted]

        whole = n_weighted == n or self.kernel == "precomputed"
        gram = resolved_gram(self, X if whole else take(X, weighted), w)
        refuse_cancellation(gram, X)
        solver = self._choose_solver(gram, n_weighted)
        # represent feature space by the kernel matrix, or by features of low rank
        space_of = _LowRankSpace if solver == "low_rank" else _ExactSpace
        space = space_of(gram, as_double(X), weighted, w, k=k, max_rank=self.max_rank)
        if solver == "low_rank":
            warn_of_rank(self, len(space.landmarks), space.omitted)

        rng = check_random_state(self.random_state)
        spectral = isinstance(init, str) and init == "spectral"
        # if the model can compute the exact bound later, leave it to the first access
        deferred = solver == "exact" and not (gram.precomputed or spectral)
        relaxation = None if deferred else space.relax()

        # start from labels or centres in `init`, relaxed eigenvectors, or drawn samples
        if isinstance(init, np.ndarray):
            starts = _given_starts(init, weighted, space)
        elif spectral:
            inner = features_kernel(relaxation.coordinates, w)
            draws = [plus_plus_start(inner, k, rng) for _ in range(n_init)]
            results = [
                kernel_k_means(inner, draw, k, max_iter=self.max_iter) for draw in draws
            ]
            starts = [min(results, key=lambda result: result.objective).labels]
        else:
            draw = plus_plus_start if init == "k-means++" else random_start
            starts = [draw(space.kernel, k, rng) for _ in range(n_init)]

        best, stopped = self._run(starts, space.kernel, X, y)
        self.solver_ = solver
        self._gram = gram
        self._keep(best, space, weighted, X, unit)
        vars(self).pop("relaxation_bound_", None)  # remove the result of an earlier fit
        if deferred:
            self._for_bound = w, unit, self.max_rank
        else:
            self.relaxation_bound_ = relaxation.bound * unit

        if not best.converged and not stopped:
            self._warn_moving()
        return self

    @cached_property
    def relaxation_bound_(self):
        """Lower bound on the objective of all clusterings; computed on first access."""
        check_is_fitted(self)
        w, unit, max_rank = self._for_bound
        samples = np.arange(len(w))
        settings = {"k": len(self._offsets), "max_rank": max_rank}
        space = _ExactSpace(self._gram, self._centres_on, samples, w, **settings)
        return space.relax().bound * unit

    def _fit_features(self, X, y, sample_weight):
        """Run Lloyd's algorithm on features at landmarks, in passes over the rows."""
        # 1. Check the rows, compute features at landmarks, and draw a sample of the rows.
        blocks, weighted = rows_in_blocks(self, X, sample_weight=sample_weight)
        survey = survey_of(self, blocks, weighted)
        k = self.n_clusters
        if survey.n_used < k:
            kind = "of positive weight " if weighted else ""
            raise ValueError(f"n_samples={survey.n_used} {kind}should be >= n_clusters={k}.")
        init, n_init = self._check_init(blocks.shape[1], blocks.shape[0])
        if isinstance(init, np.ndarray) and init.dtype.kind != "f":
            raise ValueError(
                "solver='nystroem' starts from centres, not from labels: pass an init of shape "
                f"({k}, {blocks.shape[1]}), or the name of a start."
            )
        rng = check_random_state(self.random_state)
        table, sample = landmark_table(
            self, blocks, survey, weighted=weighted, rng=rng, n_more=MOST_ROWS
        )

        # 2. Compute the scatter and the bound, and choose the starts.
        table = table.stored()
        moments = feature_moments(table)
        directions, bound = relaxation_of_moments(moments, k)
        Z = table.features(as_double(sample[0]))
        w = np.ones(len(Z)) if not weighted else np.asarray(sample[1], dtype=float)
        if isinstance(init, np.ndarray):
            starts = [table.features(init)]
        else:
            coordinates = (Z - moments.mean) @ directions if init == "spectral" else Z
            starts = [
                means_of(Z, w, labels, k)
                for labels in self._starts_in(coordinates, w / w.max(), init, n_init, rng)
            ]

        # 3. Run the rounds of Lloyd's algorithm for all starts.
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            best = feature_k_means(
                table,
                starts,
                scatter=float(moments.scatter.trace()),
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        # 4. Store the attributes.
        self.solver_ = "nystroem"
        self._gram = table.features.gram
        self._features = table.features
        self.landmarks_ = table.landmarks
        self._warn_empty(int(np.count_nonzero(best.mass == 0)))
        filled = best.mass > 0
        self._clusters_in_use = np.flatnonzero(filled)
        self._centres = best.centres
        self._centres[~filled] = best.centres[filled][0]
        self._offsets = np.einsum("ij,ij->i", self._centres, self._centres)
        self.inertia_ = (best.objective + moments.beyond) * table.unit
        self.n_iter_ = best.n_iter
        self.relaxation_bound_ = bound * table.unit
        vars(self).pop("labels_", None)
        if not in_blocks(X, on_disk=False):
            self.labels_ = np.asarray(self._labels_of(X, blocks), dtype=np.int32)
        if not best.converged and not progress.stopped:
            self._warn_moving()
        return self

    def _starts_in(self, coordinates, w, init, n_init, rng):
        """Return labels of the sampled rows for each start, whose centres are their means."""
        kernel = features_kernel(coordinates, w)
        k = self.n_clusters
        draw = random_start if init == "random" else plus_plus_start
        starts = [draw(kernel, k, rng) for _ in range(n_init)]
        if init != "spectral":
            return starts
        results = [
            kernel_k_means(kernel, start, k, max_iter=self.max_iter) for start in starts
        ]
        return [min(results, key=lambda result: result.objective).labels]

    def _labels_of(self, X, blocks):
        """Return the labels of the training samples of a table in memory or on disk."""
        if in_blocks(X):
            return self.predict(X)
        return self._nearest(blocks.arrays[0])

    def _warn_moving(self):
        warn_not_converged(
            self,
            reached=f"samples still moved after max_iter={self.max_iter} passes",
            remedy="increase max_iter or tol",
        )

    def _warn_empty(self, n_empty):
        if n_empty:
            k = self.n_clusters
            warn_not_converged(
                self,
                reached=f"there are only {k - n_empty} distinct samples in feature space, "
                f"fewer than n_clusters={k}",
                remedy="lower n_clusters",
            )

    @by_rows
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
        return self._nearest(checked_samples(self, X, reset=False))

    @by_rows
    def transform(self, X):
        """Compute the distances to the centres in feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; the training matrix if `kernel="precomputed"`.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances from the centres, not squared.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        norms = np.asarray(self._gram.diag(as_double(X)), dtype=np.float64)
        squared = self._partial(X) + norms[:, None]
        distances = np.sqrt(np.maximum(squared, 0.0))
        return distances.astype(float_type(X), copy=False)

    @in_memory
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
            Negative sum; higher is better. For a precomputed kernel it omits the kernel values of
            the samples with themselves, which are unknown for new samples.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        w, unit = relative_weights(sample_weight, X)
        squared = self._partial(X).min(axis=1)
        if not self._gram.precomputed:
            norms = self._gram.diag(as_double(X))
            squared = np.maximum(squared + norms, 0.0)
        return -float(w @ squared) * unit

    @property
    def _n_features_out(self):
        return len(self._offsets)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_init(self, p, n):
        """Return the checked `init` and the number of starts."""
        init = self.init
        n_init = self.n_init
        if n_init == "auto":
            n_init = 10 if isinstance(init, str) and init != "spectral" else 1
        if isinstance(init, str):
            return init, n_init

        init = np.asarray(init)
        k = self.n_clusters
        # accept one label per sample, in one or several rows
        integers = init.dtype.kind in "iu"
        several = init.ndim == 2 and init.shape[1] == n and integers
        if init.ndim == 1 or (several and init.shape != (k, p) and len(init)):
            if init.shape[-1] != n or not integers:
                raise ValueError(
                    f"init of shape {init.shape} and type {init.dtype} does not label {n} "
                    f"samples: pass one integer from 0 to n_clusters - 1={k - 1} per sample."
                )
            if init.min() < 0 or init.max() >= k:
                raise ValueError(
                    f"init has labels from {init.min()} to {init.max()}, but "
                    f"n_clusters={k} allows 0 to {k - 1}."
                )
            labels = np.atleast_2d(init).astype(np.intp)
            return labels, len(labels)

        # otherwise accept centres
        if p is None or init.shape != (k, p):
            required = "one label per sample" if p is None else f"({k}, {p})"
            raise ValueError(f"init has shape {init.shape}, but must have {required}.")
        init = init.astype(np.float64)
        if not np.isfinite(init).all():
            raise ValueError("init must be finite.")

        return init, 1

    def _choose_solver(self, gram, n):
        if self.solver != "auto":
            return self.solver
        # passes over a matrix in memory are faster than passes over the coordinates of low rank
        # (by default 300)
        return "exact" if gram.precomputed or fits_in_memory(n, n) else "low_rank"

    def _run(self, starts, kernel, X, y):
        """Return the best result over the starts, and whether it was stopped."""
        settings = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            "local_search": self.local_search,
        }

        # only the best of several starts is continued with sums that are free of rounding errors
        verify = len(starts) == 1

        def run(seed, progress=None):
            return kernel_k_means(
                kernel, seed, self.n_clusters, progress=progress, verify=verify, **settings
            )

        results, stopped = run_starts(
            self,
            X,
            y,
            run,
            starts,
            max_passes=len(starts) * self.max_iter,
            n_jobs=self.n_jobs,
            require="sharedmem",  # all starts use one kernel matrix
        )
        objectives = np.array([result.objective for result in results])
        best = results[first_least(objectives)]
        if verify or kernel.matrix is None or not best.converged:
            return best, stopped

        settings["max_iter"] = max(1, self.max_iter - best.n_iter)
        final = kernel_k_means(kernel, best.members, self.n_clusters, **settings)
        n_iter = min(best.n_iter + final.n_iter, self.max_iter)
        return final._replace(n_iter=n_iter), stopped

    def _keep(self, best, space, weighted, X, unit):
        k = self.n_clusters
        mass = np.bincount(best.members, weights=space.kernel.weights, minlength=k)
        self._warn_empty(np.count_nonzero(mass == 0))
        self._clusters_in_use = np.flatnonzero(mass)
        centres, self._offsets = space.centres(best, mass)
        if self.solver_ == "exact":
            self.dual_coef_ = centres
            self._centres_on = space.centres_on
        else:
            self._centres = centres
            self._features = space.features
            self.landmarks_ = space.landmarks

        self.inertia_ = (best.objective + space.residual) * unit
        self.n_iter_ = best.n_iter

        n = count_samples(X)
        self.labels_ = np.empty(n, dtype=np.int32)
        self.labels_[weighted] = best.labels

        # assign samples of weight zero to the nearest centre
        if len(weighted) < n:
            unweighted = np.setdiff1d(np.arange(n), weighted)
            self.labels_[unweighted] = self._nearest(take(X, unweighted))

    def _nearest(self, X):
        """Return the nearest centre; an empty cluster, which copies a centre, gets no sample."""
        partial = self._partial(X)[:, self._clusters_in_use]
        return self._clusters_in_use[partial.argmin(axis=1)]

    def _partial(self, X):
        """Return squared distances from the centres minus the squared norms of the samples."""
        n = count_samples(X)
        partial = np.empty((n, len(self._offsets)))
        if self.solver_ != "exact":
            for rows, Z in self._features.blocks(X):
                partial[rows] = self._offsets - 2 * Z @ self._centres.T
            return partial

        for rows in row_blocks(n, 8 * self.dual_coef_.shape[1]):
            samples = as_double(take(X, rows))
            K = self._gram(samples, self._centres_on)
            partial[rows] = self._offsets - 2 * (K @ self.dual_coef_.T)
        return partial


class _ExactSpace:
    """Feature space of the samples of positive weight, represented by all kernel values."""

    residual = 0.0  # all samples lie in the span

    def __init__(self, gram, X, rows, w, *, k, max_rank):
        n = len(rows)
        self.gram = gram
        self.centres_on = gram.subset(X, rows)  # second argument of the kernel
        self.samples = X if n == count_samples(X) else take(X, rows)
        self.k = k
        self.max_rank = min(n, max_rank)

        diagonal = np.asarray(gram.diag(X), dtype=np.float64)[rows]
        self.stored = gram.precomputed or fits_in_memory(n, n)
        if self.stored:
            complete = gram.precomputed and n == count_samples(X)
            K = X if complete else gram(self.samples, self.centres_on)
            K = np.ascontiguousarray(K, dtype=np.float64)
            check_symmetric(gram, K)
        if not np.isfinite(diagonal).all():
            raise ValueError(f"kernel={gram.kernel!r} is not finite on the training samples.")

        if self.stored:
            self.kernel = stored_kernel(K, np.ascontiguousarray(diagonal), w)
        else:
            self.kernel = blocks_kernel(self._blocks, diagonal, w)

    def _blocks(self, indices):
        """Yield kernel values of samples with all samples, in blocks that fit into memory."""
        for block in row_blocks(len(indices), 8 * len(self.kernel.weights)):
            samples = take(self.samples, indices[block])
            yield block, np.asarray(self.gram(samples, self.centres_on))

    def relax(self):
        """Return the relaxation that bounds the objective."""
        if self.stored:
            return spectral_relaxation(self.kernel, self.k)
        # The kernel minus the kernel of the leading features is positive semi-definite, so the
        # bound also holds with these features.
        _, result = low_rank_features(self.gram, self.samples, rank=self.max_rank)
        leading = features_kernel(result.factor, self.kernel.weights)
        return spectral_relaxation(leading, self.k)

    def rows_of(self, points):
        """Return the kernel values of new points with the samples, and the squared norms."""
        K = np.asarray(self.gram(points, self.centres_on))
        return K, np.asarray(self.gram.diag(points))

    def centres(self, best, mass):
        """Return the centres as coefficients of the samples, and their squared norms."""
        members = best.members
        w = self.kernel.weights
        k = len(mass)
        empty = mass == 0

        # compute weighted means; an empty cluster gets the centre of the first sample's cluster
        coef = np.zeros((k, len(w)))
        coef[members, np.arange(len(w))] = w / mass[members]
        offsets = np.divide(best.inner, mass**2, out=np.zeros(k), where=~empty)
        coef[empty] = coef[members[0]]
        offsets[empty] = offsets[members[0]]
        return coef, offsets


class _LowRankSpace:
    """Feature space as coordinates of the samples in the span of a few samples: Z Z' ~ K."""

    def __init__(self, gram, X, rows, w, *, k, max_rank):
        n = len(rows)
        if gram.precomputed and n < count_samples(X):
            raise ValueError(
                'solver="low_rank" accepts no weights of zero with kernel="precomputed": remove '
                "the samples of weight zero from the matrix."
            )

        samples = X if n == count_samples(X) else take(X, rows)
        self.features, result = low_rank_features(gram, samples, rank=min(n, max_rank))
        self.Z = result.factor
        self.kernel = features_kernel(self.Z, w)
        self.k = k
        self.landmarks = rows[result.pivots]
        self.omitted = omitted_fraction(result)
        # weighted sum of squared distances from the space
        self.residual = float(w @ np.maximum(result.residual, 0.0))

    def relax(self):
        """Return the relaxation that bounds the objective."""
        return spectral_relaxation(self.kernel, self.k)

    def rows_of(self, points):
        """Return the inner products of new points with the samples, and the squared norms."""
        coordinates = self.features(points)
        return coordinates @ self.Z.T, np.einsum("ij,ij->i", coordinates, coordinates)

    def centres(self, best, mass):
        """Return the coordinates of the centres, and their squared norms."""
        members = best.members
        filled = mass > 0
        centres = np.zeros((len(mass), self.Z.shape[1]))
        np.add.at(centres, members, self.kernel.weights[:, None] * self.Z)
        centres[filled] /= mass[filled, None]
        centres[~filled] = centres[members[0]]
        return centres, np.einsum("ij,ij->i", centres, centres)


def _given_starts(init, weighted, space):
    if init.dtype.kind == "f":
        return [assign_to_samples(*space.rows_of(init))]
    return list(init[:, weighted])
