"""Evidence that AlignedKernelCombination solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from skmoderndata.kernels import Intersection, PSpectrum
from skmoderndata.metrics import kernel_alignment
from skmoderndata.preprocessing import AlignedKernelCombination

KERNELS = ["linear", RBF(1.0), RBF(0.3), lambda X, Y: polynomial_kernel(X, Y, degree=2)]


def data(seed, n=60):
    X, y = make_friedman1(n, n_features=5, random_state=seed)
    return X, np.where(y > np.median(y), "high", "low"), y


def matrices(X):
    return [linear_kernel(X), RBF(1.0)(X), RBF(0.3)(X), polynomial_kernel(X, degree=2)]


@pytest.mark.oracle
@pytest.mark.parametrize("target", [1, 2])
def test_weights_by_a_general_optimiser(target, seed):
    X, *targets = data(seed)
    y = targets[target - 1]
    model = AlignedKernelCombination(KERNELS).fit(X, y)
    H = matrices(X)
    if target == 1:
        y = np.where(y == "high", 1.0, -1.0)

    def loss(v):
        total = sum(w * K for w, K in zip(v / [np.linalg.norm(K) for K in H], H, strict=True))
        return -kernel_alignment(total, np.outer(y, y), centered=True)

    best = min(
        minimize(loss, start, bounds=[(0, None)] * 4, method="L-BFGS-B", tol=1e-14).fun
        for start in np.eye(4) + 0.1
    )
    assert_allclose(model.alignment_, -best, rtol=1e-6)
    total = sum(w * K for w, K in zip(model.weights_, H, strict=True))
    assert_allclose(kernel_alignment(total, np.outer(y, y), centered=True), model.alignment_)
    assert_allclose(model.fit_transform(X, targets[target - 1]), total)
    alone = [kernel_alignment(K, np.outer(y, y), centered=True) for K in H]
    assert_allclose(model.alignments_, alone, rtol=1e-10)
    assert model.alignment_ >= max(alone) - 1e-12


@pytest.mark.oracle
def test_classes_by_their_ideal_matrix(seed):
    X, _, y = data(seed)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = AlignedKernelCombination(KERNELS, algorithm="independent").fit(X, labels)
    wanted = [kernel_alignment(K, labels, centered=True) for K in matrices(X)]
    assert_allclose(model.alignments_, wanted, rtol=1e-10)


@pytest.mark.certificate
def test_optimality_conditions(seed):
    X, y, _ = data(seed)
    assert AlignedKernelCombination(KERNELS).fit(X, y).kkt_residual_ < 1e-10
    twice = AlignedKernelCombination([*KERNELS, *KERNELS]).fit(X, y)  # the system is singular
    assert twice.kkt_residual_ < 1e-8
    once = AlignedKernelCombination(KERNELS).fit(X, y)
    assert_allclose(twice.alignment_, once.alignment_, rtol=1e-8)


@pytest.mark.recovery
def test_the_kernel_that_made_the_target_gets_the_weight(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 6))
    y = np.sign(np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=150))

    def column(A, j):
        return np.asarray(A)[:, [j]]

    kernels = [
        lambda A, B, j=j: rbf_kernel(column(A, j), column(B, j), gamma=2) for j in range(6)
    ]
    model = AlignedKernelCombination(kernels).fit(X, y)
    assert model.weights_[0] > 0.8 * model.weights_.sum()


@pytest.mark.invariance
def test_scale_and_order_of_kernels(seed):
    X, y, _ = data(seed)
    model = AlignedKernelCombination(["linear", "rbf"]).fit(X, y)
    scaled = AlignedKernelCombination(["rbf", lambda A, B: 1e6 * linear_kernel(A, B)]).fit(
        X, y
    )
    new = data(seed + 1)[0]
    assert_allclose(scaled.transform(new), model.transform(new), rtol=1e-8)
    K = model.fit_transform(X, y)
    # the mean diagonal entry of the centred matrix is one
    assert_allclose(np.trace(K - K.mean(axis=0)) / 60, 1.0)
    constant = AlignedKernelCombination([lambda A, B: np.ones((len(A), len(B))), "rbf"]).fit(
        X, y
    )
    assert constant.weights_[0] == 0


@pytest.mark.edge
def test_samples_that_are_not_vectors():
    words = ["tea", "team", "steam", "beer", "bear", "bee", "tears", "beet"]
    y = [0, 0, 0, 1, 1, 1, 0, 1]
    model = make_pipeline(
        AlignedKernelCombination([PSpectrum(1), PSpectrum(2)]), SVC(kernel="precomputed")
    )
    assert model.fit(words, y).score(words, y) == 1.0
    sets = [set(word) for word in words]
    assert AlignedKernelCombination([Intersection()]).fit(sets, y).transform(sets).shape == (
        8,
        8,
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernels", "y", "message"),
    [
        ([], [0, 1, 0], "list of at least one kernel"),
        ("rbf", [0, 1, 0], "list of at least one kernel"),
        (["rbf"], [1, 1, 1], "all y are equal"),
        (["rbf"], [2.5, 2.5, 2.5], "all y are equal"),
        ([lambda A, B: np.ones((len(A), len(B)))], [0, 1, 0], "needs a kernel that varies"),
    ],
)
def test_errors_name_the_remedy(kernels, y, message):
    with pytest.raises(ValueError, match=message):
        AlignedKernelCombination(kernels).fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.edge
def test_no_alignment_warns():
    X = np.array([[-1.0], [0.0], [1.0]])
    with pytest.warns(UserWarning, match="no kernel is aligned"):
        model = AlignedKernelCombination(["linear"]).fit(X, [0, 1, 0])
    assert_allclose(model.weights_, 1.5)


@pytest.mark.edge
def test_pipeline_and_search():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:200]
    y = y[:200]
    model = make_pipeline(
        StandardScaler(),
        AlignedKernelCombination(["linear", "rbf"]),
        SVC(kernel="precomputed"),
    )
    grid = {"alignedkernelcombination__algorithm": ["joint", "independent"], "svc__C": [1, 10]}
    assert GridSearchCV(model, grid, cv=3).fit(X, y).best_score_ > 0.93
    X, _, y = data(0, n=150)
    regression = make_pipeline(
        AlignedKernelCombination(["linear", "rbf"]), SVR(kernel="precomputed")
    )
    assert cross_val_score(regression, X, y, cv=3).mean() > 0.1
