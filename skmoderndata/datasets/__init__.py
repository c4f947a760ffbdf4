"""Generators with a known truth, loaders of real data, and small bundled samples."""

from skmoderndata.datasets._boolean import make_boolean_sources
from skmoderndata.datasets._chaos import make_chaotic_series
from skmoderndata.datasets._japanese_vowels import load_japanese_vowels
from skmoderndata.datasets._low_rank import make_low_rank_plus_sparse, make_video
from skmoderndata.datasets._moving_object import make_moving_object
from skmoderndata.datasets._ratings import make_ratings
from skmoderndata.datasets._slow_signals import (
    make_logistic_map,
    make_mixed_sources,
    make_slow_signal,
)
from skmoderndata.datasets._sparse_classes import make_sparse_classes
from skmoderndata.datasets._strings import load_blosum62, load_language_names, load_peptides

__all__ = [
    "load_blosum62",
    "load_japanese_vowels",
    "load_language_names",
    "load_peptides",
    "make_boolean_sources",
    "make_chaotic_series",
    "make_logistic_map",
    "make_low_rank_plus_sparse",
    "make_mixed_sources",
    "make_moving_object",
    "make_ratings",
    "make_slow_signal",
    "make_sparse_classes",
    "make_video",
]
