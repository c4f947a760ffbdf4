"""What estimators do with a kernel: Gram matrices, expansions, low rank, cached rows, machines."""
