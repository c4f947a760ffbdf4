"""Time the smallest calls beside scikit-learn's: `python -m benchmarks.floor [NAME ...]`.

Every core class is fitted to 30 rows of 5 columns (or to 30 short series or strings), with its
first parameter set in the common tests. The closest scikit-learn estimator is fitted to the
same data, with the same values of the parameters that both classes have. Both are called in
turn in one process, after compilation; the medians of the processor times are compared. Most
estimators of scikit-learn spend this time on validation and set-up.
"""

import argparse
import gc
import importlib
import inspect
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.defaults import BOOLEAN, CLOSEST
from skmoderndata import all_estimators
from skmoderndata.compile import small_data
from tests.common.parameter_sets import parameter_sets

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "floor.md"
# Number of rows and of columns.
SHAPE = (30, 5)
# Maximum ratio to the time of the closest scikit-learn estimator.
LIMIT = 1.5
# Number of calls before the first one that is timed.
N_WARM = 3
OUTPUTS = ("transform", "predict")

# Closest scikit-learn estimators of classes that `make compare` does not compare.
BY_HAND = {
    "DoubleCenterer": ("sklearn.preprocessing.KernelCenterer", {}),
    "KernelNormalizer": ("sklearn.preprocessing.KernelCenterer", {}),
    "KernelProjector": ("sklearn.decomposition.KernelPCA", {"kernel": "precomputed"}),
    "KernelTransformer": ("sklearn.kernel_approximation.Nystroem", {}),
    "KernelWhitener": ("sklearn.decomposition.KernelPCA", {"kernel": "precomputed"}),
    "MinimumEnclosingBall": ("sklearn.svm.OneClassSVM", {"kernel": "linear"}),
    "SpectrumCorrector": ("sklearn.decomposition.KernelPCA", {"kernel": "precomputed"}),
    "TimeDelayEmbedding": ("sklearn.preprocessing.PolynomialFeatures", {}),
}
# Parameters without which a closest estimator cannot read the data.
NEEDED = {
    "CompressedSensing": {"n_components": 4},
    "DistanceTransformer": {"analyzer": "char", "ngram_range": (1, 3)},
}
# Classes without an estimator of the same kind in scikit-learn.
ALONE = ("DictionaryDenoiser", "DictionaryInpainter", "SampleColumn", "SeriesFormatter")
# Parameter sets that are measured in addition to the first one of a class.
FURTHER = {
    "RobustPCA": ({"algorithm": "pcp"},),
    "SparseCoder": ({"transform_algorithm": "lasso", "transform_alpha": 0.1},),
}

# Reason why a class takes longer than the limit, for the page.
REASONS = {
    "BasisPursuit": "estimates the noise by cross-validation, and follows a path for each fold",
    "CompressedSensing": "also prepares the basis in which the signals are sparse",
    "ConvexNMF": "starts from `KMeans`, and makes about 50 passes",
    "CoreVectorMachine": (
        "checks the kernel width on pairs of samples, certifies the duality gap, and "
        "evaluates kernels in NumPy"
    ),
    "DoubleCenterer": "also squares the distances, and checks that they are symmetric",
    "GroupLasso": "selects groups and certifies the duality gap in NumPy; `Lasso` is compiled",
    "GroupLassoCV": "solves problems with groups for all folds and penalties",
    "GroupLassoClassifier": "solves problems with groups, and certifies the duality gap",
    "HierarchicalSlowFeatureAnalysis": "finds linear, then quadratic slow features, and projects "
    "rows on both",
    "IncompleteCholesky": "draws pivots block by block; `Nystroem` draws all of them at once",
    "KernelCCA": "decomposes two kernel matrices of 30 rows, whereas `CCA` works on 5 columns",
    "NuclearNormImputer": "chooses its penalty by cross-validation, with 80 completions",
    "RobustPCA": (
        "separates outliers by several convex programs; `transform` runs a robust "
        "regression for each row"
    ),
    "SammonMapping": "minimises the stress in about 40 steps",
    "SemiNMF": "makes about 12 passes, each of at least ten NumPy calls",
    "SlowFeatureAnalysis": "needs moments of rows and of steps, and two eigendecompositions",
    "SparseCoder": "normalises the dictionary, removes equal atoms and computes the Gram matrix "
    "in `fit`, so that `transform` is fast",
    "SparseGaussianProcessClassifier": (
        "optimises the kernel and the inducing inputs, which pays off for at least a few "
        "hundred rows"
    ),
    "SparseGaussianProcessRegressor": (
        "optimises the kernel and the inducing inputs, which pays off for at least a few "
        "hundred rows"
    ),
    "SparseNMF": "makes about 45 passes, each of at least ten NumPy calls",
    "SparseRecovery": "normalises the columns, and keeps codes, residuals and gaps",
    "SupportFeatureMachine": "solves about 40 linear programs",
    "TimeSeriesKMeans": "aligns series, and averages them by alignment",
}


class Row(NamedTuple):
    """Times of one parameter set, in milliseconds; `theirs` is empty without a relative."""

    name: str
    shown: str
    relative: str
    method: str
    ours: dict
    theirs: dict

    def ratio(self, method):
        """Time of ours divided by theirs, or None."""
        return self.ours[method] / self.theirs[method] if method in self.theirs else None


def main(arguments=None):
    """Measure, print and, on request, write the page; return 0 if each excess has a reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floor", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="classes; none means core")
    parser.add_argument("--rounds", type=int, default=41, help="rounds; the median is shown")
    parser.add_argument("--write-docs", action="store_true", help="write the page")
    options = parser.parse_args(arguments)

    rows = []
    for cls in all_estimators():
        name = cls.__name__
        if name in options.names if options.names else cls._card.tier == "core":
            for parameters in (parameter_sets(cls)[0], *FURTHER.get(name, ())):
                with threadpool_limits(1):
                    rows.append(measure(cls, parameters, options.rounds))
                print(line(rows[-1]), flush=True)

    slow = [row for row in rows if is_slow(row)]
    print(f"{len(rows)} parameter sets, {len(slow)} above {LIMIT} times scikit-learn")
    if options.write_docs:
        PAGE.write_text(page(rows, options.rounds), encoding="utf-8")
    return int(any(row.name not in REASONS for row in slow))


def measure(cls, parameters, n_rounds):
    """Time a class and its relative in turn."""
    ours = cls(**parameters)
    X, y = data(ours)
    closest = relative(ours)
    X_closest = X
    if ours._card.samples == "series":
        X_closest = np.random.default_rng(0).normal(size=SHAPE)

    # time the methods of both estimators in turn
    times = {}
    contenders = [(ours, X)] + [(closest, X_closest)] * (closest is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(N_WARM + n_rounds):
            for model, rows in contenders:
                one_round = calls(clone(model), rows, y)
                if number >= N_WARM:
                    for method, seconds in one_round.items():
                        times.setdefault((model is ours, method), []).append(seconds)

    medians = {key: 1e3 * statistics.median(values) for key, values in times.items()}
    mine = {method: t for (is_ours, method), t in medians.items() if is_ours}
    theirs = {method: t for (is_ours, method), t in medians.items() if not is_ours}
    (output,) = mine.keys() - {"fit"} or {""}
    # the outputs may differ, for example predict and transform
    if theirs and output not in theirs:
        theirs = {output if method != "fit" else "fit": t for method, t in theirs.items()}
    shown = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    named = type(closest).__name__ if closest is not None else ""
    return Row(cls.__name__, shown, named, output, mine, theirs)


def calls(model, X, y):
    """Processor time in seconds of `fit`, and of `transform` or `predict`."""
    gc.disable()
    start = time.process_time()
    model.fit(X) if y is None else model.fit(X, y)
    times = {"fit": time.process_time() - start}
    for method in [name for name in OUTPUTS if hasattr(model, name)][:1]:
        getattr(model, method)(X)  # after a long fit, the first call finds cold caches
        start = time.process_time()
        getattr(model, method)(X)
        times[method] = time.process_time() - start
    gc.enable()
    return times


def data(estimator):
    """Rows that the class is meant for, and a target or None."""
    X, y = small_data(estimator, *SHAPE)
    card = estimator._card
    if "Boolean" in card.family or type(estimator).__name__ in BOOLEAN:
        X = (np.median(X, axis=0) < X).astype(float)
    if type(estimator).__name__ == "NuclearNormImputer":
        X[::7, ::3] = np.nan
    return X, y


def relative(ours):
    """Closest scikit-learn estimator, with the parameters of ours that it has; None without."""
    name = type(ours).__name__
    if name in ALONE:
        return None
    path, parameters = BY_HAND.get(name, (None, NEEDED.get(name, {})))
    path = path or CLOSEST.get(name) or COMPARISONS[name].baseline
    module, _, closest = path.rpartition(".")
    cls = getattr(importlib.import_module(module), closest)

    own = inspect.signature(type(ours)).parameters
    shared = {
        key: value
        for key, value in ours.get_params(deep=False).items()
        if key in inspect.signature(cls).parameters and value != own[key].default
    }
    if name == "SparseCoder":  # both estimators use the same dictionary
        shared["dictionary"] = np.eye(SHAPE[1])
        if ours.transform_algorithm == "lasso":
            shared["transform_algorithm"] = "lasso_lars"
    return cls(**{**shared, **parameters})


def is_slow(row):
    """Whether a call takes longer than the limit."""
    return any((row.ratio(method) or 0.0) > LIMIT for method in row.ours)


def line(row):
    """A row as text."""
    cells = [
        f"{method} {row.ours[method]:8.3f} ms"
        + (f" / {row.theirs[method]:.3f} = {row.ratio(method):5.2f}" if row.theirs else "")
        for method in row.ours
    ]
    return f"{row.name}({row.shown}) {row.relative}: {'; '.join(cells)}"


def page(rows, n_rounds):
    """Text of the page."""
    out = [
        "# Smallest calls",
        "",
        *__doc__.split("\n\n", 1)[1].strip().splitlines(),
        "",
        "A ratio is the time of this package divided by the time of scikit-learn; a ratio "
        "below 1 means that this package is faster.",
        "",
        "| class | closest in scikit-learn | `fit` (ms) | ratio | output | (ms) | ratio |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for row in rows:
        name = f"{row.name}(`{row.shown}`)" if row.shown else row.name
        output = row.method
        cells = [name, f"`{row.relative}`" if row.relative else "none"]
        cells += [f"{row.ours['fit']:.2f}", ratio_shown(row, "fit")]
        cells += (
            [f"`{output}`", f"{row.ours[output]:.2f}", ratio_shown(row, output)]
            if (output)
            else ["", "", ""]
        )
        out.append(f"| {' | '.join(cells)} |")

    slow = dict.fromkeys(row.name for row in rows if is_slow(row))
    if slow:
        out += ["", f"## Above {LIMIT}", ""]
        out += [f"- {name}: {REASONS.get(name, 'no reason is known')}." for name in slow]
    out += [
        "",
        "## How this was measured",
        "",
        "```bash",
        f"python -m benchmarks.floor --rounds {n_rounds} --write-docs",
        "```",
        "",
        f"The times are medians over {n_rounds} rounds, after {N_WARM} rounds that do not count, "
        "with one BLAS thread. The times depend on the machine; the ratios hardly do.",
        "",
    ]
    return "\n".join(out)


def ratio_shown(row, method):
    """A ratio, bold above the limit."""
    ratio = row.ratio(method)
    if ratio is None:
        return ""
    return f"**{ratio:.2f}**" if ratio > LIMIT else f"{ratio:.2f}"


if __name__ == "__main__":
    sys.exit(main())
