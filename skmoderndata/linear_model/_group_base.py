"""What the estimators with a penalty on groups of coefficients share."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.compat import check_sample_weight
from skmoderndata._estimator.validation import check_groups
from skmoderndata._solvers.codes.group_lasso import Columns

PAGE = "group_lasso"


class FeatureGroups(NamedTuple):
    """Groups of features, and the coefficients that they have.

    Attributes
    ----------
    labels : ndarray of int of shape (n_features,), or list of ndarray
        Number of the group of each feature, or the features of each group where groups overlap.
    order : ndarray of int of shape (n_latent,)
        The feature of each coefficient, group by group; a feature of several groups has several.
    edges : ndarray of int of shape (n_groups + 1,)
        Where the coefficients of each group begin.
    weights : ndarray of shape (n_groups,)
        Weights of the groups.
    """

    labels: np.ndarray | list
    order: np.ndarray
    edges: np.ndarray
    weights: np.ndarray

    @property
    def overlap(self):
        """Whether features belong to several groups."""
        return isinstance(self.labels, list)

    def summed(self, latent, n_features):
        """Return coefficients of features from those of the groups, of shape (..., n_latent)."""
        # copies of a feature add up
        coef = np.zeros((len(latent), n_features))
        if self.overlap:
            np.add.at(coef, (slice(None), self.order), latent)
        else:
            coef[:, self.order] = latent
        return coef

    def norms(self, latent):
        """Return the Euclidean norms of the groups, of shape (..., n_groups)."""
        size = np.abs(latent).max(initial=0.0) or 1.0
        return size * np.sqrt(np.add.reduceat((latent / size) ** 2, self.edges[:-1], axis=-1))


def feature_groups(groups, group_weights, n_features):
    """Check the parameters `groups` and `group_weights`."""
    # labels, or lists where groups share features
    if groups is None:
        labels = np.arange(n_features)
    elif isinstance(groups, Integral):
        labels = np.arange(n_features) // int(groups)
    else:
        labels = check_groups(groups, n_features, overlap=True)

    # coefficients in the order of the groups
    if isinstance(labels, list):
        order = np.concatenate(labels)
        sizes = np.array([len(members) for members in labels])
    else:
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return FeatureGroups(labels, order, edges, _checked_weights(group_weights, sizes))


def _checked_weights(group_weights, sizes):
    if group_weights is None:
        return np.sqrt(sizes)
    weights = np.asarray(group_weights, dtype=np.float64)
    positive = (weights > 0).all() and not np.isinf(weights).any()
    if weights.shape != sizes.shape or not positive:
        raise ValueError(
            f"group_weights must be positive numbers, one for each of the {len(sizes)} groups "
            f"in ascending order of their labels; got shape {weights.shape}, "
            f"smallest {weights.min(initial=np.inf):g}. To leave a group practically unpenalised "
            "use a weight of 1e-6."
        )
    return weights


def mean_one(sample_weight, X):
    """Return weights of samples with a mean of one."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    n = len(weight)
    return weight * (n / weight.sum())


def weighted_columns(X, weight, order, *, centred):
    """Return the columns in the given order, with their means and the unit of the entries."""
    root = np.sqrt(weight)
    unit = unit_of(X)
    # centring stays implicit: sparse columns keep their zeros
    if sparse.issparse(X):
        scaled = sparse.csc_array(X[:, order], dtype=np.float64, copy=True)
        scaled.data *= 1 / unit
        mean = np.zeros(len(order))
        if centred:
            mean = (scaled.T @ weight) / weight.sum()
        scaled.data *= root[scaled.indices]
        return Columns(scaled, mean, root), mean * unit, unit

    # sorted copy in Fortran order, centred in place
    moved = len(order) != X.shape[1] or (order != np.arange(len(order))).any()
    if moved:
        X = X[:, order]
    A = np.multiply(X, 1 / unit, order="F", dtype=np.float64)
    mean = np.zeros(len(order))
    if centred:
        mean = (weight @ A) / weight.sum()
        same = np.flatnonzero(A[0] == A[-1])
        everywhere = (A[:, same] == A[0, same]).all(axis=0)
        constant = same[everywhere]
        mean[constant] = A[0, constant]  # rounding is no variance
        A -= mean
    if not (weight == 1).all():
        A *= root[:, None]
    return Columns(A), mean * unit, unit


def weighted_targets(y, weight, *, centred):
    """Return weighted, centred targets, scaled to about one, with means and units."""
    Y = np.array(y.reshape(len(y), -1), dtype=np.float64, order="F")
    unit = np.array([unit_of(column) for column in Y.T])
    Y *= 1 / unit
    mean = np.zeros(Y.shape[1])
    if centred:
        mean = (weight @ Y) / weight.sum()
        constant = (Y == Y[:1]).all(axis=0)
        mean[constant] = Y[0, constant]
        Y -= mean
    weighted = Y * np.sqrt(weight)[:, None]
    return weighted, mean * unit, unit


def unit_of(X):
    """Largest magnitude, 1 for zeros: products of four values stay finite in units of it."""
    values = X.data if sparse.issparse(X) else X
    highest = values.max(initial=0.0)
    lowest = values.min(initial=0.0)
    largest = float(max(highest, -lowest))
    return largest or 1.0
