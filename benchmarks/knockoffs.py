"""False and found features of `KnockoffSelector`: `python -m benchmarks.knockoffs --runs 20`.

For each case, tables without signal and tables with relevant features are drawn, and the program
counts what the selector finds at a nominal rate of .1. If hidimstat is installed, its selection
with one draw of knockoffs and the same estimator is beside it. The table is on the page
docs/how_sure.md. The cases of one estimator take between half an hour (LassoCV) and several hours
(SupportFeatureMachine) on one core for 1,000 tables without and 500 with signal.
"""

import argparse
import sys
import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegressionCV

from skmoderndata.feature_selection import KnockoffSelector
from skmoderndata.svm import SupportFeatureMachine

FDR = 0.1
# Numbers of rows, columns and relevant columns, and coefficient of a relevant column in units of
# the noise.
SHAPES = {
    "300 x 100": (300, 100, 20, 0.3),
    "1,000 x 200": (1000, 200, 30, 0.2),
    "200 x 500": (200, 500, 20, 0.6),
}
CORRELATIONS = (0.0, 0.5)
ESTIMATORS = {
    "LassoCV": (LassoCV(), False),
    "LogisticRegressionCV": (
        LogisticRegressionCV(l1_ratios=(1,), solver="liblinear", Cs=5, cv=3),
        True,
    ),
    "SupportFeatureMachine": (SupportFeatureMachine(), True),
}


def main(arguments=None):
    """Measure the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "estimators", nargs="*", help=f"of {', '.join(ESTIMATORS)}; all by default"
    )
    parser.add_argument("--runs", type=int, default=20, help="number of tables with signal")
    parser.add_argument("--null-runs", type=int, help="tables without signal; twice as many")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--hidimstat", action="store_true", help="run hidimstat, too")
    options = parser.parse_args(arguments)
    null_runs = 2 * options.runs if options.null_runs is None else options.null_runs

    print("| estimator | table | rho | wrong without signal | false | found |", end="")
    print(" hidimstat: false | found |" if options.hidimstat else "")
    print("| --- " * (8 if options.hidimstat else 6) + "|")
    for name, shape, rho in product(
        options.estimators or ESTIMATORS, options.shapes, CORRELATIONS
    ):
        estimator, classes = ESTIMATORS[name]
        rules = [ours, theirs] if options.hidimstat else [ours]
        null = [
            [
                rule(estimator, *draw(seed, shape, rho, 0, classes)[:2], seed).any()
                for rule in rules
            ]
            for seed in range(null_runs)
        ]
        cells = [name, shape, f"{rho:g}", with_error([row[0] for row in null])]
        rates = []
        for seed in range(options.runs):
            X, y, relevant = draw(seed, shape, rho, None, classes)
            rates.append([rate(rule(estimator, X, y, seed), relevant) for rule in rules])
        for false, found in np.array(rates).transpose(1, 2, 0):
            cells += [with_error(false), f"{found.mean():.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    return 0


def draw(seed, shape, rho, n_relevant, classes):
    """Draw Gaussian columns with correlation ``rho ** |i - j|``, a target, and its columns."""
    n, p, default, size = SHAPES[shape]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    relevant = rng.permutation(p)[: default if n_relevant is None else n_relevant]
    signs = rng.choice([-1.0, 1.0], size=len(relevant))
    y = X[:, relevant] @ (size * signs) + rng.standard_normal(n)
    return X, (y > 0) if classes else y, relevant


def ours(estimator, X, y, seed):
    """Return the selection of KnockoffSelector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KnockoffSelector(estimator, fdr=FDR, random_state=seed).fit(X, y).get_support()


def theirs(estimator, X, y, seed):
    """Return the selection of hidimstat."""
    from hidimstat import ModelXKnockoff

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ModelXKnockoff(estimator, random_state=seed, preconfigure_lasso_path=False)
        importance = model.fit(X, y).importance()[0]
        return importance >= model.knockoff_threshold(importance, fdr=FDR)


def rate(selected, relevant):
    """Return the fractions of false features among the selected, and of relevant ones found."""
    true = selected[relevant].sum()
    return 1 - true / max(selected.sum(), 1) if selected.any() else 0.0, true / len(relevant)


def with_error(values):
    """Return mean and standard error."""
    values = np.asarray(values, float)
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


if __name__ == "__main__":
    sys.exit(main())
