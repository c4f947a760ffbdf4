"""Pure numerics on arrays, in eighteen folders; each solver comes with its certificate.

Floors: `common <- codes <- dictionaries <- recovery`; the other folders stand on `common` only.
"""
