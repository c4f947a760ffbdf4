"""Evidence that kernels on sets match their definitions."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import pairwise_distances

from skmoderndata.kernels import (
    Agreement,
    DerivedSubsets,
    Intersection,
    Normalized,
    PowerSet,
    UnionComplement,
)

A = {1, 2, 3}
B = {2, 3, 5}
OMEGA = {1, 2, 3, 4, 5}
MU = dict(zip(range(1, 6), (0.5, 1, 2, 0.25, 3), strict=True))


@pytest.mark.oracle
def test_numbers_worked_out_by_hand():
    for kernel, expected in [
        (PowerSet(), 4),
        (PowerSet(MU), 6),
        (Intersection(), 2),
        (Intersection(MU), 3),
        (UnionComplement(OMEGA), 1),
        (Agreement(OMEGA), 3),
        (Normalized(Intersection()), 2 / 3),
    ]:
        assert kernel([A], [B])[0, 0] == pytest.approx(expected, rel=1e-12)
    numbers = [sorted(A)], [sorted(B)]
    assert DerivedSubsets(DotProduct(0.0, "fixed"))(*numbers)[0, 0] == 60
    assert DerivedSubsets(RBF())(*numbers)[0, 0] == pytest.approx(4.1017070048, abs=1e-9)


@pytest.mark.oracle
def test_agreement_is_the_complement_of_hamming_distance(seed):
    X = (np.random.default_rng(seed).random((9, 20)) < 0.4).astype(float)
    expected = 20 - 20 * pairwise_distances(X, metric="hamming")
    assert_allclose(Agreement(20)(X), expected, atol=1e-10)
    assert_allclose(Agreement(20)(X), Intersection()(X) + UnionComplement(20)(X), atol=1e-12)


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", [PowerSet(), Intersection([0.5] * 12), Agreement(12)])
def test_containers_of_the_same_sets(kernel, seed):
    X = (np.random.default_rng(seed).random((7, 12)) < 0.4).astype(float)
    listed = [set(np.flatnonzero(x).tolist()) for x in X]
    K = kernel(X)
    assert_allclose(kernel(sparse.csr_array(X)), K)
    assert_allclose(kernel(listed), K, rtol=1e-12)
    assert_allclose(kernel([list(s) for s in listed]), K, rtol=1e-12)
    objects = np.empty(7, dtype=object)
    objects[:] = listed
    assert_allclose(kernel(objects), K, rtol=1e-12)
    assert_allclose(kernel.diag(listed), np.diag(K), rtol=1e-12)


@pytest.mark.invariance
def test_bags_in_blocks(seed):
    rng = np.random.default_rng(seed)
    bags = [rng.normal(size=(int(k), 3)) for k in rng.integers(0, 9, size=30)]
    kernel = DerivedSubsets(RBF(), average=True)
    K = kernel(bags)
    with sklearn.config_context(working_memory=0.01):
        assert_allclose(kernel(bags), K, rtol=1e-12)
    assert_allclose(K, K.T)


@pytest.mark.certificate
def test_mean_embeddings_of_the_linear_kernel(seed):
    rng = np.random.default_rng(seed)
    bags = [rng.normal(size=(k, 3)) for k in (2, 5, 1)]
    means = np.array([bag.mean(axis=0) for bag in bags])
    K = DerivedSubsets(DotProduct(0.0, "fixed"), average=True)(bags)
    assert_allclose(K, means @ means.T, rtol=1e-12, atol=1e-14)


@pytest.mark.edge
def test_empty_sets_and_empty_bags():
    assert_array_equal(Intersection()([set(), {1}]), [[0, 0], [0, 1]])
    assert_array_equal(Intersection()([set()]), [[0]])
    assert_array_equal(PowerSet()([set(), {1}]), [[1, 1], [1, 2]])
    assert_array_equal(Agreement(3)([set(), {1}]), [[3, 2], [2, 3]])
    assert_array_equal(DerivedSubsets(RBF())([[], [0.0]]), [[0, 0], [0, 1]])
    assert_array_equal(DerivedSubsets(RBF())([[]]), [[0]])


@pytest.mark.edge
def test_elements_not_seen_before_match_nothing_and_weigh_one():
    kernel = Intersection(weights={"a": 5.0})
    assert_array_equal(kernel([{"a", "b"}], [{"a"}, {"b"}, {"new"}]), [[5, 1, 0]])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Intersection(), ["cat"], "must be a set"),
        (Intersection(), [3], "must be a set"),
        (Intersection(), [[{1}]], "hashable"),
        (Intersection(), np.array([[2.0, 0]]), "only 0 and 1"),
        (Intersection(), {1, 2}, "in order"),
        (Intersection(), np.array([[{1}], [{2}]], dtype=object), "select one column"),
        (Intersection([1.0]), [{3}], "weights has 1 entries"),
        (Intersection({1: -1.0}), [{1}], "at least 0"),
        (Agreement(3), [{7}], "contains 7, which is not in the universe"),
        (Agreement(3), np.eye(4), "4 columns, but the universe has 3"),
        (Agreement("abc"), [{"a"}], "universe"),
        (Agreement(-1), [set()], "universe"),
        (DerivedSubsets(RBF()), ["cat"], "collection of elements"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_messages_name_parameter_and_remedy(kernel, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(X)


@pytest.mark.edge
def test_data_frames_are_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s": [{1}, {2}]})
    with pytest.raises(ValueError, match="select one column"):
        Intersection()(frame)
    assert_array_equal(Intersection()(frame["s"]), np.eye(2))


@pytest.mark.edge
@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize(
    "kernel", [Intersection(), PowerSet(), UnionComplement(6), Agreement(6)], ids=repr
)
def test_sparse_tables_are_unchanged(kernel, writeable, seed):
    """Stored zeros, and entries in two parts, out of order, equal the dense table."""
    dense = (np.random.default_rng(seed).random((7, 6)) < 0.5).astype(float)
    X = sparse.csr_array(dense)
    parts = [X.data / 2, X.data / 2, np.zeros(7)]
    at = [*[np.repeat(np.arange(7), np.diff(X.indptr))] * 2, np.arange(7)]
    where = [X.indices, X.indices, np.zeros(7, dtype=X.indices.dtype)]
    order = np.argsort(np.concatenate(at), kind="stable")
    ends = np.r_[0, np.cumsum(np.bincount(np.concatenate(at), minlength=7))]
    arrays = np.concatenate(parts)[order], np.concatenate(where)[order], ends
    for array in arrays:
        array.flags.writeable = writeable
    before = [array.copy() for array in arrays]
    given = sparse.csr_array(arrays, shape=(7, 6))
    assert_allclose(kernel(given), kernel(dense))
    assert_allclose(kernel(given, given), kernel(dense))
    assert_allclose(kernel.diag(given), kernel.diag(dense))
    for array, expected in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert_array_equal(array, expected)
