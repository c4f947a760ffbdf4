"""Tables of ratings with known truth, for matrix completion."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse as sp
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    validate_params,
)
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES


@validate_params(
    {
        "n_users": [AT_LEAST_ONE],
        "n_items": [AT_LEAST_ONE],
        "rank": [Interval(Integral, 0, None, closed="left")],
        "observed": [Interval(Real, 0, 1, closed="right")],
        "noise": [NON_NEGATIVE],
        "skew": [NON_NEGATIVE],
        "levels": [Interval(Integral, 2, None, closed="left"), None],
        "sparse": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_ratings(
    n_users=300,
    n_items=100,
    *,
    rank=3,
    observed=0.2,
    noise=0.5,
    skew=0.7,
    levels=None,
    sparse=False,
    random_state=None,
):
    r"""Generate a table of ratings, most of them missing, with a known truth of low rank.

    The true rating of item i by user u is

    .. math:: t_{ui} = 3 + a_u + b_i + \langle p_u, q_i \rangle / \sqrt{\mathrm{rank}},

    where `p` and `q` are standard normal, and `a` and `b` are normal with standard deviation 0.5:
    the table has rank at most `rank + 2`. Noise is added, and ratings may be rounded to levels.

    Parameters
    ----------
    n_users : int, default=300
        Number of rows.
    n_items : int, default=100
        Number of columns.
    rank : int, default=3
        Number of tastes in which users and items differ.
    observed : float, default=0.2
        Average fraction of known cells; every user has at least one rating.
    noise : float, default=0.5
        Standard deviation of the noise of a rating.
    skew : float, default=0.7
        Exponent s of the popularity ``k ** -s`` of the k-th item; the activity of users varies
        with it, too. With 0, cells are missing completely at random.
    levels : int, default=None
        Number of levels 1, 2, ... to which ratings are rounded; None leaves real numbers.
    sparse : bool, default=False
        Whether to return the known ratings as a sparse array instead of a dense one with NaN.
    random_state : int, RandomState instance or None, default=None
        Controls all random draws. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_users, n_items) or csr_array
        Known ratings; unknown ratings are NaN, or not stored.
    users : ndarray of shape (n_users, rank + 2)
        Factors of the users.
    items : ndarray of shape (n_items, rank + 2)
        Factors of the items: the truth is ``users @ items.T``.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_ratings
    >>> X, users, items = make_ratings(40, 30, observed=0.5, levels=5, random_state=0)
    >>> X.shape, np.unique(X[~np.isnan(X)])
    ((40, 30), array([1., 2., 3., 4., 5.]))
    >>> round(float(np.nanstd(X - users @ items.T)), 2)   # noise, and rounding to levels
    0.6
    """
    rng = check_random_state(random_state)
    # Add the mean of the user, the offset of the item, and the product of the tastes of the user
    # and the appeal of the item
    tastes = rng.standard_normal((n_users, rank))
    tastes /= np.sqrt(max(rank, 1))
    means = 3 + 0.5 * rng.standard_normal(n_users)
    users = np.column_stack([means, np.ones(n_users), tastes])
    offsets = 0.5 * rng.standard_normal(n_items)
    appeal = rng.standard_normal((n_items, rank))
    items = np.column_stack([np.ones(n_items), offsets, appeal])

    rows, columns = _observed_cells(n_users, n_items, observed, skew, rng)
    values = np.einsum("ij,ij->i", users[rows], items[columns])
    values += noise * rng.standard_normal(values.size)

    if levels is not None:
        values = np.clip(np.rint(values), 1, levels)

    if sparse:
        X = sp.coo_array((values, (rows, columns)), shape=(n_users, n_items))
        X = X.tocsr()
        return X, users, items

    X = np.full((n_users, n_items), np.nan)
    X[rows, columns] = values
    return X, users, items


def _observed_cells(n_users, n_items, observed, skew, rng):
    """Draw the number of ratings of each user, then items without replacement by popularity."""
    popularity = np.arange(1.0, n_items + 1) ** -skew
    order = rng.permutation(n_items)
    popularity = np.log(popularity[order])

    # Draw log-normal rates, whose mean is `observed` before they are limited to 1
    spread = 0.5 * skew
    log_activity = spread * rng.standard_normal(n_users) - spread**2 / 2
    rate = np.minimum(observed * np.exp(log_activity), 1.0)
    count = rng.binomial(n_items, rate)
    count = np.maximum(count, 1)

    rows = []
    columns = []
    block = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * n_items))
    for start in range(0, n_users, block):
        k = count[start : start + block]
        # The items with the largest sums of log-popularity and Gumbel noise are a draw without
        # replacement
        keys = popularity + rng.gumbel(size=(k.size, n_items))
        order = np.argsort(-keys, axis=1)
        rated = np.arange(n_items) < k[:, None]
        row, rank = np.nonzero(rated)
        rows.append(start + row)
        columns.append(order[row, rank])
    return np.concatenate(rows), np.concatenate(columns)
