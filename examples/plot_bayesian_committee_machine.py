"""
How should the experts of a Gaussian process committee be combined?
===================================================================

A function with fine detail needs dense samples, which are more than one Gaussian process can
handle. Here the samples are divided among experts with 100 samples each. How do five ways of
combining the experts behave, both near the samples and in a gap?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skmoderndata.gaussian_process import BayesianCommitteeMachine

rng = np.random.default_rng(0)
X = np.sort(np.concatenate([rng.uniform(0, 40, 800), rng.uniform(48, 100, 1000)]))[:, None]
truth = np.sin(X[:, 0]) + np.sin(0.61 * X[:, 0] + 1) + 0.02 * X[:, 0]
y = truth + 0.4 * rng.normal(size=len(X))
grid = np.linspace(30, 60, 400)[:, None]
clean = np.sin(grid[:, 0]) + np.sin(0.61 * grid[:, 0] + 1) + 0.02 * grid[:, 0]

# %%
# There are no samples between 40 and 48. In this gap, the product of experts ("poe") stays
# confident although no expert has any information, whereas the committee machines return to the
# prior. The generalised product ("gpoe") is too uncertain near the samples. The lower right panel
# shows the weights of six experts of the robust committee: each has a large weight where its
# samples are.

kernel = ConstantKernel() * RBF(2.0)
figure, axes = plt.subplots(2, 3, figsize=(13, 6.5), layout="constrained", sharex=True)
for ax, combine in zip(axes.flat, ("poe", "gpoe", "bcm", "rbcm", "grbcm"), strict=False):
    model = BayesianCommitteeMachine(
        kernel, combine=combine, max_expert_size=100, random_state=0
    ).fit(X, y)
    # leave out the noise
    mean, std = model.predict(grid, return_std=True, include_noise=False)
    ax.plot(X, y, ".", color="0.85", ms=2)
    ax.plot(grid, clean, "k--", lw=1)
    ax.plot(grid, mean, "C0")
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.3)
    inside = np.abs(mean - clean) < 2 * std
    ax.set(
        title=f"{combine}: {100 * inside.mean():.0f} % within 2 std",
        xlim=(30, 60),
        ylim=(-5, 6),
    )
    if combine == "rbcm":
        weights = model.expert_weights(grid)
ax = axes.flat[-1]
for k in np.argsort(weights.max(axis=0))[-6:]:
    ax.plot(grid, weights[:, k])
ax.set(title="rbcm: weights of the experts", xlabel="x")
plt.show()
