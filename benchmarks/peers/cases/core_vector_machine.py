"""Kernel classification of a checkerboard: core sets against decomposition over all samples."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC, LinearSVC

from benchmarks.peers import Case, Contender, Target, at_most

# Fraction of wrong labels.
FLIPPED = 0.05


class Problem(NamedTuple):
    """Samples for training and testing; `noisy` if labels are wrong, `table` if real."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    noisy: bool = False
    table: bool = False


def work(size, rng):
    """Uniform points of a board of 4 x 4 fields, with 20 000 more for testing; or a table."""
    kind, n = size
    if kind not in ("board", "flipped"):
        return table(kind, n, rng)
    X = rng.uniform(0, 4, (n, 2))
    X_test = rng.uniform(0, 4, (20_000, 2))
    y = colour(X)
    if kind == "flipped":
        y = y ^ (rng.random(n) < FLIPPED)
    return Problem(X, y, X_test, colour(X_test), kind == "flipped")


def table(name, n, rng):
    """Rows of a scikit-learn table with features of unit variance; the rest is for testing."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + (X.std(axis=0) == 0))
    order = rng.permutation(len(X))
    train = order[:n]
    test = order[n:]
    return Problem(X[train], y[train], X[test], y[test], table=True)


def colour(X):
    return X.astype(int).sum(axis=1) % 2


def ours(C=50, gamma=4, **settings):
    def run(problem):
        from skmoderndata.svm import CoreVectorMachine

        given = {"C": C, "gamma": gamma, "n_jobs": 2}
        if problem.noisy:
            given["C"] = 0.5
        if problem.table:
            given = {}
        return CoreVectorMachine(random_state=0, **given | settings).fit(problem.X, problem.y)

    return run


def theirs(C, gamma):
    def run(problem):
        given = {"C": C, "gamma": gamma, "cache_size": 1000}
        if problem.noisy:
            given["C"] = 1.0
        return SVC(**{} if problem.table else given).fit(problem.X, problem.y)

    return run


def landmarks(problem):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=4, n_components=1000, random_state=0)
    return make_pipeline(features, LinearSVC()).fit(problem.X, problem.y)


def quality(problem, model):
    found: dict[str, Any] = {
        "test error %": 100 * (1 - model.score(problem.X_test, problem.y_test))
    }
    if hasattr(model, "support_"):
        found["support"] = len(model.support_)
    if hasattr(model, "dual_gap_"):
        found["gap"] = model.dual_gap_
        found["violation"] = float(model.margin_tolerance_.max())
    return found


def _seconds(rows, name):
    """Median seconds of a contender by size."""
    return {
        r.size: float(np.median(r.seconds)) for r in rows if r.contender == name and r.seconds
    }


def _small_tables(rows):
    mine = _seconds(rows, "CoreVectorMachine")
    peer = _seconds(rows, "SVC")
    ratios = {
        size: mine[size] / peer[size] for size in TABLES if size in mine and size in peer
    }
    if not ratios:
        return None, "not measured"
    told = ", ".join(f"{size}: {ratio:.2g}" for size, ratio in ratios.items())
    return max(ratios.values()) <= 1.5, told


def _wrong_labels(rows):
    """Compare time and test error with SVC and landmarks if labels are wrong."""
    told = []
    met = True
    for size in FLIPPED_SIZES:
        table = {r.contender: r for r in rows if r.size == size and r.ratio is not None}
        for peer, factor in (("SVC", 1.0), ("Nystroem, LinearSVC", 0.5)):
            if peer not in table or "CoreVectorMachine" not in table:
                continue
            error = table["CoreVectorMachine"].value("test error %") - table[peer].value(
                "test error %"
            )
            met &= table[peer].ratio >= factor and error <= 0
            told.append(f"{size}: {peer} {table[peer].ratio:.2g} times, {error:+.2f} points")
    return (met, "; ".join(told)) if told else (None, "not measured")


def _times(name, contender_sizes):
    def check(rows):
        seconds = {
            row.size: float(np.median(row.seconds))
            for row in rows
            if row.contender == name and row.seconds
        }
        return [seconds.get(size) for size in contender_sizes]

    return check


def under(text, name, size, limit):
    def check(rows):
        (seconds,) = _times(name, [size])(rows)
        return (
            (None, "not measured")
            if seconds is None
            else (seconds < limit, f"{seconds:.3g} s")
        )

    return Target(text=text, check=check)


def _growth(rows):
    few, many = _times("published rule", ["10 000", "100 000"])(rows)
    if few is None or many is None:
        return None, "not measured"
    exponent = float(np.log10(many / few))
    return exponent <= 1.1, f"{exponent:.2f}"


def _as_good(rows):
    """Errors of both classifiers, each with its best parameters."""
    more = {}
    for row in rows:
        for other in rows:
            pair = (row.contender, other.contender, other.size)
            if pair == ("tuned", "SVC, tuned", row.size) and row.quality and other.quality:
                more[row.size] = row.value("test error %") - other.value("test error %")
    told = ", ".join(f"{size}: {points:+.2f} points" for size, points in more.items())
    return (max(more.values()) <= 0.1, told) if more else (None, "not measured")


def _faster(rows):
    told = {}
    for mine, peer in (("CoreVectorMachine", "SVC"), ("tuned", "SVC, tuned")):
        (few,) = _times(mine, ["100 000"])(rows)
        (many,) = _times(peer, ["100 000"])(rows)
        if few is not None and many is not None:
            told[peer] = many / few
    if not told:
        return None, "not measured"
    return min(told.values()) >= 5, ", ".join(f"{k}: {v:.3g}" for k, v in told.items())


def _within(name, size, support, error, gap):
    """Figures of an independent implementation, with a tenth more support vectors."""

    def check(rows):
        for row in rows:
            if (row.contender, row.size) == (name, size) and row.quality:
                found = [row.value(key) for key in ("support", "test error %", "gap")]
                told = f"{found[0]:.0f}, {found[1]:.2f} %, {found[2]:.2g}"
                return found[0] <= support and found[1] <= error and found[2] <= gap, told
        return None, "not measured"

    text = f"{name}, {size}: at most {support} support vectors, {error} % errors, gap {gap}"
    return Target(text=text, check=check)


TABLES = {
    "iris, 100": ("iris", 100),
    "wine, 120": ("wine", 120),
    "breast cancer, 400": ("breast_cancer", 400),
    "digits, 1 000": ("digits", 1000),
}
BOARDS = {
    "1 000": ("board", 1_000),
    "10 000": ("board", 10_000),
    "100 000": ("board", 100_000),
    "1 000 000": ("board", 1_000_000),
}
FLIPPED_SIZES = {
    "10 000, 5 % flipped": ("flipped", 10_000),
    "30 000, 5 % flipped": ("flipped", 30_000),
}
QUICK = {"3 000": ("board", 3_000)}
UP_TO_100_000 = (*QUICK, "1 000", "10 000", "100 000")

CASE = Case(
    title="Core vector machine",
    question="How long does it take to learn the squares of a checkerboard from n samples, "
    "with and without mislabelled ones, and how long do fits to small tables take?",
    remarks="All runs use two cores. The parameters of the tuned classifiers gave the "
    "smallest mean error over six draws of 10 000 samples, among `C` = 100, 1 000, 10 000, "
    "100 000 and `gamma` = 1, 2, 4. The other classifiers share one `gamma` and one weight "
    "of the slack, so all of them do comparable work. The loss functions differ, so we "
    "compare test errors instead of objectives. `tol` is the relative duality gap; at a gap "
    "of a thousandth, samples violate the margin by about a tenth.",
    ours="CoreVectorMachine",
    sizes=BOARDS | FLIPPED_SIZES | TABLES,
    quick_sizes=QUICK,
    warmup=("board", 2_000),
    work=work,
    contenders={
        "CoreVectorMachine": Contender(
            run=ours(),
            peer=False,
            note=(
                "C=50, gamma=4, n_jobs=2, with a duality gap of at most 5 %; C=0.5 for "
                "flipped labels; the defaults for tables"
            ),
        ),
        "published rule": Contender(
            run=ours(radius_tol=1e-6),
            peer=False,
            note=(
                "radius_tol=1e-6, which stops when no sample among random draws is farther "
                "from the centre than 1 + radius_tol radii"
            ),
            sizes=UP_TO_100_000,
            why_not="shown on the board up to 100 000",
        ),
        "tight": Contender(
            run=ours(tol=1e-3),
            peer=False,
            sizes=UP_TO_100_000,
            why_not="shown on the board up to 100 000",
            note="tol=1e-3, so that the duality gap is at most a thousandth",
        ),
        "tuned": Contender(
            run=ours(1e4, 1),
            peer=False,
            sizes=UP_TO_100_000,
            why_not="shown next to the tuned peer",
            note=(
                "C=10 000, gamma=1, which give the smallest error for 10 000 samples; n_jobs=2"
            ),
        ),
        "SVC": Contender(
            run=theirs(100, 4),
            requires="scikit-learn>=1.9",
            sizes=(*UP_TO_100_000, "10 000, 5 % flipped", *TABLES),
            why_not="takes minutes at this size, and hours at a million",
            note=(
                "C=100, gamma=4, with a cache of 1 GB; C=1 for flipped labels; the defaults "
                "for tables"
            ),
        ),
        "SVC, tuned": Contender(
            run=theirs(1e5, 1),
            requires="scikit-learn>=1.9",
            sizes=UP_TO_100_000,
            why_not="tuned for the board",
            note=(
                "C=100 000, gamma=1, which give the smallest error for 10 000 samples; "
                "cache of 1 GB"
            ),
        ),
        "Nystroem, LinearSVC": Contender(
            run=landmarks,
            requires="scikit-learn>=1.9",
            sizes=tuple(FLIPPED_SIZES),
            why_not="shown with flipped labels",
            note="1 000 landmarks, gamma=4, C=1",
        ),
    },
    quality=quality,
    figures={
        "test error %": "error on 20 000 new samples",
        "support": "number of support vectors",
        "gap": "relative duality gap",
        "violation": "violation of the margin by samples outside the core set, in units of "
        "the margin",
    },
    targets=(
        Target(
            text="test error at most 0.1 points above the error of the tuned SVC",
            check=_as_good,
        ),
        at_most(
            "test error for a million samples at most 0.3 %",
            "CoreVectorMachine",
            "test error %",
            0.3,
            sizes=("1 000 000",),
        ),
        Target(
            text=(
                "tables of up to 1 000 rows: at most 1.5 times as long as SVC, both with "
                "their defaults"
            ),
            check=_small_tables,
        ),
        Target(
            text=(
                "flipped labels: no slower than SVC, at most twice as long as Nystroem with "
                "LinearSVC, with no larger error"
            ),
            check=_wrong_labels,
        ),
        Target(text="SVC takes at least 5 times as long for 100 000 samples", check=_faster),
        under("a million samples within a minute", "CoreVectorMachine", "1 000 000", 60.0),
        Target(text="published rule: time grows at most like n^1.1", check=_growth),
        at_most(
            "tight: certified gap of a thousandth", "tight", "gap", 1e-3, sizes=("100 000",)
        ),
        _within("CoreVectorMachine", "10 000", 530, 0.8, 0.043),
        _within("tight", "10 000", 650, 0.8, 1e-3),
        _within("published rule", "10 000", 620, 0.8, 0.04),
    ),
    repeat=3,
)
