"""Estimates of many means at once, and of what belongs to them."""

from skmoderndata.covariance._james_stein import JamesStein

__all__ = [
    "JamesStein",
]
