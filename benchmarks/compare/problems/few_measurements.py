"""A line of a photograph from fewer random measurements than it has pixels."""

import numpy as np
from scipy.fft import idct
from sklearn.datasets import load_sample_images
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem

LINE = 200
NOISE = 0.01


def load(quick):
    n, m = (64, 40) if quick else (256, 160)
    picture = load_sample_images().images[0].mean(axis=2) / 255
    line = picture[LINE, 100 : 100 + n]
    basis = idct(np.eye(n), axis=0, norm="ortho")  # columns are cosines
    rng = np.random.default_rng(0)
    measure = rng.normal(size=(m, n)) / np.sqrt(m)
    y = measure @ line + NOISE * rng.normal(size=m)
    about = (
        f"{m} random measurements, with noise of {NOISE:g}, of {n} pixels of a photograph of "
        "scikit-learn; coefficients of cosines"
    )
    return Data(X=measure @ basis, y=y, about=about, extra={"line": line, "basis": basis})


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    line, basis = data.extra["line"], data.extra["basis"]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        coef = fitted.named_steps[STEP].coef_
        guess = basis @ coef
        error = np.linalg.norm(guess - line) / np.linalg.norm(line)
        ax.plot(line, color="0.7", lw=3, label="photograph")
        ax.plot(guess, lw=1, label=name)
        ax.set(title=f"{name}: {np.count_nonzero(coef)} cosines, error {error:.3f}")
        ax.legend(fontsize=8)
    axes[0].set_ylabel("brightness")
    fig.supxlabel("pixel", fontsize=9)


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="line of a photograph",
    description="Sparse coefficients are found from some random measurements and predict others.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
)
