"""Evidence that CoreVectorOutlierDetector solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from skmoderndata.svm import CoreVectorOutlierDetector
from tests.oracles import core_set as oracle


def polluted(n=600, p=3, share=0.05, seed=0):
    rng = np.random.default_rng(seed)
    m = round(share * n)
    X = np.vstack([rng.normal(size=(n - m, p)), rng.uniform(-6, 6, size=(m, p))])
    return X, np.repeat([1, -1], [n - m, m])


@pytest.mark.oracle
def test_primal_problem(seed):
    """In margins of one the problem is a squared hinge without offset, all labels one."""
    X = np.random.default_rng(seed).normal(1.0, 0.4, size=(60, 3))
    model = CoreVectorOutlierDetector(slack=0.1, kernel="linear").fit(X)
    value, w = oracle.squared_hinge_primal(X, np.full(60, model.cost_))
    assert_allclose(0.5 / model.rho_, value, rtol=1e-7)
    assert_allclose(model.dual_coef_ @ model.support_vectors_ / model.rho_, w, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("max_iter", [3, 4, 10_000])
@pytest.mark.filterwarnings("ignore:.*stopped before it converged")
def test_printed_objective_and_its_gap(max_iter, seed):
    X, _ = polluted(120, seed=seed)
    u = np.random.default_rng(seed).uniform(0.2, 3, 120)
    model = CoreVectorOutlierDetector(
        slack=0.1, gamma=0.3, max_iter=max_iter, max_core=120, random_state=seed, tol=1e-11
    )
    model.fit(X, sample_weight=u)

    K = rbf_kernel(X, gamma=0.3)
    minimum, f, rho = oracle.one_class_primal(K, model.cost_ * u)

    scores = model.score_samples(X)
    beta = model.dual_coef_
    slack = np.maximum(0, model.rho_ - scores)
    norm = beta @ scores[model.support_]
    printed = 0.5 * norm - model.rho_ + 0.5 * model.cost_ * (u @ slack**2)
    assert_allclose(model.objective_, printed, rtol=1e-9)

    bound = model.objective_ / (1 - model.dual_gap_)
    assert bound * (1 + 1e-9) <= minimum <= printed * (1 - 1e-9)

    if max_iter == 10_000:
        assert model.dual_gap_ < 1e-9
        # the tolerance is the accuracy of a cone solver
        assert_allclose(model.rho_, rho, rtol=1e-5)
        assert_allclose(scores, f, atol=1e-5)
    else:
        assert model.dual_gap_ > 1e-3


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e-30, 1e300])
def test_common_scale_of_the_weights(scale, seed):
    X, _ = polluted(200, seed=seed)
    u = np.random.default_rng(seed).uniform(0.2, 3, 200)
    plain = CoreVectorOutlierDetector(random_state=seed).fit(X, sample_weight=u)
    scaled = CoreVectorOutlierDetector(random_state=seed).fit(X, sample_weight=scale * u)
    assert_allclose(scaled.score_samples(X), plain.score_samples(X), rtol=1e-9)
    assert_allclose(scaled.offset_, plain.offset_, rtol=1e-9)
    assert_allclose(scaled.cost_ * scale, plain.cost_, rtol=1e-9)


@pytest.mark.oracle
def test_matches_scores_from_cvxpy(seed):
    X, _ = polluted(150, seed=seed)
    ours = CoreVectorOutlierDetector(slack=0.1).fit(X)
    theirs = CoreVectorOutlierDetector(slack=0.1, solver="cvxpy").fit(X)
    assert_allclose(theirs.score_samples(X), ours.score_samples(X), atol=1e-6)


@pytest.mark.oracle
def test_much_slack_is_the_kernel_density(seed):
    X, _ = polluted(200, seed=seed)
    model = CoreVectorOutlierDetector(slack=0.99, gamma=0.5).fit(X)
    density = rbf_kernel(X, gamma=0.5).mean(axis=0)
    # a hundredth of the slack is missing
    assert_allclose(model.score_samples(X), density, rtol=0.05)
    assert len(model.support_) == 200


@pytest.mark.certificate
@pytest.mark.parametrize("slack", [0.02, 0.1, 0.5])
def test_optimality_conditions(slack, seed):
    """`w phi(x_i) - rho = -a_i / c` for positive weights, and the requested slack."""
    X, _ = polluted(300, seed=seed)
    model = CoreVectorOutlierDetector(slack=slack, gamma=0.3).fit(X)
    scores = model.score_samples(X)
    below = np.maximum(0, model.rho_ - scores)
    assert_allclose(below[model.support_] * model.cost_, model.dual_coef_, atol=1e-9)
    assert below[np.setdiff1d(np.arange(300), model.support_)].max(initial=0) < 1e-9
    assert_allclose(model.dual_coef_.sum(), 1, rtol=1e-9)
    assert_allclose(below.mean() / model.rho_, slack, rtol=1e-3)
    assert_allclose(model.slack_, slack, rtol=1e-3)
    assert len(model.support_) >= slack * 300
    assert model.dual_gap_ < 1e-9


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.2, 0.01, 1e-5])
def test_tolerance_is_reached(tol, seed):
    X, _ = polluted(3000, seed=seed)
    settings = {"gamma": 0.3, "random_state": seed}
    model = CoreVectorOutlierDetector(tol=tol, **settings).fit(X)
    best = CoreVectorOutlierDetector(tol=1e-9, **settings).fit(X)
    assert model.dual_gap_ <= tol
    assert best.objective_ <= model.objective_ * (1 - 1e-9)  # both objectives are negative
    assert model.objective_ / (1 - model.dual_gap_) <= best.objective_ * (1 - 1e-9)
    assert_allclose(model.slack_, 0.05, rtol=0.4)  # the cost was found on 1000 of the samples


@pytest.mark.recovery
def test_planted_outliers(seed):
    X, truth = polluted(3000, 5, seed=seed)
    model = CoreVectorOutlierDetector(contamination=0.05, random_state=seed).fit(X)
    auc = roc_auc_score(truth, model.score_samples(X))
    assert auc >= roc_auc_score(truth, OneClassSVM(nu=0.05).fit(X).score_samples(X))
    assert auc > 0.97
    part = CoreVectorOutlierDetector(
        contamination=0.05, max_samples=500, random_state=seed
    ).fit(X)
    assert roc_auc_score(truth, part.score_samples(X)) > 0.97
    share = (part.predict(X) == -1).mean()
    # the fraction is measured on held-out samples
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2500)


@pytest.mark.recovery
@pytest.mark.parametrize("n", [400, 3000])
@pytest.mark.parametrize("contamination", [0.05, 0.1, 0.5])
def test_share_of_new_outliers(contamination, n, seed):
    """Equal up to the random choice of the held-out samples, 400 or more."""
    X, _ = polluted(n + 4000, seed=seed)
    X = X[np.random.default_rng(seed).permutation(len(X))]
    model = CoreVectorOutlierDetector(contamination=contamination, random_state=0).fit(X[:n])
    share = (model.predict(X[n:]) == -1).mean()
    assert abs(share - contamination) < 4 * np.sqrt(contamination * (1 - contamination) / 360)


@pytest.mark.edge
def test_textbook_threshold(seed):
    X, _ = polluted(500, seed=seed)
    rho = CoreVectorOutlierDetector(contamination="auto").fit(X)
    assert rho.offset_ == rho.rho_
    assert (rho.predict(X) == -1).sum() == len(rho.support_)


@pytest.mark.invariance
def test_warm_start_reaches_the_same_solution(seed):
    X, _ = polluted(3000, seed=seed)
    settings = {"gamma": 0.3, "tol": 1e-6, "random_state": 0}
    cold = CoreVectorOutlierDetector(slack=0.05, **settings).fit(X)
    warm = CoreVectorOutlierDetector(slack=0.1, warm_start=True, **settings).fit(X)
    warm.set_params(slack=0.05).fit(X)
    # the tolerance is the root of `tol`
    assert_allclose(warm.score_samples(X), cold.score_samples(X), rtol=2e-3)
    assert warm.n_iter_ < cold.n_iter_
    weight = np.random.default_rng(seed).integers(0, 2, 3000)
    part = warm.fit(X, sample_weight=weight)
    assert weight[part.support_].all()
    alone = CoreVectorOutlierDetector(slack=0.05, **settings).fit(X, sample_weight=weight)
    assert_allclose(part.score_samples(X), alone.score_samples(X), rtol=2e-3)


@pytest.mark.invariance
def test_order_weights_and_kernels(seed):
    X, _ = polluted(200, seed=seed)
    rng = np.random.default_rng(seed)
    model = CoreVectorOutlierDetector(slack=0.1, gamma=0.3).fit(X)
    scores = model.score_samples(X)
    order = rng.permutation(200)
    same = CoreVectorOutlierDetector(slack=0.1, gamma=0.3).fit(X[order])
    assert_allclose(same.score_samples(X), scores, atol=1e-6)
    gram = CoreVectorOutlierDetector(slack=0.1, kernel="precomputed").fit(
        rbf_kernel(X, gamma=0.3)
    )
    assert_allclose(gram.score_samples(rbf_kernel(X, gamma=0.3)), scores, atol=1e-6)
    counts = rng.integers(0, 3, 200)
    weighted = CoreVectorOutlierDetector(slack=0.1, gamma=0.3).fit(X, sample_weight=counts)
    repeated = CoreVectorOutlierDetector(slack=0.1, gamma=0.3).fit(X.repeat(counts, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), atol=1e-6)
    assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.edge
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.zeros((6, 2)), np.full((5, 3), 4.0)])
def test_one_sample_and_equal_samples(X):
    model = CoreVectorOutlierDetector().fit(X)
    assert (model.predict(X) == 1).all()
    assert_allclose(model.dual_coef_.sum(), 1)
    assert model.score_samples(X + 100)[0] < model.offset_


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, _ = polluted(50)
    with pytest.raises(ValueError, match="NaN"):
        CoreVectorOutlierDetector().fit(X * np.nan)
    with pytest.raises(ValueError, match="weights"):
        CoreVectorOutlierDetector().fit(X, sample_weight=np.zeros(50))
    with pytest.raises(ValueError, match="not finite"):
        CoreVectorOutlierDetector(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X)
    for settings in ({"slack": 0.0}, {"slack": 1.0}, {"contamination": 0.6}, {"tol": -1.0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(settings))}' parameter"):
            CoreVectorOutlierDetector(**settings).fit(X)


@pytest.mark.edge
def test_warns_at_iteration_limits():
    X, _ = polluted(3000)
    with pytest.warns(ConvergenceWarning, match="with 30 core samples.*increase max_core"):
        model = CoreVectorOutlierDetector(max_core=30, random_state=0).fit(X)
    assert len(model.core_indices_) == 30


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, _ = polluted(200)
    pipe = make_pipeline(StandardScaler(), CoreVectorOutlierDetector())
    grid = {"corevectoroutlierdetector__slack": [0.05, 0.3]}
    assert GridSearchCV(pipe, grid, cv=3).fit(X).best_score_ <= 0


@pytest.mark.oracle
def test_working_sets_match_the_full_matrix(seed):
    X, _ = polluted(1500, seed=seed)
    settings = {"gamma": 0.3, "tol": 1e-6, "random_state": seed}
    whole = CoreVectorOutlierDetector(**settings).fit(X)
    # the cache holds rows of 114 samples
    parts = CoreVectorOutlierDetector(**settings, cache_size=0.1).fit(X)
    assert len(parts.core_indices_) > 114
    assert parts.dual_gap_ <= 1e-6
    assert_allclose(parts.objective_, whole.objective_, rtol=1e-5)
