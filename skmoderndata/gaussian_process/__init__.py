"""Approximate Gaussian processes for many samples."""

from skmoderndata.gaussian_process._bayesian_committee_machine import BayesianCommitteeMachine
from skmoderndata.gaussian_process._sparse_gaussian_process_classifier import (
    SparseGaussianProcessClassifier,
)
from skmoderndata.gaussian_process._sparse_gaussian_process_regressor import (
    SparseGaussianProcessRegressor,
)

__all__ = [
    "BayesianCommitteeMachine",
    "SparseGaussianProcessClassifier",
    "SparseGaussianProcessRegressor",
]
