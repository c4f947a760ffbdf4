"""Classes inside scikit-learn's wrappers, which see scores, probabilities and copies of rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._estimator.registry import all_estimators
from skmoderndata.gaussian_process import (
    BayesianCommitteeMachine,
    SparseGaussianProcessRegressor,
)
from skmoderndata.kernels import PSpectrum
from skmoderndata.neighbors import KernelNearestCentroid
from skmoderndata.preprocessing import SampleColumn
from skmoderndata.ranking import KernelPRank, NuSVOR
from skmoderndata.sparse_coding import DictionaryClassifier, SparseRepresentationClassifier
from tests.common import tier
from tests.common.parameter_sets import parameter_sets

TRAIN = slice(0, 120)
TEST = slice(120, None)
ORDINAL = (KernelPRank, NuSVOR)  # Classifiers whose classes are ranks.
# Classifiers that ignore the norms of samples; they are tested with long vectors.
BY_DIRECTION = (DictionaryClassifier, SparseRepresentationClassifier)
GAUSSIAN_PROCESSES = (BayesianCommitteeMachine, SparseGaussianProcessRegressor)

INSTANCES = [
    cls(**parameters)
    for cls in all_estimators()
    for parameters in parameter_sets(cls)[: None if tier.FULL else 1]
    # wrappers select only the rows of a kernel matrix, not its columns
    if parameters.get("kernel") != "precomputed"
]
REGRESSORS = [one for one in INSTANCES if is_regressor(one)]


def takes(estimator, n_classes):
    """Whether a case is run: several classes with the first set of parameters of each class."""
    if n_classes == 2:
        return True
    first = type(estimator)(**parameter_sets(type(estimator))[0])
    other_scores = type(estimator) in (KernelNearestCentroid, *ORDINAL)
    return estimator.__sklearn_tags__().classifier_tags.multi_class and (
        repr(estimator) == repr(first) or other_scores
    )


CASES = [
    pytest.param(one, n_classes, id=f"{one!r}-{n_classes}")
    for one in INSTANCES
    if is_classifier(one)
    for n_classes in (2, 3)
    if takes(one, n_classes)
]


def steps(n, seed=0):
    """Series of two kinds, a step up or a bump, at any time."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    start = rng.integers(2, 9, n)
    time = np.arange(16)[None]
    series = (time >= start[:, None]) & ((kind == 0)[:, None] | (time < start[:, None] + 4))
    return series + 0.3 * rng.normal(size=(n, 16)), kind, start


def labelled(estimator, n_classes):
    """Samples of the kind that a classifier is made for, with classes that overlap."""
    if not estimator.__sklearn_tags__().input_tags.two_d_array:
        X, kind, start = steps(300)
        return X, kind if n_classes == 2 else np.where(kind == 0, 2, start < 5)

    if isinstance(estimator, BY_DIRECTION):
        X, y = load_digits(return_X_y=True)
        some = np.isin(y, (3, 8, 9)[:n_classes])
        noise = np.random.default_rng(0).normal(size=(some.sum(), 64))
        return X[some] + 4 * noise, y[some]

    if isinstance(estimator, ORDINAL):
        X, t = make_friedman1(500, 8, noise=1.0, random_state=0)
        ends = np.quantile(t, np.arange(1, n_classes) / n_classes)
        return StandardScaler().fit_transform(X), np.digitize(t, ends)

    X, y = make_classification(
        600,
        20,
        n_informative=6,
        n_redundant=4,
        n_classes=n_classes,
        class_sep=1.2,
        flip_y=0.03,
        random_state=1,
    )
    return StandardScaler().fit_transform(X), y


@pytest.mark.invariance
# the folds and resamples of the wrappers cause warnings; each class has tests of its own warnings
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "n_classes"), CASES)
def test_wrapped_classifiers_are_as_good_as_alone(estimator, n_classes):
    X, y = labelled(estimator, n_classes)
    alone = clone(estimator).fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST])
    prior = np.bincount(np.unique(y[TRAIN], return_inverse=True)[1]) / len(y[TRAIN])
    assert alone > prior.max() + 0.05  # otherwise the comparison would not test anything

    calibrated = CalibratedClassifierCV(clone(estimator), cv=3).fit(X[TRAIN], y[TRAIN])
    assert calibrated.score(X[TEST], y[TEST]) >= alone - 0.07
    P = calibrated.predict_proba(X[TEST])
    assert_allclose(P.sum(axis=1), 1, rtol=1e-9)
    # the probabilities are better than the class frequencies, and not overconfident
    assert log_loss(y[TEST], P) < -prior @ np.log(prior) - 0.03
    right = calibrated.classes_[P.argmax(axis=1)] == y[TEST]
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.15

    # even a final estimator with a penalty, which is the default, has to use the scores
    stacked = StackingClassifier([("one", clone(estimator))], LogisticRegression(), cv=3)
    assert stacked.fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST]) >= alone - 0.07

    bag = BaggingClassifier(clone(estimator), n_estimators=3, random_state=0)
    assert bag.fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST]) >= alone - 0.1
    P = bag.predict_proba(X[TEST])
    assert_allclose(P.sum(axis=1), 1, rtol=1e-9)
    assert P.std(axis=0).min() > 0.05


def targets(estimator):
    """Samples and targets; centred ones, as some parameters leave out the intercept."""
    if not estimator.__sklearn_tags__().input_tags.two_d_array:
        X, kind, start = steps(300)
        t = kind + 0.1 * start
    else:
        X, t = make_friedman1(500, 8, noise=0.5, random_state=0)
        X = StandardScaler().fit_transform(X)
    return X, t - t.mean()


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_wrapped_regressors_are_as_good_as_alone(estimator):
    X, t = targets(estimator)
    alone = clone(estimator).fit(X[TRAIN], t[TRAIN]).score(X[TEST], t[TEST])
    assert alone > 0.1

    stacked = StackingRegressor([("one", clone(estimator))], RidgeCV(), cv=3)
    assert stacked.fit(X[TRAIN], t[TRAIN]).score(X[TEST], t[TEST]) >= alone - 0.05

    # if samples are copies, a Gaussian process estimates no noise, see below
    draw = {"bootstrap": False, "max_samples": 0.7}
    draw = draw if isinstance(estimator, GAUSSIAN_PROCESSES) else {}
    bag = BaggingRegressor(clone(estimator), n_estimators=3, random_state=0, **draw)
    assert bag.fit(X[TRAIN], t[TRAIN]).score(X[TEST], t[TEST]) >= alone - 0.1


@pytest.mark.edge
def test_bootstrap_of_gaussian_processes_warns_about_copies():
    X, t = make_friedman1(40, 5, noise=0.5, random_state=0)
    bag = BaggingRegressor(
        BayesianCommitteeMachine(max_expert_size=20, random_state=0), 1, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        bag.fit(X, t)
    assert any("pass each sample once" in str(one.message) for one in caught)


def words(n):
    """Words of three letters; words of the second class often contain one pair of letters."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 2
    noise = ["".join(rng.choice(list("abc"), size=k)) for k in rng.integers(5, 9, n)]
    return [
        word + ("acac" if k else "bcbb") for word, k in zip(noise, kind, strict=True)
    ], kind


STRING_MACHINES = [
    cls(kernel=PSpectrum(2))
    for cls in all_estimators()
    if isinstance(cls().get_params().get("kernel", None), str)
    and (is_classifier(cls()) or is_regressor(cls()))
    and not cls(kernel=PSpectrum(2)).__sklearn_tags__().input_tags.two_d_array
]


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", STRING_MACHINES, ids=lambda one: type(one).__name__)
def test_strings_in_wrappers(machine):
    """Behind a column of samples; scikit-learn's bagging takes tables only."""
    X, kind = words(90)
    # set the seed; otherwise each run would have a different result
    if "random_state" in machine.get_params():
        machine = clone(machine).set_params(random_state=0)
    if is_regressor(machine):
        y = kind + 0.0
        wrappers = [StackingRegressor([("one", clone(machine))], RidgeCV(), cv=3)]
    else:
        y = kind
        stack = StackingClassifier([("one", clone(machine))], LogisticRegression(), cv=3)
        wrappers = [stack, CalibratedClassifierCV(clone(machine), cv=3)]

    scores = [
        make_pipeline(SampleColumn(), model).fit(X[:60], y[:60]).score(X[60:], y[60:])
        for model in (clone(machine), *wrappers)
    ]
    assert scores[0] > 0.6  # otherwise the comparison would not test anything
    assert min(scores) >= scores[0] - 0.1  # a difference of three in thirty samples
