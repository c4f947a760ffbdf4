"""The wrapper around numba: lazy, nestable, and the same numbers as plain Python."""

import pickle
import sys

import numpy as np
from numpy.testing import assert_allclose

from skmoderndata._jit import jit


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


def test_compiled_once():
    sum_of_squares(np.arange(3.0))
    assert sum_of_squares.compiled is sum_of_squares.compiled
    assert sum_of_squares.compiled.signatures


def test_wrapper_keeps_name_and_doc():
    assert square.__name__ == "square"
    assert pickle.loads(pickle.dumps(square)).__name__ == "square"
