"""Kernels from other kernels, from functions and from the parts of a sample."""
