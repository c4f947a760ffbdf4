"""Groups of similar patches of an image, each filtered by the common structure of its members.

Images and patch indices are as in `patches`.

Differs from the paper (Lebrun, Buades and Morel 2013): 1. Sparse codes give the first
approximation. 2. The mean of a group is partly the noisy one. 3. Groups are weighted by the noise
that their filter lets through.
"""

import numpy as np

from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.patches import Grid, take_patches

# Maximum distance between similar patches, in pixels, both vertically and horizontally.
REACH = 15
# Maximum default number of patches in a group.
LARGEST_GROUP = 64
# Number of blocks whose results are held in memory at a time.
BLOCKS_AT_ONCE = 16
# Minimum energy of the difference between the noisy and the coded mean of a group, relative to the
# energy expected from noise alone; the energy of the noise varies much because overlapping patches
# share noise.
CLEAR_DIFFERENCE = 1.5


def default_group_size(grid: Grid) -> int:
    """Return half the number of values in a patch, which determine its covariance well enough."""
    return max(1, min(LARGEST_GROUP, grid.size // 2))


def filter_groups(
    image: Array,
    approximation: Array,
    grid: Grid,
    *,
    sigma: float,
    group_size: int,
    n_jobs: int | None = None,
) -> Array:
    """Denoise an image (h, w, c) with a known approximation, by groups of its patches.

    A group contains the `group_size` patches that are nearest to one of them in the approximation,
    and every pixel is in at least one group. Let P (k, n) hold the approximations of the members
    minus their mean m. The code of a noisy member y is

        ``argmin_a |y - m - a P|^2 + k sigma^2 |a|^2``,

    so that P is the dictionary of the group, and ``m + a P`` the Wiener filter for its covariance
    [Lebrun, Buades & Morel 2013]. A covariance of few members would fit the noise that P shares
    with y, so P and m use at least `default_group_size` members, but only the nearest are
    returned to the image. The mean m is the coded mean, plus the part of its difference from the
    noisy mean that noise does not explain. The weight of a group at its pixels is the reciprocal
    of 1 plus the trace of its filter, that is, of the noise that it lets through.
    """
    # all groups have the same size: at most the number of patches in a search window at a corner
    # of the image
    in_corner = min(grid.rows, REACH + 1) * min(grid.columns, REACH + 1)
    n_members = min(max(group_size, default_group_size(grid)), in_corner)
    n_returned = min(group_size, n_members)
    if n_returned < 2:
        return approximation

    # split the groups into blocks of limited memory, which threads process
    noisy = np.ascontiguousarray(image, dtype=np.float64)
    first = np.ascontiguousarray(approximation, dtype=np.float64)
    centers = _centers(grid)
    size = max(1, CACHED_BYTES // (8 * n_members * grid.size))
    blocks = [centers[start : start + size] for start in range(0, len(centers), size)]

    def work(block: Array) -> tuple[Array, Array, Array]:
        index = np.empty((len(block), n_members), np.int64)
        _find_similar(first, grid.p, grid.q, block, REACH, index)
        shape = (*index.shape, grid.size)
        noisy_groups = take_patches(noisy, grid, index.ravel()).reshape(shape)
        groups = take_patches(first, grid, index.ravel()).reshape(shape)
        filtered, weights = _wiener(noisy_groups, groups, sigma)
        nearest = np.ascontiguousarray(index[:, :n_returned])
        return nearest, np.ascontiguousarray(filtered[:, :n_returned]), weights

    # add the results in the order of the groups, so that the sum does not depend on the number of
    # threads
    total = np.zeros(noisy.shape)
    weight = np.zeros(noisy.shape[:2])
    with one_blas_thread():
        for start in range(0, len(blocks), BLOCKS_AT_ONCE):
            batch = blocks[start : start + BLOCKS_AT_ONCE]
            for index, patches, weights in in_threads(work, batch, n_jobs):
                _add_patches(index, patches, weights, grid.p, grid.q, total, weight)
    return total / weight[:, :, None]


def _centers(grid: Grid) -> Array:
    """Return the indices of patches half a patch apart, and of the last row and column."""
    rows = np.append(np.arange(0, grid.rows - 1, max(1, grid.p // 2)), grid.rows - 1)
    columns = np.append(np.arange(0, grid.columns - 1, max(1, grid.q // 2)), grid.columns - 1)
    return (rows[:, None] * grid.columns + columns).ravel()


def _wiener(noisy: Array, groups: Array, sigma: float) -> tuple[Array, Array]:
    """Filter noisy groups of patches (g, k, n); return them with the weight of each group."""
    k, n = groups.shape[1:]
    mean = groups.mean(axis=1, keepdims=True)
    P = groups - mean

    # add faint texture that the codes miss: the part of the difference that noise does not explain
    missed = noisy.mean(axis=1, keepdims=True) - mean
    energy = np.sum(missed**2, axis=2, keepdims=True)
    of_noise = n * sigma**2 / k
    clear = energy > CLEAR_DIFFERENCE * of_noise
    mean += (
        np.divide(energy - of_noise, energy, out=np.zeros_like(energy), where=clear) * missed
    )

    # a = (y - m) P' (P P' + k sigma^2)^-1, for all members of a group at once
    gram = P @ P.transpose(0, 2, 1)
    energy = np.trace(gram, axis1=1, axis2=2) / k
    ridge = k * sigma**2 + RANK_TOL * energy + np.finfo(float).tiny
    gram[:, np.arange(k), np.arange(k)] += ridge[:, None]
    smooth = np.linalg.solve(gram, P)
    filtered = ((noisy - mean) @ P.transpose(0, 2, 1)) @ smooth + mean

    # weight the result by the reciprocal of the noise that passes the filter
    trace = np.sum(smooth * P, axis=(1, 2))
    return filtered, 1 / (1 + trace)


@jit
def _find_similar(image, p, q, centers, reach, index):
    """Fill each row of `index` with a patch and the patches nearest to it, nearest first."""
    (height, width, channels) = image.shape
    k = index.shape[1]
    n_rows = height - p + 1
    n_columns = width - q + 1
    lines = image.reshape(height, width * channels)
    distance = np.empty(k)

    for i in range(len(centers)):
        # start with the patch itself; the other places are empty
        y = centers[i] // n_columns
        x = centers[i] % n_columns
        near = index[i]
        near[0] = centers[i]
        distance[:] = np.inf
        # the patch itself stays first, even if other patches are equal to it
        distance[0] = -1.0

        # insert the nearest patches of the window, ordered by distance
        for row in range(max(0, y - reach), min(n_rows, y + reach + 1)):
            for column in range(max(0, x - reach), min(n_columns, x + reach + 1)):
                if row == y and column == x:
                    continue
                there = column * channels
                far = _distance_sq(
                    lines, y, x * channels, row, there, p, q * channels, distance[k - 1]
                )

                # replace the last patch by this one if it is nearer
                if far < distance[k - 1]:
                    rank = k - 1
                    while distance[rank - 1] > far:
                        distance[rank] = distance[rank - 1]
                        near[rank] = near[rank - 1]
                        rank -= 1
                    distance[rank] = far
                    near[rank] = row * n_columns + column


@jit_leaf
def _distance_sq(lines, y, x, row, column, p, width, bound):
    """Return the squared distance of two patches, stopping early if it exceeds the bound."""
    far = 0.0
    for a in range(p):
        of_line = 0.0
        for b in range(width):
            step = lines[y + a, x + b] - lines[row + a, column + b]
            of_line += step * step
        far += of_line
        if far >= bound:
            break
    return far


@jit
def _add_patches(index, patches, weights, p, q, total, weight):
    """Add groups of patches (g, k, n), with their weights, to the pixels that they cover."""
    (n_groups, k) = index.shape
    (_, width, channels) = total.shape
    n_columns = width - q + 1
    for g in range(n_groups):
        for i in range(k):
            y = index[g, i] // n_columns
            x = index[g, i] % n_columns
            entry = 0
            for a in range(p):
                for b in range(q):
                    weight[y + a, x + b] += weights[g]
                    for c in range(channels):
                        total[y + a, x + b, c] += weights[g] * patches[g, i, entry]
                        entry += 1
