"""Clusters of series whose events come at different times."""

import numpy as np
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    """Four kinds of series: one to four bumps that begin at any time, in noise."""
    rng = np.random.default_rng(0)
    n = 120 if quick else 400
    y = rng.integers(4, size=n)
    X = 0.1 * rng.normal(size=(n, 96))
    for x, count in zip(X, y, strict=True):
        for k in range(count + 1):
            at = 22 * k + rng.integers(10)
            width = rng.integers(8, 14)
            x[at : at + width] += np.hanning(width)[: len(x[at : at + width])]
    return Data(X=X, y=y, about=f"{n} series of 96 points with one to four bumps")


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """Prototypes of each method."""
    axes = fig.subplots(len(methods), 4, sharex=True, sharey=True, squeeze=False)
    for row, (name, fitted) in zip(axes, methods.items(), strict=True):
        step = fitted[-1]
        labels = fitted.predict(data.X[test])
        for c, ax in enumerate(row):
            ax.plot(data.X[test][labels == c].T, color="0.8", linewidth=0.5)
            ax.plot(np.ravel(step.cluster_centers_[c]), color="tab:red")
        row[0].set_ylabel(name, fontsize=8)


PROBLEM = Problem(
    title="bumps that come at different times",
    description="Series have one to four bumps, each earlier or later. The picture shows unseen "
    "series in grey and prototypes in red.",
    score_name="agreement with the number of bumps (adjusted Rand)",
    scoring="adjusted_rand_score",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
