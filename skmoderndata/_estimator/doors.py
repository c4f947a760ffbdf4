"""Decorators of methods that receive a table, and of constructors.

Each public method that receives a table states by its decorator what it does with a table that is
not in memory:

- `fit_context`, from the module `compat`, decorates the methods that fit. They accept Dask arrays
  if the card of the class has `fits_blocks=True`, and raise TypeError otherwise.
- `by_rows` decorates the methods that return an answer for each row, such as `predict`. They
  answer block by block.
- `in_memory` decorates the other methods. They raise TypeError for Dask arrays.

Tables on a disk are read into memory if a method cannot read them block by block.
"""

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import sklearn
from scipy import sparse

from skmoderndata._estimator.advice import CLASSES, meant_parameter
from skmoderndata._estimator.blocks_input import first_bad_row, in_blocks, made_up_row
from skmoderndata._estimator.compat import output_container
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.common.blocks import Block, as_blocks, is_dask

Method = TypeVar("Method", bound=Callable[..., Any])

NO_CARD = MethodCard(family="", cite=(), cost="", rows="its estimator may need all rows")

# Decorators


def by_rows(method: Method) -> Method:
    """Decorate a method with an answer for each row of X: it accepts tables in blocks.

    Answers for a Dask array are Dask arrays, and nothing is computed before `compute()`. If the
    rows are not independent, the card of the class says why in `rows`, and the method raises
    TypeError for a Dask array.
    """

    @functools.wraps(method)
    def answer(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if not any(map(in_blocks, values)):
            return method(estimator, *args, **kwargs)

        # reject Dask arrays unless X is the only array; read a table on disk as a whole if another
        # argument is an array or if its rows are not independent
        bound = inspect.signature(method).bind(estimator, *args, **kwargs).arguments
        _, X, *others = bound.values()
        alone = in_blocks(X) and not any(map(_is_array, others))
        if any(map(is_dask, _flat(values))):
            if not alone:
                raise TypeError(_several_tables(estimator, method.__name__))
        elif not (alone and has_independent_rows(estimator) and len(X.shape) == 2):
            return method(estimator, *args, **kwargs)

        options = dict(list(bound.items())[2:])
        return _map_rows(estimator, method, X, options)

    answer._table = "by rows"  # type: ignore[attr-defined]
    return answer  # type: ignore[return-value]


def in_memory(method: Method) -> Method:
    """Decorate a method that needs its table in memory: it raises TypeError for a Dask array."""
    name = method.__name__

    @functools.wraps(method)
    def answer(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(map(in_blocks, values)) and any(map(is_dask, _flat(values))):
            raise TypeError(_refusal(estimator, name, args, kwargs))
        return method(estimator, *args, **kwargs)

    answer._table = "in memory"  # type: ignore[attr-defined]
    return answer  # type: ignore[return-value]


def parameters_are_named(init: Method) -> Method:
    """Decorate `__init__`: the error for an unknown parameter suggests one that exists."""

    @functools.wraps(init)
    def named(self: Any, /, *args: Any, **parameters: Any) -> None:
        try:
            init(self, *args, **parameters)
        except TypeError:
            available = type(self)._get_param_names()
            for name in parameters.keys() - set(available):
                meant = meant_parameter(name, available)
                hint = CLASSES.get(name, f"there are {available}")
                if meant:
                    hint = f"did you mean {meant!r}?"
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}: {hint}"
                ) from None
            raise

    return named  # type: ignore[return-value]


# Rejected tables


def check_table_of_fit(estimator: Any, name: str, args: Any, kwargs: Any) -> None:
    """Raise TypeError if a method that fits receives a Dask array that it cannot read."""
    values = (*args, *kwargs.values())
    if not any(map(in_blocks, values)) or not any(map(is_dask, _flat(values))):
        return
    X = args[0] if args else kwargs.get("X")
    accepts_blocks = card_of(estimator).fits_blocks and name != "partial_fit"
    if not accepts_blocks or not is_dask(X):
        raise TypeError(_refusal_of_fit(estimator, name, X))


def card_of(estimator: Any) -> MethodCard:
    """Return the card of the class; for a search, which has none, a card that allows nothing."""
    return getattr(estimator, "_card", NO_CARD)


def has_independent_rows(estimator: Any) -> bool:
    """Whether the answer for a row depends on that row only."""
    card = card_of(estimator)
    return card.rows == "independent" and card.samples == "rows"


def _refusal(estimator: Any, name: str, args: Any, kwargs: Any) -> str:
    """Return advice on what to do instead of calling a method with a Dask array."""
    X, *others = (*args, *kwargs.values())
    if "fit" in name:
        return _refusal_of_fit(estimator, name, X)
    if not in_blocks(X) or any(map(_is_array, others)):
        return _several_tables(estimator, name)
    return _coupled_rows(estimator, name, "it does not answer for each row by itself")


def _refusal_of_fit(estimator: Any, name: str, X: Any) -> str:
    cls = type(estimator)
    card = card_of(estimator)
    if not in_blocks(X):
        return (
            f"{cls.__name__}.{name} got X in memory, and with it a Dask array: call compute() on "
            "the Dask array."
        )
    if isinstance(X, list | tuple) and card.fits_blocks:
        return (
            f"{cls.__name__}.{name} accepts no list of Dask arrays: join them by da.concatenate, "
            f"or pass two views as {name}(X, Y)."
        )

    remedies = ["X.compute() if all rows fit into memory"]
    if hasattr(cls, "partial_fit"):
        remedies.append(
            "partial_fit with one block after the other, `for block in X.blocks: "
            "model.partial_fit(block.compute())`"
        )
    if hasattr(cls, "merge"):
        remedies.append("a fit to each block, joined by merge")
    sample = "a random sample of the rows"
    remedies.append(f"landmarks, {sample}" if card.cost.startswith("n^") else sample)
    text = f"{cls.__name__}.{name} does not take a Dask array: use {', or '.join(remedies)}."
    if has_independent_rows(estimator):
        text += " Methods that return a row for each row, such as predict, accept Dask arrays."
    return text


def _several_tables(estimator: Any, name: str) -> str:
    return (
        f"{type(estimator).__name__}.{name} accepts only X as a Dask array: call compute() on the "
        f"other arguments, and pass {name} one block of X and of them after the other."
    )


def _coupled_rows(estimator: Any, name: str, why: str) -> str:
    card = card_of(estimator)
    if card.rows != "independent":
        why = card.rows
    elif card.samples != "rows":
        why = f"it works on {card.samples}, not on the rows of a table"
    return (
        f"{type(estimator).__name__}.{name} does not take a table in blocks, as {why}: use "
        "X.compute() if all rows fit into memory, or a random sample of the rows, to a search too."
    )


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)


def _is_array(value: Any) -> bool:
    if isinstance(value, str):
        return False
    return hasattr(value, "shape") or hasattr(value, "__len__")


# Results for each row


def _map_rows(
    estimator: Any, method: Callable[..., Any], X: Any, options: dict[str, Any]
) -> Any:
    """Return the results for the rows of a table; for a Dask array they are Dask arrays."""
    name = method.__name__
    owner = f"{type(estimator).__name__}.{name}"
    if not has_independent_rows(estimator):
        raise TypeError(_coupled_rows(estimator, name, ""))
    if options.get("return_cov"):
        raise TypeError(
            f"{owner}: return_cov=True needs a value for each pair of rows, and a table in blocks "
            "has too many pairs: set return_std=True, or pass some of the rows in memory."
        )
    if isinstance(X, list | tuple):
        raise TypeError(
            f"{owner} accepts one table in blocks, not several: pass the first one."
        )
    if is_dask(X) and name == "transform" and output_container(estimator) != "default":
        raise ValueError(
            f"{owner} of a Dask array returns a Dask array: call "
            "set_output(transform='default') before."
        )

    # call the method on a dummy row to find the number and the type of the output columns
    frame = getattr(X, "_meta_nonempty", None)
    blocks = as_blocks(X, known_rows=False)
    if len(blocks.shape) != 2:
        raise ValueError(f"{owner} needs a table, and X has {len(blocks.shape)} dimensions.")
    row = made_up_row(blocks.arrays[0]) if frame is None else frame.iloc[:1]
    example = _as_tuple(method(estimator, row, **options))
    widths = [1 if answer.ndim == 1 else answer.shape[1] for answer in example]

    # keep several results, such as mean and standard deviation, as columns of one array until the
    # end
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


def _without_names(estimator: Any) -> Any:
    """Return a copy for the workers; blocks have no column names, which are checked before."""
    model = copy.copy(estimator)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        vars(model).pop(name, None)
    return model


def _as_tuple(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _answer_of_block(block: Block, model: Any, name: str, options: Any, config: Any) -> Any:
    rows = block.arrays[0]
    try:
        with sklearn.config_context(**config):
            answers = _as_tuple(getattr(model, name)(rows, **options))
    except ValueError as error:
        bad = first_bad_row(rows, allow_nan=False)
        where = (
            f"in rows from {block.first:,} on" if bad is None else f"row {block.first + bad:,}"
        )
        raise ValueError(f"X, {where}: {error}") from error
    if len(answers) == 1:
        return answers[0]
    return np.column_stack(answers)
