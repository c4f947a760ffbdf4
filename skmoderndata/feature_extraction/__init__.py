"""Features of samples that are no vectors."""

from skmoderndata.feature_extraction._sequence_features import SequenceFeatures

__all__ = ["SequenceFeatures"]
