"""Evidence that sparse Gaussian processes of Dask arrays match the table in memory."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from skmoderndata.gaussian_process import (
    SparseGaussianProcessRegressor,
    _inducing_base,
    _sparse_gaussian_process_regressor,
)
from tests.solvers.test_blocks import in_dask

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
Delayed = pytest.importorskip("dask.delayed").Delayed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N = 300
CUTS = [(300,), (1, 299), (100, 0, 1, 199), (15,) * 20]
SETTINGS = {
    "n_inducing": 12,
    "random_state": 0,
    "subset_size": 120,
    "polish_iter": 3,
    "max_iter": 5,
}
MODELS = {
    "vfe": {},
    "fitc": {"algorithm": "fitc", "inducing": "greedy"},
    "dtc": {"algorithm": "dtc", "inducing": "random"},
    "fixed": {"optimizer": None, "normalize_y": False},
    "other kernel": {"kernel": RBF() + DotProduct(), "max_iter": 2, "polish_iter": 2},
}
models = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def no_whole_table(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


def model_of(name):
    return SparseGaussianProcessRegressor(**{**SETTINGS, **MODELS[name]})


def table(n=N, n_targets=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, 2))
    Y = np.c_[np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]][:, :n_targets]
    Y = 3 + Y + 0.1 * rng.normal(size=Y.shape)
    return X, Y[:, 0] if n_targets == 1 else Y


def weights_of(n=N):
    return np.random.default_rng(2).integers(3, size=n).astype(float)


def assert_same_model(lazy, here, X, tol=1e-8):
    size = lazy.n_samples_seen_
    assert size == here.n_samples_seen_
    for name in ("lower_bound_", "upper_bound_", "log_marginal_likelihood_value_"):
        expected = getattr(here, name)
        assert_allclose(getattr(lazy, name), expected, atol=tol * size, rtol=0, err_msg=name)
    assert lazy.n_iter_ == here.n_iter_
    assert_allclose(lazy.kernel_.theta, here.kernel_.theta, atol=1e3 * tol)
    assert_allclose(lazy.noise_level_, here.noise_level_, rtol=1e3 * tol)
    for one, other in zip(
        lazy.predict(X, return_std=True), here.predict(X, return_std=True), strict=True
    ):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert_allclose(one, other, atol=1e3 * tol)


@pytest.mark.few(12)
@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@models
def test_dask_array_gives_the_process_of_the_table(
    name, lengths, scheduler, weighted, no_whole_table
):
    X, y = table()
    model = model_of(name)
    w = weights_of() if weighted else None
    here = clone(model).fit(X, y, w)
    with dask.config.set(scheduler=scheduler):
        w = None if w is None else in_dask(w, lengths)
        lazy = clone(model).fit(in_dask(X, lengths), in_dask(y, lengths), w)
    assert_same_model(lazy, here, X)
    assert not any("dask" in type(value).__module__ for value in vars(lazy).values())
    again = pickle.loads(pickle.dumps(lazy))
    assert_array_equal(again.predict(X), lazy.predict(X))
    assert isinstance(lazy.predict(in_dask(X, lengths)), da.Array)


@pytest.mark.invariance
def test_several_targets_and_single_precision():
    X, Y = table(n_targets=2)
    model = model_of("vfe")
    lazy = clone(model).fit(in_dask(X, CUTS[2]), Y)
    assert_same_model(lazy, clone(model).fit(X, Y), X)
    X = X.astype(np.float32)
    lazy = clone(model).fit(in_dask(X, CUTS[2]), Y)
    assert lazy.predict(X).dtype == np.float32
    assert_same_model(lazy, clone(model).fit(X, Y), X)


@pytest.mark.invariance
def test_samples_that_inducing_inputs_come_from(monkeypatch):
    for module in (_inducing_base, _sparse_gaussian_process_regressor):
        monkeypatch.setattr(module, "MOST_FOR_CENTRES", 80)
    X, y = table()
    model = model_of("vfe")
    lazy = clone(model).fit(in_dask(X, CUTS[2]), y)
    assert_same_model(lazy, clone(model).fit(X, y), X)


@pytest.mark.invariance
def test_stretches_change_nothing_but_rounding():
    X, y = table()
    model = model_of("fitc")
    one = clone(model).fit(in_dask(X, (100,) * 3), y)
    few = clone(model).set_params(batch_size=7).fit(in_dask(X, (100,) * 3), y)
    assert_same_model(few, one, X)


@pytest.mark.invariance
def test_more_rows_join_a_process_of_a_dask_array():
    X, y = table()
    model = model_of("fixed").set_params(inducing=X[:12], kernel=RBF())
    lazy = (
        clone(model).fit(in_dask(X[:200], (100, 100)), y[:200]).partial_fit(X[200:], y[200:])
    )
    assert_same_model(lazy, clone(model).fit(X, y), X)


def test_data_frame_gives_names():
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b"])
    lazy = model_of("vfe").fit(dataframe.from_pandas(frame, npartitions=3), y)
    assert_array_equal(lazy.feature_names_in_, ["a", "b"])
    assert_same_model(lazy, model_of("vfe").fit(frame, y), frame)


def test_no_result_is_larger_than_twice_a_block(monkeypatch):
    X, y = table(6000)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(6000, 30))])
    sizes = []
    compute = Delayed.compute

    def noted(self, **options):
        result = compute(self, **options)
        sizes.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(Delayed, "compute", noted)
    model_of("vfe").set_params(max_iter=2).fit(in_dask(X, (1500,) * 4), y)
    assert len(sizes) > 6
    assert max(sizes) < 2 * 1500 * X[0].nbytes


@pytest.mark.edge
def test_errors_name_bad_rows():
    X, y = table()
    lengths = (100,) * 3
    w = weights_of()
    w[233] = np.nan
    with pytest.raises(ValueError, match=r"sample_weight.*in row 233"):
        model_of("vfe").fit(in_dask(X, lengths), y, in_dask(w, lengths))
    y[250] = np.inf
    with pytest.raises(ValueError, match=r"Input y .* in row 250"):
        model_of("vfe").fit(in_dask(X, lengths), in_dask(y, lengths))
    X[201, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity in row 201"):
        model_of("vfe").fit(in_dask(X, lengths), np.ones(N))


@pytest.mark.edge
def test_handles_wrong_and_unknown_chunks():
    X, y = table()
    rows = in_dask(X, (150, 150))
    lying = rows.map_blocks(lambda block: block[:147], dtype=float, chunks=rows.chunks)
    with pytest.raises(ValueError, match="should have 150 rows and has 147"):
        model_of("vfe").fit(lying, y)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model_of("vfe").fit(rows[rows[:, 0] > 1], y)


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ["subset", "nystroem"])
def test_rejects_posteriors_that_are_not_sums(algorithm, no_whole_table):
    X, y = table()
    model = model_of("vfe").set_params(algorithm=algorithm)
    with pytest.raises(ValueError, match="fit of a Dask array needs an algorithm other than"):
        model.fit(in_dask(X, (150, 150)), y)
    with pytest.raises(ValueError, match="inducing has 3 columns"):
        model_of("vfe").set_params(inducing=np.ones((2, 3))).fit(in_dask(X, (150, 150)), y)


def test_few_iterations_are_reported():
    X, y = table()
    model = model_of("vfe").set_params(max_iter=1, kernel=ConstantKernel() * RBF())
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model.fit(in_dask(X, (150, 150)), y)
