"""Matrix decompositions: slow features, robust principal components."""

__all__ = []
