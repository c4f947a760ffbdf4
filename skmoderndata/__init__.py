"""Methods of modern data analysis that scikit-learn lacks, as scikit-learn estimators.

Public modules mirror scikit-learn: look for a method where its nearest scikit-learn relative
lives, for example `skmoderndata.decomposition.RobustPCA`. `all_estimators` lists everything.
Importing the package is cheap: neither cvxpy nor numba nor matplotlib is loaded.
"""

import importlib

__version__ = "0.1.0.dev0"

# name -> module: the flagship methods and the registry, loaded on first use
_LAZY = {
    "CoreVectorMachine": "skmoderndata.svm",
    "KSVD": "skmoderndata.decomposition",
    "KernelCCA": "skmoderndata.cross_decomposition",
    "RobustPCA": "skmoderndata.decomposition",
    "SlowFeatureAnalysis": "skmoderndata.decomposition",
    "SparseNMF": "skmoderndata.decomposition",
    "SupportFeatureMachine": "skmoderndata.svm",
    "all_estimators": "skmoderndata._registry",
    "all_kernels": "skmoderndata._registry",
}

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
