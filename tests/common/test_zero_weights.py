"""Weights of 0 are absences, for samples and for classes, in every class that has weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from skmoderndata.linear_model import GroupLassoClassifier
from skmoderndata.ranking import KernelPRank, NuSVOR
from skmoderndata.svm import L2SVC, CoreVectorMachine, SupportFeatureMachine
from tests.common.instances import INSTANCES, sample, target
from tests.common.test_weights import WEIGHTED, answers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FIRST = {type(one): one for one in reversed(WEIGHTED)}.values()
CLASSIFIERS = [one for one in WEIGHTED if is_classifier(one)]
WITH_CLASS_WEIGHT = [one for one in CLASSIFIERS if "class_weight" in one.get_params()]


def tiers(estimators):
    """Parameter sets of all classes: the first of each in the default tier."""
    return [
        pytest.param(one, id=repr(one), marks=() if one in FIRST else pytest.mark.full)
        for one in estimators
    ]


def three_classes(estimator):
    """Samples of three classes that are apart, and their labels."""
    X = sample()
    y = np.arange(len(X)) % 3
    centres = np.random.default_rng(1).normal(scale=2.0, size=(3, X.shape[1]))
    X = X + centres[y]
    return X, np.array(["high", "low", "mid"])[y]


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", tiers(WEIGHTED))
def test_samples_of_weight_0_change_nothing(estimator):
    X = sample()
    y = target(estimator, X)
    weight = np.ones(len(X))
    weight[np.random.default_rng(0).permutation(len(X))[: len(X) // 5]] = 0.0
    used = weight > 0

    model = clone(estimator).fit(X, y, sample_weight=weight)
    some = None if y is None else np.asarray(y)[used]
    without = clone(estimator).fit(X[used], some, sample_weight=weight[used])
    expected = answers(without, X[used])
    found = answers(model, X[used])
    if expected.dtype.kind in "US":
        assert_array_equal(found, expected)
    else:
        assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def check_absent_class(estimator, X, y, weight):
    """The class "low" has no weight: it keeps its place, never wins, and changes no answer."""
    used = y != "low"
    model = clone(estimator).fit(X, y, sample_weight=weight)
    without = clone(estimator).fit(X[used], y[used])
    assert_array_equal(model.classes_, ["high", "low", "mid"])
    assert_array_equal(model.predict(X), without.predict(X))
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        assert_array_equal(probabilities[:, 1], 0.0)
        assert_allclose(probabilities[:, [0, 2]], without.predict_proba(X), atol=1e-6)
    if hasattr(model, "decision_function"):
        values = model.decision_function(X)
        assert values.shape == (len(X), 3)
        assert np.isfinite(values).all()
        assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X))


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", tiers(CLASSIFIERS))
def test_classes_of_weight_0_keep_their_place_and_never_win(estimator):
    X, y = three_classes(estimator)
    check_absent_class(estimator, X, y, (y != "low").astype(float))


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", tiers(WITH_CLASS_WEIGHT))
def test_class_weights_of_0_are_sample_weights_of_0(estimator):
    X, y = three_classes(estimator)
    weights = {"high": 1.0, "low": 0.0, "mid": 1.0}
    model = clone(estimator).set_params(class_weight=weights).fit(X, y)
    same = clone(estimator).set_params(class_weight=None)
    same.fit(X, y, sample_weight=(y != "low").astype(float))
    assert_array_equal(model.classes_, same.classes_)
    assert_array_equal(model.predict(X), same.predict(X))
    assert "low" not in model.predict(X)


@pytest.mark.edge
@pytest.mark.parametrize("estimator", tiers(CLASSIFIERS))
def test_fewer_than_two_classes_of_positive_weight_raise(estimator):
    X, y = three_classes(estimator)
    message = r"at least two classes, got 1 class with positive weight: \['high'\]\.$"
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y, sample_weight=(y == "high").astype(float))
    with pytest.raises(ValueError, match=r"at least two classes|[Oo]nly binary|one class"):
        clone(estimator).fit(X, np.repeat("high", len(X)))


# inside other estimators -----------------------------------------------------------------------


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.edge
@pytest.mark.parametrize("machine", [L2SVC(), CoreVectorMachine(random_state=0)], ids=repr)
def test_handles_bags_without_a_rare_class(machine):
    X, y = wine()
    kept = np.r_[np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:4]]
    bags = BaggingClassifier(machine, n_estimators=8, max_samples=15, random_state=0)
    bags.fit(X[kept], y[kept])
    counts = [len(np.unique(y[kept][rows])) for rows in bags.estimators_samples_]
    assert min(counts) == 2
    assert bags.score(X[kept], y[kept]) > 0.8
    assert all(len(one.classes_) in (2, 3) for one in bags.estimators_)


@pytest.mark.edge
@pytest.mark.parametrize("machine", [L2SVC(), CoreVectorMachine(random_state=0)], ids=repr)
def test_boosting_and_grids_over_class_weights(machine):
    X, y = wine()
    boosted = AdaBoostClassifier(machine, n_estimators=3, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.9
    grid = {"class_weight": [None, "balanced", {0: 1.0, 1: 1.0, 2: 0.0}]}
    search = GridSearchCV(machine, grid, cv=3, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    # samples of the excluded class are never classified correctly
    assert scores[2] < scores[0] - 0.15
    assert np.isfinite(scores).all()


# grades and binary classifiers -----------------------------------------------------------------


@pytest.mark.edge
@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("absent", [0, 2, 4])
@pytest.mark.parametrize(
    "machine", [NuSVOR(0.4), NuSVOR(), KernelPRank(average=True, random_state=0)], ids=repr
)
def test_grades_without_samples_keep_their_place_and_never_win(machine, absent, probability):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    grade = np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-1.0, -0.3, 0.3, 1.0])
    used = grade != absent
    machine = clone(machine).set_params(probability=probability)
    model = clone(machine).set_params(classes=[0, 1, 2, 3, 4]).fit(X[used], grade[used])
    without = clone(machine).fit(X[used], grade[used])
    assert_array_equal(model.classes_, np.arange(5))
    assert_array_equal(model.predict(X), without.predict(X))
    assert len(model.thresholds_) == 4
    values = model.decision_function(X)
    assert (values[:, absent] <= values.max(axis=1)).all()
    if probability:
        found = model.predict_proba(X)
        assert_array_equal(found[:, absent], 0.0)
        assert_allclose(np.delete(found, absent, axis=1), without.predict_proba(X), atol=1e-9)


@pytest.mark.edge
def test_binary_classifiers_ignore_a_third_class_of_weight_0():
    X, y = three_classes(None)
    check_absent_class(GroupLassoClassifier(), X, y, (y != "low").astype(float))


@pytest.mark.edge
def test_support_feature_machine_drops_to_two_classes():
    """Without the third class one problem is left, and the shapes are as for two classes."""
    X, y = three_classes(None)
    used = y != "low"
    model = SupportFeatureMachine(class_weight={"low": 0.0}).fit(X, y)
    without = SupportFeatureMachine().fit(X[used], y[used])
    assert_array_equal(model.coef_, without.coef_)
    assert_array_equal(model.ranking_, without.ranking_)
    assert_array_equal(model.classes_, ["high", "low", "mid"])
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="class_weight must not be negative"):
            SupportFeatureMachine(class_weight={"low": wrong}).fit(X, y)


def test_every_weighted_classifier_is_tested():
    named = {type(one) for one in INSTANCES if is_classifier(one)}
    assert {type(one) for one in CLASSIFIERS} <= named
    assert len({type(one) for one in CLASSIFIERS}) >= 12
