"""Tolerances and limits that several solvers share."""

import numpy as np

from skmoderndata._solvers.common.linalg import EPS

# Tolerance for the rounding errors of a few operations, relative to their operands.
ROUNDING = 64 * EPS
# Relative tolerance for rounding errors of long sums and of solutions of linear systems.
ACCUMULATED_ROUNDING = 1e-12
# Tolerance for entries that were computed in single precision, relative to the largest entry.
SINGLE_ROUNDING = 1e-6
# Smallest pivot of an independent column, as a fraction of its diagonal entry.
PIVOT = 1e-13
# Fraction of |x|^2 below which squared distances lose digits, because large terms cancel.
CANCELS = 1e-6
# Smallest divisor, in place of zero; quotients of numbers up to 1e8 do not overflow.
SMALLEST_DIVISOR = 1e-300
# Smallest positive normal number; smaller numbers lose precision.
TINY = float(np.finfo(np.float64).tiny)
# Fraction of the predicted decrease that a step has to achieve (Armijo's rule).
SUFFICIENT_DECREASE = 1e-4
# Maximum number of steps of a bisection, or of Newton's method in one variable.
BISECTIONS = 60
