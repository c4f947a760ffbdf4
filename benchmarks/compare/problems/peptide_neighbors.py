"""Peptides classified by their nearest neighbours, in edits or in counts of substrings."""

from dataclasses import replace

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP
from benchmarks.compare.problems import peptides


def pipeline(step):
    metric = "cosine" if isinstance(step, CountVectorizer) else "precomputed"
    return Pipeline([(STEP, step), ("neighbors", KNeighborsClassifier(5, metric=metric))])


def plot(fig, methods, data, test):
    """Confidence of the neighbours in the correct class."""
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        sure = fitted.predict_proba(data.X[test])[:, 1]
        for kind, label in enumerate(("transmembrane", "antimicrobial")):
            ax.hist(sure[data.y[test] == kind], 6, range=(0, 1), alpha=0.6, label=label)
        wrong = int((fitted.predict(data.X[test]) != data.y[test]).sum())
        ax.set(
            title=f"{name}: {wrong} of {len(test)} unseen wrong",
            xlabel="fraction of neighbours that are antimicrobial",
        )
        ax.legend(frameon=False)


PROBLEM = replace(
    peptides.PROBLEM,
    title="peptides, neighbours",
    description="Strings of amino acids are antimicrobial peptides or transmembrane regions. "
    "Their five nearest neighbours classify them, by edit distance or by the angle between counts "
    "of substrings.",
    pipeline=pipeline,
    plot=plot,
    n_repeats=3,
)
