"""NumPy arrays and arrays of other Array API namespaces, and the memory for them."""

from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils import _array_api

from skmoderndata._solvers.common.quantities import MEBIBYTE


def get_array_namespace(X):
    """Return the namespace of the Array API standard that X belongs to, and its device.

    It is NumPy unless array API dispatch is on and X is another kind of array.
    """
    xp, _, device = _array_api.get_namespace_and_device(
        np.empty(0) if sparse.issparse(X) else X
    )
    return xp, device


# Maximum number of bytes of temporary arrays in passes that are divided into blocks to limit the
# memory.
TEMPORARY_BYTES = 32 * MEBIBYTE
# Maximum number of bytes of temporary arrays that fit into the cache of a core.
CACHED_BYTES = MEBIBYTE

# Number of bytes of a cache line.
LINE = 64

_NAMESPACES: dict[type, Any] = {}  # cache the result for each type of array, except NumPy's


def namespace(A: Any) -> Any:
    """Return the namespace of the Array API standard of a validated array.

    It depends only on the array's type, not on the configuration: threads do not see the
    configuration, and without dispatch, validation returns NumPy arrays anyway.
    """
    if isinstance(A, np.ndarray) or sparse.issparse(A):
        return np

    kind = type(A)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = _array_api.array_api_compat.get_namespace(A)
    return _NAMESPACES[kind]


def as_numpy(X):
    """Convert arrays of any namespace to NumPy; return anything else (lists, None) unchanged."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return X
    if _array_api.array_api_compat.is_array_api_obj(X):
        X = _array_api._convert_to_numpy(X, namespace(X))
    return np.asarray(X)


def move_array(X, like, dtype=None):
    """Convert X to the namespace and the device of another array."""
    X = np.asarray(X)
    xp = namespace(like)
    if dtype is None and X.dtype.kind == "f":
        dtype = xp.float64
    if xp is np:
        return X if dtype is None else X.astype(dtype, copy=False)
    return xp.asarray(X, dtype=dtype, device=like.device)


def check_array_namespace(X, fitted, owner):
    """Reject X if its namespace or device differs from an array stored by `fit`."""
    if not sklearn.get_config().get("array_api_dispatch"):
        return
    xp, device = get_array_namespace(X)
    fit_xp, fit_device = get_array_namespace(fitted)
    numpy = _array_api._is_numpy_namespace(xp) and _array_api._is_numpy_namespace(fit_xp)
    if not numpy and (xp != fit_xp or device != fit_device):
        raise ValueError(
            f"Inputs passed to {owner}() must use the same namespace and the same device as those "
            f"passed to fit(): {fit_xp.__name__} on {fit_device}, not {xp.__name__} on {device}."
        )


def working_memory() -> int:
    """Return scikit-learn's `working_memory` in bytes."""
    return int(sklearn.get_config()["working_memory"] * MEBIBYTE)


def aligned_empty(n: int, k: int) -> Any:
    """Allocate n rows of k numbers from the start of a cache line on.

    Loops over vectors of a multiple of 8 numbers take up to 10 % less time there.
    """
    memory = np.empty(n * k + LINE // 8)
    address, _ = memory.__array_interface__["data"]
    offset = -address % LINE // 8
    return memory[offset : offset + n * k].reshape(n, k)
