"""Ten digits classified by their outlines, which are series."""

import numpy as np
from contourpy import contour_generator
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def outline(image, n_points=48):
    """Distance of the outline from its centre, once around."""
    lines = contour_generator(z=np.pad(image, 1)).lines(5.0)
    line = max(lines, key=len)[:-1]
    line = np.roll(line, -line[:, 1].argmin(), axis=0)
    line = np.vstack([line, line[:1]])
    steps = np.r_[0, np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()]
    at = np.linspace(0, steps[-1], n_points, endpoint=False)
    line = np.column_stack([np.interp(at, steps, coordinate) for coordinate in line.T])
    radius = np.linalg.norm(line - line.mean(axis=0), axis=1)
    return (radius - radius.mean()) / radius.std()


def load(quick):
    digits = load_digits()
    n = 300 if quick else len(digits.images)
    X = np.array([outline(image) for image in digits.images[:n]])
    return Data(
        X=X,
        y=digits.target[:n],
        about=f"outlines of {n} digits from scikit-learn, 48 points each",
    )


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """A few unseen outlines, with the predictions of each method."""
    axes = fig.subplots(2, 4).ravel()
    answers = {name: fitted.predict(data.X[test]) for name, fitted in methods.items()}
    differ = np.flatnonzero(np.ptp(np.column_stack(list(answers.values())), axis=1) > 0)
    for ax, i in zip(axes, [*differ, *range(len(axes))], strict=False):
        ax.plot(data.X[test][i])
        said = ", ".join(f"{name[:6]} {answer[i]}" for name, answer in answers.items())
        ax.set_title(f"a {data.y[test][i]}: {said}", fontsize=8)
        ax.set(xticks=[], yticks=[])


PROBLEM = Problem(
    title="outlines of digits",
    description="The distance of an outline from its centre, once around, is a series; the "
    "nearest training series give the digit. The picture shows unseen outlines on which the "
    "methods differ.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_repeats=2,
)
