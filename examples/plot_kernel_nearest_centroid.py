"""
How does the nearest centroid rule change in a feature space?
=============================================================

Nearest centroids divide the plane by straight lines. In the feature space of a Gaussian kernel the
same rule gives curved borders. The width of the kernel determines how curved they are, from the
straight line of wide kernels to the borders of a density estimate.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import NearestCentroid

from skmoderndata.neighbors import KernelNearestCentroid

X, y = make_moons(150, noise=0.25, random_state=0)
X_new, y_new = make_moons(4000, noise=0.25, random_state=1)
methods = {
    "NearestCentroid": NearestCentroid(),
    "gamma = 0.1": KernelNearestCentroid(gamma=0.1),
    "gamma = 3": KernelNearestCentroid(gamma=3.0),
    "gamma = 100": KernelNearestCentroid(gamma=100.0),
}

# %%
# The border is black; the error rate is measured on new samples. A wide kernel reproduces the
# linear rule, and a very narrow one sees only single samples.

xx, yy = np.meshgrid(np.linspace(-1.8, 2.8, 150), np.linspace(-1.3, 1.8, 120))
figure, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
for ax, (name, method) in zip(axes, methods.items(), strict=True):
    method.fit(X, y)
    side = method.predict(np.c_[xx.ravel(), yy.ravel()]).reshape(xx.shape)
    ax.contourf(xx, yy, side, [-0.5, 0.5, 1.5], colors=["C0", "C3"], alpha=0.25)
    ax.contour(xx, yy, side, [0.5], colors="k")
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=8)
    wrong = 1 - method.score(X_new, y_new)
    ax.set(title=f"{name}: {100 * wrong:.0f} % wrong", xticks=[], yticks=[])
plt.show()
