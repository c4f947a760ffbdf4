"""Evidence that LaplacianEmbedding solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.kernels import Intersection
from skmoderndata.manifold import LaplacianEmbedding


def rows(seed, n=50):
    return np.random.default_rng(seed).normal(size=(n, 3))


def energy(K, T):
    """The sum of the objective, pair by pair."""
    n = len(K)
    return sum(K[i, j] * ((T[i] - T[j]) ** 2).sum() for i in range(n) for j in range(n))


@pytest.mark.oracle
def test_coordinates_are_eigenvectors_of_the_laplacian(seed):
    X = rows(seed)
    K = rbf_kernel(X, gamma=0.3)
    model = LaplacianEmbedding(3, gamma=0.3).fit(X)
    values, V = np.linalg.eigh(np.diag(K.sum(axis=1)) - K)
    assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-8)
    assert_allclose(np.abs(np.sum(V[:, 1:4] * model.embedding_, axis=0)), 1, rtol=1e-8)
    assert_allclose(energy(K, model.embedding_), model.objective_, rtol=1e-8)


@pytest.mark.oracle
def test_many_samples_by_lanczos(seed):
    X = np.random.default_rng(seed).uniform(size=(1100, 2))
    K = rbf_kernel(X, gamma=3.0)
    model = LaplacianEmbedding(3, kernel="precomputed").fit(K)
    values = np.linalg.eigvalsh(np.diag(K.sum(axis=1)) - K)
    assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-6)  # of a top value of 1000


@pytest.mark.certificate
def test_no_other_coordinates_have_a_lower_sum(seed):
    X = rows(seed)
    K = rbf_kernel(X, gamma=0.3)
    T = LaplacianEmbedding(2, gamma=0.3).fit(X).embedding_
    assert_allclose(T.T @ T, np.eye(2), atol=1e-10)
    assert_allclose(T.sum(axis=0), 0, atol=1e-10)
    best = energy(K, T)
    rng = np.random.default_rng(seed)
    for size in (0.01, 0.1, 10):
        other = T + size * rng.normal(size=T.shape)
        other = np.linalg.qr(other - other.mean(axis=0))[0]
        assert energy(K, other) > best


@pytest.mark.certificate
def test_map_for_new_samples_is_exact_on_training_samples(seed):
    X = rows(seed)
    model = LaplacianEmbedding(2, gamma=0.3).fit(X)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    assert_allclose(LaplacianEmbedding(2, gamma=0.3).fit_transform(X), model.embedding_, atol=1e-8)


@pytest.mark.recovery
def test_order_along_a_curve(seed):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 1.5 * np.pi, size=80))
    X = np.c_[np.cos(angle), np.sin(angle)]
    place = LaplacianEmbedding(1, gamma=3.0).fit(X).embedding_[:, 0]
    assert np.abs(np.corrcoef(np.argsort(np.argsort(place)), np.arange(80))[0, 1]) > 0.999


@pytest.mark.invariance
def test_kernel_given_in_five_ways(seed):
    X = rows(seed)
    new = rows(seed + 1)
    want = LaplacianEmbedding(gamma=0.125).fit(X).transform(new)
    rbf = LaplacianEmbedding(kernel=rbf_kernel, kernel_params={"gamma": 0.125})
    K = rbf_kernel(X, gamma=0.125)
    K_new = rbf_kernel(new, X, gamma=0.125)
    given = LaplacianEmbedding(kernel="precomputed")
    found = [
        LaplacianEmbedding(kernel=RBF(2.0)).fit(X).transform(new),
        rbf.fit(X).transform(new),
        LaplacianEmbedding(gamma=0.125).fit(sparse.csr_array(X)).transform(sparse.csr_array(new)),
        given.fit(K).transform(K_new),
    ]
    for T in found:
        assert_allclose(T, want, atol=1e-8)
    assert_allclose(
        given.fit(7 * K).embedding_, LaplacianEmbedding(gamma=0.125).fit_transform(X), atol=1e-8
    )
    # similarities of samples to themselves do not matter for the training samples
    assert_allclose(given.fit(K + 3 * np.eye(50)).embedding_, given.fit(K).embedding_, atol=1e-8)


@pytest.mark.edge
def test_parts_without_connection():
    K = np.kron(np.eye(2), np.ones((4, 4)))
    model = LaplacianEmbedding(2, kernel="precomputed").fit(K)
    assert_allclose(model.eigenvalues_, [0, 4], atol=1e-10)
    assert_allclose(model.embedding_[:, 0] ** 2, 1 / 8, rtol=1e-8)
    assert model.embedding_[0, 0] * model.embedding_[7, 0] < 0


@pytest.mark.edge
def test_samples_alike_none_few_samples_and_messages():
    X = rows(0)
    model = LaplacianEmbedding(gamma=0.3).fit(X)
    assert_allclose(model.transform(np.full((1, 3), 1e3)), 0)
    with pytest.warns(UserWarning, match="n_components=5 exceeds the number 2 of coordinates"):
        assert LaplacianEmbedding(5).fit(X[:3]).embedding_.shape == (3, 2)
    assert_array_equal(
        LaplacianEmbedding(1, kernel=Intersection()).fit([{1}, {2}, {1, 2}]).embedding_.shape,
        (3, 1),
    )
    with pytest.raises(ValueError, match="needs them without negative values"):
        LaplacianEmbedding(kernel="linear").fit(X)
    with pytest.raises(ValueError, match="needs the square matrix"):
        LaplacianEmbedding(kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="not symmetric"):
        LaplacianEmbedding(kernel="precomputed").fit(np.triu(np.ones((4, 4))))


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_weights_count_copies(kernel, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=50)  # no sample is far from the others
    X = np.c_[np.cos(angle), 0.7 * np.sin(angle)]
    times = rng.integers(0, 4, size=50)
    index = np.repeat(np.arange(50), times)

    model, twin = (LaplacianEmbedding(2, kernel=kernel, gamma=2.0) for _ in range(2))
    if kernel == "precomputed":
        K = rbf_kernel(X, gamma=2.0)
        model.fit(K, sample_weight=times)
        twin.fit(K[np.ix_(index, index)])
        got = K
        wanted = K[:, index]
    else:
        model.fit(X, sample_weight=times)
        twin.fit(X[index])
        got = wanted = X

    assert_allclose(model.eigenvalues_, twin.eigenvalues_, rtol=1e-9)
    assert_allclose(model.objective_, twin.objective_, rtol=1e-9)
    assert_allclose(model.embedding_[index], twin.embedding_, atol=1e-7)
    assert_allclose(model.transform(got), twin.transform(wanted), atol=1e-7)
    assert_allclose(model.embedding_, model.transform(got), atol=1e-9)
    assert model.score(got) == pytest.approx(twin.score(wanted), rel=1e-9)


@pytest.mark.certificate
def test_weighted_coordinates_fulfil_the_eigenproblem(seed):
    X = np.random.default_rng(seed).uniform(size=(1100, 2))
    w = np.random.default_rng(seed).uniform(0.5, 2, size=1100)
    model = LaplacianEmbedding(3, gamma=3.0).fit(X, sample_weight=w)
    K = rbf_kernel(X, gamma=3.0)
    T = model.embedding_
    left = (K @ w)[:, None] * T - K @ (w[:, None] * T)
    size = float((K @ w).max())
    assert_allclose(left, T * model.eigenvalues_, atol=1e-9 * size * np.abs(T).max())
    assert_allclose(T.T @ (w[:, None] * T), np.eye(3), atol=1e-8)
    with pytest.raises(ValueError, match="at least 2 samples of positive weight"):
        model.fit(X[:3], sample_weight=[0, 0, 1])
