"""Boolean matrices: packed rows, unions of sources, multi-assignment clustering.

The Boolean factorisations in `cluster` and the metrics that score them call it (Frank et al. 2012;
Miettinen et al. 2008).
"""
