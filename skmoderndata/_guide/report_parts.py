"""The parts of a report, each of which tests the statements that it makes about a table.

Each part is a function of a `Table` and a level that returns a `Finding` or None. The tests use
ranks, counts and permutations, so their levels do not depend on the distributions of the columns.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components
from sklearn.preprocessing import RobustScaler

import skmoderndata
from skmoderndata._guide.report_table import Table, literal
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.lowrank.quantiles import QUARTILES

# Tolerance for fits of RobustPCA.
FIT_TOL = 1e-3
# Minimum number of rows; with fewer rows, only gaps are reported.
MIN_ROWS = 20
# Maximum number of lines in a table of the page.
MAX_LINES = 10
# Minimum ratio of two column scales that is reported, as in RobustPCA(scale="auto").
SCALE_RATIO = 3.0
# Minimum absolute rank correlation of columns that are reported as redundant.
REDUNDANT = 0.9
# Number of blocks of successive rows whose mean ranks are compared.
N_BLOCKS = 10
# Maximum number of rows in tests that permute the row order.
MAX_DRIFT_ROWS = 2000
# Maximum number of rows in fits for hidden cells and roles.
MAX_FIT_ROWS = 400
# Number of folds of hidden cells for small tables, which can spare few cells.
MANY_FOLDS = 10
# Number of folds of hidden cells for other tables; fewer folds save time.
FEW_FOLDS = 3
# Maximum number of cells of a small table.
MAX_SMALL = 5000
# Minimum number of empty cells, and of known cells, for testing whether gaps depend on values.
MIN_GROUP = 10
# Number of good cells with the largest residuals, from which the tail of the residuals is
# estimated.
N_TAIL = 30
# Maximum number of roles.
MAX_ROLES = 5


class Finding(NamedTuple):
    """Result of one part of a report.

    Attributes
    ----------
    name : str
        Part: "gaps", "scales", "components", "cells", "drift", "redundant columns" or "roles".
    title : str
        Heading of the section.
    text : str
        The finding in a sentence or two, with the test.
    columns : tuple of str
        Heads of the table.
    lines : list of tuple
        Lines of the table.
    code : str
        Lines to run next, for a table called X.
    draw : callable
        ``draw()`` returns a matplotlib figure.
    """

    name: str
    title: str
    text: str
    columns: tuple[str, ...]
    lines: list[tuple[Any, ...]]
    code: str
    draw: Callable[[], Any]


# Facts shared by several parts of the report


def is_boolean(table: Table) -> np.ndarray:
    """Return which columns contain both 0 and 1, and nothing else."""
    known = ~np.isnan(table.values)
    zeros = (table.values == 0).sum(axis=0)
    ones = (table.values == 1).sum(axis=0)
    return (zeros + ones == known.sum(axis=0)) & (zeros > 0) & (ones > 0)


def is_constant(table: Table) -> np.ndarray:
    """Return which columns have one value in all known cells, or no known cell."""
    low = np.where(np.isnan(table.values), np.inf, table.values).min(axis=0)
    high = np.where(np.isnan(table.values), -np.inf, table.values).max(axis=0)
    return ~(low < high)


def is_measured(table: Table) -> np.ndarray:
    """Return which columns vary in their middle half and have more than two values."""
    measured = ~is_constant(table)
    for j in np.flatnonzero(measured):
        known = table.values[~np.isnan(table.values[:, j]), j]
        quartiles = np.quantile(known, QUARTILES)
        measured[j] = quartiles[0] < quartiles[1] and len(np.unique(known)) > 2
    return measured


def standard_ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks of each column with mean 0 and variance 1 over its known cells; 0 in gaps."""
    known = ~np.isnan(values)
    ranks = stats.rankdata(values, axis=0, nan_policy="omit")
    ranks = np.where(known, ranks, 0.0)
    count = np.maximum(known.sum(axis=0), 1)
    ranks = np.where(known, ranks - ranks.sum(axis=0) / count, 0.0)
    spread = np.sqrt((ranks**2).sum(axis=0) / count)
    return ranks / np.where(spread > 0, spread, 1.0)


def n_permutations(level: float) -> int:
    """Return the number of permutations at which one may be as extreme as the data."""
    return math.ceil(2 / level) - 1


def _spread_rows(n: int, largest: int) -> np.ndarray:
    """Return evenly spread rows in their order, no more than `largest`."""
    return np.unique(np.linspace(0, n - 1, min(n, largest)).astype(int))


def _percent(fraction: float) -> str:
    return f"{fraction:.1%}" if fraction >= 0.001 else f"{fraction:.2g}"


def _number(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.3g}"


def _p_value(p: float) -> str:
    return f"p = {p:.1g}" if p >= 1e-12 else "p < 1e-12"


def _list(names: list[str]) -> str:
    shown = ", ".join(names[:MAX_LINES])
    return shown + (f" and {len(names) - MAX_LINES} more" if len(names) > MAX_LINES else "")


# 1. Gaps


def find_gaps(table: Table, level: float, *, low_rank: bool) -> Finding | None:
    """Count the gaps, and test whether they coincide or depend on values."""
    gaps = np.isnan(table.values)
    if not gaps.any():
        return None
    share = gaps.mean(axis=0)
    order = np.argsort(-share, kind="stable")[: (share > 0).sum()]
    text = (
        f"{_percent(gaps.mean())} of the cells are empty, in {(share > 0).sum()} of "
        f"{len(share)} columns and {_percent(gaps.any(axis=1).mean())} of the rows."
    )

    # Test each of the two kinds of pattern at half the level
    patterns = [
        *_gaps_together(table, gaps, level / 2),
        *_gaps_by_value(table, gaps, level / 2),
    ]
    if patterns:
        text += " " + " ".join(patterns[:3])
    else:
        text += " Their positions show no pattern."

    # Write the code to run next
    filled = ~gaps.all(axis=0)
    columns = np.flatnonzero(filled)
    imputer = "NuclearNormImputer" if low_rank else "SimpleImputer"
    home = "skmoderndata" if low_rank else "sklearn.impute"
    setting = "" if low_rank else 'strategy="median"'
    code = (
        f"from sklearn.pipeline import make_pipeline\n"
        f"from sklearn.preprocessing import RobustScaler\n"
        f"from {home} import {imputer}\n"
        f"filled = make_pipeline(RobustScaler(), {imputer}({setting}))"
        f".fit_transform({table.code(columns)})"
    )
    lines = [
        (table.names[j], int(gaps[:, j].sum()), _percent(share[j])) for j in order[:MAX_LINES]
    ]
    return Finding(
        "gaps",
        "Gaps",
        text,
        ("column", "empty cells", "share"),
        lines,
        code,
        lambda: _pictures().gap_map(gaps[:, order[:40]], [table.names[j] for j in order[:40]]),
    )


def _gaps_together(table: Table, gaps: np.ndarray, level: float) -> list[str]:
    """Return columns that are empty in the same rows, by the hypergeometric test."""
    n = len(gaps)
    count = gaps.sum(axis=0)
    usable = np.flatnonzero((count > 0) & (count < n))
    G = gaps[:, usable].astype(float)
    first, second = np.triu_indices(len(usable), 1)
    if len(first) == 0:
        return []

    n_common = (G.T @ G)[first, second]
    p = stats.hypergeom.sf(n_common - 1, n, count[usable[first]], count[usable[second]])
    p = np.minimum(p * len(p), 1.0)
    found = np.flatnonzero(p <= level)
    if len(found) == 0:
        return []
    groups = _groups(len(usable), first[found], second[found])
    names = [_list([table.names[usable[j]] for j in group]) for group in groups]
    return [f"Gaps coincide in: {'; '.join(names[:3])} ({_p_value(p.min())})."]


def _gaps_by_value(table: Table, gaps: np.ndarray, level: float) -> list[str]:
    """Return columns whose gaps depend on the values of another column, by the rank-sum test."""
    # 1. Sum the ranks of one column over the gaps of another; compute the mean and the standard
    # deviation of this sum
    R = standard_ranks(table.values)
    known = (~gaps).astype(float)
    total = known.sum(axis=0)
    # Number of rows in which column j has a gap and column k does not
    n_gaps = gaps.T.astype(float) @ known
    sums = gaps.T.astype(float) @ R
    rest = total - n_gaps
    deviation = np.sqrt(n_gaps * rest / np.maximum(total - 1, 1))

    # 2. Keep only pairs of columns with enough cells in both groups of rows
    usable = (n_gaps >= MIN_GROUP) & (rest >= MIN_GROUP) & ~is_constant(table)
    if not usable.any():
        return []
    z = np.where(usable, sums / np.where(usable, deviation, 1.0), 0.0)
    p = np.minimum(2 * stats.norm.sf(np.abs(z)) * usable.sum(), 1.0)

    # 3. Select the strongest pair for each column with gaps
    best = p.argmin(axis=1)
    reported = [j for j in np.argsort(p.min(axis=1), kind="stable") if p[j, best[j]] <= level]
    return [
        f"Gaps of {table.names[j]} are more frequent if {table.names[best[j]]} is "
        f"{'large' if z[j, best[j]] > 0 else 'small'} ({_p_value(p[j, best[j]])})."
        for j in reported[:2]
    ]


def _groups(n: int, first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
    """Return connected components of at least two members, the largest first."""
    graph = sparse.csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


# 2. Scales


def find_scales(table: Table, level: float) -> Finding | None:
    """Compare the interquartile ranges by their distribution-free confidence limits."""
    columns = np.flatnonzero(is_measured(table))
    if len(columns) < 2:
        return None
    limits = np.array(
        [_limits_of_range(table.values[:, j], level / (2 * len(columns))) for j in columns]
    )
    low, middle, high = limits.T

    # Compare the largest lower limit with the smallest upper limit; all limits together hold at
    # the significance level
    largest = int(low.argmax())
    smallest = int(high.argmin())
    ratio = low[largest] / high[smallest]
    if not ratio >= SCALE_RATIO:
        return None

    # List all columns, in descending order of scale
    order = np.argsort(-middle, kind="stable")
    names = [table.names[j] for j in columns]
    medians = np.nanmedian(table.values[:, columns], axis=0)
    lines = [(names[i], _number(middle[i]), _number(medians[i])) for i in _ends(order)]
    return Finding(
        "scales",
        "Scales of the columns",
        f"The interquartile range of {names[largest]} is at least {_number(ratio)} times the "
        f"range of {names[smallest]} (limits by order statistics). Methods that use distances or "
        "variances see mostly the columns of large scale: scale the columns first.",
        ("column", "interquartile range", "median"),
        lines,
        "from sklearn.preprocessing import RobustScaler\n"
        f"scaled = RobustScaler().fit_transform({table.code(columns)})",
        lambda: _pictures().ranges(middle[order], [names[i] for i in order]),
    )


def _ends(order: np.ndarray) -> list[int]:
    """Return the first and last entries of a long list."""
    half = MAX_LINES // 2
    return list(order) if len(order) <= MAX_LINES else [*order[:half], *order[-half:]]


def _limits_of_range(column: np.ndarray, level: float) -> tuple[float, float, float]:
    """Return the interquartile range with limits that hold with probability 1 - level each."""
    values = np.sort(column[~np.isnan(column)])
    n = len(values)
    lows = []
    highs = []
    for q in QUARTILES:
        below = int(stats.binom.ppf(level / 2, n, q)) - 1
        above = int(stats.binom.isf(level / 2, n, q))
        lows.append(values[below] if below >= 0 else -np.inf)
        highs.append(values[above] if above < n else np.inf)
    first, third = np.quantile(values, QUARTILES)
    return max(lows[1] - highs[0], 0.0), third - first, highs[1] - lows[0]


class RobustFit(NamedTuple):
    """Robust components of the measured columns.

    Attributes
    ----------
    model : RobustPCA
        Model fitted to the scaled rows.
    scaler : RobustScaler
        Scales of the columns.
    rows, columns : ndarray of int
        Part of the table that was fitted: rows with known cells, and measured columns.
    """

    model: Any
    scaler: RobustScaler
    rows: np.ndarray
    columns: np.ndarray


def fit_robustly(table: Table, level: float) -> RobustFit | None:
    """Fit robust components, with outliers at a false discovery rate of half the level."""
    columns = np.flatnonzero(is_measured(table))
    values = table.values[:, columns]
    rows = np.flatnonzero(~np.isnan(values).all(axis=1))
    if len(columns) < 2 or len(rows) < MIN_ROWS:
        return None
    scaler = RobustScaler().fit(values)
    model = skmoderndata.RobustPCA(tol=FIT_TOL, outlier_threshold="fdr", fdr=level / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(scaler.transform(values[rows]))
    return RobustFit(model, scaler, rows, columns)


# 3. Number of components


def find_components(
    table: Table, fit: RobustFit | None, level: float, random_state: int
) -> Finding | None:
    """Choose the number of components by hidden cells, if columns are related."""
    if fit is None or len(fit.columns) < 3:
        return None
    rows = fit.rows[_spread_rows(len(fit.rows), MAX_FIT_ROWS)]
    values = table.values[np.ix_(rows, fit.columns)]
    p = _test_common_cause(values, level, random_state)
    if p > level:
        return None

    # Compare numbers of components between one and about twice the number above the noise
    rank = fit.model.rank_
    largest = (min(values.shape) - 1) // 2
    if largest < 2:
        return None
    near = {1, rank - 1, rank, rank + 1, max(2, 2 * rank)}
    grid = sorted({min(k, largest) for k in near if k >= 1})
    search = skmoderndata.EntrySearchCV(
        skmoderndata.RobustPCA(tol=FIT_TOL, rows=False),
        {"n_components": grid},
        cv=MANY_FOLDS if values.size <= MAX_SMALL else FEW_FOLDS,
        random_state=random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(RobustScaler().fit_transform(values))

    # Report the search, and the code that runs it on all rows
    best = search.best_params_["n_components"]
    scores = search.cv_results_["mean_test_score"]
    return Finding(
        "components",
        "Number of components",
        f"The columns share common causes ({_p_value(p)}, permutations within the columns). Of "
        f"the numbers of components that were compared, {best} is the smallest within one "
        "standard error of the best prediction of hidden cells.",
        ("components", "mean absolute error of hidden cells"),
        [(k, _number(-score)) for k, score in zip(grid, scores, strict=True)],
        "from sklearn.preprocessing import RobustScaler\n"
        "from skmoderndata import EntrySearchCV, RobustPCA\n"
        f'search = EntrySearchCV(RobustPCA(), {{"n_components": {grid}}}, random_state=0)'
        f".fit(RobustScaler().fit_transform({table.code(fit.columns)}))",
        lambda: _pictures().search_curve(search),
    )


def _test_common_cause(values: np.ndarray, level: float, random_state: int) -> float:
    """Test the largest eigenvalue of the rank correlations, by permuting each column.

    Known cells stay known, so the gaps do not matter. The test stops as soon as it cannot
    become significant.
    """
    rng = np.random.default_rng(random_state)
    R = standard_ranks(values)
    known = ~np.isnan(values)
    complete = bool(known.all())
    positions = [np.flatnonzero(known[:, j]) for j in range(R.shape[1])]
    observed = np.linalg.norm(R, 2)

    total = n_permutations(level)
    exceeded = 0
    for done in range(1, total + 1):
        if complete:
            R = rng.permuted(R, axis=0)
        else:
            for j, rows in enumerate(positions):
                R[rows, j] = R[rng.permutation(rows), j]
        largest = np.linalg.eigvalsh(R.T @ R if len(R) > R.shape[1] else R @ R.T)[-1]
        exceeded += largest >= observed**2 * (1 - ACCUMULATED_ROUNDING)
        if (1 + exceeded) / (1 + total) > level:
            return (1 + exceeded) / (1 + done)
    return (1 + exceeded) / (1 + total)


# 4. Broken cells and odd rows


def find_cells(table: Table, fit: RobustFit | None, level: float) -> Finding | None:
    """List cells and rows that do not fit the rest, by robust PCA after a robust scaler."""
    # cells of a table without noise cannot be tested
    if fit is None or fit.model.algorithm_ != "stable":
        return None
    model = fit.model
    rows = fit.rows
    columns = fit.columns
    values = table.values[:, columns]

    # Find odd rows; a row distance of 1 corresponds to four standard deviations
    # [RobustPCA.row_distances_]
    odd = np.zeros(len(rows), dtype=bool)
    if hasattr(model, "outlying_rows_"):
        limit = stats.norm.isf(level / 2 / len(rows)) / 4
        odd = model.outlying_rows_ & (model.row_distances_[:, 1] > limit)

    # Find broken cells in the other rows, the largest first, in the units of X
    support = model.support_ & ~odd[:, None]
    row, column = np.nonzero(support)
    if len(row) == 0 and not odd.any():
        return None
    expected = model.low_rank_ * fit.scaler.scale_ + fit.scaler.center_
    sizes = np.abs(values[rows] - expected) / (model.noise_scale_ * fit.scaler.scale_)
    size = sizes[row, column]
    largest = np.argsort(-size, kind="stable")
    if len(row) and _test_of_tail(size, sizes[~support & ~odd[:, None]]) > level / 2:
        # the tail of the good cells explains even these cells, so none of them is broken
        largest = largest[:0]
        if not odd.any():
            return None
    cells = [
        (
            table.rows[rows[row[i]]],
            table.names[columns[column[i]]],
            _number(values[rows[row[i]], column[i]]),
            _number(expected[row[i], column[i]]),
            f"{size[i]:.1f}",
        )
        for i in largest[:MAX_LINES]
    ]
    names = [table.rows[rows[i]] for i in np.flatnonzero(odd)]
    return _cells_finding(table, columns, cells, len(largest), names, level)


def _test_of_tail(broken: np.ndarray, good: np.ndarray) -> float:
    """Return the p-value of the broken cells in a power-law tail of the good cells.

    Logarithms of successive ratios are then exponential [Renyi 1953], so the ratio of their means
    has an F distribution; tails that fall faster make it smaller. Without this test, the largest
    cells of noise with heavy tails, or of counts, would be reported.
    """
    good = np.sort(good[good > 0])[::-1][: N_TAIL + 1]
    if len(good) <= N_TAIL:
        return 1.0
    beyond = np.log(np.maximum(broken / good[0], 1.0)).mean()
    within = np.log(good[:-1] / good[-1]).mean()
    if within == 0:
        return 1.0
    return float(stats.f.sf(beyond / within, 2 * len(broken), 2 * N_TAIL))


def _cells_finding(
    table: Table,
    columns: np.ndarray,
    cells: list[tuple[str, ...]],
    n_cells: int,
    names: list[str],
    level: float,
) -> Finding:
    """Describe the broken cells and odd rows."""
    text = []
    if n_cells:
        text.append(
            f"{n_cells} {'cell does' if n_cells == 1 else 'cells do'} not fit the other cells of "
            f"their row and column (expected fraction of false findings at most {level / 2:.1g})."
        )
    if names:
        text.append(
            f"{len(names)} whole {'row is' if len(names) == 1 else 'rows are'} unlike all others: "
            f"{_list(names)}."
        )

    # Write the lines; data frames keep the names of their rows and columns
    rows = [(name, "whole row", "", "", "") for name in names[: MAX_LINES // 2]]
    frame = table.kind in ("pandas", "polars")
    output = f'.set_output(transform="{table.kind}")' if frame else ""
    return Finding(
        "cells",
        "Broken cells and odd rows",
        " ".join(text),
        ("row", "column", "value", "expected", "deviations of the noise"),
        [*cells, *rows],
        "from sklearn.preprocessing import RobustScaler\n"
        "from skmoderndata import RobustPCA\n"
        'model = RobustPCA(outlier_threshold="fdr").fit('
        f"RobustScaler(){output}.fit_transform({table.code(columns)})); "
        "model.find_outliers()",
        lambda: _pictures().sizes(
            [float(cell[4]) for cell in cells],
            [f"row {cell[0]}, {cell[1]}" for cell in cells],
            names,
        ),
    )


# 5. Drift over the rows


def find_drift(table: Table, level: float, random_state: int) -> Finding | None:
    """Compare mean ranks of successive blocks of rows with rows in random order.

    The largest statistic of all columns under each permutation bounds the error over columns.
    """
    # 1. For each column, sum the squared mean ranks of the blocks
    rows = _spread_rows(len(table.values), MAX_DRIFT_ROWS)
    columns = np.flatnonzero(~is_constant(table))
    if len(rows) < MIN_ROWS or len(columns) == 0:
        return None
    values = table.values[np.ix_(rows, columns)]
    R = standard_ranks(values)
    known = (~np.isnan(values)).astype(float)
    block = np.arange(len(rows)) * N_BLOCKS // len(rows)
    observed = _between_blocks(block, R, known)

    # 2. Compare each sum with the largest sum over all columns when the rows are shuffled
    rng = np.random.default_rng(random_state)
    total = n_permutations(level)
    exceeded = np.zeros(len(columns))
    for _ in range(total):
        exceeded += _between_blocks(rng.permutation(block), R, known).max() >= observed
        if (1 + exceeded.min()) / (1 + total) > level:
            return None
    p = (1 + exceeded) / (1 + total)

    # 3. Name the columns that drift
    found = np.flatnonzero(p <= level)
    found = found[np.argsort(-observed[found], kind="stable")]
    names = [table.names[columns[j]] for j in found]
    medians = _block_medians(table.values[:, columns[found[:MAX_LINES]]])

    # Slow features need columns that vary in their middle half and have more than two values
    measured = np.flatnonzero(is_measured(table))
    measured = measured if len(measured) >= 2 else columns
    return Finding(
        "drift",
        "Drift over the rows",
        f"Values depend on the position of the row in {len(found)} of {len(columns)} columns "
        f"(p = {p[found].max():.1g} over all columns, {total} permutations of the rows): "
        f"{_list(names)}. Are the rows sorted, or in the order of time? Random folds are then "
        "too optimistic.",
        ("column", "median of the first tenth", "of the middle", "of the last tenth"),
        [
            (name, *(_number(medians[b, i]) for b in (0, N_BLOCKS // 2, N_BLOCKS - 1)))
            for i, name in enumerate(names[:MAX_LINES])
        ],
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import RobustScaler\n"
        "from skmoderndata import SlowFeatureAnalysis\n"
        "slow = make_pipeline(RobustScaler(), SlowFeatureAnalysis(n_components=1))"
        f".fit_transform({table.code(measured)})",
        lambda: _pictures().drift(
            R[:, found[:4]], np.where(known[:, found[:4]] > 0, block[:, None], -1), names[:4]
        ),
    )


def _between_blocks(block: np.ndarray, R: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Sum, over blocks, squared sums of ranks over their counts, for each column."""
    in_block = (block == np.arange(N_BLOCKS)[:, None]).astype(float)
    return ((in_block @ R) ** 2 / np.maximum(in_block @ known, 1)).sum(axis=0)


def _block_medians(values: np.ndarray) -> np.ndarray:
    blocks = np.array_split(values, N_BLOCKS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a block without known cells has no median
        return np.array([np.nanmedian(block, axis=0) for block in blocks])


# 6. Redundant columns


def find_redundant(table: Table, level: float) -> Finding | None:
    """Group columns whose rank correlation is above .9 at the level, by Fisher's limits."""
    columns = np.flatnonzero(~is_constant(table))
    if len(columns) < 2:
        return None
    first, second = np.triu_indices(len(columns), 1)
    correlation, count = _rank_correlations(table.values[:, columns])
    r = np.abs(correlation[first, second])
    n = count[first, second]

    # Compute lower limits that hold for all pairs together; 1.06 is the variance factor for rank
    # correlations [Fieller et al. 1957]
    z = stats.norm.isf(level / len(r)) * np.sqrt(1.06 / np.maximum(n - 3, 1))
    limit = np.tanh(np.arctanh(np.minimum(r, 1 - ACCUMULATED_ROUNDING)) - z)
    found = np.flatnonzero((limit >= REDUNDANT) & (n >= MIN_ROWS))
    if len(found) == 0:
        return None

    # Form groups, and keep the column with the fewest gaps from each group
    groups = _groups(len(columns), first[found], second[found])
    n_known = np.diagonal(count)
    kept = [group[n_known[group].argmax()] for group in groups]
    lines = []
    dropped = []
    for keep, group in zip(kept, groups, strict=True):
        dropped_here = [j for j in group if j != keep]
        dropped += dropped_here
        weakest = np.abs(correlation[keep, dropped_here]).min()
        names = _list([table.names[columns[j]] for j in dropped_here])
        lines.append((table.names[columns[keep]], names, f"{weakest:.3f}"))

    # List the columns to keep and to drop
    members = np.concatenate(groups)[:40]
    return Finding(
        "redundant columns",
        "Groups of redundant columns",
        f"{len(groups)} {'group' if len(groups) == 1 else 'groups'} of columns that carry nearly "
        f"the same information: rank correlations are above {REDUNDANT} at the level, over "
        f"all {len(r):,} pairs. Keep one column of each group, or use a penalty that treats a "
        "group as a unit, such as GroupLasso.",
        ("keep", "nearly the same", "smallest rank correlation"),
        lines[:MAX_LINES],
        _code_without(table, columns[np.sort(dropped)]),
        lambda: _pictures().correlations(
            np.abs(correlation[np.ix_(members, members)]),
            [table.names[columns[j]] for j in members],
        ),
    )


def _rank_correlations(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rank correlations over rows in which two columns are known, and row counts."""
    known = (~np.isnan(values)).astype(float)
    R = standard_ranks(values)
    count = known.T @ known
    n = np.maximum(count, 1)
    mean = (R.T @ known) / n  # mean rank in column j over the rows in which column k is known
    square = ((R**2).T @ known) / n
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    covariance = (R.T @ R) / n - mean * mean.T
    product = deviation * deviation.T
    return covariance / np.where(product > RESULT_ROUNDING, product, np.inf), count


def _code_without(table: Table, dropped: np.ndarray) -> str:
    names = table.labels_of(dropped)
    if table.kind == "polars":
        return f"reduced = X.drop({literal(names)})"
    if table.kind == "pandas" and isinstance(names[0], str):
        return f"reduced = X.drop(columns={literal(names)})"
    if table.kind in ("pandas", "equal names"):
        kept = [i for i in range(table.shape[1]) if i not in set(names)]
        return f"reduced = X.iloc[:, {literal(kept)}]"
    return f"import numpy as np\nreduced = np.delete(X, {literal(names)}, axis=1)"


# 7. Boolean columns that look like roles


def find_roles(table: Table, level: float) -> Finding | None:
    """Mine sets of Boolean columns, and keep sets more frequent than independence allows.

    A set of s columns is compared with the binomial distribution for independent columns, over
    all sets of s columns and all sizes s.
    """
    columns = np.flatnonzero(is_boolean(table))
    bits = table.values[:, columns]
    rows = np.flatnonzero(~np.isnan(bits).any(axis=1))
    if len(columns) < 3 or len(rows) < MIN_ROWS:
        return None
    bits = bits[rows] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        miner = skmoderndata.RoleMiner(2 * MAX_ROLES).fit(
            bits[_spread_rows(len(bits), MAX_FIT_ROWS)]
        )

    # Compare each set with independent columns, and correct for the number of sets of this size
    fraction = bits.mean(axis=0)
    found = []
    for role in miner.components_.astype(bool):
        size = int(role.sum())
        if size < 2:
            continue
        count = int(bits[:, role].all(axis=1).sum())
        chance = float(fraction[role].prod())
        tried = math.log(math.comb(len(columns), size) * len(columns))
        log_p = float(stats.binom.logsf(count - 1, len(bits), chance)) + tried
        if log_p <= math.log(level):
            found.append((log_p, role, count, chance))
    if not found:
        return None

    # Keep the most significant sets; skip sets that contain a set already kept or are part of one
    kept: list[tuple[Any, ...]] = []
    for _, role, count, chance in sorted(found, key=lambda entry: entry[0]):
        if not any(_nested(role, other) for other, _, _ in kept):
            kept.append((role, count, chance))
    return _roles_finding(table, columns, len(bits), kept[:MAX_ROLES])


def _nested(role: np.ndarray, other: np.ndarray) -> bool:
    return bool((role <= other).all() or (role >= other).all())


def _roles_finding(
    table: Table, columns: np.ndarray, n_rows: int, found: list[tuple[Any, ...]]
) -> Finding:
    """Describe the columns that occur together."""
    has_gaps = bool(np.isnan(table.values[:, columns]).any())
    name = "MultiAssignmentClustering" if has_gaps else "RoleMiner"
    names = [table.names[j] for j in columns]
    sets = [_list([names[j] for j in np.flatnonzero(role)]) for role, _, _ in found]
    counts = [count for _, count, _ in found]
    expected = [chance * n_rows for _, _, chance in found]
    return Finding(
        "roles",
        "Boolean columns that occur together",
        f"In {len(found)} {'set' if len(found) == 1 else 'sets'} of Boolean columns, all columns "
        "are 1 in the same rows more often than independent columns would be (binomial test, over "
        "all sets of the same size). The rows may share roles.",
        ("columns", "rows with all of them", "expected if independent"),
        list(zip(sets, counts, map(_number, expected), strict=True)),
        f"from skmoderndata import {name}\n"
        f"roles = {name}(n_clusters={len(found)}).fit({table.code(columns)})",
        lambda: _pictures().roles(sets, counts, expected),
    )


def _pictures() -> Any:
    from skmoderndata._guide import report_pictures

    return report_pictures
