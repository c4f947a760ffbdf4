"""Figures of fits to tables in chunks: `python -m benchmarks.blocks [PART ...] [--write-docs]`.

Each part prints what it found; with `--write-docs` it replaces its section of
docs/benchmarks/blocks.md. Every fit runs in its own process, with one thread; a map of 4 GB is
written below the folder for temporary files. All parts together take about half an hour on two
idle cores; `--gib .25` uses smaller tables.
"""

import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.sections import Page, Section, measure, parser_of
from skmoderndata import blocks_config
from skmoderndata.cluster import BooleanKMeans, KernelKMeans, MultiAssignmentClustering
from skmoderndata.covariance import JamesStein
from skmoderndata.cross_decomposition import PrincipalComponentsRegression
from skmoderndata.decomposition import (
    ProbabilisticLSA,
    RobustPCA,
    SlowFeatureAnalysis,
    SparseNMF,
)

PAGE = Page(
    Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "blocks.md",
    "python -m benchmarks.blocks",
    {
        "disk": "A table on a disk",
        "cluster": "Two workers",
        "killed": "A worker is killed",
        "lacking": "Workers without the package",
    },
)
# Size of the table on disk, in GiB; the tables of the workers are a quarter as large.
GIB = 4.0
N_FEATURES = 100
# Number of columns of spectra and words.
N_CHANNELS = 1000
CHUNK_MIB = 64
PACKAGE = "skmoderndata"
WITHOUT_PACKAGE = f"""
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {PACKAGE!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
for name in [name for name in sys.modules if name.partition(".")[0] == {PACKAGE!r}]:
    del sys.modules[name]
"""
# Maximum resident memory, in GiB.
MOST_RESIDENT = 1.5
# Maximum memory of the driver, in GiB.
MOST_AT_DRIVER = 0.3
# Maximum time of two workers, divided by the time of one.
MOST_OF_ONE_WORKER = 0.65
# Maximum time of one worker, divided by the time of a fit in memory.
MOST_OF_MEMORY = 1.5
# Maximum number of passes after the loss of a worker.
MOST_REPEATED = 25
ROUNDS = 3
BLOCKS_KILLED = 8
ON_CLUSTER = (
    "SlowFeatureAnalysis",
    "MultiAssignmentClustering",
    "SparseNMF",
    "ProbabilisticLSA",
    "KernelKMeans",
)
TO_BE_KILLED = (
    "MultiAssignmentClustering",
    "SlowFeatureAnalysis",
    "SparseNMF",
    "ProbabilisticLSA",
    "RobustPCA",
)
HEAD_OF_KILLED = (
    "estimator",
    "checkpoints",
    "passes",
    "seconds",
    "seconds with a killed worker",
    "passes repeated",
    "identical bits",
)
HEAD_OF_CLUSTER = (
    "estimator",
    "seconds in memory",
    "one worker / memory",
    "two workers / one",
    "GiB at the driver",
    "difference from memory",
)


class Case(NamedTuple):
    """An estimator, and the rows that it is fitted to."""

    model: Any
    rows: Any  # function of the first row and the number of rows that returns rows in float32
    learned: str  # fitted attribute that is compared
    target: Any = None  # function of the rows that returns a target to predict
    longer: Any = {}  # parameters for more passes, so that the state of the rows has a history
    # whether workers keep the rows in memory, because the state is larger than the rows
    in_memory: bool = False


class Run(NamedTuple):
    """Measurements of one process."""

    seconds: float
    resident: float  # peak memory in GiB
    learned: Any
    n_tasks: int = 0  # number of tasks that workers have run in passes


def main(arguments=None):
    """Run the parts; the exit status is 0 if all figures are reached."""
    parser = parser_of(PAGE, __doc__.splitlines()[0], PARTS)
    parser.add_argument("--gib", type=float, default=GIB, help="size of the table on a disk")
    options = parser.parse_args(arguments)
    if options.write_docs and options.gib != GIB:
        parser.error("--write-docs needs the whole table: leave out --gib")

    missed = measure(PAGE, PARTS, options.parts, options.gib, write_docs=options.write_docs)
    return int(missed > 0)


# ---- rows, generated where they are needed ----------------------------------------------------


def rights(first, n):
    """Rights of users who have one or two of four roles; one in fifty is wrong."""
    roles = np.random.default_rng(0).random((4, N_FEATURES)) < 0.2
    rng = np.random.default_rng((1, first))
    has = np.zeros((n, len(roles)), dtype=bool)
    for _ in range(2):
        has[np.arange(n), rng.integers(len(roles), size=n)] = True
    bits = has.astype(np.float32) @ roles.astype(np.float32) > 0
    wrong = rng.random(bits.shape, dtype=np.float32) < 0.02
    return (bits ^ wrong).astype(np.float32)


def signals(first, n):
    """Mixed sines, the slowest of a million steps, with noise."""
    mixing = np.linalg.qr(np.random.default_rng(0).normal(size=(N_FEATURES, 20)))[0]
    t = np.arange(first, first + n)[:, None]
    sources = np.sin(2 * np.pi * t / (1e6 / 2.0 ** (np.arange(20) / 2)) + np.arange(20))
    noise = np.random.default_rng((1, first)).standard_normal(
        (n, N_FEATURES), dtype=np.float32
    )
    return (sources @ mixing.T).astype(np.float32) + 0.3 * noise


def spectra(first, n):
    """Mixtures of four smooth spectra without negative values, with noise."""
    channels = np.arange(N_CHANNELS)
    pure = [np.exp(-(((channels - c) / 60) ** 2)) for c in (150, 400, 550, 800)]
    rng = np.random.default_rng((1, first))
    shares = rng.exponential(size=(n, len(pure))).astype(np.float32)
    mixed = shares @ np.array(pure, dtype=np.float32)
    return mixed + 0.05 * rng.random(mixed.shape, dtype=np.float32)


def counts(first, n):
    """Words of documents, a hundred each, from a mixture of four topics."""
    topics = np.random.default_rng(0).dirichlet(np.full(N_CHANNELS, 0.05), size=4)
    rng = np.random.default_rng((1, first))
    mixed = rng.dirichlet(np.full(len(topics), 0.3), size=n) @ (100 * topics)
    return rng.poisson(mixed).astype(np.float32)


def broken(first, n):
    """Readings of sensors with three causes; one in fifty is wrong."""
    loadings = np.random.default_rng(0).standard_normal((3, N_FEATURES), dtype=np.float32)
    rng = np.random.default_rng((1, first))
    X = rng.standard_normal((n, 3), dtype=np.float32) @ loadings
    wrong = rng.random(X.shape, dtype=np.float32) < 0.02
    return X + np.where(wrong, np.float32(20), np.float32(0))


def bent(first, n):
    """Points of three arcs in the first two columns, with noise in all."""
    rng = np.random.default_rng((1, first))
    arc = rng.integers(3, size=n)
    angle = rng.uniform(0, np.pi, size=n) + np.pi * arc
    X = 0.1 * rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    X[:, 0] += np.cos(angle) + arc
    X[:, 1] += np.sin(angle) * (1 + arc)
    return X


def height(X):
    """A curved function of the first two columns."""
    return np.sin(2 * X[:, 0]) + X[:, 1] ** 2


# Number of columns by kind of rows; all other kinds have N_FEATURES.
N_FEATURES_OF = {spectra: N_CHANNELS, counts: N_CHANNELS}
CASES = {
    "MultiAssignmentClustering": Case(
        MultiAssignmentClustering(4, n_init=1, cooling=0.7, random_state=0),
        rights,
        "components_",
    ),
    "BooleanKMeans": Case(
        BooleanKMeans(4, n_init=1, max_iter=30, random_state=0), rights, "components_"
    ),
    "SlowFeatureAnalysis": Case(SlowFeatureAnalysis(n_components=5), signals, "delta_values_"),
    "JamesStein": Case(JamesStein(), signals, "location_"),
    "SparseNMF": Case(
        SparseNMF(4, init="random", max_iter=10, tol=0, random_state=0),
        spectra,
        "components_",
        longer={"max_iter": 40},
    ),
    "ProbabilisticLSA": Case(
        ProbabilisticLSA(4, max_iter=10, tol=0, random_state=0),
        counts,
        "components_",
        longer={"max_iter": 40},
    ),
    "KernelKMeans": Case(
        KernelKMeans(3, solver="nystroem", max_rank=50, n_init=1, max_iter=5, random_state=0),
        bent,
        "inertia_",
    ),
    "PrincipalComponentsRegression": Case(
        PrincipalComponentsRegression(
            20, kernel="rbf", solver="nystroem", max_rank=50, random_state=0
        ),
        bent,
        "intercept_",
        height,
    ),
    "RobustPCA": Case(
        RobustPCA(algorithm="pcp", max_iter=10, tol=1e-12),
        broken,
        "components_",
        longer={"max_iter": 40},
        in_memory=True,
    ),
}


def columns_of(rows):
    """Number of columns of the generated rows."""
    return N_FEATURES_OF.get(rows, N_FEATURES)


def cuts(rows, n, n_blocks=None):
    """First rows of chunks, of CHUNK_MIB unless their number is given, and the number of rows."""
    size = CHUNK_MIB * 2**20 // (4 * columns_of(rows))
    if n_blocks is not None:
        size = -(-n // n_blocks)
    return [*range(0, n, size), n]


def number_of(rows, gib):
    """Number of rows of a table of the given size."""
    return int(gib * 2**30) // (4 * columns_of(rows))


# ---- where the rows are -----------------------------------------------------------------------


def write_map(path, rows, n):
    """Write the rows to a file, chunk by chunk."""
    shape = (n, columns_of(rows))
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    for first, end in itertools.pairwise(cuts(rows, n)):
        table[first:end] = rows(first, end - first)
    table.flush()


def fit_map(name, path):
    """Fit to a table on a disk; a target is kept in memory."""
    case = CASES[name]
    y = None
    if case.target is not None:
        seen = np.load(path, mmap_mode="r")
        blocks = itertools.pairwise(cuts(case.rows, len(seen)))
        y = np.concatenate([case.target(seen[first:end]) for first, end in blocks])
        del seen  # release the pages that were read, too
    return timed(name, np.load(path, mmap_mode="r"), y)


def fit_memory(name, n):
    """Fit to the table in memory."""
    case = CASES[name]
    X = np.empty((n, columns_of(case.rows)), dtype=np.float32)
    for first, end in itertools.pairwise(cuts(case.rows, n)):
        X[first:end] = case.rows(first, end - first)
    return timed(name, X, None if case.target is None else case.target(X))


def fit_cluster(
    name, n, n_workers, *, n_blocks=None, longer=False, kill_after=None, checkpoint_dir=None
):
    """Fit to a Dask array generated on workers; one of them may be killed during the fit."""
    from dask.distributed import wait

    case = CASES[name]
    parameters = case.longer if longer else {}
    with workers(n_workers) as (cluster, client):
        X = lazy_rows(case.rows, n, n_blocks).persist()
        y = None if case.target is None else case.target(X).persist()
        wait([X, y] if y is not None else X)
        client.run(warm_up, name)
        loss = loss_of(kill_after, client.run(os.getpid))
        cluster.scheduler.add_plugin(loss)
        with blocks_config(checkpoint_dir=checkpoint_dir):
            run = timed(name, X, y, **parameters)
        return run._replace(n_tasks=loss.n_tasks)


def lazy_rows(rows, n, n_blocks=None):
    """Dask array of the rows, one task for each chunk."""
    import dask.array as da
    from dask.delayed import delayed

    make = delayed(rows, pure=True)
    blocks = [
        da.from_delayed(make(first, end - first), (end - first, columns_of(rows)), np.float32)
        for first, end in itertools.pairwise(cuts(rows, n, n_blocks))
    ]
    return da.concatenate(blocks)


@contextmanager
def workers(n, **options):
    """Processes with one thread each on this machine."""
    from dask.distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", **options}
    processes = LocalCluster(n_workers=n, **options)
    with processes, Client(processes) as client:
        yield processes, client


def loss_of(kill_after, processes):
    """Scheduler plugin that counts the chunks of passes, and kills a worker once."""
    from dask.distributed import SchedulerPlugin

    class Loss(SchedulerPlugin):
        n_tasks = 0

        def transition(self, key, start, finish, *args, **kwargs):
            if finish == "memory" and str(key).startswith(("_run_group", "_sum_of_group")):
                self.n_tasks += 1
                if self.n_tasks == kill_after:
                    os.kill(min(processes.values()), signal.SIGKILL)

    return Loss()


# ---- what is measured -------------------------------------------------------------------------


def warm_up(name):
    """Fit to a few rows, to compile."""
    case = CASES[name]
    X = case.rows(0, 1000)
    case.model.fit(X, *([] if case.target is None else [case.target(X)]))


def timed(name, X, y=None, **parameters):
    """Fit once to a few rows, and then to all rows."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(name)
        with Watch() as watch:
            model = clone(case.model).set_params(**parameters)
            model.fit(X, *([] if y is None else [y]))
    return Run(watch.seconds, watch.resident, getattr(model, case.learned))


class Watch:
    """Seconds, and peak resident GiB of this process."""

    def __enter__(self):
        self.resident = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._start = perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self.seconds = perf_counter() - self._start
        self._ended.set()
        self._thread.join()

    def _look(self):
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._ended.is_set():
            resident = int(Path("/proc/self/statm").read_text().split()[1])
            self.resident = max(self.resident, resident * page / 2**30)
            sleep(0.02)


def apart(function, *args, **kwargs):
    """Call a function in its own process, with one thread."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_one_thread) as process:
        return process.submit(function, *args, **kwargs).result()


def _one_thread():
    threadpool_limits(1)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # workers inherit these variables


def difference(a, b):
    """Largest difference, relative to the largest value."""
    a = np.asarray(a, dtype=float)
    b = np.asarray(b, dtype=float)
    return float(np.abs(a - b).max() / np.abs(b).max())


# ---- parts ------------------------------------------------------------------------------------


def disk(gib):
    """Memory maps, each fitted in a process that holds nothing else."""
    cases = {name: case for name, case in CASES.items() if not case.in_memory}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in dict.fromkeys(case.rows for case in cases.values()):
            path = Path(folder) / "rows.npy"
            n = number_of(kind, gib)
            write_map(path, kind, n)
            for name, case in cases.items():
                if case.rows is kind:
                    run = apart(fit_map, name, path)
                    shape = f"{n:,} x {columns_of(kind)}"
                    rows.append((name, kind.__name__, shape, run.seconds, run.resident))

    most = max(row[-1] for row in rows)
    return Section(
        f"Each table has {gib:g} GiB in float32, in a file that is mapped read-only. The resident "
        "memory covers the whole process, including\ncached pages of the file. "
        "Factorisations and k-means stop after a few passes.",
        ("estimator", "rows", "shape", "seconds", "peak resident GiB"),
        rows,
        [
            (
                f"peak resident memory at most {MOST_RESIDENT} GiB",
                f"{most:.2f}",
                most <= MOST_RESIDENT,
            )
        ],
    )


def cluster(gib):
    """One worker and two, compared with the same fit in memory, in rounds."""
    rows = []
    figures = []
    for name in ON_CLUSTER:
        n = number_of(CASES[name].rows, gib / 4)
        rounds = []
        for _ in range(ROUNDS):
            memory = apart(fit_memory, name, n)
            single = apart(fit_cluster, name, n, 1)
            double = apart(fit_cluster, name, n, 2)
            rounds.append((memory, single, double))
        seconds = np.array([[run.seconds for run in runs] for runs in rounds])
        in_memory, ratio_one, ratio_two = (
            spread(column)
            for column in (
                seconds[:, 0],
                seconds[:, 1] / seconds[:, 0],
                seconds[:, 2] / seconds[:, 1],
            )
        )
        at_driver = max(run.resident for runs in rounds for run in runs[1:])
        apart_by = difference(double.learned, memory.learned)
        rows.append((name, in_memory, ratio_one, ratio_two, at_driver, apart_by))

        # compare the ratios with their targets
        single, double = (np.median(seconds[:, i + 1] / seconds[:, i]) for i in range(2))
        text = (
            f"{name}: one worker takes at most {MOST_OF_MEMORY} times as long as a fit in memory, "
            f"and two workers take at most {MOST_OF_ONE_WORKER} times as long as one"
        )
        reached = single <= MOST_OF_MEMORY and double <= MOST_OF_ONE_WORKER
        figures.append((text, f"{single:.2f}, {double:.2f}", bool(reached)))

    most = max(row[4] for row in rows)
    text = f"memory at the driver at most {MOST_AT_DRIVER} GiB"
    figures.append((text, f"{most:.2f}", most <= MOST_AT_DRIVER))
    return Section(
        f"Each table has {gib / 4:g} GiB in float32. It is generated on the workers and kept "
        f"there, in chunks of {CHUNK_MIB} MiB. A worker is a process\nwith one thread on this "
        "machine; the fit in memory also has one thread. The seconds are medians of "
        f"{ROUNDS} interleaved rounds,\nwith the smallest and the largest value. The memory at "
        "the driver covers its whole process, including Dask's scheduler.",
        HEAD_OF_CLUSTER,
        rows,
        figures,
    )


def spread(values):
    """Median, smallest and largest."""
    return f"{np.median(values):.2g} ({np.min(values):.2g} to {np.max(values):.2g})"


def killed(gib):
    """One of two workers is killed in the middle of a fit."""
    rows = []
    most_repeated = 0.0
    same = 0
    fit = {"n_blocks": BLOCKS_KILLED, "longer": True}
    for name in TO_BE_KILLED:
        n = number_of(CASES[name].rows, gib / 128)
        calm = apart(fit_cluster, name, n, 2, **fit)
        for checkpoints in (False, True) if CASES[name].longer else (False,):
            with tempfile.TemporaryDirectory() as folder:
                fit["checkpoint_dir"] = folder if checkpoints else None
                run = apart(fit_cluster, name, n, 2, kill_after=calm.n_tasks // 2, **fit)

            # the killed worker had half of the rows
            repeated = (run.n_tasks - calm.n_tasks) / (BLOCKS_KILLED / 2)
            equal = np.array_equal(calm.learned, run.learned)
            same += equal
            if checkpoints:
                most_repeated = max(most_repeated, repeated)
            rows.append(
                (
                    name,
                    "yes" if checkpoints else "no",
                    calm.n_tasks // BLOCKS_KILLED,
                    calm.seconds,
                    run.seconds,
                    f"{repeated:.1f}",
                    "yes" if equal else "**no**",
                )
            )
        fit["checkpoint_dir"] = None

    return Section(
        f"Each table has {gib * 8:g} MiB, in {BLOCKS_KILLED} chunks on two workers. The system "
        "kills one worker after half of the passes; its rows are generated\nagain. The number of "
        "repeated passes refers to the rows of one worker: repeating half of them counts as 0.5.",
        HEAD_OF_KILLED,
        rows,
        [
            ("identical bits", f"{same} of {len(rows)}", same == len(rows)),
            (
                f"at most {MOST_REPEATED} passes are repeated with checkpoints",
                f"{most_repeated:.1f}",
                most_repeated <= MOST_REPEATED,
            ),
        ],
    )


def lacking(gib):
    """Workers that cannot import the package."""
    rows = apart(fit_without_package)
    told = sum(PACKAGE in message and "install" in message for *_, message in rows)
    return Section(
        "The Python of both workers cannot import the package. The table shows the error that "
        "you see.",
        ("call", "seconds", "error"),
        rows,
        [("errors that name the remedy", f"{told} of {len(rows)}", told == len(rows))],
    )


def fit_without_package():
    """Errors of a fit and a transform if workers lack the package, and the seconds until then."""
    import dask.array as da

    fitted = SlowFeatureAnalysis(n_components=2).fit(signals(0, 1000))
    calls = {
        "fit(X)": lambda X: SlowFeatureAnalysis(n_components=2).fit(X),
        "transform(X).compute()": lambda X: fitted.transform(X).compute(),
    }
    rows = []
    with workers(2, preload=[WITHOUT_PACKAGE]):
        X = da.random.default_rng(0).random((10_000, N_FEATURES), chunks=(1000, N_FEATURES))
        for call, run in calls.items():
            start = perf_counter()
            try:
                run(X)
                message = "none"
            except ImportError as error:
                message = f"{type(error).__name__}: {error}"
            rows.append((call, perf_counter() - start, message))
    return rows


PARTS = {"disk": disk, "cluster": cluster, "killed": killed, "lacking": lacking}


if __name__ == "__main__":
    sys.exit(main())
