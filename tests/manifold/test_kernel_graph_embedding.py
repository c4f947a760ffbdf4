"""Evidence that KernelGraphEmbedding solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh
from sklearn.datasets import load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph

from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from skmoderndata.kernels import Intersection
from skmoderndata.manifold import KernelGraphEmbedding


def classes(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) + 1.5 * rng.normal(size=(3, 4))[y], y


def nearest(X, k, allowed):
    """Symmetric graph of the k nearest allowed samples, sample by sample."""
    n = len(X)
    S = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i and allowed(i, j)]
        others.sort(key=lambda j: ((X[i] - X[j]) ** 2).sum())
        for j in others[:k]:
            S[i, j] = S[j, i] = 1
    return S


def laplacian(S):
    return np.diag(S.sum(axis=1)) - S


def primal(X, L, B, alpha, k):
    """Generalised eigenproblem in the coordinates of the samples."""
    inner = X.T @ L @ X
    inner += alpha * np.trace(inner) * np.eye(X.shape[1])
    values, W = eigh(X.T @ B @ X, inner)
    return values[::-1][:k], W[:, ::-1][:, :k]


def check_linear(model, X, new, values, W):
    assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    Z = (new - X.mean(axis=0)) @ W
    found = model.transform(new)
    Z *= np.sign((Z * found).sum(axis=0))
    assert_allclose(found, Z, atol=1e-8)


@pytest.mark.oracle
def test_linear_kernel_is_locality_preserving_projection(seed):
    (X, _) = classes(seed)
    (new, _) = classes(seed + 1)
    S = nearest(X, 5, lambda i, j: True)
    assert_allclose(S, np.maximum(A := kneighbors_graph(X, 5).toarray(), A.T))
    d = S.sum(axis=1)
    B = np.diag(d) - np.outer(d, d) / d.sum()
    model = KernelGraphEmbedding(3, kernel="linear", alpha=0.01).fit(X)
    check_linear(model, X, new, *primal(X, laplacian(S), B, 0.01, 3))


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_linear_kernel_is_marginal_fisher_analysis(seed, solver):
    (X, y) = classes(seed)
    (new, _) = classes(seed + 1)
    S = nearest(X, 4, lambda i, j: y[i] == y[j])
    P = nearest(X, 9, lambda i, j: y[i] != y[j])
    model = KernelGraphEmbedding(
        2,
        kernel="linear",
        graph="marginal",
        n_neighbors=4,
        n_penalty_neighbors=9,
        alpha=0.01,
        solver=solver,
    ).fit(X, y)
    check_linear(model, X, new, *primal(X, laplacian(S), laplacian(P), 0.01, 2))


@pytest.mark.oracle
def test_graph_of_classes_is_discriminant_analysis(seed):
    (X, y) = classes(seed)
    (new, _) = classes(seed + 1)
    model = KernelGraphEmbedding(2, graph="class", gamma=0.05, alpha=0.01).fit(X, y)
    other = KernelDiscriminantAnalysis(gamma=0.05, alpha=0.01).fit(X, y)
    assert_allclose(model.eigenvalues_, other.eigenvalues_, rtol=1e-8)
    # the estimator uses sums over samples instead of means
    Z = other.transform(new) / np.sqrt(len(X))
    found = model.transform(new)
    assert_allclose(found, Z * np.sign((Z * found).sum(axis=0)), atol=1e-8)


@pytest.mark.oracle
def test_graphs_by_a_function(seed):
    X, y = classes(seed)
    want = KernelGraphEmbedding(graph="marginal", gamma=0.1).fit(X, y).transform(X)

    def graphs(X, y):
        return (
            nearest(X, 5, lambda i, j: y[i] == y[j]),
            sparse.csr_array(nearest(X, 20, lambda i, j: y[i] != y[j])),
        )

    found = KernelGraphEmbedding(graph=graphs, gamma=0.1).fit(X, y).transform(X)
    assert_allclose(found, want, atol=1e-8)


@pytest.mark.certificate
def test_directions_solve_the_eigenproblem(seed):
    X, _ = classes(seed)
    model = KernelGraphEmbedding(3, gamma=0.05).fit(X)
    T = model.transform(X)

    # distances in the space of a Gaussian kernel have the same order
    S = nearest(X, 5, lambda i, j: True)
    d = S.sum(axis=1)
    B = np.diag(d) - np.outer(d, d) / d.sum()
    W = model._project.coef

    inner = T.T @ laplacian(S) @ T + model.ridge_ * W.T @ W
    assert_allclose(inner, np.eye(3), atol=1e-8)
    assert_allclose(
        T.T @ B @ T, np.diag(model.eigenvalues_), atol=1e-8 * model.eigenvalues_[0]
    )

    rng = np.random.default_rng(seed)
    K = rbf_kernel(X, gamma=0.05)
    for _ in range(20):  # other functions in the span have a lower ratio
        a = rng.normal(size=60)
        f = K @ a
        assert (
            f @ B @ f / (f @ laplacian(S) @ f + model.ridge_ * a @ f) < model.eigenvalues_[0]
        )


@pytest.mark.recovery
def test_moons_are_apart_in_one_dimension(seed):
    X, y = make_moons(300, noise=0.08, random_state=seed)
    model = KernelGraphEmbedding(1, graph="marginal", gamma=3.0).fit(X[::2], y[::2])
    near = KNeighborsClassifier(5).fit(model.transform(X[::2]), y[::2])
    assert near.score(model.transform(X[1::2]), y[1::2]) > 0.97


@pytest.mark.invariance
def test_kernel_in_five_forms(seed):
    (X, _) = classes(seed)
    (new, _) = classes(seed + 1)
    want = KernelGraphEmbedding(gamma=0.125).fit(X).transform(new)
    K = rbf_kernel(X, gamma=0.125)
    K_new = rbf_kernel(new, X, gamma=0.125)
    named = KernelGraphEmbedding(gamma=0.125)
    found = [
        KernelGraphEmbedding(kernel=RBF(2.0)).fit(X).transform(new),
        KernelGraphEmbedding(kernel=rbf_kernel, kernel_params={"gamma": 0.125})
        .fit(X)
        .transform(new),
        named.fit(sparse.csr_array(X)).transform(sparse.csr_array(new)),
        KernelGraphEmbedding(kernel="precomputed").fit(K).transform(K_new),
        KernelGraphEmbedding(gamma=0.125, solver="low_rank").fit(X).transform(new),
    ]
    for T in found:
        assert_allclose(T, want, atol=1e-6)  # errors are divided by a ridge of 0.001
    scaled = KernelGraphEmbedding(kernel="precomputed").fit(1e4 * K).transform(1e4 * K_new)
    assert_allclose(scaled, want, atol=1e-6)


@pytest.mark.edge
def test_zero_kernel_few_samples_and_lists():
    with pytest.warns(UserWarning, match="n_components=2 exceeds the number 1 of directions"):
        T = KernelGraphEmbedding(kernel="linear").fit_transform(np.zeros((6, 3)))
    assert_allclose(T, 0)
    with pytest.warns(UserWarning, match="n_components=5 exceeds the number 4 of directions"):
        T = KernelGraphEmbedding(5, kernel="linear").fit_transform(classes(0)[0])
    assert T.shape == (60, 4)
    sets = [{1, 2}, {1, 2, 3}, {2, 3}, {7, 8}, {7, 8, 9}, {8, 9}]
    model = KernelGraphEmbedding(1, kernel=Intersection(), n_neighbors=2).fit(sets)
    T = model.transform(sets)[:, 0]
    assert (np.sign(T[:3]) == -np.sign(T[3:])).all()
    assert np.isfinite(model.score(sets))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "requires y to be passed",
            lambda X, K, given: KernelGraphEmbedding(graph="class").fit(X),
        ),
        (
            "at least two classes",
            lambda X, K, given: KernelGraphEmbedding(graph="marginal").fit(X, np.ones(60)),
        ),
        (
            r"matrix of shape \(2, 2\)",
            lambda X, K, given: KernelGraphEmbedding(
                graph=lambda X, y: (np.eye(2), np.eye(2))
            ).fit(X),
        ),
        (
            "symmetric matrices without negative entries",
            lambda X, K, given: KernelGraphEmbedding(
                graph=lambda X, y: (-np.ones((60, 60)), np.eye(60))
            ).fit(X),
        ),
        ("between new samples", lambda X, K, given: given.score(K[:5])),
    ],
)
def test_messages(message, call):
    X, _ = classes(0)
    K = X @ X.T
    given = KernelGraphEmbedding(kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match=message):
        call(X, K, given)


@pytest.mark.edge
def test_raises_if_singular_in_double_precision():
    X = load_iris().data
    with pytest.raises(ValueError, match="increase alpha, or lower max_rank"):
        KernelGraphEmbedding(alpha=1e-20).fit(X)
