"""Digits as sums of parts: which factorisation preserves the differences between them?"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Problem
from benchmarks.compare.problems.digits import load, plot


class NeighborsOfParts(Pipeline):
    """Neighbours in codes times the norm of their component.

    Only the product of code and component has a defined scale; a method may move any part of it to
    the codes, and neighbours would measure this choice.
    """

    def fit(self, X, y):
        step = self[STEP]
        neighbors = self.named_steps["classify"]
        neighbors.fit(self._scaled(step.fit_transform(X)), y)
        return self

    def predict(self, X):
        return self.named_steps["classify"].predict(self._scaled(self[STEP].transform(X)))

    def _scaled(self, codes):
        return codes * np.linalg.norm(self[STEP].components_, axis=1)


def pipeline(step):
    return NeighborsOfParts([(STEP, step), ("classify", KNeighborsClassifier(5))])


PROBLEM = Problem(
    title="digits, sums of parts",
    description="Digits are written as sums of components with non-negative weights and "
    "classified by their five nearest neighbours in the weights. Each weight is multiplied by the "
    "norm of its component, so that the scale of the codes does not matter. The grid chooses the "
    "number of components.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
