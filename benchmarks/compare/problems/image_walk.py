"""A small window walks over photographs: do the features show where it is?"""

import numpy as np
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_sample_images
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

WINDOW = 16
# Size of the reduction: 427 x 640 pixels become 71 x 106, so that a walk sees much of the picture.
SHRINK = 6
# Size of the speed, in pixels per frame: root mean square of each coordinate.
SPEED = 1.5
INERTIA = 0.95
MAX_MAPS = 5


def load(quick, full=False):
    n_walks, n_frames = by_plan(quick, full, (30, 40), (60, 50), (100, 50))
    images = _grey_images()
    rng = np.random.default_rng(0)

    windows = []
    places = []
    # the slow features should show the position of a window
    for walk in range(n_walks):
        image = images[walk % len(images)]
        path = _walk(np.array(image.shape) - WINDOW, n_frames, rng)
        windows.append(_windows(image, path))
        places.append(path / (np.array(image.shape) - WINDOW))

    walks = np.repeat(np.arange(n_walks), n_frames)
    about = (
        f"{n_walks} walks of {n_frames} frames over scikit-learn's sample images china.jpg and "
        f"flower.jpg in grey, at a sixth of their size; a frame is a window of {WINDOW} x "
        f"{WINDOW} pixels"
    )

    return Data(
        X=np.vstack(windows),
        y=np.vstack(places),
        groups=walks,
        fit_params={"sequence_ids": walks},
        about=about,
        extra={"images": images},
    )


def pipeline(step):
    # use neighbours, because the position is not a linear function of the pixels
    return Pipeline([(STEP, step), ("locate", KNeighborsRegressor(10))])


def plot(fig, methods, data, test):
    """Value of each feature at every position of the first picture."""
    image = data.extra["images"][0]
    places = np.stack(np.mgrid[: image.shape[0] - WINDOW, : image.shape[1] - WINDOW], axis=-1)
    windows = _windows(image, places.reshape(-1, 2).astype(float))
    maps = {
        name: fitted.named_steps[STEP].transform(windows)[:, :MAX_MAPS].T
        for name, fitted in methods.items()
    }
    n_columns = 1 + max(map(len, maps.values()))
    for part, (name, features) in zip(fig.subfigures(len(maps), 1), maps.items(), strict=True):
        part.suptitle(name, fontsize=10)
        axes = part.subplots(1, n_columns)
        for ax in axes:
            ax.set_axis_off()
        axes[0].imshow(image, cmap="gray")
        axes[0].set_title("photograph")
        for number, (ax, feature) in enumerate(zip(axes[1:], features, strict=False), start=1):
            low, high = np.percentile(feature, (2, 98))
            ax.imshow(feature.reshape(places.shape[:2]), cmap="RdBu_r", vmin=low, vmax=high)
            ax.set_title(f"feature {number}")


def whole_walks(n_splits, random_state):
    return GroupKFold(n_splits, shuffle=True, random_state=random_state)


def _grey_images():
    images = []
    for image in load_sample_images().images:
        grey = image.mean(axis=2) / 255
        h, w = (size // SHRINK for size in grey.shape)
        blocks = grey[: h * SHRINK, : w * SHRINK].reshape(h, SHRINK, w, SHRINK)
        images.append(blocks.mean(axis=(1, 3)))
    return images


def _walk(last, n_frames, rng):
    """Smooth path inside [0, last], reflected at the border."""
    place = rng.uniform(0, last)
    velocity = SPEED * rng.normal(size=2)
    path = np.empty((n_frames, 2))
    for frame in range(n_frames):
        push = SPEED * np.sqrt(1 - INERTIA**2) * rng.normal(size=2)
        velocity = INERTIA * velocity + push
        place = place + velocity
        velocity = np.where((place < 0) | (place > last), -velocity, velocity)
        place = last - np.abs(last - np.abs(place))
        path[frame] = place
    return path


def _windows(image, corners):
    """Flattened windows whose upper left corners lie at `corners`, between pixels too."""
    inside = np.arange(WINDOW)
    y = corners[:, 0, None, None] + inside[:, None]
    x = corners[:, 1, None, None] + inside
    at = np.stack(np.broadcast_arrays(y, x))
    return map_coordinates(image, at, order=1, mode="nearest").reshape(len(corners), -1)


PROBLEM = Problem(
    title="image walk",
    description="A window moves smoothly over two photographs. Its frames are reduced to a few "
    "features, and the ten nearest neighbours predict the place of the window on unseen walks. "
    "The picture shows the first features at every place of one photograph.",
    score_name="R2 of place",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
    plot_size=(10.5, 3.4),
    splitter=whole_walks,
)
