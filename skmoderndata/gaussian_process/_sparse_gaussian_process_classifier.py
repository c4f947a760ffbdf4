"""Gaussian process classification through inducing inputs."""

from copy import copy
from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.absent_classes import AbsentClasses
from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array, validate_data
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, MAX_INT32
from skmoderndata._solvers.gaussian.bernoulli import (
    first_sites,
    kernel_slopes,
    maximise_bound,
    mean_probability,
)
from skmoderndata._solvers.gaussian.inducing import (
    cholesky_with_jitter,
    identity,
    solve_lower,
)
from skmoderndata.gaussian_process._base import (
    PROCESS,
    REJECTED,
    Covariance,
    column_scales,
    maximise,
    refuse_structured,
    start_kernel,
    warn_of_bounds_and_copies,
    warn_optimizer,
)
from skmoderndata.gaussian_process._inducing_base import choose_points

# Tolerance for maximising the bound over all Gaussians, per sample.
GAP = 1e-8
# Minimum gap per sample that causes a warning.
LARGE_GAP = 1e-4
# Maximum number of natural gradient steps; they are slow if the variance of the kernel is large.
MAX_STEPS = 200


class SparseGaussianProcessClassifier(
    CallbackSupportMixin, AbsentClasses, ClassifierMixin, Base
):
    r"""Gaussian process classification for many samples, through inducing inputs.

    A latent function f with a Gaussian process prior gives the probability
    :math:`s(f) = 1 / (1 + e^{-f})` of a class. Its values u at m inducing inputs Z have a Gaussian
    posterior q. Together with the hyperparameters of the kernel and Z, q maximises the bound

    .. math::
        F = \sum_i w_i\, E_{q(f_i)} \log s(y_i f_i) - KL(q(u)\, \|\, p(u)), \qquad y_i = \pm 1,

    on the log marginal likelihood [1]_. If there are more than two classes, each class has a
    process of its own against the rest, and the probabilities are divided by their sum, as in
    scikit-learn.

    Parameters
    ----------
    kernel : kernel object of scikit-learn, default=None
        Covariance of the latent function. None means a constant times RBF with one length scale
        for each input. A WhiteKernel in a sum is omitted.
    n_inducing : int, default=100
        Number of inducing inputs, reduced if there are fewer distinct samples.
    inducing : str or array-like of shape (m, n_features), default="k-means"
        Initial inducing inputs: centres of k-means ("k-means"), random samples ("random"), samples
        selected by pivoted Cholesky decomposition of the kernel matrix ("greedy"), or an array of
        points.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Optimiser, as in scikit-learn's GaussianProcessClassifier. None keeps the kernel as it is.
    optimize_inducing : bool, default=True
        Whether to optimise the inducing inputs, too; only for kernels of the fast form, see
        :class:`SparseGaussianProcessRegressor`.
    n_restarts_optimizer : int, default=0
        Number of further starts, with hyperparameters drawn within their bounds.
    max_iter : int, default=100
        Maximum number of iterations of the optimiser per start.
    tol : float, default=1e-3
        Tolerance of the optimiser, which stops when ten iterations together increase the bound by
        less than this value per sample.
    subset_size : int, default=5000
        Number of random samples used by the optimiser; the posterior uses all n.
    jitter : float, default=1e-8
        Value added to the diagonal of K_uu, relative to its mean. If K_uu is singular, it is
        increased by factors of ten up to 1e-4.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the subset, the inducing inputs and the restarts. Pass an int for
        reproducible results.
    n_jobs : int, default=None
        Number of threads over the classes if there are more than two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    kernels_ : list of kernel objects
        Kernel of each process: one kernel for two classes, otherwise one for each class.
    inducing_points_ : list of ndarray of shape (m, n_features)
        Inducing inputs of each process.
    lower_bound_ : ndarray of shape (n_processes,)
        Value of F for each process, a lower bound on its log marginal likelihood, on all samples.
    dual_gap_ : float
        Certificate for q: no Gaussian improves F by more than this per sample. The maximum over
        the processes.
    n_iter_ : int
        Number of iterations of the optimiser, the maximum over the processes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessClassifier : Uses Laplace's method with all samples, in
        n^3 operations for each evaluation.
    SparseGaussianProcessRegressor : Applies the same idea to targets with Gaussian noise.

    Notes
    -----
    The bound is strongly concave in the mean and the Cholesky factor of the covariance of q.
    Natural gradients maximise it to `dual_gap_` in about ten passes over the samples; the gradient
    of the maximum by the hyperparameters and Z is then the gradient with q held fixed.
    Expectations are computed by quadrature with 20 nodes.

    A pass costs ``2 n m^2`` operations, and an evaluation of the optimiser a few passes over
    `subset_size` samples. The memory is ``n m`` numbers. All computations use double precision.

    The mean of the latent function is zero: far from all samples the classes are equally probable,
    as in scikit-learn, whatever their frequencies. A sample of weight w counts as w equal samples.

    References
    ----------
    .. [1] Hensman, Matthews and Ghahramani, Scalable variational Gaussian process classification,
       AISTATS 2015.
    .. [2] Challis and Barber, Gaussian Kullback-Leibler approximate inference, Journal of Machine
       Learning Research 14, 2013: the bound is concave.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skmoderndata.gaussian_process import SparseGaussianProcessClassifier
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> model = SparseGaussianProcessClassifier(n_inducing=20, random_state=0)
    >>> model = model.fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.96
    True
    >>> model.predict_proba([[-1.0, 0.0], [0.5, 0.25], [50.0, 50.0]]).round(1)
    array([[1. , 0. ],
           [0.6, 0.4],
           [0.5, 0.5]])
    """

    _card = MethodCard(
        family="Gaussian processes",
        cite=("hensman2015scalable", "challis2013gaussian", "titsias2009variational"),
        cost="n m^2 + m^3, m inducing inputs",
    )
    _parameter_constraints = {
        "kernel": PROCESS["kernel"],
        "n_inducing": [AT_LEAST_ONE],
        "inducing": [StrOptions({"k-means", "random", "greedy"}), "array-like"],
        "optimizer": PROCESS["optimizer"],
        "optimize_inducing": ["boolean"],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "subset_size": [AT_LEAST_ONE],
        "jitter": [NON_NEGATIVE],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        kernel=None,
        *,
        n_inducing=100,
        inducing="k-means",
        optimizer="fmin_l_bfgs_b",
        optimize_inducing=True,
        n_restarts_optimizer=0,
        max_iter=100,
        tol=1e-3,
        subset_size=5000,
        jitter=1e-8,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.optimizer = optimizer
        self.optimize_inducing = optimize_inducing
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.subset_size = subset_size
        self.jitter = jitter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Choose hyperparameters and inducing inputs, and condition on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: a sample of weight w counts as w equal samples, and samples of
            weight 0 are ignored.

        Returns
        -------
        self : SparseGaussianProcessClassifier
            The fitted estimator.
        """
        refuse_structured(self)
        X, codes, w = self._input(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        kernel, _ = start_kernel(self.kernel, X, 1.0)
        covariance = Covariance(kernel)
        Z = self._inducing(X, w, covariance, rng)

        # Use the same subset and starts for all classes.
        rows = np.arange(len(X))
        if len(X) > self.subset_size:
            rows = np.sort(rng.choice(len(X), self.subset_size, replace=False))
        start = BinaryProcess(covariance, Z, column_scales(Z), self.jitter)
        seed = rng.randint(MAX_INT32)
        n_classes = len(self._present_classes)
        labels = [1] if n_classes == 2 else range(n_classes)
        signs = [np.where(codes == label, 1.0, -1.0) for label in labels]

        ends, stopped = self._fit_all(start, X, signs, w, rows, seed)
        self._processes = [process for process, _, _ in ends]
        self.kernels_ = [process.covariance.kernel for process in self._processes]
        self.inducing_points_ = [process.Z for process in self._processes]

        bounds = [process.bound for process in self._processes]
        self.lower_bound_ = np.array([bound.objective for bound in bounds])
        self.dual_gap_ = max(bound.gap for bound in bounds) / float(w.sum())
        self.n_iter_ = max(0 if end is None else end.n_iter for _, end, _ in ends)
        if not stopped:
            self._warn(ends, signs, X[rows], rows)
        return self

    @by_rows
    def predict_proba(self, X):
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        X = self._check(X)
        positive = [np.empty(len(X)) for _ in self._processes]
        for process, values in zip(self._processes, positive, strict=True):
            size = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * len(process.Z)))
            for first in range(0, len(X), size):
                rows = slice(first, first + size)
                values[rows] = mean_probability(*process.latent(X[rows]))

        if len(positive) == 1:
            return self._with_impossible(np.column_stack([1 - positive[0], positive[0]]))
        probabilities = np.column_stack(positive)
        return self._with_impossible(probabilities / probabilities.sum(axis=1, keepdims=True))

    @by_rows
    def predict(self, X):
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted labels.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    @in_memory
    def latent_mean_and_variance(self, X):
        """Compute mean and variance of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Means. For two classes, of the function of the second class; otherwise one column for
            the function of each class.
        variance : ndarray of the same shape
            Variances.
        """
        X = self._check(X)
        moments = [process.latent(X) for process in self._processes]
        mean, variance = (np.column_stack(part) for part in zip(*moments, strict=True))
        return (mean[:, 0], variance[:, 0]) if len(moments) == 1 else (mean, variance)

    # ---- input -----------------------------------------------------------------------------

    def _input(self, X, y, sample_weight):
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        w = np.ones(len(X))
        if sample_weight is not None:
            w = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )

        # Drop samples of weight zero.
        seen = w > 0
        X = X[seen]
        w = w[seen]
        classes = np.unique(y)
        present, codes = np.unique(y[seen], return_inverse=True)
        self._keep_classes(classes, np.isin(classes, present), weighted=not seen.all())
        return X, codes, w

    def _check(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _inducing(self, X, w, covariance, rng):
        if isinstance(self.inducing, str):
            return choose_points(X, w, covariance, self.inducing, self.n_inducing, rng)
        Z = check_array(
            np.asarray(self.inducing), dtype=np.float64, input_name="inducing", estimator=self
        )
        if Z.shape[1] != X.shape[1]:
            raise ValueError(
                f"inducing has {Z.shape[1]} columns but X has {X.shape[1]}: pass points with the "
                "columns of X."
            )
        return Z

    # ---- one process -----------------------------------------------------------------------

    def _fit_all(self, start, X, signs, w, rows, seed):
        """Fit one process for each vector of signs; also return whether a callback stopped it."""
        one_by_one = len(signs) == 1 or effective_n_jobs(self.n_jobs) == 1
        task = "iteration" if one_by_one else "processes"
        run = delayed(self._fit_binary)
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")

        with FitProgress(self, X, max_passes=None, task_name=task) as progress:
            if one_by_one:
                ends = [
                    self._fit_binary(start, X, s, w, rows, seed, progress=progress)
                    for s in signs
                ]
            else:
                progress.begin()
                ends = parallel(run(start, X, s, w, rows, seed) for s in signs)
                progress.end()
        return ends, progress.stopped

    def _fit_binary(self, process, X, y, w, rows, seed, progress=None):
        """Optimise a process on the rows of the subset and condition it on all samples."""
        end = None
        bounds = None
        if self.optimizer is not None:
            end, bounds, process = self._optimise(
                process, X[rows], y[rows], w[rows], seed, progress
            )
        conditioned = process.conditioned(X, y, w)
        if conditioned is None:
            raise ValueError(
                "The covariance of the inducing inputs is singular, even with a jitter of 1e-4: "
                "use fewer or other inducing inputs, or a kernel with shorter length scales."
            )
        return conditioned, end, bounds

    def _optimise(self, process, X, y, w, seed, progress):
        points = self.optimize_inducing and process.covariance.fast
        sites = [None]  # sites of the last evaluation, at which the next one starts

        def objective(x):
            value, gradient, sites[0] = process.with_vector(x, points).value_and_gradient(
                X, y, w, points, sites[0]
            )
            return value, gradient

        logs = process.covariance.kernel.bounds.reshape(-1, 2)
        start = process.vector(points)
        free = np.broadcast_to([-np.inf, np.inf], (len(start) - len(logs), 2))
        bounds = np.vstack([logs, free])
        if not len(start):
            return None, None, process
        end = maximise(
            objective,
            start,
            bounds,
            optimizer=self.optimizer,
            max_iter=self.max_iter,
            tol=self.tol * float(w.sum()),
            restarts=self.n_restarts_optimizer,
            rng=check_random_state(seed),
            n_logs=len(logs),
            progress=progress,
        )
        return end, bounds, process.with_vector(end.x, points)

    def _warn(self, ends, signs, X, rows):
        for (process, end, bounds), y in zip(ends, signs, strict=True):
            if process.bound.gap > LARGE_GAP * len(y):
                warn_not_converged(
                    self,
                    reached=f"the bound may rise by {process.bound.gap:.1e} after "
                    f"{process.bound.n_iter} steps of the posterior",
                    remedy="use a kernel of smaller variance",
                )
            if end is None:
                continue
            if not end.converged:
                warn_optimizer(self, end.n_iter)
                break
            tol = self.tol * len(rows)
            kernel = process.covariance.kernel
            Y = y[rows, None]
            warn_of_bounds_and_copies(self, end, bounds, tol, kernel, X, Y, noisy=False)


class BinaryProcess:
    """Process for two classes: covariance, inducing inputs and, once conditioned, posterior."""

    def __init__(self, covariance, Z, unit, jitter):
        self.covariance = covariance
        self.Z = Z
        self.unit = unit  # unit of the inducing inputs in the vector of the optimiser
        self.jitter = jitter

    def vector(self, points):
        """Return the optimiser's vector: logarithms of parameters and, with `points`, Z."""
        theta = self.covariance.kernel.theta
        return np.append(theta, (self.Z / self.unit).ravel()) if points else theta

    def with_vector(self, x, points):
        """Return the process with the parameters of an optimiser's vector."""
        n_logs = self.covariance.kernel.n_dims
        new = copy(self)
        new.covariance = self.covariance.with_theta(x[:n_logs])
        if points:
            new.Z = x[n_logs:].reshape(self.Z.shape) * self.unit
        return new

    def _columns(self, X):
        """Compute kernel values, whitened columns and the variance that they leave unexplained."""
        K_uu = self.covariance(self.Z, self.Z)
        L, jitter = cholesky_with_jitter(K_uu, self.jitter)
        if L is None:
            return None
        K = self.covariance(self.Z, X)
        A = solve_lower(L, K)
        rest = self.covariance.diagonal(X) - np.sum(A * A, axis=0)
        return Columns(K_uu, L, jitter, K, A, np.maximum(rest, 0.0))

    def value_and_gradient(self, X, y, w, points, sites):
        """Compute bound, gradient with respect to `vector(points)`, and sites of the posterior."""
        columns = self._columns(X)
        if columns is None or not np.isfinite(columns.A).all():
            return REJECTED, np.zeros(len(self.vector(points))), sites
        start = first_sites(y) if sites is None else sites
        bound = maximise_bound(
            columns.A, columns.rest, y, w, start, tol=GAP, max_iter=MAX_STEPS
        )

        # Differentiate with respect to the kernel values, then with respect to the parameters.
        by = kernel_slopes(columns.L, columns.A, w, bound)
        slope = self.covariance.slope
        theta, by_points = slope(self.Z, X, columns.K, by.K_uf, by.prior)
        by_uu = by.K_uu + columns.jitter * np.trace(by.K_uu) / len(by.K_uu) * identity(by.K_uu)
        theta_uu, points_uu = slope(self.Z, self.Z, columns.K_uu, by_uu)
        gradient = theta + theta_uu
        if points:
            by_Z = (by_points + 2 * points_uu) * self.unit
            gradient = np.append(gradient, by_Z.ravel())
        return bound.objective, gradient, bound.sites

    def conditioned(self, X, y, w):
        """Return the process with the posterior from all samples; None if K_uu is singular."""
        columns = self._columns(X)
        if columns is None:
            return None
        new = copy(self)
        bound = maximise_bound(
            columns.A, columns.rest, y, w, first_sites(y), tol=GAP, max_iter=MAX_STEPS
        )
        new.L = columns.L
        empty = np.empty(0)
        new.bound = bound._replace(slope=empty, curvature=empty, sites=None)
        return new

    def latent(self, X):
        """Compute mean and variance of the latent function."""
        a = solve_lower(self.L, self.covariance(self.Z, X))
        rest = self.covariance.diagonal(X) - np.sum(a * a, axis=0)
        explained = np.sum(solve_lower(self.bound.R, a) ** 2, axis=0)
        return self.bound.m @ a, np.maximum(rest, 0.0) + explained


class Columns(NamedTuple):
    """Whitened kernel values between inducing inputs and samples."""

    K_uu: np.ndarray
    L: np.ndarray
    jitter: float
    K: np.ndarray  # (m, n)
    A: np.ndarray  # (m, n), L^-1 K
    rest: np.ndarray  # (n,), variance of each sample given the inducing inputs
