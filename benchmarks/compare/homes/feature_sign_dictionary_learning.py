"""A dictionary with an l1 penalty on the codes: how low is the objective?"""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import sparse_encode

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import FeatureSignDictionaryLearning


def make(seed, n=400, n_components=150, alpha=0.5):
    """Digits drawn at random, less their mean."""
    images = load_digits().data / 16
    X = images[np.random.default_rng(seed).permutation(len(images))[:n]]
    X = X - X.mean(axis=0)
    return Case(
        given=SimpleNamespace(X=X, n_components=n_components, alpha=alpha),
        truth=X,
        about=f"{n} images of digits, 8 x 8 pixels; {n_components} atoms, penalty {alpha:g}",
    )


def ours(given):
    model = FeatureSignDictionaryLearning(
        given.n_components, alpha=given.alpha, max_iter=20, random_state=0
    )
    return model.fit(given.X).components_


def score(case, atoms):
    """The objective a row, at the best codes for atoms of norm one at most."""
    X = case.truth
    alpha = case.given.alpha
    atoms = atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1)
    codes = sparse_encode(X, atoms, algorithm="lasso_lars", alpha=alpha)
    return (0.5 * np.sum((X - codes @ atoms) ** 2) + alpha * np.abs(codes).sum()) / len(X)


HOME = Home(
    when="a dictionary of many atoms is to be learned to the end of the descent",
    title="atoms of digits with an l1 penalty",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="objective for each image",
    smaller=True,
    by_time=True,
    first_seed=200,
    margin=0.003,
    gain="An objective of {ours:.3f} takes {our_seconds:.2g} s; {name} takes {times:.1f} times "
    "as long and reaches {rival:.3f}.",
    lines=(
        "model = FeatureSignDictionaryLearning(n_components, alpha=alpha, random_state=0)\n"
        "model.fit(X).components_"
    ),
    levels={"alpha": (0.2, 1.0), "n_components": (30,)},
    full_only=True,
)
