"""
Which samples are outliers if normal ones lie on a curve?
=========================================================

Normal samples lie on a spiral. A detector should follow its arms and mark the gaps between them as
novel. How closely do a one-class support vector machine and the reconstruction error of kernel
principal components follow the spiral?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from skmoderndata.decomposition import KernelPCAOutlierDetector

rng = np.random.default_rng(0)


def spiral(n):
    """Two turns, with a little noise."""
    angle = 4 * np.pi * np.sqrt(rng.uniform(0.05, 1, size=n))
    return np.c_[np.cos(angle), np.sin(angle)] * angle[:, None] / 4 + 0.08 * rng.normal(
        size=(n, 2)
    )


X, usual = spiral(300), spiral(300)
novel = rng.uniform(-3.3, 3.3, size=(300, 2))
detectors = {
    "KernelPCAOutlierDetector": KernelPCAOutlierDetector(40, gamma=1.0, contamination=0.02),
    "OneClassSVM": OneClassSVM(gamma=1.0, nu=0.02),
}

# %%
# Dark areas are near the normal samples, and the line marks the border of novelty. Both methods
# use the same kernel width. The support vector machine puts one boundary around everything; the
# subspace of 40 components has a small error on the spiral and a large error in the gaps. Some of
# the uniformly drawn points also lie on the spiral, so no detector can reach an area of one under
# the curve.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
xx, yy = np.meshgrid(np.linspace(-3.6, 3.6, 160), np.linspace(-3.6, 3.6, 160))
for ax, (name, detector) in zip(axes, detectors.items(), strict=True):
    detector.fit(X)
    values = detector.decision_function(np.c_[xx.ravel(), yy.ravel()]).reshape(xx.shape)
    both = detector.decision_function(np.r_[usual, novel])
    area = roc_auc_score(np.arange(600) < 300, both)
    ax.contourf(xx, yy, values, 20, cmap="Blues")
    ax.contour(xx, yy, values, [0], colors="C3", linewidths=1)
    ax.scatter(*X.T, c="k", s=4)
    ax.set(title=f"{name}: area {area:.3f}", aspect="equal", xticks=[], yticks=[])
plt.show()
