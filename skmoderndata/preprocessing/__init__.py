"""Transformers that prepare data for the other methods."""

from skmoderndata.preprocessing._kernel_matrix_steps import (
    DoubleCenterer,
    KernelNormalizer,
    KernelProjector,
    KernelWhitener,
    SpectrumCorrector,
)
from skmoderndata.preprocessing._time_delay_embedding import TimeDelayEmbedding

__all__ = [
    "DoubleCenterer",
    "KernelNormalizer",
    "KernelProjector",
    "KernelWhitener",
    "SpectrumCorrector",
    "TimeDelayEmbedding",
]
