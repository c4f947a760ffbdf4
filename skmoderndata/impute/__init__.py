"""Filling in missing values."""

__all__ = []
