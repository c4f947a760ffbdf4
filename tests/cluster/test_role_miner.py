"""Evidence that RoleMiner solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmoderndata._solvers.boolean_data import roles
from skmoderndata._solvers.boolean_data.boolean import boolean_product, pack_rows, unpack_rows
from skmoderndata._solvers.boolean_data.roles import intersections
from skmoderndata.cluster import RoleMiner
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import boolean_over_coverage, source_mismatch
from tests.oracles import boolean_factorization as oracle


def random_bits(seed, shape, density=0.6):
    return np.random.default_rng(seed).uniform(size=shape) < density


def as_set(row):
    return frozenset(np.flatnonzero(row).tolist())


@pytest.mark.oracle
@pytest.mark.parametrize("p", [6, 70])
def test_candidates_are_all_intersections(p, seed):
    X = random_bits(seed, (8, p), 0.7)
    X[3] = False
    rows = np.unique(X, axis=0)
    for complete in (False, True):
        found, n_seen = intersections(pack_rows(rows), 10**6, complete)
        candidates = [as_set(row) for row in unpack_rows(found, p)]
        assert len(set(candidates)) == len(candidates)
        assert set(candidates) == oracle.intersections(X, complete)
        assert n_seen == len(rows)


@pytest.mark.oracle
def test_the_table_grows(seed):
    """More candidates than the first table holds."""
    X = random_bits(seed, (150, 64), 0.7)
    found, _ = intersections(pack_rows(X), 10**5, False)
    assert len(found) == len(np.unique(found, axis=0)) > 2**13
    assert {as_set(row) for row in unpack_rows(found, 64)} == oracle.intersections(X, False)


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["fast", "complete"])
def test_each_choice_is_a_greedy_one(algorithm, seed):
    X = random_bits(seed, (14, 7))
    model = RoleMiner(4, algorithm=algorithm).fit(X)
    candidates = oracle.intersections(X, algorithm == "complete")
    assert model.n_candidates_ == len(candidates)
    covered = [set() for _ in X]
    for role in model.components_:
        best = max(
            oracle.newly_covered(X, c, [set(done) for done in covered]) for c in candidates
        )
        assert oracle.newly_covered(X, as_set(role), covered) == best
    explained = model.inverse_transform(model.assignments_)
    assert [set(np.flatnonzero(row)) for row in explained] == covered
    assert_array_equal(
        model.support_, [(X[:, role].all(axis=1)).sum() for role in model.components_]
    )


@pytest.mark.oracle
def test_ranking_by_area(seed):
    X = random_bits(seed, (14, 7))
    model = RoleMiner(4, algorithm="complete", selection="area").fit(X)
    areas = sorted(
        (
            oracle.newly_covered(X, c, [set() for _ in X])
            for c in oracle.intersections(X, True)
        ),
        reverse=True,
    )
    assert_array_equal(model.support_ * model.components_.sum(axis=1), areas[:4])


@pytest.mark.certificate
def test_from_below_and_falling_error(seed):
    X = make_boolean_sources(60, 20, 3, noise=0.3, random_state=seed)[0]
    errors = []
    for k in range(1, 8):
        model = RoleMiner(k).fit(X)
        explained = model.inverse_transform(model.transform(X))
        assert boolean_over_coverage(X, explained) == 0
        assert_allclose(model.reconstruction_err_, (X != explained).mean(), rtol=1e-12)
        errors.append(model.reconstruction_err_)
        best = RoleMiner(k, cover="best").fit(X)
        assert_array_equal(best.components_, model.components_)
        assert best.reconstruction_err_ <= model.reconstruction_err_
    assert (np.diff(errors) <= 0).all()


@pytest.mark.certificate
def test_greedy_coverage_is_near_brute_force(seed):
    """Greedy maximisation of a submodular function: at least 1 - (1 - 1/k)**k of the optimum."""
    X = random_bits(seed, (12, 5))
    for k, share in ((1, 1.0), (2, 0.75)):
        model = RoleMiner(k, algorithm="complete").fit(X)
        covered = model.inverse_transform(model.assignments_).sum()
        assert share * oracle.most_ones_from_below(X, k) <= covered
        assert covered <= oracle.most_ones_from_below(X, k)


@pytest.mark.recovery
def test_roles_that_occur_alone_are_found(seed):
    """Disjoint roles in clean data: their combinations always cover fewer new ones."""
    sources, Z = make_boolean_sources(
        300, 60, 4, overlap=0, max_assignments=2, random_state=seed
    )[2:]
    X = boolean_product(Z, sources)
    model = RoleMiner(4).fit(X)
    assert source_mismatch(sources, model.components_) == 0
    assert model.reconstruction_err_ == 0
    assert_array_equal(model.assignments_.sum(axis=1), Z.sum(axis=1))
    everything = RoleMiner(30).fit(X)
    assert everything.reconstruction_err_ == 0
    assert not everything.components_[4:].any()


@pytest.mark.invariance
def test_sparse_duplicated_and_permuted_input(seed):
    rng = np.random.default_rng(seed)
    X = make_boolean_sources(100, 30, 3, noise=0.2, random_state=seed)[0]
    model = RoleMiner(5).fit(X)
    same = RoleMiner(5).fit(sparse.csr_matrix(X.astype(float)))
    assert_array_equal(same.components_, model.components_)
    assert_array_equal(same.transform(sparse.csr_array(X)), model.assignments_)
    assert_array_equal(RoleMiner(5).fit(np.vstack([X, X])).components_, model.components_)
    features = rng.permutation(30)
    moved = RoleMiner(5).fit(X[:, features])
    assert_array_equal(moved.components_, model.components_[:, features])


@pytest.mark.edge
def test_too_many_candidates():
    X = random_bits(0, (60, 40), 0.7)
    with pytest.raises(
        ValueError, match=r"more than max_candidates=1000 .* set algorithm='fast'"
    ):
        RoleMiner(algorithm="complete", max_candidates=1000).fit(X)
    with pytest.warns(
        UserWarning, match="max_candidates=1000 candidate roles in 60 distinct rows"
    ):
        model = RoleMiner(3, max_candidates=1000).fit(X)
    assert model.n_candidates_ == 1000
    with pytest.warns(UserWarning, match="after the pairs of 0 of them"):
        model = RoleMiner(3, max_candidates=10).fit(X)
    assert model.n_candidates_ == 10
    with pytest.warns(UserWarning, match="max_candidates=1 "):
        RoleMiner(3, max_candidates=1).fit([[1, 0], [0, 1]])


@pytest.mark.edge
def test_border_data():
    for X in (np.zeros((6, 4)), np.ones((6, 4)), np.eye(6)[:, :1], np.eye(1), np.eye(3)):
        for algorithm in ("fast", "complete"):
            model = RoleMiner(4, algorithm=algorithm).fit(X)
            assert model.components_.shape == (4, X.shape[1])
            assert model.reconstruction_err_ == 0
            assert_array_equal(model.inverse_transform(model.transform(X)), X)
    X = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    model = RoleMiner(3).fit(X)
    assert_array_equal(model.components_, [[0, 1, 1, 0], [0] * 4, [0] * 4])
    assert_array_equal(model.support_, [2, 0, 0])
    assert not model.assignments_[2].any()


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = random_bits(0, (10, 4))
    with pytest.raises(ValueError, match="set `threshold`"):
        RoleMiner(threshold=None).fit(3.0 * X)
    with pytest.raises(ValueError, match="NaN"):
        RoleMiner().fit(np.where(X, np.nan, 0))
    with pytest.raises(ValueError, match="Z has 2 columns, but there are 3 components"):
        RoleMiner().fit(X).inverse_transform(np.ones((4, 2)))


@pytest.mark.invariance
@pytest.mark.parametrize("complete", [False, True])
def test_candidates_in_pieces_match_one_call(monkeypatch, complete, seed):
    """Between two pieces an interrupt is heard; a small table grows on the way."""
    rows = pack_rows(np.random.default_rng(seed).random((12, 70)) < 0.6)
    whole, n_seen = intersections(rows, 10**6, complete)
    monkeypatch.setattr(roles, "PIECE_CELLS", 7)
    found, n_seen_in_pieces = intersections(rows, 10**6, complete)
    assert_array_equal(found, whole)
    assert n_seen_in_pieces == n_seen
