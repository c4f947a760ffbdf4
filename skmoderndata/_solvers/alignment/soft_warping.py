"""Soft dynamic time warping: a smooth minimum over alignments, and its gradient."""

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.alignment.corridors import fill_corridor
from skmoderndata._solvers.alignment.warping import local_cost


@jit
def _soft_minimum(a, b, c, gamma):
    """``-gamma log(exp(-a / gamma) + exp(-b / gamma) + exp(-c / gamma))``, without overflow."""
    least = min(min(a, b), c)
    if least == np.inf:
        return np.inf
    total = np.exp((least - a) / gamma) + np.exp((least - b) / gamma)
    return least - gamma * np.log(total + np.exp((least - c) / gamma))


@jit
def soft_table(x, z, gamma, low, high):
    """Table ``R(i, j) = d(x_i, z_j) + softmin`` of three neighbours, with a border of infinity."""
    n, m = len(x), len(z)
    R = np.full((n + 2, m + 2), np.inf)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(low[i - 1] + 1, high[i - 1] + 1):
            best = _soft_minimum(R[i - 1, j - 1], R[i - 1, j], R[i, j - 1], gamma)
            R[i, j] = local_cost(x[i - 1], z[j - 1], False) + best
    return R


@jit
def add_gradient(x, z, gamma, low, high, R, weight, gradient):
    """Add the gradient of ``weight R(n, m)`` in x to `gradient` (Cuturi and Blondel, Alg. 2).

    ``E(i, j)``, the derivative of the value in the cell's local cost, is the weighted sum of the
    three cells that it leads to, weighted by ``exp((R(next) - R - d(next)) / gamma)``.
    """
    n, m = len(x), len(z)
    E = np.zeros((n + 2, m + 2))
    for i in range(n, 0, -1):
        for j in range(high[i - 1], low[i - 1], -1):
            if R[i, j] == np.inf:
                continue
            if i == n and j == m:
                E[i, j] = 1.0
            else:
                total = 0.0
                for k in range(3):
                    a, b = i + (k != 1), j + (k != 2)
                    if E[a, b] > 0.0:
                        cost = local_cost(x[a - 1], z[b - 1], False)
                        total += E[a, b] * np.exp((R[a, b] - R[i, j] - cost) / gamma)
                E[i, j] = total
            for c in range(x.shape[1]):
                difference = x[i - 1, c] - z[j - 1, c]
                gradient[i - 1, c] += weight * 2.0 * E[i, j] * difference


@jit
def soft_costs(center, values, offsets, weights, gamma, band, gradient):
    """Soft cost of a center with each series; adds the weighted gradient in the center.

    Where `gradient` is empty, none is computed.
    """
    n = len(center)
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    costs = np.empty(len(offsets) - 1)
    for p in range(len(costs)):
        z = values[offsets[p] : offsets[p + 1]]
        fill_corridor(n, len(z), band, low, high)
        R = soft_table(center, z, gamma, low, high)
        costs[p] = R[n, len(z)]
        if gradient.size and costs[p] < np.inf:
            add_gradient(center, z, gamma, low, high, R, weights[p], gradient)
    return costs
