"""Sparse codes of many signals for a given dictionary.

Greedy pursuit (Mallat and Zhang 1993; OMP, Pati et al. 1993), the lasso by homotopy, feature-sign
search and coordinate descent (Efron et al. 2004; Lee et al. 2006), penalties on groups (Yuan and
Lin 2006), hard thresholding (Blumensath and Davies 2010; CoSaMP, Needell and Tropp 2009).
`greedy` holds the pursuits, `thresholding` the iterations with supports of fixed size. Under them,
`signal_blocks` prepares the dictionary and collects the codes; `gram_rows` computes inner products
of atoms on demand and runs a coder on blocks of signals; `cholesky` grows, shrinks and solves;
`products` has the inner loops. Called by `SparseCoder`, `GroupLasso` and everything that learns a
dictionary.
"""
