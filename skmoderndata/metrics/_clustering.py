"""Distance between clusterings of the same objects."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from skmoderndata._estimator.validation import check_array


def clustering_distance(labels_a, labels_b):
    """Compute the fraction of objects on which two clusterings disagree, up to label names.

    The fraction is the minimum over one-to-one renamings of the labels by the Hungarian algorithm.
    If the other clustering has fewer clusters, objects with an unmatched label count as
    disagreements.

    Parameters
    ----------
    labels_a : array-like of shape (n_samples,) or (n_samples, n_clusters)
        One label per object, or Boolean memberships if objects may belong to several clusters.
    labels_b : array-like of shape (n_samples,) or (n_samples, n_other)
        The other clustering, in the same form.

    Returns
    -------
    distance : float
        Between 0 (equal up to names) and 1. For memberships, the fraction of differing entries.

    See Also
    --------
    sklearn.metrics.adjusted_rand_score : Agreement by pairs of objects, corrected for chance.

    Notes
    -----
    Each disagreeing object counts once. A matrix norm of the difference of two membership
    matrices, used in some texts, would count it twice.

    References
    ----------
    Lange, Roth, Braun and Buhmann, Neural Computation 16(6), 2004, pp. 1299-1323.

    Examples
    --------
    >>> from skmoderndata.metrics import clustering_distance
    >>> clustering_distance([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.25
    """
    check_consistent_length(labels_a, labels_b)
    shapes = np.ndim(labels_a), np.ndim(labels_b)
    if shapes == (2, 2):
        return _membership_distance(labels_a, labels_b)
    if shapes != (1, 1):
        raise ValueError(
            "labels_a and labels_b must both be one label per object (1-D) or both be "
            f"memberships (2-D); got {shapes[0]}-D and {shapes[1]}-D."
        )

    a = column_or_1d(labels_a)
    b = column_or_1d(labels_b)
    if a.size == 0:
        return 0.0

    # find the assignment of labels under which most objects agree
    together = contingency_matrix(a, b)
    rows, columns = linear_sum_assignment(together, maximize=True)
    n_agree = float(together[rows, columns].sum())
    return 1 - n_agree / a.size


def _membership_distance(Z_a, Z_b):
    A = check_array(Z_a, dtype=None).astype(bool)
    B = check_array(Z_b, dtype=None).astype(bool)
    k = max(A.shape[1], B.shape[1])
    A = _with_empty_clusters(A, k)
    B = _with_empty_clusters(B, k)

    # for each pair of clusters, count the objects that belong to only one of them
    different = A.T @ (1 - B) + (1 - A).T @ B
    rows, columns = linear_sum_assignment(different)
    n_different = different[rows, columns].sum()
    return float(n_different) / A.size


def _with_empty_clusters(Z, k):
    missing = k - Z.shape[1]
    return np.pad(Z, ((0, 0), (0, missing))).astype(float)
