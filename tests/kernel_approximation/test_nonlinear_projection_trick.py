"""Evidence that NonlinearProjectionTrick gives coordinates in the feature space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from skmoderndata.kernel_approximation import NonlinearProjectionTrick


def table(seed, n=40, p=3):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.oracle
def test_coordinates_of_kernel_pca(seed):
    X = table(seed)
    new = table(seed + 1, 6)
    ours = NonlinearProjectionTrick(5, gamma=None).fit(X)
    theirs = KernelPCA(5, kernel="rbf").fit(X)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-9)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("center", [True, False])
def test_exact_and_all_landmarks_agree(center, seed):
    X = table(seed)
    new = table(seed + 1, 6)
    settings = {"n_components": 6, "center": center}
    exact = NonlinearProjectionTrick(**settings).fit(X)
    for landmarks in ("greedy", "random"):
        other = NonlinearProjectionTrick(
            **settings, algorithm="nystroem", max_rank=40, landmarks=landmarks, random_state=0
        ).fit(X)
        assert_allclose(other.transform(X), exact.transform(X), atol=1e-7)
        assert_allclose(other.transform(new), exact.transform(new), atol=1e-6)
        assert_allclose(other.eigenvalues_, exact.eigenvalues_, rtol=1e-8)


@pytest.mark.certificate
def test_inner_products_are_the_kernel(seed):
    X = table(seed)
    new = table(seed + 1, 6)
    plain = NonlinearProjectionTrick(gamma=None, center=False).fit(X)
    Z = plain.transform(X)
    assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=1 / 3), atol=1e-9)
    assert_allclose(plain.transform(new) @ Z.T, rbf_kernel(new, X, gamma=1 / 3), atol=1e-5)
    centred = NonlinearProjectionTrick(gamma=None).fit(X)
    Z = centred.transform(X)
    expected = KernelCenterer().fit_transform(rbf_kernel(X, gamma=1 / 3))
    assert_allclose(Z @ Z.T, expected, atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-8)
    assert_allclose(Z.T @ Z, np.diag(centred.eigenvalues_), atol=1e-8)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["exact", "nystroem"])
@pytest.mark.parametrize("center", [True, False])
def test_residual_trace_and_score(algorithm, center, seed):
    X = table(seed)
    settings = {"gamma": None, "center": center}
    model = NonlinearProjectionTrick(4, algorithm=algorithm, max_rank=15, **settings).fit(X)
    K = rbf_kernel(X, gamma=1 / 3)
    K = KernelCenterer().fit_transform(K) if center else K
    Z = model.transform(X)
    if algorithm == "exact":
        assert model.residual_trace_ == pytest.approx(np.trace(K) - np.vdot(Z, Z), abs=1e-9)
        assert model.score(X) == pytest.approx(np.vdot(Z, Z) / np.trace(K), rel=1e-9)
    else:
        best = NonlinearProjectionTrick(4, **settings).fit(X)
        assert model.eigenvalues_.sum() <= best.eigenvalues_.sum() + 1e-9
    assert model.score(table(seed + 1)) <= 1 + 1e-9


@pytest.mark.recovery
def test_k_means_on_the_coordinates_is_kernel_k_means():
    X, y = make_circles(200, factor=0.2, noise=0.05, random_state=0)
    Z = NonlinearProjectionTrick(3, gamma=4.0).fit_transform(X)
    labels = KMeans(2, n_init=5, random_state=0).fit_predict(Z)
    assert adjusted_rand_score(y, labels) == 1.0


@pytest.mark.invariance
def test_a_linear_machine_on_the_coordinates_is_the_kernel_machine(seed):
    X = table(seed)
    new = table(seed + 1, 20)
    y = (X[:, 0] ** 2 > 0.5).astype(int)
    trick = NonlinearProjectionTrick(gamma=None, center=False).fit(X)
    linear = SVC(kernel="linear", tol=1e-8).fit(trick.transform(X), y)
    direct = SVC(kernel="rbf", gamma=1 / 3, tol=1e-8).fit(X, y)
    assert_allclose(
        linear.decision_function(trick.transform(new)),
        direct.decision_function(new),
        atol=1e-4,
    )


@pytest.mark.invariance
def test_forms_of_the_same_samples(seed):
    X = np.maximum(table(seed), 0)
    for settings in ({}, {"algorithm": "nystroem", "max_rank": 20, "random_state": seed}):
        model = NonlinearProjectionTrick(4, gamma=0.3, **settings)
        Z = model.fit_transform(X)
        assert_allclose(model.fit_transform(sparse.csr_array(X)), Z, atol=1e-8)
        K = rbf_kernel(X, gamma=0.3)
        given = NonlinearProjectionTrick(4, kernel="precomputed", **settings).fit(K)
        assert_allclose(given.transform(K[5:9]), Z[5:9], atol=1e-8)


@pytest.mark.edge
def test_borders_and_messages():
    same = NonlinearProjectionTrick().fit(np.ones((6, 2)))
    assert same.n_components_ == 0
    assert same.transform(np.ones((3, 2))).shape == (3, 0)
    one = NonlinearProjectionTrick(center=False).fit_transform([[1.0, 2.0]])
    assert_allclose(one, [[1.0]])
    rank = NonlinearProjectionTrick(kernel="linear").fit(table(0))
    assert rank.n_components_ == 3
    with pytest.raises(ValueError, match="finite and at least 0"):
        NonlinearProjectionTrick(kernel="precomputed").fit(-np.eye(3))
    with pytest.raises(ValueError, match="square matrix"):
        NonlinearProjectionTrick(kernel="precomputed").fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="kernel values of new samples"):
        NonlinearProjectionTrick(kernel="precomputed").fit(np.eye(3)).score(np.ones((2, 3)))


@pytest.mark.edge
def test_auto_takes_landmarks_where_the_matrix_is_large():
    X = np.random.default_rng(0).normal(size=(1001, 3))
    few = NonlinearProjectionTrick(10, max_rank=50, random_state=0).fit(X)
    assert few.algorithm_ == "nystroem"
    assert len(few.landmark_indices_) == 50
    assert NonlinearProjectionTrick(60, max_rank=50).fit(X).algorithm_ == "exact"
    assert NonlinearProjectionTrick(10).fit(X[:1000]).algorithm_ == "exact"
