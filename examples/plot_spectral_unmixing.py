"""
Which substances are in a mixed pixel, and how much of each?
============================================================

A pixel of a satellite image, or a spot under a microscope, contains several substances, whose
spectra add up in proportion to their amounts. Neither spectra nor amounts are known, but both are
non-negative, and few substances share a pixel. Does non-negative factorisation with sparse amounts
separate the substances when plain factorisation leaves mixtures?
"""

# %%
# Generate a scene of 40 x 40 pixels and 60 wavelengths: four substances with smooth spectra, whose
# peaks overlap, in patches with soft borders. Noise of one per cent of a typical value is added.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, FastICA

from skmoderndata.decomposition import SparseNMF

rng = np.random.default_rng(0)
wavelengths = np.linspace(0.4, 2.4, 60)
peaks = [(0.6, 1.4), (0.9, 1.9), (1.2, 2.1), (0.7, 1.7)]
spectra = np.array(
    [0.15 + sum(np.exp(-(((wavelengths - at) / 0.2) ** 2)) for at in pair) for pair in peaks]
)
size = 40
fields = np.array([gaussian_filter(rng.normal(size=(size, size)), 4) for _ in peaks])
amounts = np.exp(fields / fields.std() * 3).reshape(len(peaks), -1).T
amounts /= amounts.sum(axis=1, keepdims=True)
X = amounts @ spectra
X = np.maximum(X + 0.01 * X.mean() * rng.normal(size=X.shape), 0)

# %%
# Each method is given the correct number of substances. Its results are matched to the true
# substances and compared by the angles between spectra and the correlations of the maps of
# amounts.

methods = {
    "SparseNMF": SparseNMF(4, alpha=0.05, random_state=0),
    "NMF": NMF(4, init="nndsvda", max_iter=2000, random_state=0),
    "FastICA": FastICA(4, random_state=0),
}


def matched(model):
    """Spectra and maps in the true order, with their errors."""
    maps = model.fit_transform(X)
    found = model.components_ if not isinstance(model, FastICA) else model.mixing_.T
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    cosines = np.abs(unit @ (spectra / np.linalg.norm(spectra, axis=1, keepdims=True)).T)
    order = linear_sum_assignment(-cosines.T)[1]
    angles = np.degrees(np.arccos(np.minimum(cosines[order, range(4)], 1)))
    maps = maps[:, order]
    fits = [abs(np.corrcoef(maps[:, j], amounts[:, j])[0, 1]) for j in range(4)]
    return found[order], maps, angles, fits


results = {name: matched(model) for name, model in methods.items()}
for name, (_, _, angles, fits) in results.items():
    print(
        f"{name:9}  angles of the spectra {np.round(angles, 1)} degrees, "
        f"correlations of the maps {np.round(fits, 3)}"
    )

# %%
# Plot the maps of one substance and the spectra of all (true spectra in grey, each scaled to
# the same height). With sparse amounts, three of four spectra are found to within a degree,
# and the fourth spectrum is twelve degrees off; the maps of all four substances are found.
# Plain factorisation leaves a little of the other substances in each spectrum. Independent
# components fail: amounts that add up to one are not independent.

fig, axes = plt.subplots(2, 4, figsize=(13, 5.4), layout="constrained")
axes[0, 0].imshow(amounts[:, 0].reshape(size, size), cmap="viridis")
axes[0, 0].set(title="truth: amounts of the first", xticks=[], yticks=[])
axes[1, 0].plot(wavelengths, spectra.T)
axes[1, 0].set(title="truth: spectra", xlabel="wavelength")
for column, (name, (found, maps, angles, _)) in zip(axes.T[1:], results.items(), strict=True):
    column[0].imshow(maps[:, 0].reshape(size, size), cmap="viridis")
    column[0].set(title=name, xticks=[], yticks=[])
    column[1].plot(wavelengths, (spectra / spectra.max(axis=1, keepdims=True)).T, color="0.8")
    for j, spectrum in enumerate(found):
        signed = spectrum * np.sign(spectrum @ spectra[j])
        column[1].plot(wavelengths, signed / signed.max(), color=f"C{j}")
    column[1].set(title=f"mean angle {angles.mean():.1f} degrees", xlabel="wavelength")
plt.show()
