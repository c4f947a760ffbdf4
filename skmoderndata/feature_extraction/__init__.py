"""Features of samples that are not vectors."""

from skmoderndata.feature_extraction._sequence_features import SequenceFeatures

__all__ = ["SequenceFeatures"]
