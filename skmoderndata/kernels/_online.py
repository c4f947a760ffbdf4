"""Online kernel machines: passes over the samples in blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.margins.online import Expanded
from skmoderndata._typing import Array
from skmoderndata.kernels._expansion import Expansion
from skmoderndata.kernels._resolve import Gram, take

BLOCK = 512  # samples whose kernel values are computed together


class Stream:
    """Samples with coefficients, extended by passes over further samples.

    Attributes
    ----------
    samples : array, sparse matrix or list
        Samples with a coefficient.
    coef, late, born : ndarray of shape (n_samples,) or (n_functions, n_samples)
        As in `Expanded`, for one or several functions.
    index : ndarray of int of shape (n_samples,)
        Index of each sample in the last data set.
    time : int
        Number of samples processed so far.
    """

    def __init__(self, gram: Gram, samples: Any, n_functions: tuple[int, ...] = ()) -> None:
        self.gram, self.samples, self.time = gram, samples, 0
        self.coef: Array = np.zeros((*n_functions, 0))
        self.late: Array = np.zeros((*n_functions, 0))
        self.born: Array = np.zeros((*n_functions, 0))
        self.index: Array = np.zeros(0, int)

    def go_through(
        self, X: Any, order: Array, step: Callable[[Array, Expanded, Array, int], int]
    ) -> int:
        """Pass over samples of X in a given order; `step` receives the kernel values of a block.

        Returns the number of changes, the sum of what `step` returns.
        """
        count = 0
        for start in range(0, len(order), BLOCK):
            chosen = order[start : start + BLOCK]
            block = take(X, chosen)
            columns = self.gram.subset(X, chosen)
            with one_blas_thread():
                inner = Expansion(self.gram, columns).kernel(block)
                outer = np.zeros((len(chosen), 0))
                if len(self.index):
                    outer = Expansion(self.gram, self.samples).kernel(block)
            K = np.asarray(np.hstack([outer, inner]), dtype=np.float64)
            none = np.zeros((*self.coef.shape[:-1], len(chosen)))
            function = Expanded(
                np.concatenate([self.coef, none], axis=-1),
                np.concatenate([self.late, none], axis=-1),
                np.concatenate([self.born, none - 1], axis=-1),
            )
            count += step(K, function, chosen, self.time)
            self.time += len(chosen)
            kept = (function.coef != 0) | (function.late != 0)
            kept = kept.reshape(-1, kept.shape[-1]).any(axis=0)
            n_old = len(self.index)
            old, new = np.split(np.flatnonzero(kept), [int(kept[:n_old].sum())])
            added = self.gram.subset(X, chosen[new - n_old])
            self.samples = join(take_columns(self.samples, old), added) if len(old) else added
            self.index = np.r_[self.index[old], chosen[new - n_old]]
            self.coef, self.late, self.born = (part[..., kept] for part in function)
        return count

    def gather(self) -> None:
        """Add up the coefficients of samples that occur several times."""
        index, first, place = np.unique(self.index, return_index=True, return_inverse=True)
        self.samples = take_columns(self.samples, first)
        shape = (*self.coef.shape[:-1], len(index))
        coef, late, born = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
        where: Any = (..., place)
        np.add.at(coef, where, self.coef)
        np.add.at(late, where, self.late)
        np.minimum.at(born, where, np.where(self.born < 0, np.inf, self.born))
        self.coef, self.late, self.born, self.index = coef, late, born, index

    def take(self, chosen: Array) -> Any:
        """Return some of the samples."""
        return take_columns(self.samples, chosen)

    def mean(self) -> Array:
        """Coefficients of the average of all functions so far."""
        return self.coef - self.late / max(1, self.time)


def take_columns(samples: Any, chosen: Array) -> Any:
    """Select samples, also for a precomputed kernel."""
    if hasattr(samples, "indices") and not sparse.issparse(samples):
        return type(samples)(samples.indices[chosen])
    return take(samples, chosen)


def join(samples: Any, others: Any) -> Any:
    """Append samples to others of the same kind."""
    if sparse.issparse(samples):
        stacked: Any = sparse.vstack
        return stacked([samples, others], format="csr")
    if isinstance(samples, np.ndarray):
        return np.concatenate([samples, others])
    if hasattr(samples, "indices"):
        return type(samples)(np.r_[samples.indices, others.indices])
    return [*samples, *others]
