"""Labelled ordered trees of many types as arrays of labels and degrees."""

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skmoderndata._samples.containers import as_samples
from skmoderndata._samples.nested import TRUSTED_NODES, refuse_endless
from skmoderndata._samples.sequences import Packed, joined, pack
from skmoderndata._solvers.common.typing import Array

FORMS = (
    "nested tuples (label, child, ...), a pair (parents, labels), an object with label() that "
    "iterates over its children, an ast node, an ElementTree element or a networkx arborescence"
)


@dataclass(frozen=True, eq=False)
class Forest:
    """A collection of trees: labels and numbers of children of all nodes, in post-order.

    Labels and degrees together determine a tree. Indexing returns a subset, as for `Packed`.

    Attributes
    ----------
    labels : Packed
        Labels of the nodes of each tree.
    degrees : Packed
        Numbers of children.
    """

    labels: Packed
    degrees: Packed

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Array) -> "Forest":
        return Forest(self.labels[indices], self.degrees[indices])


def together(A: Forest, B: Forest | None) -> Forest:
    """Return one collection, the trees of `A` first."""
    if B is None:
        return A
    return Forest(joined(A.labels, B.labels), joined(A.degrees, B.degrees))


def plant(X: Any, name: str = "The kernel") -> Forest:
    """Return trees of any type as one `Forest`.

    Parameters
    ----------
    X : collection of trees
        Samples.
    name : str
        Name of the caller, for error messages.
    """
    labels = []
    degrees = []
    lengths = []
    for i, x in enumerate(as_samples(X, name)):
        of_nodes, n_children = flatten(x, f"{name}: sample {i}")
        labels.append(of_nodes)
        degrees += n_children
        lengths.append(len(of_nodes))

    try:
        packed = pack(labels, name)
    except TypeError as error:
        raise TypeError(f"{error} The symbols are the labels of the nodes.") from None
    ends = np.cumsum(lengths, dtype=np.int64)
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    counts = np.array(degrees, dtype=np.int32)
    return Forest(packed, Packed(counts, offsets, (), "tokens"))


def flatten(tree: Any, name: str = "The tree") -> tuple[list[Hashable], list[int]]:
    """Return labels and numbers of children in post-order.

    The nodes are visited in reverse order, last child first, without recursion, so that trees may
    be deep. A tree that contains itself, or has more than `MAX_NODES` nodes, raises ValueError.
    """
    root, look = _reader(tree, name)
    labels: list[Hashable] = []
    degrees: list[int] = []
    stack = [root]
    while stack:
        label, children = look(stack.pop())
        labels.append(label)
        degrees.append(len(children))
        stack.extend(children)
        if len(labels) == TRUSTED_NODES:
            refuse_endless(root, look, name)
    labels.reverse()
    degrees.reverse()
    return labels, degrees


def _reader(tree: Any, name: str) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """Return the root, and a function from a node to its label and its children."""
    if tree is None or (isinstance(tree, float) and tree != tree):
        raise ValueError(f"{name} is missing ({tree!r}); drop it.")
    if isinstance(tree, str):
        raise TypeError(
            f"{name} is a str, but a tree must be {FORMS}; from_brackets(text) reads "
            '"(S (NP x) (VP y))", and one node is a tuple of one label.'
        )

    # a tree of nltk is also a list, so check for nltk before lists
    if callable(getattr(tree, "label", None)):
        return tree, _nltk_node

    # accept nested tuples, or an array of parents
    if isinstance(tree, list | tuple):
        if len(tree) == 2 and _is_sequence(tree[0]):
            return _parent_array(tree[0], tree[1], name)
        return tree, lambda node: _nested_node(node, name)

    if isinstance(tree, ast.AST):
        return tree, _syntax_node
    if hasattr(tree, "successors") and hasattr(tree, "nodes"):
        return _arborescence(tree, name)
    if hasattr(tree, "tag") and hasattr(tree, "iter"):
        return tree, _element

    raise TypeError(f"{name} is of type {type(tree).__name__}, but a tree must be {FORMS}.")


def _is_sequence(x: Any) -> bool:
    return isinstance(x, list | tuple | np.ndarray)


def _nested_node(node: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(node, list | tuple):
        return node, ()
    if not node:
        raise ValueError(
            f"{name} has an empty {type(node).__name__} for a node; write a leaf as its label."
        )
    if _is_sequence(node[0]):
        raise ValueError(
            f"{name}: a node must begin with its label; one begins with {node[0]!r:.60}."
        )
    return node[0], node[1:]


def _nltk_node(node: Any) -> tuple[Any, Any]:
    if callable(getattr(node, "label", None)):
        return node.label(), list(node)
    return node, ()


def _syntax_node(node: ast.AST) -> tuple[Any, Any]:
    return type(node).__name__, list(ast.iter_child_nodes(node))


def _element(node: Any) -> tuple[Any, Any]:
    return node.tag, list(node)


def _parent_array(parents: Any, labels: Any, name: str) -> tuple[Any, Any]:
    numbers = np.asarray(parents)
    n = len(numbers)
    are_numbers = numbers.ndim == 1 and n > 0 and numbers.dtype.kind in "iu"
    if not are_numbers or not _is_sequence(labels):
        raise ValueError(
            f"{name}: a pair (parents, labels) must be two sequences: the number of the parent "
            "of each node, -1 for the root, and the label of each node."
        )
    if len(labels) != n:
        raise ValueError(f"{name} has {n} parents but {len(labels)} labels.")
    if numbers.min() < -1 or numbers.max() >= n:
        raise ValueError(f"{name} has parents outside -1 to {n - 1}.")

    # list the children of each node
    children: list[list[int]] = [[] for _ in range(n)]
    for node, parent in enumerate(numbers.tolist()):
        if parent >= 0:
            children[parent].append(node)
    root = _only_root(np.flatnonzero(numbers < 0).tolist(), name)
    _refuse_cycles(root, children.__getitem__, n, name)
    names = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return root, lambda node: (names[node], children[node])


def _arborescence(graph: Any, name: str) -> tuple[Any, Any]:
    roots = [v for v in graph.nodes if not any(True for _ in graph.predecessors(v))]
    if any(len(list(graph.predecessors(v))) > 1 for v in graph.nodes):
        raise ValueError(f"{name} is not a tree: some nodes have several parents.")
    root = _only_root(roots, name)
    _refuse_cycles(root, lambda v: list(graph.successors(v)), len(graph.nodes), name)

    def look(node: Any) -> tuple[Any, Any]:
        if "label" not in graph.nodes[node]:
            raise ValueError(f'{name}: node {node!r} has no attribute "label".')
        return graph.nodes[node]["label"], list(graph.successors(node))

    return root, look


def _only_root(roots: list[Any], name: str) -> Any:
    if len(roots) != 1:
        raise ValueError(f"{name} has {len(roots)} roots; a tree must have one.")
    return roots[0]


def _refuse_cycles(root: Any, below: Callable[[Any], list[Any]], n: int, name: str) -> None:
    """Raise ValueError for cycles: with at most one parent, nodes on a cycle are unreachable."""
    stack = [root]
    reached = 0
    while stack:
        reached += 1
        stack.extend(below(stack.pop()))
    if reached < n:
        raise ValueError(f"{name} has {n - reached} nodes on a cycle, not below the root.")


def from_brackets(text: str) -> tuple[Any, ...]:
    """Read a tree from a bracketed string, the format of treebanks.

    Parameters
    ----------
    text : str
        ``"(S (NP x) (VP y))"``: a bracket holds the label of a node and its children; a word is a
        leaf.

    Returns
    -------
    tree : tuple
        Nested tuples ``(label, child, ...)``.

    Examples
    --------
    >>> from skmoderndata.kernels import from_brackets
    >>> from_brackets("(S (NP she) (VP (V sees) (NP him)))")
    ('S', ('NP', 'she'), ('VP', ('V', 'sees'), ('NP', 'him')))
    """
    if not isinstance(text, str):
        raise TypeError(f"from_brackets needs one str, but received a {type(text).__name__}.")
    shown = f"{text!r:.60}"

    # open nodes, the outermost first
    open_nodes: list[list[Any]] = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            open_nodes.append([])
        elif token != ")":
            open_nodes[-1].append(token)
        else:
            node = open_nodes.pop()
            if not open_nodes:
                raise ValueError(f"from_brackets: unmatched closing bracket in {shown}.")
            if not node or not isinstance(node[0], str):
                raise ValueError(f"from_brackets: bracket without a label in {shown}.")
            open_nodes[-1].append(tuple(node))

    # there must be exactly one tree, with nothing after it
    if len(open_nodes) > 1:
        raise ValueError(f"from_brackets: {len(open_nodes) - 1} unclosed brackets in {shown}.")
    (found,) = open_nodes
    if len(found) != 1 or not isinstance(found[0], tuple):
        raise ValueError(f"from_brackets needs one bracket around the tree, received {shown}.")

    return found[0]


def sort_children(tree: Any) -> tuple[list[int], list[Hashable]]:
    """Sort the children of every node, for trees in which their order has no meaning.

    Two trees that differ only in the order of children become equal, so that kernels on ordered
    trees compare them as unordered trees. The result is a different kernel: children with similar
    subtrees need not have similar positions.

    Parameters
    ----------
    tree : tree
        A tree in any form that the kernels on trees accept.

    Returns
    -------
    parents : list of int
        Number of the parent of each node, -1 for the root.
    labels : list
        Labels of the nodes.

    Examples
    --------
    >>> from skmoderndata.kernels import sort_children
    >>> sort_children(("a", "c", ("b", "d"))), sort_children(("a", ("b", "d"), "c"))
    (([-1, 0, 0, 2], ['a', 'c', 'b', 'd']), ([-1, 0, 0, 2], ['a', 'c', 'b', 'd']))
    """
    # group the nodes by their height, children first
    labels, degrees = flatten(tree)
    below: list[list[int]] = []
    levels: list[list[int]] = []  # nodes by their height
    order: list[
        tuple[int, int]
    ] = []  # for each node, the height of its subtree and its rank among the nodes of this height
    stack: list[int] = []
    for node, degree in enumerate(degrees):
        below.append(stack[len(stack) - degree :])
        del stack[len(stack) - degree :]
        height = 1 + max((order[c][0] for c in below[node]), default=-1)
        order.append((height, 0))
        if height == len(levels):
            levels.append([])
        levels[height].append(node)
        stack.append(node)

    # rank the subtrees of each height by their label and the ranks of their children
    for height, level in enumerate(levels):
        content = {}
        for node in level:
            below[node].sort(key=order.__getitem__)
            label = labels[node]
            parts = tuple(order[c] for c in below[node])
            content[node] = (type(label).__name__, repr(label), parts)
        rank = {entry: i for i, entry in enumerate(sorted(set(content.values())))}
        for node in level:
            order[node] = (height, rank[content[node]])

    # write the sorted tree in preorder
    parents: list[int] = []
    names: list[Hashable] = []
    waiting = [(len(labels) - 1, -1)]
    while waiting:
        node, parent = waiting.pop()
        waiting.extend((child, len(parents)) for child in reversed(below[node]))
        parents.append(parent)
        names.append(labels[node])
    return parents, names
