"""Wrapper of numba: compilation on the first call, cached, without the GIL."""

import functools
import types
import typing
import warnings
from pathlib import Path


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

    options: typing.ClassVar[dict[str, bool]] = {}

    def __init__(self, func):
        functools.update_wrapper(self, func)
        self.py_func = func

    @functools.cached_property
    def compiled(self):
        """The numba dispatcher, built on first use."""
        return _compile(self.py_func, self.options)

    @functools.cached_property
    def inner(self):
        """The same for calls by jitted functions only: compiles in two thirds of the time.

        It has none of the code that turns Python objects into arrays and back.
        """
        twin = _with_globals(self.py_func, self.py_func.__globals__)
        twin.__qualname__ += ".inner"  # another file in the cache
        without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return _compile(twin, {**self.options, **without})

    def __call__(self, *args):
        return self.compiled(*args)

    def __reduce__(self):  # by name, as pickle does with functions
        return self.__qualname__


class jit_leaf(jit):
    """Like `jit`, for functions that create no arrays and return none.

    numba counts references to each array that is indexed, sliced or taken from a tuple around a
    call, by atomic instructions: pursuits with short codes spent half of their time on this. Such
    functions need no counts, as their callers hold the arrays. numba refuses to compile one that
    creates an array; one that returns an array would free it too early.
    """

    options: typing.ClassVar[dict[str, bool]] = {"_nrt": False}


def _compile(func, options):
    import numba

    # numba resolves global names when it compiles: give it dispatchers in place of our wrappers
    names = {
        name: value.inner
        for name, value in func.__globals__.items()
        if isinstance(value, jit) and name in func.__code__.co_names
    }
    if names:
        func = _with_globals(func, {**func.__globals__, **names})
    try:
        return numba.njit(cache=True, nogil=True, **options)(func)
    except RuntimeError:  # no place to write the cache, as in a read-only container
        if Path(func.__code__.co_filename).exists():  # else typed in by hand: nothing to keep
            _warn_once()
        return numba.njit(nogil=True, **options)(func)


@functools.cache
def _warn_once():
    warnings.warn(
        "numba finds no folder to keep compiled functions in, so every new process compiles them "
        "again, for seconds: set the environment variable NUMBA_CACHE_DIR to a folder that can be "
        "written to.",
        RuntimeWarning,
        stacklevel=2,
    )


def _with_globals(func, namespace):
    twin = types.FunctionType(
        func.__code__, namespace, func.__name__, func.__defaults__, func.__closure__
    )
    return functools.update_wrapper(twin, func)
