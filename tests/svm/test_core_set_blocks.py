"""Evidence that core vector machines and enclosing balls of Dask arrays match those in memory."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._solvers.margins.core_blocks import RowSet, WorstRows
from skmoderndata.svm import (
    CoreVectorMachine,
    CoreVectorOutlierDetector,
    CoreVectorRanker,
    CoreVectorRegressor,
    MinimumEnclosingBall,
    _blocks_base,
)
from tests.solvers.test_blocks import in_dask

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
Delayed = pytest.importorskip("dask.delayed").Delayed

N = 300
CUTS = [(300,), (1, 299), (150, 0, 1, 149), (20,) * 15]
TIGHT = {"tol": 1e-9, "random_state": 0}
MACHINES = [
    CoreVectorMachine(C=20, gamma=2.0, **TIGHT),
    CoreVectorMachine(C=2, kernel="poly", degree=2, class_weight="balanced", **TIGHT),
    CoreVectorOutlierDetector(contamination="auto", slack=0.1, **TIGHT),
    CoreVectorRegressor(C=5, tube_distance=0.05, gamma=0.5, **TIGHT),
]
BALLS = [
    MinimumEnclosingBall(tol=1e-9),
    MinimumEnclosingBall(kernel="rbf", gamma=0.3, tol=1e-9),
]
MODELS = MACHINES + BALLS
machines = pytest.mark.parametrize("model", MACHINES, ids=lambda one: type(one).__name__)
models = pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)


@pytest.fixture(autouse=True)
def few_rows_first(monkeypatch):
    """Searches begin with few of the rows, so that passes bring most of those that matter."""
    monkeypatch.setattr(_blocks_base, "SAMPLE", 40)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def no_whole_table(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


def table(n=N, seed=0):
    """Rows, and a class for each: the fields of a board."""
    X = np.random.default_rng(seed).uniform(0, 3, size=(n, 2))
    return X, X.astype(int).sum(axis=1) % 2


def target_of(model, X, kind):
    if isinstance(model, CoreVectorMachine):
        return kind
    if isinstance(model, CoreVectorRegressor):
        noise = np.random.default_rng(1).normal(size=len(X))
        return 5 + 3 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * noise
    return None


def weights_of(n=N):
    return np.random.default_rng(2).integers(3, size=n).astype(float)


def fitted(model, X, y, lengths=None, **aligned):
    """A fit, to a Dask array where lengths of chunks are given."""
    if lengths is None:
        return clone(model).fit(X, y, **aligned)

    def cut(values):
        return values if values is None or lengths == CUTS[1] else in_dask(values, lengths)

    aligned = {name: cut(values) for name, values in aligned.items()}
    return clone(model).fit(in_dask(X, lengths), cut(y), **aligned)


def answers(model, X):
    name = "predict" if isinstance(model, CoreVectorRegressor) else "decision_function"
    return getattr(model, name)(X)


def assert_same_model(lazy, here, X):
    """Equal objectives, gaps, support and answers."""
    assert max(lazy.dual_gap_, here.dual_gap_) <= 1e-9
    for name in ("objective_", "rho_", "radius_", "radius_lower_", "offset_", "cost_"):
        if hasattr(here, name):
            found = getattr(lazy, name)
            assert_allclose(found, getattr(here, name), rtol=1e-8, err_msg=name)
    for name in ("intercept_", "epsilon_"):
        if hasattr(here, name):
            assert_allclose(getattr(lazy, name), getattr(here, name), atol=1e-4, err_msg=name)
    expected = answers(here, X)
    size = np.abs(expected).max()
    # the tolerances are roots of the gaps
    assert_allclose(answers(lazy, X), expected, rtol=0, atol=7e-5 * size)
    for name in ("support_", "core_indices_"):
        assert getattr(lazy, name).dtype.kind == "i"
    assert_array_equal(lazy.support_, np.unique(lazy.support_))
    assert_array_equal(X[lazy.support_], lazy.support_vectors_)


@pytest.mark.few(12)
@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@machines
def test_dask_array_gives_the_machine_of_the_table(
    model, lengths, scheduler, weighted, no_whole_table
):
    X, kind = table()
    y = target_of(model, X, kind)
    aligned = {"sample_weight": weights_of()} if weighted else {}
    here = fitted(model, X, y, **aligned)
    with dask.config.set(scheduler=scheduler):
        lazy = fitted(model, X, y, lengths, **aligned)
    assert_same_model(lazy, here, X)
    assert lazy.n_passes_ > 1
    # rounding decides about weights that are nearly zero
    assert len(np.setxor1d(lazy.support_, here.support_)) <= 2
    assert not any("dask" in type(value).__module__ for value in vars(lazy).values())


@pytest.mark.invariance
@pytest.mark.parametrize("raised", [False, True], ids=["", "heights"])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize("model", BALLS, ids=lambda one: one.kernel)
def test_dask_array_gives_the_ball_of_the_table(
    model, lengths, scheduler, raised, no_whole_table
):
    X, _ = table()
    aligned = {"heights": 0.3 * weights_of()} if raised else {}
    here = fitted(model, X, None, **aligned)
    with dask.config.set(scheduler=scheduler):
        lazy = fitted(model, X, None, lengths, **aligned)
    assert_same_model(lazy, here, X)
    assert_array_equal(lazy.support_, here.support_)
    assert not (lazy.predict(X, *aligned.values()) < 0).any()
    if model.kernel == "linear":
        assert_allclose(lazy.center_, here.center_, atol=1e-7)


@pytest.mark.invariance
def test_schedulers_give_the_same_bits_and_cuts_the_same_model():
    X, y = table()
    model = CoreVectorMachine(C=20, gamma=2.0, random_state=0)
    one = fitted(model, X, y, CUTS[2])
    with dask.config.set(scheduler="threads"):
        other = fitted(model, X, y, CUTS[2])
    assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert_array_equal(one.support_, other.support_)

    # other cuts add the same numbers in a different order, so that only the optimum is the same
    tight = model.set_params(**TIGHT)
    assert_same_model(fitted(tight, X, y, CUTS[3]), fitted(tight, X, y, CUTS[2]), X)


@pytest.mark.invariance
def test_several_classes_share_the_passes():
    X, _ = table()
    y = np.array(["low", "mid", "high"])[X.astype(int).sum(axis=1) % 3]
    model = CoreVectorMachine(C=20, gamma=2.0, **TIGHT)
    here = fitted(model, X, y)
    lazy = fitted(model, X, y, CUTS[2])
    assert_same_model(lazy, here, X)
    assert_array_equal(lazy.classes_, here.classes_)
    assert_array_equal(lazy.n_support_, here.n_support_)
    assert lazy.n_passes_ <= 10


@pytest.mark.invariance
@models
def test_sparse_blocks_and_single_precision(model):
    X, kind = table()
    X = np.where(X < 0.5, 0, X).astype(np.float32)
    y = target_of(model, X.astype(float), kind)
    here = fitted(model, X, y)
    lazy = fitted(model, X, y, CUTS[2])
    assert_same_model(lazy, here, X)
    assert lazy.support_vectors_.dtype == np.float32
    rows = in_dask(X.astype(float), CUTS[2]).map_blocks(sparse.csr_array)
    thin = clone(model).fit(rows, y)
    assert sparse.issparse(thin.support_vectors_)
    expected = answers(fitted(model, X.astype(float), y), X)
    size = np.abs(expected).max()
    assert_allclose(answers(thin, sparse.csr_array(X)), expected, atol=1e-4 * size)


@models
def test_data_frame_gives_names(model):
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, kind = table()
    y = target_of(model, X, kind)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    lazy = clone(model).fit(dataframe.from_pandas(frame, npartitions=3), y)
    assert_array_equal(lazy.feature_names_in_, ["a", "b"])
    del lazy.feature_names_in_  # the rows to predict have no column names
    assert_same_model(lazy, fitted(model, X, y), X)


@pytest.mark.few(1)
@pytest.mark.parametrize("slack", [0.1, 0.5])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_threshold_is_near_the_table(slack, weighted):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    aligned = {"sample_weight": weights_of(3000)} if weighted else {}
    model = CoreVectorOutlierDetector(slack=slack, tol=1e-3, random_state=0)
    here = fitted(model, X, None, **aligned)
    lazy = fitted(model, X, None, (1400, 1600), **aligned)
    new = np.random.default_rng(1).normal(size=(20_000, 2))
    # 600 scores are held out, and a tenth of them are below the threshold: the standard deviation
    # is 1.2 points
    rates = [np.mean(one.predict(new) < 0) for one in (here, lazy)]
    assert_allclose(rates, 0.1, atol=0.035)
    assert lazy.cost_ == pytest.approx(here.cost_, rel=1e-9)
    again = fitted(model, X, None, (100,) * 30, **aligned)
    assert again.offset_ == pytest.approx(lazy.offset_, rel=1e-2)


def test_machine_of_some_samples_matches_the_table():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = CoreVectorOutlierDetector(max_samples=300, **TIGHT)
    here = fitted(model, X, None)
    lazy = fitted(model, X, None, (1400, 1600))
    assert lazy.n_passes_ == 0
    assert_array_equal(lazy.support_, here.support_)
    # compute the scores of all other rows
    assert lazy.offset_ == pytest.approx(here.offset_, rel=1e-6)


@models
def test_no_result_is_larger_than_twice_a_block(model, monkeypatch):
    rng = np.random.default_rng(0)
    X, kind = table(2000)
    X = np.hstack([X, 0.01 * rng.normal(size=(2000, 30))])
    y = target_of(model, X, kind)
    sizes = []
    compute = Delayed.compute

    def noted(self, **options):
        result = compute(self, **options)
        sizes.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(Delayed, "compute", noted)
    lengths = (500,) * 4
    fitted(clone(model).set_params(tol=0.05), X, y, lengths)
    assert len(sizes) > 2
    assert max(sizes) < 2 * 500 * X[0].nbytes


@pytest.mark.edge
@models
def test_errors_name_bad_rows(model):
    X, kind = table()
    y = target_of(model, X, kind)
    lengths = (100,) * 3
    if not isinstance(model, MinimumEnclosingBall):
        w = weights_of()
        w[233] = -1.0
        with pytest.raises(ValueError, match=r"sample_weight.*in row 233"):
            fitted(model, X, y, lengths, sample_weight=w)
    X[250, 1] = np.inf
    X[201, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity in row 201"):
        fitted(model, X, y, lengths)


@pytest.mark.edge
def test_errors_name_bad_targets_and_heights():
    X, kind = table()
    y = kind.astype(float)
    y[201] = np.nan
    for model in (MACHINES[0], MACHINES[3]):
        with pytest.raises(ValueError, match=r"Input y .* in row 201"):
            fitted(model, X, y, CUTS[2])
    with pytest.raises(ValueError, match="heights must contain"):
        fitted(BALLS[0], X, None, CUTS[2], heights=y)


@pytest.mark.edge
@models
def test_handles_wrong_and_unknown_chunks(model):
    X, kind = table()
    y = target_of(model, X, kind)
    rows = in_dask(X, (150, 150))
    lying = rows.map_blocks(lambda block: block[:147], dtype=float, chunks=rows.chunks)
    with pytest.raises(ValueError, match="should have 150 rows and has 147"):
        clone(model).fit(lying, y)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        clone(model).fit(rows[rows[:, 0] > 1], y)


@pytest.mark.edge
@machines
def test_rejects_searches_in_memory(model):
    X, kind = table(60)
    y = target_of(model, X, kind)
    for changes in ({"solver": "cvxpy"}, {"batch_size": 3}):
        with pytest.raises(ValueError, match=r"Dask array does not allow: use .*compute\(\)"):
            fitted(clone(model).set_params(**changes), X, y, (30, 30))
    with pytest.raises(ValueError, match="a precomputed kernel"):
        fitted(clone(model).set_params(kernel="precomputed"), X @ X.T, y, (30, 30))


@pytest.mark.edge
def test_other_searches_are_rejected():
    X, y = table(60)
    with pytest.raises(ValueError, match=r"radius_tol=0\.1"):
        fitted(CoreVectorMachine(radius_tol=0.1), X, y, (30, 30))
    for changes in ({"solver": "away_steps"}, {"algorithm": "sampling"}):
        with pytest.raises(ValueError, match="Dask array does not allow: use"):
            fitted(MinimumEnclosingBall(**changes), X, None, (30, 30))
    with pytest.raises(TypeError, match=r"CoreVectorRanker.fit does not take a Dask array"):
        fitted(CoreVectorRanker(), X, y, (30, 30))


@pytest.mark.edge
def test_classes_without_weight():
    X, y = table()
    with pytest.raises(ValueError, match="at least two classes, got 1 class: "):
        fitted(MACHINES[0], X, 0 * y, CUTS[2])
    with pytest.raises(ValueError, match="got 1 class with positive weight"):
        fitted(MACHINES[0], X, y, CUTS[2], sample_weight=1.0 * y)
    y = X.astype(int).sum(axis=1) % 3
    model = fitted(MACHINES[0], X, y, CUTS[2], sample_weight=1.0 * (y < 2))
    assert_array_equal(model.classes_, [0, 1, 2])
    assert set(model.predict(X)) == {0, 1}


@pytest.mark.edge
def test_a_rare_class_is_found():
    X, _ = table()
    y = np.zeros(N, dtype=int)
    y[231] = 1
    lazy = fitted(MACHINES[0], X, y, CUTS[2])
    assert 231 in lazy.support_
    assert_same_model(lazy, fitted(MACHINES[0], X, y), X)


@pytest.mark.edge
def test_equal_rows():
    X = np.ones((50, 3))
    ball = fitted(MinimumEnclosingBall(), X, None, (20, 30))
    assert ball.radius_ == 0
    assert_array_equal(ball.center_, 1.0)
    machine = fitted(CoreVectorRegressor(), X, np.ones(50), (20, 30))
    assert_allclose(machine.predict(X), 1.0)


@pytest.mark.edge
def test_limits_are_reported():
    X, kind = table(3000)
    y = kind ^ (np.random.default_rng(0).uniform(size=3000) < 0.2)
    model = CoreVectorMachine(C=1, gamma=2.0, max_core=200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="increase max_core"):
        few = fitted(model, X, y, (1000,) * 3)
    assert len(few.support_) <= 200
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        fitted(model.set_params(max_core=None, max_iter=1, tol=1e-6), X, y, (1000,) * 3)


@pytest.mark.invariance
def test_half_of_the_rows_as_support():
    X, kind = table(3000)
    y = kind ^ (np.random.default_rng(0).uniform(size=3000) < 0.2)
    model = CoreVectorMachine(C=0.1, gamma=2.0, tol=1e-4, random_state=0)
    here = fitted(model, X, y)
    lazy = fitted(model, X, y, (1000,) * 3)
    assert len(lazy.support_) > 1500
    assert lazy.dual_gap_ <= 1e-4
    assert lazy.objective_ == pytest.approx(here.objective_, rel=2e-4)
    assert lazy.solver_ == "coordinate_descent"


@pytest.mark.invariance
@machines
def test_warm_start_reaches_the_same_solution(model):
    X, kind = table()
    y = target_of(model, X, kind)
    warm = clone(model).set_params(warm_start=True, C=1.0) if hasattr(model, "C") else model
    warm = clone(warm).set_params(warm_start=True)
    warm.fit(in_dask(X, CUTS[2]), y)
    if hasattr(model, "C"):
        warm.set_params(C=model.C)
    warm.fit(in_dask(X, CUTS[2]), y)
    assert warm.n_passes_ <= fitted(model, X, y, CUTS[2]).n_passes_
    assert_same_model(warm, fitted(model, X, y), X)


@models
def test_fitted_models_can_be_pickled(model, no_whole_table):
    X, kind = table()
    lazy = fitted(model, X, target_of(model, X, kind), CUTS[2])
    again = pickle.loads(pickle.dumps(lazy))
    assert_array_equal(answers(again, X), answers(lazy, X))
    assert isinstance(answers(lazy, in_dask(X, CUTS[2])), da.Array)


@pytest.mark.oracle
def test_worst_rows_match_all(seed):
    rng = np.random.default_rng(seed)
    excess = rng.normal(size=(100, 2))
    X = rng.normal(size=(100, 3))
    ids = np.arange(100)
    rows = RowSet(ids, X, ids, np.ones(100))
    parts = [WorstRows(rows.part(part), excess[part], 7) for part in np.split(ids, [3, 50])]
    total = parts[0] + parts[1] + parts[2]
    worst = np.unique(np.argsort(-excess, axis=0)[:7])
    assert_array_equal(total.rows.ids, worst)
    assert_array_equal(total.rows.X, X[worst])
    assert_array_equal(total.excess, excess[worst])
    assert_array_equal(total.largest, excess.max(axis=0))
    none = WorstRows(rows, -np.ones((100, 1)), 7)
    assert len(none.rows.ids) == 0
