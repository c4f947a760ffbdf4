"""Batches of signals change a dictionary as plain loops over all signals so far do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from skmoderndata._solvers.codes.signal_blocks import SparseCodes
from skmoderndata._solvers.dictionaries.ksvd import BATCH_SWEEPS, Stream, add_batch

pytestmark = pytest.mark.oracle


def signals(seed, n=8, k=5, size=60):
    """Draw atoms, and signals that use two of them each."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((k, n))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = np.zeros((size, k))
    for row in codes:
        row[rng.choice(k, 2, replace=False)] = rng.standard_normal(2)
    return atoms, codes, codes @ atoms + 0.1 * rng.standard_normal((size, n)), rng


def as_sparse_codes(A):
    """Return the codes of a dense matrix as the solver keeps them."""

    rows = sparse.csr_array(A)
    none = np.zeros(len(A))
    indptr = rows.indptr.astype(np.int64)
    stop = none.astype(np.int64)
    return SparseCodes(indptr, rows.indices, rows.data, none, stop, none, stop)


@pytest.mark.parametrize("forget", [1.0, 0.5])
def test_batches_match_plain_loops(forget, seed):
    """Atom after atom moves to the direction that fits the residuals of all signals best."""
    atoms, codes, X, rng = signals(seed)
    D = atoms + 0.2 * rng.standard_normal(atoms.shape)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    stream = Stream.empty(*D.shape)
    plain = D.copy()
    weights = np.zeros(0)
    for first, last in ((0, 25), (25, 60)):
        batch = slice(first, last)
        D, stream, _ = add_batch(
            D, stream, X[batch], as_sparse_codes(codes[batch]), forget=forget, replace=False
        )

        # compute the same from all signals seen so far, without statistics
        weights = np.append(forget * weights, np.ones(last - first))
        A = codes[:last]
        for _ in range(BATCH_SWEEPS):
            for j in range(len(plain)):
                others = np.delete(np.arange(len(plain)), j)
                residual = X[:last] - A[:, others] @ plain[others]
                direction = (weights * A[:, j]) @ residual
                plain[j] = direction / np.linalg.norm(direction)
        assert_allclose(D, plain, atol=1e-10)
        assert_allclose(stream.S, A.T @ (weights[:, None] * A), atol=1e-10)
        assert_allclose(stream.T, A.T @ (weights[:, None] * X[:last]), atol=1e-10)
