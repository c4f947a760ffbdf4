"""Dictionaries that need no training, and what can be said of any dictionary."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from skmoderndata._solvers import dictionaries as builders
from skmoderndata._solvers.dictionaries import IsometryBounds


def dct_dictionary(shape, n_atoms=None):
    """Cosines: the orthonormal cosine transform, or more cosines than values.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch (or volume), whose atoms are the products
        of one atom for each axis.
    n_atoms : int or tuple of int, default=None
        Number of cosines along each axis, at least the number of values. None makes an orthonormal
        basis (DCT-II). Otherwise the atoms of one axis are ``cos(i j pi / n_atoms)``, for
        ``j > 0`` without their mean, as in [1]_.

    Returns
    -------
    dictionary : ndarray of shape (n_atoms, n_features)
        Atoms of unit norm, the constant first. Patches are flattened row by row.

    References
    ----------
    .. [1] Elad and Aharon, Image denoising via sparse and redundant representations over learned
       dictionaries, IEEE Transactions on Image Processing 15(12), 2006.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import dct_dictionary, mutual_coherence
    >>> dct_dictionary((8, 8), n_atoms=16).shape
    (256, 64)
    >>> bool(mutual_coherence(dct_dictionary(64)) < 1e-12)
    True
    """
    shape = _shape(shape)
    if n_atoms is None:
        return _products([builders.cosines(n) for n in shape])
    counts = (n_atoms,) * len(shape) if isinstance(n_atoms, Integral) else tuple(n_atoms)
    if len(counts) != len(shape) or any(c < n for c, n in zip(counts, shape, strict=False)):
        raise ValueError(
            f"n_atoms={n_atoms} must give for each axis at least the number of values, "
            f"shape={shape}."
        )
    pairs = zip(shape, counts, strict=True)
    return _products([builders.overcomplete_cosines(n, c) for n, c in pairs])


def fourier_dictionary(shape, *, complex_valued=False):
    """Orthonormal Fourier basis, real or complex.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch.
    complex_valued : bool, default=False
        Exponentials instead of cosines and sines. The coders need real atoms.

    Returns
    -------
    dictionary : ndarray of shape (n_features, n_features)
        The real basis of one axis is the constant, then cosine and sine of each frequency, and for
        an even number of values the alternating signs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import fourier_dictionary
    >>> F = fourier_dictionary(10)
    >>> np.allclose(F @ F.T, np.eye(10))
    True
    """
    build = builders.complex_fourier if complex_valued else builders.fourier
    return _products([build(n) for n in _shape(shape)])


def wavelet_dictionary(shape, wavelet="haar", *, level=None):
    """Orthogonal wavelet basis, wrapped around at the ends.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch (products of one-dimensional wavelets).
    wavelet : str or array-like, default="haar"
        "haar", or "db1" to "db10", Daubechies' wavelets by their number of vanishing moments; or
        the taps of an orthogonal low-pass filter, for example
        ``pywt.Wavelet("sym4").dec_lo`` of PyWavelets.
    level : int, default=None
        How often averages are split again, None as often as the size can be halved. Each number of
        values must be a multiple of ``2**level``.

    Returns
    -------
    dictionary : ndarray of shape (n_features, n_features)
        Orthonormal rows, from coarse to fine along each axis.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import wavelet_dictionary
    >>> wavelet_dictionary(4).round(2) + 0.0
    array([[ 0.5 ,  0.5 ,  0.5 ,  0.5 ],
           [ 0.5 ,  0.5 , -0.5 , -0.5 ],
           [ 0.71, -0.71,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.71, -0.71]])
    """
    low_pass = _low_pass(wavelet)
    bases = []
    for n in _shape(shape):
        most = (n & -n).bit_length() - 1  # how often n can be halved
        if isinstance(wavelet, str) and wavelet == "haar" and level is None and n != 2**most:
            raise ValueError(
                f"shape={shape}: {n} is no power of two, which a full Haar basis needs; give a "
                f"level of at most {most}."
            )
        depth = most if level is None else level
        if not 0 <= depth <= most:
            raise ValueError(
                f"level={level} needs a multiple of {2**depth if depth > 0 else 1} values, "
                f"got shape={shape}; {n} values allow level 0 to {most}."
            )
        bases.append(builders.wavelets(n, low_pass, depth))
    return _products(bases)


def _low_pass(wavelet):
    if isinstance(wavelet, str):
        names = {"haar": 1, **{f"db{N}": N for N in range(1, 11)}}
        if wavelet not in names:
            raise ValueError(
                f"wavelet={wavelet!r} is not known: use 'haar', 'db1' to 'db10', or the taps of "
                "an orthogonal low-pass filter."
            )
        return builders.daubechies_filter(names[wavelet])
    taps = np.asarray(wavelet, dtype=np.float64)
    if taps.ndim == 1 and taps.size % 2 == 0 and taps.size > 0:
        products = [taps[2 * s :] @ taps[: taps.size - 2 * s] for s in range(taps.size // 2)]
        if np.allclose(products, np.eye(1, len(products))[0], atol=1e-8):
            return taps
    raise ValueError(
        "wavelet must be the taps of an orthogonal low-pass filter: an even number of them, "
        "orthonormal to themselves shifted by two."
    )


def gabor_dictionary(
    shape,
    *,
    frequencies=(0.1, 0.2, 0.35),
    orientations=8,
    sigma=2.0,
    aspect=1.0,
    phases=(0.0, np.pi / 2),
    stride=4,
):
    r"""Gabor functions: waves under a Gaussian window.

    .. math:: \exp\left(-\frac{u^2 + \gamma^2 v^2}{2 \sigma^2}\right) \cos(2 \pi f u + \varphi)

    with :math:`(u, v)` the coordinates about the centre, turned by the orientation; less the
    mean, scaled to unit norm.

    Parameters
    ----------
    shape : tuple of two int
        Shape of a patch.
    frequencies : sequence of float, default=(0.1, 0.2, 0.35)
        Waves per pixel, f.
    orientations : int or sequence of float, default=8
        Angles in radians, or how many between 0 and pi.
    sigma : float, default=2.0
        Width of the window in pixels.
    aspect : float, default=1.0
        Width along the wave divided by the width across, gamma.
    phases : sequence of float, default=(0.0, pi / 2)
        Phases of the wave.
    stride : int, default=4
        Distance of the centres.

    Returns
    -------
    dictionary : ndarray of shape (n_atoms, n_features)
        Atoms that are nearly zero, or nearly the same as an earlier one (inner product above
        0.999), are left out.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import gabor_dictionary
    >>> gabor_dictionary((8, 8), orientations=4, stride=8).shape
    (24, 64)
    """
    shape = _shape(shape)
    if len(shape) != 2:
        raise ValueError(f"shape={shape} must have two numbers, those of a patch.")
    if isinstance(orientations, Integral):
        orientations = np.pi * np.arange(orientations) / orientations
    if not (sigma > 0 and aspect > 0 and stride >= 1):
        raise ValueError(f"sigma={sigma}, aspect={aspect} and stride={stride} must be positive.")
    return builders.gabor(
        shape,
        frequencies=np.asarray(frequencies, dtype=float),
        orientations=np.asarray(orientations, dtype=float),
        sigma=float(sigma),
        aspect=float(aspect),
        phases=np.asarray(phases, dtype=float),
        stride=int(stride),
    )


def random_dictionary(n_features, n_atoms, *, data=None, random_state=None):
    """Atoms in random directions, or rows drawn from data.

    Parameters
    ----------
    n_features : int
        Number of values of an atom.
    n_atoms : int
        Number of atoms.
    data : array-like of shape (n_samples, n_features), default=None
        Draw different rows of it that are not zero; None draws uniformly from the sphere.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    dictionary : ndarray of shape (n_atoms, n_features)
        Atoms of unit norm.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import random_dictionary
    >>> random_dictionary(64, 256, random_state=0).shape
    (256, 64)
    """
    rng = check_random_state(random_state)
    if data is None:
        return builders.unit_rows(rng.normal(size=(n_atoms, n_features)))
    data = check_array(data, dtype=np.float64)
    if data.shape[1] != n_features:
        raise ValueError(f"data has {data.shape[1]} features, and n_features={n_features}.")
    rows = np.unique(data, axis=0)
    rows = rows[np.any(rows != 0, axis=1)]
    if len(rows) < n_atoms:
        raise ValueError(
            f"data has only {len(rows)} different rows that are not zero, and n_atoms={n_atoms}."
        )
    return builders.unit_rows(rows[rng.permutation(len(rows))[:n_atoms]])


def union_dictionary(*dictionaries):
    """All atoms of several dictionaries, scaled to unit norm.

    Parameters
    ----------
    *dictionaries : array-like of shape (n_atoms, n_features)
        With equal numbers of features.

    Returns
    -------
    dictionary : ndarray of shape (sum of n_atoms, n_features)
        Atoms in the given order, without zero atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import dct_dictionary, mutual_coherence, union_dictionary
    >>> D = union_dictionary(np.eye(32), dct_dictionary(32))
    >>> bool(np.isclose(mutual_coherence(D), np.sqrt(2 / 32), rtol=0.01))
    True
    """
    if not dictionaries:
        raise ValueError("union_dictionary needs at least one dictionary.")
    parts = [check_array(D, dtype=np.float64, input_name="dictionary") for D in dictionaries]
    sizes = sorted({part.shape[1] for part in parts})
    if len(sizes) > 1:
        raise ValueError(f"The dictionaries have different numbers of features: {sizes}.")
    return builders.unit_rows(np.concatenate(parts))


def mutual_coherence(dictionary):
    r"""Largest cosine between two atoms, :math:`\mu = \max_{i \ne j} |\langle d_i, d_j \rangle|`.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.

    Returns
    -------
    coherence : float
        Between 0 (orthogonal) and 1 (two atoms the same); 0 for one atom. For k atoms of n
        values it is at least ``sqrt((k - n) / (n (k - 1)))`` (Welch).

    See Also
    --------
    babel_function : The same for sums of several inner products.
    exact_recovery_bound : What follows for sparse recovery.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import mutual_coherence
    >>> float(round(mutual_coherence([[1, 0], [0, 1], [1, 1]]), 4))
    0.7071
    """
    values = builders.coherences(_unit_atoms(dictionary), 1)
    return float(min(1.0, values[0])) if values.size else 0.0


def babel_function(dictionary, n_terms=None):
    r"""Largest sum of s inner products with one atom, for every s.

    .. math::
        \mu_1(s) = \max_i \max_{|J| = s,\ i \notin J} \sum_{j \in J} |\langle d_i, d_j\rangle|

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms of any norm; zero atoms are ignored.
    n_terms : int, default=None
        Largest s, None for all: one less than the number of atoms.

    Returns
    -------
    babel : ndarray of shape (n_terms,)
        The values for s = 1, 2, ..., increasing; the first is the mutual coherence.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import babel_function
    >>> babel_function([[1, 0], [0, 1], [1, 1]]).round(4)
    array([0.7071, 1.4142])
    """
    atoms = _unit_atoms(dictionary)
    return builders.coherences(atoms, len(atoms) - 1 if n_terms is None else int(n_terms))


def exact_recovery_bound(dictionary):
    r"""Largest sparsity for which greedy and convex pursuit are proved to be right.

    The largest s with :math:`\mu_1(s - 1) + \mu_1(s) < 1` [1]_: every signal that is a combination
    of s atoms has no other combination of as few, and both orthogonal matching pursuit and basis
    pursuit find it. The condition is sufficient only; for redundant dictionaries that are useful
    in practice it often allows a single atom, and pursuit works well beyond.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms of any norm; zero atoms are ignored.

    Returns
    -------
    n_nonzero : int
        At least 1 where no two atoms are the same, else 0; at most the number of features.

    References
    ----------
    .. [1] Tropp, Greed is good: algorithmic results for sparse approximation, IEEE Transactions on
       Information Theory 50(10), 2004, theorem 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import (
    ...     dct_dictionary, exact_recovery_bound, union_dictionary
    ... )
    >>> exact_recovery_bound(union_dictionary(np.eye(64), dct_dictionary(64)))
    3
    """
    atoms = _unit_atoms(dictionary)
    k, n = atoms.shape
    size = min(n, k - 1)
    babel = np.concatenate([[0.0], builders.coherences(atoms, size)])
    holds = babel[:-1] + babel[1:] < 1 - 1e-12
    bound = int(np.argmin(holds)) if not holds.all() else len(holds)
    return n if k <= n and holds.all() and bound >= k - 1 else bound


def restricted_isometry_constant(
    dictionary, n_nonzero, *, rescale=False, max_supports=1_000_000, random_state=None
):
    r"""How far combinations of a few atoms are from keeping lengths.

    .. math::
        \delta_s = \min \{ \delta : (1 - \delta) \|a\|^2 \le \|a D\|^2 \le (1 + \delta) \|a\|^2
        \text{ for all } a \text{ with at most } s \text{ non-zeros} \}

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms as they are: the constant depends on their norms.
    n_nonzero : int
        The sparsity s.
    rescale : bool, default=False
        Multiply the dictionary by the number for which the constant is least, which changes
        nothing for sparse recovery.
    max_supports : int, default=1_000_000
        With at most so many supports of s atoms all are tried, and the answer is exact.
    random_state : int, RandomState instance or None, default=None
        Draws supports for the lower bound.

    Returns
    -------
    bounds : IsometryBounds
        Named tuple `(lower, upper, exact)`. Where it is not exact, the lower bound is reached by a
        support that was found, and the upper bound holds for all supports, by Gershgorin's circles
        and the largest eigenvalue. To tell more is hard in the strict sense.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import restricted_isometry_constant
    >>> bounds = restricted_isometry_constant([[1, 0], [0, 1], [0.6, 0.8]], 2)
    >>> bounds.exact, round(bounds.upper, 6)
    (True, 0.8)
    """
    atoms = check_array(dictionary, dtype=np.float64, input_name="dictionary")
    if not 1 <= n_nonzero <= len(atoms):
        raise ValueError(
            f"n_nonzero={n_nonzero} must be between 1 and the number of atoms, {len(atoms)}."
        )
    rng = check_random_state(random_state)
    return builders.isometry_bounds(
        atoms, int(n_nonzero), max_supports=max_supports, rescale=rescale, rng=rng
    )


def _unit_atoms(dictionary):
    atoms = np.asarray(dictionary)
    if np.iscomplexobj(atoms):
        if atoms.ndim != 2 or not np.isfinite(atoms).all():
            raise ValueError("dictionary must be a matrix of finite numbers.")
    else:
        atoms = check_array(atoms, dtype=np.float64, input_name="dictionary")
    return builders.unit_rows(atoms)


def _shape(shape):
    shape = (shape,) if isinstance(shape, Integral) else tuple(shape)
    if not shape or any(not isinstance(n, Integral) or n < 1 for n in shape):
        raise ValueError(f"shape={shape} must be a positive int, or a tuple of them.")
    return shape


def _products(bases):
    out = bases[0]
    for basis in bases[1:]:
        out = np.kron(out, basis)
    return out


__all__ = [
    "IsometryBounds",
    "babel_function",
    "dct_dictionary",
    "exact_recovery_bound",
    "fourier_dictionary",
    "gabor_dictionary",
    "mutual_coherence",
    "random_dictionary",
    "restricted_isometry_constant",
    "union_dictionary",
    "wavelet_dictionary",
]
