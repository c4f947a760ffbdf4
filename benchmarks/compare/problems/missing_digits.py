"""Classification of digits of which a part of the cells is missing, after imputation."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.pictures import image_rows, one_of_each
from benchmarks.compare.problem import STEP, Data, Problem

FRACTION = 0.3


def load(quick, full=False):
    complete, y = load_digits(return_X_y=True)
    n = 500 if quick else len(complete) if full else 1000
    complete, y = complete[:n], y[:n]
    missing = np.random.default_rng(0).random(complete.shape) < FRACTION
    about = (
        f"{n} digits of 8 x 8 pixels from scikit-learn; {100 * FRACTION:g} % of the cells are "
        "missing completely at random"
    )
    X = np.where(missing, np.nan, complete)
    return Data(X=X, y=y, about=about, extra={"complete": complete})


def pipeline(step):
    return Pipeline(
        [
            (STEP, step),
            ("scale", StandardScaler()),
            ("classify", LogisticRegression(max_iter=2000)),
        ]
    )


def plot(fig, methods, data, test):
    shown = one_of_each(data.y, test)
    rows = {"as measured": data.X[shown]}
    for name, fitted in methods.items():
        rows[name] = fitted.named_steps[STEP].transform(data.X[shown])
    rows["complete"] = data.extra["complete"][shown]
    rows = {label: images.reshape(-1, 8, 8) for label, images in rows.items()}
    image_rows(fig, rows, limits=(0, 16))
    hidden = np.isnan(data.X[test])
    truth = data.extra["complete"][test][hidden]
    errors = {
        name: np.sqrt(
            np.mean((fitted.named_steps[STEP].transform(data.X[test])[hidden] - truth) ** 2)
        )
        for name, fitted in methods.items()
    }
    fig.supxlabel(
        "root mean square error of the imputed cells: "
        + ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
        + f" (standard deviation of these cells: {truth.std():.2f})",
        fontsize=9,
    )


PROBLEM = Problem(
    title="digits, 30 % missing",
    description="Missing pixels are imputed and the digits classified by logistic regression. "
    "The picture shows unseen rows; missing cells are orange.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
)
