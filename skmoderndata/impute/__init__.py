"""Filling in missing values."""

from skmoderndata.impute._nuclear_norm_imputer import NuclearNormImputer

__all__ = [
    "NuclearNormImputer",
]
