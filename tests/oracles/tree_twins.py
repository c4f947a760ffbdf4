"""Brute-force twins of the kernels on trees: subtrees are enumerated and counted."""

from collections import Counter
from itertools import product

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin


def parts(tree):
    """Return the label and the children of a nested tuple."""
    return (tree[0], tree[1:]) if isinstance(tree, tuple) else (tree, ())


def nodes(tree):
    """Yield all nodes of a nested tuple."""
    yield tree
    for child in parts(tree)[1]:
        yield from nodes(child)


def subtrees(kernel, tree):
    """Return the subtrees that begin at the root, with the number of their inner nodes.

    An inner node keeps all children; each of them is expanded, or cut to its label. What stands
    for a label depends on the parameters.
    """
    label, children = parts(tree)
    if not children:
        return []
    choices = []
    for child in children:
        cut = parts(child)[0] if kernel.labelled and kernel.match == "children" else "*"
        choices.append([(cut, 0), *subtrees(kernel, child)])
    root = label if kernel.labelled else "*"
    return [
        ((root, *(part for part, _ in choice)), 1 + sum(size for _, size in choice))
        for choice in product(*choices)
    ]


def inner(kernel, a, b):
    """Weighted inner product of the counts of two lists of subtrees."""
    a = Counter(a)
    b = Counter(b)
    return float(sum(kernel.decay ** t[1] * a[t] * b[t] for t in a))


def co_rooted(kernel, x, z):
    """Subtrees at the roots."""
    return inner(kernel, subtrees(kernel, x), subtrees(kernel, z))


def leaves(kernel, tree):
    """Count the leaves by their labels."""
    found = [parts(v) for v in nodes(tree)]
    return Counter(label if kernel.labelled else "*" for label, below in found if not below)


def all_subtrees(kernel, x, z):
    """Subtrees at all nodes."""
    everywhere = [[t for v in nodes(tree) for t in subtrees(kernel, v)] for tree in (x, z)]
    value = inner(kernel, *everywhere)
    if kernel.include_leaves:
        a = leaves(kernel, x)
        b = leaves(kernel, z)
        value += sum(a[label] * b[label] for label in a)
    return value


def complete(kernel, x, z):
    """Nodes with all that is below them."""

    def whole(tree):
        """Return nested tuples in which leaves are tuples as well."""
        label, children = parts(tree)
        return (label, *map(whole, children))

    def size(tree):
        return sum(len(v) > 1 for v in nodes(tree))

    counts = [Counter(whole(v) for v in nodes(tree)) for tree in (x, z)]
    return float(sum(kernel.decay ** size(t) * counts[0][t] * counts[1][t] for t in counts[0]))


def trees(rng, n):
    """Draw trees of up to three levels with labels of two kinds."""

    def grow(depth):
        label = str(rng.choice(["a", "b"]))
        if depth == 0 or rng.random() < 0.25:
            return label
        return (label, *(grow(depth - 1) for _ in range(rng.integers(1, 4))))

    found = []
    for _ in range(n):
        tree = grow(3)
        found.append(tree if isinstance(tree, tuple) else (tree,))
    return found


BOUNDS = (1e-3, 1.0)
TWINS = {
    "CoRootedSubtree": Twin(
        lambda: [
            sk.CoRootedSubtree(),
            sk.CoRootedSubtree(labelled=False, decay=0.5),
            sk.CoRootedSubtree(match="node", decay=0.3),
        ],
        co_rooted,
        trees,
    ),
    "AllSubtree": Twin(
        lambda: [
            sk.AllSubtree(),
            sk.AllSubtree(labelled=False),
            sk.AllSubtree(match="node", decay=0.3),
            sk.AllSubtree(decay=0.5, include_leaves=True),
            sk.AllSubtree(labelled=False, decay=0.1, include_leaves=True),
        ],
        all_subtrees,
        trees,
        lambda: [
            sk.AllSubtree(decay=0.4, decay_bounds=BOUNDS),
            sk.AllSubtree(labelled=False, decay=0.7, include_leaves=True, decay_bounds=BOUNDS),
        ],
    ),
    "CompleteSubtree": Twin(
        lambda: [sk.CompleteSubtree(), sk.CompleteSubtree(0.3)],
        complete,
        trees,
    ),
}
