"""
Which kernel width separates a ring from its core?
==================================================

A core and the ring around it are two clusters that no straight line separates. Kernel k-means with
a Gaussian kernel separates them if the kernel is neither too wide nor too narrow. Can you find the
right width without knowing the clusters?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from skmoderndata.cluster import KernelKMeans

rng = np.random.default_rng(0)
truth = np.repeat([0, 1], 150)
angle = rng.uniform(0, 2 * np.pi, size=300)
radius = np.where(truth, 2.5, 0.5) + 0.1 * rng.normal(size=300)
X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]

# %%
# Fit for widths over three decades. `relaxation_bound_` is a lower bound on the objective of any
# clustering.

gammas = np.logspace(-1.7, 1.3, 22)
models = [KernelKMeans(2, gamma=gamma, random_state=0).fit(X) for gamma in gammas]
agreement = [adjusted_rand_score(truth, model.labels_) for model in models]
scatter = [KernelKMeans(1, gamma=gamma).fit(X).inertia_ for gamma in gammas]
objective = [model.inertia_ for model in models] / np.array(scatter)
bound = [model.relaxation_bound_ for model in models] / np.array(scatter)

# %%
# In the middle, over a decade of widths, all samples are labelled correctly. Wide kernels cut
# the ring in two, as k-means does, and narrow ones make all samples equally far apart. You can
# see which width is right. There the objective meets its lower bound, which proves that no
# other clustering is better, and it is the smallest fraction of the total scatter. For wide
# kernels the objective stays far above the bound.

primal = KMeans(2, n_init=10, random_state=0).fit(X)
chosen = models[int(np.argmin(np.abs(gammas - 1)))]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, labels, title in (
    (axes[0], primal.labels_, "KMeans"),
    (axes[1], chosen.labels_, f"KernelKMeans, gamma = {chosen.gamma:.2g}"),
):
    ax.scatter(*X.T, c=labels, cmap="coolwarm", s=12)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
axes[2].plot(gammas, agreement, "k", label="agreement with true clusters")
axes[2].plot(gammas, objective, "C0", label="objective / total scatter")
axes[2].plot(gammas, bound, "C0--", label="lower bound / total scatter")
axes[2].set(xscale="log", xlabel="gamma", ylim=(-0.05, 1.55))
axes[2].legend(loc="upper left", frameon=False)
plt.show()
