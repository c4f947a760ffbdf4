"""Kernels as objects of the kernel protocol of scikit-learn."""

__all__: list[str] = []
