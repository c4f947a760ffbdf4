"""Evidence that kernels of generative models equal the derivatives and sums that define them."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import (
    Fisher,
    FixedLengthHMM,
    GramCache,
    HiddenTree,
    HMMFisher,
    MarkovFisher,
    MixtureP,
    Normalized,
    PairHMM,
)
from skmoderndata.metrics import hmm_log_likelihood
from skmoderndata.neighbors import KernelNearestCentroid
from skmoderndata.preprocessing import KernelTransformer
from skmoderndata.svm import CoreVectorMachine
from tests.oracles.generative_twins import INSERT, JOINT, path_probability, score_by_paths

BOOK = {
    "startprob": np.array([0.6, 0.4]),
    "transmat": np.array([[0.7, 0.3], [0.2, 0.8]]),
    "emissionprob": np.array([[0.9, 0.1], [0.3, 0.7]]),
}
S = [0, 1, 1]
T = [0, 0, 1]


def random_model(rng, n_states=3, n_symbols=4):
    return (
        rng.dirichlet(np.ones(n_states)),
        rng.dirichlet(np.ones(n_states), size=n_states),
        rng.dirichlet(np.ones(n_symbols), size=n_states),
    )


def fisher(model, **params):
    return HMMFisher(startprob=model[0], transmat=model[1], emissionprob=model[2], **params)


def sequences(rng, n, n_symbols=4, longest=30):
    return [rng.integers(0, n_symbols, size=k) for k in rng.integers(1, longest, size=n)]


def two_classes(n, seed=0):
    """Strings of the same symbol frequencies and different transitions."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    stay = np.where(y, 0.8, 0.4)
    X = []
    for p in stay:
        flips = rng.random(30) > p
        X.append("".join("ab"[int(b)] for b in np.cumsum(flips) % 2))
    return X, y


class Chain(BaseEstimator):
    """A model with hmmlearn's interface that does not need hmmlearn: moments, no EM."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, lengths):
        assert sum(lengths) == len(X)
        k = self.n_components
        self.n_features = int(X.max()) + 1
        counts = np.bincount(X[:, 0], minlength=self.n_features) + 1.0
        rng = np.random.default_rng(int(counts @ np.arange(1, len(counts) + 1)))
        self.startprob_ = np.full(k, 1 / k)
        self.transmat_ = rng.dirichlet(np.ones(k), size=k)
        self.emissionprob_ = rng.dirichlet(counts, size=k)
        return self


class CategoricalChain(Chain):
    pass


@pytest.mark.paper
def test_worked_examples():
    scores = HMMFisher(**BOOK, parameters="e").features([S, T])
    expected = [[-0.079290, 0.713613, -1.050084, 0.450036],
                [-0.013010, 0.117089, 0.263441, -0.112903]]  # fmt: skip
    assert_allclose(scores, expected, atol=1e-6)
    assert_allclose(HMMFisher(**BOOK, parameters="e")([S], [T]), -0.242857589, atol=1e-9)
    assert_allclose(HMMFisher(**BOOK)([S], [T]), 1.479809337, atol=1e-9)
    chain = MarkovFisher(startprob=BOOK["startprob"], transmat=BOOK["transmat"])
    assert_allclose(chain([S], [T]), 5.126984127, atol=1e-9)
    # the fit has a mean of 1 and a variance of 4
    normal = GaussianMixture(1).fit(np.array([[-1.0], [3.0]]))
    kernel = Fisher(normal, information=np.array([0.25]), parameters="m")
    assert_allclose(kernel([[3.0]], [[0.0]]), -0.5, rtol=1e-5)


@pytest.mark.oracle
def test_scores_of_six_symbols_by_all_hidden_paths(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    x = rng.integers(0, 4, size=6)
    for constrained in (True, False):
        found = fisher(model, constrained=constrained).features([x])[0]
        expected = np.concatenate(score_by_paths(x, *model, constrained))
        assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.oracle
def test_log_likelihood_by_all_hidden_paths(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    x = rng.integers(0, 4, size=6)
    total = sum(path_probability(h, x, *model) for h in product(range(3), repeat=6))
    assert_allclose(hmm_log_likelihood(model, [x])[0], np.log(total), rtol=1e-13)


@pytest.mark.certificate
def test_scores_are_derivatives_of_the_log_likelihood(seed):
    """In the logits of a softmax function, divided by the probability."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    X = sequences(rng, 3)
    found = np.split(fisher(model).features(X), [3, 12], axis=1)
    h = 1e-5
    for which, scores in enumerate(found):
        P = np.atleast_2d(model[which])
        for j, (k, a) in enumerate(np.ndindex(P.shape)):
            values = []
            for step in (h, -h):
                logits = np.log(P)
                logits[k, a] += step
                moved = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
                changed = [*model]
                changed[which] = moved.reshape(model[which].shape)
                values.append(hmm_log_likelihood(tuple(changed), X))
            slope = (values[0] - values[1]) / (2 * h) / P[k, a]
            assert_allclose(scores[:, j], slope, rtol=1e-5, atol=1e-6)


@pytest.mark.certificate
def test_scores_have_mean_zero_under_the_model():
    rng = np.random.default_rng(0)
    model = random_model(rng, 2, 3)
    X = [np.array(x) for x in product(range(3), repeat=3)]
    P = np.exp(hmm_log_likelihood(model, X))
    assert_allclose(P.sum(), 1.0)
    assert_allclose(P @ fisher(model).features(X), 0.0, atol=1e-12)


@pytest.mark.oracle
def test_passes_match_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(0)
    model = hmm.CategoricalHMM(4)
    model.startprob_, model.transmat_, model.emissionprob_ = random_model(rng, 4, 5)
    model.n_features = 5
    X = sequences(rng, 5, 5, 200)
    assert_allclose(
        hmm_log_likelihood(model, X), [model.score(x[:, None]) for x in X], rtol=1e-12
    )
    E = model.emissionprob_
    expected = []
    for x in X:
        N = np.zeros_like(E)
        np.add.at(N.T, x, model.predict_proba(x[:, None]))
        expected.append((N / E - N.sum(axis=1, keepdims=True)).ravel())
    found = HMMFisher(model, parameters="e").features(X)
    assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning:hmmlearn")
@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_gaussian_models_of_hmmlearn(covariance_type):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(k, 2)) for k in (9, 14, 20)]
    model = hmm.GaussianHMM(2, covariance_type, random_state=0)
    kernel = HMMFisher(model, parameters="stmc").from_data(X)
    fitted = clone(model).fit(np.concatenate(X), [9, 14, 20])
    assert_allclose(hmm_log_likelihood(fitted, X), [fitted.score(x) for x in X], rtol=1e-12)
    assert_allclose(kernel.features(X), HMMFisher(fitted, parameters="ste").features(X))
    gamma = fitted.predict_proba(X[0])
    P = np.linalg.inv(fitted.covars_)
    d = X[0][:, None] - fitted.means_
    means = np.einsum("tk,kij,tkj->ki", gamma, P, d)
    assert_allclose(kernel.features(X)[0, 6:10], means.ravel(), rtol=1e-9, atol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("kind", ["diag", "full", "counts"])
def test_scores_of_vectors_are_derivatives(kind):
    from skmoderndata.kernels._generative.hidden_markov import HiddenMarkovModel

    rng = np.random.default_rng(0)
    start, move, _ = random_model(rng, 2)
    X = [rng.normal(size=(k, 2)) for k in (6, 1, 9)]
    emission = [rng.normal(size=(2, 2)), np.array([[1.0, 0.5], [2.0, 0.7]])]
    if kind == "full":
        emission[1] = np.array([[[1.0, 0.2], [0.2, 0.5]], [[2.0, -0.3], [-0.3, 0.7]]])
    elif kind == "counts":
        X = [rng.poisson(2.0, size=(k, 2)) for k in (6, 1, 9)]
        emission = [np.array([[1.0, 3.0], [2.5, 0.5]])]

    name = "counts" if kind == "counts" else "normal"
    model = HiddenMarkovModel(start, move, name, tuple(emission))
    found = HMMFisher(model, parameters="e").features(X)

    # compute central differences of the log-likelihood with respect to each parameter
    h = 1e-5
    slopes = []
    for which, values in enumerate(emission):
        for index in np.ndindex(values.shape):
            up = []
            down = []
            for out, step in ((up, h), (down, -h)):
                changed = [v.copy() for v in emission]
                changed[which][index] += step
                if (
                    kind == "full" and which == 1 and index[1] != index[2]
                ):  # the number of free entries counts
                    changed[which][index] -= step / 2
                    changed[which][index[0], index[2], index[1]] += step / 2
                out.append(hmm_log_likelihood(model._replace(emission=tuple(changed)), X))
            slopes.append((up[0] - down[0]) / (2 * h))
    assert_allclose(found, np.transpose(slopes), rtol=1e-5, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("cls", [GaussianMixture, BayesianGaussianMixture])
def test_mixtures_of_scikit_learn_are_read(cls, kind):
    """Scores are the slopes of the density of the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 3 * rng.integers(0, 2, size=(60, 1))
    model = cls(n_components=2, covariance_type=kind, random_state=0).fit(X)
    G = Fisher(model, parameters="m").features(X[:5]).reshape(5, 2, 2)
    C = model.covariances_
    if kind != "full":
        C = np.stack([C, C]) if kind == "tied" else np.stack([c * np.eye(2) for c in C])
    densities = [
        multivariate_normal(m, c).pdf(X[:5]) for m, c in zip(model.means_, C, strict=True)
    ]
    gamma = np.transpose(densities) * model.weights_
    gamma /= gamma.sum(axis=1, keepdims=True)
    P = np.linalg.inv(C)
    expected = np.einsum("nk,kij,nkj->nki", gamma, P, X[:5, None] - model.means_)
    assert_allclose(G, expected, rtol=1e-8, atol=1e-8)
    settled = Fisher(clone(model)).from_data(X)
    assert_allclose(settled(X), Fisher(model)(X))
    assert_allclose(clone(settled)(X), settled(X))  # cloning keeps the fitted model


def test_naive_bayes_counts_as_the_mixture_of_its_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.arange(30) % 2
    model = GaussianNB().fit(X, y)
    G = Fisher(FrozenEstimator(model), parameters="w").from_data(X).features(X)
    assert_allclose(G, model.predict_proba(X) / model.class_prior_ - 1)
    with pytest.raises(ValueError, match="needs labels"):
        Fisher(GaussianNB()).from_data(X)


class Cubic:
    """A model of the user's with scores."""

    def score_vector(self, X):
        return np.array([[len(x), len(x) ** 3] for x in X], dtype=float)


def test_any_model_with_scores():
    kernel = Fisher(Cubic(), information="diagonal").from_data(["a", "bb"])
    assert not kernel.requires_vector_input
    assert_allclose(kernel.information, [2.5, 32.5])
    assert_allclose(kernel(["a"], ["bb"]), 2 / 2.5 + 8 / 32.5)


@pytest.mark.certificate
@pytest.mark.parametrize("information", ["diagonal", "empirical"])
def test_information_whitens_the_training_scores(information):
    rng = np.random.default_rng(0)
    X = sequences(rng, 200)
    kernel = fisher(random_model(rng), information=information)
    F = kernel.from_data(X).features(X)
    second = F.T @ F / len(F)
    if information == "diagonal":
        assert_allclose(np.diag(second), 1.0)
    # the result is a projection, because scores under constraints are linearly dependent
    else:
        assert_allclose(second @ second, second, atol=1e-8)
        assert round(np.trace(second)) == 2 + 3 * 2 + 3 * 3


@pytest.mark.invariance
def test_numbering_of_states_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    start, move, emit = random_model(rng)
    X = sequences(rng, 6)
    order = rng.permutation(3)
    again = fisher((start[order], move[np.ix_(order, order)], emit[order]))
    assert_allclose(again(X), fisher((start, move, emit))(X), rtol=1e-9, atol=1e-9)


@pytest.mark.invariance
def test_containers_and_encoded_samples_give_the_same_matrix():
    X = ["abba", "b", "", "aab"]
    kernel = HMMFisher(**BOOK, symbols="ab")
    K = kernel(X)
    objects = np.array(X, dtype=object)
    for other in (tuple(X), objects, np.array(X), pd.Series(X), kernel.encode(X)):
        assert_array_equal(kernel(other), K)
        assert_allclose(kernel.diag(other), np.diag(K), rtol=1e-14)
    numbers = [np.array(["ab".index(a) for a in x], dtype=int) for x in X]
    plain = HMMFisher(**BOOK)
    assert_array_equal(plain(numbers), K)
    assert_array_equal(plain([x[:, None] for x in numbers]), K)
    encoded = kernel.encode(X)
    # products of other shapes may differ in the last bit
    assert_allclose(kernel(encoded[[3, 0]], encoded), K[[3, 0]], rtol=1e-14)
    other = HMMFisher(**BOOK, symbols="ba")
    assert_array_equal(other(encoded), other(X))  # cached scores of another model are not used


@pytest.mark.invariance
def test_blocks_change_nothing():
    rng = np.random.default_rng(0)
    model = random_model(rng)
    X = sequences(rng, 40)
    with sklearn.config_context(working_memory=1e-2):
        blocked = fisher(model).features(X)
    assert_array_equal(blocked, fisher(model).features(X))


@pytest.mark.edge
def test_long_sequences_neither_underflow_nor_lose_digits():
    rng = np.random.default_rng(0)
    model = random_model(rng)
    x = rng.integers(0, 4, size=20_000)
    assert -4e4 < hmm_log_likelihood(model, [x])[0] < -1e4
    scores = fisher(model).features([x])
    assert np.isfinite(scores).all()
    start, move, emit = np.split(scores[0], [3, 12])
    assert_allclose(emit.reshape(3, 4) * model[2] @ np.ones(4), 0.0, atol=1e-8)
    assert_allclose(move.reshape(3, 3) * model[1] @ np.ones(3), 0.0, atol=1e-8)
    assert_allclose(start @ model[0], 0.0, atol=1e-12)
    assert_allclose(Normalized(fisher(model))([x, x[:50]]).diagonal(), 1.0)


@pytest.mark.edge
def test_zero_probabilities_have_zero_scores():
    model = ([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    scores = fisher([np.array(a) for a in model]).features([[0, 0, 1, 1]])
    assert np.isfinite(scores).all()
    assert_array_equal(scores, np.array([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0]]))
    assert hmm_log_likelihood(model, [[1, 0], [0, 1], []]).tolist() == [
        -np.inf,
        np.log(0.5),
        0,
    ]


@pytest.mark.edge
def test_empty_sequences_have_score_zero():
    assert_array_equal(HMMFisher(**BOOK).features([[], [0]])[0], np.zeros(10))
    chain = MarkovFisher(startprob=BOOK["startprob"], transmat=BOOK["transmat"])
    assert_array_equal(chain([[], S]), np.diag([0.0, chain([S])[0, 0]]))


@pytest.mark.recovery
def test_parameters_come_from_the_training_folds_in_a_grid_search():
    X, y = two_classes(60)
    kernel = MarkovFisher()
    model = make_pipeline(
        KernelTransformer(Normalized(kernel), cache=GramCache()), SVC(kernel="precomputed")
    )
    grid = {"kerneltransformer__kernel__kernel__p": [2, 3]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(SVC(kernel=kernel.from_data(X), C=0.01), X, y).mean() > 0.8


@pytest.mark.invariance
def test_unfitted_models_are_fitted_to_the_training_samples():
    X, y = two_classes(60)
    kernel = HMMFisher(CategoricalChain(), information="diagonal")
    with pytest.raises(ValueError, match=r"no fitted model yet; call kernel.from_data"):
        kernel(X)
    step = KernelTransformer(kernel).fit(X)
    settled = step.kernel_
    assert settled.symbols == "ab"
    assert_allclose(step.transform(X), settled(X))
    for again in (
        clone(settled),
        pickle.loads(pickle.dumps(settled)),
        settled.from_data(X[:5]),
    ):
        assert again == settled
        assert_array_equal(again(X), settled(X))
    other = kernel.from_data(["aaab", "aaba"])
    assert repr(other) != repr(settled)  # caches distinguish the folds by their `repr`

    # fit separate models in each fold
    model = make_pipeline(KernelTransformer(Normalized(kernel)), SVC(kernel="precomputed"))
    scores = cross_val_score(model, X, y, cv=KFold(3))
    for found, (train, test) in zip(scores, KFold(3).split(X), strict=True):
        inside, outside = ([X[i] for i in rows] for rows in (train, test))
        k = Normalized(kernel.from_data(inside))
        machine = SVC(kernel="precomputed").fit(k(inside), y[train])
        assert found == machine.score(k(outside, inside), y[test])


def test_fitted_models_are_read_and_frozen_ones_survive_cloning():
    X, _ = two_classes(10)
    model = CategoricalChain().fit(np.array([[0], [1], [1]]), [3])
    direct = HMMFisher(model, symbols="ab")
    frozen = clone(HMMFisher(FrozenEstimator(model), symbols="ab"))
    assert_array_equal(frozen(X), direct(X))
    assert_array_equal(direct.from_data(X)(X), direct(X))


@pytest.mark.recovery
def test_features_in_a_linear_model():
    X, y = two_classes(80)
    kernel = MarkovFisher(p=2).from_data(X[:40])
    F = kernel.features(X[:40])
    G = kernel.features(X[40:])
    assert LogisticRegression(C=0.01).fit(F, y[:40]).score(G, y[40:]) > 0.8
    assert_allclose((G @ F.T).toarray(), kernel(X[40:], X[:40]))


@pytest.mark.paper
def test_worked_examples_of_probabilities():
    line = FixedLengthHMM(**BOOK)
    assert_allclose(line([S], [T]), 0.019261368, atol=1e-9)
    assert_allclose(line.diag([S, T]), [0.034243272, 0.049525992], atol=1e-9)
    tree = HiddenTree([-1, 0, 0, 1], **BOOK)
    assert_allclose(tree([[0, 1, 0, 1]], [[0, 0, 0, 1]]), 0.010547479152, rtol=1e-10)
    joint = [[0.365, 0.185], [0.185, 0.265]]
    pair = PairHMM(joint, [0.5, 0.5])
    assert_allclose(pair([S], [[0, 1]]), 5.0560830936e-4, rtol=1e-9)
    assert_allclose(clone(pair).set_params(topology="standard")([S], [[0, 1]]), 7.123625e-4)
    mixture = MixtureP(([0.5, 0.5], bernoulli))
    assert_allclose(mixture([[1, 0]], [[1, 1]]), 0.0756)


def bernoulli(X):
    p = np.array([[0.9, 0.2], [0.3, 0.6]])
    with np.errstate(divide="ignore"):
        return np.log(np.where(np.asarray(X)[:, None, :] == 1, p, 1 - p)).sum(axis=2)


@pytest.mark.certificate
def test_independent_insertions_are_positive_and_exclusive_ones_are_not():
    strings = ["", "0", "1", "00", "01", "10", "11", "0110", "1001"]
    common = {"delta": 0.45, "epsilon": 0.5, "tau": 0.05, "symbols": "01"}
    joint = [[0.365, 0.185], [0.185, 0.265]]
    lowest = {
        name: np.linalg.eigvalsh(PairHMM(joint, [0.5, 0.5], topology=name, **common)(strings))[
            0
        ]
        for name in ("independent", "standard")
    }
    assert lowest["independent"] > -1e-16
    assert lowest["standard"] < -0.0015


@pytest.mark.recovery
def test_probabilities_of_all_pairs_of_strings_sum_to_one():
    kernel = PairHMM(JOINT, INSERT, 0.1, 0.1, 0.7, symbols="abc")
    strings = ["".join(s) for k in range(5) for s in product("abc", repeat=k)]
    assert 0.97 < kernel(strings).sum() < 1.0


@pytest.mark.edge
def test_paths_that_are_improbable_at_first_are_not_lost():
    """Two halves in exchanged order: a single scale per row would lose one of the two paths."""
    first = "a" * 400
    second = "bc" * 200
    kernel = PairHMM(JOINT, INSERT, symbols="abc")
    one = kernel._log_gram(kernel.encode([first + second]).form, kernel.encode(
        [second + first]).form)[0, 0]  # fmt: skip
    other = kernel._log_gram(kernel.encode([second + first]).form, kernel.encode(
        [first + second]).form)[0, 0]  # fmt: skip
    assert_allclose(one, other, rtol=1e-12)
    tiny = kernel.encode(["a" * 2000, "b"])
    found = kernel._log_gram(tiny.form, None)
    assert np.isfinite(found).all()
    # align a single symbol with a run: insertions alone, and one of 2000 pairs
    steps = np.log(0.3 * 0.5)
    assert -0.05 < found[0, 1] / (2000 * steps) - 1 < 0.05


@pytest.mark.edge
@pytest.mark.parametrize(
    "kernel",
    [FixedLengthHMM(**BOOK, symbols="ab"), PairHMM(np.eye(2) / 2, [0.5, 0.5], symbols="ab"),
     HiddenTree(np.arange(-1, 2999), **BOOK, symbols="ab")],
    ids=lambda k: type(k).__name__,
)  # fmt: skip
def test_normalized_is_finite_where_probabilities_underflow(kernel):
    X = ["ab" * 1500, "aab" * 1000]
    assert_array_equal(kernel(X), 0.0)
    K = Normalized(kernel)(X)
    assert_allclose(np.diag(K), 1.0)
    assert 0.0 <= K[0, 1] < 1.0
    assert_allclose(Normalized(kernel).diag(X), 1.0)


@pytest.mark.edge
def test_impossible_samples_have_probability_zero():
    kernel = FixedLengthHMM([1.0, 0.0], np.eye(2), np.eye(2), "ab")
    assert_array_equal(kernel(["aa", "ab", "a"]), np.diag([1.0, 0.0, 1.0]))
    assert_array_equal(Normalized(kernel)(["aa", "ab"]), np.diag([1.0, 0.0]))


@pytest.mark.invariance
def test_blocks_of_pairs_change_nothing():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), size=5)) for _ in range(30)]
    kernel = FixedLengthHMM(**BOOK, symbols="ab")
    with sklearn.config_context(working_memory=1e-2):
        blocked = kernel(X)
    assert_allclose(blocked, kernel(X), rtol=1e-14)


@pytest.mark.oracle
@pytest.mark.parametrize("cls", [GaussianMixture, GaussianNB, BernoulliNB])
def test_mixtures_are_read_from_scikit_learn(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = np.arange(20) % 2
    if cls is GaussianMixture:
        kernel = MixtureP(GaussianMixture(2, random_state=0)).from_data(X)
        model = GaussianMixture(2, random_state=0).fit(X)
        joint = model.score_samples(X)[:, None] + np.log(model.predict_proba(X))
        prior = model.weights_
    else:
        model = cls().fit(X, y)
        kernel = MixtureP(FrozenEstimator(model)).from_data(X)
        joint = model.predict_joint_log_proba(X)
        prior = np.array([0.5, 0.5])
    F = np.exp(joint) / np.sqrt(prior)
    assert_allclose(kernel.features(X), F, rtol=1e-6)
    assert_allclose(kernel(X), F @ F.T, rtol=1e-6)
    assert_allclose(clone(kernel)(X), kernel(X))
    with pytest.raises(ValueError, match=r"no fitted model yet"):
        MixtureP(cls())(X)


@pytest.mark.recovery
def test_probabilities_in_a_pipeline():
    X, y = two_classes(40)
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    kernel = Normalized(PairHMM(joint, [0.5, 0.5]))
    step = KernelTransformer(kernel, cache=GramCache())
    model = make_pipeline(step, SVC(kernel="precomputed"))
    grid = {"kerneltransformer__kernel__kernel__delta": [0.1, 0.3]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6
    assert search.best_estimator_[0].kernel_.kernel.symbols == "ab"


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (HiddenTree([-1, 0], **BOOK), "sample 0 has 3 symbols for 2 nodes"),
        (HiddenTree([0, -1, 1], **BOOK), "-1 for node 0, the only root"),
        (HiddenTree([-1, 2, 1], **BOOK), "a smaller number for each other node"),
        (HiddenTree([-1, -1, 0], **BOOK), "the only root"),
        (
            FixedLengthHMM(**{**BOOK, "transmat": [[1, 0], [0, 0]]}),
            "row of state 1, is a row of",
        ),
        (PairHMM(np.eye(3) / 3, [0.5, 0.5]), r"symmetric, of shape \(2, 2\)"),
        (PairHMM([[0.5, 0.2], [0.1, 0.2]], [0.5, 0.5]), "symmetric"),
        (PairHMM([[0.1, 0.4], [0.4, 0.1]], [0.5, 0.5]), 'semi-definite, or use topology="st'),
        (PairHMM(np.eye(2), [0.5, 0.5]), "joint sums to 2"),
        (PairHMM(np.eye(2) / 2, [0.5, 0.6]), "insert sums to 1.1"),
        (PairHMM(np.eye(2) / 2, [0.5, 0.5], tau=0.0), "tau=0"),
        (PairHMM(np.eye(2) / 2, [0.5, 0.5], 0.5, topology="standard"), "at most 1 - 2 delta"),
        (PairHMM(np.eye(2) / 2, [0.5, 0.5], topology="local"), "topology='local'"),
        (MixtureP(([0.5, 0.6], bernoulli)), "weights sums to 1.1"),
        (MixtureP(([0.5, 0.5], lambda X: np.zeros(3))), "logarithms of shape"),
        (MixtureP(([0.5, 0.5], None)), "a mixture, or"),
    ],
)
def test_bad_parameters_of_probabilities(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel([S])


ESTIMATORS = [
    lambda kernel: KernelDiscriminantAnalysis(kernel=kernel),
    lambda kernel: KernelNearestCentroid(kernel=kernel),
    lambda kernel: CoreVectorMachine(kernel=kernel),
    lambda kernel: make_pipeline(
        IncompleteCholesky(8, kernel=kernel, random_state=0), LogisticRegression()
    ),
    lambda kernel: make_pipeline(KernelTransformer(kernel), SVC(kernel="precomputed")),
]


@pytest.mark.invariance
@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize(
    "kernel",
    [MarkovFisher(information="diagonal"), HMMFisher(CategoricalChain()),
     PairHMM([[0.4, 0.1], [0.1, 0.4]], [0.5, 0.5])],
    ids=lambda k: type(k).__name__,
)  # fmt: skip
def test_estimators_fix_parameters_and_encode_each_sample_once(make, kernel, monkeypatch):
    X, y = two_classes(24)
    seen = []
    cls = type(kernel)
    name = "scores" if hasattr(cls, "scores") else "_check"
    real = getattr(cls, name)
    monkeypatch.setattr(cls, name, lambda self, S: seen.append(len(S)) or real(self, S))
    k = Normalized(kernel)
    model = make(k).fit(X, y)
    # encode at most once for the parameters, and once for all values
    assert sum(seen) <= 2 * len(X)
    expected = model.predict(X[:6])
    for other in (np.array(X, dtype=object), np.array(X), pd.Series(X)):
        assert_array_equal(make(k).fit(other, y).predict(other[:6]), expected)


ZERO_ROW = np.array([[0.7, 0.3], [0.0, 0.0]])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"transmat": ZERO_ROW},
            r"transmat\[1\], the row of state 1, is a row of zeros.*fewer",
        ),
        (
            {"emissionprob": ZERO_ROW},
            r"emissionprob\[1\], the row of state 1, is a row of zeros",
        ),
        ({"startprob": [0.5, 0.6]}, "startprob sums to 1.1"),
        ({"startprob": [np.nan, 0.6]}, "NaN, infinite or negative"),
        ({"startprob": [-0.5, 1.5]}, "NaN, infinite or negative"),
        ({"transmat": np.eye(3)}, r"transmat has shape \(3, 3\), but must have \(2, 2\)"),
        ({"startprob": None}, "pass either model, or all of startprob"),
        ({"parameters": "x"}, "some of the letters 'ste'"),
        ({"parameters": ""}, "some of the letters 'ste'"),
        ({"information": "full"}, "information="),
        ({"information": [1.0, 2.0]}, "2 rows for 10 scores"),
        ({"information": -np.ones(10)}, "positive semi-definite"),
        ({"symbols": "abc"}, "symbols has 3 entries, but the model emits 2"),
        ({"model": object()}, "not both"),
    ],
)
def test_bad_parameters_of_hmm_fisher(change, message):
    kernel = HMMFisher(**{**BOOK, **change})
    with pytest.raises((ValueError, TypeError), match=message):
        kernel([S])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (HMMFisher(**BOOK), [[0], [0, 2]], "sample 1 has the symbol 2"),
        (HMMFisher(**BOOK), [[0], [0, -1]], "sample 1 has the symbol -1"),
        (HMMFisher(**BOOK), ["ab"], "symbols=None means numbers from 0 to 1"),
        (HMMFisher(**BOOK, symbols="ab"), ["ab", "ac"], "sample 1 has the symbol 'c'"),
        (HMMFisher(**BOOK, symbols="ab"), ["ab", None], "sample 1 is missing"),
        (HMMFisher(**BOOK, symbols="ab"), "abba", "needs a collection"),
        (
            HMMFisher(**{**BOOK, "emissionprob": np.eye(2), "transmat": np.eye(2)}),
            [[0, 0], [0, 1]],
            "sample 1 has probability 0 under the model.*emissionprob_prior",
        ),
        (HMMFisher(GaussianMixture()), [[0]], "no fitted model"),
        (HMMFisher(3), [[0]], "pass a CategoricalHMM"),
        (MarkovFisher(), ["ab"], "no fitted model"),
        (MarkovFisher(p=0), ["ab"], "an integer of at least 1"),
        (MarkovFisher(smoothing=-1.0), ["ab"], "at least 0"),
        (
            MarkovFisher(startprob=[0.5, 0.5], transmat=np.eye(2)),
            [[0], [0, 1]],
            "sample 1 has probability 0 under the chain.*smoothing",
        ),
        (MarkovFisher(3, [0.5, 0.5], np.eye(2)), [[0]], "needs 4 rows, one for each context"),
        (Fisher(None), [[0.0]], "a Gaussian mixture, GaussianNB"),
        (Fisher(GaussianMixture()), [[0.0]], "no fitted model"),
        (Fisher(GaussianMixture(), parameters="q"), [[0.0]], "letters 'wmc'"),
    ],
)
def test_bad_input(kernel, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(X)


@pytest.mark.edge
def test_log_likelihood_raises_for_an_unfitted_model():
    with pytest.raises(ValueError, match="is not fitted"):
        hmm_log_likelihood(CategoricalChain(), [[0]])
