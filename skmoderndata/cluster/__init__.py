"""Clustering: overlapping and Boolean clusters."""

from skmoderndata.cluster._boolean_k_means import BooleanKMeans
from skmoderndata.cluster._discrete_basis import DiscreteBasis
from skmoderndata.cluster._formal_concept_factorization import FormalConceptFactorization
from skmoderndata.cluster._k_medoids import KMedoids
from skmoderndata.cluster._kernel_k_means import KernelKMeans
from skmoderndata.cluster._multi_assignment_clustering import MultiAssignmentClustering
from skmoderndata.cluster._neural_gas import NeuralGas
from skmoderndata.cluster._role_miner import RoleMiner
from skmoderndata.cluster._roles_display import RolesDisplay
from skmoderndata.cluster._rounded_svd import RoundedSVD
from skmoderndata.cluster._time_series_k_means import (
    ClusterPrototypesDisplay,
    TimeSeriesKMeans,
)

__all__ = [
    "BooleanKMeans",
    "ClusterPrototypesDisplay",
    "DiscreteBasis",
    "FormalConceptFactorization",
    "KMedoids",
    "KernelKMeans",
    "MultiAssignmentClustering",
    "NeuralGas",
    "RoleMiner",
    "RolesDisplay",
    "RoundedSVD",
    "TimeSeriesKMeans",
]
