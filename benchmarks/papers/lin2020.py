"""Rank of a non-negative factorisation by imputation of hidden entries, Lin and Boutros 2020."""

import os
from pathlib import Path

import numpy as np

from benchmarks.papers import PRINTED, Entry, value

# Name of the environment variable with the folder of the source of the R package.
SOURCE = "NNLM_SOURCE"
# Number of lines in each figure of the paper.
RUNS = 4


def simulated(seed):
    """Three uniform parts in 400 x 50 entries with noise of variance 1, cut at zero."""
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(400, 3))
    H = 10 * rng.uniform(size=(3, 50))
    return np.maximum(W @ H + rng.normal(size=(400, 50)), 0)


def expression():
    """200 genes of 100 patients with lung cancer; None if the package is not available."""
    folder = os.environ.get(SOURCE)
    if folder is None:
        return None
    import rdata

    return np.asarray(rdata.read_rda(Path(folder) / "data" / "nsclc.rda")["nsclc"])


def ranks(X, largest):
    """Number of parts chosen in each of several random partitions of the entries."""
    from skmoderndata.decomposition import SparseNMF
    from skmoderndata.model_selection import EntrySearchCV

    grid = {"n_components": range(1, largest + 1)}
    searches = [
        EntrySearchCV(SparseNMF(random_state=0), grid, random_state=run).fit(X)
        for run in range(RUNS)
    ]
    return [search.best_params_["n_components"] for search in searches]


def values(quick):
    tables = [("400 x 50, three parts and noise", simulated(0), 6, 3)]
    X = None if quick else expression()
    if X is not None:
        tables.append(("nsclc, 200 genes of 100 patients", X, 10, 2))

    found = []
    for setting, table, largest, printed in tables:
        numbers = ranks(table, largest)
        found.append(
            value(
                setting,
                f"rank chosen, {RUNS} runs of 1 to {largest}",
                str(printed),
                PRINTED,
                ", ".join(map(str, numbers)),
                holds=numbers == [printed] * RUNS,
            )
        )
    return found


ENTRY = Entry(
    title="Rank of a non-negative factorisation by hidden entries",
    cites="Lin and Boutros: Optimization and expansion of non-negative matrix factorization. BMC "
    "Bioinformatics 21, 2020.",
    source=(
        "the vignette of the authors' R package NNLM. Its section on the rank names the "
        "rank of minimum error for both tables, and plots the errors of four runs."
    ),
    values=values,
    remarks=(
        "NNLM hides 30 % of the simulated entries. In nsclc, 30 % of the entries are removed "
        "first, and then 2,000 are hidden. `EntrySearchCV` hides a fifth of the entries, five "
        "times in each run, and chooses the smallest rank whose error is within one standard "
        'error of the minimum. The rank of minimum mean error (`rule="best"`) is 3 in each of '
        "the four runs on the simulated table, and 2, 9, 2 and 3 in the runs on nsclc. We "
        "draw the simulated table with a different random generator. The paper plots the "
        "errors but does not print them. The benchmark reads nsclc from the source of NNLM, "
        f"which is not shipped here: set `{SOURCE}` to the folder of that source, and install "
        "`rdata`."
    ),
)
