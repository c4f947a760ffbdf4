"""The wrapper around numba: lazy, nestable, and the same numbers as plain Python."""

import ast
import errno
import gc
import importlib
import inspect
import os
import pickle
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching
from numpy.testing import assert_allclose

from skmoderndata import _solvers, compile
from skmoderndata._estimator.registry import all_estimators
from skmoderndata._solvers.common import jit as jit_module
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata.covariance import JamesStein


@jit
def square(x):
    return x * x


@jit
def sum_of_squares(values):
    total = 0.0
    for value in values:
        total += square(value)
    return total


def test_nested_functions_agree_with_plain_python():
    values = np.arange(5.0)
    assert_allclose(sum_of_squares(values), sum_of_squares.py_func(values), rtol=1e-15)
    assert "numba" in sys.modules


def test_jitted_functions_call_one_without_the_code_for_python():
    sum_of_squares(np.arange(3.0))
    assert square(2.0) == 4.0  # this is not the function that sum_of_squares calls
    called = sum_of_squares.compiled.py_func.__globals__["square"]
    assert called is square.inner
    assert called.targetoptions["no_cpython_wrapper"]
    assert not square.compiled.targetoptions.get("no_cpython_wrapper")
    assert called.stats.cache_path == square.compiled.stats.cache_path
    names = {d._cache._cache_file._index_name for d in (called, square.compiled)}
    assert len(names) == 2


def returned_arrays(source):
    """Names of what a function indexes and returns as well."""
    nodes = list(ast.walk(ast.parse(source)))
    indexed = {ast.unparse(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    values = [v for r in returned for v in (r.elts if isinstance(r, ast.Tuple) else [r])]
    return indexed & {ast.unparse(value) for value in values}


def test_leaves_return_no_arrays():
    assert returned_arrays("def f(a, t):\n    a[t] = 0.0\n    return t, a\n") == {"a"}
    assert returned_arrays("def f(a, t):\n    return a[t]\n") == set()
    leaves = 0
    for info in pkgutil.walk_packages(_solvers.__path__, _solvers.__name__ + "."):
        for function in vars(importlib.import_module(info.name)).values():
            if isinstance(function, jit_leaf):
                leaves += 1
                assert returned_arrays(inspect.getsource(function.py_func)) == set()
    assert leaves > 20


def test_leaves_create_no_arrays():
    assert jit_leaf(lambda x: x[0] + x[1])(np.arange(2.0)) == 1.0
    with pytest.raises(numba.TypingError, match="Only accept returning of array passed"):
        jit_leaf(lambda n: np.empty(n).sum())(3)


def test_compiled_once():
    sum_of_squares(np.arange(3.0))
    assert sum_of_squares.compiled is sum_of_squares.compiled
    assert sum_of_squares.compiled.signatures


def test_wrapper_keeps_name_and_doc():
    assert square.__name__ == "square"
    assert pickle.loads(pickle.dumps(square)).__name__ == "square"


def test_missing_cache_folder_is_reported_once(monkeypatch):
    real = numba.njit

    def without_folder(cache=False, **settings):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**settings)

    monkeypatch.setattr(numba, "njit", without_folder)
    monkeypatch.setattr(jit_module, "_warned", set())
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert jit(lambda x: x + 1)(2) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jit(lambda x: x + 2)(2) == 4


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A function and its caller, as a new process finds them with a cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit_module, "_warned", set())
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "two_functions.py").write_text(TWO_FUNCTIONS)

    def new_process():
        monkeypatch.delitem(sys.modules, "two_functions", raising=False)
        return importlib.import_module("two_functions").twice

    return new_process


ROOT = Path(__file__).resolve().parents[2]
TWO_FUNCTIONS = """
from skmoderndata._solvers.common.jit import jit

@jit
def once(x):
    return 3 * x

@jit
def twice(x):
    return 2 * once(x)
"""


def files(tmp_path, suffix):
    return sorted(tmp_path.rglob(f"*.{suffix}"))


def damage(data):
    yield "empty", b""
    yield "cut", data[: len(data) // 2]
    yield "no pickle", b"not a pickle at all"
    yield "another", pickle.dumps(("something", {"else": 1}))


@pytest.mark.parametrize("kind", ["empty", "cut", "no pickle", "another"])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_cache_is_compiled_and_saved_again(
    cached, tmp_path, monkeypatch, suffix, kind
):
    assert cached()(2.0) == 12.0
    whole = {path: path.read_bytes() for path in files(tmp_path, suffix)}
    assert len(whole) == 2
    for path, data in whole.items():
        path.write_bytes(dict(damage(data))[kind])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cached()(2.0) == 12.0
    silent = suffix == "nbi" and kind == "another"  # numba treats the file as another version
    said = [str(one.message) for one in caught]
    assert len(said) == (0 if silent else 1)
    assert silent or f"compiled functions in {tmp_path / 'cache'}" in said[0]

    monkeypatch.setattr(jit_module, "_warned", set())
    again = cached()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again(2.0) == 12.0
    assert sum(again.compiled.stats.cache_hits.values()) == 1


def test_full_disk_is_reported_once(cached, tmp_path, monkeypatch):
    def full(self, path):
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(RuntimeWarning, match=r"No space left .* set the environment") as caught:
        assert [cached()(2.0), cached()(3)] == [12.0, 18]
    assert len(caught) == 1
    assert files(tmp_path, "nbi") == files(tmp_path, "nbc") == []


SLOW_WRITER = """
import sys, time
import numpy as np
from numba.core import caching

read = caching.IndexDataCacheFile._load_index

def read_slowly(self):
    index = read(self)
    time.sleep(0.5)
    return index

caching.IndexDataCacheFile._load_index = read_slowly
from two_functions import once

print(once(np.dtype(sys.argv[1]).type(2)))
"""


def test_two_processes_that_save_at_the_same_time_keep_both_signatures(cached, tmp_path):
    (tmp_path / "writer.py").write_text(SLOW_WRITER)
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }
    command = [sys.executable, str(tmp_path / "writer.py")]
    kinds = ("float64", "int64", "float32")
    writers = [subprocess.Popen([*command, kind], env=env, cwd=tmp_path) for kind in kinds]
    assert [writer.wait() for writer in writers] == [0, 0, 0]

    cached()
    once = sys.modules["two_functions"].once
    assert [once(np.float64(2)), once(np.int64(2)), once(np.float32(2))] == [6.0, 6, 6.0]
    assert sum(once.compiled.stats.cache_hits.values()) == 3


def test_compile_fills_the_cache(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "skmoderndata.compile", "KernelPerceptron"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1/1" in done.stderr
    assert list(tmp_path.rglob("*.nbc"))


def test_compile_rejects_unknown_names(capsys):
    with pytest.raises(SystemExit):
        compile.main(["NeuralGases"])
    assert "no estimator is called NeuralGases" in capsys.readouterr().err


@pytest.mark.parametrize(
    "cls", [c for c in all_estimators() if c._card.samples != "rows"], ids=lambda c: c.__name__
)
def test_compile_fits_estimators_on_samples_other_than_rows(cls):
    fitted = []
    watched = type(cls.__name__, (cls,), {"fit": lambda self, X, y=None: told(self, X, y)})

    def told(self, X, y):
        fitted.append(self)
        return cls.fit(self, X, y)

    compile.warm(watched)
    assert len(fitted) == len(compile.named_options(cls)) + len(compile.switches(cls))


def test_compile_leaves_out_options_that_need_more_but_not_the_defaults():
    class Choosy(JamesStein):
        refused = "zero"

        def fit(self, X, y=None):
            if self.target == self.refused:
                raise ValueError("needs more")
            return super().fit(X, y)

    compile.warm(Choosy)
    Choosy.refused = JamesStein().target
    with pytest.raises(ValueError, match="needs more"):
        compile.warm(Choosy)


def test_cards_name_samples_other_than_rows():
    for cls in all_estimators():
        takes_rows = cls().__sklearn_tags__().input_tags.two_d_array
        assert takes_rows == (cls._card.samples == "rows"), cls.__name__


# ---- the line about the first use


@pytest.fixture
def notice(monkeypatch):
    """A notice that is not silenced by pytest, and a clock that the test sets."""
    monkeypatch.delenv("SKMODERNDATA_QUIET", raising=False)
    monkeypatch.setattr(jit_module, "_is_quiet", lambda: False)
    now = [0.0]
    return jit_module.FirstUse(clock=lambda: now[0]), now


def test_a_long_compilation_is_announced_once(notice, capsys):
    first_use, now = notice
    for _ in range(2):
        first_use.begin()  # the function that is called
        for _ in range(4):
            now[0] += 1.0
            first_use.begin()  # a function that it calls
            first_use.end()
        first_use.end()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "compiling for the first use, about 10 s; later calls start at once" in lines[0]


def test_a_compilation_that_fails_does_not_count_later(notice, capsys, monkeypatch):
    first_use, now = notice
    monkeypatch.setattr(jit_module, "_first_use", first_use)

    class Broken:
        def __call__(self, *args):
            first_use.begin()
            raise ValueError("not compiled")

    @jit
    def double(x):
        return 2 * x

    double.__dict__["compiled"] = Broken()
    with pytest.raises(ValueError, match="not compiled"):
        double(3.0)
    now[0] += 60.0  # do other work
    first_use.begin()
    now[0] += 0.5
    first_use.end()
    assert first_use.depth == 0
    assert capsys.readouterr().err == ""


def test_garbage_is_not_collected_while_functions_are_compiled(notice):
    first_use, _ = notice
    assert gc.isenabled()
    first_use.begin()
    first_use.begin()  # a function that it calls
    first_use.end()
    assert not gc.isenabled()
    first_use.end()
    assert gc.isenabled()

    first_use.begin()
    first_use.finish()
    assert gc.isenabled()

    # a caller who has stopped the garbage collector finds it stopped afterwards
    gc.disable()
    try:
        first_use.begin()
        first_use.end()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_short_compilations_are_not_announced(notice, capsys):
    first_use, now = notice
    for _ in range(20):
        first_use.begin()
        now[0] += 0.9
        first_use.end()
        now[0] += 5.0  # do other work
    assert capsys.readouterr().err == ""


def test_notice_is_off_under_pytest_and_by_a_variable(monkeypatch):
    monkeypatch.delenv("SKMODERNDATA_QUIET", raising=False)
    assert jit_module._is_quiet()
    monkeypatch.delitem(sys.modules, "pytest")
    assert not jit_module._is_quiet()
    monkeypatch.setenv("SKMODERNDATA_QUIET", "1")
    assert jit_module._is_quiet()


@pytest.mark.full
def test_first_process_announces_and_the_next_one_does_not(tmp_path):
    code = (
        "import numpy as np; from skmoderndata.sparse_coding import SparseCoder; "
        "rng = np.random.default_rng(0); D = rng.normal(size=(5, 9)); "
        "[SparseCoder(D, transform_algorithm=name).fit_transform(D) "
        "for name in ('omp', 'coordinate_descent', 'homotopy', 'feature_sign')]"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    env.pop("SKMODERNDATA_QUIET", None)
    command = [sys.executable, "-W", "ignore", "-c", code]
    first, second = (
        subprocess.run(command, env=env, check=True, capture_output=True, text=True).stderr
        for _ in range(2)
    )
    assert first.count("compiling for the first use") == 1
    assert second == ""
