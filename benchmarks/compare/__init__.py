"""Every method in a tuned pipeline, compared with its scikit-learn baseline."""
