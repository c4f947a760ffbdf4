"""Evidence that the neighbours of series are the nearest, found by few distances."""

import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skmoderndata._samples.series import pack_series
from skmoderndata._solvers.alignment.corridors import SAKOE_CHIBA, Band, fill_corridor
from skmoderndata._solvers.alignment.neighbors import make_index, search
from skmoderndata._solvers.alignment.warping import cost_of_pair, rest_by_diagonals
from skmoderndata.metrics import pairwise_dtw
from skmoderndata.neighbors import DTWNeighborsClassifier, DTWNeighborsRegressor
from skmoderndata.preprocessing import SeriesFormatter
from tests.oracles import archive
from tests.oracles.dynamic_time_warping import sakoe_chiba, square, warping_cost

SETS = archive.sets()
RADII = [None, 0, 1, 4, 0.3]


def ragged(seed, n=60, channels=1, longest=14):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(1, longest), channels)).cumsum(axis=0) for _ in range(n)
    ]


def equal(seed, n=60, length=12, channels=2):
    return list(np.random.default_rng(seed).normal(size=(n, length, channels)).cumsum(axis=1))


def distances(X, Z, radius, slanted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pairwise_dtw(X, Z, radius=radius, slanted=slanted)


@pytest.mark.oracle
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("make", [ragged, equal])
@pytest.mark.parametrize("lower_bounds", [True, False])
@pytest.mark.parametrize("slanted", [True, False])
def test_neighbours_match_all_distances(radius, make, lower_bounds, slanted, seed):
    X = make(seed)
    Z = make(seed + 1, n=25)
    X[7] = X[3]  # on ties, the sample with the smaller number counts as nearer

    model = DTWNeighborsClassifier(
        5, radius=radius, lower_bounds=lower_bounds, slanted=slanted
    )
    model.fit(X, np.arange(60) % 3)

    D = distances(X, Z, radius, slanted).T
    found, nearest = model.kneighbors(Z)
    expected = np.argsort(D, axis=1, kind="stable")[:, :5]
    assert_array_equal(nearest, expected)
    assert_array_equal(found, np.take_along_axis(D, expected, axis=1))
    assert_array_equal(model.kneighbors(Z[:3], 2, return_distance=False), expected[:3, :2])

    alone = distances(X, None, radius, slanted)
    np.fill_diagonal(alone, np.inf)
    found, nearest = model.kneighbors()
    # each series itself comes last, after others at an infinite distance
    shifted = np.where(np.eye(60, dtype=bool), np.nan, alone)
    expected = np.argsort(shifted, axis=1, kind="stable")[:, :5]
    assert_array_equal(nearest, expected)
    assert_array_equal(found, np.take_along_axis(alone, expected, axis=1))


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("rooted", [False, True])
def test_an_alignment_is_abandoned_only_above_the_cutoff(channels, rooted, seed):
    X = ragged(seed, n=16, channels=channels)
    for x, z in itertools.pairwise(X):
        exact = warping_cost(
            x,
            z,
            cost=(lambda a, b: np.sqrt(square(a, b))) if rooted else square,
            allowed=sakoe_chiba(x, z, 5),
        )

        low, high = np.empty((2, len(x)), dtype=np.int64)
        fill_corridor(len(x), len(z), Band(SAKOE_CHIBA, 5.0), low, high)
        row = np.empty(len(z) + 1)
        tail = np.zeros(len(x) + 1)
        costs = [
            cost_of_pair(x, z, low, high, rooted, tail, cutoff, row, 0, 10**6)[1]
            for cutoff in (np.inf, exact * (1 + 1e-9), 0.99 * exact)
        ]

        assert_allclose(costs[:2], exact, rtol=1e-12)
        # the last row is complete if its smallest cost is below the cutoff
        if np.isfinite(exact):
            assert costs[2] == np.inf or costs[2] == costs[0]

        tail[:] = 0.5 * exact  # each row contains a cell with at least the remaining cost
        if np.isfinite(exact) and exact > 0:
            below = (tail, 0.4 * exact, row, 0, 10**6)
            assert cost_of_pair(x, z, low, high, rooted, *below)[1] == np.inf


@pytest.mark.oracle
@pytest.mark.parametrize("radius", [0, 3, 40])
@pytest.mark.parametrize("channels", [1, 2])
def test_diagonals_without_their_ends_keep_the_cost_up_to_the_cutoff(radius, channels, seed):
    X = ragged(seed, n=24, channels=channels, longest=60)
    for x, z in itertools.pairwise(X):
        exact = warping_cost(x, z, cost=square, allowed=sakoe_chiba(x, z, radius))
        low, high = np.empty((2, len(x)), dtype=np.int64)
        fill_corridor(len(x), len(z), Band(SAKOE_CHIBA, float(radius)), low, high)

        def cost(cutoff, tail, x=x, z=z, low=low, high=high):
            turned = (x.T.ravel(), z[::-1].T.ravel())
            state = (np.zeros(3, dtype=np.int64), np.empty((3, len(x) + 1)), 10**6)
            return rest_by_diagonals(*turned, low, high, False, tail, cutoff, *state)[0]

        # the cost does not exceed the cutoff; each row costs at least the distance to its nearest
        # point of z
        squares = ((x[:, None] - z) ** 2).sum(axis=2)
        tail = np.append(np.cumsum(squares.min(axis=1)[::-1])[::-1], 0.0) * (1 - 1e-12)
        for bounds in (np.zeros(len(x) + 1), tail):
            assert_allclose(cost(exact * (1 + 1e-12), bounds), exact, rtol=1e-12)
            assert cost(0.9 * exact, bounds) > 0.9 * exact or exact in (0.0, np.inf)


@pytest.mark.oracle
@pytest.mark.parametrize("radius", [None, 30])
def test_wide_bands_find_the_neighbours_of_all_distances(radius, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 64)).cumsum(axis=1)
    X[7] = X[3]
    model = DTWNeighborsClassifier(3, radius=radius).fit(X, np.arange(30) % 2)

    D = pairwise_dtw(X, radius=radius)
    np.fill_diagonal(D, np.inf)
    found, nearest = model.kneighbors()
    expected = np.argsort(D, axis=1, kind="stable")[:, :3]
    assert_array_equal(nearest, expected)
    assert_array_equal(found, np.take_along_axis(D, expected, axis=1))


@pytest.mark.oracle
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_predictions_match_scikit_learn_on_the_matrix(weights, seed):
    X = ragged(seed, n=40)
    Z = ragged(seed + 1, n=20)
    X[5] = Z[2]
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c"], size=40)
    values = rng.normal(size=40)
    D = pairwise_dtw(X)
    D_test = pairwise_dtw(Z, X)
    ours = DTWNeighborsClassifier(3, weights=weights).fit(X, labels)
    theirs = KNeighborsClassifier(3, weights=weights, metric="precomputed").fit(D, labels)
    assert_array_equal(ours.predict(Z), theirs.predict(D_test))
    assert_allclose(ours.predict_proba(Z), theirs.predict_proba(D_test), rtol=1e-12)
    ours = DTWNeighborsRegressor(3, weights=weights).fit(X, values)
    theirs = KNeighborsRegressor(3, weights=weights, metric="precomputed").fit(D, values)
    assert_allclose(ours.predict(Z), theirs.predict(D_test), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("make", [ragged, equal])
def test_learned_radius_has_the_least_leave_one_out_error(make, seed):
    X = make(seed, n=30)
    y = np.arange(30) % 2
    model = DTWNeighborsClassifier(radius="cv").fit(X, y)
    longest = max(map(len, X))
    assert_array_equal(model.cv_radii_, np.arange(longest + 1))

    errors = []
    for radius in model.cv_radii_:
        D = distances(X, None, int(radius), True)
        np.fill_diagonal(D, np.inf)
        errors.append(np.mean((y[D.argmin(axis=1)] != y) | np.isinf(D.min(axis=1))))

    assert_allclose(model.cv_errors_, errors, rtol=1e-12)
    assert model.radius_ == np.argmin(errors)

    values = np.random.default_rng(seed).normal(size=30)
    model = DTWNeighborsRegressor(2, radius="cv").fit(X, values)

    for radius, error in zip(model.cv_radii_[5:], model.cv_errors_[5:], strict=True):
        D = distances(X, None, int(radius), True)
        np.fill_diagonal(D, np.inf)

        near = np.argsort(D, axis=1, kind="stable")[:, :2]
        known = np.isfinite(np.take_along_axis(D, near, axis=1))
        total = known.sum(axis=1)
        means = (values[near] * known).sum(axis=1) / np.maximum(total, 1)
        means[total == 0] = values.mean()
        assert_allclose(error, np.mean((means - values) ** 2), rtol=1e-12)


@pytest.mark.certificate
def test_few_distances_are_computed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(460, 128)).cumsum(axis=1)
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    queries = pack_series(X[:60])
    series = pack_series(X[60:])
    index = make_index(*series.arrays, band=Band(SAKOE_CHIBA, 6.0), bounded=True)
    costs, nearest, begun = search(*queries.arrays, index, 1)
    assert begun < 0.05 * 60 * 400
    D = pairwise_dtw(X[:60], X[60:], radius=6)
    assert_array_equal(nearest[:, 0], D.argmin(axis=1))
    assert_array_equal(np.sqrt(costs[:, 0]), D.min(axis=1))


@pytest.mark.paper
@pytest.mark.parametrize(
    ("name", "radius", "error"),
    [
        case
        for case in [
            ("GunPoint", 0, 0.0867),
            ("GunPoint", None, 0.0933),
            ("GunPoint", "cv", 0.0867),
            ("ItalyPowerDemand", 0, 0.0447),
            ("ItalyPowerDemand", None, 0.0496),
            ("ItalyPowerDemand", "cv", 0.0447),
            ("ArrowHead", 0, 0.2000),
            ("ArrowHead", None, 0.2971),
            ("ArrowHead", "cv", 0.2000),
            ("OSULeaf", 30, 0.3884),  # the radius is seven per cent, rounded up
            ("JapaneseVowels", None, 1 - 0.9486),
            ("BasicMotions", None, 1 - 0.975),
        ]
        if case[0] in SETS
    ],
)
def test_printed_error_rates_of_the_archive(name, radius, error):
    """Dau et al., The UCR time series archive, 2019; Bagnall et al., the UEA archive, 2018."""
    X, y, Z, t = archive.load(name)
    model = DTWNeighborsClassifier(radius=radius).fit(X, y)
    assert round(1 - model.score(Z, t), 4) == round(error, 4)


@pytest.mark.paper
@pytest.mark.parametrize("found", [found for found in [archive.trace()] if found is not None])
def test_printed_error_rates_of_trace(found):
    X, y, Z, t = found
    errors = [1 - DTWNeighborsClassifier(radius=r).fit(X, y).score(Z, t) for r in (0, None, 8)]
    assert np.round(errors, 4).tolist() == [0.24, 0.0, 0.01]


@pytest.mark.recovery
def test_shifted_events_are_recognised(seed):
    """A bump anywhere is distinguished from a dip; the Euclidean distance cannot do so."""
    rng = np.random.default_rng(seed)
    X = 0.05 * rng.normal(size=(80, 60))
    y = np.arange(80) % 2
    for x, label in zip(X, y, strict=True):
        at = rng.integers(0, 50)
        x[at : at + 10] += (2 * label - 1) * np.hanning(10)
    warped = cross_val_score(DTWNeighborsClassifier(), X, y, cv=4).mean()
    plain = cross_val_score(KNeighborsClassifier(1), X, y, cv=4).mean()
    assert warped == 1.0 > plain


@pytest.mark.invariance
@pytest.mark.parametrize("cls", [DTWNeighborsClassifier, DTWNeighborsRegressor])
@pytest.mark.parametrize("settings", [{}, {"n_neighbors": 3, "weights": "distance"}])
def test_containers_copies_threads_and_searches(cls, settings, seed):
    X = np.stack(equal(seed, n=30))
    y = np.arange(30) % 2
    model = cls(**settings).fit(X, y)
    expected = model.predict(X[:9] + 0.1)
    objects = np.empty(30, dtype=object)
    objects[:] = list(X)

    for container in (list(X), objects, [x.tolist() for x in X]):
        assert_array_equal(cls(**settings).fit(container, y).predict(X[:9] + 0.1), expected)
    assert_array_equal(cls(**settings, n_jobs=2).fit(X, y).predict(X[:9] + 0.1), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[:9] + 0.1), expected)
    assert repr(clone(model).get_params()) == repr(model.get_params())

    # later changes to the caller's arrays have no effect
    given = X.copy()
    labels = y.astype(float)
    model = cls(**settings).fit(given, labels)
    given[:] = 7.0
    labels[:] = 1.0
    assert_array_equal(model.predict(X[:9] + 0.1), expected)

    steps = make_pipeline(SeriesFormatter(), cls(**settings))
    name = cls.__name__.lower()
    search_ = GridSearchCV(steps, {f"{name}__radius": [None, 1, 0.2, "cv"]}, cv=3)
    search_.fit(list(X), y)
    assert np.isfinite(search_.cv_results_["mean_test_score"]).all()


@pytest.mark.edge
def test_memory_of_many_queries():
    """10,000 queries against 10,000 series stay below 500 MB: here a tenth of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 32)).cumsum(axis=1)
    model = DTWNeighborsClassifier(radius=2).fit(X, np.zeros(1000))
    model.kneighbors(X[:2])
    tracemalloc.start()
    model.kneighbors(X + 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6  # the full matrix takes 8 MB


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "y", "settings", "message"),
    [
        ([], [], {}, "empty collection"),
        ([[1.0], []], [0, 1], {}, "series 1 is empty"),
        ([[1.0], [np.nan]], [0, 1], {}, "series 1 has NaN"),
        ([[1.0], [2.0]], [0, 1, 1], {}, "inconsistent numbers"),
        ([[1.0], [2.0]], [0, None], {}, "position 1"),
        ([[1.0], [2.0]], [0.5, 1.5], {}, "Unknown label type"),
        (
            [[1.0], [2.0]],
            [0, 1],
            {"n_neighbors": 3},
            "exceeds the number of training series, 2",
        ),
        ([[1.0], [2.0]], [0, 1], {"n_neighbors": 2, "radius": "cv"}, "leaves out one series"),
        ([[1.0], [2.0]], [0, 1], {"radius": -1}, "radius"),
        ([[1.0], [2.0]], [0, 1], {"radius": 1.5}, "radius"),
    ],
)
def test_error_names_bad_input(X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        DTWNeighborsClassifier(**settings).fit(X, y)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.predict([np.zeros((2, 3))]), "same channels"),
        (lambda model: model.predict([np.zeros(9)]), "no training series .* Set slanted=True"),
        (lambda model: model.kneighbors([[1.0]], 4), "from 1 to 3"),
        (lambda model: model.kneighbors(n_neighbors=3), "from 1 to 2"),
        (lambda model: model.kneighbors([[1.0]], 0.5), "n_neighbors=0.5"),
    ],
)
def test_errors_name_bad_queries(call, message):
    model = DTWNeighborsRegressor(radius=1, slanted=False)
    model.fit([[1.0], [2.0, 3.0], [0.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=message):
        call(model)


@pytest.mark.edge
def test_regression_raises_on_missing_values():
    with pytest.raises(ValueError, match="NaN or infinity"):
        DTWNeighborsRegressor().fit([[1.0], [2.0]], [1.0, np.nan])
    with pytest.raises(ValueError, match="between 1e-100 and 1e100"):
        DTWNeighborsRegressor().fit([[1.0], [2.0]], [1.0, 1e120])
