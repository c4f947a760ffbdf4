"""Errors of Boolean sources, assignments and reconstructions."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_consistent_length, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.validation import check_array, dense
from skmoderndata._solvers.boolean_data.boolean import (
    MAX_SETS,
    assignment_sets,
    boolean_product,
    count_assignment_sets,
    nearest_patterns,
)

BATCH = 2048


def match_sources(sources_true, sources_pred):
    """Match two lists of Boolean sources one to one.

    The match minimises the number of differing bits over all permutations by the Hungarian
    algorithm. The shorter list is padded with empty sources.

    Parameters
    ----------
    sources_true : array-like of bool of shape (n_sources, n_features)
        Reference sources, one per row.
    sources_pred : array-like of bool of shape (n_other, n_features)
        Sources to match.

    Returns
    -------
    order : ndarray of int of shape (max(n_sources, n_other),)
        `sources_pred[order[k]]` matches `sources_true[k]`, where the shorter list is padded.
    n_different : int
        Total number of differing bits.

    Examples
    --------
    >>> from skmoderndata.metrics import match_sources
    >>> match_sources([[1, 1, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0]])
    (array([1, 0]), 1)
    """
    A = _boolean(sources_true, "sources_true")
    B = _boolean(sources_pred, "sources_pred")
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"sources_true has {A.shape[1]} columns and sources_pred {B.shape[1]}: both need the "
            "same features in the same order."
        )

    # pad the shorter list with empty sources
    k = max(len(A), len(B))
    A, B = (_with_empty_sources(M, k) for M in (A, B))

    # count the different bits of all pairs, and find the matching with the fewest different bits
    only_a = A.astype(float) @ ~B.T
    only_b = ~A @ B.T.astype(float)
    different = only_a + only_b
    rows, order = linear_sum_assignment(different)
    n_different = different[rows, order].sum()
    return order, round(float(n_different))


def _with_empty_sources(sources, k):
    missing = (k - len(sources), sources.shape[1])
    return np.vstack([sources, np.zeros(missing, dtype=bool)])


def source_mismatch(sources_true, sources_pred):
    """Compute the fraction of differing bits of two lists of sources under the best permutation.

    Parameters
    ----------
    sources_true : array-like of bool of shape (n_sources, n_features)
        Reference sources, one per row.
    sources_pred : array-like of bool of shape (n_other, n_features)
        Estimated sources; a missing or surplus source is compared with an empty one.

    Returns
    -------
    mismatch : float
        Between 0 (equal up to order) and 1.

    References
    ----------
    Streich, Frank, Basin and Buhmann, ICML 2009, section 5; the permutation by the Hungarian
    algorithm.

    Examples
    --------
    >>> from skmoderndata.metrics import source_mismatch
    >>> source_mismatch([[1, 1, 0], [0, 0, 1]], [[0, 0, 1], [1, 1, 0]])
    0.0
    """
    order, n_different = match_sources(sources_true, sources_pred)
    n_features = np.shape(sources_true)[1]
    return n_different / (len(order) * n_features)


def assignment_error(assignments_true, assignments_pred):
    """Compute the fraction of differing memberships under the best permutation of the sources.

    Parameters
    ----------
    assignments_true : array-like of bool of shape (n_samples, n_sources)
        True memberships: which sources each object has.
    assignments_pred : array-like of bool of shape (n_samples, n_other)
        Estimated memberships of the same objects.

    Returns
    -------
    error : float
        Between 0 and 1.

    Examples
    --------
    >>> from skmoderndata.metrics import assignment_error
    >>> assignment_error([[1, 0], [1, 1]], [[0, 1], [1, 0]])
    0.25
    """
    check_consistent_length(assignments_true, assignments_pred)
    Z = _boolean(assignments_true, "assignments_true")
    Z_pred = _boolean(assignments_pred, "assignments_pred")
    return source_mismatch(Z.T, Z_pred.T)


def boolean_reconstruction_error(X_true, X_pred):
    """Compute the fraction of bits in which two Boolean matrices differ, ignoring NaN in `X_true`.

    Parameters
    ----------
    X_true : array-like or sparse matrix of shape (n_samples, n_features)
        Data, 0 and 1, or NaN where a bit is unobserved.
    X_pred : array-like or sparse matrix of shape (n_samples, n_features)
        Reconstruction, 0 and 1.

    Returns
    -------
    error : float
        Between 0 and 1; 0 when nothing is observed.

    Examples
    --------
    >>> from skmoderndata.metrics import boolean_reconstruction_error
    >>> boolean_reconstruction_error([[1, 0, 1, 1]], [[1, 1, 1, 1]])
    0.25
    """
    missed, extra, _, n_observed = _disagreements(X_true, X_pred)
    return (missed + extra) / n_observed if n_observed else 0.0


def boolean_coverage_score(X_true, X_pred):
    """Compute the fraction of the ones in the data that the reconstruction covers.

    Parameters
    ----------
    X_true, X_pred : array-like or sparse matrix of shape (n_samples, n_features)
        Data and reconstruction, as for `boolean_reconstruction_error`.

    Returns
    -------
    coverage : float
        Between 0 and 1; 1 when the data have no ones.

    Examples
    --------
    >>> from skmoderndata.metrics import boolean_coverage_score
    >>> boolean_coverage_score([[1, 0, 1, 1]], [[1, 1, 1, 0]])
    0.6666666666666667
    """
    missed, _, n_ones, _ = _disagreements(X_true, X_pred)
    return 1 - missed / n_ones if n_ones else 1.0


def boolean_over_coverage(X_true, X_pred):
    """Compute the ratio of surplus ones in the reconstruction to the ones in the data.

    Parameters
    ----------
    X_true, X_pred : array-like or sparse matrix of shape (n_samples, n_features)
        Data and reconstruction, as for `boolean_reconstruction_error`.

    Returns
    -------
    over_coverage : float
        0 is best. Above 1 if there are more surplus ones than ones in the data; infinite if the
        data have no ones but the reconstruction has some.

    Examples
    --------
    >>> from skmoderndata.metrics import boolean_over_coverage
    >>> boolean_over_coverage([[1, 0, 1, 1]], [[1, 1, 1, 0]])
    0.3333333333333333
    """
    _, extra, n_ones, _ = _disagreements(X_true, X_pred)
    if n_ones == 0:
        return float("inf") if extra else 0.0
    return extra / n_ones


def generalization_error(
    estimator, X, *, reveal=0.5, max_assignments=None, n_repeats=1, random_state=None
):
    """Compute the fraction of hidden bits of new objects that are predicted wrongly.

    A random subset of the bits of every object is revealed. The assignment is estimated from these
    bits, and the union of its sources predicts the hidden bits. An estimator that accepts NaN as
    unobserved uses its own `transform`; for any other estimator with `components_`, the assignment
    is the set of sources that differs in the fewest revealed bits, and the smaller set in a tie.

    Parameters
    ----------
    estimator : fitted estimator
        With `components_` of shape (n_sources, n_features), with entries 0 and 1.
    X : array-like of shape (n_samples, n_features)
        New objects, 0 and 1.
    reveal : float, default=0.5
        Fraction of bits that are revealed, above 0 and below 1.
    max_assignments : int, default=None
        Largest set of sources that is considered for estimators that do not accept NaN. None means
        all sets if there are at most 8192 of them, otherwise sets of at most 3 sources.
    n_repeats : int, default=1
        Number of random subsets of bits over which the error is averaged.
    random_state : int, RandomState instance or None, default=None
        Controls the choice of the revealed bits. Pass an int for reproducible results.

    Returns
    -------
    error : float
        Between 0 and 1.

    References
    ----------
    Frank, Streich, Basin and Buhmann, Journal of Machine Learning Research 13, 2012, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from skmoderndata.metrics import generalization_error
    >>> model = SimpleNamespace(components_=np.ones((1, 8)))
    >>> generalization_error(model, np.ones((5, 8)), random_state=0)
    0.0
    """
    if not 0 < reveal < 1:
        raise ValueError(f"reveal must lie between 0 and 1, both excluded; got {reveal}.")
    X = _boolean(X, "X")
    rng = check_random_state(random_state)

    # if the estimator accepts NaN, let it infer the hidden bits; otherwise use the nearest union
    # of components
    if _takes_nan(estimator):
        check_is_fitted(estimator)

        def predict(X, revealed):
            observed = np.where(revealed, X, np.nan)
            Z = estimator.transform(observed)
            return np.asarray(estimator.inverse_transform(Z)) > 0.5
    else:
        patterns = _union_patterns(estimator, X.shape[1], max_assignments)

        def predict(X, revealed):
            nearest, *_ = nearest_patterns(X, revealed, patterns)
            return patterns[nearest]

    wrong = hidden = 0
    for _ in range(n_repeats):
        for rows in gen_batches(len(X), BATCH):
            bits = X[rows]
            revealed = rng.uniform(size=bits.shape) < reveal
            missed = (predict(bits, revealed) != bits) & ~revealed
            wrong += np.count_nonzero(missed)
            hidden += np.count_nonzero(~revealed)
    return float(wrong / hidden) if hidden else 0.0


def _takes_nan(estimator):
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and tags().input_tags.allow_nan


def _union_patterns(estimator, n_features, max_assignments):
    """List the distinct unions of the sources, starting with unions of few sources."""
    U = _boolean(estimator.components_, "components_")
    if U.shape[1] != n_features:
        raise ValueError(f"X has {n_features} features, but the sources have {U.shape[1]}.")
    k = len(U)
    if max_assignments is None:
        few = count_assignment_sets(k, k) <= MAX_SETS
        max_assignments = k if few else 3
    return boolean_product(assignment_sets(k, max_assignments), U)


def _boolean(X, name):
    X = check_array(X, dtype=None, ensure_min_samples=0, input_name=name, accept_sparse=True)
    X = dense(X)
    if X.dtype == bool:
        return X
    if not np.isin(X, (0, 1)).all():
        raise ValueError(f"{name} must contain only 0 and 1.")
    return X == 1


def _disagreements(X_true, X_pred):
    """Count (missed ones, extra ones, ones of the data, observed bits)."""
    check_consistent_length(X_true, X_pred)
    if np.shape(X_true) != np.shape(X_pred):
        raise ValueError(
            f"X_true has shape {np.shape(X_true)} and X_pred {np.shape(X_pred)}, but the shapes "
            "must be equal."
        )

    # compare sparse matrices without forming arrays
    if sparse.issparse(X_true) and sparse.issparse(X_pred):
        A = sparse.csr_array(X_true).astype(bool)
        B = sparse.csr_array(X_pred).astype(bool)
        A.eliminate_zeros()
        B.eliminate_zeros()
        common = A.multiply(B).nnz
        n_observed = A.shape[0] * A.shape[1]
        return int(A.nnz - common), int(B.nnz - common), int(A.nnz), int(n_observed)

    X_true = np.asarray(dense(X_true))
    observed = np.ones(X_true.shape, dtype=bool)
    if X_true.dtype.kind == "f":
        observed = ~np.isnan(X_true)

    A = _boolean(np.where(observed, X_true, 0), "X_true")
    B = _boolean(X_pred, "X_pred") & observed
    counted = (A & ~B, B & ~A, A, observed)
    return tuple(int(np.count_nonzero(M)) for M in counted)
