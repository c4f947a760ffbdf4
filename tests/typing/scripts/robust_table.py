"""Repair a table and list its wrong cells."""

import numpy as np
from numpy.typing import NDArray

from skmoderndata.decomposition import RobustPCA


def repaired(X: NDArray[np.float64]) -> NDArray[np.float64]:
    model = RobustPCA(n_components=2).fit(X)
    low_rank: NDArray[np.float64] = model.low_rank_
    return low_rank


repaired(np.random.default_rng(0).normal(size=(30, 8)))
