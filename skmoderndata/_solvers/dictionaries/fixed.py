"""Fixed dictionaries, atoms in rows of unit norm."""

from math import comb

import numpy as np

from skmoderndata._typing import Array

ALIKE = 0.999  # inner product of unit atoms above which the later one is left out
BLOCK_ENTRIES = 2**22  # of a block of inner products


def unit_rows(atoms: Array) -> Array:
    """Atoms of unit norm, without rows of zeros; real or complex."""
    out: Array = np.asarray(
        atoms, dtype=np.complex128 if np.iscomplexobj(atoms) else np.float64
    )
    norms = np.linalg.norm(out, axis=1)
    out = out[norms > 0] / norms[norms > 0, None]
    return out


def cosines(n: int) -> Array:
    """Orthonormal cosine transform (DCT-II) of n values."""
    k = np.arange(n)[:, None]
    i = np.arange(n)[None, :]
    return unit_rows(np.cos(np.pi * k * (2 * i + 1) / (2 * n)))


def overcomplete_cosines(n: int, n_atoms: int) -> Array:
    """``cos(i k pi / n_atoms)`` for k = 0, 1, ..., all but the first without their mean.

    One or two values have no more than as many different ones.
    """
    if n <= 2:
        return cosines(n)[:n_atoms]
    k = np.arange(n_atoms)[:, None]
    i = np.arange(n)[None, :]
    atoms = np.cos(np.pi * k * i / n_atoms)
    atoms[1:] -= atoms[1:].mean(axis=1, keepdims=True)
    return unit_rows(atoms)


def fourier(n: int) -> Array:
    """Orthonormal real Fourier basis: constant, cosine and sine of each frequency, Nyquist."""
    t = 2 * np.pi * np.arange(n) / n
    rows = [np.ones(n)]
    for f in range(1, n // 2 + 1):
        rows.append(np.cos(f * t))
        if 2 * f < n:
            rows.append(np.sin(f * t))
    return unit_rows(np.array(rows))


def complex_fourier(n: int) -> Array:
    """Return the complex exponentials divided by the root of n."""
    i = np.arange(n)
    return np.exp(2j * np.pi * np.outer(i, i) / n) / np.sqrt(n)


def daubechies_filter(n_moments: int) -> Array:
    """Low-pass filter of 2 N taps with N vanishing moments and least phase; N = 1 is Haar's.

    The factor of ``P(y) = sum_k C(N - 1 + k, k) y^k`` with its roots inside the unit circle.
    """
    N = n_moments
    roots_y = np.roots([comb(N - 1 + k, k) for k in range(N - 1, -1, -1)])
    taps = np.ones(1, dtype=complex)
    for y in roots_y:
        # z + 1 / z = 2 - 4 y
        pair = np.roots([1.0, 4 * y - 2, 1.0])
        taps = np.convolve(taps, [1.0, -pair[np.argmin(np.abs(pair))]])
    for _ in range(N):
        taps = np.convolve(taps, [0.5, 0.5])
    real = taps.real
    return real * (np.sqrt(2) / real.sum())


def wavelets(n: int, low_pass: Array, level: int) -> Array:
    """Orthogonal wavelet basis of n values, wrapped around: scaling functions, then wavelets.

    Rows go from coarse to fine. n must be a multiple of ``2**level``.
    """
    taps = len(low_pass)
    high_pass = low_pass[::-1] * (-1.0) ** np.arange(taps)
    coarse = np.eye(n)
    details = []

    for _ in range(level):
        m = len(coarse)
        place = (2 * np.arange(m // 2)[:, None] + np.arange(taps)) % m

        # shifts of both filters by two, round the end
        low = np.zeros((m // 2, m))
        high = np.zeros((m // 2, m))
        rows = np.arange(m // 2)[:, None]
        np.add.at(low, (rows, place), np.broadcast_to(low_pass, place.shape))
        np.add.at(high, (rows, place), np.broadcast_to(high_pass, place.shape))

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
    """Gabor functions at a grid of centres, without mean, zero or repeated atoms.

    A move of the centre moves the function: each is computed once, on the union of all patches
    about its centre, and its atoms are windows of that.
    """
    # the grid of centres
    height, width = shape
    top = ((height - 1) % stride) / 2
    left = ((width - 1) % stride) / 2
    rows = -(-(height - top) // stride)
    columns = -(-(width - left) // stride)
    # of the last centre
    v0 = -top - stride * (rows - 1)
    u0 = -left - stride * (columns - 1)
    y, x = np.ogrid[v0 : height - top, u0 : width - left]

    # one large function for all centres: they are windows of it
    angle = orientations[:, None, None]
    u = x * np.cos(angle) + y * np.sin(angle)
    v = y * np.cos(angle) - x * np.sin(angle)

    envelope = np.exp(-(u**2 + aspect**2 * v**2) / (2 * sigma**2))
    waves = np.cos(
        2 * np.pi * frequencies[:, None, None, None] * u[:, None, None] + phases[:, None, None]
    )
    whole = envelope[:, None, None] * waves  # (orientations, frequencies, phases, y, x)
    windows = np.lib.stride_tricks.sliding_window_view(whole, shape, axis=(3, 4))
    # the first window belongs to the last centre
    windows = windows[:, :, :, ::-stride, ::-stride]

    # without mean, zero or repeated ones
    atoms = np.moveaxis(windows, (3, 4), (0, 1)).reshape(-1, height * width)
    atoms = atoms - atoms.mean(axis=1, keepdims=True)
    return first_of_alike(unit_rows(atoms[np.linalg.norm(atoms, axis=1) > 1e-3]))


def first_of_alike(atoms: Array) -> Array:
    """Leave out unit atoms that are all but the same as an earlier one that stays.

    Projections on some directions are as near as the atoms are, or nearer, so that few pairs are
    left whose inner product has to be looked at.
    """
    # random projections tell most atoms apart in 64 numbers
    k, n = atoms.shape
    shadow = atoms
    if n > 128:
        directions = np.random.RandomState(0).normal(size=(n, 64))
        shadow = (atoms @ np.linalg.qr(directions)[0]).astype(np.float32)

    # |a - b|^2 = 2 - 2 a'b, and likewise for a + b; with room for rounding
    half = (np.einsum("ij,ij->i", shadow, shadow) - (1 - ALIKE) - 1e-5) / 2
    kept = np.ones(k, np.bool_)

    # only suspects are compared exactly, with the earlier atoms that stay
    block = max(1, BLOCK_ENTRIES // max(1, k))
    for first in range(0, k, block):
        last = min(first + block, k)
        products = np.abs(shadow[first:last] @ shadow[:last].T)
        suspect = products > half[first:last, None] + half[:last]
        suspect &= np.arange(last) < np.arange(first, last)[:, None]
        suspect &= kept[:last]
        later = np.flatnonzero(suspect.any(axis=1))
        if later.size == 0:
            continue

        earlier = np.flatnonzero(suspect[later].any(axis=0))
        same = np.abs(atoms[first + later] @ atoms[earlier].T) > ALIKE
        same &= earlier < (first + later)[:, None]
        for j, row in zip(first + later, same, strict=True):
            kept[j] = not kept[earlier[row]].any()

    return atoms[kept]
