"""Evidence that the adatrons solve the problems they state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC

from skmoderndata.kernels import PSpectrum
from skmoderndata.svm import KernelAdatronClassifier, KernelAdatronRegressor
from tests.oracles import kernel_adatron as oracle


def classes(n=80, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed
    )
    return X, y


def curve(n=70, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.oracle
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_passes_of_the_plain_loop(loss, seed):
    # with more than 500 samples, the fit stops at the tolerance
    X, y = classes(600, seed=seed)
    K = rbf_kernel(X, gamma=0.3)
    signs = 2 * y - 1
    model = KernelAdatronClassifier(2.0, gamma=0.3, loss=loss, shuffle=False, tol=0.05).fit(
        X, y
    )
    squared = loss == "squared_hinge"
    a = oracle.adatron(
        K, signs, np.inf if squared else 2.0, model.n_iter_, ridge=0.25 if squared else 0.0
    )
    assert_allclose(model.decision_function(X), K @ a, atol=1e-9)


@pytest.mark.oracle
def test_passes_of_the_plain_regression(seed):
    X, y = curve(600, seed=seed)
    K = rbf_kernel(X, gamma=0.5) + 1
    model = KernelAdatronRegressor(2.0, gamma=0.5, shuffle=False, tol=0.05).fit(X, y)
    centre = np.sort(y)[299]  # compute the lower median
    coef = oracle.adatron_regression(K, y - centre, 2.0, 0.1, model.n_iter_)
    assert_allclose(model.predict(X), centre + K @ coef, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("omega", [0.5, 1.0, 1.9])
def test_relaxation_does_not_move_the_optimum(omega, seed):
    X, y = classes(seed=seed)
    ours = KernelAdatronClassifier(gamma=0.3, omega=omega, tol=1e-6, random_state=0).fit(X, y)
    cone = KernelAdatronClassifier(gamma=0.3, solver="cvxpy").fit(X, y)
    assert cone.dual_gap_ < 1e-6
    assert_allclose(ours.decision_function(X), cone.decision_function(X), atol=1e-4)


@pytest.mark.oracle
def test_cone_solver_of_the_regression(seed):
    X, y = curve(seed=seed)
    ours, cone = (
        KernelAdatronRegressor(3.0, solver=solver, tol=1e-6, max_iter=10_000).fit(X, y)
        for solver in ("descent", "cvxpy")
    )
    assert_allclose(ours.predict(X), cone.predict(X), atol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_kernel(loss, seed):
    X, y = classes(seed=seed)
    settings = {"loss": loss, "fit_intercept": False}
    theirs = LinearSVC(C=0.5, tol=1e-10, max_iter=1_000_000, dual=True, **settings).fit(X, y)
    ours = KernelAdatronClassifier(0.5, "linear", tol=1e-8, max_iter=5000, **settings).fit(
        X, y
    )
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.certificate
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_gap(loss, seed):
    X, y = classes(600, seed=seed)
    u = np.random.default_rng(seed).uniform(0.5, 2, 600)
    for tol in (1e-1, 1e-3):
        model = KernelAdatronClassifier(gamma=0.3, loss=loss, tol=tol, random_state=0)
        model.fit(X, y, sample_weight=u)
        signs = 2 * y - 1
        f = model.decision_function(X)
        a = np.zeros(600)
        a[model.support_] = model.dual_coef_[0]
        slack = np.maximum(0, 1 - signs * f)
        norm = a @ f
        power = 2 if loss == "squared_hinge" else 1
        primal = 0.5 * norm + u @ slack**power
        dual = np.abs(a).sum() - 0.5 * norm - (power - 1) * a @ (a / (4 * u))
        assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-9)
        assert model.dual_gap_ <= tol


@pytest.mark.certificate
def test_hard_margin(seed):
    X, y = classes(seed=seed)
    model = KernelAdatronClassifier(np.inf, gamma=2.0, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    assert ((2 * y - 1) * model.decision_function(X)).min() > 0.99


@pytest.mark.recovery
def test_large_diagonal_does_not_diverge(seed):
    """The printed step diverges for ``k(x, x) > 2``."""
    X, y = classes(seed=seed)
    K = polynomial_kernel(X, degree=2, gamma=1.0)
    assert K.diagonal().min() > 1
    model = KernelAdatronClassifier(
        0.1, "poly", degree=2, gamma=1.0, max_iter=5000, random_state=0
    ).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    X, y = load_iris(return_X_y=True)
    assert KernelAdatronClassifier(10.0, random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.recovery
@pytest.mark.parametrize("scaled", [False, True])
def test_defaults_are_as_good_as_svr(scaled):
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    ours = cross_val_score(KernelAdatronRegressor(random_state=0), X, y).mean()
    assert ours > cross_val_score(SVR(), X, y).mean() - 0.05
    far = cross_val_score(KernelAdatronRegressor(random_state=0), X, y + 1e4).mean()
    assert far == pytest.approx(ours, abs=1e-3)


@pytest.mark.recovery
def test_tube_holds_the_curve(seed):
    X = np.linspace(-3, 3, 120)[:, None]
    model = KernelAdatronRegressor(10.0, epsilon=0.05, max_iter=20_000, random_state=0).fit(
        X, np.sin(X[:, 0])
    )
    assert np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.055
    assert len(model.support_) < 40


@pytest.mark.invariance
def test_order_weights_and_kernels(seed):
    X, y = classes(seed=seed)
    X[X < 0] = 0
    settings = {"gamma": 0.3, "random_state": 0, "max_iter": 5000}
    model = KernelAdatronClassifier(**settings).fit(X, y)
    values = model.decision_function(X)

    named = KernelAdatronClassifier(**settings).fit(X, np.array(["no", "yes"])[y])
    assert_array_equal(named.predict(X) == "yes", model.predict(X))
    thin = KernelAdatronClassifier(**settings).fit(sparse.csr_array(X), y)
    assert_allclose(thin.decision_function(X), values, atol=1e-6)

    K = rbf_kernel(X, gamma=0.3)
    gram = KernelAdatronClassifier(kernel="precomputed", random_state=0, max_iter=5000).fit(
        K, y
    )
    assert_allclose(gram.decision_function(K), values, atol=1e-6)

    counts = np.random.default_rng(seed).integers(0, 3, 80)
    # with the hinge loss the last digits converge slowly, so compare the objectives
    objectives = []
    settings |= {"tol": 1e-6, "max_iter": 50_000}
    for rows, weights in ((np.arange(80), counts), (np.repeat(np.arange(80), counts), None)):
        model = KernelAdatronClassifier(**settings).fit(
            X[rows], y[rows], sample_weight=weights
        )
        norm = model.dual_coef_[0] @ model.decision_function(X[rows][model.support_])
        slack = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
        objectives.append(0.5 * norm + counts @ slack)
    assert_allclose(*objectives, rtol=1e-6)

    settings |= {"loss": "squared_hinge", "tol": 1e-12}
    weighted = KernelAdatronClassifier(**settings).fit(X, y, sample_weight=counts)
    again = KernelAdatronClassifier(**settings).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.decision_function(X), again.decision_function(X), atol=1e-6)

    text = KernelAdatronClassifier(10.0, PSpectrum(2), random_state=0)
    words = ["banana", "bandana", "cabana", "grass", "glass", "class"]
    assert_array_equal(
        text.fit(words, [0, 0, 0, 1, 1, 1]).predict(["ananas", "brass"]), [0, 1]
    )


@pytest.mark.edge
def test_not_separable_through_the_origin():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="use a finite C"):
        KernelAdatronClassifier(np.inf, "linear").fit(X, y)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = classes()
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelAdatronClassifier().fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="1 class with positive weight"):
        KernelAdatronClassifier().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="The 'omega' parameter"):
        KernelAdatronClassifier(omega=2.0).fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter"):
        KernelAdatronRegressor(np.inf).fit(X, y)


@pytest.mark.edge
def test_constant_target_duplicates_and_few_passes():
    X, y = curve()
    constant = KernelAdatronRegressor(epsilon=0.1, tol=1e-8, max_iter=5000, random_state=0)
    assert_allclose(constant.fit(X, np.full(70, 3.0)).predict(X), 3.0)
    assert len(constant.support_) == 0
    twice = KernelAdatronClassifier().fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert_array_equal(twice.predict([[0.0], [1.0]]), [0, 1])
    with pytest.warns(ConvergenceWarning, match="after 2 passes the relative duality gap is"):
        KernelAdatronRegressor(10.0, max_iter=2).fit(X, y)


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), KernelAdatronClassifier(random_state=0))
    grid = {"kerneladatronclassifier__C": [0.1, 1.0]}
    assert GridSearchCV(pipe, grid, cv=3).fit(X, y).best_score_ > 0.93
