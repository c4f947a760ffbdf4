"""Evidence that RobustPCA lists wrong cells at a stated false discovery rate."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from skmoderndata._solvers.lowrank.false_cells import (
    noise_inflation,
    p_values,
    student_tail,
    tail_shift,
    threshold_at,
)
from skmoderndata.decomposition import RobustPCA

NOISE = {
    "gauss": lambda rng, shape: rng.normal(size=shape),
    "t5": lambda rng, shape: rng.standard_t(5, size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape),
}


def noisy_table(kind, size, seed, shape=(300, 40)):
    """Table of rank 3, 2 % of its cells wrong by `size` deviations of the noise."""
    rng = np.random.default_rng(seed)
    n, p = shape
    noise = NOISE[kind](rng, shape)
    noise *= 0.3 / (1.4826 * np.median(np.abs(noise)))
    wrong = rng.random(shape) < (0.02 if size else 0.0)
    errors = 0.3 * size * rng.choice([-1, 1], size=shape)
    low_rank = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p))
    return low_rank + noise + np.where(wrong, errors, 0.0), wrong


@pytest.mark.oracle
def test_threshold_matches_benjamini_and_hochberg(seed):
    rng = np.random.default_rng(seed)
    sizes = np.abs(np.r_[rng.normal(size=900), rng.normal(size=100) + 4])
    for rate, dof in ((0.05, np.inf), (0.2, np.inf), (0.2, 8.0)):
        found = sizes > threshold_at(sizes, dof, rate)
        adjusted = stats.false_discovery_control(p_values(sizes, dof), method="bh")
        assert_array_equal(found, adjusted <= rate)
        assert found.any()


@pytest.mark.oracle
def test_p_values_are_two_sided():
    sizes = np.array([0.0, 1.0, 1.959964, np.inf])
    assert_allclose(p_values(sizes, np.inf), [1, 0.3173105, 0.05, 0], rtol=1e-6)
    assert_allclose(p_values(sizes, 3.0), 2 * stats.t.sf(sizes, 3), rtol=1e-12)


@pytest.mark.recovery
@pytest.mark.parametrize("dof", [3.0, 5.0, 10.0])
def test_tail_is_fitted_to_the_middle_of_the_sizes(dof, seed):
    rng = np.random.default_rng(seed)
    sizes = np.abs(2.0 * rng.standard_t(dof, size=100_000))
    found, scale = student_tail(sizes)
    assert 0.75 < found / dof < 1.35
    assert 0.95 < scale / 2.0 < 1.05

    # the size of errors beyond the outer quantile does not matter
    sizes[:2000] = 100.0
    far = student_tail(sizes)
    sizes[:2000] = 1e9
    assert_allclose(student_tail(sizes), far)


@pytest.mark.edge
def test_tail_of_sizes_that_are_zero():
    assert student_tail(np.zeros(10)) == (np.inf, 1.0)


@pytest.mark.recovery
def test_small_errors_in_gaussian_noise_are_found_at_the_rate():
    recall = []
    false = []
    for seed in range(3):
        X, wrong = noisy_table("gauss", 5, seed)
        model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X)
        recall.append(model.support_[wrong].mean())
        false.append((model.support_ & ~wrong).sum() / model.support_.sum())
    assert np.mean(recall) > 0.75  # with a threshold of 5.0 the recall is .2
    assert np.mean(false) < 0.1


@pytest.mark.recovery
@pytest.mark.parametrize("kind", ["t3", "t5", "laplace"])
def test_heavy_tails_are_not_errors(kind):
    X, _ = noisy_table(kind, 0, 0)
    model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X)
    assert model.noise_dof_ < 10
    assert model.support_.mean() <= 0.001


@pytest.mark.invariance
def test_only_the_cells_differ_from_the_fit_with_five_deviations():
    X, _ = noisy_table("gauss", 5, 0)
    X[::7, 3] = np.nan
    five = RobustPCA(tol=1e-3).fit(X)
    model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X)
    assert_array_equal(model.low_rank_, five.low_rank_)
    assert_array_equal(model.components_, five.components_)
    assert_array_equal(model.row_distances(X), five.row_distances(X))
    assert five.outlier_threshold_ == 5.0
    assert five.noise_dof_ == np.inf

    # compute the marked cells from the attributes; errors of prediction only remove cells
    residual = X - model.low_rank_
    beyond = np.abs(residual) > model.outlier_threshold_ * model.noise_scale_
    assert not (model.support_ & ~beyond).any()
    assert (beyond & ~model.support_).sum() < 0.1 * beyond.sum()
    assert_array_equal(model.sparse_, np.where(model.support_, residual, 0.0))
    assert not model.support_[np.isnan(X)].any()

    # a lower rate marks fewer cells
    strict = RobustPCA(outlier_threshold="fdr", fdr=0.02, tol=1e-3).fit(X)
    assert 0 < strict.support_.sum() < model.support_.sum()
    assert not (strict.support_ & ~model.support_).any()


@pytest.mark.invariance
def test_list_of_cells_has_p_values():
    X, _ = noisy_table("t5", 8, 1, shape=(100, 20))
    model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X)
    for cells in (model.find_outliers(), model.find_outliers(X[:50])):
        assert list(cells) == ["row", "column", "value", "expected", "size", "p_value"]
        assert (cells["size"] > model.outlier_threshold_).all()
        assert_allclose(cells["p_value"], p_values(cells["size"], model.noise_dof_))
        assert cells["p_value"].is_monotonic_increasing
    five = RobustPCA(tol=1e-3).fit(X)
    assert "p_value" not in five.find_outliers()
    assert isinstance(five.find_outliers(), pd.DataFrame)


@pytest.mark.invariance
def test_cells_of_outlying_rows_do_not_count():
    rng = np.random.default_rng(0)
    X, wrong = noisy_table("gauss", 6, 0, shape=(100, 20))
    X[:15] += 1.5 * rng.choice([-1, 1], size=20)
    model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X)
    assert model.outlying_rows_[:15].mean() > 0.8
    good = ~model.outlying_rows_
    false = (model.support_ & ~wrong)[good].sum() / model.support_[good].sum()
    assert false <= 0.2


def clean_table(kind, seed, *, gaps=0.0, copied=False, shape=(1000, 20)):
    """Table of rank 3 without errors; the last column can be a copy of the first."""
    rng = np.random.default_rng(seed)
    noise = NOISE[kind](rng, shape)
    X = 0.5 * noise + rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    if copied:
        X[:, -1] = X[:, 0]
    X[rng.random(shape) < gaps] = np.nan
    return X


@pytest.mark.recovery
@pytest.mark.parametrize("kind", ["gauss", "t3"])
@pytest.mark.parametrize(("gaps", "copied"), [(0, False), (0.2, False), (0.1, True)])
def test_clean_tables_have_nearly_no_false_cells(kind, gaps, copied):
    false = []
    for seed in range(3):
        X = clean_table(kind, seed, gaps=gaps, copied=copied)
        model = RobustPCA(outlier_threshold="fdr", fdr=0.05, tol=1e-3).fit(X)
        false.append(model.support_.sum())
    assert np.mean(false) <= 1


@pytest.mark.oracle
def test_inflation_matches_the_leverage_of_left_out_cells():
    """For independent noise the factor is sqrt(1 + h) / sqrt(1 - h0) with leverages h, h0."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(12, 2)))[0]
    noise = rng.normal(size=(2000, 12))
    U = np.zeros((2000, 2))
    residual = noise - (noise @ V) @ V.T
    left_out = np.zeros(noise.shape, bool)
    left_out[0, [1, 4]] = True

    # the row was fitted without its suspects
    fitted = ~left_out[0]
    coefs = np.linalg.lstsq(V[fitted], noise[0, fitted], rcond=None)[0]
    residual[0] = noise[0] - V @ coefs
    terms = SimpleNamespace(U=U, s=np.ones(2), Vt=V.T)
    found = noise_inflation(residual, terms, left_out, np.ones(noise.shape, bool))

    within = np.linalg.inv(V[fitted].T @ V[fitted])
    h = np.einsum("ij,jk,ik->i", V, within, V)[left_out[0]]
    h0 = (V**2).sum(axis=1)[left_out[0]]
    assert_allclose(found[left_out], np.sqrt((1 + h) / (1 - h0)), rtol=0.1)
    assert (found[~left_out] == 1).all()


@pytest.mark.recovery
def test_shift_is_the_effect_of_a_fit_on_the_tail():
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.normal(size=(20, 3)))[0]
    noise = rng.standard_t(3, size=(5000, 20))
    fitted = np.where(np.abs(noise) > 5.7, 0.0, noise)
    residual = noise - (fitted @ V) @ V.T
    sizes = np.abs(residual) / np.median(np.abs(residual), axis=0)
    assert student_tail(sizes)[0] > 3.6
    assert 2.7 < student_tail(sizes, tail_shift(V.T))[0] < 3.4
    assert_array_equal(tail_shift(np.zeros((0, 20))), 0)


@pytest.mark.edge
def test_known_noise_is_gaussian():
    X, _ = noisy_table("gauss", 6, 0, shape=(80, 20))
    model = RobustPCA(outlier_threshold="fdr", noise_std=0.3, tol=1e-3).fit(X)
    assert model.noise_dof_ == np.inf
    assert_allclose(model.noise_scale_, 0.3)
    assert 2.5 < model.outlier_threshold_ < 4.5


@pytest.mark.edge
def test_weights_multiply_squares_of_residuals():
    X, _ = noisy_table("gauss", 6, 0, shape=(100, 20))
    W = np.random.default_rng(0).uniform(0.5, 4.0, size=X.shape)
    model = RobustPCA(outlier_threshold="fdr", tol=1e-3).fit(X, entry_weight=W)
    sizes = np.sqrt(W) * np.abs(X - model.low_rank_) / model.noise_scale_
    beyond = sizes > model.outlier_threshold_
    assert not (model.support_ & ~beyond).any()
    assert (beyond & ~model.support_).sum() < 0.3 * beyond.sum()

    # the listed sizes are smaller by the error of prediction
    cells = model.find_outliers()
    listed = sizes[cells["row"], cells["column"]]
    assert len(cells) == model.support_.sum() > 0
    assert (cells["size"] > model.outlier_threshold_).all()
    assert (cells["size"] <= listed * (1 + 1e-9)).all()
    assert np.median(cells["size"] / listed) > 0.7


@pytest.mark.edge
def test_exact_cells_need_no_rate():
    X = np.outer(np.arange(1.0, 31), np.arange(1.0, 21))
    X[3, 1] += 500
    model = RobustPCA(algorithm="pcp", outlier_threshold="fdr").fit(X)
    assert_array_equal(np.argwhere(model.support_), [[3, 1]])
    assert model.find_outliers()["p_value"].tolist() == [0.0]


@pytest.mark.edge
def test_rate_must_be_a_probability():
    X = np.ones((9, 9))
    for wrong in ({"fdr": 0.0}, {"fdr": 1.0}, {"outlier_threshold": "bh"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RobustPCA(**wrong).fit(X)
