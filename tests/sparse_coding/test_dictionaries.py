"""Evidence that the dictionaries are what they are called, and that the bounds are true."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.fft import dct

from skmoderndata._solvers.dictionaries.fixed import first_of_alike
from skmoderndata.sparse_coding import (
    SparseCoder,
    babel_function,
    dct_dictionary,
    dictionaries,
    exact_recovery_bound,
    fourier_dictionary,
    gabor_dictionary,
    mutual_coherence,
    random_dictionary,
    restricted_isometry_constant,
    union_dictionary,
    wavelet_dictionary,
)

ORTHONORMAL = {
    "cosines": dct_dictionary(16),
    "cosines of patches": dct_dictionary((4, 6)),
    "fourier, even": fourier_dictionary(16),
    "fourier, odd": fourier_dictionary(15),
    "fourier of patches": fourier_dictionary((4, 5)),
    "haar": wavelet_dictionary(32),
    "haar of patches": wavelet_dictionary((8, 4)),
    "haar, two levels": wavelet_dictionary(12, level=2),
    **{f"db{N}": wavelet_dictionary(64, f"db{N}") for N in range(1, 11)},
    "longer than the signal": wavelet_dictionary(8, "db10"),
}


@pytest.mark.certificate
@pytest.mark.parametrize("name", ORTHONORMAL)
def test_bases_are_orthonormal(name):
    D = ORTHONORMAL[name]
    # taps of long filters are roots of polynomials
    assert_allclose(D @ D.T, np.eye(len(D)), atol=1e-9)
    assert D.shape[0] == D.shape[1]


@pytest.mark.oracle
def test_cosines_match_scipy():
    assert_allclose(dct_dictionary(16), dct(np.eye(16), norm="ortho").T, atol=1e-14)


@pytest.mark.oracle
def test_complex_fourier_is_the_transform():
    X = np.random.default_rng(0).normal(size=(3, 12))
    F = fourier_dictionary(12, complex_valued=True)
    assert_allclose(X @ F.conj().T, np.fft.fft(X, norm="ortho"), atol=1e-13)
    assert mutual_coherence(F) < 1e-13


@pytest.mark.paper
def test_overcomplete_cosines_of_8_by_8_patches():
    """The dictionary of Elad and Aharon: 256 atoms whose coherence is 0.985."""
    D = dct_dictionary((8, 8), n_atoms=16)
    assert D.shape == (256, 64)
    assert_allclose(np.linalg.norm(D, axis=1), 1)
    assert_allclose(D[1:].mean(axis=1), 0, atol=1e-15)
    assert_allclose(mutual_coherence(D), 0.985, atol=5e-4)
    assert exact_recovery_bound(D) == 1


@pytest.mark.paper
def test_daubechies_filter_of_four_taps():
    """Daubechies 1988: (1 + sqrt 3, 3 + sqrt 3, 3 - sqrt 3, 1 - sqrt 3) / (4 sqrt 2)."""
    root = np.sqrt(3)
    taps = np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * np.sqrt(2))
    D = wavelet_dictionary(8, "db2", level=1)
    assert_allclose(D[0, :4], taps, atol=1e-14)
    assert_allclose(wavelet_dictionary(8, taps), wavelet_dictionary(8, "db2"), atol=1e-13)


@pytest.mark.certificate
@pytest.mark.parametrize("n_moments", range(1, 11))
def test_wavelets_do_not_see_polynomials(n_moments):
    D = wavelet_dictionary(64, f"db{n_moments}", level=1)
    t = np.linspace(0, 1, 64)
    inner = D[32:][: 32 - n_moments]  # wavelets that do not extend beyond the border
    for degree in range(n_moments):
        assert np.abs(inner @ t**degree).max() < 1e-7
    assert np.abs(inner @ t**n_moments).max() > 1e-13


@pytest.mark.recovery
def test_piecewise_constant_signals_are_sparse_in_haar():
    x = np.repeat([3.0, -1, 2, 2], 16)
    codes = SparseCoder(wavelet_dictionary(64), residual_tol=1e-10).fit_transform(x[None])
    assert (codes != 0).sum() <= 4


@pytest.mark.oracle
def test_coherence_and_babel_function_by_definition(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(9, 5))
    U = D / np.linalg.norm(D, axis=1, keepdims=True)
    G = np.abs(U @ U.T) - np.eye(9)
    assert_allclose(mutual_coherence(D), G.max(), rtol=1e-12)
    expected = [
        max(
            G[i, list(J)].sum() for i in range(9) for J in combinations(set(range(9)) - {i}, s)
        )
        for s in range(1, 9)
    ]
    assert_allclose(babel_function(D), expected, rtol=1e-12)
    assert_allclose(babel_function(D, 3), expected[:3], rtol=1e-12)


@pytest.mark.oracle
def test_coherence_of_two_dictionaries(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(9, 5))
    E = rng.normal(size=(4, 5)) + 1j * rng.normal(size=(4, 5))
    cosines = [
        abs(np.vdot(e, d)) / np.linalg.norm(d) / np.linalg.norm(e) for d in D for e in E
    ]
    assert_allclose(mutual_coherence(D, E), max(cosines), rtol=1e-12)
    assert_allclose(mutual_coherence(E, D), max(cosines), rtol=1e-12)
    assert_allclose(mutual_coherence(sparse.csr_array(D), D[:2]), 1, rtol=1e-12)
    assert mutual_coherence(D, np.zeros((2, 5))) == 0
    with pytest.raises(ValueError, match="have 5 values but the atoms of other have 3"):
        mutual_coherence(D, np.eye(3))


@pytest.mark.paper
def test_coherence_of_spikes_with_cosines_and_fourier():
    """Mutual coherence sqrt(2 / n) and 1 / sqrt(n): Donoho and Huo 2001."""
    n = 64
    D = union_dictionary(np.eye(n), dct_dictionary(n))
    assert_allclose(mutual_coherence(D), np.sqrt(2 / n) * np.cos(np.pi / (2 * n)), rtol=1e-12)
    F = fourier_dictionary(n, complex_valued=True)
    both = np.concatenate([np.eye(n), F])
    assert_allclose(mutual_coherence(both), 1 / np.sqrt(n), rtol=1e-12)
    assert_allclose(mutual_coherence(F, np.eye(n)), 1 / np.sqrt(n), rtol=1e-12)
    k = 2 * n
    assert mutual_coherence(D) >= np.sqrt((k - n) / (n * (k - 1)))


@pytest.mark.recovery
def test_pursuit_is_exact_up_to_the_bound(seed):
    D = union_dictionary(np.eye(64), dct_dictionary(64))
    s = exact_recovery_bound(D)
    assert s == 3
    mu = mutual_coherence(D)
    assert s == np.ceil((1 + 1 / mu) / 2) - 1
    rng = np.random.default_rng(seed)
    A = np.zeros((300, 128))
    for row in A:
        row[rng.choice(128, s, replace=False)] = rng.normal(size=s)
    codes = SparseCoder(D, transform_n_nonzero_coefs=s).fit_transform(A @ D)
    assert_allclose(codes, A, atol=1e-10)


@pytest.mark.oracle
def test_restricted_isometry_by_definition(seed):
    D = random_dictionary(10, 14, random_state=seed)
    for s in (1, 2, 3):
        extremes = [np.linalg.svd(D[list(J)])[1] ** 2 for J in combinations(range(14), s)]
        high = max(e[0] for e in extremes)
        low = min(e[-1] for e in extremes)
        bounds = restricted_isometry_constant(D, s)
        assert bounds.exact
        assert_allclose(bounds.upper, max(high - 1, 1 - low), atol=1e-12)
        scaled = restricted_isometry_constant(3 * D, s, rescale=True)
        assert_allclose(scaled.upper, (high - low) / (high + low), atol=1e-12)
        rough = restricted_isometry_constant(D, s, max_supports=1, random_state=seed)
        assert rough.lower <= bounds.lower + 1e-12
        assert rough.upper >= bounds.upper - 1e-12
        assert rough.exact == (s == 0)
    assert_allclose(restricted_isometry_constant(np.eye(4), 4).upper, 0, atol=1e-15)


@pytest.mark.certificate
def test_gabor_atoms_have_no_mean_and_differ():
    D = gabor_dictionary((8, 8))
    assert_allclose(np.linalg.norm(D, axis=1), 1)
    assert_allclose(D.mean(axis=1), 0, atol=1e-15)
    assert mutual_coherence(D) <= 0.999


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("shape", "stride", "aspect", "frequencies"),
    [((6, 7), 3, 0.7, (0.1, 0.3)), ((5, 4), 1, 1.0, (0.0, 0.25)), ((13, 14), 5, 1.0, (0.2,))],
)
def test_gabor_atoms_by_definition(shape, stride, aspect, frequencies):
    """One atom after the other from the formula; those like an earlier one are left out."""
    phases = (0.0, np.pi / 2)
    sigma = 1.7
    y, x = np.mgrid[: shape[0], : shape[1]]

    expected = []
    for cy in np.arange((shape[0] - 1) % stride / 2, shape[0], stride):
        for cx in np.arange((shape[1] - 1) % stride / 2, shape[1], stride):
            for angle in np.pi * np.arange(4) / 4:
                u = (x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)
                v = (y - cy) * np.cos(angle) - (x - cx) * np.sin(angle)
                for f in frequencies:
                    for phase in phases:
                        atom = np.exp(-(u**2 + aspect**2 * v**2) / (2 * sigma**2))
                        atom = (atom * np.cos(2 * np.pi * f * u + phase)).ravel()
                        atom -= atom.mean()
                        size = np.linalg.norm(atom)
                        if size <= 1e-3:
                            continue
                        if all(abs(atom @ other) <= 0.999 * size for other in expected):
                            expected.append(atom / size)

    found = gabor_dictionary(
        shape,
        stride=stride,
        aspect=aspect,
        frequencies=frequencies,
        sigma=sigma,
        orientations=4,
    )
    assert_allclose(found, expected, atol=1e-13)


@pytest.mark.certificate
def test_many_gabor_atoms_in_bounded_memory(monkeypatch):
    """Blocks of the comparison do not change the kept atoms, nor do projections lose a pair."""
    # signals with more than 128 values are projected first
    whole = gabor_dictionary((16, 16), stride=3)
    monkeypatch.setattr("skmoderndata._solvers.dictionaries.fixed.TEMPORARY_BYTES", 160_000)
    assert_allclose(gabor_dictionary((16, 16), stride=3), whole, atol=0)
    twice = np.concatenate([whole, -whole[::2], whole[:5] + 0.01 * whole[5:10]])
    twice /= np.linalg.norm(twice, axis=1, keepdims=True)
    assert_allclose(first_of_alike(twice), whole, atol=0)


@pytest.mark.invariance
def test_norms_and_zero_atoms_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(12, 6))
    other = np.vstack([D * rng.uniform(0.1, 10, size=(12, 1)), np.zeros(6)])
    assert_allclose(babel_function(other), babel_function(D))
    assert exact_recovery_bound(other) == exact_recovery_bound(D)
    assert_allclose(union_dictionary(other, D[:2]), union_dictionary(D, D[:2]))
    # atoms may have any norm, and some norms are negligible relative to others
    for scale in (1e-13, 1e-90, 1e90):
        assert_allclose(babel_function(scale * D), babel_function(D), rtol=1e-6)
        assert_allclose(mutual_coherence(scale * D), mutual_coherence(D), rtol=1e-6)
        assert exact_recovery_bound(scale * D) == exact_recovery_bound(D)
        assert_allclose(union_dictionary(D, scale * D), union_dictionary(D, D), rtol=1e-6)
        drawn = random_dictionary(6, 5, data=scale * D, random_state=0)
        assert_allclose(drawn, random_dictionary(6, 5, data=D, random_state=0), rtol=1e-6)
    other = D * 10.0 ** rng.uniform(-90, 90, size=(12, 1))
    assert_allclose(babel_function(other), babel_function(D))


@pytest.mark.invariance
def test_kinds_of_matrices(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(12, 6)) * (rng.uniform(size=(12, 6)) < 0.4)
    D[3] = 0.0
    for other in (sparse.csr_array(D), sparse.coo_array(D), (D * 1j).tolist(), D.tolist()):
        assert_allclose(babel_function(other, 4), babel_function(D, 4), atol=1e-15)
        assert exact_recovery_bound(other) == exact_recovery_bound(D)
        assert_allclose(
            restricted_isometry_constant(other, 2),
            restricted_isometry_constant(D, 2),
            rtol=1e-12,
        )
        assert union_dictionary(other, D).shape == (2 * np.count_nonzero(D.any(axis=1)), 6)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wavelet_dictionary(12), "12 is not a power of two"),
        (lambda: wavelet_dictionary(12, level=3), "12 values allow level 0 to 2"),
        (lambda: wavelet_dictionary(8, "sym4"), "'sym4' is unknown"),
        (lambda: wavelet_dictionary(8, [1.0, 1.0]), "taps of an orthogonal"),
        (lambda: dct_dictionary(8, n_atoms=4), "n_atoms=4"),
        (lambda: dct_dictionary(0), "shape"),
        (lambda: gabor_dictionary(8), "two numbers"),
        (lambda: dct_dictionary(2, n_atoms=4), r"n_atoms=4: .* use n_atoms=\(2,\)"),
        (lambda: dct_dictionary((8, 1), n_atoms=16), r"use n_atoms=\(16, 1\)"),
        (lambda: dct_dictionary(8, n_atoms=16.0), "n_atoms=16.0 must be an int"),
        (lambda: dct_dictionary(8.0), "shape"),
        (lambda: wavelet_dictionary(8, level=-1), "level=-1 must be an int of at least 0"),
        (lambda: wavelet_dictionary(8, level=1.5), "level=1.5 must be an int of at least 0"),
        (lambda: gabor_dictionary((8, 8), sigma=0), "sigma=0"),
        (
            lambda: gabor_dictionary((8, 8), frequencies=[]),
            r"frequencies=\[\] must be a list of one or more",
        ),
        (lambda: gabor_dictionary((8, 8), phases=[np.nan]), "phases=.* finite"),
        (lambda: gabor_dictionary((8, 8), orientations=0), "orientations=0 must be an int"),
        (lambda: gabor_dictionary((8, 8), stride=2.5), "stride=2.5 must be an int"),
        (lambda: gabor_dictionary((1, 1)), "No atom remains: .* larger patches"),
        (lambda: gabor_dictionary((8, 8), sigma=0.01), "sigma that is wider than 0.01"),
        (lambda: random_dictionary(-4, 2), "n_features=-4 must be an int of at least 1"),
        (lambda: random_dictionary(4, 0), "n_atoms=0 must be an int of at least 1"),
        (
            lambda: random_dictionary(3, 5, data=np.ones((9, 3))),
            "only 1 different non-zero rows",
        ),
        (lambda: random_dictionary(4, 5, data=np.ones((9, 3))), "3 features"),
        (lambda: union_dictionary(np.eye(3), np.eye(4)), r"\[3, 4\]"),
        (lambda: union_dictionary(), "at least one"),
        (lambda: restricted_isometry_constant(np.eye(3), 4), "between 1 and"),
        (
            lambda: restricted_isometry_constant(np.eye(5), 2.5),
            "n_nonzero_coefs=2.5 must be an int",
        ),
        (lambda: babel_function(np.eye(3), 0), "n_terms=0 must be an int of at least 1"),
        (lambda: babel_function(np.eye(3), -1), "n_terms=-1 must be an int of at least 1"),
        (lambda: mutual_coherence([[1j, np.inf]]), "dictionary must be a matrix of finite"),
    ],
)
def test_raises_on_invalid_requests(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-120, 1e120, 1e120j])
@pytest.mark.parametrize(
    "look",
    [
        babel_function,
        exact_recovery_bound,
        mutual_coherence,
        union_dictionary,
        lambda D: restricted_isometry_constant(D, 2),
    ],
    ids=["babel", "bound", "coherence", "union", "isometry"],
)
def test_magnitudes_beyond_the_limits_are_rejected(look, scale):
    with pytest.raises(ValueError, match=r"dictionary came with .* between 1e-100 and 1e100"):
        look(scale * np.eye(3))


@pytest.mark.edge
def test_edge_cases():
    assert mutual_coherence([[1.0, 2.0]]) == 0
    assert mutual_coherence([[1.0, 0], [2.0, 0]]) == 1
    assert exact_recovery_bound([[1.0, 0], [2.0, 0]]) == 0
    assert exact_recovery_bound(np.eye(5)) == 5
    assert exact_recovery_bound(np.eye(5)[:2]) == 2
    assert exact_recovery_bound([[1.0, 2.0]]) == 1
    assert exact_recovery_bound(np.zeros((2, 2))) == 0
    assert_allclose(
        babel_function(np.eye(3) + 1, 4), babel_function(np.eye(3) + 1)[[0, 1, 1, 1]]
    )

    assert babel_function([[1.0, 2.0]]).shape == (0,)

    assert_allclose(restricted_isometry_constant(1e90 * np.eye(2), 2, rescale=True), (0, 0, 1))
    assert_allclose(restricted_isometry_constant(1e90 * np.eye(2), 1).upper, 1e180)
    assert dct_dictionary((1, 8), n_atoms=(1, 16)).shape == (16, 8)
    assert dct_dictionary(2, n_atoms=2).shape == (2, 2)
    assert set(dictionaries.__all__) <= set(dir(dictionaries))

    rows = np.random.default_rng(0).normal(size=(20, 3))
    drawn = random_dictionary(3, 5, data=rows, random_state=0)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert_allclose(np.sort((drawn @ units.T).max(axis=1)), 1)
