"""Tumours, benign or malignant, by 30 measurements: how few of them are enough?"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    data = load_breast_cancer()
    rows = slice(300 if quick else None)
    return Data(
        X=data.data[rows],
        y=data.target[rows],
        about=f"{len(data.target[rows])} tumours from scikit-learn's breast cancer data, "
        "30 measurements of cell nuclei",
        extra={"names": data.feature_names},
    )


def pipeline(step):
    return Pipeline([("scale", StandardScaler()), (STEP, step)])


def plot(fig, methods, data, test):
    """Weights of the measurements as colours, one column for each method."""
    ax = fig.subplots()
    weights = np.column_stack([_weights(fitted.named_steps[STEP]) for fitted in methods.values()])
    weights = weights / np.maximum(np.abs(weights).max(axis=0), 1e-300)
    order = np.argsort(np.abs(weights).max(axis=1))
    image = ax.imshow(weights[order].T, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    rows, columns = np.nonzero(weights[order].T)
    ax.plot(columns, rows, "k.", ms=4)
    labels = [
        f"{name}\n{np.count_nonzero(w)} measurements"
        for name, w in zip(methods, weights.T, strict=True)
    ]
    ax.set_yticks(np.arange(len(labels)), labels)
    names = data.extra["names"][order]
    ax.set_xticks(np.arange(names.size), names, rotation=60, ha="right", fontsize=7)
    fig.colorbar(image, ax=ax, label="weight / largest (dot: not zero)")


def _weights(step):
    found = step.coef_ if hasattr(step, "coef_") else step.components_[0]
    return np.ravel(found)


PROBLEM = Problem(
    title="breast cancer",
    description="Benign and malignant tumours are told apart by a linear classifier on few of 30 "
    "measurements; the grid chooses the price of slack. The picture shows the weights.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    plot_size=(10.5, 3.6),
)
