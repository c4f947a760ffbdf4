"""Tables in blocks as input of `fit`: Dask arrays and data frames, memory maps, zarr, HDF5.

See the module `doors` for the methods that return results for the rows of such a table.
"""

import contextlib
import copy
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClusterMixin, clone, is_classifier
from sklearn.utils import check_random_state

from skmoderndata._estimator.validation import (
    check_magnitude,
    check_target,
    tidy,
    validate_data,
)
from skmoderndata._solvers.common.blocks import (
    BLOCK_BYTES,
    ArrayBlocks,
    BadRow,
    Block,
    as_blocks,
    is_dask,
    is_on_disk,
)
from skmoderndata._solvers.common.quantities import MAX_INT32


def in_blocks(X: Any, *, on_disk: bool = True) -> bool:
    """Whether X is a Dask array or data frame, a list of them, or a table on a disk.

    Tables on a disk count only if they are larger than a block; with ``on_disk=False`` they never
    count, because they are read into memory.
    """
    if isinstance(X, list | tuple):
        return len(X) > 0 and is_dask(X[0])
    if is_on_disk(X):
        size = np.dtype(X.dtype).itemsize * np.prod(X.shape, dtype=float)
        return on_disk and bool(size > BLOCK_BYTES)
    return is_dask(X)


def blocks_of(estimator: Any, X: Any, *aligned: Any, **checks: Any) -> ArrayBlocks:
    """Return the blocks of a table that is not in memory, after all checks that need no pass.

    The function sets `n_features_in_` and `feature_names_in_`. The passes check the entries.

    Parameters
    ----------
    estimator : estimator instance
        Estimator whose class messages name.
    X : Dask array, Dask data frame, memory map, or array of zarr or HDF5
        Table of shape (n_samples, n_features).
    *aligned : array
        Arrays with an entry for each row.
    **checks
        Parameters of `validate_data`.
    """
    name = type(estimator).__name__
    frame = getattr(X, "_meta_nonempty", None)  # the few dummy rows of a Dask data frame
    blocks = as_blocks(X, *aligned)
    if len(blocks.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(blocks.shape)}D array instead: {name} needs a table of "
            "shape (n_samples, n_features)."
        )
    at_least = checks.pop("ensure_min_samples", 1)
    if blocks.shape[0] < at_least:
        raise ValueError(
            f"Found array with {blocks.shape[0]} sample(s) while a minimum of {at_least} is "
            f"required by {name}."
        )

    row = made_up_row(blocks.arrays[0]) if frame is None else frame.iloc[:1]
    validate_data(estimator, row, reset=True, **checks)
    return blocks


def made_up_row(X: Any) -> Any:
    """Return a row like the rows of X, with ones as entries: neither zero nor missing."""
    meta = getattr(X, "_meta", None)
    row = np.ones((1, X.shape[1]), dtype=X.dtype)
    return type(meta)(row) if sparse.issparse(meta) else row


def check_entries(X: Any, *, owner: str, allow_nan: bool = False) -> None:
    """Raise `BadRow` for the first row of a block that `validate_data` would reject.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Rows of a block.
    owner : str
        Name of the class in messages.
    allow_nan : bool, default=False
        Whether NaN is accepted.
    """
    row = first_bad_row(X, allow_nan)
    if row is not None:
        what = "infinity" if allow_nan else "NaN or infinity"
        raise BadRow(row, f"Input X of {owner} contains {what} in row {{row}}.")
    with rows_named():
        check_magnitude(X, owner=owner)


@contextlib.contextmanager
def rows_named() -> Iterator[None]:
    """Turn a ValueError into `BadRow`, so that the error of the first bad block is raised."""
    try:
        yield
    except BadRow:
        raise
    except ValueError as error:
        raise BadRow(0, f"In the rows of X from {{row}} on: {error}") from error


def block_of(X: Any) -> Any:
    """Return the rows of a block as an array, or as a tidy sparse matrix in CSR format."""
    if sparse.issparse(X):
        return tidy(X.tocsr())
    rows = np.asarray(X)
    return rows.astype(np.float64) if rows.dtype.kind == "O" else rows


def first_bad_row(X: Any, allow_nan: bool) -> int | None:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    if values.dtype.kind not in "fc":
        return None
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not bad.any():
        return None
    if sparse.issparse(X):
        return int(sparse.coo_array(X).row[bad].min())
    return int(np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))[0])


class Merged:
    """Fitted estimator; the sum of two is their `merge`, which has seen the rows of both."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(copy.deepcopy(self.model).merge(other.model))


def fit_by_merge(
    estimator: Any, X: Any, parameters: dict[str, Any] | None = None, **aligned: Any
) -> Any:
    """Fit a copy to each block, merge the copies, and store what the merged copy has learned.

    Parameters
    ----------
    estimator : estimator instance
        Estimator with a method `merge`.
    X : Dask array or Dask data frame of shape (n_samples, n_features)
        Rows.
    parameters : dict or None
        Parameters of the copies, where they differ from the estimator.
    **aligned : array or None
        Arguments of `fit` that have an entry for each row.
    """
    aligned = {name: rows for name, rows in aligned.items() if rows is not None}
    rows = [values if is_dask(values) else np.asarray(values) for values in aligned.values()]
    accept_sparse = estimator.__sklearn_tags__().input_tags.sparse
    blocks = blocks_of(estimator, X, *rows, dtype="numeric", accept_sparse=accept_sparse)

    # use the same random numbers and the same classes in each block
    model = clone(estimator).set_params(**(parameters or {}))
    if not isinstance(model.get_params().get("random_state", 0), Integral):
        rng = check_random_state(estimator.random_state)
        model.set_params(random_state=int(rng.randint(MAX_INT32)))
    classes = None
    if is_classifier(estimator):
        (labels,) = blocks.sum(_labels_of_block)
        classes = labels.classes

    (merged,) = blocks.sum(_fit_block, model, tuple(aligned), classes)
    learned = {**vars(merged.model), **estimator.get_params(deep=False)}
    names = {key: value for key, value in vars(estimator).items() if key.endswith("_in_")}
    vars(estimator).update({**learned, **names})
    return estimator


class Labels:
    """Sorted labels of some rows; the sum of two objects has the labels of both."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes

    def __add__(self, other: "Labels") -> "Labels":
        return Labels(np.union1d(self.classes, other.classes))


def _labels_of_block(block: Block) -> tuple[Labels]:
    with rows_named():
        check_target(block.arrays[1], owner="fit")
        return (Labels(np.unique(block.arrays[1])),)


def _fit_block(
    block: Block, model: Any, names: tuple[str, ...], classes: Any
) -> tuple[Merged]:
    X = block_of(block.arrays[0])
    check_entries(X, owner=type(model).__name__)
    aligned = dict(zip(names, block.arrays[1:], strict=True))
    if classes is not None:
        aligned["classes"] = classes
    with rows_named():
        model = clone(model)
        fit = model.partial_fit if hasattr(model, "partial_fit") else model.fit
        return (Merged(fit(X, **aligned)),)


class FitsBlocks:
    """Mixin of classes that do not store attributes of the rows after a fit to a Dask array.

    `_of_rows` maps the name of each such attribute to the method that computes it.
    """

    _of_rows: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self._of_rows and "n_features_in_" in vars(self):
            raise AttributeError(
                f"{type(self).__name__} does not keep {name} for the rows of a Dask array: "
                f"call {self._of_rows[name]}(X), which returns a Dask array."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class BlockClusterMixin(ClusterMixin):
    """scikit-learn's mixin of clusterers, for classes that can be fitted to Dask arrays."""

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster rows, and return their labels.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.
        **kwargs : dict
            Arguments of `fit`.

        Returns
        -------
        labels : ndarray or Dask array of shape (n_samples,)
            Labels of the rows.
        """
        # a fit to a Dask array does not store the labels of its rows
        if in_blocks(X, on_disk=False):
            return self.fit(X, **kwargs).predict(X)
        return super().fit_predict(X, y, **kwargs)
