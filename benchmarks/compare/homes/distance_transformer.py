"""Misspelt names: which name of the list is the right one?"""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.datasets import load_language_names
from skmoderndata.preprocessing import DistanceTransformer

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def make(seed, n_typos=3, n=400):
    """Names of languages and territories, each with letters added, lost and changed."""
    rng = np.random.default_rng(seed)
    names = load_language_names().data
    names = [names[i] for i in rng.permutation(len(names))[:n]]
    typed = [misspelt(name, n_typos, rng) for name in names]
    about = f"{n} names in sixteen languages, typed with {n_typos} errors each"
    return Case(
        inputs=SimpleNamespace(names=names, typed=typed), truth=np.arange(n), about=about
    )


def misspelt(name, n_typos, rng):
    """The name with letters added, lost or changed at random places."""
    for _ in range(n_typos):
        at = rng.integers(len(name))
        kind = rng.integers(3)
        new = "" if kind == 0 else str(rng.choice(LETTERS))
        name = name[:at] + new + name[at + (kind < 2) :]
    return name


def ours(inputs):
    return DistanceTransformer().fit(inputs.names).transform(inputs.typed).argmin(axis=1)


def score(case, answer):
    return np.mean(answer == case.truth)


HOME = Home(
    when="strings are variants of one another, such as alternative spellings or misprints",
    title="misspelt names",
    kind="strings",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of names recognised",
    n_rounds=8,
    overlap=0.25,
    by_time=True,
    gain="Recognises {ours:.0%} of the misspelt names in {our_seconds:.2g} s; {name} takes "
    "{times:.0f} times as long and recognises {rival:.0%}.",
    lines="distances = DistanceTransformer().fit(names).transform(typed)\n"
    "meant = distances.argmin(axis=1)",
    levels={"n_typos": (1, 2, 4, 5), "n": (100, 1600)},
)
