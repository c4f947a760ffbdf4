"""Measured runs of docs/scaling.md: `python -m benchmarks.scaling [NAME ...] [--write]`.

Each run prints what it found; with `--write` the page shows it. The runs that need a cluster start
one of two processes on this machine.
"""

import argparse
import re
import tempfile
import tracemalloc
from contextlib import contextmanager
from copy import deepcopy
from functools import reduce
from pathlib import Path
from time import perf_counter

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.decomposition import SlowFeatureAnalysis
from skmoderndata.neural_network import RBFNetworkRegressor
from skmoderndata.svm import CoreVectorMachine

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scaling.md"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    parser.add_argument("--write", action="store_true", help="put the results into the page")
    options = parser.parse_args(arguments)
    for name in options.names or RUNS:
        lines = [f"$ python -m benchmarks.scaling {name}", *show(RUNS[name]())]
        print("\n".join(lines), end="\n\n", flush=True)
        if options.write:
            write(lines)


def show(results):
    """Lines with one name and one value each."""
    width = max(map(len, results)) + 2
    number = {
        name: f"{v:,}" if isinstance(v, int) else f"{v:.3g}" for name, v in results.items()
    }
    return [f"{name:<{width}}{value:>9}" for name, value in number.items()]


def write(lines):
    """Replace the part of the page that begins with the command."""
    page = PAGE.read_text(encoding="utf-8")
    block = rf"```text\n{re.escape(lines[0])}\n.*?```"
    if not re.search(block, page, re.DOTALL):
        raise ValueError(f"{PAGE.name} has no block for: {lines[0]}")
    text = "\n".join(["```text", *lines, "```"])
    PAGE.write_text(re.sub(block, lambda _: text, page, flags=re.DOTALL), encoding="utf-8")


# ---- data and tools ----------------------------------------------------------------------------


def series(n, p=20, seed=0):
    """Mixed signals; the slowest has two periods."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    S = np.sin(2 * np.pi * t / n * 2.0 ** np.arange(1, p + 1) + np.arange(p))
    S += 0.1 * rng.normal(size=(n, p))
    return S @ np.linalg.qr(rng.normal(size=(p, p)))[0]


def classes(n, p=4, seed=0):
    """Rows inside of a sphere, and outside."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    return X, np.linalg.norm(X, axis=1) > np.sqrt(p)


@contextmanager
def on_disk(X):
    """A memory map of X in a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        yield np.load(path, mmap_mode="r")


@contextmanager
def cluster():
    """Two processes on this machine; the address of a real cluster goes to `Client`."""
    from dask.distributed import Client, LocalCluster

    processes = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with processes, Client(processes) as client:
        yield client


class Watch:
    """Seconds, and peak MiB allocated, of a block of code."""

    def __enter__(self):
        tracemalloc.start()
        self._start = perf_counter()
        return self

    def __exit__(self, *error):
        self.seconds = perf_counter() - self._start
        self.mib = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()


def difference(a, b):
    """Largest relative difference."""
    return float(np.max(np.abs(a - b) / np.abs(b)))


# ---- the blocks of the page --------------------------------------------------------------------


def stream(X, chunk):
    """Slow features of a series that is read chunk by chunk."""
    model = SlowFeatureAnalysis(n_components=3, degree=2)
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    return model


def core_set(X, y):
    """Kernel classifier of a memory map: rows are read and scored in chunks."""
    return CoreVectorMachine(C=1e5, random_state=0).fit(X, y)


def search(X, y):
    """Nine fits, each a task for the active joblib back end; `n_jobs=None` inside."""
    model = make_pipeline(StandardScaler(), CoreVectorMachine(random_state=0))
    grid = {"corevectormachine__C": [1, 10, 100]}
    return GridSearchCV(model, grid, cv=3, n_jobs=2).fit(X, y)


def tree_merge(parts, merge):
    """Join neighbours, pair by pair, until one is left."""
    while len(parts) > 1:
        pairs = [merge(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) // 2 * 2 :]
    return parts[0]


def slow_features_of_blocks(blocks):
    """A Dask task for the state of each chunk, and one for each pair of neighbours."""
    from dask import delayed

    @delayed
    def fit(X):
        return SlowFeatureAnalysis(n_components=3, degree=2).fit(X)

    @delayed
    def merge(a, b):
        # merge a copy, because a task must not change its arguments
        return deepcopy(a).merge(b)

    return tree_merge([fit(block) for block in blocks], merge)


def ridge_of_blocks(pairs, centers):
    """Kernel features at fixed centres and ridge regression: sums that add in any order."""
    from dask import compute, delayed

    @delayed
    def fit(X, y):
        return RBFNetworkRegressor(centers=centers, alpha=1.0, random_state=0).fit(X, y)

    states = compute(*[fit(X, y) for X, y in pairs])
    return reduce(RBFNetworkRegressor.merge, states)


# ---- the runs ----------------------------------------------------------------------------------


def run_stream(n=400_000, chunk=50_000):
    with on_disk(series(n).astype(np.float32)) as X:
        with Watch() as watch:
            model = stream(X, chunk)
            delta = model.delta_values_
        reference = SlowFeatureAnalysis(n_components=3, degree=2).fit(np.array(X))
        return {
            "rows": n,
            "MiB on disk": X.nbytes / 2**20,
            "MiB allocated at most": watch.mib,
            "seconds": watch.seconds,
            "delta of the slowest output": delta[0],
            "relative difference from fit on all rows": difference(
                delta, reference.delta_values_
            ),
        }


def run_core_set(n=200_000):
    X, y = classes(n)
    new, truth = classes(10_000, seed=1)
    core_set(X[:1000], y[:1000])  # compile the loops
    with on_disk(X) as mapped, Watch() as watch:
        model = core_set(mapped, y)
    return {
        "rows": n,
        "MiB on disk": X.nbytes / 2**20,
        "MiB allocated at most": watch.mib,
        "seconds": watch.seconds,
        "samples kept": len(model.support_),
        "accuracy on new rows": model.score(new, truth),
    }


def run_search(rows=600):
    X, y = load_digits(return_X_y=True)
    X = X[:rows]
    y = y[:rows]
    with joblib.parallel_config("loky"):
        local = search(X, y)
    with cluster(), joblib.parallel_config("dask"):
        begin = perf_counter()
        found = search(X, y)
        seconds = perf_counter() - begin
    scores = [
        np.array([one.cv_results_[f"split{i}_test_score"] for i in range(3)])
        for one in (local, found)
    ]
    return {
        "tasks": scores[0].size,
        "seconds on Dask": seconds,
        "best score": found.best_score_,
        "largest difference of a score from loky": float(np.abs(scores[0] - scores[1]).max()),
    }


def run_merge(n=60_000, n_blocks=8):
    import dask.array as da

    X = series(n)
    reference = SlowFeatureAnalysis(n_components=3, degree=2).fit(X)
    y = np.sin(X[:, 0])
    centers = X[:: n // 50]
    ridge = RBFNetworkRegressor(centers=centers, alpha=1.0, random_state=0).fit(X, y)
    with cluster():
        begin = perf_counter()
        rows = da.from_array(X, chunks=(n // n_blocks, X.shape[1]))
        targets = da.from_array(y, chunks=n // n_blocks)
        blocks = rows.to_delayed().ravel()
        merged = slow_features_of_blocks(blocks).compute()
        added = ridge_of_blocks(zip(blocks, targets.to_delayed(), strict=True), centers)
        seconds = perf_counter() - begin
    return {
        "rows": merged.n_samples_seen_,
        "steps": merged.n_steps_,
        "blocks": n_blocks,
        "seconds, both": seconds,
        "slow features, difference from fit": difference(
            merged.delta_values_, reference.delta_values_
        ),
        "kernel ridge, difference from fit": float(
            np.abs(added.predict(X[:1000]) - ridge.predict(X[:1000])).max()
        ),
    }


RUNS = {
    "stream": run_stream,
    "core_set": run_core_set,
    "search": run_search,
    "merge": run_merge,
}

if __name__ == "__main__":
    main()
