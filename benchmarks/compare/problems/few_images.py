"""Few images of a digit: what does the mean image of all of them look like?"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem

DIGIT = 8
N_SHOWN = 8


def load(quick):
    X, y = load_digits(return_X_y=True)
    X = X[y == DIGIT]
    truth = X.mean(axis=0)
    X = X[: 60 if quick else None]
    about = (
        f"{len(X)} images of the digit {DIGIT}, 8 x 8 pixels, of which each fold shows {N_SHOWN}; "
        "the mean of all images of that digit counts as the truth"
    )
    return Data(X=X, y=np.tile(truth, (len(X), 1)), about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def closeness(fitted, X, truth):
    """Negative squared error of the estimated mean image, averaged over pixels."""
    return -float(np.mean((fitted.named_steps[STEP].location_ - truth[0]) ** 2))


def plot(fig, methods, data, test):
    images = {name: fitted.named_steps[STEP].location_ for name, fitted in methods.items()}
    images["all images"] = data.y[0]
    axes = fig.subplots(1, len(images), squeeze=False)[0]
    for ax, (name, image) in zip(axes, images.items(), strict=True):
        ax.imshow(image.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
        error = np.mean((image - data.y[0]) ** 2)
        ax.set(title=f"{name}\nsquared error {error:.2f}", xticks=[], yticks=[])


@dataclass(frozen=True)
class FewRows:
    """Draws of eight rows, or of half of the rows, without common rows as long as possible.

    One other row is the test set: the score knows the truth and uses no rows.
    """

    n_splits: int
    random_state: int

    def split(self, X, y=None, groups=None):
        order = np.random.default_rng(self.random_state).permutation(len(X))
        size = min(N_SHOWN, len(X) // 2)
        for fold in range(self.n_splits):
            shown = np.roll(order, -fold * size)
            yield shown[:size], shown[size : size + 1]


PROBLEM = Problem(
    title="few images",
    description="The mean image of a digit is estimated from eight images. The score is minus the "
    "squared error, compared with the mean of all images of that digit.",
    score_name="minus squared error",
    scoring=closeness,
    load=load,
    pipeline=pipeline,
    plot=plot,
    margin=0.1,
    splitter=FewRows,
    n_repeats=3,
)
