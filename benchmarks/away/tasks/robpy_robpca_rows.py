"""Principal subspace of data with outlying rows."""

import numpy as np
from scipy.linalg import subspace_angles

from benchmarks.away.tables import estimator_of_robpy
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return five tables of 100 rows, 80 from four components and 20 far outside."""
    draws = []
    scale = np.sqrt([17, 13.5, 8, 3] + 46 * [0.1])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 50)) * scale
        X[:20] = rng.normal(size=(20, 50)) * scale / 10
        X[:20, 4] += 20
        draws.append(X)
    return draws


def angle(components):
    """Return the largest angle between the columns and the first four axes, in degrees."""
    return np.degrees(subspace_angles(components, np.eye(50)[:, :4]).max())


def theirs(draws):
    return [
        angle(estimator_of_robpy("ROBPCA", n_components=4, random_seed=0).fit(X).components_)
        for X in draws
    ]


def ours(draws, **settings):
    return [angle(RobustPCA(4, **settings).fit(X).components_.T) for X in draws]


TASK = Task(
    name="robpy_robpca_rows",
    origin="ROBPCA (Hubert et al. 2005)",
    link="https://doi.org/10.1198/004017004000000563",
    program="ROBPCA of robpy",
    data="generated",
    licence="none needed",
    measure="largest angle to the true subspace in degrees, 20 % outlying rows",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
