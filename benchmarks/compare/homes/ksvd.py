"""Patches of a photograph, stored with four numbers each."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import KSVD


def make(seed, n=2000, n_nonzero_coefs=4, n_components=100):
    """Patches of the temple, without their means; 500 more are to be stored."""
    image = load_sample_image("china.jpg").mean(axis=2)
    patches = extract_patches_2d(image, (8, 8), max_patches=n + 500, random_state=seed)
    X = patches.reshape(len(patches), -1)
    X = X - X.mean(axis=1, keepdims=True)
    return Case(
        inputs=SimpleNamespace(
            X=X[:n],
            X_new=X[n:],
            n_components=n_components,
            n_nonzero_coefs=n_nonzero_coefs,
        ),
        truth=X[n:],
        about=f"{n} patches of 8 x 8 pixels of a photograph; {n_components} atoms, "
        f"{n_nonzero_coefs} numbers for each of 500 new patches",
    )


def ours(inputs):
    model = KSVD(
        inputs.n_components,
        n_nonzero_coefs=inputs.n_nonzero_coefs,
        max_iter=10,
        random_state=0,
    ).fit(inputs.X)
    return model.transform(inputs.X_new), model.components_


def score(case, answer):
    codes, atoms = answer
    if np.count_nonzero(codes, axis=1).max() > case.inputs.n_nonzero_coefs:
        return np.inf
    rest = case.truth - codes @ atoms
    return np.sum(rest**2) / np.sum(case.truth**2)


HOME = Home(
    when="you want to store or describe each signal by a few numbers",
    title="patches of a photograph",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="squared error of new patches, relative to their variance",
    smaller=True,
    by_time=True,
    first_seed=200,
    margin=0.004,
    n_rounds=3,
    gain="Loses {ours:.1%} of the variance with four numbers per patch, after "
    "{our_seconds:.2g} s; {name} loses {rival:.1%} after {rival_seconds:.2g} s.",
    lines=(
        "model = KSVD(n_components, n_nonzero_coefs=n_nonzero_coefs).fit(X)\n"
        "codes = model.transform(X_new)\n"
        "codes @ model.components_"
    ),
    levels={"n_nonzero_coefs": (2, 8), "n": (1000, 6000)},
)
