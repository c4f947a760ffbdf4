"""Nearest neighbours by elastic distances, as in aeon's guide to distance-based classification."""

from benchmarks.away.task import Task
from skmoderndata.neighbors import DTWNeighborsClassifier

DISTANCES = ("dtw", "msm")


def load():
    """Return the splits of the two sets."""
    from aeon.datasets import load_gunpoint, load_italy_power_demand

    return [
        (*read(split="train"), *read(split="test"))
        for read in (load_gunpoint, load_italy_power_demand)
    ]


def theirs(problem):
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    return [
        KNeighborsTimeSeriesClassifier(n_neighbors=1, distance=distance)
        .fit(X, y)
        .score(new, truth)
        for X, y, new, truth in problem
        for distance in DISTANCES
    ]


def ours(problem):
    return [
        DTWNeighborsClassifier(metric=metric).fit(X[:, 0], y).score(new[:, 0], truth)
        for X, y, new, truth in problem
        for metric in DISTANCES
    ]


TASK = Task(
    name="aeon_neighbors",
    origin="aeon, examples",
    link="https://www.aeon-toolkit.org/en/stable/examples/classification/distance_based.html",
    program="aeon KNeighborsTimeSeriesClassifier with dtw and msm",
    data="GunPoint and ItalyPowerDemand of the UCR archive, shipped with aeon",
    licence="BSD-3-Clause",
    measure="accuracy of elastic neighbours",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
