"""
==================================================
Which samples hold the smallest ball of all?
==================================================

The smallest ball around 20 000 points is fixed by two or three of them. A core set finds these
after looking closely at some twenty points: solve the problem on a few, let the furthest of the
others join, repeat. The bound from below, which the weights prove, and the radius of the ball
that holds everything meet within a few passes; steps of Frank-Wolfe type need one pass each.

Under a Gaussian kernel the ball follows the shape of the data: the right picture shows the
distance from its centre in feature space, and the surface.
"""

# %%
# The data, and the balls
# -----------------------
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.svm import MinimumEnclosingBall

rng = np.random.default_rng(1)
X = rng.normal(size=(20_000, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
ball = MinimumEnclosingBall().fit(X)

fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.scatter(*X[::10].T, s=2, color="0.75")
ax.scatter(*X[ball.core_indices_].T, s=25, color="tab:orange", label="core set")
ax.scatter(*X[ball.support_].T, s=70, facecolor="none", edgecolor="tab:red", label="support")
ax.add_patch(plt.Circle(ball.center_, ball.radius_, fill=False, color="tab:blue"))
ax.plot(*ball.center_, "+", color="tab:blue", ms=10)
ax.set(aspect="equal", title=f"{len(X)} points, {ball.n_passes_} passes")
ax.legend(loc="upper left")

# %%
# Passes until the bounds meet
# ----------------------------
# In 50 dimensions, three ways of getting there.
Z = rng.normal(size=(20_000, 50))
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
for solver, style in [("core_set", "o-"), ("away_steps", "-"), ("badoiu_clarkson", "--")]:
    steps = [1, 2, 3, 4, 5, 6] if solver == "core_set" else [1, 3, 10, 30, 100, 200]
    passes, gaps = [], []
    for most in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stopped on purpose
            found = MinimumEnclosingBall(solver=solver, max_iter=most, tol=1e-8).fit(Z)
        passes.append(found.n_passes_)
        gaps.append(max(found.dual_gap_, 1e-9))
    ax.loglog(passes, gaps, style, label=solver)
ax.set(
    xlabel="passes over the data",
    ylabel="relative gap",
    title="20 000 points in 50 dimensions",
)
ax.legend()

# %%
# In the feature space of a kernel
# --------------------------------
angle = rng.uniform(0, 1.5 * np.pi, 400)
arc = np.c_[np.cos(angle), np.sin(angle)] * 2 + 0.15 * rng.normal(size=(400, 2))
soft = MinimumEnclosingBall("rbf", gamma=1.0).fit(arc)
grid = np.stack(np.meshgrid(*[np.linspace(-3.2, 3.2, 120)] * 2), axis=-1)
distance = -soft.score_samples(grid.reshape(-1, 2)).reshape(120, 120)
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.contourf(grid[..., 0], grid[..., 1], distance, 20, cmap="Blues_r")
ax.contour(grid[..., 0], grid[..., 1], distance, [soft.radius_], colors="tab:red")
ax.scatter(*arc.T, s=4, color="0.3")
ax.set(aspect="equal", title="Gaussian kernel: centre and surface")
plt.show()
