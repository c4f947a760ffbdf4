"""Registry of methods, derived from the cards on the classes."""

import functools
import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class MethodCard:
    """Facts about one public class, stored on the class as `_card`.

    What only tests and benchmarks use is in their tables; `docs/contributing.md` lists these.

    Attributes
    ----------
    family : str
        Heading under which the user guide lists the method.
    cite : tuple of str
        Keys of entries in `docs/references.bib`.
    cost : str
        Leading cost of `fit`, in n (samples), p (features), k (components), T (passes).
    method : str
        Stem of the names of page, example and test file. If it is empty, the class name gives the
        stem; only the second class of a method (a regressor next to a classifier) sets it.
    tier : {"core", "standard", "textbook"}
        "core" if the method wins a benchmark designed for it, or if other methods are built on
        it; "standard" if a pipeline of several steps gives the same answer or an equally good one;
        "textbook" if one estimator of scikit-learn is as good and as fast.
    instead : str
        Sentence that names an alternative: the pipeline of a "standard" method, or, after "Use",
        the estimator that replaces a "textbook" method. Empty for "core".
    samples : {"rows", "series", "strings", "image"}
        Input of `fit`: rows of a table, a collection of series or of strings, or one image.
    rows : str
        "independent" if the answer for a row depends on that row only; otherwise the reason, as
        the end of the sentence "does not take a table in blocks, as ...".
    fits_blocks : bool
        Whether `fit` accepts Dask arrays and data frames.
    scaler : {"", "StandardScaler", "RobustScaler"}
        Scaler to use before the class if its answer depends on the scales of the columns; `fit`
        warns if these differ by more than 100. Empty if it does not, or if no scaler is advised.
    """

    family: str
    cite: tuple[str, ...]
    cost: str
    method: str = ""
    tier: str = "core"
    instead: str = ""
    samples: str = "rows"
    rows: str = "independent"
    fits_blocks: bool = False
    scaler: str = ""


@dataclass(frozen=True, kw_only=True)
class KernelCard:
    """Facts about one public kernel class, stored on the class as `_card`.

    Attributes
    ----------
    family, cite, method
        Same as for `MethodCard`; the kernels of a family share one page, example and test file.
    cost : str
        Leading cost of a matrix of kernel values, in n (samples), p (features).
    domain : str
        Type of a sample: "vector", "set", "node", "string", "text", "tree", "graph", "series",
        "any".
    psd : bool
        Whether every matrix of kernel values is positive semi-definite, for all parameters.
    tier, instead : str
        Same as for `MethodCard`.
    """

    family: str
    cite: tuple[str, ...]
    cost: str
    domain: str
    psd: bool = True
    method: str = ""
    tier: str = "core"
    instead: str = ""


def snake_case(name: str) -> str:
    """Return the stem of the files of a class.

    >>> snake_case("SlowFeatureAnalysis"), snake_case("RobustPCA"), snake_case("CCIPCA")
    ('slow_feature_analysis', 'robust_pca', 'ccipca')
    """
    word_starts = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    return re.sub(word_starts, "_", name).lower()


def method_stem(cls: type) -> str:
    """Return the stem of page, example and tests of an estimator class."""
    card = getattr(cls, "_card", None)  # search classes have no card
    return (card.method if card else "") or snake_case(cls.__name__)


@functools.cache
def public_modules() -> tuple[str, ...]:
    """Return the sorted names of the public modules of the package."""
    folder = str(Path(__file__).parents[1])
    packages = [info.name for info in pkgutil.iter_modules([folder]) if info.ispkg]
    names = sorted(name for name in packages if not name.startswith("_"))
    return tuple(f"skmoderndata.{name}" for name in names)


def public_homes() -> dict[str, str]:
    """Map each public name to the module from which it is imported.

    >>> public_homes()["KSVD"]
    'skmoderndata.decomposition'
    """
    modules = [importlib.import_module(name) for name in public_modules()]
    return {name: module.__name__ for module in modules for name in module.__all__}


def all_estimators() -> list[type]:
    """List every public estimator class of the package, sorted by name.

    >>> [cls.__name__ for cls in all_estimators() if "CCA" in cls.__name__]
    ['KernelCCA', 'RegularizedCCA', 'SparseCCA']
    """
    return [cls for cls in _carded_classes() if hasattr(cls, "fit")]


def all_kernels() -> list[type]:
    """List every public kernel class of the package, sorted by name."""
    return [cls for cls in _carded_classes() if not hasattr(cls, "fit")]


@functools.cache
def _carded_classes() -> tuple[type, ...]:
    classes: set[type] = set()
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", ())
        public = [getattr(module, name) for name in names]
        classes.update(filter(_has_card, public))
    return tuple(sorted(classes, key=_name_and_module))


def _name_and_module(cls: type) -> tuple[str, str]:
    return cls.__name__, cls.__module__


def _has_card(value: object) -> bool:
    return inspect.isclass(value) and "_card" in vars(value)
