"""Classification of digits after a supervised reduction in the feature space of a kernel."""

from dataclasses import replace

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP
from benchmarks.compare.problems import digits


def pipeline(step):
    """The step uses the classes, and so does the baseline, through its discriminant analysis."""
    after = [("classify", KNeighborsClassifier(5))]
    if isinstance(step, Nystroem):
        after.insert(0, ("discriminant", LinearDiscriminantAnalysis()))
    return Pipeline([(STEP, step), *after])


PROBLEM = replace(
    digits.PROBLEM,
    title="digits, supervised features",
    description="A kernel method reduces digits to a few features that separate their classes; "
    "the five nearest neighbours classify them. The baseline is a linear discriminant analysis of "
    "Nystroem features.",
    pipeline=pipeline,
)
