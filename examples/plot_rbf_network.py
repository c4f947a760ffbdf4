"""
Where should the centres of an RBF network be?
==============================================

We fit a surface with two hills and a valley by a few Gaussian bumps. Their centres are placed
where the samples are, by k-means, or selected one after another, wherever they reduce the error
most. How many centres does each approach need?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.neural_network import RBFNetworkRegressor


def surface(X):
    hills = {(1.2, 1.0): 1.0, (-1.3, 0.3): 0.8, (0.2, -1.5): -1.2}
    bumps = [h * np.exp(-2 * np.sum((X - c) ** 2, axis=1)) for c, h in hills.items()]
    return np.sum(bumps, axis=0)


rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(600, 2))
y = surface(X) + 0.1 * rng.normal(size=600)
side = np.linspace(-3, 3, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
truth = surface(grid)
sizes = [3, 5, 8, 12, 20, 30, 50, 80]
ways = ("random", "k-means", "ols")


def error(k, way, seed):
    model = RBFNetworkRegressor(k, centers=way, width=0.6, random_state=seed).fit(X, y)
    return np.sqrt(np.mean((model.predict(grid) - truth) ** 2))


errors = {way: [np.mean([error(k, way, s) for s in range(5)]) for k in sizes] for way in ways}

# %%
# The selected centres (red dots; the middle panel shows the twelve centres of k-means) lie
# where the surface is not flat. The centres of k-means cover the samples evenly, and most of
# them lie where there is nothing to explain. The right panel shows the error against the true
# surface, averaged over five starts: five selected centres do better than eighty that were
# placed without looking at the surface.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, way in zip(axes, ("ols", "k-means"), strict=False):
    model = RBFNetworkRegressor(12, centers=way, width=0.6, random_state=0).fit(X, y)
    ax.imshow(
        model.predict(grid).reshape(120, 120), extent=(-3, 3, -3, 3), origin="lower",
        cmap="RdBu_r", vmin=-1.2, vmax=1.2,
    )  # fmt: skip
    ax.plot(*X.T, "k.", ms=1, alpha=0.4)
    ax.plot(*model.centers_.T, "o", color="C3", mec="k", ms=7)
    ax.set(title=f'centers="{way}", {len(model.centers_)} centres', xticks=[], yticks=[])
for way in ways:
    axes[2].plot(sizes, errors[way], "o-", label=way)
axes[2].set(
    xscale="log", yscale="log", xlabel="maximum number of centres", ylabel="error (RMS)"
)
axes[2].set_xticks(sizes, [str(size) for size in sizes])
axes[2].minorticks_off()
axes[2].legend()
plt.show()
