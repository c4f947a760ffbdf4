"""Boolean matrices: packed rows, unions of sources, multi-assignment clustering.

Called by the Boolean factorisations in `cluster` and the metrics that score them (Frank et al.
2012; Miettinen et al. 2008).
"""
