"""Sensors that see the square of a vibration on top of a cause that changes more slowly."""

from types import SimpleNamespace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import SlowFeatureAnalysis

N_SENSORS = 20
# Standard deviation, in rows, of the filter that smooths each cause; the first cause is the slow
# one.
WIDTHS = (24, *np.linspace(8, 1, N_SENSORS - 1))
# Number of rows in a step; noise hides slow changes in steps of one row.
LAG = 10


def make(seed, noise=0.05, n=200_000):
    """The slow cause adds to the square of a vibration, and 18 other causes hide both."""
    rng = np.random.default_rng(seed)
    causes = np.column_stack(
        [gaussian_filter1d(rng.normal(size=n), width, mode="wrap") for width in WIDTHS]
    )
    causes /= causes.std(axis=0)
    slow = causes[:, 0].copy()
    causes[:, 0] += causes[:, -1] ** 2

    # each sensor sees all causes, plus independent noise
    mixing = np.linalg.qr(rng.normal(size=(N_SENSORS, N_SENSORS)))[0]
    X = causes @ mixing
    X += noise * X.std(axis=0) * rng.normal(size=X.shape)
    about = f"{n:,} rows of {N_SENSORS} sensors, noise of {noise:g} standard deviations"
    return Case(inputs=SimpleNamespace(X=X, lag=LAG), truth=slow, about=about)


def ours(inputs):
    return SlowFeatureAnalysis(1, degree=2, lag=inputs.lag).fit_transform(inputs.X)


def score(case, answer):
    return abs(np.corrcoef(np.ravel(answer), case.truth)[0, 1])


HOME = Home(
    when="many rows of fast sensor readings hide a slowly changing cause",
    title="a slow cause under the square of a vibration",
    kind="series",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="correlation with the slow cause",
    by_time=True,
    margin=0.002,
    gain="Finds the slow cause with a correlation of {ours:.2f}; {name} is just as accurate "
    "but takes {times:.1f} times as long.",
    lines="slow = SlowFeatureAnalysis(1, degree=2, lag=10).fit_transform(X)",
    n_rounds=3,
    first_seed=200,
    levels={"noise": (0.5,), "n": (2000, 20_000, 50_000)},
    short={"n": 100_000},
)
