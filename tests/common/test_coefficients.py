"""`coef_` is by feature, as everybody reads it: selectors, eliminators, explainers."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel

from tests.common.test_contract import (
    INSTANCES,
    each_instance,
    fitted_to_the_sample,
    sample,
    target,
)

BY_NAME = {  # the first instance of each class whose kernel is a name
    type(one): one
    for one in reversed(INSTANCES)
    if isinstance(one.get_params().get("kernel"), str)
}
PREDICTORS = {
    type(one): one
    for one in reversed(INSTANCES)
    if (is_classifier(one) or is_regressor(one))
    and not one.__sklearn_tags__().input_tags.pairwise
}


@pytest.mark.invariance
@each_instance
def test_last_axis_of_coef_is_the_features(estimator):
    model = fitted_to_the_sample(estimator)
    for name in ("coef_", "feature_importances_"):
        if hasattr(model, name):
            assert np.shape(getattr(model, name))[-1] == model.n_features_in_


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize("cls", BY_NAME, ids=lambda cls: cls.__name__)
def test_coef_of_kernel_machines_is_that_of_the_linear_kernel(cls, kernel):
    X = sample()
    model = clone(BY_NAME[cls]).set_params(kernel=kernel)
    model.fit(X, target(model, X))
    if hasattr(model, "coef_"):
        assert kernel == "linear"
        assert np.shape(model.coef_)[-1] == model.n_features_in_


@pytest.mark.edge
@pytest.mark.parametrize("selector", [SelectFromModel, RFE])
@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_selectors_take_coefficients_of_features_or_refuse(cls, selector):
    """Never coefficients of hidden units, however many there are."""
    X = sample()
    estimator = clone(PREDICTORS[cls])
    for name in ("n_hidden", "n_centers"):  # as many units as features
        if name in estimator.get_params():
            estimator.set_params(**{name: X.shape[1]})
    has_coef = hasattr(fitted_to_the_sample(PREDICTORS[cls]), "coef_")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if has_coef:
            chosen = selector(estimator).fit(X, target(estimator, X))
            assert chosen.get_support().shape == (X.shape[1],)
            return
        with pytest.raises(ValueError, match=r"coef_|feature_importances_"):
            selector(estimator).fit(X, target(estimator, X)).get_support()
