"""Online kernel machines: passes over the samples in blocks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._kernelized.expansion import Expansion
from skmoderndata._kernelized.gram import Gram
from skmoderndata._samples.containers import take
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.online import Expanded

BLOCK_SAMPLES = 512  # samples whose kernel values are computed together


@dataclass(frozen=True)
class Stream:
    """Samples with coefficients, as the samples processed so far have left them.

    A stream does not change: a pass gives another one. So a pass that is interrupted, by Ctrl-C
    or a kernel that raises, leaves its estimator with the stream from before.

    Attributes
    ----------
    gram : Gram
        Kernel.
    samples : array, sparse matrix or list
        Samples with a coefficient.
    index : ndarray of int of shape (n_samples,)
        Index of each sample in the last data set.
    function : Expanded of arrays of shape (n_samples,) or (n_functions, n_samples)
        Coefficients of one or several functions.
    time : int
        Number of samples processed so far.
    """

    gram: Gram
    samples: Any
    index: Array
    function: Expanded
    time: int = 0

    @classmethod
    def empty(cls, gram: Gram, X: Any, n_functions: tuple[int, ...] = ()) -> "Stream":
        """Return a stream without samples, for data such as X."""
        nothing = np.zeros((*n_functions, 0))
        function = Expanded(nothing, nothing, nothing)
        none = np.zeros(0, int)
        samples = gram.subset(X, none)
        return cls(gram, samples, none, function)

    def pass_over(
        self, X: Any, order: Array, step: Callable[["Stream", Array, Expanded, Array], Any]
    ) -> tuple["Stream", Any]:
        """Pass over samples of X in a given order.

        Parameters
        ----------
        X : array, sparse matrix or list
            Samples.
        order : ndarray of int
            Which of them, in which order.
        step : callable
            Takes the stream before a block, the kernel values of the block with the samples of
            the stream and with itself, the functions on both, which it changes, and the indices
            of the block; returns what is to be counted.

        Returns
        -------
        stream : Stream
            The stream after the last block.
        count : number or ndarray
            Sum of what `step` has returned.
        """
        stream: Stream = self
        count: Any = 0
        for start in range(0, len(order), BLOCK_SAMPLES):
            chosen = order[start : start + BLOCK_SAMPLES]
            K = stream._kernel_values(X, chosen)
            function = stream._with_room_for(len(chosen))
            count = count + step(stream, K, function, chosen)
            stream = stream._with_block(X, chosen, function)
        return stream, count

    def _kernel_values(self, X: Any, chosen: Array) -> Array:
        """Kernel values of a block with the samples and, in the last columns, with itself."""
        block = take(X, chosen)
        columns = self.gram.subset(X, chosen)
        with one_blas_thread():
            inner = Expansion(self.gram, columns).kernel(block)
            outer = np.zeros((len(chosen), 0))
            if len(self.index):
                outer = Expansion(self.gram, self.samples).kernel(block)
        K = np.hstack([outer, inner])
        return np.asarray(K, dtype=np.float64)

    def _with_room_for(self, n: int) -> Expanded:
        """Copy of the functions with n further samples, which have no coefficients yet."""
        n_functions = self.function.coef.shape[:-1]
        none = np.zeros((*n_functions, n))
        further = Expanded(none, none, none - 1)
        pairs = zip(self.function, further, strict=True)
        extended = (np.concatenate(pair, axis=-1) for pair in pairs)
        return Expanded(*extended)

    def _with_block(self, X: Any, chosen: Array, function: Expanded) -> "Stream":
        """Stream after a block: of both the samples and the block, those with a coefficient."""
        # which of both
        has_coef = (function.coef != 0) | (function.late != 0)
        retained = has_coef.reshape(-1, has_coef.shape[-1]).any(axis=0)
        n_old = len(self.index)
        old = np.flatnonzero(retained[:n_old])
        new = chosen[np.flatnonzero(retained[n_old:])]

        # their samples, indices and coefficients
        samples = self.gram.subset(X, new)
        if len(old):
            samples = join(take_columns(self.samples, old), samples)
        index = np.r_[self.index[old], new]
        coefs = Expanded(*(values[..., retained] for values in function))
        time = self.time + len(chosen)
        return replace(self, samples=samples, index=index, function=coefs, time=time)

    def gathered(self) -> "Stream":
        """Stream with the coefficients of samples that occur several times added up."""
        index, first, columns = np.unique(self.index, return_index=True, return_inverse=True)
        coef, late, born = self.function
        shape = (*coef.shape[:-1], len(index))
        total = Expanded(np.zeros(shape), np.zeros(shape), np.full(shape, np.inf))

        where: Any = (..., columns)
        np.add.at(total.coef, where, coef)
        np.add.at(total.late, where, late)
        born = np.where(born < 0, np.inf, born)
        np.minimum.at(total.born, where, born)
        samples = take_columns(self.samples, first)
        return replace(self, samples=samples, index=index, function=total)

    def take(self, chosen: Array) -> Any:
        """Return some of the samples."""
        return take_columns(self.samples, chosen)

    def mean(self) -> Array:
        """Coefficients of the average of all functions so far."""
        return self.function.coef - self.function.late / max(1, self.time)


def take_columns(samples: Any, chosen: Array) -> Any:
    """Select samples, also for a precomputed kernel."""
    if hasattr(samples, "indices") and not sparse.issparse(samples):
        return type(samples)(samples.indices[chosen])
    return take(samples, chosen)


def join(samples: Any, others: Any) -> Any:
    """Append samples to others; dense and sparse rows become what the first are."""
    if sparse.issparse(samples):
        stacked: Any = sparse.vstack
        others = sparse.csr_array(others)
        return stacked([samples, others], format="csr")
    if isinstance(samples, np.ndarray):
        others = others.toarray() if hasattr(others, "toarray") else others
        return np.concatenate([samples, others])
    if hasattr(samples, "indices"):
        return type(samples)(np.r_[samples.indices, others.indices])
    return [*samples, *others]
