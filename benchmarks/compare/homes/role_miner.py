"""Which class has which method and parameter: roles that nobody holds in part."""

from collections import Counter
from functools import lru_cache
from inspect import signature
from types import SimpleNamespace

import numpy as np
from sklearn.utils import all_estimators

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import RoleMiner


@lru_cache
def rights():
    """Public methods and parameters of the estimators of scikit-learn, one row each."""
    rows = []
    for _, cls in all_estimators():
        names = {name for name in dir(cls) if not name.startswith("_")}
        rows.append(names | {f"{name}=" for name in signature(cls).parameters})
    counts = Counter(name for row in rows for name in row)
    shared = sorted(name for name, count in counts.items() if 3 <= count < len(rows))
    return np.array([[name in row for name in shared] for row in rows])


def make(seed, n_roles=25, part=0.9):
    """Nine of ten classes, drawn at random."""
    table = rights()
    rows = np.random.default_rng(seed).permutation(len(table))[: int(part * len(table))]
    X = table[rows]
    about = (
        f"{len(X)} classes of scikit-learn, {X.shape[1]} methods and parameters that at "
        f"least three of them have; {n_roles} roles"
    )
    return Case(inputs=SimpleNamespace(X=X, n_clusters=n_roles), truth=X, about=about)


def ours(inputs):
    return RoleMiner(inputs.n_clusters).fit(inputs.X).components_


def score(case, roles):
    """Fraction of the rights that come from roles whose rights the user has completely."""
    X = case.truth
    roles = np.asarray(roles, dtype=int)
    has = (~X).astype(int) @ roles.T == 0
    return np.sum(has.astype(int) @ roles > 0) / np.sum(X)


HOME = Home(
    when="you want roles that explain the rights, and nobody may get more rights than they "
    "have",
    title="methods and parameters of classes",
    kind="Boolean tables",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the rights that the roles grant, without granting others",
    by_time=True,
    margin=0.002,
    gain="Finds roles that grant {ours:.0%} of the rights and nothing else after "
    "{our_seconds:.2g} s; {name} grants {rival:.0%} after {rival_seconds:.2g} s.",
    lines="model = RoleMiner(n_clusters).fit(X)\nmodel.components_\nmodel.transform(X)",
    levels={"n": (100, 1000), "n_roles": (10, 40), "missing": (0.01, 0.05)},
)
