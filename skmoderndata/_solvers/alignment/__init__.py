"""Alignment of series: dynamic time warping, its bounds and averages, sums over alignments.

A collection is two arrays: the values of all series, one after the other, of shape (n_values,
n_channels), and where each begins. Dynamic time warping (Sakoe and Chiba 1978; Itakura 1975),
exact search by lower bounds (Keogh and Ratanamahatana 2005), averages (Petitjean et al. 2011),
soft minima (Cuturi and Blondel 2017) and the global alignment kernel (Cuturi 2011). Called by the
distances between series of `metrics`, the kernels on series, and the neighbours and k-means of
series.
"""
