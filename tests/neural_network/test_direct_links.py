"""Evidence that extreme learning machines with direct links solve the problem they state."""

import functools

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.neural_network import ELMClassifier, ELMRegressor
from tests.oracles.networks import forward_selection, leave_one_out

# Random vector functional links.
RVFLClassifier = functools.partial(ELMClassifier, direct_links=True)
RVFLRegressor = functools.partial(ELMRegressor, direct_links=True)


def data(seed, n=60):
    X, y = make_friedman1(n, noise=0.3, random_state=seed)
    return 2 * X - 1, y


def outputs(model, X):
    return np.hstack([X, np.tanh(X @ model.hidden_weights_ + model.hidden_intercepts_)])


@pytest.mark.oracle
def test_without_neurons_it_is_ridge_regression(seed):
    X, y = data(seed)
    twin = Ridge(alpha=2.0).fit(X, y)
    model = RVFLRegressor(0, standardize=False, alpha=2.0).fit(X, y)
    assert_allclose(model.output_coef_, twin.coef_, rtol=1e-9)
    assert_allclose(model.intercept_, twin.intercept_, rtol=1e-9)
    alphas = np.logspace(-3, 3, 7)
    assert (
        RVFLRegressor(0, standardize=False, alphas=alphas).fit(X, y).alpha_
        == RidgeCV(alphas).fit(X, y).alpha_
    )
    labels = y > np.median(y)
    assert_allclose(
        RVFLClassifier(0, standardize=False, alpha=2.0).fit(X, labels).decision_function(X),
        RidgeClassifier(alpha=2.0).fit(X, labels).decision_function(X),
        rtol=1e-9,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("n_hidden", [10, 90])
def test_ridge_and_leave_one_out_on_both_kinds_of_outputs(n_hidden, seed):
    X, y = data(seed)
    alphas = [0.01, 0.5, 20.0]
    model = RVFLRegressor(n_hidden, standardize=False, alphas=alphas, random_state=seed).fit(
        X, y
    )
    A = outputs(model, X)
    errors = [np.sum((y - leave_one_out(A, y, alpha)) ** 2) for alpha in alphas]
    assert_allclose(model.loo_path_, 1 - errors / np.sum((y - y.mean()) ** 2), rtol=1e-9)
    twin = Ridge(alpha=model.alpha_).fit(A, y)
    assert_allclose(model.predict(X), twin.predict(A), rtol=1e-8)
    # the condition number is 1e5
    assert_allclose(model.output_coef_, twin.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.certificate
def test_gradient_vanishes(seed):
    X, y = data(seed)
    model = RVFLRegressor(40, standardize=False, random_state=seed).fit(X, y)
    A = outputs(model, X)
    residual = y - A @ model.output_coef_ - model.intercept_
    assert_allclose(
        (A - A.mean(axis=0)).T @ residual,
        model.alpha_ * model.output_coef_,
        rtol=1e-6,
        atol=1e-8,
    )
    assert model.optimality_ < 1e-9


@pytest.mark.recovery
def test_a_linear_truth_is_found_by_the_direct_links(seed):
    X = np.random.default_rng(seed).normal(size=(80, 6))
    new = np.random.default_rng(seed + 1).normal(size=(500, 6))
    truth = np.arange(6.0)
    model = RVFLRegressor(100, random_state=seed).fit(X, X @ truth)
    bare = ELMRegressor(100, random_state=seed).fit(X, X @ truth)
    for scale in (1, 3):  # a scale of 3 leads beyond the training rows
        far = scale * new
        unexplained = 1 - model.score(far, far @ truth)
        assert unexplained < 0.3 * (1 - bare.score(far, far @ truth))


@pytest.mark.paper
@pytest.mark.slow
def test_direct_links_help_on_most_data_sets():
    """Zhang and Suganthan 2016: over many data sets direct links do better than none."""
    wins = 0
    tables = [load_wine, load_breast_cancer, load_diabetes]
    for load in tables:
        X, y = load(return_X_y=True)
        pair = (RVFLRegressor, ELMRegressor) if load is load_diabetes else (
            RVFLClassifier, ELMClassifier
        )  # fmt: skip

        with_links, without = (
            np.mean(
                [
                    cross_val_score(
                        make_pipeline(StandardScaler(), cls(50, random_state=seed)), X, y
                    ).mean()
                    for seed in range(10)
                ]
            )
            for cls in pair
        )

        wins += with_links > without
    assert wins >= 2


@pytest.mark.invariance
def test_streaming_merging_sparse_and_blocks(seed):
    X, y = data(seed)
    X[np.abs(X) < 0.5] = 0
    whole = RVFLRegressor(30, alpha=0.1, standardize=False, random_state=7).fit(X, y)
    parts = [
        RVFLRegressor(30, alpha=0.1, standardize=False, random_state=7).partial_fit(
            X[a::3], y[a::3]
        )
        for a in range(3)
    ]

    merged = parts[1].merge(parts[2]).merge(parts[0])
    blocks = RVFLRegressor(
        30, alpha=0.1, standardize=False, random_state=7, batch_size=7, n_jobs=2
    ).fit(X, y)
    thin = RVFLRegressor(30, alpha=0.1, standardize=False, random_state=7).fit(
        sparse.csr_array(X), y
    )
    for model in (merged, blocks, thin):
        assert_allclose(model.predict(X), whole.predict(X), rtol=1e-8)

    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    want = RVFLClassifier(30, alpha=0.1, standardize=False, random_state=7).fit(X, labels)
    model = RVFLClassifier(30, alpha=0.1, standardize=False, random_state=7)
    model.partial_fit(X[:20], labels[:20], classes=[0, 1, 2]).partial_fit(X[20:], labels[20:])
    assert_array_equal(model.predict(X), want.predict(X))


@pytest.mark.invariance
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", ["float64", "float32"])
def test_arrays_of_another_library(name, library, seed):
    xp = pytest.importorskip(library)
    X, y = data(seed, n=150)
    X = X.astype(name)
    rtol = 1e-10 if name == "float64" else 1e-4  # products are summed in a different order
    want = RVFLRegressor(40, random_state=0, alphas=[0.1, 1.0]).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        model = RVFLRegressor(40, random_state=0, alphas=[0.1, 1.0])
        found = model.fit(xp.asarray(X), xp.asarray(y)).predict(xp.asarray(X))
        assert type(found) is type(xp.asarray(X))
    assert_allclose(np.asarray(found), want.predict(X), rtol=rtol)


@pytest.mark.edge
def test_pruning_keeps_the_direct_links():
    X, y = data(0)
    full = RVFLRegressor(30, random_state=0).fit(X, y)
    model = RVFLRegressor(30, prune="loo", random_state=0).fit(X, y)
    k = model.hidden_weights_.shape[1]
    assert 0 < k < 30
    assert model.output_coef_.shape == (10 + k,)
    chosen = sorted(forward_selection(outputs(full, X)[:, 10:], y, k))
    assert_array_equal(model.hidden_weights_, full.hidden_weights_[:, chosen])


@pytest.mark.edge
def test_one_sample_and_constant_target():
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert_allclose(RVFLRegressor(20, random_state=0).fit(X, np.full(5, 3.0)).predict(X), 3)
    assert_allclose(RVFLRegressor(20, random_state=0).fit(X[:1], [2.0]).predict(X), 2)
    with pytest.raises(ValueError, match="at least two classes"):
        RVFLClassifier(5).fit(X, np.ones(5))
