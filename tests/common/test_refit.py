"""A second fit is a first one: nothing is left of what other parameters have set."""

from itertools import pairwise

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skmoderndata.svm import CoreVectorMachine
from tests.common.instances import INSTANCES, outputs, sample, target
from tests.common.test_structured import dense

BY_CLASS = {}
for one in INSTANCES:
    BY_CLASS.setdefault(type(one), []).append(one)
PAIRS = [
    pytest.param(*pair, id=f"{cls.__name__}-{k}")
    for cls, ones in BY_CLASS.items()
    for k, pair in enumerate((*pairwise(ones), *pairwise(ones[::-1])))
    if not any(one.__sklearn_tags__().input_tags.pairwise for one in pair)
]


def fitted(estimator):
    X = sample()
    return estimator.fit(X, target(estimator, X))


def fitted_names(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_refit_with_other_parameters_removes_old_attributes(first, second):
    """Say `coef_` of a linear kernel, which selectors would read."""
    fresh = fitted(clone(second))
    again = fitted(clone(first)).set_params(**clone(second).get_params(deep=False))
    fitted(again)
    assert fitted_names(again) == fitted_names(fresh)

    if second.get_params().get("random_state", 0) is not None:
        expected = outputs(fresh, sample())
        for name, value in outputs(again, sample()).items():
            assert_allclose(dense(value), dense(expected[name]), atol=1e-9, err_msg=name)


@pytest.mark.invariance
def test_warm_start_continues_from_the_stored_state():
    X = sample()
    machine = CoreVectorMachine(tol=1e-3, warm_start=True)
    first = fitted(machine).support_.copy()
    assert set(first) <= set(machine.fit(X, target(machine, X)).support_)
