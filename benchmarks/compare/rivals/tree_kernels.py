"""Attempts on trees: counts of labels, runs, rules, paths and pieces cut at a depth."""

from functools import lru_cache
from math import prod

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC


def _cut(tree, depth):
    """The top of a tree as a string."""
    if isinstance(tree, str) or depth == 0:
        return tree[0]  # a label is one letter
    return f"({tree[0]} {' '.join(_cut(child, depth - 1) for child in tree[1:])})"


def _nodes(tree):
    found = [tree]
    for node in found:
        found += [] if isinstance(node, str) else node[1:]
    return found


def _linear(analyzer, inputs):
    model = make_pipeline(TfidfVectorizer(analyzer=analyzer), LinearSVC())
    grid = {"linearsvc__C": [0.01, 0.1, 1, 10, 100]}
    return GridSearchCV(model, grid).fit(inputs.X, inputs.y).predict(inputs.X_new)


def labels(inputs):
    """counts of labels in HistGradientBoostingClassifier."""
    counts = CountVectorizer(analyzer=lambda tree: [_cut(node, 0) for node in _nodes(tree)])
    dense = FunctionTransformer(lambda X: X.toarray().astype(float))
    model = make_pipeline(counts, dense, HistGradientBoostingClassifier(max_iter=50))
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def runs(inputs):
    """runs of up to eight characters of the text."""
    texts = [[_cut(tree, 99).replace(" ", "") for tree in X] for X in (inputs.X, inputs.X_new)]
    model = make_pipeline(TfidfVectorizer(analyzer="char", lowercase=False), LinearSVC())
    ranges = [(1, 3), (1, 5), (1, 8)]
    grid = {"tfidfvectorizer__ngram_range": ranges, "linearsvc__C": [0.1, 1, 10]}
    return GridSearchCV(model, grid).fit(texts[0], inputs.y).predict(texts[1])


def rules(inputs):
    """counts of rules in LinearSVC."""
    return _linear(lambda tree: [_cut(node, 1) for node in _nodes(tree)], inputs)


def pieces(inputs):
    """counts of pieces of up to three levels in LinearSVC."""
    return _linear(lambda tree: [_cut(v, d) for v in _nodes(tree) for d in range(4)], inputs)


def few_pieces(inputs):
    """pieces of up to four levels, the best in LinearSVC."""
    analyzer = lambda t: [_cut(v, d) for v in _nodes(t) for d in range(5)]  # noqa: E731
    model = make_pipeline(CountVectorizer(analyzer=analyzer), SelectKBest(chi2), LinearSVC())
    search = GridSearchCV(model, {"selectkbest__k": [5, 10, 20, 50, 100]})
    return search.fit(inputs.X, inputs.y).predict(inputs.X_new)


def products_of_paths(inputs):
    """counts of paths in SVC with products."""

    def paths(tree, above=()):
        below = [] if isinstance(tree, str) else tree[1:]
        above = (*above, _cut(tree, 0))
        ends = ["".join(above[-k:]) for k in range(1, 5)]
        return ends + [path for child in below for path in paths(child, above)]

    model = make_pipeline(TfidfVectorizer(analyzer=paths, lowercase=False), SVC(kernel="poly"))
    grid = {"svc__degree": [1, 2, 3], "svc__C": [1, 10, 100], "svc__coef0": [0, 1]}
    return GridSearchCV(model, grid).fit(inputs.X, inputs.y).predict(inputs.X_new)


def by_hand(inputs):
    """SVC with sums over pairs of nodes in plain Python."""

    @lru_cache(None)
    def common(a, b):
        if a[1:] and [c[0] for c in a] == [c[0] for c in b]:  # both nodes have the same rule
            return 0.3 * prod(1 + x for x in map(common, a[1:], b[1:]))
        return 0.0

    trees = [*map(_nodes, inputs.X), *map(_nodes, inputs.X_new)]
    n = len(inputs.X)
    K = np.array([[sum(common(v, w) for v in s for w in t) for t in trees[:n]] for s in trees])
    sizes = np.sqrt([sum(common(v, w) for v in s for w in s) for s in trees])
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": [1, 10, 100]})
    K /= np.outer(sizes, sizes[:n])
    return search.fit(K[:n], inputs.y).predict(K[n:])
