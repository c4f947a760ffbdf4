"""Nearest neighbours of series under dynamic time warping."""

import numpy as np

from benchmarks.peers import Case, Contender, at_least, at_most

RADIUS = 6


def work(size, rng):
    """Random walks, normalised: queries and training series."""
    queries, n, length = size
    X = rng.normal(size=(queries + n, length)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    return X[queries:], np.arange(n) % 2, X[:queries]


def quality(data, labels):
    """Share of labels that are not those of the nearest series by all distances."""
    from skmoderndata.metrics import pairwise_dtw

    X, y, Z = data
    exact = y[pairwise_dtw(Z, X, radius=RADIUS).argmin(axis=1)]
    return {"wrong": float((np.asarray(labels).astype(int) != exact).mean())}


def ours(data):
    from skmoderndata.neighbors import DTWNeighborsClassifier

    X, y, Z = data
    return DTWNeighborsClassifier(radius=RADIUS).fit(X, y).predict(Z)


def unbounded(data):
    from skmoderndata.neighbors import DTWNeighborsClassifier

    X, y, Z = data
    return DTWNeighborsClassifier(radius=RADIUS, lower_bounds=False).fit(X, y).predict(Z)


def aeon(data):
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    X, y, Z = data
    settings = {"window": RADIUS / X.shape[1]}
    model = KNeighborsTimeSeriesClassifier(distance="dtw", distance_params=settings)
    return model.fit(X[:, None], y).predict(Z[:, None])


def tslearn(data):
    from tslearn.neighbors import KNeighborsTimeSeriesClassifier

    X, y, Z = data
    settings = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": RADIUS}
    model = KNeighborsTimeSeriesClassifier(1, metric="dtw", metric_params=settings)
    return model.fit(X[:, :, None], y).predict(Z[:, :, None])


CASE = Case(
    title="Nearest neighbours of series",
    question="How fast is the nearest series under dynamic time warping found?",
    remarks=f"One neighbour, radius {RADIUS}, one thread; fitting included.",
    ours="DTWNeighborsClassifier",
    sizes={
        "20 queries, 40 x 128": (20, 40, 128),
        "60 queries, 400 x 128": (60, 400, 128),
        "10 queries, 100 x 1,000": (10, 100, 1000),
        "60 queries, 4,000 x 128": (60, 4000, 128),
    },
    quick_sizes={"20 queries, 100 x 64": (20, 100, 64)},
    warmup=(4, 20, 32),
    repeat=3,
    work=work,
    contenders={
        "DTWNeighborsClassifier": Contender(run=ours, peer=False, note="default"),
        "without lower bounds": Contender(
            run=unbounded, peer=False, note="`lower_bounds=False`"
        ),
        "aeon": Contender(
            run=aeon, requires="aeon>=1.6", note="`KNeighborsTimeSeriesClassifier`"
        ),
        "tslearn": Contender(
            run=tslearn, requires="tslearn>=0.6", note="`KNeighborsTimeSeriesClassifier`"
        ),
    },
    quality=quality,
    figures={"wrong": "share of answers that are not those of all distances"},
    targets=(
        at_least(
            "400 and 4,000 series of length 128: at least 20 times as fast as aeon",
            "aeon",
            "ratio",
            20,
            sizes=("60 queries, 400 x 128", "60 queries, 4,000 x 128"),
        ),
        at_most("exact", "DTWNeighborsClassifier", "wrong", 0.0),
    ),
)
