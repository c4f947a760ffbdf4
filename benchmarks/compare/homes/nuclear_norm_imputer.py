"""Images in which most pixels are unknown."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.compare.home import Case, Home
from skmoderndata.impute import NuclearNormImputer


def make(seed, observed=0.3, n=400):
    """Randomly drawn digits in which most pixels are hidden."""
    rng = np.random.default_rng(seed)
    images = load_digits().data
    images = images[rng.permutation(len(images))[:n]]
    is_known = rng.uniform(size=images.shape) < observed
    return Case(
        inputs=SimpleNamespace(X=np.where(is_known, images, np.nan)),
        truth=(images, is_known),
        about=f"{n} digits of 64 pixels from 0 to 16; {observed:.0%} of the pixels are known",
    )


def ours(inputs):
    return NuclearNormImputer().fit_transform(inputs.X)


def score(case, table):
    tastes, is_known = case.truth
    return np.sqrt(np.mean((table - tastes)[~is_known] ** 2))


HOME = Home(
    when="most cells of a table are missing",
    title="digits with most pixels hidden",
    kind="tables",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the hidden pixels",
    smaller=True,
    first_seed=200,
    full_only=True,
    gain="Predicts hidden pixels, which range from 0 to 16, with an error of {ours:.2f}; "
    "with {name}, the error is {rival:.2f}.",
    lines="NuclearNormImputer().fit_transform(X)",
    levels={"observed": (0.15, 0.5), "n": (100, 1000)},
)
