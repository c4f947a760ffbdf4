"""Evidence that edit distances are the least costs of changes of single symbols."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._samples import edits as module
from skmoderndata.datasets import load_language_names
from skmoderndata.metrics import edit_distance, pairwise_edit_distance
from tests.oracles.edit_distance import edit_distance as naive

COSTS = [(1.0, 1.0), (1.0, 2.0), (0.5, 0.75), (2.0, 0.0), (1.0, 5.0)]


def texts(seed, n=12, longest=20, symbols="abc"):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, size=n)
    return ["".join(rng.choice(list(symbols), size=k)) for k in lengths]


@pytest.mark.oracle
@pytest.mark.parametrize(("gap", "substitution"), COSTS)
def test_equals_the_recursion(gap, substitution, seed):
    X = texts(seed)
    Z = texts(seed + 1, n=7, symbols="bcde")
    expected = [[naive(x, z, gap, substitution) for z in Z] for x in X]
    costs = {"gap_cost": gap, "substitution_cost": substitution}
    assert_allclose(pairwise_edit_distance(X, Z, **costs), expected, rtol=1e-14)
    own = [[naive(x, z, gap, substitution) for z in X] for x in X]
    assert_allclose(pairwise_edit_distance(X, **costs), own, rtol=1e-14)
    assert edit_distance(X[0], Z[0], **costs) == pytest.approx(expected[0][0], rel=1e-14)


@pytest.mark.oracle
@pytest.mark.parametrize("m", [1, 63, 64, 65, 127, 128, 129, 300])
def test_machine_words_are_joined(m, seed):
    """64 rows of the table are one number; carries go from one number to the next."""
    rng = np.random.default_rng(seed)
    x = "".join(rng.choice(list("ab"), size=m))
    Z = ["".join(rng.choice(list("ab"), size=k)) for k in (0, 1, 64, 200)] + [
        x,
        x[1:],
        x + "a",
    ]
    # these costs need the general solver, but change each distance by at most 1e-9 per edit
    tiny = 1.0 + 1e-9
    by_table = pairwise_edit_distance([x], Z, gap_cost=tiny, substitution_cost=tiny)
    assert_array_equal(pairwise_edit_distance([x], Z), np.rint(by_table))
    assert_array_equal(pairwise_edit_distance(Z, [x]).T, np.rint(by_table))
    assert_array_equal([[edit_distance(x, z) for z in Z]], np.rint(by_table))
    assert_array_equal([[edit_distance(z, x) for z in Z]], np.rint(by_table))


@pytest.mark.paper
@pytest.mark.parametrize(
    ("x", "z", "expected"),
    [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("survey", "surgery", 2)],
)
def test_known_distances(x, z, expected):
    assert edit_distance(x, z) == edit_distance(z, x) == expected
    assert edit_distance(list(x), tuple(z)) == expected


@pytest.mark.certificate
@pytest.mark.parametrize("normalize", [False, True])
def test_is_a_metric(normalize, seed):
    X = [*texts(seed, n=14, longest=9), "", "a", "b"]
    for gap, substitution in COSTS[:3]:
        D = pairwise_edit_distance(
            X, gap_cost=gap, substitution_cost=substitution, normalize=normalize
        )
        assert_array_equal(D, D.T)
        different = np.array([[x != z for z in X] for x in X])
        assert_array_equal(D > 0, different)
        sums = D[:, :, None] + D[None]
        assert (D <= sums.min(axis=1) + 1e-12).all()
        if normalize:
            assert D.max() <= 1.0


@pytest.mark.invariance
def test_threads_blocks_and_containers_leave_no_trace(monkeypatch):
    X = load_language_names().data[::16]
    D = pairwise_edit_distance(X)
    for gap, cells, n_jobs in product((1.0, 0.7), (100, 2**24), (1, 3)):
        costs = {"gap_cost": gap, "substitution_cost": 1.0}
        monkeypatch.setattr(module, "CELLS", 2**24)
        expected = pairwise_edit_distance(X, **costs)
        monkeypatch.setattr(module, "CELLS", cells)
        found = pairwise_edit_distance(X, **costs, n_jobs=n_jobs)
        assert_array_equal(found, expected)
        assert_array_equal(pairwise_edit_distance(X[:9], X, **costs, n_jobs=n_jobs), found[:9])
    for other in (np.array(X), pd.Series(X), tuple(X), [list(x) for x in X]):
        assert_array_equal(pairwise_edit_distance(other), D)


@pytest.mark.edge
def test_empty_collections_and_sequences():
    assert pairwise_edit_distance([]).shape == (0, 0)
    assert pairwise_edit_distance([], ["a"]).shape == (0, 1)
    assert pairwise_edit_distance(["a"], []).shape == (1, 0)
    assert_array_equal(pairwise_edit_distance(["", ""]), np.zeros((2, 2)))
    assert_array_equal(pairwise_edit_distance(["", ""], normalize=True), np.zeros((2, 2)))
    assert edit_distance("", "ab", normalize=True) == 1.0
    assert edit_distance("ab", "xyz", gap_cost=0.5) == 2.5


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: pairwise_edit_distance("one text"),
            TypeError,
            "needs a collection of samples",
        ),
        (lambda: pairwise_edit_distance(["a", None]), ValueError, "sample 1 is missing"),
        (
            lambda: pairwise_edit_distance(["a"], [b"a"]),
            TypeError,
            "of str and the other",
        ),
        (lambda: edit_distance("a", b"a"), TypeError, "of str and the other"),
        (lambda: edit_distance("a", 3), TypeError, "sample 0 is of type int"),
        (lambda: edit_distance("a", "b", gap_cost=0.0), ValueError, "'gap_cost' parameter"),
        (
            lambda: edit_distance("a", "b", substitution_cost=-1),
            ValueError,
            "'substitution_cost'",
        ),
    ],
)
def test_raises_on_invalid_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
