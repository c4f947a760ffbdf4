"""Evidence that the distances between series are what they state."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.metrics import (
    WarpingPathDisplay,
    dtw,
    dtw_path,
    functional_distance,
    lb_keogh,
    multiscale_dtw,
    pairwise_dtw,
    soft_dtw,
)
from tests.oracles.dynamic_time_warping import (
    all_alignments,
    itakura,
    sakoe_chiba,
    slanted,
    soft_minimum_by_logarithms,
    soft_minimum_of_alignments,
    square,
    warping_cost,
)

EQUAL = {"slanted": False}  # Parameters of the band around equal positions.


def share(radius, x, z):
    return int(radius * max(len(x), len(z)))


BANDS = {
    "free": ({}, lambda x, z: lambda i, j: True),
    "radius 0": ({"radius": 0, **EQUAL}, lambda x, z: sakoe_chiba(x, z, 0)),
    "radius 1": ({"radius": 1, **EQUAL}, lambda x, z: sakoe_chiba(x, z, 1)),
    "radius 3": ({"radius": 3, **EQUAL}, lambda x, z: sakoe_chiba(x, z, 3)),
    "fraction": ({"radius": 0.3, **EQUAL}, lambda x, z: sakoe_chiba(x, z, share(0.3, x, z))),
    "slanted": ({"radius": 1}, lambda x, z: slanted(x, z, 1)),
    "slanted 0": ({"radius": 0}, lambda x, z: slanted(x, z, 0)),
    "slanted fraction": ({"radius": 0.3}, lambda x, z: slanted(x, z, share(0.3, x, z))),
    "itakura 1.5": ({"band": "itakura", "max_slope": 1.5}, lambda x, z: itakura(x, z, 1.5)),
    "itakura 3": ({"band": "itakura", "max_slope": 3.0}, lambda x, z: itakura(x, z, 3.0)),
}


def ragged(seed, n=40, channels=1, longest=11):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, longest), channels)) for _ in range(n)]


def euclidean(a, b):
    return np.sqrt(square(a, b))


@pytest.mark.few(10)
@pytest.mark.oracle
@pytest.mark.parametrize("kind", BANDS)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("local", ["sqeuclidean", "euclidean"])
@pytest.mark.filterwarnings("ignore:pairwise_dtw. the band admits")
def test_all_pairs_match_plain_loops(kind, channels, local, seed):
    settings, rule = BANDS[kind]
    X = ragged(seed, n=70, channels=channels)
    cost = square if local == "sqeuclidean" else euclidean
    expected = [[warping_cost(x, z, cost, rule(x, z)) for z in X] for x in X]
    D = pairwise_dtw(X, local=local, root=False, **settings)
    assert_allclose(D, expected, rtol=1e-14)
    assert_array_equal(pairwise_dtw(X[:7], X, local=local, root=False, **settings), D[:7])
    assert_array_equal(D, D.T)
    if local == "sqeuclidean":
        assert_array_equal(pairwise_dtw(X, **settings), np.sqrt(D))


@pytest.mark.oracle
@pytest.mark.parametrize("kind", BANDS)
@pytest.mark.filterwarnings("ignore:dtw. the band admits")
def test_single_pair_equals_the_matrix(kind, seed):
    settings, _ = BANDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = ragged(seed, n=12, channels=2)
        D = pairwise_dtw(X, **settings)
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            path, distance = dtw_path(x, z, **settings)
            assert distance == D[i, j] == dtw(x, z, **settings)
            assert len(path) > 0 or distance == np.inf


@pytest.mark.certificate
def test_the_path_is_an_alignment_of_this_cost(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        x, z = (rng.integers(0, 3, size=rng.integers(1, 9)).astype(float) for _ in range(2))
        path, cost = dtw_path(x, z, root=False)
        assert path[0].tolist() == [0, 0]
        assert path[-1].tolist() == [len(x) - 1, len(z) - 1]
        steps = np.diff(path, axis=0)
        assert set(map(tuple, steps.tolist())) <= {(1, 1), (1, 0), (0, 1)}
        assert ((x[path[:, 0]] - z[path[:, 1]]) ** 2).sum() == cost
        best = min(
            sum((x[i] - z[j]) ** 2 for i, j in p) for p in all_alignments(len(x), len(z))
        ) if len(x) + len(z) < 12 else cost  # fmt: skip
        assert cost == best


def test_ties_of_the_path_go_to_the_diagonal_then_to_x():
    path, _ = dtw_path([0, 0, 0], [0, 0])
    assert path.tolist() == [[0, 0], [1, 0], [2, 1]]


@pytest.mark.paper
def test_worked_examples():
    def mismatch(a, b):
        return (a != b.T).astype(float)

    def cost(x, z, **settings):
        return dtw(list(map(int, x)), list(map(int, z)), local=mismatch, **settings)

    assert [cost("123", "1223"), cost("123", "133"), cost("1223", "133")] == [0, 1, 2]
    assert dtw([0, 1, 2, 1], [0, 2, 1], local="euclidean") == 1
    x = [0, 0, 1, 2, 2]
    z = [0, 1, 1, 1, 2]
    assert dtw(x, z, local="euclidean") == 0
    assert dtw(x, z, local="euclidean", radius=0) == 2
    assert dtw(x, z, local="euclidean", radius=1) == 0
    assert dtw(x, z, local="euclidean", band="itakura") == 2
    assert dtw([0, 1, 2, 1], [0, 2, 2, 5]) == np.sqrt(17)


def test_function_of_local_costs_matches_named_costs(seed):
    X = ragged(seed, n=6, channels=2)

    def city(a, b):
        return np.abs(a[:, None] - b[None]).sum(axis=2)

    expected = [
        [warping_cost(x, z, lambda a, b: np.abs(a - b).sum(), sakoe_chiba(x, z, 9)) for z in X]
        for x in X
    ]
    assert_allclose(pairwise_dtw(X, local=city, radius=9), expected, rtol=1e-14)
    with pytest.raises(ValueError, match="local must return costs of shape"):
        dtw([1, 2], [3], local=lambda a, b: np.zeros(3))


@pytest.mark.invariance
def test_containers_batches_and_threads_are_bit_equal(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 9, 2))
    D = pairwise_dtw(X, radius=3)
    assert_array_equal(pairwise_dtw(list(X), radius=3), D)
    assert_array_equal(pairwise_dtw(X, radius=3, n_jobs=2), D)
    assert_array_equal(pairwise_dtw(X[:1], X[1:2], radius=3), D[:1, 1:2])
    assert_array_equal(pairwise_dtw(X[::-1], radius=3), D[::-1, ::-1])
    objects = np.empty(150, dtype=object)
    objects[:] = list(X)
    assert_array_equal(pairwise_dtw(objects, radius=3), D)
    univariate = X[:, :, 0]
    expected = pairwise_dtw(univariate)
    assert_array_equal(pairwise_dtw(univariate[:, :, None]), expected)
    assert_array_equal(pairwise_dtw(univariate.tolist()), expected)
    assert_array_equal(pairwise_dtw([x.astype(np.float64) for x in univariate]), expected)


@pytest.mark.certificate
def test_distances_above_the_bound_are_infinite_and_others_the_same(seed):
    X = ragged(seed, n=60, longest=40)
    D = pairwise_dtw(X, root=False)
    for bound in (0.0, np.median(D), D[3, 5], np.inf):
        expected = np.where(D <= bound, D, np.inf)
        assert_array_equal(pairwise_dtw(X, root=False, max_distance=bound), expected)
        rooted = pairwise_dtw(X, max_distance=np.sqrt(bound) * (1 + 1e-12))
        assert_array_equal(rooted, np.sqrt(expected))


@pytest.mark.certificate
@pytest.mark.parametrize("radius", [0, 2, 5, None, 0.2])
def test_lower_bound_is_below_the_distance(radius, seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x, z = rng.normal(size=(2, 15, 2))
        r = {None: 15, 0.2: 3}.get(radius, radius)
        low = np.array([z[max(0, i - r) : i + r + 1].min(axis=0) for i in range(15)])
        high = np.array([z[max(0, i - r) : i + r + 1].max(axis=0) for i in range(15)])
        out = np.maximum(np.maximum(x - high, low - x), 0)
        bound = lb_keogh(x, z, radius)
        assert_allclose(bound, np.linalg.norm(out), rtol=1e-14)
        assert bound <= dtw(x, z, radius=radius) + 1e-12


@pytest.mark.certificate
def test_multiscale_is_an_upper_bound_that_closes(seed):
    rng = np.random.default_rng(seed)
    for n, m in ((60, 60), (61, 40), (33, 90), (7, 5), (1, 9)):
        x = rng.normal(size=n).cumsum()
        z = rng.normal(size=m).cumsum()
        exact = dtw(x, z)
        values = [multiscale_dtw(x, z, radius=r) for r in (0, 1, 5, 20, 200)]
        assert np.isfinite(values).all()
        assert min(values) >= exact - 1e-12
        assert values[-1] == exact
    banded = multiscale_dtw(x, z, radius=100, band="sakoe_chiba", band_radius=20)
    assert banded == dtw(x, z, radius=20)


@pytest.mark.oracle
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 5.0])
def test_soft_minimum_of_jumps_and_spikes(gamma, seed):
    """Sums of long series, of rows whose numbers differ by any power of two."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 1)).cumsum(axis=0)
    z = rng.normal(size=(90, 1)).cumsum(axis=0)
    # the series is first far from all others, then near them
    late = np.where(np.arange(60) < 30, 20.0, 0.0)[:, None]
    spike = 40.0 * (np.arange(60) == 20)[:, None]
    for y in (x, 5 * x, x + late, x[::-1] + late[::-1], x + spike):
        expected = soft_minimum_by_logarithms(y, z, gamma)
        assert_allclose(soft_dtw(y, z, gamma), expected, rtol=1e-12, atol=1e-10)
        assert_allclose(soft_dtw(z, y, gamma), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.oracle
def test_soft_minimum_matches_all_alignments(seed):
    rng = np.random.default_rng(seed)
    for gamma in (0.01, 1.0, 30.0):
        x = rng.normal(size=(4, 2))
        z = rng.normal(size=(5, 2))
        expected = soft_minimum_of_alignments(x, z, gamma)
        assert_allclose(soft_dtw(x, z, gamma), expected, rtol=1e-11, atol=1e-11)
        assert_allclose(soft_dtw(z, x, gamma), expected, rtol=1e-11, atol=1e-11)
    assert_allclose(
        soft_dtw(x, z, 1e-4), dtw(x, z, root=False), rtol=1e-3
    )  # gamma is small but not zero, so the values differ


@pytest.mark.certificate
@pytest.mark.parametrize("debias", [False, True])
def test_gradient_of_the_soft_minimum(debias, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6, 2))
    z = rng.normal(size=(4, 2))
    value, slope = soft_dtw(x, z, 0.7, gradient=True, debias=debias)
    assert value == soft_dtw(x, z, 0.7, debias=debias)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        up, down = (soft_dtw(x + s * step, z, 0.7, debias=debias) for s in (1, -1))
        # the error of central differences is the rounding error divided by the step
        assert_allclose(slope[at], (up - down) / 2e-6, rtol=1e-6, atol=1e-7)
    assert soft_dtw(x, x, 0.7) < 0
    assert_allclose(soft_dtw(x, x, 0.7, debias=True), 0, atol=1e-12)


@pytest.mark.oracle
def test_functional_distance_of_order_one_is_the_area(seed):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, 12))
    u = np.pad(x - z, 1)
    t = np.linspace(0, 13, 13 * 20_000 + 1)
    fine = np.abs(np.interp(t, np.arange(14), u))
    area = np.trapezoid(fine, t)
    # the trapezoid rule has errors at the kinks
    assert_allclose(functional_distance(x, z, p=1), area, rtol=1e-6)
    assert_allclose(functional_distance(x, z, p=1, period=0.5), area / 2, rtol=1e-6)


@pytest.mark.invariance
def test_functional_distance_depends_on_the_order():
    u = np.array([1.0, 1.0, -1.0, -1.0])
    smooth = functional_distance(u, 0 * u)
    rough = functional_distance(u[[0, 2, 1, 3]], 0 * u)
    assert rough < smooth
    three = np.column_stack([u, u, 0 * u])
    assert_allclose(functional_distance(three, 0 * three), np.sqrt(2) * smooth, rtol=1e-14)
    assert functional_distance(u, u) == 0
    tiny = functional_distance(1e-90 * u, 0 * u, p=7)
    assert_allclose(tiny, 1e-90 * functional_distance(u, 0 * u, p=7), rtol=1e-12)


@pytest.mark.edge
def test_no_alignment_is_infinite_with_one_warning():
    X = [np.zeros(3), np.zeros(9), np.zeros(4)]
    with pytest.warns(UserWarning, match="no alignment for 4 of 9 pairs") as caught:
        D = pairwise_dtw(X, radius=2, slanted=False)
    assert len(caught) == 1
    assert np.isinf(D).sum() == 4
    assert np.isfinite(pairwise_dtw(X, radius=2)).all()
    with pytest.warns(UserWarning, match="slope allows"):
        assert dtw(X[0], X[1], band="itakura") == np.inf


@pytest.mark.edge
@pytest.mark.parametrize(
    ("x", "settings", "message"),
    [
        ([], {}, "series 0 is empty"),
        ([1.0, np.nan], {}, "NaN or infinity at time 1"),
        ([1.0, np.inf], {}, "NaN or infinity at time 1"),
        ([[1.0, 2.0], [3.0, 4.0]], {}, "same channels"),
        (["1", "2"], {}, "not an array of real numbers"),
        ([[1.0], [1.0, 2.0]], {}, "not an array of real numbers"),
        ([1 + 2j, 3], {}, "not an array of real numbers"),
        ([[[1.0]]], {}, "has shape"),
        (3.0, {}, "single number"),
        ([1.0], {"radius": -1}, "radius=-1"),
        ([1.0], {"radius": 1.5}, "radius=1.5"),
        ([1.0], {"radius": np.nan}, "radius=nan"),
        ([1.0], {"radius": True}, "radius=True"),
        ([1.0], {"band": "itakura", "radius": 2}, "has no radius"),
        ([1.0], {"band": "itakura", "max_slope": 1.0}, "max_slope=1.0"),
        ([1.0], {"band": "sakoe_chiba"}, "needs a radius"),
        ([1.0], {"band": "box"}, "band='box'"),
        ([1.0], {"local": "cosine"}, "local='cosine'"),
        ([1e150], {}, "between 1e-100 and 1e100"),
    ],
)
def test_error_names_bad_input(x, settings, message):
    with pytest.raises(ValueError, match=message):
        dtw(x, [1.0, 2.0], **settings)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "empty collection"),
        ([[1.0], []], "series 1 is empty"),
        ([[1.0], [2.0, np.nan]], "series 1 has NaN or infinity at time 1"),
        ([np.zeros(2), np.zeros((2, 3))], "series 0 has 1, but series 1 has 3"),
        ([1.0, 2.0], "series 0 is a single number"),
        (np.zeros((2, 2), dtype=object), "select one column"),
    ],
)
def test_errors_name_bad_collections(X, message):
    with pytest.raises(ValueError, match=message):
        pairwise_dtw(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lb_keogh([1, 2], [1, 2, 3], 1), "equal lengths"),
        (lambda: functional_distance([1, 2], [1, 2, 3]), "equal lengths"),
        (lambda: functional_distance([1], [1], p=0.5), "p=0.5"),
        (lambda: functional_distance([1], [1], period=0), "period=0"),
        (lambda: soft_dtw([1], [1], gamma=0), "gamma=0"),
        (lambda: multiscale_dtw([1], [1], radius=0.5), "radius=0.5"),
        (lambda: pairwise_dtw([[1]], max_distance=-1), "max_distance=-1"),
        (lambda: pairwise_dtw([[1]], [[[1, 2]]]), "same channels"),
    ],
)
def test_errors_name_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.edge
def test_memory_is_far_below_the_table():
    """Moves of the path take two bits a cell, distances one row."""
    x, z = np.random.default_rng(0).normal(size=(2, 3000))
    dtw_path([1.0], [1.0])
    tracemalloc.start()
    path, _ = dtw_path(x, z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path[-1].tolist() == [2999, 2999]
    assert peak < 9e6 / 4 + 1e6


@pytest.mark.recovery
def test_picture_of_the_path():
    import matplotlib.pyplot as plt

    x = np.zeros((6, 2))
    z = np.ones((4, 2))
    display = WarpingPathDisplay.from_series(x, z, radius=3)
    path, distance = dtw_path(x, z, radius=3)
    assert_array_equal(np.column_stack(display.line_.get_data()), path[:, ::-1])
    assert display.distance == distance
    assert_array_equal(display.costs, np.full((6, 4), 2.0))
    assert_array_equal(display.image_.get_array(), display.costs)
    rooted = WarpingPathDisplay.from_series(x, z, local="euclidean", ax=display.ax_)
    assert rooted.figure_ is display.figure_
    assert rooted.distance == dtw(x, z, local="euclidean")
    plt.close(display.figure_)
