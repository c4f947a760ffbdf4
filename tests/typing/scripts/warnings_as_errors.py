"""Turn warnings about doubtful answers into errors."""

import warnings

import numpy as np

from skmoderndata.cluster import KMedoids
from skmoderndata.exceptions import DoubtfulResultWarning


def clusters(X: np.ndarray) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulResultWarning)
        labels = KMedoids(n_clusters=2, random_state=0).fit_predict(X)
    return [int(label) for label in labels]


clusters(np.random.default_rng(0).normal(size=(20, 2)))
