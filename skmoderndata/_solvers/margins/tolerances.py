"""Tolerances and limits that the solvers of this folder share."""

# Largest weight that counts as zero, relative to the largest weight or to its bound.
ZERO_WEIGHT = 1e-9
# Smallest fraction of a step that a line search tries.
SHORTEST_STEP = 1e-10
