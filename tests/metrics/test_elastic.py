"""Evidence that the elastic distances match their papers."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata._solvers.common import pieces
from skmoderndata.cluster import KMedoids
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.metrics import (
    erp_distance,
    lcss_distance,
    msm_distance,
    pairwise_elastic,
    twe_distance,
    weighted_dtw,
)
from skmoderndata.neighbors import DTWNeighborsClassifier, DTWNeighborsRegressor
from skmoderndata.preprocessing import DistanceTransformer
from tests.oracles import elastic as plain
from tests.oracles.dynamic_time_warping import sakoe_chiba, slanted


def msm_of_channels(x, z, allowed):
    return sum(plain.msm(x[:, c], z[:, c], 0.5, allowed) for c in range(x.shape[1]))


# Parameters of each metric, its function for one pair, and its plain reference.
METRICS = {
    "erp": (
        {"gap_value": 0.3},
        erp_distance,
        lambda x, z, allowed: plain.erp(x, z, 0.3, allowed),
    ),
    "msm": ({"cost": 0.5}, msm_distance, msm_of_channels),
    "twe": (
        {"stiffness": 0.01, "gap_cost": 0.5},
        twe_distance,
        lambda x, z, allowed: plain.twe(x, z, 0.01, 0.5, allowed),
    ),
    "weighted_dtw": (
        {"steepness": 0.1},
        weighted_dtw,
        lambda x, z, allowed: np.sqrt(plain.weighted_warping(x, z, 0.1, allowed)),
    ),
    "lcss": (
        {"epsilon": 0.7},
        lcss_distance,
        lambda x, z, allowed: plain.common_subsequence(x, z, 0.7, allowed),
    ),
}
BANDS = {
    "free": ({}, lambda x, z: lambda i, j: True),
    "radius 0": ({"radius": 0, "slanted": False}, lambda x, z: sakoe_chiba(x, z, 0)),
    "radius 2": ({"radius": 2, "slanted": False}, lambda x, z: sakoe_chiba(x, z, 2)),
    "slanted 1": ({"radius": 1}, lambda x, z: slanted(x, z, 1)),
}


def ragged(seed, n=30, channels=1, longest=12):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, longest), channels)) for _ in range(n)]


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 2])
def test_time_warp_edits_with_squares(channels, seed):
    X = ragged(seed, channels=channels)

    def square(a):
        return float((a**2).sum())

    expected = [[plain.twe(x, z, 0.01, 0.5, norm=square) for z in X] for x in X]
    costs = {"stiffness": 0.01, "gap_cost": 0.5, "squared": True}
    assert_allclose(pairwise_elastic(X, metric="twe", **costs), expected, atol=1e-12)
    assert_allclose(twe_distance(X[0], X[1], **costs), expected[0][1])


@pytest.mark.few(10)
@pytest.mark.oracle
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.filterwarnings("ignore:.*the band admits")
def test_distances_match_plain_loops(metric, band, channels, seed):
    parameters, of_pair, reference = METRICS[metric]
    settings, rule = BANDS[band]
    X = ragged(seed, channels=channels)
    expected = [[reference(x, z, rule(x, z)) for z in X] for x in X]

    D = pairwise_elastic(X, metric=metric, **settings, **parameters)
    assert_allclose(D, expected, rtol=1e-12, atol=1e-14)
    assert_array_equal(D, D.T)
    between = pairwise_elastic(X, X[:7], metric, **settings, **parameters)
    assert_allclose(between, D[:, :7], rtol=1e-13, atol=1e-14)
    pair = of_pair(X[3], X[4], **settings, **parameters)
    assert_allclose(pair, D[3, 4], rtol=1e-13, atol=1e-14)


@pytest.mark.certificate
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("erp", {}),
        ("erp", {"gap_value": -2.0}),
        ("msm", {"cost": 0.05}),
        ("msm", {}),
        ("twe", {"gap_cost": 0.0}),
        ("twe", {"stiffness": 0.5}),
    ],
)
def test_axioms_of_a_metric(metric, parameters, channels, seed):
    X = ragged(seed, n=40, channels=channels, longest=7)
    D = pairwise_elastic(X, metric=metric, **parameters)
    shortest_detour = (D[:, :, None] + D[None]).min(axis=1)
    assert (D <= shortest_detour + 1e-12).all()
    assert_array_equal(D, D.T)
    assert (D[~np.eye(40, dtype=bool)] > 0).all()
    assert_allclose([pairwise_elastic([x], [x], metric, **parameters) for x in X], 0)


@pytest.mark.invariance
def test_invariances_of_the_papers_hold(seed):
    X = ragged(seed, n=10)
    shifted = [x + 7.5 for x in X]
    # moves, splits and merges do not depend on the origin [Stefan et al. 2013, section 3]; ERP
    # does
    D = pairwise_elastic(X, metric="msm")
    assert_allclose(pairwise_elastic(shifted, metric="msm"), D, atol=1e-12)
    assert (
        abs(pairwise_elastic(shifted, metric="erp") - pairwise_elastic(X, metric="erp")).max()
        > 1
    )
    # all weights are one half
    halves = pairwise_elastic(X, metric="weighted_dtw", steepness=0)
    assert_allclose(halves * np.sqrt(2), pairwise_elastic(X, metric="dtw"), rtol=1e-12)
    # the outlier is left out
    x = np.arange(9.0)
    assert lcss_distance(x, np.insert(x, 4, 1e6), epsilon=0) == 0


@pytest.mark.invariance
@pytest.mark.parametrize("metric", METRICS)
def test_pieces_threads_and_batches_do_not_matter(metric, monkeypatch, seed):
    X = np.random.default_rng(seed).normal(size=(150, 9, 2))
    D = pairwise_elastic(X, metric=metric, radius=4)
    assert_array_equal(pairwise_elastic(list(X), metric=metric, radius=4, n_jobs=2), D)
    assert_array_equal(pairwise_elastic(X[::-1], metric=metric, radius=4), D[::-1, ::-1])
    monkeypatch.setattr(pieces, "PIECE_CELLS", 1)
    assert_array_equal(pairwise_elastic(X, metric=metric, radius=4), D)


@pytest.mark.paper
def test_worked_examples():
    # there is one deletion; borders contain running sums [Chen and Ng 2004, eq. 3]
    assert erp_distance([1, 2, 3], [2, 3]) == 1
    assert erp_distance([1, 2, 3], [2]) == 4
    # there are one merge, one split, and one move of a value [Stefan et al. 2013, section 3]
    assert msm_distance([5, 8, 8, 4], [5, 8, 4], cost=0.25) == 0.25
    assert msm_distance([5, 8, 4], [5, 9, 4], cost=0.25) == 1
    # after one deletion, one match of equal points whose times differ by one
    assert twe_distance([1, 1], [1], stiffness=0.5, gap_cost=2) == 2.5


@pytest.mark.oracle
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_match_all_distances(metric, seed):
    X = ragged(seed)
    Z = ragged(seed + 1, n=9)
    y = np.random.default_rng(seed).integers(3, size=30)
    parameters = METRICS[metric][0]
    model = DTWNeighborsClassifier(3, metric=metric, metric_params=parameters).fit(X, y)
    D = pairwise_elastic(Z, X, metric, **parameters)
    order = np.argsort(D, axis=1, kind="stable")[:, :3]
    distances, nearest = model.kneighbors(Z)
    assert_array_equal(nearest, order)
    assert_array_equal(distances, np.take_along_axis(D, order, axis=1))

    alone = model.kneighbors(return_distance=False)
    assert not (alone == np.arange(30)[:, None]).any()
    transformer = DistanceTransformer(metric, metric_params=parameters)
    reference = KNeighborsClassifier(3, metric="precomputed").fit(
        transformer.fit_transform(X), y
    )
    if metric != "lcss":  # this distance has ties
        assert_array_equal(model.predict(Z), reference.predict(transformer.transform(Z)))
    values = DTWNeighborsRegressor(1, metric=metric, metric_params=parameters).fit(X, y)
    assert_array_equal(values.predict(Z), y[order[:, 0]])


@pytest.mark.oracle
def test_radius_has_the_least_leave_one_out_error(seed):
    X = np.random.default_rng(seed).normal(size=(30, 20)).cumsum(axis=1)
    y = np.arange(30) % 2
    X[y == 1, 8:] += 1.0
    model = DTWNeighborsClassifier(metric="msm", radius="cv").fit(X, y)
    for radius, error in zip(model.cv_radii_[::5], model.cv_errors_[::5], strict=True):
        fixed = DTWNeighborsClassifier(metric="msm", radius=int(radius)).fit(X, y)
        assert (y[fixed.kneighbors(return_distance=False)[:, 0]] != y).mean() == error


@pytest.mark.edge
def test_no_alignment_is_infinite_with_one_warning():
    X = [np.zeros(3), np.zeros(9), np.zeros(4)]
    with pytest.warns(UserWarning, match="no alignment for 4 of 9 pairs"):
        D = pairwise_elastic(X, metric="twe", radius=2, slanted=False)
    assert np.isinf(D).sum() == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(pairwise_elastic(X, metric="twe", radius=2)).all()
        assert pairwise_elastic(X, metric="lcss", radius=2, slanted=False).max() == 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: pairwise_elastic([[1]], metric="edr"),
            "metric='edr'; it must be one of \"dtw\"",
        ),
        (lambda: pairwise_elastic([[1]], metric="msm", g=1), "accepts the parameters cost"),
        (lambda: pairwise_elastic([[1]], metric="dtw", cost=1), "accepts no parameters"),
        (lambda: msm_distance([1], [2], cost=-1), "cost=-1; it must be a finite number of at"),
        (
            lambda: erp_distance([1], [2], gap_value=np.nan),
            "gap_value=nan; it must be a finite",
        ),
        (lambda: twe_distance([1], [2], stiffness="1"), "stiffness='1'"),
        (lambda: twe_distance([1], [2], squared=2), "squared=2; it must be True or False"),
        (lambda: twe_distance([1], [[1, 2]]), "same channels"),
        (lambda: lcss_distance([1], [np.nan]), "NaN or infinity at time 0"),
        (lambda: weighted_dtw([1], [2], radius=1.5), "radius=1.5"),
        (
            lambda: DTWNeighborsClassifier(metric="msm", metric_params={"g": 1}).fit(
                [[1]], [0]
            ),
            "no parameter g",
        ),
    ],
)
def test_error_names_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.edge
def test_gap_value_may_be_negative_and_weights_steep():
    assert erp_distance([-2.0], [-2.0, -2.0], gap_value=-2) == 0
    assert np.isfinite(weighted_dtw([1, 2, 3], [3, 2, 1], steepness=1e6))


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:KMedoids. the number of distinct clusters")
@pytest.mark.parametrize(
    "fit",
    [
        lambda X: pairwise_elastic(X, metric="lcss"),
        lambda X: KMedoids(2, metric="lcss", random_state=0).fit(X),
        lambda X: DTWNeighborsClassifier(metric="lcss").fit(X, np.arange(6) % 2),
    ],
    ids=["pairwise", "clusters", "neighbors"],
)
def test_lcss_warns_if_all_points_match(fit):
    X = np.random.default_rng(0).normal(size=(6, 12)).cumsum(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulResultWarning)
        fit(X)
        pairwise_elastic(1e-3 * X, metric="lcss", epsilon=1e-3)
        pairwise_elastic(np.ones((6, 12)), metric="lcss")
    with pytest.warns(DoubtfulResultWarning, match=r"all distances are 0.*epsilon=1\. Set"):
        fit(1e-3 * X)
