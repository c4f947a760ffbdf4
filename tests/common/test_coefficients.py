"""`coef_` is by feature, as everybody reads it: selectors, eliminators, explainers."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel

from skmoderndata.cross_decomposition import PrincipalComponentsRegression
from skmoderndata.linear_model import (
    BasisPursuit,
    BridgeRegression,
    GroupLasso,
    GroupLassoClassifier,
    GroupLassoCV,
    KernelPerceptron,
)
from skmoderndata.sparse_coding import SparseRecovery
from skmoderndata.svm import (
    L2SVC,
    L2SVR,
    CoreVectorMachine,
    KernelAdatronClassifier,
    KernelAdatronRegressor,
    SupportFeatureMachine,
)
from tests.common.instances import (
    INSTANCES,
    each_instance,
    fitted_to_the_sample,
    sample,
    target,
)

BY_NAME = {  # The first instance of each class whose kernel is a name.
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

PLANTED = [1, 4, 9]  # Features that determine the target.
WITH_COEF = [
    *(BasisPursuit, BridgeRegression, CoreVectorMachine, GroupLasso, L2SVC, L2SVR),
    *(GroupLassoClassifier, GroupLassoCV),
    *(KernelAdatronClassifier, KernelAdatronRegressor, KernelPerceptron),
    *(PrincipalComponentsRegression, SparseRecovery, SupportFeatureMachine),
]


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
def test_coef_of_kernel_machines_matches_the_linear_kernel(cls, kernel):
    X = sample()
    model = clone(BY_NAME[cls]).set_params(kernel=kernel)
    model.fit(X, target(model, X))
    if hasattr(model, "coef_"):
        assert kernel == "linear"
        assert np.shape(model.coef_)[-1] == model.n_features_in_


@pytest.mark.edge
@pytest.mark.parametrize("selector", [SelectFromModel, RFE])
@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_selectors_use_coefficients_of_features_or_raise(cls, selector):
    """Never coefficients of hidden units, however many there are."""
    X = sample()
    estimator = clone(PREDICTORS[cls])
    for name in ("n_hidden", "n_centers"):  # use as many different units as there are features
        if name in estimator.get_params():
            estimator.set_params(**{name: X.shape[1]})
    has_coef = hasattr(fitted_to_the_sample(PREDICTORS[cls]), "coef_")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if has_coef:
            assert cls in WITH_COEF
            chosen = selector(estimator).fit(X, target(estimator, X))
            assert chosen.get_support().shape == (X.shape[1],)
            return
        with pytest.raises(ValueError, match=r"coef_|feature_importances_"):
            selector(estimator).fit(X, target(estimator, X)).get_support()


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("selector", ["most", "recursive"])
@pytest.mark.parametrize("cls", WITH_COEF, ids=lambda cls: cls.__name__)
def test_selectors_find_planted_features(cls, selector):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    score = X[:, PLANTED] @ [2.0, -1.5, 1.5] + 0.3 * rng.normal(size=300)
    estimator = clone(PREDICTORS[cls])
    if "kernel" in estimator.get_params():
        estimator.set_params(kernel="linear")
    y = score if is_regressor(estimator) else score > 0

    if selector == "most":
        chosen = SelectFromModel(estimator, max_features=3, threshold=-np.inf).fit(X, y)
    else:
        chosen = RFE(estimator, n_features_to_select=3).fit(X, y)
    assert np.flatnonzero(chosen.get_support()).tolist() == PLANTED
