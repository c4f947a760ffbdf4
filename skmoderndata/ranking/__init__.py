"""Ranks: classes that have an order, predicted by one function and thresholds."""

from skmoderndata.ranking._nu_svor import NuSVOR

__all__ = [
    "NuSVOR",
]
