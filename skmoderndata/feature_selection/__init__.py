"""Feature selection with a bound on the rate of false features."""

from skmoderndata.feature_selection._knockoff_display import KnockoffDisplay
from skmoderndata.feature_selection._knockoff_selector import KnockoffSelector

__all__ = [
    "KnockoffDisplay",
    "KnockoffSelector",
]
