"""
Can an image denoise itself?
============================

The method divides a noisy photograph into overlapping patches, codes each patch with a few atoms,
and averages the results. The atoms can be cosines, which suit any image reasonably well, or they
can be learned from the noisy image itself: patterns that repeat are structure, patterns that do
not are noise.
"""

# %%
# Crop a photograph and add noise of 20 grey levels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from skmoderndata.decomposition import AtomsDisplay
from skmoderndata.image import DictionaryDenoiser

clean = load_sample_image("china.jpg")[60:220, 150:310].astype(float)
noisy = clean + 20 * np.random.default_rng(0).normal(size=clean.shape)


def decibels(image):
    """Peak signal-to-noise ratio."""
    return 10 * np.log10(255**2 / np.mean((image - clean) ** 2))


# %%
# Use cosines, and then atoms learned from patches of the noisy image. In the last fit, the noise
# level is not given but estimated.

cosines = DictionaryDenoiser(noise_std=20, dictionary="cosines").fit_transform(noisy)
model = DictionaryDenoiser(noise_std=20, random_state=0)
learned = model.fit_transform(noisy)
estimated = DictionaryDenoiser(random_state=0).fit(noisy)
print(f"noise estimated as {estimated.noise_std_:.1f} gray levels")
for name, image in (("noisy", noisy), ("cosines", cosines), ("learned", learned)):
    print(f"{name}: {decibels(image):.2f} dB")

# %%
# The atoms consist of edges and textures of this image, in its colours.

fig, axes = plt.subplots(2, 4, figsize=(12, 6.2), layout="constrained")
pictures = (("clean", clean), ("noisy", noisy), ("cosines", cosines), ("learned", learned))
for column, (name, image) in enumerate(pictures):
    pixels = np.clip(image, 0, 255).astype(np.uint8)
    axes[0, column].imshow(pixels)
    axes[0, column].set_title(name if column == 0 else f"{name}: {decibels(image):.1f} dB")
    axes[1, column].imshow(pixels[30:90, 50:110])
    axes[1, column].set_title("detail")
for ax in axes.flat:
    ax.set_axis_off()

fig, ax = plt.subplots(figsize=(12, 3.4), layout="constrained")
AtomsDisplay.from_estimator(model, image_shape=(8, 8, 3), max_atoms=256, n_columns=32, ax=ax)
ax.set_title("the 256 atoms learned from the noisy image")
plt.show()
