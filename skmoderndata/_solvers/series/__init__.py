"""Ordered rows: slow features and components that learn one row at a time.

Moments of a series and of its steps (Wiskott and Sejnowski 2002), polynomial expansion, principal
and minor components from a stream (Weng et al. 2003; Kompella et al. 2012), false nearest
neighbours (Kennel et al. 1992; Cao 1997). Called by the slow feature estimators, `CCIPCA`,
`MinorComponentAnalysis` and `TimeDelayEmbedding`.
"""
