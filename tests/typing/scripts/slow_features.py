"""Extract a slow feature from fast signals."""

import numpy as np
from numpy.typing import NDArray

from skmoderndata import SlowFeatureAnalysis


def slowest(X: NDArray[np.float64]) -> NDArray[np.float64]:
    signals: NDArray[np.float64] = SlowFeatureAnalysis(n_components=1).fit_transform(X)
    return signals[:, 0]


slowest(np.random.default_rng(0).normal(size=(200, 3)))
