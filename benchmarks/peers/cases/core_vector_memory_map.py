"""Ten million rows from a memory map, in a process that reports its own peak memory."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_most

COLUMNS = 10
PROGRAM = """
import json, resource, sys, time, warnings
import numpy as np
from skmoderndata.svm import CoreVectorMachine
path, n, settings = json.loads(sys.argv[1])
warnings.simplefilter("ignore")
X = np.memmap(path + "/X", np.float32, "r", shape=(n, 10))
y = np.load(path + "/y.npy")
start = time.perf_counter()
model = CoreVectorMachine(10, gamma=0.2, random_state=0, n_jobs=2, **settings).fit(X, y)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
error = np.mean(model.predict(X[:100_000]) != y[:100_000])
print(json.dumps([seconds, peak, 100 * float(error), len(model.support_), model.dual_gap_]))
"""


class Told(NamedTuple):
    seconds: float
    peak: float
    error: float
    support: int
    gap: float


def work(size, rng):
    """Gaussian rows; the label shows the side of a bent surface on which a row lies."""
    folder = tempfile.TemporaryDirectory()
    X = np.memmap(Path(folder.name) / "X", np.float32, "w+", shape=(size, COLUMNS))
    y = np.empty(size, np.int8)
    for first in range(0, size, 10**6):
        rows = slice(first, min(first + 10**6, size))
        block = rng.normal(size=(rows.stop - first, COLUMNS)).astype(np.float32)
        X[rows] = block
        y[rows] = block[:, 0] + 0.5 * block[:, 1] ** 2 > 0.5
    X.flush()
    np.save(Path(folder.name) / "y.npy", y)
    return Files(folder, size)


class Files:
    """A folder with the data, removed with the last reference."""

    def __init__(self, folder, size):
        self.folder = folder
        self.size = size

    def __deepcopy__(self, memo):
        return self


def training(**settings):
    def run(files):
        told = subprocess.run(
            [
                sys.executable,
                "-c",
                PROGRAM,
                json.dumps([files.folder.name, files.size, settings]),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return Told(*json.loads(told.stdout))

    return run


def quality(files, told):
    return {
        "peak GiB": told.peak,
        "error %": told.error,
        "support": told.support,
        "gap": told.gap,
    }


CASE = Case(
    title="Core vector machine on a memory map",
    question="How much memory does training on ten million rows need?",
    remarks="Each row has ten numbers in single precision, so ten million rows take 400 MB. "
    "The peak is the highest resident memory of the whole process, including the pages of "
    "the file that it has read.",
    ours="max_core",
    sizes={"100 000": 10**5, "1 000 000": 10**6, "10 000 000": 10**7},
    quick_sizes={"50 000": 50_000},
    warmup=5_000,
    work=work,
    contenders={
        "max_core": Contender(
            run=training(max_core=500),
            peer=False,
            note="`C=10`, `gamma=0.2`, `max_core=500`",
        ),
    },
    quality=quality,
    figures={
        "peak GiB": "highest resident memory of the process",
        "error %": "error on 100 000 of the training rows",
        "support": "number of support vectors",
        "gap": (
            "relative duality gap; with a core set this small, the solution is far from the "
            "optimum"
        ),
    },
    seconds=lambda told: told.seconds,
    targets=(at_most("peak below 2 GiB for ten million rows", "max_core", "peak GiB", 2.0),),
    repeat=3,
)
