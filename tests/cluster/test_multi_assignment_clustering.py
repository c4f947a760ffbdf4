"""Evidence that MultiAssignmentClustering solves the problem it states."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone

from skmoderndata._solvers.boolean_data import row_stream, source_starts
from skmoderndata._solvers.boolean_data.boolean import (
    assignment_sets,
    boolean_product,
    pack_rows,
)
from skmoderndata._solvers.boolean_data.multi_assignment import (
    Data,
    Model,
    Settings,
    Statistics,
    active_sets,
    anneal,
    boolean_model,
    boolean_refit,
    expectation,
    likelihood_blocks,
    maximization,
    rates_of,
    soft_rates,
    start,
    table_log_likelihood,
)
from skmoderndata._solvers.boolean_data.row_stream import RowStream
from skmoderndata._solvers.boolean_data.source_exchange import (
    PackedRows,
    exchange_sources,
    total_scores,
)
from skmoderndata._solvers.boolean_data.source_starts import kinds_of_starts, one_start
from skmoderndata.cluster import MultiAssignmentClustering
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.metrics import assignment_error, generalization_error, source_mismatch
from tests.oracles import multi_assignment_clustering as oracle


def overlapping(n, p, k, noise, rng, noise_rate=0.5, max_assignments=None):
    """Sources in blocks of features, each reaching half into the next block."""
    width = p // k
    U = np.zeros((k, p), dtype=bool)
    for j in range(k):
        U[j, np.arange(j * width, j * width + width + width // 2) % p] = True
    sets = assignment_sets(k, max_assignments or k, allow_empty=False)
    Z = sets[rng.integers(len(sets), size=n)]
    clean = boolean_product(Z, U)
    X = np.where(
        rng.uniform(size=clean.shape) < noise,
        rng.uniform(size=clean.shape) < noise_rate,
        clean,
    )
    return X, clean, U, Z


def random_model(rng, k=3, p=7, largest=3):
    beta = rng.uniform(0.05, 0.95, size=(k, p))
    return Model(assignment_sets(k, largest), beta, 0.3, 0.4)


@pytest.mark.oracle
def test_likelihood_matches_the_definition(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    X = rng.uniform(size=(9, 7)) < 0.5
    missing = rng.uniform(size=X.shape) < 0.2
    sets = [np.flatnonzero(row) for row in model.sets]
    for observed in (None, ~missing):
        bits = X if observed is None else X & observed
        seen = X.astype(float) if observed is None else np.where(observed, X, np.nan)
        expected = oracle.log_likelihood(seen, model.beta, sets, model.eps, model.r)
        for rows, _, _, log_p in likelihood_blocks(Data(bits, observed), model):
            assert_allclose(log_p, expected[rows], rtol=1e-10)
        counts = expectation(Data(bits, observed), model, 0)
        # the E-step runs in single precision
        assert_allclose(-counts.free_energy, expected.max(axis=1).sum(), rtol=1e-5)
        assert_allclose(
            table_log_likelihood(model, counts), expected.max(axis=1).sum(), rtol=1e-5
        )


@pytest.mark.oracle
def test_soft_counts_are_posterior_expectations(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    X = rng.uniform(size=(20, 7)) < 0.5
    sets = [np.flatnonzero(row) for row in model.sets]
    log_p = oracle.log_likelihood(X, model.beta, sets, model.eps, model.r)
    q = np.exp(log_p / 2.5)
    q /= q.sum(axis=1, keepdims=True)
    counts = expectation(Data(X, None), model, 2.5)
    # expectations are computed in single precision
    assert_allclose(counts.ones, X.T @ q, rtol=1e-4, atol=1e-5)
    assert_allclose(counts.zeros, (~X).T @ q, rtol=1e-4, atol=1e-5)
    free = -2.5 * np.log(np.exp(log_p / 2.5).sum(axis=1)).sum()
    assert_allclose(counts.free_energy, free, rtol=1e-5)


@pytest.mark.oracle
def test_few_errors_as_brute_force_over_all_sources(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(12, 4)) < 0.5
    model = MultiAssignmentClustering(2, noise=None, n_init=20, random_state=seed).fit(X)
    errors = (model.inverse_transform(model.assignments_) != X).sum()
    # the problem is not convex, so the best of twenty starts may miss the optimum by a bit
    assert errors <= oracle.fewest_errors(X, 2) + 1


@pytest.mark.oracle
def test_m_step_raises_the_expected_log_likelihood(seed):
    rng = np.random.default_rng(seed)
    for noise in ("mixture", "flip", None):
        eps = {"mixture": 0.3, "flip": 0.3, None: 0.0}[noise]
        model = random_model(rng)._replace(eps=eps, r=0.5)
        sets = [np.flatnonzero(row) for row in model.sets]
        counts = expectation(Data(rng.uniform(size=(40, 7)) < 0.5, None), model, 3.0)
        value = -np.inf
        for _ in range(6):
            new = oracle.expected_log_likelihood(
                counts.ones, counts.zeros, model.beta, sets, model.eps, model.r
            )
            assert new >= value - 1e-9 * abs(new)
            value = new
            model = maximization(model, counts, noise=noise, n_steps=1)


@pytest.mark.certificate
def test_free_energy_never_rises_at_fixed_temperature(seed):
    rng = np.random.default_rng(seed)
    X = overlapping(150, 24, 3, 0.4, rng)[0]
    for noise in ("mixture", "flip"):
        settings = Settings(3, 3, True, noise, [3.0, 1.5, 0.7, 0.3], 8, 0.0, True, False)
        data = Data(X, None)
        begin = start(
            data, assignment_sets(3, 3), 3, noise=noise, rng=np.random.RandomState(seed)
        )
        trace = []
        anneal(data, begin, settings, trace=trace)
        for temperature in settings.schedule:
            values = [value for level, value in trace if level == temperature]
            assert len(values) >= 1
            # the E-step runs in single precision
            assert max(np.diff(values), default=0) <= 1e-5 * abs(values[0])


@pytest.mark.recovery
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_noise_free_sources_are_found_exactly(k, seed):
    X, _, U, Z = overlapping(120, 12 * k, k, 0, np.random.default_rng(seed))
    model = MultiAssignmentClustering(k, random_state=seed).fit(X)
    assert source_mismatch(U, model.components_) == 0
    assert assignment_error(Z, model.assignments_) == 0
    assert_array_equal(model.inverse_transform(model.predict(X)), X)
    assert model.epsilon_ < 1e-5


@pytest.mark.recovery
@pytest.mark.parametrize("noise", [0.3, 0.6])
def test_noise_estimates_are_unbiased(noise, seed):
    X, _, U, _ = overlapping(1000, 60, 3, noise, np.random.default_rng(seed), noise_rate=0.4)
    model = MultiAssignmentClustering(3, random_state=seed).fit(X)
    assert source_mismatch(U, model.components_) <= 0.005
    assert abs(model.epsilon_ - noise) <= 0.02
    assert abs(model.noise_rate_ - 0.4) <= 0.03


@pytest.mark.recovery
def test_noise_of_short_rows_is_not_underestimated():
    """The best of eight sets fits some of the noise of 48 bits: 0.574 in place of 0.6."""
    found = []
    for seed in range(6):
        X = overlapping(350, 48, 3, 0.6, np.random.default_rng(seed))[0]
        found.append(MultiAssignmentClustering(3, n_init=1, random_state=seed).fit(X).epsilon_)
    assert abs(np.mean(found) - 0.6) <= 0.015


@pytest.mark.recovery
def test_half_of_the_bits_missing(seed):
    rng = np.random.default_rng(seed)
    X, clean, U, _ = overlapping(400, 48, 3, 0.1, rng)
    seen = np.where(rng.uniform(size=X.shape) < 0.5, X, np.nan)
    model = MultiAssignmentClustering(3, random_state=seed).fit(seen)
    assert source_mismatch(U, model.components_) == 0
    assert (model.inverse_transform(model.assignments_) != clean).mean() < 0.01
    assert_array_equal(model.predict(seen), model.assignments_)


@pytest.mark.recovery
def test_pruned_search_finds_noise_free_sources(seed):
    X, _, U, Z = overlapping(120, 48, 4, 0, np.random.default_rng(seed))
    model = MultiAssignmentClustering(4, algorithm="pruned", random_state=seed).fit(X)
    assert source_mismatch(U, model.components_) == 0
    assert assignment_error(Z, model.assignments_) == 0


@pytest.mark.recovery
def test_repeated_and_idle_sources_are_replaced(seed):
    """A local optimum in which one source is there twice, and another one not at all."""
    rng = np.random.default_rng(seed)
    X, _, U, _ = make_boolean_sources(
        300, 80, 6, max_assignments=3, noise=0.3, random_state=seed
    )
    for spare in (U[1], np.zeros(80, dtype=bool), rng.uniform(size=80) < 0.3):
        wrong = U.copy()
        wrong[0] = spare
        sets = assignment_sets(6, 3)
        data = Data(X, None)
        begin = boolean_model(sets, wrong, 0.8, 0.2, noise="mixture")
        begin = boolean_refit(data, begin, noise="mixture")[:2]
        settings = Settings(6, 3, True, "mixture", [1.0], 1, 0.0, True, False)
        model, statistics = exchange_sources(
            data, *begin, settings, np.random.RandomState(seed)
        )
        assert statistics.free_energy <= begin[1].free_energy
        assert source_mismatch(U, model.beta < 0.5) == 0


def random_sources(n, p, k, flips, seed, use=0.3):
    """Sources of p / k random features each; rows have each with probability `use`."""
    rng = np.random.default_rng(seed)
    U = np.array([np.isin(np.arange(p), rng.permutation(p)[: p // k]) for _ in range(k)])
    clean = boolean_product(rng.uniform(size=(n, k)) < use, U)
    return clean ^ (rng.uniform(size=clean.shape) < flips), clean, U


@pytest.mark.recovery
@pytest.mark.parametrize("noise", ["mixture", "flip"])
def test_sources_under_low_noise_are_found(noise):
    """Annealed starts alone merge two sources in most of these tables."""
    for seed in range(4):
        X, _, U = random_sources(300, 40, 6, 0.03, seed)
        model = MultiAssignmentClustering(6, noise=noise, random_state=seed).fit(X)
        assert source_mismatch(U, model.components_) == 0
        assert model.start_likelihoods_.shape == (3,)
        assert np.ptp(model.start_likelihoods_) < 1e-3 * abs(model.log_likelihood_)


@pytest.mark.recovery
@pytest.mark.parametrize("n_missing", [0.0, 0.2])
def test_each_kind_of_start_finds_sources_under_low_noise(n_missing):
    for kind in ("greedy", "cold", "annealed"):
        exact = 0
        for seed in range(4):
            X, _, U = random_sources(300, 40, 6, 0.03, seed)
            seen = np.random.default_rng(seed).uniform(size=X.shape) >= n_missing
            data = Data(X & seen, None if n_missing == 0 else seen)
            sets, settings = MultiAssignmentClustering(6)._search_settings(data)
            found = one_start(data, data, sets, settings, seed=(kind, seed))
            exact += source_mismatch(U, found.model.beta < 0.5) == 0
        assert exact >= 3


@pytest.mark.recovery
def test_merged_sources_fall_apart():
    """One source is the union of two, and another is idle: residual bits do not show it."""
    stuck = 0
    for seed in range(6):
        X, _, U = random_sources(300, 40, 6, 0.05, seed)
        merged = U.copy()
        merged[0] |= U[1]
        merged[1] = False
        data = Data(X, None)
        begin = boolean_model(assignment_sets(6, 6), merged, 0.95, 0.05, noise="mixture")
        begin = boolean_refit(data, begin, noise="mixture")[:2]
        settings = Settings(6, 6, True, "mixture", [1.0], 1, 0.0, True, False)
        rng = np.random.RandomState(seed)
        model, statistics = exchange_sources(data, *begin, settings, rng)
        assert source_mismatch(U, model.beta < 0.5) == 0

        # rounding decides whether the refit itself splits the union
        if source_mismatch(U, begin[0].beta < 0.5) > 0:
            assert statistics.free_energy < begin[1].free_energy
            stuck += 1
    assert stuck >= 1  # otherwise the exchange has nothing to do


@pytest.mark.edge
def test_error_rates_stay_if_the_union_is_never_zero(seed):
    """A source that covers all columns leaves no bits from which to estimate the other rate."""
    X = np.random.default_rng(seed).uniform(size=(100, 12)) < 0.9
    begin = boolean_model(
        assignment_sets(1, 1), np.ones((1, 12), bool), 0.8, 0.2, noise="mixture"
    )
    model = soft_rates(Data(X, None), begin, noise="mixture", learns_prior=False)
    assert (model.eps, model.r) == (begin.eps, begin.r)

    # with empty rows, both rates are estimated
    X = np.vstack([X, np.zeros((5, 12), bool)])
    model = soft_rates(Data(X, None), begin, noise="mixture", learns_prior=False)
    ones, zeros = rates_of(model)
    assert_allclose(ones, X[:100].mean(), atol=0.01)
    assert zeros < 0.02


@pytest.mark.recovery
def test_starts_are_compared_by_their_mean_over_sets():
    """Under strong noise the best sets of wrong sources are likelier than sets of good ones."""
    wrong = []
    for seed in range(4):
        X, clean, _ = random_sources(300, 40, 6, 0.3, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DoubtfulResultWarning)
            model = MultiAssignmentClustering(6, random_state=seed).fit(X)
        wrong.append((model.inverse_transform(model.assignments_) != clean).mean())
    assert np.mean(wrong) < 0.22


@pytest.mark.oracle
def test_scores_with_a_candidate_match_all_sets(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(30, 70)) < 0.4
    seen = rng.uniform(size=X.shape) < 0.9
    rows = PackedRows(Data(X & seen, seen))
    union = rng.uniform(size=(5, 70)) < 0.3
    candidates = rng.uniform(size=(6, 70)) < 0.3
    bonus = 1.5
    penalty = 0.7

    scores = rows.scores(union, bonus, penalty)
    base = rng.uniform(-5, 5, size=30)
    expected = oracle.scores_with_candidates(
        X & seen, ~X & seen, union, base, candidates, bonus, penalty
    )
    found = rows.totals(scores, pack_rows(union), base, pack_rows(candidates), bonus, penalty)
    assert_allclose(found, expected, rtol=1e-5)

    # run the compiled loop as plain Python
    words = pack_rows(union)
    plain = total_scores.py_func(
        rows.ones,
        rows.zeros,
        np.broadcast_to(words, (30, *words.shape)),
        scores.astype(float),
        base,
        np.ascontiguousarray(pack_rows(candidates).T),
        bonus,
        penalty,
    )
    assert_allclose(plain, expected, rtol=1e-5)


@pytest.mark.certificate
def test_refit_ends_at_a_fixed_point(seed):
    rng = np.random.default_rng(seed)
    X = overlapping(200, 30, 4, 0.3, rng)[0]
    sets = assignment_sets(4, 4, allow_empty=False)
    begin = boolean_model(sets, rng.uniform(size=(4, 30)) < 0.5, 0.9, 0.1, noise="mixture")
    data = Data(X, None)
    model, statistics, n_rounds = boolean_refit(data, begin, noise="mixture")
    again, more, n_more = boolean_refit(data, model, noise="mixture")
    assert n_rounds > 2
    assert n_more == 1
    assert_array_equal(again.beta, model.beta)
    assert_allclose(more.free_energy, statistics.free_energy, rtol=1e-9)


@pytest.mark.edge
def test_rounds_of_a_refit_are_counted(seed):
    """A greedy start has no rounds of EM."""
    X = overlapping(60, 20, 3, 0.1, np.random.default_rng(seed))[0]
    model = MultiAssignmentClustering(3, n_init=1, random_state=seed).fit(X)
    assert model.n_iter_ >= 1


def test_kinds_of_starts():
    assert kinds_of_starts(1) == ["greedy"]
    assert kinds_of_starts(5) == ["greedy", "cold", "annealed", "cold", "annealed"]


@pytest.mark.recovery
@pytest.mark.parametrize("max_assignments", [1, 2])
def test_greedy_start_with_few_assignments(max_assignments):
    for seed in range(3):
        X, _, U, _ = overlapping(
            300, 36, 3, 0.2, np.random.default_rng(seed), max_assignments=max_assignments
        )
        start_ = start_once(X, "greedy", seed, 3, max_assignments)
        assert start_.model.sets.sum(axis=1).max() == max_assignments
        assert source_mismatch(U, start_.model.beta < 0.5) == 0


@pytest.mark.edge
def test_warns_if_the_starts_disagree():
    rng = np.random.default_rng(0)
    noise = rng.uniform(size=(200, 20)) < 0.5
    model = MultiAssignmentClustering(4, random_state=0)
    with pytest.warns(
        DoubtfulResultWarning, match="two likeliest of 3 starts.*n_init"
    ) as seen:
        model.fit(noise)
    assert seen[0].filename == __file__
    # two starts are too few for a warning, and good sources cause none
    MultiAssignmentClustering(4, n_init=2, random_state=0).fit(noise)
    for flips in (0.0, 0.1):
        MultiAssignmentClustering(6, random_state=0).fit(
            random_sources(300, 40, 6, flips, 0)[0]
        )


def stream(X, cuts, k, seed):
    model = MultiAssignmentClustering(k, random_state=seed)
    for rows in np.split(X, cuts):
        model.partial_fit(rows)
    return model


@pytest.mark.recovery
@pytest.mark.parametrize("first", [1, 2, 5])
def test_stream_does_not_depend_on_a_small_first_batch(first):
    """Without a second search: 10 to 17 % of the bits are wrong."""
    for seed in range(3):
        X, clean, U = random_sources(400, 24, 4, 0.03, seed, use=0.4)
        model = stream(X, range(first, 400, 50), 4, seed)
        assert source_mismatch(U, model.components_) == 0
        whole = MultiAssignmentClustering(4, random_state=seed).fit(X)
        assert abs(model.epsilon_ - whole.epsilon_) < 0.01
        wrong = (model.inverse_transform(model.predict(X)) != clean).mean()
        assert wrong < (whole.inverse_transform(whole.assignments_) != clean).mean() + 0.003


@pytest.mark.recovery
def test_stream_revives_an_unused_source(seed):
    """The last source appears after 300 rows, and before the rows have doubled."""
    X, _, U = random_sources(600, 24, 4, 0.0, seed, use=0.4)
    Z = np.random.default_rng(seed).uniform(size=(600, 4)) < 0.4
    Z[:300, 3] = False
    X = boolean_product(Z, U)
    model = MultiAssignmentClustering(4, random_state=seed).partial_fit(X[:300])
    assert source_mismatch(U, model.components_) > 0
    model.partial_fit(X[300:450])
    assert source_mismatch(U, model.components_) == 0
    assert_array_equal(model.inverse_transform(model.predict(X)), X)


@pytest.mark.invariance
def test_rows_kept_of_a_stream_are_a_uniform_sample(monkeypatch):
    monkeypatch.setattr(row_stream, "STREAM_ROWS", 40)
    kept = np.zeros(400)
    for seed in range(60):
        bits = (np.arange(400)[:, None] >> np.arange(9)) & 1
        X = bits.astype(bool)
        rows = RowStream.of(Data(X[:10], None), 10, np.random.RandomState(seed))
        for first in range(10, 400, 30):
            observed = None if first < 200 else np.ones((30, 9), dtype=bool)
            rows = rows.add(Data(X[first : first + 30], observed))
        index = rows.rows(9).X @ (1 << np.arange(9))
        assert len(np.unique(index)) == 40
        kept[index] += 1
    assert rows.n_seen == 400
    assert rows.rows(9).observed.all()
    # each row is kept in a tenth of 60 draws; the mean of each quarter of the rows is within 5
    # standard errors
    quarters = kept.reshape(4, 100).mean(axis=1)
    assert np.abs(quarters - 6).max() < 5 * np.sqrt(60 * 0.1 * 0.9 / 100)


@pytest.mark.recovery
@pytest.mark.slow
def test_ten_sources_from_single_starts():
    """Greedy starts; of annealed ones without exchange a tenth fails, most with 14 sources."""
    exact = 0
    for seed in range(20):
        X, _, U, _ = make_boolean_sources(
            1000, 200, 10, max_assignments=3, noise=0.3, random_state=seed
        )
        model = MultiAssignmentClustering(10, max_assignments=3, n_init=1, random_state=seed)
        exact += source_mismatch(U, model.fit(X).components_) == 0
    assert exact >= 18


def start_once(X, kind, seed, k, max_assignments=3, **changed):
    """One start of a kind, with the settings of the estimator."""
    model = MultiAssignmentClustering(k, max_assignments=max_assignments, **changed)
    sets, settings = model._search_settings(Data(X, None))
    return one_start(Data(X, None), Data(X, None), sets, settings, seed=(kind, seed))


@pytest.mark.invariance
def test_annealing_begins_at_separation_of_the_sources(monkeypatch, seed):
    """More rows than a sample: the temperatures above change nothing."""
    X, _, U, _ = make_boolean_sources(
        600, 300, 4, max_assignments=3, noise=0.5, random_state=seed
    )
    whole = start_once(X, "annealed", seed, 4)
    monkeypatch.setattr(source_starts, "SEPARATING_ROWS", 250)
    short = start_once(X, "annealed", seed, 4)
    assert short.n_iter < whole.n_iter
    for start_ in (short, whole):
        assert source_mismatch(U, start_.model.beta < 0.5) == 0
    assert_allclose(short.log_likelihood, whole.log_likelihood, rtol=1e-6)


@pytest.mark.oracle
def test_pruned_search_keeps_used_sets_and_their_neighbours(seed):
    rng = np.random.default_rng(seed)
    sets = assignment_sets(5, 3)
    ones, zeros = np.zeros((2, 2, len(sets)))
    used = rng.choice(len(sets), size=3, replace=False)
    ones[:, used[:2]] = 1.0
    zeros[:, used[1:]] = 1.0  # the last source has zeros only
    settings = Settings(5, 3, True, "mixture", [1.0], 1, 0.0, True, True)
    kept = {tuple(row) for row in active_sets(sets, Statistics(ones, zeros, 0.0), settings)}
    wanted = {tuple(row) for row in assignment_sets(5, 1)}
    for row in sets[used]:
        wanted |= {tuple(other) for other in sets if (other != row).sum() <= 1}
    assert kept == wanted


@pytest.mark.recovery
def test_gibbs_refinement_keeps_certain_assignments(seed):
    X, _, U, _ = overlapping(200, 36, 3, 0.4, np.random.default_rng(seed))
    model = MultiAssignmentClustering(3, refine="gibbs", random_state=seed).fit(X)
    assert source_mismatch(U, model.components_) <= 0.01
    assert abs(model.epsilon_ - 0.4) < 0.06


def only_annealed(monkeypatch):
    """Starts as published, of one kind."""
    monkeypatch.setattr(
        "skmoderndata.cluster._multi_assignment_clustering.kinds_of_starts",
        lambda n_init: ["annealed"] * n_init,
    )


@pytest.mark.paper
def test_more_accurate_than_single_assignment_on_overlapping_sources(monkeypatch, seed):
    """Streich et al. 2009, figure 3: overlapping sources defeat single assignment.

    Annealing as published: with the exchange of sources afterwards, single assignment finds
    them more often than not, but explains rows no better.
    """
    monkeypatch.setattr("skmoderndata._solvers.boolean_data.source_exchange.MAX_TRIES", 0)
    only_annealed(monkeypatch)
    X, _, U, _ = overlapping(350, 48, 3, 0.3, np.random.default_rng(seed))
    many = MultiAssignmentClustering(3, random_state=seed).fit(X)
    single = MultiAssignmentClustering(3, max_assignments=1, random_state=seed).fit(X)
    assert source_mismatch(U, many.components_) < 0.002
    assert source_mismatch(U, single.components_) > 0.03
    test = overlapping(200, 48, 3, 0.3, np.random.default_rng(seed + 100))[0]
    errors = [generalization_error(model, test, random_state=0) for model in (many, single)]
    assert errors[0] < errors[1]


@pytest.mark.slow
@pytest.mark.paper
@pytest.mark.filterwarnings(
    "ignore:The two likeliest of 3 starts"
)  # noise of 70 % is too much
@pytest.mark.parametrize(
    ("noise", "bound"), [(0.1, 0.0), (0.3, 0.0), (0.5, 0.001), (0.6, 0.005), (0.7, 0.03)]
)
def test_mean_source_mismatch_of_the_published_set_up(noise, bound):
    """Frank et al. 2012, figure 4: three overlapping sources, mixture noise."""
    mismatches = []
    for seed in range(20):
        X, _, U, _ = overlapping(350, 48, 3, noise, np.random.default_rng(seed))
        model = MultiAssignmentClustering(3, random_state=seed).fit(X)
        mismatches.append(source_mismatch(U, model.components_))
    assert np.mean(mismatches) <= bound


@pytest.mark.invariance
def test_temperatures_after_all_assignments_are_fixed_change_nothing(monkeypatch, seed):
    only_annealed(monkeypatch)
    X = overlapping(300, 120, 3, 0.3, np.random.default_rng(seed))[0]
    short = MultiAssignmentClustering(3, n_init=1, random_state=seed).fit(X)
    monkeypatch.setattr("skmoderndata._solvers.boolean_data.multi_assignment.DECIDED", -1.0)
    full = MultiAssignmentClustering(3, n_init=1, random_state=seed).fit(X)
    assert short.n_iter_ <= full.n_iter_
    assert_array_equal(short.components_, full.components_)
    assert_array_equal(short.assignments_, full.assignments_)
    assert_allclose(short.log_likelihood_, full.log_likelihood_, rtol=1e-10)


@pytest.mark.invariance
def test_order_of_rows_and_features_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = overlapping(200, 36, 3, 0.2, rng)[0]
    rows = rng.permutation(200)
    features = rng.permutation(36)
    one = MultiAssignmentClustering(3, random_state=seed).fit(X)
    two = MultiAssignmentClustering(3, random_state=seed).fit(X[rows][:, features])
    assert source_mismatch(one.components_[:, features], two.components_) == 0
    assert assignment_error(one.assignments_[rows], two.assignments_) == 0
    # expectations are computed in single precision
    assert_allclose(two.log_likelihood_, one.log_likelihood_, rtol=1e-4)


@pytest.mark.invariance
def test_sparse_boolean_and_number_input_agree(seed):
    X = overlapping(150, 24, 3, 0.2, np.random.default_rng(seed))[0]
    kinds = [
        X,
        X.astype(float),
        X.astype(int),
        sparse.csr_array(X),
        sparse.csc_matrix(X * 2.0),
    ]
    models = [MultiAssignmentClustering(3, random_state=0).fit(kind) for kind in kinds]
    for kind, model in zip(kinds, models, strict=True):
        assert_array_equal(model.components_, models[0].components_)
        assert_array_equal(model.predict(kind), models[0].assignments_)
        assert_allclose(models[0].score(kind), models[0].score(X), rtol=1e-13)
        # expectations are computed in single precision, and sparse rows are summed in a different
        # order
        other = 1e-7 if sparse.issparse(kind) else 1e-13
        assert_allclose(model.score(X), models[0].score(X), rtol=other)


@pytest.mark.invariance
def test_ones_and_copies(seed):
    """Twice the rows: the same sources, twice the log-likelihood."""
    X = overlapping(150, 24, 3, 0.2, np.random.default_rng(seed))[0]
    one = MultiAssignmentClustering(3, random_state=0).fit(X)
    two = MultiAssignmentClustering(3, random_state=0).fit(np.vstack([X, X]))
    assert source_mismatch(one.components_, two.components_) == 0
    assert_allclose(
        two.log_likelihood_, 2 * one.log_likelihood_, rtol=1e-4
    )  # expectations are computed in single precision


@pytest.mark.invariance
def test_partial_fit_on_chunks_comes_near_one_fit(seed):
    X, _, U, _ = overlapping(600, 36, 3, 0.3, np.random.default_rng(seed))
    model = MultiAssignmentClustering(3, random_state=seed)
    for chunk in np.split(X, 4):
        model.partial_fit(chunk)
    assert source_mismatch(U, model.components_) <= 0.01
    assert abs(model.epsilon_ - 0.3) < 0.03
    assert len(model.assignments_) == 150


def test_partial_fit_does_not_underestimate_the_noise():
    """Counts of best sets alone give 0.594 in place of 0.6, and less with more calls."""
    found = []
    for seed in range(6):
        X = overlapping(1400, 48, 3, 0.6, np.random.default_rng(seed))[0]
        model = MultiAssignmentClustering(3, n_init=1, random_state=seed, prior="uniform")
        model.fit(X[:350])
        found.append(
            [model.partial_fit(X[i : i + 350]).epsilon_ for i in (350, 700, 1050)][-1]
        )
    assert abs(np.mean(found) - 0.6) <= 0.005


def rare_sources(seed, n=1200, p=20, k=5, noise=0.25):
    """Rows with one source on average, and a quarter of the bits replaced by fair coins."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.eye(k, dtype=bool), p // k, axis=1)
    assigned = rng.random((n, k)) < 1 / k
    clean = assigned.astype(int) @ sources > 0
    coins = rng.random((n, p)) < noise
    return np.where(coins, rng.random((n, p)) < 0.5, clean), clean, assigned


@pytest.mark.recovery
def test_learned_prior_recovers_noise_and_use_of_rare_sources(seed):
    """A uniform prior explains noise by additional sources: more noise, more wrong bits."""
    X, clean, assigned = rare_sources(seed)
    wrong = {}
    for prior in ("learned", "uniform"):
        model = MultiAssignmentClustering(5, prior=prior, random_state=0).fit(X)
        rebuilt = model.inverse_transform(model.transform(X))
        wrong[prior] = np.mean(rebuilt != clean)
        if prior == "learned":
            assert abs(model.epsilon_ - 0.25) < 0.02
            assert abs(model.noise_rate_ - 0.5) < 0.05
            assert_allclose(model.source_proba_, assigned.mean(), atol=0.05)
        else:
            assert_allclose(model.source_proba_, 0.5)
    assert wrong["learned"] < 0.6 * wrong["uniform"]


@pytest.mark.oracle
@pytest.mark.parametrize("limits", [{}, {"max_assignments": 2, "allow_empty": False}])
def test_learned_prior_maximises_the_likelihood(limits, seed):
    """A general optimiser finds no better log-odds for the same sources and noise."""
    X, _, _ = rare_sources(seed, n=300)
    model = MultiAssignmentClustering(5, random_state=0, **limits).fit(X)
    sets = model.assignment_sets_.astype(float)
    union = sets @ model.components_ > 0
    one = model.epsilon_ * model.noise_rate_ + (1 - model.epsilon_) * union
    log_p = X @ np.log(one).T + ~X @ np.log(1 - one).T

    def loss(log_odds):
        prior = sets @ log_odds
        prior = prior - logsumexp(prior)
        # half a row with and half a row without each source
        use = np.exp(prior) @ sets
        halves = 0.5 * np.sum(np.log(use) + np.log(1 - use)) if not limits else 0.0
        return -logsumexp(log_p + prior, axis=1).sum() - halves

    best = minimize(loss, np.zeros(5), method="BFGS")
    use = np.exp(sets @ best.x - logsumexp(sets @ best.x)) @ sets
    assert_allclose(model.source_proba_, use, atol=0.02 if not limits else 0.03)


def test_predicted_probabilities_use_the_prior(seed):
    """Bayes' rule over all sets, with independent sources."""
    X, _, _ = rare_sources(seed, n=300)
    model = MultiAssignmentClustering(5, random_state=0).fit(X)
    sets = model.assignment_sets_
    union = sets.astype(int) @ model.components_ > 0
    one = model.epsilon_ * model.noise_rate_ + (1 - model.epsilon_) * union
    prior = np.where(sets, model.source_proba_, 1 - model.source_proba_).prod(axis=1)
    joint = np.array([np.where(x, one, 1 - one).prod(axis=1) * prior for x in X])
    expected = joint @ sets / joint.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)
    assert_allclose(model.score(X), np.log(joint.max(axis=1)).mean(), rtol=1e-6)
    assert_allclose(model.log_likelihood_, np.log(joint.max(axis=1)).sum(), rtol=1e-6)


def test_prior_of_a_stream_matches_one_fit(seed):
    X, _, assigned = rare_sources(seed)
    model = MultiAssignmentClustering(5, random_state=0)
    for batch in np.array_split(X, 4):
        model.partial_fit(batch)
    assert_allclose(np.sort(model.source_proba_), np.sort(assigned.mean(axis=0)), atol=0.06)
    assert abs(model.epsilon_ - 0.25) < 0.03


def test_probabilities_and_score(seed):
    X = overlapping(200, 36, 3, 0.3, np.random.default_rng(seed))[0]
    model = MultiAssignmentClustering(3, random_state=seed).fit(X)
    proba = model.predict_proba(X)
    assert proba.min() >= 0
    assert proba.max() <= 1
    assert ((proba > 0.5) == model.assignments_).mean() > 0.97
    # expectations are computed in single precision
    assert_allclose(model.score(X), model.log_likelihood_ / 200, rtol=1e-4)
    assert model.score(X) > model.score(~X)


@pytest.mark.edge
def test_zero_rows_zero_columns_and_ambiguous_sets():
    X = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0], [0] * 6] * 8)
    model = MultiAssignmentClustering(2, random_state=0).fit(X)
    assert not model.assignments_[3].any()
    assert not model.components_[:, 4:].any()
    # one source lies inside the union of two others, so the smaller set explains the row
    chain = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]] * 8)
    model = MultiAssignmentClustering(3, random_state=0).fit(chain)
    assert model.assignments_[3].sum() == 2


@pytest.mark.edge
def test_more_clusters_than_distinct_rows():
    X = np.array([[1, 1, 0, 0], [0, 0, 1, 1]] * 5)
    model = MultiAssignmentClustering(4, random_state=0).fit(X)
    assert_array_equal(model.inverse_transform(model.assignments_), X)


@pytest.mark.edge
@pytest.mark.parametrize(
    "X", [np.ones((6, 3)), np.zeros((6, 3)), np.ones((1, 4)), np.eye(5)[:, :1]]
)
def test_constant_and_tiny_data(X):
    for noise in ("mixture", "flip", None):
        model = MultiAssignmentClustering(2, noise=noise, random_state=0).fit(X)
        assert_array_equal(model.inverse_transform(model.assignments_), X)
        assert np.isfinite(model.score(X))


@pytest.mark.edge
def test_row_without_observed_bits_gets_the_empty_set():
    X = np.vstack([np.eye(3).repeat(5, axis=0), np.full((1, 3), np.nan)])
    model = MultiAssignmentClustering(3, random_state=0).fit(X)
    assert not model.assignments_[-1].any()
    assert_array_equal(model.inverse_transform(model.assignments_[:-1]), X[:-1])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"threshold=None\) needs 0 and 1 only",
            lambda X, model: MultiAssignmentClustering(2, threshold=None).fit(2 * X),
        ),
        (
            "not take NaN in sparse input",
            lambda X, model: MultiAssignmentClustering(2).fit(
                sparse.csr_array(np.where(X > 0, np.nan, 0))
            ),
        ),
        (
            "requires 1048576 assignment sets",
            lambda X, model: MultiAssignmentClustering(
                20, max_assignments=20, algorithm="all"
            ).fit(np.eye(50)),
        ),
        (
            "n_clusters up to 12",
            lambda X, model: MultiAssignmentClustering(13, refine="gibbs").fit(X),
        ),
        (
            "Z has 3 columns, but there are 2 sources",
            lambda X, model: model.inverse_transform(np.zeros((1, 3))),
        ),
    ],
)
def test_raises_on_bad_input_with_an_explanation(message, call):
    X = np.eye(4)
    model = MultiAssignmentClustering(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=message):
        call(X, model)


@pytest.mark.edge
def test_far_more_clusters_than_the_data_can_have():
    """A pruned search has one source for each distinct row, up to 1999 sources."""
    X = np.random.default_rng(0).random((40, 12)) < 0.3
    n_distinct = len(np.unique(X, axis=0))
    model = MultiAssignmentClustering(500, end_temperature=0.5, n_init=1, random_state=0)
    with pytest.warns(UserWarning, match=f"n_clusters=500 sources for {n_distinct} distinct"):
        model.fit(X)
    assert model.components_.shape == (500, 12)
    assert not model.components_[n_distinct:].any()
    assert model.transform(X).shape == (40, 500)
    assert_array_equal(model.transform(X), model.assignments_)
    model.partial_fit(X[:10])
    assert model.components_.shape == (500, 12)
    many = np.random.default_rng(0).random((2500, 30)) < 0.5
    with pytest.raises(ValueError, match="n_clusters=2001 is too large: a pruned search"):
        MultiAssignmentClustering(2001).fit(many)


class StopAt:
    """Callback that stops at a pass."""

    def __init__(self, at):
        self.at = at
        self.passes = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.passes += context.task_name == "pass"
        return self.passes >= self.at


@pytest.mark.newest
@pytest.mark.edge
def test_callbacks_are_reached_in_the_refit():
    X = overlapping(200, 30, 14, 0.3, np.random.default_rng(0), max_assignments=2)[0]
    model = MultiAssignmentClustering(14, random_state=0)
    watch = StopAt(10**9)
    model.set_callbacks(watch).fit(X)
    schedule = model._schedule(30)
    n_temperatures = len(schedule) + sum(temperature <= 1 for temperature in schedule)
    assert watch.passes > n_temperatures + 10
    # stop in the refits of the greedy and the cold start, and later
    for at in (1, 3, watch.passes // 2 - 3):
        stop = StopAt(at)
        model.set_callbacks(stop).fit(X)
        assert at <= stop.passes <= at + 1
        assert model.components_.shape == (14, 30)


@pytest.mark.edge
def test_interrupted_partial_fit_changes_nothing(monkeypatch):
    X = overlapping(100, 24, 3, 0.1, np.random.default_rng(0))[0]
    model = MultiAssignmentClustering(3, random_state=0).fit(X)
    before = model.components_.copy(), model._ones.copy()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "skmoderndata.cluster._multi_assignment_clustering.improve_sources", interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X)
    assert_array_equal(model.components_, before[0])
    assert_array_equal(model._ones, before[1])


def test_memory_is_bounded_by_tables_and_blocks():
    """No copy of the data, no table over rows and sets."""
    X = overlapping(20000, 100, 5, 0.2, np.random.default_rng(0), max_assignments=2)[0]
    model = MultiAssignmentClustering(
        5, max_assignments=2, n_init=1, start_temperature=0.5, max_iter=1, random_state=0
    )
    clone(model).fit(X[:100])  # compile the loops first
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # with 16 sets, a table over rows and sets would take 2.5 MB in double precision; the blocks
    # take 4 MB
    assert peak < 7e6


@pytest.mark.recovery
def test_sources_of_a_sample_are_refitted_to_all_rows(monkeypatch, seed):
    monkeypatch.setattr(source_starts, "ANNEALED_ROWS", 300)
    X, _, sources, _ = make_boolean_sources(
        2000, 40, 3, max_assignments=2, noise=0.2, random_state=seed
    )
    model = MultiAssignmentClustering(3, max_assignments=2, random_state=seed).fit(X)
    assert source_mismatch(sources, model.components_) == 0
    assert abs(model.epsilon_ - 0.2) < 0.02  # the noise is estimated from 80,000 bits
    assert_allclose(model.log_likelihood_, 2000 * model.score(X), rtol=1e-6)
