"""Spectra of a corpus: which terms occur together, from a sparse matrix of documents and terms.

The kernels on text use diffusion over documents and terms (Kandola, Shawe-Taylor and Cristianini
2003) and latent semantics (Cristianini, Shawe-Taylor and Lodhi 2002).
"""
