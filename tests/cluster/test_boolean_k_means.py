"""Evidence that BooleanKMeans solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._solvers.boolean_data.boolean import pack_rows
from skmoderndata._solvers.boolean_data.boolean_k_means import count_ones_of_clusters
from skmoderndata.cluster import (
    BooleanKMeans,
    DiscreteBasis,
    FormalConceptFactorization,
    MultiAssignmentClustering,
    RoleMiner,
    RoundedSVD,
)
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.metrics import source_mismatch
from tests.oracles import boolean_factorization as oracle


def noisy_blocks(seed, n=300, noise=0.2):
    return make_boolean_sources(n, 60, 4, max_assignments=1, noise=noise, random_state=seed)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [1, 2, 7, 8, 63, 64, 65, 300])
def test_bit_sliced_counts_are_the_counts(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 70)) < np.linspace(0, 1, 70)
    labels = rng.integers(0, 3, size=n)
    counts, size = count_ones_of_clusters(pack_rows(X), labels, 4, 70)
    for k in range(4):
        assert size[k] == np.count_nonzero(labels == k)
        assert_array_equal(counts[k], X[labels == k].sum(axis=0))


@pytest.mark.oracle
def test_agrees_with_plain_loops_from_the_same_centres(seed):
    X = noisy_blocks(seed, 80, 0.4)[0]
    init = X[[0, 20, 40, 60]]
    centers, inertia = oracle.lloyd(X.tolist(), init.tolist())
    model = BooleanKMeans(4, init=init).fit(X)
    assert model.inertia_ == inertia
    assert source_mismatch(np.array(centers), model.cluster_centers_) == 0


@pytest.mark.oracle
def test_brute_force_over_all_centres(seed):
    X = np.random.default_rng(seed).uniform(size=(12, 5)) < 0.5
    for k in (1, 2):
        model = BooleanKMeans(k, n_init=30, random_state=seed).fit(X)
        assert model.inertia_ == oracle.least_cost_one_per_row(X, k)


@pytest.mark.oracle
def test_not_above_the_rounded_centres_of_scikit_learn(seed):
    X = noisy_blocks(seed, noise=0.5)[0]
    other = KMeans(4, n_init=10, random_state=seed).fit(X)
    rounded = other.cluster_centers_ > 0.5
    model = BooleanKMeans(4, random_state=seed).fit(X)
    # starts differ by chance: allow one part in a hundred
    assert model.inertia_ <= 1.01 * (rounded[other.labels_] != X).sum()


@pytest.mark.certificate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fixed_point_with_falling_inertia(seed):
    X = noisy_blocks(seed, noise=0.6)[0]
    model = BooleanKMeans(5, n_init=3, random_state=seed).fit(X)
    distance = (X[:, None] != model.cluster_centers_[None]).sum(axis=2)
    assert_array_equal(model.labels_, distance.argmin(axis=1))
    assert model.inertia_ == distance.min(axis=1).sum()
    assert np.isclose(model.reconstruction_err_, model.inertia_ / X.size, rtol=1e-12, atol=0)
    assert np.isclose(model.score(X), -model.reconstruction_err_, rtol=1e-12, atol=0)
    for k in range(5):  # no other centre is better for the same rows
        mine = X[model.labels_ == k]
        best = np.minimum(mine.sum(axis=0), (~mine).sum(axis=0)).sum()
        assert (mine != model.cluster_centers_[k]).sum() == best
    trace = []
    for max_iter in range(1, 5):
        start = BooleanKMeans(5, init=X[:5], max_iter=max_iter)
        trace.append(start.fit(X).inertia_)
    assert (np.diff(trace) <= 0).all()


@pytest.mark.recovery
def test_finds_planted_clusters(seed):
    X, _, sources, assignments = noisy_blocks(seed)
    model = BooleanKMeans(4, random_state=seed).fit(X)
    assert source_mismatch(sources, model.components_) == 0
    assert_array_equal(model.assignments_ @ model.assignments_.T, assignments @ assignments.T)
    clean = noisy_blocks(seed, noise=0.0)[0]
    assert BooleanKMeans(4, random_state=seed).fit(clean).inertia_ == 0


@pytest.mark.invariance
def test_sparse_and_permuted_input(seed):
    rng = np.random.default_rng(seed)
    X = noisy_blocks(seed, noise=0.5)[0]
    model = BooleanKMeans(4, random_state=seed).fit(X)
    same = BooleanKMeans(4, random_state=seed).fit(sparse.csr_matrix(X.astype(float)))
    assert_array_equal(same.cluster_centers_, model.cluster_centers_)
    assert_array_equal(same.predict(sparse.csr_array(X)), model.labels_)
    features = rng.permutation(60)
    moved = BooleanKMeans(4, init=X[:4][:, features]).fit(X[:, features])
    fixed = BooleanKMeans(4, init=X[:4]).fit(X)
    assert_array_equal(moved.labels_, fixed.labels_)
    assert_array_equal(moved.cluster_centers_, fixed.cluster_centers_[:, features])


@pytest.mark.invariance
def test_numbers_and_bits_agree(seed):
    X = noisy_blocks(seed)[0]
    labels = BooleanKMeans(4, random_state=0).fit(X).labels_
    for same in (X.astype(np.float32), 5 * X.astype(int) - 2):
        model = BooleanKMeans(4, random_state=0).fit(same)
        assert_array_equal(model.labels_, labels)
        assert_array_equal(model.transform(same), model.assignments_)
        assert_array_equal(
            model.inverse_transform(model.assignments_), model.components_[labels]
        )


@pytest.mark.edge
def test_ties_and_empty_clusters():
    tie = BooleanKMeans(1).fit([[1, 0], [0, 1]])
    assert not tie.cluster_centers_.any()
    X = np.repeat(np.eye(3, dtype=bool), [5, 4, 3], axis=0)
    # two clusters are empty at the start
    model = BooleanKMeans(3, init=np.zeros((3, 3))).fit(X)
    assert model.inertia_ == 0
    assert source_mismatch(np.eye(3), model.cluster_centers_) == 0
    for name in ("k-means++", "random"):
        with pytest.warns(ConvergenceWarning, match=r"clusters found \(3\) is smaller than"):
            many = BooleanKMeans(5, init=name, random_state=0).fit(X)
        assert many.inertia_ == 0
        assert len(np.unique(many.predict(X))) == 3
    # there are more clusters than rows
    with pytest.warns(ConvergenceWarning, match="n_clusters=7"):
        more = BooleanKMeans(7, init="random", random_state=0).fit(X[:2])
    assert more.assignments_.shape == (2, 7)
    assert more.inertia_ == 0


@pytest.mark.edge
def test_constant_empty_and_narrow_data():
    for X in (np.zeros((6, 4)), np.ones((6, 4)), np.eye(6)[:, :1], np.eye(1)):
        model = BooleanKMeans(len(np.unique(X, axis=0)), random_state=0).fit(X)
        assert_array_equal(model.inverse_transform(model.transform(X)), X)
    with pytest.warns(ConvergenceWarning, match=r"clusters found \(1\) is smaller than"):
        assert BooleanKMeans(2, random_state=0).fit(np.ones((1, 3))).labels_ == [0]


BOOLEAN = [
    BooleanKMeans(1, random_state=0),
    DiscreteBasis(2),
    FormalConceptFactorization(2),
    MultiAssignmentClustering(2, n_init=1, random_state=0),
    RoleMiner(2),
    RoundedSVD(2),
]


@pytest.mark.edge
@pytest.mark.parametrize("model", BOOLEAN, ids=lambda model: type(model).__name__)
def test_warns_about_a_default_threshold_for_numbers(model):
    X = np.random.default_rng(0).integers(0, 3, size=(30, 8)).astype(float)
    count = (X > 0).sum() / X.size
    message = (
        rf"{type(model).__name__}: X holds more than two values.*default: the {count:.1%} of the "
        "entries above 0 became 1.*threshold=None, which refuses"
    )
    for numbers in (X, sparse.csr_array(X), X.astype(int)):
        with pytest.warns(UserWarning, match=message):
            clone(model).fit(numbers)
    with pytest.warns(UserWarning, match=r"the values 1 and 2.*the 100.0% of the entries"):
        clone(model).fit(1.0 + (X > 0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DoubtfulResultWarning)  # sources of random bits
        clone(model).set_params(threshold=0.5).fit(X)
        for bits in (
            X > 0,
            (X > 0).astype(float),
            sparse.csr_array(2 * (X > 0)),
            (X > 0) - 0.5,
        ):
            clone(model).fit(bits)
        model = clone(model).fit(X > 0)
        model.transform(X)  # only `fit` warns


@pytest.mark.edge
def test_unobserved_bits_are_not_a_third_value():
    X = np.random.default_rng(0).integers(0, 2, size=(30, 8)).astype(float)
    X[0, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DoubtfulResultWarning)  # sources of random bits
        MultiAssignmentClustering(2, n_init=1, random_state=0).fit(X)


@pytest.mark.edge
def test_raises_and_warns_on_doubtful_input():
    X = noisy_blocks(0, noise=0.6)[0]
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        BooleanKMeans(4, init=X[:4], max_iter=1).fit(X)
    with pytest.raises(ValueError, match=r"init has shape \(2, 60\)"):
        BooleanKMeans(4, init=X[:2]).fit(X)
    with pytest.raises(ValueError, match="set `threshold`"):
        BooleanKMeans(threshold=None).fit(2.0 * X)
    with pytest.raises(ValueError, match="NaN"):
        BooleanKMeans().fit(np.where(X, np.nan, 0))
    model = BooleanKMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="Z has 3 columns, but there are 2 clusters"):
        model.inverse_transform(np.ones((4, 3)))
