"""Evidence that NeuralGas solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from skmoderndata._solvers.dictionaries.neural_gas import (
    batch_neural_gas,
    batch_pass,
    distinct_rows,
    moved_unit,
    nearest_units,
    online_neural_gas,
    rank_units,
    ranked_distances,
    sparse_coding_gas,
    squared_distances,
    squared_norms,
)
from skmoderndata.cluster import NeuralGas
from tests.oracles import neural_gas as oracle


def blobs(seed, n_blobs=6, size=40, p=3, spread=0.15):
    rng = np.random.default_rng(seed)
    places = rng.permutation(np.stack(np.meshgrid(*[[0, 2, 4]] * p), -1).reshape(-1, p))[
        :n_blobs
    ]
    X = np.concatenate([rng.normal(place, spread, (size, p)) for place in places])
    return X, np.repeat(np.arange(n_blobs), size), places.astype(float)


@pytest.mark.oracle
@pytest.mark.parametrize("width", [0.05, 0.4, 3.0, 20.0])
def test_a_pass_matches_plain_loops(width, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4))
    w = rng.uniform(size=50)
    C = rng.normal(size=(13, 4))
    new, value = batch_pass(X, squared_norms(X), w, C, width)
    assert_allclose(value, oracle.objective(X, w, C, width), rtol=1e-9)
    if width > 1:  # otherwise the loops divide by nearly zero
        assert_allclose(new, oracle.batch_pass(X, w, C, width), rtol=1e-8)
    S = sparse.csr_array(np.where(X > 0, X, 0))
    assert_allclose(
        batch_pass(S, squared_norms(S), w, C, width)[0],
        batch_pass(S.toarray(), squared_norms(S), w, C, width)[0],
        rtol=1e-9,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("most", [1, 3, 20])
def test_ranks_match_a_full_sort_with_ties_by_index(most, seed):
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(30, 20))
    D[:, 7] = D[:, 2]  # create ties
    D[3] = 0
    expected = np.argsort(D, axis=1, kind="stable")[:, :most]
    assert_array_equal(rank_units(D.copy(), most), expected)


@pytest.mark.oracle
def test_distances_match_differences(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 4))
    C = rng.normal(size=(7, 4))
    expected = np.sum((X[:, None] - C) ** 2, axis=2)
    assert_allclose(squared_distances(X, squared_norms(X), C), expected, atol=1e-12)
    S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    S.data[:] = 1.5
    assert_allclose(squared_norms(S), np.sum(S.toarray() ** 2, axis=1))


@pytest.mark.oracle
@pytest.mark.parametrize("k", [3, 40])
def test_online_steps_match_plain_loops(k, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    C = rng.normal(size=(k, 3))
    order = rng.integers(60, size=200)
    given = {"widths": (5.0, 0.01), "rates": (0.5, 0.005)}
    found = online_neural_gas(X, order, np.ones(60), C, step=0, n_steps=200, **given)
    expected = oracle.online(X, order, C, 200, *given.values())
    assert_allclose(found, expected, atol=1e-4)  # strengths below 1e-6 are omitted
    half = online_neural_gas(X, order[:100], np.ones(60), C, step=0, n_steps=200, **given)
    rest = online_neural_gas(X, order[100:], np.ones(60), half, step=100, n_steps=200, **given)
    assert_allclose(rest, found, atol=1e-12)


@pytest.mark.oracle
def test_sparse_coding_gas_matches_plain_loops(seed):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(12, 6))
    D = rng.normal(size=(9, 6))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    # the range is so wide that all ranks count
    given = {"widths": (20.0, 4.0), "rates": (0.1, 0.01)}
    found = sparse_coding_gas(
        X, D, n_nonzero=3, n_steps=24, rng=np.random.RandomState(seed), **given
    )
    rounds = np.random.RandomState(seed)
    order = np.concatenate([rounds.permutation(12) for _ in range(2)])
    scale = 1 / np.sqrt(np.mean(np.sum(X**2, axis=1)))
    assert_allclose(
        found, oracle.sparse_coding_gas(X, order, D, 3, scale, *given.values()), atol=1e-9
    )


@pytest.mark.certificate
@pytest.mark.parametrize("width", [0.1, 1.0, 4.0])
def test_for_a_fixed_range_the_objective_never_rises(width, seed):
    X = blobs(seed)[0]
    C = X[np.random.default_rng(seed).choice(len(X), 9, replace=False)]
    gas = batch_neural_gas(
        X, np.ones(len(X)), C, width=width, last_width=width, max_iter=25, polish=0
    )
    assert (np.diff(gas.objective) <= 1e-12 * gas.objective[0]).all()
    assert gas.objective[-1] < gas.objective[0]


@pytest.mark.certificate
def test_result_is_a_fixed_point_of_k_means(seed):
    X = blobs(seed, spread=1.0)[0]
    model = NeuralGas(7, random_state=seed).fit(X)
    for j in range(7):
        assert_allclose(
            model.cluster_centers_[j], X[model.labels_ == j].mean(axis=0), atol=1e-12
        )
    again = KMeans(7, init=model.cluster_centers_, n_init=1, tol=0).fit(X)
    assert_allclose(again.inertia_, model.inertia_, rtol=1e-12)
    assert_allclose(model.score(X), -model.inertia_, rtol=1e-12)
    assert_array_equal(again.labels_, model.labels_)


@pytest.mark.recovery
@pytest.mark.parametrize("algorithm", ["batch", "online"])
def test_single_starts_miss_fewer_clusters_than_those_of_k_means(algorithm, seed):
    X, y, _ = blobs(seed, n_blobs=10)
    given = {"n_clusters": 10, "algorithm": algorithm, "max_iter": 60}
    published = [NeuralGas(**given, polish=False, random_state=s).fit(X) for s in range(10)]
    theirs = [KMeans(10, init="random", n_init=1, random_state=s).fit(X) for s in range(10)]
    assert np.mean([m.inertia_ for m in published]) < np.mean([m.inertia_ for m in theirs])
    for s in range(4):
        labels = NeuralGas(**given, random_state=s).fit(X).labels_
        assert adjusted_rand_score(y, labels) == 1


@pytest.mark.oracle
def test_the_unit_that_is_missed_least_goes_to_the_largest_error(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    C = rng.normal(size=(6, 3))
    w = rng.uniform(size=40)
    own = squared_norms(X)
    near = nearest_units(X, own, C)
    D = np.sum((X[:, None] - C) ** 2, axis=2)
    assert_array_equal(near.second, np.argsort(D, axis=1)[:, 1])
    assert_allclose(near.to_second, np.sort(D, axis=1)[:, 1])
    without = [w @ np.delete(D, j, axis=1).min(axis=1) - w @ D.min(axis=1) for j in range(6)]
    error = np.bincount(D.argmin(axis=1), weights=w * D.min(axis=1), minlength=6)
    target = int(np.argmax(error))
    without[target] = np.inf
    moved = moved_unit(X, w, C, near)
    changed = np.flatnonzero((moved != C).any(axis=1))
    assert_array_equal(changed, np.sort([target, np.argmin(without)]))
    assert_allclose(moved[changed].mean(axis=0), C[target])
    few = moved_unit(sparse.csr_array(X), w, C, near)
    assert_allclose(few, moved)


@pytest.mark.recovery
def test_the_graph_matches_the_shape(seed):
    """Units along a circle are joined in a ring: each to two others."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    model = NeuralGas(12, random_state=seed).fit(X)
    joined = model.adjacency_.toarray() > 0
    assert_array_equal(joined.sum(axis=1), 2)
    assert_allclose(model.adjacency_.sum(), 2 * 4000)
    assert (joined == joined.T).all()
    assert sparse.csgraph.connected_components(model.adjacency_)[0] == 1


@pytest.mark.recovery
def test_a_stream_ends_near_the_batch_and_follows_a_drift(seed):
    X = np.random.default_rng(seed).uniform(size=(1500, 2))
    stream = NeuralGas(12, online_steps=6000, random_state=seed)
    for t in range(20):
        stream.partial_fit(X[75 * t : 75 * t + 75])
    for t in range(4):
        stream.partial_fit(X[: 1499 + t % 2])
    assert stream.n_steps_ == 1500 + 4 * 1499 + 2
    assert stream.n_iter_ == 24
    batch = NeuralGas(12, random_state=seed).fit(X)
    assert -stream.score(X) < 1.2 * batch.inertia_
    # units that win nothing follow a drift only if the range stays above zero
    drifting = NeuralGas(12, online_steps=3000, final_neighborhood=1.0, random_state=seed)
    for shift in np.linspace(0, 1, 40):
        drifting.partial_fit(X + shift)
    assert -drifting.score(X + 1) < 1.6 * batch.inertia_
    assert -drifting.score(X) > 5 * batch.inertia_


@pytest.mark.oracle
def test_a_step_of_weight_two_is_two_steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1, 3))
    C = rng.normal(size=(5, 3)) + 3
    C[0] = X[0] + 0.5  # the same unit wins both steps
    given = {"step": 0, "n_steps": 10**9, "widths": (0.01, 0.01), "rates": (0.3, 0.3)}
    heavy = online_neural_gas(X, np.array([0]), np.array([2.0]), C, **given)
    twice = online_neural_gas(X, np.array([0, 0]), np.ones(1), C, **given)
    assert_allclose(heavy, twice, rtol=1e-12)


@pytest.mark.invariance
def test_order_weights_threads_dtype_and_sparse_input_agree(seed):
    X = blobs(seed, spread=0.5)[0]
    X[X < 0.5] = 0
    given = {"n_clusters": 5, "n_init": 3, "max_iter": 30, "random_state": seed}
    model = NeuralGas(**given).fit(X)

    threads = NeuralGas(**given, n_jobs=2).fit(X)
    assert_array_equal(threads.cluster_centers_, model.cluster_centers_)
    shuffled = NeuralGas(**given).fit(X[np.random.default_rng(seed).permutation(len(X))])
    assert_allclose(shuffled.cluster_centers_, model.cluster_centers_, atol=1e-9)

    # weights are equivalent to repetition
    w = np.random.default_rng(seed).integers(0, 3, len(X))
    weighted = NeuralGas(**given).fit(X, sample_weight=w)
    repeated = NeuralGas(**given).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-9)
    assert_allclose(weighted.inertia_, repeated.inertia_)

    # compare with sparse input
    start = model.cluster_centers_ + 0.1
    given = {"n_clusters": 5, "init": start, "max_iter": 30}
    dense = NeuralGas(**given).fit(X)
    S = sparse.csr_array(X)
    few = NeuralGas(**given).fit(S)
    assert_allclose(few.cluster_centers_, dense.cluster_centers_, atol=1e-9)
    assert_array_equal(few.predict(S), dense.predict(X))
    assert_allclose(few.transform(S), dense.transform(X), atol=1e-7)

    single = NeuralGas(**given).fit(X.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    # compare with single precision
    assert_allclose(single.inertia_, dense.inertia_, rtol=1e-3)


@pytest.mark.invariance
def test_grid_search_uses_the_score(seed):
    X = np.random.default_rng(seed).permutation(blobs(seed)[0])
    search = GridSearchCV(
        NeuralGas(random_state=seed, max_iter=20), {"n_clusters": [2, 6]}, cv=3
    )
    assert search.fit(X).best_params_ == {"n_clusters": 6}


@pytest.mark.edge
def test_edge_cases(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    each = NeuralGas(8, init=X, neighborhood=0.1).fit(X)
    assert_allclose(each.inertia_, 0, atol=1e-12)

    one = NeuralGas(1, random_state=seed).fit(X)
    assert_allclose(one.cluster_centers_[0], X.mean(axis=0))
    assert one.adjacency_.nnz == 0

    with pytest.warns(ConvergenceWarning, match="only 1 distinct samples"):
        same = NeuralGas(3, random_state=seed).fit(np.ones((5, 2)))
    assert_allclose(same.cluster_centers_, 1)
    # if the range is small, far units that no sample comes near do not move
    far = np.concatenate([X[:2], np.full((1, 3), 1e3)])
    dead = NeuralGas(3, init=far, neighborhood=0.02, polish=False).fit(X)
    assert_array_equal(dead.cluster_centers_[2], far[2])

    empty = sparse.csr_array((6, 4))
    with pytest.warns(ConvergenceWarning, match="lower n_clusters"):
        zeros = NeuralGas(2, random_state=seed).fit(empty)
    assert_allclose(zeros.cluster_centers_, 0)

    online = NeuralGas(
        3, algorithm="online", max_iter=5, n_init=2, polish=False, random_state=seed
    ).fit(X, sample_weight=np.arange(8))
    assert np.isfinite(online.cluster_centers_).all()
    assert online.n_steps_ == 5 * 7


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("n_samples=8 should be >= n_clusters=9", lambda X, one: NeuralGas(9).fit(X)),
        (r"init has shape \(2, 2\)", lambda X, one: NeuralGas(2, init=np.ones((2, 2))).fit(X)),
        (
            "needs dense X",
            lambda X, one: NeuralGas(2, algorithm="online").fit(sparse.csr_array(X)),
        ),
        (
            "partial_fit needs dense X",
            lambda X, one: NeuralGas(2).partial_fit(sparse.csr_array(X)),
        ),
        ("between 1e-100 and 1e100", lambda X, one: one.predict(sparse.csr_array(1e150 * X))),
        (
            "Negative values in data passed to `sample_weight`",
            lambda X, one: one.score(X, sample_weight=-np.ones(8)),
        ),
    ],
)
def test_bad_input_is_rejected(seed, message, call):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    one = NeuralGas(1, random_state=seed).fit(X)
    with pytest.raises(ValueError, match=message):
        call(X, one)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ["batch", "online"])
def test_units_scale_with_the_samples(algorithm, seed):
    X = np.random.default_rng(seed).normal(size=(60, 4))
    given = {"algorithm": algorithm, "max_iter": 20, "random_state": seed}
    model = NeuralGas(5, **given).fit(X)
    for scale in (2.0**-250, 2.0**250):
        scaled = NeuralGas(5, **given).fit(scale * X)
        assert_allclose(scaled.cluster_centers_, scale * model.cluster_centers_, rtol=1e-9)
        assert_array_equal(scaled.labels_, model.labels_)


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["batch", "online"])
@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 3e4), (np.float64, 1e8)])
def test_offset_changes_neither_labels_nor_distances(algorithm, dtype, offset, seed):
    rng = np.random.default_rng(seed)
    places = 6 * np.linalg.qr(rng.normal(size=(8, 8)))[0][:5]
    y = np.repeat(np.arange(5), 100)
    X = (places[y] + rng.normal(size=(500, 8)) * 0.5 + offset).astype(dtype)
    model = NeuralGas(5, algorithm=algorithm, max_iter=30, random_state=seed).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    C = model.cluster_centers_.astype(np.float64)
    true = np.linalg.norm(X.astype(np.float64)[:, None] - C, axis=2)
    assert_array_equal(model.labels_, true.argmin(axis=1))
    assert_array_equal(model.predict(X[:7]), model.labels_[:7])
    assert_allclose(model.transform(X), true, rtol=1e-6)
    assert_allclose(model.inertia_, np.sum(true.min(axis=1) ** 2), rtol=1e-8)
    assert_allclose(model.score(X), -model.inertia_, rtol=1e-8)


@pytest.mark.oracle
def test_small_distances_far_from_zero_match_differences(seed):
    """Where squares cancel: two groups far apart, and sparse rows, which are not centred."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 4)) + np.where(np.arange(20) < 10, 1e9, -1e9)[:, None]
    C = np.concatenate([X[:3] + rng.normal(size=(3, 4)), X[18:]])
    expected = np.sum((X[:, None] - C) ** 2, axis=2)
    assert_allclose(squared_distances(X, squared_norms(X), C), expected, rtol=1e-9)
    S = sparse.csr_array(np.where(rng.uniform(size=X.shape) < 0.5, X, 0))
    near = S.toarray()[:5] + 0.25
    expected = np.sum((S.toarray()[:, None] - near) ** 2, axis=2)
    assert_allclose(squared_distances(S, squared_norms(S), near), expected, rtol=1e-9)


@pytest.mark.invariance
def test_handles_large_single_precision_and_small_sparse_values(seed):
    X = np.random.default_rng(seed).normal(size=(60, 4)).astype(np.float32)
    given = {"n_clusters": 5, "max_iter": 20, "random_state": seed}
    model = NeuralGas(**given).fit(X)
    for scale in (2.0**40, 2.0**-100):
        scaled = NeuralGas(**given).fit(np.float32(scale) * X)
        assert_allclose(scaled.cluster_centers_, scale * model.cluster_centers_, rtol=1e-6)
        assert_array_equal(scaled.labels_, model.labels_)
        assert_allclose(scaled.inertia_, scale**2 * model.inertia_, rtol=1e-6)
    S = sparse.csr_array(np.where(X > 0, X, 0).astype(np.float64))
    few = NeuralGas(**given).fit(S)
    small = NeuralGas(**given).fit(2.0**-50 * S)
    assert_array_equal(small.labels_, few.labels_)


@pytest.mark.oracle
def test_distinct_sparse_rows_have_the_order_of_dense_rows(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        X = rng.integers(-2, 3, size=rng.integers(1, (30, 6))).astype(float)
        X *= rng.random() < 0.95
        rows = distinct_rows(sparse.csr_array(X))
        assert_array_equal(X[rows], np.unique(X, axis=0))


@pytest.mark.invariance
def test_sparse_and_dense_samples_give_the_same_units(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(60, 4)) < 0.6, rng.normal(size=(60, 4)), 0)
    given = {"n_clusters": 5, "max_iter": 20, "random_state": seed}
    dense = NeuralGas(**given).fit(X)
    few = NeuralGas(**given).fit(sparse.coo_array(X))
    assert_allclose(few.cluster_centers_, dense.cluster_centers_, atol=1e-10)
    assert_array_equal(few.labels_, dense.labels_)


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e300, 1e-30, 7.0])
def test_common_scale_of_weights_does_not_matter(scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    w = rng.uniform(0.1, 2, size=60)
    given = {"n_clusters": 5, "max_iter": 20, "random_state": seed}
    one = NeuralGas(**given).fit(X, sample_weight=w)
    other = NeuralGas(**given).fit(X, sample_weight=scale * w)
    assert_allclose(other.cluster_centers_, one.cluster_centers_, atol=1e-10)
    assert one.objective_ == one.objective_history_[-1]
    for name in ("inertia_", "objective_", "objective_history_"):
        assert_allclose(getattr(other, name), scale * getattr(one, name), rtol=1e-10)
    assert_allclose(other.adjacency_.toarray(), scale * one.adjacency_.toarray(), rtol=1e-10)


@pytest.mark.invariance
def test_repeated_entries_of_a_sparse_array_are_summed(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(
        np.where(rng.uniform(size=(60, 4)) < 0.6, rng.normal(size=(60, 4)), 0)
    )
    parts = np.stack([0.25 * X.data, 0.75 * X.data], axis=1).ravel()
    repeated = sparse.csr_array((parts, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    given = {"n_clusters": 5, "max_iter": 20, "random_state": seed}
    model = NeuralGas(**given).fit(X)
    other = NeuralGas(**given).fit(repeated)
    assert repeated.nnz == 2 * X.nnz  # the input is unchanged
    assert_allclose(other.inertia_, model.inertia_)
    assert_allclose(other.transform(repeated), model.transform(X), atol=1e-12)
    assert_allclose(model.score(repeated), -model.inertia_)


class Watch:
    """Callback that counts passes, and asks to stop at one of them."""

    def __init__(self, at=None):
        self.at = at
        self.passes = 0
        self.lines = 0

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing is held."""

    def on_fit_task_begin(self, estimator, context):
        """Count the tasks that are open."""
        self.lines += 1

    def on_fit_task_end(self, estimator, context):
        """Count the passes."""
        self.lines -= 1
        self.passes += context.parent is not None
        return self.passes == self.at


@pytest.mark.newest
@pytest.mark.edge
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("algorithm", ["batch", "online"])
def test_callbacks_see_all_passes_and_can_stop_all_starts(algorithm, n_jobs, seed):
    X = blobs(seed)[0]
    given = {"n_clusters": 4, "algorithm": algorithm, "n_init": 3, "max_iter": 7}
    given |= {"n_jobs": n_jobs, "random_state": seed}
    watch = Watch()
    model = NeuralGas(**given).set_callbacks(watch).fit(X)
    assert watch.passes == 3 * 7
    assert watch.lines == 0
    plain = NeuralGas(**given).fit(X)
    assert_array_equal(plain.cluster_centers_, model.cluster_centers_)
    stop = Watch(at=2)
    stopped = NeuralGas(**given).set_callbacks(stop).fit(X)
    assert stop.passes <= 1 + n_jobs  # each running start completes its pass
    assert stopped.n_iter_ <= 2
    assert stopped.n_steps_ == (stopped.n_iter_ * len(X) if algorithm == "online" else 0)
    assert np.isfinite(stopped.cluster_centers_).all()


@pytest.mark.oracle
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_ranks_in_one_pass_are_those_of_sorted_distances(count, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4)) + 3.0
    centers = np.vstack([X[:5], rng.normal(size=(7, 4)) + 3.0, X[3:4]])  # with ties and zeros
    norms_sq = squared_norms(X)
    ranked, near = ranked_distances(X, norms_sq, centers, count)
    distances = squared_distances(X, norms_sq, centers)
    assert_array_equal(ranked, rank_units(distances.copy(), count))
    assert_allclose(near, np.take_along_axis(distances, ranked, axis=1), rtol=1e-12)
