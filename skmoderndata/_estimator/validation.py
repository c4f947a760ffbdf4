"""Input checks that several estimators share."""

import inspect
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array as sklearn_check_array
from sklearn.utils.validation import column_or_1d
from sklearn.utils.validation import validate_data as sklearn_validate_data

from skmoderndata._estimator.advice import text_is_named
from skmoderndata._estimator.compat import check_sample_weight, unmasked, warn_user
from skmoderndata._estimator.scale import warn_unlike_scales
from skmoderndata._solvers.common.arrays import CACHED_BYTES, as_numpy
from skmoderndata._solvers.common.quantities import FLOAT_BYTES

# Range of magnitudes whose squares and sums of squares neither overflow nor underflow.
SMALLEST = 1e-100
LARGEST = 1e100
# Maximum magnitude in tables that stay in single precision.
LARGEST_SINGLE = 1e15
# Data types that an input may keep.
FLOATS = [np.float64, np.float32]
# Number of entries checked at a time, chosen so that they stay in the cache.
ENTRIES_AT_ONCE = CACHED_BYTES // FLOAT_BYTES
# Number of components that is allowed whatever the size of the data.
CHEAP_COMPONENTS = 100


def validate_data(
    estimator: Any,
    X: Any = "no_validation",
    y: Any = "no_validation",
    *,
    reset: bool = True,
    stored_zeros: bool = False,
    fourth_powers: bool = False,
    **checks: Any,
) -> Any:
    """Validate input as scikit-learn does, and apply the policies of this package.

    Non-zero magnitudes outside [1e-100, 1e100] raise an error (`check_magnitude`), and so do
    targets that are sparse, incomplete or of mixed types (`check_target`). A sparse matrix with
    repeated or stored zero entries is replaced by a tidy copy, so that solvers never modify the
    arrays of the caller. Hidden entries of a masked array become NaN or raise an error
    (`unmasked`). In `fit`, a class that depends on the scales of columns warns if they differ
    widely (`warn_unlike_scales`).

    Parameters
    ----------
    estimator, X, y, reset, **checks
        As in `sklearn.utils.validation.validate_data`.
    stored_zeros : bool, default=False
        Whether stored zeros of a sparse matrix have a meaning and are kept.
    fourth_powers : bool, default=False
        Whether fourth powers of the largest magnitude must be finite, too.

    Returns
    -------
    X, y or both
        The validated arguments that were given.
    """
    given_X = not (isinstance(X, str) and X == "no_validation")
    given_y = not (y is None or (isinstance(y, str) and y == "no_validation"))
    name = type(estimator).__name__
    tags = estimator.__sklearn_tags__()
    numbers = tags.estimator_type == "regressor" or bool(checks.get("y_numeric"))

    X = unmasked(X, owner=name, allow_nan=_accepts_nan(estimator, checks))
    if given_y:
        check_target(y, owner=name, numbers=numbers)
    with text_is_named(X):
        out = sklearn_validate_data(estimator, X, y, reset=reset, **checks)

    if not given_X:
        return out
    X, y = out if given_y else (out, None)

    X = check_magnitude(
        tidy(X, stored_zeros),
        owner=name,
        kernel_values=tags.input_tags.pairwise,
        fourth_powers=fourth_powers,
    )
    if given_y and numbers:
        check_magnitude(y, owner=name, input_name="y")
    if reset:
        warn_unlike_scales(estimator, X)
    return (X, y) if given_y else X


def _accepts_nan(estimator: Any, checks: Any) -> bool:
    """Return whether NaN marks missing entries; some estimators raise their own error for it."""
    if checks.get("ensure_all_finite") != "allow-nan":
        return False
    return estimator is None or bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def check_array(
    X: Any,
    *,
    input_name: str = "X",
    estimator: Any = None,
    kernel_values: bool = False,
    fourth_powers: bool = False,
    **checks: Any,
) -> Any:
    """`sklearn.utils.check_array` with the policies of `validate_data`."""
    owner = None if estimator is None else type(estimator).__name__
    allow_nan = _accepts_nan(estimator, checks)
    X = unmasked(X, owner=owner, input_name=input_name, allow_nan=allow_nan)
    with text_is_named(X):
        X = tidy(sklearn_check_array(X, input_name=input_name, estimator=estimator, **checks))
    return check_magnitude(
        X,
        owner=owner,
        input_name=input_name,
        kernel_values=kernel_values,
        fourth_powers=fourth_powers,
    )


def check_magnitude(
    X: Any,
    *,
    owner: str | None = None,
    input_name: str = "X",
    kernel_values: bool = False,
    fourth_powers: bool = False,
) -> Any:
    """Raise an error for numbers whose squares over- or underflow; return X.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Numbers; NaN counts as missing.
    owner, input_name : str
        Names in error messages.
    kernel_values : bool, default=False
        Whether X contains kernel values. Only the largest is then checked, because values of
        distant samples may be practically zero.
    fourth_powers : bool, default=False
        Whether fourth powers of the largest magnitude are formed (in single precision squares),
        which must then lie in [1e-50, 1e50] (in single precision [1e-15, 1e15]).

    Returns
    -------
    X
        The same object.

    Raises
    ------
    ValueError
        If a non-zero magnitude lies outside [1e-100, 1e100], or in single precision, if the
        largest exceeds 1e15. `fourth_powers` has its own limits.
    """
    values = X.data if sparse.issparse(X) else np.asarray(as_numpy(X))
    if values.dtype.kind not in "fc" or values.size == 0:
        return X

    single = values.dtype in (np.float32, np.complex64, np.float16)
    small = large = None
    peak = 0.0

    flat = values.reshape(-1) if values.flags.c_contiguous else np.ravel(values, order="K")
    # check block by block, so that memory is read only once, and stop at the first number out of
    # range
    for first in range(0, flat.size, ENTRIES_AT_ONCE):
        sizes = np.abs(flat[first : first + ENTRIES_AT_ONCE])
        top = float(np.fmax.reduce(sizes))
        peak = top if top > peak else peak
        if top > (LARGEST_SINGLE if single else LARGEST):
            large = top
            break

        if single or kernel_values:
            continue

        tiny = sizes < SMALLEST
        if np.count_nonzero(tiny) and sizes[tiny].any():
            small = float(sizes[tiny & (sizes > 0)].min())
            break

    if kernel_values and 0 < peak < SMALLEST:
        small = peak

    where = f"{owner} got {input_name}" if owner else f"{input_name} came"
    if small is None and large is None:
        if fourth_powers:
            _check_fourth_powers(peak, single, where)
        return X

    # raise an error that names the remedy
    wrong = small if large is None else large
    if single:
        remedy = "divide it by that, or give it in double precision"
        span = "at most 1e15 in single precision"
    else:
        remedy = (
            "rescale it, for example divide by the largest magnitude"
            if large is not None or kernel_values
            else "rescale it, or set such entries to 0 if they are as good as zero"
        )
        span = "between 1e-100 and 1e100, zeros aside"

    raise ValueError(
        f"{where} with an entry of magnitude {wrong:.1e}; magnitudes must be {span}, because "
        f"products of others over- or underflow: {remedy}."
    )


def _check_fourth_powers(peak: float, single: bool, where: str) -> None:
    smallest = 1 / LARGEST_SINGLE if single else SMALLEST**0.5
    largest = LARGEST_SINGLE if single else LARGEST**0.5
    if peak > 0 and not smallest <= peak <= largest:
        raise ValueError(
            f"{where} with entries of up to {peak:.1e}; the largest magnitude must be between "
            f"{smallest:.0e} and {largest:.0e} {'in single precision' if single else 'here'}, "
            "because fourth powers over- or underflow: rescale it, for example divide by that."
        )


def check_codes(X, n_components, *, estimator, accept_sparse=False):
    """Check codes given to `inverse_transform`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_components)
        Codes.
    n_components : int
        Number of columns that X must have.
    estimator : estimator instance
        Named in messages.
    accept_sparse : bool or str, default=False
        As in `sklearn.utils.check_array`.

    Returns
    -------
    X : ndarray or sparse matrix of shape (n_samples, n_components)
        Codes in float64 or float32.
    """
    X = check_array(
        X,
        accept_sparse=accept_sparse,
        dtype=[np.float64, np.float32],
        estimator=estimator,
        ensure_min_features=min(n_components, 1),
    )
    if X.shape[1] != n_components:
        raise ValueError(
            f"X has {X.shape[1]} codes a row, but {type(estimator).__name__} has {n_components} "
            "components."
        )
    return X


def check_target(y: Any, *, owner: str, numbers: bool = False, remedy: str = "") -> None:
    """Raise an error for targets that scikit-learn converts, accepts, or rejects unclearly.

    Missing values and infinities in arrays of numbers are left to scikit-learn.

    Parameters
    ----------
    y : array-like
        Targets: an array, a list, or a column or table of a data frame of any library.
    owner : str
        Named in messages.
    numbers : bool, default=False
        Whether only numbers make sense, as for a regressor.
    remedy : str
        What to do with strings, if there is a better remedy than to give numbers.

    Raises
    ------
    ValueError
        If y is sparse, or a masked array with hidden entries; if it mixes strings with other
        values; if values among objects or strings are missing (None, NaN) or infinite; with
        `numbers`, if it holds strings or dates.
    """
    unmasked(y, owner=owner, input_name="y")
    if sparse.issparse(y):
        raise ValueError(
            f"{owner} needs y as a dense array, and received a sparse matrix: pass y.toarray(), "
            "of one column y.toarray().ravel()."
        )
    values = np.asarray(as_numpy(y))
    if values.dtype.kind in "US" and isinstance(y, list | tuple):
        values = np.array(y, dtype=object)  # NumPy converts numbers among strings to strings
    if values.dtype.kind == "O":
        _check_objects(values, owner)
    if not numbers or values.dtype.kind in "biufc":
        return

    # for a regressor, accept objects and strings that represent numbers
    flat = values.reshape(-1)
    try:
        if flat.dtype.kind not in "mM":
            flat.astype(np.float64)
            return
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"{owner} needs numbers as y, and received {flat[:1].tolist()[0]!r}"
        f"{': ' + remedy if remedy else ''}."
    )


def _check_objects(values: Any, owner: str) -> None:
    """Raise an error for missing or infinite values and for mixed types."""
    flat = values.reshape(-1)

    def where(wrong: Any) -> str:
        first = int(wrong.argmax())
        if values.ndim < 2:
            return f"position {first}"
        return f"row {first // (values.size // len(values))}"

    # 1. reject missing values: the caller has to drop the samples that have them
    missing = np.fromiter(map(_is_missing, flat), bool, flat.size)
    if missing.any():
        raise ValueError(
            f"{owner}: y is missing (None or NaN) for {np.count_nonzero(missing)} of "
            f"{flat.size} values, the first at {where(missing)}: leave these samples out."
        )

    # 2. reject infinite values, too
    infinite = np.fromiter(map(_is_infinite, flat), bool, flat.size)
    if infinite.any():
        raise ValueError(
            f"{owner}: y is infinite at {where(infinite)}: leave such samples out, or give them "
            "another value."
        )

    # 3. reject mixed types, and show a value of the rarer type
    strings = np.fromiter((isinstance(value, str | bytes) for value in flat), bool, flat.size)
    if strings.any() and not strings.all():
        rare = ~strings if 2 * strings.sum() > flat.size else strings
        raise ValueError(
            f"{owner}: y mixes strings and other values, such as "
            f"{flat[int(rare.argmax())]!r} at {where(rare)}: use one type for all."
        )


def _is_missing(value):
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA does not equal anything, including itself
        return True
    except ValueError:  # arrays among the values are checked elsewhere
        return False


def _is_infinite(value):
    return isinstance(value, float | np.floating) and bool(np.isinf(value))


def tidy(X: Any, stored_zeros: bool = False) -> Any:
    """Return a sparse matrix without repeated or stored zero entries, indices sorted.

    With `stored_zeros`, stored zeros are kept. A matrix that is already tidy is returned
    unchanged, and so is dense input. Otherwise the result is a copy: the arrays of the caller
    never change.
    """
    if not sparse.issparse(X) or X.format not in ("csr", "csc"):
        return X
    # use a new matrix with the same arrays, because scipy stores the flags on the matrix that it
    # checks
    shell = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if X.indices.dtype != X.indptr.dtype:
        X = shell  # compiled code needs index arrays of one type
    if shell.has_canonical_format and (stored_zeros or np.all(X.data)):
        return X
    X = X.copy()
    X.sum_duplicates()
    if not stored_zeros:
        X.eliminate_zeros()
    return X


def refuse_ragged(X: Any, what: str) -> None:
    """Raise an error for a list of rows of different lengths, which is not a table."""
    if not isinstance(X, list | tuple):
        return
    # count a string as one value
    rows = [not isinstance(row, str) and hasattr(row, "__len__") for row in X]
    lengths = [len(row) if is_row else 1 for row, is_row in zip(X, rows, strict=True)]
    if len(set(lengths)) > 1:
        row = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"{what} has rows of different lengths: {lengths[0]} values in row 0, {lengths[row]} "
            f"in row {row}. Give a table with the same columns in all rows."
        )


def float_type(X: Any) -> type:
    """Return the type of results: float32 for samples in float32, float64 otherwise."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def dense(X: Any) -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    return X.toarray() if sparse.issparse(X) else X


def check_n_components(
    estimator: Any, shape: Any, *, n_allowed: int = CHEAP_COMPONENTS
) -> None:
    """Raise an error for more components than rows and columns, which take minutes for no gain."""
    n_allowed = max(*shape, n_allowed)
    if estimator.n_components is not None and estimator.n_components > n_allowed:
        raise ValueError(
            f"{type(estimator).__name__}(n_components={estimator.n_components}) has more "
            f"components than n_samples={shape[0]} and n_features={shape[1]}; fewer components "
            f"reproduce X exactly: use at most {n_allowed}."
        )


def check_entry_weight(entry_weight: Any, X: Any, *, owner: str) -> Any:
    """Check weights of entries; return them as an array, or None if all weights are 1.

    Parameters
    ----------
    entry_weight : array-like of shape (n_samples, n_features) or None
        Weight of the term of each entry, finite and at least zero.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The validated data.
    owner : str
        Named in messages.

    Returns
    -------
    weights : ndarray of float64 of shape (n_samples, n_features) or None
        None if no weights were given, or all of them are 1.

    Raises
    ------
    ValueError
        If the shape differs from the shape of X, if a weight is negative, not finite or outside
        [1e-100, 1e100], if all weights are zero, or if X or the weights are sparse.
    """
    if entry_weight is None:
        return None
    if sparse.issparse(X) or sparse.issparse(entry_weight):
        which = "X" if sparse.issparse(X) else "entry_weight"
        raise ValueError(
            f"{owner} takes entry_weight with dense arrays only, and {which} is sparse: pass "
            f"{which}.toarray(), or weigh whole rows by sample_weight where fit has it."
        )

    # convert to numbers, which must be finite and have the shape of X
    weights = sklearn_check_array(
        entry_weight, dtype=np.float64, input_name="entry_weight", ensure_all_finite=False
    )
    _refuse_shape(weights, X, owner)
    _refuse_weights(weights, X.dtype, owner)
    return None if (weights == 1).all() else weights


def check_stored_weight(entry_weight: Any, X: Any, *, owner: str) -> Any:
    """Check weights of the stored entries of a sparse table; its other entries are missing.

    Parameters
    ----------
    entry_weight : array-like or sparse matrix of shape (n_samples, n_features) or None
        Weights; entries that a sparse matrix does not store have weight 0.
    X : csr_array of shape (n_samples, n_features)
        The validated table, with sorted indices.
    owner : str
        Named in messages.

    Returns
    -------
    weights : ndarray of float64 of shape (nnz,) or None
        In the order of ``X.data``.

    Raises
    ------
    ValueError
        In the same cases as `check_entry_weight`, for the weights of stored entries.
    """
    if entry_weight is None:
        return None
    weights = sklearn_check_array(
        entry_weight,
        dtype=np.float64,
        accept_sparse="csr",
        input_name="entry_weight",
        ensure_all_finite=False,
    )
    _refuse_shape(weights, X, owner)

    # look up the weight of each stored entry
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    if sparse.issparse(weights):
        weights = sparse.csr_matrix(weights)
    weights = np.asarray(weights[rows, X.indices]).ravel()
    if weights.size:
        _refuse_weights(weights, X.dtype, owner)
    return weights


def _refuse_shape(weights: Any, X: Any, owner: str) -> None:
    if weights.shape != X.shape:
        raise ValueError(
            f"{owner} got entry_weight of shape {weights.shape}, and X has shape {X.shape}: give "
            "one weight for each entry of X."
        )


def _refuse_weights(weights: Any, dtype: Any, owner: str) -> None:
    """Raise an error if weights are not finite, negative, too large, or all zero."""
    if not np.isfinite(weights).all():
        raise ValueError(
            f"{owner} got entry_weight with NaN or infinity: give weight 0 to an entry that is "
            "missing."
        )
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"{owner} got entry_weight with a least weight of {weights.min():.3g}: weights must "
            "be at least 0, where 0 means that the entry is missing."
        )
    if not weights.any():
        raise ValueError(
            f"{owner} got entry_weight of zeros only: at least one entry needs a positive weight."
        )
    with np.errstate(over="ignore", under="ignore"):
        used = weights.astype(np.float32) if dtype == np.float32 else weights
    check_magnitude(used, owner=owner, input_name="entry_weight")


def weigh_entries(X: Any, entry_weight: Any, *, owner: str) -> tuple[Any, Any]:
    """Check weights of entries; return X with NaN at entries of weight 0, and the weights.

    A weight of 0 is therefore the same as NaN, and weights of only 0 and 1 are a mask.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Validated numbers; NaN marks missing entries. It is copied before NaN is written to it.
    entry_weight : array-like of shape (n_samples, n_features) or None
        Weights that `check_entry_weight` accepts.
    owner : str
        Named in messages.

    Returns
    -------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        With NaN at every entry of weight 0.
    weights : ndarray of float64 of shape (n_samples, n_features) or None
        0 at every NaN; None if all entries that are not NaN have weight 1.
    """
    weights = check_entry_weight(entry_weight, X, owner=owner)
    if weights is None:
        return X, None
    unknown = weights == 0
    if unknown.any():
        X = np.where(unknown, X.dtype.type(np.nan), X)
    missing = np.isnan(X)
    if (missing | (weights == 1)).all():
        return X, None
    return X, np.where(missing, 0.0, weights)


def validate_boolean(estimator, X, *, threshold, reset, allow_nan=False):
    """Check Boolean data and return it as Boolean, with the mask of unobserved bits.

    Parameters
    ----------
    estimator : estimator instance
        Keeps `n_features_in_` and `feature_names_in_`; named in messages.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers or Booleans. In a sparse matrix the entries that are not stored are 0.
    threshold : float or None
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.
    reset : bool
        True in `fit`.
    allow_nan : bool, default=False
        Whether NaN marks an unobserved bit.

    Returns
    -------
    bits : ndarray of bool or csr_array of bool, of shape (n_samples, n_features)
        Unobserved bits are False.
    missing : ndarray of bool of shape (n_samples, n_features) or None
        None when every bit is observed.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype="numeric",
        ensure_all_finite="allow-nan" if allow_nan else True,
    )

    bits, missing = bits_of(X, threshold=threshold, owner=type(estimator).__name__)
    if reset and threshold is not None and _is_default(estimator, threshold):
        warn_default_threshold(estimator, BitCounts.of(X, threshold), threshold)
    return bits, missing


def bits_of(X, *, threshold, owner):
    """Return numbers as Boolean, and the mask of unobserved bits, as `validate_boolean` does.

    Parameters
    ----------
    X : ndarray or csr matrix of shape (n_samples, n_features)
        Numbers or Booleans.
    threshold : float or None
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.
    owner : str
        What error messages name.
    """
    values = X.data if sparse.issparse(X) else X
    # NaN marks unobserved bits, but only in dense arrays
    missing = None
    if values.dtype.kind == "f":
        unobserved = np.isnan(values)
        if unobserved.any():
            if sparse.issparse(X):
                raise ValueError(
                    f"{owner} does not take NaN in sparse input: "
                    "give a dense array, where NaN marks an unobserved bit."
                )
            missing = unobserved

    # convert to bits: compare numbers with the threshold, and keep zeros and ones unchanged
    if values.dtype == bool:
        bits = values
    elif threshold is None:
        if not (np.isin(values, (0, 1)) | (values != values)).all():
            raise ValueError(
                f"{owner}(threshold=None) needs 0 and 1 only: set "
                "`threshold`, above which a value counts as 1."
            )
        bits = values == 1
    else:
        if sparse.issparse(X) and threshold < 0:
            raise ValueError(
                f"threshold={threshold} would turn the entries of sparse input that are not "
                "stored into 1: use threshold >= 0, or dense input."
            )
        bits = values > threshold
    if not sparse.issparse(X):
        return bits, missing

    X = sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape, copy=not bits.all())
    # if no stored bit is zero, X shares the arrays of the caller, which may be read-only
    if not bits.all():
        X.eliminate_zeros()
    return X, None


class BitCounts(NamedTuple):
    """Summary of the numbers in a table; summaries of blocks of rows can be added."""

    # the smallest value, the largest value, and one value between them if it exists
    values: tuple[float, ...]
    n_above: int  # number of values above the threshold
    n_observed: int

    @classmethod
    def of(cls, X, threshold):
        """Summarise the entries of X, including zeros that a sparse matrix does not store."""
        values = X.data if sparse.issparse(X) else X
        if values.dtype == bool or not (values == values).any():
            return cls((), 0, 0)
        low, high = (float(bound) for bound in (np.nanmin(values), np.nanmax(values)))
        between = (values > low) & (values < high)
        seen = {low, high, *values[between][:1].tolist()}
        n_observed = np.count_nonzero(values == values)

        if sparse.issparse(X) and X.nnz < X.shape[0] * X.shape[1]:
            seen.add(0.0)
            n_observed = X.shape[0] * X.shape[1]
        return cls(_three(seen), np.count_nonzero(values > threshold), n_observed)

    def __add__(self, other):
        """Return the summary of the rows of both summaries."""
        return BitCounts(
            _three({*self.values, *other.values}),
            self.n_above + other.n_above,
            self.n_observed + other.n_observed,
        )


def _three(values):
    """Return the smallest and largest value and one between them, or all if there are fewer."""
    ordered = sorted(values)
    return tuple(ordered if len(ordered) < 3 else (ordered[0], ordered[1], ordered[-1]))


def _is_default(estimator, threshold):
    return threshold == inspect.signature(type(estimator)).parameters["threshold"].default


def warn_default_threshold(estimator, counts, threshold):
    """Warn that numbers were cut at the default threshold."""
    name = type(estimator).__name__
    if not counts.values or not _is_default(estimator, threshold):
        return

    low = counts.values[0]
    high = counts.values[-1]
    between = len(counts.values) > 2
    alike = low < high and (high <= threshold or low > threshold)
    if not between and not alike:
        return

    what = "more than two values" if between else f"the values {low:g} and {high:g}"
    warn_user(
        f"{name}: X holds {what}, and threshold was left at its default: the "
        f"{counts.n_above / counts.n_observed:.1%} of the entries above {threshold:g} became 1. "
        f"Set threshold, give X > {threshold:g} yourself, or set threshold=None, which refuses "
        "anything but 0 and 1."
    )


def check_memberships(Z, n_components, *, called="components"):
    """Check memberships given to `inverse_transform`, and return them as Boolean.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Memberships; entries above one half count as True.
    n_components : int
        Number of columns that Z must have.
    called : str, default="components"
        What the error message calls them.

    Returns
    -------
    Z : ndarray of bool of shape (n_samples, n_components)
        Memberships.
    """
    Z = check_array(Z, dtype="numeric", input_name="Z")
    if Z.shape[1] != n_components:
        raise ValueError(f"Z has {Z.shape[1]} columns, but there are {n_components} {called}.")
    return Z > 0.5


def relative_weights(sample_weight, X, *, owner="", at_least=0):
    """Check non-negative weights, and return them relative to the largest, and the largest.

    A result that depends only on their ratios is then the same for weights of any common scale;
    an objective is multiplied by the largest weight at the end.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        Weights; None gives all samples weight 1.
    X : array-like, sparse matrix or list
        The samples.
    owner : str
        What the error message names.
    at_least : int, default=0
        Number of samples that must have a positive weight.

    Returns
    -------
    weight : ndarray of shape (n_samples,)
        Weights between 0 and 1, in double precision; 0 below 1e-100.
    unit : float
        Largest weight, which becomes 1.
    """
    w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    unit = float(w.max(initial=0.0)) or 1.0
    w = w / unit
    w[w < SMALLEST] = 0.0
    positive = np.count_nonzero(w)
    if positive < at_least:
        raise ValueError(
            f"{owner} needs at least {at_least} sample{'s' * (at_least > 1)} of positive weight: "
            f"n_samples={positive}."
        )
    return w, unit


def check_groups(groups, n_members, *, member="feature", whole="X", overlap=False):
    """Check groups that partition features or atoms, and return the group number of each member.

    Parameters
    ----------
    groups : array-like of shape (n_members,) or list of arrays
        A label for each member, or the members of each group.
    n_members : int
        Number of members.
    member, whole : str
        Names of a member and of the set in error messages.
    overlap : bool
        Whether lists may share members.

    Returns
    -------
    labels : ndarray of int of shape (n_members,), or list of ndarray
        0, 1, ...: labels in ascending order, lists in the order given. If lists share members,
        the lists as arrays.
    """
    groups = list(groups)
    # accept one label for each member
    if all(np.ndim(group) == 0 for group in groups):
        if len(groups) != n_members:
            raise ValueError(
                f"groups has {len(groups)} labels, and {whole} {n_members} {member}s: give "
                f"one label for each {member}, or a list of the {member}s of each group."
            )
        return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)

    # otherwise accept the members of each group; the groups must form a partition
    labels = np.full(n_members, -1)
    lists = []
    shared = False
    for g, members in enumerate(groups):
        members = np.asarray(members)
        if members.ndim != 1 or members.size == 0 or members.dtype.kind not in "iu":
            raise ValueError(f"groups[{g}] must be a list of numbers of {member}s, not empty.")
        if members.min() < 0 or members.max() >= n_members:
            wrong = members.min() if members.min() < 0 else members.max()
            raise ValueError(
                f"groups[{g}] names {member} {wrong}, and {whole} has {member}s 0 to "
                f"{n_members - 1}."
            )

        if overlap and len(np.unique(members)) < len(members):
            raise ValueError(
                f"groups[{g}] lists a {member} twice: list it once in each group."
            )
        lists.append(members.astype(np.int64))
        taken = labels[members] >= 0
        shared = shared or bool(taken.any())
        if not overlap and (len(np.unique(members)) < len(members) or taken.any()):
            raise ValueError(
                f"groups overlap: {'an' if member[0] in 'aeiou' else 'a'} {member} of groups[{g}] "
                f"is listed twice. For overlapping groups repeat the {member} in {whole}, once "
                "for each group."
            )

        labels[members] = g

    if (labels < 0).any():
        raise ValueError(
            f"groups leave out {np.count_nonzero(labels < 0)} of {n_members} {member}s, the first "
            f"is {int(np.argmax(labels < 0))}: give each a group, alone if need be."
        )
    return lists if shared else labels


def known_entries(X):
    """Return a table with 0 for missing entries, and the mask of known entries, or None."""
    missing = np.isnan(X)
    if not missing.any():
        return np.ascontiguousarray(X), None
    return np.where(missing, X.dtype.type(0), X), ~missing


def check_atoms(dictionary):
    """Return a finite matrix in double precision, real, complex or (CSR) sparse."""
    if sparse.issparse(dictionary) or not np.iscomplexobj(dictionary):
        return check_array(
            dictionary, dtype=np.float64, accept_sparse="csr", input_name="dictionary"
        )
    atoms = np.array(dictionary, dtype=np.complex128)
    if atoms.ndim != 2 or atoms.size == 0 or not np.isfinite(atoms).all():
        raise ValueError(
            "dictionary must be a matrix of finite numbers, one atom in each row."
        )
    return check_magnitude(atoms, input_name="dictionary")


def order_of_labels(y: Any, classes: Any) -> Any:
    """Return the order of labels: `classes`, the order of a categorical, or None.

    Parameters
    ----------
    y : array-like
        Labels before conversion, because a column of a data frame stores its categories.
    classes : array-like or None
        All labels, lowest first.

    Returns
    -------
    classes : array-like or None
        All labels, lowest first; None if the order is unknown.
    """
    if classes is not None:
        return classes
    if len(getattr(y, "columns", ())) == 1:  # a table with one column
        y = y[y.columns[0]]
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):  # pandas
        return np.asarray(dtype.categories)
    if type(dtype).__name__ == "Enum":  # polars
        return np.asarray(dtype.categories.to_list(), dtype=object)
    return None


def ordered_classes(y: Any, classes: Any, *, owner: str) -> tuple[Any, Any]:
    """Return the classes in y in ascending order, and the rank of each sample from 0.

    Warns if more than two string labels can only be sorted alphabetically.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    classes : array-like or None
        All labels, lowest first, as from `order_of_labels`; None sorts the labels in y.
    owner : str
        Named in messages.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    ranks : ndarray of int of shape (n_samples,)
    """
    present, codes = np.unique(y, return_inverse=True)
    if classes is None:
        if len(present) > 2 and present.dtype.kind in "OSU":
            warnings.warn(
                f"{owner} takes the ranks in alphabetical order, "
                f"{' < '.join(map(repr, present.tolist()))}: give classes, all labels from the "
                "lowest to the highest, or y as an ordered categorical.",
                stacklevel=3,
            )
        return present, codes

    # use the given order; y need not contain all of its classes
    order = np.asarray(classes)
    labels = order.tolist()
    if order.ndim != 1 or len(set(labels)) < len(labels):
        raise ValueError(f"{owner}: classes must list every label once, got {classes!r}.")
    position = {label: index for index, label in enumerate(labels)}
    unknown = [label for label in present.tolist() if label not in position]
    if unknown:
        raise ValueError(unknown_label(unknown[0], labels, owner))

    # number the ranks among the classes that are present
    positions = np.array([position[label] for label in present.tolist()])
    by_rank = np.argsort(positions)
    rank = np.empty(len(present), dtype=int)
    rank[by_rank] = np.arange(len(present))
    return present[by_rank], rank[codes]


def unknown_label(label: Any, classes: list[Any], owner: str) -> str:
    """Return the message for a label that is not among the classes."""
    text = f"{owner}: y holds {label!r}, which is not in classes={classes}."
    if isinstance(label, int) and all(isinstance(one, str) for one in classes):
        text += (
            " Stacking, voting and bagging number string labels in alphabetical order before they "
            "fit: give them y as integers in the order of the ranks, and leave classes out."
        )
    return text


def sequence_starts(sequence_ids, X):
    """Return, for each row, the index of the first row of its sequence."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    row = np.arange(n)
    if sequence_ids is None:
        return np.zeros(n, dtype=row.dtype)
    ids = column_or_1d(sequence_ids)
    if len(ids) != n:
        raise ValueError(f"sequence_ids needs one entry per row: got {len(ids)} for {n} rows.")
    if np.any(ids != ids):
        raise ValueError("sequence_ids contains NaN: give every row the id of its sequence.")
    begins = np.concatenate([[True], ids[1:] != ids[:-1]])
    return np.maximum.accumulate(np.where(begins, row, 0))
