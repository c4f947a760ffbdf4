"""Sizes of words and numbers, seeds, and costs of cells of dynamic programming."""

import numpy as np

# Number of bits of a machine word.
WORD_BITS = 64
# Size of a number in double precision, in bytes.
FLOAT_BYTES = 8
# Odd number near 2^64 divided by the golden ratio; multiplying by it spreads the bits of a hash.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Natural logarithm of two.
LOG2 = float(np.log(2.0))
# Default number of folds of a cross-validation, as in scikit-learn.
N_FOLDS = 5
# Size of a MiB in bytes.
MEBIBYTE = 2**20
# Maximum 32-bit integer: the largest index of SciPy's sparse arrays, and the limit of seeds.
MAX_INT32 = int(np.iinfo(np.int32).max)
# Cost of a cell that needs several products, in plain cells of dynamic programming as counted by
# `in_pieces`; the time of a piece may be off by a factor of two.
CELLS_OF_PRODUCTS = 4
# Cost of a cell that needs exponentials or logarithms, in plain cells of dynamic programming.
CELLS_OF_EXPONENTIALS = 20
