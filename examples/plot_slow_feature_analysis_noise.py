"""
How do I find a slow drift in noisy sensors?
============================================

Twelve sensors see a slow drift, a rotation and a changing load; each adds independent white
noise. A linear function of one row can only average the sensors, and noise of half their
standard deviation already hides the drift from it. A function of five consecutive rows
averages over time as well. After a delay embedding, slow feature analysis keeps the drift,
whereas principal and independent components of the same rows lose it.
"""

# %%
# The drift is a smoothed random walk, and half as strong as the other causes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA, FastICA
from sklearn.pipeline import make_pipeline

from skmoderndata.decomposition import SlowFeatureAnalysis
from skmoderndata.preprocessing import TimeDelayEmbedding


def sensors(noise, seed, n_rows=3000):
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=n_rows + 400).cumsum()
    drift = np.convolve(walk, np.ones(401) / 401, mode="valid")
    drift = (drift - drift.mean()) / drift.std()
    rotation = np.sin(2 * np.pi * np.arange(n_rows) / 37)
    causes = np.column_stack([0.5 * drift, rotation, rng.normal(size=n_rows)])
    X = causes @ rng.normal(size=(3, 12))
    return X + noise * X.std(axis=0) * rng.normal(size=X.shape), drift


def correlation(Y, drift):
    """Correlation of the best component with the drift."""
    return max(abs(np.corrcoef(y, drift)[0, 1]) for y in Y.T)


# %%
# We use the best of three principal or independent components, but only the first slow feature.

lags = 5
methods = {
    "slow feature, five rows": make_pipeline(TimeDelayEmbedding(lags), SlowFeatureAnalysis(1)),
    "slow feature, one row": SlowFeatureAnalysis(1),
    "independent components": FastICA(3, random_state=0, tol=0.01),
    "independent, five rows": make_pipeline(
        TimeDelayEmbedding(lags), FastICA(3, random_state=0, tol=0.01)
    ),
    "principal components": PCA(3),
    "principal, five rows": make_pipeline(TimeDelayEmbedding(lags), PCA(3)),
}
levels = (0.1, 0.2, 0.5, 1.0)
table = {
    name: [
        np.mean([correlation(model.fit_transform(X), drift) for X, drift in draws])
        for draws in ([sensors(noise, seed) for seed in range(3)] for noise in levels)
    ]
    for name, model in methods.items()
}
for name, row in table.items():
    print(f"{name:28s}", "  ".join(f"{value:.2f}" for value in row))

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for name, row in table.items():
    style = "-" if "slow" in name else ":"
    left.plot(levels, row, style, marker="o", label=name)
left.set(
    xlabel="noise / standard deviation of a sensor",
    ylabel="correlation with the drift",
    ylim=(0, 1.02),
)
left.legend(fontsize=7, loc="lower left")

X, drift = sensors(0.5, seed=0)
y = methods["slow feature, five rows"].fit_transform(X)[:, 0]
y *= np.sign(y @ drift)
right.plot(X[:, 0] / X[:, 0].std(), color="0.8", lw=0.4, label="a sensor")
right.plot(y, lw=0.6, label="slow feature of five rows")
right.plot(drift, "k", lw=1, label="drift")
right.set(xlabel="row", title="noise 0.5")
right.legend(fontsize=7, loc="upper right")
plt.show()
