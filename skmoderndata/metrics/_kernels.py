"""Alignment, distances and variance from kernel matrices."""

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.kernel.alignment import centred


def kernel_alignment(K, target, *, centered=False):
    """Compute the cosine between a kernel matrix and another one, or the ideal matrix for labels.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.
    target : array-like of shape (n_samples, n_samples) or (n_samples,)
        Another kernel matrix; or labels, whose ideal matrix is ``y y'`` with -1 and 1 for two
        classes, ``[y_i = y_j]`` for more, and ``y y'`` for a continuous target.
    centered : bool, default=False
        Whether to centre both matrices first, which turns the cosine into a correlation. We advise
        it: otherwise any kernel with positive values is well aligned with unbalanced classes.

    Returns
    -------
    alignment : float
        Between -1 and 1, and at least 0 for positive semi-definite matrices; 0 if one of them is
        zero.

    References
    ----------
    .. [1] Cristianini, Shawe-Taylor, Elisseeff and Kandola, On kernel-target alignment, NIPS 14,
       2001.
    .. [2] Cortes, Mohri and Rostamizadeh, Algorithms for learning kernels based on centered
       alignment, Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> from skmoderndata.metrics import kernel_alignment
    >>> round(kernel_alignment([[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]), 6)
    0.894427
    >>> round(kernel_alignment([[2.0, 1.0], [1.0, 2.0]], [1, -1]), 6)
    0.316228
    """
    K = _matrix(K, "K")
    target = np.asarray(target)
    if target.ndim == 1:
        H = _ideal(column_or_1d(target), len(K))
    else:
        H = _matrix(target, "target")
    if len(H) != len(K):
        raise ValueError(f"kernel_alignment: K has {len(K)} samples, but target has {len(H)}.")

    if centered:
        K = centred(K)
        H = centred(H)
    a = np.linalg.norm(K)
    b = np.linalg.norm(H)
    if not (a > 0 and b > 0):
        return 0.0
    return float(np.vdot(K, H) / (a * b))


def kernel_distances(K, diag_X=None, diag_Y=None, *, squared=False):
    """Compute distances in feature space from kernel values.

    Parameters
    ----------
    K : array-like of shape (n_X, n_Y)
        Kernel values between two collections of samples.
    diag_X : array-like of shape (n_X,), default=None
        Kernel value of each sample of the first collection with itself. None uses the diagonal of
        `K`, which must be the kernel matrix of one collection.
    diag_Y : array-like of shape (n_Y,), default=None
        Kernel value of each sample of the second collection with itself; None uses `diag_X`.
    squared : bool, default=False
        Whether to return squared distances.

    Returns
    -------
    D : ndarray of shape (n_X, n_Y)
        Distances. Squared distances that are negative because of rounding are set to 0.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 5.1.

    Examples
    --------
    >>> from skmoderndata.metrics import kernel_distances
    >>> kernel_distances([[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[0.    , 1.4142],
           [1.4142, 0.    ]])
    """
    K = check_array(K, dtype=np.float64, input_name="K", kernel_values=True)
    use_diagonal = diag_X is None
    if use_diagonal and K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel_distances: diag_X is required, because a matrix of shape {K.shape} does not "
            "contain the kernel values of samples with themselves."
        )

    a = K.diagonal() if use_diagonal else _diagonal(diag_X, K.shape[0], "diag_X")
    b = a if diag_Y is None else _diagonal(diag_Y, K.shape[1], "diag_Y")
    if len(b) != K.shape[1]:
        raise ValueError(
            f"kernel_distances: diag_Y is needed for a matrix of shape {K.shape}."
        )

    # |phi(x) - phi(z)|^2 = k(x, x) - 2 k(x, z) + k(z, z)
    D = np.maximum(a[:, None] - 2 * K + b, 0.0)
    if use_diagonal and diag_Y is None:
        np.fill_diagonal(D, 0.0)
    return D if squared else np.sqrt(D)


def kernel_variance(K):
    """Compute the variance of samples in feature space, the mean squared distance to their mean.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.

    Returns
    -------
    variance : float
        Non-negative variance ``trace(K) / n - mean(K)``.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 5.1.

    Examples
    --------
    >>> from skmoderndata.metrics import kernel_variance
    >>> kernel_variance([[1.0, 0.0], [0.0, 1.0]])
    0.5
    """
    K = _matrix(K, "K")
    variance = K.trace() / len(K) - K.mean()
    return float(max(variance, 0.0))


def _matrix(K, name):
    K = check_array(K, dtype=np.float64, input_name=name, kernel_values=True)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be a square kernel matrix, but has shape {K.shape}.")
    return K


def _diagonal(values, n, name):
    values = check_array(values, dtype=np.float64, ensure_2d=False, kernel_values=True)
    values = column_or_1d(values)
    if len(values) != n:
        raise ValueError(f"kernel_distances: {name} has {len(values)} entries, but needs {n}.")
    return values


def _ideal(y, n):
    if len(y) != n:
        raise ValueError(f"kernel_alignment: {len(y)} labels for {n} samples.")

    kind = type_of_target(y)
    if kind == "continuous":
        return np.multiply.outer(y, y)

    # use y y' for two classes, and the equality of labels for more classes
    _, codes = np.unique(y, return_inverse=True)
    if codes.max() <= 1:
        signs = 2.0 * codes - 1
        return np.multiply.outer(signs, signs)
    return (codes[:, None] == codes).astype(float)
