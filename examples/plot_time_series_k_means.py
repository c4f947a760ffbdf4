"""
What does a typical member of a cluster look like?
==================================================

Events that begin earlier or later are the same events. The point-by-point average of such series
is blurred and looks like none of them; the average under warping looks like a member.
"""

# %%
# Extract the outlines of scikit-learn's digits 0, 1, 4 and 7: the distance from the centre,
# once around. Handwritings differ in where a corner appears.

import matplotlib.pyplot as plt
import numpy as np
from contourpy import contour_generator
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from skmoderndata.cluster import ClusterPrototypesDisplay, TimeSeriesKMeans


def outline(image, n_points=64):
    lines = contour_generator(z=np.pad(image, 1)).lines(5.0)
    line = max(lines, key=len)[:-1]
    line = np.roll(line, -line[:, 1].argmin(), axis=0)
    line = np.vstack([line, line[:1]])
    steps = np.r_[0, np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()]
    at = np.linspace(0, steps[-1], n_points, endpoint=False)
    line = np.column_stack([np.interp(at, steps, coordinate) for coordinate in line.T])
    return np.linalg.norm(line - line.mean(axis=0), axis=1)


digits = load_digits()
chosen = np.flatnonzero(np.isin(digits.target, [0, 1, 4, 7]))[:240]
X = np.array([outline(digits.images[i]) for i in chosen])
y = digits.target[chosen]

# %%
# Alternate between nearest prototypes and averages, with and without warping.

models = {
    "warped": TimeSeriesKMeans(4, radius=6, n_init=5, random_state=0).fit(X),
    "point by point": TimeSeriesKMeans(4, metric="euclidean", n_init=5, random_state=0).fit(X),
}
agreement = {name: adjusted_rand_score(y, model.labels_) for name, model in models.items()}
for name, value in agreement.items():
    print(f"{name:15s} agreement with the digits {value:.2f}")

# %%
# Series are grey, prototypes red. Point-by-point averages flatten bumps that come at different
# times; averages under warping preserve their height.

fig, axes = plt.subplots(2, 4, figsize=(11, 5), sharex=True, sharey=True, layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    ClusterPrototypesDisplay.from_estimator(model, X, axes=row)
    row[0].set_ylabel(f"{name}\nagreement {agreement[name]:.2f}")
    for c, ax in enumerate(row):
        members = y[model.labels_ == c]
        ax.set_title(f"{len(members)} outlines, most of a {np.bincount(members).argmax()}")
for ax in axes[1]:
    ax.set_xlabel("Point of the outline")
plt.show()
