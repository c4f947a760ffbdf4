"""Additive classification: six splines for each of thirty measurements of cells."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.compare.problem import STEP, Data
from benchmarks.compare.problems import spline_groups
from benchmarks.compare.problems.spline_groups import SPLINES

NOISE = 1.0  # standard deviations added to each measurement, which are redundant otherwise


def load(quick):
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X += NOISE * rng.normal(size=X.shape)
    n = 200 if quick else len(X)
    about = f"{n} tumours, {SPLINES} cubic splines for each of thirty noisy measurements"
    return Data(X=X[:n], y=y[:n], about=about)


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        sizes = np.abs(fitted.named_steps[STEP].coef_.reshape(-1, SPLINES))
        ax.imshow(sizes.T, cmap="Blues", aspect="auto", vmin=0)
        used = np.count_nonzero(sizes.any(axis=1))
        ax.set(
            title=f"{name}: {used} measurements, {np.count_nonzero(sizes)} splines",
            xlabel="measurement",
        )
    axes[0].set_ylabel("spline")


PROBLEM = replace(
    spline_groups.PROBLEM,
    title="tumours, splines",
    description="A tumour is benign or malignant, by a sum of smooth functions of thirty "
    "measurements of its cells with noise. The picture shows which splines have a non-zero "
    "coefficient: the group lasso drops whole measurements.",
    score_name="log-likelihood",
    scoring="neg_log_loss",
    load=load,
    plot=plot,
)
