"""Embeddings that preserve a graph or a similarity."""

from skmoderndata.manifold._kernel_graph_embedding import KernelGraphEmbedding
from skmoderndata.manifold._laplacian_embedding import LaplacianEmbedding
from skmoderndata.manifold._maximum_variance_unfolding import MaximumVarianceUnfolding
from skmoderndata.manifold._sammon_mapping import SammonMapping

__all__ = [
    "KernelGraphEmbedding",
    "LaplacianEmbedding",
    "MaximumVarianceUnfolding",
    "SammonMapping",
]
