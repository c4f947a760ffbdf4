"""Planted numbers found by hidden entries: `python -m benchmarks.entry_search [CASE ...]`.

Prints the number that `EntrySearchCV` chooses for each seed, and if the estimator has a score, the
number that `GridSearchCV` over rows chooses; with `--write-docs` it writes
docs/benchmarks/entry_search.md. Twenty seeds of all cases take about a quarter of an hour on one
core.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.sections import table
from skmoderndata.cluster import DiscreteBasis, MultiAssignmentClustering
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.decomposition import RobustPCA, SemiNMF, SparseNMF
from skmoderndata.model_selection import EntrySearchCV

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "entry_search.md"
COMMAND = "python -m benchmarks.entry_search"
SHAPE = (200, 40)
# Maximum number of seconds for one choice.
MOST_SECONDS = 10.0


class Case(NamedTuple):
    """A model, its data by seed, the grid, and the target number of successes in twenty seeds."""

    estimator: Any
    table: Any
    grid: dict
    planted: int
    least: int
    told: str
    by_rows: bool = True  # whether a comparison with GridSearchCV is possible


def parts(seed, noise=0.3):
    """Non-negative sums of four gamma-distributed parts, with noise cut at zero."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(SHAPE[0], 4)) @ rng.gamma(1, size=(4, SHAPE[1]))
    return np.maximum(X + noise * rng.normal(size=SHAPE), 0)


def mixtures(seed, noise=0.5):
    """Non-negative sums of four components of both signs, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(SHAPE[0], 4)) @ rng.normal(size=(4, SHAPE[1]))
    return X + noise * rng.normal(size=SHAPE)


def broken(seed, noise=0.5, share=0.05):
    """A table of rank four with noise, and some cells ten units off."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SHAPE[0], 4)) @ rng.normal(size=(4, SHAPE[1]))
    X += noise * rng.normal(size=SHAPE)
    wrong = rng.random(SHAPE) < share
    X[wrong] += 10 * rng.choice([-1, 1], size=wrong.sum())
    return X


def sources(seed, noise=0.1):
    """Rows that are the union of some of five sources, a tenth of the bits replaced."""
    return make_boolean_sources(*SHAPE, 5, noise=noise, random_state=seed)[0].astype(float)


TEXT = """# How many components?

How often does `EntrySearchCV` find the planted number of components? There are twenty
tables of each kind. Each search compares 1 to 8 components (2 to 8 sources) in five
folds, with otherwise default parameters, on one core. The target also limits the
median time of a choice to 10 s. `GridSearchCV` holds out rows and chooses the best
`score`.

"""
ONE_TO_EIGHT = list(range(1, 9))
CASES = {
    "SparseNMF": Case(
        SparseNMF(random_state=0),
        parts,
        {"n_components": ONE_TO_EIGHT},
        4,
        20,
        "four non-negative parts, noise .3",
    ),
    "SemiNMF": Case(
        SemiNMF(random_state=0),
        mixtures,
        {"n_components": ONE_TO_EIGHT},
        4,
        20,
        "four components of both signs, noise .5",
    ),
    "RobustPCA": Case(
        RobustPCA(),
        broken,
        {"n_components": ONE_TO_EIGHT},
        4,
        18,
        "rank four, noise .5, 5 % of the cells off by 10",
    ),
    "MultiAssignmentClustering": Case(
        MultiAssignmentClustering(random_state=0),
        sources,
        {"n_clusters": list(range(2, 9))},
        5,
        18,
        "five Boolean sources, 10 % of the bits replaced",
        by_rows=False,
    ),
    "DiscreteBasis": Case(
        DiscreteBasis(),
        sources,
        {"n_clusters": list(range(2, 9))},
        5,
        18,
        "five Boolean sources, 10 % of the bits replaced",
        by_rows=False,
    ),
    "SimpleImputer, PCA": Case(
        make_pipeline(SimpleImputer(), PCA()),
        mixtures,
        {"pca__n_components": ONE_TO_EIGHT},
        4,
        0,
        "same as for SemiNMF",
    ),
}


def main(arguments=None):
    """Run the cases; the exit status is 0 if all targets are reached."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--write-docs", action="store_true", help="write the page")
    options = parser.parse_args(arguments)
    if options.write_docs and (options.cases or options.seeds != 20):
        parser.error("--write-docs needs all cases and twenty seeds")

    rows = []
    missed = 0
    for name in options.cases or CASES:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            row, reached = measure(name, CASES[name], options.seeds)
        print(" | ".join(row), flush=True)
        rows.append(row)
        missed += not reached

    if options.write_docs:
        # keep the sections of other commands
        _, heading, sections = PAGE.read_text(encoding="utf-8").partition("\n## ")
        PAGE.write_text(as_page(rows) + heading + sections, encoding="utf-8")
    return int(missed > 0)


def measure(name, case, n_seeds):
    """One row of the page, and whether the target is reached."""
    numbers = []
    by_rows = []
    seconds = []
    for seed in range(n_seeds):
        X = case.table(seed)
        start = time.process_time()
        search = EntrySearchCV(case.estimator, case.grid, random_state=seed).fit(X)
        seconds.append(time.process_time() - start)
        numbers.append(next(iter(search.best_params_.values())))
        if case.by_rows:
            rows = GridSearchCV(case.estimator, case.grid).fit(X)
            by_rows.append(next(iter(rows.best_params_.values())))

    right = numbers.count(case.planted)
    reached = right >= case.least * n_seeds / 20 and np.median(seconds) <= MOST_SECONDS
    wrong = sorted(set(numbers) - {case.planted})
    target = f"{case.least} of 20: {'yes' if reached else '**no**'}"
    row = (
        name,
        case.told,
        f"{right} of {n_seeds}",
        ", ".join(f"{k} ({numbers.count(k)})" for k in wrong) or "-",
        f"{by_rows.count(case.planted)} of {n_seeds}" if by_rows else "-",
        f"{np.median(seconds):.1f}",
        target if case.least else "-",
    )
    return row, reached


def as_page(rows):
    """The page with its table."""
    head = (
        "estimator",
        "planted in 200 x 40",
        "found",
        "otherwise",
        "found by GridSearchCV",
        "seconds per choice",
        "target",
    )
    return TEXT + "\n".join(
        [*table(head, rows), "", "```bash", f"{COMMAND} --write-docs", "```", ""]
    )


if __name__ == "__main__":
    sys.exit(main())
