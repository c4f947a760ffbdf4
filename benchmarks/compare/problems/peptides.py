"""Antimicrobial peptides against transmembrane regions: strings of amino acids."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from benchmarks.compare.pictures import decision_histograms
from benchmarks.compare.problem import STEP, Data, Problem
from skmoderndata.datasets import load_peptides
from skmoderndata.preprocessing import KernelTransformer


def load(quick):
    X, y = load_peptides(return_X_y=True)
    step = 2 if quick else 1
    X = np.array(X, dtype=object)[::step]
    about = f"{len(X)} sequences of 8 to 56 amino acids from modlAMP, two kinds"
    return Data(X=X, y=y[::step], about=about)


def pipeline(step):
    """Pass kernel values to a kernel machine, and normalised counts to the linear equivalent."""
    if isinstance(step, KernelTransformer):
        return Pipeline([(STEP, step), ("machine", SVC(kernel="precomputed"))])
    return Pipeline([(STEP, step), ("norm", Normalizer()), ("machine", LinearSVC())])


def plot(fig, methods, data, test):
    decision_histograms(fig, methods, data, test, {0: "transmembrane", 1: "antimicrobial"})


PROBLEM = Problem(
    title="peptides",
    description="Strings of amino acids are antimicrobial peptides or transmembrane regions. A "
    "support vector machine classifies them by a kernel on strings, or by counts of short "
    "substrings. The picture shows its decision values for unseen strings.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
