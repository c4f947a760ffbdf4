"""Evidence that ProbabilisticLSA solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skmoderndata._solvers.factors.latent_semantics import Counts, fold_in, gap
from skmoderndata._solvers.factors.topic_fits import TopicRows, fit_topics
from skmoderndata._solvers.factors.weighted_topics import (
    fit_weighted_topics,
    weighted_gap,
    weighted_log_likelihood,
)
from skmoderndata.decomposition import ProbabilisticLSA
from skmoderndata.decomposition._probabilistic_lsa import _hold_out
from tests.oracles import probabilistic_lsa as oracle


def corpus(n=60, p=40, k=3, length=80, seed=0, concentration=0.1):
    """Documents with known topics: counts, mixtures, topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(p, concentration), size=k)
    mixtures = rng.dirichlet(np.full(k, 0.3), size=n)
    X = np.array([rng.multinomial(length, m @ topics) for m in mixtures]).astype(float)
    return X, mixtures, topics


def counts_of(X):
    X = sparse.csr_array(X)
    return Counts(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, X.shape[1])


def start(n, p, k, seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), size=n), rng.dirichlet(np.ones(p), size=k)


def with_weights(X, seed):
    """Weights of very different size, a fifth of them zero."""
    rng = np.random.default_rng(seed + 7)
    weights = rng.gamma(1.0, size=X.shape)
    weights[rng.uniform(size=X.shape) < 0.2] = 0
    return weights


# oracle


@pytest.mark.oracle
def test_missing_counts_reach_the_optimum_of_imputed_ones(seed):
    """Expectation maximisation that expects the missing counts ends at the same likelihood."""
    X, _, _ = corpus(20, 10, 2, seed=seed)
    X = X[:, X.any(axis=0)]
    gaps = np.where(np.random.default_rng(seed).uniform(size=X.shape) < 0.2, np.nan, X)
    gaps = gaps[np.nansum(gaps, axis=1) > 0]
    seen = ~np.isnan(gaps)
    filled = np.nan_to_num(gaps)
    C, U = start(*gaps.shape, 2, seed)
    rows = TopicRows.of(counts_of(filled), C, seen.astype(float))
    ours = fit_weighted_topics(rows, U.T.copy(), max_iter=3000, tol=1e-12)
    for _ in range(1500):
        C, U = oracle.step_with_gaps(gaps, C, U)
    value = oracle.weighted_log_likelihood(filled, C, U, seen)
    # by this time, plain steps have reached this value
    assert_allclose(ours.log_likelihood, value, rtol=1e-6)
    again = oracle.weighted_log_likelihood(filled, ours.mixtures, ours.topics.T, seen)
    assert_allclose(ours.log_likelihood, again, rtol=1e-10)


@pytest.mark.oracle
def test_weighted_mixtures_by_a_conic_solver(seed):
    X, _, _ = corpus(seed=seed)
    weights = with_weights(X, seed)
    model = ProbabilisticLSA(3, random_state=0, smoothing=0.01).fit(X[:50])
    U = model.components_
    mixtures = model.transform(X[50:55], entry_weight=weights[50:55])
    for x, w, mixture in zip(X[50:55], weights[50:55], mixtures, strict=True):
        z = oracle.weighted_mixture_by_cvxpy(x, U, w)
        ours, theirs = (
            oracle.weighted_log_likelihood(x[None], one[None], U, w[None])
            for one in (mixture, z)
        )
        assert ours >= theirs * (1 + 1e-6)  # log-likelihoods are negative
        # the mixture is less accurate than its likelihood
        assert_allclose(mixture, z, atol=0.01)


@pytest.mark.oracle
def test_equal_weights_and_weights_of_documents(seed):
    X, _, _ = corpus(seed=seed)
    settings = {"random_state": seed, "tol": 1e-10, "max_iter": 5000}
    plain = ProbabilisticLSA(3, **settings).fit(X)
    equal = ProbabilisticLSA(3, **settings).fit(X, entry_weight=np.full(X.shape, 2.5))
    # the two algorithms take different steps
    assert_allclose(equal.log_likelihood_, plain.log_likelihood_, rtol=1e-4)
    assert_allclose(equal.score(X, entry_weight=np.ones(X.shape)), equal.score(X), rtol=1e-12)

    # a document of weight 2 is equivalent to two documents
    weights = with_weights(X, seed)
    counts = np.random.default_rng(seed).integers(1, 3, size=len(X))
    weighted = ProbabilisticLSA(3, **settings).fit(X, None, counts, entry_weight=weights)
    P = weighted.transform(X, entry_weight=weights)
    repeated = np.repeat(np.arange(len(X)), counts)
    value = oracle.weighted_log_likelihood(
        X[repeated], P[repeated], weighted.components_, weights[repeated]
    )
    tokens = (weights * X)[repeated].sum()
    assert_allclose(weighted.log_likelihood_, value / tokens, rtol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_weighted_objective_never_falls_and_the_gap_bounds_it(smoothing, seed):
    X, _, _ = corpus(seed=seed)
    weights = with_weights(X, seed)
    settings = {"smoothing": smoothing, "random_state": seed, "tol": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [
            ProbabilisticLSA(3, max_iter=n_passes, **settings).fit(X, entry_weight=weights)
            for n_passes in (5, 50, 1000)
        ]
    history = models[-1].objective_history_
    assert (np.diff(history) >= -1e-12 * np.abs(history[0])).all()
    assert_allclose(models[-1].components_.sum(axis=1), 1, rtol=1e-12)
    if smoothing == 0:
        # the values differ only by the mixtures, which are computed once more
        value = models[-1].log_likelihood_
        assert_allclose(history[-1], value, rtol=1e-4)
        gaps = [model.log_likelihood_gap_ for model in models]
        assert gaps[0] > gaps[1] > gaps[2]


@pytest.mark.certificate
def test_weighted_gap_bounds_better_mixtures_and_topics(seed):
    X, _, _ = corpus(20, 12, 2, seed=seed)
    weights = with_weights(X, seed)
    y = counts_of(weights * X)
    C, U = start(20, 12, 2, seed)
    bound = weighted_gap(y, weights, C, U.T) * y.total
    now = oracle.weighted_log_likelihood(X, C, U, weights)
    assert_allclose(weighted_log_likelihood(y, weights, C, U.T), now, rtol=1e-10)
    best, _ = fold_in(y, U.T.copy(), exposures=weights @ U.T)
    gain = oracle.weighted_log_likelihood(X, best, U, weights) - now
    assert 0 < gain <= bound


@pytest.mark.recovery
def test_topics_are_found_beside_missing_counts(seed):
    """Counts that are missing more often in some documents are not zeros."""
    rng = np.random.default_rng(seed)
    X, mixtures, topics = corpus(200, 30, 2, length=200, seed=seed, concentration=0.5)
    gaps = X.copy()
    gaps[:100, :12] = np.nan
    gaps[rng.uniform(size=X.shape) < 0.1] = np.nan
    truth = mixtures @ topics

    def error(table):
        model = ProbabilisticLSA(2, n_init=3, random_state=0, tol=1e-7).fit(table)
        return np.abs(model.transform(table) @ model.components_ - truth).sum(axis=1).mean()

    assert error(gaps) < 0.5 * error(np.nan_to_num(gaps))


@pytest.mark.oracle
@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_first_steps_entry_by_entry(beta, seed):
    X, _, _ = corpus(12, 9, 2, seed=seed)
    X = X[:, X.any(axis=0)]
    C, U = start(12, X.shape[1], 2, seed)
    ours = fit_topics(TopicRows.of(counts_of(X), C), U.T.copy(), beta=beta, max_iter=2, tol=0)
    C1, U1 = oracle.step(X, C, U, beta)
    assert_allclose(ours.mixtures, C1, atol=1e-12)
    assert_allclose(ours.topics.T, U1, atol=1e-12)
    assert_allclose(ours.log_likelihood, oracle.log_likelihood(X, C1, U1), rtol=1e-12)


@pytest.mark.oracle
def test_folding_in_by_a_conic_solver(seed):
    X, _, _ = corpus(seed=seed)
    model = ProbabilisticLSA(3, random_state=0, smoothing=0.01).fit(X[:50])
    for x, mixture in zip(X[50:55], model.transform(X[50:55]), strict=True):
        value, z = oracle.mixture_by_cvxpy(x, model.components_)
        ours = oracle.log_likelihood(x[None], mixture[None], model.components_)
        # the tolerance is the accuracy of the interior point method
        assert_allclose(ours, value, rtol=1e-6)
        # the mixture is less accurate than its likelihood
        assert_allclose(mixture, z, atol=0.01)


@pytest.mark.oracle
def test_is_factorisation_with_kullback_leibler_divergence(seed):
    X, _, _ = corpus(seed=seed)
    ours = ProbabilisticLSA(3, n_init=5, random_state=seed, tol=1e-8, max_iter=3000).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = NMF(
            3,
            beta_loss="kullback-leibler",
            solver="mu",
            init="random",
            random_state=seed,
            max_iter=500,
        )
        W = theirs.fit_transform(X)
    H = theirs.components_
    C = W * H.sum(axis=1)
    U = H / H.sum(axis=1, keepdims=True)
    C = C / C.sum(axis=1, keepdims=True)
    value = oracle.log_likelihood(X, C, U) / X.sum()
    assert ours.log_likelihood_ >= value - 1e-4


# certificate


@pytest.mark.certificate
@pytest.mark.parametrize(
    "settings", [{}, {"smoothing": 0.1}, {"posterior_exponent": 0.8}], ids=str
)
def test_objective_never_falls(settings, seed):
    X, _, _ = corpus(seed=seed)
    model = ProbabilisticLSA(3, random_state=seed, max_iter=2000, **settings).fit(X)
    history = model.objective_history_
    assert (np.diff(history) >= -1e-12).all()
    assert history[-1] > history[0]
    assert len(history) == model.n_iter_
    assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.transform(X).sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.topic_weights_.sum(), 1, rtol=1e-12)


@pytest.mark.certificate
def test_gap_is_a_bound(seed):
    X, _, _ = corpus(seed=seed)
    X = X[:, X.any(axis=0)]
    counts = counts_of(X)
    C, U = start(60, X.shape[1], 3, seed)
    few = fit_topics(TopicRows.of(counts, C), U.T.copy(), max_iter=5, tol=0)
    many = fit_topics(TopicRows.of(counts, C), U.T.copy(), max_iter=3000, tol=0)
    assert few.gap > 0.01
    assert many.gap < 0.1 * few.gap
    # the best mixtures for the topics of `few` gain no more than its gap
    best, left = fold_in(counts, few.topics, max_iter=5000, tol=1e-9)
    gain = oracle.log_likelihood(X, best, few.topics.T) - few.log_likelihood
    assert 0 <= gain / X.sum() <= few.gap
    assert left.max() <= 1e-5
    assert gap(counts, few.mixtures, few.topics) == few.gap


@pytest.mark.certificate
def test_folding_in_is_proved(seed):
    X, _, _ = corpus(seed=seed)
    model = ProbabilisticLSA(3, random_state=0).fit(X)
    U = model.components_
    mixtures = model.transform(X)
    P = mixtures @ U
    g = np.where(X > 0, X / np.where(P > 0, P, 1), 0) @ U.T
    assert (g.max(axis=1) / X.sum(axis=1) - 1 <= 1.01e-6).all()


@pytest.mark.certificate
@pytest.mark.parametrize(
    ("k", "p", "concentration", "length"),
    [(20, 500, 0.05, 150), (8, 100, 5.0, 600), (40, 30, 0.05, 5), (6, 40, 50.0, 2000)],
)
def test_folding_in_meets_its_bound_where_topics_overlap(k, p, concentration, length, seed):
    """Expectation maximisation would need some ten thousand steps."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(p, concentration), size=k)
    topics[-1] = topics[0]  # the optimum need not be unique
    mixtures = rng.dirichlet(np.full(k, 0.2), size=60)
    X = np.array([rng.multinomial(length, m @ topics) for m in mixtures]).astype(float)
    for unit in (1.0, 1e-200):
        C, left = fold_in(counts_of(X * unit), topics.T.copy())
        P = C @ topics
        g = np.where(X > 0, X / np.where(P > 0, P, 1), 0) @ topics.T
        assert_allclose(C.sum(axis=1), 1, rtol=1e-12)
        assert (C >= 0).all()
        assert (g.max(axis=1) / X.sum(axis=1) - 1 <= 1e-6 + 1e-12).all()
        assert_allclose(left, g.max(axis=1) / X.sum(axis=1) - 1, atol=1e-9)
    assert fold_in(counts_of(X), topics.T.copy(), max_iter=2)[1].max() > 1e-6


@pytest.mark.certificate
@pytest.mark.parametrize("settings", [{}, {"smoothing": 0.2}, {"tempering": True}], ids=str)
def test_reported_values_refer_to_the_stored_topics(settings, seed):
    X, _, _ = corpus(seed=seed)

    def agrees(model, X):
        U = model.components_
        C = model.transform(X)
        value = oracle.log_likelihood(X, C, U) / X.sum()
        assert_allclose(model.log_likelihood_, value, rtol=1e-10)
        bound = gap(counts_of(X), C, U.T.copy())
        assert_allclose(model.log_likelihood_gap_, bound, rtol=1e-6, atol=1e-12)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for max_iter in (1, 7, 2000):
            model = ProbabilisticLSA(3, max_iter=max_iter, random_state=seed, **settings).fit(
                X
            )
            if model.posterior_exponent_ == 1:
                agrees(model, X)
    passes = model.n_iter_
    model.partial_fit(X[:20])
    if model.posterior_exponent_ == 1:
        agrees(model, X[:20])
    assert model.objective_history_.shape == (passes + 1,) == (model.n_iter_,)
    assert model.objective_history_[-1] == model.log_likelihood_


@pytest.mark.edge
def test_tempering_leaves_a_count_of_each_word_and_document(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.15, size=(40, 60)).astype(float))
    counts = counts_of(X)
    firsts = 0
    for draw in range(20):
        shown, hidden = _hold_out(counts, 0.5, np.random.RandomState(draw))
        assert_allclose(shown.total + hidden.total, counts.total)
        filled = np.diff(counts.indptr) > 0
        assert (np.diff(shown.indptr) > 0)[filled].all()
        assert set(shown.indices) == set(counts.indices)
        first = hidden.indptr[:-1][np.diff(hidden.indptr) > 0]
        lowest = counts.indices[counts.indptr[:-1][np.diff(hidden.indptr) > 0]]
        firsts += np.count_nonzero(hidden.indices[first] == lowest)
    assert firsts > 0  # the word with the lowest number is not always kept
    model = ProbabilisticLSA(
        3, tempering=True, validation_fraction=0.5, random_state=seed
    ).fit(X)
    seen = np.asarray(X.sum(axis=0)).ravel() > 0
    assert_array_equal(model.components_.any(axis=0), seen)


# recovery


@pytest.mark.recovery
def test_planted_topics(seed):
    X, mixtures, topics = corpus(300, 60, 3, length=200, seed=seed)
    model = ProbabilisticLSA(3, n_init=5, random_state=0).fit(X)
    distance = np.abs(model.components_[:, None] - topics).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(distance)
    assert distance[rows, columns].max() < 0.15
    assert np.abs(model.transform(X)[:, rows] - mixtures[:, columns]).mean() < 0.05


@pytest.mark.recovery
def test_number_of_topics_by_completion(seed):
    X, _, _ = corpus(300, 60, 4, length=150, seed=seed)
    search = GridSearchCV(
        ProbabilisticLSA(smoothing=0.1, n_init=3, random_state=0, tol=1e-4),
        {"n_components": [1, 2, 4]},
        cv=3,
    ).fit(X)
    assert search.best_params_ == {"n_components": 4}


@pytest.mark.recovery
def test_tempering_guards_against_too_many_topics(seed):
    X, _, _ = corpus(400, 80, 3, length=40, seed=seed)
    X, new = X[:200], X[200:]
    plain = ProbabilisticLSA(15, random_state=0, max_iter=2000, tol=1e-5).fit(X)
    tempered = ProbabilisticLSA(15, tempering=True, random_state=0, max_iter=2000).fit(X)
    assert tempered.posterior_exponent_ <= 1
    assert tempered.score(new) > plain.score(new)
    assert tempered.log_likelihood_ < plain.log_likelihood_


# paper


@pytest.mark.paper
def test_words_with_two_meanings():
    """Hofmann 2001, section 4.1: a word with two meanings is in both topics."""
    # some words refer to planes, others to rivers, and "bank" refers to both
    river = [5, 4, 0, 0, 3]
    money = [0, 0, 6, 3, 3]
    X = np.array([river, money] * 10)
    model = ProbabilisticLSA(2, random_state=0).fit(X)
    assert (model.components_[:, 4] > 0.2).all()
    assert_allclose(np.sort(model.components_[:, 0]), [0, 5 / 12], atol=1e-3)


# invariance


@pytest.mark.invariance
def test_sparse_input_weights_order_units(seed):
    X, _, _ = corpus(seed=seed)
    model = ProbabilisticLSA(3, random_state=seed, tol=1e-7, max_iter=3000)
    U = model.fit(X).components_
    near = {"atol": 1e-6}
    assert_allclose(model.fit(sparse.csc_array(X)).components_, U, **near)
    assert_allclose(model.fit(1e6 * X).components_, U, **near)
    assert_allclose(model.fit(X[::-1]).components_, U, **near)
    weights = np.random.default_rng(seed).integers(0, 3, size=len(X))
    weighted = model.fit(X, sample_weight=weights).components_
    assert_allclose(model.fit(np.repeat(X, weights, axis=0)).components_, weighted, **near)
    mixtures = model.transform(X)
    assert_allclose(model.transform(7 * X), mixtures, atol=1e-9)
    assert_allclose(model.transform(sparse.csr_matrix(X)), mixtures, atol=1e-12)


@pytest.mark.invariance
def test_threads_do_not_matter(seed):
    X, _, _ = corpus(seed=seed)
    one = ProbabilisticLSA(3, n_init=4, random_state=seed).fit(X)
    two = ProbabilisticLSA(3, n_init=4, random_state=seed, n_jobs=2).fit(X)
    assert_array_equal(one.components_, two.components_)


# edges


@pytest.mark.edge
def test_unseen_words_empty_documents_and_zeros(seed):
    X, _, _ = corpus(seed=seed)
    X[:, 7] = 0
    X[3] = 0
    model = ProbabilisticLSA(3, random_state=0).fit(X)
    assert_array_equal(model.components_[:, 7], 0)
    assert_allclose(model.transform(X)[3], 1 / 3)
    strange = np.zeros((1, 40))
    strange[0, 7] = 5
    assert_allclose(model.transform(strange), 1 / 3)
    assert model.score(strange) == 0
    assert model.perplexity(strange) == 1
    known = X[:1].copy()
    with_strange = known + strange
    assert_allclose(model.transform(with_strange), model.transform(known))
    smooth = ProbabilisticLSA(3, random_state=0, smoothing=0.1).fit(X)
    assert (smooth.components_ > 0).all()
    nothing = ProbabilisticLSA(2).fit(np.zeros((3, 4)))
    assert_allclose(nothing.components_, 0.25)
    assert np.isfinite(nothing.transform(np.ones((1, 4)))).all()


@pytest.mark.edge
def test_partial_fit(seed):
    X, _, _ = corpus(300, seed=seed)
    X = X[:, X[:10].any(axis=0)]  # score both on the same words
    model = ProbabilisticLSA(3, random_state=0)
    for first in range(0, 250, 10):
        model.partial_fit(X[first : first + 10])
    once = ProbabilisticLSA(3, random_state=0).fit(X[:10])
    assert model.score(X[250:]) > once.score(X[250:])
    assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-12)
    word = np.zeros((1, 40))
    unseen = ProbabilisticLSA(2, random_state=0).fit(
        corpus(seed=seed)[0][:, :39] @ np.eye(39, 40)
    )
    word[0, 39] = 3
    assert unseen.partial_fit(word).components_[:, 39].any()


@pytest.mark.edge
def test_messages(seed):
    X, _, _ = corpus(seed=seed)
    with pytest.raises(
        ValueError, match="Negative values in data passed to X in ProbabilisticLSA"
    ):
        ProbabilisticLSA().fit(X - 1)
    gaps = np.where(X > 2, np.nan, X)
    with pytest.raises(ValueError, match="does not accept NaN in sparse input"):
        ProbabilisticLSA().fit(sparse.csr_array(gaps))
    for settings in ({"tempering": True}, {"posterior_exponent": 0.8}):
        with pytest.raises(
            ValueError, match=r"accepts no missing counts \(NaN\) and no weights"
        ):
            ProbabilisticLSA(**settings).fit(gaps)
        with pytest.raises(ValueError, match="Set tempering=False and posterior_exponent=1"):
            ProbabilisticLSA(**settings).fit(X, entry_weight=1 + X)
    with pytest.raises(ValueError, match="partial_fit accepts no missing counts"):
        ProbabilisticLSA(random_state=0).fit(X).partial_fit(gaps)
    with pytest.raises(ValueError, match="no weights of counts, because its sums"):
        ProbabilisticLSA(random_state=0).fit(gaps).partial_fit(X)

    # check invalid parameters, and passes that end too early
    with pytest.raises(ValueError, match="'posterior_exponent' parameter"):
        ProbabilisticLSA(posterior_exponent=1.5).fit(X)
    with pytest.warns(ConvergenceWarning, match="nats per token; increase max_iter or tol"):
        ProbabilisticLSA(3, max_iter=3, tol=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="may still increase; increase max_iter"):
        ProbabilisticLSA(3, max_iter=5, tempering=True).fit(X)
    model = ProbabilisticLSA(3, random_state=0).fit(X)
    C = model.transform(X)
    assert_allclose(model.inverse_transform(sparse.csr_array(C)), model.inverse_transform(C))
    with pytest.raises(ValueError, match="X has 5 codes a row"):
        ProbabilisticLSA(random_state=0).fit(X).inverse_transform(np.ones((2, 5)))


@pytest.mark.edge
def test_completion_predicts_only_what_it_has_not_seen(seed):
    """With a topic for each document the likelihood is as large as it gets, the score is not."""
    X, _, _ = corpus(30, seed=seed)
    few = ProbabilisticLSA(3, smoothing=0.1, random_state=0).fit(X)
    many = ProbabilisticLSA(30, smoothing=0.1, random_state=0, max_iter=5000).fit(X)
    assert many.log_likelihood_ > few.log_likelihood_
    new, _, _ = corpus(30, seed=seed + 100)
    assert few.perplexity(X) == pytest.approx(np.exp(-few.score(X)))
    assert few.score(new) <= few.score(X)


@pytest.mark.edge
def test_compares_with_latent_dirichlet_allocation(seed):
    X, _, topics = corpus(200, 60, 3, length=150, seed=seed)
    ours = ProbabilisticLSA(3, n_init=3, random_state=0).fit(X)
    theirs = LatentDirichletAllocation(3, random_state=0, max_iter=50).fit(X)
    U = theirs.components_ / theirs.components_.sum(axis=1, keepdims=True)

    def distance(found):
        pairs = np.abs(found[:, None] - topics).sum(axis=2)
        return pairs[linear_sum_assignment(pairs)].sum()

    assert distance(ours.components_) < 1.5 * distance(U) + 0.1
