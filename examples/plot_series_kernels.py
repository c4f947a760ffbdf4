"""
How does a support vector machine use shapes of any length?
===========================================================

An outline traced at constant speed is a series as long as the outline. A support vector machine
accepts such series through a kernel: the exponential of their warping distance, or the sum over
all alignments. The baseline resamples all of them to one length first.
"""

# %%
# Extract outlines of digits, one point every six tenths of a pixel: series of 27 to 62 points.

import matplotlib.pyplot as plt
import numpy as np
from contourpy import contour_generator
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.kernels import DTWKernel, GlobalAlignment, Normalized
from skmoderndata.preprocessing import KernelTransformer, SpectrumCorrector


def outline(image, step=0.6):
    lines = contour_generator(z=np.pad(image, 1)).lines(5.0)
    line = max(lines, key=len)[:-1]
    line = np.roll(line, -line[:, 1].argmin(), axis=0)
    line = np.vstack([line, line[:1]])
    steps = np.r_[0, np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()]
    at = np.arange(0, steps[-1], step)
    line = np.column_stack([np.interp(at, steps, coordinate) for coordinate in line.T])
    return line - line.mean(axis=0)


def resampled(x, n_points=40):
    at = np.linspace(0, len(x) - 1, n_points)
    return np.column_stack([np.interp(at, np.arange(len(x)), c) for c in x.T]).ravel()


digits = load_digits()
shapes, y = [outline(image) for image in digits.images[:900]], digits.target[:900]
test = slice(500, 800)
print("lengths", min(map(len, shapes)), "to", max(map(len, shapes)))

# %%
# The two channels are the coordinates; the widths of the kernels come from the training series.
# The matrix of the warping distance is not positive semi-definite, so its spectrum is clipped
# first.

models = {
    "all alignments": make_pipeline(
        KernelTransformer(Normalized(GlobalAlignment("median"))),
        SVC(kernel="precomputed", C=100),
    ),
    "best alignment": make_pipeline(
        KernelTransformer(DTWKernel("median", radius=0.1, power=1.0)),
        SpectrumCorrector("clip"),
        SVC(kernel="precomputed", C=100),
    ),
    "resampled to one length": SVC(C=100),
}
sizes = [50, 100, 200]
table = np.array([resampled(x) for x in shapes])
curves = {name: [] for name in models}
for n in sizes:
    for name, model in models.items():
        X = table if name == "resampled to one length" else shapes
        model.fit(X[:n], y[:n])
        curves[name].append(1 - model.score(X[test], y[test]))
for name, errors in curves.items():
    print(f"{name:18s}", np.round(errors, 3))

# %%
# Left: the outlines as the classifier sees them, closed curves that begin at the top. Right: the
# errors on unseen digits. Alignments help most if there are few training digits.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for k, i in enumerate([2, 3, 5, 12, 13, 15]):
    x = shapes[i] + np.array([9.0 * (k % 3), 11.0 * (k // 3)])
    left.plot(*x.T, ".-", markersize=3, linewidth=0.8)
left.invert_yaxis()
left.set(aspect="equal", title="outlines of 2, 3 and 5 by two hands")
left.axis("off")
for (name, errors), style in zip(curves.items(), ("o-", "s-", "^--"), strict=True):
    right.plot(sizes, errors, style, label=name)
right.set(xlabel="Training digits", ylabel="Error on unseen digits", ylim=(0, None))
right.legend()
plt.show()
