"""Nested samples without recursion: errors for endless samples, and deep copies."""

import copy
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

# Maximum number of nodes of a sample.
MAX_NODES = 10_000_000

# Number of nodes that are visited before checking whether the sample is finite; this many nodes
# take .1 s and 16 MB.
TRUSTED_NODES = 100_000
ATOMS = frozenset({str, bytes, int, float, complex, bool, type(None), frozenset})

Look = Callable[[Any], tuple[Any, Any]]


def refuse_endless(root: Any, look: Look, name: str) -> None:
    """Raise ValueError if a sample contains itself, or has more than `MAX_NODES` nodes.

    A part that occurs several times counts each time: 28 tuples can represent 2^28 nodes. The time
    grows with the number of distinct nodes.

    Parameters
    ----------
    root : object
        The top node.
    look : callable
        ``look(node)`` returns a description and the sequence of the nodes below.
    name : str
        Name of the sample, for error messages.
    """
    sizes: dict[int, int] = {}  # number of nodes in the subtree of each finished node
    alive = {id(root): root}  # keep visited nodes alive, so that no id is used twice
    path = [(root, iter(look(root)[1]))]
    total = [1]  # number of nodes counted so far in the subtree of each node of the path

    # search depth first: the path contains the nodes whose children are being visited
    while path:
        node, below = path[-1]
        child = next(below, path)
        if child is path:  # all children have been visited
            path.pop()
            sizes[id(node)] = size = total.pop()
            if path:
                total[-1] += size
        elif id(child) in sizes:
            total[-1] += sizes[id(child)]
        elif id(child) in alive:
            raise ValueError(
                f"{name} contains itself: one of its nodes is below itself. A tree must end."
            )
        else:
            alive[id(child)] = child
            path.append((child, iter(look(child)[1])))
            total.append(1)

        if len(alive) > MAX_NODES or (path and total[-1] > MAX_NODES):
            raise ValueError(
                f"{name} has more than {MAX_NODES:,} nodes, the limit; a part that occurs "
                "several times counts each time. Split it, or cut it off at some depth."
            )


def copied(x: Any) -> Any:
    """Return a copy of a sample, down to its numbers and strings, without recursion.

    Immutable parts are not copied, and neither are objects that cannot be copied.
    """
    if type(x) in ATOMS:
        return x
    if type(x) is list and ATOMS.issuperset(map(type, x)):
        return x.copy()
    if type(x) is np.ndarray and x.dtype != object:
        return x.copy()

    copies: dict[int, Any] = {}
    levels: dict[int, int] = {}  # level of each list or tuple whose entries are being copied
    waiting = [x]

    # copy entries first, then the list or tuple that contains them
    while waiting:
        node = waiting[-1]
        kind = type(node)
        level = len(waiting) - 1
        if id(node) in copies or kind in ATOMS:
            waiting.pop()
        elif kind not in (list, tuple):
            copies[id(node)] = _copy_of_object(waiting.pop())
        elif id(node) not in levels:
            levels[id(node)] = level
            waiting.extend(node)
        elif levels[id(node)] != level:  # the node contains itself
            return copy.deepcopy(x)
        else:  # all entries of the list or tuple have been copied
            entries = [v if type(v) in ATOMS else copies[id(v)] for v in waiting.pop()]
            changed = any(a is not b for a, b in zip(entries, node, strict=True))
            copies[id(node)] = kind(entries) if changed or kind is list else node
    return copies[id(x)]


def _copy_of_object(x: Any) -> Any:
    if type(x) in (set, bytearray):
        return x.copy()
    if isinstance(x, ElementTree.Element):
        return _copy_of_element(x)
    try:
        return copy.deepcopy(x)
    # some objects, such as locks, cannot be copied
    except (TypeError, ValueError, NotImplementedError, RecursionError):
        return x


def _copy_of_element(root: ElementTree.Element) -> ElementTree.Element:
    """Copy an element and its descendants; `copy.deepcopy` overflows the stack on deep trees."""
    copies: dict[ElementTree.Element, ElementTree.Element] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node not in copies:
            copies[node] = copy.copy(node)
            waiting.extend(node)
    for node in copies.values():
        node.attrib = dict(node.attrib)
        node[:] = [copies[child] for child in node]
    return copies[root]
