"""Shared parts of the estimators with a penalty on groups of coefficients."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._estimator.compat import check_sample_weight
from skmoderndata._estimator.validation import check_groups
from skmoderndata._solvers.codes.group_lasso import Columns
from skmoderndata._solvers.common.tolerances import RANK_TOL, ROUNDING

PAGE = "group_lasso"


class FeatureGroups(NamedTuple):
    """Groups of features, and the order of their coefficients.

    Attributes
    ----------
    labels : ndarray of int of shape (n_features,), or list of ndarray
        Number of the group of each feature, or, if groups overlap, the features of each group.
    order : ndarray of int of shape (n_latent,)
        Feature of each coefficient, group by group; a feature in several groups has several
        coefficients.
    edges : ndarray of int of shape (n_groups + 1,)
        First coefficient of each group, and the number of coefficients.
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

    def used(self, *, free):
        """Return the positions of the coefficients and the groups of a reduced problem.

        Groups of infinite weight are left out and, with `free`, groups of weight 0.

        Returns
        -------
        kept : ndarray of int
            Positions of the coefficients in the order of all groups.
        edges, weights : ndarray
            Of the groups that stay.
        """
        stay = np.isfinite(self.weights) & ~(free & (self.weights == 0))
        sizes = np.diff(self.edges)
        kept = np.flatnonzero(np.repeat(stay, sizes))
        edges = np.concatenate([[0], np.cumsum(sizes[stay])]).astype(np.int64)
        return kept, edges, self.weights[stay]

    def summed(self, latent, n_features):
        """Sum the coefficients of groups, of shape (..., n_latent), over copies of features."""
        # Add the coefficients of all copies of a feature.
        coef = np.zeros((len(latent), n_features))
        if self.overlap:
            np.add.at(coef, (slice(None), self.order), latent)
        else:
            coef[:, self.order] = latent
        return coef

    def norms(self, latent):
        """Compute the Euclidean norms of the groups, of shape (..., n_groups)."""
        size = np.abs(latent).max(initial=0.0) or 1.0
        return size * np.sqrt(np.add.reduceat((latent / size) ** 2, self.edges[:-1], axis=-1))


def feature_groups(groups, group_weights, n_features, *, allow_zero=False):
    """Check the parameters `groups` and `group_weights`; `allow_zero` accepts weights of 0."""
    # accept labels, or lists of features if groups share features
    if groups is None:
        labels = np.arange(n_features)
    elif isinstance(groups, Integral):
        labels = np.arange(n_features) // int(groups)
    else:
        labels = check_groups(groups, n_features, overlap=True)

    # Order the coefficients by group.
    if isinstance(labels, list):
        order = np.concatenate(labels)
        sizes = np.array([len(members) for members in labels])
    else:
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return FeatureGroups(
        labels, order, edges, _checked_weights(group_weights, sizes, allow_zero)
    )


def checked_groups(model, n_features):
    """Return the groups of a model of squared errors, in which weights of 0 are possible."""
    groups = feature_groups(model.groups, model.group_weights, n_features, allow_zero=True)
    if model.positive and model.l1_ratio == 0 and not groups.weights.all():
        raise ValueError(
            f"{type(model).__name__}(positive=True) penalises every group: use a weight of 1e-6 "
            "in group_weights in place of 0."
        )
    return groups


def _checked_weights(group_weights, sizes, allow_zero):
    if group_weights is None:
        return np.sqrt(sizes)
    weights = np.asarray(group_weights, dtype=np.float64)
    # an infinite weight excludes a group
    penalises = ((weights > 0) & np.isfinite(weights)).any()
    positive = penalises and ((weights >= 0) if allow_zero else (weights > 0)).all()
    if weights.shape != sizes.shape or not positive:
        raise ValueError(
            f"group_weights must be positive numbers, one for each of the {len(sizes)} groups "
            f"in ascending order of their labels, infinite for groups to be left out; got shape "
            f"{weights.shape}, smallest {weights.min(initial=np.inf):g}. {_remedy(allow_zero)}"
        )
    return weights


def _remedy(allow_zero):
    if allow_zero:
        return "0 leaves a group unpenalised, but at least one must be positive and finite."
    return "To leave a group practically unpenalised use a weight of 1e-6."


class Penalised(NamedTuple):
    """A problem without the columns of groups of infinite weight, and without free columns.

    Free columns are those of groups of weight 0.

    Free coefficients are at their optimum for any values of the other coefficients. The reduced
    targets and columns are orthogonal to the free columns, and the duality gap equals the gap of
    the whole problem.

    Attributes
    ----------
    columns : Columns
        The penalised columns, orthogonal to the free ones.
    Y : ndarray of shape (n_samples, n_targets)
        Targets, orthogonal to the free columns.
    edges, weights : ndarray
        Of the penalised groups, as in `FeatureGroups`.
    kept : ndarray of int
        Positions of the penalised coefficients.
    free : ndarray of int
        Positions of the free coefficients; coefficients of dependent columns stay zero.
    of_targets : ndarray of shape (n_free, n_targets)
        Free coefficients if all others are zero.
    of_columns : ndarray of shape (n_free, n_kept)
        How much the free coefficients fall with each of the others.
    n_latent : int
        Number of all coefficients.
    """

    columns: Columns
    Y: np.ndarray
    edges: np.ndarray
    weights: np.ndarray
    kept: np.ndarray
    free: np.ndarray
    of_targets: np.ndarray
    of_columns: np.ndarray
    n_latent: int

    def latent(self, coef, target):
        """Return all coefficients from the penalised ones for one target."""
        out = np.zeros(self.n_latent)
        out[self.kept] = coef
        out[self.free] = self.of_targets[:, target] - self.of_columns @ coef
        return out


def penalised(columns, Y, groups, l1_ratio, ridge):
    """Project free columns out of a problem with `columns` and targets Y; see `Penalised`.

    The squared norm of the other coefficients has the weight ``ridge**2 / 2``.
    """
    n_latent = len(groups.order)
    # the l1 norm penalises groups of weight 0, too
    kept, edges, weights = groups.used(free=l1_ratio == 0)
    of_group = np.repeat(groups.weights, np.diff(groups.edges))
    free = np.flatnonzero((of_group == 0) & (l1_ratio == 0))
    if not free.size:
        none = np.zeros((0, Y.shape[1])), np.zeros((0, len(kept)))
        if ridge or len(kept) < n_latent:
            some = kept if len(kept) < n_latent else slice(None)
            mean = None if columns.mean is None else columns.mean[some]
            columns = Columns(columns.X[:, some], mean, columns.root, ridge=ridge)
        Y = _with_zeros(Y, columns.n_rows)
        return Penalised(columns, Y, edges, weights, kept, free, *none, n_latent)

    # compute an orthonormal basis of the free columns; leave out dependent columns
    U = columns.rows(free)
    norms = np.linalg.norm(U, axis=1)
    scale = np.where(norms > 0, norms, 1.0)
    Q, R, pivots = linalg.qr((U / scale[:, None]).T, mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    rank = np.count_nonzero(size > RANK_TOL * size.max(initial=0.0))
    Q = np.ascontiguousarray(Q[:, :rank])
    free = free[pivots[:rank]]
    scale = scale[pivots[:rank], None]

    # compute free coefficients for targets and for columns
    loads = np.array([columns.cross(q) for q in Q.T]).reshape(rank, n_latent)[:, kept]
    of_targets = linalg.solve_triangular(R[:rank, :rank], Q.T @ Y) / scale
    of_columns = linalg.solve_triangular(R[:rank, :rank], loads) / scale

    # reduce the targets and columns, and keep the weights of the other groups
    Y = _without_span(Q, Y)
    if columns.is_sparse:
        X = columns.X[:, kept]
        reduced = Columns(X, columns.mean[kept], columns.root, Q, ridge=ridge)
    else:
        reduced = Columns(_without_span(Q, columns.X[:, kept]), ridge=ridge)
    Y = _with_zeros(Y, reduced.n_rows)
    return Penalised(reduced, Y, edges, weights, kept, free, of_targets, of_columns, n_latent)


def _with_zeros(Y, n_rows):
    """Append targets of 0 for the rows of the squared norm."""
    return np.asfortranarray(np.pad(Y, ((0, n_rows - len(Y)), (0, 0))))


def _without_span(Q, A):
    """Project columns onto the orthogonal complement of Q; columns in its span become zero."""
    # project twice, because rounding leaves a remainder after the first projection
    out = A - Q @ (Q.T @ A)
    out -= Q @ (Q.T @ out)
    left = np.linalg.norm(out, axis=0)
    out[:, left <= ROUNDING * len(A) * np.linalg.norm(A, axis=0)] = 0.0
    return np.asfortranarray(out)


def mean_one(sample_weight, X):
    """Scale sample weights to a mean of one."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    n = len(weight)
    return weight * (n / weight.sum())


def weighted_columns(X, weight, order, *, centred):
    """Return the columns in the order `order`, with their means and the unit of the entries."""
    root = np.sqrt(weight)
    unit = unit_of(X)
    # Centre implicitly, so that sparse columns keep their zeros.
    if sparse.issparse(X):
        scaled = sparse.csc_array(X[:, order], dtype=np.float64, copy=True)
        scaled.data *= 1 / unit
        mean = np.zeros(len(order))
        if centred:
            mean = (scaled.T @ weight) / weight.sum()
        scaled.data *= root[scaled.indices]
        return Columns(scaled, mean, root), mean * unit, unit

    # Copy the columns, in the order `order`, to an array in Fortran order, and centre it in place.
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
        mean[constant] = A[0, constant]  # use the exact mean, without rounding errors
        A -= mean
    if not (weight == 1).all():
        A *= root[:, None]
    return Columns(A), mean * unit, unit


def weighted_targets(y, weight, *, centred):
    """Return weighted, centred targets, scaled to about one, with their means and units."""
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
    """Return the largest magnitude, or 1; in this unit, products of four values are finite."""
    values = X.data if sparse.issparse(X) else X
    highest = values.max(initial=0.0)
    lowest = values.min(initial=0.0)
    largest = float(max(highest, -lowest))
    return largest or 1.0
