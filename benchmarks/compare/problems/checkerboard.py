"""Two classes on the squares of a checkerboard: many rows, a kernel machine."""

import numpy as np
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

# Number of squares along each side.
SQUARES = 4


def load(quick, full=False):
    n = by_plan(quick, full, 2000, 10_000, 50_000)
    rng = np.random.default_rng(0)
    X = rng.uniform(0, SQUARES, size=(n, 2))
    y = np.floor(X).astype(int).sum(axis=1) % 2
    about = f"{n} points on a checkerboard of {SQUARES} x {SQUARES} squares, without noise"
    return Data(X=X, y=y, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """Classes that the methods see, at every place."""
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    grid = np.linspace(0.01, SQUARES - 0.01, 120)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        seen = fitted.predict(points).reshape(grid.size, -1)
        ax.imshow(seen, cmap="Greys", extent=(0, SQUARES, 0, SQUARES), origin="lower")
        n_support = len(getattr(fitted.named_steps[STEP], "support_", ()))
        wrong = 100 * np.mean(fitted.predict(data.X[test]) != data.y[test])
        ax.set(title=f"{name}: {n_support} support vectors, {wrong:.1f} % wrong")


PROBLEM = Problem(
    title="checkerboard",
    description="A kernel machine separates two classes of points that lie on the squares of a "
    "checkerboard: 10,000 points, or 50,000 in the large protocol. The picture shows the "
    "predicted class at every place.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
    n_outer=5,
)
