"""Fill the gaps of a table."""

import numpy as np
from numpy.typing import NDArray

from skmoderndata.impute import NuclearNormImputer

table: NDArray[np.float64] = np.outer(np.arange(1.0, 13), np.arange(1.0, 7))
table[2, 3] = np.nan
filled: NDArray[np.float64] = NuclearNormImputer().fit_transform(table)
