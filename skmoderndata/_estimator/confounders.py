"""Validation of confounders: variables whose effect is removed before an analysis."""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.compat import unmasked
from skmoderndata._estimator.validation import check_array


def confounder_table(confounders: Any, n: int, *, owner: str) -> Any:
    """Convert confounders to a table of finite numbers with n rows.

    Parameters
    ----------
    confounders : array-like of shape (n_samples,) or (n_samples, n_confounders)
        One column for each confounder.
    n : int
        Number of rows of the views.
    owner : str
        Name of the estimator or function in error messages.

    Returns
    -------
    Z : ndarray of shape (n_samples, n_confounders)
        Table of double precision.
    """
    if not sparse.issparse(confounders) and not hasattr(confounders, "columns"):
        confounders = np.asarray(unmasked(confounders, owner=owner, input_name="confounders"))
        if confounders.ndim == 1:
            confounders = confounders.reshape(-1, 1)
    Z = check_array(confounders, dtype=np.float64, input_name="confounders")
    if len(Z) != n:
        raise ValueError(
            f"{owner}: confounders has {len(Z)} rows, but the views have {n}; pass the same "
            "samples in the same order."
        )
    return Z
