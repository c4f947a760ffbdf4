"""Base of the approximate Gaussian processes: kernels, noise, optimiser."""

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

from skmoderndata._base import warn_not_converged
from skmoderndata._compat import (
    POSITIVE,
    HasMethods,
    StrOptions,
    as_numpy,
    get_array_namespace,
    move_array,
)
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
        xp, device = get_array_namespace(A)
        found = stationary(self.kernel)
        scales = np.broadcast_to(np.atleast_1d(found.scales), A.shape[1]).astype(np.float64)
        return found._replace(scales=move_array(scales.copy(), xp, device)), xp

    def __call__(self, A, B):
        """Covariance of the rows of A and B."""
        if self.fast:
            parameters, xp = self._stationary(A)
            return covariance(parameters, A, B, xp)
        return self.kernel(A, B)

    def diagonal(self, A):
        """Variances of the rows of A."""
        if self.fast:
            return stationary(self.kernel).variance + 0 * A[:, 0]
        return self.kernel.diag(A)

    def slope(self, A, B, K, G):
        """Gradient of ``sum G_ab k(a, b)`` by theta and, on the fast route, by the points A."""
        if not self.fast:
            return self._slope_by_scikit_learn(A, B, G), None
        parameters, xp = self._stationary(A)
        by = contract(parameters, A, B, K, G, xp)
        values = {"constant_value": [by.variance], "alpha": [by.alpha]}
        theta = []
        for part in _parts(self.kernel):
            for parameter in part.hyperparameters:
                if parameter.fixed:
                    continue
                if parameter.name == "length_scale":
                    scales = np.asarray(as_numpy(by.scales))
                    theta += list(scales) if parameter.n_elements > 1 else [scales.sum()]
                else:
                    theta += values[parameter.name]
        return np.array(theta, dtype=np.float64), by.points

    def _slope_by_scikit_learn(self, A, B, G):
        m, total = len(A), np.zeros(self.kernel.n_dims)
        for start in range(0, len(B), m):
            block = B[start : start + m]
            _, by = self.kernel(np.vstack([A, block]), eval_gradient=True)
            total += np.einsum("ij,ijk->k", G[:, start : start + m], by[:m, m:])
        return total

    def diagonal_slope(self, A, g):
        """Gradient of ``sum g_a k(a, a)`` by theta."""
        if self.fast:  # the variance alone: as a covariance at distance zero
            theta = []
            xp, _ = get_array_namespace(g)
            weight = float(xp.sum(g)) * stationary(self.kernel).variance
            for part in _parts(self.kernel):
                for parameter in part.hyperparameters:
                    if not parameter.fixed:
                        constant = parameter.name == "constant_value"
                        theta += [weight if constant else 0.0] * parameter.n_elements
            return np.array(theta, dtype=np.float64)
        # central differences of the diagonal: exact to 1e-9, and linear in the samples
        theta, h = self.kernel.theta, 1e-5
        by = np.zeros(len(theta))
        for j in range(len(theta)):
            step = np.zeros(len(theta))
            step[j] = h
            up, down = (self.kernel.clone_with_theta(theta + e).diag(A) for e in (step, -step))
            by[j] = g @ (up - down) / (2 * h)
        return by


def _parts(kernel):
    return [kernel.k1, kernel.k2] if type(kernel) is Product else [kernel]


def stationary(kernel):
    """Parameters of a kernel of the fast form; None for others."""
    parts = _parts(kernel)
    constants = [part for part in parts if type(part) is ConstantKernel]
    shapes = [part for part in parts if type(part) is not ConstantKernel]
    if len(shapes) != 1:
        return None
    variance = float(constants[0].constant_value) if constants else 1.0
    part = shapes[0]
    if type(part) is RBF:
        return Stationary("rbf", variance, part.length_scale)
    if type(part) is Matern and part.nu in MATERN:
        return Stationary(MATERN[part.nu], variance, part.length_scale)
    if type(part) is RationalQuadratic:
        return Stationary("rational", variance, part.length_scale, float(part.alpha))
    return None


def refuse_structured(estimator):
    """Refuse kernels on samples that are no vectors: inputs must have means and distances."""
    kernel = estimator.kernel
    if any(isinstance(k, BaseKernel) and not k.requires_vector_input for k in _leaves(kernel)):
        raise ValueError(
            f"{type(estimator).__name__} takes rows of numbers, and {kernel} is a kernel on other "
            "samples: take AsSamples and GaussianProcessRegressor of scikit-learn."
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
    terms, noise = [], []
    for term in _terms(kernel):
        (noise if type(term) is WhiteKernel else terms).append(term)
    if not noise:
        return kernel, noise_level
    if not terms:
        raise ValueError("kernel is noise alone: add a kernel that relates samples.")
    rest = terms[0]
    for term in terms[1:]:
        rest = rest + term
    return rest, float(sum(term.noise_level for term in noise))


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
    spread = X.std(axis=0)
    scales = np.where(spread > 0, spread, 1.0) * np.sqrt(X.shape[1])
    bounds = np.column_stack([1e-3 * scales, 1e3 * scales])
    return ConstantKernel(1.0, (1e-3, 1e3)) * RBF(scales, bounds), noise_level


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
    restarts are drawn between their bounds. Returns the best x, its value, the number of
    iterations, and whether the optimiser converged.
    """

    def negative(x, eval_gradient=True):
        value, gradient = objective(x)
        return (-value, -gradient) if eval_gradient else -value

    n_logs = len(start) if n_logs is None else n_logs
    starts = [start]
    for _ in range(restarts):
        low, high = bounds[:n_logs].T
        if not np.isfinite([low, high]).all():
            raise ValueError(
                "n_restarts_optimizer draws parameters between their bounds, and some bounds of "
                "the kernel are infinite: give finite ones."
            )
        starts.append(np.concatenate([rng.uniform(low, high), start[n_logs:]]))
    best = None
    for x in starts:
        if callable(optimizer):
            x, value = optimizer(negative, x, bounds)
            found = np.asarray(x), -float(value), 0, True
        else:
            found = _l_bfgs(negative, x, bounds, max_iter, tol, progress)
        if best is None or found[1] > best[1]:
            best = found
    return best


def _l_bfgs(negative, start, bounds, max_iter, tol, progress):
    """L-BFGS; ends where ten iterations together gain less than `tol`."""
    trace = []
    begun = False  # whether a pass is open

    def after_step(intermediate_result):
        nonlocal begun
        trace.append(float(intermediate_result.fun))
        small = len(trace) > WINDOW and trace[-WINDOW - 1] - trace[-1] < tol
        begun, stop = False, progress is not None and progress.end()
        if stop or small:
            raise StopIteration
        if progress is not None and len(trace) < max_iter:
            progress.begin()
            begun = True

    if progress is not None:
        progress.begin()
        begun = True
    result = minimize(
        negative,
        start,
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": max_iter},
    )
    if begun:
        progress.end()
    converged = len(trace) < max_iter  # or rounding ends the line search: nothing more to gain
    return result.x, -float(result.fun), len(trace), converged


def warn_optimizer(estimator, n_iter):
    """Warn that the hyperparameters are not yet at a maximum."""
    warn_not_converged(
        estimator,
        reached=f"the likelihood still rises after {n_iter} iterations",
        remedy="increase max_iter or tol, or start from a kernel that is closer to the data",
    )
