"""
How do I separate two peaks in a spectrum image of HyperSpy?
============================================================

HyperSpy analyses spectrum images from electron microscopes. Its ``decomposition`` accepts any
estimator with ``fit_transform`` and ``components_``. Here we decompose a data set of HyperSpy in
which a narrow peak moves over a wide one. Which part of each spectrum belongs to the narrow peak
(``pip install hyperspy``)?
"""

# %%
# The data set has 32 x 32 pixels and two peaks of random counts. The narrow peak moves by up to
# ten units of energy, so several components are needed to describe it. Eight channels are summed
# to one. Without HyperSpy, the same peaks are computed here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF

from skmoderndata.decomposition import SparseNMF

try:
    import hyperspy.api as hs
except ImportError:
    hs = None
    print("HyperSpy is not installed (pip install hyperspy): the estimators run on their own.")

BINNED = 8
y, x = np.mgrid[-16:16, -16:16]
energy = 0.1 * (BINNED * np.arange(1024 // BINNED) + (BINNED - 1) / 2)


def peak(center, width, height):
    """Spectra of a Gaussian peak with this centre, full width and height in each pixel."""
    shape = -4 * np.log(2) * ((energy - center[..., None]) / width) ** 2
    return BINNED * height[..., None] * np.exp(shape)


wave = 10 * np.sin(3 * np.pi * x / 32) * np.cos(4 * np.pi * y / 32)
spot = 600 * np.exp(-(x**2) / 800 - y**2 / 200)
radius = np.hypot(x, y)
narrow = peak(50 + wave, 6, 0.5 * (0.5 + np.sin(radius) ** 2) * spot)
wide = peak(50 - 0.1 * wave, 60, (0.5 + np.cos(radius) ** 2) * spot)

if hs is None:
    counts = np.random.default_rng(0).poisson(narrow + wide).astype(float)
else:
    image = hs.data.two_gaussians().rebin(scale=(1, 1, BINNED))
    image.change_dtype(float)
    counts = image.data

# %%
# Both factorisations are non-negative and have seven components. A component belongs to the narrow
# peak if it is less than 25 units wide at half of its height.


def narrow_part(model):
    """Decompose, and return the spectra of the narrow components."""
    if hs is None:
        amounts = model.fit_transform(counts.reshape(-1, energy.size))
        spectra = model.components_
    else:
        image.decomposition(algorithm=model, output_dimension=7, print_info=False)
        amounts = image.learning_results.loadings
        spectra = image.learning_results.factors.T

    widths = (energy[1] - energy[0]) * (spectra > spectra.max(axis=1, keepdims=True) / 2).sum(
        1
    )
    chosen = (widths > 0) & (widths < 25)
    print(f"{type(model).__name__}: widths {np.round(widths).astype(int)}")
    return (amounts[:, chosen] @ spectra[chosen]).reshape(counts.shape)


models = (NMF(7, init="nndsvda", max_iter=5000, tol=1e-6), SparseNMF(7))
found = {type(model).__name__: narrow_part(model) for model in models}
errors = {
    name: np.linalg.norm(part - narrow) / np.linalg.norm(narrow)
    for name, part in found.items()
}
print({name: round(float(error), 2) for name, error in errors.items()})

# %%
# Plot one spectrum with its narrow part, and the map of the narrow part. Both factorisations
# describe the counts equally well. But a description by non-negative parts is not unique: without
# a penalty, narrow components also carry counts of the wide peak. A small penalty on the amounts
# (the default) leaves the wide peak to one component. HyperSpy 2.5 cannot rebuild an image from
# estimators that have an attribute ``mean_``, so use estimators that do not centre.

fig, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
row, column = 8, 12
axes[0].plot(energy, counts[row, column], ".", color="0.7", label="counts")
axes[0].plot(energy, narrow[row, column], "k", label="true narrow peak")
for name, part in found.items():
    axes[0].plot(energy, part[row, column], label=name)
axes[0].set(xlabel="energy", title="one pixel", ylim=(0, 8500))
axes[0].legend(fontsize=8)

maps = {"true narrow peak": narrow.sum(axis=2)}
maps |= {f"{name}, error {errors[name]:.2f}": found[name].sum(axis=2) for name in found}
for ax, (title, intensity) in zip(axes[1:], maps.items(), strict=True):
    ax.imshow(intensity, vmin=0, vmax=1.5 * narrow.sum(axis=2).max())
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
