"""
Which distances does a map of digits preserve?
==============================================

Classical scaling, multidimensional scaling and Sammon's map draw 600 digits in the plane. No plane
can preserve all distances in 64 dimensions. Which distances does each method preserve, and where
does it place new digits?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import MDS, trustworthiness

from skmoderndata.manifold import SammonMapping

X, y = load_digits(return_X_y=True)
X, new, y, new_y = X[:600], X[600:800], y[:600], y[600:800]
sammon = SammonMapping().fit(X)
maps = {
    "classical scaling": PCA(2).fit_transform(X),
    "MDS": MDS(2, n_init=1, init="classical_mds", random_state=0).fit_transform(X),
    "SammonMapping": sammon.embedding_,
}
d = pdist(X)


def stress(Y):
    return np.sum((d - pdist(Y)) ** 2 / d) / d.sum()


# %%
# The left panel shows the map, with 200 new digits as crosses: they appear among digits of their
# own class. The right panel shows the mean relative error of the distances, by the size of the
# distance: Sammon's map preserves small distances at the expense of large ones, but the loss is
# small. Its stress is lowest; MDS preserves the neighbourhoods (trustworthiness) better.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
left.scatter(*sammon.embedding_.T, c=y, cmap="tab10", s=8, alpha=0.5)
left.scatter(*sammon.transform(new).T, c=new_y, cmap="tab10", s=22, marker="x", lw=1)
left.set(xticks=[], yticks=[], aspect="equal", title="SammonMapping; crosses: transform")
edges = np.quantile(d, np.linspace(0, 1, 16))
middle = (edges[1:] + edges[:-1]) / 2
place = np.clip(np.searchsorted(edges, d) - 1, 0, 14)
for name, Y in maps.items():
    error = np.abs(pdist(Y) - d) / d
    kept = trustworthiness(X, Y)
    right.plot(
        middle,
        [error[place == k].mean() for k in range(15)],
        "o-",
        label=f"{name}: stress {stress(Y):.3f}, trust {kept:.3f}",
    )
right.set(
    xlabel="distance of two digits", ylabel="mean relative error on the map", ylim=(0, None)
)
right.legend()
plt.show()
