"""Nearest neighbours by dynamic time warping on Trace, as in tslearn's gallery."""

from benchmarks.away.task import Task
from skmoderndata.neighbors import DTWNeighborsClassifier


def load():
    """Return the split with each series scaled to variance 1, as in the gallery."""
    from tslearn.datasets import CachedDatasets
    from tslearn.preprocessing import TimeSeriesResampler, TimeSeriesScalerMeanVariance

    X, y, new, truth = CachedDatasets().load_dataset("Trace")
    X, new = (
        TimeSeriesResampler(sz=60).fit_transform(
            TimeSeriesScalerMeanVariance().fit_transform(s)
        )
        for s in (X, new)
    )
    return X[:, :, 0], y, new[:, :, 0], truth


def theirs(problem):
    from tslearn.neighbors import KNeighborsTimeSeriesClassifier

    X, y, new, truth = problem
    model = KNeighborsTimeSeriesClassifier(n_neighbors=3, metric="dtw")
    return model.fit(X, y).score(new, truth)


def ours(problem):
    X, y, new, truth = problem
    return DTWNeighborsClassifier().fit(X, y).score(new, truth)


def documented(problem):
    X, y, new, truth = problem
    return DTWNeighborsClassifier(3).fit(X, y).score(new, truth)


TASK = Task(
    name="tslearn_knn",
    origin="tslearn, gallery",
    link="https://tslearn.readthedocs.io/en/stable/auto_examples/neighbors/plot_knn_search.html",
    program='tslearn KNeighborsTimeSeriesClassifier(n_neighbors=3, metric="dtw")',
    data="Trace of the UCR archive, shipped with tslearn, its training and test split",
    licence="BSD-2-Clause",
    measure="accuracy of DTW neighbours",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
)
