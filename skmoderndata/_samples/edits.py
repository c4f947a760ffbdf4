"""Edit distances of collections of sequences, for metrics and transformers."""

from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skmoderndata._estimator.compat import (
    N_JOBS,
    NON_NEGATIVE,
    Interval,
    validate_params,
)
from skmoderndata._samples.sequences import one_alphabet, pack
from skmoderndata._solvers.common.linalg import mirror_lower
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.edits import EditCosts, edit_distances, one_word

# Approximate number of table cells that a thread computes in one task.
CELLS = 2**24


@validate_params(  # type: ignore[untyped-decorator]
    {
        "gap_cost": [Interval(Real, 0, None, closed="neither")],
        "substitution_cost": [NON_NEGATIVE],
        "normalize": ["boolean"],
        "n_jobs": N_JOBS,
    },
    prefer_skip_nested_validation=True,
)
def edit_matrix(
    X: Any,
    Z: Any = None,
    *,
    gap_cost: float = 1.0,
    substitution_cost: float = 1.0,
    normalize: bool = False,
    n_jobs: int | None = None,
    name: str = "edit_distance",
) -> Array:
    """Compute the edit distances of all pairs, as `skmoderndata.metrics.edit_distance` does.

    `name` is the name of the caller, for error messages.
    """
    return matrix_of_edits(
        X,
        Z,
        gap_cost=gap_cost,
        substitution_cost=substitution_cost,
        normalize=normalize,
        n_jobs=n_jobs,
        name=name,
    )


def matrix_of_edits(
    X: Any,
    Z: Any,
    *,
    gap_cost: float = 1.0,
    substitution_cost: float = 1.0,
    normalize: bool = False,
    n_jobs: int | None = None,
    name: str = "edit_distance",
) -> Array:
    """Compute the same as `edit_matrix`, from parameters that are known to be valid."""
    costs = EditCosts(float(gap_cost), float(substitution_cost))
    A = pack(X, name)
    is_square = Z is None or Z is X
    A, B = (A, A) if is_square else one_alphabet(A, pack(Z, name), name)
    D = np.zeros((len(A), len(B)))
    others = (B.codes, B.offsets)

    def work(rows: slice) -> None:
        edit_distances(
            A.codes, A.offsets, others, costs, first=rows.start, own=is_square, out=D[rows]
        )

    # compute blocks of rows with about the same number of table cells
    if effective_n_jobs(n_jobs) == 1:
        work(slice(0, len(A)))
    else:
        pool = Parallel(n_jobs=n_jobs, require="sharedmem")  # `work` writes into D
        pool(delayed(work)(rows) for rows in table_blocks(A.lengths, B.lengths))

    if is_square and not one_word(A.offsets, costs):
        mirror_lower(D)

    # compute the metric of Yujian and Bo: 2 d / (g (|x| + |z|) + d)
    if normalize:
        total = costs.gap * (A.lengths[:, None] + B.lengths) + D
        D = np.divide(2.0 * D, total, out=np.zeros_like(D), where=total > 0)
    return D


def table_blocks(rows: Array, columns: Array) -> list[slice]:
    """Split rows into blocks whose tables have about `CELLS` cells, for these lengths."""
    work = np.cumsum((rows + 1.0) * (columns.sum() + len(columns) + 1.0))
    block = np.floor(work / CELLS)
    edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(rows)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]
