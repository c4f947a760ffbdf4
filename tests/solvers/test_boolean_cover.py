"""Covers of packed rows agree with enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    boolean_product,
    contained,
    cooccurrence,
    count_differences,
    distinct_rows,
    nearest_packed,
    pack_bits,
    pack_rows,
    popcount,
    transpose_packed,
    unions,
    unpack_rows,
)
from tests.oracles import boolean_factorization as oracle


def bits(shape, rng, density=0.4):
    return rng.uniform(size=shape) < density


def test_popcount():
    for word in (0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0):
        assert popcount(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("p", [1, 63, 64, 65, 200])
def test_packing_of_sparse_rows_and_transposition(p, seed):
    X = bits((70, p), np.random.default_rng(seed))
    words = pack_bits(X)
    assert_array_equal(pack_bits(sparse.csr_array(X)), words)
    assert_array_equal(unpack_rows(transpose_packed(words, p), 70), X.T)


def test_sparse_rows_are_packed_in_blocks(monkeypatch):
    monkeypatch.setattr("skmoderndata._solvers.boolean_data.boolean.MAX_WORDS", 100)
    X = bits((57, 30), np.random.default_rng(0))
    assert_array_equal(pack_bits(sparse.csr_array(X)), pack_rows(X))
    assert_array_equal(cooccurrence(X), X.T.astype(int) @ X)


def test_unions_and_differences(seed):
    rng = np.random.default_rng(seed)
    X = bits((40, 90), rng)
    Z = bits((40, 5), rng)
    U = bits((5, 90), rng, 0.2)
    explained = boolean_product(Z, U)
    assert_array_equal(unpack_rows(unions(Z, pack_rows(U)), 90), explained)
    missed, extra = count_differences(pack_rows(X), Z, pack_rows(U))
    assert missed == (X & ~explained).sum()
    assert extra == (explained & ~X).sum()


@pytest.mark.parametrize(("bonus", "penalty"), [(1.0, 1.0), (1.0, 3.0), (2.5, 0.5)])
def test_nearest_pattern_and_exact_cover(bonus, penalty, seed):
    rng = np.random.default_rng(seed)
    X = bits((30, 9), rng)
    U = bits((4, 9), rng)
    index, cost = nearest_packed(pack_rows(X), pack_rows(U), bonus, penalty)
    Z = best_cover(pack_rows(X), pack_rows(U), bonus=bonus, penalty=penalty)
    for i, row in enumerate(X):
        each = [oracle.cost(row, u, bonus, penalty) for u in U]
        assert index[i] == np.argmin(each)
        assert cost[i] + bonus * row.sum() == min(each)
        assert set(np.flatnonzero(Z[i])) == oracle.best_set(row, U, bonus, penalty)[0]


def test_tables_of_unions_are_made_in_blocks(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X = pack_rows(bits((30, 70), rng))
    U = pack_rows(bits((6, 70), rng))
    whole = best_cover(X, U)
    monkeypatch.setattr("skmoderndata._solvers.boolean_data.boolean.MAX_WORDS", 10)
    assert_array_equal(best_cover(X, U), whole)


def test_local_search_is_feasible_and_never_worse_than_its_start(seed):
    rng = np.random.default_rng(seed)
    X = bits((60, 40), rng)
    U = pack_rows(bits((8, 40), rng, 0.2))
    words = pack_rows(X)
    start = bits((60, 8), rng)
    kept = start.copy()
    optimum = best_cover(words, U)
    for begin in (None, start):
        Z = best_cover(words, U, start=begin, exact=False)
        first = np.zeros_like(start) if begin is None else kept
        for i in range(len(words)):
            found, least, most = (
                sum(count_differences(words[i : i + 1], M[i : i + 1], U))
                for M in (Z, optimum, first)
            )
            assert least <= found <= most
    assert_array_equal(start, kept)


def test_local_search_finds_disjoint_components_exactly(seed):
    rng = np.random.default_rng(seed)
    U = np.kron(np.eye(20, dtype=bool), np.ones((1, 5), dtype=bool))
    Z = bits((50, 20), rng)
    X = boolean_product(Z, U)
    # 2**20 sets are too many, so this is a local search
    assert_array_equal(best_cover(pack_rows(X), pack_rows(U)), Z)


def test_contained_and_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    X = bits((50, 6), rng, 0.7)
    U = bits((5, 6), rng, 0.3)
    U[2] = False
    expected = (X[:, None, :] | ~U[None]).all(axis=2) & U.any(axis=1)
    assert_array_equal(contained(pack_rows(X), pack_rows(U)), expected)
    rows, count = distinct_rows(pack_rows(X))
    seen = list(dict.fromkeys(map(tuple, X.tolist())))
    assert_array_equal(unpack_rows(rows, 6), seen)
    assert_array_equal(count, [X.tolist().count(list(row)) for row in seen])


def test_cooccurrence_of_sparse_and_dense(seed):
    X = bits((40, 12), np.random.default_rng(seed))
    expected = X.T.astype(int) @ X
    assert_array_equal(cooccurrence(X), expected)
    assert_array_equal(cooccurrence(sparse.csr_array(X)), expected)


def test_local_search_drops_what_has_become_superfluous():
    U = np.zeros((3, 6), dtype=bool)
    U[0, 1:5] = U[1, :3] = U[2, 3:] = True  # the first component alone is the best one
    words = pack_rows(np.ones((1, 6), dtype=bool))
    assert_array_equal(best_cover(words, pack_rows(U), exact=False), [[False, True, True]])
    assert_array_equal(best_cover(words, pack_rows(U)), [[False, True, True]])
