"""Evidence that LaplacianEmbedding solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata._kernelized.low_rank import TrainingSet
from skmoderndata._solvers.kernel.graph_embedding import smallest_laplacian
from skmoderndata.kernels import Intersection
from skmoderndata.manifold import LaplacianEmbedding


def whole_graph(n_components=2, *, n_neighbors=None, **settings):
    """All similarities count."""
    return LaplacianEmbedding(n_components, n_neighbors=n_neighbors, **settings)


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
    model = whole_graph(3, gamma=0.3).fit(X)
    values, V = np.linalg.eigh(np.diag(K.sum(axis=1)) - K)
    assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-8)
    assert_allclose(np.abs(np.sum(V[:, 1:4] * model.embedding_, axis=0)), 1, rtol=1e-8)
    assert_allclose(energy(K, model.embedding_), model.objective_, rtol=1e-8)


@pytest.mark.oracle
def test_many_samples_by_lanczos(seed):
    X = np.random.default_rng(seed).uniform(size=(1100, 2))
    K = rbf_kernel(X, gamma=3.0)
    model = whole_graph(3, kernel="precomputed").fit(K)
    values = np.linalg.eigvalsh(np.diag(K.sum(axis=1)) - K)
    # the largest eigenvalue is 1000
    assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-6)


@pytest.mark.certificate
def test_no_other_coordinates_have_a_lower_sum(seed):
    X = rows(seed)
    K = rbf_kernel(X, gamma=0.3)
    T = whole_graph(2, gamma=0.3).fit(X).embedding_
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
    model = whole_graph(2, gamma=0.3).fit(X)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    assert_allclose(whole_graph(2, gamma=0.3).fit_transform(X), model.embedding_, atol=1e-8)


@pytest.mark.recovery
def test_order_along_a_curve(seed):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 1.5 * np.pi, size=80))
    X = np.c_[np.cos(angle), np.sin(angle)]
    place = whole_graph(1, gamma=3.0).fit(X).embedding_[:, 0]
    assert np.abs(np.corrcoef(np.argsort(np.argsort(place)), np.arange(80))[0, 1]) > 0.999


@pytest.mark.invariance
def test_kernel_in_five_forms(seed):
    X = rows(seed)
    new = rows(seed + 1)
    want = whole_graph(gamma=0.125).fit(X).transform(new)
    rbf = whole_graph(kernel=rbf_kernel, kernel_params={"gamma": 0.125})
    K = rbf_kernel(X, gamma=0.125)
    K_new = rbf_kernel(new, X, gamma=0.125)
    given = whole_graph(kernel="precomputed")

    found = [
        whole_graph(kernel=RBF(2.0)).fit(X).transform(new),
        rbf.fit(X).transform(new),
        whole_graph(gamma=0.125).fit(sparse.csr_array(X)).transform(sparse.csr_array(new)),
        given.fit(K).transform(K_new),
    ]

    for T in found:
        assert_allclose(T, want, atol=1e-8)
    assert_allclose(
        given.fit(7 * K).embedding_, whole_graph(gamma=0.125).fit_transform(X), atol=1e-8
    )

    # similarities of samples to themselves have no effect on the training samples
    assert_allclose(
        given.fit(K + 3 * np.eye(50)).embedding_, given.fit(K).embedding_, atol=1e-8
    )


@pytest.mark.edge
def test_parts_without_connection():
    K = np.kron(np.eye(2), np.ones((4, 4)))
    model = whole_graph(2, kernel="precomputed").fit(K)
    assert_allclose(model.eigenvalues_, [0, 4], atol=1e-10)
    assert_allclose(model.embedding_[:, 0] ** 2, 1 / 8, rtol=1e-8)
    assert model.embedding_[0, 0] * model.embedding_[7, 0] < 0


@pytest.mark.edge
def test_equal_empty_and_few_samples_and_messages():
    X = rows(0)
    model = whole_graph(gamma=0.3).fit(X)
    assert_allclose(model.transform(np.full((1, 3), 1e3)), 0)
    with pytest.warns(UserWarning, match="n_components=5 exceeds the number 2 of coordinates"):
        assert whole_graph(5).fit(X[:3]).embedding_.shape == (3, 2)
    assert_array_equal(
        whole_graph(1, kernel=Intersection()).fit([{1}, {2}, {1, 2}]).embedding_.shape,
        (3, 1),
    )
    with pytest.raises(ValueError, match="needs them without negative values"):
        whole_graph(kernel="linear").fit(X)
    with pytest.raises(ValueError, match="needs the square matrix"):
        whole_graph(kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="not symmetric"):
        whole_graph(kernel="precomputed").fit(np.triu(np.ones((4, 4))))


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_weights_count_copies(kernel, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=50)  # all samples have near neighbours
    X = np.c_[np.cos(angle), 0.7 * np.sin(angle)]
    times = rng.integers(0, 4, size=50)
    index = np.repeat(np.arange(50), times)
    model, twin = (whole_graph(2, kernel=kernel, gamma=2.0) for _ in range(2))
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
    model = whole_graph(3, gamma=3.0).fit(X, sample_weight=w)
    K = rbf_kernel(X, gamma=3.0)
    T = model.embedding_
    left = (K @ w)[:, None] * T - K @ (w[:, None] * T)
    size = float((K @ w).max())
    assert_allclose(left, T * model.eigenvalues_, atol=1e-9 * size * np.abs(T).max())
    assert_allclose(T.T @ (w[:, None] * T), np.eye(3), atol=1e-8)
    with pytest.raises(ValueError, match="at least 2 samples of positive weight"):
        model.fit(X[:3], sample_weight=[0, 0, 1])


def neighbours_by_loops(K, k):
    """Similarities of pairs with one sample among the k most similar of the other."""
    # rounding may change the order of tied values
    n = len(K)
    K = np.maximum(K, K.T)
    last = [sorted(row)[-k] for row in K]
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if K[i, j] >= last[i] or K[i, j] >= last[j]:
                S[i, j] = K[i, j]
    return S


@pytest.mark.oracle
@pytest.mark.parametrize("k", [3, 10])
def test_neighbours_are_the_most_similar(k, seed):
    X = rows(seed)
    S = neighbours_by_loops(rbf_kernel(X, gamma=0.3), k)
    given = whole_graph(2, kernel="precomputed").fit(S)
    model = LaplacianEmbedding(2, n_neighbors=k, gamma=0.3).fit(X)
    assert_allclose(model.eigenvalues_, given.eigenvalues_, atol=1e-10)
    assert_allclose(model.embedding_, given.embedding_, atol=1e-7)
    assert_allclose(energy(S, model.embedding_), model.objective_, rtol=1e-8)


@pytest.mark.oracle
def test_sparse_graphs_have_the_same_coordinates(seed):
    X = np.random.default_rng(seed).uniform(size=(1100, 2))
    w = np.random.default_rng(seed).uniform(0.5, 2, size=1100)
    for weights in (None, w):
        model = LaplacianEmbedding(2, gamma=30.0, n_neighbors=15).fit(X, sample_weight=weights)
        S, _ = model._graph(TrainingSet(model, X, np.arange(1100), weights), model._weights)
        assert sparse.issparse(S)
        assert S.nnz < 30 * 1100
        values, T = smallest_laplacian(S.toarray(), 2, weights)
        assert_allclose(model.eigenvalues_, values, rtol=1e-5)  # the largest eigenvalue is 30
        assert_allclose(model.embedding_, T, atol=1e-5)


@pytest.mark.certificate
@pytest.mark.parametrize("k", [2, 5, 10])
def test_training_samples_keep_their_neighbours(k, seed):
    X = rows(seed)
    model = LaplacianEmbedding(2, n_neighbors=k, gamma=0.3).fit(X)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    assert_allclose(model.transform(X[::-1][:7]), model.embedding_[::-1][:7], atol=1e-8)
    single = LaplacianEmbedding(2, n_neighbors=k, gamma=0.3).fit(X.astype(np.float32))
    assert_allclose(single.transform(X.astype(np.float32)), single.embedding_, atol=1e-5)


@pytest.mark.invariance
# with fewer neighbours, copies would disconnect the graph
@pytest.mark.parametrize("k", [12, 20])
def test_blocks_and_copies_have_the_same_neighbours(k, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=60)
    X = np.c_[np.cos(angle), 0.7 * np.sin(angle)]
    times = rng.integers(0, 4, size=60)
    index = np.repeat(np.arange(60), times)
    model = LaplacianEmbedding(2, n_neighbors=k, gamma=2.0).fit(X, sample_weight=times)
    twin = LaplacianEmbedding(2, n_neighbors=k, gamma=2.0).fit(X[index])
    assert_allclose(model.eigenvalues_, twin.eigenvalues_, atol=1e-9)
    assert_allclose(model.objective_, twin.objective_, rtol=1e-7, atol=1e-9)
    with config_context(working_memory=0.01):
        again = LaplacianEmbedding(2, n_neighbors=k, gamma=2.0).fit(X, sample_weight=times)
        assert_allclose(again.transform(X), model.transform(X), atol=1e-7)


@pytest.mark.recovery
def test_digits_have_digits_for_neighbours():
    """Unrelated samples, if many, outweigh the few related ones: a graph of all blurs them."""
    X, y = load_digits(return_X_y=True)
    X = X[:700]
    y = y[:700]

    def accuracy(T):
        return cross_val_score(KNeighborsClassifier(), T, y, cv=5).mean()

    ours = accuracy(LaplacianEmbedding().fit_transform(X))
    assert ours > accuracy(SpectralEmbedding(random_state=0).fit_transform(X))
    assert ours > accuracy(LaplacianEmbedding(n_neighbors=None).fit_transform(X)) + 0.2
    # transform samples that were not in the fit
    model = LaplacianEmbedding(5).fit(X[:500])
    classifier = KNeighborsClassifier().fit(model.embedding_, y[:500])
    assert classifier.score(model.transform(X[500:]), y[500:]) > 0.8
