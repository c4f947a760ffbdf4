"""Why some classes are not compared with scikit-learn."""

from benchmarks.compare.comparisons import COMPARISONS
from skmoderndata._estimator.registry import all_estimators, all_kernels

NO_COMPARISON = {
    "ClusteringStability": "scikit-learn has no choice of the number of clusters by stability.",
    "DTWNeighborsRegressor": "See the row of the classifier, which uses the same neighbours.",
    "DictionaryDenoiser": "scikit-learn has no image denoiser; see `make peers`.",
    "DictionaryInpainter": "scikit-learn has no estimator that fills in pixels of an image.",
    "DoubleCenterer": "scikit-learn has no transformer of distances into inner products.",
    "GlobalAlignment": "See the row of DTWNeighborsClassifier, which is for time series, too.",
    "GroupLassoCV": "It is `GroupLasso` with its own search; see the row of `GroupLasso`.",
    "HMMFisher": "Scores need a model of the data; the example compares them with counts of "
    "symbols, which win on names of languages.",
    "KernelNormalizer": "scikit-learn has no transformer that normalises kernel matrices.",
    "KernelProjector": "A tool for kernel matrices without a counterpart in scikit-learn.",
    "KernelTransformer": "It makes kernels steps of pipelines: each row of a kernel goes "
    "through it.",
    "KernelWhitener": "scikit-learn whitens vectors but not kernel matrices.",
    "MinimumEnclosingBall": "scikit-learn has no estimator of an enclosing ball.",
    "MinorComponentAnalysis": "scikit-learn has no estimator of the directions of smallest "
    "variance.",
    "Normalized": "It transforms other kernels, whose rows include it.",
    "SampleColumn": "It only wraps samples that are not vectors: there is nothing to score.",
    "SeriesFormatter": "It changes the form of time series but no values.",
    "SpectrumCorrector": "scikit-learn uses indefinite kernel matrices without correction.",
    "TimeDelayEmbedding": "scikit-learn has no transformer of the rows of a time series into "
    "windows.",
}


def without_comparison():
    """Return the estimators and kernel families without a comparison, and the reasons.

    The reason is empty if the table has none.
    """
    reasons = {
        cls.__name__: NO_COMPARISON.get(cls.__name__, "")
        for cls in all_estimators()
        if cls.__name__ not in COMPARISONS
    }

    # in each family, one kernel has the comparison, or the reason why there is none
    families = {}
    for cls in all_kernels():
        families.setdefault(cls._card.family, []).append(cls.__name__)
    for family, names in sorted(families.items()):
        if COMPARISONS.keys().isdisjoint(names):
            texts = [NO_COMPARISON[name] for name in names if name in NO_COMPARISON]
            reasons[family] = texts[0] if texts else ""
    return reasons
