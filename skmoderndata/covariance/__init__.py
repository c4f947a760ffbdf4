"""Shrinkage estimates of many means."""

from skmoderndata.covariance._james_stein import JamesStein

__all__ = [
    "JamesStein",
]
