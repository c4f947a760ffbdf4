"""Pixels of a photograph: 300 columns represent a kernel matrix of 10,000 rows."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_image

from benchmarks.compare.home import Case, Home
from skmoderndata.kernel_approximation import IncompleteCholesky


def make(seed, n=10_000, gamma=10.0):
    """Pixels drawn at random; their position counts as much as their colour."""
    image = load_sample_image("china.jpg") / 255
    rows = np.random.default_rng(seed).choice(
        image.shape[0] * image.shape[1], n, replace=False
    )
    places = np.column_stack(np.unravel_index(rows, image.shape[:2])) / image.shape[0]
    X = np.hstack([places, image.reshape(-1, 3)[rows]])
    about = f"{n:,} pixels of a photograph: position and colour, five columns"
    return Case(
        inputs=SimpleNamespace(X=X, gamma=gamma, n_components=300), truth=None, about=about
    )


def ours(inputs):
    model = IncompleteCholesky(inputs.n_components, gamma=inputs.gamma, algorithm="greedy")
    return model.fit_transform(inputs.X)


def score(case, features):
    """Largest fraction of a row's similarity to itself that the features omit."""
    assert features.shape[1] <= case.inputs.n_components
    return 1 - (features**2).sum(axis=1).min()


HOME = Home(
    when="a few features have to represent a kernel, including its rare rows",
    title="pixels of a photograph",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="largest fraction of a row's kernel that is lost",
    smaller=True,
    by_time=True,
    margin=0.03,
    gain="Computes 300 features that lose at most {ours:.0%} of any row in {our_seconds:.1f} "
    "s; {name} takes {rival_seconds:.1f} s.",
    lines='model = IncompleteCholesky(300, gamma=10.0, algorithm="greedy").fit(X)\n'
    "features = model.transform(X)\nmodel.residual_trace_",
)
