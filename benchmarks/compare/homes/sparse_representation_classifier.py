"""Digits of which a part is covered, in an unknown place."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.compare.home import Case, Home
from skmoderndata.sparse_coding import SparseRepresentationClassifier


def _covered(images, side, rng):
    """A square of random grey values on each image."""
    images = images.reshape(-1, 8, 8).copy()
    for image in images:
        top, left = rng.integers(9 - side, size=2)
        image[top : top + side, left : left + side] = rng.uniform(0, 16, (side, side))
    return images.reshape(len(images), -1)


def make(seed, side=4, n=600):
    """Whole digits to learn from; a square covers part of each of the others."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    rows = rng.permutation(len(images))[: n + 200]
    return Case(
        given=SimpleNamespace(
            X=images[rows[:n]],
            y=digits[rows[:n]],
            X_new=_covered(images[rows[n:]], side, rng),
        ),
        truth=digits[rows[n:]],
        about=f"{n} images of digits, 8 x 8 pixels; {side} x {side} pixels of each of 200 new "
        "ones are covered",
    )


def ours(given):
    model = SparseRepresentationClassifier(occlusion=True).fit(given.X, given.y)
    return model.predict(given.X_new)


def score(case, digits):
    return np.mean(digits == case.truth)


HOME = Home(
    when="parts of new samples are covered or corrupted, and nobody knows where",
    title="digits that are partly covered",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="accuracy",
    overlap=1 / 3,
    gain="{ours:.0%} of the covered digits are recognised, {rival:.0%} with {name}.",
    lines="SparseRepresentationClassifier(occlusion=True).fit(X, y).predict(X_new)",
    levels={"side": (0, 2, 3, 5), "n": (200, 1500)},
)
