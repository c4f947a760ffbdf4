"""Evidence that KernelTransformer and SampleColumn carry any samples through scikit-learn."""

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.kernels import (
    DerivedSubsets,
    DistanceKernel,
    GramCache,
    Intersection,
    Normalized,
    PowerSet,
)
from skmoderndata.preprocessing import KernelTransformer, SampleColumn, SpectrumCorrector


def labelled_sets(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    share = np.where(np.arange(16) < 8, 0.6, 0.3)
    rows = rng.random((n, 16)) < np.where(y[:, None] == 1, share, share[::-1])
    return [frozenset(np.flatnonzero(row).tolist()) for row in rows], y


def bags(n=20, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(int(k), 2)) for k in rng.integers(1, 5, size=n)]


class Counted(Intersection):
    """Kernel that counts its computed pairs."""

    pairs = 0

    def _gram(self, X, Y):
        K = super()._gram(X, Y)
        type(self).pairs += K.size
        return K


@pytest.mark.oracle
def test_named_kernels_match_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    new = rng.normal(size=(5, 3))
    model = KernelTransformer(gamma=None).fit(X)
    assert_allclose(model.transform(new), rbf_kernel(new, X), rtol=1e-12)
    poly = KernelTransformer("poly", degree=2, gamma=0.5, coef0=2).fit(X)
    assert_allclose(poly.transform(new), polynomial_kernel(new, X, 2, 0.5, 2), rtol=1e-12)
    function = KernelTransformer(lambda A, B: A @ B.T).fit([*X])
    assert function.X_fit_[0] is not None
    assert model.score(X) == pytest.approx(1, abs=1e-8)
    assert model.score(new) < 1


@pytest.mark.oracle
def test_pipeline_is_the_support_vector_machine_with_the_kernel():
    sets, y = labelled_sets()
    kernel = Normalized(Intersection())
    through = make_pipeline(KernelTransformer(kernel), SVC(kernel="precomputed"))
    direct = SVC(kernel=kernel)
    assert_allclose(cross_val_score(through, sets, y), cross_val_score(direct, sets, y))
    assert cross_val_score(direct, sets, y).mean() > 0.7


@pytest.mark.oracle
def test_wrapped_samples_in_a_gaussian_process():
    X = bags()
    y = np.array([bag.mean() for bag in X])
    kernel = DerivedSubsets(RBF(1.0, (0.1, 10)), average=True)
    model = make_pipeline(SampleColumn(), GaussianProcessRegressor(kernel, alpha=0.1)).fit(
        X, y
    )
    fitted = model[-1].kernel_
    assert fitted.base_kernel.length_scale != 1.0
    K = fitted(X)
    assert_allclose(
        model.predict(X[:3]), K[:3] @ np.linalg.solve(K + 0.1 * np.eye(20), y), atol=1e-7
    )
    labels = (y > 0).astype(int)
    classes = make_pipeline(SampleColumn(), GaussianProcessClassifier(kernel)).fit(X, labels)
    assert classes.score(X, labels) > 0.8
    name = "gaussianprocessregressor__kernel__base_kernel__length_scale"
    search = GridSearchCV(model.set_params(**{"gaussianprocessregressor__optimizer": None}),
                          {name: [0.5, 2.0]}, cv=3)  # fmt: skip
    assert np.isfinite(search.fit(X, y).cv_results_["mean_test_score"]).all()


@pytest.mark.invariance
def test_containers_of_the_same_samples():
    sets, _ = labelled_sets(12)
    objects = np.empty(12, dtype=object)
    objects[:] = sets
    expected = KernelTransformer(PowerSet()).fit_transform(sets)
    for X in (tuple(sets), objects, pd.Series(sets), SampleColumn().fit_transform(sets)):
        model = KernelTransformer(PowerSet())
        assert_allclose(model.fit_transform(X), expected)
        assert_allclose(model.fit(X).transform(X), expected)
        assert_allclose(model.transform(X[:4]), expected[:4])


@pytest.mark.invariance
def test_fit_leaves_kernel_and_samples_alone():
    sets, _ = labelled_sets(12)
    before = list(sets)
    kernel = Normalized(Intersection())
    model = KernelTransformer(kernel).fit(sets)
    assert model.kernel_ is not kernel
    assert sets == before
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(sets), model.transform(sets))
    assert repr(clone(model).get_params()) == repr(model.get_params())
    X = np.eye(3)
    model = KernelTransformer("linear").fit(X)
    X[:] = 7
    assert_array_equal(model.transform(np.eye(3)), np.eye(3))


@pytest.mark.invariance
def test_names_of_outputs_and_columns():
    sets, _ = labelled_sets(6)
    frame = pd.DataFrame({"rights": sets, "age": np.arange(6.0)})
    columns = ColumnTransformer(
        [("k", KernelTransformer(Intersection()), "rights"), ("rest", "passthrough", ["age"])]
    ).set_output(transform="pandas")
    out = columns.fit_transform(frame)
    assert list(out.columns)[:2] == ["k__kerneltransformer0", "k__kerneltransformer1"]
    assert_allclose(out.iloc[:, :6], Intersection()(sets))


@pytest.mark.certificate
def test_a_cache_gives_the_same_answers_with_fewer_evaluations():
    sets, y = labelled_sets()
    grid = {"svc__C": [0.1, 1, 10, 100]}

    def search(cache):
        Counted.pairs = 0
        model = make_pipeline(
            KernelTransformer(Counted(), cache=cache), SVC(kernel="precomputed")
        )
        found = GridSearchCV(model, grid, cv=3).fit(sets, y)
        return found.cv_results_["mean_test_score"], Counted.pairs

    plain, many = search(None)
    cache = GramCache()
    cached, few = search(cache)
    assert_array_equal(cached, plain)
    assert few <= 60 * 60
    assert many > 8 * few
    assert cache.n_computed == few


@pytest.mark.certificate
def test_cache_values(seed):
    rng = np.random.default_rng(seed)
    sets, _ = labelled_sets(40, seed)
    cache = GramCache()
    kernel = PowerSet()

    for _ in range(15):
        A = [sets[i] for i in rng.integers(40, size=int(rng.integers(1, 12)))]
        B = [sets[i] for i in rng.integers(40, size=int(rng.integers(1, 12)))]
        assert_allclose(cache.values(kernel, A, B), kernel(A, B))

    assert cache.n_computed <= 40 * 40
    before = cache.n_computed
    known = cache.values(kernel, A, B)
    assert_array_equal(cache.values(kernel, B, A), known.T)  # the mirror image is known, too
    assert cache.n_computed == before

    other = cache.values(Intersection(), sets)
    assert_allclose(other, Intersection()(sets))

    full = [next(found for found in sets if found)]
    heavier = PowerSet({next(iter(full[0])): 3.0})
    assert cache.values(heavier, full)[0, 0] != cache.values(kernel, full)[0, 0]


@pytest.mark.invariance
def test_cache_is_shared_by_clones_and_threads_and_bounded():
    sets, _ = labelled_sets(30)
    cache = GramCache()
    assert clone(KernelTransformer(PowerSet(), cache=cache)).cache is cache
    assert copy.deepcopy(cache) is cache
    assert pickle.loads(pickle.dumps(cache)).n_computed == 0

    kernel = PowerSet()
    results = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(cache.values(kernel, sets[i:])))
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(len(K) for K in results) == list(range(23, 31))

    small = GramCache(max_bytes=100)
    assert_allclose(small.values(kernel, sets), kernel(sets))
    assert small._size() <= 100

    cache.clear()
    assert cache.n_computed == 0


@pytest.mark.recovery
def test_an_indefinite_similarity_of_bags_is_corrected_and_classified():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = [
        rng.normal(size=(int(k), 2)) + 2 * c
        for k, c in zip(rng.integers(1, 6, 60), y, strict=True)
    ]

    def hausdorff(A, B):
        gaps = [[np.linalg.norm(a[:, None] - b[None], axis=2) for b in B] for a in A]
        return np.array(
            [[max(g.min(axis=0).max(), g.min(axis=1).max()) for g in row] for row in gaps]
        )

    model = make_pipeline(
        KernelTransformer(DistanceKernel(hausdorff, gamma=0.1)),
        SpectrumCorrector("clip"),
        SVC(kernel="precomputed"),
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85
    ridge = make_pipeline(
        KernelTransformer(DerivedSubsets(RBF())), KernelRidge(kernel="precomputed")
    )
    assert np.isfinite(ridge.fit(X, y).predict(X)).all()


@pytest.mark.edge
@pytest.mark.parametrize("step", [KernelTransformer(Intersection()), SampleColumn()], ids=repr)
@pytest.mark.parametrize(
    ("error", "message", "X"),
    [
        (ValueError, "0 samples", []),
        (ValueError, "select one column", pd.DataFrame({"a": [{1}]})),
        (ValueError, "select one column", np.array([[{1}], [{2}]], dtype=object)),
        (TypeError, "collection of samples", "cat"),
        (TypeError, "collection of samples", 3),
    ],
    ids=["empty", "frame", "column", "string", "number"],
)
def test_rejects_other_collections(step, error, message, X):
    with pytest.raises(error, match=message):
        step.fit(X)


@pytest.mark.edge
def test_messages():
    with pytest.raises(ValueError, match="omit this step"):
        KernelTransformer("precomputed").fit(np.eye(2))
    with pytest.raises(ValueError, match="cannot be used with the kernel object"):
        KernelTransformer(RBF(), kernel_params={"a": 1}).fit(np.eye(2))
    with pytest.raises(ValueError, match="features"):
        KernelTransformer().fit(np.eye(2)).transform(np.eye(3))
    assert SampleColumn().transform([{1}]).shape == (1,)
