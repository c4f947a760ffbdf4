"""
How does a camera with one pixel take a picture?
================================================

A single-pixel camera measures the light of a scene through a pattern of open and closed
mirrors, one pattern after the other. From fewer readings than pixels, sparse recovery in a
wavelet basis reconstructs the image. Next to it we show the least-squares solution of minimum
norm, which does not use sparsity. Below, we plot the error against the number of readings. We
also do this for other measurements: Fourier coefficients, mostly at low frequencies, as a
scanner measures them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

from skmoderndata.sparse_coding import CompressedSensing

side = 64
photograph = load_sample_images().images[0].mean(axis=2) / 255  # the photograph shows a temple
cut = photograph[40 : 40 + 4 * side, 180 : 180 + 4 * side]
scene = cut.reshape(side, 4, side, 4).mean(axis=(1, 3))
x = scene.reshape(1, -1)
rng = np.random.default_rng(0)


def psnr(picture):
    return -10 * np.log10(np.mean((picture.ravel() - x.ravel()) ** 2))


# %%
# Take the readings, with a little detector noise, and reconstruct the image. The patterns come
# from a Hadamard matrix, which is never formed.

noise = 0.05
camera = CompressedSensing(
    0.4,
    kind="single_pixel",
    basis="db2",
    algorithm="basis_pursuit",
    # twice the noise for the difference of two patterns, and a margin
    residual_tol=2.3 * noise,
    shape=(side, side),
    tol=1e-4,
    random_state=0,
).fit(x)
readings = camera.transform(x)
readings += noise * rng.normal(size=readings.shape)
found = camera.recover(readings)
print(
    f"{camera.n_measurements_} readings of {side * side} pixels, relative duality gap "
    f"{found.dual_gap[0]:.1e}, {np.count_nonzero(found.codes)} wavelets"
)

# The rows are orthogonal: the minimum-norm solution is the transpose.
signs = (2 * readings - readings[:, :1]).ravel()
least_norm = (2 * (camera.operator_.T @ signs) - signs.sum()) / side**2

# %%
# Compute the error against the number of readings.

shares = (0.1, 0.2, 0.3, 0.45, 0.6)
curves = {
    "single pixel, wavelets": {"kind": "single_pixel", "basis": "db2"},
    "single pixel, cosines": {"kind": "single_pixel", "basis": "dct"},
    "Fourier, mostly low frequencies": {"kind": "fourier", "basis": "db2", "decay": 2.0},
}
errors = {}
for title, settings in curves.items():
    errors[title] = []
    for share in shares:
        model = CompressedSensing(
            share, shape=(side, side), tol=1e-3, max_iter=1500, residual_tol=0.05, random_state=0,
            **settings,
        ).fit(x)  # fmt: skip
        errors[title].append(psnr(model.inverse_transform(model.transform(x))))

# %%
figure, axes = plt.subplots(1, 5, figsize=(13, 3.4), width_ratios=(1, 1, 1, 1, 1.7))
patterns = camera.operator_.T @ np.eye(camera.n_measurements_)[:, [7]]
for ax, (title, picture) in zip(
    axes,
    {
        "scene": scene,
        "one of the patterns": patterns,
        f"least squares\n{psnr(least_norm):.1f} dB": least_norm,
        f"sparse recovery\n{psnr(found.signals):.1f} dB": found.signals,
    }.items(),
    strict=False,
):
    ax.imshow(np.reshape(picture, (side, side)), cmap="gray", vmin=0, vmax=1)
    ax.set_title(title, fontsize=10)
    ax.axis("off")
for title, values in errors.items():
    axes[-1].plot(shares, values, "o-", ms=4, label=title)
axes[-1].set(xlabel="measurements per pixel", ylabel="PSNR in dB")
axes[-1].legend(fontsize=7)
figure.tight_layout()
plt.show()
