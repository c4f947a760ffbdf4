"""
Which class explains a partly hidden digit?
===========================================

A digit is written as a sparse combination of training digits of all classes. The class whose
digits explain it best wins. With single pixels as additional atoms, the pixels can explain the
painted area, so that it is left out; this helps, although with 64 pixels little remains visible.
"""

# %%
# Train on clean digits; paint over a patch of each test digit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata.sparse_coding import SparseRepresentationClassifier

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(
    X, y, test_size=400, random_state=0, stratify=y
)
rng = np.random.default_rng(0)


def paint_over(images, side):
    """Fill a square of each image with one grey value."""
    out = images.reshape(-1, 8, 8).copy()
    for image in out:
        row, column = rng.integers(0, 9 - side, size=2)
        image[row : row + side, column : column + side] = rng.integers(0, 17)
    return out.reshape(images.shape)


# %%
# Compute the accuracy for larger and larger squares.

sides = (0, 1, 2, 3, 4)
methods = {
    "nearest neighbour": KNeighborsClassifier(1),
    "sparse representation": SparseRepresentationClassifier(alpha=0.1),
    "with pixels as atoms": SparseRepresentationClassifier(alpha=0.05, occlusion=True),
}
painted = {side: paint_over(test, side) for side in sides}
scores = {}
for name, method in methods.items():
    method.fit(train, y_train)
    scores[name] = [method.score(painted[side], y_test) for side in sides]
    print(name, [round(score, 3) for score in scores[name]])

# %%
# Plot one painted digit, the parts explained by pixels and by digits, and the class residuals.

model = methods["with pixels as atoms"]
found = model.predict(painted[3])
simple = methods["nearest neighbour"].predict(painted[3])
pick = int(np.flatnonzero((found == y_test) & (simple != y_test))[0])
sample = painted[3][pick] / np.linalg.norm(painted[3][pick])
code = model.encode(painted[3][[pick]]).toarray()[0]
pixels, digit = code[len(train) :], code[: len(train)] @ model.components_

fig, axes = plt.subplots(
    1, 5, figsize=(13, 2.9), layout="constrained", width_ratios=[1, 1, 1, 2, 2]
)
for ax, image, title in (
    (axes[0], sample, "painted over"),
    (axes[1], pixels, "explained by pixels"),
    (axes[2], digit, "by digits"),
):
    limit = np.abs(sample).max()
    ax.imshow(image.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set_title(title)
    ax.set_axis_off()
residuals = -model.decision_function(painted[3][[pick]])[0]
colors = np.where(np.arange(10) == y_test[pick], "C2", "0.7")
axes[3].bar(range(10), residuals, color=colors)
axes[3].set(title="residual of each class", xlabel="digit", xticks=range(10))
for name, values in scores.items():
    axes[4].plot(np.square(sides) / 64 * 100, values, "o-", label=name)
axes[4].set(xlabel="painted over, % of pixels", ylabel="accuracy", ylim=(0.7, 1.01))
axes[4].legend()
plt.show()
