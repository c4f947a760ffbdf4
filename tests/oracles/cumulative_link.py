"""The cumulative link, stated plainly: probabilities as differences, and a general minimiser."""

import numpy as np
from scipy import optimize


def probabilities(score, slope, thresholds):
    """`P(y = k) = sigma(t_k - a s) - sigma(t_(k-1) - a s)` of one score, rank by rank."""
    below = [0.0, *(1 / (1 + np.exp(slope * score - t)) for t in thresholds), 1.0]
    above = [1.0, *(1 / (1 + np.exp(t - slope * score)) for t in thresholds), 0.0]
    # two equal differences; smaller numbers give more digits
    return [
        below[k + 1] - below[k] if below[k] < 0.5 else above[k] - above[k + 1]
        for k in range(len(thresholds) + 1)
    ]


def mean_loss(slope, thresholds, scores, ranks, weights, frequencies, smoothing):
    """Mean of the negative log-likelihood of smoothed labels."""
    total = 0.0
    for s, y, w in zip(scores, ranks, weights, strict=True):
        P = probabilities(s, slope, thresholds)
        for k, p in enumerate(P):
            label = (1 - smoothing) * (k == y) + smoothing * frequencies[k]
            total -= w * label * np.log(p)
    return total / sum(weights)


def link_of_least_loss(scores, ranks, weights, frequencies, smoothing):
    """Loss, slope and thresholds over the first threshold, logarithms of distances, and a >= 0."""
    m = len(frequencies) - 1

    def unpacked(theta):
        return theta[-1], theta[0] + np.r_[0.0, np.cumsum(np.exp(theta[1:m]))]

    def loss(theta):
        return mean_loss(*unpacked(theta), scores, ranks, weights, frequencies, smoothing)

    start = np.r_[-1.0, np.zeros(m - 1), 0.5]
    free = [(None, None)] * m
    solution = optimize.minimize(
        loss,
        start,
        method="L-BFGS-B",
        bounds=[*free, (0.0, None)],
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxfun": 10**6},
    )
    return solution.fun, *unpacked(solution.x)
