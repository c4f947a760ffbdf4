"""Low rank plus sparse: random matrices and image sequences with known components."""

from numbers import Integral, Real

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from sklearn.utils import Bunch, check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
    validate_params,
)
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata.datasets._base import checked_image_shape

# Maximum amplitude of each of the two light components; with this value, no pixel of the
# background becomes dark.
_FADE = 0.45


@validate_params(
    {
        "n_samples": [AT_LEAST_ONE],
        "n_features": [AT_LEAST_ONE],
        "rank": [Interval(Integral, 0, None, closed="left")],
        "outlier_fraction": [Interval(Real, 0, 1, closed="both")],
        "errors": [StrOptions({"random", "coherent", "positive", "uniform"})],
        "magnitude": [POSITIVE],
        "noise": [NON_NEGATIVE],
        "missing": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_low_rank_plus_sparse(
    n_samples=100,
    n_features=80,
    *,
    rank=4,
    outlier_fraction=0.05,
    errors="random",
    magnitude=5.0,
    noise=0.0,
    missing=0.0,
    random_state=None,
):
    r"""Generate a matrix of low rank with gross errors in some of its cells.

    .. math:: X = A B^\top / \sqrt{\mathrm{rank}} + S + \mathrm{noise} \cdot E

    with standard normal `A` (n_samples x rank), `B` (n_features x rank) and `E`, so that the cells
    of the low-rank part have variance one. The errors `S` are in randomly drawn cells. Up to a
    factor, principal component pursuit was published on these problems [1]_; there the errors are
    larger than the cells of the low-rank part by
    ``magnitude = (n_samples * n_features / rank) ** 0.5``.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=80
        Number of columns.
    rank : int, default=4
        Rank of the first part, attained if there are at least as many rows and columns.
    outlier_fraction : float, default=0.05
        Fraction of the known cells with an error. Their number is exact, not random.
    errors : {"random", "coherent", "positive", "uniform"}, default="random"
        Errors are ``+magnitude`` or ``-magnitude`` with a random sign, with the sign of the
        low-rank part, or always positive; or they are uniform between the two.
    magnitude : float, default=5.0
        Size of the errors, in standard deviations of the low-rank part.
    noise : float, default=0.0
        Standard deviation of the noise of every cell.
    missing : float, default=0.0
        Fraction of the cells that are missing. Their number is exact, not random.
    random_state : int, RandomState instance or None, default=None
        Controls all random draws. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The sum, with NaN in missing cells.
    low_rank : ndarray of shape (n_samples, n_features)
        First part, without missing cells.
    sparse : ndarray of shape (n_samples, n_features)
        Errors, zero in missing cells.

    See Also
    --------
    make_ratings : Tables with most cells missing and no gross errors.
    sklearn.datasets.make_low_rank_matrix : Bell-shaped spectrum, no gross errors.

    References
    ----------
    .. [1] Candes, Li, Ma and Wright, Robust principal component analysis?, Journal of the ACM
       58(3), 2011, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_low_rank_plus_sparse
    >>> X, low_rank, sparse = make_low_rank_plus_sparse(
    ...     30, 20, rank=2, outlier_fraction=0.1, random_state=0
    ... )
    >>> np.linalg.matrix_rank(X), np.linalg.matrix_rank(low_rank)
    (np.int64(20), np.int64(2))
    >>> np.unique(sparse, return_counts=True)
    (array([-5.,  0.,  5.]), array([ 33, 540,  27]))
    """
    rng = check_random_state(random_state)
    shape = (n_samples, n_features)

    scores = rng.standard_normal((n_samples, rank))
    components = rng.standard_normal((rank, n_features))
    low_rank = scores @ components / np.sqrt(max(rank, 1))

    size = n_samples * n_features
    # Choose the wrong cells among the observed cells
    n_missing = round(missing * size)
    cells = rng.permutation(size)
    observed = cells[n_missing:]
    n_wrong = round(outlier_fraction * observed.size)
    wrong = observed[:n_wrong]

    sparse = np.zeros(size)
    if errors == "random":
        signs = rng.choice([-1.0, 1.0], size=wrong.size)
    elif errors == "coherent":
        signs = np.sign(low_rank.ravel()[wrong])
    elif errors == "positive":
        signs = np.ones(wrong.size)
    else:
        signs = rng.uniform(-1, 1, size=wrong.size)

    sparse[wrong] = magnitude * signs
    sparse = sparse.reshape(shape)

    X = low_rank + sparse
    if noise > 0:
        X += noise * rng.standard_normal(shape)
    X.ravel()[cells[:n_missing]] = np.nan

    return X, low_rank, sparse


@validate_params(
    {
        "n_frames": [AT_LEAST_ONE],
        "image_shape": [tuple, list],
        "n_objects": [Interval(Integral, 0, None, closed="left")],
        "object_size": [AT_LEAST_ONE],
        "speed": [POSITIVE],
        "contrast": [NON_NEGATIVE],
        "illumination": [Interval(Real, 0, _FADE, closed="both")],
        "noise": [NON_NEGATIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_video(
    n_frames=200,
    *,
    image_shape=(32, 40),
    n_objects=3,
    object_size=6,
    speed=1.0,
    contrast=0.5,
    illumination=0.2,
    noise=0.0,
    random_state=None,
):
    """Generate the film of a fixed camera: a background under changing light, and passers-by.

    The background is an image of values between 0.25 and 0.75. Its brightness changes slowly,
    and the light moves from side to side: frames of the background are combinations of two
    images, a matrix of rank two. Objects are ellipses of one brightness. Each crosses the
    image in its own lane, from left to right or from right to left, leaves it and comes back; it
    hides what is behind it. The change that it makes to the background is sparse in every frame.

    Parameters
    ----------
    n_frames : int, default=200
        Number of images.
    image_shape : tuple of int, default=(32, 40)
        Height and width of the images.
    n_objects : int, default=3
        Number of objects.
    object_size : int, default=6
        Width of the objects in pixels; their height is two thirds of the width.
    speed : float, default=1.0
        Mean speed in pixels per frame; objects move with 0.6 to 1.4 times the mean speed.
    contrast : float, default=0.5
        Difference in brightness between an object and the mean of the background in its lane.
    illumination : float, default=0.2
        Standard deviation over time of the brightness of the background, relative to its mean,
        from 0 to 0.45; the difference between left and right varies half as much. With 0 the
        background does not change and has rank one.
    noise : float, default=0.0
        Standard deviation of independent noise on every pixel.
    random_state : int, RandomState instance or None, default=None
        Controls all random draws. Pass an int for reproducible results.

    Returns
    -------
    video : :class:`~sklearn.utils.Bunch`
        With the entries

        - ``data``, of shape (n_frames, height * width): images in rows;
        - ``background``, of the same shape and of rank at most two;
        - ``foreground``, of the same shape: zero where there is no object;
          ``background + foreground`` is the film without noise;
        - ``mask``, bool, of the same shape: where the objects are;
        - ``image_shape``: (height, width).

    See Also
    --------
    make_moving_object : Films of an object with known position and identity.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_video
    >>> video = make_video(random_state=0)
    >>> video.data.shape, int(np.linalg.matrix_rank(video.background))
    ((200, 1280), 2)
    >>> round(float(video.mask.mean()), 2)   # fraction of the pixels that objects cover
    0.04
    """
    height, width = shape = checked_image_shape(image_shape)
    rng = check_random_state(random_state)

    scene = _texture(rng, shape)
    across = np.zeros(1)
    if width > 1:
        across = np.linspace(-1, 1, width)
    strength = np.array([1.0, 0.5])
    light = _slow(rng, n_frames, 2) * illumination * strength
    # The first column lights the whole image; the second brightens the right side and dims the
    # left
    light = np.clip(light, -_FADE, _FADE)
    images = np.stack([scene, scene * across])
    coefficients = np.column_stack([1 + light[:, 0], light[:, 1]])
    background = coefficients @ images.reshape(2, -1)

    film = background.copy()
    mask = np.zeros(background.shape, dtype=bool)
    # Move ellipses across the scene, each on its own lane
    rows, columns = np.indices(shape).reshape(2, -1)
    half_height = max(object_size / 3, 0.5)
    half_width = object_size / 2
    lane_width = width + 2 * half_width  # objects leave the image at both ends

    for _ in range(n_objects):
        lane = rng.uniform(0, height - 1)
        direction = rng.choice([-1.0, 1.0])
        pace = speed * rng.uniform(0.6, 1.4)
        start = rng.uniform(0, lane_width)
        position = start + direction * pace * np.arange(n_frames)
        position = np.mod(position, lane_width) - half_width - 0.5

        # Choose a grey value that differs from the surrounding pixels
        distance = np.abs(np.arange(height) - lane)
        near = scene[distance <= max(half_height, 0.5)]
        value = near.mean() + contrast * rng.choice([-1.0, 1.0])

        down = (rows - lane) / half_height
        right = (columns - position[:, None]) / half_width
        inside = down**2 + right**2 <= 1
        film[inside] = value
        mask |= inside

    foreground = film - background
    data = film
    if noise > 0:
        data = film + noise * rng.standard_normal(film.shape)
    return Bunch(
        data=data, background=background, foreground=foreground, mask=mask, image_shape=shape
    )


def _texture(rng, shape):
    """Return smooth hills with some grain, scaled to [0.25, 0.75]."""
    width = max(1.0, min(shape) / 8)
    hills = gaussian_filter(rng.standard_normal(shape), width)
    grain = gaussian_filter(rng.standard_normal(shape), 0.7)
    hills = hills / max(hills.std(), SMALLEST_DIVISOR)
    image = hills + 0.4 * grain / max(grain.std(), SMALLEST_DIVISOR)

    spread = np.ptp(image)
    if not spread > 0:
        return np.full(shape, 0.5)
    return 0.25 + 0.5 * (image - image.min()) / spread


def _slow(rng, n_frames, k):
    """Return smooth curves with expected variance one, one per column."""
    width = max(1.0, n_frames / 12)
    padding = int(4 * width)
    noise = rng.standard_normal((n_frames + 2 * padding, k))
    curves = gaussian_filter1d(noise, width, axis=0)
    inner = curves[padding : padding + n_frames]
    # Undo the effect of the smoothing, which divides the variance by 2 sqrt(pi) width
    return inner * np.sqrt(2 * width * np.sqrt(np.pi))
