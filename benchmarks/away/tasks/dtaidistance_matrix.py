"""The matrix of warping distances of random series, as in dtaidistance's manual."""

from time import process_time

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.metrics import pairwise_dtw


def load():
    return np.cumsum(np.random.default_rng(0).normal(size=(200, 200)), axis=1)


def seconds(run, X):
    """Return the processor time of three runs, after one on a few series."""
    run(X[:5])
    times = []
    for _ in range(3):
        start = process_time()
        run(X)
        times.append(process_time() - start)
    return times


def theirs(X):
    from dtaidistance import dtw

    return seconds(lambda series: dtw.distance_matrix_fast(series, parallel=False), X)


def ours(X):
    return seconds(pairwise_dtw, X)


TASK = Task(
    name="dtaidistance_matrix",
    origin="dtaidistance, manual",
    link="https://dtaidistance.readthedocs.io/en/latest/usage/dtw.html",
    program="dtaidistance dtw.distance_matrix_fast, compiled, one thread",
    data="200 random walks of 200 steps",
    licence="Apache-2.0",
    measure="processor time of a matrix of DTW distances",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
