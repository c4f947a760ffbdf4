"""Whether a smooth function exceeds a threshold, for Gaussian processes: probabilities."""

from dataclasses import replace

import numpy as np
from sklearn.calibration import calibration_curve

from benchmarks.compare.problem import by_plan, stratified_folds
from benchmarks.compare.problems import friedman


def load(quick, full=False):
    data = friedman.make(by_plan(quick, full, 200, 400, 1000))
    about = f"{data.about}; the class is whether the value exceeds the mean"
    return replace(data, y=(data.y > 0).astype(int), about=about)


def plot(fig, methods, data, test):
    """Frequency of the class against its predicted probability."""
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        p = fitted.predict_proba(data.X[test])[:, 1]
        frequency, given = calibration_curve(data.y[test], p, n_bins=5, strategy="quantile")
        ax.plot([0, 1], [0, 1], color="0.7")
        ax.plot(given, frequency, "o-")
        loss = -np.mean(np.log(np.where(data.y[test] == 1, p, 1 - p)))
        ax.set(title=f"{name}: log loss {loss:.3f}", xlabel="probability")
    axes[0].set_ylabel("frequency, unseen rows")


PROBLEM = replace(
    friedman.PROBLEM,
    title="smooth function above its mean",
    description="The probability that a smooth function of five of ten variables, with noise, "
    "exceeds its mean is learned from classes. The picture plots frequencies of unseen rows "
    "against the probabilities.",
    score_name="negative log loss",
    scoring="neg_log_loss",
    load=load,
    plot=plot,
    splitter=stratified_folds,
    load_full=lambda: load(False, full=True),
)
