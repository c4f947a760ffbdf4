"""Clusters of categories by matching, as in the examples of kmodes."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import OneHotEncoder

from benchmarks.away.task import Task
from skmoderndata.cluster import BooleanKMeans, KMedoids


def load():
    """Return five draws of rows that keep the category of their cluster with probability .5."""
    draws = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        modes = rng.integers(6, size=(4, 20))
        y = rng.integers(4, size=300)
        X = np.where(rng.random((300, 20)) < 0.5, modes[y], rng.integers(6, size=(300, 20)))
        draws.append((X, y))
    return draws


def accuracy(y, labels):
    """Return the fraction of right clusters under the best assignment of labels."""
    table = confusion_matrix(y, labels)
    return table[linear_sum_assignment(-table)].sum() / len(y)


def theirs(draws):
    from kmodes.kmodes import KModes

    model = KModes(4, init="Huang", n_init=5, random_state=0)
    return [accuracy(y, model.fit_predict(X)) for X, y in draws]


def ours(draws):
    model = BooleanKMeans(4, random_state=0)
    encoder = OneHotEncoder(sparse_output=False)
    return [accuracy(y, model.fit_predict(encoder.fit_transform(X) > 0)) for X, y in draws]


def documented(draws):
    model = KMedoids(4, metric="manhattan", random_state=0)
    encoder = OneHotEncoder(sparse_output=False)
    return [accuracy(y, model.fit_predict(encoder.fit_transform(X))) for X, y in draws]


TASK = Task(
    name="kmodes_clusters",
    origin="kmodes, examples",
    link="https://github.com/nicodv/kmodes",
    program='kmodes KModes(4, init="Huang", n_init=5)',
    data="300 rows of 20 columns of six categories in four clusters, in place of soybean",
    licence="MIT",
    measure="clustering accuracy of categories",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
