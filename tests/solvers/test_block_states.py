"""Evidence that a pass accepts, reverts and scales the previous codes as required."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.codes.signal_blocks import from_dense
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.dictionaries import coded_signals
from skmoderndata._solvers.factors import coded_rows, topic_fits
from skmoderndata._solvers.factors.coded_rows import CodedRows, Codes, Lacking
from skmoderndata._solvers.factors.extrapolation import Extrapolation
from skmoderndata._solvers.factors.factor_updates import Data, Side, SummedData
from skmoderndata._solvers.factors.factorization import factorize
from skmoderndata._solvers.factors.topic_fits import Mixtures


def test_codes_of_a_pass_become_the_best_or_not():
    best, improved, ahead = (np.full((2, 1), value) for value in (1.0, 2.0, 3.0))
    codes = Codes(best, improved, ahead)
    assert codes.after(coded_rows.Decision()) == (ahead, improved, ahead)
    assert codes.after(coded_rows.Decision(better=False)) == (best, improved, ahead)
    back = coded_rows.Decision(better=False, onward=False)
    assert codes.after(back) == (best, best, best)
    scaled = codes.after(coded_rows.Decision(times=np.array([2.0]), over=4.0))
    assert [float(W[0, 0]) for W in scaled] == [1.5, 1.0, 1.5]


@pytest.mark.oracle
def test_objective_matches_the_factors(seed):
    """Also where the last pass led astray, and its codes are not the best ones."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(30, 3)) @ rng.uniform(size=(3, 12)) + 0.1 * rng.uniform(
        size=(30, 12)
    )
    W = rng.uniform(size=(30, 3))
    V = rng.uniform(size=(12, 3))
    ends_astray = 0
    for max_iter in range(1, 50):
        rows = CodedRows.of(Data(X), W)
        sides = {"codes_side": Side(), "components_side": Side()}
        result = factorize(rows, V, **sides, max_iter=max_iter, tol=0)
        error = np.linalg.norm(X - result.codes @ result.components.T)
        assert_allclose(result.objective, error**2 / 2, rtol=1e-9)
        history = result.history
        ends_astray += max_iter > 1 and history[-1] == history[-2]
    assert ends_astray > 0


def test_extrapolation_pauses_after_an_increase():
    extrapolation = Extrapolation()
    extrapolation.went_well()
    assert extrapolation.length > 0
    extrapolation.led_astray()
    assert extrapolation.length == 0


def test_mixtures_continue_or_return_to_the_last_plain_step():
    best, safe, used, plain = (
        np.array([[share, 1 - share]]) for share in (0.1, 0.2, 0.5, 0.6)
    )
    mixtures = Mixtures(best, safe, used, plain)
    assert mixtures.after(topic_fits.Decision()) == (used, plain, plain, plain)
    back = mixtures.after(topic_fits.Decision(kept=False))
    assert back[:3] == (best, safe, safe)
    ahead = mixtures.after(topic_fits.Decision(step=2.0))
    assert_allclose(ahead.used, [[0.8, 0.2]])
    assert ahead.best is used


def test_rejected_codes_are_not_a_start():
    kept = object()
    tried = from_dense(np.array([[1.0, 0.0], [0.0, 2.0]]), *np.zeros((4, 2)))
    coded = coded_signals.Coded(kept, tried)
    assert coded.start(coded_signals.Decision(kept=False), 2) is kept
    shrunk = coded.start(coded_signals.Decision(factor=np.array([0.5, 0.1])), 2)
    assert_allclose(shrunk.toarray(), [[0.5, 0.0], [0.0, 0.2]])


@pytest.mark.oracle
@pytest.mark.parametrize("gaps", [(False, True), (True, False), (True, True)], ids=str)
def test_sums_of_blocks_match_all_rows(gaps):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20, 5))
    W = rng.uniform(size=(20, 3))
    for rows, missing in zip((slice(0, 8), slice(8, 20)), gaps, strict=True):
        X[rows][:2, 1] = np.nan if missing else X[rows][:2, 1]
    total = Data.of(X[:8]).sums(W[:8]) + Data.of(X[8:]).sums(W[8:])
    whole = Data.of(X).sums(W)
    for (_, G, F), (_, G_whole, F_whole) in zip(total.terms(), whole.terms(), strict=True):
        assert_allclose(G, G_whole, rtol=1e-12)
        assert_allclose(F, F_whole, rtol=1e-12)


def test_sums_of_complete_blocks_have_one_gram_matrix():
    S = np.eye(2)
    total = SummedData(S, np.ones((4, 2)), 1.0, 2.0) + SummedData(S, np.ones((4, 2)), 3.0)
    assert_array_equal(total.S, 2 * S)
    assert (total.sum_sq, total.penalty, total.by_column) == (4.0, 2.0, False)


def test_worst_rows_of_two_blocks():
    one = Lacking(np.array([3.0, 1.0]), np.array([[3.0], [1.0]]), 2)
    other = Lacking(np.array([3.0, 2.0]), np.array([[4.0], [2.0]]), 2)
    both = one + other
    assert_array_equal(both.sizes, [3, 3])
    # among equal numbers, the first one comes first
    assert_array_equal(both.lacks, [[3], [4]])
    assert (Largest(1.0) + Largest(2.0)).value == 2.0
