"""Five ranks of very unequal width: half of the rows have the lowest, 3 % the highest."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV

from benchmarks.compare.home import Case, Home
from skmoderndata.ranking import NuSVOR


def make(seed, n=300, noise=1.0, shares=(0.5, 0.25, 0.15, 0.07)):
    """A function of five columns, of which only the rank is known,."""
    X, values = make_friedman1(n + 2000, 5, noise=noise, random_state=seed)
    edges = np.quantile(values, np.cumsum(shares))
    y = np.digitize(values, edges)
    given = SimpleNamespace(X=X[:n], y=y[:n], X_new=X[n:])
    about = f"{n} rows, 5 columns, 5 ranks, half of the rows of the lowest"
    return Case(given=given, truth=y[n:], about=about)


def ours(given):
    grid = {"nu": [0.2, 0.35, 0.5]}
    search = GridSearchCV(NuSVOR(), grid, scoring="neg_mean_absolute_error")
    return search.fit(given.X, given.y).predict(given.X_new)


def score(case, ranks):
    return np.abs(ranks - case.truth).mean()


HOME = Home(
    when="you predict ranks, such as grades or stages, of unequal width",
    title="ranks of unequal width",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="mean absolute error of the rank",
    smaller=True,
    gain="The predicted rank is off by {ours:.3f} on average, by {rival:.3f} with {name}.",
    lines="ranker = NuSVOR(nu=0.2).fit(X, y)\nranker.predict(X_new)",
    n_rounds=8,
    levels={"n": (100, 1000), "noise": (0.3, 3.0)},
)
