"""
How many samples does a guarantee against false alarms need?
============================================================

The distance from the mean has a threshold that is valid for any distribution of the samples: a
normal sample exceeds it with a probability of at most one in n + 1. What is the price of this
guarantee?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.neighbors import KernelCentroidOutlierDetector

rng = np.random.default_rng(0)


def usual(n):
    """Uniform in the unit ball of three dimensions."""
    X = rng.normal(size=(n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / 3)


sizes = np.array([20, 50, 100, 200, 500, 1000, 2000, 5000])
detectors = [
    KernelCentroidOutlierDetector("linear", contamination="auto", radius=1.0).fit(usual(n))
    for n in sizes
]
new = usual(100_000)
alarms = [np.mean(detector.predict(new) == -1) for detector in detectors]
plain = [np.mean(-d.score_samples(new) > d.max_distance_) for d in detectors]

# %%
# The left panel shows the threshold: the largest distance in the training sample, plus the margin
# that the guarantee adds, which decreases only with the square root of n. An outlier has to lie
# outside the dashed line: with 100 samples, at twice the radius of the source; with 5000, at 1.15
# times. The right panel shows the fraction of normal samples classified as outliers. With the
# guarantee there were none; with the largest distance alone the fraction is close to the bound.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(sizes, [d.max_distance_ for d in detectors], "C0", label="largest distance")
left.plot(sizes, [d.threshold_ for d in detectors], "C3--", label="threshold")
left.axhline(1, color="k", ls=":", label="radius of the source")
left.set(xscale="log", xlabel="training samples", ylabel="distance from the mean", ylim=0)
left.legend()
right.plot(sizes, 1 / (sizes + 1), "k:", label="bound, 1 / (n + 1)")
right.plot(sizes, plain, "C0o-", label="largest distance as threshold")
right.plot(sizes, alarms, "C3s--", label="threshold with guarantee")
right.set(xscale="log", xlabel="training samples", ylabel="fraction of false alarms")
right.set_yscale("symlog", linthresh=1e-4)
right.set_ylim(-5e-5, 1)
right.legend(loc="upper right")
plt.show()
