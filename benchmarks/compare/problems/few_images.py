"""Few images of a digit: what does the mean image of all of them look like?"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem

DIGIT = 8


def load(quick):
    X, y = load_digits(return_X_y=True)
    X = X[y == DIGIT]
    n = 15 if quick else 20
    about = (
        f"{n} images of the digit {DIGIT}, 8 x 8 pixels, of which each fold shows "
        f"{int(0.4 * n)}; the mean of all {len(X)} images counts as the truth"
    )
    chosen = np.random.default_rng(0).choice(len(X), n, replace=False)
    return Data(X=X[chosen], y=np.tile(X.mean(axis=0), (n, 1)), about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def closeness(fitted, X, truth):
    """Minus the squared error of the estimated mean image, a mean over pixels."""
    return -float(np.mean((fitted.named_steps[STEP].location_ - truth[0]) ** 2))


def plot(fig, methods, data, test):
    images = {name: fitted.named_steps[STEP].location_ for name, fitted in methods.items()}
    images["all images"] = data.y[0]
    axes = fig.subplots(1, len(images), squeeze=False)[0]
    for ax, (name, image) in zip(axes, images.items(), strict=True):
        ax.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
        error = np.mean((image - data.y[0]) ** 2)
        ax.set(title=f"{name}\nsquared error {error:.2f}", xticks=[], yticks=[])


def folds(n_splits, random_state):
    """Random draws of few rows."""
    return ShuffleSplit(n_splits, train_size=0.4, random_state=random_state)


PROBLEM = Problem(
    title="few images",
    description="The mean image of a digit is estimated from eight images; what counts is the "
    "squared error, with a minus sign, against the mean of all images of that digit.",
    score_name="minus squared error",
    scoring=closeness,
    load=load,
    pipeline=pipeline,
    plot=plot,
    margin=0.1,
    splitter=folds,
)
