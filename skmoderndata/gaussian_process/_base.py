"""Base of the approximate Gaussian processes: kernels, noise and optimiser."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from skmoderndata._estimator.base import warn_not_converged
from skmoderndata._estimator.compat import POSITIVE, HasMethods, StrOptions
from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace
from skmoderndata._solvers.common.iterate import Steps
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.gaussian.covariances import Stationary, contract, covariance
from skmoderndata.kernels._base import BaseKernel

PROCESS = {  # Constraints on the parameters that all regressors share.
    "kernel": [HasMethods(["clone_with_theta", "diag"]), None],
    "noise_level": [POSITIVE],
    "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
    "normalize_y": ["boolean"],
    "random_state": ["random_state"],
}
# Number of iterations over which the total gain is compared with the tolerance in order to stop.
WINDOW = 10
# Value that stands for an objective that cannot be computed, so low that the line search steps
# back.
REJECTED = -1e25
# Minimum slope at a bound that causes a warning, in units of the tolerance of the optimiser.
RISE = 10
# Maximum distance between a logarithm and a bound at which the bound counts as reached.
AT_BOUND = 1e-8
# Minimum number of samples for warnings; with fewer samples, the likelihood is flat and its
# maximum may be at a bound by chance.
FEWEST_SAMPLES = 20
# Fraction of copies among the samples above which a warning is issued; at twice this fraction, the
# likelihood underestimates the noise.
MANY_COPIES = 0.1
MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52"}


class Covariance:
    """A kernel of scikit-learn with the gradients that a fit needs.

    Kernels of the form constant times RBF, Matern (1/2, 3/2, 5/2) or RationalQuadratic use the
    fast route, which is written for the Array API standard. Other kernels use scikit-learn's
    gradient, which supports only NumPy.
    """

    def __init__(self, kernel):
        self.kernel = kernel
        self.fast = stationary(kernel) is not None

    def with_theta(self, theta):
        """Return the same covariance with other parameters (logarithms)."""
        return Covariance(self.kernel.clone_with_theta(theta))

    def _stationary(self, A):
        """Return the parameters in the namespace of A."""
        parameters = stationary(self.kernel)
        length_scales = np.atleast_1d(parameters.scales)
        scales = np.broadcast_to(length_scales, A.shape[1]).astype(np.float64)
        return parameters._replace(scales=move_array(scales.copy(), A))

    def __call__(self, A, B):
        """Compute the covariances of the rows of A and B."""
        if self.fast:
            return covariance(self._stationary(A), A, B)
        return self.kernel(A, B)

    def diagonal(self, A):
        """Compute the variances of the rows of A."""
        if self.fast:
            return stationary(self.kernel).variance + 0 * A[:, 0]
        return self.kernel.diag(A)

    def slope(self, A, B, K, G, prior=None):
        """Differentiate a weighted sum of kernel values with respect to theta and, if fast, to A.

        The sum is ``sum G_ab k(a, b)``, where ``K = k(A, B)``, plus ``sum prior_b k(b, b)`` if
        `prior` is not None.
        """
        if not self.fast:
            return self._slope_by_scikit_learn(A, B, G, prior), None

        parameters = self._stationary(A)
        by = contract(parameters, A, B, K, G)

        # On the diagonal only the variance matters, because the distance is zero.
        at_zero = 0.0
        if prior is not None:
            at_zero = float(namespace(prior).sum(prior)) * parameters.variance
        values = {"constant_value": [by.variance + at_zero], "alpha": [by.alpha]}

        # Follow the order of the kernel's theta; the gradient for a shared length scale is the sum
        # over the features.
        theta = []
        for factor in _factors(self.kernel):
            for parameter in factor.hyperparameters:
                if parameter.fixed:
                    continue
                if parameter.name == "length_scale":
                    scales = np.asarray(as_numpy(by.scales))
                    theta += list(scales) if parameter.n_elements > 1 else [scales.sum()]
                else:
                    theta += values[parameter.name]
        return np.array(theta, dtype=np.float64), by.points

    def _slope_by_scikit_learn(self, A, B, G, prior):
        """Compute `slope` from scikit-learn's gradient, which needs a square kernel matrix."""
        m = len(A)
        total = np.zeros(self.kernel.n_dims)
        for start in range(0, len(B), m):
            block = slice(start, start + m)
            stacked = np.vstack([A, B[block]])
            _, by = self.kernel(stacked, eval_gradient=True)
            total += np.einsum("ij,ijk->k", G[:, block], by[:m, m:])
            if prior is not None:
                total += np.einsum("i,iik->k", prior[block], by[m:, m:])
        return total


def check_noise_bounds(noise_level_bounds):
    """Check that the bounds of the noise are an interval of positive numbers."""
    low, high = noise_level_bounds
    if not 0 < low <= high:
        raise ValueError(
            f"noise_level_bounds must be two positive numbers in order: got {(low, high)}."
        )
    return low, high


def log_bounds(kernel, noise_level_bounds):
    """Return bounds of the logarithms of the kernel's parameters, if any, and of the noise."""
    noise = check_noise_bounds(noise_level_bounds)
    return np.vstack([kernel.bounds.reshape(-1, 2), np.log([noise])])


def _factors(kernel):
    return [kernel.k1, kernel.k2] if type(kernel) is Product else [kernel]


def stationary(kernel):
    """Return the parameters of a kernel of the fast form, or None for other kernels."""
    # The fast form is a single stationary kernel, which may be multiplied by a constant.
    factors = _factors(kernel)
    constants = [factor for factor in factors if type(factor) is ConstantKernel]
    shapes = [factor for factor in factors if type(factor) is not ConstantKernel]
    if len(shapes) != 1:
        return None

    variance = float(constants[0].constant_value) if constants else 1.0
    (shape,) = shapes
    if type(shape) is RBF:
        return Stationary("rbf", variance, shape.length_scale)
    if type(shape) is Matern and shape.nu in MATERN:
        return Stationary(MATERN[shape.nu], variance, shape.length_scale)
    if type(shape) is RationalQuadratic:
        return Stationary("rational", variance, shape.length_scale, float(shape.alpha))
    return None


def refuse_structured(estimator):
    """Reject kernels on samples other than vectors: inputs must have means and distances."""
    kernel = estimator.kernel
    ours = [leaf for leaf in _leaves(kernel) if isinstance(leaf, BaseKernel)]
    if not all(leaf.requires_vector_input for leaf in ours):
        raise ValueError(
            f"{type(estimator).__name__} accepts rows of numbers, but {kernel} is a kernel on "
            "other samples: use SampleColumn and GaussianProcessRegressor of scikit-learn."
        )


def _leaves(kernel):
    if hasattr(kernel, "k1"):
        return [*_leaves(kernel.k1), *_leaves(kernel.k2)]
    return _leaves(kernel.kernel) if type(kernel) is Exponentiation else [kernel]


def split_noise(kernel, noise_level):
    """Split a sum into the kernel without its WhiteKernel terms and the noise variance."""
    if type(kernel) is not Sum:
        if type(kernel) is WhiteKernel:
            raise ValueError(
                "kernel consists only of noise: use a kernel that relates samples, for example "
                "ConstantKernel() * RBF()."
            )
        return kernel, noise_level

    # White noise among the terms of a sum replaces the noise level.
    terms = []
    noise = []
    for term in _terms(kernel):
        (noise if type(term) is WhiteKernel else terms).append(term)
    if not noise:
        return kernel, noise_level
    if not terms:
        raise ValueError("kernel consists only of noise: add a kernel that relates samples.")

    signal = terms[0]
    for term in terms[1:]:
        signal = signal + term
    noise_level = float(sum(term.noise_level for term in noise))
    return signal, noise_level


def _terms(kernel):
    if type(kernel) is Sum:
        return [*_terms(kernel.k1), *_terms(kernel.k2)]
    return [kernel]


def start_kernel(kernel, X, noise_level):
    """Return a clone of the kernel to start from, and the noise variance.

    kernel=None means a constant times RBF with one length scale for each input. Its initial value
    is the standard deviation of the input times the square root of the number of inputs.
    """
    if kernel is not None:
        return split_noise(clone(kernel), noise_level)
    scales = column_scales(X) * np.sqrt(X.shape[1])
    bounds = np.column_stack([scales / 1e3, 1e3 * scales])
    return ConstantKernel(1.0, (1 / 1e3, 1e3)) * RBF(scales, bounds), noise_level


def column_scales(X):
    """Compute standard deviations of columns; 1 if the values are equal up to rounding."""
    spread = X.std(axis=0)
    rounding = ROUNDING * np.abs(X).max(axis=0)
    return np.where(spread > rounding, spread, 1.0)


class Maximum(NamedTuple):
    """Point at which an optimiser ended.

    Attributes
    ----------
    x : ndarray
        Parameters at this point.
    objective : float
        Objective at this point.
    gradient : ndarray
        Gradient of the objective.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the optimiser ended before it reached the limit of iterations.
    """

    x: np.ndarray
    objective: float
    gradient: np.ndarray
    n_iter: int
    converged: bool


def maximise(
    objective,
    start,
    bounds,
    *,
    optimizer,
    max_iter,
    tol,
    restarts=0,
    rng=None,
    n_logs=None,
    progress=None,
):
    """Maximise an objective that has a gradient, from one or more starts.

    `objective(x)` returns value and gradient. The first `n_logs` entries of x are logarithms,
    whose values at restarts are drawn between their bounds.
    """

    def negative(x, eval_gradient=True):
        with np.errstate(over="ignore", invalid="ignore"):  # line search steps may overflow
            value, gradient = objective(x)
        return (-value, -gradient) if eval_gradient else -value

    # 1. Collect the starts: the given start, and starts drawn between the bounds.
    n_logs = len(start) if n_logs is None else n_logs
    starts = [start]
    for _ in range(restarts):
        low, high = bounds[:n_logs].T
        if not np.isfinite([low, high]).all():
            raise ValueError(
                "n_restarts_optimizer draws parameters between their bounds, but some bounds of "
                "the kernel are infinite: use finite bounds."
            )
        drawn = rng.uniform(low, high)
        starts.append(np.concatenate([drawn, start[n_logs:]]))

    # 2. Optimise from each start, and keep the best result.
    best = None
    for x in starts:
        if callable(optimizer):
            x, value = optimizer(negative, x, bounds)
            x = np.asarray(x)
            _, gradient = objective(x)
            end = Maximum(x, -float(value), gradient, 0, True)
        else:
            end = _l_bfgs(negative, x, bounds, max_iter, tol, progress)
        if best is None or end.objective > best.objective:
            best = end
    return best


def _l_bfgs(negative, start, bounds, max_iter, tol, progress):
    """Run L-BFGS until ten iterations together gain less than `tol`."""
    trace = []
    steps = Steps(max_iter, progress)

    def after_step(intermediate_result):
        trace.append(float(intermediate_result.fun))
        many = len(trace) > WINDOW
        steps.end(many and trace[-WINDOW - 1] - trace[-1] < tol)

    with steps:
        result = minimize(
            negative,
            start,
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            callback=after_step,
            options={"maxiter": max_iter},
        )

    # Stopping before `max_iter` counts as convergence: a stopping rule was met, or rounding errors
    # have ended the line search and nothing more can be gained.
    converged = len(trace) < max_iter
    # SciPy returns no gradient if all bounds are equal.
    slope = -result.get("jac", np.zeros_like(result.x))
    return Maximum(result.x, -float(result.fun), slope, len(trace), converged)


def warn_optimizer(estimator, n_iter):
    """Warn that the hyperparameters are not yet at a maximum."""
    warn_not_converged(
        estimator,
        reached=f"the likelihood still rises after {n_iter} iterations",
        remedy="increase max_iter or tol, or start from a kernel that is closer to the data",
    )


def warn_of_bounds_and_copies(estimator, maximum, bounds, tol, kernel, X, Y, noisy=True):
    """Warn if the likelihood still rises beyond a bound, or if many samples are copies.

    `maximum` belongs to the rows X with targets Y and was computed to the tolerance `tol`.
    `bounds` limits the logarithms: the parameters of the kernel and, with `noisy` targets, the
    noise, which copies underestimate.
    """
    # for constant targets, no noise level is suitable
    if not Y.any() or len(X) < FEWEST_SAMPLES:
        return

    names = [*_names_of_theta(kernel), *(["noise_level"] if noisy else [])]
    n_logs = len(names)
    x = maximum.x[:n_logs]
    gradient = maximum.gradient[:n_logs]
    low, high = bounds[:n_logs].T
    tol = RISE * tol
    free = low < high
    below = (x <= low + AT_BOUND) & (gradient < -tol) & free
    above = (x >= high - AT_BOUND) & (gradient > tol) & free
    copies = count_copies(X, Y) if noisy else 0
    many = copies > MANY_COPIES * len(X)

    # List the bounds beyond which the likelihood still rises.
    ended = [
        f"the {side} bound {np.exp(bound[j]):.3g} of {names[j]}"
        for side, beyond, bound in (("lower", below, low), ("upper", above, high))
        for j in np.flatnonzero(beyond)
    ]
    cause = (
        f"{copies} of {len(X)} samples are copies of other samples, from which the likelihood "
        "concludes that there is no noise"
    )

    if ended:
        remainder = f" and {len(ended) - 3} more" if len(ended) > 3 else ""
        reached = f"the likelihood still rises beyond {', '.join(ended[:3])}{remainder}"
        limits = (
            "noise_level_bounds" if noisy and (below | above)[-1] else "bounds of the kernel"
        )
        remedy = f"use wider {limits}, or another kernel"
        if many:
            remedy = f"{cause}: pass each sample once"
        warn_not_converged(estimator, reached=reached, remedy=remedy)
    elif many:
        warnings.warn(
            f"{type(estimator).__name__}: {cause}; pass each sample once.", stacklevel=3
        )


def _names_of_theta(kernel):
    """Yield a name for each entry of `kernel.theta`."""
    for parameter in kernel.hyperparameters:
        if not parameter.fixed:
            many = parameter.n_elements > 1
            for j in range(parameter.n_elements):
                yield f"{parameter.name}[{j}]" if many else parameter.name


def count_copies(X, Y):
    """Count the samples that repeat an earlier sample in both row and targets.

    The result is 0 if many equal rows have different targets: then they are repeated measurements.
    """
    n_rows = len(np.unique(X, axis=0))
    samples = np.hstack([X, Y])
    n_samples = len(np.unique(samples, axis=0))
    copies = len(X) - n_samples
    measurements = n_samples - n_rows
    return copies if measurements < MANY_COPIES * copies else 0
