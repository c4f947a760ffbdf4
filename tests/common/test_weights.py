"""Weights of samples in any unit: only their proportions matter, unless the class says so."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from skmoderndata.decomposition import ProbabilisticLSA, SparseNMF
from skmoderndata.gaussian_process import (
    SparseGaussianProcessClassifier,
    SparseGaussianProcessRegressor,
)
from skmoderndata.manifold import LaplacianEmbedding
from skmoderndata.neighbors import KernelCentroidOutlierDetector
from skmoderndata.svm import (
    L2SVC,
    L2SVR,
    CoreVectorMachine,
    CoreVectorRegressor,
    KernelAdatronClassifier,
    KernelAdatronRegressor,
)
from tests.common.instances import INSTANCES, sample, target

WEIGHTED = [one for one in INSTANCES if has_fit_parameter(one, "sample_weight")]
# Classes whose objectives add weighted losses to an unweighted term, as their docstrings say.
COUNTED = {
    KernelCentroidOutlierDetector: "the sum of the weights is the number of samples",
    LaplacianEmbedding: "a weight takes as many places among the neighbours",
    ProbabilisticLSA: "smoothing adds to weighted counts",
    SparseGaussianProcessClassifier: "a sample of weight w counts as w equal samples",
    SparseGaussianProcessRegressor: "the variance of the noise is divided by the weight",
    SparseNMF: "penalties of codes and components beside a weighted sum of squares",
}
# Classes whose C multiplies the weighted losses, as in SVC.
BY_COST = (
    CoreVectorMachine,
    CoreVectorRegressor,
    KernelAdatronClassifier,
    KernelAdatronRegressor,
    L2SVC,
    L2SVR,
)


def answers(model, X):
    """What a fitted model says of samples, as one array."""
    if is_classifier(model) or not hasattr(model, "decision_function"):
        says = getattr(model, "predict", None) or getattr(model, "transform", None)
    else:
        says = model.decision_function
    answer = says(X)
    views = answer if isinstance(answer, (tuple, list)) else [answer]
    flat = [view.toarray() if sparse.issparse(view) else np.asarray(view) for view in views]
    return np.concatenate([view.ravel() for view in flat])


def fitted(estimator, X, factor):
    weights = factor * (1.0 + np.arange(len(X)) % 3)
    return clone(estimator).fit(X, target(estimator, X), sample_weight=weights)


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("estimator", WEIGHTED, ids=repr)
def test_unit_of_weights_does_not_matter(estimator, factor):
    X = sample()
    expected = answers(fitted(estimator, X, 1.0), X)

    other = clone(estimator)
    if isinstance(estimator, BY_COST):
        other.set_params(C=other.C / factor)
    same = answers(fitted(other, X, factor), X)
    assert np.isfinite(same).all()
    if type(estimator) not in COUNTED:
        assert_allclose(same, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.invariance
@pytest.mark.parametrize("cls", COUNTED, ids=lambda cls: cls.__name__)
def test_page_says_if_weights_count(cls):
    assert "weight" in (cls.fit.__doc__ or "").lower()
