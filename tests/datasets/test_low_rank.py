"""Evidence that make_low_rank_plus_sparse and make_video generate the parts they return."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_low_rank_plus_sparse, make_video


@pytest.mark.oracle
def test_parts_add_up_cell_by_cell(seed):
    X, low_rank, sparse = make_low_rank_plus_sparse(30, 20, missing=0.2, random_state=seed)
    for i, row in enumerate(X):
        for j, x in enumerate(row):
            if np.isnan(x):
                assert sparse[i, j] == 0
            else:
                assert x == low_rank[i, j] + sparse[i, j]


@pytest.mark.recovery
def test_rank_and_counts_are_exact(seed):
    X, low_rank, sparse = make_low_rank_plus_sparse(
        50, 40, rank=3, outlier_fraction=0.1, missing=0.25, random_state=seed
    )
    assert np.linalg.matrix_rank(low_rank) == 3
    assert np.isnan(X).sum() == 500
    assert np.count_nonzero(sparse) == 150
    assert np.isfinite(low_rank).all()


@pytest.mark.recovery
def test_errors_are_of_the_requested_kind(seed):
    def parts(errors):
        _, low_rank, sparse = make_low_rank_plus_sparse(
            200, 100, outlier_fraction=0.2, errors=errors, magnitude=3.0, random_state=seed
        )
        return low_rank[sparse != 0], sparse[sparse != 0]

    truth, wrong = parts("random")
    assert_array_equal(np.abs(wrong), 3)
    assert abs(wrong.mean()) < 5 * 3 / np.sqrt(4000)  # allow five standard errors
    assert abs(np.mean(np.sign(truth) * np.sign(wrong))) < 5 / np.sqrt(4000)
    truth, wrong = parts("coherent")
    assert_array_equal(wrong, 3 * np.sign(truth))
    assert_array_equal(parts("positive")[1], 3)
    wrong = parts("uniform")[1]
    assert np.abs(wrong).max() <= 3
    assert wrong.std() == pytest.approx(
        np.sqrt(3), rel=0.05
    )  # the expected value is 3 / sqrt(3); allow four standard errors


@pytest.mark.recovery
def test_scale_of_cells_and_of_noise(seed):
    clean, low_rank, sparse = make_low_rank_plus_sparse(400, 300, rank=20, random_state=seed)
    noisy = make_low_rank_plus_sparse(400, 300, rank=20, noise=0.3, random_state=seed)[0]
    # low_rank is a sum of few products: its mean square has a standard error of about 2 %
    assert low_rank.std() == pytest.approx(1, rel=0.1)
    assert (noisy - clean).std() == pytest.approx(0.3, rel=0.02)
    assert_array_equal(clean, low_rank + sparse)


@pytest.mark.paper
def test_published_set_up_up_to_a_factor():
    """Candes et al. (2011), section 4.1: factors of variance 1/n, errors of size one."""
    n = 200
    rank = 10
    _, low_rank, sparse = make_low_rank_plus_sparse(
        n, n, rank=rank, magnitude=n / np.sqrt(rank), random_state=0
    )
    assert np.count_nonzero(sparse) == 0.05 * n * n
    unit = np.abs(sparse).max()
    # singular values of a product of two n x r matrices of variance 1/n are near one
    sigma = np.linalg.svd(low_rank / unit, compute_uv=False)[:rank]
    assert_allclose(sigma, 1.0, atol=0.5)


@pytest.mark.recovery
def test_video_parts(seed):
    video = make_video(n_objects=4, random_state=seed)
    assert_allclose(video.background + video.foreground, video.data, rtol=0, atol=1e-14)
    assert_array_equal(video.foreground != 0, video.mask)
    sigma = np.linalg.svd(video.background, compute_uv=False)
    assert sigma[1] > 1e-3 * sigma[0]
    assert sigma[2] < 1e-12 * sigma[0]
    assert (video.background > 0).all()
    # grey values lie between 0.25 and 0.75 in mean light
    still = make_video(n_objects=0, illumination=0.0, random_state=seed)
    assert_allclose([still.data.min(), still.data.max()], [0.25, 0.75], rtol=0, atol=1e-12)
    assert_array_equal(still.data, np.broadcast_to(still.data[0], still.data.shape))


@pytest.mark.recovery
def test_light_changes_slowly_by_the_requested_amount():
    bright = [
        make_video(n_objects=0, illumination=0.1, random_state=k).data.mean(axis=1)
        for k in range(100)
    ]
    still = [make_video(1, n_objects=0, illumination=0.0, random_state=k) for k in range(100)]
    # expect 1 + 0.1 * N(0, 1) plus a small part of the second image; a film has about five
    # independent values
    relative = np.array(bright) / np.array([film.data.mean() for film in still])[:, None]
    assert relative.std() == pytest.approx(0.1, rel=0.2)
    assert np.abs(np.diff(relative)).max() < 0.03


@pytest.mark.recovery
def test_objects_cross_the_image_at_the_requested_speed(seed):
    video = make_video(
        250, image_shape=(20, 60), n_objects=1, speed=0.5, illumination=0.0, random_state=seed
    )
    columns = video.mask.reshape(250, 20, 60).any(axis=1)
    inside = columns.any(axis=1) & ~columns[:, 0] & ~columns[:, -1]
    centre = columns @ np.arange(60) / np.maximum(columns.sum(axis=1), 1)
    steps = np.diff(centre)[inside[1:] & inside[:-1]]
    pace = abs(steps.mean())
    assert 0.6 * 0.5 - 0.05 <= pace <= 1.4 * 0.5 + 0.05  # centres are accurate to half a pixel
    assert len(set(np.sign(steps[steps != 0]))) == 1
    assert columns.any(axis=0).all()
    # each pixel is covered only for a short time
    assert video.mask.mean(axis=0).max() < 0.25


@pytest.mark.recovery
def test_contrast_and_noise_of_the_video(seed):
    video = make_video(n_objects=1, contrast=0.8, illumination=0.0, random_state=seed)
    # compare the brightness of the object with the mean of its lane; single pixels differ from it
    # by at most 0.5
    assert 0.3 <= np.abs(video.foreground[video.mask]).min()
    assert len(np.unique(video.data[video.mask])) == 1
    noisy = make_video(n_objects=1, noise=0.1, random_state=seed).data
    assert (noisy - make_video(n_objects=1, random_state=seed).data).std() == pytest.approx(
        0.1, rel=0.02
    )


@pytest.mark.invariance
def test_random_state_determines_the_data(seed):
    for make in (make_low_rank_plus_sparse, make_video):
        once, again, other = (make(random_state=k) for k in (seed, seed, seed + 1))
        if make is make_video:
            once = [once.data]
            again = [again.data]
            other = [other.data]
        for a, b, c in zip(once, again, other, strict=True):
            assert_array_equal(a, b)
            assert np.any(a != c)


@pytest.mark.invariance
def test_noise_does_not_change_the_parts():
    clean = make_low_rank_plus_sparse(random_state=3)
    noisy = make_low_rank_plus_sparse(noise=1.0, random_state=3)
    assert_array_equal(clean[1], noisy[1])
    assert_array_equal(clean[2], noisy[2])
    clean = make_video(random_state=3)
    noisy = make_video(noise=1.0, random_state=3)
    assert_array_equal(clean.background, noisy.background)
    assert_array_equal(clean.foreground, noisy.foreground)


@pytest.mark.edge
def test_border_cases():
    X, low_rank, sparse = make_low_rank_plus_sparse(1, 1, rank=0, outlier_fraction=0)
    assert X == low_rank == sparse == 0
    X, low_rank, _ = make_low_rank_plus_sparse(4, 3, rank=9, random_state=0)
    assert np.linalg.matrix_rank(low_rank) == 3
    sparse = make_low_rank_plus_sparse(5, 4, outlier_fraction=1.0, random_state=0)[2]
    assert sparse.all()
    X = make_low_rank_plus_sparse(5, 4, missing=0.99, random_state=0)[0]
    assert np.isnan(X).all()
    for shape in ((1, 1), (1, 9), (9, 1)):
        video = make_video(1, image_shape=shape, object_size=1, random_state=0)
        assert video.data.shape == (1, shape[0] * shape[1])
        assert np.isfinite(video.data).all()
    video = make_video(10, n_objects=0, random_state=0)
    assert not video.mask.any()
    assert_array_equal(video.data, video.background)
    video = make_video(30, illumination=0.45, random_state=0)
    assert (video.background > 0).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rank", -1),
        ("outlier_fraction", 1.5),
        ("errors", "gauss"),
        ("magnitude", 0.0),
        ("missing", 1.0),
        ("noise", -1.0),
    ],
)
def test_raises_on_invalid_parameters(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        make_low_rank_plus_sparse(**{name: value})


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("image_shape", (4, 4, 3), "image_shape must be two positive integers"),
        ("image_shape", (4, 0), "image_shape must be two positive integers"),
        ("speed", 0, "The 'speed' parameter"),
        ("illumination", 0.5, "The 'illumination' parameter"),
    ],
)
def test_raises_on_invalid_parameters_of_videos(name, value, message):
    with pytest.raises(ValueError, match=message):
        make_video(**{name: value})
