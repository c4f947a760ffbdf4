"""Kernels on series."""
