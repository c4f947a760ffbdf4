"""Uses of kernels by estimators: Gram matrices, expansions, low rank, cached rows, machines."""
