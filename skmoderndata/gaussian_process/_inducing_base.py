"""Model with inducing inputs that an optimiser changes: value and gradient, block by block."""

import math
import warnings
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.cluster import MiniBatchKMeans

from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.gaussian.inducing import (
    add,
    block_slopes,
    cholesky_with_jitter,
    factors,
    greedy_points,
    identity,
    log_likelihood,
    scaled,
    slopes,
    solve_lower,
    sums,
    target_moments,
    trace_penalty,
    upper_bound,
)
from skmoderndata.gaussian_process._base import REJECTED, Covariance, log_bounds

# Maximum number of samples from which inducing inputs are chosen.
MOST_FOR_CENTRES = 20_000
# Maximum number of blocks whose kernel values are stored for the gradient.
BLOCKS_KEPT = 4


class InducingModel(NamedTuple):
    """Covariance, noise variance and inducing inputs."""

    covariance: Covariance
    noise: float
    Z: Any
    unit: Any  # unit of the inducing inputs in the vector of the optimiser

    @property
    def n_logs(self):
        """Number of hyperparameters, all of which are logarithms."""
        return self.covariance.kernel.n_dims + 1

    def theta(self):
        """Return logarithms of the kernel's parameters and of the noise variance."""
        return np.append(self.covariance.kernel.theta, np.log(self.noise))

    def with_theta(self, theta):
        """Return the model with other hyperparameters."""
        covariance = self.covariance.with_theta(theta[:-1])
        return self._replace(covariance=covariance, noise=float(np.exp(theta[-1])))

    def vector(self, points):
        """Return the optimiser's vector: theta and, with `points`, the inducing inputs."""
        if not points:
            return self.theta()
        inputs = np.asarray(as_numpy(self.Z / self.unit))
        return np.append(self.theta(), inputs.ravel())

    def with_vector(self, x, points):
        """Return the model with the parameters of an optimiser's vector."""
        model = self.with_theta(x[: self.n_logs])
        if not points:
            return model
        inputs = x[self.n_logs :].reshape(self.Z.shape)
        Z = move_array(inputs, self.Z)
        return model._replace(Z=Z * self.unit)

    def bounds(self, noise_bounds, points):
        """Return the bounds of the optimiser's vector."""
        logs = log_bounds(self.covariance.kernel, noise_bounds)
        if not points:
            return logs
        m, p = self.Z.shape
        free = np.broadcast_to([-np.inf, np.inf], (m * p, 2))
        return np.vstack([logs, free])


def diagonal(method, A, prior, s):
    """Compute the entries of D for "fitc" from the whitened columns A; else return ones."""
    xp = namespace(prior)
    if method != "fitc":
        return xp.ones_like(prior)

    gap = prior - xp.sum(A * A, axis=0)
    return xp.where(gap > 0, gap, xp.zeros_like(gap)) + s


def value_and_gradient(model, blocks, method, jitter, points, run):
    """Compute objective and gradient of `method`, with respect to `model.vector(points)`.

    `blocks` is a list of tuples of rows, standardised targets and weights, or another object that
    `run` understands; `run(function, blocks)` yields the terms of a sum. If there are few blocks,
    their kernel values are stored for the gradient; otherwise they are computed twice.
    """
    xp = namespace(model.Z)
    K_uu = model.covariance(model.Z, model.Z)
    L, jitter = cholesky_with_jitter(K_uu, jitter)
    if L is None:
        return REJECTED, np.zeros(len(model.vector(points)))

    s = model.noise
    fitc = method == "fitc"
    stored = {} if isinstance(blocks, list) and len(blocks) <= BLOCKS_KEPT else None

    def columns(rows):
        """Compute ``k``, ``L^-1 k``, ``k(x, x)`` and the entries of D."""
        K = model.covariance(model.Z, rows)
        prior = model.covariance.diagonal(rows)
        A = solve_lower(L, K)
        return K, A, prior, diagonal(method, A, prior, s)

    def block_sums(rows, Y, w):
        K, A, prior, d = columns(rows)
        if stored is not None:
            stored[id(rows)] = K, A, prior, d
        return sums(A, prior, Y, w, d, 0 * Y[0, :])

    # Sum over all samples.
    total = None
    for block_total in run(block_sums, blocks):
        total = block_total if total is None else add(total, block_total)
    size = float(xp.sum(total.P)) + total.prior
    if not math.isfinite(size):  # kernel values overflow
        return REJECTED, np.zeros(len(model.vector(points)))

    # Compute the objective.
    zero = 0 * total.shift
    total = scaled(total, zero, zero + 1, 1.0 if fitc else s)
    fac = factors(L, total)
    value = log_likelihood(total, fac)
    if method == "vfe":
        value -= total.b.shape[1] * trace_penalty(total, s)

    # Compute the gradient of the objective with respect to the sums and then, block by block, with
    # respect to the kernel values.
    slope = slopes(L, total, fac, s, method)

    def block_gradient(rows, Y, w):
        key = id(rows)
        K, A, _, d = stored[key] if stored and key in stored else columns(rows)
        d = d if fitc else s * d
        by = block_slopes(L, A, Y, w, d, s, method, slope, fac.u)
        theta, by_points = model.covariance.slope(model.Z, rows, K, by.K_uf, by.prior)
        return theta, by_points, by.K_uu, by.log_s

    theta = 0.0
    by_points = 0.0
    by_uu = slope.K_uu
    log_s = slope.log_s
    for a, b, c, e in run(block_gradient, blocks):
        theta = theta + a
        by_uu = by_uu + c
        log_s = log_s + e
        if points:
            by_points = by_points + b

    # The jitter is a multiple of the mean of the diagonal of K_uu, so add its derivative.
    trace = float(xp.linalg.trace(by_uu))
    by_uu = by_uu + (jitter * trace / by_uu.shape[0]) * identity(L)
    by_K_uu, at_points = model.covariance.slope(model.Z, model.Z, K_uu, by_uu)

    gradient = [theta + by_K_uu, [log_s]]
    if points:
        by_inputs = (by_points + 2 * at_points) * model.unit
        gradient.append(np.asarray(as_numpy(by_inputs)).ravel())
    return value, np.concatenate(gradient)


def choose_points(X, w, covariance, how, m, rng):
    """Choose at most m inducing inputs; all distinct samples if there are at most m."""
    rows = rows_for_centres(X.shape[0], rng)
    sample = namespace(X).take(X, move_array(rows, X), axis=0)
    sample = np.asarray(as_numpy(sample))
    weights = np.asarray(as_numpy(w))[rows]
    return points_of_sample(sample, weights, covariance, how, m, rng)


def rows_for_centres(n, rng):
    """Choose the rows from which inducing inputs are selected."""
    if n <= MOST_FOR_CENTRES:
        return np.arange(n)
    return np.sort(rng.choice(n, MOST_FOR_CENTRES, replace=False))


def points_of_sample(sample, weights, covariance, how, m, rng):
    """Choose at most m inducing inputs from a sample of the rows."""
    distinct = np.unique(sample, axis=0)
    n_distinct = len(distinct)
    if n_distinct <= m:
        return distinct

    if how == "random":
        drawn = rng.choice(n_distinct, m, replace=False)
        return distinct[np.sort(drawn)]
    if how == "greedy":

        def row(i):
            return covariance(distinct[i : i + 1], distinct)[0]

        prior = covariance.diagonal(distinct)
        return distinct[greedy_points(prior, row, m)]

    # Use the centres of k-means.
    seed = rng.randint(MAX_INT32)
    centres = MiniBatchKMeans(m, random_state=seed, n_init=1, batch_size=2048, max_iter=20)
    # Sample and weights are NumPy arrays whatever the type of X; a centre without samples is
    # harmless.
    with sklearn.config_context(array_api_dispatch=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        centres.fit(sample, sample_weight=weights)

    return np.unique(centres.cluster_centers_, axis=0)


def nearest_rows(X, Z):
    """Find the sample nearest to each inducing input; list each sample once."""
    A = np.asarray(as_numpy(Z))
    B = np.asarray(as_numpy(X))
    # centre both arrays, because products lose digits far from the origin
    centre = A.mean(axis=0)
    A = A - centre
    B = B - centre
    squares = (B * B).sum(axis=1)
    # Squared distances, minus a term that depends only on the inducing input.
    distances = squares[None, :] - 2 * A @ B.T
    rows = np.unique(distances.argmin(axis=1))
    return move_array(rows, X)


class Posterior:
    """Sums over the samples seen so far, and the posterior computed from them.

    `solve` computes moments of the targets, factors, the objective `value` and the `bounds` of the
    exact log marginal likelihood. All methods that change the posterior return a new object.
    """

    def __init__(self, model, rule, jitter):
        K_uu = model.covariance(model.Z, model.Z)
        L, jitter = cholesky_with_jitter(K_uu, jitter)
        if L is None:
            Z = np.asarray(as_numpy(model.Z))
            squares = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
            d = squares[np.triu_indices(len(Z), 1)]
            nearest = np.sqrt(d.min(initial=np.inf))
            raise ValueError(
                "The covariance of the inducing inputs is singular, even with a jitter of 1e-4: "
                f"the smallest distance between them is {nearest:.3g}. "
                "Use fewer or other inducing inputs, or a kernel with shorter length scales."
            )
        self.model = model
        self.rule = rule
        self.L = L
        self.jitter = jitter
        self.total = self.plain = None  # sums with the D of "fitc", and with D = I

    def add(self, blocks, run, shift=None):
        """Add the sums of blocks of rows, targets and weights; `shift` is close to the targets."""
        model = self.model
        s = self.model.noise
        fitc = self.rule == "fitc"
        L = self.L
        if self.total is not None:
            shift = self.total.shift
        elif shift is None:
            shift = blocks[0][1][0, :]

        def block(rows, Y, w):
            # Sum the terms of A = L^-1 k: plain sums for the bounds and, for FITC, sums weighted
            # by the noise that FITC assigns to each sample.
            prior = model.covariance.diagonal(rows)
            A = solve_lower(L, model.covariance(model.Z, rows))
            ones = namespace(prior).ones_like(prior)
            plain = sums(A, prior, Y, w, ones, shift)
            if not fitc:
                return plain, plain
            d = diagonal("fitc", A, prior, s)
            return sums(A, prior, Y, w, d, shift), plain

        new = copy(self)
        for total, plain in run(block, blocks):
            new = new._with(total, plain)
        return new

    def merge(self, other):
        """Add the samples of another posterior of the same model."""
        return self._with(other.total, other.plain)

    def _with(self, total, plain):
        new = copy(self)
        if self.total is not None:
            total = add(self.total, total)
            plain = add(self.plain, plain) if self.rule == "fitc" else total
        new.total = total
        new.plain = plain
        return new

    def solve(self, normalize_y):
        """Compute the posterior from the sums."""
        new = copy(self)
        total = self.total
        s = self.model.noise
        zero = namespace(total.shift).zeros_like(total.shift)
        new.moments = target_moments(total) if normalize_y else (zero, zero + 1)

        # Bound the exact likelihood from below and from above.
        plain = scaled(self.plain, *new.moments, s)
        new.fac = factors(self.L, plain)
        trace = total.b.shape[1] * trace_penalty(plain, s)
        new.value = log_likelihood(plain, new.fac)
        new.bounds = new.value - trace, upper_bound(plain, new.fac, s)

        # Compute the objective that `rule` selects.
        if self.rule == "vfe":
            new.value -= trace
        elif self.rule == "fitc":
            total = scaled(total, *new.moments, 1.0)
            new.fac = factors(self.L, total)
            new.value = log_likelihood(total, new.fac)

        return new

    def predict(self, X, *, variance=False, covariance=False, sor=False):
        """Predict mean and (co)variance of the latent function of standardised targets.

        The covariance is ``k(x, x') - a'a + c'c`` with ``a = L^-1 k`` and ``c = R^-1 a``; for
        "sor" it is only ``c'c``.
        """
        xp = namespace(X)
        kernel = self.model.covariance
        K = kernel(self.model.Z, X)
        mean = K.T @ self.fac.v
        if not variance and not covariance:
            return mean, None

        # Compute a = L^-1 k and c = R^-1 a.
        a = solve_lower(self.L, K)
        c = solve_lower(self.fac.R, a)
        if covariance:
            unexplained = 0.0 if sor else kernel(X, X) - a.T @ a
            return mean, c.T @ c + unexplained

        spread = xp.sum(c * c, axis=0)
        if not sor:
            gap = kernel.diagonal(X) - xp.sum(a * a, axis=0)
            spread = spread + xp.where(gap > 0, gap, xp.zeros_like(gap))
        return mean, spread


class Samples:
    """Posterior of "nystroem", which uses the exact covariances with all samples.

    ``(Q + s I)^-1 y = (y - K_fu v) / s`` and ``(Q + s I)^-1 = (I - K_fu A^-1 K_uf / s) / s``, with
    ``A = K_uu + K_uf K_fu / s`` and ``v = A^-1 K_uf y / s``.
    """

    def __init__(self, posterior, blocks):
        model = posterior.model
        fac = posterior.fac
        self.model = model
        self.L = posterior.L
        self.R = fac.R
        self.blocks = []
        for X, Y, w in blocks:
            fitted = model.covariance(model.Z, X).T @ fac.v
            alpha = w[:, None] * (Y - fitted) / model.noise
            self.blocks.append((X, w, alpha))

    def predict(self, X, *, variance=False, covariance=False, sor=False):
        """Predict the mean, and variance or covariance, at X."""
        xp = namespace(X)
        kernel = self.model.covariance
        s = self.model.noise
        mean = 0.0
        weighted = 0.0
        squares = 0.0

        for rows, w, alpha in self.blocks:
            # Keep only the sums over blocks of training samples.
            K = kernel(rows, X)
            mean = mean + K.T @ alpha
            if variance or covariance:
                wK = w[:, None] * K
                weighted = weighted + kernel(self.model.Z, rows) @ wK
                squares = squares + K.T @ wK

        if not variance and not covariance:
            return mean, None

        # Compute k(x, x') - K' (Q + s I)^-1 K with the inverse from the docstring of the class.
        a = solve_lower(self.R, solve_lower(self.L, weighted)) / s
        cov = kernel(X, X) - squares / s + a.T @ a
        if covariance:
            return mean, cov

        spread = xp.linalg.diagonal(cov)
        if bool(xp.any(spread < 0)):
            warnings.warn(
                'Some variances of algorithm="nystroem" are negative and set to 0: it is not a '
                'valid Gaussian process. Use "vfe" or "fitc" if you need uncertainties.',
                stacklevel=4,
            )

        return mean, xp.where(spread > 0, spread, xp.zeros_like(spread))
