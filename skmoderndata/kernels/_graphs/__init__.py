"""Kernels on trees, graphs and other structures."""
