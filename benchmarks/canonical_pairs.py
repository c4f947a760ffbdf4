"""Figures of inference for two views: `python -m benchmarks.canonical_pairs [PART ...] [--full]`.

Each part prints what it found; with `--full --write-docs` it replaces its section of
docs/benchmarks/canonical_pairs.md. All parts take a minute or two on one core; with `--full` they
take about half an hour, each part less than ten minutes.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.sections import Page, Section, measure, parser_of
from skmoderndata.cross_decomposition import (
    CanonicalLoadingsDisplay,
    KernelCCA,
    RegularizedCCA,
)
from skmoderndata.model_selection import canonical_permutation_test
from skmoderndata.model_selection._canonical_permutation_test import (
    TIE,
    _kernel_coordinates,
    _linear_coordinates,
)

PAGE = Page(
    Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "canonical_pairs.md",
    "python -m benchmarks.canonical_pairs",
    {
        "false": "False pairs",
        "false_kernels": "False pairs of kernels",
        "power": "Planted pairs",
        "strict": "Refits at stricter levels",
        "kernels": "Curved relations",
        "loadings": "Intervals of loadings",
    },
    digits=".3f",
    full="--full",
)
# Number of rows, of columns of the first view, and of columns of the second view.
SHAPE = (100, 8, 6)
N_PERMUTATIONS = 199
LEVEL = 0.05
# Maximum fraction of runs in which a pair is found although there is no relation.
MOST_FALSE = 0.06
# Minimum difference between the power of the test and the power of refits compared by rank.
LEAST_POWER = -0.02
COLUMNS = ("normal", "Student, 3 degrees")
# Columns, number of pairs and correlation. Large correlations are easy to find; small ones are
# not.
PLANTED = (
    ("normal", 1, 0.7),
    ("normal", 1, 0.5),
    ("normal", 2, 0.7),
    ("normal", 2, 0.5),
    (COLUMNS[1], 1, 0.7),
    (COLUMNS[1], 2, 0.7),
)
# Number of permutations for refits at stricter levels, so that p-values go down to .0005.
STRICT_PERMUTATIONS = 1999
# Minimum coverage of intervals of 95 %.
LEAST_COVERAGE = 0.9


def main(arguments=None):
    """Run the parts; the exit status is 0 if all targets are reached, or runs are few."""
    parser = parser_of(PAGE, __doc__.splitlines()[0], PARTS)
    parser.add_argument("--full", action="store_true", help="1,000 runs in place of 60")
    options = parser.parse_args(arguments)
    if options.write_docs and not options.full:
        parser.error("--write-docs needs all runs: add --full")

    runs = 1000 if options.full else 60
    missed = measure(PAGE, PARTS, options.parts, runs, write_docs=options.write_docs)
    return int(options.full and missed > 0)


# ---- data -------------------------------------------------------------------------------------


def linear_views(seed, n_pairs, rho, columns="normal"):
    """Mixed columns; `n_pairs` columns of each view correlate by `rho` with one of the other."""
    n, p, q = SHAPE
    rng = np.random.default_rng(seed)
    heavy = columns != "normal"
    X, Y = (
        rng.standard_t(3, size=shape) if heavy else rng.normal(size=shape)
        for shape in ((n, p), (n, q))
    )
    Y[:, :n_pairs] = rho * X[:, :n_pairs] + np.sqrt(1 - rho**2) * Y[:, :n_pairs]
    return X @ rng.normal(size=(p, p)), Y @ rng.normal(size=(q, q))


def curved_views(seed, strength):
    """Three columns in each view; one column of Y follows the absolute value of a column of X."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, SHAPE[0], 3))
    Y[:, 0] += strength * np.abs(X[:, 0])
    return X, Y


def pairs_found(estimator, views, runs):
    """Number of pairs found in each run."""
    return np.array(
        [
            canonical_permutation_test(
                estimator,
                *views(run),
                n_permutations=N_PERMUTATIONS,
                level=LEVEL,
                random_state=run,
            ).n_pairs
            for run in range(runs)
        ]
    )


def p_values_by_rank(estimator, X, Y, seed, n_permutations=N_PERMUTATIONS):
    """P-values of refits, whose j-th correlation is compared with the j-th one of the data.

    This is the method of cca-zoo's `permutation_test_significance`: no pair is removed. A pair
    counts if all pairs before it count. The correlations of a refit are singular values of the
    permuted whitened views, which saves the fits.
    """
    pair = whitened_views(estimator, X, Y)
    rng = np.random.RandomState(seed)
    data = np.arange(len(X))
    orders = [data, *(rng.permutation(len(X)) for _ in range(n_permutations))]
    values = np.array(
        [np.linalg.svd(pair.A[order].T @ pair.B, compute_uv=False) for order in orders]
    )
    p = (values >= values[0] - TIE).mean(axis=0)
    return np.maximum.accumulate(p[: estimator.n_components])


def whitened_views(estimator, X, Y):
    """Coordinates in which the variances are those used by the analysis."""
    if isinstance(estimator, KernelCCA):
        return _kernel_coordinates(estimator, X, Y)
    return _linear_coordinates(estimator, X, Y)[0]


def pairs_by_rank(estimator, views, runs):
    """Number of pairs that refits find in each run."""
    p_values = [p_values_by_rank(estimator, *views(run), run) for run in range(runs)]
    return (np.array(p_values) <= LEVEL).sum(axis=1)


# ---- parts ------------------------------------------------------------------------------------


def false_pairs(runs):
    """Runs without relation in which a pair is found."""
    rows = []
    figures = []
    for columns in COLUMNS:
        for alpha in (0.0, 0.1, "auto"):
            cca = RegularizedCCA(3, alpha=alpha)
            found = pairs_found(cca, lambda run, c=columns: linear_views(run, 0, 0.0, c), runs)
            share = float((found > 0).mean())
            rows.append((columns, f"RegularizedCCA(alpha={alpha!r})", runs, share))
            figures.append(_few_false(f"{columns}, alpha={alpha!r}", share))

    text = (
        f"Each view has {SHAPE[0]} rows; the views have {SHAPE[1]} and {SHAPE[2]} independent "
        "columns, which are mixed at\nrandom. The test uses "
        f"{N_PERMUTATIONS} permutations and the level {LEVEL:g}. The table shows the fraction "
        "of the\nruns in which at least one pair is found; its standard error is .007 for 1,000 "
        "runs."
    )
    return Section(
        text, ("columns", "analysis", "runs", "runs with false pairs"), rows, figures
    )


def false_pairs_of_kernels(runs):
    """Runs without relation in which kernels find a pair, evaluated on held-out samples."""
    found = pairs_found(KernelCCA(2), lambda run: curved_views(run, 0.0), runs)
    share = float((found > 0).mean())
    text = (
        "The table shows the fraction of runs with false pairs for Gaussian kernels and two "
        f"views\nof {SHAPE[0]} rows and 3 normal columns each."
    )
    return Section(
        text,
        ("analysis", "runs", "runs with false pairs"),
        [("KernelCCA()", runs, share)],
        [_few_false("KernelCCA", share)],
    )


def _few_false(text, share):
    return f"{text}: at most {MOST_FALSE:.0%}", f"{share:.1%}", share <= MOST_FALSE


def power(runs):
    """Runs in which the planted pairs are found, compared with refits by rank."""
    runs = max(runs // 5, 20)
    rows = []
    worst_first = worst = np.inf
    most_false = 0.0
    for columns, n_pairs, rho in PLANTED:

        def views(run, n_pairs=n_pairs, rho=rho, columns=columns):
            return linear_views(run, n_pairs, rho, columns)

        steps = pairs_found(RegularizedCCA(6, alpha=0), views, runs)
        ranks = pairs_by_rank(RegularizedCCA(6, alpha=0), views, runs)
        auto = pairs_found(RegularizedCCA(6), views, runs)

        # count the runs that find all planted pairs, and the runs that find additional pairs
        shares = []
        for found in (steps, ranks, auto):
            shares += [float((found >= n_pairs).mean()), float((found > n_pairs).mean())]
        rows.append((columns, n_pairs, rho, *shares))

        first = float((steps > 0).mean() - (ranks > 0).mean())
        worst_first = min(worst_first, first)
        worst = min(worst, shares[0] - shares[2])
        most_false = max(most_false, shares[1])

    text = (
        "The views are as above, but have one or two pairs of correlation rho. `found` is the "
        f"fraction of the\n{runs} runs in which all planted pairs are found, and `more` is "
        f"the fraction in which more pairs are found\nthan were planted. Refits, as in cca-zoo, "
        "compare the j-th correlation of the data with the j-th\ncorrelation of the permutations, "
        "and do not remove any pair. If there is one pair, they find a\nsecond one whether it "
        "exists or not."
    )

    kinds = ("alpha=0", "refits", 'alpha="auto"')
    head = (
        "columns",
        "pairs",
        "rho",
        *(f"{k}: {s}" for k in kinds for s in ("found", "more")),
    )

    figures = [
        (
            "a first pair is found at most .02 less often than by refits",
            f"{worst_first:+.3f}",
            worst_first >= LEAST_POWER,
        ),
        (
            "all planted pairs are found at most .02 less often than by refits",
            f"{worst:+.3f}",
            worst >= LEAST_POWER,
        ),
        _few_false("alpha=0, more pairs than planted", most_false),
    ]
    return Section(text, head, rows, figures)


def strict(runs):
    """Power of refits at levels strict enough to give few false pairs."""
    runs = max(runs // 5, 20)
    cca = RegularizedCCA(6, alpha=0)
    rows = []
    worst = np.inf
    for columns, n_pairs, rho in PLANTED:

        def views(run, n_pairs=n_pairs, rho=rho, columns=columns):
            return linear_views(run, n_pairs, rho, columns)

        steps = pairs_found(cca, views, runs)
        ours = (float((steps >= n_pairs).mean()), float((steps > n_pairs).mean()))
        p_values = np.array(
            [
                p_values_by_rank(cca, *views(run), run, n_permutations=STRICT_PERMUTATIONS)
                for run in range(runs)
            ]
        )
        level = strictest_needed(p_values[:, n_pairs])
        if level is None:
            rows.append((columns, n_pairs, rho, *ours, "none", "-", "-"))
            continue

        found = float((p_values[:, n_pairs - 1] <= level).mean())
        more = float((p_values[:, n_pairs] <= level).mean())
        rows.append((columns, n_pairs, rho, *ours, f"{level:.4f}", found, more))
        worst = min(worst, ours[0] - found)

    text = (
        f"Of the levels that {STRICT_PERMUTATIONS:,} permutations allow, the refits use the "
        "largest one at which they find more pairs than planted in at most\n"
        f"{MOST_FALSE:.0%} of the {runs} runs. You cannot know this level for\nyour own data. "
        "`none` means that no level achieves this."
    )
    head = ("columns", "pairs", "rho", "alpha=0: found", "alpha=0: more")
    head += ("refits: level", "refits: found", "refits: more")
    figures = [
        (
            "all planted pairs are found at most .02 less often than by these refits",
            f"{worst:+.3f}",
            worst >= LEAST_POWER,
        )
    ]
    return Section(text, head, rows, figures)


def strictest_needed(p_values):
    """Largest level up to LEVEL that few enough p-values fall below; None if there is none."""
    unit = 1 / (1 + STRICT_PERMUTATIONS)
    levels = unit * np.arange(1, round(LEVEL / unit) + 1) + TIE
    shares = np.array([(p_values <= level).mean() for level in levels])
    keeping = np.flatnonzero(shares <= MOST_FALSE)
    return float(levels[keeping[-1]]) if len(keeping) else None


def kernels(runs):
    """Curved relations found by kernels, across folds and by refits."""
    runs = max(runs // 5, 10)
    rows = []
    worst = np.inf
    cca = KernelCCA(1)
    for strength in (0.0, 0.7, 1.0, 1.5):

        def views(run, strength=strength):
            return curved_views(run, strength)

        across = float((pairs_found(cca, views, runs) > 0).mean())
        ranks = float((pairs_by_rank(cca, views, runs) > 0).mean())
        linear = float((pairs_found(RegularizedCCA(1), views, runs) > 0).mean())
        rows.append((strength, runs, across, ranks, linear))
        if strength:
            worst = min(worst, across - ranks)

    text = (
        "One column of Y is `strength * abs(x) + noise`, and two more columns of each view are "
        "noise. There\nare n=100 rows; the kernels are Gaussian, with `alpha=0.1`. The table "
        "shows the fraction of the\nruns in which the pair is found. Refits compare the "
        "correlations of the samples to which they were\nfitted."
    )
    head = ("strength", "runs", "KernelCCA", "KernelCCA, refits", "RegularizedCCA")
    figures = [
        (
            "the pair is found at most .02 less often than by refits",
            f"{worst:+.3f}",
            worst >= LEAST_POWER,
        )
    ]
    return Section(text, head, rows, figures)


def loadings(runs):
    """Fraction of bootstrap intervals that contain the loading of the population."""
    runs = max(runs // 5, 10)
    rows = []
    least = 1.0
    for n, alpha in ((100, 0.0), (400, 0.0), (100, 0.1), (400, 0.1)):
        cca = RegularizedCCA(2, alpha=alpha)
        truth = _population_loadings(cca)
        held = [_shares_held(cca, *_two_factors(run, n), truth, run) for run in range(runs)]
        first, second = (float(share) for share in np.mean(held, axis=0))
        rows.append((n, alpha, runs, first, second))
        least = min(least, first, second)

    text = (
        "The views have 6 and 5 columns and share two factors with correlations of .8 and .5. The "
        "loadings of the\npopulation are computed from 200,000 rows. The table shows the "
        "fraction of these loadings that lie\nin their 95 % intervals, each computed from 100 "
        "bootstrap samples."
    )
    head = ("rows", "alpha", "runs", "first pair", "second pair")
    figures = [
        (
            f"at least {LEAST_COVERAGE:.0%} of the loadings are covered",
            f"{least:.1%}",
            least >= LEAST_COVERAGE,
        )
    ]
    return Section(text, head, rows, figures)


def _shares_held(cca, X, Y, truth, seed):
    """Fraction of the loadings of each pair that lie in their intervals."""
    display = _Intervals.from_estimator(cca, X, Y, n_bootstraps=100, random_state=seed)
    shares = []
    for component in range(2):
        views = zip(display.lower, display.upper, truth, strict=True)
        inside = [_inside(*(values[:, component] for values in view)) for view in views]
        shares.append(np.concatenate(inside).mean())
    return shares


class _Intervals(CanonicalLoadingsDisplay):
    """Intervals without a plot."""

    def plot(self, ax=None, **kwargs):
        return self


def _two_factors(seed, n):
    mixing = np.random.default_rng(99)
    A = mixing.normal(size=(6, 6))
    B = mixing.normal(size=(5, 5))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = rng.normal(size=(n, 5))
    for j, rho in enumerate((0.8, 0.5)):
        Y[:, j] = rho * X[:, j] + np.sqrt(1 - rho**2) * Y[:, j]
    return X @ A, Y @ B


def _population_loadings(cca):
    X, Y = _two_factors(10**6, 200_000)
    scores = clone(cca).fit(X, Y).transform(X, Y)
    return [
        np.corrcoef(V.T, T.T)[: V.shape[1], V.shape[1] :]
        for V, T in zip((X, Y), scores, strict=True)
    ]


def _inside(low, high, true):
    # The signs of a pair may differ from the population, so use the signs that fit better
    straight, turned = ((low <= value) & (value <= high) for value in (true, -true))
    return straight if straight.sum() >= turned.sum() else turned


PARTS = {
    "false": false_pairs,
    "false_kernels": false_pairs_of_kernels,
    "power": power,
    "strict": strict,
    "kernels": kernels,
    "loadings": loadings,
}


if __name__ == "__main__":
    sys.exit(main())
