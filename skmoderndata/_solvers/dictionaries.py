"""Fixed dictionaries, atoms in rows of unit norm, and what their inner products promise."""

from itertools import combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def unit_rows(atoms: Array) -> Array:
    """Atoms of unit norm; those that are zero up to rounding are left out."""
    norms = np.linalg.norm(atoms, axis=1)
    kept = norms > 1e-12 * max(1.0, norms.max(initial=0.0))
    out: Array = atoms[kept] / norms[kept, None]
    return out


def cosines(n: int) -> Array:
    """Orthonormal cosine transform (DCT-II) of n values."""
    k, i = np.arange(n)[:, None], np.arange(n)[None, :]
    return unit_rows(np.cos(np.pi * k * (2 * i + 1) / (2 * n)))


def overcomplete_cosines(n: int, n_atoms: int) -> Array:
    """``cos(i k pi / n_atoms)`` for k = 0, 1, ..., all but the first without their mean."""
    k, i = np.arange(n_atoms)[:, None], np.arange(n)[None, :]
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
    out: Array = np.exp(2j * np.pi * np.outer(i, i) / n) / np.sqrt(n)
    return out


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
    out: Array = real * (np.sqrt(2) / real.sum())
    return out


def wavelets(n: int, low_pass: Array, level: int) -> Array:
    """Orthogonal wavelet basis of n values, wrapped around: scaling functions, then wavelets.

    Rows go from coarse to fine. n must be a multiple of ``2**level``.
    """
    taps = len(low_pass)
    high_pass = low_pass[::-1] * (-1.0) ** np.arange(taps)
    coarse, details = np.eye(n), []
    for _ in range(level):
        m = len(coarse)
        place = (2 * np.arange(m // 2)[:, None] + np.arange(taps)) % m
        low, high = np.zeros((m // 2, m)), np.zeros((m // 2, m))
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
    """Gabor functions at a grid of centres, without mean, zero or repeated atoms."""
    height, width = shape
    y, x = np.mgrid[0:height, 0:width].astype(float)
    rows = []
    for cy in np.arange((height - 1) % stride / 2, height, stride):
        for cx in np.arange((width - 1) % stride / 2, width, stride):
            for angle in orientations:
                u = (x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)
                v = (y - cy) * np.cos(angle) - (x - cx) * np.sin(angle)
                envelope = np.exp(-(u**2 + aspect**2 * v**2) / (2 * sigma**2))
                for frequency in frequencies:
                    for phase in phases:
                        wave = envelope * np.cos(2 * np.pi * frequency * u + phase)
                        rows.append((wave - wave.mean()).ravel())
    atoms = np.array(rows)
    atoms = atoms[np.linalg.norm(atoms, axis=1) > 1e-3]
    atoms = unit_rows(atoms)
    # keep the first of atoms that are all but the same
    alike = np.tril(np.abs(atoms @ atoms.T), -1) > 0.999
    kept = np.ones(len(atoms), np.bool_)
    for j in range(len(atoms)):
        kept[j] = not (alike[j] & kept).any()
    out: Array = atoms[kept]
    return out


def coherences(atoms: Array, size: int, *, block: int = 1024) -> Array:
    """Largest sum of s inner products with one atom, for s = 1, ..., `size` (babel function).

    The Gram matrix is never held as a whole.
    """
    k = len(atoms)
    size = min(size, k - 1)
    best = np.zeros(max(size, 0))
    if size < 1:
        return best
    for first in range(0, k, block):
        rows = np.abs(atoms[first : first + block] @ atoms.conj().T)
        rows[np.arange(len(rows)), first + np.arange(len(rows))] = -1.0
        if size < k - 1:
            rows = np.partition(rows, k - size, axis=1)[:, k - size :]
        rows = np.sort(rows, axis=1)[:, ::-1][:, :size]
        best = np.maximum(best, np.cumsum(rows, axis=1).max(axis=0))
    return best


class IsometryBounds(NamedTuple):
    """Bounds on a restricted isometry constant; equal where it was computed exactly."""

    lower: float
    upper: float
    exact: bool


def isometry_bounds(
    atoms: Array, size: int, *, max_supports: int, rescale: bool, rng: np.random.RandomState
) -> IsometryBounds:
    """Bound ``max |eigenvalue(D_I D_I^T) - 1|`` over supports I of `size` atoms.

    All supports where there are at most `max_supports`; otherwise the babel function (or the
    largest eigenvalue, where that is closer) from above, and random and greedily grown supports
    from below. With `rescale` the dictionary is multiplied by the number that makes the constant
    least: ``(largest - smallest) / (largest + smallest)``.
    """
    gram = atoms @ atoms.T
    k = len(gram)
    if comb(k, size) <= max_supports:
        low, high = np.inf, 0.0
        every = combinations(range(k), size)
        while part := list(islice(every, 20_000)):
            low, high = _extremes(gram, np.array(part), low, high)
        value = _constant(low, high, rescale)
        return IsometryBounds(value, value, True)
    supports = np.array([rng.choice(k, size, replace=False) for _ in range(2000)])
    low, high = _extremes(gram, supports, np.inf, 0.0)
    for start in rng.choice(k, min(k, 20), replace=False):
        for largest in (False, True):
            support = [int(start)]
            while len(support) < size:
                rest = np.setdiff1d(np.arange(k), support)
                trials = np.array([[*support, j] for j in rest])
                values = np.linalg.eigvalsh(gram[trials[:, :, None], trials[:, None, :]])
                at = np.argmax(values[:, -1]) if largest else np.argmin(values[:, 0])
                support.append(int(rest[at]))
            low, high = _extremes(gram, np.array([support]), low, high)
    lower = _constant(low, high, rescale)
    # Gershgorin: all eigenvalues within the sum of the largest inner products
    norms = np.diag(gram)
    off = np.sort(np.abs(gram - np.diag(norms)), axis=1)[:, ::-1]
    radius = off[:, : size - 1].sum(axis=1)
    least = max(0.0, float((norms - radius).min()))
    most = min(float((norms + radius).max()), float(np.linalg.eigvalsh(gram)[-1]))
    return IsometryBounds(lower, max(lower, _constant(least, most, rescale)), False)


def _extremes(gram: Array, supports: Array, low: float, high: float) -> tuple[float, float]:
    values = np.linalg.eigvalsh(gram[supports[:, :, None], supports[:, None, :]])
    return min(low, float(values[:, 0].min())), max(high, float(values[:, -1].max()))


def _constant(low: float, high: float, rescale: bool) -> float:
    low = max(low, 0.0)
    if rescale:
        return (high - low) / (high + low) if high > 0 else 1.0
    return max(high - 1, 1 - low)
