"""First calls: parameters reach the process that is timed, whatever they are."""

from sklearn.cluster import KMeans

from benchmarks.first_call import measure, option_sets
from skmoderndata import SemiNMF


def test_parameters_may_be_estimators():
    parameters = {"estimator": KMeans(n_init=1), "param_range": (2, 3), "n_splits": 2}
    assert min(measure("ClusteringStability", parameters)) > 0


def test_options_that_a_class_refuses_are_left_out():
    sets = option_sets(SemiNMF)
    assert ({"solver": "multiplicative"}, False) in sets
    assert ({"solver": "multiplicative"}, True) not in sets  # takes no missing entries
    assert ({}, True) in sets
