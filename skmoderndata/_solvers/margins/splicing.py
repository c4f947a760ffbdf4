r"""Best subsets of features for two classes: one size after another, by splicing.

The least penalised logistic loss on a set S of features is, with :math:`m = Z w + y b`,

.. math::
    L(S) = \min_{w, b} \sum_i u_i \ln(1 + e^{-m_i}) + \frac{\lambda}{2} \sum_j v_j w_j^2
    \quad\text{subject to}\quad w_j = 0 \text{ outside } S,

where `Z` has the rows :math:`y_i x_i`, :math:`u_i` are the costs of the samples, and :math:`v_j`
is the variance of column j, so that units do not matter. The criterion

.. math::
    2 L(S) + |S| \ln p \ln \ln n

decides how many features are worth their price (Zhu, Wen, Zhu, Zhang and Wang 2020).

Differs from the paper: 1. The loss is logistic, with a small ridge. 2. A splice exchanges at most
three features. 3. Sizes are tried in turn until four of them have not lowered the criterion.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.quantities import LOG2
from skmoderndata._solvers.common.tolerances import (
    MAX_NEWTON_STEPS,
    SMALLEST_DIVISOR,
    SUFFICIENT_DECREASE,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.feature_exchange import drop_cheapest
from skmoderndata._solvers.margins.linear_programs import dense
from skmoderndata._solvers.margins.tolerances import SHORTEST_STEP

# Cost of the squared weights of columns with unit variance. Without this penalty, the loss has no
# minimum on a set that separates the classes.
RIDGE_PENALTY = 0.5
# Maximum number of features that a splice exchanges.
MOST_EXCHANGED = 3
# Number of consecutive sizes that fail to lower the criterion before the search ends.
N_WORSE_SIZES = 4
# Minimum decrease of the loss by a splice, as a fraction of the price of a feature.
LEAST_DECREASE = 1e-3
# Tolerance of the Newton decrement, relative to the loss.
NEWTON_TOL = 1e-9


class Subset(NamedTuple):
    """Features in the order in which they were added, the intercept with the weights, and L(S)."""

    features: list[int]
    theta: Array
    loss: float


class Spliced(NamedTuple):
    """The set of least criterion, and the criterion of the best set of each size."""

    features: list[int]
    values: Array
    sizes: Array
    n_iter: int
    converged: bool


class RidgeLogistic:
    """L(S) for the rows ``y_i x_i`` in `Z`, with estimates of the worth of single features.

    `candidates` are the columns that may be in a set; `price` depends only on their number.
    """

    def __init__(
        self, Z: Any, y: Array, cost: Array, candidates: Array, *, intercept: bool
    ) -> None:
        self.Z = Z
        self.y = y
        self.cost = cost
        self.candidates = candidates
        self.intercept = intercept

        # compute the mean squares of the columns (y_i^2 is 1), about their means if there is an
        # intercept
        share = cost / cost.sum()
        squares = Z.power(2) if hasattr(Z, "power") else np.square(Z)
        scale = np.asarray(squares.T @ share)
        if intercept:
            means = np.asarray(Z.T @ (share * y))
            scale = scale - means**2
        self.scale = np.maximum(scale, 0.0)

        # compute the price of a feature in the criterion
        log_n = max(float(np.log(y.size)), 1.0)
        n_candidates = max(candidates.sum(), 1)
        self.price = float(np.log(n_candidates) * np.log(log_n))

    def criterion(self, subset: Subset) -> float:
        """Return ``2 L(S) + |S| ln p ln ln n``."""
        return 2.0 * subset.loss + len(subset.features) * self.price

    def fit(self, features: Iterable[int], start: Array | None = None) -> Subset:
        """Compute L(S) with its weights, by Newton steps from the weights `start`."""
        features = list(features)
        columns = dense(self.Z[:, features])
        A = np.column_stack([self.y, columns])
        penalty = np.append(0.0, RIDGE_PENALTY * self.scale[features])
        free = slice(None) if self.intercept else slice(1, None)
        theta = np.zeros(A.shape[1]) if start is None else start

        def value(theta: Array) -> float:
            margins = A @ theta
            smooth = np.log1p(np.exp(-np.abs(margins)))
            losses = smooth + np.maximum(-margins, 0.0)
            squares = theta**2
            return float(self.cost @ losses + 0.5 * penalty @ squares)

        loss = value(theta)
        for _ in range(MAX_NEWTON_STEPS):
            # 1. Compute gradient and Hessian
            q = expit(-(A @ theta))
            slope = self.cost * q
            gradient = penalty * theta - A.T @ slope
            curvature = slope * (1.0 - q)
            hessian = (A.T * curvature) @ A + np.diag(penalty)
            # add a ridge, because the intercept has no curvature if the loss is saturated in all
            # samples
            hessian[0, 0] += 1e-9 * float(self.cost.sum())

            # 2. Compute the direction, and the decrease that it predicts
            step = np.zeros(theta.size)
            step[free] = np.linalg.solve(hessian[free, free], gradient[free])
            decrement = float(gradient @ step)
            if not decrement > NEWTON_TOL * max(1.0, loss):
                break

            # 3. Halve the step until the loss falls
            size = 1.0
            new = value(theta - step)
            while new > loss - SUFFICIENT_DECREASE * size * decrement and size > SHORTEST_STEP:
                size /= 2
                new = value(theta - size * step)
            if not new < loss:
                break
            theta = theta - size * step
            loss = new

        return Subset(features, theta, loss)

    def promise(self, subset: Subset) -> Array:
        """Estimate how much each other feature would lower L(S), up to a factor.

        This is the squared slope divided by the curvature; the mean curvature of all samples is
        used instead of the curvature along the column.
        """
        q, curvature = self._derivatives(subset)
        slope = np.asarray(self.Z.T @ (self.cost * q))
        divide = self.scale * (curvature.sum() + RIDGE_PENALTY)

        # set the promise of members of the set and of constant columns to zero
        promise = np.zeros(slope.size)
        outside = self.candidates & (self.scale > 0)
        outside[subset.features] = False
        promise[outside] = slope[outside] ** 2 / divide[outside]
        return promise

    def sacrifice(self, subset: Subset) -> Array:
        """Estimate how much L(S) would rise without each member, up to a factor."""
        curvature = self._derivatives(subset)[1]
        columns = dense(self.Z[:, subset.features])
        h = curvature @ columns**2
        # compute squares about the weighted means, because the intercept adapts when the column is
        # dropped
        if self.intercept:
            total = max(float(curvature.sum()), SMALLEST_DIVISOR)
            mixed = curvature * self.y @ columns
            h = h - mixed**2 / total
        w = subset.theta[1:]
        h = h + RIDGE_PENALTY * self.scale[subset.features]
        return np.asarray(w**2 * h)

    def _derivatives(self, subset: Subset) -> tuple[Array, Array]:
        """Return slope and curvature of the loss at each sample; the slope excludes its cost."""
        columns = dense(self.Z[:, subset.features])
        margins = columns @ subset.theta[1:] + self.y * subset.theta[0]
        q = expit(-margins)
        curvature = self.cost * q * (1.0 - q)
        return q, curvature


def expected_by_chance(
    columns: Array, side: Array, cost: Array, n_candidates: int, *, intercept: bool
) -> float:
    """Return how many of the columns were probably selected by chance among all candidates.

    Columns that separate the classes count as selected by chance if some set of as many random
    columns is expected to separate them, too. Otherwise each column counts by its rise, see
    `loss_without`.
    """
    (n, k) = columns.shape
    problem = RidgeLogistic(
        side[:, None] * columns, side, cost, np.ones(k, dtype=bool), intercept=intercept
    )
    subset = problem.fit(range(k))
    margins = problem.Z @ subset.theta[1:] + side * subset.theta[0]
    if (margins > 0).all():
        chance = log_separating_sets(n, n_candidates, k, intercept=intercept)
        return float(k) if chance >= 0 else 0.0
    rises = loss_without(problem, subset)
    return float(np.minimum(1.0, n_candidates * np.exp(-rises)).sum())


def loss_without(problem: RidgeLogistic, subset: Subset) -> Array:
    """Estimate how much the logistic loss rises without each member of a set.

    For a column without any relation to the labels, twice the rise is distributed as chi-square
    with one degree of freedom, so that at least one of p such columns reaches the rise r with a
    probability of at most ``p exp(-r)``.
    """
    return 0.5 * problem.sacrifice(subset)


def log_separating_sets(n: int, n_candidates: int, k: int, *, intercept: bool) -> float:
    """Return the logarithm of the expected number of sets of k random columns that separate.

    Of the ``2^n`` ways to label n points in general position in d dimensions, hyperplanes through
    the origin separate ``2 sum_(i < d) C(n - 1, i)`` [Cover 1965]; an intercept is a dimension.
    """
    if k > n_candidates:
        return -np.inf
    i = np.arange(min(k + intercept, n))
    separable = logsumexp(_log_binomial(n - 1, i))
    return float(_log_binomial(n_candidates, k) + separable - (n - 1) * LOG2)


def _log_binomial(n: int, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def best_subset(
    problem: RidgeLogistic,
    *,
    largest: int = 0,
    max_iter: int,
    progress: Progress | None = None,
) -> Spliced:
    """Find the set of least criterion among the best sets found for sizes 1, 2, ...

    Parameters
    ----------
    problem : RidgeLogistic
    largest : int
        Largest size; 0 means ``n / ln n``.
    max_iter : int
        Maximum number of splices for each size.
    progress : Progress or None
        Progress, reported for each size.
    """
    subset = best = problem.fit([])
    values = [problem.criterion(subset)]
    settled = True  # whether no size has reached `max_iter` splices

    limit = largest or largest_size(problem.y.size)
    n_candidates = int(problem.candidates.sum())
    it = Iterations(min(limit, n_candidates), 0.0, progress)
    for size in it:
        # 1. Add the column with the largest promise
        promise = problem.promise(subset)
        j = int(promise.argmax())
        if not promise[j] > 0:
            it.converged = True
            continue
        larger = [*subset.features, j]
        start = np.append(subset.theta, 0.0)
        subset = problem.fit(larger, start)

        # 2. Splice while the loss falls
        n_splices = 0
        while n_splices < max_iter and (spliced := splice(problem, subset)) is not None:
            subset = spliced
            n_splices += 1
        settled = settled and n_splices < max_iter

        # 3. Stop a few sizes after the minimum of the criterion
        values.append(problem.criterion(subset))
        if values[-1] < problem.criterion(best):
            best = subset
        it.converged = size >= len(best.features) + N_WORSE_SIZES

    sizes = np.arange(len(values))
    return Spliced(best.features, np.array(values), sizes, it.n_iter, settled)


def largest_size(n_samples: int) -> int:
    """Return the largest size that is tried by default, ``n / ln n``."""
    return int(max(1.0, n_samples / np.log(n_samples)))


def splice(problem: RidgeLogistic, subset: Subset) -> Subset | None:
    """Exchange the least valuable members for the most promising outsiders, or return None.

    The largest exchange that lowers the loss is used.
    """
    # sort the members by sacrifice and the outsiders by promise
    size = len(subset.features)
    least = np.argsort(problem.sacrifice(subset), kind="stable")
    promise = problem.promise(subset)
    n_outside = int(np.count_nonzero(promise))
    n_exchanged = min(MOST_EXCHANGED, size, n_outside)
    if not n_exchanged:
        return None
    outside = np.argpartition(-promise, n_exchanged - 1)[:n_exchanged]
    outside = outside[np.argsort(-promise[outside], kind="stable")]

    for count in range(n_exchanged, 0, -1):
        stay = np.sort(least[count:])
        features = [subset.features[i] for i in stay] + outside[:count].tolist()
        start = np.concatenate([subset.theta[:1], subset.theta[1 + stay], np.zeros(count)])
        exchanged = problem.fit(features, start)
        if exchanged.loss < subset.loss - LEAST_DECREASE * problem.price:
            return exchanged
    return None


def prune(
    problem: RidgeLogistic, features: Iterable[int], rises: Callable[[list[int]], bool]
) -> list[int]:
    """Drop members one by one, the least valuable first, while the criterion falls.

    Parameters
    ----------
    problem : RidgeLogistic
    features : iterable of int
        The first set.
    rises : callable
        Function of a set that returns True if another quantity would rise too much; such a set is
        excluded.
    """
    subset = problem.fit(features)
    weight = dict(zip(subset.features, subset.theta[1:], strict=True))

    def loss(features: Iterable[int]) -> float:
        features = list(features)
        if rises(features):
            return float("inf")
        # start from the weights of the first set
        start = np.array([subset.theta[0], *(weight[j] for j in features)])
        return problem.fit(features, start).loss

    order = np.argsort(problem.sacrifice(subset), kind="stable")
    ordered = [subset.features[i] for i in order]
    price = 0.5 * problem.price
    return drop_cheapest(ordered, subset.loss, loss, price=price)[0]
