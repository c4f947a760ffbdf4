"""Robust PCA of Dask arrays: the convex problem in memory, solved over blocks of rows."""

import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import skmoderndata
from skmoderndata.decomposition import RobustPCA, _robust_rows_base

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

N = 400
P = 20
CUTS = {"uneven": (1, 150, 0, 200, 49), "many": (8,) * 50, "one": (N,)}
PCP = {"algorithm": "pcp"}
STABLE = {"noise_std": 0.1, "polish": False}


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(noise=0.0, missing=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 1)) @ rng.normal(size=(1, P)) + noise * rng.normal(size=(N, P))
    wrong = rng.uniform(size=X.shape) < 0.02
    X += np.where(wrong, 10 * rng.normal(size=X.shape), 0.0)
    if missing:
        X[rng.uniform(size=X.shape) < missing] = np.nan
        X[7] = np.nan  # one row has no observed entries
    return X


def in_dask(X, cuts="uneven"):
    return da.from_array(X, chunks=(CUTS[cuts], X.shape[1]))


def fit_both(X, **options):
    one = RobustPCA(schedule="balanced", tol=1e-9, **options)
    other = RobustPCA(schedule="balanced", tol=1e-9, **options)
    return one, one.fit_decompose(X), other, other.fit_decompose(in_dask(X))


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    "options", [PCP, {**PCP, "alpha": 0.08}, STABLE, {**STABLE, "alpha": 0.06}], ids=repr
)
def test_blocks_solve_the_problem_in_memory(options, missing):
    X = table(options.get("noise_std", 0.0), missing)
    one, terms, other, lazy = fit_both(X, **options)
    assert one.dual_gap_ <= 1e-9
    assert other.dual_gap_ <= 1e-9
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-8)
    assert other.algorithm_ == one.algorithm_
    assert other.rank_ == one.rank_
    assert other.noise_std_ == one.noise_std_
    assert abs(other.n_iter_ - one.n_iter_) <= 2
    assert_allclose(other.components_, one.components_, atol=1e-6)
    assert_allclose(other.singular_values_, one.singular_values_, rtol=1e-6)
    assert_array_equal(other.noise_scale_, one.noise_scale_)

    # check the matrices of the fit, and results for rows
    assert isinstance(lazy.low_rank, da.Array)
    assert lazy.low_rank.shape == lazy.sparse.shape == X.shape
    low_rank, sparse = dask.compute(*lazy)
    assert_allclose(low_rank, terms.low_rank, atol=1e-5)
    assert_allclose(sparse, terms.sparse, atol=1e-5)
    assert_array_equal(sparse != 0, terms.sparse != 0)
    assert_allclose(other.transform(X[8:40]), one.transform(X[8:40]), atol=1e-5)


def test_sample_tells_exact_from_noisy():
    exact = RobustPCA().fit(in_dask(table()))
    assert exact.algorithm_ == "pcp"
    assert exact.noise_std_ == 0
    assert exact.rank_ == 1

    X = table(0.1) * np.geomspace(1, 8, P)  # the columns differ in their noise
    noisy = RobustPCA()
    low_rank, sparse = noisy.fit_decompose(in_dask(X))
    whole = RobustPCA().fit(X)
    assert noisy.algorithm_ == "stable"
    assert not noisy.polished_
    assert_allclose(noisy.noise_scale_, whole.noise_scale_)
    assert_allclose(noisy.column_scale_, whole.column_scale_)
    assert noisy.objective_ == pytest.approx(whole.objective_, rel=0.05)
    assert_allclose(noisy.components_[0] @ whole.components_[0], 1.0, atol=1e-3)
    missed = (sparse.compute() != 0) != whole.support_
    assert missed.mean() < 0.002

    # without a refit, the convex problem shrinks the low-rank matrix
    convex = RobustPCA(polish=False).fit(X).low_rank_
    assert np.linalg.norm(low_rank.compute() - convex) < 0.02 * np.linalg.norm(convex)


@pytest.mark.parametrize("size", [100, 400])
def test_size_of_the_sample(size, monkeypatch):
    monkeypatch.setattr(_robust_rows_base, "SAMPLE", size)
    model = RobustPCA(tol=1e-4).fit(in_dask(table(0.1)))
    assert model.noise_std_ == pytest.approx(0.1, rel=0.1)


@pytest.mark.few(2)
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_cuts_and_schedulers_do_not_matter(cuts, scheduler):
    X = table(0.1, 0.1)
    model = RobustPCA(tol=1e-4, **STABLE)
    expected = model.fit(in_dask(X)).components_
    with dask.config.set(scheduler=scheduler):
        low_rank = model.fit_decompose(in_dask(X, cuts)).low_rank.compute()
    assert_allclose(model.components_, expected, atol=1e-10)
    assert low_rank.shape == X.shape


def test_single_precision():
    X = table(0.1).astype(np.float32)
    model = RobustPCA(tol=1e-4, **STABLE)
    low_rank, sparse = model.fit_decompose(in_dask(X))
    assert model.components_.dtype == np.float32
    assert low_rank.dtype == sparse.dtype == low_rank.compute().dtype == np.float32
    assert model.objective_ == pytest.approx(
        RobustPCA(tol=1e-4, **STABLE).fit(X).objective_, rel=1e-3
    )


def test_checkpoints_are_used_and_removed(tmp_path, monkeypatch):
    from skmoderndata._solvers.common.blocks import DaskBlocks

    X = table()
    model = RobustPCA(**PCP)
    low_rank, _ = model.fit_decompose(in_dask(X))
    expected = model.components_
    written = []
    checkpoint = DaskBlocks.checkpoint

    def spy(blocks, folder):
        after = checkpoint(blocks, folder)
        written.append(len(list(tmp_path.rglob("*.pickle"))))
        return after

    monkeypatch.setattr(DaskBlocks, "checkpoint", spy)
    with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
        again, _ = model.fit_decompose(in_dask(X))
    assert len(written) == model.n_iter_ // 20
    assert min(written) >= 4
    assert_array_equal(model.components_, expected)
    gc.collect()
    assert not list(tmp_path.iterdir())
    assert_array_equal(again.compute(), low_rank.compute())


def test_no_whole_table_comes_to_the_driver(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the whole table was asked for")

    X = in_dask(table())
    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)
    model = RobustPCA(tol=1e-3, **PCP)
    model.fit_decompose(X)
    model.fit_transform(X)


def test_rows_of_the_fit_are_not_kept():
    X = table()
    model = RobustPCA(tol=1e-3, **PCP).fit(X)
    assert model.low_rank_.shape == X.shape
    model.fit(in_dask(X))
    for name in ("low_rank_", "sparse_", "support_"):
        with pytest.raises(AttributeError, match=rf"does not keep {name}.*decompose\(X\)"):
            getattr(model, name)
    assert not hasattr(model, "dual_")
    low_rank, _ = model.decompose(in_dask(X))
    assert isinstance(low_rank, da.Array)
    model.set_params(store_matrices=False).fit(X)
    with pytest.raises(AttributeError, match="has no attribute"):
        model.low_rank_
    with pytest.raises(ValueError, match="store_matrices=True"):
        model.fit_decompose(X)


def test_table_of_zeros():
    low_rank, sparse = RobustPCA(**PCP).fit_decompose(in_dask(np.zeros((N, P))))
    assert not low_rank.compute().any()
    assert not sparse.compute().any()


@pytest.mark.edge
def test_errors_name_bad_rows():
    X = table()
    X[203, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in row 203"):
        RobustPCA(**PCP).fit(in_dask(X))
    with pytest.raises(ValueError, match="at least one observed entry"):
        RobustPCA(**PCP).fit(in_dask(np.full((N, P), np.nan)))


@pytest.mark.edge
@pytest.mark.parametrize(
    "options",
    [{"center": "median"}, {"polish": True}, {"solver": "cvxpy"}, {"schedule": "ialm"}],
    ids=repr,
)
def test_rejects_options_that_need_all_rows(options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=rf"does not take {name}=.*compute\(\)"):
        RobustPCA(**options).fit(in_dask(table()))


@pytest.mark.edge
def test_weights_and_wide_tables_are_rejected():
    X = table()
    with pytest.raises(ValueError, match="does not take entry_weight"):
        RobustPCA().fit(in_dask(X), entry_weight=np.ones(X.shape))
    with pytest.raises(ValueError, match=r"10 rows for each column.*compute\(\)"):
        RobustPCA().fit(da.from_array(X[:100], chunks=(50, P)))


@pytest.mark.edge
def test_few_passes_are_reported():
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        RobustPCA(max_iter=3, **PCP).fit(in_dask(table()))
