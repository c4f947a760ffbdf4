"""Nearest neighbours of series under dynamic time warping."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_least, at_most

RADIUS = 6


class Task(NamedTuple):
    """Training series with labels, and queries."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    radius: int | None


def work(size, rng):
    """Random walks, normalised: queries and training series."""
    queries, n, length, radius = size
    X = rng.normal(size=(queries + n, length)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    return Task(X[queries:], np.arange(n) % 2, X[:queries], radius)


def quality(task, labels):
    """Fraction of labels that differ from the nearest series over all distances."""
    from skmoderndata.metrics import pairwise_dtw

    exact = task.y[pairwise_dtw(task.Z, task.X, radius=task.radius).argmin(axis=1)]
    return {"wrong": float((np.asarray(labels).astype(int) != exact).mean())}


def ours(task, **settings):
    from skmoderndata.neighbors import DTWNeighborsClassifier

    model = DTWNeighborsClassifier(radius=task.radius, **settings)
    return model.fit(task.X, task.y).predict(task.Z)


def unbounded(task):
    return ours(task, lower_bounds=False)


def aeon(task):
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    window = None if task.radius is None else task.radius / task.X.shape[1]
    model = KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": window})
    return model.fit(task.X[:, None], task.y).predict(task.Z[:, None])


def tslearn(task):
    from tslearn.neighbors import KNeighborsTimeSeriesClassifier

    settings = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": task.radius}
    settings = None if task.radius is None else settings
    model = KNeighborsTimeSeriesClassifier(1, metric="dtw", metric_params=settings)
    return model.fit(task.X[:, :, None], task.y).predict(task.Z[:, :, None])


CASE = Case(
    title="Nearest neighbours of series",
    question="How fast does each program find the nearest series under dynamic time warping?",
    remarks=(
        f"All contenders search for one neighbour in one thread, with radius {RADIUS} or without "
        "a radius; the time includes fitting. Without a radius, the lower bounds are weak, and "
        "most of the time is spent on dynamic programming tables that are abandoned early."
    ),
    ours="DTWNeighborsClassifier",
    sizes={
        "20 queries, 40 x 128": (20, 40, 128, RADIUS),
        "60 queries, 60 x 128": (60, 60, 128, RADIUS),
        "60 queries, 400 x 128": (60, 400, 128, RADIUS),
        "10 queries, 100 x 1,000": (10, 100, 1000, RADIUS),
        "60 queries, 4,000 x 128": (60, 4000, 128, RADIUS),
        "20 queries, 200 x 400, no radius": (20, 200, 400, None),
    },
    quick_sizes={"20 queries, 100 x 64": (20, 100, 64, RADIUS)},
    warmup=(4, 20, 64, None),
    repeat=3,
    work=work,
    contenders={
        "DTWNeighborsClassifier": Contender(
            run=ours, peer=False, note="the default parameters"
        ),
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
    figures={
        "wrong": (
            "fraction of neighbours that differ from the result of a search over all distances"
        )
    },
    targets=(
        at_least(
            "at least 20 times as fast as aeon for 400 and for 4,000 series of length 128",
            "aeon",
            "ratio",
            20,
            sizes=("60 queries, 400 x 128", "60 queries, 4,000 x 128"),
        ),
        at_least(
            "at least 15 times as fast as aeon without a radius",
            "aeon",
            "ratio",
            15,
            sizes=("20 queries, 200 x 400, no radius",),
        ),
        at_most("all neighbours are exact", "DTWNeighborsClassifier", "wrong", 0.0),
    ),
)
