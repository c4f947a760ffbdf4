"""Generators with a known truth."""

__all__ = []
