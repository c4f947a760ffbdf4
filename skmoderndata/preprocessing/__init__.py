"""Transformers that prepare data for the other methods."""

from skmoderndata.preprocessing._kernel_matrix_steps import (
    DoubleCenterer,
    KernelNormalizer,
    KernelProjector,
    KernelWhitener,
    SpectrumCorrector,
)
from skmoderndata.preprocessing._kernel_transformer import AsSamples, KernelTransformer
from skmoderndata.preprocessing._time_delay_embedding import TimeDelayEmbedding

__all__ = [
    "AsSamples",
    "DoubleCenterer",
    "KernelNormalizer",
    "KernelProjector",
    "KernelTransformer",
    "KernelWhitener",
    "SpectrumCorrector",
    "TimeDelayEmbedding",
]
