"""Evidence that KernelCCA with alpha=1 maximises the covariance of functions of norm 1."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.cross_decomposition import PLSSVD
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.cross_decomposition import KernelCCA
from tests.oracles.kernel_cca import centred

OfCovariance = functools.partial(KernelCCA, kernel=("rbf", "linear"), alpha=1.0)


def data(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.c_[X[:, 0] ** 2, X[:, 1]] + 0.1 * rng.normal(size=(n, 2))


@pytest.mark.oracle
def test_linear_kernels_are_plssvd(seed):
    X, Y = data(seed)
    model = OfCovariance(2, kernel="linear").fit(X, Y)
    U, V = PLSSVD(2, scale=False).fit(X, Y).transform(X, Y)
    Z, W = model.transform(X, Y)
    assert_allclose(np.abs(Z), np.abs(U), atol=1e-8)
    assert_allclose(np.abs(W), np.abs(V), atol=1e-8)
    C = np.cov(X.T, Y.T, bias=True)[:3, 3:]
    assert_allclose(
        model.regularized_correlations_, np.linalg.svd(C, compute_uv=False), rtol=1e-8
    )


@pytest.mark.oracle
def test_one_kernel_by_the_small_eigenproblem(seed):
    """Eigenvectors of ``Y' K Y`` [Shawe-Taylor and Cristianini 2004, computation 6.18]."""
    X, Y = data(seed)
    model = OfCovariance(2, gamma=0.4).fit(X, Y)
    Yc = Y - Y.mean(axis=0)
    K = centred(rbf_kernel(X, gamma=0.4))
    values, V = linalg.eigh(Yc.T @ K @ Yc)
    sigma = np.sqrt(values[::-1]) / 60
    assert_allclose(model.regularized_correlations_, sigma, rtol=1e-8)
    scores = K @ (Yc @ V[:, ::-1]) / (60 * sigma)
    assert_allclose(np.abs(model.transform(X)), np.abs(scores), atol=1e-8)


@pytest.mark.certificate
def test_functions_have_unit_norm_and_given_covariance(seed):
    X, Y = data(seed)
    model = OfCovariance(2, kernel="rbf", gamma=0.4).fit(X, Y)
    for A, dual in zip((X, Y), model.dual_coef_, strict=True):
        K = centred(rbf_kernel(A, gamma=0.4))
        assert_allclose(dual.T @ K @ dual, np.eye(2), atol=1e-8)
    Z, W = model.transform(X, Y)
    assert_allclose(Z.T @ W / 60, np.diag(model.regularized_correlations_), atol=1e-10)
    assert model.residual_ < 1e-10


@pytest.mark.recovery
def test_square_is_found(seed):
    X, Y = data(seed, n=300)
    model = OfCovariance(1).fit(X[:150], Y[:150, 0])
    assert model.score(X[150:], Y[150:, 0]) > 0.5  # for noise, the score is 0.0 +- 0.1


@pytest.mark.invariance
def test_low_rank_removes_a_constant_kernel(seed):
    """`coef0` adds a constant to the kernel, which centring takes away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5))
    Y = X @ rng.normal(size=(5, 3))
    parameters = {"kernel": "polynomial", "degree": 1, "gamma": 1.0, "coef0": 1e5}
    exact = OfCovariance(3, solver="exact", **parameters).fit(X, Y)
    low = OfCovariance(3, solver="low_rank", **parameters).fit(X, Y)
    assert_allclose(
        low.regularized_correlations_, exact.regularized_correlations_, rtol=1e-5
    )  # eleven digits remain of numbers near 1e5


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["low_rank", "nystroem"])
def test_solvers_agree(seed, solver):
    X, Y = data(seed)
    setting = {"gamma": 0.4, "solver": solver, "rank_tol": 0.0, "random_state": 0}
    one = OfCovariance(2, kernel="rbf", **setting).fit(X, Y)
    exact = OfCovariance(2, kernel="rbf", gamma=0.4).fit(X, Y)
    assert_allclose(one.regularized_correlations_, exact.regularized_correlations_, rtol=1e-8)


@pytest.mark.edge
def test_edge_cases():
    X, Y = data(0)
    with pytest.warns(UserWarning, match="n_components=5 exceeds the rank 2 .* returns 2"):
        assert OfCovariance(5, kernel="linear").fit(X, Y).n_components_ == 2
    with pytest.raises(ValueError, match="View 2 is constant"):
        OfCovariance().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="square"):
        OfCovariance(kernel="precomputed").fit(X, Y)
