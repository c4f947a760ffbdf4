"""Many short texts, and the runs of characters in them as features of a linear model."""

import ast
import functools
import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import BlendedSpectrum

LIBRARIES = ("numpy", "scipy", "sklearn")


@functools.cache
def docstrings():
    """Docstrings of functions and classes of three libraries."""
    found = set()
    for library in LIBRARIES:
        root = Path(importlib.import_module(library).__file__).parent
        for path in sorted(root.rglob("*.py"))[::3]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.add((ast.get_docstring(node) or "")[:400])
    return sorted(text for text in found if len(text) > 40)


def make(seed, longest=5, n=1500):
    """Beginnings of docstrings."""
    texts = docstrings()
    rng = np.random.default_rng(seed)
    texts = [texts[i] for i in rng.permutation(len(texts))[:n]]
    about = f"{n:,} docstrings of up to 400 characters, runs of up to {longest} characters"
    return Case(given=SimpleNamespace(X=texts, longest=longest), truth=None, about=about)


def ours(given):
    return SequenceFeatures(BlendedSpectrum(given.longest)).fit_transform(given.X)


def score(case, answer):
    """One if rows have norm 1 and a column stands for each run of characters, else zero."""
    longest = case.given.longest
    runs = {
        text[i : i + k]
        for text in case.given.X
        for k in range(1, longest + 1)
        for i in range(len(text) - k + 1)
    }
    norms = np.sqrt(answer.multiply(answer).sum(axis=1))
    return float(answer.shape[1] == len(runs) and np.allclose(norms, 1))


HOME = Home(
    when="texts become counts of all runs of characters, for a linear model",
    title="runs of characters in docstrings",
    kind="strings",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="whether the features are complete",
    by_time=True,
    gain="The same features take {our_seconds:.2f} s, {rival_seconds:.2f} s with {name}.",
    lines="SequenceFeatures(BlendedSpectrum(5)).fit_transform(X)",
    levels={"longest": (2, 3, 8), "n": (200, 5000)},
)
