"""Alignment of series: dynamic time warping, its bounds and averages, sums over alignments.

A collection is stored as two arrays: the concatenated values of all series, of shape (n_values,
n_channels), and the position at which each series begins. The folder has dynamic time warping
(Sakoe and Chiba 1978; Itakura 1975), exact search by lower bounds (Keogh and Ratanamahatana 2005),
averages (Petitjean et al. 2011), soft minima (Cuturi and Blondel 2017) and the global alignment
kernel (Cuturi 2011). Its callers are the distances between series in `metrics`, the kernels on
series, and the nearest neighbours and k-means of series.
"""
