"""Random convolutions on outlines of arrowheads, as in aeon's guide to classification."""

from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.away.task import Task
from skmoderndata.kernels import GlobalAlignment, Normalized
from skmoderndata.neighbors import DTWNeighborsClassifier
from skmoderndata.preprocessing import KernelTransformer


def load():
    from aeon.datasets import load_arrow_head

    return *load_arrow_head(split="train"), *load_arrow_head(split="test")


def theirs(problem):
    from aeon.classification.convolution_based import RocketClassifier

    X, y, new, truth = problem
    return RocketClassifier(n_kernels=2000, random_state=0).fit(X, y).score(new, truth)


def ours(problem):
    X, y, new, truth = problem
    return DTWNeighborsClassifier().fit(X[:, 0], y).score(new[:, 0], truth)


def documented(problem):
    X, y, new, truth = problem
    kernel = KernelTransformer(Normalized(GlobalAlignment("median")))
    model = make_pipeline(kernel, SVC(kernel="precomputed", C=10.0))
    return model.fit(X[:, 0], y).score(new[:, 0], truth)


TASK = Task(
    name="aeon_rocket",
    origin="aeon, examples",
    link="https://www.aeon-toolkit.org/en/stable/examples/classification/convolution_based.html",
    program="aeon RocketClassifier with 2,000 kernels",
    data="ArrowHead of the UCR archive, shipped with aeon",
    licence="BSD-3-Clause",
    measure="accuracy against random convolutions",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "The classes differ in local patterns, and DTW neighbours compare whole series. Use "
        "RocketClassifier, or MiniRocketClassifier, of aeon."
    ),
)
