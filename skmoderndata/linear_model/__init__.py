"""Linear model."""

from skmoderndata.linear_model._basis_pursuit import BasisPursuit

__all__ = [
    "BasisPursuit",
]
