"""Groups of series with the same events in another order, at varying speed."""

from types import SimpleNamespace

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.metrics import adjusted_rand_score

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import TimeSeriesKMeans

N_KINDS = 4
N_EVENTS = 4


def make(seed, noise=0.2, n=40, warp=1.0):
    """Each group has the same events in another order; each series has a varying speed."""
    rng = np.random.default_rng(seed)
    events = gaussian_filter1d(rng.normal(size=(N_EVENTS, 40)), 6, axis=1) * np.hanning(40)
    events /= events.std()
    curves = [
        events[np.roll(rng.permutation(N_EVENTS), kind)].ravel() for kind in range(N_KINDS)
    ]
    y = rng.permutation(np.arange(n) % N_KINDS)
    X = [run(curves[kind], noise, warp, rng) for kind in y]
    about = f"{n} series of 30 to 60 points in {N_KINDS} groups, noise of {noise:g} deviations"
    return Case(given=SimpleNamespace(X=X, n_clusters=N_KINDS), truth=y, about=about)


def run(curve, noise, warp, rng):
    """The curve at varying speed, with noise."""
    length = rng.integers(30, 61)
    speed = np.exp(4 * warp * gaussian_filter1d(rng.normal(size=length), 6, mode="wrap"))
    at = (speed.cumsum() - speed[0]) / (speed.sum() - speed[0]) * (len(curve) - 1)
    return np.interp(at, np.arange(len(curve)), curve) + noise * rng.normal(size=length)


def ours(given):
    model = TimeSeriesKMeans(given.n_clusters, n_init=10, random_state=0)
    return model.fit_predict(given.X)


def score(case, answer):
    return adjusted_rand_score(case.truth, answer)


HOME = Home(
    when="series of unequal length fall into groups of one shape at varying speed",
    title="groups of series at varying speed",
    kind="series",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="adjusted Rand index of the groups",
    n_rounds=10,
    gain="The groups agree with the true ones to {ours:.0%}, to {rival:.0%} with {name}.",
    lines="TimeSeriesKMeans(4, n_init=10, random_state=0).fit_predict(X)",
    levels={"noise": (0.1, 0.5, 1.0), "n": (20, 100), "warp": (0.0, 0.5)},
)
