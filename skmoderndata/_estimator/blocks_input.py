"""Tables in blocks, given to estimators: Dask arrays and data frames, memory maps, zarr, HDF5.

`take_blocks` decorates the methods of all classes: those that give a row for each row take such a
table; a `fit` takes it if the card says so, and refuses it with what to do otherwise.
"""

import contextlib
import copy
import functools
import inspect
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import output_container
from skmoderndata._estimator.registry import MethodCard
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

# methods with a row of the answer for each row, where the rows are independent
ROW_METHODS = (
    "transform",
    "inverse_transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "score_samples",
    "decision_function",
    "decompose",
    "outlier_scores",
)
NO_CARD = MethodCard(family="", cite=(), cost="", rows="its estimator may need all rows")
FITS = ("fit", "partial_fit", "fit_transform", "fit_predict", "fit_decompose")
TABLES = ("X", "Z", "T", "codes")  # first parameters that are tables of rows


def take_blocks(cls: type) -> None:
    """Decorate the methods of a class that get a table, its own and those of its mixins."""
    for name in dir(cls):
        method = next((vars(kind)[name] for kind in cls.__mro__ if name in vars(kind)), None)
        function = getattr(method, "fn", method)  # below `available_if`
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if hasattr(function, "_takes_blocks") or not _gets_a_table(function, name):
            continue

        decorated = _in_blocks(function, name)
        if function is not method:
            descriptor = copy.copy(method)
            descriptor.fn = decorated
            decorated = descriptor
        setattr(cls, name, decorated)


def _gets_a_table(function: Any, name: str) -> bool:
    if not function.__module__.startswith("skmoderndata"):  # of a mixin of scikit-learn
        return name == "fit_predict" or name in ROW_METHODS
    code = inspect.unwrap(function).__code__
    arguments = code.co_varnames[: code.co_argcount]
    return name in FITS or (len(arguments) > 1 and arguments[1] in TABLES)


def _in_blocks(method: Any, name: str) -> Any:
    """Decorate a method: tables in memory pass, others go block by block or are refused."""

    @functools.wraps(method)
    def take(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if not any(map(in_blocks, given)):
            return method(estimator, *args, **kwargs)

        # a table on a disk may be read as a whole where there is no other way
        lazy = any(is_dask(value) for value in _flat(given))
        if name in FITS:
            if lazy:
                return _fit_in_blocks(estimator, method, name, args, kwargs)
            return method(estimator, *args, **kwargs)
        bound = inspect.signature(method).bind(estimator, *args, **kwargs).arguments
        _, X, *others = bound.values()
        alone = in_blocks(X) and not any(map(_is_array, others))
        if not lazy and not (alone and _is_of_rows(estimator, name) and len(X.shape) == 2):
            return method(estimator, *args, **kwargs)

        if not alone:
            raise TypeError(
                f"{type(estimator).__name__}.{name} takes one table in blocks, and nothing else "
                "that has a row for each of its rows: call compute() of what goes with it, and "
                f"{name} with blocks of both in memory."
            )
        options = dict(list(bound.items())[2:])
        return _map_rows(estimator, method, name, X, options)

    take._takes_blocks = True  # type: ignore[attr-defined]
    return take


def in_blocks(X: Any) -> bool:
    """Whether X is a table of Dask, or one on a disk that is larger than a block."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and is_dask(X[0])
    if is_on_disk(X):
        return bool(np.dtype(X.dtype).itemsize * np.prod(X.shape, dtype=float) > BLOCK_BYTES)
    return is_dask(X)


def _is_array(value: Any) -> bool:
    return not isinstance(value, str) and (
        hasattr(value, "shape") or hasattr(value, "__len__")
    )


# Fits


def _fit_in_blocks(estimator: Any, method: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Fit to a Dask array where the class can."""
    X = args[0] if args else kwargs.get("X")
    takes_blocks = _card(estimator).fits_blocks and name != "partial_fit"
    if not takes_blocks or not is_dask(X):
        raise TypeError(_refusal(estimator, name, X))
    if name == "fit_predict":  # labels of the training rows are not kept
        return estimator.fit(*args, **kwargs).predict(X)
    return method(estimator, *args, **kwargs)


def _flat(values: Any) -> Any:
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)


def _refusal(estimator: Any, name: str, X: Any) -> str:
    """Say what to do in place of a fit to a Dask array."""
    cls = type(estimator)
    if not in_blocks(X):
        return (
            f"{cls.__name__}.{name} got X in memory, and with it a Dask array: call compute() of "
            "that."
        )

    if isinstance(X, list | tuple) and _card(estimator).fits_blocks:
        return (
            f"{cls.__name__}.{name} takes no list of Dask arrays: join them by da.concatenate, or "
            f"give two views as {name}(X, Y)."
        )
    remedies = ["X.compute() if all rows fit into memory"]
    if hasattr(cls, "partial_fit"):
        remedies.append(
            "partial_fit with one block after the other, `for block in X.blocks: "
            "model.partial_fit(block.compute())`"
        )
    if hasattr(cls, "merge"):
        remedies.append("a fit to each block, joined by merge")
    if _card(estimator).cost.startswith("n^"):
        remedies.append("landmarks, a random sample of the rows")
    else:
        remedies.append("a random sample of the rows")
    text = f"{cls.__name__}.{name} does not take a Dask array: give {', or '.join(remedies)}."
    if _is_of_rows(estimator, "predict"):
        text += " Once fitted, the methods that give a row for each row take Dask arrays."
    return text


def blocks_of(estimator: Any, X: Any, *aligned: Any, **checks: Any) -> ArrayBlocks:
    """Return the blocks of a table that is not in memory, after all checks that need no block.

    Sets `n_features_in_` and `feature_names_in_`. Entries are checked in the passes.

    Parameters
    ----------
    estimator : estimator instance
        Named in messages.
    X : Dask array, Dask data frame, memory map, or array of zarr or HDF5
        Table of shape (n_samples, n_features).
    *aligned : array
        What has an entry for each row.
    **checks
        As `validate_data` takes them.
    """
    name = type(estimator).__name__
    names = getattr(X, "_meta_nonempty", None)  # of a data frame
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

    row = _one_row(blocks.arrays[0]) if names is None else names.iloc[:1]
    validate_data(estimator, row, reset=True, **checks)
    return blocks


def check_entries(X: Any, *, owner: str, allow_nan: bool = False) -> None:
    """Raise `BadRow` where rows of a block hold what `validate_data` refuses.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Rows of a block.
    owner : str
        What messages name.
    allow_nan : bool, default=False
        Whether NaN passes.
    """
    row = _first_bad_row(X, allow_nan)
    if row is not None:
        what = "infinity" if allow_nan else "NaN or infinity"
        raise BadRow(row, f"Input X of {owner} contains {what} in row {{row}}.")
    with rows_named():
        check_magnitude(X, owner=owner)


@contextlib.contextmanager
def rows_named() -> Iterator[None]:
    """Turn errors of a block into those of its rows, of which the first block is reported."""
    try:
        yield
    except BadRow:
        raise
    except ValueError as error:
        raise BadRow(0, f"In the rows of X from {{row}} on: {error}") from error


def block_of(X: Any) -> Any:
    """Rows of a block as an array, or as a tidy matrix of sparse rows."""
    if sparse.issparse(X):
        return tidy(X.tocsr())
    rows = np.asarray(X)
    return rows.astype(np.float64) if rows.dtype.kind == "O" else rows


def _first_bad_row(X: Any, allow_nan: bool) -> int | None:
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
    """A fitted estimator, to which `+` adds the rows of another one by `merge`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(copy.deepcopy(self.model).merge(other.model))


def fit_by_merge(estimator: Any, X: Any, **aligned: Any) -> Any:
    """Fit a copy to each block, merge them, and keep what the merged one has learned.

    Parameters
    ----------
    estimator : estimator instance
        Its sums over rows add up: it has `merge`.
    X : Dask array or Dask data frame of shape (n_samples, n_features)
        Rows.
    **aligned : array or None
        What `fit` takes with an entry for each row, by name.
    """
    aligned = {name: rows for name, rows in aligned.items() if rows is not None}
    rows = [values if is_dask(values) else np.asarray(values) for values in aligned.values()]
    accept_sparse = estimator.__sklearn_tags__().input_tags.sparse
    blocks = blocks_of(estimator, X, *rows, dtype="numeric", accept_sparse=accept_sparse)

    # the same random numbers in each block, and the same classes
    model = clone(estimator)
    if not isinstance(model.get_params().get("random_state", 0), Integral):
        rng = check_random_state(estimator.random_state)
        model.set_params(random_state=int(rng.randint(2**31 - 1)))
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
    """The labels of some rows, and with `+` those of others."""

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
    """Mixin of classes that fit to Dask arrays: attributes of the rows are not kept then.

    `_of_rows` names them, and the method that gives them.
    """

    _of_rows: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self._of_rows and "n_features_in_" in vars(self):
            raise AttributeError(
                f"{type(self).__name__} does not keep {name} for the rows of a Dask array: "
                f"{self._of_rows[name]}(X) gives them, as a Dask array."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# Answers for rows


def _map_rows(estimator: Any, method: Any, name: str, X: Any, options: dict[str, Any]) -> Any:
    """Answer for each row of a table, lazy for one of Dask."""
    owner = f"{type(estimator).__name__}.{name}"
    if not _is_of_rows(estimator, name):
        raise TypeError(
            f"{owner} does not take a table in blocks, as {_why_not(estimator, name)}: give "
            "X.compute() if all rows fit into memory, or a random sample of the rows, to a search "
            "too."
        )
    if options.get("return_cov"):
        raise TypeError(
            f"{owner}: return_cov=True asks for a value of each pair of rows, of which a table in "
            "blocks has too many: set return_std=True, or give some rows in memory."
        )
    if isinstance(X, list | tuple):
        raise TypeError(f"{owner} takes one table in blocks, not several: give the first one.")
    if is_dask(X) and name == "transform" and output_container(estimator) != "default":
        raise ValueError(
            f"{owner} of a Dask array gives a Dask array: call "
            "set_output(transform='default') before."
        )

    # what comes: the answer for one made-up row
    frame = getattr(X, "_meta_nonempty", None)
    blocks = as_blocks(X, known_rows=False)
    if len(blocks.shape) != 2:
        raise ValueError(f"{owner} needs a table, and X has {len(blocks.shape)} dimensions.")
    row = _one_row(blocks.arrays[0]) if frame is None else frame.iloc[:1]
    example = _answers(method(estimator, row, **options))
    widths = [1 if answer.ndim == 1 else answer.shape[1] for answer in example]

    # one array for each answer, joined while they are made
    single = len(example) == 1
    vector = single and example[0].ndim == 1
    rows = blocks.map_rows(
        _answer_of_block,
        _without_names(estimator),
        name,
        options,
        {**sklearn.get_config(), "transform_output": "default"},
        dtype=np.result_type(*[answer.dtype for answer in example]),
        width=None if vector else sum(widths),
        meta=example[0][:0] if single and sparse.issparse(example[0]) else None,
    )
    if single:
        return rows
    ends = np.cumsum([0, *widths])
    return tuple(
        rows[:, start] if answer.ndim == 1 else rows[:, start:end]
        for answer, start, end in zip(example, ends[:-1], ends[1:], strict=True)
    )


def _card(estimator: Any) -> MethodCard:
    """Card of a class; a search that has none neither fits to blocks nor answers for them."""
    return getattr(estimator, "_card", NO_CARD)


def _is_of_rows(estimator: Any, name: str) -> bool:
    """Whether a method answers for each row of a table by itself."""
    card = _card(estimator)
    independent = card.rows == "independent" and card.samples == "rows"
    return independent and name in ROW_METHODS


def _why_not(estimator: Any, name: str) -> str:
    card = _card(estimator)
    if card.rows != "independent":
        return str(card.rows)
    if card.samples != "rows":
        return f"it works on {card.samples}, not on the rows of a table"
    return "it does not answer for each row by itself"


def _one_row(X: Any) -> Any:
    """One made-up row of the kind of X, which is neither zero nor missing."""
    meta = getattr(X, "_meta", None)
    row = np.ones((1, X.shape[1]), dtype=X.dtype)
    return type(meta)(row) if sparse.issparse(meta) else row


def _without_names(estimator: Any) -> Any:
    """Copy for the workers: blocks have no column names, which were checked before."""
    model = copy.copy(estimator)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        vars(model).pop(name, None)
    return model


def _answers(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _answer_of_block(block: Block, model: Any, name: str, options: Any, config: Any) -> Any:
    rows = block.arrays[0]
    try:
        with sklearn.config_context(**config):
            answers = _answers(getattr(model, name)(rows, **options))
    except ValueError as error:
        bad = _first_bad_row(rows, allow_nan=False)
        where = (
            f"in rows from {block.first:,} on" if bad is None else f"row {block.first + bad:,}"
        )
        raise ValueError(f"X, {where}: {error}") from error
    if len(answers) == 1:
        return answers[0]
    return np.column_stack(answers)
