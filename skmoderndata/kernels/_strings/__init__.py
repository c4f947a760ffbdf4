"""Kernels on strings, sequences and text."""
