"""
==================================================
Which of a million samples determine a classifier?
==================================================

We classify the fields of a checkerboard with a kernel, from as many samples as you like. A
support vector machine would take minutes, and its time grows faster than the square of the
number of samples. The core vector machine looks at all samples but computes only with the few
near the margin, along the edges of the fields. Up to 100 000 samples, the duality gap proves
that at most five per cent could still be gained. The fit to a million samples stops by the
published rule, ``radius_tol=1e-6``, in units of the radius of a ball. A warning states that
this tolerance exceeds a margin at this size, so the gap is far from closed. The error is small
nevertheless, and the fit takes less than half the time.

The second figure shows a rare class. With equal costs, the machine sacrifices this class
where the classes overlap. With costs inversely proportional to class frequency
(`class_weight="balanced"`), the border moves.
"""

# %%
# A checkerboard
# --------------
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from skmoderndata.svm import CoreSetDisplay, CoreVectorMachine


def board(n, rng):
    """Points of a board of 4 x 4 fields, and their colours."""
    X = rng.uniform(0, 4, size=(n, 2))
    return X, X.astype(int).sum(axis=1) % 2


rng = np.random.default_rng(0)
X_test, y_test = board(50_000, rng)
sizes, times, errors = [2_000, 6_000, 20_000, 60_000, 100_000], {}, {}
for name, make, most in [
    ("CoreVectorMachine", lambda: CoreVectorMachine(C=50, gamma=4, random_state=0), 100_000),
    ("SVC", lambda: SVC(C=50, gamma=4), 20_000),
]:
    make().fit(*board(500, rng))  # compile the loops before timing
    for n in sizes:
        if n > most:
            continue
        X, y = board(n, rng)
        start = time.perf_counter()
        model = make().fit(X, y)
        times.setdefault(name, []).append(time.perf_counter() - start)
        errors.setdefault(name, []).append(
            100 * (1 - model.score(X_test[:5000], y_test[:5000]))
        )

X, y = board(1_000_000, rng)
start = time.perf_counter()
with warnings.catch_warnings():  # the warning names the gap, which the title shows
    warnings.simplefilter("ignore")
    core = CoreVectorMachine(C=50, gamma=4, radius_tol=1e-6, n_jobs=2, random_state=0).fit(
        X, y
    )
million_seconds = time.perf_counter() - start
million_error = 100 * (1 - core.score(X_test, y_test))

fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
CoreSetDisplay.from_estimator(core, X, y, ax=axes[0])
axes[0].set(
    title=f"{len(core.support_)} support vectors of 1 000 000 samples,\n"
    f"published rule: duality gap {core.dual_gap_:.0%}, test error {million_error:.2f} %",
    aspect="equal",
)
ax = axes[1]
for name in times:
    ax.loglog(sizes[: len(times[name])], times[name], "o-", label=name)
    for n, seconds, error in zip(sizes, times[name], errors[name], strict=False):
        ax.annotate(
            f"{error:.2f} %", (n, seconds), xytext=(4, -12), textcoords="offset points"
        )
ax.loglog(
    [1_000_000], [million_seconds], "s", color="C0", label="CoreVectorMachine, published rule"
)
ax.annotate(
    f"{million_error:.2f} %",
    (1_000_000, million_seconds),
    xytext=(-34, 6),
    textcoords="offset points",
)
ax.set(xlabel="samples", ylabel="seconds", title="Time of training, and test errors")
ax.legend()

# %%
# A rare class
# ------------
rare = rng.normal(size=(150, 2)) * 0.6 + [1.5, 0.5]
common = rng.normal(size=(6000, 2)) * [1.2, 0.9]
X, y = np.vstack([common, rare]), np.repeat([0, 1], [6000, 150])
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 150), np.linspace(-3, 3, 150)), axis=-1)
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for ax, weight in zip(axes, [None, "balanced"], strict=True):
    model = CoreVectorMachine(C=0.3, gamma=0.5, class_weight=weight, random_state=0).fit(X, y)
    field = model.decision_function(grid.reshape(-1, 2)).reshape(150, 150)
    ax.contourf(grid[..., 0], grid[..., 1], field > 0, levels=[-0.5, 0.5, 1.5], alpha=0.3)
    ax.scatter(*common.T, s=1, color="tab:purple", alpha=0.4)
    ax.scatter(*rare.T, s=6, color="tab:orange")
    found = (model.predict(rare) == 1).mean(), (model.predict(common) == 1).mean()
    ax.set(
        title=f"class_weight={weight}: {found[0]:.0%} of the rare found,\n"
        f"{found[1]:.1%} of the other class classified as rare"
    )
plt.show()
