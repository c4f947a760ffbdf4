"""Evidence that kernels on trees and structures match their definitions in every form."""

import ast
import copy
import subprocess
import sys
import warnings
from itertools import combinations, pairwise
from math import log
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata._solvers.trees.interning import number_rows
from skmoderndata.cluster import KernelKMeans
from skmoderndata.decomposition import KernelPCAOutlierDetector
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import (
    ANOVA,
    AllSubtree,
    CompleteSubtree,
    Convolution,
    CoRootedSubtree,
    GramCache,
    Mismatch,
    Normalized,
    PSpectrum,
    WeisfeilerLehman,
    from_brackets,
    sort_children,
)
from skmoderndata.neighbors import KernelNearestCentroid
from skmoderndata.preprocessing import KernelTransformer, SampleColumn
from tests.oracles.structure_twins import graphs
from tests.oracles.tree_twins import parts, subtrees, trees

T1 = ("a", ("b", "d", "e"), "c")
T2 = ("a", ("b", "d", "f"), ("c", "g"))
ON_TREES = [CoRootedSubtree(decay=0.5), AllSubtree(decay=0.3), CompleteSubtree(0.7)]
each = pytest.mark.parametrize("kernel", ON_TREES, ids=lambda k: type(k).__name__)


def graph_families(n, seed=0):
    """Rings and stars of carbon with the same labels."""
    y = np.arange(n) % 2
    rng = np.random.default_rng(seed)
    found = []
    for label in y:
        size = int(rng.integers(4, 9))
        ring = [(v, (v + 1) % size) for v in range(size)]
        star = [(0, v) for v in range(1, size)]
        found.append((["C"] * size, ring if label else star))
    return found, y


def tree_families(n, seed=0):
    """Trees with the same labels, in which the order of two subtrees determines the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    found = []
    for label in y:
        noun = ("N", str(rng.choice(["x", "y"])))
        verb = ("V", str(rng.choice(["u", "v"])))
        inner = ("P", noun, verb) if label else ("P", verb, noun)
        found.append(("S", inner, ("Q", str(rng.choice(["s", "t"])))))
    return found, y


class Node:
    """A tree with the interface of nltk.Tree."""

    def __init__(self, name, children):
        self.name = name
        self.children = children

    def label(self):
        return self.name

    def __iter__(self):
        return iter(self.children)


class DirectedGraph:
    """A graph with the interface of networkx.DiGraph."""

    def __init__(self, tree):
        self.nodes = {}
        self.below = {}
        self._add(tree)

    def _add(self, tree):
        label, children = parts(tree)
        v = 10 * len(self.nodes)
        self.nodes[v] = {"label": label}
        self.below[v] = []
        for child in children:
            self.below[v].append(self._add(child))
        return v

    def successors(self, v):
        return iter(self.below[v])

    def predecessors(self, v):
        return iter(u for u in self.below if v in self.below[u])


def as_lists(tree):
    label, children = parts(tree)
    return [label, *map(as_lists, children)] if children else label


def as_parents(tree):
    parents = []
    labels = []

    def walk(tree, parent):
        label, children = parts(tree)
        here = len(parents)
        parents.append(parent)
        labels.append(label)
        for child in children:
            walk(child, here)

    walk(tree, -1)
    return parents, labels


def as_nodes(tree):
    label, children = parts(tree)
    return Node(label, [as_nodes(c) for c in children]) if children else label


def as_element(tree):
    label, children = parts(tree)
    element = ElementTree.Element(label)
    element.extend([as_element(child) for child in children])
    return element


def as_brackets(tree):
    label, children = parts(tree)
    return f"({label} {' '.join(map(as_brackets, children))})" if children else label


@pytest.mark.paper
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (CoRootedSubtree(labelled=False), [[2, 2], [2, 4]]),
        (AllSubtree(labelled=False), [[5, 5], [5, 8]]),
        (CoRootedSubtree(), [[2, 1], [1, 4]]),
        (AllSubtree(), [[3, 1], [1, 6]]),
        (CoRootedSubtree(match="node"), [[2, 2], [2, 4]]),
        (AllSubtree(match="node"), [[3, 3], [3, 6]]),
        (AllSubtree(include_leaves=True), [[6, 2], [2, 9]]),
        (CompleteSubtree(), [[5, 1], [1, 6]]),
    ],
    ids=repr,
)
def test_worked_examples(kernel, expected):
    assert_array_equal(kernel([T1, T2]), expected)


@pytest.mark.oracle
def test_all_subtrees_as_a_convolution(seed):
    """Haussler's kernel with all subtrees as parts, compared by equality."""
    X = trees(np.random.default_rng(seed), 6)

    def decompose(tree):
        if isinstance(tree, tuple):
            yield from ((None, (part,)) for part, _ in subtrees(AllSubtree(), tree))
            for child in tree[1:]:
                yield from decompose(child)

    assert_array_equal(AllSubtree()(X), Convolution(decompose, [None])(X))


@pytest.mark.oracle
def test_products_of_coordinates_as_a_convolution(seed):
    """All pairs of coordinates, each with a product, make the ANOVA kernel of degree two."""

    def decompose(x):
        return [(d, [x[i] for i in d]) for d in combinations(range(len(x)), 2)]

    X = np.random.default_rng(seed).normal(size=(5, 4))
    linear = DotProduct(sigma_0=0.0)
    kinds = list(combinations(range(4), 2))
    kernel = Convolution(decompose, {kind: [linear, linear] for kind in kinds})
    assert_allclose(kernel(list(X)), ANOVA(2)(X), rtol=1e-12, atol=1e-12)


@pytest.mark.oracle
def test_equal_rows_get_equal_numbers(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, size=3000)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.integers(-(2**62), 2**62, size=50)[rng.integers(50, size=starts[-1])]
    numbers, n = number_rows(values, starts)
    rows = [tuple(values[a:b].tolist()) for a, b in pairwise(starts)]
    known = {}
    assert_array_equal(numbers, [known.setdefault(row, len(known)) for row in rows])
    assert n == len(known)


def full(depth, label="a"):
    """Binary tree as parents and labels; node v has the children 2 v + 1 and 2 v + 2."""
    n = 2 ** (depth + 1) - 1
    return [(v - 1) // 2 for v in range(n)], [label] * n


@pytest.mark.oracle
def test_counts_beyond_the_range_of_numbers():
    """Binary trees of one label: Delta depends on the smaller height, in whole numbers."""
    delta = [0]
    for _ in range(13):
        delta.append((1 + delta[-1]) ** 2)
    for a, b in ((3, 4), (9, 9), (12, 11), (12, 12)):
        sizes = [(g, h) for g in range(1, a + 1) for h in range(1, b + 1)]
        exact = {
            AllSubtree: sum(2 ** (a - g + b - h) * delta[min(g, h)] for g, h in sizes),
            CoRootedSubtree: delta[min(a, b)],
        }
        for cls, value in exact.items():
            left, right = (cls().encode([full(depth)]).form for depth in (a, b))
            shift = max(0, value.bit_length() - 60)
            expected = log(value >> shift) + shift * log(2.0)
            assert cls()._log_gram(left, right)[0, 0] == pytest.approx(expected, rel=1e-12)
    assert np.isinf(AllSubtree()([full(12)])[0, 0])
    assert np.isinf(CoRootedSubtree()([full(12)])[0, 0])


@pytest.mark.few(1)
@pytest.mark.certificate
@pytest.mark.parametrize(
    "kernel",
    [
        AllSubtree(),
        AllSubtree(include_leaves=True),
        CoRootedSubtree(),
        AllSubtree(labelled=False),
    ],
    ids=repr,
)
def test_normalised_large_trees_are_finite(kernel, seed):
    X = [*trees(np.random.default_rng(seed), 5), full(4), full(12), full(12, "b"), ("a",)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = Normalized(kernel)(X)
        assert_array_equal(Normalized(kernel).diag(X), np.diag(K))
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K)[0] > -1e-8
    small = kernel(X[:6])
    d = np.sqrt(np.maximum(np.diag(small), 1e-300))
    assert_allclose(K[:6, :6], small / np.outer(d, d), atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", [CompleteSubtree(0.5), WeisfeilerLehman(2)], ids=repr)
def test_products_of_features_equal_the_kernel(kernel, seed):
    rng = np.random.default_rng(seed)
    draw = trees if isinstance(kernel, CompleteSubtree) else graphs
    X = draw(rng, 9)
    Y = draw(rng, 5)
    A, B = kernel.features(X, Y)
    assert_allclose((A @ B.T).toarray(), kernel(X, Y), rtol=1e-13)
    own = kernel.features(X)
    assert_allclose((own @ own.T).toarray(), kernel(X), rtol=1e-13)


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("kernel", "families", "name", "values"),
    [
        (AllSubtree(), tree_families, "labelled", [False, True]),
        (WeisfeilerLehman(), graph_families, "n_iter", [0, 1]),
    ],
    ids=["trees", "graphs"],
)
def test_structure_is_learnt(kernel, families, name, values):
    """Labels are the same in both classes; only their neighbours distinguish the classes."""
    X, y = families(60)
    model = make_pipeline(KernelTransformer(Normalized(kernel)), SVC(kernel="precomputed"))
    grid = {f"kerneltransformer__kernel__kernel__{name}": values}
    found = GridSearchCV(model, grid, cv=4).fit(X, y)
    assert list(found.best_params_.values()) == [values[1]]
    assert found.cv_results_["mean_test_score"][0] < 0.7
    assert found.best_score_ > 0.95


@pytest.mark.invariance
@each
def test_all_forms_and_containers_give_the_same_matrix(kernel, seed):
    X = trees(np.random.default_rng(seed), 8)
    K = kernel(X)

    objects = np.empty(8, dtype=object)
    objects[:] = X
    forms = [
        [as_lists(x) if isinstance(as_lists(x), list) else [x[0]] for x in X],
        [as_parents(x) for x in X],
        [tuple(map(np.array, as_parents(x))) for x in X],
        [Node(x[0], [as_nodes(c) for c in x[1:]]) for x in X],
        [as_element(x) for x in X],
        [DirectedGraph(x) for x in X],
        [from_brackets(as_brackets(x)) if len(x) > 1 else x for x in X],
        [as_parents(X[0]), *X[1:4], *map(as_element, X[4:])],
        # pass trees as nested sequences in each container
        tuple(X),
        objects,
        pd.Series(objects, index=range(5, 13)),
        pl.Series(values=X, dtype=pl.Object),
        SampleColumn().fit_transform(X),
        kernel.encode(X),
    ]

    for other in forms:
        assert_array_equal(kernel(other), K)
        assert_allclose(kernel(X[:3], other), K[:3], rtol=1e-13)
        assert_array_equal(kernel.diag(other), np.diag(K))

    encoded = kernel.encode(X)
    assert_array_equal(kernel(encoded[[5, 2]], encoded[3:]), kernel([X[5], X[2]], X[3:]))


@pytest.mark.invariance
def test_parents_in_any_order_and_children_by_position():
    # the children of a are c and b
    parents = [2, 4, -1, 4, 2]
    labels = ["c", "d", "a", "e", "b"]
    tree = ("a", "c", ("b", "d", "e"))
    assert_array_equal(AllSubtree()([(parents, labels)], [tree]), AllSubtree()([tree]))


@pytest.mark.invariance
def test_syntax_trees_are_trees_of_classes():
    tree = ast.parse("f(x)").body[0].value
    nested = ("Call", ("Name", "Load"), ("Name", "Load"))
    assert_array_equal(
        AllSubtree()([tree, nested]), np.full((2, 2), AllSubtree()([nested])[0, 0])
    )


@pytest.mark.invariance
@each
def test_deep_trees_need_no_recursion(kernel):
    n = 10_000
    chain = ([v - 1 for v in range(n)], list(range(n)))
    nested = n - 1
    for label in reversed(range(n - 1)):
        nested = (label, nested)
    K = Normalized(kernel)([chain, nested])
    assert_allclose(K, 1.0, rtol=1e-9)
    assert sort_children(chain) == chain


@pytest.mark.invariance
def test_sorted_children_make_unordered_trees(seed):
    rng = np.random.default_rng(seed)

    def shuffled(tree):
        label, children = parts(tree)
        order = rng.permutation(len(children))
        return (label, *(shuffled(children[i]) for i in order)) if children else label

    X = [tree for tree in trees(rng, 12) if len(tree) > 1]
    for tree in X:
        assert sort_children(shuffled(tree)) == sort_children(tree)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "kernel",
    [*ON_TREES, WeisfeilerLehman(2), Convolution(lambda x: [(0, (x,))], [None])],
    ids=lambda kernel: (
        type(kernel).__name__ if isinstance(kernel, Convolution) else repr(kernel)
    ),
)
def test_values_do_not_depend_on_the_collection(kernel, seed):
    rng = np.random.default_rng(seed)
    draw = trees if type(kernel).__name__.endswith("Subtree") else graphs
    if isinstance(kernel, Convolution):
        X = list("abcab")
        Y = list("bcx")
    else:
        X = draw(rng, 9)
        Y = draw(rng, 7)
    K = kernel(X, Y)
    assert_array_equal(K, [[kernel([x], [y])[0, 0] for y in Y] for x in X])


@pytest.mark.invariance
def test_blocks_of_samples_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("abcd"), size=12)) for _ in range(15)]
    kernel = Convolution(
        lambda x: [("part", (x[i : i + 3], [float(i)])) for i in range(9)],
        [Mismatch(2, 1, "abcd"), DotProduct()],
    )
    K = kernel(X)
    with sklearn.config_context(working_memory=1e-6):
        assert_array_equal(kernel(X), K)


@pytest.mark.invariance
def test_convolution_settles_its_kernels():
    def decompose(x):
        return [("half", (x[:2],)), ("whole", (x,))]

    kernel = Convolution(
        decompose, {"half": [Mismatch(2, 1)], "whole": [None], "none": [None]}
    )
    settled = kernel.from_data(["abcd", "cbxy"])
    assert settled.kernels["half"][0].alphabet == "abc"
    assert settled.kernels["whole"] == [None]
    assert (
        Convolution(decompose, [Mismatch(2, 1)]).from_data(["ab"]).kernels[0].alphabet == "ab"
    )


class Counting(AllSubtree):
    n_encoded = 0

    def _check(self, X):
        Counting.n_encoded += len(X)
        return super()._check(X)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("same", "other"),
    [
        ([1, 2], [2, 1]),
        ([1, [2, 3]], [1, [2, 4]]),
        (np.array([1.0, 2.0]), np.array([[1.0, 2.0]])),
        (np.array([1.0, np.nan]), np.array([1.0, 1.0])),
        ({1, 2}, {1, 3}),
        ({"a": [1]}, {"a": [2]}),
        ((1, [2]), (1, [3])),
        (sparse.csr_array([[1.0]]), sparse.csr_array([[2.0]])),
    ],
    ids=repr,
)
def test_equal_parts_need_not_be_hashable(same, other):
    kernel = Convolution(lambda x: [("part", (part,)) for part in x], [None])
    X = [[same, other], [copy.deepcopy(same)], [other]]
    assert_array_equal(kernel(X), [[2, 1, 1], [1, 1, 0], [1, 0, 1]])
    assert_array_equal(kernel(X[1:], X), kernel(X)[1:])
    assert_array_equal(kernel.diag(X), [2, 1, 1])


@pytest.mark.certificate
@pytest.mark.parametrize(
    "make",
    [
        lambda k: make_pipeline(KernelTransformer(Normalized(k)), SVC(kernel="precomputed")),
        lambda k: KernelKMeans(2, kernel=k, random_state=0),
        lambda k: KernelNearestCentroid(kernel=k),
        lambda k: KernelPCAOutlierDetector(kernel=k, n_components=2),
        lambda k: IncompleteCholesky(kernel=k, n_components=4),
    ],
    ids=["transformer", "kmeans", "centroid", "novelty", "cholesky"],
)
def test_a_fit_encodes_each_sample_once(make):
    X, y = tree_families(40)
    Counting.n_encoded = 0
    make(Counting(decay=0.5)).fit(X, y)
    assert Counting.n_encoded == 40


@pytest.mark.invariance
@pytest.mark.parametrize(
    ("kernel", "families"),
    [(Normalized(AllSubtree()), tree_families), (WeisfeilerLehman(1), graph_families)],
    ids=["trees", "graphs"],
)
@pytest.mark.parametrize(
    "estimator",
    [KernelKMeans(2, random_state=0), KernelNearestCentroid(), SVC()],
    ids=lambda e: type(e).__name__,
)
def test_estimators_accept_every_container(estimator, kernel, families):
    X, y = families(20)
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    series = pd.Series(objects), pl.Series(values=X, dtype=pl.Object)
    results = []
    for samples in (X, tuple(X), objects, *series, SampleColumn().fit_transform(X)):
        if isinstance(estimator, SVC) and isinstance(samples, tuple):
            samples = list(samples)
        results.append(
            clone(estimator).set_params(kernel=kernel).fit(samples, y).predict(samples)
        )
    for other in results[1:]:
        assert_array_equal(other, results[0])


@pytest.mark.certificate
def test_a_grid_computes_each_value_once():
    X = [("S", tree, str(i)) for i, tree in enumerate(tree_families(24)[0])]
    y = np.arange(24) % 2
    cache = GramCache()
    step = KernelTransformer(AllSubtree(), cache=cache)
    grid = {"kerneltransformer__kernel__decay": [0.1, 1.0], "svc__C": [0.1, 1, 10]}
    GridSearchCV(make_pipeline(step, SVC(kernel="precomputed")), grid, cv=3).fit(X, y)
    assert cache.n_computed <= 2 * 24**2


class Graph:
    """A graph with the interface of a networkx graph."""

    def __init__(self, labels, edges, kinds, several=False):
        self.nodes = {f"n{i}": {"label": label} for i, label in enumerate(labels)}
        self.around = {v: {} for v in self.nodes}
        self.several = several
        for (u, v), kind in zip(edges, kinds, strict=True):
            data = {"label": kind}
            for a, b in ((u, v), (v, u)):
                self.around[f"n{a}"][f"n{b}"] = {0: data} if several else data

    def adjacency(self):
        return iter(self.around.items())

    def is_multigraph(self):
        return self.several


@pytest.mark.invariance
@pytest.mark.parametrize("edge_labels", [False, True])
def test_forms_of_graphs_give_the_same_matrix(edge_labels, seed):
    X = graphs(np.random.default_rng(seed), 8)
    kernel = WeisfeilerLehman(2, edge_labels=edge_labels)
    K = kernel(X)
    assert_array_equal(kernel([Graph(*x) for x in X]), K)
    assert_array_equal(kernel([Graph(*x, several=True) for x in X]), K)
    assert_array_equal(kernel([(np.array(x[0]), np.array(x[1]), x[2]) for x in X]), K)
    assert_array_equal(kernel(X, kernel.encode(X)[2:]), K[:, 2:])
    assert_array_equal(kernel(X, [(["Zn"], [])]), 0.0)  # this label does not occur in X


@pytest.mark.invariance
def test_numbers_of_nodes_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = graphs(rng, 6)
    Y = []
    for labels, edges, kinds in X:
        order = rng.permutation(len(labels))
        place = np.argsort(order)
        moved = [(int(place[u]), int(place[v])) for u, v in edges]
        Y.append(([labels[i] for i in order], moved, kinds))
    assert_array_equal(WeisfeilerLehman(3)(X, Y), WeisfeilerLehman(3)(X))


# ---- borders and bad input ------------------------------------------------------------------


@pytest.mark.edge
@each
def test_single_nodes_and_empty_collections(kernel):
    assert kernel([]).shape == (0, 0)
    assert kernel([], [T1]).shape == (0, 1)
    assert kernel.diag([]).shape == (0,)
    alone = float(isinstance(kernel, CompleteSubtree))
    K = kernel([("a",), ("z",), T1])
    assert_array_equal(K[:2, :2], alone * np.eye(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(np.diag(Normalized(kernel)([("a",), T1])), [alone, 1.0])


@pytest.mark.edge
def test_graphs_without_nodes_or_edges():
    K = WeisfeilerLehman()([([], []), (["a"], []), (["a"], [(0, 0)])])
    assert_array_equal(K, [[0, 0, 0], [0, 4, 1], [0, 1, 4]])
    assert WeisfeilerLehman()([]).shape == (0, 0)
    assert_array_equal(
        np.diag(Normalized(WeisfeilerLehman())([([], []), (["a"], [])])), [0, 1]
    )
    assert Convolution(lambda x: [], [None])([1, 2]).sum() == 0


def graph(**changes):
    found = DirectedGraph(T1)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([T1, None], ValueError, "sample 1 is missing"),
        ([float("nan")], ValueError, "sample 0 is missing"),
        (["(S x)"], TypeError, "from_brackets"),
        ([3], TypeError, "sample 0 is of type int, but a tree must be nested tuples"),
        ([()], ValueError, "sample 0 has an empty tuple for a node"),
        ([("a", [])], ValueError, "an empty list for a node"),
        ([("a", (("b", "c"), "d"))], ValueError, "begin with its label"),
        ([([-1, 0], ["a"])], ValueError, "2 parents but 1 labels"),
        ([([-1, 2], ["a", "b"])], ValueError, "outside -1 to 1"),
        ([([-1, -1], ["a", "b"])], ValueError, "has 2 roots"),
        ([([1, 0], ["a", "b"])], ValueError, "has 0 roots"),
        ([([-1, 2, 1], ["a", "b", "c"])], ValueError, "2 nodes on a cycle"),
        ([([-1.0, 0.0], ["a", "b"])], ValueError, "number of the parent of each node"),
        ([({"a"}, "b")], TypeError, "unhashable"),
        (
            [graph(nodes={0: {}, 10: {}, 20: {}, 30: {}, 40: {}})],
            ValueError,
            'attribute "label"',
        ),
        ([graph(below={0: [10], 10: [20], 20: [], 30: [20], 40: []})], ValueError, "several"),
        (
            [graph(below={0: [10], 10: [], 20: [30], 30: [20], 40: [0]})],
            ValueError,
            "on a cycle",
        ),
        (pd.DataFrame({"a": [T1], "b": [T2]}), ValueError, "select one column"),
        (np.array([["x", "y"]], dtype=object), ValueError, "select one column"),
    ],
)
def test_raises_on_invalid_trees(X, error, message):
    with pytest.raises(error, match=message):
        AllSubtree()(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S x", "one bracket around the tree"),
        ("(S x) (S y)", "one bracket around the tree"),
        ("(S (NP x)", "1 unclosed brackets"),
        ("(S x))", "unmatched closing bracket"),
        ("(S ())", "without a label"),
        ("((S x) y)", "without a label"),
    ],
)
def test_raises_on_invalid_brackets(text, message):
    with pytest.raises(ValueError, match=message):
        from_brackets(text)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["CCO"], TypeError, "sample 0 is of type str; pass a networkx graph"),
        ([(["a"], [(0, 1)])], ValueError, "outside 0 to 0"),
        ([(["a"], [0])], ValueError, "pairs of node numbers"),
        ([(["a"], [(0.0, 0.5)])], ValueError, "pairs of node numbers"),
        ([(["a", "b"], [(0, 1)], [])], ValueError, "1 edges and 0 edge labels"),
        (
            [(["a"], []), (["a", "b"], [(0, 1)])],
            ValueError,
            "sample 1 has edges without a label",
        ),
        (
            [SimpleNamespace(nodes={0: {}}, adjacency=dict)],
            ValueError,
            'node 0 has no attribute "label"',
        ),
        ([None], TypeError, "of type NoneType"),
    ],
)
def test_raises_on_invalid_graphs(X, error, message):
    with pytest.raises(error, match=message):
        WeisfeilerLehman(edge_labels=True)(X)


def one_part(x):
    return [("t", (x,))]


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (AllSubtree(decay=0.0), "above 0 and at most 1"),
        (AllSubtree(decay=1.5), "decay=1.5"),
        (AllSubtree(match="label"), "one of 'children', 'node'"),
        (AllSubtree(labelled="yes"), "one of True, False"),
        (AllSubtree(include_leaves=2), "one of True, False"),
        (CoRootedSubtree(decay=-1.0), "decay=-1.0"),
        (CompleteSubtree(2.0), "decay=2.0"),
        (WeisfeilerLehman(-1), "n_iter=-1"),
        (WeisfeilerLehman(1, "yes"), "one of True, False"),
        (Convolution("abc", [None]), "a function from a sample"),
        (Convolution(one_part, []), "a list of kernels"),
        (Convolution(one_part, {"s": [None]}), "yields the type 't'"),
        (Convolution(one_part, [None, PSpectrum()]), "1 parts of the type 't' for sample 0"),
    ],
    ids=lambda x: repr(x)[:40],
)
def test_raises_on_invalid_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel([T1])


@pytest.mark.edge
def test_memory_of_long_chains():
    """A chain of n equal nodes has n^2 pairs: 288 MB for one number each."""
    code = """
import resource
from skmoderndata.kernels import AllSubtree

def memory(n):
    chain = ([v - 1 for v in range(n)], ["a"] * n)
    value = AllSubtree(decay=0.5)([chain])[0, 0]
    return value, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

_, before = memory(5)
value, after = memory(6000)
print(value, (after - before) / 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    value, megabytes = map(float, done.stdout.split())
    # Delta is 1 - 2^-h for the smaller height h of two nodes
    heights = np.arange(1, 6000)
    expected = ((1 - 0.5**heights) * (2 * (5999 - heights) + 1)).sum()
    assert_allclose(value, expected, rtol=1e-12)
    assert megabytes < 20
