"""Evidence that nested samples end, in little memory, and are copied whole."""

import ast
import threading
import time
import tracemalloc
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from skmoderndata._samples import nested
from skmoderndata._samples.nested import copied
from skmoderndata._samples.trees import flatten
from skmoderndata.kernels import (
    AllSubtree,
    CompleteSubtree,
    GramCache,
    sort_children,
)
from skmoderndata.preprocessing import KernelTransformer


class Labelled(list):
    """A tree as nltk has them."""

    def __init__(self, label, children=()):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def own_list():
    tree = ["a", ["b"]]
    tree[1].append(tree)
    return tree


def own_tuple():
    below = ["b"]
    tree = ("a", below)
    below.append(tree)
    return tree


def own_syntax():
    tree = ast.parse("x + 1")
    tree.body[0].value.left = tree.body[0]
    return tree


def own_element():
    tree = ET.fromstring("<a><b/><c/></a>")
    tree[1].append(tree)
    return tree


def own_labelled():
    tree = Labelled("a", [Labelled("b"), "leaf"])
    tree[0].append(tree)
    return tree


def own_far_below():
    """After more nodes than are trusted."""
    tree = ["a", *([["b", "c"]] * nested.TRUSTED_NODES)]
    end = ["z"]
    end.append(end)
    return [*tree, end]


ENDLESS = [own_list, own_tuple, own_syntax, own_element, own_labelled, own_far_below]


def doubled(make, n=28):
    tree = make("leaf", [])
    for _ in range(n):
        tree = make("node", [tree, tree])
    return tree


def element(label, children):
    tree = ET.Element(label)
    tree.extend(children)
    return tree


SHARED = {
    "list": lambda label, children: [label, *children],
    "tuple": lambda label, children: (label, *children),
    "labelled": Labelled,
    "element": element,
}


def is_refused(call, message):
    start = time.perf_counter()
    with pytest.raises(ValueError, match=message):
        call()
    assert time.perf_counter() - start < 20  # the check takes .3 s


@pytest.mark.edge
@pytest.mark.parametrize("make", ENDLESS)
def test_a_tree_that_contains_itself_is_rejected(make):
    tree = make()
    is_refused(lambda: AllSubtree()([tree]), "sample 0 contains itself")
    is_refused(lambda: sort_children(tree), "contains itself")
    is_refused(lambda: KernelTransformer(AllSubtree()).fit([tree]), "contains itself")


@pytest.mark.edge
@pytest.mark.parametrize("kind", SHARED)
def test_shared_subtrees_without_limit_are_rejected(kind):
    """28 objects that stand for 2^29 - 1 nodes: the error names the limit."""
    tree = doubled(SHARED[kind])
    is_refused(lambda: CompleteSubtree()([tree]), "sample 0 has more than 10,000,000 nodes")
    small = doubled(SHARED[kind], 5)
    assert CompleteSubtree()([small]).shape == (1, 1)
    is_refused(lambda: GramCache().values(AllSubtree(), [tree]), "more than 10,000,000")


@pytest.mark.edge
@pytest.mark.parametrize("make", [own_list, lambda: doubled(SHARED["tuple"])])
def test_refusals_take_little_memory(make):
    tree = make()
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"contains itself|more than"):
        flatten(tree)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


@pytest.mark.edge
def test_many_finite_nodes_are_accepted(monkeypatch):
    """Long and deep trees pass the count, which is exact."""
    deep = ("leaf",)
    for _ in range(150_000):
        deep = ("node", deep)
    wide = ("root", *[("a", "b")] * 70_000)
    assert len(flatten(deep)[0]) == 150_001
    assert len(flatten(wide)[0]) == 140_001
    monkeypatch.setattr(nested, "MAX_NODES", 140_001)
    assert len(flatten(wide)[0]) == 140_001
    monkeypatch.setattr(nested, "MAX_NODES", 140_000)
    with pytest.raises(ValueError, match="more than 140,000 nodes"):
        flatten(wide)


class Fresh:
    """A node that makes its children anew at each access, without end."""

    def label(self):
        return "a"

    def __iter__(self):
        return iter([Fresh()])


@pytest.mark.edge
def test_endless_children_on_demand_raise(monkeypatch):
    monkeypatch.setattr(nested, "MAX_NODES", 200_000)
    with pytest.raises(ValueError, match="more than 200,000 nodes"):
        flatten(Fresh())


@pytest.mark.invariance
@pytest.mark.parametrize(
    "x",
    [
        *(
            "text",
            b"bytes",
            3,
            None,
            2.5,
            (1, 2),
            frozenset({1}),
            [1, "a"],
            {1, 2},
            {"a": [1]},
        ),
        *([[1], [2, [3]]], ([1], (2, 3)), np.arange(3), np.array([[1], [2, 3]], dtype=object)),
        *([np.arange(3), (np.arange(2), "a")], bytearray(b"ab"), ast.parse("x"), own_list()),
    ],
    ids=lambda x: str(x)[:20],
)
def test_copies_are_equal_and_share_nothing_that_changes(x):
    y = copied(x)
    assert type(y) is type(x)
    assert repr(y) == repr(x) or isinstance(x, ast.AST)
    flat = isinstance(x, tuple) and not isinstance(x[0], list)
    assert (y is x) == (flat or isinstance(x, str | bytes | int | float | frozenset | None))
    if isinstance(x, list) and isinstance(x[0], list):
        assert y[0] is not x[0]
    if isinstance(x, tuple) and isinstance(x[0], list):
        assert y[0] is not x[0]
        assert y[1] is x[1]


@pytest.mark.invariance
def test_parts_that_occur_twice_are_copied_once():
    tree = doubled(SHARED["list"], 40)
    again = copied(tree)
    assert again[1] is again[2]
    assert again[1] is not tree[1]
    loop = copied(own_list())
    assert loop[1][1] is loop


@pytest.mark.edge
def test_deep_samples_are_copied_without_recursion():
    deep = ["leaf"]
    root = ET.Element("leaf", {"a": "b"})
    for _ in range(100_000):
        deep = ["node", deep]
        below = root
        root = ET.Element("node")
        root.append(below)
    again = copied(deep)
    deep[1][0] = "changed"
    assert again[1][0] == "node"
    element = copied(root)
    root[0].tag = "changed"
    assert element[0].tag == "node"
    assert len(flatten(element)[0]) == 100_001
    # release the levels one by one, because a deep structure must not be released at once
    while len(root):
        root = root[0]


@pytest.mark.edge
def test_objects_that_cannot_be_copied_are_kept():
    lock = threading.Lock()
    again = copied([lock, [1]])
    assert again[0] is lock


@pytest.mark.invariance
def test_endless_samples_of_other_kernels_are_copied():
    """Only trees must end."""
    x = [1, 2]
    x.append(x)
    again = copied(x)
    assert again is not x
    assert again[2] is again
