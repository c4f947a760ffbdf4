"""Support vector methods: core sets, minimum enclosing balls, the fewest features."""

from skmoderndata.svm._core_vector_machine import CoreVectorMachine
from skmoderndata.svm._minimum_enclosing_ball import MinimumEnclosingBall

__all__ = [
    "CoreVectorMachine",
    "MinimumEnclosingBall",
]
