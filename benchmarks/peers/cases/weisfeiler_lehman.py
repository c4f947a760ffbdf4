"""Weisfeiler-Lehman kernel of random labelled graphs, against GraKeL."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_least, at_most

N_ITER = 3


class Problem(NamedTuple):
    graphs: list  # labels and edges of each graph
    theirs: list  # edges in both directions, labels by node
    reference: np.ndarray  # counts of nested tuples, for the first graphs


def molecules(n_graphs, rng):
    """Graphs of 15 to 60 nodes, four labels, 2.4 edges per node."""
    for _ in range(n_graphs):
        n = int(rng.integers(15, 61))
        ends = rng.integers(n, size=(int(1.2 * n), 2))
        edges = sorted({(min(u, v), max(u, v)) for u, v in ends.tolist() if u != v})
        edges += [(v, v + 1) for v in range(n - 1) if (v, v + 1) not in edges]
        yield rng.integers(4, size=n).tolist(), edges


def dense(n_graphs, rng):
    """Graphs of 60 nodes and four labels; half of all pairs are edges."""
    for _ in range(n_graphs):
        pairs = np.argwhere(np.triu(rng.random((60, 60)) < 0.5, 1))
        yield rng.integers(4, size=60).tolist(), [(u, v) for u, v in pairs.tolist()]


def work(size, rng):
    n_graphs, make = size
    graphs = list(make(n_graphs, rng))
    theirs = [
        ({*edges, *((v, u) for u, v in edges)}, dict(enumerate(labels)))
        for labels, edges in graphs
    ]
    return Problem(graphs, theirs, plain(graphs[:12]))


def plain(graphs):
    """Write the labels out as nested tuples, and count them."""
    columns = {}
    rows = []
    for labels, edges in graphs:
        counts = {}
        for h in range(N_ITER + 1):
            # relabel each node by its own label and the sorted labels of its neighbours
            if h:
                around = [[] for _ in labels]
                for u, v in edges:
                    around[u].append(labels[v])
                    around[v].append(labels[u])
                labels = [
                    (a, tuple(sorted(b, key=repr)))
                    for a, b in zip(labels, around, strict=True)
                ]

            for label in labels:
                column = columns.setdefault((h, label), len(columns))
                counts[column] = counts.get(column, 0) + 1

        rows.append(counts)

    table = np.zeros((len(rows), len(columns)))
    for row, counts in zip(table, rows, strict=True):
        row[list(counts)] = list(counts.values())

    return table @ table.T


def ours(problem):
    from skmoderndata.kernels import WeisfeilerLehman

    return WeisfeilerLehman(N_ITER)(problem.graphs)


def grakel(problem):
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(
        n_iter=N_ITER, base_graph_kernel=VertexHistogram, normalize=False
    )
    return kernel.fit_transform(problem.theirs)


def quality(problem, K):
    expected = problem.reference
    n = len(expected)
    return {"difference": float(np.abs(K[:n, :n] - expected).max())}


CASE = Case(
    title="Weisfeiler-Lehman kernel",
    question=(
        "How long does it take to compute the matrix of the Weisfeiler-Lehman kernel with "
        "three rounds? The graphs are random: they have 15 to 60 nodes with four labels and "
        "as few edges as molecules have. The dense graphs have 60 nodes and half of all "
        "possible "
        "edges."
    ),
    remarks="Each contender gets the graphs in its own format; the conversion to this format "
    "is not timed.",
    ours="WeisfeilerLehman",
    sizes={
        "20 graphs": (20, molecules),
        "200 graphs": (200, molecules),
        "1000 graphs": (1000, molecules),
        "200 dense graphs": (200, dense),
    },
    quick_sizes={"100 graphs": (100, molecules)},
    warmup=(15, molecules),
    work=work,
    contenders={
        "WeisfeilerLehman": Contender(
            run=ours, peer=False, note="computes the kernel from labels and edges"
        ),
        "GraKeL": Contender(
            run=grakel,
            requires="grakel>=0.1.11",
            note="`WeisfeilerLehman` with `base_graph_kernel=VertexHistogram`",
        ),
        "plain counts": Contender(
            run=lambda problem: plain(problem.graphs),
            peer=False,
            note="counts in dictionaries of nested tuples; implemented in this benchmark",
        ),
    },
    quality=quality,
    figures={"difference": "largest difference from the plain counts, on twelve graphs"},
    targets=(
        at_most("values equal to the plain counts", "WeisfeilerLehman", "difference", 0.0),
        at_least("GraKeL takes at least twice as long", "GraKeL", "ratio", 2),
    ),
    repeat=3,
)
