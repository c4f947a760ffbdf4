"""Evidence that slow features of a table in blocks match the table in memory."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata.datasets import make_slow_signal
from skmoderndata.decomposition import SlowFeatureAnalysis
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

CUTS = [(400,), (1, 399), (150, 0, 1, 1, 248), (7,) * 57 + (1,)]
PARAMETERS = [
    {},
    {"degree": 2, "n_components": 3},
    {"lag": 3, "solver": "eigh"},
    {"pre_pca": 3, "degree": 2},
    {"pre_pca": 0.99},
    {"expansion": np.tanh, "include_bias": True},
    {"batch_size": 11},
]


def series(n=400, p=5, seed=0):
    """Slow and fast signals, mixed."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    sources = np.sin(t * 2 * np.pi / 10.0 ** np.linspace(2.5, 0.7, p))
    return (sources + 0.1 * rng.normal(size=(n, p))) @ rng.normal(size=(p, p)) + 3


def assert_same_model(one, other, rtol=1e-8):
    assert_allclose(one.delta_values_, other.delta_values_, rtol=rtol)
    assert_allclose(one.mean_, other.mean_, rtol=1e-10, atol=1e-10)
    scale = np.abs(other.components_).max()
    assert_allclose(one.components_, other.components_, rtol=0, atol=rtol * 1e2 * scale)
    assert_array_equal(one.n_steps_, other.n_steps_)
    assert_array_equal(one.n_sequences_, other.n_sequences_)
    assert_array_equal(one.n_samples_seen_, other.n_samples_seen_)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


@pytest.mark.invariance
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
def test_dask_array_gives_the_model_of_the_table(lengths, parameters, no_whole_table):
    X = series()
    here = SlowFeatureAnalysis(**parameters).fit(X)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            assert_same_model(SlowFeatureAnalysis(**parameters).fit(in_dask(X, lengths)), here)


@pytest.mark.invariance
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_one_block_gives_the_same_bits(parameters):
    X = series()
    here = SlowFeatureAnalysis(**parameters).fit(X)
    lazy = SlowFeatureAnalysis(**parameters).fit(in_dask(X, (400,)))
    assert_array_equal(lazy.components_, here.components_)
    assert_array_equal(lazy.delta_values_, here.delta_values_)


@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize("lag", [1, 4])
def test_sequences_gaps_and_times(lengths, lag):
    X = series()
    rng = np.random.default_rng(1)
    X[rng.choice(400, 30, replace=False), 1] = np.nan
    facts = {
        "sequence_ids": np.sort(rng.integers(9, size=400)),
        "sample_mask": rng.uniform(size=400) < 0.9,
        "times": np.cumsum(rng.uniform(0.5, 1.5, size=400)),
    }
    here = SlowFeatureAnalysis(lag=lag).fit(X, **facts)
    rows = in_dask(X, lengths)
    assert_same_model(SlowFeatureAnalysis(lag=lag).fit(rows, **facts), here)
    in_parts = {name: da.from_array(fact, chunks=90) for name, fact in facts.items()}
    assert_same_model(SlowFeatureAnalysis(lag=lag).fit(rows, **in_parts), here)


@pytest.mark.invariance
def test_rounding_errors_are_corrected_in_blocks_too():
    X = series()
    # the features are nearly collinear
    X = np.column_stack([X, X[:, 0] + 1e-6 * np.cos(np.arange(400) / 90)])
    here = SlowFeatureAnalysis(rank_tol=0).fit(X)
    lazy = SlowFeatureAnalysis(rank_tol=0).fit(in_dask(X, (150, 250)))
    plain = SlowFeatureAnalysis(rank_tol=0).partial_fit(X)
    error = np.abs(lazy.delta_values_ - here.delta_values_)
    assert (error <= 1e-6 * here.delta_values_).all()
    assert np.abs(plain.delta_values_ - here.delta_values_).max() > error.max()


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_table_on_disk(kind, tmp_path, monkeypatch):
    X = series()
    limit = 50 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    fitted = SlowFeatureAnalysis(degree=2).fit(rows)
    assert_same_model(fitted, SlowFeatureAnalysis(degree=2).fit(X))
    assert_allclose(fitted.transform(rows), fitted.transform(X), rtol=1e-10, atol=1e-12)


def test_single_precision_is_preserved():
    X = series().astype(np.float32)
    lazy = SlowFeatureAnalysis().fit(in_dask(X, (150, 250)))
    assert_same_model(lazy, SlowFeatureAnalysis().fit(X), rtol=1e-7)
    answer = lazy.fit_transform(in_dask(X, (150, 250)))
    assert (answer.dtype, answer.chunks) == (np.float32, ((150, 250), (5,)))


def test_fitted_estimator_continues_and_can_be_pickled():
    X = series()
    lazy = SlowFeatureAnalysis().fit(in_dask(X[:250], (100, 150)))
    again = pickle.loads(pickle.dumps(lazy))
    assert not any("dask" in type(value).__module__ for value in vars(again).values())
    assert_same_model(again.partial_fit(X[250:]), SlowFeatureAnalysis().fit(X))


def test_frozen_expansion():
    X = series()
    expansion = FrozenEstimator(PolynomialFeatures(2, include_bias=False).fit(X))
    lazy = SlowFeatureAnalysis(expansion=expansion).fit(in_dask(X, (150, 250)))
    here = SlowFeatureAnalysis(expansion=expansion).fit(X)
    assert_allclose(lazy.delta_values_, here.delta_values_, rtol=1e-8)


@pytest.mark.edge
def test_rejects_unsupported_options():
    X = series()
    rows = in_dask(X, (150, 250))
    with pytest.raises(ValueError, match="FrozenEstimator"):
        SlowFeatureAnalysis(expansion=StandardScaler()).fit(rows)
    with pytest.raises(ValueError, match="were both given"):
        SlowFeatureAnalysis(expansion=np.tanh, degree=2).fit(rows)
    with pytest.raises(ValueError, match="pre_pca=6 must be a number"):
        SlowFeatureAnalysis(pre_pca=6).fit(rows)
    with pytest.raises(ValueError, match="minimum of 2"):
        SlowFeatureAnalysis().fit(rows[:1])
    with pytest.raises(ValueError, match="X has 400 rows, and what goes with them 399"):
        SlowFeatureAnalysis().fit(rows, sequence_ids=np.zeros(399))
    with pytest.raises(ValueError, match="no usable row"):
        SlowFeatureAnalysis().fit(rows * np.nan)
    with pytest.raises(TypeError, match="partial_fit with one block after the other"):
        SlowFeatureAnalysis().partial_fit(rows)


@pytest.mark.edge
def test_errors_name_bad_rows():
    X = series()
    X[301, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity in row 301"):
        SlowFeatureAnalysis().fit(in_dask(X, (150, 250)))
    large = np.where(np.isinf(X), 1e90, X)
    with pytest.raises(ValueError, match=r"rows of X from 150 on.*leave the range"):
        SlowFeatureAnalysis(degree=2).fit(in_dask(large, (150, 250)))


@pytest.mark.edge
@pytest.mark.parametrize("wrong", [100, 150, 151])
def test_times_must_increase_across_blocks_too(wrong):
    X = series()
    times = np.arange(400.0)
    times[wrong] = times[wrong - 1]
    with pytest.raises(ValueError, match="times must be finite and increase"):
        SlowFeatureAnalysis().fit(in_dask(X, (150, 250)), times=times)
    ids = np.repeat([0, 1], [wrong, 400 - wrong])  # a new sequence begins at this row
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SlowFeatureAnalysis().fit(in_dask(X, (150, 250)), times=times, sequence_ids=ids)


@pytest.mark.invariance
def test_polynomials_in_blocks_do_not_depend_on_the_origin():
    X, _ = make_slow_signal(600)
    X += 1e5
    X[:30] = -999999.0  # the mask excludes these rows
    mask = np.arange(600) >= 30
    here = SlowFeatureAnalysis(degree=2).fit(X, sample_mask=mask)
    for sample_mask in (mask, da.from_array(mask, chunks=100)):
        lazy = SlowFeatureAnalysis(degree=2).fit(
            in_dask(X, (200, 400)), sample_mask=sample_mask
        )
        assert_allclose(lazy.delta_values_, here.delta_values_, rtol=1e-5)
        assert_allclose(lazy.input_mean_, here.input_mean_, rtol=1e-12)
