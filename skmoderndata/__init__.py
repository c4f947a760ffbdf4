"""Methods of modern data analysis that scikit-learn lacks, as scikit-learn estimators.

Public modules mirror scikit-learn: look for a method in the module of the closest scikit-learn
estimator, for example `skmoderndata.decomposition.RobustPCA`. You can import the core estimators
from here, too: `from skmoderndata import RobustPCA`. `all_estimators` and `all_kernels` list
everything.
Importing the package is cheap: modules load on first use, and neither cvxpy nor numba nor
matplotlib is loaded.
"""

import ast
import functools
import importlib
from pathlib import Path

from skmoderndata._version import __version__ as __version__

_FUNCTIONS = {  # Private module that defines each function.
    "all_estimators": "_estimator.registry",
    "all_kernels": "_estimator.registry",
    "blocks_config": "_solvers.common.blocks",
    "report": "_guide.report",
    "suggest": "_guide.suggest",
    "trusted_types": "_estimator.trusted",
}
_CORE = {  # Estimators that can also be imported from here, with the public module of each.
    "cluster": (
        "DiscreteBasis",
        "FormalConceptFactorization",
        "KMedoids",
        "MultiAssignmentClustering",
        "RoleMiner",
        "TimeSeriesKMeans",
    ),
    "cross_decomposition": ("KernelCCA",),
    "decomposition": (
        "ConvexNMF",
        "FeatureSignDictionaryLearning",
        "HierarchicalSlowFeatureAnalysis",
        "KSVD",
        "RobustPCA",
        "SemiNMF",
        "SlowFeatureAnalysis",
        "SparseNMF",
    ),
    "gaussian_process": (
        "SparseGaussianProcessClassifier",
        "SparseGaussianProcessRegressor",
    ),
    "image": (
        "DictionaryDenoiser",
        "DictionaryInpainter",
    ),
    "impute": ("NuclearNormImputer",),
    "kernel_approximation": ("IncompleteCholesky",),
    "linear_model": (
        "BasisPursuit",
        "GroupLasso",
        "GroupLassoCV",
        "GroupLassoClassifier",
    ),
    "manifold": ("SammonMapping",),
    "model_selection": ("EntrySearchCV",),
    "neighbors": (
        "DTWNeighborsClassifier",
        "DTWNeighborsRegressor",
    ),
    "preprocessing": (
        "DistanceTransformer",
        "DoubleCenterer",
        "KernelNormalizer",
        "KernelProjector",
        "KernelTransformer",
        "KernelWhitener",
        "SampleColumn",
        "SeriesFormatter",
        "SpectrumCorrector",
        "TimeDelayEmbedding",
    ),
    "sparse_coding": (
        "CompressedSensing",
        "SparseCoder",
        "SparseRecovery",
    ),
    "svm": (
        "CoreVectorMachine",
        "MinimumEnclosingBall",
        "SupportFeatureMachine",
    ),
}


def __getattr__(name):
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"skmoderndata.{_FUNCTIONS[name]}"), name)
    if name == "__all__":  # `from skmoderndata import *` loads the core estimators
        return sorted(["__version__", *_FUNCTIONS, *_core_estimators()])

    # the name may be a module, a class, or a misspelling of either
    homes = {} if name.startswith("_") else _homes()
    if name in homes.values():
        return importlib.import_module(f"skmoderndata.{name}")
    home = homes.get(name)
    if home is not None and name in _CORE.get(home, ()):
        return getattr(importlib.import_module(f"skmoderndata.{home}"), name)

    message = f"module {__name__!r} has no attribute {name!r}"
    if home is not None:
        message += f": import it from skmoderndata.{home}"
    elif close := _closest(name, homes):
        message += f": did you mean {close!r}, of skmoderndata.{homes[close]}?"
    raise AttributeError(message)


def __dir__():
    return sorted({"__version__", *_FUNCTIONS, *_homes().values(), *_core_estimators()})


def _core_estimators():
    return [name for names in _CORE.values() for name in names]


@functools.cache
def _homes():
    """Public name -> public module, read from the sources: nothing is imported."""
    homes = {}
    for path in sorted(Path(__file__).parent.glob("[a-z]*/__init__.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                homes |= {name: path.parent.name for name in ast.literal_eval(node.value)}
    return homes


def _closest(name, names):
    import difflib

    lowered = {public.lower(): public for public in names}
    matches = difflib.get_close_matches(name.lower(), lowered, n=1)
    return lowered[matches[0]] if matches else None
