"""Types in a file of skops that are known to be harmless."""

import importlib
import inspect
from collections.abc import Iterable

# Modules of other packages whose classes are parts of fitted estimators.
PARTS_OF_ESTIMATORS = (
    "numpy",
    "scipy.sparse._csc",
    "scipy.sparse._csr",
    "sklearn.gaussian_process.kernels",
    "sklearn.metrics._dist_metrics",
    "sklearn.neighbors._ball_tree",
    "sklearn.neighbors._kd_tree",
)


def trusted_types(names: Iterable[str]) -> list[str]:
    """Select the types that estimators of this package consist of.

    skops lists the types in a file that it does not know. This function selects those among them
    that are classes of this package, or classes of SciPy and scikit-learn that its estimators
    contain: kernels, search trees and sparse arrays. Functions, and classes of other packages,
    are left out, so that loading the file still raises an error that names them.

    Parameters
    ----------
    names : iterable of str
        Names of types, from `skops.io.get_untrusted_types`.

    Returns
    -------
    trusted : list of str
        Names that exist in the installed packages, in their order.

    Examples
    --------
    >>> from skmoderndata import trusted_types
    >>> trusted_types(["skmoderndata.svm._l2_svc.L2SVC", "os.system", "my_module.MyKernel"])
    ['skmoderndata.svm._l2_svc.L2SVC']

    With skops:

    >>> import skops.io as sio  # doctest: +SKIP
    >>> names = sio.get_untrusted_types(file="model.skops")  # doctest: +SKIP
    >>> model = sio.load("model.skops", trusted=trusted_types(names))  # doctest: +SKIP
    """
    return [name for name in names if _is_part_of_estimators(name)]


def _is_part_of_estimators(name: str) -> bool:
    """Whether a name belongs to a class that is defined in one of the known modules."""
    module, _, attribute = name.rpartition(".")
    own = module.startswith("skmoderndata.") and all(map(str.isidentifier, module.split(".")))
    if not own and module not in PARTS_OF_ESTIMATORS:
        return False
    try:
        value = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return inspect.isclass(value) and value.__module__ == module
