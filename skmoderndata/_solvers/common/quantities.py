"""Word size, and costs of cells of dynamic programming."""

# Number of bits of a machine word.
WORD_BITS = 64
# Cost of a cell that needs several products, in plain cells of dynamic programming as counted by
# `in_pieces`; a piece may take half or twice its time.
CELLS_OF_PRODUCTS = 4
# Cost of a cell that needs exponentials or logarithms, in the same units.
CELLS_OF_EXPONENTIALS = 20
