"""Evidence that KernelKMeans solves the problem it states."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.cluster import KernelKMeans
from skmoderndata.kernels import Intersection
from tests.oracles.kernel_k_means import best_of_all, objective, plain_loop


def blobs(seed, n=120, p=4, k=4):
    return make_blobs(n, p, centers=k, cluster_std=2.5, random_state=seed)[0]


def same_clusters(a, b):
    return adjusted_rand_score(a, b) == 1


@pytest.mark.oracle
def test_passes_match_the_plain_loop(seed):
    X = blobs(seed)
    K = rbf_kernel(X, gamma=0.03)
    start = np.random.default_rng(seed).integers(5, size=len(X))
    labels, reached = plain_loop(K, start, 5)
    model = KernelKMeans(5, gamma=0.03, init=start, local_search=False).fit(X)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, reached, rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_best_of_several_given_starts(solver, seed):
    X = blobs(seed)
    starts = np.random.default_rng(seed).integers(5, size=(6, len(X)))
    settings = {"gamma": 0.03, "local_search": False, "solver": solver}
    single = [KernelKMeans(5, init=start, **settings).fit(X) for start in starts]
    best = min(single, key=lambda model: model.inertia_)
    model = KernelKMeans(5, init=starts, **settings).fit(X)
    assert_array_equal(model.labels_, best.labels_)
    assert_allclose(model.inertia_, best.inertia_, rtol=1e-12)
    if solver == "exact":
        K = rbf_kernel(X, gamma=0.03)
        reached = min(plain_loop(K, start, 5)[1] for start in starts)
        assert_allclose(model.inertia_, reached, rtol=1e-10)
    assert model.relaxation_bound_ <= model.inertia_


@pytest.mark.invariance
def test_bound_is_computed_on_first_access(seed):
    X = blobs(seed)
    w = np.random.default_rng(seed).uniform(1.0, 2.0, size=len(X))
    model = KernelKMeans(4, gamma=0.1, n_init=2, random_state=seed)
    assert not hasattr(model, "relaxation_bound_")
    model.fit(X, sample_weight=w)
    assert "relaxation_bound_" not in vars(model)
    K = rbf_kernel(X, gamma=0.1)
    eager = KernelKMeans(4, kernel="precomputed", n_init=2).fit(K, sample_weight=w)
    assert "relaxation_bound_" in vars(eager)

    # the bound belongs to the fit: later parameters and a changed table have no influence
    model.set_params(n_clusters=2, gamma=0.05)
    stored = pickle.loads(pickle.dumps(model))
    X *= 1.5
    assert_allclose(model.relaxation_bound_, eager.relaxation_bound_, rtol=1e-8)
    assert_allclose(stored.relaxation_bound_, eager.relaxation_bound_, rtol=1e-8)

    # a further fit replaces it
    before = model.relaxation_bound_
    assert model.fit(X).relaxation_bound_ != before


@pytest.mark.oracle
def test_linear_kernel_is_k_means(seed):
    X = blobs(seed)
    start = X[np.random.default_rng(seed).choice(len(X), 5, replace=False)]
    primal = KMeans(5, init=start, n_init=1, tol=0).fit(X)
    model = KernelKMeans(5, kernel="linear", init=start, local_search=False).fit(X)
    assert_array_equal(model.labels_, primal.labels_)
    assert_allclose(model.inertia_, primal.inertia_, rtol=1e-10)
    new = blobs(seed + 100)
    assert_array_equal(model.predict(new), primal.predict(new))
    assert_allclose(model.transform(new), primal.transform(new), atol=1e-8)
    assert_allclose(model.dual_coef_ @ X, primal.cluster_centers_, atol=1e-10)
    low = KernelKMeans(5, kernel="linear", init=start, local_search=False, solver="low_rank")
    assert_array_equal(low.fit(X).labels_, primal.labels_)
    assert_allclose(low.inertia_, primal.inertia_, rtol=1e-8)
    assert_allclose(low.transform(new), primal.transform(new), atol=1e-8)


@pytest.mark.oracle
def test_weights_match_weighted_k_means(seed):
    X = blobs(seed)
    w = np.random.default_rng(seed).uniform(0.1, 3, size=120)
    start = X[:4]
    primal = KMeans(4, init=start, n_init=1, tol=0).fit(X, sample_weight=w)
    for solver in ("exact", "low_rank"):
        model = KernelKMeans(4, kernel="linear", init=start, local_search=False, solver=solver)
        model.fit(X, sample_weight=w)
        assert_array_equal(model.labels_, primal.labels_)
        assert_allclose(model.inertia_, primal.inertia_, rtol=1e-8)


@pytest.mark.oracle
def test_full_rank_features_give_the_exact_clustering(seed):
    X = blobs(seed, n=60)
    start = np.random.default_rng(seed).integers(3, size=60)
    exact = KernelKMeans(3, gamma=0.05, init=start, solver="exact").fit(X)
    low = KernelKMeans(3, gamma=0.05, init=start, solver="low_rank", max_rank=60).fit(X)
    assert_array_equal(exact.labels_, low.labels_)
    assert_allclose(exact.inertia_, low.inertia_, rtol=1e-8)
    assert_allclose(exact.relaxation_bound_, low.relaxation_bound_, rtol=1e-8)


@pytest.mark.certificate
def test_bound_is_below_every_clustering(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    w = rng.uniform(0.2, 2, size=8)
    K = rbf_kernel(X, gamma=0.5)
    for weights in (None, w):
        model = KernelKMeans(3, gamma=0.5, random_state=0).fit(X, sample_weight=weights)
        best = best_of_all(K, 3, weights)
        assert model.relaxation_bound_ <= best + 1e-12
        assert_allclose(model.inertia_, best, rtol=1e-9)
        assert_allclose(model.inertia_, objective(K, model.labels_, weights), rtol=1e-9)
    H = np.eye(8) - 1 / 8
    bound = np.linalg.eigvalsh(H @ K @ H)[:-2].sum()
    assert_allclose(KernelKMeans(3, gamma=0.5).fit(X).relaxation_bound_, bound, rtol=1e-8)


@pytest.mark.certificate
def test_bound_by_lanczos_is_valid_and_tight(seed):
    X = blobs(seed, n=500)
    K = rbf_kernel(X, gamma=0.02)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    exact = np.linalg.eigvalsh(K)[:-4].sum()
    found = KernelKMeans(5, gamma=0.02, init="spectral", random_state=seed).fit(X)
    # the bound is below the exact one by the residuals of Lanczos, at a tolerance of 1e-5
    assert exact * (1 - 1e-3) <= found.relaxation_bound_ <= exact * (1 + 1e-10)
    assert found.relaxation_bound_ <= found.inertia_


@pytest.mark.certificate
def test_low_rank_objective_and_bound_enclose_the_exact_ones(seed):
    X = blobs(seed)
    K = rbf_kernel(X, gamma=0.03)
    model = KernelKMeans(4, gamma=0.03, solver="low_rank", max_rank=15, random_state=seed).fit(
        X
    )
    exact = KernelKMeans(4, gamma=0.03, random_state=seed).fit(X)
    assert len(model.landmarks_) == 15
    assert objective(K, model.labels_) <= model.inertia_ + 1e-9
    assert model.relaxation_bound_ <= exact.relaxation_bound_ + 1e-9
    own = model.transform(X)
    assert_allclose((own.min(axis=1) ** 2).sum(), model.inertia_, rtol=1e-9)
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.certificate
def test_exchanges_end_if_no_single_move_helps(seed):
    X = blobs(seed, n=40)
    K = rbf_kernel(X, gamma=0.05)
    for solver in ("exact", "low_rank"):
        model = KernelKMeans(4, gamma=0.05, n_init=1, solver=solver, random_state=seed).fit(X)
        reached = objective(K, model.labels_)
        for i in range(40):
            for c in range(4):
                other = model.labels_.copy()
                other[i] = c
                assert objective(K, other) >= reached - 1e-8
        lloyd = model.set_params(local_search=False).fit(X).inertia_
        assert reached <= lloyd + 1e-9


@pytest.mark.recovery
def test_rings_are_separated_where_k_means_fails(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=200)
    radius = np.repeat([0.3, 3.0], 100) + 0.05 * rng.normal(size=200)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    truth = np.repeat([0, 1], 100)
    model = KernelKMeans(2, gamma=1.0, random_state=seed).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1
    new = 1.02 * X[::-1]
    assert adjusted_rand_score(truth[::-1], model.predict(new)) == 1
    primal = KMeans(2, n_init=5, random_state=seed).fit(X)
    assert adjusted_rand_score(truth, primal.labels_) < 0.5


@pytest.mark.paper
def test_criterion_is_not_the_sum_over_pairs():
    """Seven points for which the criteria of pairs and of means have different optima."""
    X = np.array([3.20, -1.32, -0.25, 0.42, 1.14, 0.11, -0.55])[:, None]
    model = KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    assert same_clusters(model.labels_, [1, 0, 0, 0, 0, 0, 0])
    assert_allclose(model.inertia_, best_of_all(X @ X.T, 2), rtol=1e-10)


@pytest.mark.invariance
def test_kernel_in_five_forms(seed):
    X = blobs(seed)
    start = np.random.default_rng(seed).integers(4, size=len(X))
    want = KernelKMeans(4, gamma=0.125, init=start).fit(X)
    K = rbf_kernel(X, gamma=0.125)
    precomputed = KernelKMeans(4, kernel="precomputed", init=start).fit(K)
    others = [
        KernelKMeans(4, kernel=RBF(2.0), init=start).fit(X),
        KernelKMeans(4, kernel=rbf_kernel, kernel_params={"gamma": 0.125}, init=start).fit(X),
        KernelKMeans(4, kernel="rbf", gamma=0.125, init=start).fit(sparse.csr_array(X)),
        precomputed,
    ]
    for model in others:
        assert_array_equal(model.labels_, want.labels_)
        assert_allclose(model.inertia_, want.inertia_, rtol=1e-10)
    new = blobs(seed + 1)
    assert_array_equal(precomputed.predict(rbf_kernel(new, X, gamma=0.125)), want.predict(new))


@pytest.mark.invariance
def test_blocks_of_kernel_rows_change_nothing(seed):
    from sklearn import config_context

    X = blobs(seed, n=150)
    settings = {"gamma": 0.05, "solver": "exact", "n_init": 2, "random_state": 0}
    stored = KernelKMeans(4, **settings).fit(X)
    with config_context(working_memory=0.05):  # this is 52 kB, and the matrix has 180 kB
        blocks = KernelKMeans(4, **settings).fit(X)
        assert KernelKMeans(4, n_init=1).fit(X).solver_ == "low_rank"
        assert_array_equal(blocks.predict(X), stored.labels_)
    assert_array_equal(blocks.labels_, stored.labels_)
    assert_allclose(blocks.inertia_, stored.inertia_, rtol=1e-10)
    assert blocks.relaxation_bound_ <= blocks.inertia_


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("scale", [1e300, 1e-30, 7.0])
def test_common_scale_of_weights_does_not_matter(solver, scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    w = rng.uniform(0.1, 2, size=40)
    model = KernelKMeans(3, solver=solver, random_state=0)
    one = clone(model).fit(X, sample_weight=w)
    other = clone(model).fit(X, sample_weight=scale * w)
    assert_array_equal(other.labels_, one.labels_)
    assert_allclose(other.transform(X), one.transform(X), rtol=1e-10)
    assert_allclose(other.inertia_, scale * one.inertia_, rtol=1e-10)
    assert_allclose(other.relaxation_bound_, scale * one.relaxation_bound_, rtol=1e-10)
    score = one.score(X, sample_weight=w)
    assert_allclose(other.score(X, sample_weight=scale * w), scale * score, rtol=1e-10)


@pytest.mark.invariance
def test_weight_two_counts_twice_and_weight_zero_not_at_all(seed):
    rng = np.random.default_rng(seed)
    X = blobs(seed, n=60)
    start = rng.integers(3, size=60)
    w = rng.integers(0, 3, size=60)
    copies = np.repeat(np.arange(60), w)
    for solver in ("exact", "low_rank"):
        model = KernelKMeans(3, gamma=0.05, init=start, solver=solver, local_search=False)
        weighted = model.fit(X, sample_weight=w)
        inertia = weighted.inertia_
        bound = weighted.relaxation_bound_
        labels = weighted.labels_
        repeated = model.set_params(init=start[copies]).fit(X[copies])
        assert_allclose(inertia, repeated.inertia_, rtol=1e-9)
        assert_allclose(bound, repeated.relaxation_bound_, rtol=1e-7)
        assert_array_equal(labels[copies], repeated.labels_)
        assert_array_equal(repeated.predict(X), labels)


@pytest.mark.invariance
def test_scale_of_kernel_and_row_order(seed):
    X = blobs(seed)
    start = np.random.default_rng(seed).integers(4, size=len(X))
    K = rbf_kernel(X, gamma=0.05)
    want = KernelKMeans(4, kernel="precomputed", init=start).fit(K)
    scaled = KernelKMeans(4, kernel="precomputed", init=start).fit(1e6 * K)
    assert_array_equal(scaled.labels_, want.labels_)
    assert_allclose(scaled.inertia_, 1e6 * want.inertia_, rtol=1e-10)
    turned = KernelKMeans(4, kernel="precomputed", init=start[::-1], local_search=False)
    plain = KernelKMeans(4, kernel="precomputed", init=start, local_search=False).fit(K)
    assert_array_equal(turned.fit(K[::-1, ::-1]).labels_[::-1], plain.labels_)


@pytest.mark.edge
def test_lists_of_sets():
    X = [{1, 2}, {1, 2, 3}, {2, 3}, {7, 8}, {7, 8, 9}, {8, 9}]
    model = KernelKMeans(2, kernel=Intersection(), random_state=0).fit(X)
    assert same_clusters(model.labels_, [0, 0, 0, 1, 1, 1])
    assert_array_equal(model.predict([{1, 3}, {7, 9}]), model.labels_[[0, 5]])


@pytest.mark.edge
def test_warns_if_fewer_places_than_clusters():
    X = np.repeat([[0.0, 0.0], [5.0, 1.0]], 6, axis=0)
    for solver in ("exact", "low_rank"):
        with pytest.warns(ConvergenceWarning, match="only 2 distinct samples"):
            model = KernelKMeans(3, gamma=0.1, solver=solver, random_state=0).fit(X)
        assert model.inertia_ < 1e-12
        assert_array_equal(model.predict(X), model.labels_)
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.edge
def test_each_sample_its_own_cluster_and_all_in_one():
    X = blobs(0, n=12)
    assert KernelKMeans(12, gamma=0.1, random_state=0).fit(X).inertia_ < 1e-12
    one = KernelKMeans(1, kernel="linear").fit(X)
    assert_allclose(one.inertia_, ((X - X.mean(axis=0)) ** 2).sum(), rtol=1e-10)
    assert_allclose(one.relaxation_bound_, one.inertia_, rtol=1e-10)


@pytest.mark.edge
def test_empty_clusters_of_the_start_are_filled(seed):
    X = blobs(seed)
    model = KernelKMeans(4, gamma=0.05, init=np.zeros(120, dtype=int)).fit(X)
    assert set(model.labels_) == {0, 1, 2, 3}


@pytest.mark.edge
def test_float32_and_threads(seed):
    X = blobs(seed)
    model = KernelKMeans(4, gamma=0.05, n_init=4, random_state=0).fit(X)
    threads = KernelKMeans(4, gamma=0.05, n_init=4, random_state=0, n_jobs=2).fit(X)
    assert_array_equal(threads.labels_, model.labels_)
    single = KernelKMeans(4, gamma=0.05, n_init=4, random_state=0).fit(X.astype(np.float32))
    # single precision of the input shows in the kernel values
    assert_allclose(single.inertia_, model.inertia_, rtol=1e-4)
    assert single.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.edge
def test_warns_if_stopped_early(seed):
    X = blobs(seed)
    start = np.random.default_rng(seed).integers(4, size=120)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = KernelKMeans(4, gamma=0.05, init=start, max_iter=1).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(4, gamma=0.05, init=start, tol=0.5).fit(X)


@pytest.mark.edge
def test_precomputed_similarities_suffice_for_a_score():
    X = blobs(0, n=20)
    K = X @ X.T
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(K)
    assert np.isfinite(model.score(K[:5]))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"n_samples=20 should be >= n_clusters=30",
            lambda X, K, model: KernelKMeans(30).fit(X),
        ),
        (
            r"n_samples=1 of positive weight should be >=",
            lambda X, K, model: KernelKMeans(2).fit(X, sample_weight=np.eye(20)[0]),
        ),
        (
            "one integer from 0 to",
            lambda X, K, model: KernelKMeans(2, init=np.zeros(7, dtype=int)).fit(X),
        ),
        (
            "init has labels from 0 to 5",
            lambda X, K, model: KernelKMeans(2, init=np.full(20, 5) * (np.arange(20) > 3)).fit(
                X
            ),
        ),
        (
            r"init has shape \(2, 9\), but must have \(2, 4\)",
            lambda X, K, model: KernelKMeans(2, init=np.zeros((2, 9))).fit(X),
        ),
        (
            "labels from 0 to 2",
            lambda X, K, model: KernelKMeans(
                2, init=np.full((3, 20), 2) * (np.arange(20) > 3)
            ).fit(X),
        ),
        (
            "needs the square matrix",
            lambda X, K, model: KernelKMeans(2, kernel="precomputed").fit(X),
        ),
        (
            "not symmetric",
            lambda X, K, model: KernelKMeans(2, kernel="precomputed").fit(
                K + np.triu(np.ones((20, 20)), 1)
            ),
        ),
        ("values of new samples with themselves", lambda X, K, model: model.transform(K[:5])),
    ],
)
def test_messages(message, call):
    X = blobs(0, n=20)
    K = X @ X.T
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(K)
    with pytest.raises(ValueError, match=message):
        call(X, K, model)


@pytest.mark.invariance
def test_samples_without_weight_in_a_precomputed_matrix(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    w = rng.integers(0, 3, 60).astype(float)
    assert not w.all()
    vectors = KernelKMeans(3, gamma=0.2, random_state=seed).fit(X, sample_weight=w)
    matrix = KernelKMeans(3, kernel="precomputed", random_state=seed)
    matrix.fit(rbf_kernel(X, gamma=0.2), sample_weight=w)
    assert_array_equal(matrix.labels_, vectors.labels_)
    assert_allclose(matrix.inertia_, vectors.inertia_, rtol=1e-10)
    assert_allclose(matrix.relaxation_bound_, vectors.relaxation_bound_, rtol=1e-8)
