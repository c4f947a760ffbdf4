"""Names in sixteen languages: which language is it?"""

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from benchmarks.compare.problem import STEP, Data, Problem
from skmoderndata.datasets import load_language_names


def load(quick):
    names = load_language_names()
    step = 2 if quick else 1
    X = np.array(names.data, dtype=object)[::step]
    y = names.target[::step]
    about = f"{len(X)} names of languages and territories in 16 languages from Babel"
    return Data(X=X, y=y, about=about, extra={"languages": names.target_names})


def pipeline(step):
    return Pipeline([(STEP, step), ("norm", Normalizer()), ("machine", LinearSVC())])


def plot(fig, methods, data, test):
    """Confusions among unseen names."""
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    languages = data.extra["languages"]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        labels = range(len(languages))
        counts = confusion_matrix(data.y[test], fitted.predict(data.X[test]), labels=labels)
        wrong = counts - np.diag(counts.diagonal())
        ax.imshow(wrong, cmap="Oranges", vmin=0, vmax=max(1, wrong.max()))
        ax.set(
            title=f"{name}: {wrong.sum()} of {counts.sum()} unseen wrong",
            xlabel="predicted",
            ylabel="language",
        )
        ax.set_xticks(labels, languages, fontsize=7)
        ax.set_yticks(labels, languages, fontsize=7)


PROBLEM = Problem(
    title="names, which language",
    description="Names of languages and territories, of six letters or more, are written in one "
    "of sixteen languages; a linear classifier of their substrings predicts which. The picture "
    "counts the confusions among unseen names.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
