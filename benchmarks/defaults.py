"""Every estimator and the closest scikit-learn estimator: `python -m benchmarks.defaults`.

Real tables that come with scikit-learn or this package, raw and standardised, in the form that a
class accepts: rows with labels or values, two halves of the columns, cells above the median, gaps,
planted outliers, strings, series. Nothing is tuned. Scores are at most 1, and higher is better;
the page shows means over the tables, and explains why a class is behind by more than `MARGIN`.
"""

import argparse
import importlib
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import minmax_scale, scale
from sklearn.utils import shuffle

from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.compare.problems import digit_outlines
from skmoderndata import all_estimators
from skmoderndata.datasets import load_language_names, load_peptides

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "defaults.md"
# Largest difference of mean scores for which the page gives no reason.
MARGIN = 0.05
# Maximum number of rows of a table, drawn at random.
MOST_ROWS = 500
# Number of ranks into which the values of a regression are divided for ordinal classifiers.
N_RANKS = 5
# Number of outliers planted among the rows of a table.
N_OUTLIERS = 15

# Closest scikit-learn estimator of classes that `COMPARISONS` lacks or compares for another task
CLOSEST = {
    "DTWNeighborsClassifier": "sklearn.neighbors.KNeighborsClassifier",
    "DTWNeighborsRegressor": "sklearn.neighbors.KNeighborsRegressor",
    "FeatureSignDictionaryLearning": "sklearn.decomposition.MiniBatchDictionaryLearning",
    "GroupLassoCV": "sklearn.linear_model.LassoCV",
    "KernelPRank": "sklearn.linear_model.LogisticRegression",
    "NuSVOR": "sklearn.linear_model.LogisticRegression",
    "RoundedSVD": "sklearn.decomposition.NMF",
}

# Classes that a table of rows cannot evaluate
ELSEWHERE = {
    "AlignedKernelCombination": "a step before a kernel machine, useless by itself",
    "ClusteringStability": "chooses the number of clusters",
    "CompressedSensing": "measures signals that another class decodes",
    "CoreVectorRanker": "ranks pairs within queries",
    "DictionaryDenoiser": "accepts a single image",
    "DictionaryInpainter": "accepts a single image",
    "DoubleCenterer": "a step for kernel matrices",
    "HierarchicalSlowFeatureAnalysis": "accepts a video",
    "IncrementalSlowFeatureAnalysis": "needs rows in temporal order",
    "JamesStein": "estimates a mean",
    "KernelNormalizer": "a step for kernel matrices",
    "KernelProjector": "a step for kernel matrices",
    "KernelTransformer": "a step before a kernel machine",
    "KernelWhitener": "a step for kernel matrices",
    "MinimumEnclosingBall": "encloses all rows that it is fitted to",
    "MinorComponentAnalysis": "finds the directions of least variance",
    "SampleColumn": "converts samples",
    "SeriesFormatter": "converts samples",
    "SlowFeatureAnalysis": "needs rows in temporal order",
    "SparseCoder": "needs a dictionary",
    "SpectrumCorrector": "a step for kernel matrices",
    "TimeDelayEmbedding": "needs rows in temporal order",
}

# Reason why a class scores lower than the closest scikit-learn estimator by more than the margin,
# for the page
COPIES = (
    "`NMF()` keeps as many components as the table has columns, so it reproduces the table"
)
REASONS = {
    "BooleanKMeans": (
        "its centres are Boolean, so you can read them as roles; means are not Boolean"
    ),
    "BridgeRegression": (
        "its penalty is a quarter of the penalty of `Lasso()`, and the exponents differ"
    ),
    "ConvexNMF": (
        "its two components (the default) are means of rows; `NMF()` has as many components as "
        "the table has columns"
    ),
    "DTWNeighborsClassifier": (
        "aligns values at different times, which are not comparable in standardised "
        "columns; it is ahead on raw columns"
    ),
    "DictionaryClassifier": "is designed for at least 20 columns, and warns if there are fewer",
    "DiscreteBasis": COPIES,
    "FormalConceptFactorization": COPIES,
    "KernelCCA": "is regularised by the variance of a whole view, so columns with small units "
    "are lost",
    "KernelGraphEmbedding": "has two components by default; `Nystroem()` has 100",
    "LaplacianEmbedding": (
        "has two components, like `Isomap()`, but only `Isomap()` preserves distances"
    ),
    "MultiAssignmentClustering": COPIES,
    "ProbabilisticLSA": "models counts, and these tables contain none",
    "RBFNetworkRegressor": "uses one width for all columns, so columns with large units dominate; "
    "it is ahead on standardised columns",
    "RoleMiner": COPIES,
    "RoundedSVD": COPIES,
    "SVDD": "leaves a tenth of the rows outside, whereas `OneClassSVM()` leaves half "
    "outside, so `SVDD` keeps more rows and finds fewer outliers",
    "SemiNMF": "has two components by default; `NMF()` has as many as the table has columns",
    "SparseNMF": "has two components by default; `NMF()` has as many as the table has columns",
    "SparseRepresentationClassifier": (
        "is designed for at least 20 columns, and warns if there are fewer"
    ),
    "TimeSeriesKMeans": (
        "aligns values at different times, which are not comparable in standardised "
        "columns; both classes are equal on raw columns"
    ),
}


class Table(NamedTuple):
    """A real table."""

    name: str
    X: np.ndarray
    y: np.ndarray


def main(arguments=None):
    """Measure, print and, on request, write the page; return 0 if each gap has a reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="classes; none means all")
    parser.add_argument("--write-docs", action="store_true", help="write the page")
    options = parser.parse_args(arguments)

    rows = []
    for cls in all_estimators():
        if cls.__name__ in ELSEWHERE or (options.names and cls.__name__ not in options.names):
            continue
        row = measure(cls)
        print(*row[:2], *(f"{s:.3f}" for s in row[2:6]), row[6], flush=True)
        rows.append(row)

    untold = [row[0] for row in rows if behind(row) and row[0] not in REASONS]
    if untold:
        print("behind without a reason:", ", ".join(untold))
    if options.write_docs:
        PAGE.write_text(page(rows), encoding="utf-8")
    return int(bool(untold))


def measure(cls):
    """Names and mean scores, raw and standardised, of both, and the table of the largest loss."""
    ours = cls()
    closest = closest_to(cls)
    protocol, tables = protocol_of(cls, ours, closest)
    ours, closest = (any_classes(m) for m in (ours, closest))
    scores = np.array([[[score(protocol, m, t) for m in (ours, closest)] for t in form(tables)]
                       for form in (raw, standardised)])  # fmt: skip

    scores[np.isnan(scores).any(axis=2)] = np.nan  # compare only on tables that both accept
    loss = np.nan_to_num((scores[..., 1] - scores[..., 0]).mean(axis=0))
    worst = tables[int(loss.argmax())].name if loss.max() > MARGIN else ""
    # shape: (raw or standardised rows, our class or scikit-learn's)
    means = np.nanmean(scores, axis=1)
    return cls.__name__, type(closest_to(cls)).__name__, *means[0], *means[1], worst


def score(protocol, model, table):
    """Return the score, or NaN if the model rejects the table."""
    try:
        return protocol(model, table)
    except ValueError as refusal:
        print(f"  {type(model).__name__} on {table.name}: {refusal}")
        return np.nan


def any_classes(model):
    """Return the model, wrapped one-versus-rest if it handles only two classes."""
    tags = model.__sklearn_tags__().classifier_tags
    return model if tags is None or tags.multi_class else OneVsRestClassifier(model)


def behind(row):
    """Whether a class is behind scikit-learn on raw or on standardised tables."""
    return row[3] - row[2] > MARGIN or row[5] - row[4] > MARGIN


def closest_to(cls):
    """Return the closest scikit-learn estimator, with its defaults."""
    path = CLOSEST.get(cls.__name__) or COMPARISONS[cls.__name__].baseline
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)()


# tables --------------------------------------------------------------------------------------


def labelled():
    """Tables with classes."""
    loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer,
               "digits": load_digits}  # fmt: skip
    return [_some(name, *load(return_X_y=True)) for name, load in loaders.items()]


def valued():
    """Tables with a value to predict."""
    iris, wine, cancer, digits = (table.X for table in labelled())
    # the target is the mean ink of the lower half of an image
    ink = digits[:, 32:].mean(axis=1)
    tables = [
        _some("diabetes", *load_diabetes(return_X_y=True)),
        Table("petal width", iris[:, :3], iris[:, 3]),
        Table("alcohol", wine[:, 1:], wine[:, 0]),
        Table("concave points", np.delete(cancer, [7, 17, 27], axis=1), cancer[:, 27]),
        Table("ink", digits[:, :32], ink),
    ]
    return [t._replace(y=scale(t.y)) for t in tables]


def ranked():
    """Tables with ranks: the values of `valued` in classes of equal size."""
    return [Table(t.name, t.X, _ranks(t.y)) for t in valued()]


def strings():
    """Strings with classes, without rows."""
    peptides = load_peptides()
    names = load_language_names()
    return [
        Table("peptides", *_draw(np.array(peptides.data, dtype=object), peptides.target)),
        Table("language names", *_draw(np.array(names.data, dtype=object), names.target)),
    ]


def series():
    """Outlines of handwritten digits."""
    data = digit_outlines.PROBLEM.load(True)
    return [Table("outlines of digits", data.X, data.y)]


def _some(name, X, y):
    return Table(name, *_draw(X, y))


def _draw(X, y):
    X, y = shuffle(X, y, random_state=0)
    return X[:MOST_ROWS], y[:MOST_ROWS]


def _ranks(y):
    cuts = np.quantile(y, np.arange(1, N_RANKS) / N_RANKS)
    return np.searchsorted(cuts, y)


def raw(tables):
    """Return the tables as they are."""
    return tables


def standardised(tables):
    """Return tables of numbers with columns of mean 0 and variance 1."""
    return [t._replace(X=scale(t.X)) if t.X.dtype.kind == "f" else t for t in tables]


# protocols: functions from (estimator, table) to a score -------------------------------------


def protocol_of(cls, model, closest):
    """Return how a class is scored, and its tables."""
    card = cls._card
    parts = any(m.__sklearn_tags__().input_tags.positive_only for m in (model, closest))

    # tasks that tags do not reveal: ranks, pairs of views, Boolean tables, gaps
    if cls.__name__ in ("NuSVOR", "KernelPRank"):
        return ordinal, ranked()
    if card.family == "two and more views" or cls.__name__ == "RegularizedCCA":
        return two_views, labelled()
    if "Boolean" in card.family or cls.__name__ in BOOLEAN:
        return boolean_error, labelled()
    if cls.__name__ == "NuclearNormImputer":
        return gaps, labelled()

    # samples that are not rows of numbers
    if card.samples == "series":
        by_kind = {True: clusters, False: ordinal if is_regressor(model) else classes}
        return by_kind[is_clusterer(model)], series()
    if card.samples == "strings":
        return neighbours_of_strings, strings()

    # choose the protocol of the other classes by their kind
    if is_classifier(model):
        return classes, labelled()
    if is_regressor(model):
        return values, valued()
    if is_clusterer(model):
        return clusters, labelled()
    if is_outlier_detector(model):
        return outliers, labelled()

    return (neighbours_of_parts if parts else neighbours), labelled()


BOOLEAN = {
    *("BooleanKMeans", "DiscreteBasis", "FormalConceptFactorization"),
    *("MultiAssignmentClustering", "RoleMiner", "RoundedSVD"),
}


def classes(model, table):
    """Accuracy on held-out rows."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(table.X, table.y)
    hits = [
        np.mean(fit(model, table.X[a], table.y[a]).predict(table.X[b]) == table.y[b])
        for a, b in folds
    ]
    return float(np.mean(hits))


def values(model, table):
    """R2 on held-out rows, cut at -1, because lower values mean equally useless predictions."""
    folds = KFold(3, shuffle=True, random_state=0).split(table.X)
    scores = [
        r2_score(table.y[b], fit(model, table.X[a], table.y[a]).predict(table.X[b]))
        for a, b in folds
    ]
    return max(-1.0, float(np.mean(scores)))


def ordinal(model, table):
    """One minus the mean absolute error in ranks, relative to predicting the middle rank."""
    folds = KFold(3, shuffle=True, random_state=0).split(table.X)
    errors = [
        np.abs(fit(model, table.X[a], table.y[a]).predict(table.X[b]) - table.y[b]).mean()
        for a, b in folds
    ]
    return 1.0 - float(np.mean(errors) / np.abs(table.y - np.median(table.y)).mean())


def clusters(model, table):
    """Adjusted Rand index of clusters and classes."""
    return float(adjusted_rand_score(table.y, labels_of(fit(model, table.X))))


def labels_of(model):
    """Return the labels of the samples that a clusterer was fitted to."""
    return np.asarray(model.labels_)


def outliers(model, table):
    """Mean of the fractions of planted outliers found and of other rows kept, by `fit_predict`."""
    rng = np.random.default_rng(0)
    X = table.X.astype(float)
    n = len(table.X)
    far = rng.choice(n, N_OUTLIERS, replace=False)
    columns = rng.choice(X.shape[1], -(-X.shape[1] // 4), replace=False)
    X[np.ix_(far, columns)] += 6 * X.std(axis=0)[columns]
    flagged = quietly(clone(model).fit_predict, X) < 0
    return float(flagged[far].mean() + 1 - np.delete(flagged, far).mean()) / 2


def neighbours(model, table):
    """Accuracy of the nearest five neighbours in the coordinates of all rows."""
    Z = quietly(clone(model).fit_transform, table.X)
    return classes(KNeighborsClassifier(), table._replace(X=as_rows(Z)))


def neighbours_of_parts(model, table):
    """Accuracy of neighbours for tables without negative entries."""
    return neighbours(model, table._replace(X=minmax_scale(table.X)))


def neighbours_of_strings(model, table):
    """Accuracy of neighbours for strings; count letters if the baseline counts words."""
    if isinstance(model, CountVectorizer):
        model = CountVectorizer(analyzer="char", ngram_range=(1, 3))
    return neighbours(model, table)


def boolean_error(model, table):
    """One minus the fraction of wrong entries among the cells above the median of their column."""
    B = (table.X > np.median(table.X, axis=0)).astype(float)
    fitted = quietly(clone(model).fit, B)
    if hasattr(fitted, "inverse_transform"):
        told = fitted.inverse_transform(fitted.transform(B))
    else:
        told = fitted.cluster_centers_[labels_of(fitted)]
    told = np.asarray(told, dtype=float) > 0.5
    return 1.0 - float(np.mean(told != (B > 0.5)))


def gaps(model, table):
    """One minus the relative error in a tenth of the entries, which were hidden."""
    X = table.X.astype(float)
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    filled = quietly(clone(model).fit_transform, np.where(hidden, np.nan, X))
    deviation = X - X.mean(axis=0)
    return 1.0 - float(
        np.linalg.norm((filled - X)[hidden]) / np.linalg.norm(deviation[hidden])
    )


def two_views(model, table):
    """Correlation of the first pair of scores of two halves of the columns, on held-out rows."""
    half = table.X.shape[1] // 2
    found = []
    for a, b in KFold(3, shuffle=True, random_state=0).split(table.X):
        views = [(part[a], part[b]) for part in (table.X[:, :half], table.X[:, half:])]
        (A, A_new), (B, B_new) = views
        scores_a, scores_b = quietly(fit(model, A, B).transform, A_new, B_new)
        found.append(np.corrcoef(np.ravel(scores_a[:, 0]), np.ravel(scores_b[:, 0]))[0, 1])
    return float(np.nan_to_num(np.mean(found)))


def fit(model, X, y=None):
    """Fit a copy with defaults, without convergence warnings."""
    return quietly(clone(model).fit, X) if y is None else quietly(clone(model).fit, X, y)


def quietly(function, *arguments):
    """Call a function without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def as_rows(Z):
    """Return the coordinates as an array of numbers."""
    return np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=float)


# page ----------------------------------------------------------------------------------------


def page(rows):
    """Text of the page."""
    lines = [
        "# Defaults",
        "",
        "How well does each class do on ordinary tables, compared with the closest scikit-learn",
        "class (columns 'closest')? Both classes use their defaults, and nothing is tuned. The",
        "tables are real data sets, raw and standardised. Scores are accuracies, R2 or",
        "correlations; they are at most 1, and higher is better.",
        "",
        "| class | closest estimator | raw | closest | standardised | closest |",
        "|---|---|---|---|---|---|",
    ]

    for name, closest, a, b, c, d, _ in rows:
        cells = [f"{s:.2f}" for s in (a, b, c, d)]
        lines.append(f"| {name} | {closest} | " + " | ".join(cells) + " |")

    # reasons
    lines += ["", "## Classes that are behind, and why", ""]
    lines += [
        "The gap of a class is the difference between its score and the score of the closest "
        "estimator.",
        "",
    ]
    for row in filter(behind, rows):
        table = f" The gap is largest on {row[6]}." if row[6] else ""
        lines.append(f"- **{row[0]}**: {REASONS.get(row[0], 'not known')}.{table}")

    lines += ["", "## Not in the table", ""]
    lines += [f"- {name}: {reason}." for name, reason in ELSEWHERE.items()]

    lines += [
        "",
        "## How this was measured",
        "",
        "```bash",
        "python -m benchmarks.defaults --write-docs",
        "```",
        "",
    ]

    # scores
    lines += [
        f"At most {MOST_ROWS} rows of each table are used, in three folds. The scores are:",
        "",
        "| estimators | score |",
        "|---|---|",
        "| classifiers | accuracy |",
        "| regressors | R2 |",
        "| ordinal classifiers | error in five ranks, relative to the middle rank |",
        "| clusterers | adjusted Rand index |",
        f"| detectors | {N_OUTLIERS} outliers of six standard deviations are planted in a "
        f"quarter of the columns; the score is the mean of the fraction of outliers found "
        f"and the fraction of other "
        "rows kept |",
        "| transformers | accuracy of five nearest neighbours in the coordinates that the "
        "class returns |",
        "| Boolean classes | fraction of correct cells |",
        "| two views | held-out correlation of two halves of the columns |",
        "",
    ]

    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
