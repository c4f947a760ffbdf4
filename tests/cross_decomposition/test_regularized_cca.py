"""Evidence that RegularizedCCA solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.cross_decomposition import CCA, PLSSVD
from sklearn.datasets import load_breast_cancer, load_digits, load_linnerud, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from skmoderndata.cross_decomposition import KernelCCA, RegularizedCCA
from tests.oracles.regularized_cca import bordered, linear_pencil


def two_views(seed, n=80, p=5, q=4, noise=1.0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    X = common @ rng.normal(size=(2, p)) + noise * rng.normal(size=(n, p))
    return X, common @ rng.normal(size=(2, q)) + noise * rng.normal(size=(n, q)) + 3


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.7, 1.0])
def test_matches_the_generalised_eigenproblem(seed, alpha):
    X, Y = two_views(seed)
    model = RegularizedCCA(3, alpha=alpha, scale=False).fit(X, Y)
    values, A, B = bordered(X, Y, alpha)
    assert_allclose(model.regularized_correlations_, values[:3], rtol=1e-8)
    for scores, centred, W in zip(
        model.transform(X, Y), (X - X.mean(0), Y - Y.mean(0)), (A, B), strict=True
    ):
        assert_allclose(np.abs(scores[:, 0]), np.abs(centred @ W[:, 0]), atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("p", [5, 120])
def test_equals_kernel_cca_with_the_linear_kernel(seed, alpha, p):
    X, Y = two_views(seed, p=p)
    one = RegularizedCCA(3, alpha=alpha, scale=False).fit(X, Y)
    two = KernelCCA(3, kernel="linear", alpha=alpha).fit(X, Y)
    assert_allclose(one.regularized_correlations_, two.regularized_correlations_, rtol=1e-8)
    assert_allclose(np.abs(one.transform(X)), np.abs(two.transform(X)), atol=1e-6)


@pytest.mark.oracle
def test_limits_match_scikit_learn(seed):
    X, Y = two_views(seed)
    A, B = CCA(3, tol=1e-12, max_iter=10_000).fit(X, Y).transform(X, Y)
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)]
    assert_allclose(
        RegularizedCCA(3, alpha=0).fit(X, Y).regularized_correlations_, expected, atol=1e-6
    )
    U, _ = PLSSVD(2, scale=False).fit(X, Y).transform(X, Y)
    Z = RegularizedCCA(2, alpha=1, scale=False).fit(X, Y).transform(X)
    assert_allclose(np.abs(Z), np.abs(U), atol=1e-7)


@pytest.mark.certificate
def test_no_other_directions_are_better(seed):
    X, Y = two_views(seed)
    model = RegularizedCCA(1, alpha=0.3, scale=False).fit(X, Y)
    assert model.residual_ < 1e-12
    C = np.cov(X.T, Y.T, bias=True)
    p = X.shape[1]
    S = 0.7 * C + 0.3 * np.eye(len(C))

    def objective(a, b):
        size = (a @ S[:p, :p] @ a) * (b @ S[p:, p:] @ b)
        return a @ C[:p, p:] @ b / np.sqrt(size)

    a, b = (w[:, 0] for w in model.weights_)
    assert_allclose(objective(a, b), model.regularized_correlations_[0], rtol=1e-10)
    rng = np.random.default_rng(seed)
    for step in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = objective(
                a + step * rng.normal(size=p), b + step * rng.normal(size=len(b))
            )
            assert other < model.regularized_correlations_[0]


@pytest.mark.recovery
def test_shrinkage_generalises_if_plain_cca_does_not(seed):
    X, Y = two_views(seed, n=120, p=25, q=25, noise=5.0)
    grid = {"alpha": [0.0, 0.5, 0.99]}
    search = GridSearchCV(RegularizedCCA(1), grid, cv=2).fit(X, Y)
    assert search.best_params_["alpha"] > 0
    scores = search.cv_results_["mean_test_score"]
    assert scores.max() > scores[0] + 0.05


@pytest.mark.invariance
def test_scale_rows_and_views(seed):
    X, Y = two_views(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain = RegularizedCCA(2, alpha=0).fit(X, Y).regularized_correlations_
    mixed = X @ np.random.default_rng(seed).normal(size=(5, 5)) + 100
    assert_allclose(
        RegularizedCCA(2, alpha=0).fit(mixed, Y).regularized_correlations_, plain, rtol=1e-7
    )
    scaled = RegularizedCCA(2, alpha=0.3, scale=True)
    expected = scaled.fit(X, Y).regularized_correlations_
    assert_allclose(
        scaled.fit(1e5 * X, 1e-5 * Y).regularized_correlations_, expected, rtol=1e-9
    )
    assert_allclose(
        scaled.fit(Y[order], X[order]).regularized_correlations_, expected, rtol=1e-9
    )


@pytest.mark.edge
def test_rank_deficient_views_without_regularisation(seed):
    X, Y = two_views(seed)
    model = RegularizedCCA(4, alpha=0).fit(np.c_[X, X[:, :2] + X[:, 1:3]], Y)
    assert model.ranks_.tolist() == [5, 4]
    assert_allclose(
        model.regularized_correlations_,
        RegularizedCCA(4, alpha=0).fit(X, Y).regularized_correlations_,
        rtol=1e-8,
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("views", "setting", "message"),
    [
        (lambda X, Y: (X, Y[1:]), {}, "inconsistent numbers"),
        (lambda X, Y: (X, np.ones(80)), {}, "View 2 is constant"),
        (
            lambda X, Y: (np.random.default_rng(0).normal(size=(80, 90)), Y),
            {"alpha": 0},
            "be 1",
        ),
        (lambda X, Y: (X, Y), {"alpha": 2.0}, "between 0 and 1"),
        (lambda X, Y: (X, Y), {"alpha": [0.1]}, "1 entries for 2 views"),
        (lambda X, Y: (X,), {}, "requires y"),
    ],
)
def test_error_names_bad_input(views, setting, message):
    with pytest.raises(ValueError, match=message):
        RegularizedCCA(2, **setting).fit(*views(*two_views(0)))


@pytest.mark.edge
def test_criteria_agree_for_two_views(seed):
    X, Y = two_views(seed)
    expected = RegularizedCCA(2, alpha=0.1).fit(X, Y).regularized_correlations_
    for criterion in ("maxvar", "sumcor"):
        found = RegularizedCCA(2, alpha=0.1, criterion=criterion).fit(X, Y)
        assert_allclose(found.regularized_correlations_, expected, rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_correlations_and_weights_match_their_names(seed, alpha, scale, weighted):
    """Correlations of `transform`; weights in the units of X that solve the stated problem."""
    X, Y = two_views(seed)
    X = X * [1e-5, 1, 40, 3, 1e4]
    Y = Y * [1e3, 1, 1e-2, 7]
    w = np.random.default_rng(seed).uniform(0.1, 3, size=80) if weighted else None

    model = RegularizedCCA(3, alpha=alpha, scale=scale).fit(X, Y, sample_weight=w)
    scores = model.transform(X, Y)

    expected = [
        np.cov(a, b, aweights=w, ddof=0) for a, b in zip(*(Z.T for Z in scores), strict=True)
    ]
    expected = [C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) for C in expected]
    assert_allclose(model.correlations_, expected, rtol=1e-9)
    if w is None:
        plain = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(Z.T for Z in scores), strict=True)]
        assert_allclose(model.correlations_, plain, rtol=1e-9)

    # the weights are orthonormal in the regularised covariance, in the units of X
    C = np.cov(X.T, Y.T, aweights=w, ddof=0)
    units = np.sqrt(np.diag(C)) if scale else np.ones(9)
    for view, W, columns, mean in zip(
        (X, Y),
        (model.x_weights_, model.y_weights_),
        (slice(5), slice(5, 9)),
        model.means_,
        strict=True,
    ):
        assert_allclose((view - mean) @ W, model.transform(X, Y)[view is Y], rtol=1e-9)
        S = (1 - alpha) * C[columns, columns] + alpha * np.diag(units[columns] ** 2)
        assert_allclose(W.T @ S @ W, np.eye(3), atol=1e-7)

    values, _, _ = linear_pencil(C / np.outer(units, units), 5, alpha)
    assert_allclose(model.regularized_correlations_, values[:3], rtol=1e-7)


@pytest.mark.invariance
@pytest.mark.parametrize("factor", [1e-300, 1e-30, 0.3, 7.0, 1e300])
def test_a_common_factor_of_the_weights_changes_nothing(seed, factor):
    X, Y = two_views(seed)
    w = np.random.default_rng(seed).uniform(0.5, 2, size=80)
    once, again = (RegularizedCCA().fit(X, Y, sample_weight=v) for v in (w, factor * w))
    assert_allclose(again.x_weights_, once.x_weights_, rtol=1e-8)
    assert_allclose(again.correlations_, once.correlations_, rtol=1e-10)
    equal = RegularizedCCA().fit(X, Y, sample_weight=np.full(80, factor))
    assert_allclose(equal.x_weights_, RegularizedCCA().fit(X, Y).x_weights_, rtol=1e-10)


@pytest.mark.invariance
def test_pairs_and_lists_agree(seed):
    X, Y = two_views(seed)
    model = RegularizedCCA(2)
    for A, B in zip(model.fit_transform(X, Y), model.fit_transform([X, Y]), strict=True):
        assert_allclose(A, B)
    for A, B in zip(model.fit_transform(X, Y), model.transform(X, Y), strict=True):
        assert_allclose(A, B)
    assert model.weights_[0] is model.x_weights_
    assert model.weights_[1] is model.y_weights_


@pytest.mark.edge
@pytest.mark.parametrize(
    "labels",
    [
        np.arange(80) % 3,
        np.arange(80) % 2 == 0,
        np.array(["a", "b"] * 40),
        ["yes", "no"] * 40,
        np.array(["a", "b"] * 40, dtype=object),
    ],
)
@pytest.mark.parametrize(
    "model",
    [RegularizedCCA(1), RegularizedCCA(1, criterion="sumcor"), KernelCCA(1)],
    ids=repr,
)
def test_labels_of_classes_are_not_a_second_view(model, labels):
    X, _ = two_views(0)
    with pytest.raises(ValueError, match="look like class labels"):
        model.fit(X, labels)
    with pytest.raises(ValueError, match="view_slices"):
        make_pipeline(model, LogisticRegression()).fit(X, labels)


@pytest.mark.edge
def test_numbers_in_a_table_are_a_second_view():
    X, _ = two_views(0)
    classes = np.arange(80) % 3
    assert RegularizedCCA(1).fit(X, classes.reshape(-1, 1)).n_components_ == 1
    # no numbers are repeated
    assert RegularizedCCA(1).fit(X, np.arange(80)).n_components_ == 1
    assert RegularizedCCA(1).fit(X, X[:, 0]).n_components_ == 1


@pytest.mark.edge
def test_missing_values_in_a_column_of_objects_are_named():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = X[:, 0].astype(object)
    y[3] = None
    with pytest.raises(ValueError, match=r"missing .* position 3"):
        RegularizedCCA(1).fit(X, y)


def pairs_of_views():
    """Five pairs, for which the best regularisation differs by orders of magnitude."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(120, 1))
    cancer = load_breast_cancer().data
    digits = load_digits().images[:300]
    wine = load_wine().data
    linnerud = load_linnerud()
    return {
        "breast cancer": (cancer[:, :15], cancer[:, 15:]),
        "digits": (digits[:, :, :4].reshape(-1, 32), digits[:, :, 4:].reshape(-1, 32)),
        "wine": (wine[:, :6], wine[:, 6:]),
        "linnerud": (linnerud.data, linnerud.target),
        "one in noise": (
            common + 2 * rng.normal(size=(120, 25)), common + 2 * rng.normal(size=(120, 25))
        ),
    }  # fmt: skip


PAIRS = pairs_of_views()


@pytest.mark.oracle
@pytest.mark.parametrize("name", PAIRS)
def test_chosen_alpha_is_as_good_as_the_best_of_a_grid(name):
    X, Y = PAIRS[name]

    def held_out(alpha):
        folds = KFold(5, shuffle=True, random_state=0).split(X)
        return np.mean([
            RegularizedCCA(1, alpha=alpha).fit(X[train], Y[train]).score(X[test], Y[test])
            for train, test in folds
        ])  # fmt: skip

    best = max(held_out(alpha) for alpha in (0, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.9))
    tolerance = 0.1 if name == "linnerud" else 0.02  # linnerud has only four rows per fold
    assert held_out("auto") >= best - tolerance


@pytest.mark.invariance
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_chosen_alpha_depends_only_on_the_rows(form, seed):
    """Not on their order, nor on units, nor on whether copies are written as weights."""
    X, Y = two_views(seed, noise=3.0)
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 4, size=len(X))
    index = rng.permutation(np.repeat(np.arange(len(X)), times))
    weighted = RegularizedCCA(2).fit(form(X), form(Y), sample_weight=times)
    copied = RegularizedCCA(2).fit(form(X[index]), form(Y[index]))
    scaled = RegularizedCCA(2).fit(form(1e3 * X[index]), form(1e-3 * Y[index]))
    assert weighted.alpha_.tolist() == copied.alpha_.tolist() == scaled.alpha_.tolist()
    assert_allclose(
        weighted.regularized_correlations_, copied.regularized_correlations_, rtol=1e-9
    )


@pytest.mark.edge
def test_chosen_alpha_of_awkward_views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 20))
    Y = rng.normal(size=(6, 3))
    assert RegularizedCCA(1).fit(X, Y).alpha_.shape == (2,)
    few = np.zeros((6, 2))
    few[0] = 1  # the column is constant without its first row
    assert np.isfinite(RegularizedCCA(1).fit(few, Y).alpha_).all()
    assert RegularizedCCA(1, alpha=[0.1, 0.2]).fit(X, Y).alpha_.tolist() == [0.1, 0.2]


@pytest.mark.oracle
def test_predict_with_all_pairs_is_linear_regression(seed):
    X, Y = two_views(seed)
    new, _ = two_views(seed + 1)
    cca = RegularizedCCA(4, alpha=0).fit(X, Y)
    expected = LinearRegression().fit(X, Y).predict(new)
    assert_allclose(cca.predict(new), expected, atol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_predict_is_least_squares_on_the_scores(seed, alpha):
    X, Y = two_views(seed)
    new, _ = two_views(seed + 1)
    weight = np.random.default_rng(seed).integers(0, 3, 80).astype(float)
    cca = RegularizedCCA(2, alpha=alpha).fit(X, Y, sample_weight=weight)
    regression = LinearRegression().fit(cca.transform(X), Y, sample_weight=weight)
    assert_allclose(cca.predict(new), regression.predict(cca.transform(new)), atol=1e-9)


@pytest.mark.invariance
def test_predict_of_sparse_views_of_columns_and_of_a_single_column(seed):
    X, Y = two_views(seed)
    expected = RegularizedCCA(2, alpha=0.1).fit(X, Y).predict(X)
    tables = sparse.csr_array(X), sparse.csr_array(Y)
    of_sparse = RegularizedCCA(2, alpha=0.1).fit(*tables).predict(tables[0])
    # the reference uses covariances instead of singular vectors
    assert_allclose(of_sparse, expected, atol=1e-6)
    both = np.hstack([X, Y])
    side_by_side = RegularizedCCA(2, alpha=0.1, view_slices=[(0, 5), (5, 9)]).fit(both)
    assert_allclose(side_by_side.predict(both), expected)

    one = RegularizedCCA(1).fit(X, Y[:, 0])
    table = RegularizedCCA(1).fit(X, Y[:, :1])
    assert one.predict(X).shape == (80,)
    assert_allclose(one.predict(X), table.predict(X)[:, 0])
    single = RegularizedCCA(1).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.predict(X.astype(np.float32)).dtype == np.float32


@pytest.mark.recovery
def test_predict_explains_new_samples():
    X, Y = two_views(0, n=400, noise=0.5)
    predicted = RegularizedCCA(2).fit(X[:200], Y[:200]).predict(X[200:])
    score = r2_score(Y[200:], predicted)
    assert score > 0.5
    # the reference uses the scores of X for Y, as if they correlated perfectly
    plain = CCA(2, max_iter=5000).fit(X[:200], Y[:200]).predict(X[200:])
    assert score >= r2_score(Y[200:], plain)
