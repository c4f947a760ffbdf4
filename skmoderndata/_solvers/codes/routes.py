"""The algorithms for sparse codes by name: what each supports, and how it is called."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from skmoderndata._solvers.codes.bounded_lasso import bounded_lasso_codes
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.groups import group_lasso_codes
from skmoderndata._solvers.codes.lasso import METHODS as LASSO
from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.matching_pursuit import (
    group_matching_pursuit,
    matching_pursuit,
    nonnegative_matching_pursuit,
)
from skmoderndata._solvers.codes.proximal import proximal_codes
from skmoderndata._solvers.codes.signal_blocks import Atoms, SparseCodes
from skmoderndata._solvers.codes.thresholding import METHODS as PRUNING
from skmoderndata._solvers.codes.thresholding import hard_thresholding
from skmoderndata._solvers.common.typing import Array


class Task(NamedTuple):
    """Requirements on the codes; each route uses the fields that it needs."""

    atoms: Atoms
    mask: Array | None  # observed entries
    tol_sq: Array  # maximum squared residual of each signal, -1 for none
    bounded: bool  # whether any signal has a bound on its residual
    n_nonzero: int | None  # maximum number of atoms; None for the default of the route
    alpha: Array | None  # weights of the penalty
    groups: Array | None
    positive: bool
    tol: float
    max_iter: int | None  # None for the default of the route
    n_jobs: int | None
    memory: float  # maximum size of the Gram matrix in bytes


class Route(NamedTuple):
    """An algorithm and the options that it supports."""

    kind: str  # "greedy", "pruning" or "convex"
    solve: Callable[[Array, Task], SparseCodes]
    bounded: bool = False  # accepts bounds on the residual
    groups: bool = False
    positive: bool = True


def _greedy_options(task: Task) -> dict[str, Any]:
    """Options of the pursuits; by default, all atoms if there is a bound, else n / 10 atoms."""
    atoms = task.atoms.rows
    default = len(atoms) if task.bounded else max(1, atoms.shape[1] // 10)
    return {
        "n_nonzero": task.n_nonzero or default,
        "tol_sq": task.tol_sq,
        "mask": task.mask,
        "n_jobs": task.n_jobs,
        "memory": task.memory,
    }


def _omp(X: Array, task: Task, *, optimised: bool = False) -> SparseCodes:
    options = _greedy_options(task)
    if task.groups is not None:
        return group_matching_pursuit(X, task.atoms, task.groups, **options)
    if task.positive:
        return nonnegative_matching_pursuit(X, task.atoms, **options)
    return orthogonal_matching_pursuit(X, task.atoms, optimised=optimised, **options)


def _mp(X: Array, task: Task) -> SparseCodes:
    options = _greedy_options(task)
    return matching_pursuit(
        X, task.atoms, positive=task.positive, max_iter=task.max_iter, **options
    )


def _pruning(X: Array, task: Task, *, method: str) -> SparseCodes:
    options = _greedy_options(task)
    options["n_nonzero"] = task.n_nonzero or max(1, X.shape[1] // 10)
    return hard_thresholding(
        X,
        task.atoms,
        method=method,
        groups=task.groups,
        positive=task.positive,
        max_iter=task.max_iter or 100,
        **options,
    )


def _convex_options(X: Array, task: Task) -> dict[str, Any]:
    return {
        "alpha": task.alpha,
        "mask": task.mask,
        "positive": task.positive,
        "tol": task.tol,
        "max_iter": task.max_iter or 1000,
        "n_jobs": task.n_jobs,
        "memory": task.memory,
    }


def _lasso(X: Array, task: Task, *, method: str) -> SparseCodes:
    options = _convex_options(X, task)
    if task.groups is not None:
        del options["memory"]  # the group lasso forms no Gram matrix
        return group_lasso_codes(X, task.atoms, groups=task.groups, **options)
    if task.bounded:
        return bounded_lasso_codes(X, task.atoms, tol_sq=task.tol_sq.clip(min=0.0), **options)
    return lasso_codes(X, task.atoms, method=method, **options)


def _proximal(X: Array, task: Task, *, accelerate: bool) -> SparseCodes:
    options = _convex_options(X, task)
    options["max_iter"] = task.max_iter or 10_000
    return proximal_codes(X, task.atoms, accelerate=accelerate, **options)


ROUTES = {
    "omp": Route("greedy", _omp, bounded=True, groups=True),
    "ormp": Route("greedy", partial(_omp, optimised=True), bounded=True, positive=False),
    "mp": Route("greedy", _mp, bounded=True),
    **{
        name: Route("pruning", partial(_pruning, method=name), bounded=True, groups=True)
        for name in PRUNING
    },
    **{name: Route("convex", partial(_lasso, method=name)) for name in LASSO},
    "homotopy": Route("convex", partial(_lasso, method="homotopy"), bounded=True),
    "lasso": Route("convex", partial(_lasso, method="homotopy"), bounded=True, groups=True),
    "ista": Route("convex", partial(_proximal, accelerate=False)),
    "fista": Route("convex", partial(_proximal, accelerate=True)),
}
