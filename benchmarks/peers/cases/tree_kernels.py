"""All-subtree kernel of random trees, against a memoised recursion in Python."""

from itertools import chain
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_least, at_most

DECAY = 0.5
N_LABELS = 3


class Problem(NamedTuple):
    trees: list
    nodes: list  # nodes with children and their productions, by tree, for the loop
    reference: np.ndarray  # result of the loop for the first trees


def work(size, rng):
    """Trees of 20 to 100 nodes, three labels; the parent of a node is one of the six before it."""
    trees = [random_tree(int(rng.integers(20, 101)), rng) for _ in range(size)]
    few = Problem(trees[:12], [listed(tree) for tree in trees[:12]], np.empty(0))
    return Problem(trees, [listed(tree) for tree in trees], loop(few))


def random_tree(n, rng):
    children = [[] for _ in range(n)]
    for node in range(1, n):
        children[rng.integers(max(0, node - 6), node)].append(node)
    built = [None] * n
    for node, label in reversed(list(enumerate(rng.integers(N_LABELS, size=n).tolist()))):
        below = [built[child] for child in children[node]]
        built[node] = (label, *below) if below else label
    return built[0]


def listed(tree):
    """Nodes with children, by production."""
    found = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            labels = [child[0] if isinstance(child, tuple) else child for child in node[1:]]
            found.setdefault((node[0], *labels), []).append(node)
            waiting.extend(node[1:])
    return found


def sums(problem, pairs_of):
    """Sum Delta over the pairs of nodes that `pairs_of` gives, each pair of trees once."""
    n = len(problem.trees)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            production = {
                id(node): key
                for found in (problem.nodes[i], problem.nodes[j])
                for key, nodes in found.items()
                for node in nodes
            }
            memo = {}

            def delta(v, w, production=production, memo=memo):
                pair = id(v), id(w)
                if pair not in memo:
                    key = production.get(id(v))
                    value = 0.0
                    if key is not None and key == production.get(id(w)):
                        value = DECAY
                        for a, b in zip(v[1:], w[1:], strict=True):
                            value *= 1 + delta(a, b)
                    memo[pair] = value
                return memo[pair]

            pairs = pairs_of(problem.nodes[i], problem.nodes[j])
            K[i, j] = K[j, i] = sum(delta(v, w) for v, w in pairs)
    return K


def all_pairs(a, b):
    return ((v, w) for v in chain(*a.values()) for w in chain(*b.values()))


def equal_pairs(a, b):
    return ((v, w) for key in a.keys() & b.keys() for v in a[key] for w in b[key])


def loop(problem):
    return sums(problem, all_pairs)


def loop_over_productions(problem):
    return sums(problem, equal_pairs)


def ours(problem):
    from skmoderndata.kernels import AllSubtree

    return AllSubtree(decay=DECAY)(problem.trees)


def quality(problem, K):
    expected = problem.reference
    n = len(expected)
    return {"difference": float(np.abs(K[:n, :n] / expected - 1).max())}


LOOPS = ("20 trees", "30 trees", "50 trees", "200 trees")

CASE = Case(
    title="All-subtree kernel",
    question=(
        "How long does it take to compute the matrix of the all-subtree kernel of Collins and "
        "Duffy from nested tuples? The trees are random and have 20 to 100 nodes with three "
        "labels; the decay is 0.5."
    ),
    remarks=(
        "No Python library has this kernel, so `AllSubtree` is compared with a direct "
        "implementation of the recursion that keeps a table of the pairs of nodes. This "
        "implementation receives the productions, so its time does not include any conversion."
    ),
    ours="AllSubtree",
    sizes={"20 trees": 20, "50 trees": 50, "200 trees": 200, "2000 trees": 2000},
    quick_sizes={"30 trees": 30},
    warmup=15,
    work=work,
    contenders={
        "AllSubtree": Contender(
            run=ours, peer=False, note="computes the kernel from nested tuples"
        ),
        "memoised loop": Contender(
            run=loop,
            peer=False,
            note="a Python loop over all pairs of nodes; implemented in this benchmark",
            sizes=LOOPS,
            why_not="takes minutes",
        ),
        "loop over productions": Contender(
            run=loop_over_productions,
            peer=False,
            note=(
                "a Python loop over only those pairs of nodes that have equal productions; "
                "implemented in this benchmark"
            ),
            sizes=LOOPS,
            why_not="takes minutes",
        ),
    },
    quality=quality,
    figures={
        "difference": ("largest relative difference from the memoised loop, on twelve trees")
    },
    targets=(
        at_most(
            "values equal to the values of the memoised loop",
            "AllSubtree",
            "difference",
            1e-12,
        ),
        at_least(
            "the memoised loop takes at least 200 times as long for 200 trees",
            "memoised loop",
            "ratio",
            200,
            sizes=["200 trees"],
        ),
    ),
    repeat=3,
)
