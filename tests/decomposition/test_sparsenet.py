"""Evidence that Sparsenet solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skmoderndata._solvers.dictionaries.sparsenet import (
    curvature,
    dictionary_step,
    energies,
    prior_value,
    smooth_codes,
)
from skmoderndata.decomposition import Sparsenet


def problem(seed, n_signals=12, n=8, k=12):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(k, n))
    D *= rng.uniform(0.5, 1.5, (k, 1)) / np.linalg.norm(D, axis=1, keepdims=True)
    return rng.normal(size=(n_signals, n)), D


def planted(seed, n_signals=3000, n=8):
    rng = np.random.default_rng(seed)
    A = rng.laplace(size=(n_signals, n)) * (rng.uniform(size=(n_signals, n)) < 0.2)
    D = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return A @ D, D


@pytest.mark.certificate
@pytest.mark.parametrize("prior", ["log", "gauss"])
def test_slopes_of_the_priors_are_their_differences(prior, seed):
    a = np.random.default_rng(seed).normal(size=50) * 2
    step = 1e-6
    slope = (prior_value(a + step, prior) - prior_value(a - step, prior)) / (2 * step)
    assert_allclose(a * curvature(a, prior), slope, atol=1e-8)


@pytest.mark.certificate
@pytest.mark.parametrize("prior", ["log", "gauss"])
def test_codes_are_stationary_by_finite_differences(prior, seed):
    X, D = problem(seed)
    result = smooth_codes(X, D, alpha=0.3, prior=prior, tol=1e-7, max_iter=2000)
    assert result.gradient.max() <= 1e-7
    step = 1e-5
    for j in range(len(D)):
        up = result.codes.copy()
        down = result.codes.copy()
        up[:, j] += step
        down[:, j] -= step
        change = energies(X, D, up, alpha=0.3, prior=prior)
        change -= energies(X, D, down, alpha=0.3, prior=prior)
        assert_allclose(change / (2 * step), 0, atol=1e-5)
    assert_allclose(result.energy, energies(X, D, result.codes, alpha=0.3, prior=prior))


@pytest.mark.certificate
@pytest.mark.parametrize("prior", ["log", "gauss"])
def test_no_step_raises_the_energy(prior, seed):
    X, D = problem(seed)
    last = np.full(len(X), np.inf)
    for steps in range(12):
        result = smooth_codes(X, D, alpha=0.5, prior=prior, tol=0, max_iter=steps)
        assert (result.energy <= last + 1e-12).all()
        last = result.energy


@pytest.mark.oracle
@pytest.mark.parametrize("prior", ["log", "gauss"])
def test_codes_match_another_minimiser(prior, seed):
    X, D = problem(seed)
    codes = smooth_codes(X, D, alpha=0.3, prior=prior, tol=1e-7, max_iter=2000).codes
    for x, a in zip(X, codes, strict=True):

        def energy(a, x=x):
            return 0.5 * np.sum((x - a @ D) ** 2) + 0.3 * prior_value(a, prior).sum()

        found = minimize(energy, a, options={"gtol": 1e-8})
        assert energy(a) <= found.fun + 1e-8


@pytest.mark.oracle
def test_step_of_the_atoms_follows_the_gradient(seed):
    X, D = problem(seed, n_signals=30)
    A = np.random.default_rng(seed).normal(size=(30, 12))
    variance = np.full(12, 0.1)
    gain = np.linspace(0.5, 2, 12)

    new, after, gains = dictionary_step(X, D, A, variance, gain, rate=1e-4, goal=None)
    assert_array_equal(gains, gain)

    # compute central differences of the reconstruction error
    step = 1e-6
    slope = np.empty_like(D)
    for j in range(12):
        for p in range(8):
            up = D.copy()
            down = D.copy()
            up[j, p] += step
            down[j, p] -= step
            slope[j, p] = np.sum((X - A @ up) ** 2) - np.sum((X - A @ down) ** 2)
    slope /= 4 * step * 30  # compute the slope of half the mean squared error

    moved = D - 1e-4 / np.mean(A**2, axis=0).max() * slope
    assert_allclose(new, moved / np.linalg.norm(moved, axis=1, keepdims=True), atol=1e-9)

    # with gain control, the variance approaches its target
    scaled, after, gains = dictionary_step(X, D, A, variance, gain, rate=1e-4, goal=0.1)
    assert_allclose(after, 0.95 * 0.1 + 0.05 * np.mean(A**2, axis=0))
    assert (gains > gain).all()  # the coefficients vary more than the goal
    assert_allclose(np.linalg.norm(scaled, axis=1), gains)


@pytest.mark.recovery
@pytest.mark.parametrize("prior", ["log", "abs", "gauss"])
def test_independent_sparse_sources_are_found(prior, seed):
    X, D = planted(seed)
    best = 0.0
    for start in range(3):
        model = Sparsenet(8, prior=prior, alpha=0.1, max_iter=15, random_state=start).fit(X)
        best = max(best, np.mean(np.abs(model.components_ @ D.T).max(axis=0) > 0.95))
    assert best >= 0.75


@pytest.mark.recovery
@pytest.mark.parametrize("prior", ["log", "abs"])
def test_gains_bring_the_variances_to_the_goal(prior, seed):
    X, _ = planted(seed)
    model = Sparsenet(
        8,
        prior=prior,
        alpha=0.05,
        norm="gain",
        learning_rate=0.3,
        max_iter=30,
        random_state=seed,
    ).fit(X)
    inside = (model.gains_ > 0.11) & (model.gains_ < 9)
    assert inside.mean() >= 0.5
    codes = model.transform(X)
    assert_allclose(np.mean(codes**2, axis=0)[inside], 0.1, rtol=0.5)
    assert_allclose(np.linalg.norm(model.components_, axis=1), model.gains_)
    assert model.objective_ < model.objective_history_[0]


@pytest.mark.invariance
def test_threads_dtype_batches_and_grid_search(seed):
    X, _ = planted(seed, 600)
    given = {"n_components": 10, "alpha": 0.1, "max_iter": 2, "random_state": seed}
    model = Sparsenet(**given).fit(X)

    threads = Sparsenet(**given, n_jobs=2).fit(X)
    assert_allclose(threads.components_, model.components_, atol=1e-10)
    single = Sparsenet(**given).fit(X.astype(np.float32))
    assert (
        single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    )
    assert_allclose(single.components_, model.components_, atol=1e-3)  # single precision

    # the code of a signal does not depend on the other signals
    assert_allclose(model.transform(X[:5]), model.transform(X)[:5], atol=1e-10)

    # steps over parts are equal to steps over the whole batch
    rng = np.random.RandomState(seed)
    start = rng.normal(size=(10, 8))
    whole = Sparsenet(init=start, alpha=0.1).partial_fit(X)
    parts = Sparsenet(init=start, alpha=0.1)
    for first in range(0, 600, 200):
        parts.partial_fit(X[first : first + 200])
    assert_allclose(parts.components_, whole.components_, atol=1e-9)
    assert parts.n_iter_ == 3

    search = GridSearchCV(Sparsenet(**given), {"learning_rate": [0.0, 1.0]}, cv=3).fit(X)
    assert search.best_params_ == {"learning_rate": 1.0}


@pytest.mark.edge
def test_edge_cases(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4))
    for prior in ("log", "abs", "gauss"):
        zeros = Sparsenet(3, prior=prior, norm="gain", max_iter=2, random_state=seed).fit(
            np.zeros((5, 4))
        )
        assert np.isfinite(zeros.components_).all()
        assert (zeros.transform(np.zeros((5, 4))) == 0).all()
        many = Sparsenet(30, prior=prior, max_iter=2, random_state=seed).fit(1e3 * X)
        assert np.isfinite(many.components_).all()
        strong = Sparsenet(4, prior=prior, alpha=1e6, max_iter=2, random_state=seed).fit(X)
        assert_allclose(strong.transform(X), 0, atol=1e-3)

    one = Sparsenet(1, max_iter=2, random_state=seed).fit(X[:, :1])
    assert one.components_.shape == (1, 1)

    with pytest.raises(ValueError, match="init has a zero atom"):
        Sparsenet(init=np.zeros((2, 4))).fit(X)
    with pytest.raises(ValueError, match=r"init has shape \(2, 3\)"):
        Sparsenet(init=np.ones((2, 3))).fit(X)
    with pytest.raises(ValueError, match="5 codes a row"):
        one.inverse_transform(np.ones((1, 5)))


@pytest.mark.edge
def test_warns_about_codes_above_their_tolerance(seed):
    X, _ = planted(seed, 100)
    given = {"n_components": 16, "alpha": 1e-4, "code_tol": 1e-13, "max_iter": 1}
    given |= {"prior": "gauss", "random_state": seed}
    model = Sparsenet(**given)
    told = (
        r"codes of \d+ of 100 signals have a gradient of up to .*; increase code_tol or alpha"
    )
    with pytest.warns(ConvergenceWarning, match=told):
        model.fit(X)
    assert model.gradient_norm_ > 1e-13
    for method in (model.transform, model.score, model.partial_fit):
        with pytest.warns(ConvergenceWarning, match="increase code_tol or alpha"):
            method(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Sparsenet(**given | {"code_tol": 0.0}).fit(X).transform(X)
        Sparsenet(**given | {"alpha": 0.2, "code_tol": 1e-6}).fit(X).transform(X)
