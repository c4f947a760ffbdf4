"""Evidence that make_ratings generates the table it describes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_ratings


@pytest.mark.recovery
def test_truth_rank_noise_and_share(seed):
    X, users, items = make_ratings(400, 80, rank=4, observed=0.3, noise=0.7, random_state=seed)
    truth = users @ items.T
    known = ~np.isnan(X)
    assert np.linalg.matrix_rank(truth) == 6
    assert_allclose(known.mean(), 0.3, rtol=0.15)  # the activity of 400 users is random
    # allow 5 standard errors of a standard deviation from about 9600 cells
    assert_allclose(np.std((X - truth)[known]), 0.7, rtol=5 / np.sqrt(2 * known.sum()))


@pytest.mark.recovery
def test_popularity_is_skewed_only_on_request(seed):
    counts = {}
    for skew in (0.0, 1.0):
        X = make_ratings(500, 60, observed=0.2, skew=skew, random_state=seed)[0]
        counts[skew] = np.sort((~np.isnan(X)).sum(axis=0))
    assert counts[0.0][-1] < 2 * counts[0.0][0]
    assert counts[1.0][-1] > 5 * counts[1.0][0]


@pytest.mark.invariance
def test_sparse_and_dense_agree(seed):
    dense, users, items = make_ratings(50, 30, levels=5, random_state=seed)
    X, users_too, items_too = make_ratings(50, 30, levels=5, sparse=True, random_state=seed)
    assert_array_equal(users, users_too)
    assert_array_equal(items, items_too)
    rows, columns = X.nonzero()
    assert X.nnz == np.count_nonzero(~np.isnan(dense))
    assert_array_equal(X.data, dense[rows, columns])


@pytest.mark.invariance
def test_reproducible():
    assert_array_equal(make_ratings(random_state=3)[0], make_ratings(random_state=3)[0])


@pytest.mark.edge
def test_smallest_and_fullest_tables():
    assert make_ratings(1, 1, rank=0, random_state=0)[0].shape == (1, 1)
    assert not np.isnan(make_ratings(5, 4, observed=1.0, skew=0.0, random_state=0)[0]).any()
    X = make_ratings(200, 50, observed=0.01, random_state=0)[0]
    assert (~np.isnan(X)).any(axis=1).all()
    values = make_ratings(30, 30, observed=0.9, levels=2, noise=3.0, random_state=0)[0]
    assert_array_equal(np.unique(values[~np.isnan(values)]), [1, 2])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "value"), [("observed", 0), ("observed", 1.5), ("levels", 1), ("noise", -1)]
)
def test_bad_parameters_are_rejected(name, value):
    with pytest.raises(ValueError, match=name):
        make_ratings(**{name: value})
