"""Bayesian committee machine: Gaussian processes on subsets of the samples, combined."""

import warnings
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import cho_solve, cholesky, solve_triangular
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import validate_data
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, MAX_INT32
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.gaussian.committee import (
    balanced_parts,
    combine_experts,
    expert_weights,
)
from skmoderndata.gaussian_process._base import (
    PROCESS,
    REJECTED,
    Covariance,
    column_scales,
    log_bounds,
    maximise,
    refuse_structured,
    start_kernel,
    warn_of_bounds_and_copies,
    warn_optimizer,
)

# Minimum prior variance, so that the logarithm and the inverse of the variance are finite.
SMALLEST_VARIANCE = 1e-200


class BayesianCommitteeMachine(MultiOutputMixin, RegressorMixin, CallbackSupportMixin, Base):
    r"""Gaussian process regression by a committee of experts, each on a subset of the samples.

    All experts use the kernel and the noise variance s that maximise the sum of their log marginal
    likelihoods. At a new point they predict latent means :math:`\mu_k` and variances
    :math:`\sigma_k^2`. With the prior variance :math:`\sigma_0^2` and weights :math:`\beta_k`, the
    committee predicts

    .. math::
        \sigma^{-2} = \sum_k \beta_k \sigma_k^{-2} + \Bigl(1 - \sum_k \beta_k\Bigr) \sigma_0^{-2},
        \qquad \mu = \sigma^2 \sum_k \beta_k \sigma_k^{-2} \mu_k.

    Parameters
    ----------
    kernel : kernel object of scikit-learn, default=None
        Covariance of the latent function. None means a constant times RBF with one length scale
        for each input. A WhiteKernel in a sum becomes the noise.
    n_experts : "auto" or int, default="auto"
        Number of experts. "auto" means the minimum that `max_expert_size` allows.
    max_expert_size : int, default=500
        Maximum number of samples per expert.
    combine : {"rbcm", "grbcm", "bcm", "gpoe", "poe"}, default="rbcm"
        Rule for the weights :math:`\beta_k`, see Notes.
    partition : {"k-means", "random"}, default="k-means"
        Rule that assigns samples to experts: "k-means" uses neighbourhoods of equal size, "random"
        uses random subsets.
    noise_level : float, default=0.1
        Initial noise variance, in units of the targets after `normalize_y`.
    noise_level_bounds : pair of float, default=(1e-6, 1e3)
        Bounds of the noise variance.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Optimiser, as in scikit-learn's GaussianProcessRegressor. None keeps kernel and noise as
        they are.
    n_restarts_optimizer : int, default=0
        Number of further starts, with hyperparameters drawn within their bounds.
    max_iter : int, default=50
        Maximum number of iterations of the optimiser per start.
    tol : float, default=1e-3
        Tolerance of the optimiser, which stops when ten iterations together increase the
        log-likelihood by less than this value per sample and target.
    subset_experts : int, default=10
        Number of experts used by the optimiser, drawn once.
    normalize_y : bool, default=True
        Whether to centre the targets and divide them by their standard deviation.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the subsets, the experts of the optimiser and the restarts. Pass an
        int for reproducible results.
    n_jobs : int, default=None
        Number of threads over experts, in addition to BLAS threads.

    Attributes
    ----------
    kernel_ : kernel object
        Kernel with the hyperparameters used, without noise.
    noise_level_ : float
        Noise variance used, in units of the standardised targets.
    experts_ : list of ndarray of int
        Indices of the samples of each expert; no sample is listed twice. With "grbcm", the other
        experts are also conditioned on the samples of the first expert, which are listed only
        there.
    log_marginal_likelihood_value_ : float
        Sum of the log marginal likelihoods of the experts.
    n_iter_ : int
        Number of iterations of the optimiser in the best start.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    SparseGaussianProcessRegressor : Fits one process with inducing inputs, with error bounds.
    sklearn.gaussian_process.GaussianProcessRegressor : Fits the exact process in n^3 operations.

    Notes
    -----
    ======= ================================================ ============================
    combine weights                                          far from the data
    ======= ================================================ ============================
    "poe"   1, without the prior                             too sure: variance over M
    "gpoe"  1 / M, without the prior                         the prior; timid near data
    "bcm"   1                                                the prior
    "rbcm"  half the log of prior over posterior variance    the prior
    "grbcm" as "rbcm", a shared part instead of the prior    the prior
    ======= ================================================ ============================

    "bcm" is the committee from [1]_, "rbcm" the committee from [2]_ and "grbcm" the committee from
    [3]_.

    Latent variances are combined, and the noise is added to the result; combining noisy variances
    is a common error. With one expert, "poe", "gpoe" and "bcm" are the exact process; "rbcm" is
    not, because its weight is not 1.

    A fit costs ``n e^2`` operations for experts of e samples, and memory for ``n e`` numbers; a
    prediction costs ``n e``. Predictions are not consistent: there is no joint covariance of
    several points. The approximation has no error bound; `expert_weights` returns the weights of
    the experts at a point. The hyperparameters are common to all targets.

    References
    ----------
    .. [1] Tresp, A Bayesian committee machine, Neural Computation 12(11), 2000.
    .. [2] Deisenroth and Ng, Distributed Gaussian processes, ICML 2015, equations 19 to 21.
    .. [3] Liu, Cai, Wang and Ong, Generalized robust Bayesian committee machine for large-scale
       Gaussian process regression, ICML 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skmoderndata.gaussian_process import BayesianCommitteeMachine
    >>> X, y = make_friedman1(1500, n_features=5, noise=1.0, random_state=0)
    >>> model = BayesianCommitteeMachine(max_expert_size=200, random_state=0)
    >>> model = model.fit(X[:1000], y[:1000])
    >>> len(model.experts_), round(model.score(X[1000:], y[1000:]), 2)
    (5, 0.96)
    """

    _card = MethodCard(
        family="Gaussian processes",
        cite=("tresp2000bayesian", "deisenroth2015distributed", "liu2018generalized"),
        cost="n e^2, e samples an expert",
        tier="textbook",
        instead="Use RBFInterpolator of SciPy with its 50 nearest neighbours and smoothing: "
        "noisy pixels of a photograph are filled in with the same error, in a fraction "
        "of the time.",
    )
    _parameter_constraints = {
        **PROCESS,
        "n_experts": [StrOptions({"auto"}), AT_LEAST_ONE],
        "max_expert_size": [Interval(Integral, 2, None, closed="left")],
        "combine": [StrOptions({"poe", "gpoe", "bcm", "rbcm", "grbcm"})],
        "partition": [StrOptions({"k-means", "random"})],
        "noise_level_bounds": [tuple, list],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "subset_experts": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        kernel=None,
        *,
        n_experts="auto",
        max_expert_size=500,
        combine="rbcm",
        partition="k-means",
        noise_level=0.1,
        noise_level_bounds=(1e-6, 1e3),
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0,
        max_iter=50,
        tol=1e-3,
        subset_experts=10,
        normalize_y=True,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.n_experts = n_experts
        self.max_expert_size = max_expert_size
        self.combine = combine
        self.partition = partition
        self.noise_level = noise_level
        self.noise_level_bounds = noise_level_bounds
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.subset_experts = subset_experts
        self.normalize_y = normalize_y
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y):
        """Choose hyperparameters and condition each expert on its samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : BayesianCommitteeMachine
            The fitted estimator.
        """
        refuse_structured(self)
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        self._dtype = X.dtype
        self._flat = y.ndim == 1
        X = X.astype(np.float64, copy=False)
        Y = y.astype(np.float64).reshape(len(y), -1)

        self._mean = np.zeros(Y.shape[1])
        self._std = np.ones(Y.shape[1])
        # After standardisation, the noise is a fraction of the variance of the targets.
        if self.normalize_y:
            self._mean = Y.mean(axis=0)
            self._std = column_scales(Y)
        Y = (Y - self._mean) / self._std

        rng = check_random_state(self.random_state)
        self.experts_ = self._parts(X, rng)
        kernel, noise = start_kernel(self.kernel, X, self.noise_level)
        self.n_iter_ = 0
        # Optimise the sum of the marginal likelihoods of the experts.
        if self.optimizer is not None:
            kernel, noise = self._optimise(kernel, noise, X, Y, rng)

        # Condition each expert on its samples.
        self.kernel_ = kernel
        self.noise_level_ = noise
        tasks = [(kernel, noise, X[rows], Y[rows]) for rows in self._samples()]
        self._committee = self._parallel(_Expert.condition, tasks)

        value = sum(expert.log_likelihood for expert in self._committee)
        self.log_marginal_likelihood_value_ = float(value)
        return self

    @by_rows
    def predict(self, X, return_std=False, include_noise=True):
        """Predict targets, and their uncertainty if requested.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Whether to return the standard deviations, too.
        include_noise : bool, default=True
            Whether the uncertainty refers to new targets, which have noise, or, if False, to the
            latent function.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive means.
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive standard deviations, with `return_std`.
        """
        check_is_fitted(self)
        noise = self.noise_level_ if include_noise else 0.0
        means = []
        spreads = []
        for experts_means, variances, prior in self._experts(X):
            mean, variance = combine_experts(self.combine, experts_means, variances, prior)
            spread = np.sqrt(np.maximum(variance, 0) + noise)
            means.append(mean * self._std + self._mean)
            spreads.append(spread[:, None] * self._std)

        mean = self._shaped(np.concatenate(means))
        if not return_std:
            return mean
        return mean, self._shaped(np.concatenate(spreads))

    @in_memory
    def expert_weights(self, X):
        """Compute the weights beta of the experts at X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_experts)
            Exponents of the experts' predictions.
        """
        blocks = [
            expert_weights(self.combine, variances, prior).T
            for _, variances, prior in self._experts(X)
        ]
        return np.concatenate(blocks)

    # ---- experts ---------------------------------------------------------------------------

    def _parts(self, X, rng):
        n = len(X)
        n_experts = self.n_experts
        if n_experts == "auto":
            n_experts = -(-n // self.max_expert_size)
        n_experts = min(n_experts, n)
        size = -(-n // n_experts)
        if size > self.max_expert_size:
            raise ValueError(
                f"n_experts={self.n_experts} assigns {size} samples to an expert, above "
                f"max_expert_size={self.max_expert_size}: increase one of them."
            )

        rows = np.arange(n)
        # grBCM has a communication expert, whose samples are shared by all other experts.
        shared = []
        if self.combine == "grbcm" and n_experts > 1:
            rows = rng.permutation(n)
            shared = [np.sort(rows[:size])]
            rows = np.sort(rows[size:])
            n_experts -= 1

        if self.partition == "random":
            subsets = np.array_split(rng.permutation(rows), n_experts)
            return [*shared, *map(np.sort, subsets)]

        # Cluster neighbouring samples and cut the clusters to equal size.
        U = (X[rows] - X.mean(axis=0)) / column_scales(X)
        seed = rng.randint(MAX_INT32)
        means = MiniBatchKMeans(n_experts, random_state=seed, n_init=1, batch_size=2048)
        # It is harmless if there are fewer distinct samples than experts, because the clusters are
        # balanced.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means.fit(U)

        size = -(-len(rows) // n_experts)
        clusters = balanced_parts(U, means.cluster_centers_, size)
        return shared + [rows[cluster] for cluster in clusters]

    def _samples(self):
        """Return the rows that each expert is conditioned on."""
        if self.combine != "grbcm" or len(self.experts_) == 1:
            return self.experts_
        shared, *others = self.experts_
        return [shared] + [np.concatenate([shared, rows]) for rows in others]

    def _optimise(self, kernel, noise, X, Y, rng):
        bounds = log_bounds(kernel, self.noise_level_bounds)
        order = rng.permutation(len(self.experts_))
        drawn = np.sort(order[: self.subset_experts])
        subsets = [self.experts_[k] for k in drawn]
        data_of_subsets = [(X[rows], Y[rows]) for rows in subsets]

        def at(theta):
            return kernel.clone_with_theta(theta[:-1]), float(np.exp(theta[-1]))

        def objective(theta):
            hyperparameters = at(theta)
            tasks = [(*hyperparameters, *samples) for samples in data_of_subsets]
            values, gradients = zip(*self._parallel(_log_likelihood, tasks), strict=True)
            return sum(values), sum(gradients)

        # Optimise the logarithms of the parameters; the noise comes last.
        log_noise = np.clip(np.log(noise), *bounds[-1])
        start = np.append(kernel.theta, log_noise)
        rows = np.concatenate(subsets)
        tol = self.tol * len(rows) * Y.shape[1]
        passes = self.max_iter * (1 + self.n_restarts_optimizer)

        with FitProgress(self, X, Y, max_passes=passes) as progress:
            maximum = maximise(
                objective,
                start,
                bounds,
                optimizer=self.optimizer,
                max_iter=self.max_iter,
                tol=tol,
                restarts=self.n_restarts_optimizer,
                rng=rng,
                progress=progress,
            )

        self.n_iter_ = maximum.n_iter
        if not progress.stopped:
            if not maximum.converged:
                warn_optimizer(self, maximum.n_iter)
            warn_of_bounds_and_copies(self, maximum, bounds, tol, kernel, X[rows], Y[rows])

        return at(maximum.x)

    def _parallel(self, function, tasks):
        pool = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return pool(delayed(function)(*arguments) for arguments in tasks)

    def _experts(self, X):
        """Yield means, variances and prior variances of all experts for blocks of rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        X = X.astype(np.float64, copy=False)
        largest = max(len(expert.alpha) for expert in self._committee)
        size = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * largest))
        for a in range(0, len(X), size):
            block = X[a : a + size]
            tasks = [(expert, self.kernel_, block) for expert in self._committee]
            means, variances = zip(*self._parallel(_Expert.predict, tasks), strict=True)
            prior = np.maximum(self.kernel_.diag(block), SMALLEST_VARIANCE)
            # The variance at an exactly known sample is a rounding error. If the kernel value of a
            # sample with itself is 0, the variance equals the prior variance.
            variances = np.maximum(np.stack(variances), ROUNDING * prior)
            variances[:, prior == SMALLEST_VARIANCE] = SMALLEST_VARIANCE
            yield np.stack(means), variances, prior

    def _shaped(self, values):
        values = values.astype(self._dtype, copy=False)
        return values[:, 0] if self._flat else values


class _Expert:
    """An exact Gaussian process on a subset of the samples."""

    def __init__(self, X, L, alpha, log_likelihood):
        self.X = X
        self.L = L
        self.alpha = alpha
        self.log_likelihood = log_likelihood

    @classmethod
    def condition(cls, kernel, noise, X, Y):
        L = _factor(kernel(X), noise)
        if L is None:
            raise ValueError(
                "kernel is not positive definite on the samples: increase the lower bound of the "
                "noise (noise_level_bounds) or use another kernel."
            )
        alpha = cho_solve((L, True), Y, check_finite=False)
        return cls(X, L, alpha, _value(L, Y, alpha))

    def predict(self, kernel, X):
        K = kernel(self.X, X)
        mean = K.T @ self.alpha
        whitened = solve_triangular(self.L, K, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", whitened, whitened)
        return mean, kernel.diag(X) - explained


def _factor(K, noise):
    """Compute the Cholesky factor of ``K + noise I``, or None if it does not exist."""
    K = K + 0.0
    K[np.diag_indices_from(K)] += noise
    try:
        L = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return L if np.isfinite(np.diag(L)).all() else None


def _value(L, Y, alpha):
    n, t = Y.shape
    log_det = 2 * np.log(np.diag(L)).sum()
    constant = n * np.log(2 * np.pi)
    return -0.5 * (np.vdot(Y, alpha) + t * (log_det + constant))


def _log_likelihood(kernel, noise, X, Y):
    """Compute the log marginal likelihood; differentiate it with respect to theta and log noise.

    The gradient is ``1/2 tr((alpha alpha' - K^-1) dK)``: equation 5.9 in Rasmussen and Williams
    (2006).
    """
    covariance = Covariance(kernel)
    by = None
    if covariance.fast:
        K = covariance(X, X)
    else:
        K, by = kernel(X, eval_gradient=True)
    L = _factor(K, noise)
    if L is None:
        return REJECTED, np.zeros(kernel.n_dims + 1)

    # The gradient is 1/2 tr(G dK), with G = alpha alpha' - K^-1 for each target.
    alpha = cho_solve((L, True), Y, check_finite=False)
    inverse = cho_solve((L, True), np.eye(len(X)), check_finite=False)
    G = alpha @ alpha.T - Y.shape[1] * inverse
    if by is not None:
        theta = np.tensordot(G, by, axes=2)
    else:
        theta, _ = covariance.slope(X, X, K, G)
    gradient = 0.5 * np.append(theta, noise * np.trace(G))
    return _value(L, Y, alpha), gradient
