"""
Who wrote this code?
====================

A Python function is a tree of statements and expressions. We use 120 functions from each of four
libraries, with all names removed: does the shape of the code reveal who wrote it? The parameter
that matters is the decay, the factor for each production that two subtrees share.
"""

# %%
# The functions come from the installed libraries, with at most three from a file. The syntax tree
# of a function contains only the classes of its nodes: ``If``, ``Call``, ``Name``.

import ast
import importlib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from skmoderndata.kernels import AllSubtree, CompleteSubtree, CoRootedSubtree, Normalized

LIBRARIES = ["numpy", "scipy", "sklearn", "numba"]


def some_functions(library, n, rng):
    root = Path(importlib.import_module(library).__file__).parent
    paths = [path for path in sorted(root.rglob("*.py")) if "tests" not in path.parts]
    chosen = []
    for i in rng.permutation(len(paths)):
        tree = ast.parse(paths[i].read_text(encoding="utf-8"))
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and 20 <= len(list(ast.walk(node))) <= 200
        ]
        order = rng.permutation(len(functions))[:3]
        chosen += [functions[k] for k in order]
        if len(chosen) >= n:
            return chosen[:n]


rng = np.random.default_rng(0)
trees = [tree for library in LIBRARIES for tree in some_functions(library, 120, rng)]
author = np.repeat(LIBRARIES, 120)
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def accuracy(kernel):
    K = Normalized(kernel)(encoded)
    scores = [
        cross_val_score(SVC(kernel="precomputed", C=C), K, author, cv=folds).mean()
        for C in (10, 100)
    ]
    return max(scores)


encoded = AllSubtree().encode(trees)  # once, for all kernels on trees

# %%
# The baselines count the types of the nodes and ignore the tree: in the same classifier, and in a
# linear one.

bags = [" ".join(type(node).__name__ for node in ast.walk(tree)) for tree in trees]
counts = make_pipeline(CountVectorizer(lowercase=False), Normalizer())
baseline = {}
for machine in (SVC(kernel="linear"), LinearSVC()):
    models = [make_pipeline(counts, clone(machine).set_params(C=C)) for C in (10, 100)]
    scores = [cross_val_score(model, bags, author, cv=folds).mean() for model in models]
    baseline[f"counts of node types, {type(machine).__name__}"] = max(scores)
decays = [0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 1.0]
kernels = {"all": AllSubtree, "complete": CompleteSubtree, "co-rooted": CoRootedSubtree}
curves = {name: [accuracy(cls(decay=d)) for d in decays] for name, cls in kernels.items()}
matrices = {d: Normalized(AllSubtree(decay=d))(encoded) for d in (0.1, 1.0)}

# %%
# With a decay of 1, the subtrees of a few long functions outnumber everything else. A function
# is then similar only to itself, the matrix on the right is close to the identity, and little
# is learned. A decay of 0.3 or less gives small subtrees more influence, and the kernel does
# better than the counts. Complete subtrees are never numerous and need no decay; from the
# root, functions share almost nothing.

fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", width_ratios=[1.3, 1, 1])
for (name, values), marker in zip(curves.items(), "os^", strict=True):
    axes[0].semilogx(decays, values, marker=marker, label=f"{name} subtrees")
for (name, value), style in zip(baseline.items(), (":", "--"), strict=True):
    axes[0].axhline(value, color="k", linestyle=style, label=name)
axes[0].axhline(0.25, color="0.8")
axes[0].set(xlabel="decay", title="Library of a function: accuracy, 4 classes")
axes[0].legend(fontsize="small", loc="lower center")
for ax, (decay, K) in zip(axes[1:], matrices.items(), strict=True):
    image = ax.imshow(K, cmap="viridis", vmin=0, vmax=1)
    ax.set(
        xticks=np.arange(60, 480, 120), xticklabels=LIBRARIES, yticks=[],
        title=f"similarities, decay {decay:g}",
    )  # fmt: skip
fig.colorbar(image, ax=axes[2], shrink=0.8)
plt.show()
for name, values in curves.items():
    print(f"{name:10s}", np.round(values, 3))
for name, value in baseline.items():
    print(f"{name:32s} {value:.3f}")
