"""First calls: parameters reach the process that is timed, whatever they are."""

from sklearn.cluster import KMeans

from benchmarks.first_call import measure


def test_parameters_may_be_estimators():
    parameters = {"estimator": KMeans(n_init=1), "param_range": (2, 3), "n_splits": 2}
    assert min(measure("ClusteringStability", parameters)) > 0
