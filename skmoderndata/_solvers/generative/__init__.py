"""Generative models: passes over hidden paths, and derivatives of log-likelihoods.

Forward-backward with one scale per step (Rabiner 1989), pairs of samples with a common hidden
path on a line or a tree, pair hidden Markov models, and scores of Gaussian mixtures
(Shawe-Taylor and Cristianini 2004, chapter 12). The generative kernels call them.
"""
