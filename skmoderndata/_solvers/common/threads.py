"""Threads for independent pieces of work, and a single BLAS thread for small matrices."""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary


def in_threads(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None
) -> list[Any]:
    """Return ``[function(item) for item in items]``, in threads if `n_jobs` requests several.

    It is meant for pieces that share memory and take some milliseconds: joblib, which determines
    the number of threads, would check for results only every ten milliseconds. Ctrl-C waits for
    pieces that have begun.
    """
    items = list(items)
    if len(items) <= 1:
        return [function(item) for item in items]

    from joblib import effective_n_jobs
    from sklearn import get_config, set_config

    n_threads = min(effective_n_jobs(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]

    # threads do not inherit the configuration of scikit-learn, so set it again
    settings = functools.partial(set_config, **get_config())
    pool = ThreadPoolExecutor(n_threads, initializer=settings)
    try:
        return list(pool.map(function, items))
    finally:
        pool.shutdown(cancel_futures=True)  # start no more pieces after an error or Ctrl-C


def in_jobs(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    **hints: str,
) -> list[Any]:
    """Return ``[function(*task) for task in tasks]``, by joblib if there are several jobs.

    joblib takes longer to begin than one task over a small table. `hints` are `prefer` and
    `require`, as in joblib.
    """
    tasks = list(tasks)
    if len(tasks) <= 1:
        return [function(*task) for task in tasks]

    from joblib import Parallel, delayed, effective_n_jobs

    if effective_n_jobs(n_jobs) == 1:
        return [function(*task) for task in tasks]
    results: list[Any] = Parallel(n_jobs=n_jobs, **hints)(
        delayed(function)(*task) for task in tasks
    )
    return results


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: small products on two threads stall if the cores are busy.

    The number of threads is a property of the process. It is lowered when the first of several
    contexts begins and restored when the last one ends, whichever threads they belong to.
    """
    user = _User()
    try:
        _ONE_THREAD.enter(user)
        yield
    finally:
        _ONE_THREAD.leave(user)


class _User:
    """A context that requires the limit."""


class _SharedLimit:
    """A limit of BLAS to one thread, which holds as long as it has users."""

    def __init__(self) -> None:
        # use a reentrant lock, because the garbage collector may end an abandoned context at any
        # time
        self._lock = threading.RLock()
        # thread of each user; a user whose `leave` was interrupted disappears with its frame
        self._threads: WeakKeyDictionary[_User, int] = WeakKeyDictionary()
        self._before: list[tuple[Any, int]] = []  # libraries with their numbers of threads

    def enter(self, user: _User) -> None:
        """Add a user."""
        with self._lock:
            if not self._before:
                libraries = blas_controller().lib_controllers
                self._before = [
                    (library, library.num_threads) for library in libraries if is_blas(library)
                ]

            # the first user in a thread sets the limit
            this_thread = threading.get_ident()
            first_of_thread = this_thread not in self._threads.values()
            self._threads[user] = this_thread
            if first_of_thread:
                for library, _ in self._before:
                    set_threads(library, 1)

    def leave(self, user: _User) -> None:
        """Remove a user, even one whose `enter` was interrupted."""
        with self._lock:
            thread = self._threads.pop(user, -1)
            for library, number in self._before:
                over = not self._threads
                # OpenMP has a separate limit for each thread
                if getattr(library, "threading_layer", "") == "openmp":
                    over = thread not in self._threads.values()
                # restore the number unless it has been changed meanwhile
                if over and library.num_threads == 1:
                    set_threads(library, number)
            if not self._threads:
                self._before = []


_ONE_THREAD = _SharedLimit()


def is_blas(library: Any) -> bool:
    """Return whether a library of threadpoolctl is a BLAS."""
    return bool(library.user_api == "blas")


def set_threads(library: Any, number: int) -> None:
    """Set the number of threads, and allow other threads to set it again.

    Since threadpoolctl 3.8, a library belongs to the thread that has set its number, and ignores
    other threads until this one releases it. Inside a user's `threadpool_limits`, nothing changes.
    """
    library.set_num_threads(number)
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


@functools.cache
def blas_controller() -> Any:
    """Return threadpoolctl's view of the loaded BLAS libraries, looked up once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
