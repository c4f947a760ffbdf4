"""Evidence that BayesianCommitteeMachine solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.gaussian_process import BayesianCommitteeMachine
from skmoderndata.kernels import PSpectrum
from tests.oracles.gaussian_process import committee, exact_log_likelihood

KERNEL = ConstantKernel(1.3) * RBF([1.0, 2.0, 1.0, 0.5, 1.0])
RULES = ("poe", "gpoe", "bcm", "rbcm", "grbcm")


def data(seed, n=120):
    return make_friedman1(n, n_features=5, noise=1.0, random_state=seed)


def fixed(combine="rbcm", **parameters):
    return BayesianCommitteeMachine(KERNEL, combine=combine, optimizer=None, **parameters)


def experts(model, X, y, new):
    """Means and latent variances of the experts, by scikit-learn's exact process."""
    first = model.experts_[0]
    u = (y - y.mean()) / y.std()
    for k, part in enumerate(model.experts_):
        if model.combine == "grbcm" and k:
            part = np.concatenate([first, part])
        exact = GaussianProcessRegressor(KERNEL, alpha=model.noise_level_, optimizer=None)
        mean, std = exact.fit(X[part], u[part]).predict(new, return_std=True)
        yield mean, std**2


@pytest.mark.oracle
@pytest.mark.parametrize("combine", RULES)
@pytest.mark.parametrize("partition", ["k-means", "random"])
def test_rules_term_by_term(combine, partition, seed):
    X, y = data(seed)
    new = data(seed + 1)[0][:20]
    model = fixed(combine, n_experts=4, partition=partition, random_state=seed).fit(X, y)

    mean, std = model.predict(new, return_std=True, include_noise=False)
    means, variances = map(np.array, zip(*experts(model, X, y, new), strict=True))
    prior = KERNEL.diag(new)

    # compute the exponents of the experts for each sample
    for i in range(20):
        v = variances[:, i]
        if combine == "grbcm":  # correct for the shared expert
            beta = np.array([0.0, 1.0, *(0.5 * np.log(v[0] / v[2:]))])
            beta[0] = 1 - beta.sum()
        else:
            beta = {
                "poe": np.ones(4),
                "bcm": np.ones(4),
                "gpoe": np.full(4, 0.25),
                "rbcm": 0.5 * np.log(prior[i] / v),
            }[combine]

        wanted, variance = committee(
            beta, means[:, i], v, prior[i], combine in ("bcm", "rbcm")
        )
        assert_allclose(mean[i], wanted * y.std() + y.mean(), rtol=1e-7)
        assert_allclose(std[i], np.sqrt(variance) * y.std(), rtol=1e-6)
        assert_allclose(model.expert_weights(new[i : i + 1])[0], beta, rtol=1e-6, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("combine", ["poe", "gpoe", "bcm", "grbcm"])
def test_one_expert_is_the_exact_process(combine, seed):
    X, y = data(seed)
    new = data(seed + 1)[0]
    model = fixed(combine, n_experts=1).fit(X, y)
    exact = GaussianProcessRegressor(KERNEL, alpha=0.1, optimizer=None, normalize_y=True)
    mean, std = exact.fit(X, y).predict(new, return_std=True)
    found, found_std = model.predict(new, return_std=True, include_noise=False)
    assert_allclose(found, mean, rtol=1e-7)
    assert_allclose(found_std, std, rtol=1e-6)
    value = exact.log_marginal_likelihood_value_
    assert_allclose(model.log_marginal_likelihood_value_, value, rtol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", [ConstantKernel() * RBF(), RBF() + DotProduct()])
def test_optimiser_matches_the_maximum_of_scikit_learn(kernel, seed):
    X, y = data(seed)
    model = BayesianCommitteeMachine(kernel, n_experts=1, tol=1e-8, max_iter=200).fit(X, y)
    exact = GaussianProcessRegressor(kernel + WhiteKernel(0.1), normalize_y=True).fit(X, y)
    wanted = exact.log_marginal_likelihood_value_
    assert_allclose(model.log_marginal_likelihood_value_, wanted, rtol=1e-5)
    assert_allclose(model.noise_level_, exact.kernel_.k2.noise_level, rtol=1e-2)


@pytest.mark.certificate
def test_objective_is_the_sum_of_exact_likelihoods(seed):
    X, y = data(seed)
    u = (y - y.mean()) / y.std()
    model = BayesianCommitteeMachine(n_experts=3, random_state=seed).fit(X, y)
    found = sum(
        exact_log_likelihood(model.kernel_, model.noise_level_, X[part], u[part])
        for part in model.experts_
    )
    assert_allclose(model.log_marginal_likelihood_value_, found, rtol=1e-8)
    start = BayesianCommitteeMachine(n_experts=3, optimizer=None, random_state=seed).fit(X, y)
    assert model.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_


@pytest.mark.paper
def test_order_of_the_rules_as_experts_shrink():
    """Deisenroth and Ng (2015), figure 3: rbcm is best, and the product of experts is too sure.

    On neighbourhoods. Their "gpoe" before "bcm" is found with experts on random samples only.
    """
    X, y = make_friedman1(2000, n_features=5, noise=1.0, random_state=0)
    new, target = make_friedman1(1000, n_features=5, noise=1.0, random_state=1)
    density = {}
    error = {}
    for combine in ("poe", "gpoe", "bcm", "rbcm"):
        model = BayesianCommitteeMachine(combine=combine, n_experts=80, random_state=0).fit(
            X, y
        )
        mean, std = model.predict(new, return_std=True)
        z = (mean - target) / std
        density[combine] = np.mean(0.5 * np.log(2 * np.pi * std**2) + 0.5 * z**2)
        error[combine] = np.mean((mean - target) ** 2)
    assert min(density, key=density.get) == min(error, key=error.get) == "rbcm"
    assert max(density, key=density.get) == "poe"


@pytest.mark.recovery
def test_noise_and_function(seed):
    X, y = data(seed, n=3000)
    new, truth = make_friedman1(500, n_features=5, noise=0.0, random_state=seed + 1)
    model = BayesianCommitteeMachine(max_expert_size=300, random_state=seed).fit(X, y)
    assert len(model.experts_) == 10
    assert_allclose(np.sqrt(model.noise_level_) * y.std(), 1.0, rtol=0.1)
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.5


@pytest.mark.invariance
@pytest.mark.parametrize("partition", ["k-means", "random"])
@pytest.mark.parametrize("combine", ["rbcm", "grbcm"])
def test_parts_are_balanced_and_complete(partition, combine, seed):
    X, y = data(seed, n=103)
    model = fixed(combine, max_expert_size=20, partition=partition, random_state=seed).fit(
        X, y
    )
    assert_array_equal(np.sort(np.concatenate(model.experts_)), np.arange(103))
    assert max(map(len, model.experts_)) <= 20


@pytest.mark.invariance
def test_neighbourhoods_are_close(seed):
    X, y = data(seed, n=400)
    spread = {}
    for partition in ("k-means", "random"):
        model = fixed(max_expert_size=50, partition=partition, random_state=seed).fit(X, y)
        spread[partition] = sum(
            ((X[p] - X[p].mean(axis=0)) ** 2).sum() for p in model.experts_
        )
    assert spread["k-means"] < 0.8 * spread["random"]


@pytest.mark.invariance
def test_far_from_the_data(seed):
    X, y = data(seed)
    prior = np.sqrt(1.3) * y.std()
    for combine in RULES:
        model = fixed(combine, n_experts=4, random_state=seed).fit(X, y)
        mean, std = model.predict(X[:3] + 1e4, return_std=True, include_noise=False)
        assert_allclose(mean, y.mean())
        assert_allclose(std, prior / 2 if combine == "poe" else prior)


@pytest.mark.invariance
def test_threads_targets_and_units(seed):
    X, y = data(seed)
    one = fixed(n_experts=4, random_state=seed).fit(X, y)
    two = fixed(n_experts=4, random_state=seed, n_jobs=2).fit(X, y)
    assert_array_equal(one.predict(X), two.predict(X))
    both = fixed(n_experts=4, random_state=seed).fit(X, np.column_stack([y, 1e6 * y - 3]))
    mean, std = both.predict(X, return_std=True)
    assert_allclose(mean[:, 0], one.predict(X))
    assert_allclose(mean[:, 1], 1e6 * mean[:, 0] - 3)
    assert_allclose(std[:, 1], 1e6 * std[:, 0])


@pytest.mark.edge
def test_degenerate_data_have_finite_results(seed):
    X, y = data(seed)
    for Z, target in (
        (X, np.full(120, 3.0)),
        (np.zeros((120, 2)), y),
        (np.tile(X[:10], (12, 1)), y),
        (1e8 * X + 1e8, y),
    ):
        model = BayesianCommitteeMachine(max_expert_size=40, random_state=0).fit(Z, target)
        mean, std = model.predict(Z, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
    one = fixed().fit(X[:1], y[:1])
    assert_allclose(one.predict(X[:1]), y[:1])
    many = fixed(n_experts=500).fit(X, y)  # there are at most as many experts as samples
    assert len(many.experts_) == 120


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": PSpectrum(2)}, "accepts rows of numbers"),
        ({"kernel": WhiteKernel()}, "only of noise"),
        ({"n_experts": 2, "max_expert_size": 30}, "assigns 60 samples to an expert"),
        ({"noise_level_bounds": (1.0, 0.1)}, "two positive numbers in order"),
        (
            {"kernel": DotProduct(1.0), "noise_level": 1e-300, "optimizer": None},
            "not positive definite",
        ),
    ],
)
def test_errors_name_the_remedy(parameters, message):
    X, y = data(0)
    with pytest.raises(ValueError, match=message):
        BayesianCommitteeMachine(**parameters).fit(X, y)


@pytest.mark.edge
def test_pipeline_and_search():
    X, y = data(0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BayesianCommitteeMachine(tol=0.01, random_state=0)),
        {"bayesiancommitteemachine__max_expert_size": [20, 60]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.7
