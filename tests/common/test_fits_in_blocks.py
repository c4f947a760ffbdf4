"""Classes that fit to tables in blocks: the model of the table, never the whole of it at once."""

import contextlib
import inspect
import os
import pickle
import signal
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

import skmoderndata as sk
from skmoderndata._estimator import blocks_input
from skmoderndata._estimator.registry import all_estimators
from skmoderndata._solvers.common import blocks as solver_blocks
from tests.common.parameter_sets import parameter_sets
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
Delayed = pytest.importorskip("dask.delayed").Delayed

N = 240
P = 5
EVEN = (60,) * 4
CUTS = {"one row, none": (90, 1, 0, 149), "more than columns": (8,) * 30}
LANDMARKS = {"solver": "nystroem", "max_rank": 20, "random_state": 0}
NETWORK = {"n_hidden": 20, "alpha": 0.5, "random_state": 0}


class Case(NamedTuple):
    """A class, how it is made, and what it does with a table."""

    model: Any
    learned: tuple  # fitted attributes that are compared
    tol: float = 1e-9  # tolerance for the attributes, relative to the largest entry
    map: bool = True  # whether tables on disk are read block by block
    weights: bool = True
    sparse: bool = True


CASES = {
    type(case.model).__name__: case
    for case in [
        Case(
            sk.cluster.BooleanKMeans(3, n_init=2, threshold=2.0, random_state=0),
            ("cluster_centers_", "inertia_"),
            weights=False,
        ),
        Case(
            sk.MultiAssignmentClustering(2, n_init=1, threshold=2.0, random_state=0),
            ("components_", "log_likelihood_"),
            tol=1e-6,  # steps over assignments are computed in single precision
            weights=False,
        ),
        Case(
            sk.SlowFeatureAnalysis(2),
            ("delta_values_", "mean_"),
            tol=1e-8,
            weights=False,
            sparse=False,
        ),
        Case(sk.SparseNMF(2, max_iter=10, tol=0, random_state=0), ("components_",)),
        Case(sk.SemiNMF(2, max_iter=10, tol=0, random_state=0), ("components_",)),
        Case(
            sk.decomposition.ProbabilisticLSA(2, max_iter=10, tol=0, random_state=0),
            ("components_",),
        ),
        Case(
            sk.FeatureSignDictionaryLearning(3, max_iter=10, random_state=0),
            ("components_", "objective_"),
        ),
        Case(
            sk.cluster.KernelKMeans(2, n_init=2, **LANDMARKS),
            ("inertia_", "relaxation_bound_"),
        ),
        Case(
            sk.discriminant_analysis.KernelDiscriminantAnalysis(**LANDMARKS),
            ("eigenvalues_", "priors_"),
            tol=1e-8,
        ),
        Case(
            sk.cross_decomposition.PrincipalComponentsRegression(3, kernel="rbf", **LANDMARKS),
            ("explained_variance_ratio_", "intercept_"),
        ),
        Case(
            sk.decomposition.KernelPCAOutlierDetector(2, **LANDMARKS),
            ("offset_", "eigenvalues_"),
        ),
        Case(sk.KernelCCA(1, **LANDMARKS), ("correlations_",), tol=1e-6),
        Case(
            sk.KernelCCA(1, kernel=("rbf", "linear"), alpha=1.0, **LANDMARKS),
            ("regularized_correlations_",),
            tol=1e-8,
        ),
        Case(sk.covariance.JamesStein(), ("location_",), weights=False, sparse=False),
        Case(sk.neural_network.ELMClassifier(**NETWORK), ("answers",), map=False),
        Case(sk.neural_network.ELMRegressor(**NETWORK), ("answers",), map=False),
        Case(
            sk.neural_network.ELMClassifier(direct_links=True, **NETWORK),
            ("answers",),
            map=False,
        ),
        Case(
            sk.neural_network.ELMRegressor(direct_links=True, **NETWORK),
            ("answers",),
            map=False,
        ),
        Case(
            sk.neural_network.RBFNetworkClassifier(centers=np.eye(4, P), alpha=0.5),
            ("answers",),
            map=False,
        ),
        Case(
            sk.neural_network.RBFNetworkRegressor(centers=np.eye(4, P), alpha=0.5),
            ("answers",),
            map=False,
        ),
        Case(sk.RobustPCA(algorithm="pcp", max_iter=40), ("components_",), 1e-6, map=False),
        Case(sk.NuclearNormImputer(alpha=0.5, tol=1e-9), ("components_",), 1e-6, map=False),
    ]
}
CLASSES = [cls for cls in all_estimators() if cls._card.fits_blocks]
# All classes; classes without a case are fitted with the parameters of their card, and their
# fitted models are not compared.
ALL = {
    cls.__name__: CASES.get(cls.__name__, Case(cls(**parameter_sets(cls)[0]), (), map=False))
    for cls in CLASSES
}
# Names of constants that set the number of rows read into memory for starts and choices.
SAMPLES = (
    "_solvers.common.row_sample.MOST_ROWS",
    "_solvers.boolean_data.source_starts.ANNEALED_ROWS",
    "_solvers.boolean_data.source_exchange.MAX_ASSOCIATED_ROWS",
    "cluster._kernel_k_means.MOST_ROWS",
    "cluster._multi_assignment_clustering.MOST_ROWS",
    "decomposition._robust_rows_base.SAMPLE",
    "gaussian_process._inducing_base.MOST_FOR_CENTRES",
    "gaussian_process._sparse_gaussian_process_regressor.MOST_FOR_CENTRES",
    "svm._blocks_base.SAMPLE",
    "impute._nuclear_norm_imputer.MOST_ROWS",
)
# Number of bytes per row in the memory of the driver, as stated on the page about blocks: for the
# weights of both views, and for the rows of the core set, here a third of all rows.
OF_EACH_ROW = {"KernelCCA": 16, "CoreVectorOutlierDetector": 30}
# Classes that are compared only between different blocks, because the fit in memory uses other
# refits or choices.
AMONG_BLOCKS = ("RobustPCA", "NuclearNormImputer")


def cases_with(condition):
    """Parametrize over the cases for which the condition holds."""
    named = {name: case for name, case in ALL.items() if condition(case)}
    return pytest.mark.parametrize("case", named.values(), ids=named.keys())


def takes(case, name):
    return name in inspect.signature(type(case.model).fit).parameters


def input_tags(case):
    return get_tags(case.model).input_tags


all_cases = cases_with(lambda case: True)
compared = cases_with(lambda case: case.learned)


def table(n=N, p=P, seed=0):
    """Shares of two parts without negative values, noise, and some broken cells."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, 2)) @ rng.exponential(size=(2, p))
    X += 0.05 * rng.random(X.shape)
    X[rng.random(X.shape) < 0.02] += 5
    return X


def target(case, X):
    """What a class wants beside its rows."""
    if type(case.model).__name__ == "KernelCCA":
        return X[:, :3] ** 2
    if not get_tags(case.model).target_tags.required:
        return None
    y = np.sin(X[:, 0]) + X[:, 1]
    return (y > np.median(y)).astype(int) if is_classifier(case.model) else y


def fit(case, X, y=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if y is None:
            return clone(case.model).fit(X, **options)
        return clone(case.model).fit(X, y, **options)


def fit_lazy(case, X, lengths, **options):
    """Fit to a Dask array, what goes with the rows in chunks of the same lengths."""
    y = target(case, X)
    lazy = {name: in_dask(values, lengths) for name, values in options.items()}
    return fit(case, in_dask(X, lengths), None if y is None else in_dask(y, lengths), **lazy)


def fit_whole(case, X, **options):
    """Fit to the table in memory, or to one block of it."""
    if type(case.model).__name__ in AMONG_BLOCKS:
        return fit_lazy(case, X, (len(X),), **options)
    return fit(case, X, target(case, X), **options)


def learned(model, name):
    """A fitted attribute, or what a network says of some rows."""
    if name != "answers":
        return getattr(model, name)
    answer = model.decision_function if is_classifier(model) else model.predict
    return answer(table(50, seed=1))


def assert_same_model(one, other, case, tol=None):
    tol = case.tol if tol is None else tol
    for name in case.learned:
        value = np.asarray(learned(one, name), dtype=float)
        expected = np.asarray(learned(other, name), dtype=float)
        atol = tol * np.abs(expected).max()
        assert_allclose(value, expected, rtol=0, atol=atol, err_msg=name)


@contextlib.contextmanager
def nothing_whole():
    """No Dask array is computed as a whole, nor turned into one of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(da.Array, "__array__", refuse)
        patch.setattr(da.Array, "compute", refuse)
        yield


@pytest.mark.few(24)
@pytest.mark.invariance
@compared
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS.values(), ids=CUTS.keys())
def test_uneven_cuts_change_no_more_than_rounding(case, lengths, scheduler):
    X = table()
    with dask.config.set(scheduler=scheduler), nothing_whole():
        model = fit_lazy(case, X, lengths)
    assert_same_model(model, fit_whole(case, X), case)


@pytest.mark.invariance
@compared
def test_the_same_cuts_give_the_same_bits(case):
    X = table()
    with dask.config.set(scheduler="synchronous"):
        one = fit_lazy(case, X, CUTS["one row, none"])
    with dask.config.set(scheduler="threads"):
        other = fit_lazy(case, X, CUTS["one row, none"])
    for name in case.learned:
        assert_array_equal(learned(one, name), learned(other, name))


@pytest.mark.invariance
@cases_with(lambda case: case.learned and input_tags(case).sparse and case.sparse)
def test_sparse_blocks_match_a_dense_table(case):
    X = table()
    X[X < 0.3] = 0
    y = target(case, X)
    # zeros of a sparse table count as missing
    if type(case.model).__name__ == "NuclearNormImputer":
        pytest.skip("a sparse table has another meaning")
    rows = in_dask(X, EVEN).map_blocks(sparse.csr_array)
    assert_same_model(fit(case, rows, y), fit(case, X, y), case)


@pytest.mark.edge
@compared
def test_gaps_match_the_fit_in_memory_or_raise(case):
    X = table()
    X[111, 2] = np.nan
    if input_tags(case).allow_nan:
        model = fit_lazy(case, X, EVEN)
        assert_same_model(model, fit_whole(case, X), case)
        X[111, 2] = np.inf
    with pytest.raises(ValueError, match=r"row 111\b|rows of X from 60 on: .*(NaN|infinity)"):
        fit(case, in_dask(X, EVEN), target(case, table()))


@pytest.mark.edge
@compared
def test_single_precision_matches_the_fit_in_memory(case):
    X = table().astype(np.float32)
    model = fit_lazy(case, X, EVEN)
    whole = fit_whole(case, X)
    for name in case.learned:
        kinds = [np.asarray(learned(one, name)).dtype for one in (model, whole)]
        assert kinds[0] == kinds[1], name
    assert_same_model(model, whole, case, tol=1e-3)  # products are computed in float32


@pytest.mark.invariance
@cases_with(lambda case: case.learned and case.weights and takes(case, "sample_weight"))
def test_weights_are_cut_like_the_rows(case):
    X = table()
    weights = np.random.default_rng(1).uniform(0.5, 2, size=N)
    model = fit_lazy(case, X, CUTS["one row, none"], sample_weight=weights)
    assert_same_model(model, fit_whole(case, X, sample_weight=weights), case)


@pytest.mark.edge
@cases_with(lambda case: case.learned and case.map)
@pytest.mark.parametrize("kind", ["memory map", "HDF5"])
def test_no_more_than_a_block_of_a_file_is_read_at_once(case, kind, tmp_path, monkeypatch):
    X = table()
    limit = 61 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "ROWS_READ_AT_ONCE", 60)
    rows = on_disk(tmp_path, X, limit) if kind == "memory map" else LikeHDF5(X)
    y = target(case, X)
    assert_same_model(fit(case, rows, y), fit(case, X, y), case)


@pytest.mark.few(8)
@pytest.mark.edge
@all_cases
def test_no_result_at_the_driver_is_larger_than_twice_a_block(case, monkeypatch):
    X = table(10_800, 10)
    if "centers" in case.model.get_params():
        case = case._replace(model=clone(case.model).set_params(centers=np.eye(4, 10)))
    # leave room for the rows that the start reads into memory
    if "subset_size" in case.model.get_params():
        case = case._replace(model=clone(case.model).set_params(subset_size=500))
    sizes = []
    compute = dask.base.compute

    def noted(*args, **options):
        results = compute(*args, **options)
        sizes.extend(len(pickle.dumps(result)) for result in results)
        return results

    for name in SAMPLES:
        monkeypatch.setattr(f"skmoderndata.{name}", 500)
    monkeypatch.setattr(dask.base, "compute", noted)
    with nothing_whole():
        fit_lazy(case, X, (900,) * 12)
    assert len(sizes) > 0
    own = OF_EACH_ROW.get(type(case.model).__name__, 0)
    assert max(sizes) < 2 * X[:900].nbytes + own * len(X)


@pytest.mark.edge
@all_cases
def test_models_contain_nothing_lazy_and_can_be_pickled(case):
    X = table()
    with nothing_whole():
        model = fit_lazy(case, X, EVEN)
        assert not any(dask.is_dask_collection(value) for value in vars(model).values())
        again = pickle.loads(pickle.dumps(model))

    # outputs are lazy, and match the outputs for rows in memory
    assert vars(clone(model)).keys() == vars(case.model).keys()
    for name in ("transform", "predict", "decision_function"):
        if hasattr(model, name):
            with dask.config.set(scheduler=refuse_to_run), nothing_whole():
                answer = getattr(again, name)(in_dask(X, EVEN))
            expected = getattr(model, name)(X)
            assert_allclose(answer.compute(), expected, rtol=1e-7, atol=1e-8)


def refuse_to_run(*args, **kwargs):
    raise AssertionError("a task ran before compute()")


@contextlib.contextmanager
def workers(**options):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", **options}
    cluster = distributed.LocalCluster(**options)
    with cluster, distributed.Client(cluster) as client:
        yield cluster, client


@pytest.mark.slow
@pytest.mark.invariance
@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("name", ["SparseNMF", "MultiAssignmentClustering", "RobustPCA"])
def test_lost_worker_changes_no_bit(name, checkpoints, tmp_path):
    case = ALL[name]
    X = table(2000)
    lengths = (500,) * 4
    if name != "MultiAssignmentClustering":
        longer = clone(case.model).set_params(max_iter=32, tol=1e-14)
        case = case._replace(model=longer)
    calm = fit_lazy(case, X, lengths)

    with workers() as (cluster, client):
        loss = kill_after(100, client.run(os.getpid))
        cluster.scheduler.add_plugin(loss)
        with sk.blocks_config(checkpoint_dir=tmp_path if checkpoints else None):
            model = fit_lazy(case, X, lengths)
    assert loss.n_tasks > 100
    for attribute in case.learned:
        assert_array_equal(learned(model, attribute), learned(calm, attribute))


def kill_after(n_tasks, processes):
    """Plugin of the scheduler that kills a worker after a number of blocks."""
    distributed = pytest.importorskip("distributed")

    class Loss(distributed.SchedulerPlugin):
        n_tasks = 0

        def transition(self, key, start, finish, *args, **kwargs):
            if finish == "memory" and str(key).startswith(("_run_group", "_sum_of_group")):
                self.n_tasks += 1
                if self.n_tasks == n_tasks:
                    os.kill(min(processes.values()), signal.SIGKILL)

    return Loss()


WITHOUT_PACKAGE = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "skmoderndata":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
for name in [name for name in sys.modules if name.partition(".")[0] == "skmoderndata"]:
    del sys.modules[name]
"""


@pytest.mark.slow
@pytest.mark.edge
def test_workers_that_lack_the_package_are_named():
    case = ALL["SlowFeatureAnalysis"]
    X = table()
    model = fit(case, X)
    with workers(preload=[WITHOUT_PACKAGE]):
        for run in (
            lambda: fit_lazy(case, X, EVEN),
            lambda: model.transform(in_dask(X, EVEN)),
        ):
            with pytest.raises(ImportError, match=r"2 of 2 workers.*install"):
                run()
