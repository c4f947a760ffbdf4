"""Image sequences of a moving object."""

import numpy as np
from scipy.signal import lfilter
from sklearn.utils import Bunch, check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    validate_params,
)
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata.datasets._base import checked_image_shape

# Heights of the four spots of an object, which sum to zero.
_HEIGHTS = np.array([1.0, 1.0, -1.0, -1.0])


@validate_params(
    {
        "n_sequences": [AT_LEAST_ONE],
        "n_steps": [AT_LEAST_ONE],
        "image_shape": [tuple, list],
        "n_objects": [AT_LEAST_ONE],
        "speed": [POSITIVE],
        "size": [POSITIVE],
        "noise": [NON_NEGATIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_moving_object(
    n_sequences=5,
    n_steps=400,
    *,
    image_shape=(16, 16),
    n_objects=1,
    speed=0.5,
    size=1.5,
    noise=0.02,
    random_state=None,
):
    """Generate image sequences of a small object that moves randomly within the borders.

    An object is a pattern of two bright and two dark round spots, drawn at random around its
    centre. In each sequence one object moves: its velocity changes slowly at random, and its
    centre is reflected at the borders. Every pixel flickers as the object passes, whereas position
    and identity change slowly or not at all: slow feature analysis should recover them. Because
    bright and dark spots cancel, neither the mean brightness nor its centre of gravity reveals the
    position.

    Parameters
    ----------
    n_sequences : int, default=5
        Number of films.

    n_steps : int, default=400
        Number of images in each film.

    image_shape : tuple of int, default=(16, 16)
        Height and width of the images.

    n_objects : int, default=1
        Number of different objects, which take turns.

    speed : float, default=0.5
        Root mean square of each of the two velocities, in pixels per step.

    size : float, default=1.5
        Standard deviation of a spot, in pixels; the spots lie one to two times this distance from
        the centre of the object.

    noise : float, default=0.02
        Standard deviation of independent noise on every pixel; spots have height 1.

    random_state : int, RandomState instance or None, default=None
        Controls objects, paths and noise.

    Returns
    -------
    film : :class:`~sklearn.utils.Bunch`
        With the entries

        - ``data``, of shape (n_sequences * n_steps, height * width): images in rows;
        - ``position``, of shape (n_sequences * n_steps, 2): vertical and horizontal position of
          the centre, from 0 to height - 1 and to width - 1;
        - ``identity`` and ``sequence_ids``, of shape (n_sequences * n_steps,): number of the
          object and of the film;
        - ``image_shape``: (height, width).

    Examples
    --------
    >>> from skmoderndata.datasets import make_moving_object
    >>> film = make_moving_object(n_sequences=2, n_steps=100, random_state=0)
    >>> film.data.shape, film.position.shape
    ((200, 256), (200, 2))
    """
    shape = checked_image_shape(image_shape)

    # Draw objects that consist of four spots of different heights around a centre
    rng = check_random_state(random_state)
    spread = rng.uniform(-0.4, 0.4, size=(n_objects, 4))
    turn = rng.uniform(0, 2 * np.pi, size=(n_objects, 1))
    angle = np.pi / 2 * np.arange(4) + spread
    angle += turn
    radius = size * rng.uniform(1, 2, size=(n_objects, 4))
    offsets = radius[:, :, None] * np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    heights = np.array([rng.permutation(_HEIGHTS) for _ in range(n_objects)])
    border = np.array(shape) - 1.0

    # Draw paths that are reflected at the borders
    start = rng.uniform(size=(n_sequences, 1, 2)) * border
    velocity = _velocity(rng, n_sequences, n_steps)
    path = start + speed * np.cumsum(velocity, axis=1)
    position = _reflect(path, border).reshape(-1, 2)
    ids = np.repeat(np.arange(n_sequences), n_steps)
    identity = ids % n_objects
    centers = position[:, None, :] + offsets[identity]  # (rows, spots, 2)

    # Render images, in which each spot is a Gaussian
    down = _spots(centers[:, :, 0], shape[0], size)
    across = _spots(centers[:, :, 1], shape[1], size)
    films = np.einsum("ts,tsi,tsj->tij", heights[identity], down, across, optimize=True)
    flat = films.reshape(len(ids), -1)
    data = flat + noise * rng.standard_normal(flat.shape)

    return Bunch(
        data=data, position=position, identity=identity, sequence_ids=ids, image_shape=shape
    )


def _spots(centers, n_pixels, size):
    """Return Gaussians along one axis, of shape (rows, spots, n_pixels)."""
    distance_sq = (np.arange(n_pixels) - centers[:, :, None]) ** 2
    return np.exp(-distance_sq / (2 * size**2))


def _velocity(rng, n_sequences, n_steps, memory=0.98):
    """Return autoregressive noise of variance one, of shape (n_sequences, n_steps, 2)."""
    drive = rng.standard_normal((n_sequences, n_steps, 2))
    drive[:, 1:] *= np.sqrt(1 - memory**2)
    recursion = [1.0, -memory]
    return lfilter([1.0], recursion, drive, axis=1)


def _reflect(path, border):
    """Fold the line into [0, border], as if by a mirror at each end."""
    period = np.maximum(2 * border, SMALLEST_DIVISOR)
    folded = np.mod(path, period)
    mirrored = np.minimum(folded, period - folded)
    return np.where(border > 0, mirrored, 0.0)
