"""Spectra of a corpus: which terms occur together, from a sparse matrix of documents and terms.

Diffusion over documents and terms (Kandola, Shawe-Taylor and Cristianini 2003), latent semantics
(Cristianini, Shawe-Taylor and Lodhi 2002). Called by the kernels on text.
"""
