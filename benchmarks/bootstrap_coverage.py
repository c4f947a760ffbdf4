"""Coverage of the quantiles of `bootstrap_components`: `python -m benchmarks.bootstrap_coverage`.

For each case, components are planted in many tables, and the program counts how many of their
entries lie in the intervals of 95 %. The table is on the page docs/how_sure.md. All cases take two
minutes on one core for 20 sets, and ten minutes for 100 sets (`--sets 100`).
"""

import argparse
import sys
import warnings
from functools import partial

import numpy as np
from sklearn.decomposition import PCA

from skmoderndata._estimator.refits import match, unit_rows
from skmoderndata.decomposition import (
    KSVD,
    FeatureSignDictionaryLearning,
    RobustPCA,
    SemiNMF,
    SlowFeatureAnalysis,
    SparseNMF,
)
from skmoderndata.inspection import bootstrap_components


def main(arguments=None):
    """Measure the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--sets", type=int, default=20, help="number of planted tables")
    parser.add_argument("--first", type=int, default=0, help="seed of the first table")
    parser.add_argument("--draws", type=int, default=60, help="refits of each table")
    options = parser.parse_args(arguments)

    print("| case | sets | coverage | stability |\n| --- | --- | --- | --- |")
    for name in options.cases or CASES:
        measured = [
            coverage(name, seed, options.draws)
            for seed in range(options.first, options.first + options.sets)
        ]
        held, stability = np.array(measured).T
        error = held.std(ddof=1) / np.sqrt(len(held))
        print(
            f"| {name} | {len(held)} | {held.mean():.3f} ± {error:.3f} | {stability.mean():.3f} |"
        )
    return 0


def coverage(name, seed, draws):
    """Return the fraction of the planted entries in their intervals, and the mean stability."""
    plant, estimator, settings = CASES[name]
    X, truth = plant(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = bootstrap_components(
            estimator, X, n_bootstraps=draws, random_state=seed, **settings
        )

    # match the planted components with the components of the fit
    truth = unit_rows(truth)
    index, signs = match(truth @ result.components.T)
    true = truth * signs[:, None]
    inside = (result.low[index] <= true) & (true <= result.high[index])
    return inside[true != 0].mean(), result.stability.mean()


# ---- planted tables ---------------------------------------------------------------------------


def orthonormal(rng, k, p):
    return np.linalg.qr(rng.normal(size=(p, k)))[0].T


def principal(rng, n=200, p=20):
    """Three components with standard deviations 6, 4 and 2.5, and noise of 1 in all cells."""
    components = orthonormal(rng, 3, p)
    X = rng.normal(size=(n, 3)) * (6, 4, 2.5) @ components
    return X + rng.normal(size=(n, p)), components


def broken(rng, n=200, p=20):
    """The same, with 3 % of the cells off by 10 to 30 standard deviations of the noise."""
    X, components = principal(rng, n, p)
    cells = rng.uniform(size=X.shape) < 0.03
    X[cells] += rng.choice([-1, 1], cells.sum()) * rng.uniform(10, 30, cells.sum())
    return X, components


def parts(rng, n=300, p=15):
    """Three non-negative components with zeros, codes with zeros; multiplicative noise of 10 %.

    Each component has columns of its own, and many rows have a single one, which determines both
    factors.
    """
    components = rng.uniform(0.5, 1.5, size=(3, p)) * (rng.uniform(size=(3, p)) < 0.4)
    components[np.arange(9) // 3, np.arange(9)] = rng.uniform(0.5, 1.5, size=9)
    components[:, :9] *= np.kron(np.eye(3), np.ones(3)) > 0
    codes = rng.gamma(2, size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.6)
    clean = codes @ components
    return clean * rng.uniform(0.8, 1.2, size=clean.shape), components


def mixed(rng, n=300, p=15):
    """Three components of any sign and non-negative codes with zeros; noise of .3 in all cells."""
    components = rng.normal(size=(3, p))
    codes = rng.gamma(2, size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.6)
    return codes @ components + 0.3 * rng.normal(size=(n, p)), components


def atoms(rng, n=300, p=15):
    """Four atoms, two of them in each signal; noise of .1 in all cells."""
    components = unit_rows(rng.normal(size=(4, p)))
    codes = rng.normal(size=(n, 4))
    order = rng.uniform(size=codes.shape).argsort(axis=1)
    return np.where(order < 2, codes, 0) @ components + 0.1 * rng.normal(
        size=(n, p)
    ), components


def series(rng, n=1000, p=5):
    """Linear mixtures of autoregressive series; truth: the weights that invert the mixture."""
    rho = np.array([0.95, 0.8, 0.5, 0.2, 0.0])
    sources = np.zeros((n + 200, p))
    for t in range(1, n + 200):
        sources[t] = rho * sources[t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=p)
    mixing = orthonormal(rng, p, p) * rng.uniform(0.5, 2, size=(p, 1))
    return sources[200:] @ mixing, np.linalg.inv(mixing).T[:2]


SPARSE_COMPONENTS = SparseNMF(3, side="components", alpha=0.1)
# Planted table, estimator and settings of the bootstrap for each name.
CASES = {
    "PCA": (principal, PCA(3), {}),
    "RobustPCA": (broken, RobustPCA(n_components=3), {}),
    "SparseNMF(penalty=None)": (parts, SparseNMF(3, penalty=None), {}),
    "SparseNMF(penalty=None), large": (
        partial(parts, n=1000, p=50),
        SparseNMF(3, penalty=None),
        {},
    ),
    "SparseNMF()": (parts, SparseNMF(3), {}),
    "SparseNMF(), refit_support": (parts, SparseNMF(3), {"refit_support": True}),
    "SparseNMF, components": (parts, SPARSE_COMPONENTS, {}),
    "SparseNMF, components, refit_support": (
        parts,
        SPARSE_COMPONENTS,
        {"refit_support": True},
    ),
    "SemiNMF": (mixed, SemiNMF(3), {}),
    "KSVD": (atoms, KSVD(4, n_nonzero_coefs=2, random_state=0), {}),
    "FeatureSign": (atoms, FeatureSignDictionaryLearning(4, random_state=0), {}),
    "FeatureSign, refit_support": (
        atoms,
        FeatureSignDictionaryLearning(4, random_state=0),
        {"refit_support": True},
    ),
    "SlowFeatureAnalysis": (series, SlowFeatureAnalysis(2), {}),
}


if __name__ == "__main__":
    sys.exit(main())
