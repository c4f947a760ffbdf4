"""Brute-force twins of the kernels on structures: decompositions and labels as nested tuples."""

from collections import Counter
from itertools import pairwise

from sklearn.gaussian_process.kernels import RBF

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin


def letters_and_places(word):
    """Letters with their places, and pairs of neighbours."""
    for i, letter in enumerate(word):
        yield "letter", (letter, [float(i)])
    for a, b in pairwise(word):
        yield "pair", (a, b)


def pairs(word):
    """Neighbours in a word."""
    return [(None, (a, b)) for a, b in pairwise(word)]


def convolution(kernel, x, z):
    """Sum over all pairs of decompositions."""
    total = 0.0
    for kind, a in kernel.decompose(x):
        for other, b in kernel.decompose(z):
            if kind != other:
                continue
            kernels = (
                kernel.kernels[kind] if isinstance(kernel.kernels, dict) else kernel.kernels
            )
            value = 1.0
            for k, u, v in zip(kernels, a, b, strict=True):
                value *= float(u == v) if k is None else k([u], [v])[0, 0]
            total += value
    return total


def words(rng, n):
    """Draw words of up to six letters."""
    return ["".join(rng.choice(list("abc"), size=rng.integers(7))) for _ in range(n)]


def refined(kernel, graph):
    """Count the labels of all rounds, written out as nested tuples."""
    labels = list(graph[0])
    edges = graph[1]
    kinds = graph[2] if kernel.edge_labels else [0] * len(edges)
    found = Counter((0, label) for label in labels)
    for h in range(1, kernel.n_iter + 1):
        around = [[] for _ in labels]
        for (u, v), kind in zip(edges, kinds, strict=True):
            around[u].append((labels[v], kind))
            around[v].append((labels[u], kind))
        labels = [
            (label, tuple(sorted(ends, key=repr)))
            for label, ends in zip(labels, around, strict=True)
        ]
        found.update((h, label) for label in labels)
    return found


def weisfeiler_lehman(kernel, x, z):
    """Inner product of the counts."""
    a = refined(kernel, x)
    b = refined(kernel, z)
    return float(sum(a[label] * b[label] for label in a))


def graphs(rng, n):
    """Draw graphs of up to seven nodes."""
    found = []
    for _ in range(n):
        size = int(rng.integers(1, 8))
        edges = [(u, v) for u in range(size) for v in range(u) if rng.random() < 0.4]
        labels = rng.choice(["C", "N"], size=size).tolist()
        found.append((labels, edges, rng.integers(1, 3, size=len(edges)).tolist()))
    return found


TWINS = {
    "Convolution": Twin(
        lambda: [
            sk.Convolution(
                letters_and_places,
                {"letter": [sk.PSpectrum(1), RBF(2.0)], "pair": [None, sk.PSpectrum(1)]},
            ),
            sk.Convolution(pairs, [None, None]),
        ],
        convolution,
        words,
    ),
    "WeisfeilerLehman": Twin(
        lambda: [
            sk.WeisfeilerLehman(),
            sk.WeisfeilerLehman(0),
            sk.WeisfeilerLehman(2, edge_labels=True),
        ],
        weisfeiler_lehman,
        graphs,
    ),
}
