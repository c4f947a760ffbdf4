"""Evidence that DistanceTransformer hands the distances of any metric to any estimator."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import manifold
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering
from sklearn.manifold import MDS, TSNE, Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skmoderndata.metrics import pairwise_edit_distance
from skmoderndata.preprocessing import DistanceTransformer, SampleColumn
from tests.oracles.edit_distance import edit_distance as naive

# scikit-learn 1.8 renamed the parameter of MDS that declares precomputed distances
MDS_OF_DISTANCES = (
    MDS(metric="precomputed", n_init=1, init="random", random_state=0)
    if hasattr(manifold, "ClassicalMDS")
    else MDS(dissimilarity="precomputed", n_init=1, random_state=0)
)


def families(n, seed=0, length=24):
    """Strings of two ancestors, each with three random changes."""
    rng = np.random.default_rng(seed)
    ancestors = ["".join(rng.choice(list("abcd"), size=length)) for _ in range(2)]
    y = np.arange(n) % 2
    X = []
    for label in y:
        symbols = list(ancestors[label])
        for _ in range(3):
            i = rng.integers(len(symbols))
            kind = rng.integers(3)
            symbols[i : i + (kind < 2)] = [] if kind == 0 else [rng.choice(list("abcd"))]
        X.append("".join(symbols))
    return X, y


def area_between(X, Z, scale=1.0):
    """Distance of ragged series by their lengths and means; a metric of a user."""

    def stamp(series):
        return np.array([[len(x), x.mean()] for x in series])

    A = stamp(X)
    B = stamp(Z)
    return scale * np.abs(A[:, None] - B).sum(axis=2)


@pytest.mark.oracle
def test_distances_to_the_training_samples(seed):
    X, _ = families(9, seed)
    D = DistanceTransformer().fit_transform(X)
    assert_array_equal(D, [[naive(x, z) for z in X] for x in X])
    model = DistanceTransformer().fit(X[:5])
    assert_array_equal(model.transform(X), D[:, :5])
    costs = {"gap_cost": 0.5, "normalize": True}
    model = DistanceTransformer(metric_params=costs).fit(X[:5])
    assert_array_equal(model.transform(X), pairwise_edit_distance(X, X[:5], **costs))


@pytest.mark.recovery
@pytest.mark.parametrize(
    "estimator",
    [
        AgglomerativeClustering(2, metric="precomputed", linkage="average"),
        DBSCAN(eps=8.0, metric="precomputed"),
        HDBSCAN(metric="precomputed", copy=True),
    ],
    ids=lambda e: type(e).__name__,
)
def test_clusterings_find_the_families(estimator):
    X, y = families(40)
    labels = make_pipeline(DistanceTransformer(), estimator).fit_predict(X)
    assert adjusted_rand_score(y, labels) == 1.0


@pytest.mark.recovery
@pytest.mark.parametrize(
    "estimator",
    [
        Isomap(metric="precomputed", n_neighbors=25),
        MDS_OF_DISTANCES,
        TSNE(metric="precomputed", init="random", perplexity=10, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_maps_keep_the_families_apart(estimator):
    X, y = families(40)
    Z = make_pipeline(DistanceTransformer(), estimator).fit_transform(X)
    assert Z.shape == (40, 2)
    halves = np.arange(40) < 20
    assert (
        KNeighborsClassifier(3).fit(Z[halves], y[halves]).score(Z[~halves], y[~halves]) == 1.0
    )


@pytest.mark.recovery
def test_grid_over_the_metric():
    X, y = families(60)
    model = make_pipeline(DistanceTransformer(), KNeighborsClassifier(metric="precomputed"))
    grid = {
        "distancetransformer__metric_params": [{"normalize": True}, None],
        "kneighborsclassifier__n_neighbors": [1, 3],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ == 1.0
    assert search.predict(families(6)[0]).tolist() == [0, 1] * 3


@pytest.mark.oracle
def test_functions_on_ragged_series(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(k, 2)) for k in rng.integers(1, 9, size=11)]
    model = DistanceTransformer(area_between, metric_params={"scale": 2.0}).fit(X[:7])
    assert_allclose(model.transform(X), area_between(X, X[:7], 2.0), rtol=1e-15)
    assert_allclose(DistanceTransformer(area_between).fit_transform(X), area_between(X, X))


@pytest.mark.invariance
@pytest.mark.parametrize("metric", ["edit", lambda X, Z: pairwise_edit_distance(X, Z)])
def test_containers_threads_and_copies(metric):
    X, _ = families(15)
    model = DistanceTransformer(metric)
    D = model.fit_transform(X)
    objects = np.array(X, dtype=object)
    for other in (tuple(X), objects, np.array(X), pd.Series(X), pl.Series(X)):
        assert_array_equal(clone(model).fit_transform(other), D)
    assert_array_equal(clone(model).fit_transform(SampleColumn().fit_transform(X)), D)
    assert_array_equal(clone(model).set_params(n_jobs=3).fit_transform(X), D)
    frame = clone(model).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns)[:2] == ["distancetransformer0", "distancetransformer1"]
    if metric == "edit":
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), D)
    X.pop()
    assert len(model.X_fit_) == 15


def wrong(value):
    return lambda X, Z: np.full((len(X), len(Z)), value)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("model", "X", "error", "message"),
    [
        (DistanceTransformer(), [], ValueError, "0 samples"),
        (DistanceTransformer(), "one text", TypeError, "needs a collection of samples"),
        (DistanceTransformer(), ["a", None], ValueError, "sample 1 is missing"),
        (DistanceTransformer(), [1.5], TypeError, "sample 0 is of type float"),
        (DistanceTransformer(), pd.DataFrame({"a": ["x"]}), ValueError, "select one column"),
        (DistanceTransformer("cosine"), ["a"], ValueError, "'metric' parameter"),
        (DistanceTransformer("dtw"), ["a"], ValueError, "not an array of real numbers"),
        (
            DistanceTransformer("softdtw"),
            [[1.0]],
            ValueError,
            "soft_dtw.* other libraries call 'softdtw'",
        ),
        (DistanceTransformer(wrong(np.nan)), ["a"], ValueError, "NaN, infinite or negative"),
        (DistanceTransformer(wrong(-1.0)), ["a"], ValueError, "NaN, infinite or negative"),
        (DistanceTransformer(lambda X, Z: 0.0), ["a"], ValueError, r"of shape \(1, 1\)"),
        (DistanceTransformer(metric_params={"gap_cost": 0}), ["a"], ValueError, "'gap_cost'"),
        (DistanceTransformer(metric_params={"gap": 1}), ["a"], TypeError, "'gap'"),
    ],
)
def test_raises_on_invalid_input(model, X, error, message):
    with pytest.raises(error, match=message):
        model.fit_transform(X)


@pytest.mark.edge
def test_empty_strings_and_one_sample():
    assert_array_equal(DistanceTransformer().fit_transform(["", "ab", ""])[0], [0, 2, 0])
    assert_array_equal(DistanceTransformer().fit(["abc"]).transform(["", "abc"]), [[3], [0]])
