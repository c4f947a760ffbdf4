"""Classify strings by a kernel."""

from collections.abc import Sequence

import numpy as np
from sklearn.svm import SVC

from skmoderndata.kernels import PSpectrum


def gram(words: Sequence[str]) -> np.ndarray:
    return np.asarray(PSpectrum(p=2)(list(words)))


words = ["banana", "bandana", "cherry", "sherry"]
SVC(kernel="precomputed").fit(gram(words), [0, 0, 1, 1])
