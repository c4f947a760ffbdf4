"""Trees with the same labels and rules, whose classes differ in which rules occur together."""

from types import SimpleNamespace

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.compare.home import Case, Home
from skmoderndata.kernels import AllSubtree, GramCache, Normalized
from skmoderndata.preprocessing import KernelTransformer

LABELS = "ABCDE"


def make(seed, n=100, n_parts=3, depth=3):
    """Random trees with planted pieces, in which two branches end alike or differ."""
    rng = np.random.default_rng(seed)
    trees = []
    y = np.arange(n + 200) % 2
    for label in y:
        tree = grow(depth, rng)
        for _ in range(n_parts):
            tree = plant(tree, piece(label, rng), rng)
        trees.append(tree)
    inputs = SimpleNamespace(X=trees[:n], y=y[:n], X_new=trees[n:])
    about = f"{n} trees of five labels, {n_parts} pieces planted in each; 200 unseen trees"
    return Case(inputs=inputs, truth=y[n:], about=about)


def grow(depth, rng, label=None):
    """A random tree as (label, child, ...)."""
    label = label or str(rng.choice(list(LABELS)))
    if depth == 0:
        return label
    shorter = depth > 1
    children = [
        grow(depth - 1 - shorter * rng.integers(2), rng) for _ in range(rng.integers(1, 4))
    ]
    return (label, *children)


def piece(label, rng):
    """A node whose two branches end alike or differ, by class; a third branch is random."""
    end, another_end = rng.permutation(["D", "E"])
    left = ("C", str(end))
    right = ("B", grow(1, rng, label="A"), ("C", str(end if label else another_end)))
    return ("A", left, right)


def plant(tree, new, rng):
    """The tree with a random leaf or branch replaced."""
    if isinstance(tree, str) or rng.uniform() < 0.2:
        return new
    at = rng.integers(1, len(tree))
    return (*tree[:at], plant(tree[at], new, rng), *tree[at + 1 :])


def ours(inputs):
    step = KernelTransformer(Normalized(AllSubtree()), cache=GramCache())
    model = make_pipeline(step, SVC(kernel="precomputed"))
    grid = {
        "kerneltransformer__kernel__kernel__decay": [0.03, 0.1, 0.3],
        "svc__C": [1, 10, 100],
    }
    return GridSearchCV(model, grid).fit(inputs.X, inputs.y).predict(inputs.X_new)


def score(case, answer):
    return np.mean(answer == case.truth)


HOME = Home(
    when="samples are trees, and it matters how their parts are put together",
    title="trees in which two branches agree or differ",
    kind="graphs and trees",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of unseen trees classified correctly",
    by_time=True,
    full_only=True,
    gain="Classifies {ours:.0%} of the unseen trees correctly within {our_seconds:.1f} s; "
    "{name} takes {times:.0f} times as long and reaches {rival:.0%}.",
    lines="step = KernelTransformer(Normalized(AllSubtree(decay=0.1)))\n"
    "K = step.fit_transform(X)  # for SVC(kernel='precomputed')\n"
    "K_new = step.transform(X_new)",
    levels={"n": (50, 200), "n_parts": (1, 5), "depth": (2,)},
)
