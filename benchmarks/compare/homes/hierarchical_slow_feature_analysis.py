"""A small window walks over two photographs: features of it that vary slowly on new walks."""

from types import SimpleNamespace

import numpy as np
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_sample_images

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import HierarchicalSlowFeatureAnalysis

WINDOW = 16
SHRINK = 3


def make(seed, n_walks=60, speed=1.5):
    """Walks of 100 frames at smooth speed; frames of new walks come in random order."""
    rng = np.random.default_rng(seed)
    photographs = [
        image.mean(axis=2)[::SHRINK, ::SHRINK] / 255 for image in load_sample_images().images
    ]
    walks = [walk(photographs[i % 2], speed, rng) for i in range(n_walks + 30)]
    new = np.vstack(walks[n_walks:])
    order = rng.permutation(len(new))
    inputs = SimpleNamespace(
        X=np.vstack(walks[:n_walks]), ids=np.repeat(np.arange(n_walks), 100), X_new=new[order]
    )
    about = f"{n_walks} walks of 100 frames, {WINDOW} x {WINDOW} pixels; 30 new walks"
    return Case(inputs=inputs, truth=np.argsort(order), about=about)


def walk(photograph, speed, rng, n_frames=100):
    """Windows along a smooth path that is reflected at the border."""
    last = np.array(photograph.shape) - WINDOW
    place = rng.uniform(0, last)
    velocity = speed * rng.normal(size=2)
    inside = np.mgrid[:WINDOW, :WINDOW].reshape(2, -1)
    frames = []
    for _ in range(n_frames):
        velocity = 0.95 * velocity + speed * np.sqrt(1 - 0.95**2) * rng.normal(size=2)
        place = place + velocity
        velocity = np.where((place < 0) | (place > last), -velocity, velocity)
        place = last - np.abs(last - np.abs(place))
        frames.append(map_coordinates(photograph, place[:, None] + inside, order=1))
    return np.array(frames)


def ours(inputs):
    model = HierarchicalSlowFeatureAnalysis(5, image_shape=(16, 16), n_pre=16)
    return model.fit(inputs.X, sequence_ids=inputs.ids).transform(inputs.X_new)


def score(case, features):
    """Mean squared step of five features of unit variance."""
    walks = features[case.truth].reshape(-1, 100, 5)
    return np.mean(np.diff(walks, axis=1) ** 2 / features.var(axis=0))


HOME = Home(
    when="you have long films and want the features in them that change slowly, without "
    "labels",
    title="a window that moves over photographs",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="mean squared step of five features of unit variance, on new walks",
    smaller=True,
    by_time=True,
    margin=0.002,
    n_rounds=3,
    first_seed=200,
    gain="Finds five features with a squared step of {ours:.3f} of their variance in "
    "{our_seconds:.1f} s; {name} reaches {rival:.3f} in {rival_seconds:.1f} s.",
    lines="model = HierarchicalSlowFeatureAnalysis(5, image_shape=(16, 16), n_pre=16)\n"
    "model.fit(X, sequence_ids=ids).transform(X_new)",
    full_only=True,
)
