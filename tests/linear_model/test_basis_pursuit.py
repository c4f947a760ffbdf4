"""Evidence that BasisPursuit solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_1samp
from sklearn.datasets import (
    load_diabetes,
    load_linnerud,
    make_friedman1,
    make_friedman2,
    make_regression,
)
from sklearn.linear_model import Lasso, LassoCV, LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skmoderndata._solvers.common import convex_problems
from skmoderndata._solvers.recovery.basis_pursuit import (
    Pursuit,
    _settle,
    basis_pursuit,
    nearest,
    pursuit_gap,
)
from skmoderndata._solvers.recovery.noise_level import (
    credible_number,
    holds_by_itself,
    lasso_path,
)
from skmoderndata.linear_model import BasisPursuit
from tests.oracles.basis_pursuit import least_l1, transition


def equations(residual_tol=None, *, residual_rtol=None, fit_intercept=False, **settings):
    """Basis pursuit as its papers state it: no intercept, and no bound unless there is one."""
    return BasisPursuit(
        residual_tol, residual_rtol=residual_rtol, fit_intercept=fit_intercept, **settings
    )


def planted(seed, n=30, k=60, n_nonzero=4, positive=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    w = np.zeros(k)
    values = rng.normal(size=n_nonzero)
    w[rng.choice(k, n_nonzero, replace=False)] = np.abs(values) if positive else values
    return X, w


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("n_nonzero", [3, 12, 30])
def test_agrees_with_a_conic_solver(positive, share, n_nonzero, seed):
    X, w = planted(seed, n_nonzero=n_nonzero, positive=positive)
    y = X @ w
    bound = share * np.linalg.norm(y)
    model = equations(residual_tol=bound, positive=positive).fit(X, y)
    # the tolerance is the accuracy of the conic solver
    assert_allclose(np.abs(model.coef_).sum(), least_l1(X, y, bound, positive), rtol=1e-6)
    assert np.linalg.norm(y - X @ model.coef_) <= bound + 1e-9 * np.linalg.norm(y)
    assert model.dual_gap_ < 1e-10


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["simplex", "cvxpy"])
def test_every_solver_gives_the_same_coefficients(solver, seed):
    X, w = planted(seed, n_nonzero=8)
    y = X @ w
    path = equations().fit(X, y)
    other = equations(solver=solver).fit(X, y)
    assert_allclose(other.coef_, path.coef_, atol=1e-9)
    assert other.dual_gap_ < 1e-9


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n_nonzero", [8, 25])
def test_interior_point_method_matches_the_path(n_nonzero, positive, seed):
    X, w = planted(seed, n=140, k=520, n_nonzero=n_nonzero, positive=positive)
    y = X @ w
    path = basis_pursuit(X, y, positive=positive)
    interior = basis_pursuit(X, y, positive=positive, solver="interior")
    assert (path.route, interior.route) == ("path", "interior")
    assert_allclose(interior.coef, path.coef, atol=1e-9)
    for result in (path, interior):
        assert result.gap < 1e-9
        slopes = X.T @ result.dual if positive else np.abs(X.T @ result.dual)
        assert slopes.max() <= 1
    model = equations(positive=positive).fit(X, y)
    assert_allclose(model.coef_, path.coef, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_other_routes_match_the_path_within_a_bound(positive, seed):
    """The interior point of the equations is next to the right segment, or the cone solver is."""
    X, w = planted(seed, positive=positive)
    y = X @ w + 0.3 * np.random.default_rng(seed).normal(size=30)
    bound = 0.2 * np.linalg.norm(y)
    path = basis_pursuit(X, y, bound=bound, positive=positive)
    other = basis_pursuit(X, y, bound=bound, positive=positive, solver="interior")
    assert path.route == "path"
    assert other.route == ("cvxpy" if positive else "interior")
    assert_allclose(other.coef, path.coef, atol=1e-9)
    assert other.gap < 1e-9


@pytest.mark.oracle
def test_settling_adds_a_missing_column(seed):
    X, w = planted(seed)
    y = X @ w + 0.3 * np.random.default_rng(seed).normal(size=30)
    bound = 0.2 * np.linalg.norm(y)
    size = np.linalg.norm(y)
    problem = Pursuit(X, y / size, bound / size, False)
    best = basis_pursuit(X, y, bound=bound).coef / size
    start = basis_pursuit(X, y, bound=1.1 * bound).coef / size
    if seed == 0:
        assert np.count_nonzero(start) < np.count_nonzero(best)
    settled = _settle(problem, problem.judge(start, problem.dual_of_residual(start), ""))
    assert_allclose(settled.coef, best, atol=1e-9)
    assert problem.accepts(settled, 1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(60, 90), (120, 150), (100, 400)])
def test_targets_without_sparse_representation(shape, positive, seed):
    """As many coefficients as equations, at a vertex: the linear program agrees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    y = X @ np.abs(rng.normal(size=shape[1])) if positive else rng.normal(size=shape[0])
    model = equations(positive=positive).fit(X, y)
    stated = equations(positive=positive, solver="cvxpy").fit(X, y)
    assert_allclose(np.abs(model.coef_).sum(), np.abs(stated.coef_).sum(), rtol=1e-9)
    assert np.count_nonzero(model.coef_) == shape[0]
    assert model.dual_gap_ < 1e-12
    assert_allclose(X @ model.coef_, y, atol=1e-9)
    result = basis_pursuit(X, y, positive=positive)
    assert result.route == "interior"
    assert result.n_iter < 40


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", ["normal", "alike", "sizes"])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_path_passes_the_lasso_of_scikit_learn(share, kind, positive, seed):
    """The penalty that belongs to a bound is the largest slope of the residual."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 50))
    X = X + 2 * rng.normal(size=(30, 1)) if kind == "alike" else X
    X = X * 10 ** rng.uniform(-0.5, 0.5, 50) if kind == "sizes" else X
    w = rng.normal(size=50)
    y = X @ (np.abs(w) if positive else w) + rng.normal(size=30)
    least = np.linalg.norm(y - nearest(X, y[:, None], positive=positive)[:, 0])
    bound = least + share * (np.linalg.norm(y) - least)
    result = basis_pursuit(X, y, bound=bound, positive=positive)
    assert result.route == "path"
    slopes = X.T @ (y - X @ result.coef)
    penalty = (slopes if positive else np.abs(slopes)).max() / 30
    lasso = Lasso(
        alpha=penalty, fit_intercept=False, positive=positive, tol=1e-9, max_iter=10**6
    )
    coef = lasso.fit(X, y).coef_
    # the tolerance is the accuracy of coordinate descent
    assert_allclose(coef, result.coef, atol=1e-3 * np.abs(coef).max())


@pytest.mark.certificate
@pytest.mark.parametrize("kind", ["normal", "alike", "sizes", "positive"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.05])
def test_needs_no_other_package_without_ties(share, positive, kind, seed):
    for problem in range(10 * seed, 10 * seed + 10):
        rng = np.random.default_rng(problem)
        n = int(rng.integers(3, 60))
        k = int(rng.integers(2, 150))
        X = rng.normal(size=(n, k))
        X = X + 2 * rng.normal(size=(n, 1)) if kind == "alike" else X
        X = X * 10 ** rng.uniform(-2, 2, k) if kind == "sizes" else X
        X = np.abs(X) if kind == "positive" else X
        y = X @ np.where(rng.uniform(size=k) < 0.3, np.abs(rng.normal(size=k)), 0.0) + X[:, 0]
        result = basis_pursuit(X, y, bound=share * np.linalg.norm(y), positive=positive)
        assert result.route in ("path", "interior")
        assert result.gap <= 1e-8


@pytest.mark.oracle
@pytest.mark.parametrize("bound", [None, 0.5])
def test_intercept_is_an_unknown_that_costs_nothing(bound, seed):
    """There is none by default; with it, the statement with one more variable."""
    X, w = planted(seed, n=20, k=40)
    y = X @ w + 7 + (0 if bound is None else 0.1 * np.random.default_rng(seed).normal(size=20))
    model = equations(residual_tol=bound, fit_intercept=True).fit(X, y)
    extended = np.column_stack([X, np.ones(20)])
    weights = np.append(np.ones(40), 0.0)
    if bound is None:
        stated = convex_problems.basis_pursuit(extended, y, weights=weights)
        assert convex_problems.solve(stated, solver="HIGHS")
    else:
        stated = convex_problems.basis_pursuit_denoising(extended, y, bound, weights=weights)
        assert convex_problems.solve(stated, solver="CLARABEL")
    # the tolerance is the accuracy of the conic solver
    assert_allclose(np.abs(model.coef_).sum(), stated.problem.value, rtol=1e-6)
    assert_allclose(model.intercept_, stated.variable.value[-1], atol=1e-3)
    assert equations(residual_tol=bound).fit(X, y).intercept_ == 0


@pytest.mark.oracle
def test_more_samples_than_features_is_least_squares(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5))
    y = rng.normal(size=40)
    model = equations(fit_intercept=True).fit(X, y)
    reference = LinearRegression().fit(X, y)
    assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    assert_allclose(model.intercept_, reference.intercept_, atol=1e-9)
    assert_allclose(model.residual_norm_, np.linalg.norm(y - reference.predict(X)))


@pytest.mark.certificate
def test_dual_variable_proves_the_optimum(seed):
    X, w = planted(seed, n_nonzero=6)
    y = X @ w
    for bound in (0.0, 0.3):
        model = equations(residual_tol=bound).fit(X, y)
        assert np.abs(X.T @ model.dual_).max() <= 1 + 1e-9
        value = y @ model.dual_ - bound * np.linalg.norm(model.dual_)
        assert_allclose(value, np.abs(model.coef_).sum(), rtol=1e-9)
    # the gap detects errors: it is large for other coefficients that satisfy the equations
    least_squares = np.linalg.pinv(X) @ y
    assert (
        pursuit_gap(X, y, least_squares, np.linalg.pinv(X.T) @ np.sign(least_squares)) > 0.01
    )


def awkward(kind, seed):
    """Small problems with repeated and opposite columns, ties, low rank, columns of all sizes."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 8)
    k = rng.integers(2, 14)
    X = rng.integers(-1, 2, size=(n, k)).astype(float)
    if kind == "rank":
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, k))
    if kind == "alike":
        X = rng.normal(size=(n, k))
        X[:, k // 2 :] = X[:, : k - k // 2] * rng.choice([-1, 1], k - k // 2)
    if kind == "sizes":
        X = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-2, 2, size=k)
    w = np.where(rng.uniform(size=k) < 0.4, rng.normal(size=k), 0.0)
    w[0] = 1.0
    return X, np.abs(w)


@pytest.mark.certificate
@pytest.mark.parametrize("kind", ["integers", "rank", "alike", "sizes"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.1])
def test_degenerate_problems_are_solved_to_a_gap_of_1e_8(kind, positive, share, seed):
    for problem in range(10 * seed, 10 * seed + 10):
        X, w = awkward(kind, problem)
        y = X @ w
        bound = share * np.linalg.norm(y)
        model = equations(residual_tol=bound, positive=positive).fit(X, y)
        assert model.dual_gap_ <= 1e-8
        slopes = X.T @ model.dual_ if positive else np.abs(X.T @ model.dual_)
        assert slopes.max() <= 1
        missed = np.linalg.norm(y - X @ model.coef_)
        # the equations are satisfied up to rounding, and a bound is satisfied to the last digit of
        # the norm
        assert missed <= max(bound * (1 + 1e-15), 1e-8 * np.linalg.norm(y))


@pytest.mark.certificate
def test_opposite_columns_are_distinct_for_positive_coefficients():
    X = np.array([[1.0, -1.0, 0.0], [0.5, -0.5, 1.0]])
    model = equations(positive=True).fit(X, [-2.0, 1.0])
    assert_allclose(model.coef_, [0, 2, 2], atol=1e-12)
    assert_allclose(equations().fit(X, [-2.0, 1.0]).coef_, [-2, 0, 2], atol=1e-12)
    result = basis_pursuit(X, np.array([-2.0, 1.0]), bound=0.1, positive=True)
    assert result.route == "path"
    assert result.gap < 1e-12


@pytest.mark.certificate
def test_columns_of_very_different_sizes():
    """HiGHS, whose tolerances are absolute, is norm is a share of 1.6e-4 here."""
    rng = np.random.default_rng(159)
    n = int(rng.integers(1, 8))
    k = int(rng.integers(1, 14))
    X = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-4, 4, size=k)
    w = np.where(rng.uniform(size=k) < 0.3, rng.normal(size=k), 0)
    for solver in ("path", "simplex"):
        model = equations(solver=solver).fit(X, X @ w)
        assert model.dual_gap_ <= 1e-8
        assert np.abs(X.T @ model.dual_).max() <= 1
        assert np.linalg.norm(X @ (w - model.coef_)) <= 1e-12 * np.linalg.norm(X @ w)


@pytest.mark.certificate
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [{}, {"fit_intercept": True}, {"positive": True}],
    ids=["plain", "mean", "positive"],
)
def test_bound_holds_for_the_coefficients_that_are_returned(dtype, settings, seed):
    for problem in range(10 * seed, 10 * seed + 10):
        rng = np.random.default_rng(problem)
        X = rng.normal(size=(10, 30)).astype(dtype)
        w = np.abs(rng.normal(size=30)) * (rng.uniform(size=30) < 0.1)
        y = (X @ w + 0.01 * rng.normal(size=10)).astype(dtype)
        model = equations(residual_tol=0.04, **settings).fit(X, y)
        rest = y - X.astype(float) @ model.coef_.astype(float) - float(model.intercept_)
        assert np.linalg.norm(rest) <= 0.04 * (1 + 2e-16)
        assert_allclose(model.residual_norm_, np.linalg.norm(rest), rtol=1e-14)
        assert np.linalg.norm(rest) > 0.04 * (1 - 1e-3) or not model.coef_.any()
        assert model.dual_gap_ <= max(1e-8, 10 * np.finfo(dtype).eps)
        slopes = X.astype(float).T @ model.dual_.astype(float)
        if not settings.get("fit_intercept"):
            assert (slopes.max() if "positive" in settings else np.abs(slopes).max()) <= 1


@pytest.mark.recovery
def test_few_coefficients_are_recovered_exactly(seed):
    X, w = planted(seed, n=60, k=200, n_nonzero=6)
    model = equations().fit(X, X @ w)
    assert_allclose(model.coef_, w, atol=1e-12)
    assert_array_equal(np.flatnonzero(model.coef_), np.flatnonzero(w))


@pytest.mark.recovery
def test_noise_costs_no_more_than_in_proportion(seed):
    X, w = planted(seed, n=80, k=200, n_nonzero=5)
    noise = np.random.default_rng(seed + 1).normal(size=80)
    noise *= 0.05 * np.linalg.norm(X @ w) / np.linalg.norm(noise)
    bound = float(np.linalg.norm(noise))
    model = equations(residual_tol=bound).fit(X, X @ w + noise)
    # |X h| <= 2 bound, and X hardly shrinks such sparse differences: a constant of ten is safe
    assert np.linalg.norm(model.coef_ - w) <= 10 * bound / np.sqrt(80)


def tables():
    """Plain tables, with columns in their units and standardised."""
    linnerud = load_linnerud(return_X_y=True)
    measured = {
        "diabetes": load_diabetes(return_X_y=True),
        "linnerud": (linnerud[0], linnerud[1][:, 0]),
        "five of ten": make_friedman1(300, noise=1, random_state=0),
        "circuits": make_friedman2(300, noise=50, random_state=0),
        "tall": make_regression(200, 20, n_informative=5, noise=10, random_state=0),
        "square": make_regression(60, 50, n_informative=5, noise=10, random_state=0),
        "wide": make_regression(60, 200, n_informative=5, noise=10, random_state=0),
    }
    scaled = {f"{name}, scaled": (scale(X), y) for name, (X, y) in measured.items()}
    return measured | scaled


TABLES = tables()


@pytest.mark.few(4)
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:BasisPursuit depends on the scales")
@pytest.mark.parametrize("name", TABLES)
def test_defaults_predict_as_the_cross_validated_lasso(name):
    X, y = TABLES[name]
    cv = KFold(5, shuffle=True, random_state=0)
    ours = cross_val_score(BasisPursuit(), X, y, cv=cv, error_score="raise").mean()
    lasso = cross_val_score(LassoCV(cv=5, max_iter=10_000), X, y, cv=cv).mean()
    assert ours >= lasso - 0.05


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_path_at_penalties_is_the_lasso(positive, seed):
    X, w = planted(seed, n=40, k=20, n_nonzero=15, positive=positive)
    y = X @ w + 0.3 * np.random.default_rng(seed).normal(size=40)
    penalties = np.geomspace(20, 0.02, 7)
    coefs = lasso_path(X, y, penalties, positive=positive).lasso
    settings = {"fit_intercept": False, "positive": positive, "tol": 1e-12, "max_iter": 10**5}
    for penalty, coef in zip(penalties, coefs, strict=True):
        lasso = Lasso(alpha=penalty / 40, **settings).fit(X, y)
        # the tolerance is the accuracy of coordinate descent
        assert_allclose(coef, lasso.coef_, atol=1e-6)


@pytest.mark.oracle
def test_estimated_bound_is_the_residual_of_the_best_penalty(seed):
    """Held-out errors of scikit-learn's lasso, fold by fold, lead to the same bound."""
    X, y = make_regression(60, 30, n_informative=5, noise=20, random_state=seed)
    y = y + 50
    folds = list(KFold(4).split(X))
    model = BasisPursuit(cv=folds, polish=False).fit(X, y)
    top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / 60
    alphas = top * np.geomspace(1, 1e-6, 61)[:36]  # follow the path down to a thousandth
    lassos = [Lasso(alpha=alpha, tol=1e-9, max_iter=10**5) for alpha in alphas]
    errors = [
        sum(((y[test] - m.fit(X[train], y[train]).predict(X[test])) ** 2).sum()
            for train, test in folds)
        for m in lassos
    ]  # fmt: skip
    best = lassos[int(np.argmin(errors))].fit(X, y)
    assert_allclose(model.residual_tol_, np.linalg.norm(y - best.predict(X)), rtol=1e-6)
    # the tolerance is the accuracy of coordinate descent
    assert_allclose(model.coef_, best.coef_, atol=1e-4)
    assert_allclose(model.residual_norm_, model.residual_tol_, rtol=1e-9)
    assert model.dual_gap_ < 1e-9


@pytest.mark.recovery
@pytest.mark.parametrize("shape", [(40, 100), (60, 50), (100, 20)])
def test_defaults_are_exact_without_noise(shape, seed):
    X, w = planted(seed, *shape, n_nonzero=6)
    model = BasisPursuit().fit(X, X @ w + 3)
    assert_allclose(model.coef_, w, atol=1e-10)
    assert_allclose(model.intercept_, 3, atol=1e-10)
    assert model.dual_gap_ < 1e-9
    # the default detects the noise
    noise = 0.05 * np.random.default_rng(seed + 1).normal(size=shape[0])
    noisy = BasisPursuit().fit(X, X @ w + 3 + noise)
    assert 0.3 < noisy.residual_norm_ / np.linalg.norm(noise) < 1.5
    assert np.linalg.norm(noisy.coef_ - w) < 0.3


def least_squares(X, y, support):
    """Return coefficients and intercept of scikit-learn's regression on some columns."""
    coef = np.zeros(X.shape[1])
    model = LinearRegression().fit(X[:, support], y)
    coef[support] = model.coef_
    return coef, model.intercept_


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_polish_is_least_squares_on_the_support(positive, seed):
    X, w = planted(seed, n=40, k=60, n_nonzero=4, positive=positive)
    y = X @ w + 2 + 0.1 * np.random.default_rng(seed).normal(size=40)
    settings = {"residual_rtol": 0.2, "positive": positive}
    pursuit = BasisPursuit(polish="auto", **settings).fit(X, y)
    refit = BasisPursuit(polish=True, **settings).fit(X, y)
    coef, intercept = least_squares(X, y, pursuit.coef_ != 0)
    assert not pursuit.polished_
    assert refit.polished_ == (not positive or bool((coef >= 0).all()))
    if not refit.polished_:
        return

    assert_allclose(refit.coef_, coef, atol=1e-10)
    assert_allclose(refit.intercept_, intercept, atol=1e-10)
    assert_allclose(refit.residual_norm_, np.linalg.norm(y - refit.predict(X)))
    assert refit.residual_norm_ < refit.residual_tol_
    assert refit.residual_tol_ == pursuit.residual_tol_
    assert_array_equal(refit.dual_, pursuit.dual_)


def test_non_negative_coefficients_are_not_polished_to_negative_ones():
    """A large bound uses the second column, which least squares subtracts."""
    rng = np.random.default_rng(0)
    column = rng.normal(size=50)
    X = np.column_stack([column, 1.2 * column + 0.5 * rng.normal(size=50)])
    y = X @ [2, -0.1]
    outcomes = set()
    settings = {"positive": True, "fit_intercept": False}
    for rtol in np.linspace(0.1, 0.95, 18):
        pursuit = BasisPursuit(residual_rtol=rtol, polish=False, **settings).fit(X, y)
        refit = BasisPursuit(residual_rtol=rtol, polish=True, **settings).fit(X, y)
        fitted = np.linalg.lstsq(X[:, pursuit.coef_ > 0], y)[0]
        assert refit.polished_ == bool((fitted >= 0).all())
        assert (refit.coef_ >= 0).all()
        if not refit.polished_:
            assert_array_equal(refit.coef_, pursuit.coef_)
        outcomes.add(refit.polished_)
    assert outcomes == {True, False}


@pytest.mark.oracle
@pytest.mark.parametrize("noise", [1, 60])
def test_polish_is_chosen_by_a_t_test(noise, seed):
    """Held-out errors of scikit-learn's lasso, with and without a refit, lead to the same."""
    X, y = make_regression(60, 30, n_informative=5, noise=noise, random_state=seed)
    folds = list(KFold(4).split(X))
    model = BasisPursuit(cv=folds).fit(X, y)

    # errors of both rules at all penalties
    top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / 60
    alphas = top * np.geomspace(1, 1e-6, 61)
    lassos = [Lasso(alpha=alpha, tol=1e-9, max_iter=10**5) for alpha in alphas]
    errors = np.empty((2, len(lassos), len(folds)))
    for f, (train, test) in enumerate(folds):
        for i, lasso in enumerate(lassos):
            lasso.fit(X[train], y[train])
            errors[0, i, f] = ((y[test] - lasso.predict(X[test])) ** 2).sum()
            coef, intercept = least_squares_or_mean(X[train], y[train], lasso.coef_ != 0)
            errors[1, i, f] = ((y[test] - X[test] @ coef - intercept) ** 2).sum()

    # the rule, and its answer on all rows
    best = errors.sum(axis=2).argmin(axis=1)
    gain = errors[0, best[0]] - errors[1, best[1]]
    refits = ttest_1samp(gain, 0, alternative="greater").pvalue < 0.05
    lasso = lassos[best[int(refits)]].fit(X, y)
    assert model.polished_ == refits
    assert_allclose(model.residual_tol_, np.linalg.norm(y - lasso.predict(X)), rtol=1e-6)
    expected = least_squares(X, y, lasso.coef_ != 0)[0] if refits else lasso.coef_
    # the tolerance is the accuracy of coordinate descent
    assert_allclose(model.coef_, expected, atol=1e-4 * np.abs(expected).max())


def least_squares_or_mean(X, y, support):
    return least_squares(X, y, support) if support.any() else (np.zeros(X.shape[1]), y.mean())


@pytest.mark.recovery
def test_polish_selects_only_the_relevant_columns(seed):
    X, w = planted(seed, n=300, k=1000, n_nonzero=10)
    w[w != 0] += np.sign(w[w != 0])
    y = X @ w + np.random.default_rng(seed).normal(size=300)
    model = BasisPursuit().fit(X, y)
    shrunk = BasisPursuit(polish=False).fit(X, y)
    assert model.polished_
    assert model.coef_[w != 0].all()
    assert np.count_nonzero(model.coef_) <= 12
    assert np.count_nonzero(shrunk.coef_) > 20
    assert np.linalg.norm(model.coef_ - w) < 0.6 * np.linalg.norm(shrunk.coef_ - w)


@pytest.mark.edge
@pytest.mark.parametrize("settings", [{"residual_rtol": 1.0}, {}])
def test_intercept_alone(settings):
    """Targets that no column predicts; the bound is the norm of the centred target."""
    X = np.random.RandomState(0).uniform(size=(30, 3))
    y = np.arange(30) % 3
    model = BasisPursuit(positive=True, **settings).fit(X, y)
    assert_array_equal(model.coef_, 0)
    assert_allclose([model.intercept_, model.residual_norm_, model.dual_gap_], [1, 20**0.5, 0])


@pytest.mark.edge
def test_copies_of_rows_are_not_evidence_for_equations(seed):
    """A bootstrap sample has more rows than the equations it holds."""
    X, y = make_regression(60, 200, n_informative=5, noise=10, random_state=seed)
    coef = equations().fit(X, y).coef_
    drawn = np.random.default_rng(seed).integers(0, 60, size=100)
    distinct = len(np.unique(drawn))
    assert np.count_nonzero(equations().fit(X[drawn], y[drawn]).coef_) == distinct <= 75
    assert credible_number(X[drawn]) == 0.75 * distinct
    copied = equations().fit(X[drawn], y[drawn]).coef_
    assert not holds_by_itself(X[drawn], y[drawn], copied, credible_number(X[drawn]))
    few = np.append(coef[:40], np.zeros(160))
    assert holds_by_itself(X, X @ few, few, credible_number(X))


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["rows", "targets"])
def test_relative_bounds_have_no_unit(kind, seed):
    X, w = planted(seed)
    noise = np.random.default_rng(seed).normal(size=(30, 2))
    Y = (X @ w)[:, None] + noise * [0.05, 0.5] + 4
    size = np.linalg.norm(Y - Y.mean(axis=0), axis=0)
    for settings, scaled in (({"residual_rtol": 0.3}, 1e3), ({}, 1e-3)):
        model = BasisPursuit(**settings).fit(X, Y)
        if kind == "targets":  # each target has a separate bound
            each = [BasisPursuit(**settings).fit(X, y) for y in Y.T]
            assert_allclose(model.coef_, [one.coef_ for one in each], atol=1e-9)
            assert_allclose(model.residual_tol_, [one.residual_tol_ for one in each])
        else:
            other = BasisPursuit(**settings).fit(X, scaled * Y)
            assert_allclose(other.coef_, scaled * model.coef_, atol=1e-8 * scaled)
        if settings:
            assert_allclose(model.residual_norm_, 0.3 * size, rtol=1e-9)
    # the larger of two bounds applies
    assert BasisPursuit(2.0, residual_rtol=1e-3).fit(X, Y[:, 0]).residual_tol_ == 2.0


@pytest.mark.paper
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_recovery_fails_at_the_theoretical_threshold(share):
    """Weak threshold of l1 minimisation for Gaussian matrices, Donoho and Tanner (2009)."""
    k = 400
    turn = transition(share)
    n = round(share * k)

    def success(density, trials=20):
        hits = 0
        for trial in range(trials):
            X, w = planted(trial, n=n, k=k, n_nonzero=round(density * n))
            hits += np.linalg.norm(equations().fit(X, X @ w).coef_ - w) < 1e-4 * norm(w)
        return hits / trials

    norm = np.linalg.norm
    # at this size, the transition is about a tenth wide on either side
    assert success(0.75 * turn) >= 0.9
    assert success(1.3 * turn) <= 0.1


@pytest.mark.paper
@pytest.mark.parametrize(
    ("share", "density", "positive"),
    [(0.1, 0.189, False), (0.5, 0.386, False), (0.9, 0.678, False), (0.5, 0.558, True)],
)
def test_thresholds_of_the_theory(share, density, positive):
    assert_allclose(
        transition(share, positive), density, atol=6e-4
    )  # the table prints three digits


@pytest.mark.invariance
def test_units_order_and_signs(seed):
    X, w = planted(seed, n_nonzero=5)
    y = X @ w
    model = equations(residual_tol=0.1).fit(X, y)
    scaled = equations(residual_tol=100.0).fit(X, 1000 * y)
    assert_allclose(scaled.coef_, 1000 * model.coef_, atol=1e-7)
    order = np.random.default_rng(seed).permutation(60)
    assert_allclose(equations(residual_tol=0.1).fit(X[:, order], y).coef_, model.coef_[order],
                    atol=1e-10)  # fmt: skip
    assert_allclose(equations(residual_tol=0.1).fit(-X, y).coef_, -model.coef_, atol=1e-10)


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e-95, 1e-50, 1e50, 1e95])
@pytest.mark.parametrize("positive", [False, True])
def test_any_scale_within_the_limits(scale, positive, seed):
    X, w = planted(seed, n=12, k=20, n_nonzero=3, positive=positive)
    y = X @ w
    for bound in (None, 0.3):
        model = equations(residual_tol=bound, positive=positive).fit(X, y)
        big = equations(residual_tol=bound and bound * scale, positive=positive)
        big.fit(X, y * scale)
        assert_allclose(big.coef_ / scale, model.coef_, atol=1e-10)
        if bound:
            assert_allclose(big.residual_norm_ / scale, model.residual_norm_, rtol=1e-12)
        both = big.fit(X * scale, y * scale)
        assert_allclose(both.coef_, model.coef_, atol=1e-10)
        assert_allclose(both.dual_ * scale, model.dual_, atol=1e-8)
    # no solution satisfies the equations: least squares has the smallest residual
    rest = equations(positive=positive).fit(X[:, :4], y).residual_norm_
    other = equations(positive=positive).fit(X[:, :4], y * scale).residual_norm_
    assert_allclose(other / scale, rest, rtol=1e-10)


@pytest.mark.invariance
def test_weights_count_rows(seed):
    X, w = planted(seed, n=12, k=20, n_nonzero=3)
    y = X @ w + np.random.default_rng(seed).normal(size=12)
    weight = np.arange(12) % 3
    settings = {"residual_tol": 1.5, "fit_intercept": True}
    weighted = equations(**settings).fit(X, y, sample_weight=weight)
    repeated = equations(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


@pytest.mark.invariance
def test_targets_are_separate_and_float32_is_preserved(seed):
    X, w = planted(seed)
    Y = np.column_stack([X @ w, X @ np.roll(w, 3)])
    both = equations().fit(X, Y)
    assert both.coef_.shape == (2, 60)
    assert_allclose(both.coef_[1], equations().fit(X, Y[:, 1]).coef_, atol=1e-12)
    assert_allclose(both.predict(X), Y, atol=1e-9)
    single = equations().fit(X.astype(np.float32), Y[:, 0].astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, both.coef_[0], atol=1e-4)  # single precision


def test_pipeline_and_search():
    X, w = planted(0, n=60, k=80)
    y = X @ w + 0.1 * np.random.default_rng(1).normal(size=60)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BasisPursuit()),
        {"basispursuit__residual_tol": [0.3, 1.0, 5.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.edge
def test_degenerate_input():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 12))
    assert_array_equal(equations().fit(X, np.zeros(8)).coef_, 0)
    assert_array_equal(equations(residual_tol=1e3).fit(X, X[:, 0]).coef_, 0)
    # include a repeated column, a zero column and a repeated row
    X[:, 5], X[:, 7], X[3] = X[:, 2], 0.0, X[1]
    model = equations().fit(X, 2 * X[:, 2])
    assert_allclose(X @ model.coef_, 2 * X[:, 2], atol=1e-10)
    assert model.coef_[7] == 0
    one = equations().fit([[2.0, 4.0]], [8.0])
    assert_allclose(one.coef_, [0, 2])
    huge = equations().fit(1e90 * X, 1e90 * X[:, 4])
    assert_allclose(huge.coef_, equations().fit(X, X[:, 4]).coef_, atol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("solver", ["path", "cvxpy"])
def test_works_without_a_failing_cone_solver(solver, monkeypatch):
    """Ties and integers end the path; the conic solver raises."""
    cvxpy = pytest.importorskip("cvxpy")

    def fail(*args, **options):
        raise cvxpy.error.SolverError("out of luck")

    monkeypatch.setattr(cvxpy.Problem, "solve", fail)
    for problem in range(20):
        X, w = awkward("sizes", problem)
        y = X @ w
        bound = 1e-6 * np.linalg.norm(y)
        model = equations(residual_tol=bound, positive=True, solver=solver).fit(X, y)
        assert model.dual_gap_ <= 1e-8
    with pytest.raises(ValueError, match="no non-negative coefficients"):
        equations(residual_tol=0.1, positive=True, solver=solver).fit(np.eye(2), [1.0, -1.0])


@pytest.mark.edge
def test_errors_at_a_large_scale_name_the_remedy():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    huge = np.abs(np.random.default_rng(0).normal(size=(4, 3))) * 1e20
    for solver in ("path", "cvxpy"):
        model = equations(residual_tol=0.5e20, positive=True, solver=solver)
        with pytest.raises(ValueError, match=r"residual_tol=5e\+19 \(the smallest .* 2e\+20"):
            model.fit(huge, -1e20 * np.ones(4))
    assert basis_pursuit(X[:2], np.array([-1.0, -1.0]), positive=True) is None


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"residual_tol=0 \(the smallest residual norm is .* increase",
            lambda X: equations(residual_tol=0.0).fit(X, [1.0, 1.0, 5.0]),
        ),
        (
            "no non-negative coefficients",
            lambda X: equations(residual_tol=0.0, positive=True).fit(X[:2], [1.0, -1.0]),
        ),
        (
            r"residual_tol=0.1 \(the smallest residual norm is 1\)",
            lambda X: equations(residual_tol=0.1, positive=True).fit(X[:2], [1.0, -1.0]),
        ),
        (
            "solver='simplex' solves linear programs",
            lambda X: equations(solver="simplex", residual_tol=1.0).fit(X, [1.0, 1.0, 5.0]),
        ),
        (
            "residual_rtol='auto' allow a residual",
            lambda X: BasisPursuit(solver="simplex").fit(X, [1.0, 1.0, 5.0]),
        ),
        (
            r"within residual_rtol=0.1 \(the smallest residual norm is 0\.\d+\): increase resid",
            lambda X: equations(residual_rtol=0.1).fit(X, [1.0, 1.0, 5.0]),
        ),
    ],
)
def test_errors_name_the_remedy(message, call):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=message):
        call(X)
