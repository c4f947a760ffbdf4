"""
Which digits are typical of their clusters?
===========================================

The outline of a digit is a series: its distance from the centre, once around. The mean of such
series is not the outline of any digit. A medoid is the member that is nearest to all members
of its cluster, under any distance. You can look at it, because it is one of the digits.
"""

# %%
# Extract the outlines of scikit-learn's digits 1, 2, 4 and 7, at forty-eight equidistant points.

import matplotlib.pyplot as plt
import numpy as np
from contourpy import contour_generator
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from skmoderndata.cluster import KMedoids


def outline(image, n_points=48):
    lines = contour_generator(z=np.pad(image, 1)).lines(5.0)
    line = max(lines, key=len)[:-1]
    line = np.roll(line, -line[:, 1].argmin(), axis=0)
    line = np.vstack([line, line[:1]])
    steps = np.r_[0, np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()]
    at = np.linspace(0, steps[-1], n_points, endpoint=False)
    line = np.column_stack([np.interp(at, steps, coordinate) for coordinate in line.T])
    radius = np.linalg.norm(line - line.mean(axis=0), axis=1)
    return (radius - radius.mean()) / radius.std()


digits = load_digits()
chosen = np.isin(digits.target, [1, 2, 4, 7])
images, y = digits.images[chosen][:400], digits.target[chosen][:400]
X = np.array([outline(image) for image in images])

# %%
# Cluster under several distances, and with k-means for comparison. Print the agreement with the
# digits and the largest gain of a swap, which is 0 at a local minimum.

n_clusters = 6
means = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
print(f"k-means, Euclidean    {adjusted_rand_score(y, means.labels_):.2f}")
settings = {
    "euclidean": None,
    "dtw": {"radius": 3},
    "erp": {"radius": 3},
    "msm": {"cost": 0.1},
    "twe": {"stiffness": 0.01, "gap_cost": 0.1},
}
models = {}
for metric, params in settings.items():
    models[metric] = model = KMedoids(n_clusters, metric=metric, metric_params=params).fit(X)
    score = adjusted_rand_score(y, model.labels_)
    print(f"k-medoids, {metric:<10} {score:.2f}   best gain of a swap {model.swap_gain_}")

# %%
# Plot the medoids under the move-split-merge distance: the digits themselves in the top row;
# below, their outlines on top of the other outlines of the cluster in grey.

model = models["msm"]
order = np.argsort(y[model.medoid_indices_], kind="stable")
fig, axes = plt.subplots(2, n_clusters, figsize=(10, 3.6), layout="constrained")
for (above, below), c in zip(axes.T, order, strict=True):
    index = model.medoid_indices_[c]
    members = model.labels_ == c
    share = (y[members] == y[index]).mean()
    above.imshow(images[index], cmap="gray_r")
    above.set(
        title=f"{members.sum()} digits,\n{share:.0%} are {y[index]}", xticks=[], yticks=[]
    )
    below.plot(X[members].T, color="0.85", linewidth=0.5)
    below.plot(X[index], color="C0")
    below.set(xticks=[], yticks=[], ylim=(-3.5, 3.5))
axes[1, 0].set_ylabel("outline")
plt.show()
