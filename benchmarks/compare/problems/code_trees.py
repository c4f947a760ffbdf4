"""Syntax trees of functions: which library are they from?"""

import ast
import importlib
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.svm import SVC, LinearSVC

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

LIBRARIES = ("numpy", "scipy", "sklearn", "numba")


def nested(node):
    """Tree of the classes of the nodes."""
    children = [nested(child) for child in ast.iter_child_nodes(node)]
    return (type(node).__name__, *children) if children else type(node).__name__


def functions(library, n, rng):
    """Trees of 20 to 200 nodes, up to three from each file."""
    root = Path(importlib.import_module(library).__file__).parent
    paths = [path for path in sorted(root.rglob("*.py")) if "tests" not in path.parts]
    found = []
    for i in rng.permutation(len(paths)):
        module = ast.parse(paths[i].read_text(encoding="utf-8"))
        nodes = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
        fitting = [node for node in nodes if 20 <= sum(1 for _ in ast.walk(node)) <= 200]
        found += [nested(fitting[k]) for k in rng.permutation(len(fitting))[:3]]
        if len(found) >= n:
            break
    return found[:n]


def load(quick, full=False):
    n = by_plan(quick, full, 40, 80, 120)
    rng = np.random.default_rng(0)
    trees = [tree for library in LIBRARIES for tree in functions(library, n, rng)]
    X = np.empty(len(trees), dtype=object)
    X[:] = trees
    about = f"{n} functions from each of {', '.join(LIBRARIES)}: syntax trees without names"
    return Data(X=X, y=np.repeat(LIBRARIES, n), about=about)


def words(trees):
    """Types of the nodes in the order of the text, as one string per tree."""
    found = []
    for tree in trees:
        labels = []
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            label, *children = node if isinstance(node, tuple) else (node,)
            labels.append(label)
            waiting.extend(reversed(children))
        found.append(" ".join(labels))
    return found


def pipeline(step):
    if isinstance(step, CountVectorizer):
        before = [("words", FunctionTransformer(words))]
        return Pipeline(
            [*before, (STEP, step), ("norm", Normalizer()), ("svc", LinearSVC(C=10.0))]
        )
    return Pipeline([(STEP, step), ("svc", SVC(kernel="precomputed", C=10.0))])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        counts = confusion_matrix(data.y[test], fitted.predict(data.X[test]), labels=LIBRARIES)
        ax.imshow(counts, cmap="Blues", vmin=0)
        for (row, column), count in np.ndenumerate(counts):
            ax.text(column, row, count, ha="center", va="center")
        right = np.trace(counts)
        ax.set(
            title=f"{name}: {right} of {counts.sum()} unseen rows right",
            xlabel="predicted",
            xticks=range(4),
            xticklabels=LIBRARIES,
            yticks=range(4),
            yticklabels=LIBRARIES,
        )


PROBLEM = Problem(
    title="library of a function",
    description="Which of four libraries does a function come from? Each function is a syntax "
    "tree without names. A kernel machine on subtrees is compared with a linear classifier on "
    "runs of node types.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
)
