"""Rows in the order of time: which follow each other, which are left out."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d


class RowFacts(NamedTuple):
    """What is known of the rows besides their values."""

    ids: np.ndarray | None
    valid: np.ndarray
    times: np.ndarray | None
    new_sequence: bool


def check_ids(sequence_ids, X):
    """Ids of the sequences as an array, or None."""
    if sequence_ids is None:
        return None
    ids = column_or_1d(sequence_ids)
    check_consistent_length(X, ids)
    if (ids != ids).any():
        raise ValueError("sequence_ids contains NaN: give every row an id.")
    return ids


def follows_before(ids, n):
    """Tell which rows follow the row before them; the first one does not."""
    follows = np.ones(n, dtype=bool)
    follows[0] = False
    if ids is not None:
        follows[1:] = ids[1:] == ids[:-1]
    return follows


def mean_slowness(Y, step, valid=slice(None), lag=1):
    """Mean squared step of each output over its mean square, averaged over outputs."""
    power = (Y[valid] ** 2).mean(axis=0)
    slowness = ((Y[lag:] - Y[:-lag])[step] ** 2).mean(axis=0)
    return float(np.divide(slowness, power, out=np.zeros_like(power), where=power > 0).mean())


def check_rows(
    X, sequence_ids=None, sample_mask=None, times=None, *, new_sequence=False, after=None
):
    """Check what belongs to the rows; `after` holds the moments that they continue."""
    valid = ~np.isnan(X @ np.ones(X.shape[1], X.dtype))  # one pass without a table of flags
    ids = check_ids(sequence_ids, X)
    if sample_mask is not None:
        sample_mask = column_or_1d(sample_mask)
        check_consistent_length(X, sample_mask)
        if sample_mask.dtype != bool:
            raise ValueError(f"sample_mask must be Boolean, got an array of {sample_mask.dtype}.")
        valid &= sample_mask
    if times is not None:
        times = column_or_1d(times).astype(np.float64)
        check_consistent_length(X, times)
        previous = np.concatenate([[-np.inf], times[:-1]])
        if ids is not None:
            previous[1:][ids[1:] != ids[:-1]] = -np.inf
        if after is not None and not new_sequence and after.continues(ids):
            previous[0] = -np.inf if after.last_time is None else after.last_time
        if not (np.isfinite(times) & (times > previous)).all():
            raise ValueError(
                "times must be finite and increase from row to row within a sequence: sort the "
                "rows of each sequence, and give its rows one id in sequence_ids."
            )
    if after is not None and (times is None) != (after.last_time is None):
        raise ValueError("times must be given in every call of partial_fit, or in none.")
    return RowFacts(ids, valid, times, new_sequence)


def check_states_add_up(model, other, follows):
    """Refuse to merge estimators whose moments do not add up, naming what differs."""
    who = type(model).__name__
    if type(other) is not type(model):
        raise ValueError(
            f"{who} cannot merge with {type(other).__name__}: give an estimator of the same class."
        )
    check_is_fitted(model)
    check_is_fitted(other)
    mine, theirs = model.get_params(deep=False), other.get_params(deep=False)
    for name in mine.keys() - {"batch_size", "expansion"}:
        if mine[name] != theirs[name]:
            _refuse_merge(who, name, mine[name], theirs[name])
    a, b = model._moments, other._moments
    if model.n_features_in_ != other.n_features_in_:
        _refuse_merge(who, "n_features_in_", model.n_features_in_, other.n_features_in_)
    names = [vars(one).get("feature_names_in_") for one in (model, other)]
    if all(n is not None for n in names) and not np.array_equal(*names):
        _refuse_merge(who, "feature_names_in_", *map(list, names))
    if a.lag != b.lag:  # `set_params` after `fit`
        _refuse_merge(who, "the lag of the steps seen", a.lag, b.lag)
    rows = np.concatenate([a.sample(), b.sample()])
    if len(rows):
        F, G = a.expansion(rows), b.expansion(rows)
        if F.shape != G.shape or not np.allclose(F, G, rtol=1e-12, atol=0):
            _refuse_merge(who, "expansion_", model.expansion_, other.expansion_)
    before, then = a.last_time, b.first_time
    if (before is None) != (then is None):
        raise ValueError("times must be given to both estimators, or to none.")
    if before is not None and follows and a.is_continued_by(b) and not then > before:
        raise ValueError(
            f"times must increase, but the first row to merge has {then:g} after {before:g}: "
            "merge the earlier rows first, or set follows=False for another sequence."
        )


def _refuse_merge(who, name, mine, theirs):
    raise ValueError(
        f"{who} cannot merge: {name} differs, {mine!r} here and {theirs!r} there. Fit both with "
        "the same parameters; sklearn.frozen.FrozenEstimator keeps a fitted expansion as it is."
    )
