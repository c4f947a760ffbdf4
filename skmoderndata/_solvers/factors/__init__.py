"""Factorisations ``X ~ W H`` whose factors are non-negative, sparse, convex or probabilities.

Alternating least squares and Hoyer's sparseness (Hoyer 2004; Kim and Park 2008), semi- and convex
factorisation (Ding, Li and Jordan 2010), probabilistic latent semantics (Hofmann 1999). The
factorisations in `decomposition` call them.
"""
