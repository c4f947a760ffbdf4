"""Classify series of unequal length by time warping."""

import numpy as np

from skmoderndata.neighbors import DTWNeighborsClassifier

rng = np.random.default_rng(0)
series = [rng.normal(size=(length, 1)).cumsum(axis=0) for length in (10, 12, 14, 16)]
model = DTWNeighborsClassifier(n_neighbors=1).fit(series, [0, 1, 0, 1])
predicted: np.ndarray = model.predict(series)
