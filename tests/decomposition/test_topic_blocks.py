"""Evidence that topics of a table in blocks match the table in memory."""

import os
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import skmoderndata
from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata.decomposition import ProbabilisticLSA
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

CUTS = [(1, 119), (50, 0, 1, 69), (6,) * 20]
WORDS = 15


def corpus(n=120, p=WORDS, k=3, seed=0):
    """Documents of three topics."""
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(k, 0.3), size=n)
    topics = rng.dirichlet(np.full(p, 0.3), size=k)
    return rng.poisson(40 * mixtures @ topics).astype(float)


def with_gaps(X):
    """Missing counts in the last documents only."""
    X = X.copy()
    X[-30:][np.random.default_rng(3).uniform(size=(30, X.shape[1])) < 0.2] = np.nan
    return X


def weights_of_documents(n=120):
    weights = np.random.default_rng(1).uniform(0, 2, size=n)
    weights[::7] = 0
    return weights


def weights_of_counts(shape=(120, WORDS)):
    weights = np.random.default_rng(2).uniform(0.1, 2, size=shape)
    weights[::5, ::3] = 0
    return weights


def model(**parameters):
    return ProbabilisticLSA(3, random_state=0, **parameters)


def assert_same_model(one, other, rtol=1e-10):
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.log_likelihood_, other.log_likelihood_, rtol=rtol)
    assert_allclose(one.objective_history_, other.objective_history_, rtol=rtol)
    assert_allclose(one.components_, other.components_, rtol=0, atol=1e-8)
    assert_allclose(one.topic_weights_, other.topic_weights_, rtol=0, atol=1e-8)
    assert_allclose(one.log_likelihood_gap_, other.log_likelihood_gap_, rtol=1e-5)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


@pytest.mark.few(2)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize(
    "parameters", [{}, {"smoothing": 0.1, "n_init": 2}, {"posterior_exponent": 0.8}], ids=str
)
def test_dask_array_gives_the_model_of_the_table(parameters, lengths, no_whole_table):
    X = corpus()
    here = model(**parameters).fit(X)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            assert_same_model(model(**parameters).fit(in_dask(X, lengths)), here)


@pytest.mark.invariance
@pytest.mark.parametrize("entries", ["all", "missing"])
def test_one_block_gives_the_same_bits(entries):
    X = corpus() if entries == "all" else with_gaps(corpus())
    lazy = model().fit(in_dask(X, (120,)))
    here = model().fit(X)
    assert lazy.log_likelihood_ == here.log_likelihood_
    assert_array_equal(lazy.components_, here.components_)


@pytest.mark.few(5)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS[:2], ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("entries", ["all", "missing", "weighted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_gaps_are_cut_like_the_rows(weighted, entries, smoothing, lengths):
    X = with_gaps(corpus()) if entries == "missing" else corpus()
    options = {}
    if weighted:
        options["sample_weight"] = weights_of_documents()
    if entries == "weighted":
        options["entry_weight"] = weights_of_counts()
    settings = {"smoothing": smoothing, "tol": 1e-4}
    here = model(**settings).fit(X, **options)
    assert_same_model(model(**settings).fit(in_dask(X, lengths), **options), here)

    chunks = {"sample_weight": 50, "entry_weight": (50, 5)}
    lazy = {key: da.from_array(rows, chunks=chunks[key]) for key, rows in options.items()}
    assert_same_model(model(**settings).fit(in_dask(X, lengths), **lazy), here)


@pytest.mark.invariance
def test_sparse_blocks_and_whole_numbers():
    X = corpus()
    here = model().fit(X)
    rows = in_dask(X, (50, 1, 69)).map_blocks(sparse.csr_array)
    assert_same_model(model().fit(rows), here)
    assert_same_model(model().fit(in_dask(X.astype(np.int32), (50, 70))), here)


def test_single_precision_is_preserved():
    X = corpus().astype(np.float32)
    lazy = model().fit(in_dask(X, (50, 70)))
    assert lazy.components_.dtype == np.float32
    assert_allclose(lazy.log_likelihood_, model().fit(X).log_likelihood_, rtol=1e-6)


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_table_on_disk(kind, tmp_path, monkeypatch):
    X = corpus()
    limit = 50 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    lazy = model().fit(rows)
    assert_same_model(lazy, model().fit(X))
    assert lazy.transform(rows).shape == (120, 3)


def test_fitted_estimator_continues_and_can_be_pickled(no_whole_table):
    X = corpus()
    lazy = model().fit(in_dask(X, (50, 70)))
    again = pickle.loads(pickle.dumps(lazy))
    assert not any("dask" in type(value).__module__ for value in vars(again).values())
    here = model().fit(X).partial_fit(X[:20])
    assert_allclose(again.partial_fit(X[:20]).components_, here.components_, atol=1e-8)
    assert isinstance(model().fit_transform(in_dask(X, (50, 70))), da.Array)


@pytest.mark.edge
def test_tempering_is_rejected(no_whole_table):
    with pytest.raises(ValueError, match="tempering=False"):
        model(tempering=True).fit(in_dask(corpus(), (50, 70)))


@pytest.mark.edge
def test_flattened_posteriors_reject_gaps():
    flat = model(posterior_exponent=0.8)
    with pytest.raises(ValueError, match="NaN or infinity in row 9"):
        flat.fit(in_dask(with_gaps(corpus()), (50, 70)))
    with pytest.raises(ValueError, match="accepts no missing counts"):
        flat.fit(in_dask(corpus(), (50, 70)), entry_weight=weights_of_counts())


@pytest.mark.edge
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.inf, "infinity in row 60"),
        (-1.0, "passed to ProbabilisticLSA, the first in row 60: counts must be non-negative"),
    ],
)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_error_names_bad_row(value, message, as_sparse):
    X = corpus()
    X[[60, 90], 3] = value
    rows = in_dask(X, (50, 1, 69))
    rows = rows.map_blocks(sparse.csr_array) if as_sparse else rows
    with pytest.raises(ValueError, match=message):
        model().fit(rows)


@pytest.mark.edge
def test_weights_are_checked():
    rows = in_dask(corpus(), (50, 70))
    weights = np.ones(120)
    weights[[60, 90]] = np.nan
    with pytest.raises(ValueError, match="sample_weight of ProbabilisticLSA is nan in row 60"):
        model().fit(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="at least one non-zero"):
        model().fit(rows, sample_weight=np.zeros(120))
    with pytest.raises(ValueError, match="zeros only"):
        model().fit(rows, entry_weight=np.zeros((120, WORDS)))


@pytest.mark.parametrize("entries", ["all", "missing"])
def test_mixtures_are_written_to_the_checkpoints(entries, tmp_path, monkeypatch):
    saved = []
    save = solver_blocks._save

    def noted(pair, path):
        saved.append(path)
        return save(pair, path)

    monkeypatch.setattr(solver_blocks, "_save", noted)
    X = corpus() if entries == "all" else with_gaps(corpus())
    settings = {"max_iter": 45, "tol": 0}
    with dask.config.set(scheduler="synchronous"):
        with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
            with pytest.warns(ConvergenceWarning):
                lazy = model(**settings).fit(in_dask(X, (50, 70)))
    assert len(saved) == 2 * (lazy.n_iter_ // 20)
    assert os.listdir(tmp_path) == []
    with pytest.warns(ConvergenceWarning):
        assert_same_model(lazy, model(**settings).fit(X))
