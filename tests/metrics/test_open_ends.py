"""Evidence that open ends and subsequence search find the best windows."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.alignment import open_ends
from skmoderndata.metrics import dtw, dtw_path, pairwise_dtw, subsequence_dtw
from tests.oracles.dynamic_time_warping import square, warping_cost


def two_series(seed, n=4, m=11, channels=1, largest=4):
    """Series of few different values, so that many alignments have equal costs."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, largest + 1, (length, channels)) for length in (n, m))


def best_by_loops(x, z, starts, stops, taken=(), cost=square):
    """Smallest cost of all windows that overlap none of `taken`, and the preferred window."""
    windows = [
        (warping_cost(x, z[a:b], cost), b, -a)
        for a, b in itertools.product(starts, stops)
        if a < b and all(b <= first or a >= last for first, last in taken)
    ]
    total, stop, start = min(windows)
    return total, -start, stop


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("open_begin", [False, True])
@pytest.mark.parametrize("open_end", [False, True])
def test_open_ends_match_all_windows(open_begin, open_end, channels, seed):
    for k in range(20):
        x, z = two_series(100 * seed + k, m=9, channels=channels, largest=1 + k % 4)
        m = len(z)
        starts = range(m) if open_begin else [0]
        stops = range(1, m + 1) if open_end else [m]
        expected, start, stop = best_by_loops(x, z, starts, stops)
        ends = {"open_begin": open_begin, "open_end": open_end, "root": False}
        assert dtw(x, z, **ends) == expected
        path, distance = dtw_path(x, z, **ends)
        assert distance == expected
        assert_array_equal(path[0], [0, start])
        assert_array_equal(path[-1], [len(x) - 1, stop - 1])
        assert set(map(tuple, np.diff(path, axis=0))) <= {(1, 1), (1, 0), (0, 1)}
        assert sum(square(x[i], z[j]) for i, j in path) == expected


@pytest.mark.oracle
@pytest.mark.parametrize("local", ["sqeuclidean", "euclidean"])
def test_matches_are_the_best_windows_that_do_not_overlap(local, seed):
    def cost(a, b):
        return square(a, b) if local == "sqeuclidean" else np.sqrt(square(a, b))

    for k in range(3):
        x, z = two_series(10 * seed + k, n=3, m=14, channels=2)
        matches = subsequence_dtw(x, z, n_matches=3, local=local)
        taken = []
        for start, stop, distance in zip(*matches, strict=True):
            total, first, last = best_by_loops(x, z, range(14), range(15), taken, cost)
            assert_allclose(distance, np.sqrt(total) if local == "sqeuclidean" else total)
            # among windows of equal cost in different parts, the first window is chosen
            window = warping_cost(x, z[start:stop], cost)
            assert_allclose(window, total)
            if not taken:
                assert (start, stop) == (first, last)
            taken.append((start, stop))
        assert len(taken) == 3


@pytest.mark.recovery
def test_finds_planted_copies_at_other_speeds():
    rng = np.random.default_rng(0)
    query = np.sin(np.linspace(0, 2 * np.pi, 40))
    series = 0.1 * rng.normal(size=2000)
    planted = [(200, 30), (700, 40), (1400, 60)]
    for start, length in planted:
        series[start : start + length] += np.sin(np.linspace(0, 2 * np.pi, length))
    matches = subsequence_dtw(query, series, n_matches=4)
    order = np.argsort(matches.starts[:3])
    for (start, length), i in zip(planted, order, strict=True):
        assert abs(matches.starts[i] - start) <= 8
        assert abs(matches.stops[i] - start - length) <= 8
    assert matches.distances[3] > 2 * matches.distances[2]
    within = subsequence_dtw(query, series, n_matches=None, max_distance=matches.distances[2])
    assert_array_equal(within.starts, matches.starts[:3])


@pytest.mark.invariance
def test_pieces_and_costs_of_the_caller_change_nothing(seed, monkeypatch):
    x, z = two_series(seed, n=7, m=50)
    expected = dtw_path(x, z, open_begin=True, open_end=True)

    def local(x, z):
        return (x - z.T) ** 2.0

    monkeypatch.setattr("skmoderndata._solvers.common.pieces.PIECE_CELLS", 9)
    found = dtw_path(x, z, open_begin=True, open_end=True)
    assert_array_equal(found[0], expected[0])
    own = dtw_path(x, z, local=local, open_begin=True, open_end=True)
    assert_array_equal(own[0], expected[0])
    assert dtw(x, z, local=local, open_end=True) == dtw(x, z, root=False, open_end=True)


@pytest.mark.invariance
def test_closed_ends_are_the_ordinary_distance(seed):
    x, z = two_series(seed, n=9, m=13, channels=2)
    window = open_ends.best_window(
        x.astype(float), z.astype(float), rooted=False, open_begin=False, open_end=False
    )
    assert window == (dtw(x, z, root=False), 0, 13)


@pytest.mark.oracle
@pytest.mark.parametrize("local", ["sqeuclidean", "euclidean", lambda x, z: (x - z.T) ** 2.0])
@pytest.mark.parametrize("ends", [(True, True), (False, True), (True, False)])
def test_all_pairs_match_a_loop(local, ends, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, Z = ([rng.normal(size=n) for n in lengths] for lengths in ((3, 5, 2), (6, 4, 9, 1)))
    settings = {"local": local, "open_begin": ends[0], "open_end": ends[1]}
    expected = [[dtw(x, z, **settings) for z in Z] for x in X]
    assert_allclose(pairwise_dtw(X, Z, **settings), expected, rtol=1e-12)
    own = [[dtw(x, z, **settings) for z in X] for x in X]
    assert_allclose(pairwise_dtw(X, **settings, n_jobs=2), own, rtol=1e-12)
    monkeypatch.setattr("skmoderndata._solvers.common.pieces.PIECE_CELLS", 5)
    found = pairwise_dtw(X, Z, max_distance=1.0, **settings)
    assert_allclose(found, np.where(np.array(expected) <= 1, expected, np.inf), rtol=1e-12)


@pytest.mark.edge
def test_limits_of_the_matches():
    with pytest.raises(ValueError, match="open_begin=False"):
        dtw([1, 2], [1, 2, 3], open_end=True, radius=1)
    with pytest.raises(ValueError, match="open_begin=False"):
        dtw_path([1, 2], [1, 2, 3], open_begin=True, band="itakura")
    with pytest.raises(ValueError, match="open_begin=False"):
        pairwise_dtw([[1, 2], [1, 2, 3]], open_begin=True, radius=2)
    with pytest.raises(ValueError, match="needs a max_distance"):
        subsequence_dtw([1], [1, 2], n_matches=None)
    with pytest.raises(ValueError, match="n_matches=0"):
        subsequence_dtw([1], [1, 2], n_matches=0)
    with pytest.raises(ValueError, match="max_distance=-1"):
        subsequence_dtw([1], [1, 2], max_distance=-1)
    with pytest.raises(ValueError, match="channels"):
        subsequence_dtw([[1, 2]], [1, 2])
    # each point is a window, and there are no others
    matches = subsequence_dtw([1], [0, 1, 3], n_matches=9)
    assert_array_equal(matches.starts, [1, 0, 2])
    assert_array_equal(matches.distances, [0, 1, 2])
    none = subsequence_dtw([9], [0, 1, 3], max_distance=0.5)
    assert [len(values) for values in none] == [0, 0, 0]
