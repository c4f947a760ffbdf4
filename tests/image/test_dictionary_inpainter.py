"""Evidence that DictionaryInpainter solves the problem it states."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_sample_image

from skmoderndata._solvers.dictionaries.patches import error_gain, fill_by_means, patch_cosines
from skmoderndata.image import DictionaryInpainter
from skmoderndata.image import _dictionary_inpainter as inpainting
from tests.oracles import dictionary_restoration as oracle


def picture(seed, shape=(40, 44), share=0.5):
    """Smooth and sharp parts, complete and with missing pixels."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(float)
    whole = 120 + 60 * np.tanh(3 * np.sin(y / 6 + rng.uniform(0, 6)) * np.cos(x / 7)) + x
    if len(shape) == 3:
        whole = whole[:, :, None] * np.linspace(0.6, 1.2, shape[2]) + 10 * np.arange(shape[2])
    return whole, np.where(rng.uniform(size=shape) < share, whole, np.nan)


def photograph():
    return load_sample_image("china.jpg").mean(axis=2)[100:200, 200:300]


def error(image, truth):
    return np.sqrt(np.mean((image - truth) ** 2))


def nearest(seen):
    """Each missing pixel by the nearest known one."""
    from scipy.ndimage import distance_transform_edt

    place = distance_transform_edt(np.isnan(seen), return_distances=False, return_indices=True)
    return seen[tuple(place)]


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 2])
def test_masked_coding_matches_plain_loops(channels, seed):
    _, seen = picture(seed, (14, 15, channels), 0.6)
    n = 20 * channels
    # random atoms avoid ties, which cosines have on few known pixels
    D = np.random.default_rng(seed).normal(size=(40, n))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    given = {"noise_std": 4, "dictionary": D, "patch_size": (4, 5), "group_size": 1}
    model = DictionaryInpainter("masked", **given)
    filled = model.fit_transform(seen)
    known = ~np.isnan(seen)
    total, weight = oracle.average(
        np.where(known, seen, 0), known, D, 4, 5, n // 2, (4 * error_gain(n)) ** 2
    )
    assert_allclose(filled[~known], (total / weight)[~known], atol=1e-6)
    assert_array_equal(filled[known], seen[known])


@pytest.mark.oracle
def test_one_round_of_expectation_maximisation(seed):
    """Fill what misses with the average of all patches, the filled image coded as if complete."""
    _, seen = picture(seed, (16, 17), 0.6)
    given = {"noise_std": 4, "dictionary": "cosines", "n_components": 30, "patch_size": 5}
    given["group_size"] = 1
    start = DictionaryInpainter("masked", **given).fit_transform(seen)
    found = DictionaryInpainter("em", n_rounds=1, **given).fit_transform(seen)
    D = patch_cosines(5, 5, 1, 30)
    total, weight = oracle.average(
        start[:, :, None],
        np.ones((16, 17, 1), bool),
        D, 5, 5, 12, (3 * 4 * error_gain(25)) ** 2,
    )  # fmt: skip
    expected = np.where(np.isnan(seen), (total / weight)[:, :, 0], seen)
    assert_allclose(found, expected, atol=1e-6)


@pytest.mark.oracle
def test_groups_fill_in_rounds(seed, monkeypatch):
    monkeypatch.setattr(inpainting, "GROUP_ROUNDS", 2)
    _, seen = picture(seed, (14, 15), 0.6)
    given = {"noise_std": 4, "dictionary": "cosines", "n_components": 30, "patch_size": 4}
    model = DictionaryInpainter("masked", **given, group_size=1)
    filled = model.fit_transform(seen)[:, :, None]
    known = ~np.isnan(seen)[:, :, None]

    # groups start at corners half a patch apart, and at the last ones
    corners = [(y, x) for y in (*range(0, 10, 2), 10) for x in (*range(0, 11, 2), 11)]
    for sigma in (20.0, 2.8):
        average = oracle.filter_groups(filled, filled, 4, 4, corners, 15, 6, sigma)
        filled = np.where(known, seen[:, :, None], average)
    found = model.set_params(group_size=6).transform(seen)
    assert_allclose(found, filled[:, :, 0], atol=1e-6)


@pytest.mark.recovery
def test_groups_of_similar_patches_fill_better(seed):
    whole = photograph()[:64, :64]
    seen = np.where(np.random.default_rng(seed).uniform(size=whole.shape) < 0.5, whole, np.nan)
    model = DictionaryInpainter(group_size=1, n_rounds=8, random_state=seed).fit(seen)
    alone = model.score(seen, whole)
    assert model.set_params(group_size=None).score(seen, whole) > alone + 0.2


@pytest.mark.oracle
def test_holes_get_means_of_growing_boxes(seed):
    rng = np.random.default_rng(seed)
    image = rng.normal(size=(13, 15, 2))
    known = rng.uniform(size=image.shape) < 0.03
    known[rng.integers(13), rng.integers(15)] = True
    expected = image.copy()
    for y, x, c in zip(*np.nonzero(~known), strict=True):
        side = 1
        while True:
            box = np.s_[max(0, y - side) : y + side + 1, max(0, x - side) : x + side + 1, c]
            if known[box].any():
                expected[y, x, c] = image[box][known[box]].mean()
                break
            side = 2 * side + 1
    assert_allclose(fill_by_means(np.where(known, image, 7), known), expected, atol=1e-12)


@pytest.mark.few(2)
@pytest.mark.recovery
@pytest.mark.parametrize("method", ["masked", "em"])
@pytest.mark.parametrize("dictionary", ["learned", "cosines"])
def test_missing_pixels_of_a_photograph_are_found(dictionary, method, seed):
    whole = photograph()
    seen = np.where(np.random.default_rng(seed).uniform(size=whole.shape) < 0.5, whole, np.nan)
    model = DictionaryInpainter(
        method, dictionary=dictionary, n_components=144, n_rounds=8, random_state=seed
    )
    filled = model.fit_transform(seen)
    assert error(filled, whole) < 0.7 * error(nearest(seen), whole)
    assert_array_equal(filled[~np.isnan(seen)], seen[~np.isnan(seen)])
    peak = np.ptp(whole)
    missing = np.isnan(seen)
    wanted = 20 * np.log10(peak / error(filled[missing], whole[missing]))
    assert_allclose(model.score(seen, whole), wanted)


@pytest.mark.full
@pytest.mark.recovery
def test_rounds_improve_on_coding_once(seed):
    whole = photograph()
    seen = np.where(np.random.default_rng(seed).uniform(size=whole.shape) < 0.3, whole, np.nan)
    once = DictionaryInpainter("masked", random_state=seed).fit_transform(seen)
    rounds = DictionaryInpainter("em", random_state=seed).fit_transform(seen)
    assert error(rounds, whole) < 0.97 * error(once, whole)


@pytest.mark.full
@pytest.mark.recovery
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_learned_atoms_gain_over_cosines_with_texture(share, seed):
    """With a bound for four times the noise "em" lost up to 1.2 dB here where little misses."""
    whole = load_sample_image("china.jpg").mean(axis=2)[100:196, 200:296]
    known = np.random.default_rng(seed).uniform(size=whole.shape) < share
    seen = np.where(known, whole, np.nan)
    for method in ("masked", "em"):
        given = {"algorithm": method, "n_rounds": 8, "random_state": seed}
        cosines = DictionaryInpainter(dictionary="cosines", **given).fit(seen)
        learned = DictionaryInpainter(**given).fit(seen)
        assert learned.score(seen, whole) > cosines.score(seen, whole) + 0.1


@pytest.mark.edge
def test_cosines_are_kept_if_too_few_patches_are_known(seed):
    whole = photograph()
    known = np.random.default_rng(seed).uniform(size=whole.shape) < 0.15
    given = {"algorithm": "masked", "random_state": seed}
    model = DictionaryInpainter(**given).fit(np.where(known, whole, np.nan))
    cosines = DictionaryInpainter(dictionary="cosines", **given)
    assert model.n_iter_ == 0
    assert_array_equal(model.components_, cosines.fit(whole).components_)
    fewer = DictionaryInpainter(n_components=16, min_known=0.15, **given)
    assert fewer.fit(np.where(known, whole, np.nan)).n_iter_ == 10


@pytest.mark.recovery
def test_noise_of_known_pixels_is_removed_on_request(seed):
    whole, _ = picture(seed)
    rng = np.random.default_rng(seed)
    noisy = whole + 15 * rng.normal(size=whole.shape)
    seen = np.where(rng.uniform(size=whole.shape) < 0.7, noisy, np.nan)
    model = DictionaryInpainter(
        noise_std=15, keep_known=False, n_components=100, random_state=seed
    )
    out = model.fit_transform(seen)
    assert error(out, whole) < 10
    assert error(model.transform(noisy), whole) < 10  # no pixel is missing


@pytest.mark.invariance
def test_scale_threads_memory_and_precision(seed):
    whole, seen = picture(seed)
    given = {"n_components": 64, "max_iter": 3, "n_rounds": 3, "random_state": seed}
    for method in ("em", "masked"):
        model = DictionaryInpainter(method, **given)
        out = model.fit_transform(seen)
        scaled = DictionaryInpainter(method, **given).fit_transform(seen / 256)
        assert_allclose(256 * scaled, out, rtol=1e-9)
        assert_array_equal(
            DictionaryInpainter(method, n_jobs=2, **given).fit_transform(seen), out
        )
        with sklearn.config_context(working_memory=0.001):
            assert_allclose(model.transform(seen), out, rtol=1e-12)
        single = model.fit_transform(seen.astype(np.float32))
        assert single.dtype == np.float32
        assert error(single, whole) < 1.1 * error(out, whole) + 0.1


@pytest.mark.invariance
def test_contract_of_an_estimator(seed):
    _, seen = picture(seed)
    given = {"n_components": 64, "max_iter": 2, "n_rounds": 2, "random_state": seed}
    model = DictionaryInpainter(**given)
    before = seen.copy()
    out = model.fit_transform(seen)
    assert_array_equal(seen, before)
    assert_array_equal(clone(model).fit_transform(seen), out)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(seen), out)
    assert model.transform(seen[:20, :13]).shape == (20, 13)
    assert model.n_iter_ == 2 == len(model.objective_history_)
    again = DictionaryInpainter(dictionary=model.components_, n_rounds=2, random_state=seed)
    assert_allclose(again.fit(seen).transform(seen), out, rtol=1e-9)


@pytest.mark.edge
def test_edge_cases(seed):
    whole, seen = picture(seed)
    model = DictionaryInpainter(n_components=64, max_iter=2, n_rounds=2, random_state=seed)
    assert_array_equal(model.fit_transform(whole), whole)  # no pixel is missing

    for method in ("em", "masked"):
        model.set_params(algorithm=method)
        flat = np.full((9, 12), 7.0)
        flat[2:5, 3] = np.nan
        assert_allclose(model.fit_transform(flat), 7)

        one = np.full((30, 31), np.nan)  # a single pixel is known
        one[3, 4] = 5.0
        assert_allclose(model.fit_transform(one), 5)

        hole = seen.copy()
        hole[8:32, 8:32] = np.nan  # patches inside the hole have no known pixel
        out = model.fit_transform(hole)
        assert np.isfinite(out).all()
        assert whole.min() - 60 < out.min()
        assert out.max() < whole.max() + 60

        point = np.where(np.arange(3) == 1, np.nan, 2.0)[:, None]
        assert_allclose(model.fit_transform(point), 2)
        color = np.stack([whole, whole, whole], axis=2)
        color[::2, 1::2, 1] = np.nan  # some pixels lack only one channel
        assert np.abs(model.fit_transform(color) - whole[:, :, None]).max() < 40

    with pytest.raises(ValueError, match="no pixel of X is known"):
        model.fit(np.full((5, 5), np.nan))
    color[:, :, 2] = np.nan
    with pytest.raises(ValueError, match="no pixel of channel 2 of X is known"):
        model.fit(color)
    with pytest.raises(ValueError, match="accepts one image of shape"):
        model.fit(seen[0])
    with pytest.raises(ValueError, match="dictionary has atoms of 5 numbers"):
        DictionaryInpainter(dictionary=np.ones((3, 5))).fit(seen)


@pytest.mark.invariance
@pytest.mark.parametrize("method", ["em", "masked"])
def test_units_of_grey_do_not_matter(method, seed):
    whole, seen = picture(seed, (24, 26))
    given = {"patch_size": 4, "n_components": 32, "max_iter": 2, "n_rounds": 3}
    model = DictionaryInpainter(method, **given, random_state=seed).fit(seen)
    for power in (-150, 150):
        unit = 2.0**power
        other = DictionaryInpainter(method, **given, random_state=seed).fit(seen * unit)
        assert_allclose(other.components_, model.components_, atol=1e-9)
        assert_allclose(other.transform(seen * unit) / unit, model.transform(seen), rtol=1e-9)
        assert other.noise_std_ == model.noise_std_ * unit
        assert np.isfinite(other.objective_history_).all()
        score = other.score(seen * unit, whole * unit)
        assert_allclose(score, model.score(seen, whole), rtol=1e-9)
    with pytest.raises(ValueError, match=r"fourth powers over- or underflow: rescale it"):
        DictionaryInpainter(method, **given).fit(seen * 1e60)
