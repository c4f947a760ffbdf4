"""
====================================================
Which samples determine the smallest enclosing ball?
====================================================

Two or three of 20 000 points determine the smallest ball around all of them. A core set finds
these points after examining only about twenty: solve the problem on a few points, add the furthest
of the remaining points, and repeat. The lower bound, which the weights prove, and the radius of
the ball that encloses everything converge within a few passes; steps of Frank-Wolfe type need one
pass each.

Under a Gaussian kernel the ball follows the shape of the data: the last panel shows its interior.
"""

# %%
# The data, and the balls
# -----------------------
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.svm import CoreSetDisplay, MinimumEnclosingBall

rng = np.random.default_rng(1)
X = rng.normal(size=(20_000, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
ball = MinimumEnclosingBall().fit(X)

fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
CoreSetDisplay.from_estimator(ball, X, ax=ax)
ax.plot(*ball.center_, "+", color="tab:blue", ms=10)
ax.set(aspect="equal", title=f"{len(X)} points, {ball.n_passes_} passes")

# %%
# Passes until the bounds meet
# ----------------------------
# In 50 dimensions, compare three algorithms.
Z = rng.normal(size=(20_000, 50))
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
for solver, style in [("core_set", "o-"), ("away_steps", "-"), ("badoiu_clarkson", "--")]:
    steps = [1, 2, 3, 4, 5, 6] if solver == "core_set" else [1, 3, 10, 30, 100, 200]
    passes, gaps = [], []
    for most in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fits are stopped early on purpose
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
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
CoreSetDisplay.from_estimator(soft, arc, ax=ax)
ax.set(aspect="equal", title="Gaussian kernel: the ball follows the arc")
plt.show()
