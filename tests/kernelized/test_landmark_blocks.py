"""Evidence that kernel methods on features at landmarks fit to tables in blocks as in memory."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier

import skmoderndata as sk
from skmoderndata._estimator import blocks_input
from skmoderndata._kernelized import landmarks
from skmoderndata._solvers.common import blocks as solver_blocks
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
Delayed = pytest.importorskip("dask.delayed").Delayed

N = 400
CUTS = [(400,), (1, 399), (150, 0, 1, 249), (20,) * 20]

# Models, and their fitted attributes that do not belong to rows.
CASES = [
    (
        sk.cluster.KernelKMeans(4, n_init=3, solver="nystroem", max_rank=40, random_state=0),
        ("inertia_", "relaxation_bound_", "_centres", "n_iter_", "landmarks_"),
    ),
    (
        sk.discriminant_analysis.KernelDiscriminantAnalysis(
            solver="nystroem", max_rank=40, random_state=0
        ),
        ("classes_", "class_scores_", "eigenvalues_", "priors_", "ridge_", "landmarks_"),
    ),
    (
        sk.cross_decomposition.PrincipalComponentsRegression(
            kernel="rbf", solver="nystroem", max_rank=30, random_state=0
        ),
        ("loo_errors_", "n_components_", "explained_variance_ratio_", "intercept_", "X_fit_"),
    ),
    (
        sk.decomposition.KernelPCAOutlierDetector(
            solver="nystroem", max_rank=40, random_state=0
        ),
        ("offset_", "eigenvalues_", "n_components_", "mean_residual_", "landmarks_"),
    ),
    (
        sk.decomposition.KernelPCAOutlierDetector(
            3, contamination="auto", solver="nystroem", max_rank=40, random_state=0
        ),
        ("offset_", "eigenvalues_", "n_components_", "mean_residual_", "landmarks_"),
    ),
]
IDS = [f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(CASES)]
cases = pytest.mark.parametrize(("model", "names"), CASES, ids=IDS)


def table(n=N, seed=0):
    """Four clouds of rows, with a target."""
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(4, 3))
    kind = rng.integers(4, size=n)
    return centres[kind] + rng.normal(size=(n, 3)), kind


def target_of(model, X, kind):
    """Second argument of `fit`: None, classes, or numbers."""
    if is_classifier(model):
        return kind
    if type(model).__name__ in ("KernelKMeans", "KernelPCAOutlierDetector"):
        return None
    noise = np.random.default_rng(1).normal(size=(len(X), 2))
    return np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]] + 0.1 * noise


def weights_of(n=N):
    return np.random.default_rng(2).integers(3, size=n).astype(float)


def answer_of(model, X):
    for name in ("decision_function", "transform", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    raise AssertionError(model)


def dense(values):
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float)


def assert_same_model(one, other, names, tol=1e-10):
    for name in names:
        value = dense(getattr(other, name))
        size = np.abs(value).max(initial=1.0)
        found = dense(getattr(one, name))
        assert_allclose(found, value, rtol=0, atol=tol * size, err_msg=name)


def assert_same_answers(one, other, X, tol=1e-8):
    expected = answer_of(other, X)
    size = np.abs(expected).max()
    assert_allclose(answer_of(one, X), expected, rtol=0, atol=tol * size)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


def cut(values, lengths):
    return None if values is None else in_dask(values, lengths)


@pytest.mark.few(12)
@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@cases
def test_dask_array_gives_the_model_of_the_table(
    model, names, lengths, scheduler, weighted, no_whole_table
):
    X, kind = table()
    y = target_of(model, X, kind)
    w = weights_of() if weighted else None
    fit = {} if w is None else {"sample_weight": w}
    here = clone(model).fit(X, y, **fit)
    fit = {} if w is None else {"sample_weight": cut(w, lengths)}
    with dask.config.set(scheduler=scheduler):
        lazy = clone(model).fit(in_dask(X, lengths), cut(y, lengths), **fit)
    assert lazy.solver_ == "nystroem"
    assert_same_model(lazy, here, names)
    assert_same_answers(lazy, here, X)
    assert not any("dask" in type(value).__module__ for value in vars(lazy).values())


@cases
def test_auto_uses_landmarks(model, names):
    X, kind = table()
    y = target_of(model, X, kind)
    auto = clone(model).set_params(solver="auto").fit(in_dask(X, (100,) * 4), y)
    assert_same_model(auto, clone(model).fit(X, y), names)


@pytest.mark.edge
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@cases
def test_solvers_of_all_rows_are_rejected(model, names, solver, no_whole_table):
    solver = {"PrincipalComponentsRegression": "dual"}.get(
        type(model).__name__ if solver == "exact" else "", solver
    )
    X, kind = table()
    y = target_of(model, X, kind)
    refused = clone(model).set_params(solver=solver)
    with pytest.raises(ValueError, match="Dask array does not allow: use solver='nystroem'"):
        refused.fit(in_dask(X, (100,) * 4), y)


@pytest.mark.edge
@cases
def test_other_samples_are_rejected(model, names):
    X, kind = table(60)
    y = target_of(model, X, kind)
    for kernel, rows in (
        ("precomputed", X @ X.T),
        (sk.kernels.PSpectrum(), ["ab", "ba"] * 30),
    ):
        refused = clone(model).set_params(kernel=kernel)
        with pytest.raises(ValueError, match=r"draws rows of a table.*low_rank"):
            refused.fit(rows, y)


@cases
def test_sparse_blocks_and_single_precision(model, names):
    X, kind = table()
    X = np.where(np.abs(X) < 1, 0, X).astype(np.float32)
    y = target_of(model, X.astype(float), kind)
    here = clone(model).fit(X.astype(np.float64), y)
    rows = in_dask(X, (150, 0, 250))
    assert_same_model(clone(model).fit(rows, y), here, names, tol=1e-8)
    rows = rows.map_blocks(sparse.csr_array)
    assert_same_model(clone(model).fit(rows, y), here, names, tol=1e-8)


@cases
def test_data_frame_gives_names(model, names):
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, kind = table()
    y = target_of(model, X, kind)
    frame = pandas.DataFrame(X, columns=list("abc"))
    lazy = clone(model).fit(dataframe.from_pandas(frame, npartitions=3), y)
    assert_array_equal(lazy.feature_names_in_, list("abc"))
    assert_same_model(lazy, clone(model).fit(X, y), names)


@pytest.mark.parametrize("kind_of_table", ["map", "HDF5"])
@cases
def test_table_on_disk(model, names, kind_of_table, tmp_path, monkeypatch):
    X, kind = table()
    y = target_of(model, X, kind)
    limit = 90 * X[0].nbytes  # the limit includes the sampled rows
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    monkeypatch.setattr("skmoderndata.cluster._kernel_k_means.MOST_ROWS", 80)
    rows = on_disk(tmp_path, X, limit) if kind_of_table == "map" else LikeHDF5(X)
    here = clone(model).fit(X, y)
    there = clone(model).fit(rows, y)
    assert_same_model(there, here, names)
    if hasattr(here, "labels_"):
        assert_array_equal(there.labels_, here.labels_)


@cases
def test_stretches_change_nothing(model, names, monkeypatch):
    X, kind = table()
    y = target_of(model, X, kind)
    here = clone(model).fit(X, y)
    monkeypatch.setattr(landmarks, "TEMPORARY_BYTES", 7 * 24 * 40)
    assert_same_model(clone(model).fit(X, y), here, names)


@cases
def test_no_result_is_larger_than_twice_a_block(model, names, monkeypatch):
    X, kind = table(6000)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(6000, 30))])
    y = target_of(model, X, kind)
    sizes = []
    compute = Delayed.compute

    def noted(self, **options):
        result = compute(self, **options)
        sizes.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(Delayed, "compute", noted)
    lengths = (1500,) * 4
    clone(model).fit(in_dask(X, lengths), cut(y, lengths))
    assert len(sizes) > 2
    assert max(sizes) < 2 * 1500 * X[0].nbytes


@pytest.mark.edge
@cases
def test_errors_name_bad_rows(model, names):
    X, kind = table()
    y = target_of(model, X, kind)
    lengths = (100,) * 4
    w = weights_of()
    w[333] = -1.0
    with pytest.raises(ValueError, match=r"sample_weight.*in row 333"):
        clone(model).fit(in_dask(X, lengths), y, sample_weight=cut(w, lengths))
    X[350, 1] = np.inf
    X[201, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity in row 201"):
        clone(model).fit(in_dask(X, lengths), y)


@cases
def test_fitted_models_can_be_pickled(model, names, no_whole_table):
    X, kind = table()
    lazy = clone(model).fit(in_dask(X, (200, 200)), target_of(model, X, kind))
    again = pickle.loads(pickle.dumps(lazy))
    assert_same_answers(again, lazy, X)
    for name, method in getattr(model, "_of_rows", {}).items():
        with pytest.raises(AttributeError, match=rf"{name}.*{method}\(X\)"):
            getattr(lazy, name)


def test_empty_clusters_get_the_farthest_rows():
    X = np.r_[np.zeros((50, 1)), np.ones((50, 1)), [[9.0]]]
    init = np.array([[0.0], [1.0], [-500.0]])
    model = sk.cluster.KernelKMeans(
        3, kernel="linear", init=init, solver="nystroem", max_rank=5, random_state=0
    )
    here = model.fit(X)
    assert here.inertia_ == pytest.approx(0.0, abs=1e-12)
    lazy = clone(model).fit(in_dask(X, (40, 1, 60)))
    assert_array_equal(lazy.predict(X), here.labels_)


def test_all_rows_as_landmarks_give_the_exact_objective():
    X, _ = table(120)
    init = X[:4]
    exact = sk.cluster.KernelKMeans(4, init=init, local_search=False, solver="exact").fit(X)
    model = sk.cluster.KernelKMeans(4, init=init, solver="nystroem", max_rank=120).fit(X)
    assert_array_equal(model.labels_, exact.labels_)
    assert_allclose(model.inertia_, exact.inertia_, rtol=1e-8)
    assert_allclose(model.relaxation_bound_, exact.relaxation_bound_, rtol=1e-3)
    assert model.relaxation_bound_ <= exact.inertia_
    with pytest.raises(ValueError, match="starts from centres, not from labels"):
        model.set_params(init=exact.labels_).fit(X)


LINEAR = ("coef_", "intercept_", "loo_errors_", "n_components_", "explained_variance_")


@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
def test_linear_components_in_blocks_match_the_table(lengths, weighted, no_whole_table):
    X, _ = table()
    X = np.hstack([X, X**2])
    model = sk.cross_decomposition.PrincipalComponentsRegression()
    y = target_of(model, X, None)
    w = weights_of() if weighted else None
    here = clone(model).fit(X, y, sample_weight=w)
    lazy = clone(model).fit(in_dask(X, lengths), cut(y, lengths), sample_weight=w)
    assert lazy.solver_ == here.solver_ == "primal"
    assert_same_model(lazy, here, LINEAR)
    one = clone(model).fit(in_dask(X, lengths), y[:, 0], sample_weight=w)
    assert_same_model(one, clone(model).fit(X, y[:, 0], sample_weight=w), LINEAR)


@pytest.mark.edge
def test_linear_components_need_no_landmarks():
    X, _ = table()
    rows = in_dask(X, (200, 200))
    for solver in ("nystroem", "low_rank"):
        with pytest.raises(ValueError, match="which needs no approximation"):
            sk.cross_decomposition.PrincipalComponentsRegression(solver=solver).fit(
                rows, X[:, 0]
            )
    with pytest.raises(ValueError, match="use solver='primal'"):
        sk.cross_decomposition.PrincipalComponentsRegression(solver="dual").fit(rows, X[:, 0])
    y = X[:, 0].copy()
    y[301] = np.nan
    with pytest.raises(ValueError, match=r"Input y .* in row 301"):
        sk.cross_decomposition.PrincipalComponentsRegression().fit(
            rows, in_dask(y, (200, 200))
        )


def test_landmarks_at_all_rows_give_the_components_of_the_kernel_matrix():
    X, _ = table(80)
    y = np.sin(X[:, 0])
    dual = sk.cross_decomposition.PrincipalComponentsRegression(4, kernel="rbf").fit(X, y)
    model = dual.set_params(solver="dual").fit(X, y)
    low = clone(model).set_params(solver="nystroem", max_rank=80).fit(X, y)
    assert_allclose(low.predict(X), model.predict(X), atol=1e-6)


def test_landmarks_at_all_rows_give_the_residuals_of_the_kernel_matrix():
    X, _ = table(700)
    exact = sk.decomposition.KernelPCAOutlierDetector(8, gamma=0.02, solver="exact").fit(X)
    low = clone(exact).set_params(solver="nystroem", max_rank=700, random_state=0).fit(X)
    assert_allclose(low.score_samples(X), exact.score_samples(X), atol=1e-7)
    assert_allclose(low.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    # the folds from which the thresholds come differ; each threshold is a quantile of at least 500
    # residuals
    share = np.mean(exact.score_samples(X) < low.offset_)
    assert abs(share - np.mean(exact.predict(X) < 0)) < 0.04


@pytest.mark.invariance
def test_rows_determine_their_fold(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(4000, 6)).astype(float) / 2
    numbers = landmarks.numbers_of_rows(X)
    order = rng.permutation(4000)
    assert_array_equal(landmarks.numbers_of_rows(X[order]), numbers[order])
    assert_array_equal(landmarks.numbers_of_rows(sparse.csr_array(X)), numbers)
    assert_array_equal(landmarks.numbers_of_rows(X * -1.0 * -1.0), numbers)
    X = rng.normal(size=(20_000, 2))
    counts, _ = np.histogram(landmarks.numbers_of_rows(X), bins=20, range=(0, 1))
    # the statistic has a chi-square distribution with 19 degrees of freedom
    assert ((counts - 1000) ** 2 / 1000).sum() < 60


VIEWS = [
    (sk.KernelCCA(2, solver="nystroem", max_rank=30, random_state=0), ("correlations_",)),
    (
        sk.KernelCCA(
            1, kernel="linear", alpha=0.01, solver="nystroem", max_rank=30, random_state=0
        ),
        ("correlations_", "prediction_coef_", "prediction_intercept_"),
    ),
    (
        sk.KernelCCA(2, alpha=1.0, solver="nystroem", max_rank=30, random_state=0),
        ("regularized_correlations_",),
    ),
]
views = pytest.mark.parametrize(("model", "names"), VIEWS)


@pytest.mark.few(10)
@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@views
def test_views_in_blocks_give_the_model_of_the_table(
    model, names, lengths, scheduler, weighted, no_whole_table
):
    X, _ = table()
    Y = target_of(model, X, None)
    w = weights_of() if weighted else None
    here = clone(model).fit(X, Y, sample_weight=w)
    with dask.config.set(scheduler=scheduler):
        lazy = clone(model).fit(in_dask(X, lengths), cut(Y, lengths), sample_weight=w)
    assert lazy.solver_ == "nystroem"
    names = (*names, "kernel_residual_", "n_components_")
    assert_same_model(lazy, here, names, tol=1e-8)
    for v in range(2):
        assert_allclose(lazy.X_fit_[v], here.X_fit_[v], atol=1e-12)
        expected = here._view_scores(v, [X, Y][v])
        found = lazy._view_scores(v, [X, Y][v])
        assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    side = clone(model).set_params(view_slices=[(0, 3), (3, 5)])
    lazy = side.fit(in_dask(np.hstack([X, Y]), lengths), sample_weight=w)
    assert_same_model(lazy, here, names, tol=1e-8)


@views
def test_sparse_views_frames_and_maps(model, names, tmp_path, monkeypatch):
    X, _ = table()
    X = np.where(np.abs(X) < 1, 0, X)
    Y = target_of(model, X, None)
    # the kernel matrix is far from low rank, so its rounding errors are not amplified
    model = clone(model).set_params(gamma=1.0)
    here = clone(model).fit(sparse.csr_array(X), Y)
    rows = in_dask(X, (150, 0, 250)).map_blocks(sparse.csr_array)
    auto = clone(model).set_params(solver="auto")
    assert_same_model(auto.fit(rows, Y), here, names, tol=1e-8)
    limit = 90 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    there = clone(model).fit(on_disk(tmp_path, X, limit), Y)
    assert_same_model(there, clone(model).fit(X, Y), names, tol=1e-8)


@pytest.mark.edge
def test_rejects_views_not_supported_in_blocks():
    X, _ = table()
    rows = in_dask(X, (200, 200))
    for solver in ("exact", "low_rank"):
        with pytest.raises(ValueError, match="use solver='nystroem'"):
            sk.KernelCCA(solver=solver).fit(rows, rows)
    with pytest.raises(ValueError, match="use 'maxvar' or 'sumcor'"):
        sk.KernelCCA(criterion="gcca").fit(rows, rows)
    with pytest.raises(ValueError, match="accepts other samples"):
        sk.KernelCCA(alpha=1.0, kernel=["rbf", "precomputed"]).fit(rows, rows)
    with pytest.raises(ValueError, match="requires y"):
        sk.KernelCCA().fit(rows)
    X[201, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in row 201"):
        sk.KernelCCA().fit(in_dask(X, (200, 200)), rows)
