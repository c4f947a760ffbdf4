"""Evidence for the sums of robust components in a stream."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata._solvers.lowrank.online_pursuit import StreamSums, noise_of_columns


@pytest.mark.oracle
@pytest.mark.parametrize("rank", [0, 2, 5])
def test_noise_counts_the_dimensions_that_components_leave(rank):
    """Residuals of k components in p columns have (p - k) / p of the variance of the noise."""
    rng = np.random.default_rng(0)
    noise = 3 * rng.normal(size=(40_000, 10))
    basis = np.linalg.qr(rng.normal(size=(10, 10)))[0][:, :rank]
    residual = noise - noise @ basis @ basis.T
    trusted = np.abs(residual) <= 3 * residual.std(axis=0)
    squares = np.where(trusted, residual**2, 0).sum(axis=0)
    sums = StreamSums(1.0, np.eye(rank), np.zeros((10, rank)), squares, trusted.sum(axis=0))
    noise_std = np.sqrt(np.mean(noise_of_columns(sums, rank) ** 2))
    assert_allclose(noise_std, 3.0, rtol=0.01)
