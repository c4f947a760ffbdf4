"""Base class of the core vector machines: parameters, search, results and warnings."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import linalg

from skmoderndata._estimator.base import warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    Interval,
    check_sample_weight,
)
from skmoderndata._estimator.validation import check_magnitude
from skmoderndata._kernelized.checks import resolved_gram, scale_first
from skmoderndata._kernelized.expansion import (
    DIAGONAL_ROWS,
    KernelRows,
    largest_diagonal,
    surely_psd,
)
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.machines import KernelMachine
from skmoderndata._kernelized.row_store import RowStore
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.tolerances import INDEFINITE
from skmoderndata._solvers.margins.core_set import core_set
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT

CORE_CONSTRAINTS = {
    **KERNEL_CONSTRAINTS,
    "tol": [NON_NEGATIVE],
    "sample_size": [AT_LEAST_ONE],
    "batch_size": [AT_LEAST_ONE, None],
    "max_core": [Interval(Integral, 2, None, closed="left"), None],
    "max_iter": [AT_LEAST_ONE],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": N_JOBS,
}

# Number of reference samples; samples equally similar to all of them count as copies.
TOLD_APART = 16
# Maximum number of samples per kernel row in memory; with more samples per row, a warning is
# issued.
FEW_ROWS = 100


class CoreVectors(KernelMachine):
    """Mixin for estimators that solve their dual problem on a core set."""

    def _checked_weights(self, X, sample_weight):
        """Check the sample weights; return None if there are none."""
        if sample_weight is None:
            return None
        reference = X if hasattr(X, "dtype") else np.zeros((len(X), 1))
        return check_sample_weight(
            sample_weight, reference, dtype=np.float64, ensure_non_negative=True
        )

    def _costs(self, weights):
        """Return the costs `2 C u` of samples with weights u.

        Raises ValueError if they exceed the supported range of magnitudes.
        """
        costs = 2.0 * self.C * np.asarray(weights, dtype=np.float64)
        owner = type(self).__name__
        return check_magnitude(costs, owner=owner, input_name="C times sample_weight")

    def _kernel_rows(self, X, weights=None, *, sure=False):
        """Return the kernel rows of the samples, and the largest `k(x, x)`."""
        common = None if weights is None else weights / weights.max()
        gram = resolved_gram(self, X, common)
        gram = gram.seen_from_mean(X) if self._free_offset else gram
        rows = KernelRows(gram, X, n_jobs=self.n_jobs)
        diagonal = largest_diagonal(rows, sure=sure)
        if not np.isfinite(diagonal):
            raise ValueError(
                f"kernel={self.kernel!r} returns values that are not finite: rescale X."
            )
        return rows, diagonal

    def _last_core(self):
        """Return the state of the last call of `fit` if `warm_start` is set, otherwise None."""
        return getattr(self, "_core", None) if self.warm_start else None

    def _finished_by(self, results):
        """Return "coordinate_descent" if it finished any of the problems, otherwise `solver`."""
        handed_over = any(result.handed_over for result in results)
        return "coordinate_descent" if handed_over else self.solver

    def _all_rows(self, rows, ids, bias, *, shared=False):
        """Return a function that creates a cache of the kernel rows of the samples.

        A shared cache is filled with all rows at once if it can hold them.
        """

        def store():
            X = rows.X
            if ids is not None:
                X = X[np.ix_(ids, ids)] if rows.gram.precomputed else take(X, ids)
            row_store = RowStore(rows.gram, X, cache_size=self.cache_size, plus=bias)
            if FEW_ROWS * len(row_store.values) < row_store.n:
                warnings.warn(
                    f"{type(self).__name__}: more than a fifth of the samples are support "
                    f"vectors, and cache_size={self.cache_size:g} holds the kernel rows of "
                    f"{len(row_store.values)} of {row_store.n} samples, so rows are computed "
                    "repeatedly. Set max_core to limit the number of support vectors, or "
                    "increase cache_size.",
                    UserWarning,
                    stacklevel=2,
                )
            if shared and len(row_store.values) == row_store.n:
                row_store.bring_all(self.n_jobs)
            return row_store

        return store

    def _search(
        self,
        problem,
        rng,
        progress,
        *,
        last,
        tol=None,
        max_core=None,
        max_iter=None,
        eps=None,
    ):
        """Solve a problem on a core set, starting from the state `last` unless it is None."""
        max_core = self.max_core or max_core
        if self.solver == "cvxpy":
            max_core = min(max_core or CVXPY_LIMIT, CVXPY_LIMIT)

        result = core_set(
            problem,
            tol=self.tol if tol is None else tol,
            eps=eps,
            solver=self.solver,
            sampling=None if self.batch_size is None else (self.sample_size, self.batch_size),
            max_core=max_core,
            max_iter=min(self.max_iter, max_iter or self.max_iter),
            cache_size=self.cache_size,
            start=None if last is None else problem.begin(*last),
            rng=rng,
            progress=progress,
        )

        if not surely_psd(problem.rows.gram):
            check_convex(problem.gram, problem.slack, result.core[result.weights > 0])
        return result

    def _store_work(self, rows, results):
        """Store the duality gap and the work.

        `dual_gap_` and `n_iter_` are maxima over the problems, `n_passes_` is their sum.
        """
        self.dual_gap_ = float(max(result.gap for result in results))
        self.n_iter_ = int(max(result.n_iter for result in results))
        self.n_passes_ = int(sum(result.n_passes for result in results))
        self.n_kernel_evaluations_ = int(rows.n_evaluations)

    def _warn_above_tol(self, result, X, *, violation=False):
        """Warn that the search ended above `tol`; name the gap and the parameter to change."""
        units = "pairs" if hasattr(self, "core_pairs_") else "samples"
        reached = (
            f"with {len(result.core)} core {units} after {self.n_iter_} solutions the relative "
            f"duality gap is {result.gap:.1e} (tol={self.tol:g})"
        )
        if violation:
            reached += (
                f" and the relative violation of the margin is up to {result.violation:.1e}"
            )
        remedy = scale_first(X) or "increase max_iter or tol"
        if result.full:
            remedy = "increase max_core"
            if self.solver == "ball" and (self.max_core or np.inf) > len(result.core):
                remedy = "increase cache_size"
            elif self.solver == "cvxpy" and len(result.core) >= CVXPY_LIMIT:
                remedy = "use solver='core_set'"
        warn_not_converged(self, reached=reached, remedy=remedy)


def diagonal_by_blocks(gram, X):
    """Compute the kernel value of each sample with itself, block by block."""
    if gram.precomputed:
        return gram.diag(X)
    n = count_samples(X)
    values = np.empty(n)
    for first in range(0, n, DIAGONAL_ROWS):
        rows = slice(first, first + DIAGONAL_ROWS)
        values[rows] = gram.diag(take(X, rows))
    return values


def check_convex(gram, slack, indices, limit=CVXPY_LIMIT):
    """Raise ValueError if `gram + slack` on the indices has a negative eigenvalue.

    Only the first `limit` indices are checked.
    """
    checked = indices[:limit]
    K = gram(checked, checked)
    top = float(np.abs(K).max(initial=0.0))
    ridge = slack(checked)
    K[np.diag_indices(len(K))] += ridge + INDEFINITE * top
    try:
        linalg.cholesky(K, check_finite=False)
    except linalg.LinAlgError:
        lowest = float(linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
        raise ValueError(
            f"The kernel is not positive semi-definite: the matrix of {len(checked)} samples has "
            f"the eigenvalue {lowest:.2g}, with 1 / (2 C) = {float(np.min(ridge)):.2g} on its "
            "diagonal (in units of the largest similarity). Use another kernel, or a smaller C, "
            "which adds to the diagonal."
        ) from None
