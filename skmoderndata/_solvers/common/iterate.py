"""Counting passes, stopping, and notifying callbacks."""

from collections.abc import Iterator
from typing import Protocol


class Progress(Protocol):
    """Callbacks with which a solver reports its passes."""

    def begin(self) -> None:
        """Start one pass."""

    def end(self) -> bool:
        """Finish the pass; return True if the solver must stop."""
        ...


class WatchedProgress(Progress, Protocol):
    """Progress that records whether it has requested a stop."""

    stopped: bool


class Iterations:
    """Iterate until `residual <= tol`, at most `max_iter` times.

    The loop is an ordinary `for`; its body sets `residual`. After the loop, `n_iter`, `residual`
    and `converged` hold the outcome. A body that ends the loop itself sets `converged`, or `ended`
    if it has not converged, and executes `continue`: after a `break`, the callbacks would not be
    notified of the last pass.

    >>> it = Iterations(max_iter=100, tol=1e-3)
    >>> for _ in it:
    ...     it.residual = 2.0 ** -it.n_iter
    >>> it.n_iter, it.converged
    (10, True)
    """

    def __init__(self, max_iter: int, tol: float, progress: Progress | None = None) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress
        self.n_iter = 0
        self.residual = float("inf")
        self.converged = self.ended = False

    def __iter__(self) -> Iterator[int]:
        while self.n_iter < self.max_iter:
            self.n_iter += 1
            stop = False

            if self.progress is not None:
                self.progress.begin()
            yield self.n_iter
            if self.progress is not None:
                stop = self.progress.end()
            if self.residual <= self.tol:
                self.converged = True
            if self.converged or self.ended or stop:
                return


class Steps:
    """Passes of an optimiser that calls back after each step.

    >>> steps = Steps(max_iter=100)
    >>> with steps:
    ...     for residual in (1.0, 0.1, 0.01):
    ...         try:
    ...             steps.end(residual < 0.05)
    ...         except StopIteration:
    ...             break
    >>> steps.n_iter
    3

    `end` raises StopIteration, which ends SciPy's optimisers, if the caller has enough or a
    callback requests a stop. A step that the optimiser leaves open ends with the block.
    """

    def __init__(self, max_iter: int, progress: Progress | None = None) -> None:
        self.max_iter = max_iter
        self.progress = progress
        self.n_iter = 0
        self._open = False  # whether a pass has begun and not yet ended

    def __enter__(self) -> "Steps":
        self._begin()
        return self

    def end(self, enough: bool) -> None:
        """End a step; then end the optimiser if that is enough, or begin the next step."""
        self.n_iter += 1
        self._open = False
        stop = self.progress is not None and self.progress.end()
        if stop or enough:
            raise StopIteration
        if self.n_iter < self.max_iter:
            self._begin()

    def _begin(self) -> None:
        if self.progress is not None:
            self.progress.begin()
            self._open = True

    def __exit__(self, error_type: type | None, *error: object) -> None:
        if error_type is None and self._open and self.progress is not None:
            self.progress.end()
