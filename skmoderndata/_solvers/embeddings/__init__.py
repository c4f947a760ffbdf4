"""Embeddings that keep distances: Sammon's map (1969). Called by `manifold`."""
