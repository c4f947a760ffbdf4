"""The smallest ball around 10,000 points in 300 columns: its radius is known to a millionth."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.svm import MinimumEnclosingBall


def make(seed, n=10_000, p=300):
    """Normal columns of unequal spread, a few far points."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.geomspace(1, 0.3, p)
    X[: n // 1000] *= rng.uniform(1, 1.5, size=(n // 1000, 1))
    X = rng.permutation(X) + rng.normal(size=p)
    exact = MinimumEnclosingBall(tol=1e-9).fit(X).radius_  # certified by its gap
    return Case(given=SimpleNamespace(X=X), truth=exact, about=f"{n} rows, {p} columns")


def ours(given):
    return MinimumEnclosingBall().fit(given.X).center_


def score(case, center):
    """Excess of the radius in units of a ten thousandth."""
    radius = np.sqrt(((case.given.X - center) ** 2).sum(axis=1).max())
    return 1e4 * max(radius / case.truth - 1, 0)


HOME = Home(
    when="all points have to lie in a ball as small as possible, or nearly in one",
    title="smallest ball around many points",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="excess of the radius, in hundredths of a per cent",
    smaller=True,
    by_time=True,
    gain="The smallest ball takes {our_seconds:.2f} s; {name}, as exact, takes "
    "{rival_seconds:.2f} s.",
    lines="ball = MinimumEnclosingBall().fit(X)\nball.center_, ball.radius_, ball.dual_gap_",
    levels={"n": (1000, 100_000), "p": (10, 50, 100)},
)
