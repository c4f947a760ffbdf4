"""Overlapping patches of images: extracted, coded and reassembled in bands of bounded memory.

An image is an array (h, w, c); the patch at row y and column x is ``image[y:y+p, x:x+q]`` as a row
of ``p q c`` numbers. Patches are numbered row by row. The mean of each channel is subtracted
before a patch is coded, and added again afterwards.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.codes.signal_blocks import SparseCodes, to_csr
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.fixed import (
    cosines,
    daubechies_filter,
    overcomplete_cosines,
    unit_rows,
)

# Function that computes codes from patches and masks (or None).
PatchCoder = Callable[[Array, "Array | None"], SparseCodes]

# Maximum number of bytes of patches in a band, unless `working_memory` is smaller.
BAND_BYTES = TEMPORARY_BYTES
# Probability at which the quantile of the chi-squared distribution gives the published gain of
# 1.15 for n = 64: the quantile is (1.15)^2 n.
QUANTILE = 0.957
# Approximate number of patches from which the level of noise is estimated.
NOISE_PATCHES = 50_000
# Number of pixels along a side of the patches from which the level of noise is estimated [Liu,
# Tanaka & Okutomi 2013].
NOISE_SIDE = 7


class Grid(NamedTuple):
    """Height and width of image and patches, and the number of channels."""

    height: int
    width: int
    channels: int
    p: int
    q: int

    @property
    def rows(self) -> int:
        """Number of rows of patches."""
        return self.height - self.p + 1

    @property
    def columns(self) -> int:
        """Number of patches in a row of patches."""
        return self.width - self.q + 1

    @property
    def size(self) -> int:
        """Number of values in a patch."""
        return self.p * self.q * self.channels


def grid_of(image: Array, patch: tuple[int, int]) -> Grid:
    """Return the grid of patches of an image (h, w, c); patches are at most as large as it."""
    height, width, channels = image.shape
    return Grid(height, width, channels, min(patch[0], height), min(patch[1], width))


def take_patches(image: Array, grid: Grid, index: Array) -> Array:
    """Return the patches with the given indices, as rows."""
    view = np.lib.stride_tricks.sliding_window_view(image, (grid.p, grid.q), axis=(0, 1))
    chosen = view[index // grid.columns, index % grid.columns]  # (m, c, p, q)
    channels_last = np.ascontiguousarray(chosen.transpose(0, 2, 3, 1))
    return channels_last.reshape(len(index), grid.size)


def bands(grid: Grid, max_bytes: float) -> Iterator[tuple[int, int]]:
    """Yield first and last row of bands of patches whose copies fit in memory."""
    row_bytes = 8 * 4 * grid.size * grid.columns
    rows = max(1, int(max_bytes / row_bytes))
    for first in range(0, grid.rows, rows):
        yield first, min(first + rows, grid.rows)


def take_means_away(
    patches: Array, channels: int, observed: Array | None = None
) -> tuple[Array, Array]:
    """Subtract the mean of each channel over observed pixels; return patches and means."""
    n_pixels = patches.shape[1] // channels
    cube = patches.reshape(len(patches), n_pixels, channels)
    if observed is None:
        means = cube.mean(axis=1)
        return (cube - means[:, None]).reshape(patches.shape), means

    seen = observed.reshape(cube.shape)
    count = seen.sum(axis=1)
    sums = np.where(seen, cube, 0.0).sum(axis=1)
    means = sums / np.maximum(count, 1)
    centred = np.where(seen, cube - means[:, None], 0.0)
    return centred.reshape(patches.shape), means


def training_patches(
    image: Array,
    observed: Array | None,
    grid: Grid,
    *,
    max_patches: int,
    rng: np.random.RandomState,
    min_known: float = 0.3,
    above: float = 0.0,
) -> tuple[Array, Array | None]:
    """Return at most `max_patches` patches without their means, from anywhere in the image.

    Patches are left out if their squared norm is at most `above` per observed value, because they
    need no atom, or if less than the fraction `min_known` is observed. Box sums find them.
    """
    seen = np.ones(image.shape) if observed is None else observed.astype(np.float64)
    image64 = np.where(seen > 0, image, 0.0).astype(np.float64)
    mean = image64.sum() / max(1.0, seen.sum())
    image64 -= np.where(seen > 0, mean, 0.0)

    # compute the energy of each patch about its mean, by box sums
    box = grid.p, grid.q
    count = _box_sums(seen, *box)
    of_mean = _box_sums(image64, *box) ** 2 / np.maximum(count, 1)
    square = _box_sums(image64**2, *box) - of_mean
    count = count.sum(axis=2).ravel()
    square = square.sum(axis=2).ravel()

    # keep the floor above 0, because the residual of a constant patch consists of rounding errors
    floor = np.maximum(above * count, ACCUMULATED_ROUNDING * square.max(initial=0.0))
    enough = count >= max(1.0, min_known * grid.size)
    index = np.flatnonzero((square > floor) & enough)
    if len(index) > max_patches:
        index = np.sort(rng.choice(index, max_patches, replace=False))

    patches = take_patches(image, grid, index)
    masks = None if observed is None else take_patches(observed, grid, index)
    centred, _ = take_means_away(patches, grid.channels, masks)
    return centred, masks


def _box_sums(image: Array, p: int, q: int) -> Array:
    """Return the sums over all patches of p rows and q columns, for each channel."""
    height, width, channels = image.shape
    sums = np.zeros((height + 1, width + 1, channels))
    np.cumsum(np.cumsum(image, axis=0), axis=1, out=sums[1:, 1:])
    right = sums[p:, q:] - sums[:-p, q:]
    return right - sums[p:, :-q] + sums[:-p, :-q]


def average_patches(
    image: Array,
    observed: Array | None,
    grid: Grid,
    atoms: Array,
    code: PatchCoder,
    *,
    max_bytes: float = BAND_BYTES,
) -> tuple[Array, Array]:
    """Code all patches; return sums of their approximations, and of weights, at every pixel.

    Without a mask, each patch has weight 1. With a mask, its weight in each channel is the
    observed fraction, so that patches without observed pixels do not contribute.
    """
    total = np.zeros(image.shape)
    weight = np.zeros(image.shape)
    for first, last in bands(grid, max_bytes):
        # take a band of patches and subtract their means
        index = np.arange(first * grid.columns, last * grid.columns)
        patches = take_patches(image, grid, index)
        seen = None if observed is None else take_patches(observed, grid, index)
        data, means = take_means_away(patches, grid.channels, seen)
        fractions = np.ones(means.shape)
        if seen is not None:
            masks = seen.reshape(len(index), -1, grid.channels)
            fractions = masks.mean(axis=1)

        codes = code(data, seen)
        band = (last - first, grid.columns)
        shape = (*band, grid.p, grid.q, grid.channels)
        approximations = to_csr(codes, len(atoms)) @ atoms
        approximations = approximations.reshape(shape) + means.reshape(*band, 1, 1, -1)

        # add the approximations and the weights at each pixel
        patch_weight = fractions.reshape(*band, -1)
        for y, x in np.ndindex(grid.p, grid.q):
            pixels = slice(first + y, last + y), slice(x, x + grid.columns)
            total[pixels] += patch_weight * approximations[:, :, y, x]
            weight[pixels] += patch_weight

    return total, weight


def patch_cosines(p: int, q: int, channels: int, n_atoms: int) -> Array:
    """Return overcomplete cosines on patches, lowest frequencies first.

    They are products of a cosine along the columns, one along the rows and, for colours, one of
    the orthonormal cosine transform of the channels: their sum and differences.
    """
    side = int(np.ceil(np.sqrt(n_atoms / channels)))
    high = overcomplete_cosines(p, side)
    wide = overcomplete_cosines(q, side)
    colors = cosines(channels)
    products = np.einsum("ap,bq,cz->abcpqz", high, wide, colors)
    atoms = products.reshape(-1, p * q * channels)
    frequencies = np.indices((len(high), len(wide), channels))
    a, b, c = frequencies.reshape(3, -1)
    order = np.lexsort((c, a, b, np.maximum(a, b)))
    return unit_rows(atoms[order[:n_atoms]])


def noise_level(image: Array) -> float:
    """Estimate the standard deviation of white noise from patches that contain little else.

    In each round, patches of 7 x 7 pixels are kept if their squared differences of pixels two
    apart add up to at most the amount that noise of the current level would give with probability
    0.99 [Liu, Tanaka & Okutomi 2013]. The level is the mean of the smallest eigenvalues of their
    covariance; the number of eigenvalues is chosen so that their mean is also their median [Chen,
    Zhu & Heng 2015]. For images with too few patches, it is the median magnitude of the finest
    diagonal wavelet coefficients over 0.6745 [Donoho & Johnstone 1994], which texture raises.
    """
    if min(image.shape[:2]) < 4:
        return 0.0
    channels = image.shape[2]

    # use patches of 7 x 7 pixels, or wavelets if there are too few patches
    grid = grid_of(image, (NOISE_SIDE, NOISE_SIDE))
    total = grid.rows * grid.columns
    fewest = 10 * grid.size
    if min(grid.p, grid.q) < NOISE_SIDE or total < fewest:
        return _wavelet_noise(image)

    # squared derivatives measure the texture of a patch
    along_x = image[:, 2:] - image[:, :-2]
    along_y = image[2:] - image[:-2]
    wide = _box_sums(np.square(along_x, dtype=np.float64), NOISE_SIDE, NOISE_SIDE - 2)
    high = _box_sums(np.square(along_y, dtype=np.float64), NOISE_SIDE - 2, NOISE_SIDE)

    # use an odd step, because an even step would select the same columns in every row of an image
    # of even width
    step = -(-total // NOISE_PATCHES) | 1
    index = np.arange(0, total, step)
    texture = (wide + high).sum(axis=2).ravel()[index]
    patches = take_patches(image, grid, index).astype(np.float64, copy=False)

    # keep patches with no more texture than noise alone, and use their variance along the
    # directions in which they vary least [Liu, Tanaka and Okutomi 2013]
    limit = _texture_of_noise(channels)
    flat = np.ones(len(index), np.bool_)
    variance = _smallest_variance(patches)
    for _ in range(30):
        last = flat
        flat = texture < limit * variance
        if np.count_nonzero(flat) < fewest or np.array_equal(flat, last):
            break
        variance = _smallest_variance(patches[flat])

    return float(np.sqrt(variance))


def _texture_of_noise(channels: int) -> float:
    """Return the 0.99 quantile of squared differences in a 7 x 7 patch of unit white noise.

    Their sum is a quadratic form of the noise with a matrix G; its distribution is approximated by
    the gamma distribution with the same mean ``tr G`` and variance ``2 tr G^2``.
    """
    from scipy.stats import gamma

    steps = np.eye(NOISE_SIDE - 2, NOISE_SIDE, 2) - np.eye(NOISE_SIDE - 2, NOISE_SIDE)
    along = steps.T @ steps
    unit = np.eye(NOISE_SIDE)
    form = np.kron(unit, along) + np.kron(along, unit)
    mean = channels * np.trace(form)
    half = channels * np.sum(form**2)
    shape = mean**2 / (2 * half)
    return float(gamma.ppf(0.99, shape, scale=2 * half / mean))


def _smallest_variance(patches: Array) -> float:
    """Return the mean of the smallest eigenvalues, in the number for which it is their median."""
    values = np.linalg.eigvalsh(np.cov(patches, rowvar=False))
    mean = 0.0
    for count in range(len(values), 0, -1):
        smallest = values[:count]
        mean = float(smallest.mean())
        if np.count_nonzero(smallest > mean) >= np.count_nonzero(smallest < mean):
            break
    return max(mean, 0.0)


def _wavelet_noise(image: Array) -> float:
    low = daubechies_filter(2)
    taps = low[::-1] * (-1.0) ** np.arange(4)
    height, width = image.shape[:2]
    across = sum(t * image[:, s : width - 3 + s : 2] for s, t in enumerate(taps))
    details = sum(t * across[s : height - 3 + s : 2] for s, t in enumerate(taps))
    return float(np.median(np.abs(details)) / 0.6745)


def error_gain(n: int) -> float:
    """Return the square root of the chi-squared quantile over n; it is 1.15 for n = 64."""
    from scipy.stats import chi2

    quantile = chi2.ppf(QUANTILE, n)
    return float(np.sqrt(quantile / n))


def fill_by_means(image: Array, observed: Array) -> Array:
    """Fill unknown pixels with the mean of observed ones in the smallest box that has any.

    Boxes around the pixel have sides 3, 7, 15, ...; channels are independent. A channel without
    observed pixels gets the mean of all observed values.
    """
    from scipy.ndimage import uniform_filter

    out = np.where(observed, image, 0.0)
    seen = observed.astype(np.float64)
    values = out.copy()
    missing = ~observed
    side = 3

    # enlarge the boxes until each contains an observed pixel
    while missing.any() and side < 4 * max(image.shape[:2]):
        box = (side, side, 1)
        fraction = uniform_filter(seen, box, mode="constant")
        count = np.round(side**2 * fraction)
        here = missing & (count > 0)
        total = side**2 * uniform_filter(values, box, mode="constant")
        out[here] = total[here] / count[here]
        missing = missing & ~here
        side = 2 * side + 1

    if missing.any():
        out[missing] = image[observed].mean()
    return out
