"""Clusterers of data with fewer distinct samples than clusters."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from skmoderndata import all_estimators
from skmoderndata.cluster import (
    BooleanKMeans,
    KernelKMeans,
    KMedoids,
    NeuralGas,
    TimeSeriesKMeans,
)

N_DISTINCT = 3
N_CLUSTERS = 5


def numbers(rng):
    return rng.normal(size=(N_DISTINCT, 4))


def bits(rng):
    return np.eye(N_DISTINCT, 6, dtype=bool)


def lengths(rng):
    return [rng.normal(size=n) for n in (6, 8, 11)]


CASES = {
    "KMedoids": (KMedoids(N_CLUSTERS), numbers),
    "KMedoids-random": (KMedoids(N_CLUSTERS, init="random", n_init=3), numbers),
    "KMedoids-series": (KMedoids(N_CLUSTERS, metric="dtw"), lengths),
    "KernelKMeans": (KernelKMeans(N_CLUSTERS), numbers),
    "KernelKMeans-linear": (KernelKMeans(N_CLUSTERS, kernel="linear"), numbers),
    "KernelKMeans-nystroem": (KernelKMeans(N_CLUSTERS, solver="nystroem"), numbers),
    "NeuralGas": (NeuralGas(N_CLUSTERS), numbers),
    "NeuralGas-online": (NeuralGas(N_CLUSTERS, algorithm="online"), numbers),
    "BooleanKMeans": (BooleanKMeans(N_CLUSTERS), bits),
    "BooleanKMeans-random": (BooleanKMeans(N_CLUSTERS, init="random"), bits),
    "TimeSeriesKMeans": (TimeSeriesKMeans(N_CLUSTERS), lengths),
    "TimeSeriesKMeans-starts": (TimeSeriesKMeans(N_CLUSTERS, n_init=3), lengths),
    "TimeSeriesKMeans-soft": (TimeSeriesKMeans(N_CLUSTERS, metric="soft_dtw"), lengths),
    "TimeSeriesKMeans-euclidean": (TimeSeriesKMeans(N_CLUSTERS, metric="euclidean"), numbers),
}

# Clusterers that wrap another clusterer.
WRAPPERS = {"ClusteringStability"}


def copies(samples, rng):
    """Return each sample seven times, in random order, and the number of its original."""
    origin = rng.permutation(np.repeat(np.arange(N_DISTINCT), 7))
    if isinstance(samples, list):
        return [samples[i] for i in origin], origin
    return samples[origin], origin


def fitted(case, seed):
    """Return a model, its samples and their originals; the fit must warn."""
    estimator, draw = CASES[case]
    rng = np.random.default_rng(seed)
    X, origin = copies(draw(rng), rng)
    model = type(estimator)(**estimator.get_params(deep=False)).set_params(random_state=seed)
    with pytest.warns(ConvergenceWarning, match=rf"\b{N_DISTINCT}\b.*n_clusters={N_CLUSTERS}"):
        model.fit(X)
    return model, X, origin


def test_every_clusterer_has_a_case():
    classes = {cls.__name__ for cls in all_estimators() if issubclass(cls, ClusterMixin)}
    assert classes - WRAPPERS == {type(estimator).__name__ for estimator, _ in CASES.values()}


@pytest.mark.edge
@pytest.mark.parametrize("case", CASES)
def test_copies_share_a_label_and_no_further_label_is_used(case, seed):
    model, X, origin = fitted(case, seed)
    assert len(set(zip(origin, model.labels_, strict=True))) == N_DISTINCT
    assert len(set(model.labels_)) == N_DISTINCT
    assert_array_equal(model.labels_, model.predict(X))
    if "soft" not in case:
        assert_allclose(model.inertia_, 0, atol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("KMedoids")])
def test_medoids_lie_in_their_own_clusters(case, seed):
    model, _, _ = fitted(case, seed)
    assert_array_equal(model.labels_[model.medoid_indices_], np.arange(N_DISTINCT))


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:KMedoids. with metric=.lcss. all points match")
def test_distances_that_are_all_zero_give_one_cluster():
    """The longest common subsequence of series within `epsilon` of each other is all of them."""
    X = [np.zeros(n) for n in (4, 4, 4, 4)]
    model = KMedoids(4, metric="lcss", metric_params={"epsilon": 1.0})
    with pytest.warns(ConvergenceWarning, match="distinct clusters found"):
        model.fit([x + 0.1 * i for i, x in enumerate(X)])
    assert_array_equal(model.labels_, 0)
    assert len(model.medoid_indices_) == 1


@pytest.mark.edge
@pytest.mark.parametrize("case", CASES)
def test_as_many_distinct_samples_as_clusters_do_not_warn(case, seed):
    estimator, draw = CASES[case]
    rng = np.random.default_rng(seed)
    X, origin = copies(draw(rng), rng)
    parameters = estimator.get_params(deep=False) | {"n_clusters": N_DISTINCT}
    model = type(estimator)(**parameters).set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*distinct.*")
        model.fit(X)
    assert len(set(zip(origin, model.labels_, strict=True))) == N_DISTINCT
