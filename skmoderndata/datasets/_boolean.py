"""Boolean data from sources that combine by OR, with known truth."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import AT_LEAST_ONE, Interval, validate_params
from skmoderndata._solvers.boolean_data.boolean import (
    assignment_sets,
    boolean_product,
    count_assignment_sets,
)
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING


@validate_params(
    {
        "n_samples": [AT_LEAST_ONE],
        "n_features": [AT_LEAST_ONE],
        "n_sources": [AT_LEAST_ONE],
        "max_assignments": [AT_LEAST_ONE, None],
        "allow_empty": ["boolean"],
        "overlap": [Interval(Real, 0, 1, closed="left")],
        "size": [Interval(Integral, 1, None, closed="left"), None],
        "noise": [Interval(Real, 0, 1, closed="both")],
        "noise_rate": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_boolean_sources(
    n_samples=350,
    n_features=60,
    n_sources=3,
    *,
    max_assignments=None,
    allow_empty=False,
    overlap=0.25,
    size=None,
    noise=0.0,
    noise_rate=0.5,
    random_state=None,
):
    """Generate Boolean rows, each the OR of several sources, with mixture noise.

    Sources are blocks of consecutive features of equal size; with `overlap`, each source shares
    its first and last features with its neighbours. Assignment sets occur equally often, as far as
    the number of rows allows, and a fraction of the bits is replaced by noise. Multi-assignment
    clustering was published with this set-up [1]_, [2]_.

    Parameters
    ----------
    n_samples : int, default=350
        Number of rows.
    n_features : int, default=60
        Number of columns.
    n_sources : int, default=3
        Number of sources.
    max_assignments : int, default=None
        Largest number of sources of one row; None allows all.
    allow_empty : bool, default=False
        Whether rows may have no source.
    overlap : float, default=0.25
        Fraction of the features of a source that the next source shares; 0 gives disjoint blocks.
        Below 1/2, every source has features of its own. From 1/2 on, a source lies in the union of
        its neighbours, so its presence together with them cannot be detected.
    size : int, default=None
        Number of features of a source; None uses the largest size for which all sources fit.
        Features beyond the last source belong to no source.
    noise : float, default=0.0
        Probability that a bit is replaced by a noisy one.
    noise_rate : float, default=0.5
        Probability that a noisy bit is 1.
    random_state : int, RandomState instance or None, default=None
        Controls assignments and noise. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of bool of shape (n_samples, n_features)
        Rows with noise.
    clean : ndarray of bool of shape (n_samples, n_features)
        Rows without noise: the OR of the sources.
    sources : ndarray of bool of shape (n_sources, n_features)
        Sources, one per row.
    assignments : ndarray of bool of shape (n_samples, n_sources)
        Sources of each row.

    References
    ----------
    .. [1] Streich, Frank, Basin and Buhmann, Multi-assignment clustering for Boolean data,
       ICML 2009, pp. 969-976.
    .. [2] Frank, Streich, Basin and Buhmann, Multi-assignment clustering for Boolean data,
       Journal of Machine Learning Research 13, 2012, pp. 459-489.

    Examples
    --------
    >>> from skmoderndata.datasets import make_boolean_sources
    >>> X, clean, sources, assignments = make_boolean_sources(
    ...     70, 10, noise=0.2, random_state=0
    ... )
    >>> sources.astype(int)
    array([[1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
           [0, 0, 0, 1, 1, 1, 1, 0, 0, 0],
           [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]])
    >>> int((clean != (assignments @ sources)).sum())   # unions of sources, without noise
    0
    >>> float((X != clean).mean().round(1))
    0.1
    """
    rng = check_random_state(random_state)
    sources = _blocks(n_sources, n_features, overlap, size)
    largest = n_sources if max_assignments is None else min(max_assignments, n_sources)
    assignments = _draw_sets(n_samples, n_sources, largest, allow_empty, rng)
    clean = boolean_product(assignments, sources)
    noisy = rng.uniform(size=clean.shape) < noise
    drawn = rng.uniform(size=clean.shape) < noise_rate
    X = np.where(noisy, drawn, clean)
    return X, clean, sources, assignments


def _blocks(k, p, overlap, size):
    """Return blocks of equal size; the next one begins `size - shared` features later."""
    if size is None:
        size = p
        while size > 1 and _span(k, size, overlap) > p:
            size -= 1
    needed = _span(k, size, overlap)
    if needed > p:
        raise ValueError(
            f"n_sources={k} of size={size} with overlap={overlap} need {needed} features, but "
            f"n_features={p}: increase n_features or overlap, or lower size."
        )
    stride = size - _shared(size, overlap)
    start = np.arange(k)[:, None] * stride
    feature = np.arange(p)
    return (feature >= start) & (feature < start + size)


def _shared(size, overlap):
    # Round down, so that each source has features that no other source has if overlap is below 1/2
    return int(overlap * size + RESULT_ROUNDING)


def _span(k, size, overlap):
    stride = size - _shared(size, overlap)
    return size + (k - 1) * stride


def _draw_sets(n, k, largest, allow_empty, rng):
    """Draw sets uniformly, as evenly as possible if there are no more sets than rows."""
    n_sets = count_assignment_sets(k, largest, allow_empty=allow_empty)
    if n_sets <= n:
        sets = assignment_sets(k, largest, allow_empty=allow_empty)
        times, n_extra = divmod(n, n_sets)
        extra = rng.permutation(n_sets)[:n_extra]
        every = np.repeat(np.arange(n_sets), times)
        repeated = np.concatenate([every, extra])
        return sets[rng.permutation(repeated)]

    # Draw the size of each set with a probability proportional to the number of sets of this size,
    # then its members
    smallest = 0 if allow_empty else 1
    sizes = np.arange(smallest, largest + 1)
    up_to = [count_assignment_sets(k, size, allow_empty=allow_empty) for size in sizes]
    cumulative = np.array([count / n_sets for count in up_to])
    level = rng.uniform(size=n)
    drawn = np.searchsorted(cumulative, level, side="right")
    size = sizes[drawn]
    order = np.argsort(rng.uniform(size=(n, k)), axis=1)
    rank = np.argsort(order, axis=1)
    return rank < size[:, None]
