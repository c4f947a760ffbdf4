"""Gaussian process regression through inducing inputs."""

from numbers import Integral

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    all_or_nothing,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.early_rows import EarlyRows
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array, validate_data
from skmoderndata._kernelized.landmarks import check_numbers, rows_in_blocks, survey_of
from skmoderndata._solvers.common.arrays import (
    TEMPORARY_BYTES,
    as_numpy,
    check_array_namespace,
    get_array_namespace,
    move_array,
)
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.gaussian.inducing import identity, target_moments
from skmoderndata.gaussian_process._base import (
    PROCESS,
    Covariance,
    check_noise_bounds,
    column_scales,
    maximise,
    refuse_structured,
    start_kernel,
    warn_of_bounds_and_copies,
    warn_optimizer,
)
from skmoderndata.gaussian_process._blocks_base import RowReader, RowsInBlocks, RowsInMemory
from skmoderndata.gaussian_process._inducing_base import (
    MOST_FOR_CENTRES,
    InducingModel,
    Posterior,
    Samples,
    points_of_sample,
    rows_for_centres,
    value_and_gradient,
)

# Minimum number of rows per inducing input that are collected from a stream before hyperparameters
# are optimised.
ROWS_PER_POINT = 8


class SparseGaussianProcessRegressor(
    MultiOutputMixin, RegressorMixin, CallbackSupportMixin, Base
):
    r"""Gaussian process regression for many samples, through inducing inputs.

    m inducing inputs Z summarise n samples. With
    :math:`Q = K_{fu} (K_{uu} + \text{jitter})^{-1} K_{uf}`, noise variance s and standardised
    targets y, the hyperparameters and Z maximise, by default [1]_,

    .. math::
        F = \log N(y;\, 0,\, Q + s I) - \frac{1}{2 s} \operatorname{tr}(K - Q),

    a lower bound on the exact log marginal likelihood; `algorithm` lists the other approximations.
    The exact value lies between `lower_bound_` and `upper_bound_`.

    Parameters
    ----------
    kernel : kernel object of scikit-learn, default=None
        Covariance of the latent function. None means a constant times RBF with one length scale
        for each input. A WhiteKernel in a sum becomes the noise.
    algorithm : str, default="vfe"
        Approximation, see Notes: "vfe", "fitc", "dtc" (also called "projected_process"), "sor",
        "nystroem" or "subset".
    n_inducing : int, default=200
        Number of inducing inputs, reduced if there are fewer distinct samples.
    inducing : str or array-like of shape (m, n_features), default="k-means"
        Initial inducing inputs: centres of k-means ("k-means"), random samples ("random"), samples
        selected by pivoted Cholesky decomposition of the kernel matrix ("greedy"), or an array of
        points.
    noise_level : float, default=0.1
        Initial noise variance, in units of the targets after `normalize_y`, as in WhiteKernel.
    noise_level_bounds : pair of float, default=(1e-6, 1e3)
        Bounds of the noise variance.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Optimiser, as in scikit-learn's GaussianProcessRegressor. None keeps kernel and noise as
        they are.
    optimize_inducing : bool, default=True
        Whether to optimise the inducing inputs, too; only for kernels of the fast form, see Notes.
    n_restarts_optimizer : int, default=0
        Number of further starts, with hyperparameters drawn within their bounds.
    max_iter : int, default=200
        Maximum number of iterations of the optimiser per start.
    tol : float, default=1e-3
        Tolerance of the optimiser, which stops when ten iterations together increase the objective
        by less than this value per sample and target.
    subset_size : int, default=5000
        Number of random samples used by the optimiser; the posterior uses all n.
    polish_iter : int, default=0
        Number of final iterations of the optimiser on all samples.
    normalize_y : bool, default=True
        Whether to centre the targets and divide them by their standard deviation.
    jitter : float, default=1e-8
        Value added to the diagonal of K_uu, relative to its mean. If K_uu is singular, it is
        increased by factors of ten up to 1e-4.
    batch_size : int, default=None
        Number of samples in a block; None means blocks with 32 MB of kernel values.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the subset, the inducing inputs and the restarts. Pass an int for
        reproducible results.
    n_jobs : int, default=None
        Number of threads over blocks of samples, in addition to BLAS threads.

    Attributes
    ----------
    kernel_ : kernel object
        Kernel with the hyperparameters used, without noise.
    noise_level_ : float
        Noise variance used, in units of the standardised targets.
    inducing_points_ : ndarray of shape (m, n_features)
        Inducing inputs used.
    log_marginal_likelihood_value_ : float
        Objective of `algorithm` on all samples.
    lower_bound_ : float
        Lower bound on the exact log marginal likelihood: the F above.
    upper_bound_ : float
        Upper bound on the exact log marginal likelihood [2]_.
    bound_gap_ : float
        Certificate: the difference between the bounds per sample and target.
    jitter_ : float
        Jitter used.
    n_iter_ : int
        Number of iterations of the optimiser in the best start.
    n_samples_seen_ : float
        Number of samples, or sum of their weights.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    BayesianCommitteeMachine : Combines exact processes on subsets of the samples.
    sklearn.gaussian_process.GaussianProcessRegressor : Fits the exact process in n^3 operations.
    sklearn.kernel_approximation.Nystroem : Computes features for ridge regression: fast, without
        variances.

    Notes
    -----
    With :math:`A = K_{uu} + K_{uf} D^{-1} K_{fu}`, and with the covariances k of a new sample with
    Z, the algorithms are [3]_

    ==================== ============================ =====================================
    algorithm            D                            latent variance
    ==================== ============================ =====================================
    "vfe"                :math:`s I`                  :math:`k_{**} - k'K_{uu}^{-1}k + k'A^{-1}k`
    "dtc"                :math:`s I`, no trace in F   the same
    "fitc"               :math:`\text{diag}(K-Q)+sI`  the same
    "sor"                :math:`s I`, no trace in F   :math:`k'A^{-1}k`, too small far away
    "nystroem"           :math:`s I`, no trace in F   :math:`k_{**} - k_f'(Q+sI)^{-1}k_f`, clipped
    "subset"             exact process on m samples   exact on these
    ==================== ============================ =====================================

    The mean is :math:`k'A^{-1} K_{uf} D^{-1} y`; with "nystroem" it is
    :math:`k_f'(Q + s I)^{-1} y` with the exact covariances to all samples, which "nystroem"
    stores. The hyperparameters are common to all targets, whose objectives are summed. A sample of
    weight w counts as w equal samples.

    A fit costs ``n m^2`` operations and needs memory for ``m^2`` numbers and one block. All
    statistics are in double precision, because they lose definiteness in single precision.

    The fast form is a constant times RBF, Matern (nu 1/2, 3/2, 5/2) or RationalQuadratic. Other
    kernels use scikit-learn's gradient, which costs several times as much, and the inducing inputs
    keep their initial values. With the fast form and array API dispatch enabled in scikit-learn,
    arrays of other libraries are not converted.

    `partial_fit` and `merge` add samples to a fitted estimator at fixed hyperparameters, exactly
    and in any order. Without a previous `fit`, `partial_fit` collects the first samples, eight for
    each inducing input, and chooses inducing inputs from all of them again whenever the number of
    samples has grown by a quarter; meanwhile, it uses the initial hyperparameters. Once there are
    enough samples, it optimises the hyperparameters as `fit` does. With ``optimizer=None`` and an
    array of inducing inputs, it stores no samples.

    References
    ----------
    .. [1] Titsias, Variational learning of inducing variables in sparse Gaussian processes,
       AISTATS 2009, equation 9.
    .. [2] Titsias, Variational inference for Gaussian and determinantal point processes, NIPS
       workshop on variational inference, 2014.
    .. [3] Quinonero-Candela and Rasmussen, A unifying view of sparse approximate Gaussian process
       regression, Journal of Machine Learning Research 6, 2005.
    .. [4] Burt, Rasmussen and van der Wilk, Convergence of sparse variational inference in
       Gaussian processes regression, Journal of Machine Learning Research 21, 2020: the greedy
       choice of inducing inputs.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skmoderndata.gaussian_process import SparseGaussianProcessRegressor
    >>> X, y = make_friedman1(3000, n_features=5, noise=1.0, random_state=0)
    >>> model = SparseGaussianProcessRegressor(n_inducing=50, random_state=0)
    >>> model = model.fit(X[:2000], y[:2000])
    >>> round(model.score(X[2000:], y[2000:]), 2)
    0.96
    >>> mean, std = model.predict(X[2000:], return_std=True)
    >>> round(float((abs(mean - y[2000:]) < std).mean()), 1)   # two thirds are expected
    0.7
    """

    _card = MethodCard(
        family="Gaussian processes",
        cite=("titsias2009variational", "quinonero2005unifying", "burt2020convergence"),
        cost="n m^2 + m^3, m inducing inputs",
        fits_blocks=True,
    )
    _parameter_constraints = {
        **PROCESS,
        "algorithm": [
            StrOptions(
                {"vfe", "fitc", "dtc", "projected_process", "sor", "nystroem", "subset"}
            )
        ],
        "n_inducing": [AT_LEAST_ONE],
        "inducing": [StrOptions({"k-means", "random", "greedy"}), "array-like"],
        "noise_level_bounds": [tuple, list],
        "optimize_inducing": ["boolean"],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "subset_size": [AT_LEAST_ONE],
        "polish_iter": [Interval(Integral, 0, None, closed="left")],
        "jitter": [NON_NEGATIVE],
        "batch_size": [AT_LEAST_ONE, None],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        kernel=None,
        *,
        algorithm="vfe",
        n_inducing=200,
        inducing="k-means",
        noise_level=0.1,
        noise_level_bounds=(1e-6, 1e3),
        optimizer="fmin_l_bfgs_b",
        optimize_inducing=True,
        n_restarts_optimizer=0,
        max_iter=200,
        tol=1e-3,
        subset_size=5000,
        polish_iter=0,
        normalize_y=True,
        jitter=1e-8,
        batch_size=None,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.algorithm = algorithm
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.noise_level = noise_level
        self.noise_level_bounds = noise_level_bounds
        self.optimizer = optimizer
        self.optimize_inducing = optimize_inducing
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.subset_size = subset_size
        self.polish_iter = polish_iter
        self.normalize_y = normalize_y
        self.jitter = jitter
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y, sample_weight=None):
        """Choose hyperparameters and inducing inputs, and condition on all samples.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_features)
            Training data.
        y : array-like or Dask array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like or Dask array of shape (n_samples,), default=None
            Weights of the samples: a sample of weight w counts as w equal samples, and samples of
            weight 0 are ignored.

        Returns
        -------
        self : SparseGaussianProcessRegressor
            The fitted estimator.
        """
        refuse_structured(self)
        read = self._rows_in_blocks if in_blocks(X, on_disk=False) else self._rows_in_memory
        rows = read(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        model = self._open(rows, rng)

        # "subset" fits the exact process to the samples nearest to the inducing inputs.
        if self.algorithm == "subset":
            rows = rows.nearest(model.Z)
            model = model._replace(Z=rows.X)

        self.n_iter_ = 0
        if self.optimizer is not None:
            model = self._optimise(model, rows, rng)
        self._condition(Posterior(model, self._rule, self.jitter), rows)

        # "nystroem" predicts with the covariances between all training samples and the new
        # samples, instead of inducing inputs.
        if self.algorithm == "nystroem":
            scaled = self._cut(rows).read_as(*self._posterior.moments)
            self._samples = Samples(self._posterior, scaled.blocks)
        return self

    def _rows_in_memory(self, X, y, sample_weight):
        return RowsInMemory(*self._input(X, y, sample_weight, reset=True), n_jobs=self.n_jobs)

    def _rows_in_blocks(self, X, y, sample_weight):
        self._check_additive("fit of a Dask array")
        blocks, weighted = rows_in_blocks(
            self, X, y, sample_weight=sample_weight, accept_sparse=False
        )
        self._dtype = np.float32 if blocks.arrays[0].dtype == np.float32 else np.float64
        self._flat = blocks.arrays[-1].ndim == 1
        check_numbers(self, blocks)
        survey = survey_of(self, blocks, weighted)
        return RowsInBlocks(blocks, survey, RowReader(weighted), n_jobs=self.n_jobs)

    @fit_context()
    def partial_fit(self, X, y, sample_weight=None):
        """Add samples, exactly and in any order, once hyperparameters and inducing inputs are set.

        They come from `fit` or, if the estimator is not fitted, from the first samples: eight for
        each inducing input, however the samples are divided into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : SparseGaussianProcessRegressor
            The estimator, conditioned on all samples seen so far.
        """
        self._check_additive("partial_fit")
        first = not self.__sklearn_is_fitted__()
        X, Y, w = self._input(X, y, sample_weight, reset=first)
        if first:
            self._start_stream(EarlyRows(X, w, Y))
        elif self._early is not None:
            batch = RowsInMemory(X, Y, w, n_jobs=self.n_jobs)
            self._start_stream(self._early.plus(X, w, Y), batch)
        else:
            self._condition(self._posterior, RowsInMemory(X, Y, w, n_jobs=self.n_jobs))
        return self

    def _start_stream(self, early, batch=None):
        """Choose the model from the first samples, the latest of which are `batch`."""
        fixed_points = not isinstance(self.inducing, str)
        n_points = len(self.inducing) if fixed_points else self.n_inducing
        decided = fixed_points and self.optimizer is None
        enough = decided or early.n_rows >= ROWS_PER_POINT * n_points

        # If there are few new samples, keep the inducing inputs.
        if not enough and not early.are_due:
            self._condition(self._posterior, batch)
            self._early = early
            return

        rng = check_random_state(self.random_state)
        rows = RowsInMemory(early.X, early.y, early.weights, n_jobs=self.n_jobs)
        model = self._open(rows, rng)
        self.n_iter_ = 0
        if enough and self.optimizer is not None:
            model = self._optimise(model, rows, rng)
        self._condition(Posterior(model, self._rule, self.jitter), rows)
        if not enough:
            self._early = early._replace(n_fitted=early.n_rows).copy()

    @all_or_nothing
    def merge(self, other):
        """Add the samples of another estimator with equal hyperparameters, exactly, in any order.

        Parameters
        ----------
        other : SparseGaussianProcessRegressor
            Fitted estimator with the same `algorithm`, kernel, noise and inducing inputs.

        Returns
        -------
        self : SparseGaussianProcessRegressor
            The estimator, as if it were conditioned on the samples of both.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        self._check_additive("merge")
        if type(other) is not type(self):
            raise ValueError(
                f"SparseGaussianProcessRegressor cannot merge with {type(other).__name__}."
            )

        # Sums over samples may be added only if everything else is equal.
        same = {
            "algorithm": self.algorithm == other.algorithm,
            "kernel_": self.kernel_ == other.kernel_,
            "noise_level_": self.noise_level_ == other.noise_level_,
            "inducing_points_": self._same_points(other),
            "number of targets": _n_targets(self) == _n_targets(other),
        }
        differ = [name for name in same if not same[name]]
        if differ:
            raise ValueError(
                "SparseGaussianProcessRegressor cannot merge: the estimators differ in "
                f"{', '.join(differ)}. Use the same kernel, noise_level and array of inducing "
                "inputs for both, and optimizer=None."
            )

        merged = self._posterior.merge(other._posterior)
        self._store(merged.solve(self.normalize_y))
        return self

    @by_rows
    def predict(self, X, return_std=False, return_cov=False, include_noise=True):
        """Predict targets, and their uncertainty if requested.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Whether to return the standard deviations, too.
        return_cov : bool, default=False
            Whether to return the covariances, too.
        include_noise : bool, default=True
            Whether the uncertainty refers to new targets, which have noise, or, if False, to the
            latent function.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive means.
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive standard deviations, with `return_std`.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Predictive covariances, with `return_cov`.
        """
        if return_std and return_cov:
            raise ValueError("predict accepts only one of return_std and return_cov.")
        X, xp = self._check(X, "predict")
        noise = self.noise_level_ if include_noise else 0.0
        mean_y, std_y = self._posterior.moments
        latent = self._samples if self.algorithm == "nystroem" else self._posterior
        sor = self.algorithm == "sor"

        if return_cov:
            # Compute the joint covariance of all rows, in the units of y.
            mean, spread = latent.predict(X, covariance=True, sor=sor)
            if noise:
                spread = spread + noise * identity(spread)
            spread = spread[:, :, None] * std_y**2
            mean = mean * std_y + mean_y
            return self._shaped(mean, xp), self._shaped(spread, xp)

        means = []
        spreads = []
        # Compute the variances in blocks of rows.
        for a, b in self._cuts(X.shape[0]):
            mean, spread = latent.predict(X[a:b, :], variance=return_std, sor=sor)
            means.append(mean * std_y + mean_y)
            if return_std:
                spreads.append(xp.sqrt(spread + noise)[:, None] * std_y)

        mean = self._shaped(xp.concat(means, axis=0), xp)
        if not return_std:
            return mean
        return mean, self._shaped(xp.concat(spreads, axis=0), xp)

    @in_memory
    def sample_y(self, X, n_samples=1, random_state=0, include_noise=True):
        """Draw targets or latent functions from the posterior at X.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points at which to draw.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Generator or seed for the draws. Pass an int for reproducible results.
        include_noise : bool, default=True
            Whether the draws are targets, with independent noise at each point, or, if False,
            values of the latent function.

        Returns
        -------
        y : ndarray of shape (n_points, n_samples) or (n_points, n_targets, n_samples)
            Drawn values.
        """
        mean, cov = self.predict(X, return_cov=True, include_noise=include_noise)
        mean = np.asarray(as_numpy(mean))
        cov = np.asarray(as_numpy(cov))
        rng = check_random_state(random_state)

        def draw(m, C):
            return rng.multivariate_normal(m, C, n_samples, check_valid="ignore").T

        if mean.ndim == 1:
            return draw(mean, cov)
        draws = [draw(mean[:, j], cov[:, :, j]) for j in range(mean.shape[1])]
        return np.stack(draws, axis=1)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, X=None, y=None):
        """Compute the objective of `algorithm` for values of the hyperparameters.

        Parameters
        ----------
        theta : array-like of shape (n_parameters + 1,), default=None
            Logarithms of the parameters of `kernel_` that are not fixed, and of the noise
            variance. None uses the fitted values.
        eval_gradient : bool, default=False
            Whether to return the gradient, too.
        X : array-like of shape (n_samples, n_features), default=None
            Samples, required for other values of `theta` because the estimator stores no samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Targets of the samples.

        Returns
        -------
        value : float
            Objective at `theta`.
        gradient : ndarray of shape (n_parameters + 1,)
            Gradient of the objective, with `eval_gradient`.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient and X is None:
            return self.log_marginal_likelihood_value_
        if X is None or y is None:
            raise ValueError(
                "log_marginal_likelihood needs X and y for a value of theta or a gradient, "
                "because the estimator stores no samples."
            )

        X, Y, w = self._input(X, y, None, reset=False)
        model = self._posterior.model
        theta = model.theta() if theta is None else np.asarray(theta, dtype=np.float64)
        model = model.with_theta(theta)

        # Use the units of the standardised targets.
        mean, std = self._posterior.moments
        rows = self._cut(RowsInMemory(X, (Y - mean) / std, w, n_jobs=self.n_jobs))
        value, gradient = self._value(model, rows, points=False)

        return (value, gradient) if eval_gradient else value

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_posterior")

    # ---- input -----------------------------------------------------------------------------

    def _input(self, X, y, sample_weight, *, reset):
        if not reset:
            check_array_namespace(X, self.inducing_points_, type(self).__name__)
        xp, _ = get_array_namespace(X)
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=[xp.float64, xp.float32],
            multi_output=True,
            y_numeric=True,
        )

        # Check targets and weights with NumPy.
        Y = np.asarray(as_numpy(y), dtype=np.float64)
        if reset:
            self._dtype = X.dtype
            self._flat = Y.ndim == 1
        elif (Y.ndim == 1) != self._flat:
            raise ValueError("y must have the same number of targets as before.")

        w = np.ones(len(Y))
        if sample_weight is not None:
            weights = as_numpy(sample_weight)
            w = check_sample_weight(
                weights, w[:, None], dtype=np.float64, ensure_non_negative=True
            )
            if not w.any():
                raise ValueError(
                    "SparseGaussianProcessRegressor needs at least one sample of positive weight, "
                    "but all sample_weight are zero."
                )

        X = xp.astype(X, xp.float64, copy=False)
        Y = Y.reshape(len(Y), -1)
        # Drop samples of weight zero.
        if not w.all():
            seen = np.flatnonzero(w)
            X = xp.take(X, move_array(seen, X), axis=0)
            Y = Y[seen]
            w = w[seen]

        return X, move_array(Y, X), move_array(w, X)

    def _check(self, X, method):
        check_is_fitted(self)
        check_array_namespace(X, self.inducing_points_, f"{type(self).__name__}.{method}")
        xp, _ = get_array_namespace(X)
        X = validate_data(self, X, reset=False, dtype=[xp.float64, xp.float32])
        return xp.astype(X, xp.float64, copy=False), xp

    def _shaped(self, values, xp):
        """Drop the axis of a single target and return the precision of the training data."""
        values = xp.astype(values, self._dtype, copy=False)
        return values[..., 0] if self._flat else values

    def _block_size(self):
        return self.batch_size or max(1, TEMPORARY_BYTES // (FLOAT_BYTES * self._m))

    def _cuts(self, n):
        size = self._block_size()
        return [(a, min(a + size, n)) for a in range(0, n, size)]

    def _cut(self, rows):
        """Return the rows, to be processed in blocks."""
        return rows.read_as(size=self._block_size())

    def _check_additive(self, what):
        if self.algorithm in ("subset", "nystroem"):
            raise ValueError(
                f"SparseGaussianProcessRegressor.{what} needs an algorithm other than "
                f'"{self.algorithm}", whose posterior is not a sum over samples.'
            )

    def _same_points(self, other):
        mine = as_numpy(self.inducing_points_)
        theirs = as_numpy(other.inducing_points_)
        return mine.shape == theirs.shape and bool((mine == theirs).all())

    # ---- start -----------------------------------------------------------------------------

    def _open(self, rows, rng):
        """Create the initial model."""
        low, high = check_noise_bounds(self.noise_level_bounds)
        seen = rows.first(MOST_FOR_CENTRES)
        kernel, noise = start_kernel(self.kernel, seen, self.noise_level)
        covariance = Covariance(kernel)
        if rows.xp is not np and not covariance.fast:
            raise ValueError(
                f"kernel {kernel} accepts only NumPy arrays: use a constant times RBF, Matern or "
                "RationalQuadratic, or convert X."
            )

        if isinstance(self.inducing, str):
            sample, weights = rows.sample(rows_for_centres(rows.n_rows, rng))
            Z = points_of_sample(
                sample, weights, covariance, self.inducing, self.n_inducing, rng
            )
        else:
            Z = self._given_points(seen)
        Z = rows.moved(Z)
        self._m = Z.shape[0]
        scales = column_scales(np.asarray(as_numpy(Z)))
        noise = float(np.clip(noise, low, high))
        return InducingModel(covariance, noise, Z, rows.moved(scales))

    def _given_points(self, X):
        """Check inducing inputs that were passed as an array, for rows like X."""
        Z = check_array(
            np.asarray(self.inducing),
            dtype=np.float64,
            input_name="inducing",
            estimator=self,
        )
        if Z.shape[1] != X.shape[1]:
            raise ValueError(
                f"inducing has {Z.shape[1]} columns but X has {X.shape[1]}: pass points with the "
                "columns of X."
            )
        return Z

    # ---- hyperparameters ------------------------------------------------------------------

    def _optimise(self, model, rows, rng):
        """Maximise the objective on a subset, then for a few steps on all samples."""
        rows = self._cut(rows)
        mean = rows.xp.zeros_like(rows.shift)
        std = mean + 1
        if self.normalize_y:
            mean, std = target_moments(rows.target_sums())
        everything = rows.read_as(mean, std)
        subset = self._cut(everything.subset(self.subset_size, rng))
        n = rows.n_rows

        # Plan the stages: many steps on the subset, then a few steps on all samples.
        n_targets = subset.Y.shape[1]
        stages = [(subset, subset.n_rows, self.max_iter, self.n_restarts_optimizer)]
        if self.polish_iter and n > self.subset_size:
            stages.append((everything, n, self.polish_iter, 0))

        # Move the inducing inputs only if the kernel is differentiable in them.
        points = self.optimize_inducing and self.algorithm != "subset"
        points = points and model.covariance.fast
        passes = sum(max_iter * (1 + restarts) for *_, max_iter, restarts in stages)

        shown = subset if everything.is_lazy else everything
        with FitProgress(self, shown.X, shown.Y, max_passes=passes) as progress:
            for data, n_data, max_iter, restarts in stages:
                if progress.stopped:
                    continue

                def objective(x, start=model, data=data):
                    return self._value(start.with_vector(x, points), data, points)

                bounds = model.bounds(self.noise_level_bounds, points)
                tol = self.tol * n_data * n_targets
                maximum = maximise(
                    objective,
                    model.vector(points),
                    bounds,
                    optimizer=self.optimizer,
                    max_iter=max_iter,
                    tol=tol,
                    restarts=restarts,
                    rng=rng,
                    n_logs=model.n_logs,
                    progress=progress,
                )

                # Continue the next stage from the maximum.
                model = model.with_vector(maximum.x, points)
                n_iter = maximum.n_iter
                self.n_iter_ += n_iter
                unfinished = not maximum.converged and n_iter >= max_iter
                if unfinished and not progress.stopped:
                    warn_optimizer(self, n_iter)

        if not progress.stopped:
            X, Y = (np.asarray(as_numpy(a)) for a in (subset.X, subset.Y))
            kernel = model.covariance.kernel
            warn_of_bounds_and_copies(self, maximum, bounds, tol, kernel, X, Y)
        return model

    def _value(self, model, rows, points):
        return value_and_gradient(
            model, rows.blocks, self._rule, self.jitter, points, rows.run
        )

    @property
    def _rule(self):
        return "dtc" if self.algorithm in ("projected_process", "subset") else self.algorithm

    def _condition(self, posterior, rows):
        """Add samples to a posterior and store it with its bounds."""
        rows = self._cut(rows)
        posterior = posterior.add(rows.blocks, rows.run, rows.shift)
        self._store(posterior.solve(self.normalize_y))

    def _store(self, posterior):
        self._posterior = posterior
        self._early = None
        model = posterior.model
        self.kernel_ = model.covariance.kernel
        self.noise_level_ = model.noise
        self.inducing_points_ = model.Z
        self.jitter_ = posterior.jitter
        self.log_marginal_likelihood_value_ = posterior.value
        self.lower_bound_, self.upper_bound_ = posterior.bounds
        self.n_samples_seen_ = posterior.total.n
        n_values = posterior.total.n * posterior.total.b.shape[1]
        self.bound_gap_ = (self.upper_bound_ - self.lower_bound_) / n_values


def _n_targets(model):
    return model._posterior.total.b.shape[1]
