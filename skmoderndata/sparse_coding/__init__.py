"""Signals as combinations of few atoms of a dictionary: coders, dictionaries, guarantees."""

from skmoderndata.sparse_coding import dictionaries  # noqa: F401 (the module, for its name)
from skmoderndata.sparse_coding._dictionaries import (
    babel_function,
    dct_dictionary,
    exact_recovery_bound,
    fourier_dictionary,
    gabor_dictionary,
    mutual_coherence,
    random_dictionary,
    restricted_isometry_constant,
    union_dictionary,
    wavelet_dictionary,
)
from skmoderndata.sparse_coding._sparse_coder import SparseCoder

__all__ = [
    "SparseCoder",
    "babel_function",
    "dct_dictionary",
    "exact_recovery_bound",
    "fourier_dictionary",
    "gabor_dictionary",
    "mutual_coherence",
    "random_dictionary",
    "restricted_isometry_constant",
    "union_dictionary",
    "wavelet_dictionary",
]
