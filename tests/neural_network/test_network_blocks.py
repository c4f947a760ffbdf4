"""Evidence that networks and many means of a Dask array match the table in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier

from skmoderndata.covariance import JamesStein
from skmoderndata.neural_network import (
    ELMClassifier,
    ELMRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from tests.solvers.test_blocks import in_dask

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

CUTS = [(300,), (120, 0, 1, 179), (7,) * 42 + (6,)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
CENTERS = X[:20]
NETWORKS = [
    ELMClassifier(n_hidden=20, alpha=0.5, random_state=0),
    ELMRegressor(n_hidden=20, alpha=0.5, random_state=0),
    ELMClassifier(n_hidden=20, direct_links=True, alpha=0.5, random_state=0),
    ELMRegressor(n_hidden=20, direct_links=True, alpha=0.5, random_state=0),
    RBFNetworkClassifier(centers=CENTERS, alpha=0.5),
    RBFNetworkRegressor(centers=CENTERS, alpha=0.5),
]


def target(model):
    """Labels, with one label only in the last rows, or two columns of values."""
    if is_classifier(model):
        labels = np.array(["left", "right", "up"])
        return labels[np.where(np.arange(300) > 290, 2, X[:, 0] > 0)]
    return np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])


def answer(model):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: type(network).__name__)
def test_network_matches_the_table(network, lengths, no_whole_table):
    y = target(network)
    weights = RNG.uniform(0.5, 2, size=300)
    here = clone(network).fit(X, y, sample_weight=weights)
    lazy = clone(network).fit(in_dask(X, lengths), y, sample_weight=weights)
    assert_allclose(answer(lazy), answer(here), rtol=1e-8, atol=1e-8)
    assert lazy.n_features_in_ == 4
    for name, value in network.get_params().items():
        assert_array_equal(getattr(lazy, name), value, err_msg=name)
    other = da.from_array(y, chunks=(70, *y.shape[1:]))
    lazy = clone(network).fit(in_dask(X, lengths), other, da.from_array(weights, chunks=90))
    assert_allclose(answer(lazy), answer(here), rtol=1e-8, atol=1e-8)


@pytest.mark.invariance
def test_penalty_is_chosen_from_the_sums_as_after_partial_fit():
    y = np.sin(X[:, 0])
    lazy = ELMRegressor(n_hidden=20, random_state=0).fit(in_dask(X, (120, 180)), y)
    pair = lazy.input_mean_, lazy.input_std_
    assert_allclose(pair, (X.mean(axis=0), X.std(axis=0)), rtol=1e-12)
    parts = ELMRegressor(n_hidden=20, standardize=pair, random_state=0).partial_fit(X, y)
    assert_allclose(lazy.alpha_, parts.alpha_, rtol=1e-12)
    assert lazy.standardize is True
    assert_allclose(lazy.predict(X), parts.predict(X), rtol=1e-8, atol=1e-8)


def test_any_random_state_is_accepted():
    y = np.sin(X[:, 0])
    for state in (None, np.random.RandomState(0)):
        model = ELMRegressor(n_hidden=20, alpha=1.0, random_state=state)
        assert model.fit(in_dask(X, (120, 180)), y).n_samples_seen_ == 300
        assert model.random_state is state


def test_sparse_blocks():
    y = np.sin(X[:, 0])
    rows = in_dask(X, (120, 180)).map_blocks(sparse.csr_array)
    model = ELMRegressor(n_hidden=20, alpha=1.0, random_state=0)
    lazy = clone(model).fit(rows, y)
    assert_allclose(lazy.predict(X), model.fit(X, y).predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.edge
def test_rejects_unsupported_options():
    rows = in_dask(X, (120, 180))
    labels = X[:, 0] > 0

    # check invalid settings and containers
    with pytest.raises(ValueError, match="needs fixed centres: pass an array"):
        RBFNetworkRegressor().fit(rows, X[:, 0])
    with pytest.raises(ValueError, match="cannot balance classes"):
        ELMClassifier(class_weight="balanced").fit(rows, labels)
    with pytest.raises(ValueError, match="what goes with them 299"):
        ELMRegressor().fit(rows, X[1:, 0])
    with pytest.raises(TypeError, match="got X in memory, and with it a Dask array"):
        ELMRegressor().fit(X, rows[:, 0])
    with pytest.raises(TypeError, match="partial_fit with one block after the other"):
        ELMRegressor().partial_fit(rows, X[:, 0])

    # check invalid values
    spoilt = X.copy()
    spoilt[200, 1] = np.nan
    with pytest.raises(ValueError, match="ELMRegressor contains NaN or infinity in row 200"):
        ELMRegressor().fit(in_dask(spoilt, (120, 180)), X[:, 0])
    targets = X[:, 0].copy()
    targets[200] = np.nan
    with pytest.raises(ValueError, match="rows of X from 120 on: Input y contains NaN"):
        ELMRegressor().fit(rows, targets)


@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize(
    "parameters", [{}, {"target": "zero", "noise_variance": 1.0}], ids=str
)
def test_means_match_the_table(parameters, lengths, no_whole_table):
    lazy = JamesStein(**parameters).fit(in_dask(X, lengths))
    here = JamesStein(**parameters).fit(X)
    assert_allclose(lazy.location_, here.location_, rtol=1e-10)
    assert lazy.n_samples_seen_ == 300
    if len(lengths) == 1:
        assert_array_equal(lazy.location_, here.location_)
