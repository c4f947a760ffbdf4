"""Evidence that IncompleteCholesky gives features whose inner products are nearly the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import PCA, KernelPCA
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata.cross_decomposition import KernelCCA, KernelPLSRegression
from skmoderndata.decomposition import KernelPCAOutlierDetector
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import Intersection
from tests.oracles import incomplete_cholesky as oracle


def table(seed, n=60, p=4):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.oracle
def test_pivots_and_features_of_the_plain_loop(seed):
    X = table(seed)
    K = polynomial_kernel(X, degree=3)
    F, pivots = oracle.column_by_column(K, 15)
    model = IncompleteCholesky(15, kernel="poly", gamma=None, algorithm="greedy")
    Z = model.fit_transform(X)
    assert_array_equal(model.component_indices_, pivots)
    assert_allclose(Z, F, atol=1e-8 * np.abs(F).max())
    assert_allclose(model.cholesky_, F[pivots], atol=1e-8 * np.abs(F).max())


@pytest.mark.oracle
def test_gram_matrix_of_nystroem_with_the_same_landmarks(seed):
    X = table(seed)
    model = IncompleteCholesky(20, gamma=None).fit(X)
    nystroem = Nystroem(n_components=20, gamma=0.25)
    nystroem.fit(model.components_)
    A = model.transform(X)
    B = nystroem.transform(X)
    assert_allclose(A @ A.T, B @ B.T, atol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["random_pivots", "greedy"])
def test_residual_bounds_the_error(algorithm, seed):
    X = table(seed)
    model = IncompleteCholesky(25, gamma=None, algorithm=algorithm, random_state=seed).fit(X)
    Z = model.transform(X)
    K = rbf_kernel(X)
    E = K - Z @ Z.T
    assert model.residual_trace_ == pytest.approx(np.trace(E), abs=1e-10)
    assert np.linalg.norm(E, "nuc") == pytest.approx(model.residual_trace_, abs=1e-8)
    assert np.linalg.eigvalsh(E)[0] > -1e-10
    assert model.explained_ratio_ == pytest.approx(1 - np.trace(E) / 60)
    assert model.score(X) == pytest.approx(model.explained_ratio_)
    new = table(seed + 1, 30)
    kept = model.transform(new)
    assert (np.einsum("ij,ij->i", kept, kept) <= 1 + 1e-9).all()  # projections are no longer


@pytest.mark.recovery
def test_full_rank_gives_the_kernel_back(seed):
    X = table(seed, 30)
    model = IncompleteCholesky(30, gamma=None)
    Z = model.fit_transform(X)
    assert_allclose(Z @ Z.T, rbf_kernel(X), atol=1e-10)
    assert_allclose(model.transform(X), Z, atol=1e-6)
    new = table(seed + 1, 7)
    assert_allclose(model.transform(new) @ Z.T, rbf_kernel(new, X), atol=1e-6)


@pytest.mark.recovery
def test_numerical_rank_and_tolerance():
    X = table(0, 200, 3)
    model = IncompleteCholesky(50, kernel="linear").fit(X)
    assert model.n_components_ == 3
    assert model.residual_trace_ < 1e-10
    settings = {"tol": 0.1, "algorithm": "greedy"}
    assert IncompleteCholesky(200, **settings).fit(X).explained_ratio_ >= 0.9
    few = IncompleteCholesky(200, **settings).fit(X).n_components_
    assert IncompleteCholesky(few - 1, algorithm="greedy").fit(X).explained_ratio_ < 0.9


@pytest.mark.invariance
def test_forms_of_the_same_samples(seed):
    X = np.maximum(table(seed), 0)
    model = IncompleteCholesky(12, gamma=0.3, random_state=seed)
    Z = model.fit_transform(X)
    assert_allclose(model.fit(X).transform(X), Z, atol=1e-9)
    assert_allclose(model.fit_transform(sparse.csr_array(X)), Z, atol=1e-8)
    assert model.fit_transform(X.astype(np.float32)).dtype == np.float32
    by_object = IncompleteCholesky(12, kernel=RBF(np.sqrt(1 / 0.6)), random_state=seed)
    assert_allclose(by_object.fit_transform(X), Z, atol=1e-8)
    K = rbf_kernel(X, gamma=0.3)
    given = IncompleteCholesky(12, kernel="precomputed", random_state=seed).fit(K)
    assert_allclose(given.transform(K[5:9]), Z[5:9], atol=1e-8)


@pytest.mark.invariance
def test_sets_and_pipelines():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    sets = [
        frozenset(
            np.flatnonzero(rng.random(12) < np.where(np.arange(12) < 6, 0.2 + 0.4 * c, 0.4))
        )
        for c in y
    ]
    model = make_pipeline(IncompleteCholesky(8, kernel=Intersection()), LogisticRegression())
    search = GridSearchCV(model, {"incompletecholesky__n_components": [4, 8]}).fit(sets, y)
    assert search.best_score_ > 0.7
    assert len(search.best_estimator_[0].components_) <= 8


@pytest.mark.edge
def test_edge_cases():
    one = IncompleteCholesky().fit_transform([[1.0, 2.0]])
    assert_allclose(one, [[1.0]])
    same = IncompleteCholesky(5).fit(np.ones((6, 2)))
    assert same.n_components_ == 1
    zero = IncompleteCholesky(kernel="linear").fit(np.zeros((4, 2)))
    assert zero.transform(np.ones((3, 2))).shape == (3, 0)
    assert zero.explained_ratio_ == 1
    names = IncompleteCholesky(3).fit(table(0)).get_feature_names_out()
    assert list(names) == [f"incompletecholesky{j}" for j in range(3)]


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"not positive semi-definite.*SpectrumCorrector",
            lambda S, model: IncompleteCholesky(3, kernel="precomputed").fit(S),
        ),
        (
            "finite, non-negative",
            lambda S, model: IncompleteCholesky(3, kernel="precomputed").fit(-np.eye(2)),
        ),
        (
            "symmetric",
            lambda S, model: IncompleteCholesky(3, kernel="precomputed").fit(
                [[1.0, 1.0], [0.0, 1.0]]
            ),
        ),
        (
            "square matrix",
            lambda S, model: IncompleteCholesky(3, kernel="precomputed").fit(np.ones((2, 3))),
        ),
        ("kernel values of new samples", lambda S, model: model.score(np.ones((2, 3)))),
    ],
)
def test_kernels_that_are_not_positive_are_rejected(message, call):
    S = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    model = IncompleteCholesky(1, kernel="precomputed").fit(np.eye(3))
    with pytest.raises(ValueError, match=message):
        call(S, model)


@pytest.mark.slow
def test_work_grows_linearly():
    evaluations = {}
    for n in (2000, 8000):
        calls = []

        def counted(A, B, calls=calls):
            calls.append(len(A) * len(B))
            return rbf_kernel(A, B, gamma=0.1)

        IncompleteCholesky(60, kernel=counted).fit(table(0, n, 5))
        evaluations[n] = sum(calls)
    assert evaluations[8000] < 5 * evaluations[2000]


@pytest.mark.oracle
def test_principal_components_of_the_features_match_the_kernel(seed):
    """The nonlinear projection trick: coordinates whose inner products are the centred kernel."""
    X = table(seed)
    new = table(seed + 1)
    ours = make_pipeline(IncompleteCholesky(len(X), gamma=0.3), PCA(5)).fit(X)
    theirs = KernelPCA(5, kernel="rbf", gamma=0.3).fit(X)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-7)
    assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-6)


@pytest.mark.edge
@pytest.mark.parametrize(
    "model",
    [
        IncompleteCholesky(5, kernel="additive_chi2"),
        KernelPCAOutlierDetector(2, kernel="additive_chi2", solver="low_rank"),
        KernelPLSRegression(2, kernel="additive_chi2", solver="low_rank"),
        KernelCCA(2, kernel="additive_chi2", solver="low_rank"),
    ],
    ids=repr,
)
def test_additive_chi2_has_no_factor(model):
    with pytest.raises(ValueError, match="conditionally positive definite"):
        model.fit(np.abs(table(0)), np.abs(table(1)))
