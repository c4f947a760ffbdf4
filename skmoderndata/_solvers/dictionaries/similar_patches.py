"""Groups of similar patches of an image, each filtered by what its members have in common.

Images and numbers of patches are those of `patches`.
"""

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.patches import Grid, take_patches

REACH = 15  # pixels, up and down and to both sides, in which similar patches are looked for
LARGEST_GROUP = 64  # patches, where nothing else is asked for
BLOCK_BYTES = 2**20  # of the patches of a block of groups
BLOCKS_AT_ONCE = 16
RIDGE_RELATIVE = 1e-10  # of the mean squared norm of the patches of a group, against rounding
# Minimum energy of the difference between the noisy and the coded mean of a group, relative to
# the energy expected of noise alone; patches that overlap share noise, so its energy varies much.
CLEAR_DIFFERENCE = 1.5


def default_group_size(grid: Grid) -> int:
    """Half as many patches as a patch has numbers: their covariance is known well enough."""
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
    """Denoise an image (h, w, c), of which an approximation is known, by groups of its patches.

    A group has the `group_size` patches nearest to one of them in the approximation, and every
    pixel is in some. With P (k, n) the approximations of the members less their mean, the code of
    a noisy member y less the mean m is

        ``argmin_a |y - m - a P|^2 + k sigma^2 |a|^2``,

    so that P is the dictionary of the group, and ``m + a P`` the Wiener filter for its covariance
    [Lebrun, Buades & Morel 2013]. A covariance from few members would fit the noise that P shares
    with y, so P and m come from at least `default_group_size` members, of which the nearest are
    put back. The mean m is the coded one, plus the fraction of the noisy mean's difference from
    it that noise does not explain. Groups count at a pixel by 1 over the trace of their filter,
    the noise that it lets through.
    """
    # all groups are of one size, which a window in a corner holds
    in_corner = min(grid.rows, REACH + 1) * min(grid.columns, REACH + 1)
    n_members = min(max(group_size, default_group_size(grid)), in_corner)
    n_returned = min(group_size, n_members)
    if n_returned < 2:
        return approximation

    # split the groups into blocks of bounded memory, which threads share
    noisy = np.ascontiguousarray(image, dtype=np.float64)
    first = np.ascontiguousarray(approximation, dtype=np.float64)
    centers = _centers(grid)
    size = max(1, BLOCK_BYTES // (8 * n_members * grid.size))
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

    # sums in the order of the groups, whatever the number of threads
    total = np.zeros(noisy.shape)
    weight = np.zeros(noisy.shape[:2])
    with one_blas_thread():
        for start in range(0, len(blocks), BLOCKS_AT_ONCE):
            some = blocks[start : start + BLOCKS_AT_ONCE]
            for index, patches, weights in in_threads(work, some, n_jobs):
                _add_patches(index, patches, weights, grid.p, grid.q, total, weight)
    return total / weight[:, :, None]


def _centers(grid: Grid) -> Array:
    """Numbers of patches half a patch apart, and of those on the last row and column."""
    rows = np.append(np.arange(0, grid.rows - 1, max(1, grid.p // 2)), grid.rows - 1)
    columns = np.append(np.arange(0, grid.columns - 1, max(1, grid.q // 2)), grid.columns - 1)
    return (rows[:, None] * grid.columns + columns).ravel()


def _wiener(noisy: Array, groups: Array, sigma: float) -> tuple[Array, Array]:
    """Filter noisy groups of patches (g, k, n); also returns the weight of each group."""
    k, n = groups.shape[1:]
    mean = groups.mean(axis=1, keepdims=True)
    P = groups - mean

    # faint texture that the codes have missed: what noise does not explain of the difference
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
    ridge = k * sigma**2 + RIDGE_RELATIVE * energy + np.finfo(float).tiny
    gram[:, np.arange(k), np.arange(k)] += ridge[:, None]
    smooth = np.linalg.solve(gram, P)
    filtered = ((noisy - mean) @ P.transpose(0, 2, 1)) @ smooth + mean

    # weight by the inverse of the noise that the filter lets through
    trace = np.sum(smooth * P, axis=(1, 2))
    return filtered, 1 / (1 + trace)


@jit
def _find_similar(image, p, q, centers, reach, index):
    """Fill each row of `index` with a patch and those nearest to it, nearest first."""
    (height, width, channels) = image.shape
    k = index.shape[1]
    n_rows = height - p + 1
    n_columns = width - q + 1
    lines = image.reshape(height, width * channels)
    distance = np.empty(k)

    for i in range(len(centers)):
        # begin with the patch itself, and with room for the others
        y = centers[i] // n_columns
        x = centers[i] % n_columns
        near = index[i]
        near[0] = centers[i]
        distance[:] = np.inf
        distance[0] = -1.0  # the patch itself stays the first, also among equal ones

        # insert nearer patches of the window in order of distance
        for row in range(max(0, y - reach), min(n_rows, y + reach + 1)):
            for column in range(max(0, x - reach), min(n_columns, x + reach + 1)):
                if row == y and column == x:
                    continue
                there = column * channels
                far = _distance_sq(
                    lines, y, x * channels, row, there, p, q * channels, distance[k - 1]
                )

                # the last one makes room
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
    """Squared distance of two patches, of the first lines only where they exceed the bound."""
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
    """Add groups of patches (g, k, n), with their weights, to the pixels where they lie."""
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
