"""
How much of a photograph can be missing?
========================================

Seven of ten pixels of a photograph are lost, and some scratches run across it. Each patch is coded
from its remaining pixels; overlapping patches are averaged. Repeated rounds of filling and coding
sharpen the result, and finally similar patches are filtered together.
"""

# %%
# Crop a photograph and set the missing pixels to NaN.

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import griddata
from sklearn.datasets import load_sample_image

from skmoderndata.image import DictionaryInpainter

whole = load_sample_image("china.jpg")[60:220, 150:310].astype(float)
rng = np.random.default_rng(0)
missing = rng.uniform(size=whole.shape[:2]) < 0.7
rows, columns = np.indices(missing.shape)
for start in (20, 75, 130):  # scratches
    missing |= np.abs(rows - start - 15 * np.sin(columns / 25)) < 2
seen = np.where(missing[:, :, None], np.nan, whole)


def decibels(image):
    """Peak signal-to-noise ratio of the missing pixels."""
    return 10 * np.log10(255**2 / np.mean((image - whole)[missing] ** 2))


# %%
# For comparison, interpolate linearly between the known pixels and code the patches once. Then run
# expectation maximisation with a dictionary learned from the image itself.

known = np.argwhere(~missing)
linear = griddata(known, whole[~missing], np.argwhere(np.ones_like(missing)), method="linear")
nearest = griddata(
    known, whole[~missing], np.argwhere(np.ones_like(missing)), method="nearest"
)
linear = np.where(np.isnan(linear), nearest, linear).reshape(whole.shape)
once = DictionaryInpainter("masked", dictionary="cosines").fit_transform(seen)
rounds = DictionaryInpainter("em", random_state=0).fit_transform(seen)
results = (("linear", linear), ("coded once", once), ("learned, 20 rounds", rounds))
for name, image in results:
    print(f"{name}: {decibels(image):.2f} dB")

# %%
# Linear interpolation breaks edges into dots; the learned dictionary restores them as lines.

fig, axes = plt.subplots(2, 4, figsize=(12, 6.4), layout="constrained")
shown = (("known", np.nan_to_num(seen, nan=255.0)), *results)
for column, (name, image) in enumerate(shown):
    pixels = np.clip(image, 0, 255).astype(np.uint8)
    title = name if column == 0 else f"{name}: {decibels(image):.1f} dB"
    axes[0, column].imshow(pixels)
    axes[0, column].set_title(title)
    axes[1, column].imshow(pixels[30:90, 50:110])
    axes[1, column].set_title("detail")
for ax in axes.flat:
    ax.set_axis_off()
plt.show()
