"""
How do I repair a film in which every tenth pixel is black or white?
====================================================================

This is salt and pepper noise. In each frame, different random pixels fail and show black or
white, whatever the scene is. A median over the neighbourhood repairs single pictures but blurs
them. A film contains more information: its frames are alike. Robust PCA finds the failed
pixels and estimates their values.
"""

# %%
# Generate a film of a scene under changing light, with noise in every pixel. There are no objects,
# so every pixel that differs from the background has failed. The true values are known.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import median_filter

from skmoderndata.datasets import make_video
from skmoderndata.decomposition import RobustPCA

NOISE = 0.02
film = make_video(100, noise=NOISE, random_state=0)
truth = film.background
rng = np.random.default_rng(0)
clean = truth + NOISE * rng.normal(size=truth.shape)


def damaged(share):
    """Film with a fraction of failed pixels, and the mask of these pixels."""
    failed = rng.random(truth.shape) < share
    return np.where(failed, rng.integers(2, size=truth.shape), clean), failed


# %%
# We compare three methods: the median of the 3 x 3 neighbourhood in each frame, the median of each
# pixel over five frames, and robust PCA of the film with one frame per row.


def frames(rows):
    return rows.reshape(-1, *film.image_shape)


def repaired(rows):
    """Film restored by each method."""
    rpca = RobustPCA(tol=1e-3).fit(rows)
    found = {
        "median of neighbours": median_filter(frames(rows), (1, 3, 3)).reshape(rows.shape),
        "median of five frames": median_filter(frames(rows), (5, 1, 1)).reshape(rows.shape),
        "RobustPCA": rpca.low_rank_,
    }
    return found, rpca


def error(rows):
    return np.sqrt(np.mean((rows - truth) ** 2))


shares = [0.05, 0.1, 0.2, 0.3]
errors = {}
shown = None
for share in shares:
    rows, failed = damaged(share)
    found, rpca = repaired(rows)
    for name, answer in found.items():
        errors.setdefault(name, []).append(error(answer))
    marked = rpca.support_
    print(
        f"{share:.0%} failed: rank {rpca.rank_}, noise {rpca.noise_std_:.3f}, "
        f"{np.mean(marked[failed]):.1%} of them marked, {np.mean(marked[~failed]):.2%} of others"
    )
    if share == 0.2:
        shown = {"film": rows, **found, "truth": truth}

# %%
# If every fifth pixel has failed, the medians leave wrong pixels whose neighbours, in space or
# time, have failed too. The low-rank part averages over all frames and is closer to the true film
# than an undamaged frame is.

fig, axes = plt.subplots(2, 3, figsize=(11, 5.4), layout="constrained")
for ax, (name, rows) in zip(axes.ravel(), shown.items(), strict=False):
    ax.imshow(frames(rows)[70], cmap="gray", vmin=0, vmax=1)
    ax.set(title=name, xticks=[], yticks=[])
ax = axes[1, 2]
for name, values in errors.items():
    ax.plot(shares, values, "o-", label=name)
ax.axhline(NOISE, color="k", ls=":", label="undamaged frame")
ax.set(yscale="log", xlabel="fraction of failed pixels", ylabel="error of a pixel")
ax.legend(fontsize=8, loc="upper left")
ax.set_ylim(top=1)
plt.show()
