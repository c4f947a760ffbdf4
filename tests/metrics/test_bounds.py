"""Evidence that the bounds hold, and match the printed bounds with corrections."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC

from skmoderndata.metrics import bounds, rademacher_complexity
from tests.oracles.bounds import complexity_by_all_signs, margin_bound_in_steps

ARGUMENTS = {
    "cca_bound": {"correlation": 0.9, "norm_a": 1.0, "norm_b": 2.0, "diagonal": np.ones(100),
                  "radius": 2.0},
    "center_of_mass_bound": {"radius": 2.0},
    "compression_bound": {"n_support": 10},
    "kernel_pca_residual_bound": {"eigenvalues": [9.0, 4.0, 1.0], "diagonal": np.ones(100),
                                  "n_components": 2, "radius": 1.0},
    "l2_margin_bound": {"dual_sq": 0.01, "ridge": 0.5, "margin": 0.4, "trace": 100.0},
    "margin_bound": {"slack": 3.0, "margin": 0.4, "trace": 100.0},
    "mistake_bound": {"n_updates": 10},
    "novelty_bound": {"slack": 3.0, "gap": 0.5, "radius": 1.0},
    "ranking_bound": {"slack": 3.0, "margin": 0.4, "trace": 100.0},
    "ridge_bound": {"mse": 0.1, "norm": 2.0, "trace": 100.0, "y_norm": 5.0, "radius": 1.0},
    "svr_bound": {"slack": 3.0, "norm": 2.0, "trace": 100.0, "threshold": 0.5, "epsilon": 0.1},
}  # fmt: skip


def value(name, delta=0.05, **others):
    function = getattr(bounds, name)
    arguments = ARGUMENTS[name] | others
    if "n" in inspect.signature(function).parameters:
        arguments.setdefault("n", 100)
    return function(**arguments, delta=delta)


def test_all_bounds_are_tested():
    assert set(ARGUMENTS) | {"leave_one_out_bound"} == set(bounds.__all__)


@pytest.mark.invariance
@pytest.mark.parametrize("name", ARGUMENTS)
def test_bounds_grow_with_confidence_and_shrink_with_samples(name):
    assert value(name, delta=0.01) > value(name, delta=0.1) > 0
    if "n" in inspect.signature(getattr(bounds, name)).parameters:
        assert value(name, n=1000) < value(name, n=100)


@pytest.mark.oracle
def test_closed_cases():
    assert_allclose(bounds.center_of_mass_bound(1, 1.0, delta=np.exp(-2)), 4.0)
    deviation = np.sqrt(np.log(2 / 0.05) / 200)
    assert_allclose(value("margin_bound"), 3 / 40 + 40 / 40 + 3 * deviation)
    assert_allclose(value("ranking_bound"), 6 / 40 + 80 / 40 + 6 * deviation)
    assert_allclose(value("novelty_bound"), 3 / 50 + 12 / 5 + 3 * deviation)
    assert_allclose(value("ridge_bound"), 0.1 + 0.32 * 25 + 48 * deviation)
    assert_allclose(value("svr_bound"), (0.03 + 0.8) / 0.4 + 3 * deviation)
    assert_allclose(value("mistake_bound"), (10 * np.log(100) + np.log(1000)) / 90)
    assert_allclose(value("compression_bound"), (10 * (1 + np.log(10)) + np.log(2000)) / 90)
    assert_allclose(
        value("kernel_pca_residual_bound", n_components=0), 0.14 + 0.8 + 3 * deviation
    )
    assert_allclose(value("cca_bound"), 0.2 + 1.0 + 60 * deviation)
    assert bounds.leave_one_out_bound(10, 100) == 0.1
    finer = np.sqrt(np.log(4 / 0.05) / 200)
    assert_allclose(
        value("l2_margin_bound"), min(0.0025 / 0.0256 + 200, 4 * np.sqrt(150) / 0.4) / 100
        + 3 * finer
    )  # fmt: skip


@pytest.mark.recovery
def test_mean_of_samples_stays_within_its_bound():
    """Known expectation 0, norm of the samples 1: violated in less than delta of 200 draws."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, size=(200, 50))
    means = np.abs(np.exp(1j * angles).mean(axis=1))
    assert (means > bounds.center_of_mass_bound(50, 1.0)).mean() < 0.05
    assert bounds.center_of_mass_bound(50, 1.0) < 1  # the bound is not trivial


@pytest.mark.recovery
def test_error_of_a_hard_margin_stays_within_its_bounds():
    """Two clouds of known risk 0, in 100 draws."""
    rng = np.random.default_rng(0)
    violated = 0
    for _ in range(100):
        y = rng.choice([-1, 1], 4000)
        X = y[:, None] * np.array([1.0, 0.0]) + rng.uniform(-0.5, 0.5, size=(4000, 2))
        machine = SVC(kernel="linear", C=1e6).fit(X[:300], y[:300])
        error = 1 - machine.score(X[300:], y[300:])
        margin = 1 / np.linalg.norm(machine.coef_)
        trace = float((X[:300] ** 2).sum())
        found = bounds.margin_bound(0.0, margin, trace, 300)
        violated += error > min(found, bounds.compression_bound(len(machine.support_), 300))
    assert found < 1  # the bound is not trivial
    assert violated < 5


@pytest.mark.certificate
def test_complexity_is_below_its_bound_by_the_trace(seed):
    X = load_digits().data[:200] / 16
    for K in (linear_kernel(X), rbf_kernel(X, gamma=0.05)):
        exact = rademacher_complexity(K, 2.0, method="monte_carlo", random_state=seed)
        assert 0 < exact < rademacher_complexity(K, 2.0)
    # each sample has an independent sign, so the variance is zero
    assert_allclose(rademacher_complexity(np.eye(50), method="monte_carlo"), 2 / np.sqrt(50))
    assert_allclose(rademacher_complexity(np.eye(50)), 2 / np.sqrt(50))
    assert rademacher_complexity([[4.0]]) == 4.0


@pytest.mark.oracle
def test_complexity_by_all_signs(seed):
    A = np.random.default_rng(seed).normal(size=(8, 3))
    K = A @ A.T
    mean = complexity_by_all_signs(K, 1.0)
    drawn = rademacher_complexity(K, method="monte_carlo", n_draws=100_000, random_state=seed)
    assert_allclose(drawn, mean, rtol=0.01)  # this is a mean of 100 000 draws


@pytest.mark.oracle
def test_margin_bound_in_steps(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, 3))
    slacks = rng.uniform(0, 0.2, 40)
    expected = margin_bound_in_steps(slacks, 0.3, A @ A.T, 0.01)
    found = bounds.margin_bound(slacks.sum(), 0.3, (A**2).sum(), 40, delta=0.01)
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.margin_bound(0, 0.0, 1.0, 10), "margin=0.0 must be positive"),
        (lambda: bounds.margin_bound(0, 1.0, 1.0, 10, delta=1.0), "delta=1.0 must be between"),
        (lambda: bounds.mistake_bound(6, 10), "n_updates=6 must be between 0 and n / 2 = 5"),
        (lambda: bounds.compression_bound(10, 10), "n_support=10 must be between 1 and"),
        (lambda: bounds.leave_one_out_bound(11, 10), "n_support=11 must be between 0 and"),
        (lambda: bounds.svr_bound(0, 1, 1, 0.1, 0.1, 10), "must be larger than epsilon"),
        (lambda: bounds.center_of_mass_bound(0, 1.0), "n=0 must be at least 1"),
        (lambda: rademacher_complexity(np.ones((2, 3))), "must be square"),
        (lambda: rademacher_complexity(np.eye(2), method="exact"), "must be 'trace' or"),
        (lambda: rademacher_complexity(np.eye(2), -1.0), "norm=-1.0 must be positive"),
    ],
)
def test_raises_on_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
