"""Kernels of generative models: joint probabilities and Fisher scores."""
