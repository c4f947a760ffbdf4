"""Evidence that KnockoffSelector bounds the rate of false features."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from skmoderndata._solvers.recovery.knockoffs import (
    draw_knockoffs,
    equal_distances,
    estimated_rate,
    filter_threshold,
    largest_distances,
)
from skmoderndata.feature_selection import KnockoffDisplay, KnockoffSelector
from skmoderndata.linear_model import GroupLasso
from tests.oracles.knockoffs import largest_trace, threshold_by_search


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def correlations(p, rng, strength=1.0):
    """Correlation matrix of a random mixture with a little noise."""
    covariance = np.cov(rng.normal(size=(p, 3 * p)) * np.geomspace(1, 3, 3 * p))
    covariance += strength * np.outer(*[rng.normal(size=p)] * 2)
    d = np.sqrt(covariance.diagonal())
    return covariance / np.outer(d, d)


def planted(n, p, k, seed, size=0.3, marginal=np.array):
    """Regression on k of p features whose neighbours are correlated."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    X = marginal(X)
    w = np.zeros(p)
    w[rng.choice(p, k, replace=False)] = size * rng.choice([-1, 1], k)
    return X, X @ w + rng.normal(size=n), w != 0


def rates(settings, seeds, *, n=200, p=60, k=15, size=0.35, marginal=np.array):
    """Return false discovery proportion and power for each seed."""
    found = []
    for seed in seeds:
        X, y, true = planted(n, p, k, seed, size, marginal)
        selector = KnockoffSelector(Lasso(0.1), random_state=seed, **settings)
        support = selector.fit(X, y).get_support()
        found.append(
            [np.sum(support & ~true) / max(support.sum(), 1), support[true].mean() if k else 0]
        )
    return np.array(found)


@pytest.mark.oracle
@pytest.mark.parametrize("p", [2, 5, 12])
def test_distances_maximise_the_semidefinite_program(p, rng):
    R = correlations(p, rng)
    S = largest_distances(R)
    assert np.trace(S) <= largest_trace(R) + 1e-6
    assert np.trace(S) >= largest_trace(R) - 2e-3 * p
    assert np.linalg.eigvalsh(2 * R - S)[0] > 0
    assert np.all((S.diagonal() >= 0) & (S.diagonal() <= 1))


@pytest.mark.oracle
@pytest.mark.parametrize("q", [0.05, 0.1, 0.3, 0.9])
def test_threshold_equals_a_search_over_all(q, rng):
    for _ in range(50):
        W = np.round(rng.normal(size=30) + rng.uniform(0, 2), 1)
        t = filter_threshold(W, q)
        assert t == threshold_by_search(W, q)
        assert estimated_rate(W, t) <= q


@pytest.mark.certificate
@pytest.mark.parametrize("distances", [equal_distances, largest_distances])
def test_pairs_have_the_covariance_of_exchangeable_features(distances, rng):
    R = correlations(6, rng)
    S = distances(R)
    Z = rng.normal(size=(200_000, 6)) @ np.linalg.cholesky(R).T
    both = np.hstack([Z, draw_knockoffs(Z, R, S, np.random.RandomState(0))])
    expected = np.block([[R, R - S], [R - S, R]])
    np.testing.assert_allclose(np.cov(both.T), expected, atol=0.02)


@pytest.mark.certificate
def test_blocks_of_groups_stay_in_the_cone(rng):
    R = correlations(9, rng)
    groups = np.repeat([0, 1, 2], 3)
    S = equal_distances(R, groups)
    assert np.linalg.eigvalsh(2 * R - S)[0] > -1e-12
    assert np.all(S[groups[:, None] != groups] == 0)
    assert np.all(np.linalg.eigvalsh(S) > -1e-12)


@pytest.mark.recovery
def test_rate_stays_below_the_bound():
    found = rates({}, range(60))
    error = found[:, 0].std() / np.sqrt(60)
    assert found[:, 0].mean() <= 0.1 + 2 * error
    assert found[:, 1].mean() > 0.5


@pytest.mark.recovery
@pytest.mark.full
@pytest.mark.parametrize(
    "settings", [{"construction": "sdp"}, {"marginals": "copula"}, {"fdr": 0.2}], ids=str
)
@pytest.mark.parametrize(
    "marginal", [np.array, np.sign, np.exp], ids=["normal", "sign", "exp"]
)
def test_rate_stays_below_the_bound_with_options(settings, marginal):
    found = rates(settings, range(100, 200), marginal=marginal)
    error = found[:, 0].std() / 10
    assert found[:, 0].mean() <= settings.get("fdr", 0.1) + 2 * error


@pytest.mark.recovery
def test_selects_nothing_without_a_signal():
    found = rates({}, range(40), k=0)
    assert found[:, 0].mean() <= 0.1


@pytest.mark.recovery
def test_groups_select_correlated_twins(rng):
    base = rng.normal(size=(300, 40))
    X = np.repeat(base, 2, axis=1) + 0.01 * rng.normal(size=(300, 80))
    y = base[:, :12].sum(axis=1) + rng.normal(size=300)
    groups = np.repeat([f"g{i:02}" for i in range(40)], 2)
    for estimator in (Lasso(0.1), GroupLasso(0.1)):
        selector = KnockoffSelector(estimator, groups=groups, random_state=0).fit(X, y)
        assert set(range(24)) <= set(selector.get_support(indices=True))
        assert selector.statistics_.shape == (40,)
        assert selector.get_support().sum() <= 28
    labels = selector.estimator_.groups
    assert len(labels) == 160
    assert len(np.unique(labels)) == 80


@pytest.mark.recovery
def test_labels_and_classifiers(rng):
    X, y, true = planted(400, 60, 15, 3, 0.6)
    labels = np.where(y > 0, "high", "low")
    machine = LogisticRegression(l1_ratio=1, C=0.05, solver="liblinear")
    support = KnockoffSelector(machine, fdr=0.2, random_state=0).fit(X, labels).get_support()
    assert support[true].mean() > 0.6
    assert np.sum(support & ~true) <= 6


@pytest.mark.invariance
def test_units_and_origin_do_not_matter():
    X, y, _ = planted(200, 40, 12, 0)
    first = KnockoffSelector(Lasso(0.1), random_state=0).fit(X, y)
    scales = np.geomspace(1e-6, 1e6, 40)
    second = KnockoffSelector(Lasso(0.1), random_state=0).fit(X * scales + 1e3 * scales, y)
    np.testing.assert_allclose(second.statistics_, first.statistics_, atol=1e-6)


@pytest.mark.invariance
def test_a_callable_statistic_replaces_the_estimator():
    X, y, _ = planted(200, 40, 12, 0)
    expected = KnockoffSelector(Lasso(0.1), random_state=0).fit(X, y)
    statistic = KnockoffSelector(
        None, statistic=lambda Z, y: np.abs(Lasso(0.1).fit(Z, y).coef_), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(statistic.statistics_, expected.statistics_)
    assert statistic.estimator_ is None


@pytest.mark.invariance
def test_works_in_a_search():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        KnockoffSelector(Lasso(0.5), random_state=0),
        Ridge(),
    )
    search = GridSearchCV(pipeline, {"knockoffselector__fdr": [0.5, 0.6]}, cv=3).fit(X, y)
    selected = search.best_estimator_[1].get_feature_names_out()
    assert {"bmi", "s5"} <= set(selected)


@pytest.mark.invariance
def test_a_known_covariance_and_weights_are_used():
    X, y, true = planted(300, 40, 15, 1)
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    known = KnockoffSelector(Lasso(0.1), covariance=9 * covariance, random_state=0)
    assert known.fit(X, y).get_support()[true].mean() > 0.5

    broken = np.where(np.arange(300) < 100, 1e3, y)
    weight = (np.arange(300) >= 100).astype(float)
    weighted = KnockoffSelector(Lasso(0.1), fdr=0.2, random_state=0).fit(X, broken, weight)
    assert weighted.get_support()[true].mean() > 0.5


@pytest.mark.edge
def test_passes_the_checks_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check_estimator(
            KnockoffSelector(Lasso(0.01), fdr=0.7, random_state=0),
            expected_failed_checks={
                "check_sample_weight_equivalence_on_dense_data": "each row gets a random knockoff"
            },
        )


@pytest.mark.edge
def test_constant_columns_are_never_selected():
    X, y, _ = planted(200, 40, 15, 0)
    X[:, :5] = 7.0
    selector = KnockoffSelector(Lasso(0.1), random_state=0).fit(X, y)
    assert not selector.get_support()[:5].any()
    assert np.all(selector.statistics_[:5] == 0)


@pytest.mark.edge
def test_warns_if_no_selection_can_reach_the_rate():
    X, y, _ = planted(100, 6, 3, 0)
    with pytest.warns(UserWarning, match=r"fdr=0\.1 with 6 features"):
        selector = KnockoffSelector(Lasso(0.1), random_state=0).fit(X, y)
    assert selector.threshold_ == np.inf
    assert selector.fdr_ == 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"groups": [1, 2]}, ValueError, "one label for each of the 40 features"),
        ({"groups": [0] * 40, "construction": "sdp"}, ValueError, "has no groups"),
        ({"covariance": np.eye(3)}, ValueError, r"shape \(40, 40\)"),
        ({"covariance": -np.eye(40)}, ValueError, "positive definite"),
        ({"estimator": None}, ValueError, "needs a statistic"),
        ({"estimator": KNeighborsRegressor()}, TypeError, "neither coef_ nor"),
        ({"statistic": lambda Z, y: [1.0]}, ValueError, "80 columns"),
    ],
    ids=["groups", "sdp", "shape", "definite", "none", "no_coef", "statistic"],
)
def test_rejects_what_does_not_fit(settings, error, match):
    X, y, _ = planted(50, 40, 5, 0)
    with pytest.raises(error, match=match):
        KnockoffSelector(**{"estimator": Lasso(), "fdr": 0.5} | settings).fit(X, y)


@pytest.mark.edge
def test_rejects_weights_without_use():
    X, y, _ = planted(50, 40, 5, 0)

    class Unweighted(Lasso):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(TypeError, match="no sample_weight"):
        KnockoffSelector(Unweighted(), fdr=0.5).fit(X, y, np.ones(50))


@pytest.mark.edge
def test_display_marks_the_selection():
    pytest.importorskip("matplotlib").use("agg")
    X, y, _ = planted(200, 40, 15, 0)
    selector = KnockoffSelector(Lasso(0.1), random_state=0).fit(X, y)
    display = KnockoffDisplay.from_estimator(make_pipeline(selector))
    assert len(display.points_.get_offsets()) == 40
    assert f"{selector.get_support().sum()} selected" in str(
        [text.get_text() for text in display.ax_.get_legend().get_texts()]
    )
