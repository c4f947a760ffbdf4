"""Hidden Markov models from arrays or from hmmlearn, and their input sequences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy
from sklearn.base import clone

from skmoderndata._samples.containers import as_samples
from skmoderndata._samples.sequences import Packed, pack
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.generative.hidden_markov import Observations
from skmoderndata._solvers.generative.normals import log_densities

KINDS = {"emissionprob_": "symbols", "means_": "normal", "lambdas_": "counts"}


class HiddenMarkovModel(NamedTuple):
    """Arrays of a fitted model; a tuple, so that cloning an estimator preserves the fit.

    Attributes
    ----------
    startprob : ndarray of shape (n_states,)
        Probabilities of the first state.
    transmat : ndarray of shape (n_states, n_states)
        Probabilities of the next state, one row for each state.
    kind : {"symbols", "normal", "counts"}
        Type of the observations: symbols, real vectors, or vectors of counts.
    emission : tuple of ndarray
        Probabilities of symbols; means and covariances; or means of Poisson distributions.
    """

    startprob: Array
    transmat: Array
    kind: str
    emission: tuple[Array, ...]


def probabilities(values: Any, name: str, shape: tuple[int | None, ...], owner: str) -> Array:
    """Check probabilities that sum to one along the last axis; None in `shape` allows any size."""
    try:
        p = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be an array of probabilities.") from None

    # check the shape and the range
    sizes = zip(shape, p.shape, strict=False)
    fits = p.ndim == len(shape) and all(m in (None, n) for m, n in sizes)
    if not fits or not p.size:
        required = ", ".join("any" if m is None else str(m) for m in shape)
        raise ValueError(f"{owner}: {name} has shape {p.shape}, but must have ({required}).")
    if not np.isfinite(p).all() or (p < 0).any():
        raise ValueError(f"{owner}: {name} has entries that are NaN, infinite or negative.")

    # check that each row sums to one
    rows = p.reshape(-1, p.shape[-1])
    for k, total in enumerate(rows.sum(axis=1)):
        if abs(total - 1.0) <= 1e-8:
            continue
        where = f"{name}[{k}], the row of state {k}," if p.ndim > 1 else name
        if total == 0.0:
            raise ValueError(
                f"{owner}: {where} is a row of zeros, as hmmlearn returns for a state that the "
                "training sequences never visit or never leave; fit fewer states, or set the "
                "row to probabilities that sum to one."
            )
        raise ValueError(f"{owner}: {where} sums to {total:.10g}, but must sum to one.")

    return p


def read_model(model: Any, owner: str) -> HiddenMarkovModel | None:
    """Read the arrays of a model, or return None if it is not fitted.

    Parameters
    ----------
    model : HiddenMarkovModel, tuple or object of hmmlearn
        Three arrays ``(startprob, transmat, emissionprob)``, or an object with `startprob_`,
        `transmat_`, and `emissionprob_`, `means_` with `covars_`, or `lambdas_`.
    owner : str
        Name of the caller, for error messages.
    """
    if isinstance(model, HiddenMarkovModel):
        return model
    if isinstance(model, tuple | list) and len(model) == 3:
        startprob, transmat, emissionprob = model
        return checked_model(startprob, transmat, "symbols", (emissionprob,), owner)

    # find the kind of an hmmlearn model by its emission parameters
    kind = next((kind for name, kind in KINDS.items() if hasattr(model, name)), None)
    if not hasattr(model, "transmat_") or kind is None:
        if not hasattr(model, "fit") or type(model).__name__ in ("GMMHMM", "MultinomialHMM"):
            raise TypeError(
                f"{owner}: model is of type {type(model).__name__}; pass a CategoricalHMM, "
                "GaussianHMM or PoissonHMM of hmmlearn, or (startprob, transmat, emissionprob)."
            )
        return None

    # models of symbols or counts have one array of parameters; models of normal observations have
    # means and covariances
    if kind != "normal":
        values = model.emissionprob_ if kind == "symbols" else model.lambdas_
        return checked_model(model.startprob_, model.transmat_, kind, (values,), owner)

    if model.covariance_type not in ("diag", "full"):
        raise ValueError(
            f"{owner}: the model has covariance_type={model.covariance_type!r}; only 'diag' "
            "and 'full' are supported."
        )

    # hmmlearn returns the variances of a diagonal model in the form of matrices
    covariances = np.asarray(model.covars_, dtype=np.float64)
    if model.covariance_type == "diag" and covariances.ndim == 3:
        covariances = np.diagonal(covariances, axis1=1, axis2=2).copy()

    emission = (model.means_, covariances)
    return checked_model(model.startprob_, model.transmat_, kind, emission, owner)


def checked_model(
    startprob: Any, transmat: Any, kind: str, emission: tuple[Any, ...], owner: str
) -> HiddenMarkovModel:
    """Check the arrays of a model."""
    start = probabilities(startprob, "startprob", (None,), owner)
    S = len(start)
    move = probabilities(transmat, "transmat", (S, S), owner)
    if kind == "symbols":
        values = probabilities(emission[0], "emissionprob", (S, None), owner)
        return HiddenMarkovModel(start, move, kind, (values,))

    # check that there is one row for each state
    arrays = tuple(np.array(values, dtype=np.float64) for values in emission)
    if not all(len(a) == S and np.isfinite(a).all() for a in arrays):
        raise ValueError(f"{owner}: means and covariances must be finite, one for each state.")
    if kind == "counts" and (arrays[0] <= 0).any():
        raise ValueError(f"{owner}: the means of Poisson distributions must be positive.")
    return HiddenMarkovModel(start, move, kind, arrays)


def pack_symbols(X: Any, owner: str) -> Packed:
    """Pack sequences; columns of integers, the input of hmmlearn, are accepted too."""

    def flat(x: Any) -> Any:
        is_column = isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 1
        return x[:, 0] if is_column else x

    sequences = [flat(x) for x in as_samples(X, owner)]
    return pack(sequences, owner)


def are_numbers(symbols: Sequence[Any]) -> bool:
    """Whether all symbols are integers."""
    return all(isinstance(s, int | np.integer) for s in symbols)


def symbols_from_data(X: Any, symbols: Any, owner: str) -> Any:
    """Return `symbols` if given, None for numbers, otherwise the sorted symbols of X."""
    if symbols is not None:
        return symbols
    packed = pack_symbols(X, owner)
    is_text = packed.kind == "text"
    if not is_text and are_numbers(packed.symbols):
        return None
    used = [packed.symbols[c] for c in np.unique(packed.codes)]
    used.sort(key=str)
    return "".join(used) if is_text else tuple(used)


def pack_numbers(X: Sequence[Array]) -> tuple[Array, Array]:
    """Join integer arrays; return them with the offset of each."""
    flat = [x.ravel() for x in X]
    numbers = np.concatenate(flat).astype(np.int64) if flat else np.zeros(0, np.int64)
    return numbers, _offsets([x.size for x in X])


def _offsets(lengths: Sequence[int]) -> Array:
    """Return the starts of concatenated sequences, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def symbol_rows(X: Any, symbols: Any, n_symbols: int, owner: str) -> tuple[Array, Array]:
    """Return the symbols of all sequences as numbers 0 to n_symbols - 1, and their offsets."""
    if symbols is None and all(isinstance(x, np.ndarray) and x.dtype.kind in "iu" for x in X):
        rows, offsets = pack_numbers(X)
        if not len(rows) or (rows.min() >= 0 and rows.max() < n_symbols):
            return rows, offsets
    packed = pack_symbols(X, owner)
    return model_codes(packed, symbols, n_symbols, owner), packed.offsets


def model_codes(packed: Packed, symbols: Any, n_symbols: int, owner: str) -> Array:
    """Return the symbols of a packed collection as numbers 0 to n_symbols - 1."""
    if symbols is None:
        if not are_numbers(packed.symbols) or packed.kind == "text":
            raise ValueError(
                f"{owner}: symbols=None means numbers from 0 to {n_symbols - 1}, but the "
                "sequences have other symbols; pass symbols, in the order of the columns of the "
                "model, or call kernel.from_data(X_train)."
            )
        in_range = [s for s in packed.symbols if 0 <= s < n_symbols]  # type: ignore[operator]
        numbers: dict[Any, int] = {s: int(s) for s in in_range}  # type: ignore[call-overload]
    else:
        if len(symbols) != n_symbols or len(set(symbols)) < n_symbols:
            raise ValueError(
                f"{owner}: symbols has {len(symbols)} entries, but the model emits {n_symbols} "
                "symbols; pass one distinct symbol for each."
            )
        numbers = {s: i for i, s in enumerate(symbols)}

    # look up the number of each symbol; symbols that are unknown to the model get -1
    table = np.array([numbers.get(s, -1) for s in packed.symbols], dtype=np.int64)
    rows = table[packed.codes] if len(packed.codes) else np.zeros(0, dtype=np.int64)

    unknown = np.flatnonzero(rows < 0)
    if len(unknown):
        index = int(unknown[0])
        i = int(np.searchsorted(packed.offsets, index, side="right")) - 1
        symbol = packed.symbols[packed.codes[index]]
        raise ValueError(
            f"{owner}: sample {i} has the symbol {symbol!r}, which is "
            f"not among the {n_symbols} symbols of the model; train with all symbols, or drop it."
        )
    return rows


def pack_vectors(X: Any, n_features: int | None, owner: str) -> tuple[Array, Array]:
    """Return the rows of all series, concatenated, and the offset of each series."""
    series = []
    for i, x in enumerate(as_samples(X, owner)):
        try:
            a = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            a = np.zeros((0, 0, 0))
        a = a[:, None] if a.ndim == 1 else a
        fits = a.ndim == 2 and (not len(a) or n_features in (None, a.shape[1]))
        if not fits or not np.isfinite(a).all():
            width = "n_features" if n_features is None else n_features
            raise ValueError(
                f"{owner}: sample {i} must be a finite array of shape (length, {width})."
            )
        if len(a):
            n_features = a.shape[1]
        series.append(a)

    filled = [a for a in series if len(a)]
    rows = np.concatenate(filled) if filled else np.zeros((0, n_features or 1))
    return rows, _offsets([len(a) for a in series])


def observations(
    model: HiddenMarkovModel, X: Any, symbols: Any, owner: str
) -> tuple[Observations, Array | None]:
    """Return the emission probabilities of the observations, and the observed vectors."""
    means = model.emission[0]  # probabilities of symbols, or rates of counts
    if model.kind == "symbols":
        table = np.ascontiguousarray(means.T)
        rows, offsets = symbol_rows(X, symbols, len(table), owner)
        return Observations(table, np.zeros(len(table)), rows, offsets), None

    # compute the logarithms of the densities of vectors in each state
    values, offsets = pack_vectors(X, means.shape[1], owner)
    if model.kind == "normal":
        logs = log_densities(values, *model.emission)
    else:
        counts = (values >= 0) & (values == np.floor(values))
        if not counts.all():
            raise ValueError(f"{owner}: a model of counts needs integers of at least 0.")
        log_factorials = gammaln(values + 1.0)
        logs = xlogy(values[:, None, :], means) - means - log_factorials[:, None, :]
        logs = logs.sum(axis=2)

    # make one row for each observation, relative to its largest density
    scale = logs.max(axis=1, initial=-np.inf) if len(logs) else np.zeros(0)
    table = np.exp(logs - scale[:, None])
    rows = np.arange(len(values))
    return Observations(table, scale, rows, offsets), values


def fit_model(model: Any, X: Any, symbols: Any, owner: str) -> HiddenMarkovModel:
    """Fit a clone of a model of hmmlearn to sequences of any lengths."""
    fitted = clone(model)
    if "Categorical" in type(model).__name__:
        largest = np.iinfo(np.int64).max if symbols is None else len(symbols)
        rows, offsets = symbol_rows(X, symbols, largest, owner)
        values: Array = rows[:, None]
    else:
        values, offsets = pack_vectors(X, None, owner)
        if "Poisson" in type(model).__name__:
            values = values.astype(np.int64)
    if not len(values):
        raise ValueError(f"{owner}: all training sequences are empty; no model can be fitted.")
    lengths = np.diff(offsets)
    fitted.fit(values, lengths[lengths > 0])
    arrays = read_model(fitted, owner)
    if arrays is None:
        raise TypeError(f"{owner}: {type(model).__name__} has no supported arrays after fit.")
    return arrays
