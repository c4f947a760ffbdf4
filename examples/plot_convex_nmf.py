"""
Which rows are pure, and which are mixtures?
============================================

The rows are mixtures of three sources, and only a few rows are nearly pure. The centres of k-means
lie in the middle of their clusters; the components of convex NMF are averages of a few rows near
the corners, and the weights show which rows those are.
"""

# %%
# Generate mixtures in the plane, with a little noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from skmoderndata.decomposition import ConvexNMF

rng = np.random.default_rng(0)
corners = np.array([[1.0, 0.6], [5.0, 1.0], [1.8, 4.2]])
shares = rng.dirichlet(0.6 * np.ones(3), size=300)
X = np.c_[shares @ corners, np.ones(300)]  # the constant makes codes sum to one
X[:, :2] += 0.05 * rng.normal(size=(300, 2))

convex = ConvexNMF(3, tol=1e-5, random_state=0, max_iter=5000).fit(X)
means = KMeans(3, n_init=5, random_state=0).fit(X).cluster_centers_

# %%
# Rows with a non-zero weight are ringed; most rows have none. The components lie slightly inside
# the true sources because they are averages of rows that are not quite pure; rows beyond the
# components have codes that add up to more than one.

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.plot(*X[:, :2].T, ".", color="0.75", zorder=0)
share = convex.weights_.max(axis=1)
used = share > 0.001
ax.scatter(*X[used, :2].T, s=600 * share[used] + 20, facecolors="none", edgecolors="C3")
triangle = np.r_[0:3, 0]
for name, points, color, marker in (
    ("true sources", corners, "k", "*"),
    ("convex NMF", convex.components_[:, :2], "C3", "o"),
    ("k-means", means[:, :2], "C2", "^"),
):
    line = ":" if name == "true sources" else "-"
    ax.plot(*points[triangle].T, line, color=color, marker=marker, markersize=9, label=name)
ax.set(xlabel="first measurement", ylabel="second measurement")
ax.legend()
plt.show()

for number, weights in enumerate(convex.weights_.T):
    print(f"component {number} is an average of {np.count_nonzero(weights)} of {len(X)} rows")
