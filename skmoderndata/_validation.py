"""Input checks that several estimators share."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data


def validate_boolean(estimator, X, *, threshold, reset, allow_nan=False):
    """Check Boolean data and return it as Boolean, with the mask of unobserved bits.

    Parameters
    ----------
    estimator : estimator instance
        Keeps `n_features_in_` and `feature_names_in_`; named in messages.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers or Booleans. In a sparse matrix the entries that are not stored are 0.
    threshold : float or None
        A bit is set where `X > threshold`; None demands that X holds nothing but 0 and 1.
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
    values = X.data if sparse.issparse(X) else X
    missing = None
    if values.dtype.kind == "f":
        unobserved = np.isnan(values)
        if unobserved.any():
            if sparse.issparse(X):
                raise ValueError(
                    f"{type(estimator).__name__} does not take NaN in sparse input: "
                    "give a dense array, where NaN marks an unobserved bit."
                )
            missing = unobserved
    if values.dtype == bool:
        bits = values
    elif threshold is None:
        if not (np.isin(values, (0, 1)) | (values != values)).all():
            raise ValueError(
                f"{type(estimator).__name__}(threshold=None) needs 0 and 1 only: set "
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
    X = sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X, None


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
