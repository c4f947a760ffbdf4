"""Threads for independent pieces of work, and one for BLAS where matrices are small."""

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
    """Return ``[function(item) for item in items]``, in threads where `n_jobs` asks for several.

    For pieces that share memory and take some milliseconds: joblib, which says how many threads
    there are, looks for their results every ten milliseconds only. Ctrl-C waits for the pieces
    that are begun.
    """
    from joblib import effective_n_jobs
    from sklearn import get_config, set_config

    items = list(items)
    n_threads = min(effective_n_jobs(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]

    settings = functools.partial(set_config, **get_config())  # each thread has its own
    pool = ThreadPoolExecutor(n_threads, initializer=settings)
    try:
        return list(pool.map(function, items))
    finally:
        pool.shutdown(cancel_futures=True)  # after an error, or Ctrl-C, no more pieces


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS takes one thread: small products on two threads stall busy cores.

    The number of threads belongs to the whole process. It is lowered when the first of several
    contexts begins and restored when the last one ends, in whichever threads they are.
    """
    user = _User()
    try:
        _ONE_THREAD.enter(user)
        yield
    finally:
        _ONE_THREAD.leave(user)


class _User:
    """One context."""


class _SharedLimit:
    """A limit of BLAS to one thread, which holds as long as it has users."""

    def __init__(self) -> None:
        # reentrant: the garbage collector may end a forgotten context at any time
        self._lock = threading.RLock()
        # in which thread each user is; one whose `leave` was interrupted goes with its frame
        self._threads: WeakKeyDictionary[_User, int] = WeakKeyDictionary()
        self._before: list[tuple[Any, int]] = []  # libraries, and their numbers of threads

    def enter(self, user: _User) -> None:
        """Add a user."""
        with self._lock:
            if not self._before:
                libraries = blas_controller().lib_controllers
                self._before = [(one, one.num_threads) for one in libraries if is_blas(one)]

            # the first user of a thread sets it to one; others find it so
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
                if getattr(library, "threading_layer", "") == "openmp":  # one for each thread
                    over = thread not in self._threads.values()
                if over and library.num_threads == 1:  # else somebody has set it meanwhile
                    set_threads(library, number)
            if not self._threads:
                self._before = []


_ONE_THREAD = _SharedLimit()


def is_blas(library: Any) -> bool:
    """Whether a library of threadpoolctl is a BLAS."""
    return bool(library.user_api == "blas")


def set_threads(library: Any, number: int) -> None:
    """Set the number of threads, and let other threads set it again.

    Since threadpoolctl 3.8 a library belongs to the thread that has set its number, and ignores
    others until that one releases it. Inside of a user's `threadpool_limits` nothing changes.
    """
    library.set_num_threads(number)
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


@functools.cache
def blas_controller() -> Any:
    """Return threadpoolctl's view of the loaded BLAS libraries, looked up once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
