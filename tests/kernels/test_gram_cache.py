"""Evidence that stored values match the kernel and the current state of the samples."""

import ast
import copy
import functools
import tracemalloc
import xml.etree.ElementTree as ET
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process.kernels import RBF
from sklearn.mixture import GaussianMixture

from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import key_of_kernel, key_of_sample
from skmoderndata.kernels import (
    AllSubsequences,
    AllSubtree,
    Conformal,
    Convolution,
    Covariance,
    DistanceKernel,
    ExponentialOf,
    Fisher,
    GramCache,
    Intersection,
    MixtureP,
    MonteCarlo,
    Normalized,
    PSpectrum,
    Pullback,
    TfIdf,
    WeisfeilerLehman,
)
from skmoderndata.preprocessing import KernelTransformer

WORDS = ["gatta", "cat", "gala", "atta", "t"]


def lengths(power):
    """Functions with the same name, as a loop or a notebook cell defines them."""

    def measure(X):
        return np.array([float(len(x)) ** power for x in X])

    return measure


class Power:
    """A function with a state."""

    def __init__(self, power):
        self.power = power

    def __call__(self, X):
        return lengths(self.power)(X)

    def measure(self, X):
        return lengths(self.power)(X)


def with_functions():
    """Kernels in groups that differ only in what their functions compute."""

    def distance(power):
        def gaps(X, Y):
            f = lengths(power)
            return np.abs(f(X)[:, None] - f(Y))

        return gaps

    def mapped(power):
        def column(X):
            return lengths(power)(X)[:, None]

        return column

    def parts(power):
        def decompose(x):
            return [("size", (float(len(x)) ** power,))]

        return decompose

    def sampler(power):
        def draw(rng, n_features):
            w = rng.normal(size=n_features)
            return lambda X: np.abs(X @ w) ** power

        return draw

    powers = (1.0, 2.0, 3.0)
    spectrum = PSpectrum(1)
    return {
        "Conformal": [Conformal(spectrum, lengths(q)) for q in powers],
        "partial": [
            Conformal(spectrum, functools.partial(lambda q, X: lengths(q)(X), q))
            for q in powers
        ],
        "object": [Conformal(spectrum, Power(q)) for q in powers],
        "method": [Conformal(spectrum, Power(q).measure) for q in powers],
        "Pullback": [Pullback(RBF(), mapped(q)) for q in powers],
        "Covariance": [Covariance([lengths(q), len_of_one]) for q in powers],
        "DistanceKernel": [DistanceKernel(distance(q), gamma=0.1) for q in powers],
        "Convolution": [Convolution(parts(q), [RBF()]) for q in powers],
        "inside": [Normalized(Conformal(spectrum, lengths(q)) + PSpectrum(2)) for q in powers],
        "MonteCarlo": [Pullback(MonteCarlo(sampler(q), 3), mapped(1.0)) for q in powers],
    }


def len_of_one(X):
    return np.ones(len(X))


@pytest.mark.oracle
@pytest.mark.parametrize("group", with_functions())
def test_kernels_with_different_functions_differ(group):
    """Functions share a name; a cache must neither confuse them nor forget clones."""
    cache = GramCache()
    for kernel in with_functions()[group]:
        assert_allclose(cache.values(kernel, WORDS), kernel(WORDS), rtol=1e-13)
        before = cache.n_computed
        assert_allclose(cache.values(clone(kernel), WORDS), kernel(WORDS), rtol=1e-13)
        assert cache.n_computed == before


@pytest.mark.oracle
def test_encoded_samples_keep_diagonals_apart():
    X = PSpectrum(1).encode(WORDS)
    for kernel in with_functions()["Conformal"]:
        assert_allclose(kernel.diag(X), kernel.diag(WORDS), rtol=1e-13)
        for outer in (Normalized(kernel), Normalized(ExponentialOf(kernel, 1e4))):
            other = outer.encode(WORDS[:3])
            assert_allclose(outer(other, X), outer(WORDS[:3], WORDS), rtol=1e-12)


class Scores:
    """A model of any samples, from a class whose name is always the same."""

    def __init__(self, power):
        self.power = power

    def score_vector(self, X):
        return np.array([[len(x) ** self.power, 1.0] for x in X])

    def __repr__(self):
        return "Scores()"


@pytest.mark.oracle
def test_scores_match_the_model():
    X = Fisher(Scores(1)).encode(WORDS)
    for power in (1, 2, 3):
        kernel = Fisher(Scores(power))
        assert_allclose(kernel(X), kernel(WORDS))
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 2))
    models = [GaussianMixture(2, random_state=0).fit(table + shift) for shift in (0.0, 3.0)]
    for make in (Fisher, MixtureP):
        cache = GramCache()
        for model in models:
            K = cache.values(make(model), [*table[:5]])
            assert_allclose(K, make(model)(table[:5]), rtol=1e-10)


@pytest.mark.oracle
def test_rows_of_texts_match_their_vectorizer():
    """Two vectorizers with one vocabulary read new texts differently."""
    texts = ["a cat sat", "a dog sat", "the cat"]
    first, second = (
        TfIdf(vectorizer=CountVectorizer(lowercase=low)).from_data(texts)
        for low in (True, False)
    )
    X = first.encode(["A CAT", "the dog"])
    assert_allclose(second(X), second(["A CAT", "the dog"]))
    assert_allclose(first(X), first(["A CAT", "the dog"]))
    assert first.corpus != second.corpus
    assert first.corpus == clone(first).from_data(texts).corpus


Pair = namedtuple("Pair", ["a", "b"])


class Graph:
    """The part of a networkx graph that its readers need."""

    def __init__(self, labels, edges):
        self.nodes_of = {i: {"label": label} for i, label in enumerate(labels)}
        self.ends = edges
        self.graph = {}

    class View(dict):
        def __call__(self, data=False):
            return list(self.items())

    @property
    def nodes(self):
        return self.View(self.nodes_of)

    def edges(self, data=False):
        return [(u, v, {}) for u, v in self.ends]

    def adjacency(self):
        around = {v: {} for v in self.nodes_of}
        for u, v in self.ends:
            around[u][v] = around[v][u] = {}
        return list(around.items())

    def is_multigraph(self):
        return False


def set_label(graph):
    graph.nodes_of[0]["label"] = "z"


def set_entry(index, value):
    return lambda x: x.__setitem__(index, value)


def changeable():
    """Samples of all kinds, each with a kernel and a change in place."""
    graphs = [Graph("abc", [(0, 1)]), Graph("aab", [(0, 1), (1, 2)])]
    count = Conformal(Covariance([len_of_one]), lambda X: [float(sum(x)) for x in X])
    pairs = Conformal(Covariance([len_of_one]), lambda X: [float(sum(x[0])) for x in X])

    return {
        "tokens": (PSpectrum(1), [list("gatta"), list("cat")], set_entry(1, "q")),
        "nested list": (AllSubtree(), [["a", ["b", "c"]], ["a", "b"]], set_entry(1, "x")),
        "set": (Intersection(), [{1, 2}, {2, 3}], lambda x: x.add(7)),
        "array": (count, [np.arange(3), np.arange(2)], set_entry(1, 9)),
        "array of objects": (
            count,
            [np.array([1, 2], dtype=object), np.array([4, 5], dtype=object)],
            set_entry(1, 9),
        ),
        "named pair": (pairs, [Pair([1, 2], 3), Pair([4], 3)], lambda x: x.a.append(5)),
        "sparse": (count, [sparse.csr_array([[1.0]]), sparse.csr_array([[2.0]])], grow),
        "syntax": (AllSubtree(), [ast.parse("x + 1"), ast.parse("x")], rename),
        "element": (
            AllSubtree(),
            [ET.fromstring("<a><b/><c/></a>"), ET.fromstring("<a><c/></a>")],
            lambda x: x.remove(x[0]),
        ),
        "graph": (WeisfeilerLehman(1), graphs, set_label),
        "dict": (count, [{1: 2}, {3: 4}], set_entry(9, 9)),
    }


def grow(x):
    x.data[0] = 8.0


def rename(x):
    x.body[0].value = ast.Constant(3)


@pytest.mark.invariance
@pytest.mark.parametrize("kind", changeable())
def test_samples_are_identified_by_value(kind):
    """Equal samples count as one; a sample that changes in place counts as new from then on."""
    kernel, X, change = changeable()[kind]
    if kind == "sparse":
        kernel = Conformal(Covariance([len_of_one]), lambda X: [float(x.sum()) for x in X])
    cache = GramCache()
    assert_allclose(cache.values(kernel, X), kernel(X))
    before = cache.n_computed
    again = [copy.deepcopy(x) for x in X]
    assert_allclose(cache.values(kernel, again), kernel(X))
    assert cache.n_computed == before
    stale = kernel(X)
    change(X[0])
    assert not np.allclose(kernel(X), stale)
    assert_allclose(cache.values(kernel, X), kernel(X))


@pytest.mark.invariance
def test_values_of_other_types_have_other_keys():
    ones = [1, 1.0, True, "1", b"1", np.int64(1), np.float64(1), 1j, range(1)]
    arrays = [np.array([1]), np.array([1.0]), np.array([[1]]), np.array([1], dtype=object)]
    matrices = [sparse.csr_array([[1]]), sparse.csr_array([[1.0]])]
    nested = [(1,), [1], {1}, {1: 1}, ("1",), {"1"}, [[1]], (1, (1,)), ((1, 1),), ((1,), 1)]
    empty = [None, [], (), "", {}, set(), np.array([]), [""], ["", ""]]
    others = [
        ["a", "bc"],
        ["ab", "c"],
        float("nan"),
        -0.0,
        0.0,
        len,
        lengths,
        Pair,
        Pair(1, 1),
    ]
    values = [*ones, *arrays, *matrices, *nested, *empty, *others]

    keys = [key_of_sample(x, "x") for x in values]
    assert len(set(keys)) == len(keys)
    assert keys == [key_of_sample(copy.deepcopy(x), "x") for x in values]
    assert key_of_sample(np.str_("a"), "x") == key_of_sample("a", "x")
    several = {f"{i} letters" for i in range(50)}
    assert key_of_sample(several, "x") == key_of_sample(set(sorted(several)), "x")


@pytest.mark.edge
def test_deep_samples_need_no_recursion():
    deep = wide = ("leaf",)
    for _ in range(20_000):
        deep = ("node", deep)
    kernel = Covariance([lambda X: [float(x is deep) for x in X]])
    assert_allclose(GramCache().values(kernel, [deep, wide]), kernel([deep, wide]))
    assert key_of_sample(deep, "x") != key_of_sample(("node", deep), "x")


@pytest.mark.edge
def test_raises_if_a_change_would_go_unnoticed():
    kernel = Conformal(Covariance([len_of_one]), len_of_one)
    made = (i for i in range(3))
    with pytest.raises(TypeError, match="GramCache: sample 1 is of type generator"):
        GramCache().values(kernel, ["a", made])
    by_identity = Conformal(kernel, made)  # such a parameter is compared by identity
    assert key_of_kernel(by_identity) == key_of_kernel(Conformal(kernel, made))
    assert key_of_kernel(by_identity) != key_of_kernel(
        Conformal(kernel, (i for i in range(3)))
    )


@pytest.mark.edge
@pytest.mark.parametrize("max_bytes", [0, 3_000, 20_000, 100_000, 2**20])
def test_memory_is_bounded_at_every_moment(max_bytes, seed):
    rng = np.random.default_rng(seed)
    cache = GramCache(max_bytes)
    kernels = [Intersection(), Intersection({1: 2.0})]
    sets = [frozenset([*rng.integers(9, size=4).tolist(), i + 10]) for i in range(200)]
    for n in (3, 30, 7, 60, 200, 5):
        for kernel in kernels:
            X = [sets[i] for i in rng.integers(200, size=n)]
            assert_allclose(cache.values(kernel, X), kernel(X))
            assert cache._size() <= max_bytes


@pytest.mark.edge
def test_a_small_cache_does_not_allocate_a_large_table():
    def constant(X):
        return np.zeros(len(X))

    cache = GramCache(max_bytes=2**20)
    X = list(range(4000))
    kernel = Covariance([constant])
    cache.values(kernel, X[:100])
    tracemalloc.start()
    cache.values(kernel, X, X[:10])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # keys, lists and the result fit into memory; the square table would take 122 MiB
    assert peak < 6 * 2**20
    assert cache._size() <= 2**20


@pytest.mark.invariance
def test_transformer_with_a_cache_notices_changes_of_the_caller():
    X = [list("gatta"), list("cat"), list("gala")]
    cache = GramCache()
    model = KernelTransformer(AllSubsequences(), cache=cache).fit(X)
    first = model.transform(X)
    X[0][0] = "q"
    assert_array_equal(model.transform([list("gatta")]), first[:1])
    words = [list(word) for word in ("gatta", "cat", "gala")]
    assert_allclose(model.transform(X), AllSubsequences()(X, words))


@pytest.mark.edge
def test_encoded_repeats_its_name():
    assert "sequences" in repr(PSpectrum(1).encode(WORDS))
    assert isinstance(PSpectrum(1).encode(WORDS), Encoded)
