"""The program of `box_qp` without sums to keep: one weight at a time, the kernel adatron."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.margins.box_qp import POLISHED, TOGETHER, BoxResult, BoxState, Rows
from skmoderndata._typing import Array

LONGER = 500  # passes after the tolerance is met, with few samples


def coordinate_descent(
    store: Rows,
    state: BoxState,
    gap: Callable[[Array, Array], float],
    rng: Any,
    *,
    omega: float,
    tol: float,
    max_iter: int,
    largest: float,
    shuffle: bool,
    progress: Progress | None = None,
) -> BoxResult:
    """Minimise f of `box_qp` by passes over its weights, in place.

    A step goes `omega` times the way to the minimum of f in one weight, the gradient divided by
    the curvature `k_ii + ridge_i`. The printed step 1 is the same for ``k_ii = 1`` and diverges
    for ``k_ii > 2``. It ends at the relative gap `tol`, or where the sum of weights exceeds
    `largest`: the problem has no solution then.
    """
    n = len(state.w)
    worst = 0.0
    it = Iterations(max_iter, tol, progress)
    for _ in it:
        worst = one_pass(store, state, rng.permutation(n) if shuffle else np.arange(n), omega)
        it.residual = gap(state.w, state.g)
        it.ended = float(np.abs(state.w).sum()) > largest
    reached, count = it.residual, it.n_iter
    if it.converged and n <= POLISHED:
        floor = 1e-14 * float(np.abs(state.g).max(initial=1.0))
        longer = it.n_iter + LONGER
        # the dual falls from pass to pass, the gap need not
        while count < max_iter and (reached > tol or (worst > floor and count < longer)):
            worst = one_pass(store, state, rng.permutation(n) if shuffle else np.arange(n), omega)
            count += 1
            reached = gap(state.w, state.g)
    return BoxResult(state.w, state.g, reached, count, it.converged and reached <= tol)


def one_pass(store: Rows, state: BoxState, order: Array, omega: float) -> float:
    """Pass over all weights; rows are brought as needed. Returns the largest slope met."""
    done, worst = 0, 0.0
    while done < len(order):
        done, here = coordinate_steps(
            store.values, store.slot, store.used, state, order, omega, done
        )
        worst = max(worst, here)
        if done < len(order):
            missing = order[done:][store.slot[order[done:]] < 0]
            slope = np.abs(state.g[missing])
            slope[0] = np.inf
            most = min(TOGETHER, len(missing))
            store.bring(np.sort(missing[np.argpartition(-slope, most - 1)[:most]]))
    return worst


@jit
def coordinate_steps(values, slot, used, state, order, omega, start):
    """Step along the weights of `order` from `start` on, until a row is missing.

    Returns where it stopped, and the largest projected slope.
    """
    w, g = state.w, state.g
    worst = 0.0
    for place in range(start, len(order)):
        i = order[place]
        d = state.diagonal[i]
        if d <= 0.0:
            continue
        target = w[i] - g[i] / d  # then the soft threshold, for the term tube |w|
        edge = state.tube / d
        target = target - edge if target > edge else target + edge if target < -edge else 0.0
        best = min(max(target, state.low[i]), state.high[i])
        slope = abs(best - w[i]) * d
        new = min(max(w[i] + omega * (target - w[i]), state.low[i]), state.high[i])
        step = new - w[i]
        if step == 0.0:
            continue
        if slot[i] < 0:
            return place, worst
        worst = max(worst, slope)
        used[i] += 1
        row = values[slot[i]]
        for q in range(len(g)):
            g[q] += step * row[q]
        g[i] += step * state.ridge[i]
        w[i] = new
    return len(order), worst
