"""The namespace of an array depends only on its type, in every thread and configuration."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse

from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace


@pytest.mark.parametrize("dispatch", [False, True])
def test_numpy_and_sparse_arrays(dispatch):
    with sklearn.config_context(array_api_dispatch=dispatch):
        for A in (np.ones((2, 2)), np.ones(2, dtype=int), sparse.csr_array(np.eye(2))):
            assert namespace(A) is np
            assert type(move_array([1.0], A)) is np.ndarray


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_libraries(library):
    xp = pytest.importorskip(library)
    A = xp.asarray([[1.0, 2.0]])

    def there_and_back():
        B = move_array(np.ones((1, 2)), A)
        return type(B), namespace(A).sum(A + B), as_numpy(A)

    # a new thread has scikit-learn's default configuration, without array API dispatch
    with ThreadPoolExecutor(1) as pool:
        for kind, total, back in (there_and_back(), pool.submit(there_and_back).result()):
            assert kind is type(A)
            assert float(total) == 5.0
            assert type(back) is np.ndarray
            assert_array_equal(back, [[1.0, 2.0]])


def test_rejects_arrays_outside_the_standard():
    class Buffer:
        """Object that exchanges memory, but is not an array of the standard."""

        def __dlpack__(self):
            raise NotImplementedError

        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    assert_array_equal(as_numpy(Buffer()), [0, 1, 2])
    assert as_numpy([1, 2]) == [1, 2]
    assert as_numpy(None) is None
