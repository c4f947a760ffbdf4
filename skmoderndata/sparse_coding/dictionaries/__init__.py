"""Dictionaries that need no training, and properties of any dictionary."""

from skmoderndata.sparse_coding._coherence import (
    babel_function,
    exact_recovery_bound,
    exact_recovery_coefficient,
    mutual_coherence,
    restricted_isometry_constant,
    smallest_recoverable_coefficient,
    two_bases_recovery_bound,
    welch_bound,
)
from skmoderndata.sparse_coding._dictionaries import (
    dct_dictionary,
    fourier_dictionary,
    gabor_dictionary,
    random_dictionary,
    union_dictionary,
    wavelet_dictionary,
)

__all__ = [
    "babel_function",
    "dct_dictionary",
    "exact_recovery_bound",
    "exact_recovery_coefficient",
    "fourier_dictionary",
    "gabor_dictionary",
    "mutual_coherence",
    "random_dictionary",
    "restricted_isometry_constant",
    "smallest_recoverable_coefficient",
    "two_bases_recovery_bound",
    "union_dictionary",
    "wavelet_dictionary",
    "welch_bound",
]
