"""Low-rank kernel methods take the same pivots in whatever order and storage the rows come."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import skmoderndata as sk

# The last column of the views has a far smaller scale by design.
pytestmark = pytest.mark.filterwarnings("ignore:.* depends on the scales of the columns")


def views(seed):
    """Two views with common parts, whose last columns are below the rank cut."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(200, 3))
    X = common @ rng.normal(size=(3, 12)) + 0.5 * rng.normal(size=(200, 12))
    Y = common @ rng.normal(size=(3, 9)) + 0.5 * rng.normal(size=(200, 9))
    X *= np.logspace(0, -2, 12)
    # single precision represents these numbers exactly
    return X.astype(np.float32).astype(float), Y.astype(np.float32).astype(float)


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["low_rank", "nystroem"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "cls",
    [
        sk.KernelCCA,
        functools.partial(sk.KernelCCA, kernel=("rbf", "linear"), alpha=1.0),
    ],
    ids=["correlation", "covariance"],
)
def test_two_views_do_not_depend_on_order_and_storage(cls, kernel, solver, seed):
    X, Y = views(seed)
    params = {"kernel": kernel, "solver": solver, "max_rank": 30, "random_state": seed}

    def scores(A, B):
        return np.asarray(cls(2, **params).fit(A, B).transform(X))

    expected = scores(X, Y)
    order = np.random.default_rng(seed).permutation(len(X))
    size = np.abs(expected).max()
    for A, B in (
        (X[order], Y[order]),
        (np.asfortranarray(X), np.asfortranarray(Y)),
        (X.astype(np.float32), Y.astype(np.float32)),
    ):
        # the results are equal up to the sign, which the largest training score determines
        found = scores(A, B)
        signs = np.sign((found * expected).sum(axis=0))
        assert_allclose(signs * found, expected, atol=1e-6 * size)


@pytest.mark.invariance
def test_sparse_views_match_dense_ones(seed):
    X, Y = views(seed)
    model = sk.KernelCCA(2, kernel="linear", solver="low_rank")
    expected = model.fit(X, Y).correlations_
    found = model.fit(sparse.csr_array(X), sparse.csr_array(Y)).correlations_
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.invariance
def test_random_state_draws_the_pivots(seed):
    X, Y = views(seed)
    model = sk.KernelCCA(2, kernel="linear", solver="low_rank", random_state=0)
    first = model.fit(X, Y).correlations_
    assert_allclose(model.fit(X, Y).correlations_, first, rtol=0)
    others = [model.set_params(random_state=s).fit(X, Y).correlations_ for s in (1, 2, 3)]
    assert any(np.abs(one - first).max() > 1e-9 for one in others)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "model",
    [
        sk.cross_decomposition.KernelPLSRegression(3, solver="low_rank", max_rank=30),
        sk.discriminant_analysis.KernelDiscriminantAnalysis(solver="low_rank"),
        sk.manifold.KernelGraphEmbedding(solver="low_rank"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_other_low_rank_methods_do_not_depend_on_the_order(model, seed):
    X, Y = views(seed)
    y = (Y[:, 0] > 0).astype(float)
    order = np.random.default_rng(seed).permutation(len(X))
    method = (
        "predict"
        if isinstance(model, sk.cross_decomposition.KernelPLSRegression)
        else "decision_function"
    )
    method = method if hasattr(model, method) else "transform"
    expected = getattr(model.fit(X, y), method)(X)
    found = getattr(model.fit(X[order], y[order]), method)(X)
    size = np.abs(expected).max()
    assert_allclose(np.abs(found), np.abs(expected), atol=1e-5 * size)
