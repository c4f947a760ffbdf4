"""Figures of fits to tables in blocks: `python -m benchmarks.blocks [PART ...] [--write-docs]`.

Each part prints what it found; with `--write-docs` its section of docs/benchmarks/blocks.md is
replaced. Every fit runs in a process of its own, with one thread; a map of 4 GB is written below
the folder for temporary files. All of them take about half an hour on two idle cores; `--gib .25`
takes smaller tables.
"""

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
from threadpoolctl import threadpool_limits

from benchmarks.sections import Page, Section, measure, parser_of
from skmoderndata.cluster import BooleanKMeans, MultiAssignmentClustering
from skmoderndata.covariance import JamesStein
from skmoderndata.decomposition import SlowFeatureAnalysis

PAGE = Page(
    Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "blocks.md",
    "python -m benchmarks.blocks",
    {
        "disk": "A table on a disk",
        "cluster": "Two workers",
        "killed": "A worker is killed",
    },
)
GIB = 4.0  # of the table on a disk; half of it on the workers
N_FEATURES = 100
CHUNK_MIB = 64
MOST_RESIDENT = 1.5  # GiB
MOST_AT_DRIVER = 0.3  # GiB
MOST_OF_ONE_WORKER = 0.65  # time of two workers over that of one
MOST_OF_MEMORY = 1.5  # time of one worker over that of the fit in memory
HEAD_OF_CLUSTER = (
    "estimator",
    "seconds in memory",
    "one worker over memory",
    "two workers over one",
    "GiB at the driver",
    "difference from memory",
)


class Case(NamedTuple):
    """An estimator, and the rows it is for."""

    model: Any
    rows: Any  # (number of the first row, number of rows) -> rows in float32
    learned: str  # attribute that is compared


class Run(NamedTuple):
    """What a process has measured."""

    seconds: float
    resident: float  # GiB at most
    learned: Any


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
}


def cuts(n):
    """First rows of blocks, and the number of all rows."""
    size = CHUNK_MIB * 2**20 // (4 * N_FEATURES)
    return [*range(0, n, size), n]


def rows_of(gib):
    """Number of rows of a table of that size."""
    return int(gib * 2**30) // (4 * N_FEATURES)


# ---- where the rows are -----------------------------------------------------------------------


def write_map(path, rows, n):
    """Write the rows to a file, block by block."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, N_FEATURES))
    for first, end in zip(cuts(n), cuts(n)[1:], strict=False):
        table[first:end] = rows(first, end - first)
    table.flush()


def fit_map(name, path):
    """Fit to a table on a disk."""
    return timed(name, np.load(path, mmap_mode="r"))


def fit_memory(name, n):
    """Fit to the table in memory."""
    rows = CASES[name].rows
    blocks = [
        rows(first, end - first) for first, end in zip(cuts(n), cuts(n)[1:], strict=False)
    ]
    return timed(name, np.concatenate(blocks))


def fit_cluster(name, n, n_workers, kill_after=None):
    """Fit to a Dask array that is generated on workers; one of them may be killed meanwhile."""
    with workers(n_workers) as client:
        X = lazy_rows(CASES[name].rows, n).persist()
        from dask.distributed import wait

        wait(X)
        if kill_after is not None:
            pid = next(iter(client.run(os.getpid).values()))
            threading.Timer(kill_after, os.kill, (pid, signal.SIGKILL)).start()
        return timed(name, X)


def lazy_rows(rows, n):
    """Dask array of the rows, one task for each block."""
    import dask.array as da
    from dask.delayed import delayed

    make = delayed(rows, pure=True)
    blocks = [
        da.from_delayed(make(first, end - first), (end - first, N_FEATURES), np.float32)
        for first, end in zip(cuts(n), cuts(n)[1:], strict=False)
    ]
    return da.concatenate(blocks)


@contextmanager
def workers(n):
    """Processes of one thread each on this machine."""
    from dask.distributed import Client, LocalCluster

    processes = LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None)
    with processes, Client(processes) as client:
        yield client


# ---- what is measured -------------------------------------------------------------------------


def timed(name, X):
    """Fit once to a few rows, which compiles, and then to all."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.model.fit(case.rows(0, 1000))
        with Watch() as watch:
            model = case.model.fit(X)
    return Run(watch.seconds, watch.resident, getattr(model, case.learned))


class Watch:
    """Seconds, and GiB of this process that are resident at most."""

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


def apart(function, *arguments):
    """Call a function in a process of its own, with one thread."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_one_thread) as process:
        return process.submit(function, *arguments).result()


def _one_thread():
    threadpool_limits(1)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the workers


def difference(a, b):
    """Largest difference, of the largest value."""
    a = np.asarray(a, dtype=float)
    b = np.asarray(b, dtype=float)
    return float(np.abs(a - b).max() / np.abs(b).max())


# ---- parts ------------------------------------------------------------------------------------


def disk(gib):
    """Maps on a disk, each in a process that holds nothing else."""
    n = rows_of(gib)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in dict.fromkeys(case.rows for case in CASES.values()):
            path = Path(folder) / "rows.npy"
            write_map(path, kind, n)
            for name, case in CASES.items():
                if case.rows is kind:
                    run = apart(fit_map, name, path)
                    rows.append((name, kind.__name__, run.seconds, run.resident))

    most = max(row[-1] for row in rows)
    return Section(
        f"{n:,} rows of {N_FEATURES} columns in float32, {gib:g} GiB, in a file that is mapped "
        "read-only. Resident is\nall that the process holds, pages of the file included.",
        ("estimator", "rows", "seconds", "GiB resident at most"),
        rows,
        [(f"resident at most {MOST_RESIDENT} GiB", f"{most:.2f}", most <= MOST_RESIDENT)],
    )


def cluster(gib):
    """One worker and two, beside the same fit in memory."""
    n = rows_of(gib / 2)
    rows = []
    for name in CASES:
        # the same fit in three places
        memory = apart(fit_memory, name, n)
        one = apart(fit_cluster, name, n, 1)
        two = apart(fit_cluster, name, n, 2)

        rows.append(
            (
                name,
                memory.seconds,
                one.seconds / memory.seconds,
                two.seconds / one.seconds,
                max(one.resident, two.resident),
                difference(two.learned, memory.learned),
            )
        )

    # what is to be reached
    figures = []
    for name, _, one, two, *_ in rows:
        text = f"{name}: at most {MOST_OF_MEMORY} of memory, then {MOST_OF_ONE_WORKER} of one"
        reached = one <= MOST_OF_MEMORY and two <= MOST_OF_ONE_WORKER
        figures.append((text, f"{one:.2f}, {two:.2f}", reached))
    most = max(row[4] for row in rows)
    text = f"driver at most {MOST_AT_DRIVER} GiB"
    figures.append((text, f"{most:.2f}", most <= MOST_AT_DRIVER))

    return Section(
        f"{n:,} rows, {gib / 2:g} GiB, generated on the workers and kept there, in chunks of "
        f"{CHUNK_MIB} MiB.\nA worker is a process of one thread on this machine; the fit in "
        "memory has one thread too.",
        HEAD_OF_CLUSTER,
        rows,
        figures,
    )


def killed(gib):
    """One of two workers is killed in the middle of a fit."""
    n = rows_of(gib / 8)
    rows = []
    for name in CASES:
        calm = apart(fit_cluster, name, n, 2)
        run = apart(fit_cluster, name, n, 2, calm.seconds / 2)
        rows.append(
            (name, calm.seconds, run.seconds, np.array_equal(calm.learned, run.learned))
        )

    same = sum(row[-1] for row in rows)
    return Section(
        f"{n:,} rows on two workers, of which one is killed by the system after half of the time; "
        "its rows are\ngenerated again.",
        ("estimator", "seconds", "seconds with the loss", "the same bits"),
        [(*row[:-1], "yes" if row[-1] else "**no**") for row in rows],
        [("the same bits", f"{same} of {len(rows)}", same == len(rows))],
    )


PARTS = {"disk": disk, "cluster": cluster, "killed": killed}


if __name__ == "__main__":
    sys.exit(main())
