"""What every folder stands on: passes, linear algebra, projections.

`iterate` counts passes and tells the callbacks; `certificates` makes relative gaps; `linalg`
settles rank, sign and order; `projections` holds those of proximal methods (Parikh and Boyd 2014;
Hoyer 2004); `nnls` solves non-negative least squares through the Gram matrix (Lawson and Hanson;
Kim and Park 2011).
"""
