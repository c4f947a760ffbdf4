"""Two classes that depend on a few of many features."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    validate_params,
)


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [AT_LEAST_ONE],
        "n_informative": [AT_LEAST_ONE],
        "margin": [NON_NEGATIVE],
        "flip_y": [Interval(Real, 0, 1, closed="left")],
        "weight": [Interval(Real, 0, 1, closed="neither")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_sparse_classes(
    n_samples=100,
    n_features=1000,
    *,
    n_informative=5,
    margin=0.5,
    flip_y=0.0,
    weight=0.5,
    shuffle=True,
    random_state=None,
):
    r"""Generate two classes on both sides of a hyperplane that involves few features.

    Features are standard normal; the label of a sample is the sign of
    :math:`s_i = w^\top x_i - t`, where w has norm 1 and `n_informative` weights
    :math:`\pm 1 / \sqrt{k}`, and the threshold t gives the second class its `weight`. The
    samples are then moved away from the hyperplane,
    :math:`x_i \leftarrow x_i + \mathrm{margin}\ \mathrm{sign}(s_i)\, w`, so that all informative
    features are needed and none of them separates the classes alone.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=1000
        Number of columns.
    n_informative : int, default=5
        Number of columns that the label depends on.
    margin : float, default=0.5
        Minimum distance of the samples from the hyperplane.
    flip_y : float, default=0.0
        Fraction of the labels that are flipped at random.
    weight : float, default=0.5
        Probability of the second class; if a class would be empty, the nearest sample is moved
        to it.
    shuffle : bool, default=True
        Whether the informative columns have random positions; otherwise they come first.
    random_state : int, RandomState instance or None, default=None
        Controls all random draws. Pass an int for reproducible results.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1.
    coef : ndarray of shape (n_features,)
        Weights w, which also label new samples with the same truth.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_sparse_classes
    >>> X, y, coef = make_sparse_classes(60, 500, n_informative=3, random_state=0)
    >>> X.shape, int(np.count_nonzero(coef))
    ((60, 500), 3)
    >>> distance = (2 * y - 1) * (X @ coef)
    >>> round(float(distance.min()), 2)
    0.5
    """
    if n_informative > n_features:
        raise ValueError(
            f"n_informative={n_informative} is larger than n_features={n_features}."
        )
    rng = check_random_state(random_state)

    # Draw the unit normal of the hyperplane, with weights of the same size on a few features
    coef = np.zeros(n_features)
    columns = np.arange(n_informative)
    if shuffle:
        columns = rng.choice(n_features, n_informative, replace=False)
    signs = rng.choice([-1.0, 1.0], n_informative)
    coef[columns] = signs / np.sqrt(n_informative)

    X = rng.standard_normal((n_samples, n_features))
    score = X[:, columns] @ coef[columns]

    # Split at a quantile of the scores, so that both classes occur
    n_second = rng.binomial(n_samples, weight)
    n_second = int(np.clip(n_second, 1, n_samples - 1))
    order = np.argsort(-score)
    y = np.zeros(n_samples, dtype=np.int64)
    y[order[:n_second]] = 1

    # Move the threshold to 0, and each class away from it by the margin
    lowest = score[order[n_second - 1]]
    threshold = 0.5 * (lowest + score[order[n_second]])
    shift = np.where(y == 1, margin, -margin) - threshold
    X[:, columns] += np.outer(shift, coef[columns])

    flipped = rng.random(n_samples) < flip_y
    y[flipped] = 1 - y[flipped]
    return X, y, coef
