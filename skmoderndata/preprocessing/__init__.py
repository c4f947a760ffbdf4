"""Transformers that prepare data for the other methods."""

from skmoderndata.preprocessing._aligned_kernel_combination import AlignedKernelCombination
from skmoderndata.preprocessing._distance_transformer import DistanceTransformer
from skmoderndata.preprocessing._double_centerer import DoubleCenterer
from skmoderndata.preprocessing._kernel_normalizer import KernelNormalizer
from skmoderndata.preprocessing._kernel_projector import KernelProjector
from skmoderndata.preprocessing._kernel_transformer import KernelTransformer, SampleColumn
from skmoderndata.preprocessing._kernel_whitener import KernelWhitener
from skmoderndata.preprocessing._series_formatter import SeriesFormatter
from skmoderndata.preprocessing._spectrum_corrector import SpectrumCorrector
from skmoderndata.preprocessing._time_delay_embedding import TimeDelayEmbedding

__all__ = [
    "AlignedKernelCombination",
    "DistanceTransformer",
    "DoubleCenterer",
    "KernelNormalizer",
    "KernelProjector",
    "KernelTransformer",
    "KernelWhitener",
    "SampleColumn",
    "SeriesFormatter",
    "SpectrumCorrector",
    "TimeDelayEmbedding",
]
