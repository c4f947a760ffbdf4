"""Samples of every kind: containers, sequences, series, trees, documents, and their keys."""
