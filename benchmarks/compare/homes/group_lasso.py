"""Which variables have influence, if each enters by the splines of its values?"""

from types import SimpleNamespace

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import SplineTransformer, StandardScaler

from benchmarks.compare.home import Case, Home
from skmoderndata.linear_model import GroupLasso


def make(seed, n=150, n_variables=40, noise=1.0):
    """Four smooth functions of four variables; five splines for each variable."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1, 1, size=(n, n_variables))
    places = rng.choice(n_variables, 4, replace=False)
    a, b, c, d = Z[:, places].T
    signal = 2 * np.sin(3 * a) + 3 * (b**2 - 1 / 3) + 2 * np.cos(4 * c) + 2 * np.abs(d)
    splines = SplineTransformer(n_knots=4, degree=3, include_bias=False)
    X = StandardScaler().fit_transform(splines.fit_transform(Z))
    groups = np.repeat(np.arange(n_variables), X.shape[1] // n_variables)
    return Case(
        given=SimpleNamespace(
            X=X, Z=Z, y=signal - signal.mean() + noise * rng.normal(size=n), groups=groups
        ),
        truth=np.isin(np.arange(n_variables), places),
        about=f"{n} rows, {n_variables} variables of five splines each, four with influence",
    )


def ours(given):
    search = GridSearchCV(
        GroupLasso(groups=given.groups), {"alpha": np.geomspace(0.03, 0.5, 8)}
    )
    return search.fit(given.X, given.y).best_estimator_.group_norms_


def score(case, influence):
    """Average precision of the variables, ordered by their influence."""
    order = np.argsort(-influence, kind="stable")
    is_hit = case.truth[order]
    return np.mean((np.cumsum(is_hit) / np.arange(1, len(order) + 1))[is_hit])


HOME = Home(
    when="features come in groups and the question is which groups matter",
    title="variables with influence, by their splines",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="average precision of the variables with influence",
    n_rounds=10,
    gain="The variables with influence come first with a precision of {ours:.2f}, {rival:.2f} "
    "with {name}.",
    lines=(
        'search = GridSearchCV(GroupLasso(groups=groups), {"alpha": np.geomspace(0.03, 0.5, 8)})\n'
        "search.fit(X, y).best_estimator_.group_norms_"
    ),
    levels={"noise": (0.3, 2.0), "n": (80, 400), "n_variables": (20, 80)},
)
