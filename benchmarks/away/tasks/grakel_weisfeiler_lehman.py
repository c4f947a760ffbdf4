"""Mutagenic molecules by the Weisfeiler-Lehman kernel, as in GraKeL's examples."""

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from benchmarks.away.task import Task
from skmoderndata.kernels import Normalized, WeisfeilerLehman


def load():
    """Return graphs as labels and undirected edges, with their classes."""
    from pathlib import Path

    import grakel

    def read(what):
        path = Path(grakel.__path__[0]) / "tests" / "data" / "MUTAG" / f"MUTAG_{what}.txt"
        return np.loadtxt(path, delimiter=",", dtype=int)

    edges = read("A") - 1
    of_node = read("graph_indicator")
    labels = read("node_labels")

    # number the nodes of each graph from zero
    graphs = []
    for number in range(1, of_node.max() + 1):
        nodes = np.flatnonzero(of_node == number)
        inside = edges[np.isin(edges[:, 0], nodes)] - nodes[0]
        pairs = {(int(min(e)), int(max(e))) for e in inside}
        graphs.append((labels[nodes].tolist(), sorted(pairs)))
    return graphs, read("graph_labels")


def accuracy(K, y):
    """Return the accuracy of ten repetitions of ten folds, with C chosen inside."""
    model = GridSearchCV(SVC(kernel="precomputed"), {"C": 10.0 ** np.arange(-3, 4)}, cv=3)
    return [
        cross_val_score(
            model, K, y, cv=StratifiedKFold(10, shuffle=True, random_state=s)
        ).mean()
        for s in range(3)
    ]


def theirs(problem):
    import grakel

    graphs, y = problem
    as_theirs = [
        ({*pairs, *((b, a) for a, b in pairs)}, dict(enumerate(labels)))
        for labels, pairs in graphs
    ]
    kernel = grakel.WeisfeilerLehman(
        n_iter=4, base_graph_kernel=grakel.VertexHistogram, normalize=True
    )
    return accuracy(kernel.fit_transform(as_theirs), y)


def ours(problem):
    graphs, y = problem
    return accuracy(WeisfeilerLehman()(graphs), y)


def documented(problem):
    graphs, y = problem
    return accuracy(Normalized(WeisfeilerLehman(4))(graphs), y)


TASK = Task(
    name="grakel_weisfeiler_lehman",
    origin="GraKeL, examples",
    link="https://ysig.github.io/GraKeL/0.1a8/auto_examples/index.html",
    program="GraKeL WeisfeilerLehman(n_iter=4), normalised, in an SVC with C from a grid",
    data="MUTAG, 188 molecules, shipped with the tests of GraKeL",
    licence="BSD-3-Clause",
    measure="accuracy of an SVC with a graph kernel",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "By default the kernel is not normalised, so the number of atoms dominates; use "
        "Normalized(WeisfeilerLehman(4))."
    ),
)
