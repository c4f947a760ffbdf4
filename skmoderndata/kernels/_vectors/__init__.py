"""Kernels of real numbers and of vectors."""
