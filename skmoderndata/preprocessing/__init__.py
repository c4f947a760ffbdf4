"""Transformers that prepare data for the other methods."""

__all__ = []
