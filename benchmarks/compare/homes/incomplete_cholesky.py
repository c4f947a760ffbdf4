"""Groups of very unequal size: 300 columns stand for a kernel matrix of 10,000 rows."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.kernel_approximation import IncompleteCholesky


def make(seed, n=10_000, groups=100, spread=0.3):
    """Normal groups in six columns, the k-th of them with a k-th of the rows of the first."""
    rng = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, groups + 1)
    group = rng.choice(groups, n, p=sizes / sizes.sum())
    X = 3 * rng.normal(size=(groups, 6))[group] + spread * rng.normal(size=(n, 6))
    about = f"{n} rows in {groups} groups of very unequal size, 6 columns"
    return Case(
        given=SimpleNamespace(X=X, gamma=0.1, n_components=300), truth=None, about=about
    )


def ours(given):
    model = IncompleteCholesky(given.n_components, gamma=given.gamma, algorithm="greedy")
    return model.fit_transform(given.X)


def score(case, features):
    """Largest share of a row's similarity to itself that the features leave out."""
    assert features.shape[1] <= case.given.n_components
    return 1 - (features**2).sum(axis=1).min()


HOME = Home(
    when="a few features have to stand for a kernel, for the rare rows as well",
    title="groups of very unequal size",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="largest share of a row's kernel that is lost",
    smaller=True,
    by_time=True,
    margin=0.03,
    gain="300 features that lose at most {ours:.0%} of any row take {our_seconds:.1f} s, "
    "{rival_seconds:.1f} s with {name}.",
    lines='model = IncompleteCholesky(300, gamma=0.1, algorithm="greedy").fit(X)\n'
    "features = model.transform(X)\nmodel.residual_trace_",
    levels={"n": (1000, 50_000), "groups": (10, 300), "spread": (0.1, 1.0)},
)
