"""Registry of methods, derived from the cards on the classes."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How `make compare` compares a method with its nearest scikit-learn estimator.

    Attributes
    ----------
    baseline : str
        Import path of the scikit-learn estimator, `"sklearn.decomposition.PCA"`.
    problem : str
        Name of the problem in `benchmarks/compare/problems/`: it holds the data, the folds, the
        scorer, and the steps before and after the estimator in the pipeline.
    grid, baseline_grid : mapping of str to sequence
        Parameters searched by GridSearchCV, the same budget for both.
    params, baseline_params : mapping
        Parameters held fixed.
    bounds, baseline_bounds : mapping
        The value of a searched parameter at which its grid ends for a reason that a comment
        gives; the report says nothing where this value is the best.
    """

    baseline: str
    problem: str
    grid: Mapping[str, Sequence[Any]]
    baseline_grid: Mapping[str, Sequence[Any]]
    params: Mapping[str, Any] = field(default_factory=dict)
    baseline_params: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    baseline_bounds: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MethodCard:
    """Facts about one public class, stored on the class as `_card`.

    Attributes
    ----------
    family : str
        Heading under which the user guide lists the method.
    cite : tuple of str
        Keys of entries in `docs/references.bib`.
    cost : str
        Leading cost of `fit`, in n (samples), p (features), k (components), T (passes).
    checks : tuple of mappings
        Parameter sets with which the common tests run.
    known_failures : mapping of str to str
        scikit-learn check -> reason why it cannot pass.
    method : str
        Stem of page, example and test file; derived from the class name when empty, so that
        only the second class of one method (a regressor next to a classifier) names it.
    comparison : Comparison or None
        None when nothing in scikit-learn does the same work.
    no_comparison : str
        Why there is no comparison, as one sentence; empty when there is one.
    tier : {"core", "standard", "textbook"}
        "core" if the method wins a benchmark designed for it, or if other methods are built from
        it; "standard" if a pipeline of several steps gives the same answer, or one as good;
        "textbook" if one estimator of scikit-learn is as good and as fast.
    instead : str
        What does the same work, as one sentence; empty for "core". It names the pipeline of a
        "standard" method, and begins "Use" for a "textbook" one.
    samples : {"rows", "series", "strings", "image"}
        What `fit` takes: rows of a table, a collection of series or of strings, or one image.
    rows : str
        "independent" if answers for a row depend on that row only; else the reason why not, as
        the end of "does not take a table in blocks, as ...".
    fits_blocks : bool
        Whether `fit` takes tables in blocks: Dask arrays and data frames.
    """

    family: str
    cite: tuple[str, ...]
    cost: str
    checks: tuple[Mapping[str, Any], ...] = ({},)
    known_failures: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    comparison: Comparison | None = None
    no_comparison: str = ""
    tier: str = "core"
    instead: str = ""
    samples: str = "rows"
    rows: str = "independent"
    fits_blocks: bool = False


@dataclass(frozen=True, kw_only=True)
class KernelCard:
    """Facts about one public kernel class, stored on the class as `_card`.

    Attributes
    ----------
    family, cite, method
        As on a `MethodCard`; the kernels of a family share one page, example and test file.
    cost : str
        Leading cost of a matrix of kernel values, in n (samples), p (features).
    domain : str
        What one sample is: "vector", "set", "node", "string", "text", "tree", "graph", "series",
        "any".
    psd : bool
        Whether every matrix of kernel values is positive semi-definite, for all parameters.
    known_failures
        Empty: kernels are not estimators.
    comparison : Comparison or None
        As on a `MethodCard`; the kernel is compared inside `Normalized` and `KernelTransformer`,
        and `grid` names its own parameters.
    no_comparison : str
        As on a `MethodCard`. One kernel speaks for its family: the others need neither.
    tier, instead : str
        As on a `MethodCard`.
    """

    family: str
    cite: tuple[str, ...]
    cost: str
    domain: str
    psd: bool = True
    method: str = ""
    known_failures: Mapping[str, str] = field(default_factory=dict)
    comparison: Comparison | None = None
    no_comparison: str = ""
    tier: str = "core"
    instead: str = ""


def snake_case(name: str) -> str:
    """Stem of the files of a class.

    >>> snake_case("SlowFeatureAnalysis"), snake_case("RobustPCA"), snake_case("CCIPCA")
    ('slow_feature_analysis', 'robust_pca', 'ccipca')
    """
    word_starts = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    return re.sub(word_starts, "_", name).lower()


def method_stem(cls: type) -> str:
    """Stem of page, example and tests of an estimator class."""
    card = getattr(cls, "_card", None)  # a search has none
    return (card.method if card else "") or snake_case(cls.__name__)


def without_comparison() -> dict[str, str]:
    """Name of each estimator and kernel family that is not compared, and the reason.

    The reason is empty where a card lacks it.

    >>> without_comparison()["MinimumEnclosingBall"]
    'scikit-learn has no estimator of an enclosing ball.'
    """
    reasons = {}
    for cls in all_estimators():
        card = _card_of(cls)
        if card.comparison is None:
            reasons[cls.__name__] = card.no_comparison

    # one kernel speaks for its family
    families: dict[str, list[MethodCard | KernelCard]] = {}
    for cls in all_kernels():
        card = _card_of(cls)
        families.setdefault(card.family, []).append(card)
    for family, cards in sorted(families.items()):
        if all(card.comparison is None for card in cards):
            given = [card.no_comparison for card in cards if card.no_comparison]
            reasons[family] = given[0] if given else ""
    return reasons


def _card_of(cls: type) -> MethodCard | KernelCard:
    card: MethodCard | KernelCard = cls._card  # type: ignore[attr-defined]
    return card


def public_modules() -> list[str]:
    """Names of the public modules of the package, sorted."""
    folder = str(Path(__file__).parents[1])
    packages = [info.name for info in pkgutil.iter_modules([folder]) if info.ispkg]
    return sorted(f"skmoderndata.{name}" for name in packages if not name.startswith("_"))


def public_homes() -> dict[str, str]:
    """Return the module from which each public name is imported.

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


def _carded_classes() -> list[type]:
    classes: set[type] = set()
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", ())
        public = [getattr(module, name) for name in names]
        classes.update(filter(_has_card, public))
    return sorted(classes, key=_name_and_module)


def _name_and_module(cls: type) -> tuple[str, str]:
    return cls.__name__, cls.__module__


def _has_card(value: object) -> bool:
    return inspect.isclass(value) and "_card" in vars(value)
