"""Derive an estimator from one of the package."""

import numpy as np

from skmoderndata.decomposition import KSVD


class NamedKSVD(KSVD):
    """A dictionary with a name for each atom."""

    def atom_names(self) -> list[str]:
        return [f"atom {index}" for index in range(len(self.components_))]


X = np.random.default_rng(0).normal(size=(40, 5))
names: list[str] = NamedKSVD(n_components=4, random_state=0).fit(X).atom_names()
