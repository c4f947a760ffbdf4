"""
How do I fit a surface to scattered points?
===========================================

A scanner gives points on the surface of a body, here a bumpy ring. The surface is the zero set
of a function that core vector regression learns. Points on the surface get the value 0; points
a little inside and outside, along the normals, get a negative and a positive constant. A wide
kernel finds the shape but not the bumps; a narrow one has no values far from the points. As in
the paper by Tsang, Kwok and Lai, the regression is therefore repeated: a second and a third
machine, with kernels of half and a quarter of the width, predict the residuals of the machines
before them.
"""

# %%
# Draw points on a bumpy ring, with a little noise, and compute their normals.
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.svm import CoreVectorRegressor


def body(points):
    """Negative inside the ring, positive outside, zero on its surface."""
    x, y, z = points.T
    angle = np.arctan2(y, x)
    radius = 0.33 + 0.05 * np.cos(9 * angle)
    return np.hypot(np.hypot(x, y) - 1, z) - radius


def normals(points):
    """Outward unit vectors, by finite differences."""
    steps = 1e-5 * np.eye(3)
    slope = np.column_stack([body(points + h) - body(points - h) for h in steps])
    return slope / np.linalg.norm(slope, axis=1, keepdims=True)


rng = np.random.default_rng(0)
cloud = rng.uniform([-1.5, -1.5, -0.5], [1.5, 1.5, 0.5], size=(40_000, 3))
near = cloud[np.abs(body(cloud)) < 0.05][:1700]
# project onto the surface, to first order
surface = near - body(near)[:, None] * normals(near)
surface += 0.004 * rng.normal(size=surface.shape)
outward = normals(surface)
offset = 0.08
X = np.concatenate([surface, surface - offset * outward, surface + offset * outward])
y = np.repeat([0.0, -offset, offset], len(surface))

# %%
# Fit three machines, each on the residuals of the sum of the machines before it.
widths = [0.6, 0.3, 0.15]
machines = []
errors = y.copy()
for width in widths:
    machine = CoreVectorRegressor(
        C=10, tube_distance=0.1, gamma=1 / (2 * width**2), tol=0.1, random_state=0
    ).fit(X, errors)
    errors = errors - machine.predict(X)
    machines.append(machine)
    print(
        f"width {width}: {len(machine.support_)} of {len(X)} points, "
        f"error {np.sqrt(np.mean(errors**2)):.4f}"
    )


def level(points, n_machines):
    return sum(machine.predict(points) for machine in machines[:n_machines])


# %%
# Plot a cut through the ring, with the surface after one, two and three machines, and the whole
# ring, with each line of sight followed to the first change of sign.
s = np.linspace(-1.5, 1.5, 110)
plane = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2)
cut = np.column_stack([plane, np.zeros(len(plane))])

depth = np.linspace(0.5, -0.5, 21)
t = np.linspace(-1.5, 1.5, 70)
sight = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
height = np.full(len(sight), np.nan)
before = np.full(len(sight), 1.0)
for z in depth:
    open_rays = np.flatnonzero(np.isnan(height))
    rays = sight[open_rays]
    # leave out places far from the training points
    close = np.abs(np.hypot(*rays.T) - 1) < 0.55
    value = np.full(len(rays), 1.0)
    value[close] = level(np.column_stack([rays[close], np.full(close.sum(), z)]), 3)
    hit = value < 0
    share = value[hit] / (value[hit] - before[open_rays[hit]])
    height[open_rays[hit]] = z + share * (depth[0] - depth[1])
    before[open_rays] = value

# %%
fig, axes = plt.subplots(1, 4, figsize=(13, 3.5), layout="constrained")
known = np.abs(np.hypot(*plane.T) - 1) < 0.55
true = body(cut).reshape(110, 110)
for k, ax in enumerate(axes[:3], start=1):
    values = np.where(known, level(cut, k), np.nan)
    wrong = np.mean((values[known] < 0) != (body(cut)[known] < 0))
    ax.contour(s, s, true, [0], colors="0.7", linewidths=3)
    ax.contour(s, s, values.reshape(110, 110), [0], colors="C0")
    ax.set_aspect("equal")
    ax.set_title(f"{k} of 3 widths: {100 * wrong:.1f} % wrong", fontsize=10)
slope_y, slope_x = np.gradient(height.reshape(70, 70), t, t)
light = (1 - 0.5 * slope_x + 0.5 * slope_y) / np.sqrt(1 + slope_x**2 + slope_y**2)
axes[3].imshow(
    light, cmap="gray", origin="lower", extent=(-1.5, 1.5, -1.5, 1.5), vmin=0, vmax=1.3
)
axes[3].set(title="the surface from above")
fig.supxlabel(
    "grey: the true surface in the plane z = 0; blue: where the function is zero", size=9
)
plt.show()
