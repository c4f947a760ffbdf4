"""Classification of digits with gross errors in some pixels, of training and test rows alike."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from benchmarks.compare.pictures import components_or_scatter, image_rows, one_of_each
from benchmarks.compare.problem import STEP, Data, Problem

FRACTION = 0.1
# Smallest and largest value of a wrong pixel; a clean pixel lies between 0 and 16.
LOW = -16
HIGH = 32


def load(quick):
    clean, y = load_digits(return_X_y=True)
    n = 500 if quick else len(clean)
    clean = clean[:n]
    y = y[:n]
    rng = np.random.default_rng(0)
    hit = rng.random(clean.shape) < FRACTION
    X = np.where(hit, rng.uniform(LOW, HIGH, clean.shape), clean)
    about = (
        f"{n} digits of 8 x 8 pixels from scikit-learn, values 0 to 16; {100 * FRACTION:g} % of "
        f"all pixels replaced by uniform numbers from {LOW} to {HIGH}"
    )
    return Data(X=X, y=y, about=about, extra={"clean": clean})


def pipeline(step):
    return Pipeline([(STEP, step), ("classify", KNeighborsClassifier(5))])


def plot(fig, methods, data, test):
    steps = {name: fitted.named_steps[STEP] for name, fitted in methods.items()}
    if not all(hasattr(step, "inverse_transform") for step in steps.values()):
        components_or_scatter(fig, methods, data.X[test], data.y[test], (8, 8))
        return
    shown = one_of_each(data.y, test)
    rows = {"as measured": data.X[shown]}
    for name, step in steps.items():
        rows[name] = step.inverse_transform(step.transform(data.X[shown]))
    rows["without errors"] = data.extra["clean"][shown]
    rows = {label: images.reshape(-1, 8, 8) for label, images in rows.items()}
    image_rows(fig, rows, limits=(0, 16))


PROBLEM = Problem(
    title="digits, 10 % gross errors",
    description="A tenth of the pixels is grossly wrong, in training and in test rows. The rows "
    "are reduced to a few features and classified by their five nearest neighbours. The picture "
    "shows unseen rows reconstructed from their features.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_outer=6,
)
