"""k-means in the feature space of the global alignment kernel, as in tslearn's gallery."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.away.task import Task
from skmoderndata.cluster import KernelKMeans
from skmoderndata.kernels import GlobalAlignment, Normalized


def load():
    """Return three draws of 50 series, scaled as in the gallery."""
    from tslearn.datasets import CachedDatasets
    from tslearn.preprocessing import TimeSeriesScalerMeanVariance

    X, y, _, _ = CachedDatasets().load_dataset("Trace")
    X, y = X[y < 4], y[y < 4]
    draws = []
    for seed in range(3):
        order = np.random.RandomState(seed).permutation(len(X))[:50]
        X_scaled = TimeSeriesScalerMeanVariance().fit_transform(X[order])
        draws.append((X_scaled[:, :, 0], y[order]))
    return draws


def theirs(draws):
    from tslearn import clustering

    found = []
    for X, y in draws:
        model = clustering.KernelKMeans(
            3, kernel="gak", kernel_params={"sigma": "auto"}, n_init=20, random_state=0
        )
        found.append(adjusted_rand_score(y, model.fit_predict(X)))
    return found


def ours(draws):
    found = []
    for X, y in draws:
        model = KernelKMeans(3, kernel=GlobalAlignment(), random_state=0)
        found.append(adjusted_rand_score(y, model.fit_predict(X)))
    return found


def documented(draws):
    found = []
    for X, y in draws:
        kernel = Normalized(GlobalAlignment("median"))
        model = KernelKMeans(3, kernel=kernel, random_state=0)
        found.append(adjusted_rand_score(y, model.fit_predict(X)))
    return found


TASK = Task(
    name="tslearn_kernel_kmeans",
    origin="tslearn, gallery",
    link="https://tslearn.readthedocs.io/en/stable/auto_examples/clustering/plot_kernel_kmeans.html",
    program='tslearn KernelKMeans(kernel="gak", sigma="auto", n_init=20)',
    data="Trace of the UCR archive, shipped with tslearn; 50 series of three classes",
    licence="BSD-2-Clause",
    measure="adjusted Rand index, global alignment kernel k-means",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "Without normalisation, the values of the kernel differ by orders of magnitude between "
        "series; use Normalized(GlobalAlignment('median'))."
    ),
)
