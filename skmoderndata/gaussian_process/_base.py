"""Base of the approximate Gaussian processes: kernels, noise, optimiser."""

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
from skmoderndata._solvers.gaussian.covariances import Stationary, contract, covariance
from skmoderndata.kernels._base import BaseKernel

PROCESS = {  # constraints of the parameters that the regressors share
    "kernel": [HasMethods(["clone_with_theta", "diag"]), None],
    "noise_level": [POSITIVE],
    "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
    "normalize_y": ["boolean"],
    "random_state": ["random_state"],
}
WINDOW = 10
REJECTED = -1e25  # objective where there is none: the line search steps back
RISE = 10  # times the tolerance of the optimiser: a rise beyond a bound that matters
AT_BOUND = 1e-8  # distance of a logarithm from its bound
FEWEST_SAMPLES = 20  # below, the likelihood is flat, and ends at bounds by chance
MANY_COPIES = (
    0.1  # of all samples; from twice as many on the likelihood finds too little noise
)
CONSTANT = 1e-14  # standard deviation, relative to the largest value, that is rounding alone
MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52"}


class Covariance:
    """A kernel of scikit-learn with what a gradient-based fit needs.

    Kernels of the form constant times RBF, Matern (1/2, 3/2, 5/2) or RationalQuadratic take the
    fast route, which is written for the Array API standard; others take the kernel's own
    gradient, which is for NumPy only.
    """

    def __init__(self, kernel):
        self.kernel = kernel
        self.fast = stationary(kernel) is not None

    def with_theta(self, theta):
        """Give the same covariance other parameters (logarithms)."""
        return Covariance(self.kernel.clone_with_theta(theta))

    def _stationary(self, A):
        """Parameters in the namespace of A."""
        parameters = stationary(self.kernel)
        given = np.atleast_1d(parameters.scales)
        scales = np.broadcast_to(given, A.shape[1]).astype(np.float64)
        return parameters._replace(scales=move_array(scales.copy(), A))

    def __call__(self, A, B):
        """Covariance of the rows of A and B."""
        if self.fast:
            return covariance(self._stationary(A), A, B)
        return self.kernel(A, B)

    def diagonal(self, A):
        """Variances of the rows of A."""
        if self.fast:
            return stationary(self.kernel).variance + 0 * A[:, 0]
        return self.kernel.diag(A)

    def slope(self, A, B, K, G, prior=None):
        """Gradient by theta and, on the fast route, by the points A.

        Of ``sum G_ab k(a, b)``, where ``K = k(A, B)``, plus ``sum prior_b k(b, b)`` if given.
        """
        if not self.fast:
            return self._slope_by_scikit_learn(A, B, G, prior), None

        parameters = self._stationary(A)
        by = contract(parameters, A, B, K, G)

        # of the diagonal, the variance alone: as a covariance at distance zero
        at_zero = 0.0
        if prior is not None:
            at_zero = float(namespace(prior).sum(prior)) * parameters.variance
        values = {"constant_value": [by.variance + at_zero], "alpha": [by.alpha]}

        # in the order of the kernel's theta; a shared length scale takes the sum
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
        """Compute it from the gradient of the kernel itself, which is that of a square matrix."""
        m = len(A)
        total = np.zeros(self.kernel.n_dims)
        for start in range(0, len(B), m):
            block = slice(start, start + m)
            both = np.vstack([A, B[block]])
            _, by = self.kernel(both, eval_gradient=True)
            total += np.einsum("ij,ijk->k", G[:, block], by[:m, m:])
            if prior is not None:
                total += np.einsum("i,iik->k", prior[block], by[m:, m:])
        return total


def check_noise_bounds(noise_level_bounds):
    """Refuse bounds of the noise that are no interval of positive numbers."""
    low, high = noise_level_bounds
    if not 0 < low <= high:
        raise ValueError(
            f"noise_level_bounds must be two positive numbers in order: got {(low, high)}."
        )
    return low, high


def log_bounds(kernel, noise_level_bounds):
    """Bounds of the logarithms of a kernel's parameters, if it has any, and of the noise."""
    noise = check_noise_bounds(noise_level_bounds)
    return np.vstack([kernel.bounds.reshape(-1, 2), np.log([noise])])


def _factors(kernel):
    return [kernel.k1, kernel.k2] if type(kernel) is Product else [kernel]


def stationary(kernel):
    """Parameters of a kernel of the fast form; None for others."""
    # one shape, perhaps times a constant
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
    """Refuse kernels on samples that are no vectors: inputs must have means and distances."""
    kernel = estimator.kernel
    ours = [leaf for leaf in _leaves(kernel) if isinstance(leaf, BaseKernel)]
    if not all(leaf.requires_vector_input for leaf in ours):
        raise ValueError(
            f"{type(estimator).__name__} takes rows of numbers, and {kernel} is a kernel on other "
            "samples: take SampleColumn and GaussianProcessRegressor of scikit-learn."
        )


def _leaves(kernel):
    if hasattr(kernel, "k1"):
        return [*_leaves(kernel.k1), *_leaves(kernel.k2)]
    return _leaves(kernel.kernel) if type(kernel) is Exponentiation else [kernel]


def split_noise(kernel, noise_level):
    """Take the WhiteKernel terms out of a sum: the kernel without them, and the noise variance."""
    if type(kernel) is not Sum:
        if type(kernel) is WhiteKernel:
            raise ValueError(
                "kernel is noise alone: give a kernel that relates samples, for example "
                "ConstantKernel() * RBF()."
            )
        return kernel, noise_level

    # white noise among the terms of a sum adds to the noise level
    terms = []
    noise = []
    for term in _terms(kernel):
        (noise if type(term) is WhiteKernel else terms).append(term)
    if not noise:
        return kernel, noise_level
    if not terms:
        raise ValueError("kernel is noise alone: add a kernel that relates samples.")

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
    """Clone of the kernel to start from, and the noise variance.

    None is a constant times RBF with one length scale for each input, which starts at the
    standard deviation of the input times the square root of their number.
    """
    if kernel is not None:
        return split_noise(clone(kernel), noise_level)
    scales = column_scales(X) * np.sqrt(X.shape[1])
    bounds = np.column_stack([1e-3 * scales, 1e3 * scales])
    return ConstantKernel(1.0, (1e-3, 1e3)) * RBF(scales, bounds), noise_level


def column_scales(X):
    """Compute standard deviations of columns; 1 where that of equal floats is rounding alone."""
    spread = X.std(axis=0)
    rounding = CONSTANT * np.abs(X).max(axis=0)
    return np.where(spread > rounding, spread, 1.0)


class Maximum(NamedTuple):
    """Where an optimiser ended.

    Attributes
    ----------
    x : ndarray
        The parameters.
    value : float
        The objective.
    gradient : ndarray
        Its gradient.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the optimiser ended by itself.
    """

    x: np.ndarray
    value: float
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
    """Largest value of an objective with gradient, from some starts.

    `objective(x)` gives value and gradient; the first `n_logs` entries of x are logarithms, whose
    restarts are drawn between their bounds.
    """

    def negative(x, eval_gradient=True):
        with np.errstate(over="ignore", invalid="ignore"):  # far steps of the line search
            value, gradient = objective(x)
        return (-value, -gradient) if eval_gradient else -value

    # 1. starts: the given one, and others between the bounds
    n_logs = len(start) if n_logs is None else n_logs
    starts = [start]
    for _ in range(restarts):
        low, high = bounds[:n_logs].T
        if not np.isfinite([low, high]).all():
            raise ValueError(
                "n_restarts_optimizer draws parameters between their bounds, and some bounds of "
                "the kernel are infinite: give finite ones."
            )
        drawn = rng.uniform(low, high)
        starts.append(np.concatenate([drawn, start[n_logs:]]))

    # 2. the best of the ends
    best = None
    for x in starts:
        if callable(optimizer):
            x, value = optimizer(negative, x, bounds)
            x = np.asarray(x)
            _, gradient = objective(x)
            end = Maximum(x, -float(value), gradient, 0, True)
        else:
            end = _l_bfgs(negative, x, bounds, max_iter, tol, progress)
        if best is None or end.value > best.value:
            best = end
    return best


def _l_bfgs(negative, start, bounds, max_iter, tol, progress):
    """L-BFGS; ends where ten iterations together gain less than `tol`."""
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

    converged = len(trace) < max_iter  # or rounding ends the line search: nothing more to gain
    slope = -result.get("jac", np.zeros_like(result.x))  # none where all bounds are equal
    return Maximum(result.x, -float(result.fun), slope, len(trace), converged)


def warn_optimizer(estimator, n_iter):
    """Warn that the hyperparameters are not yet at a maximum."""
    warn_not_converged(
        estimator,
        reached=f"the likelihood still rises after {n_iter} iterations",
        remedy="increase max_iter or tol, or start from a kernel that is closer to the data",
    )


def warn_of_bounds_and_copies(estimator, maximum, bounds, tol, kernel, X, Y, noisy=True):
    """Warn where the likelihood still rises beyond a bound, or where samples are given twice.

    `maximum` is that for the rows X with targets Y, to the tolerance `tol`; `bounds` are
    those of the logarithms, the parameters of the kernel and, with `noisy` targets, the noise,
    of which copies say too little.
    """
    if not Y.any() or len(X) < FEWEST_SAMPLES:  # constant targets: any noise is too much
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

    # bounds where the likelihood still rises
    ended = [
        f"the {side} bound {np.exp(bound[j]):.3g} of {names[j]}"
        for side, beyond, bound in (("lower", below, low), ("upper", above, high))
        for j in np.flatnonzero(beyond)
    ]
    tells = (
        f"{copies} of {len(X)} samples are copies of others, which tell the likelihood that there "
        "is no noise"
    )

    if ended:
        others = f" and {len(ended) - 3} more" if len(ended) > 3 else ""
        reached = f"the likelihood still rises beyond {', '.join(ended[:3])}{others}"
        of = "noise_level_bounds" if noisy and (below | above)[-1] else "bounds of the kernel"
        remedy = f"give wider {of}, or another kernel"
        if many:
            remedy = f"{tells}: give each sample once"
        warn_not_converged(estimator, reached=reached, remedy=remedy)
    elif many:
        warnings.warn(
            f"{type(estimator).__name__}: {tells}; give each sample once.", stacklevel=3
        )


def _names_of_theta(kernel):
    """Name of each entry of `kernel.theta`."""
    for parameter in kernel.hyperparameters:
        if not parameter.fixed:
            many = parameter.n_elements > 1
            for j in range(parameter.n_elements):
                yield f"{parameter.name}[{j}]" if many else parameter.name


def count_copies(X, Y):
    """Count the samples that repeat an earlier one, row and targets.

    0 where equal rows have different targets as well: there they are measurements.
    """
    n_rows = len(np.unique(X, axis=0))
    samples = np.hstack([X, Y])
    n_samples = len(np.unique(samples, axis=0))
    copies = len(X) - n_samples
    measurements = n_samples - n_rows
    return copies if measurements < MANY_COPIES * copies else 0
