"""Rows of any sign that mix a few sources: which sources are they?"""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import ConvexNMF


def make(seed, n=300, n_components=5, noise=0.5, concentration=0.5):
    """Positive mixtures of sources of any sign; few rows come from a single source."""
    rng = np.random.default_rng(seed)
    sources = rng.normal(size=(n_components, 20))
    mixtures = rng.dirichlet(np.full(n_components, concentration), size=n)
    mixtures *= rng.uniform(0.5, 1.5, size=(n, 1))
    X = mixtures @ sources
    return Case(
        inputs=SimpleNamespace(
            X=X + noise * rng.normal(size=X.shape), n_components=n_components
        ),
        truth=sources,
        about=f"{n} rows, 20 columns of any sign, positive mixtures of {n_components} sources, "
        f"with noise of {noise:g}",
    )


def ours(inputs):
    return ConvexNMF(inputs.n_components, random_state=0).fit(inputs.X).components_


def score(case, parts):
    """Mean angle between planted and found sources, in degrees."""
    norms = [np.linalg.norm(side, axis=1, keepdims=True) for side in (case.truth, parts)]
    cosine = (case.truth / norms[0]) @ (parts / np.maximum(norms[1], 1e-12)).T
    return np.degrees(np.arccos(np.clip(cosine[linear_sum_assignment(-cosine)], -1, 1))).mean()


HOME = Home(
    when="rows of any sign are mixtures of a few sources, and some rows contain almost only "
    "one source",
    title="sources of mixed rows",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="angle between planted and found sources, in degrees",
    smaller=True,
    margin=0.1,
    n_rounds=10,
    gain="Finds the sources with a mean error of {ours:.0f} degrees; with {name}, the mean "
    "error is {rival:.0f} degrees.",
    lines="ConvexNMF(n_components, random_state=0).fit(X).components_",
    levels={"noise": (0.1, 1.0), "concentration": (0.1, 1.0), "n_components": (3, 10)},
)
