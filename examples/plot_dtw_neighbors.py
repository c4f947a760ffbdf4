"""
How much warping should I allow when I compare series?
======================================================

The outline of a digit is a series: its distance from the centre, once around. The same corner
comes earlier in one handwriting and later in another. Nearest neighbours under dynamic time
warping tolerate this within a radius, the only parameter; if the radius is too large, everything
looks alike.
"""

# %%
# Extract the outlines of scikit-learn's digits, at forty-eight equidistant points.

import matplotlib.pyplot as plt
import numpy as np
from contourpy import contour_generator
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata.neighbors import DTWNeighborsClassifier


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
X, y = np.array([outline(image) for image in digits.images]), digits.target
X_train, y_train, X_test, y_test = X[:400], y[:400], X[1000:1300], y[1000:1300]

# %%
# The radius is chosen from the training series alone, by leave-one-out errors for each radius. We
# compute the same errors on unseen digits for comparison.

model = DTWNeighborsClassifier(radius="cv").fit(X_train, y_train)
some = model.cv_radii_[:16]
unseen = [
    1 - DTWNeighborsClassifier(radius=int(r)).fit(X_train, y_train).score(X_test, y_test)
    for r in some
]
euclidean = KNeighborsClassifier(1).fit(X_train, y_train)
print(f"radius learned: {model.radius_} of {X.shape[1]} points")
print(f"error on unseen digits: {1 - model.score(X_test, y_test):.3f}")
print(f"Euclidean neighbours:   {1 - euclidean.score(X_test, y_test):.3f}")

# %%
# Left: a few steps of freedom remove some of the errors, and more steps bring them back. Right: a
# query with its neighbours. The Euclidean neighbour has its bumps at the same places; the warped
# neighbour has the same bumps.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(some, model.cv_errors_[: len(some)], "o-", label="leave-one-out, training digits")
left.plot(some, unseen, "s--", label="unseen digits")
left.axvline(model.radius_, color="0.7", zorder=0, label="radius learned")
left.set(xlabel="Radius, in points", ylabel="Error of the nearest neighbour", ylim=(0, None))
left.legend()
helped = (model.predict(X_test) == y_test) & (euclidean.predict(X_test) != y_test)
query = np.flatnonzero(helped)[0]
near = model.kneighbors(X_test[[query]], return_distance=False)[0, 0]
far = euclidean.kneighbors(X_test[[query]], return_distance=False)[0, 0]
for shift, series, label in (
    (0, X_test[query], f"query, a {y_test[query]}"),
    (-3, X_train[near], f"nearest by warping, a {y_train[near]}"),
    (-6, X_train[far], f"nearest by Euclid, a {y_train[far]}"),
):
    right.plot(series + shift, label=label)
right.set(xlabel="Point of the outline", yticks=[], ylim=(-9, 6))
right.legend(loc="upper right")
plt.show()
