"""First calls: parameters reach the process that is timed, whatever they are."""

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.first_call import FIRST_USE, LIMITS, limit, measure, option_sets
from skmoderndata import SparseNMF


def test_parameters_may_be_estimators():
    parameters = {"estimator": KMeans(n_init=1), "param_range": (2, 3), "n_splits": 2}
    assert min(measure("ClusteringStability", parameters)) > 0


def test_options_that_a_class_rejects_are_excluded():
    class Choosy(SparseNMF):
        def fit(self, X, y=None):
            if self.init == "random" and np.isnan(X).any():
                raise ValueError("no missing entries")
            return super().fit(X, y)

    sets = option_sets(Choosy)
    assert ({"init": "random"}, False) in sets
    assert ({"init": "random"}, True) not in sets
    assert ({}, True) in sets


def test_outputs_and_score_are_part_of_the_first_use():
    for part in ("fit_transform", "OUTPUTS", "predict_proba", "score"):
        assert part in FIRST_USE
    first, later = measure("JamesStein", {})
    assert first > 0 < later


def test_limit_of_defaults_holds_for_the_first_set_of_parameters():
    assert limit("KSVD", "") == LIMITS["defaults"]
    assert limit("KSVD", "max_iter=5, random_state=0") == LIMITS["defaults"]
    assert limit("KSVD", "init='neural_gas'") == LIMITS["options"]
