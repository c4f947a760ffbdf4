"""
Which points of two outlines correspond?
========================================

The outline of a shape is a series: its distance from the centre, once around. Two people draw the
same digit with longer and shorter strokes, so the same corner comes at a different time. Dynamic
time warping finds which points correspond.
"""

# %%
# Extract the outlines of scikit-learn's digits: a contour line of each image, at sixty equidistant
# points, starting from the topmost one.

import matplotlib.pyplot as plt
import numpy as np
from contourpy import contour_generator
from sklearn.datasets import load_digits

from skmoderndata.metrics import WarpingPathDisplay, dtw_path, pairwise_dtw


def outline(image, n_points=60):
    lines = contour_generator(z=np.pad(image, 1)).lines(5.0)
    line = max(lines, key=len)[:-1]
    line = np.roll(line, -line[:, 1].argmin(), axis=0)
    line = np.vstack([line, line[:1]])
    steps = np.r_[0, np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()]
    at = np.linspace(0, steps[-1], n_points, endpoint=False)
    return np.column_stack([np.interp(at, steps, coordinate) for coordinate in line.T])


def distance_from_centre(points):
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    return (radius - radius.mean()) / radius.std()


digits = load_digits()
twos = np.flatnonzero(digits.target == 2)[:40]
lines = [outline(digits.images[i]) for i in twos]
X = np.array([distance_from_centre(line) for line in lines])

# %%
# Among forty twos, choose the pair that gains most from warping.

warped = pairwise_dtw(X, radius=10)
euclidean = np.linalg.norm(X[:, None] - X[None], axis=2)
gain = np.where(np.eye(40, dtype=bool), 0, euclidean - warped)
a, b = np.unravel_index(gain.argmax(), gain.shape)
path, distance = dtw_path(X[a], X[b], radius=10)
print(f"Euclidean distance {euclidean[a, b]:.2f}, warped {distance:.2f}")

# %%
# Left: the aligned points of the two outlines; corners are aligned with corners. Right: the same
# alignment in the table of local costs, where it is the cheapest path from one end to the other;
# the band keeps it within ten steps of the diagonal.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
shift = np.array([11.0, 0.0])
for i, j in path[::2]:
    left.plot(*zip(lines[a][i], lines[b][j] + shift, strict=True), color="0.8", linewidth=0.8)
left.plot(*np.vstack([lines[a], lines[a][:1]]).T, color="tab:blue")
left.plot(*(np.vstack([lines[b], lines[b][:1]]) + shift).T, color="tab:orange")
left.invert_yaxis()
left.set(aspect="equal", title="two hands, one digit")
left.axis("off")
WarpingPathDisplay.from_series(X[a], X[b], radius=10, ax=right)
right.set_title("the alignment")
plt.show()
