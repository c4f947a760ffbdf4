"""Dictionaries that need no training."""

from skmoderndata.sparse_coding._dictionaries import (
    dct_dictionary,
    fourier_dictionary,
    gabor_dictionary,
    random_dictionary,
    union_dictionary,
    wavelet_dictionary,
)

__all__ = [
    "dct_dictionary",
    "fourier_dictionary",
    "gabor_dictionary",
    "random_dictionary",
    "union_dictionary",
    "wavelet_dictionary",
]
