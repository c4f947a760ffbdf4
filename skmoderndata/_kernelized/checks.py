"""Checks of the samples, target and kernel of an estimator with a `kernel` parameter."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import column_or_1d

from skmoderndata._estimator.validation import check_target, validate_data
from skmoderndata._kernelized.expansion import scale_gamma
from skmoderndata._kernelized.gram import Gram, resolve_kernel
from skmoderndata._samples.containers import as_samples, count_samples, is_sparse
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.nested import copied
from skmoderndata._solvers.common.row_sample import MOST_ROWS
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel

# Minimum ratio of standard deviations at which scaling is advised; at such ratios, small columns
# hardly affect the distances.
UNSCALED = 1e3


def checked_samples(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool,
    own: bool | None = None,
    **checks: Any,
) -> Any:
    """Check samples: rows of numbers, a kernel matrix, or a list for structured kernels.

    Parameters
    ----------
    estimator : estimator
        Estimator with the parameters of a kernel; if `reset` is True, its number of features is
        set.
    X : array, sparse matrix or collection of samples
        Samples as passed by the user.
    y : array or "no_validation"
        Target, for rows of numbers.
    reset : bool
        If True, the call comes from `fit`.
    own : bool or None
        As in `structured_samples`; None means the same as `reset`.
    **checks : dict
        Keyword arguments of `validate_data`.
    """
    # check samples that are not rows of numbers
    kernel = estimator.kernel
    name = type(estimator).__name__
    if is_structured(kernel) or _is_collection(estimator, X, reset):
        samples = structured_samples(kernel, X, name, own=reset if own is None else own)
        n = count_samples(samples)
        at_least = checks.get("ensure_min_samples", 1)
        if n < at_least:
            raise ValueError(f"{name} needs at least {at_least} samples, got {n}.")
        return samples

    # check rows of numbers
    refuse_texts(kernel, X, name)
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    return validate_data(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse=False if precomputed else "csr",
        dtype=[np.float64, np.float32],
        **checks,
    )


def _is_collection(estimator: Any, X: Any, reset: bool) -> bool:
    """Whether the kernel is a function, and its samples (as in `fit`) are not rows of numbers."""
    if not callable(estimator.kernel) or isinstance(estimator.kernel, Kernel):
        return False
    if not reset:
        return not hasattr(estimator, "n_features_in_")
    is_collection = not holds_rows(X)
    if is_collection:
        # An earlier fit on rows of numbers may have set these attributes.
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
    return is_collection


def checked_samples_and_target(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, **checks: Any
) -> tuple[Any, Array]:
    """Check samples, which the estimator stores, and their targets."""
    checked = checked_samples(estimator, X, y, reset=reset, own=True, **checks)
    if isinstance(checked, tuple):
        X, y = checked
    else:
        name = type(estimator).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        check_target(y, owner=name, numbers=bool(checks.get("y_numeric")))
        X = checked
        y = column_or_1d(y, warn=True)

    n = count_samples(X)
    if len(y) != n:
        raise ValueError(f"X has {n} samples, but y has {len(y)} entries.")
    return X, y


def resolved_gram(estimator: Any, X: Any, weights: Array | None = None) -> Gram:
    """Return the kernel of an estimator, with its parameters resolved on training samples."""
    gamma = scale_gamma(estimator.gamma, estimator.kernel, X, weights)
    return resolve_kernel(
        estimator.kernel,
        X,
        gamma=gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        kernel_params=estimator.kernel_params,
    )


def is_structured(kernel: Any) -> bool:
    """Whether the samples of a kernel are not rows of numbers."""
    return isinstance(kernel, Kernel) and not kernel.requires_vector_input


def structured_samples(kernel: Any, X: Any, name: str, *, own: bool) -> Any:
    """Return samples that are not vectors, encoded once if the kernel supports encoding.

    Parameters
    ----------
    kernel : Kernel
        Kernel that will be evaluated on them.
    X : collection of samples
        Samples as passed by the user.
    name : str
        Name of the estimator, for error messages.
    own : bool
        If True, the samples are copied, because the estimator stores them and later changes by
        the caller must have no effect.
    """
    if isinstance(X, Encoded):
        samples: Any = X
    elif is_numeric_table(X) and X.shape[0]:
        samples = X.copy() if own else X
    else:
        samples = list_of_samples(X, name, own=own, kernel=kernel)

    # Encode once for all kernel calls of a fit or a prediction.
    encodes = isinstance(kernel, BaseKernel) and kernel.encoding is not None
    return kernel.encode(samples) if encodes else samples


def list_of_samples(X: Any, name: str, *, own: bool, kernel: Any = None) -> list[Any]:
    """Return samples of any kind as a non-empty list; parameters as above."""
    collect = kernel._collection if isinstance(kernel, BaseKernel) else as_samples
    samples: list[Any] = collect(X, name)
    if not samples:
        raise ValueError(f"{name} received 0 samples; at least 1 sample is required.")
    return [copied(x) for x in samples] if own else samples


def refuse_texts(kernel: Any, X: Any, name: str) -> None:
    """Raise an error with a remedy if the samples are strings but the kernel needs numbers."""
    n_axes = len(getattr(X, "shape", (1,)))
    if n_axes != 1 or not hasattr(X, "__len__") or not len(X):
        return
    first = next(iter(X))
    if not isinstance(first, str | bytes):
        return
    if hasattr(kernel, "vectorizer"):
        remedy = (
            f"{type(kernel).__name__}(vectorizer=None) expects rows of counts; set "
            "vectorizer=CountVectorizer(), or put one before the kernel in a pipeline."
        )
    else:
        remedy = (
            f"kernel={kernel!r} expects rows of numbers; use a kernel on strings, such as "
            "kernels.PSpectrum, or put a vectorizer before this step."
        )
    raise ValueError(f"{name}: samples are texts, but {remedy}")


def is_numeric_table(X: Any) -> bool:
    """Whether X is an array of numbers with at least two dimensions, or a sparse matrix."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim > 1 and X.dtype != object)


def holds_rows(X: Any) -> bool:
    """Whether X is a table, or a list of its rows; False for strings, ragged arrays or sets."""
    if X is None or is_sparse(X) or hasattr(X, "columns"):
        return True
    try:
        table = np.asarray(X)
    except ValueError:  # The arrays have different lengths.
        return False
    if table.dtype.kind in "biufc":
        return table.ndim < 3
    return table.dtype == object and table.ndim == 2


def scale_first(X: Any) -> str:
    """Return advice to scale X if its columns differ so much that rounding hides small ones.

    The string is empty if they do not differ, or if the samples are not rows of numbers.
    """
    rows = getattr(X, "ndim", 0) == 2 and X.dtype.kind == "f"
    if not rows or X.shape[0] < 2:
        return ""
    spread = StandardScaler(with_mean=False).fit(X[:MOST_ROWS]).var_ ** 0.5
    spread = spread[spread > 0]
    if len(spread) == 0 or spread.max() < UNSCALED * spread.min():
        return ""
    return (
        f"scale X, whose columns differ in standard deviation by a factor of "
        f"{spread.max() / spread.min():.0e}, for example with StandardScaler"
    )
