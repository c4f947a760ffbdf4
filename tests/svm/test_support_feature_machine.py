"""Evidence that SupportFeatureMachine solves the problem it states."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skmoderndata._solvers.margins.feature_exchange import LeastSlack, exchange
from skmoderndata._solvers.margins.linear_programs import (
    ColumnGeneration,
    CvxpyProgram,
    Infeasible,
    Separation,
)
from skmoderndata._solvers.margins.splicing import (
    RIDGE_PENALTY,
    RidgeLogistic,
    best_subset,
    prune,
)
from skmoderndata._solvers.margins.zero_norm import (
    log_objective,
    middle_bias,
    price,
    reweighted_l1,
    squared_hinge_svm,
    stationarity_gap,
    support_gap,
)
from skmoderndata.datasets import make_sparse_classes
from skmoderndata.svm import SupportFeatureMachine
from tests.oracles import support_feature_machine as oracle

FORMS = [
    {"formulation": "margin", "C": None},
    {"formulation": "margin", "C": 1.0},
    {"formulation": "centers", "C": None},
    {"formulation": "centers", "C": 3.0},
]
each_form = pytest.mark.parametrize("form", FORMS, ids=str)
# Parameters that state the problem and the iteration of the papers: the fewest features, found by
# linear programs alone.
PAPERS = {"alpha": 0.0, "algorithm": "reweighted"}


def support(machine):
    return machine.get_support(indices=True)


def problem(X, y, form):
    """Standardised data as a `Separation`, and the arguments of the oracle."""
    X = oracle.standard(X)
    side = np.where(y == 1, 1.0, -1.0)
    centers = form["formulation"] == "centers"
    direction = X[side > 0].mean(axis=0) - X[side < 0].mean(axis=0) if centers else None
    cost = None if form["C"] is None else np.full(side.size, form["C"])
    margin = 0.0 if centers else 1.0
    posed = Separation(
        np.asfortranarray(X * side[:, None]), side, margin, direction, cost, True
    )
    return posed, X, side, {"margin": margin, "centers": centers, "slack_cost": cost}


def overlapping(seed, n=50, p=12):
    """Two Gaussian classes that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    X = rng.normal(size=(n, p)) + 1.0 * y[:, None] * (np.arange(p) < 3)
    X[-2:] = X[:2]  # add copies with contradicting labels
    y[-2:] = 1 - y[:2]
    return X, y


# ---------------------------------------------------------------------------------------- oracle


@pytest.mark.oracle
@each_form
def test_linear_program_equals_whole_program(form, seed):
    X, y, _ = make_sparse_classes(40, 200, n_informative=4, random_state=seed)
    posed, X, side, settings = problem(X, y, form)
    rng = np.random.default_rng(seed)
    programs = [
        ColumnGeneration(posed),
        CvxpyProgram(posed),
    ]

    for costs in (np.ones(200), rng.uniform(0.1, 10, size=200)):
        w, _, value = oracle.linear_program(X, side, costs, **settings)
        for program in programs:
            vertex = program.solve(costs)
            slack = np.maximum(posed.margin - posed.Z @ vertex.w - side * vertex.bias, 0)
            reached = costs @ np.abs(vertex.w)
            if form["C"] is None:
                assert slack.max() < 1e-7
            else:
                reached += form["C"] * slack.sum()

            assert_allclose(reached, value, rtol=1e-7)
            assert_allclose(vertex.w, w, atol=1e-6 * np.abs(w).max())
            gap = stationarity_gap(
                posed, costs, vertex.w, vertex.bias, vertex.dual, vertex.dual_direction
            )
            assert gap < 1e-6


@pytest.mark.oracle
@each_form
def test_iteration_equals_plain_loop(form, seed):
    X, y, _ = make_sparse_classes(40, 100, n_informative=4, random_state=seed)
    _, scaled, side, settings = problem(X, y, form)
    w, _ = oracle.iterate(scaled, side, **settings)
    machine = SupportFeatureMachine(**form, **PAPERS).fit(X, y)
    assert_allclose(machine.sfm_coef_[0] * X.std(axis=0), w, atol=1e-6 * np.abs(w).max())


@pytest.mark.oracle
@each_form
def test_cvxpy_and_highs_agree(form, seed):
    X, y, _ = make_sparse_classes(50, 300, n_informative=4, flip_y=0.0, random_state=seed)
    for algorithm in ("exchange", "reweighted", "rescaled"):
        one = SupportFeatureMachine(**form, algorithm=algorithm).fit(X, y)
        two = SupportFeatureMachine(**form, algorithm=algorithm, solver="cvxpy").fit(X, y)
        assert_array_equal(one.get_support(), two.get_support())
        assert_allclose(one.sfm_coef_, two.sfm_coef_, atol=1e-6 * np.abs(one.sfm_coef_).max())
        assert_allclose(one.objective_, two.objective_, rtol=1e-6)


@pytest.mark.oracle
def test_refit_is_the_support_vector_machine(seed):
    X, y = overlapping(seed)
    side = np.where(y == 1, 1.0, -1.0)
    weight = np.random.default_rng(seed).uniform(0.1, 2, y.size)
    w, b = squared_hinge_svm(X, side, weight)
    w_oracle, b_oracle = oracle.squared_hinge(X, side, weight)
    # the cone solver ends at about 1e-8 of the objective, which is at worst 1e-4 in the weights
    assert_allclose(np.append(w, b), np.append(w_oracle, b_oracle), atol=1e-4)
    # if the column of ones is a feature, LinearSVC penalises the intercept, so our machine has to
    # do so, too
    w, _ = squared_hinge_svm(np.c_[X, np.ones(len(X))], side, weight, intercept=False)
    svc = LinearSVC(dual=False, tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=weight)
    assert_allclose(w, np.append(svc.coef_[0], svc.intercept_), atol=1e-6)


@pytest.mark.oracle
def test_rescaled_l2_begins_with_the_euclidean_machine(seed):
    X, y, _ = make_sparse_classes(30, 60, random_state=seed)
    X = oracle.standard(X)
    side = np.where(y == 1, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SupportFeatureMachine(1.0, algorithm="rescaled_l2", refit=False, max_iter=1)
        machine.fit(X, y)
    w, b = oracle.squared_hinge(X, side, np.ones(30))
    # the cone solver ends at about 1e-8 of the objective
    assert_allclose(machine.coef_[0], w, atol=1e-4)
    assert_allclose(machine.intercept_[0], b, atol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("formulation", ["margin", "centers"])
def test_restarts_reach_the_exact_minimum(formulation, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 20))
    y = (X[:, :4] @ [1, -1, 1, 0.5] + 0.5 * rng.normal(size=16) > 0).astype(int)
    y[:2] = 0, 1
    scaled = oracle.standard(X)
    side = np.where(y == 1, 1.0, -1.0)
    centers = formulation == "centers"
    least = oracle.fewest(scaled, side, margin=1.0 - centers, centers=centers)
    machine = SupportFeatureMachine(
        None, alpha=0.0, formulation=formulation, n_init=10, random_state=0
    ).fit(X, y)
    assert least <= support(machine).size <= least + 1
    if formulation == "margin":
        assert oracle.separable(scaled, side, support(machine))


def twelve_tables():
    """Tables of 30 rows and 6 columns with noise; three columns carry the classes."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 6))
        y = (X[:, :3] @ [1, 1, -1] + rng.normal(size=30) > 0).astype(int)
        yield oracle.standard(X), y


@pytest.mark.few(1)
@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("C", [0.3, 1.0, 3.0])
def test_soft_problem_against_all_sets_of_features(C, alpha):
    """The least of ``|w|_0 + alpha |w|_1 + C sum slack`` over all 2^6 sets, 12 tables."""
    ratios = {"exchange": [], "reweighted": []}
    for X, y in twelve_tables():
        side = np.where(y == 1, 1.0, -1.0)
        least = oracle.least_price(X, side, C, alpha)
        for algorithm, reached in ratios.items():
            machine = SupportFeatureMachine(C, alpha=alpha, algorithm=algorithm, refit=False)
            margins = side * machine.fit(X, y).decision_function(X)
            price = support(machine).size + C * np.maximum(1 - margins, 0).sum()
            price += alpha * np.abs(machine.coef_).sum()
            assert_allclose(machine.objective_, price, rtol=1e-8)
            assert price >= least - 1e-6
            reached.append(price / least)
    # the exchanges reach the minimum in all twelve tables
    assert_allclose(ratios["exchange"], 1.0, rtol=1e-6)
    assert np.mean(ratios["reweighted"]) > 1.01


@pytest.mark.certificate
@each_form
def test_approximation_counts_a_full_feature_as_one(form, seed):
    X, y, _ = make_sparse_classes(40, 60, n_informative=4, random_state=seed)
    posed, scaled, side, settings = problem(X, y, form)
    found = reweighted_l1(posed, ColumnGeneration(posed), start=np.ones(60))
    first = np.abs(oracle.linear_program(scaled, side, np.ones(60), **settings)[0]).max()
    full = np.zeros(60)
    full[0] = first
    assert_allclose(
        log_objective(posed._replace(slack_cost=None), full, 0.0, 1e-3 * first, 1e-3), 1.0
    )
    counted = np.log1p(np.abs(found.w) / (1e-3 * first)) / np.log1p(1e3)
    slack = np.maximum(posed.margin - side * (scaled @ found.w + found.bias), 0).sum()
    cost = 0.0 if form["C"] is None else form["C"] * slack
    # the intercept is in the middle of the optimal interval, so the slack is smallest
    assert_allclose(found.approximation[-1], counted.sum() + cost, rtol=1e-6, atol=1e-6)


@pytest.mark.invariance
def test_starts_differ_with_slack_too():
    X, y = next(twelve_tables())
    found = set()
    for seed in range(6):
        machine = SupportFeatureMachine(1.0, **PAPERS, n_init=2, random_state=seed).fit(X, y)
        found.add(tuple(support(machine)))
    assert len(found) > 1


@pytest.mark.oracle
def test_integer_program_is_right():
    rng = np.random.default_rng(0)
    X = oracle.standard(rng.normal(size=(12, 9)))
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    by_sets = oracle.fewest_by_enumeration(X, y, most=4)
    assert oracle.fewest(X, y, margin=1.0, centers=False) == by_sets


def logistic(X, y, cost=None, intercept=True):
    """Standardised data as a `RidgeLogistic`."""
    side = np.where(y == 1, 1.0, -1.0)
    cost = np.ones(side.size) if cost is None else cost
    Z = np.asfortranarray(X * side[:, None])
    may = np.ones(X.shape[1], dtype=bool)
    return RidgeLogistic(Z, side, cost, may, intercept=intercept)


@pytest.mark.oracle
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_loss_of_a_set_equals_scikit_learn(intercept, seed):
    X, y = overlapping(seed)
    cost = np.random.default_rng(seed).uniform(0.2, 3.0, y.size)
    share = cost / cost.sum()
    mean = share @ X if intercept else np.zeros(12)
    X = X / np.sqrt(share @ (X - mean) ** 2)
    features = [4, 0, 7]
    found = logistic(X, y, cost, intercept).fit(features)

    model = LogisticRegression(
        C=1 / RIDGE_PENALTY, fit_intercept=intercept, tol=1e-10, max_iter=1000
    )
    model.fit(X[:, features], y, sample_weight=cost)
    assert_allclose(found.theta, np.append(model.intercept_, model.coef_), atol=1e-4)
    losses = np.logaddexp(
        0, -np.where(y == 1, 1, -1) * model.decision_function(X[:, features])
    )
    least = cost @ losses + 0.5 * RIDGE_PENALTY * (model.coef_**2).sum()
    assert_allclose(found.loss, least, rtol=1e-7)


@pytest.mark.oracle
def test_splicing_finds_the_least_criterion_of_all_sets():
    """All 2^6 sets of features, 12 tables."""
    for X, y in twelve_tables():
        problem = logistic(X, y)
        sets = [[j for j in range(6) if mask >> j & 1] for mask in range(64)]
        least = min(sets, key=lambda one: problem.criterion(problem.fit(one)))
        found = best_subset(problem, max_iter=50)
        assert sorted(found.features) == least
        assert found.converged
        assert_allclose(min(found.values), problem.criterion(problem.fit(least)), rtol=1e-8)


@pytest.mark.oracle
def test_splicing_replaces_a_feature_that_stands_for_two():
    """A noisy sum of two columns is the best single column; the two columns are better."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 20))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[::10] = 1 - y[::10]
    X[:, 2] = X[:, 0] + X[:, 1] + 0.8 * rng.normal(size=200)
    problem = logistic(oracle.standard(X), y)
    assert problem.promise(problem.fit([])).argmax() == 2
    assert 2 in best_subset(problem, max_iter=0).features  # no feature is exchanged
    spliced = best_subset(problem, max_iter=50).features
    assert {0, 1} <= set(spliced)
    assert 2 not in spliced


@pytest.mark.certificate
def test_pruning_ends_where_no_member_is_too_dear(seed):
    X, y = overlapping(seed)
    problem = logistic(oracle.standard(X), y)
    retained = prune(problem, range(12), lambda features: False)
    now = problem.fit(retained).loss
    assert 0 < len(retained) < 12
    for j in retained:
        without = problem.fit([k for k in retained if k != j]).loss
        assert without - now >= 0.5 * problem.price * (1 - 1e-6)
    kept = prune(problem, range(12), lambda features: 0 not in features)
    assert 0 in kept


# ----------------------------------------------------------------------------------- certificate


@pytest.mark.certificate
@each_form
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_approximation_falls_and_ends_stationary(form, alpha, seed):
    X, y, _ = make_sparse_classes(60, 400, n_informative=6, margin=0.2, random_state=seed)
    posed = problem(X, y, form)[0]._replace(alpha=alpha)
    found = reweighted_l1(posed, ColumnGeneration(posed), start=np.ones(400))
    trace = found.approximation
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[1:])).all()
    assert found.gap < 1e-6


@pytest.mark.certificate
@each_form
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_exchanges_lower_the_objective_to_the_least_on_the_features(form, alpha, seed):
    X, y, _ = make_sparse_classes(60, 400, n_informative=6, margin=0.2, random_state=seed)
    machine = SupportFeatureMachine(**form, alpha=alpha).fit(X, y)
    programs = SupportFeatureMachine(**form, alpha=alpha, algorithm="reweighted").fit(X, y)
    assert machine.objective_ <= programs.objective_ * (1 + 1e-9)
    before, exchanges = machine.objective_history_[0]
    assert_array_equal(before, programs.objective_history_[0][0])
    assert (np.diff(exchanges) <= 1e-9 * exchanges[1:]).all()
    assert_allclose(machine.objective_, exchanges[-1], rtol=1e-6)
    assert machine.dual_gap_ < 1e-9
    assert machine.n_features_history_[0][-1][-1] == support(machine).size
    assert machine.n_iter_ == before.size + exchanges.size

    # run the oracle on the selected columns
    _, scaled, side, settings = problem(X, y, form)
    columns = support(machine)
    costs = np.full(columns.size, alpha)
    least = oracle.linear_program(scaled[:, columns], side, costs, **settings)[2]
    assert_allclose(machine.objective_, columns.size + least, rtol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["exchange", "splicing"])
def test_certificate_belongs_to_the_final_set(algorithm, seed):
    """The least price of the features that are left, by the oracle on these columns."""
    dropped = 0
    for draw in range(4):
        X, y = plane(10 * seed + draw, 100, 150, 4)
        y[::15] = 1 - y[::15]
        machine = SupportFeatureMachine(algorithm=algorithm).fit(X, y)
        columns = support(machine)
        assert machine.n_features_history_[0][-1][-1] == columns.size
        assert_allclose(machine.objective_history_[0][-1][-1], machine.objective_, rtol=1e-6)
        dropped += len(machine.objective_history_[0]) == 3

        _, scaled, side, settings = problem(X, y, {**FORMS[1], "C": machine.C_[0]})
        costs = np.ones(columns.size)
        least = oracle.linear_program(scaled[:, columns], side, costs, **settings)[2]
        counted = np.count_nonzero(machine.sfm_coef_)
        assert_allclose(machine.objective_, counted + least, rtol=1e-6)
        assert machine.dual_gap_ < 1e-9
    assert algorithm == "splicing" or dropped > 0


@pytest.mark.certificate
@each_form
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_least_slack_of_any_set(form, alpha, seed):
    """Rows that come, go and come again give the same values as a program from the start."""
    X, y, _ = make_sparse_classes(40, 120, n_informative=4, margin=0.1, random_state=seed)
    posed, scaled, side, settings = problem(X, y, form)
    program = LeastSlack(posed._replace(alpha=alpha))
    rng = np.random.default_rng(seed)
    for size in (1, 5, 12, 3, 40, 6, 40, 2):
        columns = np.sort(rng.choice(120, size, replace=False))
        found = oracle.linear_program(
            scaled[:, columns], side, np.full(size, alpha), **settings
        )
        value = program.solve(columns.tolist())
        if found is None:
            assert value == np.inf
            continue
        assert_allclose(value, found[2], rtol=1e-7, atol=1e-7)
        w = program.weights().w
        assert not np.delete(w, columns).any()


@pytest.mark.certificate
def test_no_single_change_of_the_features_is_better(seed):
    """All features less, more and exchanged, where there are few enough to try them all."""
    X, y = overlapping(seed, p=10)
    posed, *_ = problem(X, y, FORMS[1])
    posed = posed._replace(alpha=0.5, slack_cost=np.full(y.size, 0.3))
    found = exchange(LeastSlack(posed), range(10), may=np.ones(10, dtype=bool), max_features=0)
    chosen = set(np.flatnonzero(found.vertex.w).tolist())
    assert_allclose(found.objective, len(chosen) + LeastSlack(posed).value(chosen), rtol=1e-9)
    others = set(range(10)) - chosen
    near = [chosen - {i} for i in chosen] + [chosen | {j} for j in others]
    near += [chosen - {i} | {j} for i in chosen for j in others]
    least = min(len(one) + LeastSlack(posed).value(one) for one in near)
    assert least >= found.objective - 1e-6
    banned = np.arange(10) != min(chosen)
    without = exchange(LeastSlack(posed), [], may=banned, max_features=0)
    assert without.vertex.w[min(chosen)] == 0
    assert without.objective >= found.objective - 1e-6
    assert (
        np.count_nonzero(exchange(LeastSlack(posed), [], may=banned, max_features=1).vertex.w)
        <= 1
    )


@pytest.mark.certificate
@each_form
def test_gap_bounds_the_true_distance(form, seed):
    X, y, _ = make_sparse_classes(30, 80, n_informative=4, random_state=seed)
    posed, X, side, settings = problem(X, y, form)
    rng = np.random.default_rng(seed)
    w, bias, _ = oracle.linear_program(X, side, np.ones(80), **settings)
    for _ in range(5):
        costs = rng.uniform(0.5, 2, size=80)
        value = oracle.linear_program(X, side, costs, **settings)[2]
        slack = np.maximum(posed.margin - posed.Z @ w - side * bias, 0)
        cost = 0.0 if posed.slack_cost is None else posed.slack_cost @ slack
        reached = costs @ np.abs(w) + cost
        # the bound must hold for any numbers, although it is then weaker
        dual = rng.uniform(0, 1, size=30)
        for u in (dual, np.zeros(30), ColumnGeneration(posed).solve(costs).dual):
            gap = stationarity_gap(posed, costs, w, bias, u, 0.0)
            assert gap >= (reached - value) / reached - 1e-6
    assert gap > 0


@pytest.mark.certificate
@each_form
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_gap_on_the_support_bounds_the_true_distance(form, alpha, seed):
    X, y, _ = make_sparse_classes(30, 80, n_informative=4, random_state=seed)
    posed = problem(X, y, form)[0]._replace(alpha=alpha)
    program = LeastSlack(posed)
    columns = np.sort(np.random.default_rng(seed).choice(80, 30, replace=False))
    least = columns.size + program.solve(columns.tolist())
    best = program.weights()
    assert support_gap(posed, best) < 1e-9
    rng = np.random.default_rng(seed)
    for factor in (1.0, 0.9, 0.0):
        for dual in (factor * best.dual, rng.uniform(0, 1, size=30)):
            worse = best._replace(w=best.w * 1.01, dual=dual)
            reached = price(posed, worse.w, worse.bias)
            assert support_gap(posed, worse) >= (reached - least) / reached - 1e-9


@pytest.mark.certificate
@pytest.mark.parametrize("form", [FORMS[0], FORMS[2]], ids=str)
def test_hard_constraints_hold(form, seed):
    X, y, _ = make_sparse_classes(60, 300, n_informative=4, random_state=seed)
    machine = SupportFeatureMachine(**form, refit=False).fit(X, y)
    side = np.where(y == 1, 1, -1)
    margins = side * machine.decision_function(X)
    if form["formulation"] == "margin":
        assert margins.min() > 1 - 1e-7
    else:
        assert margins.min() > -1e-7
        between = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        assert_allclose(machine.coef_[0] @ between, 1, rtol=1e-9)


@pytest.mark.certificate
def test_middle_bias_is_the_middle_of_the_best(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        n = rng.integers(3, 9)
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        x = rng.integers(-3, 4, size=n).astype(float)
        cost = rng.integers(1, 3, size=n).astype(float)
        posed = Separation(np.asfortranarray((y * x)[:, None]), y, 1.0, None, cost, True)
        grid = np.arange(-8, 8.25, 0.25)
        loss = [cost @ np.maximum(0, 1 - y * (x + b)) for b in grid]
        best = grid[np.isclose(loss, np.min(loss), rtol=0, atol=1e-9)]
        found = middle_bias(posed, np.ones(1), 0.0)
        assert_allclose(found, 0.5 * (best[0] + best[-1]), atol=1e-9)
    # without slack, any intercept between the nearest samples of the classes is optimal
    x = np.array([-3.0, -2.0, 1.0, 5.0])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    hard = Separation(np.asfortranarray((y * x)[:, None]), y, 1.0, None, None, True)
    assert_allclose(middle_bias(hard, np.ones(1), 0.3), 0.5)  # here 0 <= b <= 1


# -------------------------------------------------------------------------------------- recovery


@pytest.mark.recovery
def test_relevant_features_are_found(seed):
    exact = 0
    errors = []
    for draw in range(5):
        X, y, coef = make_sparse_classes(600, 1000, random_state=100 * seed + draw)
        machine = SupportFeatureMachine().fit(X[:100], y[:100])
        exact += np.array_equal(machine.get_support(), coef != 0)
        errors.append(1 - machine.score(X[100:], y[100:]))
    assert exact >= 4
    assert np.median(errors) <= 0.01


def plane(seed, n, p, k):
    """Labels by a plane of the first k features; samples keep no distance from it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    coef = np.zeros(p)
    coef[:k] = rng.choice([-1.0, 1.0], size=k)
    return X, (X @ coef > 0).astype(int)


@pytest.mark.few(5)
@pytest.mark.recovery
@pytest.mark.parametrize(
    ("C", "alpha"), [("scale", 1.0), ("scale", 0.0), (1.0, 0.0), (None, 0.0)]
)
@pytest.mark.parametrize(("n", "p"), [(100, 20), (100, 100), (200, 100)])
def test_objective_is_no_higher_than_for_the_planted_features(n, p, C, alpha, seed):
    for draw in range(3):
        X, y = plane(10 * seed + draw, n, p, 4)
        machine = SupportFeatureMachine(C, alpha=alpha).fit(X, y)
        posed = problem(X, y, {"formulation": "margin", "C": None})[0]
        cost = None if C is None else np.full(n, machine.C_[0])
        posed = posed._replace(alpha=alpha, slack_cost=cost)
        planted = 4 + LeastSlack(posed).value(range(4))
        assert machine.objective_ <= planted * (1 + 1e-7)
        if C == "scale":
            assert_array_equal(support(machine), np.arange(4))


@pytest.mark.few(2)
@pytest.mark.recovery
@pytest.mark.parametrize(
    ("shape", "least"),
    [
        ({"n_samples": 60, "n_features": 100, "n_informative": 4}, 3),
        ({"n_samples": 200, "n_features": 100, "n_informative": 5, "flip_y": 0.05}, 4),
        ({"n_samples": 200, "n_features": 500, "n_informative": 8, "margin": 0.3}, 4),
        ({"n_samples": 200, "n_features": 1000, "n_informative": 4, "flip_y": 0.05}, 4),
    ],
    ids=str,
)
def test_default_finds_the_planted_features(shape, least, seed):
    exact = 0
    right = 0
    wrong = 0
    for draw in range(5):
        X, y, coef = make_sparse_classes(**shape, random_state=100 * seed + draw)
        chosen = SupportFeatureMachine().fit(X, y).get_support()
        exact += np.array_equal(chosen, coef != 0)
        right += (chosen & (coef != 0)).sum()
        wrong += (chosen & (coef == 0)).sum()
    assert exact >= least
    assert right >= 0.9 * 5 * shape["n_informative"]
    assert wrong <= 2


@pytest.mark.full
@pytest.mark.recovery
def test_criterion_drops_features_that_slack_alone_selects():
    """A number as C keeps all features that save enough slack."""
    wrong = {"scale": 0, "number": 0}
    for draw in (4, 204, 205):
        X, y = plane(draw, 200, 500, 4)
        y[::20] = 1 - y[::20]
        for name, C in (("scale", "scale"), ("number", 1 / (0.7 * np.log(200)))):
            machine = SupportFeatureMachine(C).fit(X, y)
            assert set(range(4)) <= set(support(machine))
            wrong[name] += support(machine).size - 4
    assert wrong["scale"] <= 1
    assert wrong["number"] >= 2


@pytest.mark.recovery
def test_large_tables_are_spliced(seed):
    X, y = plane(seed, 400, 2500, 5)
    y[::20] = 1 - y[::20]
    machine = SupportFeatureMachine().fit(X, y)
    assert machine.algorithm_ == "splicing"
    assert_array_equal(support(machine), np.arange(5))
    assert machine.n_features_history_[0][0].tolist() == list(range(machine.n_iter_ + 1))
    assert machine.objective_history_[0][0].argmin() == 5

    # the exchanges are used if C is a number, or if there are few rows
    assert SupportFeatureMachine(0.01).fit(X, y).algorithm_ == "exchange"
    few = SupportFeatureMachine(n_features_to_select=1, max_iter=5).fit(
        np.tile(X[:40], (1, 10)), y[:40]
    )
    assert few.algorithm_ == "exchange"


@pytest.mark.recovery
@pytest.mark.slow
@pytest.mark.parametrize("n_features", [1000, 10_000])
def test_relevant_features_in_nine_of_ten_draws(n_features, seed):
    exact = 0
    for draw in range(10):
        X, y, coef = make_sparse_classes(100, n_features, random_state=1000 * seed + draw)
        machine = SupportFeatureMachine(C=None).fit(X, y)
        exact += np.array_equal(machine.get_support(), coef != 0)
    assert exact >= 9


@pytest.mark.recovery
def test_rounds_collect_features_that_stand_for_each_other():
    X, y, _ = make_sparse_classes(80, 40, n_informative=3, shuffle=False, random_state=1)
    rng = np.random.default_rng(0)
    X[:, 3:6] = X[:, :3] + 0.05 * rng.normal(size=(80, 3))
    one = SupportFeatureMachine(C=None).fit(X, y)
    two = SupportFeatureMachine(C=None, n_rounds=2).fit(X, y)
    assert_array_equal(support(two), np.arange(6))
    assert_array_equal(two.ranking_ == 1, one.get_support())
    assert two.n_rounds_ == 2
    auto = SupportFeatureMachine(C=None, n_rounds="auto", random_state=0).fit(X, y)
    assert set(range(6)) <= set(support(auto))
    assert auto.n_rounds_ <= 4


@pytest.mark.recovery
def test_balanced_costs_find_the_rare_class(seed):
    X, y, _ = make_sparse_classes(
        700, 50, n_informative=3, margin=0.0, flip_y=0.05, weight=0.15, random_state=seed
    )
    plain = SupportFeatureMachine(0.1, refit=False).fit(X[:200], y[:200])
    balanced = SupportFeatureMachine(0.1, refit=False, class_weight="balanced")
    balanced.fit(X[:200], y[:200])
    rare = y[200:] == 1

    def recall(machine):
        return (machine.predict(X[200:])[rare] == 1).mean()

    assert recall(balanced) > recall(plain)


@pytest.mark.recovery
def test_classes_of_iris():
    X, y = load_iris(return_X_y=True)
    machine = SupportFeatureMachine(C=10.0).fit(X, y)
    assert machine.score(X, y) > 0.94
    assert machine.coef_.shape == (3, 4)
    assert machine.hard_margin_.tolist() == [False] * 3
    # the petals alone separate setosa from the others
    assert not machine.sfm_coef_[0, :2].any()


# ----------------------------------------------------------------------------------------- paper


@pytest.mark.paper
def test_weak_separation_needs_no_more_features_than_a_margin(seed):
    """Klement and Martinetz 2010: centres instead of margins, fewer features."""
    sizes = {"margin": 0, "centers": 0}
    for draw in range(5):
        rng = np.random.default_rng(10 * seed + draw)
        X = rng.normal(size=(30, 60))
        y = np.arange(30) % 2
        for name in sizes:
            machine = SupportFeatureMachine(None, formulation=name).fit(X, y)
            sizes[name] += support(machine).size
    assert sizes["centers"] < sizes["margin"]


@pytest.mark.paper
def test_cheap_slack_takes_the_best_single_feature():
    """With ``C -> 0`` the class-centre form keeps the largest difference of the centres."""
    X, y = load_breast_cancer(return_X_y=True)
    machine = SupportFeatureMachine(1e-6, formulation="centers").fit(X, y)
    scaled = oracle.standard(X)
    between = np.abs(scaled[y == 1].mean(axis=0) - scaled[y == 0].mean(axis=0))
    assert support(machine).tolist() == [between.argmax()]


# ------------------------------------------------------------------------------------ invariance


@pytest.mark.invariance
@each_form
def test_labels_columns_rows_shift_and_scale(form, seed):
    X, y, _ = make_sparse_classes(50, 120, n_informative=4, random_state=seed)
    rng = np.random.default_rng(seed)
    w = SupportFeatureMachine(**form).fit(X, y).coef_[0]
    close = {"atol": 1e-6 * np.abs(w).max()}
    flipped = SupportFeatureMachine(**form).fit(X, np.array(["b", "a"])[y])
    assert_allclose(flipped.coef_[0], -w, **close)
    columns = rng.permutation(120)
    rows = rng.permutation(50)
    turned = SupportFeatureMachine(**form).fit(X[:, columns][rows], y[rows])
    assert_allclose(turned.coef_[0], w[columns], **close)
    scale = rng.uniform(0.1, 10, size=120)
    shift = 5 * rng.normal(size=120)
    moved = SupportFeatureMachine(**form).fit(X * scale + shift, y)
    assert_allclose(moved.coef_[0] * scale, w, **close)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ["exchange", "splicing"])
def test_selection_by_the_criterion_is_invariant(algorithm, seed):
    """Labels, columns, rows, shifts and scales, also without standardised columns."""
    X, y = plane(seed, 120, 80, 4)
    rng = np.random.default_rng(seed)
    selected = SupportFeatureMachine(algorithm=algorithm).fit(X, y).get_support()
    settings = {"algorithm": algorithm}
    columns = rng.permutation(80)
    rows = rng.permutation(120)
    turned = SupportFeatureMachine(**settings).fit(X[:, columns][rows], 1 - y[rows])
    assert_array_equal(turned.get_support(), selected[columns])
    scale = 10.0 ** rng.integers(-6, 7, size=80)
    moved = SupportFeatureMachine(**settings).fit(X * scale + 5 * scale, y)
    assert_array_equal(moved.get_support(), selected)
    weighted = SupportFeatureMachine(**settings).fit(X, y, sample_weight=np.full(120, 1e-9))
    assert_array_equal(weighted.get_support(), selected)
    single = SupportFeatureMachine(**settings).fit(X.astype(np.float32), y)
    assert_array_equal(single.get_support(), selected)
    if algorithm == "splicing":
        raw = SupportFeatureMachine(**settings, standardize=False).fit(X * scale, y)
        assert_array_equal(raw.get_support(), selected)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "algorithm", ["splicing", "exchange", "reweighted", "rescaled", "rescaled_l2"]
)
def test_sparse_input_gives_the_same(algorithm, seed):
    X, y, _ = make_sparse_classes(60, 80, n_informative=3, random_state=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    # the Euclidean machine may keep a feature that is only just worth its price
    C = "scale" if algorithm in ("splicing", "exchange") else 3.0
    settings = {"C": C, "algorithm": algorithm, "max_iter": 2000}
    dense = SupportFeatureMachine(**settings).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        other = SupportFeatureMachine(**settings).fit(kind(X), y)
        # for the Euclidean machine, the condition number of uncentred columns is different
        assert_allclose(other.coef_, dense.coef_, atol=1e-5 * np.abs(dense.coef_).max())
        assert_allclose(
            other.decision_function(kind(X)), dense.decision_function(X), atol=1e-4
        )
        assert sparse.issparse(other.transform(kind(X)))


@pytest.mark.invariance
@pytest.mark.parametrize("form", [FORMS[1], FORMS[3]], ids=str)
def test_weights_are_copies_with_slack_as_dear_in_total(form, seed):
    """Weights of mean one: n samples with weights cost as much slack as n samples do."""
    X, y = overlapping(seed)
    times = np.random.default_rng(seed).integers(0, 4, size=y.size)
    weighted = SupportFeatureMachine(**form).fit(X, y, sample_weight=times)
    mean = times[times > 0].mean()
    copied = SupportFeatureMachine(form["C"] / mean, formulation=form["formulation"])
    copied.set_params(refit_C=1 / mean).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.coef_, copied.coef_, atol=1e-6)
    assert_allclose(weighted.sfm_coef_, copied.sfm_coef_, atol=1e-6)


@pytest.mark.invariance
def test_boosting_is_not_the_majority(seed):
    """AdaBoost hands weights of sum one to its classifiers."""
    X, y, _ = make_sparse_classes(
        700, 40, n_informative=3, margin=0.1, flip_y=0.05, weight=0.3, random_state=seed
    )
    alone = SupportFeatureMachine().fit(X[:200], y[:200])
    boosted = AdaBoostClassifier(SupportFeatureMachine(), n_estimators=3, random_state=seed)
    boosted.fit(X[:200], y[:200])
    assert_array_equal(boosted.estimators_[0].get_support(), alone.get_support())
    majority = max(np.mean(y[200:]), 1 - np.mean(y[200:]))
    assert boosted.score(X[200:], y[200:]) > majority + 0.1
    for scale in (1e-300, 1e-3, 1e3, 1e300):
        weights = np.full(200, scale)
        scaled = SupportFeatureMachine().fit(X[:200], y[:200], sample_weight=weights)
        assert_allclose(scaled.coef_, alone.coef_, rtol=1e-9)


@pytest.mark.invariance
def test_class_weight_is_a_sample_weight(seed):
    X, y = overlapping(seed)
    weights = {0: 0.5, 1: 2.0}
    by_class = SupportFeatureMachine(class_weight=weights, standardize=False).fit(X, y)
    by_sample = SupportFeatureMachine(standardize=False)
    # the weights of samples have a mean of one
    weight = np.where(y == 1, 2.0, 0.5)
    by_sample.set_params(C=by_class.C_[0] * weight.mean(), refit_C=weight.mean())
    by_sample.fit(X, y, sample_weight=weight)
    assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-6)


@pytest.mark.invariance
def test_n_jobs_does_not_matter():
    X, y = load_iris(return_X_y=True)
    settings = {"C": 3.0, "n_init": 3, "n_rounds": 2, "random_state": 0}
    one = SupportFeatureMachine(**settings).fit(X, y)
    two = SupportFeatureMachine(**settings, n_jobs=2).fit(X, y)
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.ranking_, two.ranking_)


@pytest.mark.full
@pytest.mark.invariance
def test_more_starts_are_never_worse(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 60))
    y = np.arange(30) % 2
    sizes = [
        support(SupportFeatureMachine(None, n_init=n, random_state=0).fit(X, y)).size
        for n in (1, 5, 20)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


# ------------------------------------------------------------------------------------------ edge


@pytest.mark.edge
@pytest.mark.parametrize("formulation", ["margin", "centers"])
@pytest.mark.parametrize("solver", ["highs", "cvxpy"])
def test_hard_margin_of_classes_that_overlap(formulation, solver):
    X, y = overlapping(0)
    machine = SupportFeatureMachine(None, formulation=formulation, solver=solver)
    with pytest.raises(ValueError, match=r"not separable.*soft version.*C='scale'"):
        machine.fit(X, y)
    machine.set_params(C="auto").fit(X, y)
    assert machine.hard_margin_.tolist() == [False]
    soft = SupportFeatureMachine(formulation=formulation, solver=solver).fit(X, y)
    assert_array_equal(machine.coef_, soft.coef_)


@pytest.mark.edge
def test_hard_euclidean_machine_of_classes_that_overlap():
    X, y = overlapping(0)
    with pytest.raises(ValueError, match="not separable"):
        SupportFeatureMachine(None, algorithm="rescaled_l2").fit(X, y)
    X, y, _ = make_sparse_classes(40, 100, random_state=0)
    machine = SupportFeatureMachine(None, algorithm="rescaled_l2").fit(X, y)
    assert machine.score(X, y) == 1
    assert np.isnan(machine.dual_gap_)


@pytest.mark.edge
def test_auto_is_hard_if_possible():
    X, y, _ = make_sparse_classes(40, 100, random_state=0)
    auto = SupportFeatureMachine("auto").fit(X, y)
    hard = SupportFeatureMachine(None).fit(X, y)
    assert auto.hard_margin_.tolist() == [True]
    assert_array_equal(auto.coef_, hard.coef_)


@pytest.mark.edge
def test_classes_with_one_centre():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    y = [0, 0, 1, 1]
    with pytest.raises(ValueError, match="coincide"):
        SupportFeatureMachine(formulation="centers").fit(X, y)


@pytest.mark.edge
def test_one_class_or_none_left():
    X, y = overlapping(0)
    with pytest.raises(ValueError, match="two classes, got 1 class"):
        SupportFeatureMachine().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="two classes, got 1 class"):
        SupportFeatureMachine().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="weight"):
        SupportFeatureMachine().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        SupportFeatureMachine().fit(np.where(X > 1, np.nan, X), y)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalize_intercept": True, "fit_intercept": False}, "fit_intercept=True"),
        ({"algorithm": "rescaled_l2", "formulation": "centers"}, "formulation='margin'"),
        ({"algorithm": "splicing", "formulation": "centers"}, "formulation='margin'"),
        ({"algorithm": "splicing", "C": 1.0}, "C='scale'"),
        ({"algorithm": "splicing", "C": None}, "C='scale'"),
        ({"class_weight": {7: 1.0}}, r"labels \[7\]"),
        ({"class_weight": {0: -1.0}}, "must not be negative"),
        ({"C": 0.0}, "C"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_raises_on_conflicting_settings(settings, message):
    X, y = overlapping(0)
    with pytest.raises(ValueError, match=message):
        SupportFeatureMachine(**settings).fit(X, y)


@pytest.mark.edge
def test_no_feature_is_worth_its_cost():
    X, y = overlapping(0)
    y[:] = 0
    y[:5] = 1
    machine = SupportFeatureMachine(1e-6).fit(X, y)
    assert support(machine).size == 0
    assert_array_equal(machine.predict(X), np.zeros(len(X)))
    with pytest.warns(UserWarning, match="No features were selected"):
        assert machine.transform(X).shape == (len(X), 0)


@pytest.mark.edge
@pytest.mark.parametrize(
    "X", [np.zeros((20, 4)), np.full((20, 1), 0.1)], ids=["zeros", "equal"]
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nothing_but_constant_columns(X, kind):
    """The larger class, or a specific error if no slack or a direction is requested."""
    for y in (np.arange(20) < 7, np.arange(20) % 3 % 2, np.minimum(np.arange(20), 2)):
        larger = np.unique(y)[np.unique(y, return_counts=True)[1].argmax()]
        for settings in (
            {}, {"C": "auto"}, {"algorithm": "rescaled_l2"}, {"penalize_intercept": True},
            {"solver": "cvxpy", "algorithm": "reweighted"}, {"n_rounds": 3},
            {"fit_intercept": True, "refit": False},
        ):  # fmt: skip
            machine = SupportFeatureMachine(**settings).fit(kind(X), y)
            assert support(machine).size == 0
            assert (machine.predict(kind(X)) == larger).all()
        with pytest.raises(ValueError, match="not separable"):
            SupportFeatureMachine(None).fit(kind(X), y)
        with pytest.raises(ValueError, match="coincide"):
            SupportFeatureMachine(formulation="centers").fit(kind(X), y)


@pytest.mark.edge
def test_constant_columns_are_excluded():
    X, y, _ = make_sparse_classes(40, 60, n_informative=3, random_state=0)
    more = np.c_[np.full(40, 3.0), X, np.zeros(40)]
    for form in FORMS:
        without, among = (SupportFeatureMachine(**form).fit(Z, y) for Z in (X, more))
        assert_allclose(among.coef_[0, 1:-1], without.coef_[0], atol=1e-6)
        assert not among.coef_[0, [0, -1]].any()


@pytest.mark.edge
def test_one_separating_column():
    X, y, _ = make_sparse_classes(40, 60, random_state=0)
    X[:, 7] = np.where(y == 1, 2.0, -1.0) + 0.1 * X[:, 7]
    for form in FORMS:
        assert support(SupportFeatureMachine(**form).fit(X, y)).tolist() == [7]
    tiny = SupportFeatureMachine(None).fit([[0.0], [1.0]], ["no", "yes"])
    assert tiny.predict([[0.2], [0.9]]).tolist() == ["no", "yes"]


@pytest.mark.edge
@pytest.mark.parametrize(
    "intercept", [{"fit_intercept": False}, {"penalize_intercept": True}], ids=str
)
def test_intercept_options(intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 30))
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    X += 0.5 * np.where(y == 1, 1, -1)[:, None] * np.r_[1, -1, np.zeros(28)]
    machine = SupportFeatureMachine(None, **intercept).fit(X, y)
    assert_array_equal(support(machine), [0, 1])
    assert machine.score(X, y) == 1
    assert machine.dual_gap_ < 1e-6
    if "fit_intercept" in intercept:
        assert machine.intercept_[0] == machine.sfm_intercept_[0] == 0
    far = X + 10.0  # away from the origin, the intercept is needed and counts like a feature
    penalised = SupportFeatureMachine(None, penalize_intercept=True).fit(far, y)
    assert penalised.score(far, y) == 1


@pytest.mark.edge
def test_fewer_features_on_request():
    X, y, _ = make_sparse_classes(60, 200, n_informative=8, random_state=0)
    machine = SupportFeatureMachine(None, n_features_to_select=3).fit(X, y)
    assert support(machine).size == 3
    enough = SupportFeatureMachine(None, n_features_to_select=100, algorithm="reweighted")
    enough.fit(X, y)
    assert enough.n_iter_ == 1
    assert support(enough).size == np.count_nonzero(enough.sfm_coef_)


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ["exchange", "splicing"])
def test_rounds_and_classes_are_pruned_each(algorithm):
    X, y = plane(0, 200, 30, 4)
    X = np.hstack([X, X[:, :4] + 0.1 * np.random.default_rng(0).normal(size=(200, 4))])
    machine = SupportFeatureMachine(algorithm=algorithm, n_rounds=2, random_state=0).fit(X, y)
    assert machine.n_rounds_ == 2
    relevant = [*range(4), *range(30, 34)]
    assert set(relevant) <= set(support(machine))
    assert (machine.ranking_[relevant] == 1).sum() == 4
    assert support(machine).size <= 10

    # a third class is far from the others along a separate feature
    X[:50, 10] += 10
    labels = np.where(np.arange(200) < 50, 2, y)
    several = SupportFeatureMachine(algorithm=algorithm, n_jobs=2).fit(X, labels)
    assert np.flatnonzero(several.sfm_coef_[2]).tolist() == [10]
    assert len(several.objective_history_) == 3
    assert several.score(X, labels) > 0.95


@pytest.mark.edge
def test_splicing_with_a_limited_number_of_features():
    X, y = plane(0, 200, 50, 5)
    machine = SupportFeatureMachine(algorithm="splicing", n_features_to_select=3).fit(X, y)
    assert support(machine).size == 3
    assert machine.n_iter_ == 3
    X[:, 6] = X[:, :5].sum(axis=1) + 0.5 * X[:, 6]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SupportFeatureMachine(algorithm="splicing", max_iter=1).fit(X, y)


@pytest.mark.edge
def test_splicing_without_candidates_selects_nothing():
    for X in (np.ones((20, 3)), np.zeros((20, 1))):
        y = np.arange(20) < 7
        with pytest.warns(UserWarning, match="selects no feature"):
            machine = SupportFeatureMachine(algorithm="splicing").fit(X, y)
        assert support(machine).size == 0
        assert not machine.predict(X).any()
    two = SupportFeatureMachine(algorithm="splicing").fit([[0.0], [1.0]], ["no", "yes"])
    assert two.predict([[0.1], [0.9]]).tolist() == ["no", "yes"]


@pytest.mark.edge
def test_later_rounds_stop_where_nothing_is_left():
    X, y, _ = make_sparse_classes(40, 3, n_informative=3, random_state=0)
    machine = SupportFeatureMachine(None, n_rounds=5).fit(X, y)
    assert machine.n_rounds_ == 1
    assert_array_equal(machine.ranking_, [1, 1, 1])


@pytest.mark.edge
def test_stopping_early_warns():
    X, y, _ = make_sparse_classes(40, 100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SupportFeatureMachine(max_iter=1).fit(X, y)


@pytest.mark.edge
def test_infeasible_is_seen_by_every_master():
    X, y = overlapping(1)
    posed, *_ = problem(X, y, FORMS[0])
    for program in (ColumnGeneration(posed), CvxpyProgram(posed)):
        with pytest.raises(Infeasible):
            program.solve(np.ones(X.shape[1]))
    feasible, *_ = problem(X, y, FORMS[1])
    one = reweighted_l1(feasible, ColumnGeneration(feasible), start=np.ones(12))
    two = reweighted_l1(feasible, CvxpyProgram(feasible), start=np.ones(12))
    assert_allclose(one.w, two.w, atol=1e-7)


@pytest.mark.edge
def test_tuned_in_a_pipeline():
    X, y = (part[::2] for part in load_breast_cancer(return_X_y=True))
    search = GridSearchCV(SupportFeatureMachine(), {"C": [0.3, 3.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.94
    pipeline = make_pipeline(SupportFeatureMachine(C=1.0), SVC())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = search.best_estimator_.get_feature_names_out()
    assert len(names) < 30


ON_TWO_THREADS = """
import cvxpy as cp
from skmoderndata.datasets import make_sparse_classes
from skmoderndata.svm import SupportFeatureMachine
variables = cp.Variable(3)
program = cp.Problem(cp.Minimize(cp.sum(variables)), [variables >= 1])
program.solve(solver=cp.HIGHS, threads=2)
X, y, _ = make_sparse_classes(60, 200, n_informative=3, random_state=0)
assert SupportFeatureMachine(C=None).fit(X, y).get_support().sum() == 3
"""


@pytest.mark.edge
def test_after_other_programs_on_two_threads():
    """HiGHS has one scheduler in a process, and refuses another number of threads than its."""
    subprocess.run([sys.executable, "-c", ON_TWO_THREADS], check=True)


PRINTS_NOTHING = """
import numpy as np
from skmoderndata.svm import SupportFeatureMachine

X = np.arange(12.0).reshape(6, 2) % 5
SupportFeatureMachine().fit(X, X[:, 0] > 1)
"""


@pytest.mark.edge
def test_prints_nothing():
    """The first call of HiGHS in a process prints its licence, unless disabled before."""
    run = subprocess.run(
        [sys.executable, "-c", PRINTS_NOTHING], check=True, capture_output=True, text=True
    )
    assert run.stdout == ""


@pytest.mark.edge
def test_warns_if_no_feature_is_selected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = rng.random(200) < 0.3
    with pytest.warns(UserWarning, match="selects no feature.*increase C"):
        model = SupportFeatureMachine().fit(X, y)
    assert not model.coef_.any()
    assert not model.predict(X).any()
