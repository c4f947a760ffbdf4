"""Evidence that ELMRegressor and ELMClassifier solve the problem they state."""

import functools
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import erf
from sklearn.base import is_regressor
from sklearn.datasets import load_digits, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.kernels import ArcSine
from skmoderndata.neural_network import (
    ELMClassifier,
    ELMRegressor,
    _base,
)
from tests.oracles.networks import forward_selection, leave_one_out


def data(seed, n=60):
    X, y = make_friedman1(n, noise=0.3, random_state=seed)
    return 2 * X - 1, y


@pytest.mark.oracle
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_input_scale_has_the_best_leave_one_out_score(container, seed):
    X, y = data(seed, 150)
    X = container(X)
    settings = {"n_hidden": 30, "standardize": False, "random_state": seed}
    scales = 2.0 ** np.arange(-3, 4)
    scores = [ELMRegressor(input_scale=s, **settings).fit(X, y).loo_score_ for s in scales]
    model = ELMRegressor(input_scale="loo", **settings).fit(X, y)
    assert model.input_scale_ == scales[np.argmax(scores)]
    assert_allclose(model.loo_score_, max(scores), rtol=1e-9)

    # the fitted scale draws the same layer
    again = ELMRegressor(input_scale=model.input_scale_, **settings).fit(X, y)
    assert_allclose(again.hidden_weights_, model.hidden_weights_, rtol=1e-12)


@pytest.mark.recovery
def test_rough_function_needs_large_weights(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(900, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=900)
    smooth, chosen = (
        ELMRegressor(150, input_scale=scale, random_state=seed).fit(X[:600], y[:600])
        for scale in (1.0, "loo")
    )
    assert chosen.score(X[600:], y[600:]) > 0.9 > smooth.score(X[600:], y[600:]) + 0.1


@pytest.mark.edge
def test_input_scale_of_many_samples_is_chosen_on_some(monkeypatch):
    X, y = classes(0, 120)
    monkeypatch.setattr(_base, "COMPARED", 50)
    dense, rows = (
        ELMClassifier(20, input_scale="loo", random_state=0).fit(table, y)
        for table in (X, sparse.csr_array(X))
    )
    assert dense.input_scale_ == rows.input_scale_
    with pytest.raises(ValueError, match="needs a number as input_scale"):
        dense.merge(rows)
    with pytest.raises(AttributeError, match="needs a number as input_scale"):
        ELMClassifier(input_scale="loo").partial_fit(X, y)


def hidden(model, X):
    return np.tanh(X @ model.hidden_weights_ + model.hidden_intercepts_)


def classes(seed, n=60):
    X, y = data(seed, n)
    return X, np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


@pytest.mark.oracle
@pytest.mark.parametrize("n_hidden", [15, 90])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_by_refitting(n_hidden, fit_intercept, seed):
    X, y = data(seed)
    w = np.random.default_rng(seed).uniform(0.5, 2, size=len(y))
    alphas = [0.01, 0.5, 20.0]
    for weights in (None, w):
        model = ELMRegressor(
            n_hidden, alphas=alphas, fit_intercept=fit_intercept, random_state=seed
        )
        model.fit(X, y, sample_weight=weights)
        H = hidden(model, X)
        scores = []
        for alpha in alphas:
            held = leave_one_out(H, y, alpha, weights, fit_intercept)
            mean = np.average(y, weights=weights) if fit_intercept else 0.0
            u = np.ones(len(y)) if weights is None else weights
            scores.append(1 - u @ (y - held) ** 2 / (u @ (y - mean) ** 2))
        assert_allclose(model.loo_path_, scores, rtol=1e-9)
        assert model.alpha_ == alphas[int(np.argmax(scores))]


@pytest.mark.oracle
@pytest.mark.parametrize("two", [True, False])
def test_leave_one_out_accuracy_by_refitting(two, seed):
    X, y = classes(seed)
    if two:
        y = np.where(y == "low", "low", "other")
    labels, codes = np.unique(y, return_inverse=True)
    Y = np.where(codes[:, None] == np.arange(len(labels)), 1.0, -1.0)
    alphas = [0.01, 1.0, 100.0]
    model = ELMClassifier(20, alphas=alphas, random_state=seed).fit(X, y)
    held = [leave_one_out(hidden(model, X), Y, alpha) for alpha in alphas]
    wanted = [accuracy_score(y, labels[values.argmax(axis=1)]) for values in held]
    assert_allclose(model.loo_path_, wanted, rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("n_hidden", [15, 90])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_penalty_of_a_stream_by_hat_matrices(n_hidden, fit_intercept, seed):
    X, y = data(seed)
    Y = np.column_stack([y, np.cos(X).sum(axis=1)])
    w = np.random.default_rng(seed).uniform(0.5, 2, size=len(y))
    alphas = np.logspace(-3, 3, 13)
    model = ELMRegressor(
        n_hidden, alphas=alphas, fit_intercept=fit_intercept, random_state=seed
    )
    for rows in (slice(0, 7), slice(7, None)):
        model.partial_fit(X[rows], Y[rows], sample_weight=w[rows])

    # compute the matrix from targets, times the roots of the weights, to fitted values
    root = np.sqrt(w)[:, None]
    H = root * hidden(model, X)
    one = root / np.linalg.norm(root)
    mean = one @ one.T * fit_intercept
    H = H - mean @ H
    scores = []
    for alpha in alphas:
        hat = mean + H @ np.linalg.solve(H.T @ H + alpha * np.eye(n_hidden), H.T)
        residual = root * Y - hat @ (root * Y)
        scale = (root * Y - mean @ (root * Y)) ** 2
        held_out = (residual**2).sum(axis=0) / (1 - np.trace(hat) / len(y)) ** 2
        scores.append(np.mean(1 - held_out / scale.sum(axis=0)))
    assert model.alpha_ == alphas[np.argmax(scores)]
    assert_array_equal(model.alphas_, alphas)


@pytest.mark.oracle
@pytest.mark.parametrize("n_hidden", [30, 200])
def test_ridge_on_the_hidden_outputs(n_hidden, seed):
    X, y = data(seed, n=100)
    new = data(seed + 1)[0]
    Y = np.column_stack([y, y**2])
    model = ELMRegressor(n_hidden, alpha=0.1, random_state=seed).fit(X, Y)
    twin = Ridge(alpha=0.1).fit(hidden(model, X), Y)
    assert_allclose(model.predict(new), twin.predict(hidden(model, new)), rtol=1e-8)
    # the condition number is 1e5
    assert_allclose(model.output_coef_, twin.coef_, rtol=1e-6, atol=1e-8)
    search = ELMRegressor(n_hidden, random_state=seed).fit(X, y)
    known = RidgeCV(search.alphas_).fit(hidden(search, X), y)
    assert known.alpha_ == search.alpha_
    assert_allclose(search.predict(new), known.predict(hidden(search, new)), rtol=1e-6)


@pytest.mark.oracle
def test_orthogonal_identity_neurons_are_linear_ridge(seed):
    X, y = data(seed)
    for n_hidden in (10, 20):  # the inputs appear once or twice
        model = ELMRegressor(
            n_hidden,
            activation="identity",
            weight_distribution="orthogonal",
            alpha=1.0,
            random_state=seed,
            standardize=False,
        ).fit(X, y)
        twin = Ridge(alpha=10 / n_hidden).fit(X, y)
        assert_allclose(model.predict(X), twin.predict(X), rtol=1e-10)


@pytest.mark.oracle
def test_many_error_functions_are_the_arc_sine_kernel(seed):
    """Ridge regression on L neurons tends to kernel ridge, the noise as 1 / sqrt(L)."""
    X, y = data(seed, 40)
    train = slice(0, 30)
    new = slice(30, 40)
    n_draws = 20
    K = ArcSine(bias_var=0.0, weight_var=4 / X.shape[1])(X)
    limit = KernelRidge(alpha=0.5, kernel="precomputed").fit(K[train, train], y[train])
    predictions = []
    grams = []
    for draw in range(n_draws * seed, n_draws * (seed + 1)):
        # the inputs are so large that the intercepts of the neurons hardly matter
        model = ELMRegressor(
            300, activation=erf, weight_distribution="normal", input_scale=2e-9, alpha=150.0,
            standardize=False, fit_intercept=False, random_state=draw,
        ).fit(1e9 * X[train], y[train])  # fmt: skip
        predictions.append(model.predict(1e9 * X[new]))
        H = erf(1e9 * X @ model.hidden_weights_ + model.hidden_intercepts_)
        grams.append(H @ H.T / 300)
    for draws, expected in ((predictions, limit.predict(K[new, train])), (grams, K)):
        sigma = np.std(draws, axis=0, ddof=1) / np.sqrt(n_draws)
        # average over many correlated values, in units of their standard deviations
        assert np.sqrt(np.mean(((np.mean(draws, axis=0) - expected) / sigma) ** 2)) < 2


@pytest.mark.oracle
def test_least_norm_without_a_penalty(seed):
    X, y = data(seed)
    model = ELMRegressor(
        100, alpha=0, activation="relu", fit_intercept=False, random_state=seed
    ).fit(X, y)
    H = np.maximum(X @ model.hidden_weights_ + model.hidden_intercepts_, 0)
    # the normal equations square the condition number
    assert_allclose(model.predict(X), y, rtol=1e-5)
    assert_allclose(
        model.output_coef_, np.linalg.lstsq(H, y, rcond=None)[0], atol=1e-4
    )  # the normal equations square the condition number


@pytest.mark.oracle
def test_pruning_chooses_as_forward_selection_does(seed):
    X, y = data(seed)
    full = ELMRegressor(30, random_state=seed).fit(X, y)
    pruned = ELMRegressor(30, prune="loo", random_state=seed).fit(X, y)
    k = pruned.hidden_weights_.shape[1]
    chosen = sorted(forward_selection(hidden(full, X), y, k))
    assert_array_equal(pruned.hidden_weights_, full.hidden_weights_[:, chosen])
    # least squares on the selected neurons predicts better than with one neuron more or fewer
    H = hidden(full, X)
    error = {}
    for m in range(max(1, k - 1), k + 2):
        columns = forward_selection(H, y, m)
        error[m] = np.sum((y - leave_one_out(H[:, columns], y, 1e-9)) ** 2)
    assert min(error, key=error.get) == k


@pytest.mark.certificate
def test_gradient_vanishes(seed):
    X, y = data(seed)
    for alpha in ("loo", 0.3):
        model = ELMRegressor(40, alpha=alpha, random_state=seed).fit(X, y)
        assert model.optimality_ < 1e-9
        H = hidden(model, X)
        residual = y - H @ model.output_coef_ - model.intercept_
        H = H - H.mean(axis=0)
        assert_allclose(
            H.T @ residual, model.alpha_ * model.output_coef_, rtol=1e-6, atol=1e-8
        )
        trace = np.trace(H @ np.linalg.solve(H.T @ H + model.alpha_ * np.eye(40), H.T))
        assert_allclose(model.n_parameters_, trace, rtol=1e-6)


@pytest.mark.recovery
def test_leave_one_out_predicts_errors_on_new_samples(seed):
    X, y = data(seed, n=400)
    model = ELMRegressor(300, standardize=False, random_state=seed).fit(X, y)
    new, new_y = data(seed + 100, n=2000)
    assert abs(model.score(new, new_y) - model.loo_score_) < 0.05
    digits, labels = load_digits(return_X_y=True)
    machine = ELMClassifier(400, standardize=False, random_state=seed)
    machine.fit(digits[:900] / 16, labels[:900])
    assert machine.score(digits[900:] / 16, labels[900:]) > 0.94


@pytest.mark.invariance
@pytest.mark.parametrize("cls", [ELMRegressor, ELMClassifier])
@pytest.mark.parametrize("alpha", [0.1, "loo"])
def test_streaming_and_merging_in_any_order(cls, alpha, seed):
    X, y = data(seed) if cls is ELMRegressor else classes(seed)
    known = {} if cls is ELMRegressor else {"classes": np.unique(y)}
    common = {"alpha": alpha, "standardize": False, "random_state": 7}
    whole = cls(40, **common)
    whole = whole.fit(X, y) if alpha == 0.1 else whole.partial_fit(X, y, **known)

    stream = cls(40, **common)
    for a, b in ((0, 3), (3, 40), (40, 60)):
        stream.partial_fit(X[a:b], y[a:b], **known)
        stream.predict(X[:2])

    parts = [cls(40, **common).partial_fit(X[a::3], y[a::3], **known) for a in range(3)]
    parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    merged = parts[2].merge(parts[0]).merge(parts[1])

    for model in (stream, merged):
        assert_allclose(model.output_coef_, whole.output_coef_, rtol=1e-8, atol=1e-10)
        assert_allclose(model.intercept_, whole.intercept_, rtol=1e-8, atol=1e-10)
        assert_allclose(model.alpha_, whole.alpha_, rtol=1e-9)
        assert_array_equal(model.predict(X).shape, y.shape)
        assert model.n_samples_seen_ == 60
        assert model.optimality_ < 1e-9
        assert_allclose(model.n_parameters_, whole.n_parameters_, rtol=1e-8)


@pytest.mark.invariance
def test_blocks_threads_and_kinds_of_input(seed):
    X, y = data(seed, n=200)
    X[np.abs(X) < 0.5] = 0
    want = ELMRegressor(40, random_state=3).fit(X, y)
    for change in ({"batch_size": 17}, {"batch_size": 17, "n_jobs": 2}):
        model = ELMRegressor(40, random_state=3, **change).fit(X, y)
        assert_allclose(model.loo_path_, want.loo_path_, rtol=1e-9)
        assert_allclose(model.predict(X), want.predict(X), rtol=1e-8)
    thin = ELMRegressor(40, random_state=3).fit(sparse.csr_array(X), y)
    assert_allclose(thin.predict(sparse.csr_array(X)), want.predict(X), rtol=1e-8)
    small = ELMRegressor(40, random_state=3).fit(X.astype(np.float32), y)
    found = small.predict(X.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(
        found, want.predict(X), rtol=1e-3
    )  # hidden outputs are in single precision


@pytest.mark.invariance
def test_common_scale_of_weights_and_repeated_rows(seed):
    X, y = data(seed)
    times = np.random.default_rng(seed).integers(0, 3, size=60)
    model = ELMRegressor(30, alpha=0.2, random_state=0)
    want = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X)
    assert_allclose(model.fit(X, y, sample_weight=times).predict(X), want, rtol=1e-8)
    one = ELMRegressor(30, random_state=0).fit(X, y, sample_weight=np.full(60, 5.0))
    two = ELMRegressor(30, random_state=0).fit(X, y)
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-8)
    labels = classes(seed)[1]
    balanced = ELMClassifier(30, alpha=1.0, class_weight="balanced", random_state=0)
    count = {label: 60 / 3 / np.sum(labels == label) for label in np.unique(labels)}
    weights = np.array([count[label] for label in labels])
    plain = ELMClassifier(30, alpha=1.0, random_state=0).fit(X, labels, sample_weight=weights)
    assert_allclose(
        balanced.fit(X, labels).decision_function(X), plain.decision_function(X), rtol=1e-8
    )


@pytest.mark.invariance
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", ["float64", "float32"])
@pytest.mark.parametrize("cls", [ELMRegressor, ELMClassifier])
def test_arrays_of_another_library(cls, name, library, seed):
    xp = pytest.importorskip(library)
    X, y = data(seed, n=150)
    if cls is ELMClassifier:
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    X = X.astype(name)
    rtol = 1e-10 if name == "float64" else 1e-4  # products are summed in a different order

    for parameters in (
        {"alphas": [0.1, 1.0]},
        {"alpha": 0.5, "batch_size": 40},
        # new threads do not see the configuration
        {"alphas": [0.1, 1.0], "batch_size": 40, "n_jobs": 2},
    ):
        want = cls(60, random_state=0, **parameters).fit(X, y)
        with sklearn.config_context(array_api_dispatch=True):
            model = cls(60, random_state=0, **parameters).fit(xp.asarray(X), xp.asarray(y))
            found = model.predict(xp.asarray(X))
            assert type(found) is type(xp.asarray(X))
            assert type(model.output_coef_) is type(xp.asarray(X))

        assert model.alpha_ == want.alpha_
        scale = np.abs(want.output_coef_).max()
        assert_allclose(
            np.asarray(model.output_coef_), want.output_coef_, rtol=rtol, atol=rtol * scale
        )
        assert_allclose(np.asarray(found), want.predict(X), rtol=rtol)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "activation",
    ["tanh", "sigmoid", "relu", "sin", "gaussian", "identity", lambda Z: np.log1p(Z**2)],
)
@pytest.mark.parametrize("weight_distribution", ["uniform", "normal", "orthogonal"])
def test_laws_of_the_first_layer(activation, weight_distribution, seed):
    X = np.random.default_rng(seed).normal(size=(200, 12))
    model = ELMRegressor(
        240,
        activation=activation,
        weight_distribution=weight_distribution,
        standardize=False,
        random_state=seed,
    )
    model.fit(X, X[:, 0] ** 2)
    norms = np.linalg.norm(model.hidden_weights_, axis=0)
    # there are 240 neurons of 12 weights
    assert_allclose(np.sqrt(np.mean(norms**2)), 1, rtol=0.05)
    assert np.abs(model.hidden_intercepts_).max() <= 1
    if weight_distribution == "orthogonal":
        W = model.hidden_weights_[:, :12]
        assert_allclose(W.T @ W, np.eye(12), atol=1e-12)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.edge
def test_orthogonal_weights_of_one_feature_have_both_signs(seed):
    X = np.random.default_rng(seed).normal(size=(50, 1))
    model = ELMRegressor(
        40, weight_distribution="orthogonal", standardize=False, random_state=seed
    ).fit(X, X[:, 0])
    assert set(np.sign(model.hidden_weights_[0])) == {-1.0, 1.0}


@pytest.mark.invariance
def test_pipeline_tuned_by_grid_search(seed):
    X, y = data(seed)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ELMRegressor(30, random_state=0)),
        {"elmregressor__input_scale": [0.1, 1.0], "elmregressor__activation": ["tanh", "sin"]},
        cv=3,
    ).fit(X, y)
    assert search.score(X, y) > 0.5
    assert r2_score(y, search.predict(X)) == pytest.approx(search.score(X, y))


@pytest.mark.edge
def test_constant_targets_one_sample_and_more_neurons_than_samples():
    X = np.random.default_rng(0).normal(size=(5, 3))
    constant = ELMRegressor(20, random_state=0).fit(X, np.full(5, 3.0))
    assert_allclose(constant.predict(X), 3)
    assert constant.loo_score_ == 1
    one = ELMRegressor(20, random_state=0).fit(X[:1], [2.0])
    assert_allclose(one.predict(X), 2)
    # without held-out predictions, the largest penalty is chosen
    assert one.alpha_ == one.alphas_[-1]
    assert np.isneginf(one.loo_path_).all()
    wide = ELMRegressor(2000, random_state=0).fit(X, X[:, 0])
    assert np.isfinite(wide.predict(X)).all()
    doubled = ELMRegressor(20, random_state=0).fit(
        np.repeat(X, 3, axis=0), np.repeat(X[:, 0], 3)
    )
    assert np.isfinite(doubled.output_coef_).all()


@pytest.mark.recovery
@pytest.mark.parametrize("n_hidden", [100, 500])
def test_a_stream_predicts_as_well_as_one_fit(n_hidden, seed):
    X, y = data(seed, n=400)
    new, new_y = data(seed + 100, n=2000)
    whole = ELMRegressor(n_hidden, standardize=False, random_state=seed).fit(X, y)
    stream = ELMRegressor(n_hidden, standardize=False, random_state=seed)
    for rows in np.array_split(np.arange(400), 40):
        stream.partial_fit(X[rows], y[rows])
    assert abs(stream.score(new, new_y) - whole.score(new, new_y)) < 0.02
    # add the last rows after a fit to the other rows
    further = ELMRegressor(n_hidden, standardize=False, random_state=seed).fit(
        X[:300], y[:300]
    )
    assert_allclose(further.partial_fit(X[300:], y[300:]).alpha_, stream.alpha_, rtol=1e-9)


@pytest.mark.edge
@pytest.mark.filterwarnings("error")
def test_streams_of_one_sample_constant_targets_and_no_weight():
    X = np.random.default_rng(0).normal(size=(5, 3))
    one = ELMRegressor(20, random_state=0).partial_fit(X[:1], [2.0])
    assert_allclose(one.predict(X), 2)
    assert_allclose(one.partial_fit(X[1:], np.full(4, 2.0)).predict(X), 2)
    model = ELMRegressor(20, random_state=0).partial_fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    before = model.alpha_
    model.partial_fit(X, X[:, 1], sample_weight=[1e-12, 0, 0, 0, 0])
    assert model.n_samples_seen_ == 6
    assert model.alpha_ == pytest.approx(before, rel=1)
    assert not hasattr(model, "loo_score_")


@pytest.mark.edge
def test_first_call_of_partial_fit_and_class_that_is_missing_in_a_block():
    X, y = classes(0)
    model = ELMClassifier(20, alpha=1.0, random_state=0)
    model.partial_fit(X[y == "low"], y[y == "low"], classes=["low", "middle", "high"])
    model.partial_fit(X[y != "low"], y[y != "low"])
    assert_array_equal(
        model.predict(X), ELMClassifier(20, alpha=1.0, random_state=0).fit(X, y).predict(X)
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: ELMRegressor(0).fit(X, y), "n_hidden of at least 1"),
        (lambda X, y: ELMRegressor(5, alphas=[1.0, 0.0]).fit(X, y), "list of positive numbers"),
        (lambda X, y: ELMRegressor(5).fit(X, y, sample_weight=0 * y), "non-zero|positive weight"),
        (lambda X, y: ELMClassifier(5).fit(X, np.ones(60)), "at least two classes"),
        (lambda X, y: ELMClassifier(5, alpha=1.0).partial_fit(X, y > 9), "classes must be passed"),
        (
            lambda X, y: ELMClassifier(alpha=1.0, class_weight="balanced").partial_fit(X, y > 9),
            "cannot balance",
        ),
        (
            lambda X, y: ELMClassifier(5, alpha=1.0).partial_fit(X, y > 9, classes=[0, 2]),
            "not among the classes",
        ),
        (
            lambda X, y: ELMRegressor(5, prune="loo", random_state=0).fit(X, y).merge(
                ELMRegressor(5, prune="loo", random_state=0).fit(X, y)
            ),
            "merge cannot prune",
        ),
        (
            lambda X, y: ELMRegressor(5, alpha=1.0, random_state=0).fit(X, y).merge(
                ELMRegressor(5, alpha=1.0, random_state=1).fit(X, y)
            ),
            "first layers differ",
        ),
        (
            lambda X, y: ELMRegressor(5, alpha=1.0, random_state=0).fit(X, y).merge(
                ELMRegressor(5, alpha=1.0, activation="sin", random_state=0).fit(X, y)
            ),
            "differ in activation",
        ),
        (
            lambda X, y: ELMRegressor(5, alpha=1.0, random_state=0).fit(X, y).merge(
                ELMClassifier(5, alpha=1.0, random_state=0).fit(X, y > 9)
            ),
            "cannot merge with ELMClassifier",
        ),
        (
            lambda X, y: ELMRegressor(5, alpha=1.0).partial_fit(X, y).partial_fit(X, np.c_[y, y]),
            "y has 2 targets",
        ),
    ],
)  # fmt: skip
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call(*data(0))


@pytest.mark.edge
def test_pruning_has_no_partial_fit():
    with pytest.raises(AttributeError, match=r"partial_fit cannot prune.*Set prune=None"):
        ELMRegressor(prune="loo").partial_fit([[1.0]], [1.0])
    assert not hasattr(ELMClassifier(prune="loo"), "partial_fit")
    assert hasattr(ELMClassifier(), "partial_fit")


# ---- origin and units -------------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("direct_links", [False, True])
@pytest.mark.parametrize("cls", [ELMRegressor, ELMClassifier])
@pytest.mark.parametrize(
    ("unit", "offset"), [(1e-6, 0), (1e6, 0), (1, 100), (1, 1e4), (1, 1e6)]
)
def test_origin_and_units_of_the_inputs_change_nothing(cls, direct_links, unit, offset, seed):
    cls = functools.partial(cls, direct_links=direct_links)
    X, y = data(seed) if is_regressor(cls()) else classes(seed)
    scale = np.geomspace(1, 100, X.shape[1])
    want = cls(40, random_state=seed).fit(X, y).predict(X)
    moved = X * scale * unit + offset
    model = cls(40, random_state=seed).fit(moved, y)
    if is_regressor(model):
        assert_allclose(model.predict(moved), want, rtol=1e-4, atol=1e-4)
    else:
        assert_array_equal(model.predict(moved), want)


@pytest.mark.invariance
@pytest.mark.parametrize("direct_links", [False, True])
def test_a_stream_is_standardised_by_its_first_200_rows(direct_links, seed):
    cls = functools.partial(ELMRegressor, direct_links=direct_links)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4)) + np.array([1e4, 0, -30, 2])
    y = np.sin(X[:, 1]) + X[:, 3]
    pair = X[:200].mean(axis=0), X[:200].std(axis=0)
    want = cls(30, alpha=0.1, standardize=pair, random_state=0).fit(X, y)
    for cuts in ([], [1, 2, 150], [100, 250], list(range(1, 230, 3))):
        stream = cls(30, alpha=0.1, random_state=0)
        for rows in np.split(np.arange(500), cuts):
            stream.partial_fit(X[rows], y[rows])
        assert_allclose(stream.input_std_, pair[1], rtol=1e-8)
        assert_allclose(stream.predict(X), want.predict(X), rtol=1e-6)
        assert stream.n_samples_seen_ == 500

    # estimators with the same pair can be merged; others raise an error that says how
    parts = [
        cls(30, alpha=0.1, standardize=pair, random_state=0).fit(X[a::2], y[a::2])
        for a in range(2)
    ]
    assert_allclose(parts[0].merge(parts[1]).predict(X), want.predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match="standardize=False or one pair"):
        stream.merge(cls(30, alpha=0.1, random_state=0).fit(X[:100], y[:100]))


@pytest.mark.edge
@pytest.mark.parametrize("pair", [([0.0], [1.0]), ([0.0, 0.0], [1.0, 0.0])], ids=str)
def test_standardize_rejects_a_wrong_pair(pair):
    with pytest.raises(ValueError, match="standardize must be True, False, or a pair"):
        ELMRegressor(5, standardize=pair).fit(np.eye(2), [0.0, 1.0])
