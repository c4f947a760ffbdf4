"""Large margins: quadratic programs on a simplex, core sets, and planes of few features.

Minimum enclosing balls and core vector machines (Badoiu and Clarkson 2008; Tsang, Kwok and Cheung
2005), the zero-norm machine (Weston et al. 2003). Called by `svm`.
"""
