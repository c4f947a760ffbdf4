"""
Which kernel fits a rough path?
===============================

A kernel of numbers is a covariance of random functions. What do the functions look like, and which
of six kernels fits a signal that is continuous but nowhere smooth?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skmoderndata.kernels import (
    ArcSine,
    CosineSeries,
    GammaExponential,
    Min,
    Spline,
    Triangular,
)

grid = np.linspace(0, 3, 300)[:, None]
kernels = {
    "GammaExponential, gamma 1": GammaExponential(gamma=1.0),
    "GammaExponential, gamma 1.8": GammaExponential(gamma=1.8),
    "ArcSine, weights' variance 50": ArcSine(1.0, 50.0),
    "Min (Brownian motion)": Min(),
    "Spline, order 1": Spline(order=1),
    "CosineSeries, period 1": CosineSeries((0, 1, 0.2, 0.3), period=1.0),
}
fig, axes = plt.subplots(2, 3, figsize=(11, 5), layout="constrained", sharex=True)
for ax, (name, kernel) in zip(axes.flat, kernels.items(), strict=True):
    rng = np.random.default_rng(1)
    K = kernel(grid)
    w, U = np.linalg.eigh(K)
    draws = U @ (np.sqrt(np.maximum(w, 0))[:, None] * rng.normal(size=(300, 3)))
    ax.plot(grid, draws, linewidth=1)
    ax.set_title(name, fontsize=9)
plt.show()

# %%
# The signal is a path of Brownian motion, observed at 60 places with a little noise. The Gaussian
# kernel has to use a width so short that neighbouring observations hardly matter; the power of
# ``GammaExponential``, tuned by marginal likelihood, ends up near 1, the power of Brownian motion.

rng = np.random.default_rng(3)
t = np.linspace(0, 3, 600)
path = np.cumsum(rng.normal(size=600)) * np.sqrt(t[1])
seen = np.sort(rng.choice(600, 60, replace=False))
X, y = t[seen, None], path[seen] + 0.02 * rng.normal(size=60)
noise = WhiteKernel(4e-4, "fixed")
scale = ConstantKernel(1.0, (1e-3, 1e3))
models = {
    "RBF": scale * RBF(0.5, (1e-3, 10)) + noise,
    "GammaExponential": scale * GammaExponential(1.0, 1.5, (1e-2, 1e2), (0.2, 2.0)) + noise,
}
fig, axes = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained", sharey=True)
for ax, (name, kernel) in zip(axes, models.items(), strict=True):
    model = GaussianProcessRegressor(kernel).fit(X, y)
    mean, std = model.predict(t[:, None], return_std=True)
    inside = np.mean(np.abs(path - mean) <= 1.96 * std)
    ax.plot(t, path, color="0.6", linewidth=0.8, label="truth")
    ax.plot(t, mean, color="C3", label="mean")
    ax.fill_between(t, mean - 1.96 * std, mean + 1.96 * std, color="C3", alpha=0.2)
    ax.plot(X, y, "k.", markersize=3)
    likelihood = model.log_marginal_likelihood_value_
    ax.set_title(
        f"{name}: log likelihood {likelihood:.0f}, {inside:.0%} in the 95% band", fontsize=9
    )
    print(name, model.kernel_)
axes[0].legend(fontsize=8)
plt.show()
print(
    "Triangular of width 1 is 0 for",
    f"{np.mean(Triangular(1.0)(grid) == 0):.0%}",
    "of all pairs",
)
