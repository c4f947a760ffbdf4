"""Evidence that RegularizedCCA solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import CCA, PLSSVD
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import KernelCCA, MultisetCCA, RegularizedCCA
from tests.oracles.regularized_cca import bordered


def two_views(seed, n=80, p=5, q=4, noise=1.0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    X = common @ rng.normal(size=(2, p)) + noise * rng.normal(size=(n, p))
    return X, common @ rng.normal(size=(2, q)) + noise * rng.normal(size=(n, q)) + 3


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.7, 1.0])
def test_matches_the_generalised_eigenproblem(seed, alpha):
    X, Y = two_views(seed)
    model = RegularizedCCA(3, alpha=alpha).fit(X, Y)
    values, A, B = bordered(X, Y, alpha)
    assert_allclose(model.correlations_, values[:3], rtol=1e-8)
    for scores, centred, W in zip(
        model.transform(X, Y), (X - X.mean(0), Y - Y.mean(0)), (A, B), strict=True
    ):
        assert_allclose(np.abs(scores[:, 0]), np.abs(centred @ W[:, 0]), atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("p", [5, 120])
def test_equals_kernel_cca_with_the_linear_kernel(seed, alpha, p):
    X, Y = two_views(seed, p=p)
    one = RegularizedCCA(3, alpha=alpha).fit(X, Y)
    two = KernelCCA(3, kernel="linear", alpha=alpha).fit(X, Y)
    assert_allclose(one.correlations_, two.correlations_, rtol=1e-8)
    assert_allclose(np.abs(one.transform(X)), np.abs(two.transform(X)), atol=1e-6)


@pytest.mark.oracle
def test_limits_are_those_of_scikit_learn(seed):
    X, Y = two_views(seed)
    A, B = CCA(3, tol=1e-12, max_iter=10_000).fit(X, Y).transform(X, Y)
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)]
    assert_allclose(RegularizedCCA(3, alpha=0).fit(X, Y).correlations_, expected, atol=1e-6)
    U, _ = PLSSVD(2, scale=False).fit(X, Y).transform(X, Y)
    Z = RegularizedCCA(2, alpha=1).fit(X, Y).transform(X)
    assert_allclose(np.abs(Z), np.abs(U), atol=1e-7)


@pytest.mark.certificate
def test_no_other_directions_are_better(seed):
    X, Y = two_views(seed)
    model = RegularizedCCA(1, alpha=0.3).fit(X, Y)
    assert model.residual_ < 1e-12
    C, p = np.cov(X.T, Y.T), X.shape[1]
    S = 0.7 * C + 0.3 * np.eye(len(C))

    def objective(a, b):
        size = (a @ S[:p, :p] @ a) * (b @ S[p:, p:] @ b)
        return a @ C[:p, p:] @ b / np.sqrt(size)

    a, b = (w[:, 0] / s for w, s in zip(model.weights_, model.scales_, strict=True))
    assert_allclose(objective(a, b), model.correlations_[0], rtol=1e-10)
    rng = np.random.default_rng(seed)
    for step in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = objective(a + step * rng.normal(size=p), b + step * rng.normal(size=len(b)))
            assert other < model.correlations_[0]


@pytest.mark.recovery
def test_shrinkage_generalises_where_plain_cca_does_not(seed):
    X, Y = two_views(seed, n=120, p=25, q=25, noise=5.0)
    grid = {"alpha": [0.0, 0.5, 0.99]}
    search = GridSearchCV(RegularizedCCA(1), grid, cv=2).fit(X, Y)
    assert search.best_params_["alpha"] > 0
    scores = search.cv_results_["mean_test_score"]
    assert scores.max() > scores[0] + 0.05


@pytest.mark.invariance
def test_scale_rows_and_views(seed):
    X, Y = two_views(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain = RegularizedCCA(2, alpha=0).fit(X, Y).correlations_
    mixed = X @ np.random.default_rng(seed).normal(size=(5, 5)) + 100
    assert_allclose(RegularizedCCA(2, alpha=0).fit(mixed, Y).correlations_, plain, rtol=1e-7)
    scaled = RegularizedCCA(2, alpha=0.3, scale=True)
    expected = scaled.fit(X, Y).correlations_
    assert_allclose(scaled.fit(1e5 * X, 1e-5 * Y).correlations_, expected, rtol=1e-9)
    assert_allclose(scaled.fit(Y[order], X[order]).correlations_, expected, rtol=1e-9)


@pytest.mark.edge
def test_rank_deficient_views_without_regularisation(seed):
    X, Y = two_views(seed)
    model = RegularizedCCA(4, alpha=0).fit(np.c_[X, X[:, :2] + X[:, 1:3]], Y)
    assert model.ranks_.tolist() == [5, 4]
    assert_allclose(
        model.correlations_, RegularizedCCA(4, alpha=0).fit(X, Y).correlations_, rtol=1e-8
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("views", "setting", "message"),
    [
        (lambda X, Y: (X, Y[1:]), {}, "inconsistent numbers"),
        (lambda X, Y: (X, np.ones(80)), {}, "View 2 is constant"),
        (lambda X, Y: (np.random.default_rng(0).normal(size=(80, 90)), Y), {"alpha": 0}, "be 1"),
        (lambda X, Y: (X, Y), {"alpha": 2.0}, "between 0 and 1"),
        (lambda X, Y: (X, Y), {"alpha": [0.1]}, "1 entries for 2 views"),
        (lambda X, Y: ([X, Y, Y],), {}, "two views"),
        (lambda X, Y: (X,), {}, "requires y"),
    ],
)
def test_bad_input_is_named(views, setting, message):
    with pytest.raises(ValueError, match=message):
        RegularizedCCA(2, **setting).fit(*views(*two_views(0)))


@pytest.mark.edge
def test_two_views_of_the_multiset_method_agree(seed):
    X, Y = two_views(seed)
    expected = RegularizedCCA(2).fit(X, Y).correlations_
    for criterion in ("maxvar", "sumcor"):
        found = MultisetCCA(2, criterion=criterion).fit(X, Y)
        assert_allclose(found.correlations_, expected, rtol=1e-10)
