"""
What does a visual cortex learn from photographs?
=================================================

We whiten patches of two photographs as the retina does, code them under a sparse prior, and learn
the dictionary that makes the codes most likely. Principal components of the same patches are
gratings that cover the whole patch; the atoms are small edges with a position and an orientation,
like the receptive fields of simple cells (Olshausen and Field 1996).
"""

# %%
# Whiten the whole image: each frequency is amplified in proportion, and the highest frequencies,
# which contain noise rather than structure, are cut off.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA
from sklearn.feature_extraction.image import extract_patches_2d

from skmoderndata.decomposition import AtomsDisplay, Sparsenet


def whiten(picture, cut=0.4):
    """Filter with ``|f| exp(-(f / cut)^4)``, f in cycles per pixel."""
    rows, columns = (np.fft.fftfreq(size) for size in picture.shape)
    f = np.hypot(rows[:, None], columns)
    white = np.fft.ifft2(np.fft.fft2(picture) * f * np.exp(-((f / cut) ** 4))).real
    return white * np.sqrt(0.1) / white.std()


side = 10
parts = []
for image in load_sample_images().images:
    grey = image.mean(axis=2)[:426]
    half = grey.reshape(213, 2, 320, 2).mean(axis=(1, 3))  # halving averages out pixel noise
    white = whiten(np.log1p(half))[5:-5, 5:-5]  # cut off the edges, which contain artefacts
    parts.append(extract_patches_2d(white, (side, side), max_patches=15000, random_state=0))
patches = np.concatenate(parts).reshape(-1, side**2)
patches = patches - patches.mean(axis=1, keepdims=True)

# %%
# Learn the atoms and measure how sparse the codes are by their kurtosis, which is 0 for Gaussian
# codes.

models = {
    prior: Sparsenet(100, prior=prior, alpha=0.2, max_iter=8, random_state=0).fit(patches)
    for prior in ("log", "abs")
}
pca = PCA(100).fit(patches)


def kurtosis(codes):
    """Mean kurtosis of the coefficients."""
    codes = codes / codes.std(axis=0).clip(1e-12)
    return float(np.mean(codes**4) - 3)


sparseness = {"PCA": kurtosis(pca.transform(patches[:2000])[:, :99])}
for prior, model in models.items():
    sparseness[f'"{prior}"'] = kurtosis(model.transform(patches[:2000]))
for name, value in sparseness.items():
    print(f"{name}: kurtosis {value:.1f}")

# %%
# Plot the atoms next to the principal components.

fig, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for ax, model, title in (
    (axes[0], pca, "100 principal components"),
    (axes[1], models["log"], "100 atoms, prior log(1 + a²)"),
    (axes[2], models["abs"], "100 atoms, prior |a|"),
):
    AtomsDisplay.from_estimator(model, image_shape=(side, side), ax=ax, cmap="gray")
    ax.set_title(title)
plt.show()
