"""Evidence that a growing and shrinking Cholesky factor matches its matrix, and solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.codes.cholesky import (
    append,
    append_atom,
    drop,
    solve,
    solve_chosen,
    solve_lower,
    solve_upper,
)


def definite(rng, t):
    V = rng.normal(size=(t, t + 3))
    return V @ V.T


def factor(A, room=2):
    """Factor of A, row after row, in an array that is larger and full of what must not be read."""
    L = np.full((len(A) + room, len(A) + room), np.nan)
    for t in range(len(A)):
        pivot = append(L, t, A[t].copy(), A[t, t])
        assert_allclose(pivot, L[t, t] ** 2, rtol=1e-12)
    return L


@pytest.mark.oracle
@pytest.mark.parametrize("t", [1, 2, 5, 11])
def test_a_factor_grows_row_by_row(t, seed):
    A = definite(np.random.default_rng(seed), t)
    L = factor(A)
    assert_allclose(np.tril(L[:t, :t]), np.linalg.cholesky(A), rtol=1e-9, atol=1e-10)
    assert np.isnan(L[t:]).all()
    assert np.isnan(L[:, t:]).all()


@pytest.mark.oracle
@pytest.mark.parametrize("t", [1, 2, 5, 11])
def test_systems_are_solved_in_place(t, seed):
    rng = np.random.default_rng(seed)
    A = definite(rng, t)
    L = factor(A)
    exact = np.linalg.cholesky(A)
    b = rng.normal(size=t + 1)
    for function, matrix in ((solve_lower, exact), (solve_upper, exact.T), (solve, A)):
        z = b.copy()
        function(L, t, z)
        assert_allclose(z[:t], np.linalg.solve(matrix, b[:t]), rtol=1e-6, atol=1e-8)
        assert z[t] == b[t]


@pytest.mark.oracle
def test_factor_without_an_atom_matches_the_remaining_atoms(seed):
    A = definite(np.random.default_rng(seed), 9)
    L = factor(A)
    others = list(range(9))
    for position in (4, 0, 6, 2, 4, 0):
        drop(L, len(others), position)
        del others[position]
        t = len(others)
        expected = np.linalg.cholesky(A[np.ix_(others, others)])
        assert_allclose(np.tril(L[:t, :t]), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.oracle
def test_chosen_atoms_are_fitted(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(12, 20))
    x = rng.normal(size=20)
    G = D @ D.T
    index = rng.permutation(12)[:7]
    L = np.zeros((7, 7))
    z = np.zeros(7)
    for t, j in enumerate(index):
        assert append_atom(L, t, G[j], index, j) > 0
    solve_chosen(L, index, 7, D @ x, z)
    assert_allclose(z, np.linalg.lstsq(D[index].T, x, rcond=None)[0], rtol=1e-8, atol=1e-10)


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_dependent_rows_are_rejected_at_any_scale(scale, seed):
    rng = np.random.default_rng(seed)
    V = scale * rng.normal(size=(4, 6))
    near = V[:2].sum(axis=0)
    beside = rng.normal(size=6)
    L = np.zeros((6, 6))
    G = V @ V.T
    for t in range(4):
        assert append(L, t, G[t], G[t, t]) > 0
    before = np.tril(L[:4, :4])
    for distance, accepted in ((0.0, False), (1e-6, False), (1e-3, True)):
        v = near + distance * np.linalg.norm(near) * beside
        pivot = append(L, 4, V @ v, v @ v)
        assert (pivot > 0) == accepted
        assert accepted or pivot == 0
        assert_array_equal(np.tril(L[:4, :4]), before)
    assert append(L, 4, np.zeros(4), 0.0) == 0  # this atom is zero


@pytest.mark.edge
def test_full_array_rejects_more():
    L = np.eye(2)
    assert append(L, 2, np.zeros(2), 1.0) == 0
    assert append_atom(L, 2, np.array([0.0, 0.0, 1.0]), np.array([0, 1]), 2) == 0
    assert_array_equal(L, np.eye(2))
