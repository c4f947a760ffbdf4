"""
Can a scanner skip nine tenths of its measurements?
===================================================

Magnetic resonance measures the Fourier coefficients of an image, its k-space, one after the other,
so fewer coefficients mean faster scans. An image of vessels is dark except for thin lines, and an
image with few bright pixels is determined by few coefficients. The measurements are complex but
the unknowns are real: `real_measurements` stacks the real and imaginary parts.
"""

# %%
# Use an image of 128 x 128 pixels and a tenth of its coefficients, drawn at random, with noise.
# Only one of each conjugate pair is measured. The operator is a fast Fourier transform, so no
# matrix is formed.

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator

from skmoderndata.sparse_coding import SparseRecovery, real_measurements

n = 128
image = np.zeros((n, n))
vessels = [  # each vessel: first and last row, first and last column, bend, brightness
    (14, 114, 60, 74, 9.0, 1.0),
    (42, 92, 68, 106, -8.0, 0.8),
    (56, 106, 68, 30, 7.0, 0.8),
]
for top, bottom, left, right, bend, bright in vessels:
    t = np.linspace(0, 1, bottom - top + 1)
    rows = np.round(top + (bottom - top) * t).astype(int)
    columns = np.round(left + (right - left) * t + bend * np.sin(np.pi * t)).astype(int)
    image[rows, columns] = bright * (1 - 0.4 * t)

rng = np.random.default_rng(0)
down, across = np.divmod(np.arange(n * n), n)
half = ((down > 0) & (down < n // 2) & (across != n // 2)) | (
    (down == 0) & (across > 0) & (across < n // 2)
)
chosen = np.sort(rng.choice(np.flatnonzero(half), n * n // 20, replace=False))


def measure(x):
    return np.fft.fft2(x.reshape(n, n), norm="ortho").ravel()[chosen]


def adjoint(z):
    whole = np.zeros(n * n, dtype=complex)
    whole[chosen] = z.ravel()
    return np.fft.ifft2(whole.reshape(n, n), norm="ortho").ravel()


k_space = LinearOperator(
    (len(chosen), n * n), matvec=measure, rmatvec=adjoint, dtype=np.complex128
)
noise = 0.01 * (rng.normal(size=len(chosen)) + 1j * rng.normal(size=len(chosen)))
measured = k_space @ image.ravel() + noise
print(f"{np.count_nonzero(image)} bright pixels, {len(chosen)} complex measurements")

# %%
# Compute the minimum-energy image, with zeros for the unmeasured coefficients, and the image of
# minimum l1 norm within the noise, whose pixels are non-negative.

zero_filled = 2 * adjoint(measured).real.reshape(n, n)
start = time.perf_counter()
model = SparseRecovery(
    algorithm="basis_pursuit", residual_tol=np.linalg.norm(noise), positive=True
).fit(*real_measurements(k_space, measured))
seconds = time.perf_counter() - start
found = model.coef_.reshape(n, n)
print(f"{seconds:.1f} s, {model.n_iter_} pairs of products, duality gap {model.dual_gap_:.1e}")

# %%
# Pixels are a suitable basis for vessels. Most images also have broad parts and edges: in wavelets
# they have more coefficients than a tenth of the measurements can determine.

fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
mask = np.zeros(n * n)
mask[chosen] = 1
mask = mask.reshape(n, n)
mask = np.fft.fftshift(np.maximum(mask, np.roll(mask[::-1, ::-1], (1, 1), (0, 1))))
pictures = {
    "image": image,
    "measured frequencies": mask,
    "zeros elsewhere": zero_filled,
    "minimum l1 norm": found,
}
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    error = np.linalg.norm(picture - image) / np.linalg.norm(image)
    title = (
        f"{name}: error {error:.2f}" if picture is zero_filled or picture is found else name
    )
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
