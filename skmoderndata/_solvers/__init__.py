"""Numerical algorithms on plain arrays, in eighteen folders; each solver has its certificate.

Imports: `common <- codes <- dictionaries <- recovery`; all other folders import `common` only.
"""
