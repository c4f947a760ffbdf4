"""Every estimator of rows gives the same answer for X + 1e4, X + 1e6, 1e-6 X and 1e6 X.

Transformed values may change sign, scale and offset column by column; decisions and scores may
change scale; labels, classes and predictions of numbers may not change. An estimator may also
raise a warning of a kind that it does not raise otherwise. Methods for which the origin or the
unit matters by definition are listed below, each with its reason.
"""

import functools
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector

from skmoderndata.decomposition import FeatureSignDictionaryLearning, SlowFeatureAnalysis
from tests.common.instances import CLASSES, INSTANCES, outputs, sample, target
from tests.common.test_structured import dense

# Unit and offset of each change of the data.
CHANGES = {
    "+1e4": (1.0, 1e4),
    "x1e-6": (1e-6, 0.0),
    "+1e6": (1.0, 1e6),
    "x1e6": (1e6, 0.0),
}
# Changes in the default tier; all other changes, and estimators that take seconds, are tested in
# the tier `full`.
QUICK = ("+1e4", "x1e-6")
SLOW = {"ClusteringStability", "MaximumVarianceUnfolding", "SparseGaussianProcessRegressor"}

NO_CENTRE = "the model of a row is a sum of atoms, without a mean"
PARTS = "non-negative parts add up to the rows, whose zero has a meaning"
PENALTY = "the penalty is in the units of the columns, as in scikit-learn's Lasso"
ORIGIN_MATTERS = {
    "AlignedKernelCombination": "linear and polynomial kernels depend on the origin",
    "ConvexNMF": PARTS,
    "DictionaryClassifier": NO_CENTRE,
    "FeatureSignDictionaryLearning": NO_CENTRE,
    "KSVD": NO_CENTRE,
    "OnlineRobustPCA": "the low-rank part is that of X itself; an offset is a component",
    "ProbabilisticLSA": "counts, whose zero has a meaning",
    "RobustPCA": "the low-rank part is that of X itself; an offset is a component",
    "SemiNMF": PARTS,
    "SparseNMF": PARTS,
    "SparseRecovery": "a linear system without a constant",
    "Sparsenet": NO_CENTRE,
}
UNIT_MATTERS = {
    "BridgeRegression": PENALTY,
    "GroupLasso": PENALTY,
    "GroupLassoClassifier": PENALTY,
    "Sparsenet": "the prior is that of signals with a variance of 0.1, as documented",
}

# Maximum deviation of a result, relative to its spread; the largest measured deviation is 1.1e-6.
TOLERANCE = 1e-4
# Maximum fraction of labels that may change: one of forty rows may lie on a boundary.
LABELS_CHANGED = 0.03

ONE_OF_EACH = {}
for one in INSTANCES:
    tags = one.__sklearn_tags__().input_tags
    if not tags.pairwise:
        ONE_OF_EACH.setdefault(type(one).__name__, one)

CASES = [
    pytest.param(
        name, change, marks=[] if change in QUICK and name not in SLOW else pytest.mark.full
    )
    for name in ONE_OF_EACH
    for change in CHANGES
]


def answers(estimator, X, y):
    """Return the outputs of a fit for its own rows, and the kinds of its warnings."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return outputs(model, X), {type(w.message).__name__ for w in caught}


@functools.cache
def usual_answers(name):
    X = sample()
    return answers(ONE_OF_EACH[name], X, target(ONE_OF_EACH[name], X))


def deviation(name, value, expected, estimator):
    """Largest change of an output, up to the equivariance that it has."""
    value, expected = (np.asarray(dense(v), dtype=float) for v in (value, expected))
    if value.shape != expected.shape:
        return np.inf
    labels = (
        is_classifier(estimator) or is_clusterer(estimator) or is_outlier_detector(estimator)
    )
    if name == "predict" and labels:
        return max(0.0, float(np.mean(value != expected)) - LABELS_CHANGED)

    value, expected = (v.reshape(len(v), -1) for v in (value, expected))
    if name in ("predict", "predict_proba"):
        return np.abs(value - expected).max() / max(np.ptp(expected), 1e-300)
    # compute the largest angle between columns after subtracting their means
    worst = 0.0
    for a, b in zip(value.T, expected.T, strict=True):
        found = a - a.mean()
        wanted = b - b.mean()
        size = np.linalg.norm(found)
        # these values are rounding errors
        if np.linalg.norm(wanted) <= 1e-9 * np.abs(expected).max():
            continue
        if size <= 1e-9 * np.abs(value).max():
            return np.inf
        worst = max(worst, 1 - abs(found @ wanted) / size / np.linalg.norm(wanted))
    return worst


@pytest.mark.invariance
@pytest.mark.parametrize(("name", "change"), CASES)
def test_results_do_not_depend_on_origin_and_units(name, change):
    unit, offset = CHANGES[change]
    table = ORIGIN_MATTERS if offset else UNIT_MATTERS
    if name in table:
        pytest.skip(table[name])

    estimator = ONE_OF_EACH[name]
    X = sample()
    y = target(estimator, X)
    expected, usual = usual_answers(name)
    found, warned = answers(estimator, unit * X + offset, y)
    if warned - usual:
        return
    for output, value in expected.items():
        found_deviation = deviation(output, found[output], value, estimator)
        assert found_deviation < TOLERANCE, (output, found_deviation)


def test_exceptions_are_estimators():
    names = {cls.__name__ for cls in CLASSES}
    assert set(ORIGIN_MATTERS) | set(UNIT_MATTERS) <= names


@pytest.mark.invariance
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_monomials_of_a_slow_signal_far_from_zero(offset):
    """After a public report of a variance that the square of an offset had swamped."""
    t = np.linspace(0, 2 * np.pi, 1500)
    slow = np.sin(t)
    X = np.column_stack([slow + np.cos(11 * t) ** 2, np.cos(11 * t)]) + offset
    found = SlowFeatureAnalysis(1, degree=2).fit_transform(X)[:, 0]
    assert abs(np.corrcoef(found, slow)[0, 1]) > 0.999


@pytest.mark.invariance
def test_codes_of_small_signals_are_not_empty():
    """After a public report of a default penalty in units of the data."""
    rng = np.random.default_rng(0)
    X = 1e-4 * np.abs(rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12)))
    codes = FeatureSignDictionaryLearning(5, random_state=0).fit_transform(X)
    assert 0.05 < np.mean(codes != 0) < 0.95
