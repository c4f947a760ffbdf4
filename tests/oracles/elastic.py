"""Elastic distances of two series by plain loops, after the boxes of the papers."""

import numpy as np


def norm(a):
    return float(np.sqrt((np.atleast_1d(a) ** 2).sum()))


def erp(x, z, g=0.0, allowed=lambda i, j: True):
    """Edit distance with real penalty [Chen and Ng 2004, section 4.1]."""
    n = len(x)
    m = len(z)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(n):
        D[i + 1, 0] = D[i, 0] + norm(x[i] - g)
    for j in range(m):
        D[0, j + 1] = D[0, j] + norm(z[j] - g)
    for i in range(n):
        for j in range(m):
            if not allowed(i, j):
                D[i + 1, j + 1] = np.inf
                continue
            D[i + 1, j + 1] = min(
                D[i, j] + norm(x[i] - z[j]),
                D[i, j + 1] + norm(x[i] - g),
                D[i + 1, j] + norm(z[j] - g),
            )
    return D[n, m]


def split_or_merge(a, b, c, cost):
    """Cost of a split or a merge [Stefan et al. 2013, eq. 9]."""
    if b <= a <= c or b >= a >= c:
        return cost
    return cost + min(abs(a - b), abs(a - c))


def msm(x, z, cost=1.0, allowed=lambda i, j: True):
    """Move-split-merge distance of series of one channel [Stefan et al. 2013, Figure 9]."""
    n = len(x)
    m = len(z)
    D = np.full((n, m), np.inf)
    for i in range(n):
        for j in range(m):
            if not allowed(i, j):
                continue
            if i == 0 and j == 0:
                D[i, j] = abs(x[0] - z[0])
            if i > 0 and j > 0:
                D[i, j] = D[i - 1, j - 1] + abs(x[i] - z[j])
            if i > 0:
                D[i, j] = min(
                    D[i, j], D[i - 1, j] + split_or_merge(x[i], x[i - 1], z[j], cost)
                )
            if j > 0:
                D[i, j] = min(
                    D[i, j], D[i, j - 1] + split_or_merge(z[j], z[j - 1], x[i], cost)
                )
    return D[n - 1, m - 1]


def twe(x, z, nu=0.001, lam=1.0, allowed=lambda i, j: True, norm=norm):
    """Time warp edit distance [Marteau 2009, eq. 5], with a point 0 at time 0 in front."""
    x = [0.0 * x[0], *x]
    z = [0.0 * z[0], *z]
    n = len(x)
    m = len(z)
    D = np.full((n, m), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n):
        for j in range(1, m):
            if not allowed(i - 1, j - 1):
                continue
            match = norm(x[i] - z[j]) + norm(x[i - 1] - z[j - 1]) + 2 * nu * abs(i - j)
            D[i, j] = min(
                D[i - 1, j - 1] + match,
                D[i - 1, j] + norm(x[i] - x[i - 1]) + nu + lam,
                D[i, j - 1] + norm(z[j] - z[j - 1]) + nu + lam,
            )
    return D[n - 1, m - 1]


def weighted_warping(x, z, g=0.05, allowed=lambda i, j: True):
    """Squared distance of weighted dynamic time warping [Jeong et al. 2011, eq. 3 and 4]."""
    n = len(x)
    m = len(z)
    size = max(n, m)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            if allowed(i, j):
                weight = 1 / (1 + np.exp(-g * (abs(i - j) - size / 2)))
                least = min(D[i, j], D[i, j + 1], D[i + 1, j])
                D[i + 1, j + 1] = weight * norm(x[i] - z[j]) ** 2 + least
    return D[n, m]


def common_subsequence(x, z, epsilon=1.0, allowed=lambda i, j: True):
    """One minus the share of the longest common subsequence, by all of them, recursively."""

    def longest(i, j):
        if i < 0 or j < 0:
            return 0
        if (i, j) not in known:
            best = max(longest(i - 1, j), longest(i, j - 1))
            if allowed(i, j) and np.all(np.abs(x[i] - z[j]) <= epsilon):
                best = max(best, 1 + longest(i - 1, j - 1))
            known[i, j] = best
        return known[i, j]

    known = {}
    return 1 - longest(len(x) - 1, len(z) - 1) / min(len(x), len(z))
