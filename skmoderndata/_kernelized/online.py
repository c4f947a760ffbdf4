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

# Number of samples whose kernel values are computed at a time.
BLOCK_SAMPLES = 512


@dataclass(frozen=True)
class Stream:
    """Samples with coefficients, the state after the samples processed so far.

    A stream is immutable: a pass returns a new one. If a pass is interrupted, by Ctrl-C or an
    error in the kernel, the estimator still has the previous stream.

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
        """Return a stream without samples, for data of the same form as X."""
        no_coef = np.zeros((*n_functions, 0))
        function = Expanded(no_coef, no_coef, no_coef)
        no_index = np.zeros(0, int)
        samples = gram.subset(X, no_index)
        return cls(gram, samples, no_index, function)

    def pass_over(
        self, X: Any, order: Array, step: Callable[["Stream", Array, Expanded, Array], Any]
    ) -> tuple["Stream", Any]:
        """Pass over samples of X in the given order.

        Parameters
        ----------
        X : array, sparse matrix or list
            Samples.
        order : ndarray of int
            Indices of the samples, in the order of the pass.
        step : callable
            Function of four arguments: the stream before a block, the kernel values of the block
            with the samples of the stream and with itself, the functions on all these samples,
            which it updates in place, and the indices of the block. It returns a count.

        Returns
        -------
        stream : Stream
            Stream after the last block.
        count : number or ndarray
            Sum of the results of `step`.
        """
        stream: Stream = self
        count: Any = 0
        for start in range(0, len(order), BLOCK_SAMPLES):
            index = order[start : start + BLOCK_SAMPLES]
            K = stream._kernel_values(X, index)
            function = stream._with_room_for(len(index))
            count = count + step(stream, K, function, index)
            stream = stream._with_block(X, index, function)
        return stream, count

    def _kernel_values(self, X: Any, index: Array) -> Array:
        """Return kernel values of a block with the samples and, in the last columns, itself."""
        block = take(X, index)
        columns = self.gram.subset(X, index)
        with one_blas_thread():
            inner = Expansion(self.gram, columns).kernel(block)
            outer = np.zeros((len(index), 0))
            if len(self.index):
                outer = Expansion(self.gram, self.samples).kernel(block)
        K = np.hstack([outer, inner])
        return np.asarray(K, dtype=np.float64)

    def _with_room_for(self, n: int) -> Expanded:
        """Return a copy of the functions with n more samples, which have no coefficients yet."""
        n_functions = self.function.coef.shape[:-1]
        zeros = np.zeros((*n_functions, n))
        new = Expanded(zeros, zeros, zeros - 1)
        pairs = zip(self.function, new, strict=True)
        extended = (np.concatenate(pair, axis=-1) for pair in pairs)
        return Expanded(*extended)

    def _with_block(self, X: Any, index: Array, function: Expanded) -> "Stream":
        """Return the stream after a block: all old and new samples with a coefficient."""
        # select the samples with a nonzero coefficient
        has_coef = (function.coef != 0) | (function.late != 0)
        retained = has_coef.reshape(-1, has_coef.shape[-1]).any(axis=0)
        n_old = len(self.index)
        old = np.flatnonzero(retained[:n_old])
        new = index[np.flatnonzero(retained[n_old:])]

        # join old and new samples, indices and coefficients
        samples = self.gram.subset(X, new)
        if len(old):
            samples = join(take_columns(self.samples, old), samples)
        joined_index = np.r_[self.index[old], new]
        coefs = Expanded(*(values[..., retained] for values in function))
        time = self.time + len(index)
        return replace(self, samples=samples, index=joined_index, function=coefs, time=time)

    def gathered(self) -> "Stream":
        """Return the stream in which the coefficients of repeated samples are added up."""
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

    def take(self, index: Array) -> Any:
        """Return the samples at these positions."""
        return take_columns(self.samples, index)

    def mean(self) -> Array:
        """Return the coefficients of the average of all functions so far."""
        return self.function.coef - self.function.late / max(1, self.time)


def take_columns(samples: Any, index: Array) -> Any:
    """Select samples, also for a precomputed kernel."""
    if hasattr(samples, "indices") and not sparse.issparse(samples):
        return type(samples)(samples.indices[index])
    return take(samples, index)


def join(first: Any, second: Any) -> Any:
    """Append samples; dense or sparse rows take the form of the first argument."""
    if sparse.issparse(first):
        stacked: Any = sparse.vstack
        second = sparse.csr_array(second)
        return stacked([first, second], format="csr")
    if isinstance(first, np.ndarray):
        second = second.toarray() if hasattr(second, "toarray") else second
        return np.concatenate([first, second])
    if hasattr(first, "indices"):
        return type(first)(np.r_[first.indices, second.indices])
    return [*first, *second]
