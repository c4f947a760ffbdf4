"""Evidence that make_moving_object shows what its truth says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_moving_object


@pytest.mark.recovery
def test_object_is_at_the_true_position(seed):
    """The centre of mass of absolute brightness follows the position, away from the borders."""
    film = make_moving_object(4, 300, image_shape=(40, 30), noise=0.0, random_state=seed)
    shape = film.image_shape
    weight = np.abs(film.data.reshape(-1, *shape))
    weight /= weight.sum(axis=(1, 2), keepdims=True)
    mass = np.column_stack(
        [
            np.einsum("tij,i->t", weight, np.arange(shape[0])),
            np.einsum("tij,j->t", weight, np.arange(shape[1])),
        ]
    )
    inside = np.all((film.position > 8) & (film.position < np.array(shape) - 9), axis=1)
    # the pattern may be off centre, but its shape does not change
    offset = (mass - film.position)[inside]
    assert inside.sum() > 100
    assert_allclose(offset, np.broadcast_to(offset.mean(axis=0), offset.shape), atol=0.05)


@pytest.mark.recovery
def test_speed_and_borders(seed):
    film = make_moving_object(20, 500, speed=0.3, random_state=seed)
    steps = np.diff(film.position, axis=0)[np.diff(film.sequence_ids) == 0]
    assert np.sqrt(np.mean(steps**2)) == pytest.approx(0.3, rel=0.15)
    assert film.position.min() >= 0
    assert film.position.max() <= 15


@pytest.mark.recovery
def test_noise_level(seed):
    clean = make_moving_object(noise=0.0, random_state=seed).data
    noisy = make_moving_object(noise=0.1, random_state=seed).data
    assert (noisy - clean).std() == pytest.approx(0.1, rel=0.02)


@pytest.mark.invariance
def test_random_state_determines_the_data(seed):
    once, again = (make_moving_object(random_state=seed).data for _ in range(2))
    assert_array_equal(once, again)
    assert np.any(once != make_moving_object(random_state=seed + 1).data)


@pytest.mark.edge
def test_objects_take_turns():
    film = make_moving_object(5, 3, n_objects=2, random_state=0)
    assert_array_equal(film.sequence_ids, np.repeat(range(5), 3))
    assert_array_equal(film.identity, np.repeat([0, 1, 0, 1, 0], 3))


@pytest.mark.edge
def test_small_images():
    film = make_moving_object(1, 5, image_shape=(1, 4), random_state=0)
    assert film.data.shape == (5, 4)
    assert_array_equal(film.position[:, 0], 0)
    assert np.isfinite(film.data).all()


@pytest.mark.edge
def test_raises_on_invalid_parameters():
    with pytest.raises(ValueError, match="image_shape must be two positive integers"):
        make_moving_object(image_shape=(4, 4, 3))
    with pytest.raises(ValueError, match="The 'speed' parameter"):
        make_moving_object(speed=0)
