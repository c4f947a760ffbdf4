"""A relative gap is made in one place, and is infinite where a solution diverged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.codes.bridge import duality_gap as bridge_gap
from skmoderndata._solvers.codes.gaps import code_gaps
from skmoderndata._solvers.common.certificates import relative_gap, relative_gaps
from skmoderndata._solvers.embeddings.unfolding import gap_below
from skmoderndata._solvers.margins.certificates import (
    gap_to_margin,
    scaled_squared_hinge,
    tube_gap,
)
from skmoderndata._solvers.margins.enclosing_ball import ball_gap
from skmoderndata._solvers.recovery.optimality import l1_gap

NAN = float("nan")
INF = float("inf")
BROKEN = (NAN, INF, -INF)


@pytest.mark.certificate
def test_gap_is_the_difference_in_its_unit():
    assert relative_gap(4.0, 3.0) == 0.25
    assert relative_gap(-3.0, -4.0) == 0.25
    assert relative_gap(4.0, 3.0, unit=8.0) == 0.125
    assert relative_gap(4.0, 3.0, unit=0.5, floor=2.0) == 0.5
    assert relative_gap(3.0, 4.0) == 0.0


@pytest.mark.edge
@pytest.mark.parametrize("wrong", BROKEN)
def test_gap_is_infinite_unless_everything_is_finite(wrong):
    assert relative_gap(wrong, 1.0) == INF
    assert relative_gap(1.0, wrong) == INF
    assert relative_gap(wrong, wrong) == INF
    assert relative_gap(2.0, 1.0, unit=wrong) == INF or wrong == -INF


@pytest.mark.edge
def test_gap_without_a_unit_is_zero_or_infinite():
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1e-300, 0.0, unit=0.0) == INF
    assert relative_gap(1e300, 0.0, unit=1e-300) == INF


@pytest.mark.oracle
def test_arrays_match_numbers():
    values = np.array([0.0, 1.0, 2.0, -1.0, 1e300, NAN, INF, -INF])
    primal, dual, unit = (part.ravel() for part in np.meshgrid(values, values, values))
    for given in (None, unit):
        expected = [
            relative_gap(p, d, unit=None if given is None else u)
            for p, d, u in zip(primal, dual, unit, strict=True)
        ]
        assert_array_equal(relative_gaps(primal, dual, unit=given), expected)


@pytest.mark.edge
def test_no_certificate_accepts_nan_as_an_optimum():
    bad = np.array([1.0, NAN])
    ones = np.ones(2)
    assert gap_to_margin(NAN, 1.0) == INF
    assert gap_to_margin(scaled_squared_hinge(bad, ones, 1.0)[0], 1.0) == INF
    assert gap_to_margin(scaled_squared_hinge(ones, ones, NAN)[0], 1.0) == INF
    assert tube_gap(bad, ones, 1.0, 0.1, 0.5)[0] == INF
    assert tube_gap(ones, ones, 1.0, 0.1, NAN)[0] == INF
    assert ball_gap(bad, 1.0) == INF
    assert ball_gap(ones, NAN) == INF
    assert l1_gap(ones, bad, ones) == INF
    assert gap_below(INF, 1.0) == gap_below(1.0, NAN) == INF
    assert bridge_gap(bad, ones, ones, 1.0, 0.1, 1.5, False) == INF
    X = np.ones((1, 2))
    D = np.eye(2)
    gap, *_ = code_gaps(X, np.array([[NAN, 0.0]]), np.ones((1, 2)), D, np.ones(1), False)
    assert gap[0] == INF


@pytest.mark.edge
def test_gaps_of_arrays_are_the_gaps_of_their_entries(seed):
    rng = np.random.default_rng(seed)
    primal = rng.normal(size=40)
    dual = primal - rng.normal(size=40)
    special = [np.inf, -np.inf, np.nan, 0.0, 1e308, -1e308]
    for value in [1.0, *special]:
        for part in (primal, dual):
            changed = part.copy()
            changed[3] = value
            pair = (changed, dual) if part is primal else (primal, changed)
            with np.errstate(all="ignore"):
                entries = [relative_gap(*each) for each in zip(*pair, strict=True)]
            assert_allclose(relative_gaps(*pair), entries, rtol=1e-14)
    for unit in [0.0, 2.0, np.inf, np.nan]:
        entries = [relative_gap(*each, unit=unit) for each in zip(primal, dual, strict=True)]
        assert_allclose(relative_gaps(primal, dual, unit=unit), entries, rtol=1e-14)
