"""Rows in temporal order: checks, sequences, omitted rows, and expansions."""

from copy import deepcopy
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from skmoderndata._estimator.blocks_input import check_entries, in_blocks, rows_named
from skmoderndata._estimator.export import cannot_export, centring, monomials, projection
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.series.expansion import PolynomialExpansion

TIMES = (
    "times must be finite and increase from row to row within a sequence: sort the rows of each "
    "sequence, and label the sequences with sequence_ids."
)
RANGE = (
    "{}: squares of the expanded features leave the range of float64. Rescale X, for example with "
    "StandardScaler."
)
CONSTANT = "{}: every{} feature is constant, so no output has unit variance. Check X."


class RowFacts(NamedTuple):
    """Properties of the rows other than their values."""

    ids: np.ndarray | None
    valid: np.ndarray
    times: np.ndarray | None
    new_sequence: bool


def check_ids(sequence_ids, X):
    """Check the ids of the sequences; return an array, or None."""
    if sequence_ids is None:
        return None
    ids = column_or_1d(sequence_ids)
    check_consistent_length(X, ids)
    if (ids != ids).any():
        raise ValueError("sequence_ids contains NaN: every row needs a label.")
    return ids


def follows_before(ids, n):
    """Mark the rows that continue the sequence of the previous row; the first row does not."""
    follows = np.ones(n, dtype=bool)
    follows[0] = False
    if ids is not None:
        follows[1:] = ids[1:] == ids[:-1]
    return follows


def exact_mean(X):
    """Compute the mean of the rows in float64, exact for constant columns."""
    first = X[0].astype(np.float64)
    return first + (X - first).mean(axis=0)


def mean_slowness(Y, step, valid=slice(None), lag=1):
    """Return the mean squared step divided by the mean square, averaged over the outputs."""
    power = (Y[valid] ** 2).mean(axis=0)
    slowness = ((Y[lag:] - Y[:-lag])[step] ** 2).mean(axis=0)
    return float(np.divide(slowness, power, out=np.zeros_like(power), where=power > 0).mean())


def check_rows(
    X, sequence_ids=None, sample_mask=None, times=None, *, new_sequence=False, after=None
):
    """Check the properties of the rows; `after` is None or the moments that they continue."""
    # compute the sum of each row in one pass, without an array of flags: a sum is NaN if any entry
    # is NaN
    valid = ~np.isnan(X @ np.ones(X.shape[1], X.dtype))
    ids = check_ids(sequence_ids, X)

    if sample_mask is not None:
        sample_mask = column_or_1d(sample_mask)
        check_consistent_length(X, sample_mask)
        if sample_mask.dtype != bool:
            raise ValueError(
                f"sample_mask must be Boolean, got an array of {sample_mask.dtype}."
            )
        valid &= sample_mask

    if times is not None:
        times = column_or_1d(times).astype(np.float64)
        check_consistent_length(X, times)
        # a sequence begins if the label changes or if the call does not continue a sequence
        previous = np.concatenate([[-np.inf], times[:-1]])
        if ids is not None:
            previous[1:][ids[1:] != ids[:-1]] = -np.inf
        if after is not None and not new_sequence and after.continues(ids):
            previous[0] = -np.inf if after.last_time is None else after.last_time

        if not (np.isfinite(times) & (times > previous)).all():
            raise ValueError(TIMES)

    if after is not None and (times is None) != (after.last_time is None):
        raise ValueError("times must be passed in every call of partial_fit, or in none.")

    return RowFacts(ids, valid, times, new_sequence)


def aligned_rows(values):
    """Check an array with one entry for each row; it may be a Dask array."""
    return values if in_blocks(values) else column_or_1d(values)


def is_frozen(expansion):
    """Return whether `fit` leaves a transformer unchanged."""
    return isinstance(expansion, FrozenEstimator)


def moments_of_block(block, facts, owner, empty, prepare, chunk_rows):
    """Return the moments of the rows of a block, as a tuple of length one.

    Parameters
    ----------
    block : Block
        Rows, and the arrays aligned with them.
    facts : tuple of str
        Names of the aligned arrays, keywords of `check_rows`.
    owner : str
        Name of the estimator, for messages.
    empty : SlowMoments
        Moments without rows.
    prepare : pair of ndarray or None
        Mean and components of the whitened input.
    chunk_rows : int or None
        Number of rows expanded at a time.
    """
    # check the rows, and check that no power overflows in the sums
    X = block.arrays[0]
    check_entries(X, owner=owner, allow_nan=True)
    X = np.asarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    expansion = empty.expansion
    with rows_named():
        rows = check_rows(X, **dict(zip(facts, block.arrays[1:], strict=True)))
        polynomial = prepare is None and isinstance(expansion, PolynomialExpansion)
        if polynomial and not expansion.in_range(X[rows.valid]):
            raise ValueError(RANGE.format(owner))

    def whiten(chunk):
        return chunk if prepare is None else (chunk - prepare[0]) @ prepare[1].T

    # add up the moments; rows are whitened first if `prepare` is not None
    moments = empty.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        moments.update(
            X,
            sequence_ids=rows.ids,
            valid=rows.valid,
            times=rows.times,
            chunk_rows=chunk_rows,
            prepare=whiten,
        )
    return (moments,)


class CallableExpansion:
    """Wrapper of a transformer or a function of rows, with the interface of an expansion."""

    def __init__(self, expansion, sample, include_bias):
        self.expansion = expansion
        self.bias = int(include_bias)
        self.n_inputs = sample.shape[1]
        self.n_outputs = self._expand(sample).shape[1] + self.bias

    def __call__(self, X):
        """Map rows to features, after a constant feature if `include_bias`."""
        expanded = self._expand(X)
        if expanded.shape[1] + self.bias != self.n_outputs:
            raise ValueError(
                f"expansion returned {expanded.shape[1]} columns, but must return "
                f"{self.n_outputs - self.bias}, as before."
            )
        return np.hstack([np.ones((len(X), 1)), expanded]) if self.bias else expanded

    def names(self, input_names):
        """Return the names of the features."""
        if hasattr(self.expansion, "get_feature_names_out"):
            names = list(self.expansion.get_feature_names_out(input_names))
        else:
            names = [f"expansion{i}" for i in range(self.n_outputs - self.bias)]
        return ["1"] * self.bias + names

    def _expand(self, rows):
        # the expansion is a transformer, or a function of rows
        if hasattr(self.expansion, "transform"):
            expanded = self.expansion.transform(rows)
        else:
            expanded = self.expansion(rows)

        if sparse.issparse(expanded):
            expanded = expanded.toarray()
        table = np.asarray(expanded, dtype=np.float64)
        if table.ndim != 2 or len(table) != len(rows):
            raise ValueError(
                f"expansion must map {len(rows)} rows to a table with as many rows, but returned "
                f"an array of shape {table.shape}."
            )
        if not np.isfinite(table).all():
            raise ValueError("expansion returned NaN or infinity for finite rows.")
        return table


def exported_steps(model, expansion, origin, input_components=None):
    """Return the steps that map rows to slow features, as fitted estimators of scikit-learn.

    Parameters
    ----------
    model : estimator
        Fitted, with `components_` and `mean_` of the expanded features.
    expansion : PolynomialExpansion or CallableExpansion
        Expansion of the rows.
    origin : ndarray or None
        Point that is subtracted from the rows before the expansion.
    input_components : ndarray or None
        Components onto which the centred rows are projected before the expansion.
    """
    # 1. subtract the origin, and project
    steps = []
    if input_components is not None:
        steps.append(("input", projection(input_components, origin)))
    elif origin is not None:
        steps.append(("center", centring(origin)))

    # 2. expand; leave out constant features, which are zero after their means are subtracted
    first = 0
    mean = model.mean_
    if isinstance(expansion, PolynomialExpansion):
        first = int(expansion.include_bias)
        if expansion.degree > 1:
            steps.append(("expand", monomials(expansion.n_inputs, expansion.degree)))
    elif hasattr(expansion.expansion, "transform"):
        first = expansion.bias
        steps.append(("expand", deepcopy(expansion.expansion)))
        # subtract the means first, because the features may be far from zero
        steps.append(("center_features", centring(mean[first:])))
        mean = np.zeros(len(mean))
    else:
        raise cannot_export(
            model,
            "expansion is a function",
            "Pass sklearn.preprocessing.FunctionTransformer(function) instead",
        )

    # 3. project onto the slow features
    features = projection(model.components_[:, first:], mean[first:])
    return [*steps, ("slow_features", features)]


def check_pre_pca(model, n_features):
    """Raise an error if `pre_pca` is neither a number of components nor a fraction."""
    number = isinstance(model.pre_pca, Integral)
    if model.pre_pca > n_features or not (number or model.pre_pca < 1):
        raise ValueError(
            f"pre_pca={model.pre_pca!r} must be a number of components, at most the "
            f"{n_features} features of X, or a fraction of the variance between 0 and 1."
        )


def whiten_moments(model, moments, eps):
    """Compute mean and principal components of the input, of variance 1, from its moments.

    `pre_pca` sets their number; rounding errors of the input are relative to `eps`.
    """
    number = isinstance(model.pre_pca, Integral)
    # The default LAPACK driver may not converge if columns have very different scales.
    variance, V = linalg.eigh(moments.covariance(), driver="evd")
    variance = variance[::-1]
    V = V[:, ::-1]

    floor = (32 * eps * np.abs(moments.mean).max()) ** 2

    # count the directions whose variance exceeds rounding errors
    rank = int(np.count_nonzero(variance > max(ACCUMULATED_ROUNDING * variance[0], floor)))
    if rank == 0:
        raise ValueError(CONSTANT.format(type(model).__name__, ""))

    # keep the requested number of components, or as many as explain the fraction of the variance
    keep = min(model.pre_pca, rank) if number else rank
    if not number:
        explained = np.cumsum(variance[:rank]) / variance[:rank].sum()
        keep = min(int(np.searchsorted(explained, model.pre_pca)) + 1, rank)

    return moments.mean, fix_signs((V[:, :keep] / np.sqrt(variance[:keep])).T)


def check_states_add_up(model, other, follows):
    """Raise an error that names the difference if the moments of two estimators do not add up."""
    who = type(model).__name__
    if type(other) is not type(model):
        raise ValueError(
            f"{who} cannot merge with {type(other).__name__}: pass an estimator of the same class."
        )
    check_is_fitted(model)
    check_is_fitted(other)

    # compare the parameters and the features
    mine = model.get_params(deep=False)
    theirs = other.get_params(deep=False)
    for name in mine.keys() - {"batch_size", "expansion"}:
        if mine[name] != theirs[name]:
            _refuse_merge(who, name, mine[name], theirs[name])

    a = model._moments
    b = other._moments
    if model.n_features_in_ != other.n_features_in_:
        _refuse_merge(who, "n_features_in_", model.n_features_in_, other.n_features_in_)
    names = [vars(estimator).get("feature_names_in_") for estimator in (model, other)]
    if all(n is not None for n in names) and not np.array_equal(*names):
        _refuse_merge(who, "feature_names_in_", *map(list, names))

    # compare the expansions by their values for sample rows
    if a.lag != b.lag:  # The lags differ if `set_params` was called on a fitted estimator.
        _refuse_merge(who, "the lag of the steps seen", a.lag, b.lag)
    rows = np.concatenate([a.sample(), b.sample()])
    if len(rows):
        F = a.expansion(rows)
        G = _same_origin(a.expansion, b.expansion)(rows)
        if F.shape != G.shape or not np.allclose(F, G, rtol=ACCUMULATED_ROUNDING, atol=0):
            _refuse_merge(who, "expansion_", model.expansion_, other.expansion_)

    # times must increase
    before = a.last_time
    after = b.first_time
    if (before is None) != (after is None):
        raise ValueError("times must be passed to both estimators, or to none.")
    if before is not None and follows and a.is_continued_by(b) and not after > before:
        raise ValueError(
            f"times must increase, but the first row to merge has {after:g} after {before:g}: "
            "merge the earlier rows first, or set follows=False for another sequence."
        )


def _same_origin(mine, theirs):
    """Return `theirs` with the origin of `mine`: the moments can be moved to it."""
    if isinstance(mine, PolynomialExpansion) and isinstance(theirs, PolynomialExpansion):
        return theirs.about(mine.origin)
    return theirs


def _refuse_merge(who, name, mine, theirs):
    raise ValueError(
        f"{who} cannot merge: {name} differs, {mine!r} here and {theirs!r} there. Fit both with "
        "the same parameters; sklearn.frozen.FrozenEstimator keeps a fitted expansion unchanged."
    )
