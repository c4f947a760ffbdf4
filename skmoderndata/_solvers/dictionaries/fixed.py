"""Fixed dictionaries with atoms as rows of unit norm."""

from math import comb

import numpy as np

from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.typing import Array

# Smallest |inner product| of unit atoms that count as equal; the later one of two such atoms is
# dropped.
ALIKE = 0.999


def unit_rows(atoms: Array) -> Array:
    """Normalise the rows and drop rows of zeros; real or complex."""
    dtype = np.complex128 if np.iscomplexobj(atoms) else np.float64
    rows: Array = np.asarray(atoms, dtype=dtype)
    norms = np.linalg.norm(rows, axis=1)
    nonzero = norms > 0
    return rows[nonzero] / norms[nonzero, None]


def cosines(n: int) -> Array:
    """Return the orthonormal cosine transform (DCT-II) of n values."""
    k = np.arange(n)[:, None]
    i = np.arange(n)[None, :]
    angles = np.pi * k * (2 * i + 1) / (2 * n)
    return unit_rows(np.cos(angles))


def overcomplete_cosines(n: int, n_atoms: int) -> Array:
    """Return ``cos(i k pi / n_atoms)`` for k = 0, 1, ..., all but the first minus their mean.

    For n of 1 or 2, there are at most n different atoms.
    """
    if n <= 2:
        return cosines(n)[:n_atoms]
    k = np.arange(n_atoms)[:, None]
    i = np.arange(n)[None, :]
    atoms = np.cos(np.pi * k * i / n_atoms)
    atoms[1:] -= atoms[1:].mean(axis=1, keepdims=True)
    return unit_rows(atoms)


def fourier(n: int) -> Array:
    """Return the orthonormal real Fourier basis: constant, cosine and sine pairs, Nyquist."""
    t = 2 * np.pi * np.arange(n) / n
    rows = [np.ones(n)]
    for f in range(1, n // 2 + 1):
        rows.append(np.cos(f * t))
        if 2 * f < n:
            rows.append(np.sin(f * t))
    return unit_rows(np.array(rows))


def complex_fourier(n: int) -> Array:
    """Return the complex exponentials divided by the square root of n."""
    i = np.arange(n)
    phases = 2j * np.pi * np.outer(i, i) / n
    return np.exp(phases) / np.sqrt(n)


def daubechies_filter(n_moments: int) -> Array:
    """Return Daubechies' low-pass filter with 2 N taps and N vanishing moments; N = 1 is Haar.

    It is the minimum-phase factor of ``P(y) = sum_k C(N - 1 + k, k) y^k``, with all roots inside
    the unit circle.
    """
    N = n_moments
    coefficients = [comb(N - 1 + k, k) for k in range(N - 1, -1, -1)]
    roots_y = np.roots(coefficients)
    taps = np.ones(1, dtype=complex)
    for y in roots_y:
        # solve z + 1 / z = 2 - 4 y
        pair = np.roots([1.0, 4 * y - 2, 1.0])
        inside = pair[np.argmin(np.abs(pair))]
        taps = np.convolve(taps, [1.0, -inside])
    for _ in range(N):
        taps = np.convolve(taps, [0.5, 0.5])
    real = taps.real
    return real * (np.sqrt(2) / real.sum())


def wavelets(n: int, low_pass: Array, level: int) -> Array:
    """Return an orthogonal periodic wavelet basis of n values: scaling functions, then wavelets.

    Rows are sorted from coarse to fine. n must be a multiple of ``2**level``.
    """
    taps = len(low_pass)
    high_pass = low_pass[::-1] * (-1.0) ** np.arange(taps)
    coarse = np.eye(n)
    details = []

    for _ in range(level):
        m = len(coarse)
        half = m // 2
        rows = np.arange(half)[:, None]
        columns = (2 * rows + np.arange(taps)) % m

        # place each filter in every row, shifted by two entries from row to row, with periodic
        # boundaries
        low = np.zeros((half, m))
        high = np.zeros((half, m))
        np.add.at(low, (rows, columns), np.broadcast_to(low_pass, columns.shape))
        np.add.at(high, (rows, columns), np.broadcast_to(high_pass, columns.shape))

        details.append(high @ coarse)
        coarse = low @ coarse
    return np.concatenate([coarse, *details[::-1]])


def gabor(
    shape: tuple[int, int],
    *,
    frequencies: Array,
    orientations: Array,
    sigma: float,
    aspect: float,
    phases: Array,
    stride: int,
) -> Array:
    """Return Gabor functions on a grid of centres, without mean, zero or repeated atoms.

    Moving the centre moves the function: each function is computed once, on the union of all
    patches around its centre, and its atoms are windows of the result.
    """
    # set up the grid of centres
    height, width = shape
    first_y = ((height - 1) % stride) / 2
    first_x = ((width - 1) % stride) / 2
    rows = -(-(height - first_y) // stride)
    columns = -(-(width - first_x) // stride)
    # compute coordinates relative to the last centre
    v0 = -first_y - stride * (rows - 1)
    u0 = -first_x - stride * (columns - 1)
    y, x = np.ogrid[v0 : height - first_y, u0 : width - first_x]

    # compute one large function for each setting; the atoms are windows of this function
    angle = orientations[:, None, None]
    u = x * np.cos(angle) + y * np.sin(angle)
    v = y * np.cos(angle) - x * np.sin(angle)

    envelope = np.exp(-(u**2 + aspect**2 * v**2) / (2 * sigma**2))
    cycles = frequencies[:, None, None, None]
    angles = 2 * np.pi * cycles * u[:, None, None] + phases[:, None, None]
    waves = np.cos(angles)
    functions = envelope[:, None, None] * waves  # (orientations, frequencies, phases, y, x)
    windows = np.lib.stride_tricks.sliding_window_view(functions, shape, axis=(3, 4))
    # reverse the order, because the first window belongs to the last centre
    windows = windows[:, :, :, ::-stride, ::-stride]

    # subtract the means, then drop zero atoms and repeated atoms
    atoms = np.moveaxis(windows, (3, 4), (0, 1)).reshape(-1, height * width)
    atoms = atoms - atoms.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(atoms, axis=1)
    return first_of_alike(unit_rows(atoms[norms > 1e-3]))


def first_of_alike(atoms: Array) -> Array:
    """Drop unit atoms that nearly equal, up to their sign, an earlier atom that is kept.

    Projected atoms are at most as far apart as the atoms themselves, so the exact inner
    product is only needed for few pairs.
    """
    # project atoms on 64 random directions, which distinguish most of them
    k, n = atoms.shape
    projected = atoms
    if n > 128:
        directions = np.random.RandomState(0).normal(size=(n, 64))
        basis, _ = np.linalg.qr(directions)
        projected = (atoms @ basis).astype(np.float32)

    # |a - b|^2 = 2 - 2 a'b, which the projection does not increase, and likewise for a + b; leave
    # a margin for rounding errors
    norms_sq = np.einsum("ij,ij->i", projected, projected)
    half = (norms_sq - (1 - ALIKE) - 1e-5) / 2
    retained = np.ones(k, np.bool_)

    # compare suspicious atoms exactly, each with the earlier atoms that are kept
    for block in row_blocks(k, 8.0 * k, limit=TEMPORARY_BYTES):
        first = block.start
        last = block.stop
        products = np.abs(projected[first:last] @ projected[:last].T)
        suspect = products > half[first:last, None] + half[:last]
        suspect &= np.arange(last) < np.arange(first, last)[:, None]
        suspect &= retained[:last]
        rows = np.flatnonzero(suspect.any(axis=1))
        if rows.size == 0:
            continue

        later = first + rows
        earlier = np.flatnonzero(suspect[rows].any(axis=0))
        same = np.abs(atoms[later] @ atoms[earlier].T) > ALIKE
        same &= earlier < later[:, None]
        for j, row in zip(later, same, strict=True):
            retained[j] = not retained[earlier[row]].any()

    return atoms[retained]
