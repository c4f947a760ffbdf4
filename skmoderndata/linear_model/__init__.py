"""Linear model."""

from skmoderndata.linear_model._basis_pursuit import BasisPursuit
from skmoderndata.linear_model._bridge_regression import BridgeRegression
from skmoderndata.linear_model._group_lasso import GroupLasso
from skmoderndata.linear_model._kernel_perceptron import KernelPerceptron

__all__ = [
    "BasisPursuit",
    "BridgeRegression",
    "GroupLasso",
    "KernelPerceptron",
]
