"""Slow modes of diffusion in Prinz's potential with four wells."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.cross_decomposition import RegularizedCCA
from skmoderndata.decomposition import SlowFeatureAnalysis

DIM = 3
CELLS = np.linspace(-1, 1, 51)[1:-1]


def indicators(x):
    return np.eye(50)[np.digitize(x[:, 0], CELLS)]


def load():
    """Return pairs of a trajectory for fitting and one for testing."""
    from deeptime.data import prinz_potential

    system = prinz_potential(h=1e-5, n_steps=500)
    return [
        [indicators(system.trajectory([[0.0]], 5000, seed=seed)) for seed in pair]
        for pair in ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
    ]


def vamp2(before, after):
    """Return the VAMP-2 score of the features of two successive steps, with the constant."""
    A = before - before.mean(axis=0)
    B = after - after.mean(axis=0)
    P, Q = (np.linalg.qr(M)[0] for M in (A, B))
    return 1 + np.sum((P.T @ Q) ** 2)


def theirs(pairs):
    from deeptime.decomposition import VAMP

    scores = []
    for train, test in pairs:
        model = VAMP(lagtime=1, dim=DIM).fit(train).fetch_model()
        scores.append(vamp2(model.transform(test[:-1]), model.backward(test[1:])))
    return scores


def ours(pairs):
    scores = []
    for train, test in pairs:
        slow = SlowFeatureAnalysis(DIM).fit(train).transform(test)
        scores.append(vamp2(slow[:-1], slow[1:]))
    return scores


def documented(pairs):
    scores = []
    for train, test in pairs:
        model = RegularizedCCA(DIM, scale=False).fit(train[:-1], train[1:])
        scores.append(vamp2(*model.transform(test[:-1], test[1:])))
    return scores


TASK = Task(
    name="deeptime_prinz",
    origin="deeptime, tutorial",
    link="https://deeptime-ml.github.io/latest/notebooks/vamp.html",
    program="deeptime VAMP on indicators of 50 cells, scored by VAMPModel.score(2)",
    data="trajectories of 5,000 steps by deeptime's generator",
    licence="LGPL-3.0",
    measure="VAMP-2 score on a held-out trajectory",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
