"""Networks with a random or fixed hidden layer."""

from skmoderndata.neural_network._elm import ELMClassifier, ELMRegressor
from skmoderndata.neural_network._rbf_network import RBFNetworkClassifier, RBFNetworkRegressor

__all__ = [
    "ELMClassifier",
    "ELMRegressor",
    "RBFNetworkClassifier",
    "RBFNetworkRegressor",
]
