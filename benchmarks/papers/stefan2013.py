"""Error rates of nearest neighbours under the move-split-merge distance."""

import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.papers import PRINTED, Entry, value

# import the file by its path, because a peer installs a package named `tests` that comes first
_spec = importlib.util.spec_from_file_location(
    "archive", Path(__file__).resolve().parents[2] / "tests" / "oracles" / "archive.py"
)
archive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(archive)

# Candidate costs, chosen by leave-one-out as in the paper.
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
RATES = {"GunPoint": 0.060}


def learned_error(X, y, Z, labels):
    """Error on the test part with the first cost of minimum leave-one-out error."""
    from skmoderndata.neighbors import DTWNeighborsClassifier

    models = [
        DTWNeighborsClassifier(metric="msm", metric_params={"cost": cost}).fit(X, y)
        for cost in COSTS
    ]
    nearest = [model.kneighbors(return_distance=False)[:, 0] for model in models]
    best = int(np.argmin([(y[indices] != y).mean() for indices in nearest]))
    return round(1 - models[best].score(Z, labels), 3), COSTS[best]


def values(quick):
    found = []
    for name, printed in RATES.items():
        if name in archive.sets():
            error, cost = learned_error(*archive.load(name))
            found.append(
                value(
                    f"{name}, cost {cost} learned",
                    "error of one nearest neighbour",
                    f"{printed:.3f}",
                    PRINTED,
                    f"{error:.3f}",
                    holds=error == printed,
                )
            )
    return found


ENTRY = Entry(
    title="Nearest neighbours under the move-split-merge distance",
    cites=(
        "Stefan, Athitsos, Das: The move-split-merge metric for time series. IEEE "
        "Transactions on Knowledge and Data Engineering 25(6), 2013."
    ),
    source=(
        "the errors of the paper, as listed for the algorithm MSM on "
        "timeseriesclassification.com."
    ),
    values=values,
    remarks="The data set is read from the aeon package if it is installed. The other data "
    "sets of the paper are left out, because we had no access to their printed errors.",
)
