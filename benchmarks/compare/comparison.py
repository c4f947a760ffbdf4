"""A comparison with scikit-learn, as `benchmarks/compare/comparisons.py` lists it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How `make compare` compares a method with its nearest scikit-learn estimator.

    A kernel is compared inside `Normalized` and `KernelTransformer`; `grid` has the names of the
    parameters of the kernel.

    Attributes
    ----------
    baseline : str
        Import path of the scikit-learn estimator, `"sklearn.decomposition.PCA"`.
    problem : str
        Name of the problem in `benchmarks/compare/problems/`, which defines the data, the folds,
        the scorer, and the steps before and after the estimator in the pipeline.
    grid, baseline_grid : mapping of str to sequence
        Parameters searched by GridSearchCV, with the same budget for both.
    params, baseline_params : mapping
        Parameters with fixed values.
    bounds, baseline_bounds : mapping
        Value of a searched parameter at which its grid ends for a reason given in a comment; the
        report does not warn if this value is the best one.
    """

    baseline: str
    problem: str
    grid: Mapping[str, Sequence[Any]]
    baseline_grid: Mapping[str, Sequence[Any]]
    params: Mapping[str, Any] = field(default_factory=dict)
    baseline_params: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    baseline_bounds: Mapping[str, Any] = field(default_factory=dict)
