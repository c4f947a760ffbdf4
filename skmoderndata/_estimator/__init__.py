"""Shared parts of all estimators: base class, cards, validation, blocks of rows, plots."""
