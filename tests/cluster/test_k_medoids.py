"""Evidence that KMedoids minimises what it states, up to exchanges."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.kernel.k_medoids import best_swap_gain, build, k_medoids
from skmoderndata.cluster import KMedoids
from skmoderndata.metrics import pairwise_edit_distance, pairwise_elastic
from tests.oracles.k_medoids import best_medoids, partition_around_medoids, total_cost


def distances(seed, n=24):
    rng = np.random.default_rng(seed)
    return pairwise_distances(rng.normal(size=(n, 2))), rng.uniform(0.2, 3.0, size=n)


@pytest.mark.certificate
@pytest.mark.parametrize("k", [1, 2, 3, 7, 23, 24])
def test_no_exchange_lowers_the_cost(k, seed):
    D, w = distances(seed)
    rng = np.random.default_rng(seed)
    for start in (rng.choice(24, size=k, replace=False), build(D, w, k)):
        result = k_medoids(D, w, start, max_iter=100)
        assert result.converged
        assert_allclose(
            result.objective, total_cost(D, w, result.medoids), rtol=1e-12, atol=1e-12
        )
        # try all exchanges with loops, starting from the result
        medoids, cost = partition_around_medoids(D, w, result.medoids)
        assert medoids == sorted(result.medoids)
        assert_allclose(cost, result.objective, rtol=1e-12, atol=1e-12)
        assert best_swap_gain(D, w, result.medoids) == 0


@pytest.mark.oracle
def test_the_gain_matches_the_best_exchange(seed):
    D, w = distances(seed)
    for k in (1, 3, 6):
        medoids = np.random.default_rng(seed).choice(24, size=k, replace=False)
        before = total_cost(D, w, medoids)
        after = min(
            total_cost(D, w, [*np.delete(medoids, j), c]) for j in range(k) for c in range(24)
        )
        assert after < before
        assert_allclose(best_swap_gain(D, w, medoids), 1 - after / before, rtol=1e-10)


@pytest.mark.oracle
def test_each_start_is_the_best_addition(seed):
    D, w = distances(seed)
    chosen = []
    for _ in range(5):
        chosen.append(int(np.argmin([total_cost(D, w, [*chosen, c]) for c in range(24)])))
    assert_array_equal(build(D, w, 5), chosen)


@pytest.mark.oracle
def test_starts_find_the_best_of_all_sets(seed):
    D, w = distances(seed, n=14)
    _, cost = best_medoids(D, w, 3)
    model = KMedoids(3, metric="precomputed", init="random", n_init=40, random_state=seed)
    assert_allclose(model.fit(D, sample_weight=w).inertia_, cost, rtol=1e-12)


@pytest.mark.certificate
def test_a_start_stopped_early_shows_its_gain():
    X, _ = make_blobs(200, centers=6, random_state=0)
    start = np.arange(6)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        early = KMedoids(6, init=start, max_iter=1).fit(X)
    full = KMedoids(6, init=start).fit(X)
    assert full.inertia_ <= early.inertia_
    assert full.swap_gain_ == 0
    # the gain is computed from the distances, not in the pass that stopped
    D = pairwise_distances(X)
    gain = best_swap_gain(D, np.ones(200), early.medoid_indices_)
    assert gain > 1e-3
    assert_allclose(early.swap_gain_, gain, rtol=1e-9)
    assert best_swap_gain(D, np.ones(200), start) > 0.1


@pytest.mark.certificate
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_scale_does_not_matter(scale):
    X = load_iris().data
    model = KMedoids(3).fit(X)
    scaled = KMedoids(3).fit(scale * X)
    assert_array_equal(scaled.medoid_indices_, model.medoid_indices_)
    assert_allclose(scaled.inertia_, scale * model.inertia_, rtol=1e-10)
    assert scaled.swap_gain_ == model.swap_gain_ == 0


@pytest.mark.recovery
def test_planted_groups_are_found(seed):
    X, y = make_blobs(150, centers=5, cluster_std=0.3, random_state=3 + 0 * seed)
    model = KMedoids(5).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    words = ["colour", "color", "colours", "kitten", "kittens", "mitten"]
    D = pairwise_edit_distance(words)
    assert_array_equal(
        KMedoids(2, metric="precomputed").fit_predict(D) == 1, np.arange(6) // 3
    )


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("dtw", None),
        ("weighted_dtw", {"steepness": 0.1}),
        ("erp", {}),
        ("msm", {"cost": 0.1}),
        ("twe", {"gap_cost": 0.1, "radius": 5}),
        ("lcss", {"epsilon": 0.3}),
    ],
)
def test_series_match_their_distances(metric, params, seed):
    rng = np.random.default_rng(seed)
    X = [
        (1 + i % 2) * np.sin(np.linspace(0, 6, rng.integers(12, 18)) + i % 2)
        + 0.1 * rng.normal(size=1)
        for i in range(20)
    ]
    model = KMedoids(2, metric=metric, metric_params=params).fit(X[:15])
    D = pairwise_elastic(X[:15], metric=metric, **(params or {}))
    reference = KMedoids(2, metric="precomputed").fit(D)
    assert_array_equal(model.medoid_indices_, reference.medoid_indices_)
    assert_array_equal(model.labels_, reference.labels_)
    between = pairwise_elastic(X[15:], X[:15], metric, **(params or {}))
    assert_allclose(model.transform(X[15:]), between[:, model.medoid_indices_], rtol=1e-12)
    assert_array_equal(model.predict(X[15:]), reference.predict(between))
    for center, index in zip(model.cluster_centers_, model.medoid_indices_, strict=True):
        assert_array_equal(center.ravel(), X[index])
    assert model.swap_gain_ == 0


@pytest.mark.invariance
def test_weights_are_repetitions(seed):
    X = np.random.default_rng(seed).normal(size=(30, 3))
    w = np.random.default_rng(seed).integers(0, 4, size=30)
    weighted = KMedoids(4).fit(X, sample_weight=w)
    repeated = KMedoids(4).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-12)
    assert (w[weighted.medoid_indices_] > 0).all()
    assert_array_equal(weighted.labels_, weighted.predict(X))
    assert_allclose(KMedoids(4).fit(X, sample_weight=7.0 * w).inertia_, 7 * weighted.inertia_)
    assert_allclose(weighted.score(X, sample_weight=w), -weighted.inertia_, rtol=1e-12)


@pytest.mark.invariance
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "sqeuclidean", "chebyshev"])
def test_tables_match_their_distances(metric, seed):
    X = 3 + np.random.default_rng(seed).normal(size=(40, 3))
    model = KMedoids(4, metric=metric).fit(X)
    D = pairwise_distances(X, metric=metric)
    reference = KMedoids(4, metric="precomputed").fit(D)
    assert_array_equal(model.labels_, reference.labels_)
    assert_array_equal(model.cluster_centers_, X[reference.medoid_indices_])
    assert not hasattr(reference, "cluster_centers_")
    assert_allclose(model.transform(X), D[:, model.medoid_indices_], atol=1e-12)
    threads = KMedoids(4, metric=metric, init="random", random_state=seed, n_jobs=2).fit(X)
    alone = clone(threads).set_params(n_jobs=None).fit(X)
    assert_array_equal(threads.medoid_indices_, alone.medoid_indices_)


def test_pipeline_tuned_by_grid_search():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), KMedoids())
    grid = {"kmedoids__n_clusters": [2, 3], "kmedoids__metric": ["euclidean", "manhattan"]}
    search = GridSearchCV(pipeline, grid, scoring="adjusted_rand_score", cv=3).fit(X, y)
    assert search.best_score_ > 0.3


@pytest.mark.edge
def test_equal_samples_and_as_many_clusters_as_samples():
    with pytest.warns(ConvergenceWarning, match=r"clusters found \(1\) is smaller than"):
        same = KMedoids(2).fit(np.ones((5, 2)))
    assert same.transform(np.ones((3, 2))).shape == (3, 1)
    assert same.inertia_ == same.swap_gain_ == 0
    assert_array_equal(same.labels_, 0)
    every = KMedoids(4).fit(np.eye(4))
    assert sorted(every.medoid_indices_) == [0, 1, 2, 3]
    assert every.inertia_ == 0


D3 = pairwise_distances([[0.0], [1.0], [3.0]])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (KMedoids(4), np.eye(3), "n_samples=3 should be >= n_clusters=4"),
        (KMedoids(2, metric="precomputed"), D3[:2], "square matrix"),
        (KMedoids(2, metric="precomputed"), -D3, "negative distances"),
        (KMedoids(2, metric="precomputed"), np.triu(D3), r"symmetric; \(X \+ X.T\) / 2"),
        (KMedoids(2, init=[0, 0]), np.eye(3), "must contain n_clusters=2 different"),
        (KMedoids(2, init=[0, 3]), np.eye(3), "from 0 to 2"),
        (KMedoids(2, init=[0.5, 1.0]), np.eye(3), "must contain n_clusters=2"),
        (KMedoids(2, metric_params={"radius": 1}), np.eye(3), "has no metric_params"),
        (KMedoids(2, metric="msm", metric_params={"g": 1}), np.eye(3), "no parameter g"),
        (KMedoids(2, metric="edr"), np.eye(3), "'metric' parameter"),
    ],
)
def test_raises_on_invalid_input(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


@pytest.mark.edge
def test_series_that_cannot_be_aligned_are_rejected():
    X = [np.zeros(3), np.zeros(9), np.ones(4)]
    params = {"radius": 1, "slanted": False}
    with (
        pytest.warns(UserWarning, match="no alignment"),
        pytest.raises(ValueError, match="admits no alignment of some series"),
    ):
        KMedoids(2, metric="dtw", metric_params=params).fit(X)


def test_all_pairs_of_starts_differ():
    # pass the numbers of the samples as a list or an array, in any order
    for init in itertools.permutations([0, 1, 2], 2):
        model = KMedoids(2, metric="precomputed", init=list(init)).fit(D3)
        assert model.inertia_ == 1


@pytest.mark.oracle
def test_further_starts_are_random(seed):
    D, w = distances(seed, n=60)
    single = KMedoids(6, metric="precomputed", random_state=seed).fit(D, sample_weight=w)
    several = KMedoids(6, metric="precomputed", n_init=20, random_state=seed)
    assert several.fit(D, sample_weight=w).inertia_ <= single.inertia_
    random = KMedoids(6, metric="precomputed", init="random", n_init=19, random_state=seed)
    best = min(single.inertia_, random.fit(D, sample_weight=w).inertia_)
    assert_allclose(several.inertia_, best, rtol=1e-12)


@pytest.mark.oracle
def test_start_matches_additions_if_distances_tie(seed):
    """Distances on a grid: sums are exact, and the first of the best candidates is added."""
    D = np.random.default_rng(seed).integers(1, 4, size=(40, 40)).astype(float)
    D = np.triu(D, 1) + np.triu(D, 1).T
    chosen = []
    for _ in range(12):
        totals = [total_cost(D, np.ones(40), [*chosen, c]) for c in range(40)]
        chosen.append(
            int(np.argmin([np.inf if c in chosen else t for c, t in enumerate(totals)]))
        )
    assert_array_equal(build(D, np.ones(40), 12), chosen)
