"""Dictionaries that need no training."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.validation import check_array, check_atoms, dense
from skmoderndata._solvers.dictionaries import fixed as builders
from skmoderndata.sparse_coding._base import check_count


def dct_dictionary(shape, n_atoms=None):
    """Cosine dictionary: the orthonormal cosine transform, or an overcomplete version.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch or volume, whose atoms are products of
        one atom for each axis.
    n_atoms : int or tuple of int, default=None
        Number of cosines along each axis: at least the number of values, and equal to it for an
        axis of one or two values. None gives an orthonormal basis (DCT-II). Otherwise the atoms of
        one axis are ``cos(i j pi / n_atoms)``, minus their mean for ``j > 0``, as in [1]_.

    Returns
    -------
    dictionary : ndarray of shape (n_atoms, n_features)
        Atoms of unit norm, beginning with the constant. Patches are flattened row by row.

    References
    ----------
    .. [1] Elad and Aharon, Image denoising via sparse and redundant representations over learned
       dictionaries, IEEE Transactions on Image Processing 15(12), 2006.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import dct_dictionary, mutual_coherence
    >>> dct_dictionary((8, 8), n_atoms=16).shape
    (256, 64)
    >>> round(mutual_coherence(dct_dictionary(64)), 6)   # an orthonormal basis
    0.0
    """
    shape = _shape(shape)
    if n_atoms is None:
        return _products([builders.cosines(n) for n in shape])

    if isinstance(n_atoms, Integral):
        counts = (n_atoms,) * len(shape)
    else:
        counts = _tuple(n_atoms)
    if not all(isinstance(c, Integral) for c in counts):
        raise ValueError(f"n_atoms={n_atoms} must be an int or a tuple of ints.")
    pairs = list(zip(shape, counts, strict=False))
    if len(counts) != len(shape) or any(c < n for n, c in pairs):
        raise ValueError(
            f"n_atoms={n_atoms} must be, for each axis, at least the number of values, "
            f"shape={shape}."
        )

    # On an axis of one or two values, more frequencies than values give repeated cosines.
    if any(c > n and n <= 2 for n, c in pairs):
        fewer = tuple(n if n <= 2 else c for n, c in pairs)
        raise ValueError(
            f"n_atoms={n_atoms}: there are only as many different cosines as values on an axis of "
            f"one or two values; for shape={shape} use n_atoms={fewer}."
        )

    return _products([builders.overcomplete_cosines(n, c) for n, c in pairs])


def fourier_dictionary(shape, *, complex_valued=False):
    """Orthonormal Fourier basis, real or complex.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch.
    complex_valued : bool, default=False
        Whether to use complex exponentials instead of cosines and sines. The coders require real
        atoms.

    Returns
    -------
    dictionary : ndarray of shape (n_features, n_features)
        Basis vectors in rows. The real basis of one axis consists of the constant, cosine and sine
        of each frequency and, for an even number of values, the alternating signs.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import fourier_dictionary
    >>> fourier_dictionary(4).round(2) + 0.0
    array([[ 0.5 ,  0.5 ,  0.5 ,  0.5 ],
           [ 0.71,  0.  , -0.71,  0.  ],
           [ 0.  ,  0.71,  0.  , -0.71],
           [ 0.5 , -0.5 ,  0.5 , -0.5 ]])
    """
    build = builders.complex_fourier if complex_valued else builders.fourier
    return _products([build(n) for n in _shape(shape)])


def wavelet_dictionary(shape, wavelet="haar", *, level=None):
    """Orthogonal wavelet basis with periodic boundaries.

    Parameters
    ----------
    shape : int or tuple of int
        Number of values of a signal, or shape of a patch (products of one-dimensional wavelets).
    wavelet : str or array-like, default="haar"
        Name "haar" or "db1" to "db10" (Daubechies' wavelets by their number of vanishing moments),
        or the taps of an orthogonal low-pass filter, for example ``pywt.Wavelet("sym4").dec_lo``
        of PyWavelets.
    level : int, default=None
        Number of levels of the decomposition; None means the number of times that the size can be
        halved. Each number of values must be a multiple of ``2**level``.

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
        halvings = (n & -n).bit_length() - 1  # number of times that n can be halved
        full_haar = isinstance(wavelet, str) and wavelet == "haar" and level is None
        if full_haar and n != 2**halvings:
            raise ValueError(
                f"shape={shape}: {n} is not a power of two, which a full Haar basis needs; use a "
                f"level of at most {halvings}."
            )

        depth = halvings if level is None else level
        if not isinstance(depth, Integral) or depth < 0:
            raise ValueError(
                f"level={level} must be an int of at least 0; {n} values allow level 0 to "
                f"{halvings}."
            )
        if depth > halvings:
            raise ValueError(
                f"level={level} needs a multiple of {2**depth} values, got shape={shape}; {n} "
                f"values allow level 0 to {halvings}."
            )

        basis = builders.wavelets(n, low_pass, depth)
        bases.append(basis)

    return _products(bases)


def _low_pass(wavelet):
    if isinstance(wavelet, str):
        names = {f"db{N}": N for N in range(1, 11)}
        names["haar"] = 1
        if wavelet not in names:
            raise ValueError(
                f"wavelet={wavelet!r} is unknown: use 'haar', 'db1' to 'db10', or the taps of "
                "an orthogonal low-pass filter."
            )
        return builders.daubechies_filter(names[wavelet])

    # Check that the taps and their shifts by multiples of two are orthonormal.
    taps = np.asarray(wavelet, dtype=np.float64)
    n = taps.size
    if taps.ndim == 1 and n % 2 == 0 and n > 0:
        products = [taps[2 * s :] @ taps[: n - 2 * s] for s in range(n // 2)]
        unit = np.eye(1, len(products))[0]
        if np.allclose(products, unit):
            return taps

    raise ValueError(
        "wavelet must be the taps of an orthogonal low-pass filter: an even number of taps, "
        "orthonormal to their shifts by multiples of two."
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
    r"""Gabor dictionary: cosines with a Gaussian window.

    .. math:: \exp\left(-\frac{u^2 + \gamma^2 v^2}{2 \sigma^2}\right) \cos(2 \pi f u + \varphi)

    where :math:`(u, v)` are the coordinates about the centre, rotated by the orientation. The mean
    is subtracted and the norm scaled to one.

    Parameters
    ----------
    shape : tuple of two int
        Shape of a patch.
    frequencies : sequence of float, default=(0.1, 0.2, 0.35)
        Frequencies f, in cycles per pixel.
    orientations : int or sequence of float, default=8
        Angles in radians, or the number of angles between 0 and pi.
    sigma : float, default=2.0
        Standard deviation of the window, in pixels.
    aspect : float, default=1.0
        Width along the wave divided by the width across, gamma.
    phases : sequence of float, default=(0.0, pi / 2)
        Phases of the wave.
    stride : int, default=4
        Distance between the centres, in pixels.

    Returns
    -------
    dictionary : ndarray of shape (n_atoms, n_features)
        Atoms of unit norm. Atoms that are nearly zero, or nearly equal to an earlier atom (inner
        product above 0.999), are omitted.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import gabor_dictionary
    >>> gabor_dictionary((8, 8), orientations=4, stride=8).shape
    (24, 64)
    """
    shape = _shape(shape)
    if len(shape) != 2:
        raise ValueError(f"shape={shape} must have two numbers, the shape of a patch.")

    if isinstance(orientations, Integral):
        n_angles = check_count("orientations", orientations)
        orientations = np.pi * np.arange(n_angles) / n_angles
    if not (0 < sigma < np.inf and 0 < aspect < np.inf):
        raise ValueError(f"sigma={sigma} and aspect={aspect} must be positive and finite.")

    atoms = builders.gabor(
        shape,
        frequencies=_numbers("frequencies", frequencies),
        orientations=_numbers("orientations", orientations),
        sigma=float(sigma),
        aspect=float(aspect),
        phases=_numbers("phases", phases),
        stride=check_count("stride", stride),
    )

    # After the mean is subtracted, atoms may be zero.
    if len(atoms) == 0:
        raise ValueError(
            f"No atom remains: without their mean, all are zero on patches of shape={shape}. "
            f"Use larger patches, or a sigma that is wider than {sigma} pixels."
        )

    return atoms


def random_dictionary(n_features, n_atoms, *, data=None, random_state=None):
    """Random dictionary: random directions, or rows drawn from data.

    Parameters
    ----------
    n_features : int
        Number of values of an atom.
    n_atoms : int
        Number of atoms.
    data : array-like of shape (n_samples, n_features), default=None
        Data from which distinct non-zero rows are drawn; None draws uniformly from the sphere.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the random draws. Pass an int for reproducible results.

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
    n_features = check_count("n_features", n_features)
    n_atoms = check_count("n_atoms", n_atoms)
    rng = check_random_state(random_state)
    if data is None:
        directions = rng.normal(size=(n_atoms, n_features))
        return builders.unit_rows(directions)

    data = check_array(data, dtype=np.float64)
    if data.shape[1] != n_features:
        raise ValueError(f"data has {data.shape[1]} features, but n_features={n_features}.")

    rows = np.unique(data, axis=0)
    nonzero = np.any(rows != 0, axis=1)
    rows = rows[nonzero]
    if len(rows) < n_atoms:
        raise ValueError(
            f"data has only {len(rows)} different non-zero rows, but n_atoms={n_atoms}."
        )
    drawn = rng.permutation(len(rows))[:n_atoms]
    return builders.unit_rows(rows[drawn])


def union_dictionary(*dictionaries):
    """Union of several dictionaries, scaled to unit norm.

    Parameters
    ----------
    *dictionaries : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Dictionaries with equal numbers of features; real or complex, of any norm.

    Returns
    -------
    dictionary : ndarray of shape (sum of n_atoms, n_features)
        Atoms of unit norm in the order of the arguments, without zero atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import dct_dictionary, mutual_coherence, union_dictionary
    >>> D = union_dictionary(np.eye(32), dct_dictionary(32))
    >>> round(mutual_coherence(D), 2)                   # sqrt(2 / 32) = 0.25
    0.25
    """
    if not dictionaries:
        raise ValueError("union_dictionary needs at least one dictionary.")
    blocks = [dense(check_atoms(D)) for D in dictionaries]
    sizes = sorted({block.shape[1] for block in blocks})
    if len(sizes) > 1:
        raise ValueError(f"The dictionaries have different numbers of features: {sizes}.")
    blocks = [builders.unit_rows(block) for block in blocks]
    return np.concatenate(blocks)


def _numbers(name, values):
    numbers = np.asarray(values, dtype=np.float64)
    listed = numbers.ndim == 1 and numbers.size > 0
    if not listed or not np.isfinite(numbers).all():
        raise ValueError(f"{name}={values!r} must be a list of one or more finite numbers.")
    return numbers


def _tuple(values):
    return tuple(values) if np.iterable(values) else (values,)


def _shape(shape):
    shape = _tuple(shape)
    if not shape or any(not isinstance(n, Integral) or n < 1 for n in shape):
        raise ValueError(f"shape={shape} must be a positive int or a tuple of positive ints.")
    return shape


def _products(bases):
    out = bases[0]
    for basis in bases[1:]:
        out = np.kron(out, basis)
    return out
