"""Tolerances and limits that several solvers share."""

import numpy as np

from skmoderndata._solvers.common.linalg import EPS

# Tolerance for the rounding errors of a few operations, relative to their operands.
ROUNDING = 64 * EPS
# Relative tolerance for rounding errors of long sums and of solutions of linear systems.
ACCUMULATED_ROUNDING = 1e-12
# Relative tolerance for rounding errors of results: scores, distances, and computed positions such
# as 0.29 * 100, which must not become 28.
RESULT_ROUNDING = 1e-9
# Number of decimals at which results such as scores and distances count as equal.
RESULT_DIGITS = 9
# Relative tolerance for rounding errors of values that were computed in single precision.
SINGLE_ROUNDING = 1e-6
# Largest eigenvalue, norm after a projection, or difference between entries (i, j) and (j, i) that
# counts as zero, relative to the largest value.
RANK_TOL = 1e-10
# Multiple of the largest entry that is added to a matrix to make it definite, if only rounding
# errors make it indefinite.
INDEFINITE = 1e-8
# Smallest pivot of an independent column, as a fraction of its diagonal entry.
PIVOT = 1e-13
# Smallest squared distance, as a fraction of |x|^2, that is accurate enough if it is computed as a
# difference of large terms; smaller ones lose too many digits by cancellation.
CANCELS = 1e-6
# Smallest divisor, in place of zero; quotients of numbers up to 1e8 do not overflow.
SMALLEST_DIVISOR = 1e-300
# Smallest positive normal number; smaller numbers lose precision.
TINY = float(np.finfo(np.float64).tiny)
# Fraction of the predicted decrease that a step has to achieve (Armijo's rule).
SUFFICIENT_DECREASE = 1e-4
# Fraction of a tolerance, or of an outer gap, to which an inner problem is solved.
INNER_SHARE = 0.1
# Largest ratio to the best value so far at which a gap or residual counts as progress.
PROGRESS = 0.9
# Maximum number of Newton steps; usually fewer than 30 are needed.
MAX_NEWTON_STEPS = 100
# Maximum number of steps of a bisection, or of Newton's method in one variable.
BISECTIONS = 60
