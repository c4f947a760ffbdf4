"""The smallest ball around 1,000 patches of a photograph, known to a millionth."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from benchmarks.compare.home import Case, Home
from skmoderndata.svm import MinimumEnclosingBall


def make(seed, n=1000, side=8):
    """Patches at random places of the temple, in colour."""
    image = load_sample_image("china.jpg") / 255
    X = extract_patches_2d(image, (side, side), max_patches=n, random_state=seed)
    X = X.reshape(n, -1)
    exact = MinimumEnclosingBall(tol=1e-9).fit(X).radius_  # the gap certifies this radius
    about = f"{n:,} patches of {side} x {side} pixels of a photograph, three colours each"
    return Case(inputs=SimpleNamespace(X=X), truth=exact, about=about)


def ours(inputs):
    return MinimumEnclosingBall().fit(inputs.X).center_


def score(case, center):
    """Excess of the radius in units of a ten thousandth."""
    radius = np.sqrt(((case.inputs.X - center) ** 2).sum(axis=1).max())
    return 1e4 * max(radius / case.truth - 1, 0)


HOME = Home(
    when="you need the smallest ball that contains all points, or nearly the smallest",
    title="smallest ball around patches of a photograph",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="excess of the radius, in hundredths of a per cent",
    smaller=True,
    by_time=True,
    n_rounds=8,
    gain="Finds the smallest ball in {our_seconds:.3f} s; {name} takes {times:.1f} times as "
    "long.",
    lines="ball = MinimumEnclosingBall().fit(X)\nball.center_, ball.radius_, ball.dual_gap_",
    levels={"n": (300, 10_000)},
)
