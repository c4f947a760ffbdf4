"""Evidence that ClusteringStability solves the problem it states."""

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from skmoderndata.cluster import MultiAssignmentClustering
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.metrics import clustering_distance
from skmoderndata.model_selection import ClusteringStability, ClusteringStabilityDisplay
from tests.oracles import clustering_stability as oracle


def gaussians(rng, n_clusters, *, n_samples=120, n_features=2, separation=7.0):
    """Unit Gaussians of equal size whose nearest centres are `separation` apart."""
    centers = rng.normal(size=(n_clusters, n_features))
    apart = euclidean_distances(centers)[np.triu_indices(n_clusters, 1)].min()
    y = np.arange(n_samples) % n_clusters
    return centers[y] * separation / apart + rng.normal(size=(n_samples, n_features)), y


def overlapping_sources(rng, n_samples=120, noise=0.03):
    """Boolean rows, each the OR of some of three sources that overlap."""
    sources = np.zeros((3, 24), dtype=bool)
    sources[0, :9] = sources[1, 8:17] = sources[2, 16:] = True
    Z = rng.random((n_samples, 3)) < 0.45
    return (Z.astype(int) @ sources > 0) ^ (rng.random((n_samples, 24)) < noise), Z


class AtRandom(ClusterMixin, BaseEstimator):
    """Clusters of equal size that have nothing to do with the data."""

    def __init__(self, n_clusters=2, *, random_state=None, names=None):
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.names = names

    def fit(self, X, y=None):
        names = np.arange(self.n_clusters) if self.names is None else np.array(self.names)
        labels = names[np.arange(len(X)) % self.n_clusters]
        self.labels_ = np.random.default_rng(self.random_state).permutation(labels)
        return self


class Renamed(ClusterMixin, BaseEstimator):
    """Ward's clusters under names that change from fit to fit."""

    def __init__(self, n_clusters=2, *, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        names = np.array([f"cluster {i}" for i in rng.permutation(100)])
        self.labels_ = names[AgglomerativeClustering(self.n_clusters).fit(X).labels_]
        return self


class FixedSources(BaseEstimator):
    """Memberships read from the first columns."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return X[:, : self.n_clusters] > 0


@pytest.mark.filterwarnings("ignore:ClusteringStability chose n_clusters=5")
@pytest.mark.oracle
@pytest.mark.parametrize("n_samples", [40, 41])
def test_distances_match_naive_loops(seed, n_samples):
    X, _ = gaussians(np.random.default_rng(seed), 3, n_samples=n_samples, separation=3)
    search = ClusteringStability(
        AgglomerativeClustering(), param_range=(2, 3, 5), n_splits=6, random_state=seed
    ).fit(X)
    for k, distances in zip(search.param_range_, search.distances_, strict=True):
        expected = oracle.distances(
            X,
            lambda rows, k=k: AgglomerativeClustering(k).fit_predict(rows),
            n_splits=6,
            random_state=seed,
        )
        assert_allclose(distances, expected, atol=1e-14)
    assert_allclose(search.instability_, search.distances_.mean(axis=1), rtol=1e-14)


@pytest.mark.oracle
def test_random_distances_match_shuffled_labels(seed):
    """Tables with given margins against labels shuffled one by one, all permutations tried."""
    rng = np.random.default_rng(seed)
    X, _ = gaussians(rng, 3, n_samples=40)
    search = ClusteringStability(
        AgglomerativeClustering(),
        param_range=(2, 4),
        n_splits=2,
        n_random=2000,
        random_state=seed,
    ).fit(X)

    for i, k in enumerate((2, 4)):
        for split, (first, second) in enumerate(
            oracle.halves(40, n_splits=2, random_state=seed)
        ):
            model = AgglomerativeClustering(k)
            carrier = KNeighborsClassifier(1).fit(X[first], model.fit_predict(X[first]))
            expected = oracle.at_random(
                oracle.label_distance,
                carrier.predict(X[second]),
                model.fit_predict(X[second]),
                n_draws=400,
                rng=rng,
            )
            # the standard deviation is about 0.08 for one draw and about 0.004 for the mean of 400
            assert_allclose(search.random_distances_[i, split], expected, atol=0.02)


@pytest.mark.oracle
def test_memberships_are_compared_under_all_orders_of_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    search = ClusteringStability(
        MultiAssignmentClustering(n_init=1, random_state=0),
        param_range=(2, 3),
        n_splits=3,
        n_random=500,
        random_state=seed,
    ).fit(X > 0.5)

    for i, k in enumerate((2, 3)):
        for split, (first, second) in enumerate(
            oracle.halves(60, n_splits=3, random_state=seed)
        ):
            model = MultiAssignmentClustering(k, n_init=1, random_state=0)
            carried = model.fit(X[first] > 0.5).predict(X[second] > 0.5)
            found = model.fit(X[second] > 0.5).predict(X[second] > 0.5)
            expected = oracle.membership_distance(carried, found)
            assert_allclose(search.distances_[i, split], expected, atol=1e-14)
            assert_allclose(expected, clustering_distance(carried, found), atol=1e-14)

            expected = oracle.at_random(
                oracle.membership_distance, carried, found, n_draws=300, rng=rng
            )
            # the standard deviation is about 0.04 for one draw and about 0.003 for the mean of 300
            assert_allclose(search.random_distances_[i, split], expected, atol=0.012)


@pytest.mark.oracle
def test_standard_error_matches_the_jackknife(seed):
    X, _ = gaussians(np.random.default_rng(seed), 3, separation=3)
    search = ClusteringStability(param_range=(2, 3, 4, 5), n_splits=30, random_state=seed).fit(
        X
    )
    for error, a, b in zip(
        search.standard_error_, search.distances_, search.random_distances_, strict=True
    ):
        expected = oracle.jackknife_error_of_ratio(a, b)
        least = 1 / len(X) / b.mean()
        # both are approximations; they differ by terms of order 1 / n_splits
        assert_allclose(error, max(expected, least), rtol=0.05)


@pytest.mark.certificate
def test_choice_is_the_largest_within_one_standard_error(seed):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    search = ClusteringStability(n_splits=5, random_state=seed).fit(X)
    top = search.stability_.argmax()
    enough = search.stability_[top] - search.standard_error_[top]
    assert (
        search.stability_[search.param_range_ == search.best_n_clusters_][0]
        == search.best_score_
    )
    assert search.best_score_ >= enough
    assert (search.stability_[search.param_range_ > search.best_n_clusters_] < enough).all()
    assert_allclose(
        search.stability_, 1 - search.instability_ / search.random_instability_, rtol=1e-12
    )


@pytest.mark.paper
@pytest.mark.parametrize(("k", "printed"), [(2, 0.44), (5, 0.66), (10, 0.68)])
def test_random_disagreement_of_fifty_objects(k, printed):
    """0.44, 0.66, 0.68 in the specification; the formula (k - 1) / k has 0.50, 0.80, 0.90."""
    search = ClusteringStability(
        AtRandom(), param_range=(k,), n_splits=30, n_random=50, random_state=0
    )
    with warnings.catch_warnings():
        # the data have no clusters, so the warning is correct
        warnings.simplefilter("ignore", UserWarning)
        search.fit(np.random.default_rng(0).normal(size=(100, 1)))
    assert_allclose(
        search.random_instability_, printed, atol=0.015
    )  # the labels have unequal numbers of samples
    assert abs(search.stability_[0]) < 0.1
    assert search.random_instability_[0] < (k - 1) / k - 0.05


@pytest.mark.recovery
@pytest.mark.parametrize("n_clusters", [3, 5])
def test_number_of_well_separated_gaussians(seed, n_clusters):
    X, y = gaussians(np.random.default_rng(seed), n_clusters)
    search = ClusteringStability(param_range=range(2, 8), n_splits=8, random_state=seed).fit(X)
    assert search.best_n_clusters_ == n_clusters
    assert search.best_score_ > 0.95
    assert adjusted_rand_score(y, search.labels_) > 0.95


@pytest.mark.recovery
def test_one_gaussian_has_no_clusters(seed):
    """In twenty dimensions every stability is low, and a warning says so."""
    X = np.random.default_rng(seed).normal(size=(200, 20))
    search = ClusteringStability(param_range=(2, 3, 4, 6), n_splits=10, random_state=seed)
    with pytest.warns(UserWarning, match="found no clusters"):
        search.fit(X)
    assert search.stability_.max() < 0.3


@pytest.mark.recovery
def test_one_gaussian_in_the_plane_is_far_from_clusters(seed):
    """Few dimensions: quantisation is half stable, but no number comes near 1."""
    X = np.random.default_rng(seed).normal(size=(200, 2))
    search = ClusteringStability(param_range=(3, 4, 5), n_splits=5, random_state=seed).fit(X)
    assert search.stability_.max() < 0.85


@pytest.mark.recovery
@pytest.mark.parametrize(
    "clusterer",
    [
        AgglomerativeClustering(linkage="single"),
        SpectralClustering(affinity="nearest_neighbors", n_neighbors=8),
    ],
)
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_moons_with_clusterers_that_cannot_predict(seed, clusterer):
    X, y = make_moons(240, noise=0.03, random_state=seed)
    search = ClusteringStability(
        clusterer, param_range=(2, 3), n_splits=4, random_state=seed
    ).fit(X)
    assert search.best_n_clusters_ == 2
    assert adjusted_rand_score(y, search.labels_) == 1
    assert not hasattr(search, "predict")


@pytest.mark.recovery
def test_number_of_overlapping_sources(seed):
    X, Z = overlapping_sources(np.random.default_rng(seed))
    search = ClusteringStability(
        MultiAssignmentClustering(n_init=2),
        param_range=(2, 3, 4),
        n_splits=4,
        random_state=seed,
    ).fit(X)
    assert search.best_n_clusters_ == 3
    assert search.labels_.dtype == bool
    assert clustering_distance(search.labels_, Z) < 0.05
    assert_array_equal(search.predict(X), search.labels_)


@pytest.mark.recovery
def test_memberships_carried_over_by_a_classifier(seed):
    X, _ = overlapping_sources(np.random.default_rng(seed), noise=0)
    search = ClusteringStability(
        MultiAssignmentClustering(n_init=2),
        classifier=KNeighborsClassifier(1),
        param_range=(2, 3, 4),
        n_splits=3,
        random_state=seed,
    ).fit(X)
    assert search.best_n_clusters_ == 3
    if search.stability_[2] == 1:  # a fourth source that occurs in no row changes nothing
        assert search.n_clusters_found_[2] < 3.5


@pytest.mark.invariance
def test_names_of_labels_do_not_matter(seed):
    X, _ = gaussians(np.random.default_rng(seed), 3, separation=3)
    plain, renamed = (
        ClusteringStability(est, param_range=(2, 3, 4), n_splits=4, random_state=seed).fit(X)
        for est in (AgglomerativeClustering(), Renamed())
    )
    assert_allclose(renamed.distances_, plain.distances_, atol=1e-14)


@pytest.mark.invariance
def test_order_of_rows_does_not_matter_beyond_the_draw_of_splits(seed):
    rng = np.random.default_rng(seed)
    X, _ = gaussians(rng, 3, separation=4)
    settings = {"param_range": (2, 3, 4), "n_splits": 10}
    one = ClusteringStability(**settings, random_state=0).fit(X)
    two = ClusteringStability(**settings, random_state=1).fit(X[rng.permutation(len(X))])
    error = np.hypot(one.standard_error_, two.standard_error_)
    assert (abs(one.stability_ - two.stability_) < 5 * error).all()


@pytest.mark.invariance
def test_other_numbers_in_the_range_do_not_matter(seed):
    """The same splits serve every number, so that curves with and without a number agree."""
    X, _ = gaussians(np.random.default_rng(seed), 3, separation=3)
    long, short = (
        ClusteringStability(param_range=values, n_splits=3, random_state=seed).fit(X)
        for values in ((5, 2, 3, 3), [3])
    )
    assert_array_equal(long.param_range_, [2, 3, 5])
    assert_array_equal(long.distances_[1], short.distances_[0])
    assert_array_equal(long.random_distances_[1], short.random_distances_[0])


@pytest.mark.invariance
def test_shift_scale_and_container(seed):
    X, _ = gaussians(np.random.default_rng(seed), 3, n_samples=50)
    X = np.round(X * 16)
    search = ClusteringStability(param_range=(2, 3), n_splits=3, random_state=seed)
    expected = search.fit(X).distances_
    for other in (
        X * 2.0**300,
        X * 2.0**-300,
        X.astype(np.float32),
        X.tolist(),
        sparse.csr_array(X),
        sparse.coo_matrix(X),
        pd.DataFrame(X, columns=["a", "b"]),
        pl.DataFrame(X, schema=["a", "b"]),
    ):
        # a near tie of two starts may be broken by rounding
        assert_allclose(clone(search).fit(other).distances_, expected, atol=0.05)


@pytest.mark.invariance
def test_two_jobs_and_a_second_fit_give_the_same_answer():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60, separation=3)
    search = ClusteringStability(param_range=(2, 3), n_splits=3, random_state=0).fit(X)
    # this tests only threads; tests/common covers processes
    with joblib.parallel_config(backend="threading"):
        two = clone(search).set_params(n_jobs=2).fit(X)
    again = clone(search).fit(X[:40]).fit(X)
    for other in (two, again):
        assert_array_equal(other.distances_, search.distances_)
        assert_array_equal(other.random_distances_, search.random_distances_)
        assert_array_equal(other.labels_, search.labels_)


@pytest.mark.invariance
def test_matrix_of_distances_or_kernel_values(seed):
    """Clusterers of matrices over pairs find what they find on the objects."""
    X, _ = gaussians(np.random.default_rng(seed), 3, n_samples=60, separation=3)
    settings = {"param_range": (2, 3), "n_splits": 3, "random_state": seed}
    direct = ClusteringStability(AgglomerativeClustering(linkage="average"), **settings).fit(X)
    pairs = ClusteringStability(
        AgglomerativeClustering(linkage="average", metric="precomputed"),
        classifier=KNeighborsClassifier(1, metric="precomputed"),
        **settings,
    )
    assert_array_equal(pairs.fit(euclidean_distances(X)).distances_, direct.distances_)
    kernel = ClusteringStability(
        SpectralClustering(affinity="precomputed"),
        classifier=SVC(kernel="precomputed"),
        **settings,
    ).fit(rbf_kernel(X, gamma=0.5))
    assert np.isfinite(kernel.stability_).all()
    assert kernel.__sklearn_tags__().input_tags.pairwise


@pytest.mark.edge
def test_memberships_of_the_data_alone_are_perfectly_stable():
    X = np.random.default_rng(0).normal(size=(30, 4))
    search = ClusteringStability(FixedSources(), param_range=(2, 4), n_splits=2).fit(X)
    assert_array_equal(search.stability_, 1)
    assert search.best_n_clusters_ == 4
    assert not hasattr(search, "transform")
    assert not hasattr(search, "n_features_in_")


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (
            {"param_range": (1, 2, 3)},
            "at least 2, got 1: the stability of one cluster is undefined",
        ),
        ({"param_range": (0,)}, "at least 2, got 0"),
        ({"param_range": ()}, "one or more whole numbers"),
        ({"param_range": (2.0, 3.0)}, "one or more whole numbers"),
        ({"param_range": ((2, 3), (4, 5))}, "one or more whole numbers"),
        ({"param_range": (21, 30)}, "n_samples=40 are too few for 21 clusters.*at least 42"),
        ({"estimator": GaussianMixture()}, r"no parameter 'n_clusters'.*\['n_components'\]"),
        (
            {"estimator": make_pipeline(StandardScaler(), KMeans())},
            r"no parameter 'n_clusters'.*kmeans__n_clusters",
        ),
        (
            {"estimator": AgglomerativeClustering(metric="precomputed", linkage="single")},
            "square matrix over pairs, got X of shape",
        ),
        ({"n_splits": 1}, "'n_splits' parameter"),
        ({"n_random": 0}, "'n_random' parameter"),
        ({"param_range": 3}, "'param_range' parameter"),
    ],
)
def test_raises_on_invalid_settings(settings, match):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match=match):
        ClusteringStability(**settings).fit(X)


@pytest.mark.edge
def test_raises_on_invalid_parts():
    X = np.random.default_rng(0).normal(size=(20, 20))
    with pytest.raises(ValueError, match="has no predict: set classifier"):
        ClusteringStability(SpectralClustering(affinity="precomputed")).fit(X @ X.T)
    with pytest.raises(TypeError, match="needs a clusterer; StandardScaler cannot predict"):
        ClusteringStability(StandardScaler(), param_name="with_mean").fit(X)

    class Soft(FixedSources):
        def predict(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(ValueError, match=r"Soft returned labels of shape \(10, 2\)"):
        ClusteringStability(Soft()).fit(X)


@pytest.mark.edge
def test_few_objects():
    X = np.arange(10.0)[:, None] ** 2
    with pytest.raises(ValueError, match=r"n_samples=1 is too few for 2 clusters"):
        ClusteringStability().fit(X[:1])
    with pytest.raises(ValueError, match=r"n_samples=0 are too few"):
        ClusteringStability().fit(X[:0])
    with pytest.warns(
        UserWarning, match=r"above 5, the number of objects in half of X: \[6, 7"
    ):
        search = ClusteringStability(n_splits=3, random_state=0).fit(X)
    assert_array_equal(search.param_range_, [2, 3, 4, 5])
    assert np.isfinite(search.stability_).all()
    four = ClusteringStability(param_range=(2,), n_splits=3, random_state=0).fit(X[:4])
    assert four.labels_.shape == (4,)


@pytest.mark.edge
@pytest.mark.parametrize("classifier", [None, LogisticRegression()])
@pytest.mark.parametrize("clusterer", [KMeans(), AgglomerativeClustering()])
def test_equal_objects_have_stability_zero(classifier, clusterer):
    """One cluster holds everything: agreement says nothing, and no number is NaN."""
    X = np.full((24, 3), 7.0)
    search = ClusteringStability(
        clusterer, classifier=classifier, param_range=(2, 3), n_splits=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X)
    assert np.isfinite(search.stability_).all()
    assert np.isfinite(search.standard_error_).all()
    if isinstance(clusterer, KMeans):
        assert_array_equal(search.stability_, 0)
        assert_array_equal(search.random_instability_, 0)
        assert search.best_n_clusters_ == 2


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_more_clusters_than_distinct_rows():
    """From three clusters on the answer is the same: the empty ones are not counted."""
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 12, axis=0)
    search = ClusteringStability(n_splits=3, random_state=0).fit(X)
    assert_array_equal(search.stability_[1:], 1)
    assert_array_equal(search.n_clusters_found_, [2, 3, 3, 3, 3, 3, 3])
    assert search.best_n_clusters_ == 3


@pytest.mark.edge
def test_one_giant_cluster_against_several():
    """Margins of one row or one column: all shuffles give the same table."""
    X = np.r_[np.zeros(30), 1.0][:, None]
    search = ClusteringStability(
        AgglomerativeClustering(linkage="single"),
        param_range=(2,),
        n_splits=20,
        random_state=0,
    ).fit(X)
    assert (search.random_distances_ >= 0).all()
    assert (search.random_distances_ <= 1).all()


@pytest.mark.edge
def test_bad_values_are_rejected_by_the_clusterer_before_the_search():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ClusteringStability().fit(X)


@pytest.mark.edge
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("scale", [1e155, 1e-155])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_magnitudes_of_new_objects_are_checked(method, scale, kind):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = ClusteringStability(param_range=(2, 3), n_splits=3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="between 1e-100 and 1e100"):
        getattr(model, method)(kind(scale * X))


@pytest.mark.edge
def test_parts_are_cloned_and_seeded_only_if_they_have_no_seed():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=40)
    pipeline = make_pipeline(StandardScaler(), KMeans(n_init=1))
    search = ClusteringStability(
        pipeline,
        param_name="kmeans__n_clusters",
        param_range=(2, 3),
        n_splits=2,
        random_state=0,
    ).fit(X)
    assert not hasattr(pipeline[-1], "labels_")
    assert pipeline[-1].random_state is None
    assert search.best_estimator_[-1].random_state is not None
    assert search.best_estimator_[-1].n_clusters == search.best_n_clusters_
    fixed = ClusteringStability(KMeans(random_state=5), param_range=(2,), n_splits=2).fit(X)
    assert fixed.best_estimator_.random_state == 5
    assert fixed.set_params(param_range=(3,)).fit(X).best_n_clusters_ == 3


@pytest.mark.edge
def test_pipeline_on_columns_of_a_frame():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(name="x")
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), KMeans(n_init=3)
    )
    search = ClusteringStability(
        pipeline, param_name="kmeans__n_clusters", n_splits=3, random_state=0
    ).fit(frame)
    assert search.best_n_clusters_ == 3
    assert list(search.feature_names_in_) == ["a", "b", "name"]


@pytest.mark.edge
def test_delegation_follows_the_clusterer():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    search = ClusteringStability(param_range=(2, 3), n_splits=2, random_state=0)
    frame = search.set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    assert_array_equal(search.predict(X), search.labels_)
    assert_array_equal(clone(search).fit(X).transform(X).columns, frame.columns)
    assert search.score(X) == search.best_estimator_.score(X)
    assert_array_equal(clone(search).fit_predict(X), search.labels_)

    mixture = ClusteringStability(
        GaussianMixture(),
        param_name="n_components",
        param_range=(3,),
        n_splits=2,
        random_state=0,
    ).fit(X)
    assert_array_equal(mixture.predict(X), mixture.labels_)
    assert hasattr(mixture, "score")
    assert not hasattr(mixture, "transform")
    assert not hasattr(mixture, "set_output")

    tags = ClusteringStability(AgglomerativeClustering()).__sklearn_tags__()
    assert tags.estimator_type == "clusterer"
    assert tags.transformer_tags is None
    assert not tags.input_tags.sparse


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:ClusteringStability found no clusters")
def test_second_fit_forgets_the_features_of_the_first():
    X = np.random.default_rng(0).normal(size=(30, 4))
    search = ClusteringStability(param_range=(2,), n_splits=2).fit(
        pd.DataFrame(X).add_prefix("f")
    )
    assert list(search.feature_names_in_) == ["f0", "f1", "f2", "f3"]
    search.fit(X)
    assert not hasattr(search, "feature_names_in_")
    search.set_params(estimator=FixedSources()).fit(X)
    assert not hasattr(search, "n_features_in_")


@pytest.mark.edge
def test_inside_a_search():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    search = GridSearchCV(
        ClusteringStability(KMeans(n_init=2), param_range=(2, 3), n_splits=2, random_state=0),
        {"estimator__init": ["k-means++", "random"]},
        cv=2,
    ).fit(X)
    assert search.best_estimator_.best_n_clusters_ == 3


class Recorder:
    """Callback that counts the tasks of the search and stops after some of them."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.tasks = []

    def setup(self, estimator, context):
        self.tasks = []

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)
        return self.tasks.count("n_clusters") == self.stop_after


@pytest.mark.newest
@pytest.mark.edge
def test_callbacks_see_one_task_per_number_and_may_stop():
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    seen = Recorder()
    search = ClusteringStability(param_range=(2, 3, 4), n_splits=2, random_state=0)
    search.set_callbacks(seen).fit(X)
    assert seen.tasks.count("n_clusters") == 3
    search.set_callbacks(Recorder(stop_after=2)).fit(X)
    assert_array_equal(search.param_range_, [2, 3])
    assert search.distances_.shape == (2, 2)


@pytest.mark.edge
def test_display():
    import matplotlib.pyplot as plt

    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    search = ClusteringStability(param_range=(2, 3, 4), n_splits=2, random_state=0).fit(X)
    display = ClusteringStabilityDisplay.from_estimator(search, color="C3")
    assert display.figure_ is display.ax_.figure
    x, y = display.errorbar_.lines[0].get_data()
    assert_array_equal(x, [2, 3, 4])
    assert_array_equal(y, search.stability_)
    assert_array_equal(display.best_line_.get_xdata(), [3])
    assert display.ax_.get_legend().get_texts()[0].get_text() == "KMeans: 3 clusters chosen"
    figure, ax = plt.subplots()
    other = ClusteringStabilityDisplay(
        param_range=[2, 3], stability=[0.5, 0.9], standard_error=[0.1, 0.1], best_n_clusters=3
    ).plot(ax)
    assert other.ax_ is ax
    assert other.figure_ is figure
    assert ax.get_legend().get_texts()[0].get_text() == "3 clusters chosen"
    named = ClusteringStabilityDisplay.from_estimator(search, ax=ax, name="second")
    assert named.ax_ is ax
    assert ax.get_legend().get_texts()[-1].get_text() == "second: 3 clusters chosen"
    plt.close("all")


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:ClusteringStability found no clusters")
def test_scikit_learn_checks_without_predict():
    check_estimator(
        ClusteringStability(
            AgglomerativeClustering(linkage="complete"), param_range=(2,), n_splits=2
        )
    )


@pytest.mark.edge
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ClusteringStability omits")
@pytest.mark.filterwarnings("ignore:ClusteringStability found no clusters")
def test_scikit_learn_checks_with_defaults():
    check_estimator(ClusteringStability())


@pytest.mark.edge
def test_verbose_estimates_the_time_left(capsys):
    X, _ = gaussians(np.random.default_rng(0), 3, n_samples=60)
    search = ClusteringStability(param_range=(2, 3, 4), n_splits=2, random_state=0, verbose=1)
    search.fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("ClusteringStability: 1 of 3 numbers of clusters in ")
    assert "left" in lines[0]
    assert "left" not in lines[2]


@pytest.mark.edge
def test_warns_if_the_best_number_is_the_largest():
    X, _ = gaussians(np.random.default_rng(0), 4, n_samples=80)
    search = ClusteringStability(param_range=(2, 3, 4), n_splits=3, random_state=0)
    with pytest.warns(
        DoubtfulResultWarning, match="n_clusters=4, the largest value in param_r"
    ):
        search.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.set_params(param_range=(2, 3, 4, 5)).fit(X)
        search.set_params(param_range=(4,)).fit(X)
