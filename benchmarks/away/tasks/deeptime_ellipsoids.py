"""Two elongated wells that switch slowly, as in deeptime's tutorial on TICA."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.decomposition import SlowFeatureAnalysis


def load():
    """Return ten trajectories with their hidden states."""
    from deeptime.data import ellipsoids

    draws = []
    for seed in range(10):
        system = ellipsoids(seed=seed)
        states = system.discrete_trajectory(1000)
        draws.append((system.map_discrete_to_observations(states), states))
    return draws


def agreement(states, component):
    return abs(np.corrcoef(states, component)[0, 1])


def theirs(draws):
    from deeptime.decomposition import TICA

    model = TICA(lagtime=1, dim=1)
    return [agreement(s, model.fit_transform(X)[:, 0]) for X, s in draws]


def ours(draws):
    model = SlowFeatureAnalysis(1)
    return [agreement(s, model.fit_transform(X)[:, 0]) for X, s in draws]


TASK = Task(
    name="deeptime_ellipsoids",
    origin="deeptime, tutorial",
    link="https://deeptime-ml.github.io/latest/notebooks/tica.html",
    program="deeptime TICA(lagtime=1, dim=1)",
    data="ten trajectories of 1,000 steps by deeptime's generator of ellipsoids",
    licence="LGPL-3.0",
    measure="agreement of the slowest component with the hidden state",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
