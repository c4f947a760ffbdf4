"""Newton's method for the squared hinge loss of a linear function.

Differs from the paper [Keerthi and DeCoste 2005]: 1. Each ridge regression is solved by a Cholesky
factorisation, not by conjugate gradients. 2. The intercept is not penalised.
"""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import MAX_NEWTON_STEPS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.certificates import best_multiple


def squared_hinge_by_newton(
    X: Array,
    y: Array,
    costs: Array,
    *,
    max_iter: int = -1,
    progress: Progress | None = None,
) -> tuple[Array, int]:
    """Minimise `1/2 |w|^2 + 1/2 sum_i costs_i max(0, 1 - y_i (w'x_i + b))^2` over w and b.

    The objective is quadratic while the set of samples inside the margin does not change. Each
    step moves to the minimum of this quadratic function, or to the lowest point on the way there.
    The method stops after a full step that leaves this set unchanged [Keerthi and DeCoste 2005,
    Section 3].

    Returns the slacks, which are the dual coefficients divided by `costs`, and the number of
    steps. Without convergence the slacks are from the last step.
    """
    w = np.zeros(X.shape[1])
    margins = np.zeros(len(y))
    value = 0.5 * float(costs.sum())
    limit = MAX_NEWTON_STEPS if max_iter < 0 else min(max_iter, MAX_NEWTON_STEPS)
    it = Iterations(limit, -1.0, progress)

    for _ in it:
        # 1. Minimise the quadratic function of the samples inside the margin
        slack = 1.0 - margins
        inside = slack >= min(0.0, slack.max())
        try:
            w_new, b_new = _weighted_ridge(X[inside], y[inside], costs[inside])
        except linalg.LinAlgError:
            # stop: the columns differ so much in scale that the matrix consists of rounding errors
            it.ended = True
            continue
        d = w_new - w
        change = y * (X @ w_new + b_new) - margins

        # 2. Stop if a full step leaves the same samples inside the margin: this is the optimum
        if np.array_equal(margins + change <= 1.0, inside):
            margins += change
            it.ended = True
            continue

        # 3. Otherwise minimise on the line; stop if rounding prevents a decrease
        lower, step = _least_on_line(w, d, margins, change, costs)
        it.ended = not lower < value
        if it.ended:
            continue
        value = lower
        w += step * d
        margins += step * change
    return np.maximum(0.0, 1.0 - margins), it.n_iter


def _weighted_ridge(X: Array, y: Array, costs: Array) -> tuple[Array, float]:
    """Minimise `1/2 |w|^2 + 1/2 sum costs (y - w'x - b)^2`."""
    total = costs.sum()
    x_mean = costs @ X / total
    y_mean = float(costs @ y) / total

    root = np.sqrt(costs)
    A = (X - x_mean) * root[:, None]
    H = A.T @ A
    H[np.diag_indices(len(H))] += 1.0
    right = A.T @ (root * (y - y_mean))
    factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    w = linalg.cho_solve(factor, right, check_finite=False)
    return w, y_mean - float(x_mean @ w)


def _least_on_line(
    w: Array, d: Array, margins: Array, change: Array, costs: Array
) -> tuple[float, float]:
    """Return the least objective on the line from w along d, and the step."""
    squares = (float(w @ w), float(w @ d), float(d @ d))

    def parts(s: float) -> tuple[float, float, float]:
        slack = np.maximum(0.0, 1.0 - margins - s * change)
        slope = np.where(slack > 0.0, change, 0.0)
        weighted = costs * slack
        norm = squares[0] + s * (2.0 * squares[1] + s * squares[2])
        first = squares[1] + s * squares[2] - float(weighted @ change)
        second = squares[2] + float((costs * slope) @ slope)
        return 0.5 * (norm + float(weighted @ slack)), first, second

    return best_multiple(parts, np.inf, 1.0)
