"""Tools that all other folders use: passes, linear algebra, projections.

`iterate` counts passes and notifies callbacks; `certificates` computes relative gaps; `linalg`
fixes rank, sign and order; `projections` has projections for proximal methods (Parikh and Boyd
2014; Hoyer 2004); `nnls` solves non-negative least squares through the Gram matrix (Lawson and
Hanson; Kim and Park 2011).
"""
