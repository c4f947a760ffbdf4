"""k-means under dynamic time warping on Trace, as in tslearn's gallery."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.away.task import Task
from skmoderndata.cluster import TimeSeriesKMeans


def load():
    """Return five draws of 50 series, scaled and resampled as in the gallery."""
    from tslearn.datasets import CachedDatasets
    from tslearn.preprocessing import TimeSeriesResampler, TimeSeriesScalerMeanVariance

    X, y, _, _ = CachedDatasets().load_dataset("Trace")
    X, y = X[y < 4], y[y < 4]
    draws = []
    for seed in range(5):
        order = np.random.RandomState(seed).permutation(len(X))[:50]
        series = TimeSeriesScalerMeanVariance().fit_transform(X[order])
        draws.append((TimeSeriesResampler(sz=40).fit_transform(series)[:, :, 0], y[order]))
    return draws


def theirs(draws):
    from tslearn import clustering

    model = clustering.TimeSeriesKMeans(
        3, n_init=2, metric="dtw", max_iter_barycenter=10, random_state=0
    )
    return [adjusted_rand_score(y, model.fit_predict(X)) for X, y in draws]


def ours(draws):
    model = TimeSeriesKMeans(3, random_state=0)
    return [adjusted_rand_score(y, model.fit_predict(X)) for X, y in draws]


def documented(draws):
    model = TimeSeriesKMeans(3, n_init=10, random_state=0)
    return [adjusted_rand_score(y, model.fit_predict(X)) for X, y in draws]


TASK = Task(
    name="tslearn_kmeans",
    origin="tslearn, gallery",
    link="https://tslearn.readthedocs.io/en/stable/auto_examples/clustering/plot_kmeans.html",
    program='tslearn TimeSeriesKMeans(metric="dtw", n_init=2, max_iter_barycenter=10)',
    data="Trace of the UCR archive, shipped with tslearn; 50 series of three classes at 40 points",
    licence="BSD-2-Clause",
    measure="adjusted Rand index, DTW k-means",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
