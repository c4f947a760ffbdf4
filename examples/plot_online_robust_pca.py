"""
Which pixels of a live film belong to the background?
=====================================================

A camera never stops, and no computer can keep all frames. `OnlineRobustPCA` sees each of 10,000
frames once, keeps three components and their sums, and splits each frame into the background and
the passing objects. We give ordinary incremental PCA the same task.
"""

# %%
# The film is generated, so both parts are known: the light changes in brightness and direction,
# objects pass, and noise is added. The frames arrive in chunks of 500.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import IncrementalPCA

from skmoderndata.datasets import make_video
from skmoderndata.decomposition import OnlineRobustPCA

NOISE = 0.02
film = make_video(10_000, noise=NOISE, random_state=0)
blocks = np.array_split(np.arange(10_000), 20)
print(f"{film.data.shape[1]} pixels, of which objects cover {film.mask.mean():.1%}")

# %%
# Each chunk is evaluated with the components of the earlier chunks and then added to them. The
# error is the error of the background. The background has two components; with `alpha=1` a third
# component, which would otherwise absorb the objects, fades.

models = {
    "OnlineRobustPCA": OnlineRobustPCA(n_components=3, alpha=1),
    "IncrementalPCA": IncrementalPCA(n_components=3),
}
errors = {name: [] for name in models}
for i, rows in enumerate(blocks):
    some = rows[::50]
    for name, model in models.items():
        if i > 0:
            background = model.inverse_transform(model.transform(film.data[some]))
            error = np.sqrt(np.mean((background - film.background[some]) ** 2))
            errors[name].append(error)
        model.partial_fit(film.data[rows])

robust = models["OnlineRobustPCA"]
print(f"noise estimated: {robust.noise_std_:.4f} (truth {NOISE})")

# %%
# In frames of the last chunk, a pixel is foreground if it differs from the background by more than
# five standard deviations of the noise.

last = blocks[-1][::5]
low_rank, sparse = robust.decompose(film.data[last])
found = sparse != 0
right = np.sum(found & film.mask[last])
print(f"precision {right / found.sum():.1%}, recall {right / film.mask[last].sum():.1%}")

# %%
# The components of incremental PCA absorb the objects, which remain as shadows in the background;
# the components of robust PCA do not. From the first chunks on, its estimate of the background is
# closer to the true background than a frame is.

pca = models["IncrementalPCA"]
shadows = pca.inverse_transform(pca.transform(film.data[last]))
covered = film.mask[last].sum(axis=1)
frames = np.argsort(-covered)[[0, 10, 20]]
pictures = {
    "film": film.data[last],
    "background\nOnlineRobustPCA": low_rank,
    "errors found": sparse,
    "background\nIncrementalPCA": shadows,
}

fig = plt.figure(figsize=(12, 4.6), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=[1.6, 1])
axes = left.subplots(3, 4)
for column, (title, images) in zip(axes.T, pictures.items(), strict=True):
    column[0].set_title(title, fontsize=9)
    span = {"vmin": 0, "vmax": 1, "cmap": "gray"}
    if title == "errors found":
        span = {"vmin": -0.5, "vmax": 0.5, "cmap": "RdBu"}
    for ax, frame in zip(column, frames, strict=True):
        ax.imshow(images[frame].reshape(film.image_shape), **span)
        ax.set(xticks=[], yticks=[])

ax = right.subplots()
seen = 500 * np.arange(1, 20)
for name, values in errors.items():
    ax.plot(seen, values, "o-", ms=3, label=name)
ax.axhline(NOISE, color="k", ls=":", label="frame without objects")
ax.set(yscale="log", xlabel="frames seen", ylabel="background error, next frames")
ax.legend()
plt.show()
