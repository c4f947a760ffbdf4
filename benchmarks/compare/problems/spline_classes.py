"""Additive classification: six splines for each of twenty measurements, half of them noise."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks.compare.problem import STEP, Data
from benchmarks.compare.problems import spline_groups
from benchmarks.compare.problems.spline_groups import SPLINES


def load(quick):
    X, progress = load_diabetes(return_X_y=True)
    y = (progress > np.median(progress)).astype(int)
    permuted = np.random.default_rng(0).permuted(X, axis=0)
    n = 200 if quick else len(X)
    about = (
        f"{n} patients, {SPLINES} cubic splines for each of ten measurements and ten permuted"
    )
    return Data(X=np.hstack([X, permuted])[:n], y=y[:n], about=about)


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        sizes = np.abs(fitted.named_steps[STEP].coef_.reshape(-1, SPLINES))
        ax.imshow(sizes.T, cmap="Blues", aspect="auto", vmin=0)
        ax.axvline(9.5, color="0.5")
        noise = np.count_nonzero(sizes[10:].any(axis=1))
        used = np.count_nonzero(sizes.any(axis=1))
        ax.set(
            title=f"{name}: {used} measurements, {noise} of them noise",
            xlabel="measurement; noise on the right",
        )
    axes[0].set_ylabel("spline")


PROBLEM = replace(
    spline_groups.PROBLEM,
    title="diabetes, two classes",
    description="A disease progresses faster or slower than in the median patient, by a sum of "
    "smooth functions of ten measurements; ten others are noise. The picture shows which splines "
    "have a non-zero coefficient: the group lasso drops whole measurements.",
    score_name="log-likelihood",
    scoring="neg_log_loss",
    load=load,
    plot=plot,
)
