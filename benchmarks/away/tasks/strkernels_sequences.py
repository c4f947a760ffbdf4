"""Languages of surnames by string kernels in an SVC, as in the README of strkernels."""

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from benchmarks.away.task import Task
from skmoderndata.datasets import load_language_names
from skmoderndata.kernels import BlendedSpectrum, Normalized, PSpectrum


def load():
    """Return three splits into training and test names."""
    names, y = load_language_names(return_X_y=True)
    names = np.array([str(name) for name in names])
    y = np.asarray(y)
    cut = StratifiedShuffleSplit(3, train_size=400, test_size=300, random_state=0)
    return [(names[a].tolist(), y[a], names[b].tolist(), y[b]) for a, b in cut.split(y, y)]


def accuracy(draws, gram):
    found = []
    for X, y, new, truth in draws:
        model = SVC(kernel="precomputed", C=10.0).fit(gram(X, X), y)
        found.append(model.score(gram(new, X), truth))
    return found


def theirs(draws):
    from strkernels import SubsequenceStringKernel

    # the spectrum kernel of strkernels has no alphabet of letters
    return accuracy(draws, SubsequenceStringKernel(maxlen=3, ssk_lambda=0.5))


def ours(draws):
    return accuracy(draws, Normalized(PSpectrum()))


def documented(draws):
    return accuracy(draws, Normalized(BlendedSpectrum(3)))


TASK = Task(
    name="strkernels_sequences",
    origin="strkernels, examples",
    link="https://pypi.org/project/strkernels/",
    program="strkernels SubsequenceStringKernel(maxlen=3, ssk_lambda=0.5) in an SVC with C=10",
    data="load_language_names of skmoderndata in place of sequences to be downloaded",
    licence="MIT",
    measure="accuracy of an SVC with a string kernel",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "The default compares pairs of letters, whereas strkernels compares subsequences of "
        "up to three letters; use Normalized(BlendedSpectrum(3))."
    ),
)
