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


def check_groups(groups, n_members, *, member="feature", whole="X"):
    """Check groups that partition features or atoms, and return the number of each one's group.

    Parameters
    ----------
    groups : array-like of shape (n_members,) or list of arrays
        A label for each member, or the members of each group.
    n_members : int
        How many there are.
    member, whole : str
        What the error messages call them, and what they are part of.

    Returns
    -------
    labels : ndarray of int of shape (n_members,)
        0, 1, ...; labels are numbered in ascending order, lists in the order given.
    """
    groups = list(groups)
    if all(np.ndim(group) == 0 for group in groups):
        if len(groups) != n_members:
            raise ValueError(
                f"groups has {len(groups)} labels, and {whole} {n_members} {member}s: give "
                f"one label for each {member}, or a list of the {member}s of each group."
            )
        return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    labels = np.full(n_members, -1)
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
        if len(np.unique(members)) < len(members) or (labels[members] >= 0).any():
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
    return labels


def known_entries(X):
    """Return a table with 0 for missing entries, and the mask of known ones where some miss."""
    missing = np.isnan(X)
    if not missing.any():
        return np.ascontiguousarray(X), None
    return np.where(missing, X.dtype.type(0), X), ~missing


def check_magnitude(estimator, X):
    """Refuse values whose squares would over- or underflow, and say what to do."""
    values = X.data if sparse.issparse(X) else X
    peak = float(np.max(np.abs(values), initial=0.0, where=~np.isnan(values)))
    if peak > 1e100 or 0 < peak < 1e-100:
        raise ValueError(
            f"{type(estimator).__name__} squares the values of X, and the largest is {peak:.1e}: "
            "divide X by it."
        )
    return X


def check_atoms(dictionary):
    """Return a finite matrix in double precision, real, complex or (CSR) sparse."""
    if sparse.issparse(dictionary) or not np.iscomplexobj(dictionary):
        return check_array(
            dictionary, dtype=np.float64, accept_sparse="csr", input_name="dictionary"
        )
    atoms = np.array(dictionary, dtype=np.complex128)
    if atoms.ndim != 2 or atoms.size == 0 or not np.isfinite(atoms).all():
        raise ValueError("dictionary must be a matrix of finite numbers, one atom in each row.")
    return atoms
