"""Alignments of series by plain loops."""

import numpy as np


def square(a, b):
    """Squared Euclidean distance of two points."""
    return sum(
        (p - q) * (p - q) for p, q in zip(np.atleast_1d(a), np.atleast_1d(b), strict=True)
    )


def warping_cost(x, z, cost=square, allowed=lambda i, j: True):
    """Least sum of local costs over all alignments [Sakoe and Chiba 1978, eq. 20]."""
    n = len(x)
    m = len(z)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            if allowed(i, j):
                D[i + 1, j + 1] = cost(x[i], z[j]) + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[n, m]


def all_alignments(n, m):
    """Yield every alignment of series of n and m points as a list of pairs of positions."""
    if n == 1 and m == 1:
        yield [(0, 0)]
        return
    for a, b in ((n - 1, m - 1), (n - 1, m), (n, m - 1)):
        if a and b:
            for path in all_alignments(a, b):
                yield [*path, (n - 1, m - 1)]


def sakoe_chiba(x, z, radius):
    """Return the rule of the band of Sakoe and Chiba."""
    return lambda i, j: abs(i - j) <= radius


def itakura(x, z, slope):
    """Return the rule of Itakura's parallelogram: slopes seen from either end are bounded."""
    n = len(x)
    m = len(z)

    def allowed(i, j):
        ends = ((i, j), (n - 1 - i, m - 1 - j))
        return all(a <= slope * b + 1e-9 and b <= slope * a + 1e-9 for a, b in ends)

    return allowed


def slanted(x, z, radius):
    """Return the rule of a band around the diagonal of a table that is not square."""
    n = len(x)
    m = len(z)

    def allowed(i, j):
        (i, n_i), (j, n_j) = ((i, n), (j, m)) if n >= m else ((j, m), (i, n))
        return abs(i * (n_j - 1) / max(n_i - 1, 1) - j) <= radius + 0.5 + 1e-9

    return allowed


def soft_minimum_of_alignments(x, z, gamma):
    """Soft minimum of the costs of all alignments, by enumeration."""
    costs = np.array(
        [sum(square(x[i], z[j]) for i, j in path) for path in all_alignments(len(x), len(z))]
    )
    least = costs.min()
    return least - gamma * np.log(np.exp((least - costs) / gamma).sum())


def soft_minimum_by_logarithms(x, z, gamma):
    """The same, by the table of the logarithms of all sums."""
    M = np.full((len(x) + 1, len(z) + 1), -np.inf)
    M[0, 0] = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(z):
            sums = np.logaddexp.reduce([M[i, j], M[i, j + 1], M[i + 1, j]])
            M[i + 1, j + 1] = sums - square(a, b) / gamma
    return -gamma * M[-1, -1]
