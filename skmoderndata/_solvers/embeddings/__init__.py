"""Embeddings of distances: Sammon (1969), Weinberger and Saul (2004). Called by `manifold`."""
