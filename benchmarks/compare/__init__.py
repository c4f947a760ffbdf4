"""The main job: every carded method in a tuned pipeline beside its scikit-learn baseline."""
