"""Ordered rows: slow features, and components that are learned one row at a time.

The folder has moments of a series and of its steps (Wiskott and Sejnowski 2002), polynomial
expansion, principal and minor components from a stream (Weng et al. 2003; Kompella et al. 2012),
and false nearest neighbours (Kennel et al. 1992; Cao 1997). Its callers are the slow feature
estimators, `CCIPCA`, `MinorComponentAnalysis` and `TimeDelayEmbedding`.
"""
