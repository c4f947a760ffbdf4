"""Evidence that SammonMapping solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import MDS

from skmoderndata._solvers.embeddings.sammon import stress as fast_stress
from skmoderndata.manifold import SammonMapping
from tests.oracles.sammon_mapping import guttman_transforms, sammon_newton, stress


def rows(seed, n=30, p=5):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.oracle
@pytest.mark.parametrize("k", [1, 2, 3])
def test_stress_pair_by_pair_and_gradient_by_differences(k, seed):
    X = rows(seed, 12)
    Y = rows(seed + 1, 12, k)
    D = cdist(X, X)
    D[2, 5] = D[5, 2] = 0
    d = D[np.triu_indices(12, 1)]
    value, gradient = fast_stress(d, Y)
    assert_allclose(value, stress(D, Y), rtol=1e-12)
    for i, a in ((0, 0), (5, k - 1), (11, 0)):
        moved = [Y.copy(), Y.copy()]
        moved[0][i, a] += 1e-6
        moved[1][i, a] -= 1e-6
        slope = (stress(D, moved[0]) - stress(D, moved[1])) / 2e-6
        # compute the slope by differences
        assert_allclose(gradient[i, a], slope, rtol=1e-5, atol=1e-9)


@pytest.mark.oracle
def test_blocks_of_rows_match_the_full_computation(seed):
    # more than 1500 rows need several blocks
    X = rows(seed, 1600)
    Y = rows(seed + 1, 1600, 2)
    d = pdist(X)
    value, gradient = fast_stress(d, Y)
    length = pdist(Y)
    assert_allclose(value, np.sum((d - length) ** 2 / d) / d.sum(), rtol=1e-12)
    D = cdist(X, X) + np.eye(1600)
    L = cdist(Y, Y) + np.eye(1600)
    pull = 1 / D - 1 / L
    want = 2 * (pull.sum(axis=1)[:, None] * Y - pull @ Y) / d.sum()
    assert_allclose(gradient, want, rtol=1e-8, atol=1e-14)


@pytest.mark.oracle
def test_sammons_iteration_ends_no_lower(seed):
    X = rows(seed, 15)
    model = SammonMapping().fit(X)
    D = cdist(X, X)
    assert_allclose(model.stress_, stress(D, model.embedding_), rtol=1e-10)
    start = X - X.mean(axis=0)
    start = start @ np.linalg.svd(start)[2][:2].T
    assert model.stress_ <= stress(D, sammon_newton(D, start, 60)) * 1.0001
    majorised = guttman_transforms(D, start, 3000)
    assert_allclose(
        stress(D, majorised), model.stress_, rtol=1e-4
    )  # the descent stops when the stress hardly falls any more


@pytest.mark.oracle
def test_five_points_by_brute_force(seed):
    X = rows(seed, 5, 4)
    D = cdist(X, X)
    rng = np.random.default_rng(seed)
    settings = {"method": "Nelder-Mead", "options": {"maxiter": 20_000, "maxfev": 20_000}}
    best = min(
        minimize(lambda y: stress(D, y.reshape(5, 2)), rng.normal(size=10), **settings).fun
        for _ in range(5)
    )
    assert SammonMapping(n_init=10, random_state=seed).fit(X).stress_ <= best * 1.001


@pytest.mark.oracle
def test_new_points_by_another_minimiser(seed):
    X = rows(seed)
    new = rows(seed + 1, 6)
    model = SammonMapping().fit(X)
    d = cdist(new, X)
    Z = model.transform(new)
    for row, z in zip(d, Z, strict=True):

        def own(y, row=row):
            return np.sum((row - np.linalg.norm(y - model.embedding_, axis=1)) ** 2 / row)

        found = minimize(own, z, method="BFGS", tol=1e-10)
        assert own(z) <= found.fun * (1 + 1e-8)
        # the reference uses differences instead of gradients
        assert_allclose(z, found.x, atol=1e-4)


@pytest.mark.certificate
def test_gradient_vanishes_and_stress_falls(seed):
    X = rows(seed, 80)
    model = SammonMapping().fit(X)
    d = pdist(X)
    _, gradient = fast_stress(d / d.mean(), model.embedding_ / d.mean())
    assert_allclose(np.linalg.norm(gradient), model.gradient_norm_, atol=1e-12)
    assert model.gradient_norm_ <= 1e-6
    assert model.objective_history_[-1] < model.objective_history_[0]
    assert model.n_iter_ == len(model.objective_history_) - 1


@pytest.mark.recovery
@pytest.mark.parametrize("k", [1, 2, 3])
def test_distances_that_fit_exactly_are_kept(k, seed):
    flat = rows(seed, 40, k)
    X = flat @ np.linalg.qr(rows(seed + 1, 6, 6))[0][:k]
    model = SammonMapping(k).fit(X)
    assert model.stress_ < 1e-20
    assert_allclose(pdist(model.embedding_), pdist(flat), rtol=1e-7)
    if k == 1:  # on a line, a new point cannot pass other points
        return
    new = rows(seed + 2, 5, 6)[:, :k] @ np.linalg.lstsq(flat, X, rcond=None)[0]
    assert_allclose(cdist(model.transform(new), model.embedding_), cdist(new, X), rtol=1e-5)


@pytest.mark.paper
def test_iris():
    """Sammon 1969, figure 4: the plane keeps distances to a stress of less than a percent."""
    model = SammonMapping().fit(load_iris().data)
    assert round(model.stress_, 5) == 0.00396
    assert model.n_zero_distances_ == 1
    assert_array_equal(model.embedding_[101], model.embedding_[142])


@pytest.mark.recovery
def test_lower_stress_than_unweighted_scaling(seed):
    X = rows(seed, 60, 8)
    D = cdist(X, X)
    settings = {"n_init": 1, "init": "classical_mds", "random_state": seed}
    try:
        other = MDS(2, **settings)
        Y = other.fit_transform(X)
    except (TypeError, ValueError):  # scikit-learn before 1.8 has no such start
        Y = MDS(2, n_init=4, normalized_stress=False, random_state=seed).fit_transform(X)
    assert SammonMapping().fit(X).stress_ < stress(D, Y)


@pytest.mark.invariance
def test_units_rotation_precomputed_and_order(seed):
    X = rows(seed)
    want = SammonMapping().fit(X)
    scaled = SammonMapping().fit(1e3 * X + 5)
    assert_allclose(scaled.stress_, want.stress_, rtol=1e-8)
    assert_allclose(
        scaled.embedding_, 1e3 * want.embedding_, rtol=1e-3, atol=1
    )  # the objective is flat near the minimum

    Q = np.linalg.qr(rows(seed + 2, 5))[0]
    D = cdist(X, X)
    for model in (
        SammonMapping().fit(X @ Q),
        SammonMapping(metric="precomputed").fit(D),
        SammonMapping(metric="minkowski", metric_params={"p": 2}).fit(X),
        SammonMapping().fit(X[::-1]),
    ):
        assert_allclose(model.stress_, want.stress_, rtol=1e-7)

    given = SammonMapping(metric="precomputed").fit(D)
    new = rows(seed + 1, 4)
    assert_allclose(
        pdist(given.transform(cdist(new, X))), pdist(want.transform(new)), rtol=1e-2
    )  # the results of two descents differ by the tolerance
    assert_allclose(given.score(D), want.score(X), rtol=1e-5)


@pytest.mark.invariance
def test_training_samples_keep_their_positions(seed):
    X = np.repeat(rows(seed, 12), 2, axis=0)
    model = SammonMapping().fit(X)
    assert_array_equal(model.embedding_[::2], model.embedding_[1::2])
    assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    assert_allclose(model.stress_, SammonMapping().fit(X[::2]).stress_, rtol=1e-8)
    assert model.n_zero_distances_ == 12
    table = SammonMapping(metric="precomputed").fit(cdist(X, X))
    assert table.n_zero_distances_ == 12
    assert_array_equal(table.embedding_[::2], table.embedding_[1::2])


@pytest.mark.edge
def test_zero_distances_between_different_samples():
    X = rows(0, 8)
    D = cdist(X, X)
    # this is not a metric: 0 and 1 differ in their distances from other samples
    D[0, 1] = D[1, 0] = 0
    model = SammonMapping(metric="precomputed").fit(D)
    assert model.n_zero_distances_ == 1
    assert np.isfinite(model.embedding_).all()
    assert_allclose(model.stress_, stress(D, model.embedding_), rtol=1e-10)


@pytest.mark.edge
def test_few_samples_and_equal_ones():
    assert_array_equal(SammonMapping().fit_transform(np.ones((5, 3))), np.zeros((5, 2)))
    assert SammonMapping().fit(np.ones((5, 3))).n_zero_distances_ == 10
    assert SammonMapping().fit_transform(np.ones((1, 3))).shape == (1, 2)
    two = SammonMapping(3, random_state=0).fit(np.array([[0.0, 0], [3, 4]]))
    assert_allclose(pdist(two.embedding_), 5)
    line = SammonMapping(random_state=0).fit(np.outer(np.arange(6.0), [1, 2]))
    assert line.stress_ < 1e-12


@pytest.mark.edge
def test_warns_if_steps_run_out():
    with pytest.warns(ConvergenceWarning, match="after 2 steps; increase max_iter"):
        SammonMapping(max_iter=2).fit(rows(0, 40))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"metric": "precomputed"}, rows(0) ** 2, "square matrix"),
        ({"metric": "precomputed"}, np.triu(np.ones((4, 4))), "not symmetric"),
        ({"metric": "precomputed"}, -np.ones((4, 4)), "Negative values"),
        ({"init": np.zeros((3, 2))}, rows(0), "init has shape"),
        ({"metric": "nonsense"}, rows(0), "Unknown Distance Metric"),
    ],
)
def test_messages(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        SammonMapping(**parameters).fit(X)
