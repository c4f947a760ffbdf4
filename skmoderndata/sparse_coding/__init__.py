"""Signals as combinations of few atoms of a dictionary: coders, dictionaries, guarantees."""

from skmoderndata.sparse_coding import dictionaries  # noqa: F401 (the module, for its name)
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
from skmoderndata.sparse_coding._compressed_sensing import CompressedSensing
from skmoderndata.sparse_coding._dictionaries import (
    dct_dictionary,
    fourier_dictionary,
    gabor_dictionary,
    random_dictionary,
    union_dictionary,
    wavelet_dictionary,
)
from skmoderndata.sparse_coding._dictionary_classifier import DictionaryClassifier
from skmoderndata.sparse_coding._measurements import real_measurements
from skmoderndata.sparse_coding._phase_transition import (
    PhaseTransitionDisplay,
    l1_phase_transition,
    phase_transition,
)
from skmoderndata.sparse_coding._sparse_coder import SparseCoder
from skmoderndata.sparse_coding._sparse_recovery import SparseRecovery
from skmoderndata.sparse_coding._sparse_representation_classifier import (
    SparseRepresentationClassifier,
)

__all__ = [
    "CompressedSensing",
    "DictionaryClassifier",
    "PhaseTransitionDisplay",
    "SparseCoder",
    "SparseRecovery",
    "SparseRepresentationClassifier",
    "babel_function",
    "dct_dictionary",
    "exact_recovery_bound",
    "exact_recovery_coefficient",
    "fourier_dictionary",
    "gabor_dictionary",
    "l1_phase_transition",
    "mutual_coherence",
    "phase_transition",
    "random_dictionary",
    "real_measurements",
    "restricted_isometry_constant",
    "smallest_recoverable_coefficient",
    "two_bases_recovery_bound",
    "union_dictionary",
    "wavelet_dictionary",
    "welch_bound",
]
