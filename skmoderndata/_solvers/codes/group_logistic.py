"""Logistic loss with a penalty on the norms of groups of coefficients.

``min over w, b  sum_i s_i log(1 + exp(-y_i (x_i'w + b))) + lam Omega(w)`` with labels y of -1 and
1, weights s and the penalty of `group_lasso`. The objective may also contain
``1/2 ridge |w|^2``.

Differs from the paper (Meier et al. 2008): 1. Proximal Newton steps replace block coordinate
gradient descent: each minimises the quadratic model of the loss plus the penalty, which is a group
lasso. 2. A duality gap decides when to stop.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import entr, expit

from skmoderndata._solvers.codes.group_lasso import (
    Columns,
    GroupLassoResult,
    Penalty,
    WorkingSet,
    group_lasso,
)
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    BISECTIONS,
    INNER_SHARE,
    PROGRESS,
    ROUNDING,
    SUFFICIENT_DECREASE,
)
from skmoderndata._solvers.common.typing import Array

# Minimum curvature of the loss of a sample of weight 1; far from the boundary, the loss is flat.
CURVATURE_FLOOR = 1e-6
# Smallest step of the line search.
SMALLEST_STEP = 2.0**-20
# Number of times that the rounding errors of a dual point are corrected.
REFINEMENTS = 1
# Number of Newton steps without a smaller gap after which any progress counts as a rounding error.
STEPS_WITHOUT_GAIN = 3


class LogisticProblem(NamedTuple):
    """Data of the problem.

    Attributes
    ----------
    X : ndarray or CSC array of shape (n, p)
        Columns, in the order of the groups of the penalty.
    y : ndarray of shape (n,)
        Labels, -1 or 1.
    weights : ndarray of shape (n,)
        Weights of the samples.
    intercept : bool
        Whether there is an intercept, which is not penalised.
    ridge : float
        Weight of half the squared norm of the coefficients.
    """

    X: Any
    y: Array
    weights: Array
    intercept: bool
    ridge: float = 0.0

    def loss(self, f: Array) -> float:
        """Return the sum of the losses at the values f."""
        return float(self.weights @ np.logaddexp(0.0, -self.y * f))

    def smooth(self, f: Array, w: Array) -> float:
        """Return the sum of the losses, plus the term of the squared norm."""
        return self.loss(f) + 0.5 * self.ridge * float(w @ w)

    def residual(self, f: Array) -> Array:
        """Return the negative slope of the loss."""
        return self.weights * self.y * expit(-self.y * f)


class LogisticResult(NamedTuple):
    """Coefficients, intercept, gap relative to the objective at zero, and Newton steps.

    For `lam` of at least `lam_max`, all coefficients are zero.
    """

    coef: Array
    intercept: float
    gap: float
    n_iter: int
    lam_max: float


def group_logistic(
    problem: LogisticProblem,
    penalty: Penalty,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    start: tuple[Array, float] | None = None,
    progress: Progress | None = None,
) -> LogisticResult:
    """Minimise the penalised logistic loss until the duality gap is small.

    Parameters
    ----------
    problem : LogisticProblem
        Data of the problem.
    penalty : Penalty
        Penalty on all groups, with positive `lam` and weights.
    tol : float
        Duality gap relative to the objective at zero coefficients.
    max_iter : int
        Maximum number of Newton steps.
    start : tuple of array (p,) and float
        Initial coefficients and intercept.
    """
    # fit the intercept at zero coefficients; the objective there is the unit of the gap
    X = problem.X
    w = np.zeros(X.shape[1])
    b = best_intercept(problem, np.zeros(len(problem.y)), 0.0)
    scale = problem.loss(np.full(len(problem.y), b))
    slope = X.T @ problem.residual(np.full(len(problem.y), b))
    lam_max = float(penalty.dual_norms(slope).max())
    # start from zero, or from the given coefficients
    if start is not None:
        w = np.array(start[0], dtype=np.float64)
        b = float(start[1])

    best = LogisticResult(w, b, np.inf, 0, lam_max)
    products = X @ w
    idle = 0
    n_iter = 0
    while True:
        # 1. set the intercept so that the residuals sum to zero, then compute the gap
        b = best_intercept(problem, products, b)
        gap = logistic_gap(problem, products + b, w, penalty) / scale
        idle = 0 if gap < PROGRESS * best.gap else idle + 1
        if gap < best.gap:
            best = LogisticResult(w, b, gap, n_iter, lam_max)
        if best.gap <= tol or n_iter >= max_iter or idle >= STEPS_WITHOUT_GAIN:
            break
        if progress is not None:
            progress.begin()
        n_iter += 1

        # 2. minimise the quadratic model: a weighted group lasso
        model, means = _quadratic_model(problem, products, b)
        goal = INNER_SHARE * min(gap, 1.0) * scale
        step = _model_minimum(model, penalty, w, goal)
        direction = step.coef - w
        along = X @ direction
        shift = model.mean_target - float(means @ step.coef) - b if problem.intercept else 0.0

        # 3. move along the direction, by the largest step that lowers the objective sufficiently
        t = _step_length(problem, penalty, w, products + b, direction, along + shift)
        w = w + t * direction
        products = products + t * along
        b = b + t * shift
        if progress is not None and progress.end():
            break
        if t == 0.0:  # any further decrease is a rounding error
            break
    return best._replace(n_iter=n_iter)


def best_intercept(problem: LogisticProblem, products: Array, b: float) -> float:
    """Return the intercept at which the residuals sum to zero, given ``X w``."""
    if not problem.intercept:
        return 0.0

    # bracket the root by two intercepts, each of which puts all samples on one side
    span = float(np.abs(products).max(initial=0.0)) + 50.0
    low = -span
    high = span
    for _ in range(BISECTIONS):
        r = problem.residual(products + b)
        # the sum of the residuals falls as b grows
        total = float(r.sum())
        if total > 0:
            low = b
        else:
            high = b
        size = np.abs(r)
        curvature = float((size * (1 - size / problem.weights)).sum())

        # take a Newton step, or bisect if that leaves the bracket
        new = b + total / curvature if curvature > 0 else np.inf
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - b) <= ROUNDING * (1 + abs(b)):
            break
        b = new
    return b


def logistic_gap(problem: LogisticProblem, f: Array, w: Array, penalty: Penalty) -> float:
    """Return the duality gap at ``f = X w + b``; residuals sum to zero if b is a variable.

    The dual problem is ``max sum_i s_i H(q_i) - |v|^2 / (2 ridge)``, where H is the binary entropy
    and ``s_i y_i q_i`` takes the place of the residuals r, which sum to zero: the dual norms of
    ``X' r - v`` are at most `lam`. Without a ridge, v is zero; at the optimum, ``v = ridge w``.
    """
    objective = problem.smooth(f, w) + penalty.lam * penalty.of(w)

    # lower bound: the better of two dual points
    r = problem.residual(f)
    bound = _dual_value(problem, r, w, penalty)
    if w.any():
        r = _stationary(problem, r, w, penalty)
        bound = max(bound, _dual_value(problem, r, w, penalty))
    return relative_gap(objective, bound, unit=1.0)


def _dual_value(problem: LogisticProblem, r: Array, w: Array, penalty: Penalty) -> float:
    """Return the dual value at residuals that sum to zero, after scaling them to be feasible."""
    largest = float(penalty.dual_norms(problem.X.T @ r - problem.ridge * w).max())
    factor = min(1.0, penalty.lam / largest) if largest > 0 else 1.0

    # reject points outside the domain of the entropy
    q = factor * problem.y * r / problem.weights
    if not ((q >= 0.0) & (q <= 1.0)).all():
        return -np.inf
    value = float(problem.weights @ (entr(q) + entr(1 - q)))
    return value - 0.5 * problem.ridge * factor**2 * float(w @ w)


def _stationary(problem: LogisticProblem, r: Array, w: Array, penalty: Penalty) -> Array:
    """Return residuals whose inner products with the columns in use balance the penalty's slopes.

    If a group has a small weight, its inner products must nearly vanish: scaling all residuals
    until they do gives a poor bound long after the coefficients are right. A Newton step over the
    columns in use removes the imbalance to first order.
    """
    used = np.flatnonzero(w)
    if len(used) >= len(r):
        return r

    # set up the stationarity conditions, with the intercept as an additional column
    A: Any = problem.X[:, used]
    A = A.toarray() if hasattr(A, "toarray") else A
    slopes = penalty.slopes(w)[used] + problem.ridge * w[used]
    if problem.intercept:
        A = np.column_stack([A, np.ones(len(r))])
        slopes = np.append(slopes, 0.0)

    # take a Newton step on these conditions, with the curvature of the loss
    size = np.abs(r)
    curvature = size * (1 - size / problem.weights)
    root = np.sqrt(curvature)
    # use products with orthonormal columns, which lose fewer digits than products with A
    Q, R, pivots = _qr(root[:, None] * A)
    for _ in range(1 + REFINEMENTS):
        imbalance = (A.T @ r - slopes)[pivots]
        coef = linalg.solve_triangular(R, imbalance, trans=1)
        r = r - root * (Q @ coef)
    return r


def _qr(A: Array) -> tuple[Array, Array, Array]:
    """Factorise ``A[:, pivots] = Q R`` with full rank, leaving out dependent columns."""
    qr: Any = linalg.qr
    Q, R, pivots = qr(A, mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    rank = int(np.count_nonzero(size > ACCUMULATED_ROUNDING * size.max(initial=0.0)))
    return Q[:, :rank], R[:rank, :rank], pivots[:rank]


class _Model(NamedTuple):
    """Least squares problem that equals the quadratic model of the loss."""

    columns: Columns
    target: Array
    mean_target: float


def _quadratic_model(
    problem: LogisticProblem, products: Array, b: float
) -> tuple[_Model, Array]:
    """Return the weighted and centred columns and target, and the means of the columns."""
    # If q is the probability of the wrong label and s the weight of a sample, the slope is s q and
    # the curvature s q (1 - q).
    r = problem.residual(products + b)
    size = np.abs(r)
    curvature = size * (1 - size / problem.weights)
    h = np.maximum(curvature, CURVATURE_FLOOR * problem.weights)
    target = products + b + r / h
    root = np.sqrt(h)

    # eliminate the intercept of the model by subtracting weighted means
    X = problem.X
    means = np.zeros(X.shape[1])
    mean_target = 0.0
    if problem.intercept:
        means = (X.T @ h) / h.sum()
        mean_target = float(h @ target) / float(h.sum())
    # form neither the centred sparse columns nor the additional rows that stand for the ridge
    ridge = float(np.sqrt(problem.ridge))
    if sparse.issparse(X):
        X_sparse: Any = X
        scaled = X_sparse.copy()
        scaled.data = scaled.data * root[scaled.indices]
        columns = Columns(scaled, means, root, ridge=ridge)
    else:
        columns = Columns((X - means) * root[:, None], ridge=ridge)
    target = root * (target - mean_target)
    return _Model(
        columns, np.pad(target, (0, columns.n_rows - len(target))), mean_target
    ), means


def _model_minimum(model: _Model, penalty: Penalty, w: Array, goal: float) -> GroupLassoResult:
    """Minimise the model plus the penalty to a duality gap of about `goal`."""
    unit = 0.5 * float(model.target @ model.target)
    tol = max(goal / unit, ROUNDING) if unit > 0 else 1.0
    work = WorkingSet(model.columns, penalty.edges)
    return group_lasso(model.target, work, penalty, tol=tol, max_iter=1000, start=w)


def _step_length(
    problem: LogisticProblem,
    penalty: Penalty,
    w: Array,
    f: Array,
    direction: Array,
    along: Array,
) -> float:
    """Return the first of 1, 1/2, 1/4, ... with a sufficient decrease (Armijo), or 0 if none has.

    `along` is the change of the values f in this direction.
    """
    # compute the decrease that the slope of the loss and the penalty predict
    before = penalty.lam * penalty.of(w)
    objective = problem.smooth(f, w) + before
    expected = penalty.lam * penalty.of(w + direction) - before
    expected -= float(problem.residual(f) @ along)
    expected += problem.ridge * float(w @ direction)
    if expected >= 0:
        return 0.0

    # halve the step until a fraction of that decrease is reached
    t = 1.0
    while t >= SMALLEST_STEP:
        moved = w + t * direction
        value = problem.smooth(f + t * along, moved) + penalty.lam * penalty.of(moved)
        if value <= objective + SUFFICIENT_DECREASE * t * expected:
            return t
        t /= 2
    return 0.0
