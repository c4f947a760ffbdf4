"""Planted ranks over noise and sizes: `python -m benchmarks.entry_search_levels [--write-docs]`.

Tables of four non-negative parts; how often each method finds the four. `--write-docs` writes a
section of docs/benchmarks/entry_search.md. It takes about a minute on one core.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

from benchmarks.sections import Page, Section, measure, parser_of
from skmoderndata.decomposition import SparseNMF
from skmoderndata.metrics import optimal_rank
from skmoderndata.model_selection import EntrySearchCV

PAGE = Page(
    Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "entry_search.md",
    "python -m benchmarks.entry_search_levels",
    {"levels": "Noise and sizes, compared with other methods"},
)
SHAPES = ((50, 20), (200, 40), (500, 60))
# Standard deviations of the noise; the standard deviation of a part is about 1.7 in each cell.
NOISES = (0.3, 1.0, 2.0)
PLANTED = 4
MOST = 8
SEEDS = 5


def main(arguments=None):
    """Run, and print or write the section."""
    options = parser_of(PAGE, __doc__.splitlines()[0], PARTS).parse_args(arguments)
    measure(PAGE, PARTS, options.parts, SEEDS, write_docs=options.write_docs)
    return 0


def parts(shape, noise, seed):
    """Non-negative sums of gamma-distributed parts, with noise cut at zero."""
    n, p = shape
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(n, PLANTED)) @ rng.gamma(1, size=(PLANTED, p))
    return np.maximum(X + noise * rng.normal(size=shape), 0)


def by_entries(X, seed):
    """Hide entries."""
    model = SparseNMF(random_state=0)
    grid = {"n_components": range(1, MOST + 1)}
    return EntrySearchCV(model, grid, random_state=seed).fit(X).best_params_["n_components"]


def by_blocks(X, seed):
    """Hold out blocks of rows and columns, and predict them [Owen and Perry 2009]."""
    rng = np.random.RandomState(seed)
    errors = np.zeros(MOST)
    columns = KFold(2, shuffle=True, random_state=rng)
    for rows, held_rows in KFold(2, shuffle=True, random_state=rng).split(X):
        for others, held in columns.split(X.T):
            U, s, Vt = np.linalg.svd(X[np.ix_(rows, others)], full_matrices=False)
            left = X[np.ix_(held_rows, others)] @ Vt.T / s
            right = U.T @ X[np.ix_(rows, held)]
            for k in range(1, MOST + 1):
                expected = left[:, :k] @ right[:k]
                errors[k - 1] += ((X[np.ix_(held_rows, held)] - expected) ** 2).sum()
    return 1 + int(errors.argmin())


def by_threshold(X, seed):
    """Count singular values above the noise [Gavish and Donoho 2014]."""
    return optimal_rank(np.linalg.svd(X, compute_uv=False), X.shape)


def by_mle(X, seed):
    """Principal components of the largest evidence [Minka 2000]."""
    return PCA("mle").fit(X).n_components_


WAYS = {
    "EntrySearchCV": by_entries,
    "bi-cross-validation": by_blocks,
    "optimal_rank": by_threshold,
    'PCA("mle")': by_mle,
}


def levels(seeds):
    """Number of tables in which each method finds the number, and the mean of its choices."""
    rows = []
    for shape in SHAPES:
        for noise in NOISES:
            numbers = [
                [way(parts(shape, noise, seed), seed) for seed in range(seeds)]
                for way in WAYS.values()
            ]
            cells = [f"{k.count(PLANTED)} ({np.mean(k):.1f})" for k in numbers]
            rows.append((f"{shape[0]} x {shape[1]}", noise, *cells))

    text = (
        "The tables have four non-negative parts, as in the first row above. `EntrySearchCV`\n"
        f"predicts hidden entries with `SparseNMF`. The cells show how many of {seeds} tables "
        "give\nfour, and the mean number found. The method `bi-cross-validation` of the singular "
        "value\ndecomposition [Owen and Perry 2009], implemented here in ten lines, holds out "
        "half of\nthe rows and half of the columns at a time."
    )
    return Section(text, ("table", "noise", *WAYS), rows, [])


PARTS = {"levels": levels}


if __name__ == "__main__":
    sys.exit(main())
