"""Evidence that DictionaryDenoiser solves the problem it states."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.datasets import load_sample_image

from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms
from skmoderndata._solvers.dictionaries.patches import (
    _texture_of_noise,
    average_patches,
    error_gain,
    grid_of,
    noise_level,
    patch_cosines,
    take_means_away,
    take_patches,
    training_patches,
)
from skmoderndata._solvers.dictionaries.similar_patches import (
    _centers,
    _find_similar,
    default_group_size,
    filter_groups,
)
from skmoderndata.image import DictionaryDenoiser
from tests.oracles import dictionary_restoration as oracle


def picture(seed, shape=(40, 44), sigma=20.0):
    """Smooth and sharp parts, with and without noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(float)
    clean = 120 + 60 * np.sign(np.sin(y / 6 + rng.uniform(0, 6)) * np.cos(x / 7)) + x
    if len(shape) == 3:
        clean = clean[:, :, None] * np.linspace(0.6, 1.2, shape[2]) + 10 * np.arange(shape[2])
    return clean, clean + sigma * rng.normal(size=shape)


def photograph(rows, columns):
    return load_sample_image("flower.jpg").mean(axis=2)[rows, columns]


def decibels(image, truth):
    return 10 * np.log10(255**2 / np.mean((image - truth) ** 2))


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("hidden", [False, True])
def test_coded_and_averaged_patches_match_plain_loops(hidden, channels, seed):
    rng = np.random.default_rng(seed)
    image = 50 + 20 * rng.normal(size=(11, 13, channels)).cumsum(axis=0)
    known = rng.uniform(size=image.shape) < (0.6 if hidden else 2)
    image = np.where(known, image, 0)
    grid = grid_of(image, (4, 5))
    D = rng.normal(size=(30, grid.size))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    mask = known if hidden else None
    atoms = prepare_atoms(D)

    def code(patches, seen):
        count = np.full(len(patches), grid.size) if seen is None else seen.sum(axis=1)
        return orthogonal_matching_pursuit(
            patches, atoms, n_nonzero=6, tol_sq=100.0 * count, mask=seen
        )

    expected = oracle.average(image, known, D, 4, 5, 6, 100.0)
    for max_bytes in (1, 2**25):  # process one row of patches at a time, or all
        found = average_patches(image, mask, grid, D, code, max_bytes=max_bytes)
        assert_allclose(found[0], expected[0], atol=1e-8)
        assert_allclose(found[1], expected[1], atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("hidden", [False, True])
def test_training_patches_need_an_atom(hidden, seed):
    rng = np.random.default_rng(seed)
    image = np.zeros((14, 15, 2))
    image[4:, 3:] = 30 * rng.normal(size=(10, 12, 2))
    known = rng.uniform(size=image.shape) < 0.5 if hidden else None
    image = image + 100.0

    grid = grid_of(image, (3, 4))
    every = np.arange(grid.rows * grid.columns)
    patches = take_patches(image, grid, every)
    assert_array_equal(patches[0].reshape(3, 4, 2), image[:3, :4])
    assert_array_equal(patches[-1].reshape(3, 4, 2), image[-3:, -4:])
    seen = None if known is None else take_patches(known, grid, every)

    data, means = take_means_away(patches, 2, seen)
    if not hidden:
        assert_allclose(means[5], image[:3, 5:9].mean(axis=(0, 1)))

    # select patches that have enough known pixels and more energy than the noise
    count = np.full(len(every), grid.size) if seen is None else seen.sum(axis=1)
    wanted = (np.sum(data**2, axis=1) > 400 * count) & (count >= 0.4 * grid.size)
    given = {"min_known": 0.4, "above": 400.0, "rng": np.random.RandomState(seed)}
    found, part = training_patches(image, known, grid, max_patches=1000, **given)
    assert_allclose(found, data[wanted], atol=1e-10)
    assert (part is None) == (known is None)

    few, _ = training_patches(image, known, grid, max_patches=5, **given)
    assert len(few) == 5
    assert (np.abs(few[:, None] - data[wanted]).sum(axis=2) < 1e-8).any(axis=1).all()


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("reach", [2, 15])
def test_similar_patches_match_plain_loops(reach, channels, seed):
    image = np.random.default_rng(seed).normal(size=(13, 15, channels))
    image[:6, :7] = 1.0  # among equal patches, the first found come first
    grid = grid_of(image, (3, 4))
    index = np.empty((3, 9), np.int64)
    centers = np.array([0, 17, grid.rows * grid.columns - 1])
    _find_similar(image, 3, 4, centers, reach, index)
    for center, found in zip(centers, index, strict=True):
        place = divmod(int(center), grid.columns)
        expected = oracle.similar(image, 3, 4, *place, reach, 9)
        assert_array_equal(np.divmod(found, grid.columns), np.transpose(expected))


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 3])
def test_groups_are_filtered_as_by_their_covariance(channels, seed):
    clean, noisy = picture(seed, (22, 25, channels))
    rng = np.random.default_rng(seed)
    first = clean + 5 * rng.normal(size=clean.shape)
    grid = grid_of(noisy, (4, 5))
    corners = np.transpose(np.divmod(_centers(grid), grid.columns))
    # with sigma far below the noise, all means differ clearly
    for size, sigma in ((3, 20.0), (40, 20.0), (12, 5.0)):
        expected = oracle.filter_groups(noisy, first, 4, 5, corners, 15, size, sigma)
        found = filter_groups(noisy, first, grid, sigma=sigma, group_size=size)
        assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.recovery
def test_groups_of_similar_patches_remove_more_noise(seed):
    clean = photograph(np.s_[120:200], np.s_[200:280])
    for sigma in (10.0, 25.0, 50.0):
        noisy = clean + sigma * np.random.default_rng(seed).normal(size=clean.shape)
        model = DictionaryDenoiser(sigma, dictionary="cosines", group_size=1).fit(noisy)
        alone = decibels(model.transform(noisy), clean)
        model.set_params(group_size=None)
        assert decibels(model.transform(noisy), clean) > alone + 0.2
        assert default_group_size(grid_of(noisy[:, :, None], (8, 8))) == 32


def pictures():
    """Flat, smooth, blurred and textured pictures, gray and in colour, with the least gain."""
    china = load_sample_image("china.jpg").astype(float)
    flower = load_sample_image("flower.jpg").astype(float)
    y, x = np.mgrid[0:64, 0:64].astype(float)
    gray = np.s_[:64, :64]
    colour = np.s_[:40, :40]

    return {
        "flat": (np.full((64, 64), 128.0), 0.5),
        "flat, in colour": (np.full((40, 40, 3), 128.0), 0.5),
        "ramp": (60 + 1.5 * x, 0.5),
        "bowl": (40 + 0.08 * ((x - 32) ** 2 + (y - 32) ** 2), 0.5),
        "waves": (128 + 80 * np.sin(y / 14) * np.cos(x / 17), 0.5),
        "disc": (np.where((x - 32) ** 2 + (y - 32) ** 2 < 400, 190.0, 70.0), 0.3),
        "sky": (china.mean(axis=2)[gray], 0.5),
        "sky, in colour": (china[colour], 0.5),
        "blurred": (flower.mean(axis=2)[gray], 0.5),
        "blurred, in colour": (flower[colour], 0.5),
        "blurred roofs": (gaussian_filter(china.mean(axis=2)[100:164, 200:264], 4), 0.3),
        "roofs": (china.mean(axis=2)[100:164, 200:264], 0.1),
        "petals": (flower.mean(axis=2)[120:184, 200:264], 0.1),
        "petals, in colour": (flower[120:160, 200:240], 0.1),
    }


@pytest.mark.few(8)
@pytest.mark.recovery
@pytest.mark.parametrize("group_size", [None, 2, 8])
@pytest.mark.parametrize("name", list(pictures()))
def test_groups_never_increase_the_error(name, group_size, seed):
    """The mean of the noisy members lost 1.7 dB on flat pictures, groups of two up to 11 dB."""
    clean, least = pictures()[name]
    noise = np.random.default_rng(seed).normal(size=clean.shape)
    for sigma in (15.0, 25.0, 50.0):
        noisy = clean + sigma * noise
        model = DictionaryDenoiser(sigma, dictionary="cosines", group_size=1).fit(noisy)
        alone = decibels(model.transform(noisy), clean)
        model.set_params(group_size=group_size)
        assert decibels(model.transform(noisy), clean) > alone + least


@pytest.mark.edge
def test_groups_of_small_and_of_flat_images():
    flat = np.full((9, 9, 1), 5.0)
    grid = grid_of(flat, (8, 8))
    # a window in a corner contains only two by two patches
    assert_allclose(filter_groups(flat, flat, grid, sigma=1.0, group_size=50), flat)
    assert_allclose(filter_groups(flat, flat, grid, sigma=1e-200, group_size=50), flat)
    one = grid_of(flat, (9, 9))
    assert filter_groups(flat, flat, one, sigma=1.0, group_size=50) is flat


@pytest.mark.certificate
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_patch_is_within_its_bound(dtype, seed):
    _, noisy = picture(seed)
    model = DictionaryDenoiser(20, n_components=100, max_iter=3, random_state=seed)
    model.fit(noisy.astype(dtype))
    image = noisy.astype(dtype)[:, :, None]
    grid = grid_of(image, (8, 8))
    data, _ = take_means_away(
        take_patches(image, grid, np.arange(grid.rows * grid.columns)), 1
    )
    bound = 64 * (1.15008 * 20) ** 2
    codes = orthogonal_matching_pursuit(
        data, prepare_atoms(model.components_), n_nonzero=32, tol_sq=np.full(len(data), bound)
    )
    assert np.mean(codes.residual_sq <= bound) > 0.99  # 32 atoms represent nearly all patches
    # this is computed in float32
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-6)
    assert_allclose(error_gain(64), 1.15008, atol=1e-4)  # the published value is 1.15
    assert_allclose(chi2.cdf(192 * error_gain(192) ** 2, 192), 0.957)


@pytest.mark.paper
def test_learned_atoms_are_better_than_cosines(seed):
    """Elad and Aharon 2006, table 1: learned atoms gain most where the image repeats itself."""
    clean = photograph(np.s_[100:260], np.s_[180:340])
    noisy = clean + 20 * np.random.default_rng(seed).normal(size=clean.shape)
    given = {"group_size": 1, "random_state": seed}  # the published algorithm has no groups
    cosines = DictionaryDenoiser(20, dictionary="cosines", **given).fit_transform(noisy)
    learned = DictionaryDenoiser(20, **given).fit_transform(noisy)
    assert decibels(noisy, clean) < 22.3
    assert decibels(cosines, clean) > 27.5
    assert decibels(learned, clean) > decibels(cosines, clean) + 0.4


@pytest.mark.recovery
@pytest.mark.parametrize("sigma", [5.0, 20.0, 40.0])
@pytest.mark.parametrize("channels", [1, 3])
def test_noise_is_recovered(channels, sigma, seed):
    _, noisy = picture(seed, (96, 96, channels), sigma)
    # there are some thousand patches of edges
    assert_allclose(noise_level(noisy), sigma, rtol=0.1)
    assert noise_level(np.full((20, 20, channels), 3.0)) < 1e-12
    model = DictionaryDenoiser(random_state=seed, max_iter=2).fit(noisy)
    assert_allclose(model.noise_std_, noise_level(noisy), rtol=1e-12)


@pytest.mark.recovery
@pytest.mark.parametrize("sigma", [5.0, 10.0, 20.0, 40.0])
@pytest.mark.parametrize("name", ["china.jpg", "flower.jpg"])
def test_noise_is_recovered_with_texture(name, sigma, seed):
    """The median of the wavelets takes the leaves and tiles of the first for noise: 8 of 5."""
    clean = load_sample_image(name).mean(axis=2)[:, ::-1][:300, :400]
    noisy = (clean + sigma * np.random.default_rng(seed).normal(size=clean.shape))[:, :, None]
    assert_allclose(noise_level(noisy), sigma, rtol=0.06)
    assert noise_level(clean[:, :, None]) < 1
    assert_allclose(noise_level(1e6 * noisy), 1e6 * noise_level(noisy), rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 3])
def test_limit_of_texture_matches_pure_noise(channels):
    noise = np.random.default_rng(0).normal(size=(100_000, 7, 7, channels))
    texture = sum(
        np.sum(np.square(np.subtract(*parts)), axis=(1, 2, 3))
        for parts in ((noise[:, 2:], noise[:, :-2]), (noise[:, :, 2:], noise[:, :, :-2]))
    )
    # the quadratic form is approximated by a gamma distribution, and the quantile is estimated
    # from draws
    assert_allclose(_texture_of_noise(channels), np.quantile(texture, 0.99), rtol=0.02)


@pytest.mark.recovery
def test_colours_share_their_structure(seed):
    clean = load_sample_image("china.jpg")[70:150, 170:250].astype(float)
    noisy = clean + 20 * np.random.default_rng(seed).normal(size=clean.shape)
    model = DictionaryDenoiser(20, random_state=seed)
    together = model.fit_transform(noisy)
    single = np.stack([model.fit_transform(noisy[:, :, c]) for c in range(3)], axis=2)
    assert decibels(together, clean) > decibels(single, clean) + 0.5
    assert decibels(single, clean) > decibels(noisy, clean) + 1.5


@pytest.mark.invariance
def test_scale_shift_threads_memory_and_precision(seed):
    clean, noisy = picture(seed)
    given = {"n_components": 64, "max_iter": 3, "random_state": seed}
    model = DictionaryDenoiser(20, **given)
    out = model.fit_transform(noisy)
    scaled = DictionaryDenoiser(20 / 256, **given).fit_transform(noisy / 256)
    assert_allclose(256 * scaled, out, rtol=1e-9)
    shifted = DictionaryDenoiser(20, **given).fit_transform(noisy + 4096)
    # rounding errors of the shifted image can decide ties between atoms
    assert np.mean(np.abs(shifted - 4096 - out) > 1e-6) < 0.01
    assert_array_equal(DictionaryDenoiser(20, n_jobs=2, **given).fit_transform(noisy), out)
    with sklearn.config_context(working_memory=0.001):
        assert_allclose(model.transform(noisy), out, rtol=1e-12)
    single = model.fit_transform(noisy.astype(np.float32))
    assert single.dtype == np.float32
    assert abs(decibels(single, clean) - decibels(out, clean)) < 0.1
    assert_array_equal(model.fit_transform(np.rint(noisy).astype(int)).shape, noisy.shape)


@pytest.mark.invariance
def test_contract_of_an_estimator(seed):
    clean, noisy = picture(seed)
    model = DictionaryDenoiser(20, n_components=64, max_iter=2, random_state=seed)
    before = noisy.copy()
    out = model.fit_transform(noisy)
    assert_array_equal(noisy, before)
    assert_array_equal(model.fit(noisy).transform(noisy), out)
    assert_array_equal(clone(model).fit_transform(noisy), out)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(noisy), out)
    assert model.transform(noisy[:20, :13]).shape == (20, 13)  # images may have any size
    assert model.n_iter_ == 2 == len(model.objective_history_)
    assert model.objective_ == model.objective_history_[-1]
    assert_allclose(
        model.score(noisy, clean), decibels(out, clean) + 20 * np.log10(np.ptp(clean) / 255)
    )
    given = DictionaryDenoiser(20, dictionary=3 * model.components_).fit(noisy)
    assert given.n_iter_ == 0
    assert_allclose(given.transform(noisy), out, rtol=1e-9)


@pytest.mark.edge
def test_edge_cases(seed):
    _, noisy = picture(seed)
    for flat in (np.full((9, 12), 7.0), np.full((1, 1), 3.0), np.zeros((5, 6, 3))):
        assert_allclose(DictionaryDenoiser(2.0, random_state=seed).fit_transform(flat), flat)
        assert_allclose(DictionaryDenoiser(random_state=seed).fit_transform(flat), flat)
    thin = DictionaryDenoiser(20, random_state=seed).fit_transform(noisy[:3])
    assert thin.shape == (3, 44)
    assert np.isfinite(thin).all()
    assert_array_equal(DictionaryDenoiser(0.0).fit_transform(noisy), noisy)
    huge = DictionaryDenoiser(1e6, random_state=seed).fit_transform(noisy)
    assert np.ptp(huge) < np.ptp(noisy)
    assert patch_cosines(8, 8, 1, 256).shape == (256, 64)
    assert patch_cosines(8, 8, 3, 100).shape == (100, 192)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "Use DictionaryInpainter",
            lambda noisy, model: model.fit(np.where(noisy > 200, np.nan, noisy)),
        ),
        ("accepts one image of shape", lambda noisy, model: model.fit(noisy[0])),
        ("infinity", lambda noisy, model: model.fit(np.where(noisy > 200, np.inf, noisy))),
        (
            r"patch_size=.* must be a positive integer, or two",
            lambda noisy, model: DictionaryDenoiser(patch_size=(8, 0)).fit(noisy),
        ),
        (
            "dictionary has atoms of 5 numbers",
            lambda noisy, model: DictionaryDenoiser(dictionary=np.ones((3, 5))).fit(noisy),
        ),
        (
            "images need as many",
            lambda noisy, model: model.fit(noisy).transform(
                noisy[:, :, None].repeat(3, axis=2)
            ),
        ),
        ("compares two images", lambda noisy, model: model.fit(noisy).score(noisy, noisy[:5])),
    ],
)
def test_bad_input_is_rejected(seed, message, call):
    _, noisy = picture(seed)
    model = DictionaryDenoiser(20, n_components=64, max_iter=1)
    with pytest.raises(ValueError, match=message):
        call(noisy, model)


@pytest.mark.invariance
@pytest.mark.parametrize("dictionary", ["learned", "cosines"])
def test_units_of_grey_do_not_matter(dictionary, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:24, 0:20]
    clean = 128 + 80 * np.sin(y / 3) * np.cos(x / 4)
    noisy = clean + 10 * rng.normal(size=clean.shape)

    given = {"dictionary": dictionary, "patch_size": 4, "n_components": 32, "max_iter": 2}
    for dtype, powers in ((np.float64, (150, -150)), (np.float32, (40, -40))):
        image = noisy.astype(dtype)

        model = DictionaryDenoiser(10.0, **given, random_state=seed).fit(image)
        for power in powers:
            unit = dtype(2.0**power)
            other = DictionaryDenoiser(10.0 * float(unit), **given, random_state=seed)

            out = other.fit_transform(image * unit)
            assert out.dtype == dtype
            assert_allclose(out / unit, model.transform(image), rtol=1e-5)
            assert other.noise_std_ == 10.0 * float(unit)
            assert np.isfinite(other.objective_history_).all()
            score = other.score(image * unit, clean * 2.0**power)
            assert_allclose(score, model.score(image, clean), rtol=1e-5)

    with pytest.raises(ValueError, match=r"fourth powers over- or underflow: rescale it"):
        DictionaryDenoiser(10.0, **given).fit(noisy * 1e60)
