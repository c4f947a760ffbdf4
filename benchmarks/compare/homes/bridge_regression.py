"""Few strong coefficients among many features that are correlated."""

from types import SimpleNamespace

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.compare.home import Case, Home
from skmoderndata.linear_model import BridgeRegression


def make(seed, n=80, p=200, noise=1.0, correlation=0.6):
    """Five coefficients of 1 to 3; neighbouring features are correlated."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    coef = np.zeros(p)
    coef[rng.choice(p, 5, replace=False)] = rng.uniform(1, 3, 5) * rng.choice([-1, 1], 5)
    return Case(
        given=SimpleNamespace(X=X, y=X @ coef + noise * rng.normal(size=n)),
        truth=coef,
        about=f"{n} rows, {p} correlated features, five with influence",
    )


def ours(given):
    search = GridSearchCV(BridgeRegression(), {"alpha": np.geomspace(0.02, 2, 10)})
    return search.fit(given.X, given.y).best_estimator_.coef_


def score(case, coef):
    return np.linalg.norm(coef - case.truth)


HOME = Home(
    when="few coefficients are not zero and should not be shrunk",
    title="few coefficients",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the coefficients",
    smaller=True,
    n_rounds=10,
    gain="The error of the coefficients is {ours:.2f}, {rival:.2f} with {name}.",
    lines=(
        'search = GridSearchCV(BridgeRegression(), {"alpha": np.geomspace(0.02, 2, 10)})\n'
        "search.fit(X, y).best_estimator_.coef_"
    ),
    levels={"noise": (0.3, 2.0), "n": (60, 200), "correlation": (0.0, 0.9)},
)
