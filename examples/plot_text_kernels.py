"""
What is a sentence about if it shares no words with the examples?
=================================================================

Two short texts on one subject may have no word in common. A kernel that has seen which words occur
together in *other* documents, which need no labels, still finds them similar.
"""

# %%
# The task is to predict, from the first sentence of a docstring, which part of NumPy or SciPy it
# comes from. We classify the first forty docstrings of each part; the full docstrings of all
# others are the corpus.

import ast
import importlib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skmoderndata.kernels import (
    GeneralizedVectorSpace,
    LatentSemantic,
    Normalized,
    SemanticDiffusion,
    VectorSpace,
)

PARTS = ["numpy.ma", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.stats"]
rng = np.random.default_rng(0)
sentences, corpus = [], []
for part in PARTS:
    found = set()
    for path in sorted(Path(importlib.import_module(part).__file__).parent.rglob("*.py")):
        if "tests" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                    if len(first.split()) >= 6:
                        found.add((" ".join(first.split()), rest))
    found = sorted(found)
    order = rng.permutation(len(found))
    sentences += [found[i][0] for i in order[:40]]
    corpus += [" ".join(found[i]) for i in order[40:]]
subject = np.repeat(PARTS, 40)
print(len(corpus), "documents in the corpus; a sentence:", sentences[45])

# %%
# All kernels share one corpus, read once: `from_data` fits the vectorizer and keeps the rows.

words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
shared = {"vectorizer": words, "corpus": VectorSpace(words).from_data(corpus).corpus}
kernels = {
    "VectorSpace": VectorSpace(**shared),
    "GeneralizedVectorSpace": GeneralizedVectorSpace(**shared),
    "SemanticDiffusion, exponential": SemanticDiffusion(
        "exponential", relative_decay=5.0, **shared
    ),
    "LatentSemantic, 10 components": LatentSemantic(10, **shared),
}
sizes = [2, 4, 8, 16, 32]
curves = {name: [] for name in ["TfidfVectorizer, LinearSVC", *kernels]}
matrices = {name: Normalized(kernel)(sentences) for name, kernel in kernels.items()}
texts = np.array(sentences)
for size in sizes:
    split = StratifiedShuffleSplit(20, train_size=5 * size, test_size=40, random_state=0)
    scores = {name: [] for name in curves}
    for train, test in split.split(texts, subject):
        baseline = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, stop_words="english"), LinearSVC()
        ).fit(texts[train], subject[train])
        scores["TfidfVectorizer, LinearSVC"].append(baseline.score(texts[test], subject[test]))
        for name, K in matrices.items():
            model = SVC(kernel="precomputed", C=10).fit(
                K[np.ix_(train, train)], subject[train]
            )
            scores[name].append(model.score(K[np.ix_(test, train)], subject[test]))
    for name, values in scores.items():
        curves[name].append(np.mean(values))

# %%
# With few labelled sentences the kernels that know the corpus are far ahead, because most words of
# a new sentence do not occur in the training sentences. The gap closes with more labelled
# sentences. The right panel uses single words as texts: words of one subject are similar although
# no sentence was labelled.

terms = ["mask", "masked", "minimum", "minimize", "filter", "frequency", "signal", "sparse",
         "csr", "distribution", "random", "quantile"]  # fmt: skip
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for (name, values), style in zip(
    curves.items(), ["k--o", "-s", "-^", "-v", "-D"], strict=True
):
    left.semilogx(sizes, values, style, base=2, label=name)
left.axhline(0.2, color="0.8")
left.set(
    xlabel="labelled sentences of each class", title="Part of the library: accuracy, 5 classes",
    xticks=sizes, xticklabels=sizes,
)  # fmt: skip
left.legend(fontsize="small")
similarity = Normalized(kernels["LatentSemantic, 10 components"])(terms)
image = right.imshow(similarity, cmap="RdBu_r", vmin=-1, vmax=1)
right.set(
    xticks=range(len(terms)), yticks=range(len(terms)), yticklabels=terms,
    title="Similarity of words, LatentSemantic",
)  # fmt: skip
right.set_xticklabels(terms, rotation=60, ha="right")
fig.colorbar(image, ax=right, shrink=0.8)
plt.show()
for name, values in curves.items():
    print(f"{name:32s}", np.round(values, 3))
