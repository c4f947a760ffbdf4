"""False nearest neighbours and Cao's curves, by loops over all pairs of windows."""

import numpy as np


def windows(x, lag, d):
    """All windows of d values that have a next one."""
    n = len(x) - d * lag
    return [np.array([x[t + k * lag] for k in range(d + 1)]) for t in range(n)]


def false_fraction(x, lag, d, ratio=15.0, size=2.0):
    """Fraction of windows whose nearest one is false [Kennel, Brown and Abarbanel 1992]."""
    every = windows(x, lag, d)
    false = 0
    for i, a in enumerate(every):
        distances = [np.linalg.norm(a[:d] - b[:d]) for b in every]
        distances[i] = np.inf
        j = int(np.argmin(distances))
        r = distances[j]
        s = abs(a[d] - every[j][d])
        false += s > ratio * r or np.hypot(r, s) > size * np.std(x)
    return false / len(every)


def cao_means(x, lag, d):
    """E(d) and E*(d): growth of the distance to the nearest window, and of the next value."""
    every = windows(x, lag, d)
    growth = []
    following = []
    for a in every:
        distances = np.array([np.abs(a[:d] - b[:d]).max() for b in every])
        distances[distances == 0] = np.inf
        b = every[int(np.argmin(distances))]
        growth.append(np.abs(a - b).max() / distances.min())
        following.append(abs(a[d] - b[d]))
    return np.mean(growth), np.mean(following)
