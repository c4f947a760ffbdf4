"""Linear models."""

from skmoderndata.linear_model._basis_pursuit import BasisPursuit
from skmoderndata.linear_model._bridge_regression import BridgeRegression
from skmoderndata.linear_model._group_lasso import GroupLasso
from skmoderndata.linear_model._group_lasso_classifier import GroupLassoClassifier
from skmoderndata.linear_model._group_lasso_cv import GroupLassoCV
from skmoderndata.linear_model._kernel_perceptron import KernelPerceptron

__all__ = [
    "BasisPursuit",
    "BridgeRegression",
    "GroupLasso",
    "GroupLassoCV",
    "GroupLassoClassifier",
    "KernelPerceptron",
]
