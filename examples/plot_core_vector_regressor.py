"""
==========================================================
How many support vectors does a noisy function need?
==========================================================

The tube follows the noise: with a small `tube_distance`, few samples are outside the tube, and
only those samples matter. As `tube_distance` grows, the error falls slowly whereas the number of
support vectors rises quickly.

Below, we fit a closed curve to points with normals: points moved along the normals get their
distance as target, and the curve is the zero set of the function. Two fits add the detail; the
second uses a narrower kernel on the residuals of the first.
"""

# %%
# A noisy wave
# ------------
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.svm import CoreVectorRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-10, 10, size=(4000, 1)), axis=0)
truth = np.sinc(X[:, 0] / np.pi)
y = truth + 0.1 * rng.normal(size=4000)

fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
ax = axes[0]
model = CoreVectorRegressor(C=10, tube_distance=0.003, gamma=0.3, random_state=0).fit(X, y)
f = model.predict(X)
ax.scatter(X[:, 0], y, s=1, color="0.7")
ax.scatter(X[model.support_, 0], y[model.support_], s=12, color="tab:orange", label="support")
ax.plot(X[:, 0], f, color="tab:blue", label="fit")
ax.fill_between(X[:, 0], f - model.epsilon_, f + model.epsilon_, alpha=0.2)
ax.plot(X[:, 0], truth, "k--", lw=1, label="truth")
ax.set(title=f"tube_distance=0.003: {len(model.support_)} support vectors of 4000 samples")
ax.legend()

errors, sizes = [], []
for distance in (0.001, 0.003, 0.01, 0.03, 0.1):
    model = CoreVectorRegressor(C=10, tube_distance=distance, gamma=0.3, random_state=0).fit(
        X, y
    )
    errors.append(np.sqrt(np.mean((model.predict(X) - truth) ** 2)))
    sizes.append(len(model.support_))
    axes[1].annotate(f"{distance}", (sizes[-1], errors[-1]), fontsize=9)
axes[1].loglog(sizes, errors, "o-")
axes[1].set(
    xlabel="support vectors",
    ylabel="error against the true function",
    title="Trade-off by tube_distance",
)

# %%
# A curve from points
# -------------------
angle = np.sort(rng.uniform(0, 2 * np.pi, 500))


def curve(t):
    """A flower with seven small leaves on a bent outline."""
    r = 1 + 0.25 * np.cos(2 * t) + 0.08 * np.sin(7 * t)
    return r[:, None] * np.c_[np.cos(t), np.sin(t)]


points = curve(angle)
tangent = curve(angle + 1e-4) - curve(angle - 1e-4)
normal = np.c_[tangent[:, 1], -tangent[:, 0]]
normal /= np.linalg.norm(normal, axis=1, keepdims=True)
shift = np.repeat([-0.15, 0.0, 0.15], 500)
sites = np.tile(points, (3, 1)) + shift[:, None] * np.tile(normal, (3, 1))

grid = np.stack(np.meshgrid(*[np.linspace(-1.7, 1.7, 150)] * 2), axis=-1)
field, rest = np.zeros(150 * 150), shift.copy()
fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, (width, gamma) in zip(axes, [("wide", 2.0), ("narrow", 20.0)], strict=True):
    model = CoreVectorRegressor(C=50, tube_distance=0.01, gamma=gamma, random_state=0)
    model.fit(sites, rest)
    rest -= model.predict(sites)
    field += model.predict(grid.reshape(-1, 2))
    ax.contourf(grid[..., 0], grid[..., 1], field.reshape(150, 150), 20, cmap="RdBu_r")
    ax.contour(grid[..., 0], grid[..., 1], field.reshape(150, 150), [0], colors="k")
    ax.scatter(*points[::3].T, s=6, color="tab:orange")
    off = np.sqrt(np.mean(rest[500:1000] ** 2))
    ax.set(aspect="equal", title=f"after the {width} kernel: points off by {off:.3f}")
plt.show()
