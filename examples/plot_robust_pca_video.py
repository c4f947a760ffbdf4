"""
How do I separate moving objects from the background of a film?
===============================================================

A fixed camera films a scene under changing light while three objects pass. With one frame per
row, the film is a matrix: the background is nearly the same in every row, so its rank is low.
The objects cover few pixels of a frame, so they are sparse. Robust PCA separates the two
parts; for comparison, we also estimate the background by ordinary PCA and by the median of
each pixel.
"""

# %%
# The film is generated, so both parts are known: the background has rank two, for its brightness
# and for the direction of the light; noise is added.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from skmoderndata.datasets import make_video
from skmoderndata.decomposition import RobustPCA

NOISE = 0.02
video = make_video(200, noise=NOISE, random_state=0)
print(f"{video.data.shape[0]} frames of {video.data.shape[1]} pixels, ", end="")
print(f"objects cover {video.mask.mean():.1%} of them")

# %%
# Robust PCA is given neither the rank nor the noise level. PCA is given the rank.

rpca = RobustPCA(algorithm="stable").fit(video.data)
pca = PCA(n_components=2)
backgrounds = {
    "RobustPCA": rpca.low_rank_,
    "PCA(2)": pca.inverse_transform(pca.fit_transform(video.data)),
    "median": np.broadcast_to(np.median(video.data, axis=0), video.data.shape),
}

# %%
# A pixel is foreground if the film differs from the background by more than five standard
# deviations of the noise.


def quality(background):
    """Error of the background, and precision and recall of the foreground pixels."""
    error = np.sqrt(np.mean((background - video.background) ** 2))
    called = np.abs(video.data - background) > 5 * NOISE
    right = np.sum(called & video.mask)
    return error, right / called.sum(), right / video.mask.sum()


for name, background in backgrounds.items():
    error, precision, recall = quality(background)
    print(
        f"{name:9}  error of the background {error:.4f}, "
        f"precision {precision:.1%}, recall {recall:.1%}"
    )
print(f"noise estimated: {rpca.noise_std_:.4f} (truth {NOISE}); ", end="")
print(f"singular values {np.round(rpca.singular_values_[:4], 2)}")

# %%
# Plot four frames. In the background of PCA the objects remain as shadows, and everything else is
# slightly wrong as well; the median does not follow the light. The background of robust PCA has
# neither problem and is more precise than a single frame, by a factor of four.

frames = [12, 61, 108, 150]
pictures = {"film": video.data, "background\n(truth)": video.background}
for name, background in backgrounds.items():
    pictures[f"background\n{name}"] = background
for name, background in backgrounds.items():
    pictures[f"foreground\n{name}"] = video.data - background
fig, axes = plt.subplots(len(frames), len(pictures), figsize=(13, 5.6), layout="constrained")
for ax, (title, images) in zip(axes.T, pictures.items(), strict=True):
    ax[0].set_title(title, fontsize=9)
    for a, frame in zip(ax, frames, strict=True):
        image = images[frame].reshape(video.image_shape)
        if title.startswith("foreground"):
            a.imshow(image, cmap="RdBu", vmin=-0.3, vmax=0.3)
        else:
            a.imshow(image, cmap="gray", vmin=0, vmax=1)
        a.set(xticks=[], yticks=[])
for a, frame in zip(axes[:, 0], frames, strict=True):
    a.set_ylabel(f"frame {frame}")
plt.show()
