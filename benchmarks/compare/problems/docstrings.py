"""First sentences of docstrings: which part of a library are they from?"""

import ast
import functools
import importlib
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.compare.problem import STEP, Data, Problem
from skmoderndata.kernels import VectorSpace

PARTS = ("numpy.ma", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.stats")


@functools.cache
def docstrings():
    """For each part, pairs of a first sentence and the text below it, in a random order."""
    rng = np.random.default_rng(0)
    found = {}
    for part in PARTS:
        texts = set()
        root = Path(importlib.import_module(part).__file__).parent
        for path in sorted(root.rglob("*.py")):
            if "tests" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    head, _, body = (ast.get_docstring(node) or "").partition("\n\n")
                    if len(head.split()) >= 6:
                        texts.add((" ".join(head.split()), body))
        texts = sorted(texts)
        found[part] = [texts[i] for i in rng.permutation(len(texts))]
    return found


@functools.cache
def background():
    """Docstrings of all functions except those to be classified, read once."""
    documents = [" ".join(pair) for part in PARTS for pair in docstrings()[part][80:]]
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
    return VectorSpace(vectorizer).from_data(documents)


def load(quick):
    n = 24 if quick else 80
    X = [head for part in PARTS for head, _ in docstrings()[part][:n]]
    about = f"first sentences of {n} docstrings from each of {', '.join(PARTS)}"
    return Data(X=np.array(X, dtype=object), y=np.repeat(PARTS, n), about=about)


def pipeline(step):
    if isinstance(step, TfidfVectorizer):
        return Pipeline([(STEP, step), ("svc", LinearSVC())])
    known = background()
    step.set_params(
        kernel__kernel__vectorizer=known.vectorizer, kernel__kernel__corpus=known.corpus
    )
    return Pipeline([(STEP, step), ("svc", SVC(kernel="precomputed", C=10.0))])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        counts = confusion_matrix(data.y[test], fitted.predict(data.X[test]), labels=PARTS)
        ax.matshow(counts, cmap="Greens", vmin=0)
        for (row, column), count in np.ndenumerate(counts):
            ax.annotate(str(count), (column, row), ha="center", va="center")
        short = [part.rpartition(".")[2] for part in PARTS]
        ax.set_xticks(range(len(short)), short)
        ax.set_yticks(range(len(short)), short)
        ax.set_title(f"{name}: {np.trace(counts)} of {counts.sum()} right")


PROBLEM = Problem(
    title="subject of a sentence",
    description="Which module does the first sentence of a docstring describe? The kernel has "
    "read the docstrings of other functions, without their origin, and knows which words go "
    "together; the baseline weights the words of the training rows.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_repeats=2,
)
