"""Nearest neighbours of series under elastic distances, on sets of the archive."""

import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.peers import Case, Contender, at_least

# import the file by its path, because a peer installs a package named `tests` that comes first
_spec = importlib.util.spec_from_file_location(
    "archive", Path(__file__).resolve().parents[3] / "tests" / "oracles" / "archive.py"
)
archive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(archive)

NAMES = {"erp": "erp", "msm": "msm", "twe": "twe", "weighted_dtw": "wdtw", "lcss": "lcss"}


def work(size, rng):
    """Read a set of the archive: training and test part, and the distance."""
    name, metric = size
    X, y, Z, labels = archive.load(name)
    X, Z = (np.stack([x[:, 0] for x in series]) for series in (X, Z))
    return X, y, Z, labels, metric


def quality(data, answers):
    """Fraction of wrong labels."""
    labels = data[3]
    return {"error": float((np.asarray(answers).astype(str) != labels.astype(str)).mean())}


def ours(data):
    from skmoderndata.neighbors import DTWNeighborsClassifier

    X, y, Z, _, metric = data
    return DTWNeighborsClassifier(metric=metric).fit(X, y).predict(Z)


def aeon(data):
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    X, y, Z, _, metric = data
    model = KNeighborsTimeSeriesClassifier(distance=NAMES[metric])
    return model.fit(X[:, None], y).predict(Z[:, None])


SIZES = {
    "ItalyPowerDemand, msm": ("ItalyPowerDemand", "msm"),
    "ItalyPowerDemand, twe": ("ItalyPowerDemand", "twe"),
    "GunPoint, erp": ("GunPoint", "erp"),
    "GunPoint, msm": ("GunPoint", "msm"),
    "GunPoint, twe": ("GunPoint", "twe"),
    "GunPoint, weighted_dtw": ("GunPoint", "weighted_dtw"),
    "GunPoint, lcss": ("GunPoint", "lcss"),
    "ArrowHead, msm": ("ArrowHead", "msm"),
    "ArrowHead, twe": ("ArrowHead", "twe"),
}

CASE = Case(
    title="Nearest neighbours under elastic distances",
    question="How fast does each program find the nearest series in the data sets of the archive?",
    remarks="Both classifiers use one neighbour, no band, one thread and their default "
    "parameters, which are the same in both packages; the time includes fitting. The data sets "
    "come with the aeon package. aeon's implementation of `erp` differs from the paper's "
    "definition at the borders of the table, so its errors may differ.",
    ours="DTWNeighborsClassifier",
    sizes=SIZES,
    quick_sizes={"GunPoint, msm": ("GunPoint", "msm")},
    warmup=("GunPoint", "msm"),
    repeat=3,
    work=work,
    contenders={
        "DTWNeighborsClassifier": Contender(
            run=ours, peer=False, note="called with the distance as `metric`"
        ),
        "aeon": Contender(
            run=aeon,
            requires="aeon>=1.6",
            note="`KNeighborsTimeSeriesClassifier`, called with the same distance",
        ),
    },
    quality=quality,
    figures={"error": "fraction of wrong labels in the test part"},
    targets=(
        at_least(
            "at least 3 times as fast as aeon",
            "aeon",
            "ratio",
            3,
            sizes=tuple(SIZES),
        ),
    ),
)
