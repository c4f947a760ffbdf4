"""The same events in another order, at varying speed: few examples, of unequal length."""

from types import SimpleNamespace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from benchmarks.compare.home import Case, Home
from skmoderndata.neighbors import DTWNeighborsClassifier

N_KINDS = 10
N_EVENTS = 5


def make(seed, noise=0.2, n_each=5, warp=1.0):
    """Each kind has the same events in another order; each example has a speed that varies."""
    rng = np.random.default_rng(seed)
    events = gaussian_filter1d(rng.normal(size=(N_EVENTS, 40)), 6, axis=1) * np.hanning(40)
    events /= events.std()
    curves = [events[rng.permutation(N_EVENTS)].ravel() for _ in range(N_KINDS)]
    y = np.repeat(np.arange(N_KINDS), n_each)
    y_new = np.repeat(np.arange(N_KINDS), 20)
    given = SimpleNamespace(
        X=[example(curves[kind], noise, warp, rng) for kind in y],
        y=y,
        X_new=[example(curves[kind], noise, warp, rng) for kind in y_new],
        warp=warp,
    )
    about = (
        f"{N_KINDS} orders of five events, 40 to 80 points, {n_each} examples each; 200 unseen"
    )
    return Case(given=given, truth=y_new, about=about)


def example(curve, noise, warp, rng):
    """The curve at varying speed, with noise."""
    length = rng.integers(40, 81)
    speed = np.exp(warp * gaussian_filter1d(rng.normal(size=length), 6, mode="wrap") * 4)
    at = (speed.cumsum() - speed[0]) / (speed.sum() - speed[0]) * (len(curve) - 1)
    return np.interp(at, np.arange(len(curve)), curve) + noise * rng.normal(size=length)


def ours(given):
    return DTWNeighborsClassifier().fit(given.X, given.y).predict(given.X_new)


def score(case, answer):
    return np.mean(answer == case.truth)


HOME = Home(
    when="series of unequal length show the same course of events at varying speed",
    title="orders of events, five examples of each",
    kind="series",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of unseen series classified right",
    n_rounds=8,
    gain="{ours:.0%} of the unseen series are classified right, {rival:.0%} with {name}.",
    lines="model = DTWNeighborsClassifier().fit(X, y)\nmodel.predict(X_new)",
    levels={"noise": (0.1, 0.6, 1.0), "n_each": (2, 20, 50), "warp": (0.0, 0.5)},
)
