"""Ordinal classifiers inside scikit-learn's wrappers, and the order of their labels."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_wine, make_friedman1
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from skmoderndata.ranking import KernelPRank, NuSVOR
from skmoderndata.svm import CoreVectorRanker

MACHINES = [NuSVOR(0.6), KernelPRank(average=True, random_state=0)]
each_machine = pytest.mark.parametrize("machine", MACHINES, ids=["NuSVOR", "KernelPRank"])


def cut(values, n_ranks):
    return np.digitize(values, np.quantile(values, np.arange(1, n_ranks) / n_ranks))


def friedman(n=240, n_ranks=4, seed=0):
    X, t = make_friedman1(n, 5, noise=1.0, random_state=seed)
    return StandardScaler().fit_transform(X), cut(t, n_ranks)


def ordinal_tables():
    diabetes = load_diabetes()
    wine = load_wine()
    return {
        "diabetes": (StandardScaler().fit_transform(diabetes.data), cut(diabetes.target, 5)),
        "wine": (StandardScaler().fit_transform(wine.data[:, 1:]), cut(wine.data[:, 0], 4)),
        "friedman": friedman(400),
    }


@each_machine
@pytest.mark.invariance
def test_scores_of_classes_have_their_largest_at_the_prediction(machine, seed):
    X, y = friedman(seed=seed)
    model = machine.fit(X[:160], y[:160])
    s = model.rank_score(X)
    b = np.sort(model.thresholds_)
    scores = model.decision_function(X)
    assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    unit = getattr(model, "margin_", 1.0)
    assert_allclose(unit * scores[:, 0], b[0] - s, rtol=1e-12)
    assert_allclose(unit * scores[:, 1], np.minimum(s - b[0], b[1] - s), rtol=1e-12)
    assert_allclose(unit * scores[:, -1], s - b[-1], rtol=1e-12)


@each_machine
@pytest.mark.edge
def test_two_classes_have_one_column(machine):
    X, y = friedman(n_ranks=2)
    model = machine.fit(X, y)
    s = (model.rank_score(X) - model.thresholds_[0]) / getattr(model, "margin_", 1.0)
    assert_allclose(model.decision_function(X), s)
    assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


@pytest.mark.edge
def test_thresholds_out_of_order_count_as_sorted():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.repeat([0, 1, 2], [30, 10, 20])
    with pytest.warns(UserWarning, match="thresholds are not in order"):
        model = NuSVOR(0.57, gamma=0.5).fit(X, y)
    scores = model.decision_function(X)
    assert_array_equal(scores.argmax(axis=1), model.predict(X))
    assert np.isfinite(scores).all()


@each_machine
@pytest.mark.recovery
@pytest.mark.parametrize("name", ["diabetes", "wine", "friedman"])
def test_calibration_keeps_the_accuracy_and_gives_probabilities(machine, name):
    X, y = ordinal_tables()[name]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    plain = cross_val_predict(machine, X, y, cv=folds)
    calibrated, logistic = (
        cross_val_predict(one, X, y, cv=folds, method="predict_proba")
        for one in (CalibratedClassifierCV(machine, cv=3), LogisticRegression())
    )
    accuracy = (calibrated.argmax(axis=1) == y).mean()
    assert accuracy >= (plain == y).mean() - 0.03
    assert log_loss(y, calibrated) <= log_loss(y, logistic) + 0.1


# Ranks in their order; in the alphabet, high < low < mid < top.
WORDS = np.array(["low", "mid", "high", "top"])


@each_machine
@pytest.mark.edge
def test_words_are_ordered_by_the_alphabet_with_a_warning(machine):
    X, y = friedman()
    alphabet = "'high' < 'low' < 'mid' < 'top': give classes"
    for words in (WORDS[y], WORDS[y].astype(object), pd.Series(WORDS[y]).astype("category")):
        with pytest.warns(UserWarning, match=alphabet):
            model = machine.fit(X, words)
        assert_array_equal(model.classes_, np.sort(WORDS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(X, y)
        # this object has an order only
        machine.fit(X, np.array(["no", "yes"])[(y > 1).astype(int)])


@each_machine
@pytest.mark.invariance
def test_ordered_categories_are_respected(machine):
    X, y = friedman()
    expected = machine.fit(X, y).rank_score(X)
    ordered = pd.Categorical(WORDS[y], categories=WORDS, ordered=True)
    enum = pl.Series(WORDS[y]).cast(pl.Enum(WORDS.tolist()))
    for labels in (ordered, pd.Series(ordered), enum):
        model = machine.fit(X, labels)
        assert_array_equal(model.classes_, WORDS)
        assert_allclose(model.rank_score(X), expected, rtol=1e-12)
    with pytest.warns(DataConversionWarning):  # scikit-learn warns about tables of one column
        model = machine.fit(X, pd.DataFrame({"rank": ordered}))
    assert_array_equal(model.classes_, WORDS)
    # the parameter overrides an order that is given elsewhere
    model = type(machine)(**{**machine.get_params(), "classes": WORDS[::-1]}).fit(X, ordered)
    assert_array_equal(model.classes_, WORDS[::-1])


@pytest.mark.invariance
def test_ordered_categories_are_respected_by_pairs_and_batches():
    X, y = friedman()
    ordered = pd.Series(pd.Categorical(WORDS[y], categories=WORDS, ordered=True))
    by_word = CoreVectorRanker().fit(X, ordered)
    by_number = CoreVectorRanker().fit(X, y)
    assert_allclose(by_word.predict(X), by_number.predict(X), rtol=1e-12)
    assert by_word.score(X, ordered) == by_number.score(X, y)
    batches = KernelPRank().partial_fit(X, ordered)
    assert_array_equal(batches.classes_, WORDS)


def wrappers(machine):
    return {
        "stacking": StackingClassifier([("ranks", machine)], LogisticRegression(), cv=3),
        "voting": VotingClassifier([("ranks", machine)]),
        "bagging": BaggingClassifier(machine, n_estimators=3, random_state=0),
    }


@each_machine
@pytest.mark.parametrize("name", ["stacking", "voting", "bagging"])
@pytest.mark.edge
def test_wrappers_that_number_labels_need_integers(machine, name):
    """They replace words by numbers in alphabetical order, which no one behind them can see."""
    X, y = friedman()
    alone = machine.fit(X[:160], y[:160]).score(X[160:], y[160:])
    wrapper = wrappers(machine)[name]
    assert wrapper.fit(X[:160], y[:160]).score(X[160:], y[160:]) >= alone - 0.1

    # a voter with a given order rejects numbers, and its message gives the reason
    given = type(machine)(**{**machine.get_params(), "classes": WORDS})
    with pytest.raises(ValueError, match=r"y holds 0, which is not in classes.*alphabetical"):
        wrappers(given)[name].fit(X[:160], WORDS[y[:160]])
