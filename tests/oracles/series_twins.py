"""Twins of the kernels on series, by plain loops and by enumeration of alignments."""

import numpy as np

from skmoderndata import kernels as sk
from tests.oracles.dynamic_time_warping import (
    all_alignments,
    itakura,
    sakoe_chiba,
    slanted,
    square,
    warping_cost,
)
from tests.oracles.kernel_twins import Twin

BOUNDS = (1e-3, 1e3)


def series(rng, n):
    """Draw series of 1 to 6 points of two channels."""
    return [rng.normal(size=(rng.integers(1, 7), 2)) for _ in range(n)]


def from_distance(kernel, x, z):
    """Exponential of the warping distance."""
    rule = {"allowed": lambda i, j: True}
    if kernel.band == "itakura":
        rule["allowed"] = itakura(x, z, kernel.max_slope)
    elif kernel.radius is not None:
        band = slanted if kernel.slanted else sakoe_chiba
        rule["allowed"] = band(x, z, kernel.radius)
    squares = kernel.local == "sqeuclidean"
    cost = square if squares else lambda a, b: np.sqrt(square(a, b))
    distance = warping_cost(x, z, cost, **rule)
    if squares and kernel.root:
        distance = np.sqrt(distance)
    return np.exp(-kernel.gamma * distance**kernel.power)


def over_alignments(kernel, x, z):
    """Sum over all alignments of the product of local similarities [Cuturi 2011]."""
    total = 0.0
    for path in all_alignments(len(x), len(z)):
        product = 1.0
        for i, j in path:
            e = np.exp(-square(x[i], z[j]) / (2 * kernel.sigma**2))
            if kernel.triangular is not None:
                e *= max(0.0, 1 - abs(i - j) / kernel.triangular)
            product *= e / (2 - e) if kernel.local == "infinitely_divisible" else e
        total += product
    return total


TWINS = {
    "DTWKernel": Twin(
        lambda: [
            sk.DTWKernel(),
            sk.DTWKernel(0.3, local="euclidean", power=1.0),
            sk.DTWKernel(0.3, root=False, power=0.5),
            sk.DTWKernel(0.3, radius=2),
            sk.DTWKernel(0.3, radius=2, slanted=False),
            sk.DTWKernel(0.3, band="itakura", max_slope=3.0),
            sk.DTWKernel(0.2, multiscale_radius=8),
        ],
        from_distance,
        series,
        lambda: [
            sk.DTWKernel(0.3, gamma_bounds=BOUNDS),
            sk.DTWKernel(0.3, radius=2, slanted=False, gamma_bounds=BOUNDS),
        ],
    ),
    "GlobalAlignment": Twin(
        lambda: [
            sk.GlobalAlignment(),
            sk.GlobalAlignment(0.3),
            sk.GlobalAlignment(2.0, triangular=3),
            sk.GlobalAlignment(1.5, triangular=1),
        ],
        over_alignments,
        series,
        lambda: [
            sk.GlobalAlignment(1.3, sigma_bounds=BOUNDS),
            sk.GlobalAlignment(0.7, triangular=3, sigma_bounds=BOUNDS),
        ],
    ),
}
