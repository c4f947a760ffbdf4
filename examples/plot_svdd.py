"""
======================================================
When is a ball around the samples better than a plane?
======================================================

A ball in feature space describes the images of one digit. How far from its centre are other
digits? With a Gaussian kernel, under which all samples have the same norm, the ball and the
one-class machine rank alike. With a polynomial kernel the norm of an image grows with its amount
of ink, so separating it from the origin is not informative: the ball ranks better.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from skmoderndata.svm import SVDD

images, digit = load_digits(return_X_y=True)
images = images / 16
kernels = {
    "polynomial kernel, degree 2": {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1},
    "Gaussian kernel": {"kernel": "rbf", "gamma": 0.03},
}

# %%
# Learn 100 images of one digit; the remaining images of that digit should rank above all other
# digits.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    for shift, (label, cls) in enumerate({"SVDD": SVDD, "OneClassSVM": OneClassSVM}.items()):
        auc = []
        for kind in range(10):
            train = np.flatnonzero(digit == kind)[:100]
            test = np.setdiff1d(np.arange(len(digit)), train)
            scores = cls(nu=0.1, **kernel).fit(images[train]).decision_function(images[test])
            auc.append(roc_auc_score(digit[test] == kind, scores))
        ax.bar(
            np.arange(10) + 0.4 * shift - 0.2, auc, 0.4, label=f"{label}: {np.mean(auc):.3f}"
        )
    ax.set(title=name, xticks=range(10), xlabel="learned digit", ylim=(0.5, 1.02))
    ax.legend(loc="lower right", title="mean")
axes[0].set_ylabel("area under the curve")

# %%
# Plot images of the digit 3 on or outside the surface of the ball, and those nearest to its
# centre.
train = np.flatnonzero(digit == 3)[:100]
ball = SVDD(nu=0.1, **kernels["polynomial kernel, degree 2"]).fit(images[train])
order = np.argsort(ball.score_samples(images[train]))
fig, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for row, chosen, title in zip(
    axes, (order[::-1][:10], order[:10]), ("nearest to the centre", "furthest"), strict=True
):
    for ax, image in zip(row, images[train][chosen], strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()
    row[0].set_title(title, loc="left", fontsize=9)
plt.show()
