"""
How many atoms does a patch of an image need?
=============================================

We cut a noisy photograph into all its patches of 8 x 8 pixels, code each patch with cosines, put
the patches back and average them. With the same number of atoms for every patch, flat patches get
too many, which code noise, and detailed patches too few. With a bound on the error, derived from
the noise level, each patch gets as many atoms as it needs.
"""

# %%
# Load the photograph, add noise, and compute 256 cosines.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

from skmoderndata.sparse_coding import SparseCoder, dct_dictionary

sigma, size = 20.0, 8
clean = load_sample_image("china.jpg").mean(axis=2)[60:220, 250:450]
noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
dictionary = dct_dictionary((size, size), n_atoms=16)

patches = extract_patches_2d(noisy, (size, size)).reshape(-1, size * size)
means = patches.mean(axis=1, keepdims=True)


def denoise(**settings):
    """Code and reassemble the patches; return the image and the number of atoms."""
    coder = SparseCoder(dictionary, **settings)
    encoding = coder.fit(patches - means).encode(patches - means)
    smooth = (coder.inverse_transform(encoding.codes) + means).reshape(-1, size, size)
    return reconstruct_from_patches_2d(smooth, clean.shape), encoding.n_nonzero_coefs


def psnr(image):
    """Peak signal-to-noise ratio in decibels."""
    return 10 * np.log10(255**2 / np.mean((image - clean) ** 2))


# %%
# Use the same number of atoms for all patches, or as many as each patch needs.

counts = [1, 2, 3, 4, 6, 8]
fixed = [psnr(denoise(transform_n_nonzero_coefs=count)[0]) for count in counts]
restored, needed = denoise(residual_tol=size * 1.15 * sigma)
print(f"noisy: {psnr(noisy):.2f} dB, error bound: {psnr(restored):.2f} dB")
print(f"best fixed number, {counts[int(np.argmax(fixed))]}: {max(fixed):.2f} dB")

# %%
# The lower right panel shows the number of atoms of each patch: none in the sky, many along edges.
# A fixed number is worse, even the best one, which you cannot know without the clean image.

fig, axes = plt.subplots(2, 2, figsize=(10, 7.4), layout="constrained")
shown = {"vmin": 0, "vmax": 255, "cmap": "gray"}
axes[0, 0].imshow(noisy, **shown)
axes[0, 0].set_title(f"with noise, {psnr(noisy):.1f} dB")
axes[0, 1].imshow(restored, **shown)
axes[0, 1].set_title(f"error bound, {psnr(restored):.1f} dB")
rows, columns = clean.shape[0] - size + 1, clean.shape[1] - size + 1
picture = axes[1, 1].imshow(needed.reshape(rows, columns), cmap="viridis", vmax=12)
axes[1, 1].set_title("atoms needed by the patch at each place")
fig.colorbar(picture, ax=axes[1, 1], shrink=0.8)
for ax in (axes[0, 0], axes[0, 1], axes[1, 1]):
    ax.set_axis_off()
axes[1, 0].plot(counts, fixed, "o-", color="C0", label="same number for every patch")
axes[1, 0].axhline(psnr(restored), color="C3", label="error bound")
axes[1, 0].set(xlabel="atoms", ylabel="dB", title="Quality against the clean image")
axes[1, 0].legend()
plt.show()
