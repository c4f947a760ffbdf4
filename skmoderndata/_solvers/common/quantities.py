"""Numbers that several solvers share: tolerances for rounding, word size, costs of cells."""

import numpy as np

# Largest relative difference of double-precision results that counts as a rounding error.
ROUNDING = 1e-12
# Smallest positive number without loss of precision; a divisor in place of 0.
TINY = float(np.finfo(np.float64).tiny)
# Number of bits of a machine word.
WORD_BITS = 64
# Cost of a cell that needs several products, in plain cells of dynamic programming as counted by
# `in_pieces`; a piece may take half or twice its time.
CELLS_OF_PRODUCTS = 4
# Cost of a cell that needs exponentials or logarithms, in the same cells.
CELLS_OF_EXPONENTIALS = 20
