"""Wrapper around numba: functions are compiled on the first call, cached, and release the GIL.

Without numba the functions run interpreted, and the first call warns.
"""

import contextlib
import functools
import gc
import os
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

try:
    import fcntl
except ImportError:  # fcntl is not available on Windows
    fcntl = None  # type: ignore[assignment]

# Number of seconds of compilation after which a message announces the compilation.
WAIT = 3.0
# Minimum number of seconds between two compilations that count as different calls.
PAUSE = 1.0
# False as a variable, because numba would compile functions again for a literal False.
FALSE: Any = np.bool_(False)


class jit:
    """Compile a function with numba when it is first called.

    Importing a module with jitted functions does not load numba. Jitted functions may call each
    other by their global names. `py_func` is the plain Python function, for tests.

    >>> @jit
    ... def double(x):
    ...     return 2 * x
    >>> double(3.0)
    6.0
    """

    options: ClassVar[dict[str, bool]] = {}

    def __init__(self, func):
        functools.update_wrapper(self, func)
        self.py_func = func

    @functools.cached_property
    def compiled(self):
        """The numba dispatcher, built on first use."""
        return _compile(self.py_func, {**self.options, "no_cfunc_wrapper": True})

    @functools.cached_property
    def inner(self):
        """The dispatcher for calls from other jitted functions.

        It compiles in two thirds of the time, because it contains no code that converts Python
        objects to arrays and back.
        """
        twin = _with_globals(self.py_func, self.py_func.__globals__)
        twin.__qualname__ += ".inner"  # the cache needs a different file name
        without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return _compile(twin, {**self.options, **without})

    def __call__(self, *args):
        try:
            return self.compiled(*args)
        finally:
            _first_use.finish()

    def __reduce__(self):  # pickle by name, as functions are pickled
        return self.__qualname__  # type: ignore[attr-defined]


class jit_leaf(jit):
    """Like `jit`, for functions that neither create nor return arrays.

    Around a call, numba counts the references to each array that is indexed, sliced or taken from
    a tuple, with atomic instructions: pursuits with short codes spent half of their time on this.
    These functions need no counts, because their callers hold the arrays. numba refuses to compile
    one that creates an array; one that returns an array would free it too early.
    """

    options: ClassVar[dict[str, bool]] = {"_nrt": False}


def why_interpreted():
    """Return why functions are not compiled: numba is missing or fails; empty if they are."""
    try:
        import numba  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name in (None, "numba"):
            return "numba is not installed"
        return f"numba cannot be imported ({_name(error)})"
    except ImportError as error:  # numba may not support this version of NumPy
        return f"numba cannot be imported ({_name(error)})"
    return ""


def _compile(func, options):
    reason = why_interpreted()
    if reason:
        _warn_once("no numba", f"{reason}{INTERPRETED}")
        # suppress overflow warnings, as compiled code does: bit counts overflow on purpose
        return np.errstate(all="ignore")(func)
    import numba

    # numba resolves global names when it compiles, so pass dispatchers in place of the wrappers
    names = {
        name: value.inner
        for name, value in func.__globals__.items()
        if isinstance(value, jit) and name in func.__code__.co_names
    }
    if names:
        func = _with_globals(func, {**func.__globals__, **names})

    try:
        dispatcher = numba.njit(cache=True, nogil=True, **options)(func)
    # there is no writable folder for the cache, for instance in a read-only container
    except RuntimeError:
        if Path(
            func.__code__.co_filename
        ).exists():  # functions defined at a prompt are not cached
            _warn_once(
                "no folder", f"numba finds no folder to keep compiled functions in{AGAIN}"
            )
        return numba.njit(nogil=True, **options)(func)

    dispatcher._cache = _ForgivingCache(dispatcher._cache)
    return dispatcher


class _ForgivingCache:
    """numba's cache of one function; a damaged file or a full disk only costs time."""

    def __init__(self, cache):
        self._cache = cache

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def load_overload(self, signature, target):
        """Load compiled code, or return None if there is none that can be read."""
        compiled = self._load(signature, target)
        if compiled is None:
            _first_use.begin()
        return compiled

    def _load(self, signature, target):
        try:
            return self._cache.load_overload(signature, target)
        except Exception as error:  # reading a damaged pickle can raise any exception
            _warn_once(
                "damaged",
                f"A file with compiled functions in {self._cache.cache_path} is damaged "
                f"({_name(error)}): they are compiled again, and saved again.",
            )
        try:
            # without this, the damaged index would be read again before each write
            self._cache.flush()
        except OSError:
            self._cache.disable()
        return None

    def save_overload(self, signature, compiled):
        """Save compiled code if it can be written."""
        _first_use.end()
        try:
            with _locked(self._cache.cache_path):
                self._cache.save_overload(signature, compiled)
        except OSError as error:
            _warn_once(
                "not written",
                f"numba cannot write compiled functions to {self._cache.cache_path} "
                f"({_name(error)}){AGAIN}",
            )


class FirstUse:
    """What happens around the first use: a line if it compiles for seconds, and no collections.

    numba calls `begin` before it compiles a function that is not in the cache, and `end` after it;
    this includes the functions that it calls. The line appears on standard error, once in a
    process. The collector of garbage pauses, because numba creates so many objects that it would
    search all objects of the process several times, for a tenth of the time of a first call.
    """

    def __init__(self, clock=time.perf_counter):
        self.clock = clock
        # number of functions that are being compiled; each is called by the previous one
        self.depth = 0
        self.start = 0.0
        self.latest = -PAUSE
        self.announced = False
        self.paused = False  # whether `begin` has stopped the garbage collector

    def begin(self):
        """Note that a function is going to be compiled."""
        if self.depth == 0 and self.clock() - self.latest >= PAUSE:
            self.start = self.clock()
        if gc.isenabled():
            gc.disable()
            self.paused = True
        self.depth += 1
        self._announce()

    def end(self):
        """Note that a function has been compiled."""
        self.depth = max(self.depth - 1, 0)
        self.latest = self.clock()
        if self.depth:
            self._announce()
        else:
            self._resume()

    def finish(self):
        """Note that a call has ended: no `end` follows, even if a compilation failed."""
        if self.depth:
            self.depth = 0
            self.latest = self.clock()
            self._resume()

    def _resume(self):
        """Let the collector run again, unless the caller had stopped it."""
        if self.paused:
            gc.enable()
            self.paused = False

    def _announce(self):
        if self.announced or self.clock() - self.start < WAIT or _is_quiet():
            return
        self.announced = True
        sys.stderr.write(
            "skmoderndata: compiling for the first use, about 10 s; later calls start at once "
            "(SKMODERNDATA_QUIET=1 hides this line)\n"
        )
        sys.stderr.flush()


def _is_quiet():
    """Return whether to omit the line: under pytest, or if the environment requests it."""
    return "pytest" in sys.modules or bool(os.environ.get("SKMODERNDATA_QUIET"))


@contextlib.contextmanager
def _locked(folder):
    """Let only one process at a time write to a folder of the cache.

    numba numbers the files of a function. Two processes that save different signatures at the
    same time would choose the same number, and one would later load the other's code.
    """
    if fcntl is None:
        yield
        return
    with open(Path(folder) / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


INTERPRETED = (
    ", so the loops of skmoderndata run interpreted, which takes up to 200 times as long. Install "
    "a version of numba that fits your Python and NumPy: `pip install --upgrade numba`."
)
AGAIN = (
    ", so every new process compiles them again, for seconds: set the environment variable "
    "NUMBA_CACHE_DIR to a folder that can be written to."
)


def _name(error):
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_warned: set[str] = set()
_first_use = FirstUse()


def _warn_once(kind, message):
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def _with_globals(func, namespace):
    twin = types.FunctionType(
        func.__code__, namespace, func.__name__, func.__defaults__, func.__closure__
    )
    return functools.update_wrapper(twin, func)
