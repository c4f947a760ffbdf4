"""More features than rows, in groups: many irrelevant variables, each of many columns."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.linear_model import GroupLassoCV


def make(seed, n=100, n_groups=80, size=4, active=8, noise=0.4):
    """Groups of correlated columns; relevant groups act through all their columns."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    shared = rng.normal(size=(n + 1000, n_groups))[:, groups]
    X = 0.5 * shared + rng.normal(size=(n + 1000, len(groups)))
    coef = np.zeros(len(groups))
    is_active = np.isin(groups, rng.choice(n_groups, active, replace=False))
    coef[is_active] = rng.normal(size=is_active.sum())
    f = X @ coef
    f /= f.std()
    y = f + noise * rng.normal(size=len(f))
    return Case(
        inputs=SimpleNamespace(X=X[:n], y=y[:n], groups=groups, X_new=X[n:]),
        truth=f[n:],
        about=f"{n} rows, {n_groups} groups of {size} columns; {active} groups have influence",
    )


def ours(inputs):
    model = GroupLassoCV(30, groups=inputs.groups)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def score(case, prediction):
    """Coefficient of determination for the noise-free function."""
    return 1 - np.mean((prediction - case.truth) ** 2) / np.var(case.truth)


HOME = Home(
    when="columns come in groups, and only a few of many groups matter",
    title="a few of many groups",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="explained fraction of the function, on new rows",
    n_rounds=20,
    first_seed=200,
    full_only=True,
    gain="Explains {ours:.0%} of the function on new rows; {name} explains {rival:.0%}.",
    lines="GroupLassoCV(30, groups=groups).fit(X, y).predict(X_new)",
    levels={"n": (60, 300), "noise": (0.1, 1.0), "active": (3, 20)},
)
