"""Algorithms on kernel matrices, full or factorised.

Canonical correlation, also sparse (Witten 2009), partial least squares, discriminants, k-means,
subspaces and graphs in feature space (Shawe-Taylor and Cristianini 2004, chapters 5, 6 and 8), and
the pivoted incomplete Cholesky factorisation. The callers are `cross_decomposition`,
`discriminant_analysis`, `manifold`, `kernel_approximation` and the kernel estimators of other
modules.
"""
