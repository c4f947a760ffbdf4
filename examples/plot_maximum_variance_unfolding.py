"""
Which embedding unrolls a sheet with a hole?
============================================

A sheet with a rectangular hole is rolled up. Isomap measures distances along the graph of
neighbours, and these paths bend around the hole. Maximum variance unfolding preserves only the
distances between neighbours and pulls all other samples apart. Which method recovers the sheet?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import procrustes
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from skmoderndata.manifold import MaximumVarianceUnfolding

X, t = make_swiss_roll(800, hole=True, random_state=0)
new, new_t = make_swiss_roll(150, hole=True, random_state=1)


def sheet(X, t):
    """Length along the spiral, and height."""
    return np.column_stack([(t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2, X[:, 1]])


truth = sheet(X, t)
unfolding = MaximumVarianceUnfolding(n_neighbors=6, random_state=0).fit(X)
isomap = Isomap(n_neighbors=6).fit(X)
print(f"certified within {unfolding.dual_gap_:.1%} of the optimum")
print(f"mean error of a squared edge {np.abs(unfolding.edge_errors_).mean():.1%}")
print(f"two dimensions hold {unfolding.eigenvalues_[:2].sum() / unfolding.variance_:.1%}")

# %%
# The embeddings are aligned with the sheet by rotation and scaling, and coloured by the position
# on it; lines connect every twentieth sample with its true position. Isomap enlarges the hole and
# bends the sheet around it; unfolding preserves the hole. Crosses are new samples, placed by
# `transform`.

centre = truth.mean(axis=0)
figure = plt.figure(figsize=(11, 5.4), layout="constrained")
roll = figure.add_subplot(2, 2, 1, projection="3d")
roll.scatter(*X.T, c=t, s=6)
roll.view_init(8, -72)
roll.set(title="rolled up", xticks=[], yticks=[], zticks=[])
flat = figure.add_subplot(2, 2, 2)
flat.scatter(*truth.T, c=t, s=6)
flat.set(title="the sheet", aspect="equal")
models = {"Isomap": isomap, "MaximumVarianceUnfolding": unfolding}
for place, (name, model) in enumerate(models.items(), start=3):
    ax = figure.add_subplot(2, 2, place)
    _, _, distance = procrustes(truth, model.embedding_)
    shift = model.embedding_.mean(axis=0)
    U, s, Vt = np.linalg.svd((model.embedding_ - shift).T @ (truth - centre))
    turn = U @ Vt * s.sum() / np.sum((model.embedding_ - shift) ** 2)
    Y = (model.embedding_ - shift) @ turn + centre
    Z = (model.transform(new) - shift) @ turn + centre
    for a, b in zip(truth[::20], Y[::20], strict=True):
        ax.plot(*np.array([a, b]).T, color="0.6", lw=0.8)
    ax.scatter(*Y.T, c=t, s=6)
    ax.scatter(*Z.T, c=new_t, s=16, marker="x", lw=0.8, vmin=t.min(), vmax=t.max())
    ax.set(title=f"{name}: Procrustes distance {distance:.4f}", aspect="equal")
plt.show()
