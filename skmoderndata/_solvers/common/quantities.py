"""Tolerances for rounding errors that several solvers share."""

import numpy as np

# Largest relative difference of double-precision results that counts as a rounding error.
ROUNDING = 1e-12
# Smallest positive number without loss of precision; a divisor in place of 0.
TINY = float(np.finfo(np.float64).tiny)
