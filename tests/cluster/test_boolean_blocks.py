"""Evidence that Boolean clusters of a table in blocks match the table in memory."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata.cluster import BooleanKMeans, MultiAssignmentClustering
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
Delayed = pytest.importorskip("dask.delayed").Delayed

CUTS = [(600,), (1, 599), (200, 0, 1, 399), (50,) * 12]


def access(n=600, p=24, k=4, noise=0.1, seed=0):
    """Rows that are unions of up to two of k sources, with noise."""
    rng = np.random.default_rng(seed)
    sources = np.arange(p) % k == np.arange(k)[:, None]
    memberships = rng.uniform(size=(n, k)) < 0.4
    X = (memberships @ sources.astype(float)) > 0
    noisy = rng.uniform(size=X.shape) < noise
    return np.where(noisy, rng.uniform(size=X.shape) < 0.5, X)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


def model(**parameters):
    given = {"n_clusters": 4, "n_init": 2, "random_state": 0, **parameters}
    return MultiAssignmentClustering(**given)


def assert_same_model(one, other, rtol=1e-6):
    assert_array_equal(one.components_, other.components_)
    for name in ("epsilon_", "noise_rate_", "log_likelihood_"):
        # the E-step multiplies in single precision
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, err_msg=name)
    assert_allclose(one.emission_proba_, other.emission_proba_, atol=rtol)


@pytest.mark.few(3)
@pytest.mark.invariance
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
def test_dask_array_gives_the_model_of_the_table(lengths, scheduler, no_whole_table):
    X = access()
    with dask.config.set(scheduler=scheduler):
        lazy = model().fit(in_dask(X, lengths))
    assert_same_model(lazy, model().fit(X))
    assert lazy.n_features_in_ == 24


@pytest.mark.invariance
def test_one_block_gives_the_same_bits():
    X = access()
    lazy = model().fit(in_dask(X, (600,)))
    here = model().fit(X)
    assert lazy.log_likelihood_ == here.log_likelihood_
    assert lazy.epsilon_ == here.epsilon_
    assert lazy.n_iter_ == here.n_iter_


@pytest.mark.invariance
@pytest.mark.parametrize(
    "parameters",
    [
        {"noise": "flip", "max_assignments": 1},
        {"refit": False},
        {"algorithm": "pruned", "n_clusters": 5},
        {"n_jobs": 2},
        {"allow_empty": False, "noise": None},
    ],
    ids=str,
)
def test_parameters_mean_the_same(parameters):
    X = access(2200)  # there are more rows than the annealing samples
    lengths = (700, 1, 299, 1200)
    lazy = model(**parameters).fit(in_dask(X, lengths))
    # rounding decides about rows that two sets explain equally well; these rows change the counts
    # from which the noise is estimated
    assert_same_model(lazy, model(**parameters).fit(X), rtol=1e-5)


@pytest.mark.invariance
def test_handles_missing_bits_in_some_blocks():
    X = access().astype(float)
    X[450:460, :3] = np.nan
    assert_same_model(model().fit(in_dask(X, (200, 200, 200))), model().fit(X))


@pytest.mark.invariance
def test_sparse_blocks():
    X = access()
    rows = in_dask(X.astype(float), (200, 400)).map_blocks(sparse.csr_array)
    assert_same_model(model().fit(rows), model().fit(X))


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_table_on_disk(kind, tmp_path, monkeypatch):
    X = access(5000).astype(float)
    limit = 2000 * X[0].nbytes  # the limit includes the sampled rows
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    fitted = model().fit(rows)
    here = model().fit(X)
    # rounding decides about rows that two sets explain equally well
    assert_same_model(fitted, here, rtol=1e-5)
    assert_array_equal(fitted.assignments_, here.assignments_)


def test_rows_are_not_kept(no_whole_table):
    X = access()
    fitted = model().fit(in_dask(X, (200, 400)))
    with pytest.raises(AttributeError, match=r"assignments_.*predict\(X\)"):
        _ = fitted.assignments_
    assert not hasattr(fitted, "assignments_")
    again = pickle.loads(pickle.dumps(fitted))
    assert not any("dask" in type(value).__module__ for value in vars(again).values())
    assert_array_equal(again.predict(X), model().fit(X).assignments_)
    assert "components_" not in vars(clone(fitted))
    assert fitted.fit(X).assignments_.shape == (600, 4)
    with pytest.raises(AttributeError, match="no attribute 'labels_'"):
        _ = fitted.labels_
    with pytest.raises(AttributeError, match="no attribute 'assignments_'"):
        _ = model().assignments_


def test_results_are_lazy():
    X = access()
    rows = in_dask(X, (200, 400))
    fitted = model().fit(rows)
    memberships = fitted.fit_transform(rows)
    assert isinstance(memberships, da.Array)
    assert_array_equal(memberships.compute(), fitted.predict(X))
    assert_allclose(fitted.predict_proba(rows).compute(), fitted.predict_proba(X), atol=1e-12)


def test_no_result_is_larger_than_twice_a_block(monkeypatch):
    """What reaches the driver are counts for the assignment sets, whatever the rows."""
    X = access(6000)
    block = 1500 * 24 * 8
    sizes = []
    compute = Delayed.compute

    def noted(self, **options):
        result = compute(self, **options)
        sizes.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(Delayed, "compute", noted)
    model(n_init=1).fit(in_dask(X.astype(float), (1500,) * 4))
    BooleanKMeans(4, n_init=1, random_state=0).fit(in_dask(X.astype(float), (1500,) * 4))
    assert len(sizes) > 20
    assert max(sizes) < 2 * block


def test_data_frame_gives_names():
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(access().astype(int), columns=[f"right {i}" for i in range(24)])
    fitted = model().fit(dataframe.from_pandas(X, npartitions=3))
    assert_array_equal(fitted.feature_names_in_, X.columns)
    assert_same_model(fitted, model().fit(X))


def in_blocks_of_numbers(change):
    X = access().astype(float)
    change(X)
    return in_dask(X, (200, 400))


@pytest.mark.edge
def test_error_names_bad_row():
    def spoil(X):
        X[450, 1] = np.inf
        X[300, 2] = -np.inf

    with pytest.raises(ValueError, match="contains infinity in row 300"):
        model().fit(in_blocks_of_numbers(spoil))


@pytest.mark.edge
def test_numbers_out_of_range_are_rejected():
    def spoil(X):
        X[450, 1] = 1e200

    with pytest.raises(ValueError, match=r"rows of X from 200 on.*magnitude 1.0e\+200"):
        model().fit(in_blocks_of_numbers(spoil))


@pytest.mark.edge
def test_warns_about_the_default_threshold():
    def spread(X):
        X[450] = np.linspace(0, 1, 24)

    rows = in_blocks_of_numbers(spread)
    with pytest.warns(
        UserWarning, match="more than two values, and threshold was left"
    ) as one:
        model().fit(rows)
    with pytest.warns(UserWarning, match="more than two values") as other:
        model().fit(rows.compute())
    assert str(one[0].message) == str(other[0].message)
    with pytest.raises(ValueError, match=r"rows of X from 200 on.*needs 0 and 1 only"):
        model(threshold=None).fit(rows)


@pytest.mark.edge
def test_rejects_other_tables():
    X = in_dask(access(), (200, 400))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model().fit(X[:, 0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model().fit(X[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        model().fit(X[:, :0])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model().fit(X[X[:, 0]])
    with pytest.raises(ValueError, match="Complex data"):
        model().fit(X * 1j)
    with pytest.raises(ValueError, match="refine='gibbs'"):
        model(refine="gibbs").fit(X)
    with pytest.raises(TypeError, match="partial_fit with one block after the other"):
        model().partial_fit(X)


@pytest.mark.edge
def test_failed_fit_changes_nothing():
    X = access()
    fitted = model().fit(X)
    before = fitted.log_likelihood_

    def spoil(X):
        X[300, 2] = np.inf

    with pytest.raises(ValueError, match="row 300"):
        fitted.fit(in_blocks_of_numbers(spoil))
    assert fitted.log_likelihood_ == before
    assert fitted.assignments_.shape == (600, 4)


def assert_same_centers(one, other):
    assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.inertia_ == other.inertia_
    assert one.reconstruction_err_ == other.reconstruction_err_
    assert one.n_iter_ == other.n_iter_


@pytest.mark.invariance
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
def test_boolean_k_means_does_not_depend_on_the_cuts(lengths, init, seed, no_whole_table):
    X = access(seed=seed)
    clusters = BooleanKMeans(7, init=init, n_init=2, random_state=seed)
    rows = in_dask(X, lengths)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            assert_same_centers(clone(clusters).fit(rows), clone(clusters).fit(X))


@pytest.mark.invariance
def test_boolean_k_means_from_given_centres():
    X = access()
    clusters = BooleanKMeans(3, init=X[:3])
    assert_same_centers(clone(clusters).fit(in_dask(X, (200, 400))), clone(clusters).fit(X))


@pytest.mark.edge
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_boolean_k_means_with_empty_clusters(init):
    X = np.repeat(np.eye(4, 20, dtype=bool), [30, 20, 1, 1], axis=0)
    clusters = BooleanKMeans(6, init=init, n_init=3, random_state=0)
    lazy = clone(clusters).fit(in_dask(X, (25, 1, 26)))
    assert_same_centers(lazy, clone(clusters).fit(X))
    far = BooleanKMeans(3, init=np.ones((3, 20), bool))  # two of the clusters get no row
    assert_same_centers(clone(far).fit(in_dask(X, (25, 1, 26))), clone(far).fit(X))


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_boolean_k_means_of_a_table_on_disk(kind, tmp_path, monkeypatch):
    X = access()
    limit = 100 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    fitted = BooleanKMeans(4, random_state=0).fit(rows)
    here = BooleanKMeans(4, random_state=0).fit(X)
    assert_same_centers(fitted, here)
    assert_array_equal(fitted.labels_, here.labels_)
    assert_array_equal(fitted.assignments_, here.assignments_)


def test_labels_of_a_dask_array_are_predicted(no_whole_table):
    X = access()
    rows = in_dask(X, (200, 400))
    fitted = BooleanKMeans(4, random_state=0).fit(rows)
    with pytest.raises(AttributeError, match=r"labels_.*predict\(X\)"):
        _ = fitted.labels_
    with pytest.raises(AttributeError, match=r"assignments_.*transform\(X\)"):
        _ = fitted.assignments_
    labels = BooleanKMeans(4, random_state=0).fit_predict(rows)
    assert isinstance(labels, da.Array)
    (labels,) = dask.compute(labels)
    assert_array_equal(labels, BooleanKMeans(4, random_state=0).fit_predict(X))


@pytest.mark.edge
def test_boolean_k_means_names_missing_bits():
    def spoil(X):
        X[450, 1] = np.nan

    with pytest.raises(ValueError, match="BooleanKMeans contains NaN or infinity in row 450"):
        BooleanKMeans().fit(in_blocks_of_numbers(spoil))


@pytest.mark.slow
@pytest.mark.invariance
def test_cluster_of_two_workers():
    distributed = pytest.importorskip("distributed")
    X = access(2200)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    )
    here = model().fit(in_dask(X, (700, 1, 299, 1200)))
    with cluster, distributed.Client(cluster):
        there = model(n_jobs=2).fit(in_dask(X, (700, 1, 299, 1200)))
    assert here.log_likelihood_ == there.log_likelihood_
