"""The estimators that common tests run on, made once: each class with its settings.

The default tier runs every common test on the first setting of each class, and the tests marked
with `each_setting`, which hold what a setting can break, on all settings. The full tier runs
every test on all settings.
"""

import functools
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._estimator.registry import all_estimators
from tests.common import tier
from tests.common.parameter_sets import parameter_sets

CLASSES = all_estimators()
OUTPUTS = ("transform", "predict", "decision_function", "score_samples", "predict_proba")
SETTINGS = [
    instance
    for cls in CLASSES
    for parameters in parameter_sets(cls)
    # estimators whose samples are not rows of a table have separate contract tests
    if (instance := cls(**parameters)).__sklearn_tags__().input_tags.two_d_array
]
FIRST = list({type(one): one for one in reversed(SETTINGS)}.values())[::-1]
INSTANCES = SETTINGS if tier.FULL else FIRST

_NAMES = {id(one): re.sub(r"\s", "", repr(one)) for one in SETTINGS}


def label(value):
    """Return the test id of an estimator; reprs are slow, so they are made once."""
    return _NAMES.get(id(value)) or repr(value)


each_instance = pytest.mark.parametrize("estimator", INSTANCES, ids=label)
each_setting = pytest.mark.parametrize("estimator", SETTINGS, ids=label)


def instances_with(has):
    """Parametrise a test over the instances that have a property."""
    return pytest.mark.parametrize("estimator", [e for e in INSTANCES if has(e)], ids=label)


def settings_with(has):
    """Parametrise a test over the settings that have a property."""
    return pytest.mark.parametrize("estimator", [e for e in SETTINGS if has(e)], ids=label)


def sample(n=40, p=6, seed=0, dtype=np.float64):
    """Correlated rows with a slow drift, so that every kind of method has something to find."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).cumsum(axis=0) @ rng.normal(size=(3, p))
    X += 0.3 * rng.normal(size=(n, p))
    return np.ascontiguousarray(X - X.min() + 0.1, dtype=dtype)


def form(estimator, X):
    """Return the kernel matrix of the rows for estimators that work on one, else the rows."""
    pairwise = estimator.__sklearn_tags__().input_tags.pairwise
    return np.ascontiguousarray(X @ X.T) if pairwise else X


def target(estimator, X):
    """Return labels or values if the estimator asks for them, else None."""
    if not estimator.__sklearn_tags__().target_tags.required:
        return None
    y = X[:, 0]
    return (y > np.median(y)).astype(int) if is_classifier(estimator) else y


def fitted(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, target(estimator, X))


@functools.cache
def _fitted_once(number):
    estimator = SETTINGS[number]
    return fitted(estimator, form(estimator, sample()))


def fitted_to_the_sample(estimator):
    """Return the model fitted to `sample()`, made once for all tests: they must not change it."""
    return _fitted_once(next(i for i, one in enumerate(SETTINGS) if one is estimator))


def outputs(estimator, X):
    return {name: getattr(estimator, name)(X) for name in OUTPUTS if hasattr(estimator, name)}
